"""The page of second opinions: made of the kept answers, a row for each check, counts as the gate pins them."""

from __future__ import annotations

import json

from tests.benchmarks.second_opinion import ANSWERS, PAGE, checks, key_of, page, pinned

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
