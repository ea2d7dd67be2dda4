"""Bounded model checking: the shortest violations of runs of up to so many states.

Also here: k-induction: a claim holds if no run violates it in its first k states, and k states in a row that satisfy
it, all different, are followed by one that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import z3

from reassure.checkers.engines.symbolic.solver import finite_domain_solver, satisfiable
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.engines.symbolic.verification import Claims, Invariant, Obligation, ProofResult
from reassure.checkers.machine.terminal import quantity
from reassure.checkers.request.result import RAISES, PropertyStatus
from reassure.spec.frontend.lowered_model import Formula


def bounded_search(
    machine: Machine, claims: Claims, depth: int, say: Callable[[str], None], seconds_left: Callable[[], float | None]
) -> Iterator[tuple[str, ProofResult]]:
    """Violations by runs of up to `depth` states, by claim; and proofs, if no run has as many. Others are left out.

    Ends, with a result of the name `RAISES`, where the model raises in the last state of a run, or on its last step.

    say: is told what it is at, and may raise to end it. seconds_left: None for no limit.
    """
    solver, all_claims = finite_domain_solver(), claims
    solver.add(machine.initial())

    def run_with(condition: z3.BoolRef, states: int) -> ProofResult | None:
        if not satisfiable(solver, condition, seconds=seconds_left()):
            return None
        model = solver.model()
        run = tuple(machine.decoded(k, model) for k in range(states))
        return ProofResult(PropertyStatus.VIOLATED, counterexample=run)

    def run_raises(condition: z3.BoolRef, states: int) -> ProofResult | None:
        if z3.is_false(z3.simplify(condition)):
            return None
        result = run_with(condition, states)
        return None if result is None else replace(result, status=PropertyStatus.RAISED)

    for k in range(depth):
        say(f"bounded search, {quantity(k + 1, 'state')}")
        raised = run_raises(raising_states(machine, all_claims, k), k + 1)
        for name, f in claims.states.items():
            if result := run_with(z3.And(machine.defined(f, k), z3.Not(machine.holds(f, k))), k + 1):
                claims = claims.without([name])
                yield name, result
        if raised is not None:
            yield RAISES, raised
            return
        if k + 1 == depth or not claims.names():
            return
        solver.add(machine.step(k))
        if not satisfiable(solver, seconds=seconds_left()):
            for name in claims.names():
                obligations = (run_ends(machine, k + 1), *unviolated(machine, claims, name, k + 1))
                yield name, ProofResult(PropertyStatus.PROVED, f"no run has more than {k + 1} states", (), obligations)
            return
        raised = run_raises(raising_steps(machine, all_claims, k), k + 1)
        for name, where in claims.steps.items():
            if result := run_with(_violates(machine, where, k), k + 2):
                claims = claims.without([name])
                yield name, result
        if raised is not None:
            yield RAISES, raised
            return


def raising_states(machine: Machine, claims: Claims, k: int) -> z3.BoolRef:
    """Whether an action raises in copy k, or a claim over states."""
    actions = [step.error for step in machine.steps(k)]
    return z3.Or(*actions, *(z3.Not(machine.defined(f, k)) for f in claims.states.values() if f.checks))


def raising_steps(machine: Machine, claims: Claims, k: int) -> z3.BoolRef:
    """Whether a claim over steps raises on the step from copy k to copy k+1."""
    return z3.Or(
        *(
            z3.And(machine.steps(k)[n].taken, z3.Not(machine.defined(f, k)))
            for where in claims.steps.values()
            for n, f in where
            if f.checks
        )
    )


def keeps(machine: Machine, where: list[tuple[int, Formula]], k: int) -> z3.BoolRef:
    """No step from copy k to copy k+1 violates a step property. where: the actions that it is about."""
    return z3.And(*(z3.Implies(machine.steps(k)[n].taken, machine.holds(f, k)) for n, f in where))


def _violates(machine: Machine, where: list[tuple[int, Formula]], k: int) -> z3.BoolRef:
    """Some step from copy k to copy k+1 violates a step property, which does not raise there."""
    steps = machine.steps(k)
    return z3.Or(*(z3.And(steps[n].taken, machine.defined(f, k), z3.Not(machine.holds(f, k))) for n, f in where))


def run_ends(machine: Machine, states: int) -> Obligation:
    """No run has more than so many states."""
    steps = (machine.step(k) for k in range(states))
    longer = (("a longer one", z3.BoolVal(False)),)
    return Obligation(f"no run has more than {states} states", (machine.initial(), *steps), longer)


def unviolated(machine: Machine, claims: Claims, name: str, states: int) -> list[Obligation]:
    """No run of up to so many states violates a claim; for a claim over steps, no step of such a run."""
    obligations, run = [], [machine.initial()]
    for k in range(states):
        if name in claims.states:
            holds = machine.holds(claims.states[name], k)
            obligations.append(Obligation(f"{name} in the state number {k + 1} of a run", tuple(run), ((name, holds),)))
        run.append(machine.step(k))
        if name in claims.steps and k + 1 < states:
            holds = keeps(machine, claims.steps[name], k)
            obligations.append(Obligation(f"{name} in the step number {k + 1} of a run", tuple(run), ((name, holds),)))
    return obligations


def k_induction(
    machine: Machine, claims: Claims, depth: int, say: Callable[[str], None], seconds_left: Callable[[], float | None]
) -> Iterator[tuple[str, ProofResult]]:
    """An answer for each claim, with k up to `depth`. What is proved of states serves the claims after it.

    Where the first states of a run raise there is none, as of `bounded_search`.
    """
    for name, result in bounded_search(machine, claims, depth + 1, say, seconds_left):
        claims = claims.without([name])
        yield name, result
        if name == RAISES:
            return
    invariants: list[Invariant] = []
    for name in claims.names():
        result = _inductive(machine, claims, name, depth, invariants, say, seconds_left)
        if result.status is PropertyStatus.PROVED and name in claims.states:
            invariants.append(Invariant(name, machine.holds(claims.states[name], 0)))
        yield name, result


def _inductive(
    machine: Machine,
    claims: Claims,
    name: str,
    depth: int,
    invariants: list[Invariant],
    say: Callable[[str], None],
    seconds_left: Callable[[], float | None],
) -> ProofResult:
    solver, added = finite_domain_solver(), 0
    for k in range(1, depth + 1):
        say(f"{name}: {k} states")
        step = induction_step(machine, claims, name, k, invariants)
        solver.add(*step.facts[added:])
        added = len(step.facts)
        if not satisfiable(solver, z3.Not(step.conclusions[0][1]), seconds=seconds_left()):
            # A run as long as the states of the step has the step property's violation in its last step.
            obligations = (*unviolated(machine, claims, name, k + (name in claims.steps)), step)
            return ProofResult(PropertyStatus.PROVED, f"by {k}-induction", obligations=obligations)
        model = solver.model()
    states = tuple(machine.decoded(k, model) for k in range(depth + 1))
    return ProofResult(PropertyStatus.UNKNOWN, f"not {depth}-inductive", counterexample_to_induction=states)


def induction_step(machine: Machine, claims: Claims, name: str, k: int, invariants: list[Invariant]) -> Obligation:
    """From k states that satisfy a claim, all different, to the next. The facts of k begin with those of k - 1."""
    facts: list[z3.BoolRef] = []
    for i in range(k):
        facts += [
            machine.well_formed(i),
            *(machine.moved(invariant.condition, i) for invariant in invariants),
            machine.step(i),
        ]
        if name in claims.states:
            facts.append(machine.holds(claims.states[name], i))
            facts += [machine.differ(j, i + 1) for j in range(i + 1)]
            conclusion = machine.holds(claims.states[name], i + 1)
        else:
            facts += [machine.differ(j, i) for j in range(i)]
            conclusion = keeps(machine, claims.steps[name], i)
            if i + 1 < k:
                facts.append(conclusion)
    return Obligation(f"{name} after {k} states that satisfy it", tuple(facts), ((name, conclusion),))
