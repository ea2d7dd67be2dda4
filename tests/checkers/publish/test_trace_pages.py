"""The index of counterexamples: every run with what happens in it, on one of three pages; and the short names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reassure.checkers import publish
from reassure.checkers.ledger.trace_store import StoredTrace, TraceKey, TraceUse
from reassure.checkers.publish.trace_pages import pages_of_traces, what_happens

FOLDER = Path("counterexamples")


def key(model: str, release: str, name: str = "rolling_back_ends") -> TraceKey:
    return TraceKey.of(model, "check", {"release": release}, name)


def use(claim: str, place: int = 0, of_mutant: bool = False) -> TraceUse:
    return TraceUse(of_mutant, 1, (claim[:1], int(claim[1:])), place, claim, "a reading")


def stored(name: str, model: str, *releases: str, states: int = 3, of: str = "rolling_back_ends") -> StoredTrace:
    keys = frozenset(key(model, release, of) for release in releases or ("",))
    return StoredTrace(f"{name}.itf.json", model, (), releases, (of, "sound"), states, "", keys)


TRACES = [
    stored("K14/3.9", "kraft_kafka", "3.9", "4.0", "4.1", states=4, of="retarget_replaces_the_target"),
    stored("K23/4.3", "kraft_kafka", "4.3", "4.4"),
    stored("K23/4.3-2", "kraft_kafka", "4.2", states=5),
    stored("X2/reading", "core", of="isr_never_empty"),
    stored("core/deadlock", "core", of="deadlock"),
    stored("kraft/safe", "kraft", of="reassignment_keeps_min_isr"),
    stored("mutants/one", "kraft", of="reassignment_keeps_min_isr"),
]
USES = {
    key("kraft_kafka", "4.3"): [use("K23", 1), use("K1")],
    key("kraft_kafka", "4.4"): [use("K23", 1)],
    key("kraft_kafka", "4.2"): [use("K23", 2)],
    key("kraft", "", "reassignment_keeps_min_isr"): [use("K7", of_mutant=True)],
}
PENDING = "A reassignment whose target is in sync, with a leader, is pending until somebody cancels it."


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    findings = [("finding-1", "K23", "It never ends", FOLDER / "K23" / "4.3-2.itf.json")]
    return {path.name: text for path, text in pages_of_traces(TRACES, USES, findings, FOLDER).items()}


def test_a_line_says_what_happens_in_how_many_steps_and_in_which_releases(pages: dict[str, str]) -> None:
    head = "| name | what happens | steps | releases |\n|---|---|---|---|\n"
    wants = "Brokers that neither the old nor the new assignment wants keep copying, or stay for good."
    rows = (
        f"| [K14/3.9](K14/3.9.itf.json) | {wants} | 3 | 3.9 to 4.1 |\n"
        f"| [K23/4.3](K23/4.3.itf.json) | {PENDING} | 2 | 4.3, 4.4 |\n"
        "| [K23/4.3-2](K23/4.3-2.itf.json) |  | 4 | 4.2 |\n"
    )
    assert f"\n## KRaft reassignment\n\n{head}{rows}\n" in pages["README.md"]
    finding = "| [finding-1](K23/4.3-2.itf.json), K23 | It never ends. | 4 | 4.2 |\n"
    assert f"\n## Findings in released Kafka\n\n{head}{finding}\n" in pages["README.md"]


def test_every_run_is_on_one_page(pages: dict[str, str]) -> None:
    by_page = {
        name: [trace.name for trace in TRACES if f"\n| [{trace.name[:-9]}]({trace.name}) | " in text]
        for name, text in pages.items()
    }
    assert by_page == {
        "README.md": [trace.name for trace in TRACES if trace.name[0] in "KXm"],
        "by-model.md": [],
        "by-model-kraft.md": [],
        "names.json": [],
    }
    assert "\n## core\n" in pages["by-model.md"] and "\n| [deadlock](core/deadlock.itf.json) | " in pages["by-model.md"]
    row = "| [safe](kraft/safe.itf.json) | An administrator's request stops acks=all producers. | 2 | - |\n"
    assert row in pages["by-model-kraft.md"]


def test_short_names(pages: dict[str, str]) -> None:
    """Of findings first; of claims by their first reading, of releases that share a file, of no mutant."""
    assert json.loads(pages["names.json"]) == {
        "K1": "K23/4.3.itf.json",
        "K1/4.3": "K23/4.3.itf.json",
        "K23": "K23/4.3-2.itf.json",
        "K23/4.2": "K23/4.3-2.itf.json",
        "K23/4.4": "K23/4.3.itf.json",
        "finding-1": "K23/4.3-2.itf.json",
    }


def test_what_happens_where_no_docstring_says_it() -> None:
    assert what_happens(stored("a/b", "core", of="deadlock")) == "Nothing can happen any more."
    assert what_happens(stored("a/b", "die_hard", of="goal_not_reached")) == "`goal_not_reached` does not hold."


def test_a_page_that_nothing_generates_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "ROOT", tmp_path)
    monkeypatch.setattr(publish, "COUNTEREXAMPLES", tmp_path / "counterexamples")
    monkeypatch.setattr(publish, "FINDINGS", tmp_path / "docs" / "findings.md")
    paths = [
        "counterexamples/index/a.md",
        "counterexamples/gone.md",
        "models/kraft/gone.md",
        "counterexamples/K1/a.itf.json",
    ]
    for name in paths:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    made = {tmp_path / paths[0]: "text", tmp_path / "models" / "README.md": "new"}
    assert sorted(p.relative_to(tmp_path).as_posix() for p in publish.stale_files(made)) == [
        "counterexamples/K1/a.itf.json",
        "counterexamples/gone.md",
        "models/README.md",
        "models/kraft/gone.md",
    ]
