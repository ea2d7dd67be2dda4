"""Each action and claim as Z3 terms against plain Python, state by state: reachable or not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import z3

from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.language.vocabulary import Action
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, Step
from tests.fuzz.subject import Difference, Subject, drawn, error_kind, outcomes, truth

OUTCOMES = 40
"""Outcomes of one action in one state that are asked of Z3, at most."""


def terms(subject: Subject, count: int = 12) -> Iterator[Difference]:
    """Each action and claim as Z3 terms against plain Python: reachable states, and drawn ones."""
    bound, rng = subject.bound, random.Random(subject.seed)
    machine = Machine(subject.lowered)
    solver = z3.SolverFor("QF_FD")
    solver.set("timeout", 5_000)
    solver.add(machine.well_formed(0))
    reached = subject.states
    chosen = rng.sample(reached, min(len(reached), count // 2))
    chosen += [drawn(bound.type, rng) for _ in range(count - len(chosen))]
    for state in chosen:
        solver.push()
        solver.add(machine.equals(0, state))
        if solver.check() == z3.unsat:
            yield Difference("terms", "a state of the type is not well formed", f"{state}")
            solver.pop()
            continue
        got = machine.decoded(0, solver.model())
        if got != state:
            yield Difference("terms", "a state is decoded as another", f"{state} as {got}")
        for number, action in enumerate(bound.model.actions):
            yield from _action_terms(bound, machine, solver, number, action, state)
        yield from _claim_terms(bound, machine, solver, state)
        solver.pop()
    yield from _initial_terms(subject, machine)


def _after(machine: Machine, solver: z3.Solver, number: int) -> set[Any] | None:
    """Outcomes of an action from the state that the solver holds; None if there are many, or Z3 gives up."""
    found = set()
    solver.push()
    solver.add(machine.steps(0)[number].taken)
    while (answer := solver.check()) == z3.sat and len(found) <= OUTCOMES:
        after = machine.decoded(1, solver.model())
        if after in found:
            solver.pop()
            raise Disagreement(f"two codes of {after}")
        found.add(after)
        solver.add(z3.Not(machine.equals(1, after)))
    solver.pop()
    return found if answer == z3.unsat else None


def _action_terms(
    bound: BoundModel, machine: Machine, solver: z3.Solver, number: int, action: Action, state: Any
) -> Iterator[Difference]:
    want = outcomes(bound, action, state)
    step = machine.steps(0)[number]
    where = f"{action.name} in {state}"
    errors = solver.check(step.error)
    if bool(want.raised) != (errors == z3.sat) and errors != z3.unknown:
        kind = (
            f"Python raises {error_kind(want.raised)}, terms do not" if want.raised else "terms raise, Python does not"
        )
        yield Difference("terms", f"{kind}", f"{where}: {want.raised}")
        return
    if want.raised:
        return
    clipped = solver.check(step.clipped)
    if want.clipped != (clipped == z3.sat) and clipped != z3.unknown:
        kind = "clipped in Python, not as terms" if want.clipped else "clipped as terms, not in Python"
        yield Difference("terms", kind, where)
    try:
        got = _after(machine, solver, number)
    except Disagreement as error:
        yield Difference("terms", "an outcome has two codes", f"{where}: {error}")
        return
    if got is not None and got != want.after:
        lost, more = want.after - got, got - want.after
        kind = "other outcomes" if lost and more else "an outcome is lost" if lost else "an outcome too many"
        yield Difference("terms", kind, f"{where}: Python has {show(lost)}, terms have {show(more)}")


def show(values: set[Any]) -> str:
    return ", ".join(repr(v) for v in list(values)[:2]) or "nothing more"


def _claim_terms(bound: BoundModel, machine: Machine, solver: z3.Solver, state: Any) -> Iterator[Difference]:
    for claim in _state_claims(bound, machine, state):
        where = f"{claim.name} in {state}"
        raises = solver.check(z3.Not(claim.defined))
        if (None in claim.truths) != (raises == z3.sat) and raises != z3.unknown:
            kind = "a claim raises in Python, not as terms" if raises == z3.unsat else "a claim raises as terms alone"
            yield Difference("terms", kind, where)
        elif None not in claim.truths:
            others = [term != z3.BoolVal(bool(want)) for term, want in zip(claim.terms, claim.truths, strict=True)]
            if solver.check(z3.Or(*others)) == z3.sat:
                yield Difference("terms", "a claim has another truth", f"{where}: {claim.truths} in Python")
    for number, action in enumerate(bound.model.actions):
        if machine.model.step_formulas[number]:
            yield from _step_claim_terms(bound, machine, solver, number, action, state)


@dataclass(frozen=True)
class _StateClaim:
    """A claim over states and its goal, if it has one: what Python says of each in a state, and the terms."""

    name: str
    truths: list[bool | None]
    defined: z3.BoolRef
    terms: list[z3.BoolRef]


def _state_claims(bound: BoundModel, machine: Machine, state: Any) -> Iterator[_StateClaim]:
    for formula in machine.model.state_formulas:
        claim = formula.claim
        assert claim is not None
        truths, terms = [truth(partial(bound.holds, claim, state))], [machine.holds(formula, 0)]
        if formula.goal is not None:
            truths.append(truth(partial(bound.goal_holds, claim, state)))
            terms.append(machine.terms(0)(formula.goal))
        yield _StateClaim(formula.name, truths, machine.defined(formula, 0), terms)
    ends = machine.model.terminal_formulas
    if ends:  # one after the other, until one holds
        defined = z3.And(*(machine.defined(f, 0) for f in ends))
        held = z3.Or(*(machine.holds(f, 0) for f in ends))
        yield _StateClaim("terminal", [truth(partial(bound.is_terminal, state))], defined, [held])


def _step_claim_terms(
    bound: BoundModel, machine: Machine, solver: z3.Solver, number: int, action: Action, state: Any
) -> Iterator[Difference]:
    """Claims over the steps of an action to a few states: true, false and raising, each for some parameters or none."""
    outcomes = [o for o in bound.attempts(state) if isinstance(o, Step) and o.action is action]
    steps = [s for s in outcomes if not isinstance(s.after, Clipped)]
    for formula in machine.model.step_formulas[number]:
        holds, defined = machine.holds(formula, 0), machine.defined(formula, 0)
        for after in dict.fromkeys(s.after for s in steps[:8]):
            claim = formula.claim
            values = {truth(partial(bound.holds_on, claim, state, s)) for s in steps if s.after == after}
            fixed = z3.And(machine.steps(0)[number].taken, machine.equals(1, after))
            found = {True: z3.And(defined, holds), False: z3.And(defined, z3.Not(holds)), None: z3.Not(defined)}
            for value, condition in found.items():
                answer = solver.check(fixed, condition)
                if answer != z3.unknown and (answer == z3.sat) != (value in values):
                    where = f"{formula.name} from {state} to {after}: {values} in Python"
                    yield Difference("terms", "a step claim has another truth", where)


def _initial_terms(subject: Subject, machine: Machine) -> Iterator[Difference]:
    try:
        want = {s for _, _, s in subject.bound.initial_states() if not isinstance(s, Clipped)}
    except ModelError:
        return
    solver = z3.SolverFor("QF_FD")
    solver.set("timeout", 5_000)
    solver.add(machine.initial())
    found: set[Any] = set()
    while (answer := solver.check()) == z3.sat and len(found) <= len(want):
        state = machine.decoded(0, solver.model())
        if state in found:
            yield Difference("terms", "an initial state has two codes", f"{state}")
            return
        found.add(state)
        solver.add(z3.Not(machine.equals(0, state)))
    if answer != z3.unknown and found != want:
        yield Difference("terms", "other initial states", f"Python {show(want - found)}, terms {show(found - want)}")
