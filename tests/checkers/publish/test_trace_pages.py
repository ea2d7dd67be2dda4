"""The index of counterexamples: a page with too many traces is divided, by model."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers import publish
from reassure.checkers.ledger.trace_store import StoredTrace
from reassure.checkers.publish import trace_pages

FOLDER = Path("counterexamples")


def stored(model: str, *settings: str, releases: tuple[str, ...] = (), name: str = "safe") -> StoredTrace:
    return StoredTrace(f"{model}--{name}.itf.json", model, settings, releases, (name, "sound"), 3, "")


TRACES = [
    stored("kraft"),
    stored("kraft_kafka", releases=("4.3", "4.4")),
    stored("kraft_kafka", releases=("4.3", "4.4"), name="second"),
    stored("kraft_kafka", "disturbances=2", releases=("4.4",)),
    stored("core"),
]


@pytest.mark.parametrize(("most", "pages"), [(4, ["kraft", "examples"]), (3, ["kraft", "kraft_kafka", "examples"])])
def test_a_page_with_many_traces_is_divided(most: int, pages: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_pages, "MOST", most)
    made = trace_pages.pages_of_traces(TRACES, FOLDER)
    assert [path.relative_to(FOLDER).as_posix() for path in made] == ["README.md", *(f"index/{p}.md" for p in pages)]


def test_every_trace_is_on_one_page_with_its_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_pages, "MOST", 3)
    made = trace_pages.pages_of_traces(TRACES, FOLDER)
    for line in (
        "| KRaft reassignment | [`kraft`](index/kraft.md) | 1 |",
        "|  | [`kraft_kafka`](index/kraft_kafka.md) | 3 |",
        "| Examples | [All models](index/examples.md) | 1 |",
    ):
        assert f"\n{line}\n" in made[FOLDER / "README.md"]
    row = "| `safe`, `sound` | [3 states](../kraft_kafka--safe.itf.json) |\n"
    other = "| `second`, `sound` | [3 states](../kraft_kafka--second.itf.json) |\n"
    head = "| violated | trace |\n|---|---|\n"
    text = made[FOLDER / "index" / "kraft_kafka.md"]
    assert text.startswith("# `kraft_kafka`\n") and "`reassure show counterexamples/FILE` prints a trace" in text
    assert f"\n## kraft_kafka, Kafka 4.3, 4.4\n\n{head}{row}{other}" in text
    assert f"\n## kraft_kafka disturbances=2, Kafka 4.4\n\n{head}{row}" in text


def test_a_page_that_nothing_generates_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "ROOT", tmp_path)
    monkeypatch.setattr(publish, "COUNTEREXAMPLES", tmp_path / "counterexamples")
    monkeypatch.setattr(publish, "FINDINGS", tmp_path / "docs" / "findings.md")
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
