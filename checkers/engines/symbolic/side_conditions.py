"""Side conditions of a proof beside its properties: no step leaves a bound, no action or claim raises.

A step that leaves a bound, or raises, is not a step of the transition system. Unless none is possible from a reachable
state, a proof is not of all runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import z3

from reassure.checkers.engines.symbolic.houdini import Houdini, ProofGoal
from reassure.checkers.engines.symbolic.linear_invariants import Potentials
from reassure.checkers.engines.symbolic.proof_result import Claims
from reassure.checkers.engines.symbolic.transition_system import Machine

INEQUALITIES = 60
"""Inequalities that are tried for a counter, at most."""


@dataclass
class SideConditions:
    """Side conditions that are not proved. open_bounds: by path, whether every bound that may be left is declared."""

    open_bounds: dict[str, bool] = field(default_factory=dict)
    raising_actions: list[str] = field(default_factory=list)
    raising_claims: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Exit:
    """A step that leaves a bound."""

    goal: ProofGoal
    path: str
    declared: bool


def side_conditions(
    machine: Machine, claims: Claims, houdini: Houdini, say: Callable[[str], None], search_sums: bool = True
) -> SideConditions:
    """The side conditions that a run of Houdini does not prove. search_sums: it may find lemmas that bound counters."""
    raising_actions: dict[ProofGoal, str] = {}
    raising_claims: dict[ProofGoal, str] = {}
    exits: list[_Exit] = []
    for step, outcome in zip(machine.steps(0), machine.model.actions, strict=True):
        if not z3.is_false(z3.simplify(step.error)):
            raising_actions[houdini.goal(f"{step.name} raises", step.error, needs_step=False)] = step.name
        for path, condition, declared in outcome.clips:
            leaves = z3.And(step.enabled, machine.terms(0)(condition))
            goal = houdini.goal(f"{step.name} leaves {path}", leaves, needs_step=False)
            exits.append(_Exit(goal, path, declared))
    for name, f in claims.states.items():
        if f.checks:
            goal = houdini.goal(f"{name} raises", z3.Not(machine.defined(f, 0)), needs_step=False)
            raising_claims[goal] = name
    for name, where in claims.steps.items():
        for number, f in where:
            if f.checks:
                raises = z3.And(machine.steps(0)[number].taken, z3.Not(machine.defined(f, 0)))
                raising_claims[houdini.goal(f"{name} raises", raises, needs_step=False)] = name
    goals = [*raising_actions, *raising_claims, *(e.goal for e in exits)]
    houdini.run(goals)
    unbounded = dict.fromkeys(e.path for e in exits if not e.declared and not houdini.proved(e.goal))
    for path in unbounded if search_sums else ():
        if _bounded_by_inequality(houdini, path, say):
            houdini.run([g for g in goals if not houdini.proved(g)])
    conditions = SideConditions()
    for e in exits:
        if not houdini.proved(e.goal):
            conditions.open_bounds[e.path] = e.declared and conditions.open_bounds.get(e.path, True)
    conditions.raising_actions = [name for goal, name in raising_actions.items() if not houdini.proved(goal)]
    conditions.raising_claims = [name for goal, name in raising_claims.items() if not houdini.proved(goal)]
    return conditions


def _bounded_by_inequality(houdini: Houdini, path: str, say: Callable[[str], None]) -> bool:
    """Whether an inequality was found that bounds a counter, and that every step respects."""
    scout = houdini.scout
    try:
        inequalities = Potentials(scout, path, scout.reachable())
    except LookupError:
        return False
    for number in range(INEQUALITIES):
        say(f"sums that bound {path}: {number + 1}")
        lemma = inequalities.next()
        if lemma is None:
            return False
        goal = houdini.add(lemma)
        houdini.run([goal])
        if houdini.proved(goal):
            return True
        if goal not in houdini.counterexamples:
            return False
        inequalities.learn(*houdini.counterexamples[goal])
    return False
