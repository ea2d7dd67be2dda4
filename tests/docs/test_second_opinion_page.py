"""The page of second opinions: made of the kept answers, a row for each check, counts as the gate pins them."""

from __future__ import annotations

import json

from reassure.checkers.request.prepare import plain
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
    answers = json.loads(ANSWERS.read_text(encoding="utf-8"))["smaller"]
    assert {key: answer["outcome"] for key, answer in answers.items()} == {
        key_of(request): "same" for request in of_smaller()
    }, WRITE
    assert {key: answer["executed"] for key, answer in answers.items() if answer["executed"]} == {
        "check tests/benchmarks/raft_two_candidates.py --set=entries=1": 2
    }
    assert (
        "| not run |"
        in page({**json.loads(ANSWERS.read_text(encoding="utf-8")), "smaller": {}}).partition(
            "## Smaller configurations"
        )[2]
    )


def test_every_property_of_whole_runs_is_compared() -> None:
    """In a check of the gate, or in a small configuration."""
    data = json.loads(ANSWERS.read_text(encoding="utf-8"))
    asked, answered = set(), set()
    for check in checks():
        request, outcome = check.request(), data["answers"].get(key_of(check), {"outcome": ""})["outcome"]
        for claim in plain(request.model, request.set)[0].properties:
            if claim.temporal and request.options.wants(claim.name):
                asked.add((request.model, claim.name))
                if outcome.startswith("same") and claim.name not in outcome.partition(":")[2].replace(",", "").split():
                    answered.add((request.model, claim.name))
    for request in of_whole_runs():
        if data["whole_runs"].get(key_of(request), {"outcome": ""})["outcome"] == "same":
            answered |= {(request.model, name) for name in request.options.properties}
    assert asked - answered == set(), WRITE
    assert [about for about, (_, verdict, _) in of_each(data).items() if not verdict] == [], WRITE
