"""Induction over a model's properties together, with lemmas that Houdini finds among templates if that is asked for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import z3

from reassure.checkers.engines.symbolic.houdini import Houdini, ProofGoal
from reassure.checkers.engines.symbolic.lemma_templates import Lemma
from reassure.checkers.engines.symbolic.proof_result import Claims, ProofResult
from reassure.checkers.request.result import PropertyStatus


def own_lemmas(claims: Claims) -> list[Lemma]:
    """The invariants themselves, as candidate lemmas."""
    return [Lemma(name, f.condition) for name, f in claims.states.items()]


def induction(houdini: Houdini, claims: Claims, note: str) -> dict[str, ProofResult]:
    """An answer for each claim. houdini: its first lemmas are `own_lemmas`. note: how, for what is proved of states.

    The lemmas that the proofs need are `houdini.used()`.
    """
    goals = _goals(houdini, claims)
    houdini.run([g for name in (*claims.steps, *claims.states) for g in goals[name]])
    results = {}
    for name, its in goals.items():
        open_ = [g for g in its if not houdini.proved(g)]
        if not open_:
            how = note if name in claims.states else "for every step from a state that satisfies the lemmas"
            results[name] = ProofResult(PropertyStatus.PROVED, how)
        else:
            states = houdini.counterexamples.get(open_[0], ())
            why = "not inductive" if states else ""
            results[name] = ProofResult(PropertyStatus.UNKNOWN, why, counterexample_to_induction=states)
    return results


def given_the_others(houdini: Houdini, claims: Claims, proved: Collection[str]) -> dict[str, ProofResult]:
    """Why each claim was not proved: a step that breaks it from a state that satisfies every lemma of `houdini`, or the
    lemmas that it follows from and that are not in `proved`. houdini: as `induction`."""
    results = {}
    for name, its in _goals(houdini, claims).items():
        needed: set[str] = set()
        note, states = "not inductive", tuple[Any, ...]()
        for goal in its:
            given = houdini.given_all(goal)
            if isinstance(given, tuple):
                states = given
                break
            needed |= {*given} - {name, *proved}
        else:
            is_or_are = "is" if len(needed) == 1 else "are"
            note = f"proved as soon as {' and '.join(sorted(needed))} {is_or_are}" if needed else ""
        results[name] = ProofResult(PropertyStatus.UNKNOWN, note, counterexample_to_induction=states)
    return results


def _goals(houdini: Houdini, claims: Claims) -> dict[str, list[ProofGoal]]:
    """The goals that prove each claim. houdini: its first lemmas are `own_lemmas`."""
    machine = houdini.machine
    goals: dict[str, list[ProofGoal]] = dict(zip(claims.states, ([g] for g in houdini.goals), strict=False))
    for name, where in claims.steps.items():
        goals[name] = []
        for number, f in where:
            step = machine.steps(0)[number]
            violated = z3.And(step.taken, z3.Not(machine.holds(f, 0)))
            goals[name].append(houdini.goal(f"{name} of {step.name}", violated))
    return goals
