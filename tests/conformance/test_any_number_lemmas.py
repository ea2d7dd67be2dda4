"""What is proved for any number holds at three to six members: of drawn candidates that no sample has filtered."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.engines.symbolic.any_number.induction import AnyInduction
from reassure.checkers.engines.symbolic.any_number.samples import instance_of
from reassure.checkers.engines.symbolic.any_number.terms import AnyTerms
from reassure.checkers.engines.symbolic.lemma_templates import Lemma, candidates
from reassure.spec.semantics.interpreter import BoundModel, ModelError, make_config
from tests.helpers.any_number import REFUSED, of_construct, system_of
from tests.helpers.constructs import CONSTRUCTS
from tests.helpers.drawn_states import reachable

DRAWN = 40
"""Candidates of each model."""
SIZES = (3, 4, 5, 6)


def proved_and_false(bound: BoundModel, seed: int) -> tuple[list[Lemma], list[tuple[int, str]]]:
    """The drawn candidates that are inductive, and those of them that are false in a reachable state of some size."""
    system, rng = system_of(bound), random.Random(seed)
    numbers = [system.graph.config(name, kind.low) for name, kind in system.config]
    every = candidates(system.lowered, lambda node: rng.random() < 0.2, system.type, numbers)
    lemmas = rng.sample(every, min(DRAWN, len(every)))
    induction = AnyInduction(system, lemmas, lambda what: None, lambda: None)
    induction.run(goal for i in range(len(lemmas)) for goal in induction.goals_of(i))
    proved = [lemmas[i] for i in sorted(induction.remaining)]
    false = []
    for size in SIZES:
        sized = BoundModel(bound.model, make_config(bound.model, {"nodes": size}))
        for state in states_of(sized, rng):
            instance: Any = instance_of(system, sized, state)
            false += [(size, lemma.text) for lemma in proved if not instance.holds(lemma.node)]
    return proved, false


def states_of(bound: BoundModel, rng: random.Random) -> list[Any]:
    """Reachable states; the initial ones alone of a model that raises in a step."""
    try:
        return reachable(bound, rng, 30, {a.name for a in bound.model.actions})
    except ModelError:
        return [state for _, _, state in bound.initial_states()]


NAMES = [name for name in CONSTRUCTS if name not in REFUSED]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES, ids=[n.split(" |")[0].replace(" ", "") for n in NAMES])
def test_what_is_proved_for_any_number_holds_at_each_size(name: str, tmp_path: Path) -> None:
    proved, false = proved_and_false(of_construct(name, tmp_path), 1)
    assert proved and false == []


def test_a_wrong_translation_proves_what_is_false(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any two sets are taken for equal."""
    monkeypatch.setattr(AnyTerms, "_same_sets", lambda self, a, b, env, polarity: self.truth(self.graph.true))
    assert any(proved_and_false(of_construct(name, tmp_path), 1)[1] for name in NAMES)
