"""A trace as a story, as a page and as a diagram."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from dataclasses import replace
from enum import Enum
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.machine.terminal import Console
from reassure.checkers.traces import render as story
from reassure.checkers.traces.format_value import plain
from reassure.checkers.traces.render import promise
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import JsonObject, Trace, TraceStep
from tests.helpers.command import said
from tests.helpers.model_text import module
from tests.helpers.raising_model import ACTION, written
from tests.helpers.traced_models import END, GUARDED, HEAD, STEP, found

ROOT = Path(__file__).parents[3]
ASSETS = ROOT / "checkers" / "explorer" / "assets"


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
def test_heading(meta: JsonObject, states: int, said: str) -> None:
    assert story.heading(Trace([None] * states, [], {"model": "m", **meta})) == said


@pytest.mark.parametrize(
    ("doc", "text"),
    [
        ("K12. Otherwise acknowledged records are gone.", "Otherwise acknowledged records are gone."),
        ("K9, K12. Otherwise a copy\nis lost.\n\nMore.", "Otherwise a copy\nis lost."),
        ("K2a: a part of it.", "A part of it."),
        ("B9, of controllers with one flag.", "B9, of controllers with one flag."),
        ("Otherwise K12 is broken.", "Otherwise K12 is broken."),
        ("len(s.using) == 0", "len(s.using) == 0"),
        ("", ""),
    ],
)
def test_a_promise_is_printed_without_numbers_of_claims(doc: str, text: str) -> None:
    assert promise(doc) == text


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
    """An optional record that comes or goes is one change."""
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
        ("last", "none", "(a 2)"),
        ("up", "{}", "{2, 10}"),
        ("order", "[]", "[3, 1]"),
        ("score[2]", "red", "blue"),
    ]
    assert [change.line for change in story.changes(two, state)] == [
        "last: (a 2) -> none",
        "up: {2, 10} -> {}",
        "order: [3, 1] -> []",
        "score[2]: blue -> red",
    ]
    assert story.changes(two, guarded.replace(two, last=guarded.Pair(3))) == [("last.a", "2", "3")]


OPTIONAL = """
@dataclass(frozen=True)
class Entry:
    term: Annotated[int, Range(0, 3)]
    who: Node | None

@dataclass(frozen=True)
class Log:
    last: Entry | None
    size: Annotated[int, Range(0, 3)]

@dataclass(frozen=True)
class State:
    logs: Map[Node, Log | None]
    score: Map[Node, Light] | None

@initial
def nothing(c: Config) -> State:
    return State(fill(Node, c, None), None)

@action(who="nobody")
def idle(s: State) -> State:
    return s

"""
NESTED = {
    "nothing": [],
    "an empty log": ["logs[1]: none -> (last none, size 0)"],
    "an entry": ["logs[1].last: none -> (term 1, who none)", "logs[1].size: 0 -> 1"],
    "another": ["logs[1].last.term: 1 -> 2", "logs[1].last.who: none -> 2"],
    "a map": ["score: none -> {1: red, 2: red, 3: red}"],
    "a colour": ["score[2]: red -> blue"],
    "all gone": ["logs[1]: (last (term 2, who 2), size 1) -> none", "score: {1: red, 2: blue, 3: red} -> none"],
}
"""The changes from each state to the next one, by what it then has."""


@pytest.fixture(scope="module")
def optional(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The states of `NESTED`."""
    made = module(HEAD + OPTIONAL + END, tmp_path_factory.mktemp("models"), prelude="")
    (state,) = [s for _, _, s in BoundModel(made.MODEL).initial_states()]
    node, red = made.Node(1), made.fill(made.Node, made.Config(), made.Light.RED)
    entry = made.Entry(1, None)
    logs = [made.Log(None, 0), made.Log(entry, 1), made.Log(made.Entry(2, made.Node(2)), 1)]
    states = [state, *(made.replace(state, logs=state.logs.put(node, log)) for log in logs)]
    states += [made.replace(states[-1], score=score) for score in (red, red.put(made.Node(2), made.Light.BLUE))]
    return [*states, state]


def test_optional_records_and_maps(optional: list[Any]) -> None:
    pairs = list(itertools.pairwise([optional[0], *optional]))
    assert [[change.line for change in story.changes(*pair)] for pair in pairs] == list(NESTED.values())


def test_the_page_without_a_server_tells_the_same(optional: list[Any], tmp_path: Path) -> None:
    """The explorer of one file takes states apart in JavaScript."""
    if (node := shutil.which("node")) is None:
        pytest.skip("node is not installed: JavaScript is not executed")
    for name in ("offline.js", "dom.js"):
        shutil.copy(ASSETS / name, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    states = [{name: plain(value) for name, value in story.flat(state).items()} for state in optional]
    script = f"""
    import {{ beside }} from "{(tmp_path / "offline.js").as_uri()}";
    const states = {json.dumps(states)}.map((state) => new Map(Object.entries(state)));
    const rows = states.slice(1).map((now, i) => beside(states[i], now).map((row) => [row.field, row.old, row.value]));
    console.log(JSON.stringify(rows));
    """
    command = [node, "--input-type=module", "--eval", script]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    told = [[[name, plain(a), plain(b)] for name, a, b in story.beside(*pair)] for pair in itertools.pairwise(optional)]
    assert rows == told


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
        "       the initial state and steps 1 to 2 are those of first, above",
        "  3. counter: add()",
        "       n: 0 -> 1",
    ]
    again = StringIO()
    story.tell(trace, bound, Console(file=again, width=200), [trace])
    assert "       the initial state and steps 1 to 2 are those of claim, above" in again.getvalue().splitlines()
    assert "  3. counter: add()" in again.getvalue().splitlines()
    start = Trace(trace.states[:1], trace.steps[:1], {"model": "m", "property": "start"})
    other = StringIO()
    story.tell(trace, bound, Console(file=other, width=200), [start])
    assert other.getvalue().splitlines()[4:6] == [
        "       the initial state is that of start, above",
        "  1. chief of all: rest()",
    ]


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
