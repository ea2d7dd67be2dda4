"""A model with messages and a trace of it: a clerk writes to nodes, a node reads, the post loses the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reassure.spec.semantics.interpreter import BoundModel, Params
from reassure.spec.semantics.trace import Trace, TraceStep
from tests.helpers.model_text import module

TEXT = '''
from dataclasses import dataclass
from typing import Annotated
from reassure import *

class Node(Id, size="nodes", first=1):
    """A worker."""

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 12)] = 3

@dataclass(frozen=True)
class Letter:
    to: Node
    body: Annotated[int, Range(0, 3)]

@dataclass(frozen=True)
class State:
    sent: Annotated[frozenset[Letter], MaxSize(2)]
    up: frozenset[Node]
    leader: Node | None
    score: Map[Node, Annotated[int, Range(0, 3)]]
    count: Annotated[int, Range(0, 3)] = 0

@initial
def start(c: Config) -> State:
    return State(frozenset(), every(Node, c), Node(1), fill(Node, c, 0))

@action(who="clerk")
def write(s: State, to: Node, body: Annotated[int, Range(0, 3)]) -> State:
    """The clerk writes
    a letter.

    Left out: the envelope.
    """
    return replace(s, sent=s.sent | {Letter(to, body)})

@action(who="worker", letter=lambda s: s.sent)
def read(s: State, letter: Letter, reader: Node) -> State:
    require(reader == letter.to)
    return replace(s, sent=s.sent - {letter}, score=s.score.put(reader, letter.body), count=s.count + 1)

@action(who="leader")
def resign(s: State, heir: Node) -> State:
    return replace(s, leader=heir, up=s.up - {some(s.leader)})

@action(who="clerk")
def rest(s: State) -> State:
    return s

@invariant
def few(s: State) -> bool:
    """Otherwise nobody counts."""
    return s.count < 1

MODEL = Model.of(__name__, state=State, config=Config)
'''


def posting(folder: Path, nodes: int = 3, **renamed: str) -> Any:
    """The module of the model. renamed: words of its text, and what stands there instead."""
    text = TEXT.replace("Range(1, 12)] = 3", f"Range(1, 12)] = {nodes}")
    for word, other in renamed.items():
        text = text.replace(word, other)
    return module(text, folder, prelude="")


def taken(made: Any, *calls: tuple[str, Params]) -> tuple[Trace, BoundModel]:
    """The trace of these steps from the only initial state."""
    bound = BoundModel(made.MODEL)
    ((first, params, state),) = bound.initial_states()
    actors = {a.name: a.who for a in made.MODEL.actions}
    trace = Trace([state], [TraceStep(first.name, params, "")], {"model": "posting"})
    for name, given in calls:
        trace.states.append(bound.take(trace.states[-1], name, given))
        trace.steps.append(TraceStep(name, given, actors[name]))
    return trace, bound


def story(made: Any) -> tuple[Trace, BoundModel]:
    """Two letters are written, one is read, which violates `few`, after the leader has resigned."""
    node, letter = made.Node, made.Letter
    trace, bound = taken(
        made,
        ("write", {"to": node(2), "body": 1}),
        ("write", {"to": node(3), "body": 2}),
        ("resign", {"heir": node(3)}),
        ("read", {"letter": letter(node(2), 1), "reader": node(2)}),
    )
    trace.meta |= {"property": "few", "property_kind": "invariant", "repro": "reassure check posting.py"}
    return trace, bound
