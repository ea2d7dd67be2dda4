"""The result of a method of proof, and the claims that it decides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import z3

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
