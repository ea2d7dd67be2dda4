"""Models whose ids are alike: with sequences, relations between ids, messages, ids that are named, absent records."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from reassure.checkers.engines.native.symmetry.cells import Sort
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.model_text import module
from tests.helpers.runs import bind

HEAD = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *
from reassure import Id, Map, MaxLen, MaxSize, Model, Range

class Node(Id, size="nodes", first=1): ...
class Job(Id, size="jobs"): ...
Nodes = frozenset[Node]
NOBODY: Nodes = frozenset()

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 12)] = 3
    jobs: Annotated[int, Range(1, 4)] = 2
"""
QUEUE = """
@dataclass(frozen=True)
class State:
    waiting: Annotated[tuple[Node, ...], MaxLen("nodes")]
    holder: Node | None
    last: Node
    turns: Map[Node, Annotated[int, Range(0, 1)]]
    out: Nodes

@initial
def start(c: Config, last: Node) -> State:
    return State((), None, last, fill(Node, c, 0), NOBODY)

@action(who="node")
def ask(s: State, node: Node) -> State:
    require(node not in s.waiting and node != s.holder and node not in s.out)
    return replace(s, waiting=s.waiting + (node,))

@action(who="lock")
def grant(s: State) -> State:
    require(s.holder is None and len(s.waiting) > 0)
    return replace(s, holder=s.waiting[0], waiting=s.waiting[1:])

@action(who="node")
def give_back(s: State) -> State:
    node = some(s.holder)
    require(s.turns[node] == 0)
    return replace(s, holder=None, last=node, turns=s.turns.put(node, 1))

@action(who="node")
def leave(s: State, node: Node) -> State:
    require(node != s.holder and len(s.out) == 0)
    return replace(s, out=s.out | {node}, waiting=tuple(n for n in s.waiting if n != node))

@invariant
def holder_is_in(s: State) -> bool:
    return s.holder is None or s.holder not in s.out

@invariant
def no_second_turn(s: State) -> bool:
    return s.holder is None or s.turns[s.holder] == 0

@step_property
def order_is_kept(before: State, after: State) -> bool:
    return len(before.waiting) < 2 or after.holder != before.waiting[1]

@cover
def everybody_had_a_turn(s: State, c: Config) -> bool:
    return all(s.turns[n] == 1 for n in every(Node, c))

@cover
def all_wait(s: State, c: Config) -> bool:
    return len(s.waiting) == c.nodes
"""
GOSSIP = """
@dataclass(frozen=True)
class Message:
    source: Node
    to: Node
    urgent: bool

@dataclass(frozen=True)
class State:
    points: Map[Node, Node | None]
    knows: Map[Node, Nodes]
    sent: Annotated[frozenset[Message], MaxSize(2)]
    owner: Map[Job, Node | None]

@initial
def start(c: Config) -> State:
    return State(fill(Node, c, None), fill(Node, c, NOBODY), frozenset(), fill(Job, c, None))

@action(who="node")
def point(s: State, node: Node, other: Node) -> State:
    require(s.points[node] is None and node != other and s.points[other] != node)
    return replace(s, points=s.points.put(node, other))

@action(who="node")
def send(s: State, node: Node, urgent: bool) -> State:
    to = some(s.points[node])
    require(len(s.sent) < 2 and to not in s.knows[node] and all(m.source != node for m in s.sent))
    return replace(s, sent=s.sent | {Message(node, to, urgent)})

@action(who="node", message=lambda s: s.sent)
def hear(s: State, message: Message) -> State:
    known = s.knows[message.source] | {message.to}
    return replace(s, sent=s.sent - {message}, knows=s.knows.put(message.source, known))

@action(who="node")
def take(s: State, job: Job, node: Node) -> State:
    require(s.owner[job] is None and len(s.knows[node]) > 0)
    return replace(s, owner=s.owner.put(job, node))

@invariant
def nobody_owns_two(s: State, c: Config) -> bool:
    return all(s.owner[a] is None or s.owner[a] != s.owner[b] or a == b for a in every(Job, c) for b in every(Job, c))

@invariant
def no_triangle(s: State, c: Config) -> bool:
    return not any(
        s.points[a] == b and s.points[b] == d and s.points[d] == a
        for a in every(Node, c) for b in every(Node, c) for d in every(Node, c)
    )

@cover
def two_urgent(s: State) -> bool:
    return sum(1 for m in s.sent if m.urgent) == 2
"""
NAMED = """
FIRST = Node(1)

@dataclass(frozen=True)
class State:
    up: Nodes
    leader: Node | None
    votes: Nodes

@initial
def start(c: Config) -> State:
    return State(every(Node, c), Node(2), NOBODY)

@action(who="node")
def fail(s: State, node: Node) -> State:
    require(node in s.up and node != FIRST)
    return replace(s, up=s.up - {node}, leader=None if s.leader == node else s.leader)

@action(who="node")
def vote(s: State, node: Node) -> State:
    require(node in s.up and s.leader is None)
    return replace(s, votes=s.votes | {node})

@action(who="node")
def lead(s: State, node: Node) -> State:
    require(s.leader is None and node in s.votes and len(s.votes) > 1)
    return replace(s, leader=node, votes=NOBODY)

@invariant
def first_is_up(s: State) -> bool:
    return FIRST in s.up

@invariant
def leader_is_up(s: State) -> bool:
    return s.leader is None or s.leader in s.up

@invariant
def third_votes_last(s: State) -> bool:
    return Node(3) not in s.votes or len(s.votes) > 1
"""
ASKING = """
@dataclass(frozen=True)
class Request:
    source: Node
    urgent: bool
    to: Node | None
    seen: Nodes
    turns: Map[Node, Annotated[int, Range(0, 2)]]

@dataclass(frozen=True)
class State:
    sent: Annotated[frozenset[Request], MaxSize(1)]
    line: Annotated[tuple[Node, ...], MaxLen("nodes")]
    shorter: Annotated[tuple[Node, ...], MaxLen(2)]
    up: Nodes

@initial
def start(c: Config) -> State:
    return State(frozenset(), (), (), every(Node, c))

@action(who="node")
def ask(s: State, c: Config, node: Node, to: Node | None) -> State:
    require(s.sent == frozenset() and node in s.up and to not in s.up)
    return replace(s, sent=frozenset({Request(node, node in s.line, to, s.up, fill(Node, c, 0).put(node, 2))}))

@action(who="node", request=lambda s: s.sent)
def hear(s: State, request: Request) -> State:
    require(request.source not in s.line)
    return replace(s, sent=s.sent - {request}, line=s.line + (request.source,))

@action(who="node")
def leave(s: State, node: Node) -> State:
    require(len(s.up) > 1)
    return replace(s, up=s.up - {node}, shorter=s.line if len(s.line) < 3 else ())

@invariant
def no_line_of_those_that_left(s: State) -> bool:
    return len(s.shorter) < 2 or len(s.up) > 0

@invariant
def what_is_seen_stays(s: State) -> bool:
    return all(r.seen == s.up for r in s.sent)
"""
CHANGED = """
@dataclass(frozen=True)
class State:
    holder: Node
    left: Nodes
    job: Job

@initial
def start(c: Config, holder: Node, job: Job) -> State:
    require(holder != Node(1))
    return State(holder, NOBODY, job)

@action(who="node")
def keep(s: State, job: Job) -> State:
    require(job == s.job)
    return replace(s, job=job)

@action(who="node", fair="weak")
def leave(s: State, node: Node) -> State:
    require(node not in s.left and len(s.left) < 1)
    require(Node(2) not in s.left or len(s.left) < 3)
    return replace(s, left=s.left | {node})

@invariant
def few_left(s: State) -> bool:
    return len(s.left) < 2

def one_left(s: State) -> bool:
    return len(s.left) == 1

@leads_to(one_left)
def somebody_leaves(s: State) -> bool:
    return len(s.left) == 0

MODEL = Model.of(__name__, state=State, config=Config)
"""
"""With another comparison, `keep` has as many steps to the same classes, but others. Without the guard of `start` the
first node can be renamed too, without the last one of `leave` the second."""
LENDING = """
@dataclass(frozen=True)
class Loan:
    lender: Node
    late: bool

@dataclass(frozen=True)
class Offer:
    by: Loan | None
    urgent: bool

@dataclass(frozen=True)
class State:
    loan: Loan | None
    offers: Annotated[frozenset[Offer], MaxSize(1)]
    keeper: Node

@initial
def start(keeper: Node) -> State:
    return State(None, frozenset(), keeper)

@action(who="node")
def lend(s: State, node: Node) -> State:
    require(s.loan is None and node != s.keeper)
    return replace(s, loan=Loan(node, False))

@action(who="node")
def offer(s: State, urgent: bool) -> State:
    require(len(s.offers) == 0)
    return replace(s, offers=frozenset({Offer(s.loan, urgent)}))

@action(who="node")
def give_back(s: State) -> State:
    require(s.loan is not None and not s.loan.late)
    return replace(s, loan=None, keeper=some(s.loan).lender)

@invariant
def keeper_lends_nothing(s: State) -> bool:
    return s.loan is None or s.loan.lender != s.keeper

@cover
def nothing_is_offered(s: State) -> bool:
    return any(o.by is None and o.urgent for o in s.offers)
"""
PAIRS = """
@dataclass(frozen=True)
class Pair:
    one: Node
    other: Node

@dataclass(frozen=True)
class Letter:
    of: Pair | None
    to: Node | None

@dataclass(frozen=True)
class State:
    matched: Map[Node, Node] | None
    asked: Map[Node, Pair | None]
    sent: Annotated[frozenset[Letter], MaxSize(2)]

@initial
def start(c: Config) -> State:
    return State(None, fill(Node, c, None), frozenset())

@action(who="node")
def ask(s: State, node: Node, other: Node, c: Config) -> State:
    require(s.asked[node] is None and node != other and all(s.asked[n] is None for n in every(Node, c)))
    return replace(s, asked=s.asked.put(node, Pair(node, other)))

@action(who="node")
def send(s: State, node: Node, to: Node | None) -> State:
    require(len(s.sent) < 1)
    return replace(s, sent=s.sent | {Letter(s.asked[node], to)})

@action(who="node")
def match(s: State, node: Node, c: Config) -> State:
    require(s.matched is None and s.asked[node] is not None)
    return replace(s, matched=fill(Node, c, some(s.asked[node]).other), asked=fill(Node, c, None))

@invariant
def nobody_is_matched_alone(s: State, c: Config) -> bool:
    one, everybody = s.matched, every(Node, c)
    return one is None or all(some(one)[a] == some(one)[b] for a in everybody for b in everybody)

@cover
def a_letter_of_nobody(s: State) -> bool:
    return any(letter.of is None and letter.to is None for letter in s.sent)
"""
LABELS = """
@dataclass(frozen=True)
class Label:
    job: Job
    urgent: bool

@dataclass(frozen=True)
class Parcel:
    to: Node
    labels: Annotated[frozenset[Label], MaxSize(2)]

@dataclass(frozen=True)
class State:
    parcels: Annotated[frozenset[Parcel], MaxSize(2)]
    last: Annotated[frozenset[Parcel], MaxSize(1)]
    gone: Nodes

@initial
def start() -> State:
    return State(frozenset(), frozenset(), NOBODY)

@action(who="node")
def send(s: State, to: Node, urgent: bool) -> State:
    require(len(s.parcels) < 2 and to not in s.gone)
    labels = frozenset({Label(Job(0), urgent)})
    parcel = Parcel(to, labels if s.last == frozenset() else labels | {Label(Job(0), not urgent)})
    return replace(s, parcels=s.parcels | {parcel}, last=frozenset({parcel}))

@action(who="node", parcel=lambda s: s.parcels)
def take(s: State, parcel: Parcel) -> State:
    return replace(s, parcels=s.parcels - {parcel}, gone=s.gone | {parcel.to})

@invariant
def two_labels_do_not_come_first(s: State) -> bool:
    return s.gone != NOBODY or all(len(p.labels) < 2 or len(s.parcels) == 2 for p in s.parcels)

@cover
def two_for_one(s: State) -> bool:
    return any(p != q and p.to == q.to for p in s.parcels for q in s.parcels)
"""
"""Sets of records in records of a set: nodes are renamed, and jobs, which the inner sets hold, are not."""
TABLES = """
@dataclass(frozen=True)
class State:
    seen: Map[tuple[Node, Node], bool]
    turn: Map[tuple[bool, Node], Node | None]
    jobs: Map[tuple[Job, Annotated[int, Range(0, 1)]], Nodes]
    last: Map[Annotated[int, Range(1, 2)], Node | None]

@initial
def start(c: Config) -> State:
    seen = Map({(a, b): a == b for a in every(Node, c) for b in every(Node, c)})
    turn = Map({(on, a): None for on in every(bool, c) for a in every(Node, c)})
    return State(seen, turn, Map({(j, k): NOBODY for j in every(Job, c) for k in range(2)}), Map({1: None, 2: None}))

@action(who="node")
def see(s: State, a: Node, b: Node) -> State:
    require(not s.seen[a, b] and s.seen[b, b] and s.last[1] is None)
    return replace(s, seen=s.seen.put((a, b), True).put((b, b), False), last=s.last.put(1, a))

@action(who="node")
def answer(s: State, a: Node, b: Node, on: bool) -> State:
    require(s.seen[a, b] and a != b and s.turn[on, a] is None and s.last[2] is None)
    return replace(s, turn=s.turn.put((on, a), b), last=s.last.put(2, b))

@action(who="node")
def work(s: State, j: Job, a: Node, k: Annotated[int, Range(0, 1)]) -> State:
    require(s.last[k + 1] == a and s.jobs[j, k] == NOBODY)
    return replace(s, jobs=s.jobs.put((j, 1 - k), s.jobs[j, 1 - k] | {a}))

@invariant
def nobody_works_twice(s: State, c: Config) -> bool:
    return all(s.jobs[j, 0] == NOBODY or s.jobs[j, 1] == NOBODY for j in every(Job, c))

@cover
def one_is_seen_no_more(s: State, c: Config) -> bool:
    return any(not s.seen[a, a] and s.turn[True, a] is not None for a in every(Node, c))
"""
"""Maps from tuples with ids in them, and from numbers."""
ALIKE = {
    "queue": QUEUE, "gossip": GOSSIP, "named": NAMED, "asking": ASKING, "lending": LENDING, "pairs": PAIRS,
    "labels": LABELS, "tables": TABLES,
}  # fmt: skip


def alike(name: str, folder: Path, **settings: int) -> tuple[BoundModel, LoweredModel]:
    """One of these models under a configuration."""
    made = module(f"{ALIKE[name]}\nMODEL = Model.of(__name__, state=State, config=Config)\n", folder, HEAD)
    return bind(made.MODEL, settings)


def every_renaming(sorts: tuple[Sort, ...]) -> list[dict[Any, Any]]:
    """All renamings, as tables of ids by sort and number."""
    tables: list[dict[Any, Any]] = [{}]
    for sort in sorts:
        for cell in sort.cells:
            ids = [sort.type.sort(one + sort.type.first) for one in cell]
            keys = [(sort.type.sort, int(one)) for one in ids]
            tables = [t | dict(zip(keys, p, strict=True)) for t in tables for p in itertools.permutations(ids)]
    return tables
