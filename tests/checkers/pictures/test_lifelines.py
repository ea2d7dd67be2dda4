"""The picture of a trace: who acts, which messages go, what changes where, what is noted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.api import load, walk
from reassure.checkers.console.files import read_trace
from reassure.checkers.pictures.actors import RECEIVERS, SENDERS
from reassure.checkers.pictures.lifelines import Json, picture
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace, TraceStep
from tests.helpers.model_text import BEFORE_STATE, PRELUDE, module
from tests.helpers.posting_model import posting, story, taken

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return posting(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def drawn(made: Any) -> Json:
    return picture(*story(made))


def test_it_is_plain_json(drawn: Json) -> None:
    assert json.loads(json.dumps(drawn)) == drawn
    assert (drawn["format"], drawn["version"]) == ("reassure-picture", 1)
    assert drawn["title"] == "posting: few is violated after 4 steps"
    assert drawn["property"] == {"name": "few", "kind": "invariant", "text": "Otherwise nobody counts."}
    assert drawn["config"] == [["nodes", "3"]]
    assert drawn["repro"] == "reassure check posting.py"


def test_lifelines_are_roles_and_members(drawn: Json) -> None:
    """The leader and the worker are nodes: by the state, and by the words of the sort."""
    assert drawn["lifelines"] == [
        {"id": "role:clerk", "label": "clerk", "sort": None},
        {"id": "Node:1", "label": "node 1", "sort": "Node"},
        {"id": "Node:2", "label": "node 2", "sort": "Node"},
        {"id": "Node:3", "label": "node 3", "sort": "Node"},
    ]
    assert [step["lifeline"] for step in drawn["steps"]] == [None, "role:clerk", "role:clerk", "Node:1", "Node:2"]
    assert [step["actor"] for step in drawn["steps"]] == ["", "clerk", "clerk", "leader", "worker"]


def test_members_named_in_parameters(drawn: Json) -> None:
    assert [step["names"] for step in drawn["steps"]] == [
        [],
        [{"lifeline": "Node:2", "parameter": "to"}],
        [{"lifeline": "Node:3", "parameter": "to"}],
        [{"lifeline": "Node:3", "parameter": "heir"}],
        [],
    ]


def test_messages_go_from_where_they_are_sent_to_where_they_are_taken(drawn: Json) -> None:
    assert drawn["messages"] == [
        {"field": "sent", "type": "Letter", "text": "(to 2, body 1)", "from": "role:clerk", "to": "Node:2",
         "sent": 1, "taken": 4},
        {"field": "sent", "type": "Letter", "text": "(to 3, body 2)", "from": "role:clerk", "to": "Node:3",
         "sent": 2, "taken": None},
    ]  # fmt: skip


def test_what_changes_is_marked_where_it_changes(drawn: Json) -> None:
    """Members come and go; a value by a member is that member's; the rest stands beside the step."""
    steps = drawn["steps"]
    assert steps[3]["marks"] == [
        {"lifeline": "Node:1", "sign": "-", "text": "up", "brief": "up"},
        {"lifeline": "Node:1", "sign": "-", "text": "leader", "brief": "leader"},
        {"lifeline": "Node:3", "sign": "+", "text": "leader", "brief": "leader"},
    ]
    assert steps[3]["other"] == []
    assert steps[4]["marks"] == [{"lifeline": "Node:2", "sign": "", "text": "score 0 → 1", "brief": "score → 1"}]
    assert steps[4]["other"] == ["count 0 → 1"]
    assert steps[4]["changes"] == [
        {"field": "sent", "old": "(to 2, body 1)", "new": ""},
        {"field": "score[2]", "old": "0", "new": "1"},
        {"field": "count", "old": "0", "new": "1"},
    ]
    assert steps[1]["marks"] == steps[1]["other"] == []


def test_steps_say_what_is_called(drawn: Json) -> None:
    last = drawn["steps"][4]
    assert last["call"] == "read(letter=(to 2, body 1), reader=2)"
    assert last["label"] == "read(letter=Letter, reader=2)"
    assert drawn["steps"][1]["about"] == "The clerk writes a letter."
    assert last["state"] == [
        ["sent", "{(to 3, body 2)}"],
        ["up", "{2, 3}"],
        ["leader", "3"],
        ["score[1]", "0"],
        ["score[2]", "1"],
        ["score[3]", "0"],
        ["count", "1"],
    ]


def test_the_violation_is_noted_with_its_reasons(drawn: Json) -> None:
    assert drawn["notes"] == [
        {"step": 4, "kind": "violated", "text": "violated: few", "lines": ["false: s.count < 1", "  s.count = 1"]}
    ]
    assert drawn["loop"] is None


def test_a_path_without_a_property_has_no_notes(made: Any) -> None:
    drawn = picture(*taken(made, ("rest", {})))
    assert (drawn["notes"], drawn["property"], drawn["title"]) == ([], None, "posting: 1 step")
    assert drawn["steps"][1]["changes"] == []


def test_an_initial_state_alone_has_lifelines(made: Any) -> None:
    labels = [line["label"] for line in picture(*taken(made))["lifelines"]]
    assert labels == ["node 1", "node 2", "node 3"]


def test_every_role_if_asked_for(made: Any) -> None:
    """Not those that a node stands for."""
    labels = [line["label"] for line in picture(*taken(made), every=True)["lifelines"]]
    assert labels == ["clerk", "node 1", "node 2", "node 3"]


def test_of_many_members_those_that_take_part(tmp_path: Path) -> None:
    made = posting(tmp_path, nodes=12)
    drawn = picture(*taken(made, ("write", {"to": made.Node(7), "body": 0})))
    assert [line["label"] for line in drawn["lifelines"]] == ["clerk", "node 7"]


def test_a_sort_of_one_member_has_no_lifeline(tmp_path: Path) -> None:
    made = posting(tmp_path, nodes=1)
    drawn = picture(*taken(made, ("write", {"to": made.Node(1), "body": 0}), ("resign", {"heir": made.Node(1)})))
    assert [line["label"] for line in drawn["lifelines"]] == ["clerk", "leader"]
    assert drawn["steps"][2]["other"] == ["up {1} → {}"]


def test_a_leader_that_nobody_is(made: Any) -> None:
    """Then the role acts itself."""
    trace, bound = taken(made)
    trace.states.append(made.replace(trace.states[0], leader=None))
    trace.steps.append(TraceStep("resign", {"heir": made.Node(1)}, "leader"))
    nobody = Trace([trace.states[1], trace.states[1]], [trace.steps[0], trace.steps[1]], {"model": "posting"})
    assert picture(nobody, bound)["steps"][1]["lifeline"] == "role:leader"


def test_an_order_that_changes_is_told_beside_the_step() -> None:
    """Nobody joins or leaves a list that is only reordered."""
    drawn = picture(*_another_controller_goes_on())
    assert drawn["steps"][2]["other"] == ["logs[0].wanted [1, 2] → [2, 1]", "asked 0 → 1"]


def _another_controller_goes_on() -> tuple[Trace, BoundModel]:
    model = load("reassignment_classic", crashes=2, deaths=0)
    path = walk(model, "settled").take("crash").take("reassign", part=0, target=[2, 1]).take("take_over")
    return path.trace, model.bound


def _stale_request() -> tuple[Trace, BoundModel]:
    model = load("kraft", unclean="off", in_flight=2, admin_requests=1)
    path = walk(model, "settled", unclean=False).take("catch_up", follower=2).take("propose_expansion", follower=2)
    path.take("shut_down_uncleanly", broker=1, successor=None)
    (request,) = path.state["requests"]
    return path.take("alter_partition", request=request, successor=None).trace, model.bound


def _committed(name: str) -> tuple[Trace, BoundModel]:
    trace, bound, _ = read_trace(Path(name), None)
    return trace, bound


def test_a_lasso() -> None:
    drawn = picture(*_committed("core_liveness/a_pending_reassignment_ends"))
    assert drawn["loop"] == 2
    assert [step["closing"] for step in drawn["steps"]] == [False, False, False, False, True]
    assert [(n["step"], n["kind"], n["text"]) for n in drawn["notes"]] == [
        (4, "loop", "repeats for ever from state 2"),
        (4, "violated", "violated: a_pending_reassignment_ends"),
    ]
    assert drawn["steps"][4]["state"] == drawn["steps"][2]["state"]


def test_a_run_that_stops() -> None:
    drawn = picture(*_committed("K11/a-log-is-lost-it-ends-unless-the"))
    assert [n["text"] for n in drawn["notes"]] == ["the run stays in this state", "violated: reassignment_ends"]
    assert not any(step["closing"] for step in drawn["steps"])


@pytest.mark.parametrize(
    ("path", "actors"),
    [
        (_stale_request, ["broker 2", "broker 1", "controller", "controller"]),
        (_another_controller_goes_on, ["controller", "admin", "controller"]),
    ],
)
def test_who_acts_in_protocols(path: Callable[[], tuple[Trace, BoundModel]], actors: list[str]) -> None:
    drawn = picture(*path())
    labels = {line["id"]: line["label"] for line in drawn["lifelines"]}
    assert [labels[step["lifeline"]] for step in drawn["steps"][1:]] == actors


def test_what_the_model_does_not_show_any_more(made: Any) -> None:
    trace, bound = story(made)
    states = [*trace.states[:-1], made.replace(trace.states[-1], count=0)]
    (note,) = picture(Trace(states, trace.steps, trace.meta), bound)["notes"]
    assert note == {
        "step": 4,
        "kind": "stale",
        "text": "the model, as it is now, does not show this: violated: few",
        "lines": [],
    }


PARTS = """
class Part(Id, size="parts"): ...

class Mood(Enum):
    CALM = 1
    CROSS = 2

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 3)] = 2
    parts: Annotated[int, Range(1, 3)] = {parts}

@dataclass(frozen=True)
class Log:
    isr: frozenset[Node]
    length: Annotated[int, Range(0, 3)]

@dataclass(frozen=True)
class State:
    logs: Map[Part, Log]
    length: Map[Node, Annotated[int, Range(0, 3)]]
    moods: Map[Mood, Annotated[int, Range(0, 3)]]

@initial
def start(c: Config) -> State:
    moods = Map({{Mood.CALM: 0, Mood.CROSS: 0}})
    return State(fill(Part, c, Log(every(Node, c), 0)), fill(Node, c, 0), moods)

@action(who="node")
def drop(s: State, part: Part, node: Node) -> State:
    log = s.logs[part]
    return State(s.logs.put(part, Log(log.isr - {{node}}, 1)), s.length.put(node, 2), s.moods.put(Mood.CROSS, 1))

MODEL = Model.of(__name__, state=State, config=Config)
"""


@pytest.mark.parametrize(
    ("parts", "marks"),
    [
        (2, [("Node:1", "-", "isr[1]"), ("Part:1", "", "logs.length 0 → 1"), ("Node:1", "", "length 0 → 2")]),
        (1, [("Node:1", "-", "isr"), ("Node:1", "", "length 0 → 2")]),
    ],
)
def test_names_are_short_and_tell_apart(parts: int, marks: list[tuple[str, str, str]], tmp_path: Path) -> None:
    """The last name of the path where that is enough, with the keys that a lifeline does not stand for."""
    head = PRELUDE[: PRELUDE.index("class Colour")]
    text = module(PARTS.format(parts=parts), tmp_path, prelude=head)
    bound = BoundModel(text.MODEL)
    ((_, _, state),) = bound.initial_states()
    params = {"part": text.Part(parts - 1), "node": text.Node(1)}
    steps = [TraceStep("start", {}, ""), TraceStep("drop", params, "node")]
    step = picture(Trace([state, bound.take(state, "drop", params)], steps), bound)["steps"][1]
    assert [(m["lifeline"], m["sign"], m["text"]) for m in step["marks"]] == marks
    assert step["lifeline"] == "Node:1"
    assert step["other"][-1] == "moods[cross] 0 → 1"
    assert step["other"][:-1] == ([] if parts == 2 else ["logs[0].length 0 → 1"])


MAIL = """
@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(2, 3)] = 2

@dataclass(frozen=True)
class Note:
    SENDER: Node
    RECEIVER: Node

@dataclass(frozen=True)
class State:
    notes: Annotated[frozenset[Note], MaxSize(2)]

@initial
def start(c: Config) -> State:
    return State(frozenset())

@action(who="node")
def send(s: State, SENDER: Node, RECEIVER: Node) -> State:
    return State(s.notes | {Note(SENDER, RECEIVER)})

@action(who="node")
def write(s: State, message: Note) -> State:
    return State(s.notes | {message})

def under_way(s: State) -> Annotated[frozenset[Note], MaxSize(2)]:
    return s.notes

@action(who="node", message=under_way)
def receive(s: State, message: Note) -> State:
    return State(s.notes - {message})

@action(who="network", message=under_way)
def lose(s: State, message: Note) -> State:
    return State(s.notes - {message})

MODEL = Model.of(__name__, state=State, config=Config)
"""


@pytest.mark.parametrize(
    ("sender", "receiver"),
    [("sender", name) for name in RECEIVERS] + [(name, "to") for name in (*SENDERS, "asker")],
)
def test_who_sends_and_receives_by_the_names_of_fields_and_parameters(
    sender: str, receiver: str, tmp_path: Path
) -> None:
    head = PRELUDE[: PRELUDE.index("class Colour")]
    made = module(MAIL.replace("SENDER", sender).replace("RECEIVER", receiver), tmp_path, prelude=head)
    bound = BoundModel(made.MODEL)
    ((_, _, state),) = bound.initial_states()
    one, two = made.Node(1), made.Node(2)
    note, reply = made.Note(one, two), made.Note(two, one)
    ends = {sender: one, receiver: two}
    taken_steps = [("send", ends), ("receive", {"message": note}), ("write", {"message": reply})]
    taken_steps.append(("lose", {"message": reply}))
    trace = Trace([state], [TraceStep("start", {}, "")])
    actors = {action.name: action.who for action in bound.model.actions}
    for name, params in taken_steps:
        trace.states.append(bound.take(trace.states[-1], name, params))
        trace.steps.append(TraceStep(name, params, actors[name]))
    drawn = picture(trace, bound)
    acting = [step["lifeline"] for step in drawn["steps"][1:]]
    assert acting == ["Node:1", "Node:2", "Node:2" if sender != "asker" else "role:node", "role:network"]
    assert [(m["from"], m["to"], m["taken"]) for m in drawn["messages"]] == [
        ("Node:1", "Node:2", 2),
        (acting[2], "role:network", 4),
    ]


OPTIONAL = """
@dataclass(frozen=True)
class Entry:
    term: Annotated[int, Range(0, 3)]
    leader: Node | None

@dataclass(frozen=True)
class State:
    last: Entry | None
    of: Map[Node, Entry | None]

@initial
def empty(c: Config) -> State:
    return State(None, fill(Node, c, None))

@action(who="log")
def write(s: State, node: Node) -> State:
    return State(Entry(1, node), s.of.put(node, Entry(2, None)))

@action(who="log")
def drop(s: State, node: Node) -> State:
    return State(None, s.of.put(node, None))

MODEL = Model.of(__name__, state=State, config=Config)
"""


def test_an_optional_record_that_comes_or_goes_is_one_change(tmp_path: Path) -> None:
    """A member in it is marked at its lifeline too."""
    text = module(OPTIONAL, tmp_path, prelude=BEFORE_STATE)
    bound, params = BoundModel(text.MODEL), {"node": text.Node(2)}
    ((_, _, state),) = bound.initial_states()
    written = bound.take(state, "write", params)
    steps = [TraceStep("empty", {}, ""), TraceStep("write", params, "log"), TraceStep("drop", params, "log")]
    drawn = picture(Trace([state, written, bound.take(written, "drop", params)], steps), bound)["steps"]
    assert [(m["lifeline"], m["sign"], m["text"], m["brief"]) for m in drawn[1]["marks"]] == [
        ("Node:2", "+", "last.leader", "last.leader"),
        ("Node:2", "", "of none → (term 2, leader none)", "of → Entry"),
    ]
    assert drawn[1]["other"] == ["last none → (term 1, leader 2)"]
    assert [(m["lifeline"], m["sign"], m["text"], m["brief"]) for m in drawn[2]["marks"]] == [
        ("Node:2", "", "of (term 2, leader none) → none", "of → none"),
        ("Node:2", "-", "last.leader", "last.leader"),
    ]
    assert drawn[2]["other"] == ["last (term 1, leader 2) → none"]
