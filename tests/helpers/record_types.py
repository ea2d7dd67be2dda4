"""Records with an order, with methods and properties; ids and enum members with methods: a table for the agreement of a
translation with plain Python."""

# ruff: noqa: E501 - a row of the table is one line

from __future__ import annotations

PRELUDE = """
from __future__ import annotations
from dataclasses import dataclass
from enum import Enum
from typing import Annotated
from reassure import *
from reassure import Id, Map, MaxLen, MaxSize, Model, Range

class Server(Id, size="servers"):
    def follows(self, other: Server) -> bool:
        return self > other

    @property
    def first_one(self) -> bool:
        return self == Server(0)

class Role(Enum):
    FOLLOWER = "follower"
    LEADER = "leader"

    def leads(self) -> bool:
        return self == Role.LEADER

    @property
    def after(self) -> Role:
        return Role.FOLLOWER if self.leads() else Role.LEADER

@dataclass(frozen=True)
class Config:
    servers: Annotated[int, Range(1, 6)] = 3

    @property
    def half(self) -> int:
        return self.servers // 2

    def is_majority(self, votes: frozenset[Server]) -> bool:
        return len(votes) > self.half

@dataclass(frozen=True, order=True)
class Entry:
    term: Annotated[int, Range(0, 3)] = 0
    on: bool = False
    by: Server = Server(0)

    @property
    def position(self) -> tuple[int, Server]:
        return (self.term, self.by)

    @staticmethod
    def of_term(term: int) -> Entry:
        return Entry(term)

    @classmethod
    def by_server(cls, by: Server) -> Entry:
        return cls(1, by=by)

    def newer(self, other: Entry, at_least: bool = False) -> bool:
        return self >= other if at_least else self > other

    def raised(self) -> Entry:
        require(self.term < 3)
        return replace(self, term=self.term + 1)

    def of(self, s: State) -> Server:
        return s.order[self.term]

@dataclass(frozen=True)
class Position:
    term: int
    at: int

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(-1, 4)] = 0
    e: Entry = Entry()
    last: Entry | None = None
    log: Map[Server, Entry] = Map({Server(0): Entry(), Server(1): Entry(), Server(2): Entry()})
    up: frozenset[Server] = frozenset()
    order: Annotated[tuple[Server, ...], MaxLen(3)] = ()
    role: Role = Role.FOLLOWER
    leader: Server | None = None
    sent: Annotated[frozenset[Entry], MaxSize(2)] = frozenset()

@initial
def start(c: Config) -> State:
    return State()

def weight(x: Server) -> int:
    return 2 if x == Server(1) else 1

def place(e: Entry) -> tuple[int, bool]:
    return (e.term, e.on)
"""

CONSTRUCTS = {
    # name: body of an action; parameters after a bar
    "tuples_in_order | x: Server": "require((s.log[x].term, len(s.order)) >= (s.e.term, len(s.up)))\n    return replace(s, leader=x)",
    "tuples_in_strict_order": "require((s.e.on, s.n) < (s.n > 0, s.e.term))\n    return s",
    "tuples_that_end_with_an_id | x: Server, y: Server": "require((s.log[x].term, x) < (s.log[y].term, y))\n    return replace(s, leader=y)",
    "tuples_of_sets": "require((s.up, s.n) <= (frozenset(s.order), s.e.term))\n    return s",
    "tuples_of_two_lengths": "require((s.n,) < (s.e.term, 1) and (s.n, 1) >= (s.e.term,))\n    return s",
    "tuples_in_tuples": "require(((s.n, s.e.on), 2) > ((s.e.term, True), len(s.up)))\n    return s",
    "tuples_in_a_chain": "require((0, 1) <= (s.n, s.e.term) < (2, len(s.up)))\n    return s",
    "tuples_equal": "require((s.n, s.leader is None) == (s.e.term, s.e.on) or (s.n, 1) != (1, len(s.up)))\n    return s",
    "tuple_in_tuples": "require((s.n, s.e.on) in ((0, False), (1, True)))\n    return s",
    "tuple_of_a_variable": "here = (s.n, len(s.up))\n    there = (s.e.term, 1) if s.e.on else here\n    require(here <= there)\n    return replace(s, n=there[1] - here[-2])",
    "tuple_of_a_function": "require(place(s.e) > place(s.log[Server(1)]))\n    return s",
    "sequences_in_order": "require(s.order < (Server(2), Server(1)) or s.order >= tuple(sorted(s.up)))\n    return s",
    "bools_in_order": "require(s.e.on < (s.n > 0) or s.e.on >= (s.leader is None))\n    return s",
    "records_in_order | x: Server": "require(s.log[x] > s.e)\n    return replace(s, e=s.log[x])",
    "records_in_weak_order | e: Entry": "require(s.e <= e)\n    return replace(s, e=e)",
    "best_by_key": "return replace(s, leader=max(sorted(s.up), key=lambda x: s.log[x].term, default=None))",
    "least_by_key": "return replace(s, leader=min(sorted(s.up), key=lambda x: s.log[x].on, default=s.leader))",
    "best_of_a_set_by_key": "return replace(s, leader=max(s.up, key=lambda x: (s.log[x].term, x), default=None))",
    "best_of_a_sequence_by_function": "return replace(s, leader=max(s.order, key=weight))",
    "best_of_changed_by_key": "return replace(s, e=max((s.log[x] for x in s.order if x in s.up), key=place, default=s.e))",
    "best_of_two_by_key | x: Server, y: Server": "return replace(s, leader=min(x, y, key=lambda z: z not in s.up))",
    "best_by_length": "return replace(s, n=len(max((s.up, frozenset(s.order)), key=len)))",
    "best_tuple": "best = max((s.log[x].term, x) for x in every(Server, c))\n    return replace(s, n=best[0], leader=best[1])",
    "best_of_messages": "return replace(s, e=max(s.sent, default=s.e))",
    "best_record": "return replace(s, e=max((s.log[x] for x in s.up), default=s.e))",
    "best_of_two_records": "return replace(s, e=max(s.e, s.log[Server(2)], some(s.last)))",
    "best_of_a_range": "return replace(s, n=max(range(1, 4), key=lambda i: (i * s.e.term) % 3))",
    "best_of_items": "return replace(s, leader=min(s.order, default=None))",
    "index_before_the_end": "require(s.order != ())\n    return replace(s, leader=s.order[len(s.order) - 1])",
    "index_behind_a_guard": "require(s.n > 0)\n    return replace(s, leader=s.order[s.n - 1])",
    "index_behind_an_and": "require(s.n != -1 and s.n - 1 >= 0 and s.order[s.n - 1] in s.up)\n    return s",
    "index_behind_not": "require(not s.n < 1)\n    return replace(s, leader=s.order[s.n - 1], n=s.n - 1)",
    "index_in_a_branch": "if s.n >= 1:\n        return replace(s, leader=s.order[s.n - 1])\n    return replace(s, n=s.n + 1)",
    "index_in_a_choice": "return replace(s, leader=s.order[s.n - 1] if s.n > 0 else None)",
    "index_behind_an_id | x: Server": "require(s.n > s.log[x].term)\n    return replace(s, leader=s.order[s.n - 1])",
    "index_in_a_comprehension": "require(any(s.order[i - 1] in s.up for i in (0, 1, s.n) if i > 0))\n    return s",
    "index_behind_a_filter": "return replace(s, n=sum(1 for x in s.up if s.n != -1 and s.n != 0 and s.order[s.n - 1] == x))",
    "slice_behind_a_guard": "require(s.n > 0)\n    return replace(s, order=s.order[: s.n - 1])",
    "property": "require(s.e.position < s.log[Server(1)].position)\n    return s",
    "method | x: Server": "require(s.log[x].newer(s.e))\n    return replace(s, e=s.log[x])",
    "method_by_name": "require(s.e.newer(at_least=True, other=s.log[Server(2)]))\n    return s",
    "method_with_a_guard": "return replace(s, e=s.e.raised())",
    "method_of_an_optional": "require(s.last is not None and s.last.newer(s.e))\n    return replace(s, last=None)",
    "method_that_raises": "return replace(s, leader=s.e.of(s))",
    "method_of_an_id | x: Server": "require(x.follows(Server(0)) or x.first_one)\n    return replace(s, leader=x)",
    "method_of_an_enum": "return replace(s, role=s.role.after, n=1 if s.role.leads() else 0)",
    "method_of_a_class": "return replace(s, e=Entry.of_term(s.n), last=Entry.by_server(Server(1)))",
    "method_of_the_configuration": "require(c.is_majority(s.up))\n    return s",
}
