"""A trace as a story, as a page and as a diagram."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.base.terminal import Console
from reassure.checkers.traces import render as story
from reassure.checkers.traces.format_value import plain
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace, TraceStep
from tests.helpers.command import said
from tests.helpers.model_text import module
from tests.helpers.raising_model import ACTION, written
from tests.helpers.traced_models import END, GUARDED, HEAD, STEP, found

ROOT = Path(__file__).parents[3]


class Colour(Enum):
    RED = "r"
    GREEN = "g"
    BLUE = "b"


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


# -- messages, and what stories have in common -----------------------------------------------------------------------

MESSAGES = """
@dataclass(frozen=True)
class Note:
    to: Node
    body: Annotated[int, Range(0, 3)]

@dataclass(frozen=True)
class Post:
    sent: Annotated[frozenset[Note], MaxSize(3)]
    up: frozenset[Node]
"""


def test_messages_come_and_go(tmp_path: Path) -> None:
    """Of a set of records each member that changes has its line; a set of ids stays one line."""
    made = module(MESSAGES, tmp_path)
    one, two, three = (made.Note(made.Node(n), 1) for n in (1, 2, 10))
    before = made.Post(frozenset({one, two}), frozenset({made.Node(1)}))
    after = made.Post(frozenset({two, three}), frozenset({made.Node(2)}))
    changes = story.changes(before, after)
    assert [change.line for change in changes] == [
        "sent: - (to 1, body 1)",
        "sent: + (to 10, body 1)",
        "up: {1} -> {2}",
    ]
    assert [c.line for c in story.changes(before, made.Post(frozenset(), before.up))] == [
        "sent: - (to 1, body 1)",
        "sent: - (to 2, body 1)",
    ]
    assert story.changes(replace(before, sent=None), before) == [
        story.Change("sent", "none", "{(to 1, body 1), (to 2, body 1)}")
    ]


def test_messages_in_a_story(tmp_path: Path, told: tuple[Trace, BoundModel]) -> None:
    trace = Trace(
        [_post(tmp_path, {1}), _post(tmp_path, {2})],
        [TraceStep("start", {}, ""), TraceStep("deliver", {}, "network")],
        {"model": "m"},
    )
    out = StringIO()
    story.tell(trace, told[1], Console(file=out, width=200))
    assert out.getvalue().splitlines()[-2:] == ["       sent: - (to 1, body 1)", "       sent: + (to 2, body 1)"]
    marked = story.markdown(trace, told[1])
    assert "   sent: - (to 1, body 1)  \n   sent: + **(to 2, body 1)**  \n" in marked


_posts: dict[Path, Any] = {}


def _post(folder: Path, to: set[int]) -> Any:
    if folder not in _posts:
        _posts[folder] = module(MESSAGES, folder)
    made = _posts[folder]
    return made.Post(frozenset(made.Note(made.Node(n), 1) for n in to), frozenset())


def test_a_common_beginning_is_told_once(told: tuple[Trace, BoundModel]) -> None:
    """As far as states and steps are the same; the last step is told in any case."""
    trace, bound = told
    first = Trace(trace.states[:3], trace.steps[:3], {"model": "m", "property": "first"})
    out = StringIO()
    story.tell(trace, bound, Console(file=out, width=200), [first])
    assert out.getvalue().splitlines()[3:7] == [
        "  0. zero()",
        "       as in first, with steps 1 to 2",
        "  3. counter: add()",
        "       n: 0 -> 1",
    ]
    again = StringIO()
    story.tell(trace, bound, Console(file=again, width=200), [trace])
    assert "       as in claim, with steps 1 to 2" in again.getvalue().splitlines()
    assert "  3. counter: add()" in again.getvalue().splitlines()
    start = Trace(trace.states[:1], trace.steps[:1], {"model": "m", "property": "start"})
    other = StringIO()
    story.tell(trace, bound, Console(file=other, width=200), [start])
    assert other.getvalue().splitlines()[4:6] == ["       as in start", "  1. chief of all: rest()"]


def test_only_so_many_stories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, ACTION)
    _, out, _ = said(capsys, "check", path, "--stories=2")
    assert out.count("raising: ") == 2
    assert "\n2 of 4 properties are violated" not in out
    assert "2 more traces (--full prints all, --property NAME one)" in out
    _, out, _ = said(capsys, "check", path)
    assert out.count("raising: ") == 3
    assert "1 more trace (--full prints all, --property NAME one)" in out
    _, out, _ = said(capsys, "check", path, "--full")
    assert (out.count("raising: "), "more trace" in out) == (4, False)
    _, out, _ = said(capsys, "check", path, "--stories=0")
    assert "raising: " not in out
    assert said(capsys, "check", path, "--stories=x")[0] == 64


def test_entries_of_a_map_are_told_in_the_order_of_their_sort() -> None:
    """A model may build a map from a set, whose order differs from one process to the next."""
    members = [Colour.BLUE, Colour.RED, Colour.GREEN]
    assert story.flat(Map([(m, m.value) for m in members]), "x") == {"x[red]": "r", "x[green]": "g", "x[blue]": "b"}
    assert list(story.flat(Map([(m, m.value) for m in members]), "x")) == ["x[red]", "x[green]", "x[blue]"]
    assert plain(Map([(True, 1), (False, 2)])) == "{no: 2, yes: 1}"
