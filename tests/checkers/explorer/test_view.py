"""What the page shows of a path: state, steps, guards, properties; and of a model that is wrong or changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.explorer.loaded import ModelSource
from reassure.checkers.explorer.session import BadRequest, ExplorerSession
from reassure.checkers.explorer.view import ActionShown, PathShown
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.traces.properties_here import PropertyHere
from tests.helpers import raising_model
from tests.helpers.command import model_file

SOLUTION = "empty/fill_big/big_to_small/empty_small/big_to_small/fill_big/big_to_small"


def session(model: str, *settings: str) -> ExplorerSession:
    return ExplorerSession(ModelSource(model, list(settings)), SearchOptions())


@pytest.fixture(scope="module")
def die_hard() -> ExplorerSession:
    return session("die_hard")


@pytest.fixture(scope="module")
def kraft() -> ExplorerSession:
    return session("kraft")


def action(view: PathShown, name: str) -> ActionShown:
    return next(a for a in view["actions"] if a["name"] == name)


def said_of(view: PathShown, name: str) -> PropertyHere:
    return next(p for p in view["properties"] if p["name"] == name)


OPTIONAL = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

@dataclass(frozen=True)
class Entry:
    term: Annotated[int, Range(0, 3)]
    who: bool

@dataclass(frozen=True)
class Config: ...

@dataclass(frozen=True)
class State:
    entry: Entry | None = None

@initial
def empty() -> State:
    return State()

@action(who="log")
def write(s: State) -> State:
    require(s.entry is None)
    return State(Entry(1, True))

@action(who="log")
def drop(s: State) -> State:
    require(s.entry is not None)
    return State()

MODEL = Model.of(__name__, state=State, config=Config)
"""


def test_an_optional_record_that_comes_and_goes_is_one_field(tmp_path: Path) -> None:
    explorer = session(model_file(tmp_path, OPTIONAL))
    come = explorer.ask("view", {"path": "empty/write"})
    entry = "(term 1, who yes)"
    assert come["state"] == [{"field": "entry", "value": entry, "changed": True, "old": "none"}]
    assert come["steps"][1]["changes"] == [{"field": "entry", "old": "none", "new": entry}]
    assert action(come, "drop")["enabled"][0]["changes"] == [{"field": "entry", "old": entry, "new": "none"}]
    gone = explorer.ask("view", {"path": "empty/write/drop"})
    assert gone["state"] == [{"field": "entry", "value": "none", "changed": True, "old": entry}]
    start = explorer.ask("view", {"path": "empty"})
    assert start["state"] == [{"field": "entry", "value": "none", "changed": False, "old": None}]


def test_about_names_the_model_and_its_only_start(die_hard: ExplorerSession) -> None:
    about = die_hard.ask("about", {})
    state = [{"field": "small", "value": "0"}, {"field": "big", "value": "0"}]
    assert about["starts"] == [{"call": "empty()", "path": "empty", "state": state}]
    assert (about["model"], about["config"], about["count"], about["clipped"]) == ("die_hard", {"goal": 4}, 1, 0)


def test_a_path_is_shown_with_what_its_last_step_changed(die_hard: ExplorerSession) -> None:
    view = die_hard.ask("view", {"path": "empty/fill_big/big_to_small"})
    assert view["problem"] is None
    assert view["parent"] == "empty/fill_big"
    assert [(s["call"], s["actor"], s["path"]) for s in view["steps"]] == [
        ("empty()", "", "empty"),
        ("fill_big()", "hero", "empty/fill_big"),
        ("big_to_small()", "hero", "empty/fill_big/big_to_small"),
    ]
    assert view["state"] == [
        {"field": "small", "value": "3", "changed": True, "old": "0"},
        {"field": "big", "value": "2", "changed": True, "old": "5"},
    ]
    assert action(view, "empty_small")["enabled"] == [
        {
            "call": "empty_small()",
            "who": "hero",
            "path": "empty/fill_big/big_to_small/empty_small",
            "changes": [{"field": "small", "old": "3", "new": "0"}],
            "violates": [],
            "reaches": [],
            "raises": [],
        }
    ]
    assert action(view, "fill_small")["enabled"][0]["changes"] == []


def test_a_step_that_violates_says_so_before_it_is_taken(die_hard: ExplorerSession) -> None:
    view = die_hard.ask("view", {"path": SOLUTION.rpartition("/")[0]})
    assert said_of(view, "goal_not_reached")["status"] == "holds"
    (step,) = action(view, "big_to_small")["enabled"]
    assert (step["path"], step["violates"]) == (SOLUTION, ["goal_not_reached"])


def test_a_violated_property_says_why(die_hard: ExplorerSession) -> None:
    found = said_of(die_hard.ask("view", {"path": SOLUTION}), "goal_not_reached")
    assert found["status"] == "violated"
    assert found["because"] == ["false: s.big != c.goal", "  s.big = 4", "  c.goal = 4"]
    assert found["doc"] == "Its counterexample is the solution of the puzzle."


def test_initial_states_with_parameters_are_named_by_them(kraft: ExplorerSession) -> None:
    assert [start["path"] for start in kraft.ask("about", {})["starts"]] == [
        "settled(unclean=false)",
        "settled(unclean=true)",
    ]


def test_sets_and_optional_values_are_parameters_by_value(kraft: ExplorerSession) -> None:
    view = kraft.ask("view", {"path": "settled(unclean=false)/start(target=[1%2C3],successor=1)"})
    assert view["problem"] is None
    assert view["steps"][-1]["call"] == "start(target={1, 3}, successor=1)"
    changed = {row["field"]: (row["old"], row["value"]) for row in view["state"] if row["changed"]}
    assert changed == {
        "partition.replicas": ("[1, 2]", "[1, 2, 3]"),
        "partition.adding": ("{}", "{3}"),
        "partition.removing": ("{}", "{2}"),
        "partition.partition_epoch": ("0", "1"),
        "wanted": ("[1, 2]", "[1, 3]"),
        "asked": ("0", "1"),
    }


def test_a_disabled_action_names_the_guard_and_its_values(kraft: ExplorerSession) -> None:
    view = kraft.ask("view", {"path": "settled(unclean=false)"})
    same, successor = action(view, "start")["guards"]
    assert same["text"] == "require(target != NOBODY and target != members(p))"
    assert same["count"] == len(same["refused"]) == 8
    assert same["refused"][4] == {
        "call": "start(target={1, 2}, successor=none)",
        "values": ["because false: target != members(p)", "target = {1, 2}", "members(p) = {1, 2}"],
    }
    assert successor["text"] == "require(successor == p.leader)"
    assert successor["refused"][0]["values"] == ["successor = none", "p.leader = 1"]
    assert action(view, "alter_partition")["undrawn"] == ["request"]
    assert action(view, "alter_partition")["enabled"] == []


def test_steps_one_ahead_name_the_covers_they_reach(kraft: ExplorerSession) -> None:
    view = kraft.ask("view", {"path": "settled(unclean=false)"})
    reached = {step["call"]: step["reaches"] for step in action(view, "start")["enabled"]}
    assert reached["start(target={3}, successor=1)"] == ["reassignment_started", "target_shares_nothing"]
    assert reached["start(target={1}, successor=1)"] == []


def test_properties_of_whole_runs_and_of_other_steps_are_not_checked() -> None:
    liveness = "about whole runs: a finite path does not decide it; here its premise is false, its goal true"
    asking = session("core_liveness")
    start = asking.ask("view", {"path": "three_in_sync"})
    assert {p["name"]: p["note"] for p in start["properties"] if p["status"] == "not_checked"} == {
        "a_leader_comes_back": liveness,
        "a_pending_reassignment_ends": liveness,
        "reassignment_completed": "about steps; the path has none yet",
    }
    fenced = asking.ask("view", {"path": "three_in_sync/fence(broker=0)"})
    assert said_of(fenced, "a_leader_comes_back")["note"] == liveness
    assert said_of(fenced, "reassignment_completed")["note"] == "about steps of alter, not of fence"


@pytest.mark.parametrize(
    ("path", "step", "reason"),
    [
        ("full/fill_big", 0, "this is not an initial state of the model"),
        ("empty/fill_big/pour", 2, "die_hard has no action pour"),
        ("empty/fill_big(x=1)", 1, "fill_big takes the parameters none, not x"),
    ],
)
def test_a_path_that_the_model_does_not_have(die_hard: ExplorerSession, path: str, step: int, reason: str) -> None:
    view = die_hard.ask("view", {"path": path})
    assert (view["problem"]["step"], view["problem"]["reason"]) == (step, reason)
    assert view["path"] == "/".join(path.split("/")[:step])


def test_a_step_that_is_no_longer_enabled_is_named_with_its_guard(tmp_path: Path) -> None:
    path = raising_model.written(tmp_path, "")
    view = session(path).ask("view", {"path": "start/crash(node=0)/crash(node=0)/crash(node=1)"})
    assert view["path"] == "start/crash(node=0)"
    problem = view["problem"]
    assert (problem["step"], problem["call"]) == (2, "crash(node=0)")
    assert problem["guard"]["text"] == "require(node in s.alive)"
    assert problem["guard"]["refused"][0]["values"] == ["node = 0", "s.alive = {1, 2}"]


def test_a_value_that_is_not_of_the_type_is_told(tmp_path: Path) -> None:
    view = session(raising_model.written(tmp_path, "")).ask("view", {"path": "start/crash(node=7)"})
    assert view["problem"]["reason"] == "node: Node(7) is not one of the 3 Node ids"


@pytest.mark.parametrize(
    ("path", "words"),
    [("", "a path begins with an initial state"), ("empty/a b", "is not a step"), ("empty/f(x)", "as name=value")],
)
def test_a_text_that_is_no_path(die_hard: ExplorerSession, path: str, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        die_hard.ask("view", {"path": path})


def test_an_action_that_raises_is_told(tmp_path: Path) -> None:
    path = raising_model.written(tmp_path, raising_model.ACTION)
    view = session(path).ask("view", {"path": "start/crash(node=0)/crash(node=1)/crash(node=2)"})
    assert [(one["call"], one["error"].partition(" min()")[0]) for one in action(view, "commit")["raises"]] == [
        (f"commit(k={k})", f"commit(k=Node({k})) raised ValueError:") for k in range(3)
    ]
    assert said_of(view, "deadlock")["status"] == "holds"


def test_a_property_that_raises_is_told(tmp_path: Path) -> None:
    text = "@invariant\ndef least(s: State) -> bool:\n    return min(s.alive) >= Node(0)\n"
    view = session(raising_model.written(tmp_path, text)).ask(
        "view", {"path": "start/crash(node=0)/crash(node=1)/crash(node=2)"}
    )
    found = said_of(view, "least")
    assert found["status"] == "raised"
    assert found["because"][0].startswith("least raised ValueError: min()")
    before = session(raising_model.written(tmp_path, text)).ask("view", {"path": "start/crash(node=0)/crash(node=1)"})
    assert action(before, "crash")["enabled"][0]["raises"] == ["least"]


def test_a_deadlock_is_a_violation(tmp_path: Path) -> None:
    view = session(raising_model.written(tmp_path, "")).ask(
        "view", {"path": "start/crash(node=0)/crash(node=1)/crash(node=2)"}
    )
    assert said_of(view, "deadlock")["status"] == "violated"


def test_of_very_many_steps_the_first_are_listed(tmp_path: Path) -> None:
    text = """@action(who="x")
def put(s: State, a: Annotated[int, Range(0, 24)], b: Annotated[int, Range(0, 24)]) -> State:
    return replace(s, n=1)
"""
    put = action(session(raising_model.written(tmp_path, text)).ask("view", {"path": "start"}), "put")
    assert (len(put["enabled"]), put["unlisted"]) == (300, 325)
    assert put["enabled"][299]["call"] == "put(a=11, b=24)"


def test_a_step_that_leaves_a_bound_cannot_be_taken(tmp_path: Path) -> None:
    text = '@action(who="x")\ndef more(s: State) -> State:\n    return replace(s, n=s.n + 2)\n'
    asking = session(raising_model.written(tmp_path, text))
    view = asking.ask("view", {"path": "start/more"})
    (step,) = action(view, "more")["enabled"]
    assert (step["path"], step["leaves"]) == (None, "n: 4 is outside 0..3")
    beyond = asking.ask("view", {"path": "start/more/more"})
    assert beyond["problem"]["reason"] == "it leaves the bound of n: 4 is outside 0..3"


def test_a_changed_model_is_loaded_again_and_a_broken_one_is_told(tmp_path: Path) -> None:
    text = raising_model.MODEL.replace("{text}", "").replace("{options}", "")
    path = Path(model_file(tmp_path, text))
    asking = session(str(path))
    walk = {"path": "start/crash(node=0)"}
    first = asking.ask("view", walk)
    assert first["problem"] is None
    path.write_text(text.replace("require(node in s.alive)", "require(node in s.alive and len(s.alive) > 3)"))
    second = asking.ask("view", walk)
    assert second["problem"]["guard"]["refused"][0]["values"] == ["because false: len(s.alive) > 3", "len(s.alive) = 3"]
    assert second["digest"] != first["digest"]
    path.write_text(text + "\ndef (:\n")
    with pytest.raises(Failure, match=r"mine\.py cannot be imported: SyntaxError"):
        asking.ask("view", walk)
    path.write_text(text)
    assert asking.ask("view", walk)["digest"] == first["digest"]


def test_the_neighbourhood_has_states_once_and_steps_between_them(die_hard: ExplorerSession) -> None:
    one = die_hard.ask("neighbourhood", {"path": "empty", "radius": "1"})
    assert [(n["path"], n["distance"], n["changes"]) for n in one["nodes"]] == [
        ("empty", 0, []),
        ("empty/fill_small", 1, ["small: 0 -> 3"]),
        ("empty/fill_big", 1, ["big: 0 -> 5"]),
    ]
    calls = [(e["from"], e["to"], e["call"]) for e in one["edges"]]
    assert calls[:3] == [(0, 1, "fill_small()"), (0, 2, "fill_big()"), (0, 0, "empty_small()")]
    two = die_hard.ask("neighbourhood", {"path": "empty", "radius": "2"})
    assert len(two["nodes"]) == 6
    assert two["left_out"] == 0


def test_the_neighbourhood_marks_violations_and_counts_what_it_leaves_out(kraft: ExplorerSession) -> None:
    with pytest.raises(BadRequest, match="a radius is 1 or 2, not '9'"):
        kraft.ask("neighbourhood", {"path": "settled(unclean=false)", "radius": "9"})
    two = kraft.ask("neighbourhood", {"path": "settled(unclean=false)", "radius": "2"})
    assert len(two["nodes"]) == 60
    assert two["left_out"] > 0
    near = session("die_hard").ask("neighbourhood", {"path": SOLUTION.rpartition("/")[0], "radius": "1"})
    assert [n["violates"] for n in near["nodes"] if n["path"] == SOLUTION] == [["goal_not_reached"]]
