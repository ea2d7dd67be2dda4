"""The script that compares the records of two checkouts notices each kind of difference."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reassure.checkers.console.overview import GROUPS
from reassure.spec.semantics.trace import JsonObject
from tests import same_records
from tests.same_records import ROOT, commands, differences, main

RECORD = {"verdict": "pass", "rows": [{"n": 1}], "stats": {"seconds": 0.5, "memory": 1}, "engine_version": "1"}


def test_times_memory_and_version_may_differ() -> None:
    other = {**RECORD, "stats": {"seconds": 9.0, "memory": 2}, "engine_version": "2"}
    assert list(differences(RECORD, other)) == []


@pytest.mark.parametrize(
    ("other", "places"),
    [
        ({**RECORD, "verdict": "deadlock"}, ["run.verdict: pass -> deadlock"]),
        ({**RECORD, "rows": [{"n": True}]}, ["run.rows[0].n: 1 -> True"]),
        ({**RECORD, "rows": []}, ["run.rows: [{'n': 1}] -> []"]),
        ({**RECORD, "stats": {"memory": 1, "seconds": 0.5}}, ["run.stats: keys seconds, memory -> memory, seconds"]),
        ({**RECORD, "stats": {"memory": 1}}, ["run.stats: keys seconds, memory -> memory"]),
    ],
)
def test_a_difference_has_its_place(other: JsonObject, places: list[str]) -> None:
    assert list(differences(RECORD, other)) == places


def test_every_analysis_and_the_gate_are_compared() -> None:
    assert {words[0] for words in commands()} == {*GROUPS["ask"], "check", "gate"} - {"query", "export"}


def run_with(record: JsonObject) -> Callable[..., tuple[JsonObject, list[str]]]:
    """A run in this checkout that gives a record, and one in another that gives `RECORD`."""
    return lambda checkout, words: ({"code": 0, "record": record if checkout == ROOT else RECORD, "files": {}}, [])


@pytest.mark.parametrize(("record", "code"), [(RECORD, 0), ({**RECORD, "verdict": "deadlock"}, 1)])
def test_the_exit_code_tells_whether_any_record_differs(
    record: JsonObject, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(same_records, "run_in", run_with(record))
    assert main([str(ROOT / "tests"), "--only", "stuck*9*"]) == code
    places = "  run.record.verdict: pass -> deadlock\n" * code
    word = "DIFFERS" if code else "same"
    assert capsys.readouterr().out == f"{word}: stuck die_hard 's.big == 9' (exit code 0)\n{places}"


def test_a_base_that_is_not_there_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["no_such_commit"])
    assert "no_such_commit is neither a folder nor a commit" in capsys.readouterr().err
