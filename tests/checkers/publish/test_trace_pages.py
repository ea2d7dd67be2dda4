"""The index of counterexamples: a page with too many traces is divided, by model and then by Kafka release."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers import publish
from reassure.checkers.publish import trace_pages
from reassure.checkers.publish.trace_pages import TraceRow

FOLDER = Path("counterexamples")


def row(model: str, *settings: str, name: str = "safe", states: int = 3) -> TraceRow:
    return TraceRow(model, settings, name, states, f"{model}--{name}.md")


ROWS = [
    row("kraft"),
    row("kraft_kafka"),
    row("kraft_kafka", "release=4.4"),
    row("kraft_kafka", "disturbances=2", "release=4.4"),
    row("core", name="found", states=5),
]


def names(rows: list[TraceRow]) -> list[str]:
    return [path.relative_to(FOLDER).as_posix() for path in trace_pages.pages_of_traces(rows, FOLDER)]


@pytest.mark.parametrize(
    ("most", "pages"),
    [
        (4, ["kraft", "examples"]),
        (3, ["kraft", "kraft_kafka", "examples"]),
        (2, ["kraft", "kraft_kafka", "kraft_kafka-4.4", "examples"]),
        (1, ["kraft", "kraft_kafka", "kraft_kafka-4.4", "examples"]),
    ],
)
def test_a_page_with_many_traces_is_divided(most: int, pages: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_pages, "MOST", most)
    assert names(ROWS) == ["README.md", *(f"index/{name}.md" for name in pages)]


def test_every_trace_is_on_one_page_with_its_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_pages, "MOST", 2)
    made = trace_pages.pages_of_traces(ROWS, FOLDER)
    index = made[FOLDER / "README.md"]
    for line in (
        "| KRaft reassignment | [`kraft`](index/kraft.md) | 1 |",
        "|  | [`kraft_kafka`, default release](index/kraft_kafka.md) | 1 |",
        "|  | [`kraft_kafka`, Kafka 4.4](index/kraft_kafka-4.4.md) | 2 |",
        "| Examples | [All models](index/examples.md) | 1 |",
    ):
        assert f"\n{line}\n" in index
    table = "| property or cover | trace |\n|---|---|\n| `safe` | [3 states](../kraft_kafka--safe.md) |\n"
    text = made[FOLDER / "index" / "kraft_kafka-4.4.md"]
    assert text.startswith("# `kraft_kafka`, Kafka 4.4\n")
    assert f"\n## kraft_kafka release=4.4\n\n{table}" in text
    assert f"\n## kraft_kafka disturbances=2 release=4.4\n\n{table}" in text
    assert "| `found` | [5 states](../core--found.md) |" in made[FOLDER / "index" / "examples.md"]


def test_a_page_that_nothing_generates_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "ROOT", tmp_path)
    paths = [
        "counterexamples/index/a.md",
        "counterexamples/gone.md",
        "models/kraft/gone.md",
        "counterexamples/a--b.itf.json",
    ]
    for name in paths:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    made = {tmp_path / paths[0]: "text", tmp_path / "models" / "README.md": "new"}
    assert sorted(p.relative_to(tmp_path).as_posix() for p in publish.stale(made)) == [
        "counterexamples/a--b.itf.json",
        "counterexamples/gone.md",
        "models/README.md",
        "models/kraft/gone.md",
    ]
