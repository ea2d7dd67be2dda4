"""kraft for any number of brokers, and mutants of which nothing false is proved."""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from reassure.checkers.analyses.mutants.analysis import Judge
from reassure.checkers.analyses.mutants.mutant_search import MutantLimits
from reassure.checkers.analyses.mutants.mutants import Mutant, mutants_of
from reassure.checkers.engines.symbolic.any_number.prover import prove_for_any_number
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import StopReason
from reassure.checkers.request.engine_results import EngineResult
from reassure.checkers.request.model_loader import find_model, load_model
from reassure.checkers.request.options import ProofOptions, SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.models.kraft.state import Config
from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.semantics.interpreter import ModelError
from tests.helpers.any_number import as_mutant, bound_to, not_admitted, proof, statuses, system_of
from tests.helpers.configurations import mutants
from tests.helpers.flaws import breaks, settings_of
from tests.helpers.runs import checked, result_of


@pytest.mark.slow
def test_kraft_with_nothing_but_min_isr_of_one_assumed() -> None:
    result = proof("kraft", "unclean=off")
    of = statuses(result)
    unproved = {name for name, status in of.items() if status != "proved"}
    assert unproved == {"limits_are_kept"}
    assert len(of) == 46
    assert result.proof is not None and result.proof.any_number is not None
    assert result.proof.bounds_open == []
    assert result.proof.any_number["free"]["min_isr"] == 1


LOST = ["nothing_lost_by_a_completion", "nothing_lost_by_a_cancellation"]


@pytest.mark.slow
def test_nothing_is_lost_by_kafkas_rules_with_the_fixes() -> None:
    """The promises of K20 and K21."""
    result = proof("kraft_kafka", "release=fixed", "unclean=off", properties=LOST)
    assert {name: statuses(result)[name] for name in LOST} == dict.fromkeys(LOST, "proved")
    assert result.proof is not None and "strays == NOTHING" in result.proof.lemmas


def test_a_record_is_lost_by_kafkas_own_rules() -> None:
    result = proof("kraft_kafka", "release=4.4", "unclean=off", properties=LOST[:1])
    (found,) = [p for p in result.properties if p.name == LOST[0]]
    assert found.status == "violated"
    assert found.trace is not None and len(found.trace) == 7


def of_kraft() -> list[str]:
    """The mutants that have kraft's states."""
    return [name for name in mutants() if load_model(name).config is Config]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", of_kraft())
def test_nothing_that_a_mutant_violates_is_proved(mutant: str) -> None:
    """Each falls, with the fewest brokers with which it was found to fall."""
    left_out = {p.name for p in load_model(mutant).properties if p.temporal} | {"deadlock"}
    violated = [name for name in breaks(mutant) if name not in left_out]
    settings = [pair for pair in settings_of(mutant) if not pair.startswith("brokers=")]
    result = proof(mutant, *settings, properties=violated)
    notes = {p.name: p.note for p in result.properties if p.name in violated}
    assert {name: statuses(result)[name] for name in violated} == dict.fromkeys(violated, "violated")
    assert all(re.search(r"the fewest brokers found: \d", note) for note in notes.values()), notes


def text_of(mutant: Mutant, source: str) -> str:
    """The text of a model of one file with a mutant's change."""
    assert mutant.change is not None
    _, changed = mutant.change
    tree = ast.parse(source)
    places = [n for n, one in enumerate(tree.body) if isinstance(one, ast.FunctionDef) and one.name == changed.name]
    (place,) = places
    tree.body[place] = changed
    return ast.unparse(tree)


@pytest.mark.slow
def test_what_is_proved_of_a_mutant_of_core_holds_in_each_configuration(tmp_path: Path) -> None:
    """The program changes core in one place; a search of each small configuration knows what falls."""
    bound, source = bound_to("core"), find_model("core").read_text(encoding="utf-8")
    changed = [mutant for mutant in mutants_of(bound) if mutant.change is not None]
    fates: Counter[str] = Counter()
    for number, mutant in enumerate(random.Random(1).sample(changed, 40)):
        path = tmp_path / f"core_{number}.py"
        path.write_text(text_of(mutant, source), encoding="utf-8")
        try:
            found = statuses(proof(str(path)))
        except Failure as refused:
            assert refused.code is Exit.MODEL
            fates["refused"] += 1
            continue
        fates.update(found.values())
        for pair in product((3, 4), (1, 2, 3)):
            pairs = [f"brokers={pair[0]}", f"min_isr={pair[1]}"]
            searched = checked(str(path), pairs, "native", memory=1 << 30)[0]
            fallen = {p.name for p in searched.properties if p.status == "violated"}
            assert not [name for name in fallen if found.get(name) == "proved"], (mutant, pairs)
            raised = searched.stopped.reason is StopReason.RAISED
            assert not raised or "proved" not in found.values(), (mutant, pairs)
    assert fates["proved"] > 10 and fates["violated"] > 10


def fallen_of_mutants(model: str, chosen: Callable[[list[Mutant]], list[Mutant]]) -> Counter[str]:
    """What becomes of the generated mutants of which a search finds a violation: each has to fall for any number too.

    Asserts that the formulas admit every step of the runs that are shown.
    """
    bound, fates = bound_to(model), Counter[str]()
    judge = Judge(bound, lower_model(bound), SearchOptions(), MutantLimits(60, None, 1 << 30), lambda _: None)
    claims = {p.name: p for p in bound.properties if not p.temporal}
    for mutant in chosen(list(mutants_of(bound))):
        try:
            violated = [name for name in judge.outcome(mutant).violated if name in claims]
        except (SubsetError, ModelError):  # it is not a model, or it raises
            continue
        if not violated:
            continue
        changed = mutant.of(bound)
        with as_mutant(mutant):
            try:
                result = result_of(prove, changed, SearchOptions(properties=violated))
            except (Failure, SubsetError) as refused:
                assert re.search(rf"{re.escape(mutant.place)}:\d+: types do not fit", str(refused)), mutant
                fates["refused"] += 1
                continue
            system = system_of(changed)
        for found in result.properties:
            if found.name in violated:
                assert found.status == "violated", (mutant, found.name, found.note)
                assert "the fewest" in found.note, (mutant, found.note)
                assert found.trace is not None
                shown = changed if found.elsewhere is None else found.elsewhere.bound
                assert not_admitted(system, shown, found.trace, claims[found.name]) is None, mutant
        fates["fallen"] += 1
    return fates


def prove(prepared: Prepared, options: SearchOptions, progress: Progress) -> EngineResult:
    return prove_for_any_number(prepared, options, progress, ProofOptions(any_number=True))


def test_mutants_of_core_fall_with_the_fewest_brokers_found() -> None:
    assert fallen_of_mutants("core", lambda every: every[21:30]) == {"fallen": 7}


@pytest.mark.slow
def test_every_mutant_of_core_that_violates_something_falls() -> None:
    assert fallen_of_mutants("core", list) == {"fallen": 39}


@pytest.mark.slow
def test_every_mutant_of_kraft_that_violates_something_falls() -> None:
    """Twenty minutes of processor; one names a broker that a configuration of one broker does not have."""
    assert fallen_of_mutants("kraft", list) == {"fallen": 365, "refused": 1}
