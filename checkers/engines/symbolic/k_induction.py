"""k-induction: a claim holds if no run violates it in its first k states, and k states in a row that satisfy it, all
different, are followed by one that does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import z3

from reassure.checkers.engines.symbolic.bmc import bounded_search, keeps, unviolated
from reassure.checkers.engines.symbolic.proof_result import Claims, Invariant, Obligation, ProofResult
from reassure.checkers.engines.symbolic.solver import finite_domain_solver, satisfiable
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.request.result import RAISES, PropertyStatus


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
