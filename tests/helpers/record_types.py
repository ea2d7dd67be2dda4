"""Records with an order, with methods and properties; ids and enum members with methods; sequences of records and of
numbers: tables for the agreement of a translation with plain Python."""

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


SEQUENCE_PRELUDE = """
from __future__ import annotations
from dataclasses import dataclass
from enum import Enum
from typing import Annotated
from reassure import *
from reassure import Id, Map, MaxLen, MaxSize, Model, Range

class Server(Id, size="servers"): ...

class Colour(Enum):
    RED = "red"
    GREEN = "green"

@dataclass(frozen=True)
class Config:
    servers: Annotated[int, Range(1, 6)] = 3
    entries: Annotated[int, Range(1, 9)] = 3

@dataclass(frozen=True, order=True)
class Entry:
    term: Annotated[int, Range(0, 2)] = 0
    by: Server = Server(0)

@dataclass(frozen=True)
class Wide:
    to: frozenset[Server] = frozenset()
    last: Entry | None = None
    path: Annotated[tuple[Server, ...], MaxLen(2)] = ()
    terms: Annotated[tuple[Annotated[int, Range(-1, 1)], ...], MaxLen(2)] = ()

@dataclass(frozen=True)
class Mail:
    to: Server
    log: Annotated[tuple[Entry, ...], MaxLen(2)] = ()

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(-1, 4)] = 0
    e: Entry = Entry()
    w: Wide = Wide()
    log: Annotated[tuple[Entry, ...], MaxLen("entries")] = ()
    nums: Annotated[tuple[Annotated[int, Range(-2, 3)], ...], MaxLen(3)] = ()
    wides: Annotated[tuple[Wide, ...], MaxLen(2)] = ()
    old: Annotated[tuple[Entry, ...], MaxLen(2)] | None = None
    logs: Map[Server, Annotated[tuple[Entry, ...], MaxLen(2)]] = Map({Server(0): (), Server(1): (), Server(2): ()})
    sets: Annotated[tuple[frozenset[Server], ...], MaxLen(2)] = ()
    rows: Annotated[tuple[Annotated[tuple[Colour, ...], MaxLen(2)], ...], MaxLen(2)] = ()
    order: Annotated[tuple[Server, ...], MaxLen(3)] = ()
    sent: Annotated[frozenset[Mail], MaxSize(2)] = frozenset()

@initial
def start(c: Config) -> State:
    return State()

def last_term(log: tuple[Entry, ...]) -> int:
    return log[-1].term if len(log) > 0 else 0
"""

SEQUENCES = {
    # name: body of an action; parameters after a bar, and what they are drawn from after another
    "append | x: Server": "return replace(s, log=s.log + (Entry(s.e.term, x),))",
    "append_number": "return replace(s, nums=s.nums + (s.n,))",
    "append_out_of_its_range": "return replace(s, nums=s.nums + (s.n * 2,))",
    "append_a_record_out_of_its_bounds | x: Server": "return replace(s, log=s.log + (Entry(s.n, x),))",
    "out_of_its_bounds_and_read | x: Server": "log = s.log + (Entry(s.n + 1, x),)\n    require(log[-1].term > 1 and Entry(3, x) not in log)\n    return replace(s, log=tuple(e for e in log if e.term < 3), n=log[-1].term)",
    "full_and_read": "log = s.log + (s.e, s.e)\n    require(len(log) > 2)\n    return replace(s, log=log[2:], n=min(len(log), 4))",
    "prepend": "return replace(s, log=(s.e,) + s.log)",
    "several_at_once | x: Server": "return replace(s, log=(s.e, Entry(1, x)) + s.log[:1])",
    "two_together": "old = some(s.old)\n    return replace(s, log=old + s.log)",
    "of_numbers_written_out": "return replace(s, nums=(s.n, len(s.log), 1) if s.n > 0 else (s.n,))",
    "none_written_out": "require(s.log != () and s.nums == ())\n    return replace(s, log=())",
    "one_of_two": "return replace(s, log=s.log if s.n > 0 else (s.e, Entry()))",
    "one_of_two_or_none": "return replace(s, log=s.log[1:] if s.n > 0 else ())",
    "one_of_several | x: Server": "if s.n == 0:\n        return replace(s, log=s.logs[x])\n    if s.n == 1:\n        return replace(s, log=(s.e,))\n    return replace(s, log=())",
    "last": "require(s.log != ())\n    return replace(s, e=s.log[-1], n=s.log[-1].term)",
    "last_but_one": "require(len(s.log) > 1)\n    return replace(s, e=s.log[-2])",
    "last_raises": "return replace(s, e=s.log[-1])",
    "last_of_numbers": "require(len(s.nums) > 0)\n    return replace(s, n=s.nums[-1])",
    "first_raises": "return replace(s, n=s.log[0].term)",
    "at_a_number": "require(0 <= s.n < len(s.log))\n    return replace(s, e=s.log[s.n])",
    "at_a_number_raises": "require(s.n >= 0)\n    return replace(s, n=s.nums[s.n])",
    "at_a_number_of_an_item": "require(s.log != () and s.log[0].term < len(s.log))\n    return replace(s, e=s.log[s.log[0].term])",
    "before_a_number": "require(s.n > 0)\n    return replace(s, e=s.log[s.n - 1])",
    "at_a_sum_raises": "require(s.n > 0)\n    return replace(s, n=s.nums[s.n + 1])",
    "before_its_end": "require(s.log != ())\n    return replace(s, e=s.log[len(s.log) - 1])",
    "before_a_known_end": "require(len(s.nums) >= 2)\n    return replace(s, n=s.nums[len(s.nums) - 2])",
    "up_to_its_end": "require(len(s.log) > 0)\n    return replace(s, log=s.log[: len(s.log) - 1], n=len(s.log))",
    "to_a_number": "require(s.n >= 0)\n    return replace(s, log=s.log[: s.n])",
    "from_a_number": "require(s.n >= 0)\n    return replace(s, log=s.log[s.n :])",
    "between_numbers": "require(s.n >= 0)\n    return replace(s, nums=s.nums[s.e.term : s.n])",
    "from_one_to_its_end": "return replace(s, log=s.log[1:], nums=s.nums[2:3])",
    "all_but_the_last": "return replace(s, log=s.log[:-1], order=s.order[:-2], nums=s.nums[:-3])",
    "the_last_two": "return replace(s, log=s.log[-1:], order=s.order[-2:], nums=s.nums[-2:-1])",
    "the_last_of_what_is_written": "return replace(s, n=sum((s.n, s.e.term, 1)[-2:]), nums=(s.nums + (s.e.term,))[-3:])",
    "all_but_the_last_in_a_loop": "out = ()\n    for e in s.log:\n        out = out[:-1] + (e, s.e)\n    return replace(s, log=out[-3:])",
    "from_behind_its_end": "return replace(s, nums=s.nums[4:] + s.nums[:0])",
    "from_far_behind_its_end": "return replace(s, log=s.log[2_000_000_000 if s.n > 0 else 1 :])",
    "same_up_to | x: Server, y: Server": "require(s.n >= 0 and s.logs[x][: s.n] == s.logs[y][: s.n])\n    return replace(s, e=Entry(len(s.logs[x])))",
    "cut_at_a_conflict": "require(s.n >= 0)\n    return replace(s, log=s.log[: s.n] + (s.e,) if s.log[s.n : s.n + 1] != (s.e,) else s.log)",
    "part_of_what_is_written": "new = (s.n, s.e.term)\n    return replace(s, nums=new[: max(0, s.n)] + (1, 2)[s.e.term :])",
    "of_what_is_written_at_a_number": "require(s.n >= 0)\n    new = (s.e, Entry(2))\n    return replace(s, e=new[s.n], n=(1, 0, s.e.term)[s.e.term])",
    "of_sets_that_are_written": "return replace(s, sets=(s.w.to, frozenset({s.e.by}))[: max(0, s.n)])",
    "loop_reads_its_last": "out = ()\n    for e in s.log:\n        if len(out) > 0 and out[-1].term == e.term:\n            continue\n        out = out + (e,)\n    return replace(s, log=out)",
    "loop_drops_its_last": "out = ()\n    for e in s.log:\n        if out != () and out[-1].term > e.term:\n            out = out[: len(out) - 1]\n        out = out[:2] + (e,)\n    return replace(s, log=out, n=len(out))",
    "loop_of_numbers_reads_its_last": "out = ()\n    for i in s.nums:\n        if len(out) == 0 or out[-1] < i:\n            out += (i,)\n    return replace(s, nums=out)",
    "loop_reads_its_best": "out, k = (), 0\n    for i in s.nums:\n        k = max(out, default=-1) if len(out) < 2 else min(out)\n        out = out + (i,)\n    return replace(s, n=k)",
    "loop_of_ids_reads_its_last": "out = ()\n    for x in s.order:\n        if out != () and out[-1] == x:\n            continue\n        out = out[0:] + (x,)\n    return replace(s, order=out)",
    "put_at_a_number": "require(0 <= s.n < len(s.log))\n    return replace(s, log=s.log[: s.n] + (s.e,) + s.log[s.n + 1 :])",
    "equal | x: Server": "require(s.log == s.logs[x] or s.log == (s.e,) or s.nums == (1, s.n))\n    return replace(s, n=0)",
    "equal_optionals": "require(s.old == s.log or s.old == ())\n    return replace(s, old=None)",
    "optional_put": "return replace(s, old=s.log[:2])",
    "optional_and | x: Server": "require(s.old is not None and len(s.old) == 2 and s.old[1].by == x)\n    return replace(s, old=s.old[1:])",
    "within": "require(s.e in s.log and s.n not in s.nums)\n    return replace(s, log=())",
    "within_written_out": "require(s.n in (1, len(s.log), s.e.term))\n    return s",
    "within_optional": "require(s.w.last in s.log)\n    return replace(s, w=replace(s.w, last=None))",
    "length": "return replace(s, n=len(s.log) + len(s.nums) - 2)",
    "length_written_out": "return replace(s, n=len((s.n, 1)) + len(s.wides))",
    "any": "require(any(e.term == s.e.term and e.by != s.e.by for e in s.log))\n    return s",
    "all": "require(all(x > 0 for x in s.nums) and all(e.term < 2 for e in s.log if e.by == s.e.by))\n    return s",
    "sum": "return replace(s, n=sum(e.term for e in s.log if e.by == Server(0)) + sum(x for x in s.nums))",
    "sum_of_the_items | x: Server": "return replace(s, n=sum(s.nums) - sum(tuple(e.term for e in s.logs[x])) + sum(s.nums[1:]))",
    "count": "return replace(s, n=sum(1 for e in s.log if e.term > 0))",
    "first_that": "return replace(s, e=next((e for e in s.log if e.term == s.n), s.e))",
    "first_that_raises": "return replace(s, n=next(x for x in s.nums if x > 0))",
    "ids_of_records": "return replace(s, order=tuple(e.by for e in s.log if e.term != s.e.term)[:3])",
    "ids_in_the_other_order": "return replace(s, order=tuple(x for x in reversed(s.order)), rows=tuple(tuple(Colour.RED for x in row) for row in s.rows))",
    "ids_of_ids": "return replace(s, order=tuple(Server((x + 1) % c.servers) for x in s.order if x != s.e.by))",
    "truths_of_records": "hit = tuple(e.by == s.e.by for e in s.log)\n    require(hit != () and hit[-1])\n    return replace(s, n=len(hit))",
    "ids_that_raise": "return replace(s, order=tuple(next(x for x in w.path if x in w.to) for w in s.wides))",
    "keep": "return replace(s, log=tuple(e for e in s.log if e.by != s.e.by), nums=tuple(x for x in s.nums if x != s.n))",
    "changed": "return replace(s, log=tuple(replace(e, term=e.term + 1) for e in s.log))",
    "changed_and_kept": "return replace(s, nums=tuple(e.term - 1 for e in s.log if e.by != Server(0)))",
    "of_a_range": "return replace(s, nums=tuple(i * s.n for i in range(2)))",
    "of_sorted | x: Server": "return replace(s, log=tuple(Entry(s.e.term, y) for y in sorted(every(Server, c)) if y != x))",
    "a_guard_in_each": "return replace(s, nums=tuple(some(w.last).term for w in s.wides))",
    "set_of_members": "return replace(s, order=tuple(sorted(frozenset(e.by for e in s.log))))",
    "best": "return replace(s, e=max(s.log), n=min(s.nums, default=4))",
    "best_by_key": "return replace(s, e=max(s.log, key=lambda e: e.term, default=s.e))",
    "in_order | x: Server": "require(s.log < s.logs[x] or (s.e, s.e) <= s.log)\n    return s",
    "in_weak_order": "require(s.nums <= (s.n, 1) and (0,) < s.nums)\n    return s",
    "pairs_in_order | x: Server": "require((last_term(s.logs[x]), len(s.logs[x])) >= (last_term(s.log), len(s.log)))\n    return replace(s, log=s.logs[x])",
    "in_a_map | x: Server": "return replace(s, logs=s.logs.put(x, s.logs[x] + (s.e,)))",
    "in_every_map": "return replace(s, logs=Map({x: s.logs[x][1:] if x == s.e.by else s.log for x in every(Server, c)}))",
    "maps_equal": "require(s.logs != fill(Server, c, (s.e,)) and s.logs == fill(Server, c, s.logs[s.e.by]) or s.logs[s.e.by] == ())\n    return s",
    "wide | x: Server": "return replace(s, wides=s.wides + (Wide(frozenset({x}), s.e, (x,), (0, s.n)),))",
    "wide_read": "require(len(s.wides) > 0)\n    w = s.wides[-1]\n    require(w.last is not None and w.last.by in w.to)\n    return replace(s, e=w.last, order=w.path, nums=w.terms)",
    "wide_changed": "return replace(s, wides=tuple(replace(w, terms=w.terms[:1], last=None) for w in s.wides))",
    "sets_in_order | x: Server": "require(len(s.sets) < 2 or x in s.sets[1])\n    return replace(s, sets=(s.sets + (frozenset({x}),))[:2])",
    "rows | b: Colour": "return replace(s, rows=s.rows + ((b,),))",
    "row_changed | b: Colour": "require(len(s.rows) == 2)\n    return replace(s, rows=(s.rows[1], s.rows[0][:1] + (b,)))",
    "send | x: Server": "return replace(s, sent=s.sent | {Mail(x, s.log[:2])})",
    "send_too_long | x: Server": "return replace(s, sent=s.sent | {Mail(x, s.log)})",
    "send_out_of_its_bounds | x: Server": "return replace(s, sent=s.sent | {Mail(x, (Entry(s.n, x),))})",
    "receive | m: Mail | m=lambda s: s.sent": "return replace(s, sent=s.sent - {m}, logs=s.logs.put(m.to, m.log))",
    "received_any": "require(any(len(m.log) == 2 and m.log[1].by == m.to for m in s.sent) or s.sent == frozenset())\n    return replace(s, sent=frozenset(m for m in s.sent if m.log != ()))",
    "over_a_set_its_last": "ok = all(s.logs[x][len(s.logs[x]) - 1].term > 0 if len(s.logs[x]) > 0 else True for x in every(Server, c))\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_behind_a_filter": "ok = all(s.logs[x][len(s.logs[x]) - 1].term > s.e.term for x in s.w.to if s.logs[x] != ())\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_at_a_number": "ok = any(s.logs[x][s.n - 1] == s.e for x in every(Server, c) if 0 < s.n <= len(s.logs[x]))\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_behind_an_or": "ok = all(s.n < 1 or s.n > len(s.logs[x]) or s.logs[x][s.n - 1].by == x for x in s.w.to)\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_each_next": "ok = all(s.logs[x][i].term <= s.logs[x][i + 1].term for x in every(Server, c) for i in range(len(s.logs[x]) - 1))\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_up_to_the_lesser": "ok = all(s.logs[x][i] == s.logs[y][i] for x in s.w.to for y in s.w.to for i in range(min(len(s.logs[x]), len(s.logs[y]))))\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_up_to_a_number": "ok = any(s.logs[x][i].term == i for x in every(Server, c) for i in range(min(s.n, len(s.logs[x]))))\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_all_in_any": "ok = any(x != s.e.by and all(s.logs[x][i + 1].term == 2 for i in range(len(s.logs[x]) - 1)) for x in s.w.to)\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_any_in_all": "ok = all(any(e == s.logs[x][s.n - 1] for e in s.logs[y]) for x in every(Server, c) for y in s.w.to if 0 < s.n <= len(s.logs[x]))\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_the_same_before": "ok = all(s.logs[x][:i] == s.logs[y][:i] for x in s.w.to for y in s.w.to for i in range(min(len(s.logs[x]), len(s.logs[y]))) if s.logs[x][i].term == s.logs[y][i].term)\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_of_numbers": "ok = all(s.nums[s.n - 1] < int(x) for x in s.w.to if 0 < s.n <= len(s.nums))\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_of_ids": "ok = any(s.order[s.n - 1] == x for x in s.w.to if s.n > 0 and len(s.order) >= s.n)\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_in_the_middle": "ok = any(s.logs[x][len(s.logs[x]) // 2].by == x for x in every(Server, c) if len(s.logs[x]) > 0)\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_in_a_loop": "for x in s.w.to:\n        n = len(s.logs[x])\n        if n == 0:\n            continue\n        if s.logs[x][n - 1].term == s.e.term:\n            return replace(s, n=1)\n    return replace(s, n=0)",
    "over_a_set_in_a_loop_by_and": "ok = True\n    for x in every(Server, c):\n        if 0 < s.n <= len(s.logs[x]):\n            ok = ok and s.logs[x][s.n - 1].by == x\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_a_loop_in_a_loop": "ok = False\n    for x in s.w.to:\n        for i in range(len(s.logs[x]) - 1):\n            if s.logs[x][i].term > s.logs[x][i + 1].term:\n                ok = True\n                break\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_enumerated": "ok = True\n    for x in s.w.to:\n        for i, e in enumerate(s.log):\n            ok = ok and (i == 0 or s.log[i - 1].term <= e.term)\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_enumerated_returns": "for x in s.w.to:\n        log = s.log if x == s.e.by else s.logs[x]\n        for i, e in enumerate(log):\n            if i > 0 and log[i - 1].term > e.term:\n                return replace(s, n=1)\n    return s",
    "over_a_set_enumerated_next": "ok = any(s.log[i - 1] == e and e.by == x for x in s.w.to for i, e in enumerate(s.log) if i > 0)\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_enumerated_from_one": "ok = all(i == 1 or s.log[i - 2].by != x for x in s.w.to for i, e in enumerate(s.log, 1))\n    return replace(s, n=1 if ok else 0)",
    "over_a_set_all_fail_alike": "ok = all(s.log[len(s.log)].by == x for x in s.w.to if s.n > 0)\n    return replace(s, n=1 if ok else 0)",
    "by_sequence | log: Annotated[tuple[Entry, ...], MaxLen(2)]": "require(log != s.log and len(s.nums) > 1)\n    return replace(s, log=log)",
    "by_numbers | nums: Annotated[tuple[Annotated[int, Range(-1, 2)], ...], MaxLen(2)]": "return replace(s, nums=nums + s.nums[:1])",
    "by_optional_sequence | old: Annotated[tuple[Annotated[int, Range(0, 1)], ...], MaxLen(2)] | None": "return replace(s, nums=() if old is None else old)",
    "by_record_with_one | mail: Mail": "require(mail.to == s.e.by and len(mail.log) < 2)\n    return replace(s, log=mail.log)",
}


TUPLE_PRELUDE = """
from __future__ import annotations
from dataclasses import dataclass
from enum import Enum
from typing import Annotated
from reassure import *
from reassure import Id, Map, MaxLen, MaxSize, Model, Range

class Server(Id, size="servers", first=1): ...

class Role(Enum):
    FOLLOWER = "follower"
    LEADER = "leader"

@dataclass(frozen=True)
class Config:
    servers: Annotated[int, Range(1, 6)] = 2

Term = Annotated[int, Range(0, 2)]
Stamp = tuple[Term, Server]

@dataclass(frozen=True, order=True)
class Entry:
    term: Term = 0
    by: Server = Server(1)

@dataclass(frozen=True)
class Mail:
    to: Server
    stamp: Stamp = (0, Server(1))
    mark: tuple[bool, Role] | None = None

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(-1, 3)] = 0
    on: bool = False
    leader: Server | None = None
    up: frozenset[Server] = frozenset()
    order: Annotated[tuple[Server, ...], MaxLen(3)] = ()
    pair: tuple[Server, bool] = (Server(1), False)
    vote: Stamp = (0, Server(1))
    two: tuple[Server, Server] = (Server(1), Server(2))
    nums: tuple[Annotated[int, Range(-1, 2)], Annotated[int, Range(-1, 2, declared=True)]] = (0, 0)
    held: tuple[Role, Server, bool] | None = None
    last: tuple[Entry, bool] = (Entry(), False)
    pairs: Map[Server, tuple[Server, bool]] = Map({Server(1): (Server(1), False), Server(2): (Server(2), True)})
    at: Map[tuple[Server, Role], tuple[Term, Role]] = Map({(Server(a), r): (0, Role.LEADER) for a in (1, 2) for r in Role})
    log: Annotated[tuple[Stamp, ...], MaxLen(2)] = ()
    sent: Annotated[frozenset[Mail], MaxSize(2)] = frozenset()

NEVER = (2, Server(2))

@initial
def start(c: Config) -> State:
    return State()

def stamp_of(s: State, x: Server) -> Stamp:
    if x in s.up:
        return (2, x)
    return s.vote

def swapped(pair: tuple[Server, Server]) -> tuple[Server, Server]:
    a, b = pair
    return (b, a)

def least_and_most(s: State) -> tuple[int, int]:
    low, high = 3, -1
    for k in s.nums:
        low, high = min(low, k), max(high, k)
    return low, high
"""

TUPLES = {
    # name: body of an action; parameters after a bar, and what they are drawn from after another
    "written | x: Server": "require(s.pair != (x, s.on))\n    return replace(s, pair=(x, s.on))",
    "items": "return replace(s, leader=s.pair[0], on=s.pair[1], n=s.vote[0])",
    "items_from_the_end": "return replace(s, on=s.pair[-1], leader=s.two[-2])",
    "item_at_a_number": "require(s.n >= 0)\n    return replace(s, leader=s.two[s.n])",
    "number_at_a_number": "require(s.n >= 0)\n    return replace(s, n=s.nums[s.n])",
    "unpacked": "a, b = s.pair\n    return replace(s, leader=a, on=not b, pair=(a, not b))",
    "unpacked_of_a_map | x: Server": "who, sure = s.pairs[x]\n    require(sure or who in s.up)\n    return replace(s, pairs=s.pairs.put(who, (x, not sure)))",
    "unpacked_in_a_branch | x: Server": "if s.on:\n        a, b = s.vote\n    else:\n        a, b = 1, x\n    return replace(s, n=a, leader=b)",
    "unpacked_in_brackets": "(role, who, sure), k = some(s.held), s.n\n    return replace(s, on=sure and role == Role.LEADER, leader=who, n=k)",
    "unpacked_call | x: Server": "term, by = stamp_of(s, x)\n    return replace(s, n=term, leader=by)",
    "unpacked_and_named_again": "a, b = s.two\n    a, b = b, a\n    return replace(s, two=(a, b))",
    "replaced_in_a_map | x: Server": "return replace(s, pairs=s.pairs.put(x, (x, s.pairs[x][1])))",
    "put_whole | x: Server, y: Server": "return replace(s, pairs=s.pairs.put(x, s.pairs[y]), pair=s.pairs[x])",
    "put_twice | x: Server": "return replace(s, pairs=s.pairs.put(x, s.pair).put(s.pair[0], (x, True)))",
    "at_a_tuple | x: Server, r: Role": "term, role = s.at[x, r]\n    return replace(s, at=s.at.put((x, role), (s.vote[0], r)), n=term)",
    "filled": "return replace(s, pairs=fill(Server, c, s.pair))",
    "built": "return replace(s, pairs=Map({x: (s.pairs[x][0], x in s.up) for x in every(Server, c)}))",
    "leaves_a_bound": "return replace(s, vote=(s.vote[0] + 1, s.vote[1]))",
    "leaves_a_bound_in_a_map | x: Server": "return replace(s, at=s.at.put((x, Role.LEADER), (s.at[x, Role.FOLLOWER][0] + 1, Role.FOLLOWER)))",
    "leaves_either_bound": "low, high = s.nums\n    return replace(s, nums=(low - 1, high + 1))",
    "equal": "require(s.pair == s.pairs[Server(1)] or s.vote == (1, Server(2)))\n    return replace(s, on=True)",
    "equal_of_one_kind": "require(s.two == (Server(1), Server(2)) or s.two == swapped(s.two))\n    return replace(s, on=not s.on)",
    "equal_to_a_sequence": "require((s.two == s.order) == s.on)\n    return replace(s, n=1)",
    "equal_to_an_empty_one": "require(s.two != () and s.order == ())\n    return replace(s, n=2)",
    "order": "require((s.vote[0] + 1, s.vote[1]) > s.vote and s.vote >= (1, Server(1)))\n    return replace(s, n=0)",
    "order_of_one_kind": "require(s.two < (Server(2), Server(1)) or (Server(1), Server(2)) < s.two)\n    return replace(s, n=0)",
    "order_of_two_tuples | x: Server, y: Server": "require(s.pairs[x] < s.pairs[y] or s.pairs[x] >= s.pair)\n    return replace(s, leader=x)",
    "order_of_a_sequence": "require(s.two < s.order or s.order <= s.two)\n    return replace(s, on=s.order < s.two)",
    "order_of_records": "require(s.last <= (Entry(1, Server(1)), True))\n    return replace(s, last=(Entry(2, Server(2)), not s.last[1]))",
    "constant": "require(s.vote != NEVER)\n    return replace(s, vote=NEVER)",
    "one_of_several": "require(s.vote in (NEVER, (1, Server(1)), (0, s.two[0])))\n    return replace(s, on=True)",
    "member": "require(s.pair[0] in s.two and s.n in s.nums)\n    return replace(s, on=s.leader in s.two)",
    "size": "return replace(s, n=len(s.pair) - len(s.nums) + len(s.two))",
    "sum": "return replace(s, n=sum(s.nums) + max(s.nums))",
    "set_of_items": "return replace(s, up=frozenset(s.two))",
    "first_of_items": "return replace(s, leader=next((x for x in s.two if x in s.up), None))",
    "loop_over_items": "low, high = least_and_most(s)\n    return replace(s, n=high - low)",
    "chosen": "return replace(s, two=s.two if s.on else swapped(s.two), pair=s.pair if s.on else (Server(2), True))",
    "chosen_of_one_kind": "two = (Server(1), Server(1)) if s.on else s.two\n    return replace(s, two=two, leader=two[0])",
    "a_sequence_from_it": "return replace(s, order=s.two)",
    "put_together": "return replace(s, order=s.two + (s.pair[0],) if s.on else s.order[:1] + s.two)",
    "part_of_it": "return replace(s, order=s.two[1:] + s.two[:1])",
    "of_a_sequence": "require(len(s.order) > 1)\n    return replace(s, two=(s.order[1], s.order[0]))",
    "of_a_sequence_raises": "return replace(s, two=(s.order[1], s.order[0]))",
    "held": "return replace(s, held=(Role.LEADER, s.pair[0], s.on))",
    "held_no_more": "require(s.held is not None and s.held[2])\n    return replace(s, held=None, leader=s.held[1])",
    "held_equal": "require(s.held == (Role.LEADER, Server(1), True) or s.held is None)\n    return replace(s, held=None if s.on else (Role.FOLLOWER, Server(2), False))",
    "appended | x: Server": "return replace(s, log=s.log + ((1, x),))",
    "appended_value": "return replace(s, log=s.log + (s.vote,))",
    "last_of_a_sequence": "require(s.log != ())\n    term, by = s.log[-1]\n    return replace(s, n=term, leader=by, log=s.log[:-1])",
    "item_of_an_item_raises": "return replace(s, n=s.log[0][0])",
    "sequence_equal": "require(s.log == ((1, Server(1)),) or s.vote in s.log)\n    return replace(s, log=())",
    "sequence_kept": "return replace(s, log=tuple(e for e in s.log if e[1] in s.up))",
    "sequence_of_pairs_any": "require(any(term > 0 and by in s.up for term, by in s.log))\n    return replace(s, on=True)",
    "sequence_of_pairs_best": "return replace(s, vote=max(s.log, default=s.vote))",
    "sequence_of_pairs_by_a_key": "return replace(s, vote=max(s.log, key=lambda e: (e[1], e[0]), default=s.vote))",
    "sequence_of_pairs_loop": "k = 0\n    for i, (term, by) in enumerate(s.log):\n        if by in s.up:\n            k += i + term\n    return replace(s, n=k)",
    "sequence_of_pairs_numbered": "return replace(s, n=sum(i + term for i, (term, by) in enumerate(s.log) if by in s.up))",
    "map_loop": "k = 0\n    for x in sorted(s.up):\n        who, sure = s.pairs[x]\n        if sure and who == x:\n            k += 1\n    return replace(s, n=k)",
    "map_loop_of_a_set": "m = s.pairs\n    for x in s.up:\n        m = m.put(x, (m[x][0], not m[x][1]))\n    return replace(s, pairs=m)",
    "map_any": "require(any(s.pairs[x] == (x, True) for x in s.up))\n    return replace(s, on=all(s.pairs[x][1] for x in every(Server, c)))",
    "map_equal": "require(s.pairs == fill(Server, c, (Server(1), s.on)) or s.pairs != s.pairs.put(Server(1), s.pair))\n    return replace(s, n=3)",
    "best_in_a_loop": "best = s.vote\n    for x in sorted(s.up):\n        best = max(best, stamp_of(s, x))\n    return replace(s, vote=best)",
    "sent | x: Server": "return replace(s, sent=s.sent | {Mail(x, s.vote, (s.on, Role.LEADER))})",
    "sent_out_of_bound | x: Server": "return replace(s, sent=s.sent | {Mail(x, (s.vote[0] + 1, x))})",
    "received | m: Mail | m=lambda s: s.sent": "term, by = m.stamp\n    require(m.mark is None or m.mark[0])\n    return replace(s, sent=s.sent - {m}, n=term, leader=by)",
    "received_equal | m: Mail | m=lambda s: s.sent": "require(m.stamp <= s.vote)\n    return replace(s, sent=s.sent - {m}, on=any(o.stamp == m.stamp for o in s.sent - {m}))",
    "parameter | p: tuple[Server, bool]": "require(p != s.pair and p[0] in s.up)\n    return replace(s, pair=p)",
    "parameter_of_one_kind | p: tuple[Server, Server]": "require(p < s.two)\n    return replace(s, two=p, leader=p[1])",
    "parameter_that_may_be_none | p: tuple[Role, Server, bool] | None": "require(p != s.held)\n    return replace(s, held=p)",
    "parameter_of_numbers | p: tuple[Annotated[int, Range(-2, 1)], Annotated[int, Range(0, 3)]]": "low, high = p\n    require(low < high)\n    return replace(s, nums=p)",
    "key_of_a_map | p: tuple[Server, Role]": "return replace(s, at=s.at.put(p, (0, p[1])))",
}
