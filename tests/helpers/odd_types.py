"""Types at the edges of an engine's word, and guards that protect what may raise: a table for the agreement of a
translation with plain Python."""

# ruff: noqa: E501 - a row of the table is one line

from __future__ import annotations

PRELUDE = """
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

CONSTRUCTS = {
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
