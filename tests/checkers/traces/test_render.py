"""Traces as stories, and why a property falls: what decided, what in it is false, what it read."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.trace_files import results
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.traces import explain as why
from reassure.checkers.traces import render as story
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace, TraceStep
from tests.helpers.model_text import module

ROOT = Path(__file__).parents[3]

HEAD = """
from dataclasses import dataclass
from enum import Enum
from typing import Annotated
from reassure import *

class Node(Id, size="nodes", first=1): ...

class Light(Enum):
    RED = 1
    AMBER = 2
    GREEN = 3
    WHITE = 4
    BLUE = 5
    VIOLET = 6

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 40)] = 3

"""

COUNTER = """
@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 3)]
    up: frozenset[Node]
    leader: Node | None

@initial
def zero(c: Config) -> State:
    return State(0, every(Node, c), None)

@action(who="counter")
def add(s: State) -> State:
    require(s.n < 3)
    return replace(s, n=s.n + 1, up=s.up - {max(s.up)} if s.n == 1 else s.up)

def low(s: State) -> bool:
    return s.n < 2

def below(n: Annotated[int, Range(0, 3)], s: State, high: Annotated[int, Range(0, 9)]) -> bool:
    return n < high

"""
"""It falls to what wants n < 2, or node 3 to be up, after two steps; it ends after three."""

GUARDED = """
@dataclass(frozen=True)
class Pair:
    a: Annotated[int, Range(0, 3)]

@dataclass(frozen=True)
class State:
    last: Pair | None
    top: Annotated[int, Range(0, 3)] | None
    leader: Node | None
    up: frozenset[Node]
    order: Annotated[tuple[Node, ...], MaxLen(2)]
    score: Map[Node, Light]

@initial
def nothing(c: Config) -> State:
    return State(None, None, None, frozenset(), (), fill(Node, c, Light.RED))

@action(who="nobody")
def idle(s: State) -> State:
    return s

"""

END = "MODEL = Model.of(__name__, state=State, config=Config)\n"


def found(
    text: str,
    folder: Path,
    name: str = "claim",
    settings: tuple[str, ...] = (),
    witness: bool = False,
) -> tuple[Trace, BoundModel]:
    """The trace of the one finding or cover of this name."""
    made = module(HEAD + text + END, folder, prelude="")
    options = SearchOptions([name], witness=witness)
    asked = CheckRequest(str(made.__file__), list(settings), "reference", options)
    verdict, bound = run(asked, Progress(quiet=True))
    (finding,) = results(verdict)
    assert finding.trace is not None
    return finding.trace, bound


def invariant(body: str, declared: str = COUNTER) -> str:
    return f"{declared}@invariant\ndef claim(s: State, c: Config) -> bool:\n    {body}\n\n"


# -- why a property is false -----------------------------------------------------------------------

CLAIMS = {
    "return s.n < 2": ["false: s.n < 2", "  s.n = 2"],
    "return low(s)": ["false: low(s)"],
    "return below(s.n, s, 2)": ["false: below(s.n, s, 2)", "  s.n = 2"],
    "return s.n < 9 and s.n != 2": [
        "false: s.n < 9 and s.n != 2",
        "  because false: s.n != 2",
        "  s.n = 2",
    ],
    "return s.leader is not None or s.n < 2": [
        "false: s.leader is not None or s.n < 2",
        "  s.leader = none",
        "  s.n = 2",
    ],
    "return s.n < 2 or (s.leader is not None and s.leader in s.up)": [
        "false: s.n < 2 or (s.leader is not None and s.leader in s.up)",
        "  s.n = 2",
        "  s.leader = none",
        "  s.up = {1, 2}",
    ],
    # The leader is none, but that is not why.
    "return s.n < 2 and (s.leader is not None or s.n < 9)": [
        "false: s.n < 2 and (s.leader is not None or s.n < 9)",
        "  because false: s.n < 2",
        "  s.n = 2",
    ],
    "return s.n < 9 and (s.leader is not None or s.n < 2)": [
        "false: s.n < 9 and (s.leader is not None or s.n < 2)",
        "  because false: s.leader is not None",
        "  s.leader = none",
        "  because false: s.n < 2",
        "  s.n = 2",
    ],
    "if s.n > 9:\n        return False\n    twice = s.n + s.n\n    return twice < 4": [
        "false: twice < 4",
        "  twice = 4",
    ],
    "if s.n == 2:\n        return False\n    return True": ["false: not s.n == 2", "  s.n = 2"],
    "if s.n == 2 and s.leader is None:\n        return False\n    return True": [
        "false: not (s.n == 2 and s.leader is None)",
        "  s.n = 2",
        "  s.leader = none",
    ],
    "if s.n < 2:\n        return True\n    else:\n        return False": [
        "false: s.n < 2",
        "  s.n = 2",
    ],
    "if s.n < 2:\n        return True\n    return False": ["false: False"],
    "return (\n        s.n < 9\n        and s.n < 2\n    )": [
        "false: s.n < 9 and s.n < 2",
        "  because false: s.n < 2",
        "  s.n = 2",
    ],
    "return all(b in s.up for b in every(Node, c))": [
        "false: all((b in s.up for b in every(Node, c))) for b = 3",
    ],
    "return s.n < 9 and all(s.n < 2 for b in every(Node, c) if b in s.up)": [
        "false: s.n < 9 and all((s.n < 2 for b in every(Node, c) if b in s.up))",
        "  because false: all((s.n < 2 for b in every(Node, c) if b in s.up)) for b = 1, 2",
    ],
    "return s.n < 2 or all(x == Light.RED for x in every(Light))": [
        "false: s.n < 2 or all((x == Light.RED for x in every(Light)))",
        "  s.n = 2",
    ],
    "return not (s.n == 2)": ["false: not s.n == 2", "  s.n = 2"],
    "return (Light.RED if s.n == 2 else Light.BLUE) == Light.BLUE": [
        "false: (Light.RED if s.n == 2 else Light.BLUE) == Light.BLUE",
        "  Light.RED if s.n == 2 else Light.BLUE = red",
    ],
    "return s.n - 3 < -1": ["false: s.n - 3 < -1", "  s.n - 3 = -1"],
    "return s.up == every(Node, c)": [
        "false: s.up == every(Node, c)",
        "  s.up = {1, 2}",
        "  every(Node, c) = {1, 2, 3}",
    ],
}


@pytest.mark.parametrize("claim", CLAIMS, ids=[" ".join(c.split()) for c in CLAIMS])
def test_why(claim: str, tmp_path: Path) -> None:
    trace, bound = found(invariant(claim), tmp_path)
    assert len(trace) == 3
    assert why.shows(trace, bound) is True
    assert why.reasons(trace, bound) == CLAIMS[claim]
    assert "\n".join(["", "```", *CLAIMS[claim], "```", ""]) in story.markdown(trace, bound)


def test_what_is_long_is_cut(tmp_path: Path) -> None:
    text = invariant("return s.up == every(Node, c)")
    trace, bound = found(text, tmp_path, settings=("nodes=40",))
    assert why.reasons(trace, bound) == ["false: s.up == every(Node, c)"]
    wide = "s.n" + " + 0" * 40
    trace, bound = found(invariant(f"return {wide} < 2"), tmp_path)
    cut_off = "s.n" + " + 0" * 38 + " +..."
    assert why.reasons(trace, bound) == [f"false: {cut_off}", f"  {cut_off} = 2"]


def test_the_members_an_all_is_false_for(tmp_path: Path) -> None:
    """The first three, in one order: a set of an enum's members has another in every process."""
    text = invariant("return all(s.n < 2 or x == Light.RED for x in every(Light))")
    made = module(HEAD + text + END, tmp_path, prelude="")
    told = "all((s.n < 2 or x == Light.RED for x in every(Light)))"
    words = ["check", str(made.__file__), "--engine=reference", "--property=claim"]
    seen = []
    for seed in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-m", "reassure", *words],
            cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.returncode == 12, done.stderr
        seen.append([line for line in done.stdout.splitlines() if "false: " in line])
    assert seen == [[f"  false: {told} for x = amber, blue, green, ..."]] * 3


OUT_OF_PLACE = {
    "AttributeError": "s.last is not None and s.last.a < 3",
    "TypeError": "s.top is not None and s.top < 3",
    "KeyError": "s.leader is not None and s.score[s.leader] == Light.RED",
    "IndexError": "s.order != () and s.order[0] == Node(1)",
    "ValueError": "s.up != frozenset() and max(s.up) == Node(1)",
    "StopIteration": "s.order != () and next(b for b in s.order) == Node(1)",
    "RuntimeError": "s.order != () and all(next(b for b in s.order) == x for x in every(Node, c))",
}
"""What the second operand raises where the first is false."""

GUARDED_VALUES = {
    "s.last": "none",
    "s.top": "none",
    "s.leader": "none",
    "s.order": "[]",
    "s.up": "{}",
}


@pytest.mark.parametrize("kind", OUT_OF_PLACE)
def test_a_guarded_part_is_no_reason(kind: str, tmp_path: Path) -> None:
    expression = OUT_OF_PLACE[kind]
    trace, bound = found(invariant(f"return {expression}", GUARDED), tmp_path)
    guard, guarded = expression.split(" and ")
    read = guard.split()[0]
    names = {**sys.modules[bound.model.module].__dict__, "s": trace.states[0], "c": bound.config}
    with pytest.raises(Exception) as raised:
        eval(guarded, names)
    assert type(raised.value).__name__ == kind
    assert why.reasons(trace, bound)[1:] == [
        f"  because false: {guard}",
        f"  {read} = {GUARDED_VALUES[read]}",
    ]


def test_a_mistake_of_ours_is_not_taken_for_a_guarded_part() -> None:
    with pytest.raises(NameError):
        why._value(ast.parse("nobody", mode="eval").body, why.Scene({}, frozenset(), ()))


# -- what a trace shows at its end -----------------------------------------------------------------


def cut(trace: Trace, states: int) -> Trace:
    return Trace(trace.states[:states], trace.steps[:states], trace.meta)


def test_a_trace_that_shows_nothing_has_no_reasons(tmp_path: Path) -> None:
    trace, bound = found(invariant("return s.n < 2"), tmp_path)
    assert why.shows(cut(trace, 2), bound) is False
    assert why.reasons(cut(trace, 2), bound) == []


def test_a_deadlock_says_so(tmp_path: Path) -> None:
    trace, bound = found(COUNTER, tmp_path, "deadlock")
    assert why.shows(trace, bound) is True
    assert why.reasons(trace, bound) == [
        "nothing is enabled here, and the model does not say that a run may end here",
    ]
    assert why.shows(cut(trace, 3), bound) is False
    assert why.reasons(cut(trace, 3), bound) == []


def test_a_run_that_may_end_is_no_deadlock(tmp_path: Path) -> None:
    trace, _ = found(COUNTER, tmp_path, "deadlock")
    ends = "@terminal\ndef done(s: State) -> bool:\n    return s.n == 3\n\n"
    bound = BoundModel(module(HEAD + COUNTER + ends + END, tmp_path, prelude="").MODEL)
    assert why.shows(trace, bound) is False


STEP = (
    COUNTER
    + """
@action(who="chief")
def elect(s: State, node: Node) -> State:
    require(s.leader is None and node in s.up)
    return replace(s, leader=node)

@step_property(on=elect)
def claim(before: State, after: State, node: Node, c: Config) -> bool:
    return before.n < 2 or after.leader == max(every(Node, c)) or node == Node(1)

"""
)


def test_why_of_a_step(tmp_path: Path) -> None:
    trace, bound = found(STEP, tmp_path)
    assert [s.action for s in trace.steps] == ["zero", "add", "add", "elect"]
    assert why.shows(trace, bound) is True
    assert why.reasons(trace, bound) == [
        "false: before.n < 2 or after.leader == max(every(Node, c)) or node == Node(1)",
        "  before.n = 2",
        "  after.leader = 2",
        "  max(every(Node, c)) = 3",
        "  node = 2",
    ]


def test_a_step_that_the_claim_is_not_about(tmp_path: Path) -> None:
    """Also one without the parameters that the claim reads, and no step at all."""
    trace, bound = found(STEP, tmp_path)
    for states in (1, 3):
        assert why.shows(cut(trace, states), bound) is False
        assert why.reasons(cut(trace, states), bound) == []


def test_a_cover_needs_no_reason(tmp_path: Path) -> None:
    text = COUNTER + "@cover\ndef goal(s: State) -> bool:\n    return s.n == 1\n\n"
    trace, bound = found(text, tmp_path, "goal", witness=True)
    assert why.shows(trace, bound) is True
    assert why.reasons(trace, bound) == []
    assert story.heading(trace).endswith(": goal is reached after 1 step")
    assert why.shows(cut(trace, 1), bound) is False


def test_what_is_not_decided_here(tmp_path: Path) -> None:
    live = "@leads_to(low)\ndef live(s: State) -> bool:\n    return s.n == 1\n\n"
    trace, bound = found(invariant("return s.n < 2") + live, tmp_path)
    for name in ("live", "nobody"):
        trace.meta["property"] = name
        assert why.shows(trace, bound) is None
        assert why.reasons(trace, bound) == []


def test_tracing_is_given_back(tmp_path: Path) -> None:
    """A debugger, or what measures coverage, goes on after it."""
    trace, bound = found(invariant("return s.n < 2"), tmp_path)

    def mine(frame: Any, event: str, argument: Any) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(mine)
    try:
        why.reasons(trace, bound)
        assert sys.gettrace() is mine
    finally:
        sys.settrace(before)


# -- stories ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("meta", "states", "said"),
    [
        ({"property": "low"}, 1, "m: low is violated after 0 steps"),
        ({"property": "low"}, 2, "m: low is violated after 1 step"),
        ({"property": "low", "property_kind": "step"}, 3, "m: low is violated after 2 steps"),
        ({"property": "low", "property_kind": "cover"}, 2, "m: low is reached after 1 step"),
        ({"property_kind": "deadlock"}, 2, "m: nothing is enabled after 1 step"),
        ({}, 2, "m: 1 step"),
        ({}, 3, "m: 2 steps"),
    ],
)
def test_heading(meta: dict[str, Any], states: int, said: str) -> None:
    assert story.heading(Trace([None] * states, [], {"model": "m", **meta})) == said


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return module(HEAD + GUARDED + END, tmp_path_factory.mktemp("models"), prelude="")


def test_fields_by_path(guarded: Any) -> None:
    (state,) = [s for _, _, s in BoundModel(guarded.MODEL).initial_states()]
    red = guarded.Light.RED
    assert story.flat(state) == {
        "last": None,
        "top": None,
        "leader": None,
        "up": frozenset(),
        "order": (),
        "score[1]": red,
        "score[2]": red,
        "score[3]": red,
    }
    assert story.flat(guarded.replace(state, last=guarded.Pair(2)))["last.a"] == 2


def test_changes(guarded: Any) -> None:
    """A record that was not there, or is there no more, shows with its fields."""
    (state,) = [s for _, _, s in BoundModel(guarded.MODEL).initial_states()]
    two = guarded.replace(
        state,
        last=guarded.Pair(2),
        up=frozenset({guarded.Node(10), guarded.Node(2)}),
        order=(guarded.Node(3), guarded.Node(1)),
        score=state.score.put(guarded.Node(2), guarded.Light.BLUE),
    )
    assert story.changes(state, state) == []
    assert story.changes(state, two) == [
        ("last.a", "-", "2"),
        ("up", "{}", "{2, 10}"),
        ("order", "[]", "[3, 1]"),
        ("score[2]", "red", "blue"),
        ("last", "none", "-"),
    ]
    assert story.changes(two, state)[0] == ("last", "-", "none")
    assert story.changes(two, state)[-1] == ("last.a", "2", "-")


TOLD = (
    STEP.replace("def claim", "def elected_late")
    + '''
@action(who="chief of all")
def rest(s: State) -> State:
    require(s.n == 0)
    return s

@invariant
def claim(s: State) -> bool:
    """Otherwise it is
    too high.

    This is for those who read the model.
    """
    return s.n < 1 or s.leader is None

'''
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, BoundModel]:
    """A rest is taken first, so that there is a step which changes nothing."""
    trace, bound = found(TOLD, tmp_path_factory.mktemp("models"))
    states = [trace.states[0], *trace.states]
    steps = [trace.steps[0], TraceStep("rest", {}, "chief of all"), *trace.steps[1:]]
    return Trace(states, steps, {**trace.meta, "model": "m", "repro": "reassure check m"}), bound


def test_tell(told: tuple[Trace, BoundModel]) -> None:
    out = StringIO()
    story.tell(*told, Console(file=out, width=200))
    assert out.getvalue().splitlines() == [
        "m: claim is violated after 3 steps",
        "  Otherwise it is",
        "  too high.",
        "  0. zero()",
        "       n = 0",
        "       up = {1, 2, 3}",
        "       leader = none",
        "  1. chief of all: rest()",
        "       nothing changes",
        "  2. chief: elect(node=1)",
        "       leader: none -> 1",
        "  3. counter: add()",
        "       n: 0 -> 1",
        "  false: s.n < 1 or s.leader is None",
        "    s.n = 1",
        "    s.leader = 1",
    ]


def test_steps_are_not_wrapped(told: tuple[Trace, BoundModel]) -> None:
    """So that a line can be searched for; prose may be."""
    out = StringIO()
    story.tell(*told, Console(file=out, width=8))
    lines = out.getvalue().splitlines()
    for line in ("  0. zero()", "  1. chief of all: rest()", "       up = {1, 2, 3}"):
        assert line in lines
    assert "  false: s.n < 1 or s.leader is None" in lines


def test_markdown(told: tuple[Trace, BoundModel]) -> None:
    assert story.markdown(*told).splitlines() == [
        "# m: claim is violated after 3 steps",
        "",
        "Otherwise it is",
        "too high.",
        "",
        "Configuration: nodes=3.",
        "",
        "0. `zero()`",
        "",
        "   n = 0  ",
        "   up = {1, 2, 3}  ",
        "   leader = none  ",
        "",
        "1. **chief of all**: `rest()`",
        "",
        "   nothing changes",
        "",
        "2. **chief**: `elect(node=1)`",
        "",
        "   leader: none → **1**  ",
        "",
        "3. **counter**: `add()`",
        "",
        "   n: 0 → **1**  ",
        "",
        "```",
        "false: s.n < 1 or s.leader is None",
        "  s.n = 1",
        "  s.leader = 1",
        "```",
        "",
        "Found by `reassure check m`.",
    ]


def test_mermaid(told: tuple[Trace, BoundModel]) -> None:
    assert story.mermaid(told[0]).splitlines() == [
        "sequenceDiagram",
        "  participant chief_of_all as chief of all",
        "  participant chief as chief",
        "  participant counter as counter",
        "  participant state",
        "  chief_of_all->>state: rest()",
        "  Note right of state: nothing changes",
        "  chief->>state: elect(node=1)",
        "  Note right of state: leader: none to 1",
        "  counter->>state: add()",
        "  Note right of state: n: 0 to 1",
    ]


@pytest.mark.parametrize(
    ("actor", "lane"),
    [
        ("state", "participant state_ as state"),
        ("end", "participant end_ as end"),
        ("", "participant nobody as nobody"),
    ],
)
def test_a_lane_of_its_own(actor: str, lane: str) -> None:
    steps = [TraceStep("start", {}, ""), TraceStep("go", {}, actor)]
    lines = story.mermaid(Trace([0, 1], steps)).splitlines()
    assert lines[1:3] == [f"  {lane}", "  participant state"]
    assert lines[3] == f"  {lane.split()[1]}->>state: go()"
