"""The sequence diagram: its lines, and that no text breaks them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.console.files import read_trace
from reassure.checkers.pictures.lifelines import Json, picture
from reassure.checkers.pictures.mermaid import mermaid
from tests.helpers.posting_model import posting, story, taken

ROOT = Path(__file__).parents[3]


def test_a_story(tmp_path: Path) -> None:
    assert mermaid(picture(*story(posting(tmp_path)))).splitlines() == [
        "sequenceDiagram",
        "  participant clerk as clerk",
        "  participant node_1 as node 1",
        "  participant node_2 as node 2",
        "  participant node_3 as node 3",
        "  Note over clerk,node_3: 0. start()",
        "  clerk->>clerk: 1. write(to=2, body=1)",
        "  clerk-->>node_2: to",
        "  Note over clerk: sends Letter (to 2, body 1)",
        "  clerk->>clerk: 2. write(to=3, body=2)",
        "  clerk-->>node_3: to",
        "  Note over clerk: sends Letter (to 3, body 2)",
        "  node_1->>node_1: 3. resign(heir=3)",
        "  node_1-->>node_3: heir",
        "  Note over node_1: - up<br/>- leader",
        "  Note over node_3: + leader",
        "  clerk-)node_2: Letter",
        "  node_2->>node_2: 4. read(letter=Letter, reader=2)",
        "  Note over node_2: score 0 → 1<br/>count 0 → 1",
        "  Note over clerk,node_3: not taken: Letter (to 3, body 2)",
        "  Note over clerk,node_3: violated: few<br/>false: s.count #lt; 1<br/>s.count = 1",
    ]


def test_a_step_that_changes_nothing(tmp_path: Path) -> None:
    lines = mermaid(picture(*taken(posting(tmp_path), ("rest", {})))).splitlines()
    assert lines[-2:] == ["  clerk->>clerk: 1. rest()", "  Note over clerk: nothing changes"]


def test_a_lasso_is_a_loop() -> None:
    trace, bound, _ = read_trace(Path("core_liveness/a_pending_reassignment_ends"), None)
    lines = mermaid(picture(trace, bound)).splitlines()
    start, end = lines.index("  loop for ever"), lines.index("  end")
    assert lines[start + 1] == "  controller->>controller: 3. unfence(broker=2)"
    assert [line for line in lines[start:end] if "->>controller" in line][-1].endswith("4. fence(broker=2)")
    assert lines[end + 1].startswith("  Note over controller,broker_2: violated: a_pending_reassignment_ends<br/>")


def drawn(*labels: str, text: str = "") -> Json:
    lines = [{"id": label, "label": label, "sort": None} for label in labels]
    start = {"label": f"start({text})", "number": 0, "closing": False}
    return {"lifelines": lines, "loop": None, "messages": [], "notes": [], "steps": [start]}


@pytest.mark.parametrize(
    ("label", "line"),
    [
        ("end", "participant the_end as end"),
        ("Note", "participant the_Note as Note"),
        ("its; #1 admin", "participant its_1_admin as its#59; #35;1 admin"),
        ("2nd", "participant the_2nd as 2nd"),
        ("é", "participant the__ as é"),
    ],
)
def test_a_name_that_mermaid_reads(label: str, line: str) -> None:
    assert mermaid(drawn(label)).splitlines()[1] == f"  {line}"


def test_names_differ() -> None:
    assert mermaid(drawn("a b", "a_b", "a-b")).splitlines()[1:4] == [
        "  participant a_b as a b",
        "  participant a_b_ as a_b",
        "  participant a_b__ as a-b",
    ]


def test_texts_are_escaped() -> None:
    line = mermaid(drawn("a", text="x; #y %% <z>\nend")).splitlines()[-1]
    assert line == "  Note over a: 0. start(x#59; #35;y #37;#37; #lt;z#gt; end)"
