"""The mutants of a model: what is changed, what is not, and that nothing is left behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reassure.checkers.analyses.mutants.mutants import REMOVED, Mutant, mutants_of
from reassure.checkers.request.prepare import prepare
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.command import model_file
from tests.helpers.mutated_model import TOKENS


@pytest.fixture
def bound(tmp_path: Path) -> BoundModel:
    return prepare(model_file(tmp_path, TOKENS), []).bound


def one(bound: BoundModel, where: str, before: str, after: str) -> Mutant:
    return next(m for m in mutants_of(bound) if (m.where, m.before, m.after) == (where, before, after))


def test_what_steps_do_is_changed_and_what_claims_say_is_not(bound: BoundModel) -> None:
    mutants = mutants_of(bound)
    assert {m.where for m in mutants} == {"begin", "is_small", "up", "take"}
    assert [(m.where, m.line) for m in mutants if m.kind == REMOVED] == [("up", 27), ("take", 32)]
    assert {m.reached_by for m in mutants if m.where == "is_small"} == {("up",)}
    assert len(mutants) == 27
    assert [(m.line, m.column) for m in mutants] == sorted((m.line, m.column) for m in mutants)
    assert mutants[0].place == "mine.py:20"


def test_a_claim_runs_the_text_also_where_it_calls_what_is_changed(bound: BoundModel) -> None:
    mutant = one(bound, "is_small", "1", "2").of(bound)
    (_, _, start), *_ = mutant.initial_states()
    token = sys.modules[bound.model.module].Token
    first = mutant.take(start, "up", {"token": token(1)})
    second = mutant.take(first, "up", {"token": token(2)})
    assert (first.value, second.value) == (1, 2)
    claim = next(p for p in bound.properties if p.name == "value_is_small")
    assert (mutant.holds(claim, first), mutant.holds(claim, second)) == (True, False)


def test_the_model_is_left_as_it_was(bound: BoundModel) -> None:
    modules, module = set(sys.modules), sys.modules[bound.model.module]
    code = module.is_small.__code__
    names = dict(vars(module))
    for mutant in mutants_of(bound):
        for _ in mutant.of(bound).initial_states():
            pass
    assert module.is_small.__code__ is code
    assert vars(module) == names
    assert set(sys.modules) == modules


def test_a_removed_action_is_never_enabled(bound: BoundModel) -> None:
    mutant = one(bound, "up", "up", "").of(bound)
    (_, _, start), *_ = mutant.initial_states()
    assert [s.action.name for s in bound.steps(start)] == ["up", "up"]
    assert list(mutant.steps(start)) == []


def test_functions_of_other_modules_and_functions_given_as_defaults_are_changed() -> None:
    bound = prepare("kraft", []).bound
    mutants = mutants_of(bound)
    by_file = {Path(m.file).name for m in mutants}
    assert {"protocol.py", "rules.py", "state.py"} <= by_file
    assert not by_file & {"properties.py", "covers.py", "vocabulary.py", "shared_properties.py"}
    answered = next(m for m in mutants if m.where == "completes")
    assert "alter_partition" in answered.reached_by
