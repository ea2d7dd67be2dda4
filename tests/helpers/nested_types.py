"""A state with every type nested in every other, negative ranges among them, and actions over it; types at the edges of
an engine's word, guards that protect what may raise, maps whose keys are numbers or tuples, and sets of numbers: tables
for the agreement of a translation with plain Python."""

# ruff: noqa: E501 - a row of the table is one line

from __future__ import annotations

PRELUDE = """
from dataclasses import dataclass
from enum import Enum
from typing import Annotated
from reassure import *
from reassure import Id, Map, MaxLen, MaxSize, Model, Range

class Node(Id, size="nodes", first=1): ...

class Colour(Enum):
    RED = "red"
    GREEN = "green"

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 6)] = 3

@dataclass(frozen=True)
class Nothing: ...

@dataclass(frozen=True)
class Pair:
    low: Annotated[int, Range(-2, -1)] = -1
    node: Node | None = None

@dataclass(frozen=True)
class Wider:
    number: Annotated[int, Range(-3, 0)] | None = None
    nodes: frozenset[Node] | None = None

@dataclass(frozen=True)
class Message:
    at: Annotated[int, Range(-3, 1)]
    pair: Pair | None = None
    path: Annotated[tuple[Node, ...], MaxLen(2)] = ()
    to: frozenset[Node] | None = None
    by: Map[Colour, Annotated[int, Range(-1, 0)] | None] = Map({Colour.RED: None, Colour.GREEN: None})

@dataclass(frozen=True)
class State:
    x: Annotated[int, Range(-8, -1)] = -1
    y: Annotated[int, Range(-9, 9)] = 0
    low: Annotated[int, Range(-1, 0)] | None = None
    pair: Pair | None = None
    nodes: frozenset[Node] | None = None
    path: Annotated[tuple[Node, ...], MaxLen(2)] | None = None
    colours: Map[Colour, Annotated[int, Range(-2, -1)] | None] = Map({Colour.RED: None, Colour.GREEN: -2})
    pairs: Map[Node, Pair] = Map({Node(1): Pair(), Node(2): Pair(), Node(3): Pair()})
    sent: Annotated[frozenset[Message], MaxSize(2)] = frozenset()
    held: Annotated[frozenset[Pair], MaxSize(1)] | None = None
    flags: Annotated[tuple[bool, ...], MaxLen(2)] = ()
    truths: frozenset[bool] = frozenset()
    one: Annotated[int, Range(-5, -5)] = -5
    big: Annotated[int, Range(-(1 << 60), 1 << 60)] = 0
    nothing: Nothing = Nothing()

@initial
def start(c: Config) -> State:
    return State()
"""

CONSTRUCTS = {
    # name: body of an action; parameters after a bar, and what they are drawn from after another
    "floor_division": "return replace(s, y=s.x // 3)",
    "floor_division_of_either_sign": "return replace(s, y=s.y // 4)",
    "floor_division_by_one": "return replace(s, y=s.y // 1)",
    "floor_division_by_much": "return replace(s, y=s.y // 20)",
    "floor_division_at_the_edge": "return replace(s, y=s.x // 8)",
    "remainder": "return replace(s, y=s.x % 3)",
    "remainder_of_either_sign": "return replace(s, y=s.y % 5)",
    "remainder_by_one": "return replace(s, y=s.y % 1)",
    "remainder_by_much": "return replace(s, y=s.y % 20 - 9)",
    "remainder_of_a_product": "return replace(s, y=(s.x * s.y) % 7 - (s.x * s.x) // 9)",
    "division_of_a_constant": "return replace(s, y=-7 // 2 + -7 % 4 + s.x)",
    "maximum": "return replace(s, x=max(-4, s.x))",
    "minimum": "return replace(s, x=min(s.x, -4))",
    "maximum_of_two": "require(s.x == max(s.x, s.y))\n    return replace(s, y=max(s.x, s.y, -3))",
    "minimum_of_two": "return replace(s, y=min(s.x, s.y, 3))",
    "absolute": "return replace(s, y=abs(s.x) - abs(s.y))",
    "negative": "return replace(s, y=-s.x, x=-abs(s.y))",
    "differences": "return replace(s, y=s.x - s.y - s.one)",
    "products": "require(s.x * s.y != -8)\n    return replace(s, y=s.x * s.y // 8, x=s.one * s.one + s.x * 3 - 25)",
    "order": "require(s.x < s.y or s.y <= s.one or -3 > s.x)\n    return s",
    "chained_order": "require(-6 <= s.x < s.y <= 4)\n    return s",
    "large_numbers": "require(s.big * 2 - 3 > s.x)\n    return replace(s, big=s.big + s.y)",
    "large_division": "return replace(s, big=s.big // 1000, y=s.big % 7)",
    "large_order": "return replace(s, big=max(s.big, -5) - min(s.big, s.x))",
    "choice_of_numbers": "return replace(s, y=s.x if s.y > 0 else s.y - 1)",
    "sum_of_negatives": "return replace(s, y=sum(s.pairs[n].low for n in every(Node, c)))",
    "best_of_negatives": "return replace(s, y=max((s.pairs[n].low - s.x for n in every(Node, c) if s.pairs[n].node == n), default=-9))",
    "absent_number": "return replace(s, low=None)",
    "present_number": "require(s.low is None)\n    return replace(s, low=-1)",
    "number_from_optional": "low = some(s.low)\n    return replace(s, y=low * 2, low=low + 1)",
    "compare_optionals": "require(s.low == s.colours[Colour.RED] or s.low == -1)\n    return s",
    "optional_to_another_range": "return replace(s, low=s.colours[Colour.RED])",
    "optional_from_another_range | far: Annotated[int, Range(-5, 0)] | None": "return replace(s, low=far)",
    "optional_or_none": "return replace(s, low=None if s.low == 0 else s.low)",
    "optional_minimum": "low = some(s.low)\n    return replace(s, low=max(low - 1, -1))",
    "absent_record": "return replace(s, pair=None)",
    "record_changed": "pair = some(s.pair)\n    return replace(s, pair=replace(pair, low=-3 - pair.low, node=None))",
    "record_leaves_a_bound": "pair = some(s.pair)\n    return replace(s, pair=replace(pair, low=pair.low + 1))",
    "records_equal": "require(s.pair == s.pairs[Node(1)] or s.pair is None)\n    return replace(s, pair=s.pairs[Node(2)])",
    "absent_set": "return replace(s, nodes=None)",
    "set_of_optional": "nodes = some(s.nodes)\n    return replace(s, nodes=nodes - {Node(1)})",
    "optional_set_equal": "require(s.nodes == frozenset())\n    return replace(s, nodes=every(Node, c))",
    "optional_set_size": "require(s.nodes is not None and len(s.nodes) >= 2)\n    return replace(s, y=len(s.nodes))",
    "absent_sequence": "return replace(s, path=None)",
    "sequence_of_optional": "path = some(s.path)\n    return replace(s, path=path[1:] + (Node(3),))",
    "optional_sequence_equal": "require(s.path == (Node(1), Node(2)) or s.path == ())\n    return replace(s, path=None)",
    "bools_in_order": "return replace(s, flags=(s.y > 0,) + s.flags[:1])",
    "bools_first": "require(s.flags != ())\n    return replace(s, y=1 if s.flags[0] else 0, flags=s.flags[1:])",
    "bools_of_a_set": "require((s.x < s.y) in s.truths)\n    return replace(s, truths=s.truths - {True})",
    "bools_to_a_set": "return replace(s, truths=frozenset(s.flags))",
    "map_of_optionals": "return replace(s, colours=s.colours.put(Colour.RED, s.colours[Colour.GREEN]))",
    "map_of_optionals_filled": "return replace(s, colours=fill(Colour, c, None))",
    "map_of_optionals_any": "require(any(s.colours[k] is None for k in every(Colour, c)))\n    return s",
    "map_of_records": "return replace(s, pairs=s.pairs.put(Node(2), replace(s.pairs[Node(2)], low=-2)))",
    "map_of_records_by_key": "pair = some(s.pair)\n    node = some(pair.node)\n    return replace(s, pairs=s.pairs.put(node, pair))",
    "send": "return replace(s, sent=s.sent | {Message(-3)})",
    "send_nested": "return replace(s, sent=s.sent | {Message(s.x, s.pair, (), s.nodes)})",
    "send_path": "path = some(s.path)\n    return replace(s, sent=frozenset({Message(0, None, path)}))",
    "send_map": "by = Map({k: s.low for k in every(Colour, c)})\n    return replace(s, sent=s.sent | {Message(1, None, (), None, by)})",
    "receive | m: Message | m=lambda s: s.sent": "return replace(s, sent=s.sent - {m}, y=m.at, pair=m.pair, nodes=m.to, path=m.path)",
    "receive_some | m: Message | m=lambda s: s.sent": "require(m.pair is not None and m.pair.low == -2)\n    return replace(s, low=m.by[Colour.RED])",
    "messages_sum": "return replace(s, y=sum(m.at for m in s.sent))",
    "messages_keep": "return replace(s, sent=frozenset(m for m in s.sent if m.pair is None or m.at < -1))",
    "messages_equal": "require(s.sent == frozenset({Message(-3)}) or s.sent == frozenset())\n    return s",
    "set_of_records_absent": "return replace(s, held=None)",
    "set_of_records_empty": "require(s.held != frozenset())\n    return replace(s, held=frozenset())",
    "set_of_records_of_optional": "held = some(s.held)\n    return replace(s, held=held | {s.pairs[Node(1)]})",
    "empty_record": "require(s.nothing == Nothing())\n    return replace(s, nothing=Nothing(), y=0)",
    "by_number | n: Annotated[int, Range(-3, -1)]": "require(n > s.x)\n    return replace(s, y=s.y + n)",
    "by_optional_number | n: Annotated[int, Range(-2, -1)] | None": "return replace(s, colours=s.colours.put(Colour.RED, n))",
    "by_optional_number_of_another_range | n: Annotated[int, Range(-5, 0)] | None": "require(s.low is None)\n    return replace(s, low=n)",
    "optional_number_of_another_range": "return replace(s, low=s.colours[Colour.RED])",
    "optional_record_with_another_range": "return replace(s, colours=s.colours.put(Colour.RED, s.low))",
    "by_record_of_optionals | m: Wider": "return replace(s, low=m.number, nodes=m.nodes)",
    "by_optional_set | nodes: frozenset[Node] | None": "return replace(s, nodes=nodes)",
    "by_optional_set_unread | nodes: frozenset[Node] | None": "require(nodes is None or s.y in (0, 1, 2))\n    return replace(s, y=1 if nodes is None else len(nodes))",
    "by_optional_record | pair: Pair | None": "return replace(s, pair=pair)",
    "by_optional_sequence | path: Annotated[tuple[Node, ...], MaxLen(2)] | None": "return replace(s, path=path)",
    "by_record | pair: Pair": "require(pair.low == s.one + 3)\n    return replace(s, pair=pair)",
    "by_map | m: Map[Colour, Annotated[int, Range(-2, -1)] | None]": "require(m != s.colours)\n    return replace(s, colours=m)",
    "by_set_of_records | held: Annotated[frozenset[Pair], MaxSize(2)]": "return replace(s, held=held)",
    "by_optional_set_of_records | held: Annotated[frozenset[Pair], MaxSize(1)] | None": "return replace(s, held=held)",
    "by_drawn_id | n: Node | n=lambda s, c: every(Node, c) if s.nodes is None else s.nodes": "return replace(s, nodes=frozenset({n}))",
}


MAP_PRELUDE = """
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
    servers: Annotated[int, Range(1, 6)] = 3
    top: Annotated[int, Range(1, 9)] = 2

@dataclass(frozen=True)
class Entry:
    term: Annotated[int, Range(0, 2)] = 0
    by: Server = Server(1)

@dataclass(frozen=True)
class Mail:
    to: Server
    marks: Map[Annotated[int, Range(0, 1)], bool] = Map({0: False, 1: False})

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(-2, 3)] = 0
    on: bool = False
    leader: Server | None = None
    up: frozenset[Server] = frozenset()
    order: Annotated[tuple[Server, ...], MaxLen(2)] = ()
    votes: Map[Annotated[int, Range(-1, 2)], Annotated[int, Range(-1, 2)]] = Map({-1: 0, 0: 0, 1: 0, 2: 0})
    log: Map[Annotated[int, Range(1, "top")], Entry | None] = Map({1: None, 2: None})
    seen: Map[tuple[Server, Server], bool] = Map({(Server(a), Server(b)): False for a in (1, 2, 3) for b in (1, 2, 3)})
    term: Map[tuple[Server, Role], Annotated[int, Range(0, 2)]] = Map({(Server(a), r): 0 for a in (1, 2, 3) for r in Role})
    cube: Map[tuple[bool, Annotated[int, Range(0, 1)], Role], Server | None] = Map({(b, i, r): None for b in (False, True) for i in (0, 1) for r in Role})
    sent: Annotated[frozenset[Mail], MaxSize(2)] = frozenset()

@initial
def start(c: Config) -> State:
    return State()

def marked(m: Map[tuple[Server, Server], bool], a: Server) -> Map[tuple[Server, Server], bool]:
    return m.put((a, a), True)
"""

MAPS = {
    # name: body of an action; parameters after a bar
    "number": "require(-1 <= s.n <= 2)\n    return replace(s, n=s.votes[s.n])",
    "number_raises": "return replace(s, n=s.votes[s.n])",
    "number_may_be_too_small": "require(s.n <= 2)\n    return replace(s, n=s.votes[s.n])",
    "number_known": "return replace(s, n=s.votes[-1] + s.votes[2])",
    "number_outside": "return replace(s, n=s.votes[3] if s.on else s.votes[2])",
    "number_of_a_map": "return replace(s, n=s.votes[s.votes[s.votes[0]]])",
    "number_behind_an_and": "require(s.n < 2 and s.n > -2 and s.votes[s.n + 1] > 0)\n    return s",
    "number_behind_an_or": "require(s.n > 1 or s.votes[s.n] > 0)\n    return s",
    "number_put": "require(-1 <= s.n < 3)\n    return replace(s, votes=s.votes.put(s.n, s.votes[0] + 1))",
    "number_put_raises": "return replace(s, votes=s.votes.put(s.n + 1, 1))",
    "number_put_after_its_value": "require(s.n > -2)\n    return replace(s, votes=s.votes.put(s.n, s.votes[s.n - 1]))",
    "number_put_of_two": "require(0 <= s.n < 2)\n    return replace(s, votes=s.votes.put(s.n, s.votes[s.n + 1]).put(s.n + 1, s.votes[s.n]))",
    "number_build": "return replace(s, votes=Map({k: min(s.votes[k], k) for k in range(-1, 3)}))",
    "number_build_from_another": "return replace(s, votes=Map({k: s.votes[1 - k] for k in range(-1, 3)}))",
    "number_build_of_records": "return replace(s, log=Map({k: Entry(k - 1) if s.on else None for k in range(1, c.top + 1)}))",
    "number_written_out": "return replace(s, votes=Map({-1: s.n, 0: 0, 2: 1, 1: s.votes[0]}), log=Map({1: None, 2: some(s.log[1])}))",
    "number_equal": "require(s.votes == Map({k: 0 for k in range(-1, 3)}) or s.votes != s.votes.put(1, 2))\n    return replace(s, on=True)",
    "number_any": "require(any(s.votes[k] == s.n for k in range(-1, 3)))\n    return s",
    "number_sum": "return replace(s, n=sum(s.votes[k] for k in range(0, 2) if s.votes[k - 1] > 0))",
    "number_loop": "m = s.votes\n    for k in range(0, s.n):\n        m = m.put(k, m[k - 1])\n    return replace(s, votes=m)",
    "number_first": "return replace(s, n=next((k for k in range(-1, 3) if s.votes[k] > 0), 0))",
    "number_optional": "entry = some(s.log[1])\n    return replace(s, log=s.log.put(2, entry).put(1, None))",
    "number_choice": "return replace(s, votes=s.votes if s.on else s.votes.put(0, 1))",
    "number_parameter | m: Map[Annotated[int, Range(1, 2)], bool]": "require(m[1] != m[2] or s.on)\n    return replace(s, on=m[2])",
    "number_drawn | k: Annotated[int, Range(-1, 3)]": "require(k < s.n and s.votes[k] < 2)\n    return replace(s, votes=s.votes.put(k, 2))",
    "number_in_messages | x: Server": "return replace(s, sent=s.sent | {Mail(x, Map({k: k == 0 for k in range(2)}))})",
    "number_of_a_message | m: Mail | m=lambda s: s.sent": "require(m.marks[0] != m.marks[1])\n    return replace(s, leader=m.to, sent=s.sent - {m})",
    "pair | x: Server, y: Server": "require(s.seen[x, y] and not s.seen[(y, x)])\n    return replace(s, leader=x)",
    "pair_known": "require(s.seen[Server(1), Server(3)] == s.on)\n    return replace(s, seen=s.seen.put((Server(2), Server(2)), True))",
    "pair_put | x: Server, y: Server": "return replace(s, seen=s.seen.put((x, y), s.on).put((y, x), True))",
    "pair_named | x: Server": "leader = some(s.leader)\n    key = (leader, x)\n    return replace(s, on=s.seen[key], seen=s.seen.put(key, True))",
    "pair_chosen | x: Server, y: Server": "key = (x, y) if s.on else (y, x)\n    return replace(s, seen=s.seen.put(key, not s.seen[key]))",
    "pair_that_is_a_sequence": "return replace(s, on=s.seen[s.order])",
    "pair_build": "return replace(s, seen=Map({(a, b): a in s.up and s.seen[b, a] for a in every(Server, c) for b in every(Server, c)}))",
    "pair_build_the_other_way": "return replace(s, seen=Map({(a, b): a < b for b in every(Server, c) for a in every(Server, c)}))",
    "pair_written_out": "m = Map({(True, Role.LEADER): s.on, (False, Role.LEADER): True, (True, Role.FOLLOWER): s.n > 0, (False, Role.FOLLOWER): False})\n    return replace(s, on=m[s.n > 1, Role.LEADER] and m[True, Role.FOLLOWER])",
    "pair_equal": "require((s.seen == Map({(a, b): a in s.up for a in every(Server, c) for b in every(Server, c)})) == s.on)\n    return replace(s, on=True)",
    "pair_any": "require(any(s.seen[a, b] for a in s.up for b in s.up if a != b))\n    return s",
    "pair_count | x: Server": "return replace(s, n=sum(1 for a in s.up if s.seen[a, x]) - sum(1 for a in s.up if s.seen[x, a]))",
    "pair_function": "leader = some(s.leader)\n    return replace(s, seen=marked(s.seen, leader))",
    "pair_loop": "m = s.seen\n    for a in s.up:\n        m = m.put((a, Server(1)), not m[a, Server(2)])\n    return replace(s, seen=m)",
    "pair_loop_in_a_loop": "m = s.seen\n    for a in s.up:\n        for b in s.up:\n            m = m.put((a, b), not m[a, b])\n    return replace(s, seen=m)",
    "pair_of_an_enum | x: Server, r: Role": "require(s.term[x, r] > s.term[Server(2), Role.LEADER])\n    return replace(s, term=s.term.put((x, r), 0))",
    "pair_leaves_a_bound | x: Server": "return replace(s, term=s.term.put((x, Role.LEADER), s.term[x, Role.FOLLOWER] + 1))",
    "pair_of_an_enum_build": "return replace(s, term=Map({(a, r): 1 if r == Role.LEADER else s.term[a, r] for a in every(Server, c) for r in every(Role, c)}))",
    "pair_parameter | m: Map[tuple[bool, Role], bool]": "require(m[s.on, Role.LEADER])\n    return replace(s, on=m[not s.on, Role.FOLLOWER])",
    "tested_in_a_filter": "ok = all(s.log[k].term > 0 for k in range(1, c.top + 1) if s.log[k] is not None)\n    return replace(s, on=ok)",
    "tested_over_a_set": "ok = any(s.term[x, Role.LEADER] > 0 and s.log[1] is not None and s.log[1].by == x for x in s.up)\n    return replace(s, on=ok)",
    "tested_at_a_tuple": "ok = all(s.cube[s.on, i, r] is None or s.cube[s.on, i, r] in s.up for i in range(2) for r in every(Role, c))\n    return replace(s, on=ok)",
    "tested_at_a_parameter | k: Annotated[int, Range(1, 2)]": "require(s.log[k] is not None)\n    return replace(s, leader=s.log[k].by, log=s.log.put(k, None if s.log[k].term > 1 else s.log[k]))",
    "tested_in_a_branch | k: Annotated[int, Range(1, 2)]": "if s.log[k] is None:\n        return replace(s, on=not s.on)\n    return replace(s, n=s.log[k].term)",
    "tested_in_a_loop": "n = 0\n    for k in range(1, c.top + 1):\n        if s.log[k] is None:\n            continue\n        n += s.log[k].term\n    return replace(s, n=min(n, 3))",
    "tested_at_a_key_that_raises": "return replace(s, on=s.n != 3 and s.log[s.n] is not None and s.log[s.n].term > 0)",
    "three_parts": "return replace(s, leader=s.cube[s.on, s.n, Role.LEADER])",
    "three_parts_put | x: Server, r: Role": "require(0 <= s.n < 3)\n    return replace(s, cube=s.cube.put((s.on, s.n, r), x))",
    "three_parts_build": "return replace(s, cube=Map({(b, i, r): s.cube[not b, 1 - i, r] for b in every(bool, c) for i in range(2) for r in every(Role, c)}))",
}


NUMBER_SET_PRELUDE = """
from __future__ import annotations
from dataclasses import dataclass
from typing import Annotated
from reassure import *
from reassure import Id, Map, MaxLen, MaxSize, Model, Range

class Server(Id, size="servers", first=1): ...

@dataclass(frozen=True)
class Config:
    servers: Annotated[int, Range(1, 6)] = 2
    top: Annotated[int, Range(1, 9)] = 3

@dataclass(frozen=True)
class Entry:
    by: Server = Server(1)
    slots: frozenset[Annotated[int, Range(0, 1)]] = frozenset()

@dataclass(frozen=True)
class Mail:
    to: Server
    slots: frozenset[Annotated[int, Range(-1, 1)]] = frozenset()
    late: frozenset[Annotated[int, Range(0, 1)]] | None = None

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(-3, 5)] = 0
    on: bool = False
    waiting: frozenset[Annotated[int, Range(-1, 3)]] = frozenset()
    done: frozenset[Annotated[int, Range(0, "top", declared=True)]] = frozenset({0, 3})
    held: frozenset[Annotated[int, Range(1, 2)]] | None = None
    of: Map[Server, frozenset[Annotated[int, Range(0, 2)]]] = Map({Server(1): frozenset(), Server(2): frozenset({1})})
    log: Annotated[tuple[Entry, ...], MaxLen(2)] = ()
    parts: Annotated[tuple[frozenset[Annotated[int, Range(0, 2)]], ...], MaxLen(2)] = ()
    nums: Annotated[tuple[Annotated[int, Range(-1, 3)], ...], MaxLen(2)] = ()
    up: frozenset[Server] = frozenset()
    sent: Annotated[frozenset[Mail], MaxSize(2)] = frozenset()

SMALL = frozenset({0, 1})

@initial
def start(c: Config) -> State:
    return State()

def least(numbers: frozenset[int], other: int) -> int:
    return min(numbers) if numbers != frozenset() else other
"""

NUMBER_SETS = {
    # name: body of an action; parameters after a bar
    "put | k: Annotated[int, Range(-2, 4)]": "require(k not in s.waiting)\n    return replace(s, waiting=s.waiting | {k})",
    "taken | k: Annotated[int, Range(-1, 3)]": "require(k in s.waiting)\n    return replace(s, waiting=s.waiting - {k}, n=k)",
    "calculated": "return replace(s, done=s.done | {s.n + 1, 2 * s.n})",
    "union_of_two_ranges": "return replace(s, done=s.done | s.waiting)",
    "intersection": "return replace(s, done=s.done & s.waiting, n=len(s.waiting & SMALL))",
    "difference": "return replace(s, waiting=s.waiting - s.done - {s.n})",
    "either_but_not_both": "return replace(s, done=s.waiting ^ s.done ^ {s.n, 1})",
    "empty": "require(s.waiting != frozenset())\n    return replace(s, waiting=frozenset(), held=None)",
    "empty_first": "return replace(s, waiting=frozenset() | s.done, done=frozenset() - s.waiting)",
    "equal": "require(s.waiting == s.done or s.done != frozenset({0, 3}))\n    return replace(s, on=True)",
    "order": "require(s.waiting < s.done or s.done <= frozenset({0, 1}) or s.waiting > s.done)\n    return replace(s, on=s.done >= {0, 3})",
    "member_of_a_constant": "require(s.n in SMALL and s.n not in {1, 5})\n    return replace(s, n=s.n + 1)",
    "member_outside": "require(s.n - 7 not in s.waiting)\n    return replace(s, on=s.n + 4 in s.done)",
    "comprehension": "return replace(s, done=frozenset(k + 1 for k in s.waiting if k != s.n))",
    "comprehension_of_a_range": "return replace(s, waiting=frozenset(k for k in range(-1, 4) if k not in s.waiting))",
    "comprehension_of_ids": "return replace(s, waiting=frozenset(int(x) for x in s.up), up=frozenset(x for x in every(Server, c) if int(x) in s.waiting))",
    "comprehension_in_a_set": "return replace(s, done=s.done - {k * k for k in s.waiting})",
    "of_a_sequence": "return replace(s, waiting=frozenset(s.nums))",
    "of_a_range": "require(s.n >= 0)\n    return replace(s, done=frozenset(range(s.n)))",
    "of_a_range_from_a_number": "return replace(s, waiting=frozenset(range(s.n, 3)) - frozenset(range(0, 1)))",
    "sequence_of_a_range": "return replace(s, nums=tuple(range(s.n)))",
    "sequence_of_a_range_compared": "require(s.nums == tuple(range(-1, s.n)))\n    return replace(s, on=True)",
    "sum_of_a_range": "return replace(s, n=sum(range(s.n)) - sum(range(2, s.n)))",
    "length_of_a_range": "return replace(s, n=len(range(s.n)), on=len(range(s.n, 2)) > len(range(3)))",
    "sorted_range": "return replace(s, nums=tuple(sorted(range(s.n))), n=sum(i for i in sorted(range(s.n, 3)) if i not in s.done))",
    "loop_over_a_sorted_range": "k = 0\n    for i in sorted(range(s.n)):\n        if i in s.waiting:\n            break\n        k += 1\n    return replace(s, n=k)",
    "range_by_the_name_of_its_element": "i = s.n\n    return replace(s, on=i in frozenset(range(i - 1, i + 1)), n=len(range(i)) - i)",
    "range_of_a_raising_bound": "return replace(s, n=len(range(max(s.waiting))))",
    "of_a_tuple": "return replace(s, waiting=frozenset((s.n, 1, s.n + 1)))",
    "sorted": "return replace(s, nums=tuple(sorted(s.waiting)))",
    "sorted_comprehension": "return replace(s, nums=tuple(k for k in sorted(s.waiting) if k > 0))",
    "first": "return replace(s, n=next((k for k in sorted(s.waiting) if k > s.n), -1))",
    "first_raises": "return replace(s, n=next(k for k in sorted(s.waiting | {0}) if k > s.n))",
    "least_and_greatest": "return replace(s, n=min(s.waiting, default=-2) + max(s.done))",
    "greatest_of_a_union": "return replace(s, n=max(s.waiting | {s.n}) - 1)",
    "by_a_key": "return replace(s, n=max(s.waiting, key=lambda k: (k % 2, k)))",
    "sum": "return replace(s, n=sum(s.waiting), on=sum(k for k in s.done if k > 1) > 2)",
    "length": "require(len(s.waiting) < len(s.done | {s.n}))\n    return replace(s, n=len(s.waiting))",
    "any_and_all": "require(any(k in s.done for k in s.waiting) and all(k <= s.n + 2 for k in s.waiting))\n    return replace(s, on=not s.on)",
    "count": "return replace(s, n=sum(1 for k in s.waiting if k >= 0 and k not in s.done))",
    "loop": "total = 0\n    for k in s.waiting:\n        total = total + k\n    return replace(s, n=total)",
    "loop_in_order": "kept = s.waiting\n    for k in sorted(s.waiting):\n        if k + 1 in kept:\n            kept = kept - {k}\n    return replace(s, waiting=kept)",
    "loop_that_collects": "kept = frozenset()\n    for k in range(s.n):\n        kept = kept | {k // 2}\n    return replace(s, waiting=kept)",
    "loop_of_sets | x: Server": "left = s.of[x]\n    for k in s.waiting:\n        left = left - {k}\n    return replace(s, of=s.of.put(x, left))",
    "choice": "return replace(s, waiting=s.waiting if s.on else frozenset({s.n}))",
    "branch": "if s.on:\n        kept = s.waiting | {0}\n    else:\n        kept = frozenset()\n    return replace(s, done=kept)",
    "optional": "held = some(s.held)\n    return replace(s, held=held ^ {1}, on=held == frozenset({2}))",
    "optional_set": "return replace(s, held=s.waiting if s.on else None)",
    "optional_equal": "require(s.held == s.waiting or s.held is None)\n    return replace(s, held=frozenset({1, 2}))",
    "map | x: Server": "require(s.of[x] != frozenset())\n    return replace(s, of=s.of.put(x, s.of[x] - {least(s.of[x], 0)}))",
    "map_leaves_a_bound | x: Server": "return replace(s, of=s.of.put(x, s.of[x] | {s.n}))",
    "map_build": "return replace(s, of=Map({x: s.of[x] | {1} if x in s.up else frozenset() for x in every(Server, c)}))",
    "log": "require(len(s.log) < 2)\n    return replace(s, log=s.log + (Entry(Server(2), frozenset({0})),))",
    "log_last": "require(len(s.log) > 0 and 1 in s.log[-1].slots)\n    return replace(s, log=s.log[:-1], n=len(s.log[-1].slots))",
    "sequence_of_sets": "return replace(s, parts=(s.waiting & frozenset({0, 1}),) + s.parts[:1], on=frozenset({2}) in s.parts)",
    "sequence_of_sets_leaves_a_bound": "return replace(s, parts=(s.waiting, frozenset()))",
    "sent | x: Server": "return replace(s, sent=s.sent | {Mail(x, frozenset({0, 1}), frozenset({1}) if s.on else None)})",
    "sent_that_may_be_too_large | x: Server": "return replace(s, sent=s.sent | {Mail(x, s.waiting)})",
    "received | m: Mail | m=lambda s: s.sent": "require(0 in m.slots)\n    return replace(s, sent=s.sent - {m}, waiting=s.waiting | m.slots, held=m.late)",
    "sent_by_content": "return replace(s, sent=frozenset(m for m in s.sent if m.slots <= s.waiting))",
    "parameter | m: frozenset[Annotated[int, Range(0, 2)]]": "require(m < s.waiting)\n    return replace(s, waiting=m)",
    "parameter_that_may_be_none | m: frozenset[Annotated[int, Range(0, 1)]] | None": "return replace(s, held=m)",
    "function": "return replace(s, n=least(s.waiting, 3))",
    "records_compared": "require(s.log[:1] == (Entry(Server(1), frozenset({0, 1})),) or s.on)\n    return replace(s, on=True)",
}


def action_text(name: str, body: str) -> str:
    """The action of a row of the table, as text."""
    parts = [p.strip() for p in name.replace(" | None", " ~None").split(" | ")]
    _, params, drawn = (*(p.replace(" ~None", " | None") for p in parts), "", "")[:3]
    head = f'@action(who="tester"{drawn and ", " + drawn})'
    return f"\n{head}\ndef act(s: State, c: Config{params and ', ' + params}) -> State:\n    {body}\n"


ODD_PRELUDE = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *
from reassure import Id, Map, MaxLen, MaxSize, Model, Range

class Node(Id, size="nodes", first=1): ...
class Rack(Id, size="racks"): ...
Nodes = frozenset[Node]
Racks = frozenset[Rack]

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 6)] = 3
    racks: Annotated[int, Range(1, 64)] = 62

@dataclass(frozen=True)
class Vote:
    v: Annotated[int, Range(-1, 0)]
    of: Node | None = None

@dataclass(frozen=True)
class State:
    large: Annotated[int, Range(0, (1 << 61) - 1)] = 5
    small: Annotated[int, Range(-4, 4)] = 0
    low: Annotated[int, Range(-(1 << 58), 0)] | None = None
    alive: Nodes = frozenset()
    leader: Node | None = None
    vote: Vote | None = None
    queue: Annotated[tuple[Node, ...], MaxLen(3)] = ()
    racks: Racks = frozenset()
    votes: Annotated[frozenset[Vote], MaxSize(2)] = frozenset()

@initial
def start(c: Config) -> State:
    return State()

def has_first(s: State) -> bool:
    return s.queue != () and s.queue[0] in s.alive
"""

ODD_CONSTRUCTS = {
    # name: body of an action; parameters after a bar, and what they are drawn from after another
    "a_wide_number": "require(s.large > 3)\n    return replace(s, large=s.large - 2)",
    "a_wide_optional": "low = some(s.low)\n    return replace(s, low=low // 2, small=low % 4)",
    "a_wide_set": "return replace(s, racks=s.racks ^ every(Rack, c), small=min(len(s.racks), 4))",
    "a_wide_set_lowest": "require(s.racks != frozenset())\n    return replace(s, racks=s.racks - {max(s.racks)})",
    "a_wide_item | rack: Rack": "require(rack in s.racks and rack != Rack(3))\n    return replace(s, racks=s.racks - {rack})",
    "raises_behind_a_guard_on_a_parameter | node: Node": "require(node in s.alive)\n    return replace(s, leader=max(s.alive))",
    "raises_behind_a_test_of_a_parameter | node: Node, on: bool": "require(node == s.leader or on and node in s.alive)\n    return replace(s, leader=max(s.alive))",
    "raises_behind_two_parameters | node: Node, nodes: Nodes": "require(nodes <= s.alive and node in nodes)\n    return replace(s, leader=min(s.alive - {node}))",
    "raises_before_a_guard | node: Node": "leader = min(s.alive)\n    require(node == leader)\n    return replace(s, leader=node)",
    "raises_for_none_drawn | node: Node | node=lambda s: s.alive": "return replace(s, leader=max(s.alive), alive=s.alive - {node})",
    "raises_for_no_message | v: Vote | v=lambda s: s.votes": "return replace(s, vote=v, leader=s.queue[0])",
    "raises_in_a_branch": "if s.alive != frozenset():\n        return replace(s, leader=max(s.alive))\n    return s",
    "raises_in_a_branch_of_a_parameter | on: bool": "if on:\n        return replace(s, leader=max(s.alive))\n    require(s.alive != frozenset())\n    return s",
    "raises_in_a_choice": "return replace(s, leader=s.queue[0] if s.queue != () else None)",
    "raises_behind_and": "require(has_first(s))\n    return replace(s, leader=s.queue[0])",
    "raises_behind_or": "require(len(s.queue) < 2 or s.queue[1] == s.leader)\n    return s",
    "raises_in_any": "require(any(s.queue[0] == n for n in s.alive))\n    return s",
    "raises_for_a_parameter | i: Annotated[int, Range(0, 2)]": "require(i < len(s.queue))\n    return replace(s, leader=s.queue[i])",
    "raises_for_some_parameters | i: Annotated[int, Range(0, 2)]": "require(s.small > 0)\n    return replace(s, leader=s.queue[i])",
    "raises_before_a_guard_without_parameters | i: Annotated[int, Range(0, 2)]": "node = s.queue[i]\n    require(s.small > 0)\n    return replace(s, leader=node)",
    "by_optional_wide_vote | v: Vote | None": "require(v != s.vote)\n    return replace(s, vote=v)",
    "by_two_optionals | v: Vote | None, nodes: Nodes | None": "require(v is not None or nodes is not None)\n    return replace(s, vote=v, alive=frozenset() if nodes is None else nodes)",
    "by_votes | votes: Annotated[frozenset[Vote], MaxSize(2)]": "require(len(votes) > len(s.votes))\n    return replace(s, votes=votes)",
    "by_number_below_zero | n: Annotated[int, Range(-3, -1)] | None": "return replace(s, small=0 if n is None else n)",
    "absent_again": "require(s.vote is not None)\n    return replace(s, vote=None if s.small > 0 else s.vote)",
    "absent_of_two": "return replace(s, vote=Vote(-1) if s.small > 0 else None if s.small < 0 else Vote(0, s.leader))",
}
