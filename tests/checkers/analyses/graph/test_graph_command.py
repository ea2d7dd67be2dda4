"""`reassure graph`: what is drawn, what is marked, and that what is missing is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from reassure.checkers.analyses.graph.state_picture import grouping, state_picture
from reassure.checkers.engines.native.state_graph import reachable_graph
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare
from tests.helpers.command import report_of, said
from tests.helpers.labelled_graph import Steps, graph_file
from tests.helpers.raising_model import ACTION, written

WALK = {"walk": Steps(((0, 1), (0, 2), (1, 3), (2, 3), (3, 3))), "back": Steps(((3, 0),))}
LOW = "@invariant\ndef low(s: State) -> bool:\n    '''Otherwise it is high.'''\n    return s.at < 3\n\n"
STAYS = (
    "@step_property\ndef moves(before: State, after: State) -> bool:\n"
    "    '''Otherwise nothing moves.'''\n    return before.at != after.at\n\n"
)
ENDS = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

@dataclass(frozen=True)
class Config:
    top: Annotated[int, Range(0, 9)] = 2

@dataclass(frozen=True)
class State:
    at: Annotated[int, Range(0, 9)]
    left: bool

@initial
def start(c: Config) -> State:
    return State(0, False)

@action(who="a")
def up(s: State, c: Config, left: bool) -> State:
    require(s.at < c.top)
    return replace(s, at=s.at + 1, left=left)

@terminal
def done(s: State) -> bool:
    return s.left

MODEL = Model.of(__name__, state=State, config=Config)
"""


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> str:
    return graph_file(tmp_path_factory.mktemp("models"), WALK, LOW + STAYS)


def drawn(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any, str]:
    """The exit code, the JSON, and the messages."""
    code, out, err = said(capsys, "graph", *words, "--format", "json", "--quiet")
    return code, json.loads(out), err


def test_every_state_is_a_node(walk: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, graph, err = drawn(capsys, walk)
    assert code == 0
    assert (graph["states"], graph["steps"], graph["complete"], graph["cut"]) == (4, 6, True, [])
    assert [(n["id"], n["label"], n["level"], n["states"], n["initial"]) for n in graph["nodes"]] == [
        ("n0", ["at 0"], 0, 1, 1),
        ("n1", ["at 1"], 1, 1, 0),
        ("n2", ["at 2"], 1, 1, 0),
        ("n3", ["at 3"], 2, 1, 0),
    ]
    assert [(e["from"], e["to"], e["action"], e["steps"]) for e in graph["edges"]] == [
        ("n0", "n1", "walk", 1),
        ("n0", "n2", "walk", 1),
        ("n1", "n3", "walk", 1),
        ("n2", "n3", "walk", 1),
        ("n3", "n0", "back", 1),
        ("n3", "n3", "walk", 1),
    ]
    assert [n["violates"] for n in graph["nodes"]] == [{}, {}, {}, {"low": 1}]
    assert [e["violates"] for e in graph["edges"]] == [{}, {}, {}, {}, {}, {"moves": 1}]
    assert err.splitlines() == [
        "note: low is violated in 1 state",
        "note: moves is violated in 1 step",
    ]


def test_a_node_is_a_value(walk: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, graph, _ = drawn(capsys, walk, "--by", "s.at % 2, s.at > 9")
    assert code == 0
    assert [(n["label"], n["states"], n["initial"], n["violates"]) for n in graph["nodes"]] == [
        (["at % 2 = 0", "at > 9 = no"], 2, 1, {}),
        (["at % 2 = 1", "at > 9 = no"], 2, 0, {"low": 1}),
    ]
    assert [(e["from"], e["to"], e["action"], e["steps"]) for e in graph["edges"]] == [
        ("n0", "n0", "walk", 1),
        ("n0", "n1", "walk", 2),
        ("n1", "n0", "back", 1),
        ("n1", "n1", "walk", 2),
    ]
    assert graph["nodes"][1]["example"] == [["at", "1"]]


def test_a_view_is_an_expression(capsys: pytest.CaptureFixture[str]) -> None:
    _, by_name, _ = drawn(capsys, "core", "--view", "reassigning")
    _, by_expression, _ = drawn(capsys, "core", "--by", "reassigning(s)")
    assert by_name == by_expression
    assert [(n["label"], n["states"]) for n in by_name["nodes"]] == [(["no"], 276), (["yes"], 1392)]


def test_the_search_ends_early(walk: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A level is whole; what is beyond is one node, and it is said in every format."""
    code, graph, err = drawn(capsys, walk, "--max-states", "2")
    assert code == 5
    assert graph["cut"] == [
        "the search ended after 3 states, because the limit of 2 states was reached",
        "the first 2 of 3 visited states are drawn",
    ]
    assert not graph["complete"]
    assert [(e["from"], e["to"]) for e in graph["edges"]] == [("n0", "n1"), ("n0", "beyond"), ("n1", "beyond")]
    assert "note: not everything is drawn: the first 2 of 3 visited states are drawn\n" in err
    assert err.endswith("note: --by EXPRESSION groups the states, --max-states N draws more of them\n")
    for form in ("dot", "svg", "html"):
        code, out, _ = said(capsys, "graph", walk, "--max-states", "2", "--format", form, "--quiet")
        assert code == 5
        assert "not everything is drawn: the first 2 of 3 visited states are drawn" in out
        assert "not drawn" in out.replace("not everything is drawn", "")


def test_a_limit_that_hides_nothing(walk: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, graph, _ = drawn(capsys, walk, "--max-states", "4")
    assert (code, graph["complete"], len(graph["nodes"])) == (0, True, 4)


def test_groups_of_a_search_that_ends_early(walk: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, graph, _ = drawn(capsys, walk, "--max-states", "2", "--by", "s.at > 0")
    assert code == 5
    assert graph["cut"] == ["the search ended after 3 states, because the limit of 2 states was reached"]
    assert [(e["from"], e["to"], e["steps"]) for e in graph["edges"]] == [("n0", "n1", 2), ("n1", "beyond", 2)]


def test_the_budget_ends_the_grouping() -> None:
    prepared, progress = prepare("core", []), Progress(quiet=True)
    graph = reachable_graph(prepared, SearchOptions(), progress, None)
    picture = state_picture(graph, grouping(prepared.bound, "s.leader"), None, progress, until=0.0)
    assert picture.cut == ["the first 256 of 1,668 visited states are drawn: the budget ended"]
    assert sum(node.states for node in picture.nodes) == 256


def test_steps_that_leave_a_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = graph_file(tmp_path, {"walk": Steps(((0, 1), (1, 2)))}, "", top=1)
    code, graph, err = drawn(capsys, file)
    assert (code, graph["clipped"], graph["complete"]) == (5, 1, True)
    assert err == "note: 1 step left out: beyond a declared bound\n"
    assert drawn(capsys, file, "--accept-clipping")[0] == 0


def test_where_runs_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A state with nothing enabled is a deadlock unless a run may end there."""
    file = tmp_path / "ends.py"
    file.write_text(ENDS)
    _, graph, err = drawn(capsys, str(file))
    assert [(n["label"], n["terminal"], n["deadlock"]) for n in graph["nodes"]] == [
        (["at 0", "left no"], 0, 0),
        (["at 1", "left no"], 0, 0),
        (["at 1", "left yes"], 1, 0),
        (["at 2", "left no"], 0, 1),
        (["at 2", "left yes"], 1, 0),
    ]
    assert err == "note: 1 state with nothing enabled, where no run may end (deadlock)\n"


def test_properties_of_whole_runs_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    _, graph, err = drawn(capsys, "core_liveness", "--by", "s.leader")
    assert graph["unmarked"] == ["a_leader_comes_back", "a_pending_reassignment_ends"]
    assert "note: not marked, because they are about whole runs: a_leader_comes_back, " in err


def test_dot(walk: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "graph", walk, "--quiet")
    assert code == 0
    name = json.loads(out.split()[1])
    assert out.splitlines() == [
        f'digraph "{name}" {{',
        f'  label="{name}: 4 states, 6 steps\\nlow is violated in 1 state\\nmoves is violated in 1 step"; labelloc=t; '
        "rankdir=TB",
        '  node [shape=box, style=rounded, fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=10]',
        '  n0 [label="at 0", tooltip="at = 0", penwidth=2.5]',
        '  n1 [label="at 1", tooltip="at = 1"]',
        '  n2 [label="at 2", tooltip="at = 2"]',
        '  n3 [label="at 3\\nlow", tooltip="at = 3", color="#b42318", fontcolor="#b42318"]',
        '  n0 -> n1 [label="walk"]',
        '  n0 -> n2 [label="walk"]',
        '  n1 -> n3 [label="walk"]',
        '  n2 -> n3 [label="walk"]',
        '  n3 -> n0 [label="back"]',
        '  n3 -> n3 [label="walk, violates moves", color="#b42318", fontcolor="#b42318"]',
        "}",
    ]


def test_svg(walk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is XML; each node is a rectangle, each pair of nodes with steps a curve."""
    file = tmp_path / "walk.svg"
    code, out, err = said(capsys, "graph", walk, "--out", str(file), "--quiet")
    assert (code, err) == (0, "")
    assert report_of(out, 0).splitlines()[1:] == [
        "low is violated in 1 state",
        "moves is violated in 1 step",
        f"svg: {file}",
    ]
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    kinds = [group.get("class") for group in root.iter(f"{space}g")]
    assert kinds[:7] == [None, *["edge"] * 4, "edge aside", "edge bad aside"]
    assert kinds[7:11] == ["node initial", "node", "node", "node bad"]
    assert kinds[11:] == [*["label"] * 4, "label aside", "label bad aside"]
    texts = [text.text for text in root.iter(f"{space}text")]
    assert texts.count("walk") == 4
    assert {"at 0", "at 3", "low", "walk, violates moves", "back"} <= set(texts)
    assert "thick border: initial · red: violated" in texts  # no run ends in any of them


def test_html_is_whole_in_itself(walk: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "graph", walk, "--format", "html", "--quiet")
    assert code == 0
    data = re.search(r'<script type="application/json" id="graph">(.*?)</script>', out)
    assert data is not None
    assert json.loads(data[1]) == drawn(capsys, walk)[1]
    assert out.count("<script") == 2
    assert '<td>at 3</td><td class="number">1</td><td class="number"></td><td class="number"></td><td>low</td>' in out


def test_the_legend_of_a_page_is_no_part_of_what_scrolls(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "graph", "die_hard", "--format", "html", "--quiet")[1]
    above, svg = out.split("<svg")[:2]
    assert "goal_not_reached is violated in 2 states<br>thick border: initial · red: violated<br>numbers at" in above
    assert "numbers at arrows" not in svg


def test_the_same_for_any_threads(capsys: pytest.CaptureFixture[str]) -> None:
    one, three = (
        said(capsys, "graph", "core", "--by", "s.leader", "--format", "svg", "--quiet", f"--workers={n}")[1]
        for n in (1, 3)
    )
    assert one == three


def test_too_much_for_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "graph", "core", "--by", "s", "--format", "svg", "--quiet")
    assert (code, out) == (64, "")
    assert err == (
        "reassure: s has 1,668 values, too many for a picture of 400 nodes: group by less, or write --format dot or "
        "json\n"
    )
    code, _, err = said(capsys, "graph", "core", "--max-states", "500", "--format", "html", "--quiet")
    assert code == 64
    assert "500 states, too many for a picture of 400 nodes: give --max-states" in err
    assert said(capsys, "graph", "core", "--by", "s", "--format", "dot", "--quiet")[0] == 0


def test_numbers_stand_where_labels_leave_no_room(walk: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A legend explains them; what has no room even for a number is counted."""
    few = said(capsys, "graph", walk, "--format", "svg", "--quiet")[1]
    assert "numbers at arrows" not in few
    many = said(capsys, "graph", "die_hard", "--format", "svg", "--quiet")[1]
    assert re.findall(r">(numbers at arrows.*|[0-9]:\u00a0.*)</text>", many) == [
        "numbers at arrows: 1:\u00a0empty_small, 2:\u00a0empty_big, 3:\u00a0small_to_big, 4:\u00a0big_to_small, "
        "5:\u00a0fill_big,",
        "6:\u00a0fill_small",
    ]
    assert many.count('class="label waits') == 1
    assert ">1 arrow has no room for a label: it is shown where the pointer is<" in many
    labels = dict(re.findall(r'class="label"[^>]*><title>([^<]*)</title><text[^>]*>([^<]*)</text></g>', many))
    numbers = ["empty_small", "empty_big", "small_to_big", "big_to_small", "fill_big", "fill_small"]
    assert labels == {name: str(number) for number, name in enumerate(numbers, 1)}


def test_an_edge_of_many_actions_has_their_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """With how many steps each has; all of them are in its title."""
    svg = said(capsys, "graph", "die_hard", "--by", "s.big >= 0", "--format", "svg", "--quiet")[1]
    assert re.findall(r"<text text-anchor[^>]*>([^<]*)</text>", svg) == [
        "1 (16), 2 (16), 3 (16), 4 (16)",
        "5 (16), 6 (16)",
    ]
    title = re.search(r'data-to="n0"><title>([^<]*)</title>', svg)
    assert title is not None
    assert title[1].splitlines()[-1] == "big_to_small (16 steps)"


def test_a_model_that_raises_is_not_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "graph", written(tmp_path, ACTION), "--quiet")
    assert (code, out) == (150, "")
    error = "commit(k=Node(0)) raised ValueError: min() arg is an empty sequence (raising.py:31)"
    assert err == f"reassure: {error}; `reassure check` shows how\n"
