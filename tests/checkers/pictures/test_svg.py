"""A trace as one SVG: what stands where, and that hostile names and long traces are still a picture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reassure.checkers.cli.main import main
from reassure.checkers.pictures import svg as pictures
from reassure.checkers.pictures.bands import bands_of
from reassure.checkers.pictures.svg import MOST_BYTES, svg
from reassure.checkers.request.model_loader import load_model
from reassure.models.examples.two_phase_commit import Manager
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace, TraceStep
from tests.helpers.committed_traces import committed_file, committed_trace
from tests.helpers.posting_model import posting, story, taken
from tests.helpers.traced_models import found

SPACE = "{http://www.w3.org/2000/svg}"

TINY = """
@dataclass(frozen=True)
class State:
    up: frozenset[Node]
    n: Annotated[int, Range(0, 3)]
    '''Ghost: how often.'''

@initial
def start(c: Config) -> State:
    return State(every(Node, c), 0)

@action(who="fate")
def crash(s: State, node: Node) -> State:
    require(node in s.up)
    return replace(s, up=s.up - {node}, n=s.n + 1)

@invariant
def all_up(s: State, c: Config) -> bool:
    '''Otherwise <nobody> & "no one" answers.'''
    return s.up == every(Node, c)

"""


def texts(picture: str) -> list[str]:
    """The texts that a reader sees, from top to bottom as they stand in the file."""
    root = ElementTree.fromstring(picture)
    found_texts = []
    for element in root.iter(f"{SPACE}text"):
        for title in element.findall(f"{SPACE}title"):
            title.text = ""
        found_texts.append("".join(element.itertext()))
    return found_texts


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("models")
    trace, bound = found(TINY, folder, "all_up", ("nodes=2",))
    trace.meta["model"] = "tiny"
    return trace, bound


def test_a_small_picture_letter_by_letter(tiny: Any) -> None:
    """Without its style: one actor, two ids with a band, one step, the promise."""
    picture = re.sub(r"<style>.*?</style>\n", "", svg(*tiny), flags=re.DOTALL)
    assert picture == SMALL


def test_what_a_reader_reads(tmp_path: Path) -> None:
    """Who acts, the messages, the changes; at the end the promise, and the values that make it false."""
    trace, bound = story(posting(tmp_path))
    picture = svg(trace, bound)
    assert texts(picture) == READ
    assert picture.count('<path class="m" d=') == 1 and picture.count('<path class="m" stroke-dasharray') == 1
    assert picture.count('class="box"') == 1
    assert [(b.name, b.single) for b in bands_of(trace, bound).drawn] == [("up", False), ("leader", True)]


def test_bands_are_what_each_id_is(tmp_path: Path) -> None:
    trace, bound = story(posting(tmp_path))
    up, leader = bands_of(trace, bound).drawn
    everybody = frozenset({"Node:1", "Node:2", "Node:3"})
    assert up.holders == (everybody, everybody, everybody, everybody - {"Node:1"}, everybody - {"Node:1"})
    assert leader.holders == (*[frozenset({"Node:1"})] * 3, *[frozenset({"Node:3"})] * 2)


def test_a_picture_shows_what_the_property_reads_and_folds_ghosts_and_counters() -> None:
    """Of ten fields that hold brokers six have room; one is always as another."""
    bands = bands_of(*committed_trace("kraft_kafka_racks", "nothing_lost_by_a_completion"))
    assert [band.name for band in bands.drawn] == ["replicas", "isr", "elr", "leader", "unfenced", "complete"]
    assert [band.name for band in bands.drawn if band.single] == ["leader"]
    assert (bands.alike, bands.crowded) == ({"leader_isr": "isr"}, ["adding", "removing", "proposed"])
    assert sorted(bands.folded) == [
        "asked",
        "disturbed",
        "original",
        "partition.leader_epoch",
        "partition.partition_epoch",
        "wanted",
    ]  # `strays` is a ghost too, and the property reads it


def test_a_value_of_a_map_is_a_band() -> None:
    """A set with the same ids in every state is named beside it."""
    bound = BoundModel(load_model("two_phase_commit"))
    ((first, params, state),) = bound.initial_states()
    after = bound.take(state, "prepare", {"manager": Manager(1)})
    steps = [TraceStep(first.name, params, ""), TraceStep("prepare", {"manager": Manager(1)}, "resource manager")]
    bands = bands_of(Trace([state, after], steps), bound)
    one, others = frozenset({"Manager:1"}), frozenset({"Manager:0", "Manager:2"})
    assert {band.name: band.holders for band in bands.drawn} == {
        "managers = working": (one | others, others),
        "managers = prepared": (frozenset(), one),
    }
    assert bands.alike == {"prepared": "managers = prepared"}


KINDS = {
    "lasso": ("core_liveness", "a_pending_reassignment_ends"),
    "deadlock": ("reassignment_classic", "deadlock"),
    "step property": ("batch_not_awaited", "batch_ends_in_sync"),
    "invariant": ("die_hard", "goal_not_reached"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_trace(kind: str) -> None:
    picture = svg(*committed_trace(*KINDS[kind]))
    read = texts(picture)
    assert len(picture.encode()) <= MOST_BYTES
    assert ("deadlock: nothing is enabled" if kind == "deadlock" else f"violated: {KINDS[kind][1]}") in read
    assert picture.count('class="box"') == 1
    brackets = re.findall(r'<path class="m" d="M[\d.]+ [\d.]+h-7V', picture)
    assert len(brackets) == (kind == "lasso")
    assert not re.search(r"<script|href|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", picture)
    assert "prefers-color-scheme: dark" in picture


def test_a_long_trace_is_cut_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says so: the beginning and the end are there."""
    made = posting(tmp_path)
    trace, bound = taken(made, *[("rest", {})] * 400)
    monkeypatch.setattr(pictures, "MOST_BYTES", 20_000)
    picture = svg(trace, bound)
    read = texts(picture)
    assert len(picture.encode()) <= 20_000
    (line,) = [text for text in read if text.startswith("steps ")]
    first, last = map(int, re.findall(r"\d+", line))
    numbers = [int(text) for text in read if text.isdigit()]
    assert numbers == [*range(first), *range(last + 1, 401)]
    assert 10 < len(numbers) < 400


COUNTER = """
@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 99)]
    before: Annotated[int, Range(0, 99)]

@initial
def start() -> State:
    return State(0, 0)

@action(who="clock")
def tick(s: State) -> State:
    return replace(s, n=s.n + 1, before=s.n)

@invariant
def is_early(s: State) -> bool:
    return s.n < {top}

"""


def test_twice_the_steps_are_twice_the_work(tmp_path: Path) -> None:
    """A picture of 2,000 steps took 94 s: each name of a field was looked for in all states."""
    calls = []
    for top in (40, 80):
        (tmp_path / str(top)).mkdir()
        trace, bound = found(COUNTER.format(top=top), tmp_path / str(top), "is_early")
        with patch.object(pictures, "_shape", wraps=pictures._shape) as shape:
            assert "is_early" in svg(trace, bound)
        calls.append(shape.call_count)
    assert 100 < calls[1] <= 2.5 * calls[0]


@given(st.text(max_size=40))
def test_no_text_breaks_out_of_its_element(text: str) -> None:
    safe = pictures._safe(text)
    assert ElementTree.fromstring(f"<a>{safe}</a>").itertext is not None
    back = "".join(ElementTree.fromstring(f"<a>{safe}</a>").itertext())
    assert back == pictures.NOT_XML.sub("\ufffd", text).replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize("name", ["</text><script>alert(1)</script>", 'a" onload="x', "a\x00\x1b[31m", "&lt;"])
def test_hostile_names(name: str, tiny: Any) -> None:
    trace, bound = tiny
    hostile = Trace(trace.states, trace.steps, {**trace.meta, "model": name}, trace.loop, trace.closing)
    picture = svg(hostile, bound)
    root = ElementTree.fromstring(picture)
    assert {element.tag for element in root.iter()} == {
        SPACE + tag for tag in ("svg", "title", "style", "rect", "line", "circle", "text", "tspan")
    }
    assert [key for element in root.iter() for key in element.attrib if key.startswith("on")] == []


@given(st.text(alphabet="ab (,)", max_size=120), st.integers(12, 40))
def test_wrapped_text_is_whole_and_fits(text: str, letters: int) -> None:
    lines = pictures._wrapped(text, letters, " (")
    room = max(letters, len(text) - len(text.lstrip()) + 2 + 1)
    assert all(len(line) <= room for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_show_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.svg"
    assert main(["show", str(committed_file(*KINDS["invariant"])), "--format", "svg", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"svg: {out}\n"
    assert ElementTree.fromstring(out.read_text(encoding="utf-8")).tag == f"{SPACE}svg"


SMALL = """\
<svg xmlns="http://www.w3.org/2000/svg" width="446.2" height="303"
 viewBox="0 0 446.2 303" style="max-width:100%;height:auto" role="img">
<title>tiny: all_up is violated after 1 step</title>
<rect class="g" width="446.2" height="303"/>
<text x="18" y="26" class="s t">tiny: all_up is violated after 1 step</text>
<text class="u h" transform="translate(378.8 77)rotate(-90)"><title>fate</title>fate</text>
<text x="389.8" y="48" class="s h"><title>node 1</title>n1</text>
<text class="u" transform="translate(403.8 77)rotate(-90)"><title>up</title>up</text>
<text x="414.8" y="48" class="s h"><title>node 2</title>n2</text>
<text class="u" transform="translate(428.8 77)rotate(-90)"><title>up</title>up</text>
<line class="l" x1="18" y1="81" x2="436.2" y2="81"/>
<line class="l" x1="18" y1="105" x2="436.2" y2="105"/>
<line class="l" x1="374.8" y1="81" x2="374.8" y2="145"/>
<line class="l" x1="392.8" y1="81" x2="392.8" y2="145"/>
<line class="l" x1="417.8" y1="81" x2="417.8" y2="145"/>
<rect class="b0" x="397.8" y="82" width="7" height="62" rx="2"><title>node 1: up</title></rect>
<rect class="b0" x="422.8" y="82" width="7" height="22" rx="2"><title>node 2: up</title></rect>
<text x="18" y="98" class="q">0</text>
<text x="42" y="98">start()</text>
<text x="18" y="122" class="q">1</text>
<text x="42" y="122"><tspan class="h">fate:</tspan> crash(node=2)</text>
<text x="42" y="138" class="q">up {1, 2} → {1}</text>
<circle class="ring" cx="417.8" cy="119" r="5"><title>node</title></circle>
<circle class="dot" cx="374.8" cy="119" r="5"><title>fate</title></circle>
<rect class="box" x="18" y="157" width="418.2" height="94" rx="4"/>
<text x="28" y="177" class="s h bad">violated: all_up</text>
<text x="28" y="193" class="s">Otherwise &lt;nobody&gt; &amp; &quot;no one&quot; answers.</text>
<text x="28" y="209">false: s.up == every(Node, c)</text>
<text x="28" y="225">  s.up = {1}</text>
<text x="28" y="241">  every(Node, c) = {1, 2}</text>
<text x="18" y="271" class="s q">● acts   ○ is named by a parameter   ▌ the field holds it</text>
<text x="18" y="287" class="s q">folded: n</text>
</svg>
"""
READ = [
    "posting: few is violated after 4 steps",
    "clerk",
    "n1",
    "up",
    "leader",
    "n2",
    "up",
    "leader",
    "n3",
    "up",
    "leader",
    "0",
    "start()",
    "1",
    "clerk: write(to=2, body=1)",
    "sends Letter",
    "2",
    "clerk: write(to=3, body=2)",
    "sends Letter",
    "3",
    "leader: resign(heir=3)",
    "up {1, 2, 3} → {2, 3}",
    "leader 1 → 3",
    "4",
    "worker: read(letter=Letter, reader=2)",
    "takes Letter",
    "score[2] 0 → 1",
    "count 0 → 1",
    "violated: few",
    "Otherwise nobody counts.",
    "false: s.count < 1",
    "  s.count = 1",
    "● acts   ○ is named by a parameter   ▌ the field holds it",
    "→ a message (dashed: under way)",
]
