"""The obligations of a proof, and a solver of its own that settles them.

The solver is fresh, in a Z3 context of its own, and of another kind than those that look for proofs: nothing that was
learned or assumed on the way to a proof is there.

Also here: the result of a method of proof, and the claims that it decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import z3

from reassure.checkers.engines.symbolic.solver import Settles, context_of_any_thread, satisfiable
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.request.result import PropertyStatus
from reassure.spec.frontend.lowered_model import Formula, LoweredModel


@dataclass(frozen=True)
class Invariant:
    """A condition over copy 0 of the state, and how to say it."""

    text: str
    condition: z3.BoolRef


@dataclass(frozen=True)
class Obligation:
    """One part of a proof that stands by itself: in every model of the facts, the conclusions are true.

    Each conclusion has a name, by which it is told. Two may have one name: a certificate names its lemmas as it likes.
    """

    name: str
    facts: tuple[z3.BoolRef, ...]
    conclusions: tuple[tuple[str, z3.BoolRef], ...]


@dataclass(frozen=True)
class ProofResult:
    """The answer to one claim.

    lemmas: invariants that the proof adds, inductive together with those known before. obligations: what the proof
    rests on beside invariants. counterexample: states of a run, the last (of a step property: the last step) in
    violation. counterexample_to_induction: states, perhaps not reachable, all but the last of which satisfy everything.
    """

    status: PropertyStatus
    note: str = ""
    lemmas: tuple[Invariant, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    counterexample: tuple[Any, ...] = ()
    counterexample_to_induction: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Claims:
    """Claims over states, by name; and over steps, each with the numbers of the actions that it is about."""

    states: dict[str, Formula] = field(default_factory=dict)
    steps: dict[str, list[tuple[int, Formula]]] = field(default_factory=dict)

    @classmethod
    def of(cls, lowered: LoweredModel, names: Iterable[str]) -> Claims:
        """The claims of a model that have these names."""
        chosen_names = set(names)
        steps: dict[str, list[tuple[int, Formula]]] = {}
        for number, formulas in enumerate(lowered.step_formulas):
            for f in formulas:
                if f.name in chosen_names:
                    steps.setdefault(f.name, []).append((number, f))
        return cls({f.name: f for f in lowered.state_formulas if f.name in chosen_names}, steps)

    def names(self) -> list[str]:
        return [*self.states, *self.steps]

    def without(self, decided: Iterable[str]) -> Claims:
        """Those that are not in `decided`."""
        gone = set(decided)
        return Claims(
            {n: f for n, f in self.states.items() if n not in gone},
            {n: f for n, f in self.steps.items() if n not in gone},
        )


LOGIC = "QF_BV"
"""The logic of the obligations: bit-vectors and bools, without quantifiers."""


def refuted(
    obligations: Iterable[Obligation],
    seconds: float | None = None,
    say: Callable[[str], None] = lambda _: None,
    other: Settles | None = None,
) -> list[str]:
    """The obligations that are not met, each with the conclusions that are false in some model of its facts.

    seconds: for each query. say: is told what is checked. other: a solver of the logic that is asked after Z3. Raises
    `Interrupted` where a solver gives no answer.
    """
    context, messages = context_of_any_thread(), []
    for obligation in obligations:
        say(f"checking: {obligation.name}")
        solver = z3.Solver(ctx=context)
        solver.add(*(fact.translate(context) for fact in obligation.facts))
        conclusions = [(name, c.translate(context)) for name, c in obligation.conclusions]
        if not conclusions:
            continue
        solver.add(z3.Not(z3.And(*(c for _, c in conclusions))))
        if satisfiable(solver, seconds=seconds):
            model = solver.model()
            names = [n for n, c in conclusions if z3.is_false(model.eval(c, model_completion=True))]
            messages.append(f"{obligation.name}: not {'; not '.join(names)}")
        elif other is not None and not other(_script(solver), seconds):
            messages.append(f"{obligation.name}: not by the second solver")
    return messages


def _script(solver: z3.Solver) -> str:
    """What a solver holds, as a script. Z3 writes `and` and `or` of nothing as SMT-LIB does not: they are constants."""
    empty = [
        (z3.And(solver.ctx), z3.BoolVal(True, solver.ctx)),
        (z3.Or(solver.ctx), z3.BoolVal(False, solver.ctx)),
    ]
    plain = z3.SimpleSolver(ctx=solver.ctx)
    plain.add(*(z3.substitute(one, *empty) for one in solver.assertions()))
    return str(plain.to_smt2())


def inductive(machine: Machine, invariants: list[Invariant], premises: Iterable[Invariant] = ()) -> list[Obligation]:
    """Invariants hold initially, and every step from a state that satisfies them preserves them.

    premises: what is true in every reachable state by another proof.
    """
    now = [(i.text, i.condition) for i in invariants]
    facts = (machine.well_formed(0), *(i.condition for i in premises), *(condition for _, condition in now))
    at_first = (*now, ("the type", machine.well_formed(0)))
    after = (*((text, machine.moved(c, 1)) for text, c in now), ("the type", machine.well_formed(1)))
    steps = [Obligation(f"after {step.name}", (*facts, step.taken), after) for step in machine.steps(0)]
    return [Obligation("initial states", (machine.initial(),), at_first), *steps]


def implied_claims(machine: Machine, invariants: list[Invariant], claims: Claims) -> list[Obligation]:
    """The invariants imply claims: over states, and over steps from states that satisfy them."""
    facts = (machine.well_formed(0), *(i.condition for i in invariants))
    obligations = [Obligation("properties", facts, tuple((n, machine.holds(f, 0)) for n, f in claims.states.items()))]
    for number, step in enumerate(machine.steps(0)):
        about = {name: f for name, where in claims.steps.items() for n, f in where if n == number}
        holds = tuple((name, machine.holds(f, 0)) for name, f in about.items())
        obligations.append(Obligation(f"steps of {step.name}", (*facts, step.taken), holds))
    return obligations


def _so(conclusion: z3.BoolRef) -> tuple[tuple[str, z3.BoolRef]]:
    """The only conclusion of an obligation, whose name says all."""
    return (("so", conclusion),)


def never_raises(machine: Machine, invariants: list[Invariant], claims: Claims) -> list[Obligation]:
    """Obligations that no action, and no claim when evaluated, raises in a state that satisfies the invariants."""
    facts = (machine.well_formed(0), *(i.condition for i in invariants))
    obligations = []
    for step, outcome in zip(machine.steps(0), machine.model.actions, strict=True):
        if any(check.kind == "error" for check in outcome.checks):
            obligations.append(Obligation(f"{step.name} raises nowhere", facts, _so(z3.Not(step.error))))
    for name, f in claims.states.items():
        if f.checks:
            obligations.append(Obligation(f"{name} raises nowhere", facts, _so(machine.defined(f, 0))))
    for name, where in claims.steps.items():
        for number, f in where:
            if f.checks:
                step, holds = machine.steps(0)[number], _so(machine.defined(f, 0))
                obligations.append(Obligation(f"{name} raises nowhere after {step.name}", (*facts, step.taken), holds))
    return obligations


def within_bounds(machine: Machine, invariants: list[Invariant], except_for: Iterable[str] = ()) -> list[Obligation]:
    """Obligations that no step from a state of the invariants leaves a bound. except_for: paths of other bounds."""
    facts, aside = (machine.well_formed(0), *(i.condition for i in invariants)), set(except_for)
    obligations = []
    for step, outcome in zip(machine.steps(0), machine.model.actions, strict=True):
        for path, condition, _ in outcome.clips:
            if path not in aside:
                within = _so(z3.Not(machine.terms(0)(condition)))
                obligations.append(Obligation(f"{step.name} keeps the bound of {path}", (*facts, step.enabled), within))
    return obligations
