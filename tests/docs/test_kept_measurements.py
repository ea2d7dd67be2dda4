"""Pages that are made of kept answers and measurements, with counts as the gate pins them.

The page of second opinions has a row for each check, that of levels of optimisation one for each model.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reassure.checkers.engines.native.translator.llvm import object_code
from reassure.checkers.request.prepare import prepare, prepare_plain
from reassure.checkers.tla.module import export
from reassure.checkers.tla.tlc import TlcInstallation
from tests.benchmarks import deep, optimisation
from tests.benchmarks.second_opinion import (
    ANSWERS,
    PAGE,
    checks,
    key_of,
    of_each,
    of_smaller,
    of_whole_runs,
    page,
    pinned,
)
from tests.helpers.printed_by_tlc import installed
from tests.helpers.runs import checked

WRITE = "python -m tests.benchmarks.second_opinion --jar tla2tools.jar"


def test_the_page_is_of_the_kept_answers() -> None:
    data = json.loads(ANSWERS.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == page(data), WRITE


def test_the_answers_are_of_the_checks_of_the_gate() -> None:
    data = json.loads(ANSWERS.read_text(encoding="utf-8"))
    pins = {key_of(check): pinned(check) for check in checks()}
    assert set(data["answers"]) <= set(pins), WRITE
    stale = [k for k, answer in data["answers"].items() if pins[k] not in (None, answer.get("distinct"))]
    assert stale == [], WRITE


def test_no_answer_is_different() -> None:
    data = json.loads(ANSWERS.read_text(encoding="utf-8"))
    assert [k for k, answer in data["answers"].items() if answer["outcome"].startswith("different")] == []
    assert "| not run |" in page({**data, "answers": {}})


def test_smaller_configurations_are_the_same_and_the_published_bug_is_found_by_tlc() -> None:
    """Each counterexample that TLC printed was executed by plain Python."""
    data = json.loads(ANSWERS.read_text(encoding="utf-8"))
    answers = data["smaller"]
    assert {key: answer["outcome"] for key, answer in answers.items()} == {
        key_of(request): "same" for request in of_smaller()
    }, WRITE
    assert {key: answer["executed"] for key, answer in answers.items() if answer["executed"]} == {
        "check tests/benchmarks/raft_two_candidates.py --set=entries=1": 2
    }
    _, _, smaller = page({**data, "smaller": {}}).partition("## Smaller configurations")
    assert "| not run |" in smaller


def test_every_property_of_whole_runs_is_compared() -> None:
    """In a check of the gate, or in a small configuration."""
    data = json.loads(ANSWERS.read_text(encoding="utf-8"))
    asked, answered = set(), set()
    for check in checks():
        request, outcome = check.request(), data["answers"].get(key_of(check), {"outcome": ""})["outcome"]
        for claim in prepare_plain(request.model, request.set)[0].properties:
            if claim.temporal and request.options.wants(claim.name):
                asked.add((request.model, claim.name))
                if outcome.startswith("same") and claim.name not in outcome.partition(":")[2].replace(",", "").split():
                    answered.add((request.model, claim.name))
    for request in of_whole_runs():
        if data["whole_runs"].get(key_of(request), {"outcome": ""})["outcome"] == "same":
            answered |= {(request.model, name) for name in request.options.properties}
    assert asked - answered == set(), WRITE
    assert [about for about, (_, verdict, _) in of_each(data).items() if not verdict] == [], WRITE


# -- deep spaces and levels of optimisation ------------------------------------------------------------------------

MEASURE = "python -m tests.benchmarks.deep --jar tla2tools.jar"
TLC_COUNTED = """@!@!@STARTMSG 2193:0 @!@!@
Model checking completed. No error has been found.
@!@!@ENDMSG 2193 @!@!@
@!@!@STARTMSG 2199:0 @!@!@
4 states generated, 4 distinct states found, 0 states left on queue.
@!@!@ENDMSG 2199 @!@!@
@!@!@STARTMSG 2194:0 @!@!@
The depth of the complete state graph search is 4.
@!@!@ENDMSG 2194 @!@!@
"""


def test_the_page_of_deep_spaces_is_of_what_was_measured() -> None:
    kept = json.loads(deep.KEPT.read_text(encoding="utf-8"))
    assert deep.PAGE.read_text(encoding="utf-8") == deep.page(kept), MEASURE
    rows = {(row["name"], *row["settings"]): row for row in kept["deep"]["rows"]}
    assert list(rows) == [(case.name, *case.settings) for case in deep.CASES], MEASURE
    counter, bad = rows["counter", "top=60000"], rows["counter", "top=9999", "bad=9999"]
    assert (counter["distinct"], counter["depth"], counter["violated"]) == (60_001, 60_001, {})
    assert bad["violated"] == {"bad_is_not_reached": 10_000}


def test_the_levels_are_of_the_models_of_the_gate() -> None:
    """Each model has a row, with as many states as a check of the gate has; a few new ones may wait for theirs."""
    rows = {row["model"]: row for row in json.loads(deep.KEPT.read_text(encoding="utf-8"))["levels"]["rows"]}
    models = {check.request().model for check in optimisation.largest()}
    assert set(rows) <= models and len(models - set(rows)) <= 3, MEASURE
    pins = {(check.request().model, pinned(check)) for check in checks()}
    counted = {(model, row["distinct"]) for model, row in rows.items() if model not in optimisation.SMALLER}
    assert counted - pins == set(), MEASURE


@pytest.mark.parametrize("case", deep.CASES, ids=lambda case: "-".join([case.name, *case.settings]))
def test_deep_models_are_plain_python(case: deep.Case, tmp_path: Path) -> None:
    """What the native engine finds of a small space, plain Python finds too; each has a TLA+ module."""
    path, settings = str(case.file(tmp_path)), ["top=7", "bad=6"]
    found = [checked(path, settings, engine)[0].record({}) for engine in ("native", "reference")]
    counts = ("verdict", "complete", "properties", "covers", "actions")
    assert [found[0][k] for k in counts] == [found[1][k] for k in counts]
    assert found[0]["verdict"] == ("safety-violation" if case.name == "counter" else "pass")
    assert found[0]["stats"]["distinct"] == found[1]["stats"]["distinct"] > 7
    assert set(export(prepare(path, settings).bound).names) == {p["name"] for p in found[0]["properties"]}


def test_a_row_is_of_equal_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, TLC_COUNTED)
    tlc = TlcInstallation.find(None)
    (row,) = deep.measure(tlc, 1, (deep.Case("counter", deep.COUNTER, ("top=3",)),))
    assert {k: row[k] for k in ("distinct", "generated", "depth", "violated")} == {
        "distinct": 4,
        "generated": 4,
        "depth": 4,
        "violated": {},
    }
    with pytest.raises(AssertionError, match=r"TLC Found\(distinct=4.*ours Found\(distinct=3"):
        list(deep.measure(tlc, 1, (deep.Case("counter", deep.COUNTER, ("top=2",)),)))


def test_a_level_that_counts_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = (c for c in optimisation.largest() if c.request().model == "die_hard")
    row = optimisation.compared(check)
    assert (row["distinct"], row["generated"], row["depth"], row["hits"]) == (16, 97, 8, {"goal_not_reached": 7})
    with pytest.raises(AssertionError, match="check die_hard: 16 states"):
        optimisation.compared(replace(check, pin={"distinct": 15}))

    def wrong(ir: str) -> bytes:
        goal = "icmp eq i64 %v3, 4"
        assert ir.count(goal) == 1
        return object_code(ir.replace(goal, "icmp eq i64 %v3, 6"), 0)

    monkeypatch.setitem(optimisation.WAYS, "some", wrong)
    with pytest.raises(AssertionError, match="goal_not_reached"):
        optimisation.compared(check)


def test_what_a_choice_costs() -> None:
    """Seconds of code and search: the list of passes is best for one of three models."""
    rows = [
        {"ways": {way: {"compile": c, "search": s} for way, (c, s) in zip(optimisation.WAYS, pairs, strict=True)}}
        for pairs in ([(1, 10), (2, 4), (5, 3)], [(1, 1), (2, 1), (5, 1)], [(1, 20), (2, 12), (5, 3)])
    ]
    said = " ".join(optimisation.sums(rows).split())
    assert "is 34.0 s of processor" in said and "23.0 s with some passes, and 22.0 s at level 3" in said
    assert "would need 18.0 s without the list of passes, and 16.0 s with it" in said
    assert "best choice for 1 of 3 models" in said
    assert "searches take 17.0 s with some passes, and 7.0 s at level 3" in said
