"""Semantics by page: what Python evaluates, in which order, and where it stops, is the same in every engine.

Each row is a sentence of the language page, or a case of one, compared on drawn states: plain Python, the native kernel,
Z3's terms.
"""

# ruff: noqa: E501 - a row of a table is one line
from __future__ import annotations

import random
from pathlib import Path

import pytest

from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.spec.frontend.lowering import check, lower_model
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.drawn_states import drawn
from tests.helpers.model_text import model
from tests.helpers.native_steps import Native, plain_steps
from tests.helpers.symbolic_steps import difference

HELPERS = """
@dataclass(frozen=True)
class Pair:
    first: Node
    second: Node

def only(n: Node) -> bool:
    require(n == Node(1))
    return True

def never(n: Node) -> bool:
    require(n != Node(3))
    return False

def second(s: State, n: Node) -> bool:
    return s.order[1] == n

def pair(first: Node, second: Node) -> Pair:
    return Pair(first, second)

def place(n: Node) -> int:
    return 1 if n == Node(1) else 2

def greatest(below: int) -> int:
    return max(k for k in range(below)) + 1

def any_greater(s: State) -> bool:
    if s.inner.on:
        found = max(k for k in range(0)) > s.number
        return found
    return max(k for k in range(0)) < s.number
"""

AGREES = {
    # Short circuits: what has ended looks at nothing more.
    "and": "require(len(s.order) > 1 and s.order[1] == Node(2))\n    return s",
    "or": "require(s.order == () or s.order[0] == Node(2))\n    return s",
    "and_not_protected": "require(s.order[1] == Node(2) and len(s.order) > 1)\n    return s",
    "chained": "require(1 < len(s.order) <= place(s.order[1]))\n    return s",
    "conditional": "return replace(s, leader=s.order[0] if s.order != () else None)",
    "conditional_other": "return replace(s, leader=None if s.inner.on else max(s.alive))",
    "if_statement": "if s.inner.on:\n        return replace(s, leader=max(s.alive))\n    return s",
    "after_return": "if s.order == ():\n        return s\n    return replace(s, leader=s.order[0])",
    "any_of_a_sequence_guards": "require(any(only(n) for n in s.order))\n    return s",
    "all_of_a_sequence_guards": "require(not all(never(n) for n in s.order))\n    return s",
    "next_of_a_sequence_guards": "return replace(s, leader=next((n for n in s.order if only(n)), None))",
    "next_changed_guards": "return replace(s, number=next((place(n) for n in s.order if n != Node(2) and only(n)), 0))",
    "any_of_sorted_guards": "require(any(only(n) for n in sorted(s.alive)))\n    return s",
    "any_of_a_display_raises": "require(any(s.order[i] == Node(2) for i in (0, 2)))\n    return s",
    "any_of_a_range_raises": "require(any(s.order[i] == Node(2) for i in range(3)))\n    return s",
    "all_of_a_range_raises": "require(all(s.order[i] != Node(2) for i in range(3)))\n    return s",
    "any_nested": "require(any(s.order[i] == n for n in s.order for i in range(3) if i > 0))\n    return s",
    "any_within_any": "require(any(any(s.order[i] == n for i in range(3)) for n in (Node(1), Node(2))))\n    return s",
    "any_filter_raises": "require(any(n == Node(1) for n in s.order if s.order[1] != n))\n    return s",
    "any_inner_iterable_raises": "require(any(m == n for n in s.order for m in s.order[0:place(s.order[1])]))\n    return s",
    "any_of_a_set_raises_all_alike": "require(any(n == max(s.alive) for n in frozenset(s.order)))\n    return s",
    "sum_looks_at_all": "return replace(s, number=sum(1 for n in s.alive if second(s, n)))",
    "set_looks_at_all": "return replace(s, alive=frozenset(n for n in s.alive if second(s, n)))",
    "max_looks_at_all": "return replace(s, leader=max((n for n in s.order if only(n)), default=None))",
    "guards_of_a_set": "return replace(s, number=sum(1 for n in s.alive if only(n)))",
    "guard_then_error_in_a_sequence": "return replace(s, number=sum(1 if only(n) and second(s, n) else 0 for n in s.order))",
    # Everything is evaluated, in the order in which it is written.
    "default_of_max_guards": "return replace(s, leader=max(s.alive, default=some(s.leader)))",
    "default_of_max_raises": "return replace(s, leader=min(s.alive, default=s.order[0]))",
    "default_of_comprehension": "return replace(s, leader=max((n for n in s.alive if n != Node(1)), default=some(s.leader)))",
    "default_of_next": "return replace(s, leader=next((n for n in s.order if n in s.alive), s.order[1]))",
    "default_before_elements": "return replace(s, leader=next((n for n in s.order if second(s, n)), some(s.leader)))",
    "source_before_default": "return replace(s, leader=next((n for n in s.order[place(s.order[0]):] if n in s.alive), some(s.leader)))",
    "default_of_numbers": "return replace(s, number=max((place(n) for n in s.alive), default=place(s.order[0])))",
    "fields_as_written": "p = Pair(second=s.order[0], first=some(s.leader))\n    return replace(s, leader=p.first)",
    "fields_by_place": "p = Pair(some(s.leader), s.order[0])\n    return replace(s, leader=p.first)",
    "arguments_as_written": "p = pair(second=s.order[0], first=some(s.leader))\n    return replace(s, leader=p.second)",
    "replaced_as_written": "return replace(s, leader=s.order[0], alive=frozenset({some(s.leader)}))",
    "operands": "return replace(s, number=place(s.order[0]) - place(some(s.leader)))",
    "operands_the_other_way": "return replace(s, number=place(some(s.leader)) - place(s.order[0]))",
    "slices": "return replace(s, order=s.order[place(s.order[0]) - 1 : place(some(s.leader))])",
    "put": "return replace(s, score=s.score.put(s.order[0], s.score[some(s.leader)]))",
    "key_before_the_value_of_a_put": "m = Map({k: Node(1) for k in range(2)})\n    return replace(s, leader=m.put(place(s.order[0]), some(s.leader))[0])",
    "key_of_a_put_raises_after_its_value": "m = Map({k: Node(1) for k in range(2)})\n    return replace(s, leader=m.put(s.number, some(s.leader))[1])",
    "key_raises_before_a_guard": "m = Map({k: Node(1) for k in range(-1, 3)})\n    node = m[s.number]\n    require(s.inner.on)\n    return replace(s, leader=node)",
    "key_raises_behind_a_guard": "m = Map({k: Node(1) for k in range(-1, 3)})\n    require(s.inner.on)\n    return replace(s, leader=m[s.number])",
    "key_raises_behind_or": "m = Map({k: k > 0 for k in range(-1, 3)})\n    require(s.number > 2 or m[s.number] or s.number < -1)\n    return s",
    "parts_of_a_key": "m = Map({(n, on): n for n in every(Node, c) for on in every(bool, c)})\n    return replace(s, leader=m[some(s.leader), s.order[0] == Node(1)])",
    "parts_of_a_key_the_other_way": "m = Map({(on, n): n for n in every(Node, c) for on in every(bool, c)})\n    return replace(s, leader=m[s.order[0] == Node(1), some(s.leader)])",
    "key_with_two_numbers_raises": "m = Map({(i, j): i + j for i in range(2) for j in range(1, 4)})\n    return replace(s, number=m[s.inner.count, s.number])",
    "keys_in_any": "m = Map({k: Node(2) for k in range(2)})\n    require(any(m[k] == s.leader or k > 0 for k in range(s.number)))\n    return s",
    "keys_in_all": "m = Map({k: Node(2) for k in range(2)})\n    require(all(m[k] == s.leader for k in range(s.number)))\n    return s",
    "entries_as_written": "m = Map({1: some(s.leader), 0: s.order[0]})\n    return replace(s, leader=m[0])",
    "entries_as_written_the_other_way": "m = Map({1: s.order[0], 0: some(s.leader)})\n    return replace(s, leader=m[0])",
    "entries_of_one_key": "m = Map({0: s.order[0], 1: Node(2), 0: some(s.leader)})  # noqa: F601\n    return replace(s, leader=m[0])",
    "entries_one_by_one": "m = Map({(on, k): s.order[k] if on else some(s.leader) for on in (True, False) for k in range(2)})\n    return replace(s, leader=m[s.inner.on, 1])",
    "membership": "require(some(s.leader) in (Node(1), s.order[0]))\n    return s",
    "two_at_once": "a, b = s.order[0], some(s.leader)\n    return replace(s, leader=b, alive=frozenset({a}))",
    "drawn_set_raises | node: Node | node=lambda s: frozenset({max(s.alive)})": "return replace(s, leader=node)",
    "drawn_set_raises_though_empty | node: Node | node=lambda s: next(s.alive for n in s.order if s.inner.on)": "return replace(s, leader=node)",
    "drawn_messages_raise_though_none | m: Message | m=lambda s: next(s.sent for n in s.order if s.inner.on)": "return replace(s, leader=m.source)",
    "drawn_set_raises_beside_an_empty_one | a: Node, b: Node | a=lambda s: frozenset({s.order[0]}), b=lambda s: s.alive if s.inner.on else NOBODY": "return replace(s, leader=a)",
    "drawn_set_raises_first | on: bool, node: Node | node=lambda s: frozenset({s.order[0]})": "require(on)\n    return replace(s, leader=node)",
    "not_called_without_members | node: Node | node=lambda s: s.alive": "return replace(s, leader=s.order[0], alive=s.alive - {node})",
    # Where Python does not get under this configuration, there may be no value at all.
    "unreached_operand": "require(s.inner.on or c.flag and max(k for k in range(0)) > 1)\n    return s",
    "unreached_operand_of_or": "require(s.inner.on and (not c.flag or max(k for k in range(0)) > 1))\n    return s",
    "unreached_comparison": "require((1 > 2 > max(k for k in range(0))) == s.inner.on)\n    return s",
    "unreached_choice": "return replace(s, number=max(k for k in range(0)) + 1 if c.flag else s.number + 1)",
    "unreached_other_choice": "return replace(s, leader=s.order[0] if not c.flag else next(n for n in () if s.inner.on))",
    "unreached_branch": "n = s.number\n    if c.flag:\n        n = -max(k for k in range(0))\n        n += 1\n    return replace(s, number=n + 1)",
    "unreached_return": "if c.flag:\n        return replace(s, number=max(k for k in range(0)) * 2)\n    return replace(s, number=s.number + 1)",
    "unreached_last_return": "if not c.flag:\n        return replace(s, number=s.number + 1)\n    return replace(s, number=max(k for k in range(0)) * 2)",
    "unreached_guard": "if c.flag:\n        require(max(k for k in range(0)) > 1)\n    require(s.inner.on)\n    return s",
    "unreached_helper": "require(s.inner.on or c.flag and greatest(0) > 1)\n    return replace(s, number=greatest(2))",
    "unreached_returns_of_a_helper": "require(s.inner.on or c.flag and any_greater(s))\n    return s",
    "unreached_map_from_numbers": "if c.flag:\n        return replace(s, leader=Map({k: Node(k + 1) for k in range(2)})[s.number])\n    return replace(s, leader=s.order[0])",
    "unreached_filter": "require(s.inner.on or any(max(k for k in range(0)) > 1 for n in s.alive if c.flag))\n    return s",
    "unreached_second_filter": "require(s.inner.on)\n    n = next((k for k in (Node(1), Node(2)) if c.flag if next(True for m in range(1, 3) if c.flag)), Node(1))\n    return replace(s, leader=n)",
    "unreached_second_filter_of_a_set": "require(s.inner.on)\n    return replace(s, alive=frozenset(k for k in s.alive if c.flag if next(True for m in range(1, 3) if c.flag)))",
    "unreached_element_behind_a_filter": "require(s.inner.on)\n    return replace(s, number=sum(max(k for k in range(0)) for n in s.order if s.inner.on if c.flag))",
    "unreached_summand": "return replace(s, number=s.number + 1 + sum(max(k for k in range(0)) * 2 for n in s.order if c.flag))",
    "unreached_member": "require(any(len(frozenset({n})) < 2 if n == Node(1) else max(k for k in range(0)) > 1 for n in frozenset({Node(1)})) and s.inner.on)\n    return s",
    "unreached_element": "return replace(s, number=next((max(k for k in range(0)) if n == Node(3) else 2 for n in sorted(frozenset({Node(1), Node(2)})) if n in s.alive), 4) + 3)",
    "unreached_members": "require(s.inner.on or any(max(k for k in range(0)) > 1 for n in NOBODY))\n    return replace(s, leader=next((n for n in (Node(1),) if max(k for k in range(0)) > 1), None) if c.flag else None)",
    # Nor where the branches around a place exclude it.
    "excluded_choice": "if s.leader is None:\n        return replace(s, number=1 if s.leader is None else next(k for k in range(0)))\n    return replace(s, leader=None)",
    "excluded_other_choice": "if s.leader is not None:\n        return replace(s, leader=None)\n    return replace(s, number=next(k for k in range(0)) if s.leader is not None else 1)",
    "excluded_choice_in_a_variable": "n = s.number\n    if s.inner.on:\n        n = 1 if s.inner.on else max(k for k in range(0))\n    return replace(s, number=n)",
    "excluded_choice_of_an_optional": "if s.inner.on:\n        return replace(s, leader=None if s.inner.on else next(n for n in ()))\n    return s",
    "excluded_choice_in_a_record": "if s.inner.on:\n        return replace(s, inner=Inner(1 if s.inner.on else max(k for k in range(0)), False))\n    return s",
    "excluded_choice_in_a_set": "if s.inner.on:\n        return replace(s, sent=frozenset({Message(Node(1) if s.inner.on else next(n for n in ()), None, 1)}))\n    return s",
    "excluded_record_compared": "if s.inner.on:\n        require(s.inner.on or Inner(max(k for k in range(0)), False) == s.inner)\n        return replace(s, number=0)\n    return s",
    "excluded_sum": "if Node(1) not in s.alive:\n        return replace(s, number=sum(max(k for k in range(0)) if n == Node(1) else 0 for n in s.alive))\n    return s",
    "excluded_minimum": "if Node(1) not in s.alive:\n        return replace(s, number=min((max(k for k in range(0)) if n == Node(1) else 1 for n in s.alive), default=2))\n    return s",
    "excluded_set": "if Node(1) not in s.alive:\n        return replace(s, alive=frozenset(next(m for m in ()) if n == Node(1) else Node(1) for n in s.alive))\n    return s",
    "excluded_filter": "if Node(1) not in s.alive:\n        return replace(s, alive=frozenset(n for n in s.alive if n != Node(1) or next(True for m in ())))\n    return s",
    "excluded_value_of_a_map": "if s.inner.on:\n        m = Map({n: n if n == Node(1) or s.inner.on else next(k for k in ()) for n in every(Node, c)})\n        return replace(s, leader=m[Node(2)])\n    return s",
    # Loops: one turn after the other; what has ended looks at nothing more.
    "loop_best": "best: Node | None = None\n    for n in s.order:\n        if best is None or s.score[n] == Colour.GREEN and s.score[best] == Colour.RED:\n            best = n\n    return replace(s, leader=best)",
    "loop_range_of_the_state": "require(s.number >= 0)\n    k = 0\n    for i in range(s.number):\n        if s.order[i] == Node(2):\n            break\n        k = k + i\n    return replace(s, number=k)",
    "loop_raises_on_the_way": "k = 0\n    for i in range(3):\n        if s.order[i] == s.leader:\n            return replace(s, number=k)\n        k += 1\n    return s",
    "loop_refuses": "for n in s.order:\n        if n == s.leader:\n            refuse()\n        if n not in s.alive:\n            return replace(s, leader=n)\n    return replace(s, number=1)",
    "loops_with_else": "k = 0\n    for n in s.order:\n        for m in sorted(s.alive):\n            if n == m:\n                k += 1\n                break\n        else:\n            if k > 0:\n                break\n    else:\n        return replace(s, number=-1)\n    return replace(s, number=k)",
    "loop_locals": "for n in s.order:\n        x = n in s.alive\n        if x:\n            y = s.order[0]\n        else:\n            y = n\n        if y == s.leader:\n            return replace(s, leader=None)\n    return s",
    "loop_of_a_set_continues": "for n in s.alive:\n        if n not in s.order:\n            continue\n        require(n != Node(3))\n    return replace(s, leader=None)",
    "loop_of_a_set_with_a_loop": "k = 0\n    for a in s.alive:\n        mine = 0\n        for b in s.order:\n            if a == b:\n                mine += 1\n        if mine == 1:\n            k += mine\n    return replace(s, number=k)",
    "loop_of_messages_two_ways": "k = 3\n    t = NOBODY\n    for m in s.sent:\n        if m.to is not None:\n            k = min(m.body, k)\n            t = t | {m.to}\n    return replace(s, number=k, alive=t)",
    "loop_changes_the_state": "for n in sorted(s.alive):\n        if s.leader is None:\n            s = replace(s, leader=n)\n        elif s.leader == n:\n            s = replace(s, leader=None)\n    return s",
    "loop_iterable_once": "order = s.order\n    for n in order:\n        order = order[1:]\n    require(order == ())\n    return s",
    "loop_iterable_guards_first": "for n in s.order[place(some(s.leader)):]:\n        require(only(n))\n    return s",
    "loop_guard_before_an_error": "for n in s.order:\n        require(only(n))\n        require(second(s, n))\n    return s",
    "loop_error_before_a_guard": "for n in s.order:\n        require(second(s, n) or only(n))\n    return replace(s, leader=s.order[0])",
    "loop_guard_only_if_it_gets_there": "for n in s.order:\n        if n == s.leader:\n            break\n        require(only(n))\n    return replace(s, leader=max(s.alive))",
    "loop_error_only_if_it_gets_there": "for n in sorted(s.alive):\n        if s.order[0] == n:\n            return replace(s, leader=n)\n    return s",
    "loop_else_raises": "for n in s.order:\n        if n in s.alive:\n            break\n    else:\n        return replace(s, leader=s.order[0])\n    return s",
    "loop_narrows": "for n in s.order:\n        if s.leader is None:\n            return replace(s, leader=n)\n        require(n != s.leader or only(s.leader))\n    return s",
    "loop_bounds_come_first": "k = 0\n    for i in range(place(s.order[0]), place(some(s.leader)) + 1):\n        k += i\n    return replace(s, number=k)",
    "loop_of_a_range_raises": "for i in range(max(s.number, 0)):\n        if s.order[i] == s.leader:\n            return replace(s, number=i)\n    return s",
    "loop_number_in_a_local": "k = 1\n    for i in range(4):\n        k = k * 3\n    return replace(s, number=k // 27)",
    "loop_of_messages_keeps_one": "kept = frozenset(m for m in s.sent if m.body == 0)\n    for m in s.sent:\n        if m.body == 1:\n            kept = kept | {m}\n    return replace(s, sent=kept)",
    "loop_of_a_set_raises_all_alike": "for n in s.alive:\n        if s.order[0] == n:\n            return replace(s, leader=None)\n    return s",
    "loop_of_a_set_raises_all_alike_or_not": "k = 0\n    for n in s.alive:\n        if second(s, n):\n            k += 1\n    return replace(s, number=k)",
    "loop_of_a_set_breaks": "on = s.inner.on\n    for n in s.alive:\n        if n == s.leader:\n            on = not s.inner.on\n            break\n    return replace(s, inner=replace(s.inner, on=on))",
    "loop_of_a_set_removes": "left = s.alive\n    for n in s.order:\n        left -= {n}\n    for m in s.sent:\n        left = left - {m.source}\n    return replace(s, alive=left)",
    "loop_of_a_set_multiplies": "k = 1\n    for m in s.sent:\n        k = m.body * k\n    return replace(s, number=k)",
    "loop_of_a_set_without_members": "k = 0\n    for n in NOBODY:\n        k += 1\n    return replace(s, number=k + s.number)",
    "loop_of_a_set_with_a_comprehension": "x = s.number\n    k = 0\n    for n in s.alive:\n        if any(x == n for x in s.order):\n            k += 1\n    return replace(s, number=k + x)",
    "loop_enumerate_from": "k = 0\n    for i, n in enumerate(s.order, start=s.number):\n        if n in s.alive:\n            k = i\n    return replace(s, number=k)",
    "enumerate_keeps": "return replace(s, alive=frozenset(n for i, n in enumerate(s.order) if i > 0))",
    "loop_reversed_range": "for i in reversed(range(len(s.order))):\n        if s.order[i] in s.alive:\n            return replace(s, number=i)\n    return s",
    "loop_reversed_sorted": "for n in reversed(sorted(s.alive)):\n        if n in s.order:\n            return replace(s, leader=n)\n    return s",
    "range_of_a_length": "return replace(s, number=sum(1 for i in range(len(s.order)) if s.order[i] in s.alive))",
    "range_whose_end_is_before": "return replace(s, number=sum(1 for i in range(s.number, s.inner.count)))",
    "unreached_turn": "best = None\n    for n in sorted(s.alive):\n        if best is not None:\n            k = s.score[best]\n            if k == Colour.GREEN:\n                break\n        best = n\n    require(s.inner.on)\n    return replace(s, leader=best)",
    # Guards and errors, whichever comes first.
    "error_behind_a_guard": "require(s.alive != NOBODY)\n    return replace(s, leader=max(s.alive))",
    "error_behind_another_guard": "require(s.inner.on)\n    return replace(s, leader=max(s.alive))",
    "error_before_a_guard": "first = s.order[0]\n    require(s.inner.on)\n    return replace(s, leader=first)",
    "error_behind_a_guard_on_a_parameter | node: Node": "require(node in s.alive)\n    return replace(s, leader=max(s.alive))",
    "error_behind_two_guards | node: Node, on: bool": "require(on == s.inner.on)\n    require(node in s.order)\n    return replace(s, leader=max(s.alive))",
    "error_before_a_guard_on_a_parameter | node: Node": "first = max(s.alive)\n    require(node == first)\n    return replace(s, leader=node)",
    "error_between_guards | node: Node": "require(s.inner.on)\n    first = s.order[0]\n    require(node != first)\n    return replace(s, leader=node)",
    "error_in_a_branch | node: Node": "if node in s.alive:\n        return replace(s, leader=max(s.alive))\n    return replace(s, leader=s.order[0] if node in s.order else None)",
    "conjunction_left_of_a_choice": "require(not s.inner.on or (s.leader is not None and s.number > 0))\n    if s.inner.on:\n        return replace(s, alive=s.alive - {s.order[0]})\n    return s",
    "guard_in_a_branch | node: Node": "if node in s.alive:\n        require(s.inner.on)\n    return replace(s, leader=s.order[0])",
    "conjuncts | node: Node": "require((s.inner.on and node in s.alive) and s.order[0] == node)\n    return s",
    # Numbers: Python's own, rounded down.
    "rounded_down": "return replace(s, number=s.number // 2)",
    "remainder": "return replace(s, number=s.number % 3 - (-s.number) % 2)",
    "rounded_down_after": "return replace(s, number=(s.number * 7 - 20) // 5)",
    "far_and_back": "n = (s.number + 3) * 100000000000000000\n    return replace(s, number=n // 100000000000000000 - 3)",
    "length_of_a_display": "return replace(s, number=s.number // len((Node(1), Node(2))))",
    "largest": "return replace(s, number=max(-4, s.number, s.inner.count - 9))",
    # Bounds: a value is looked at where a step ends, not on the way.
    "number_in_a_local": "n = s.number * 100\n    return replace(s, number=n // 100)",
    "field_in_a_local": "i = replace(s.inner, count=s.inner.count + 5)\n    return replace(s, inner=replace(i, count=i.count - 5))",
    "field_in_a_local_is_read": "i = Inner(s.number * 3, True)\n    require(i.count != 6 and i != Inner(9, True))\n    return s",
    "sequence_in_a_local": "long = s.order + s.order + s.order\n    return replace(s, order=long[:3], number=len(long) - 5)",
    "record_in_a_local": "more = s.sent | {Message(Node(1), None, s.number + 1)}\n    return replace(s, number=0, sent=more if s.inner.on else s.sent)",
    "record_never_stored": "more = s.sent | {Message(Node(1), None, s.number)}\n    return replace(s, number=0)",
    "records_by_choice": "if s.inner.on:\n        more = s.sent | {Message(Node(1), None, s.number)}\n    else:\n        more = s.sent | frozenset(Message(n, None, 3) for n in s.alive)\n    return replace(s, sent=more)",
    "two_bounds": "return replace(s, number=s.number + 3, inner=replace(s.inner, count=s.inner.count + 2), sent=s.sent | {Message(Node(2), None, s.number)})",
    "records_read_once": "return replace(s, number=sum(m.body for m in frozenset({Message(Node(1), None, s.inner.count), Message(Node(1), None, 2)})) - 2)",
    "records_out_of_bounds_are_equal_or_not": "require(Message(Node(1), None, s.number) in frozenset({Message(Node(1), None, 5), Message(Node(1), None, -2)}))\n    return s",
    # Numbers of ids, and ids of numbers.
    "ring | node: Node": "return replace(s, leader=Node((node + 1) % c.nodes + 1))",
    "product_of_ids | node: Node": "require(s.leader is not None)\n    return replace(s, leader=Node(int(node) * int(s.leader) % 3 + 1))",
    "number_of_an_id | node: Node": "return replace(s, number=int(node) * 2 - 2)",
    "id_and_a_loops_number": "k = 0\n    for i in range(4):\n        for n in sorted(s.alive):\n            if i < n:\n                k += 1\n    return replace(s, number=k)",
    "id_of_a_number_behind_a_guard": "require(0 < s.number < 4)\n    return replace(s, leader=Node(s.number))",
    "id_of_a_loops_number": "for i in range(4):\n        if i > 0 and Node(i) in s.alive:\n            return replace(s, leader=Node(i))\n    return s",
    "id_and_a_calculated_number | node: Node": "require(any(i + 1 == node for i in range(s.number)))\n    return s",
    "id_of_an_id": "return replace(s, leader=Node(Node(2)) if s.leader != Node(2) else Node(int(s.leader) - 1), number=s.number + int(s.inner.on))",
    "id_before_another | node: Node": "require(node != Node(1))\n    return replace(s, leader=Node(node - 1))",
    "id_after_another | node: Node": "require(node < Node(3))\n    return replace(s, leader=Node(node + 1))",
    "ids_round_one | node: Node": "if node == Node(2):\n        return replace(s, leader=Node(node + 1), alive=frozenset({Node(node - 1)}))\n    return s",
    "map_round_the_ring": "return replace(s, score=Map({n: s.score[Node(n % 3 + 1)] for n in every(Node, c)}), number=Node(3) - Node(1) + s.number)",
    "id_of_a_number_in_bounds": "return replace(s, leader=Node(max(1, min(s.number, 3))), number=s.number + 1)",
    # Optionals are narrowed where Python knows it too.
    "one_of_none_and_a_node": "require(s.leader in (None, Node(1)))\n    return replace(s, leader=Node(2))",
    "one_of_nodes": "require(s.leader in (Node(1), Node(3)))\n    return replace(s, alive=s.alive - {s.leader})",
}


def action_text(name: str, body: str) -> str:
    _, *more = [part.strip() for part in name.split(" | ")]
    params, drawn_from = (f", {more[0]}" if more else ""), (f", {more[1]}" if len(more) > 1 else "")
    return f'{HELPERS}\n@action(who="tester"{drawn_from})\ndef act(s: State, c: Config{params}) -> State:\n    {body}\n'


@pytest.mark.parametrize("name", AGREES, ids=[n.split(" ")[0] for n in AGREES])
def test_agrees(name: str, tmp_path: Path) -> None:
    bound = BoundModel(model(action_text(name, AGREES[name]), tmp_path))
    native, rng = Native(bound), random.Random(name)
    kinds: dict[str, int] = {"steps": 0, "clipped": 0, "raises": 0, "nothing": 0}
    for _ in range(200):
        state = drawn(bound.type, rng)
        want, got = plain_steps(bound, state), native.steps(state)
        assert got[2] == want[2], state
        assert want[2] or got == want, state
        kinds["raises" if want[2] else "steps" if want[0] else "clipped" if want[1] else "nothing"] += 1
    always = name.split(" ")[0] in ALWAYS or name.startswith("excluded")
    assert sum(n > 0 for n in kinds.values()) >= (1 if always else 2), kinds
    found, compared = difference(bound, Machine(lower_model(bound)), rng, states=25)
    assert found is None
    assert compared or kinds["steps"] < 50


ALWAYS = {
    "conditional",
    "after_return",
    "number_in_a_local",
    "field_in_a_local",
    "record_never_stored",
    "far_and_back",
    "length_of_a_display",
    "rounded_down",
    "remainder",
    "largest",
    "records_read_once",
    "error_in_a_branch",
    "ring",
    "number_of_an_id",
    "id_of_a_loops_number",
    "ids_round_one",
    "id_before_another",
    "id_after_another",
    "loop_best",
    "loops_with_else",
    "loop_locals",
    "loop_of_a_set_with_a_loop",
    "loop_of_messages_two_ways",
    "loop_changes_the_state",
    "loop_iterable_once",
    "loop_number_in_a_local",
    "loop_of_messages_keeps_one",
    "loop_of_a_set_breaks",
    "loop_of_a_set_removes",
    "loop_of_a_set_without_members",
    "enumerate_keeps",
    "loop_reversed_range",
    "loop_reversed_sorted",
    "range_of_a_length",
    "range_whose_end_is_before",
}
"""Rows that always step."""


REFUSED = [
    # (body, construct, part of the remedy)
    ("require(any(only(n) for n in s.alive))\n    return s", "over a set, whose order", "sorted"),
    ("require(all(never(n) for n in s.alive))\n    return s", "over a set, whose order", "sorted"),
    ("require(any(n == Node(3) or second(s, n) for n in s.alive))\n    return s", "over a set, whose order", "sorted"),
    ("require(any(second(s, n) for n in s.alive if n != Node(2) or only(n)))\n    return s", "over a set, whose order", "sorted"),
    ("return replace(s, number=sum(1 if only(n) and second(s, n) else 0 for n in s.alive))", "over a set, whose order", "sorted"),
    ("return replace(s, order=tuple(n for n in s.order if only(n) and second(s, n)))", "over a set, whose order", "sorted"),
    ("require(any(m.body == 1 and only(m.source) for m in s.sent))\n    return s", "over a set, whose order", "sorted"),
    ("big = (s.number + 3) * 1000000000\n    require(big * big > 0)\n    return s", "`big * big` may be anything from", "2^62"),
    ("require((s.number + 3) * 1000000000 * 1000000000 > 0)\n    return s", "may be anything from", "min(x, limit)"),
    ("n = 1000000000000 * s.number\n    n *= n\n    return replace(s, number=n)", "may be anything from", "2^62"),
    ("n = 4611686018427387904\n    return s", "may be anything from", "2^62"),
    ("require(sum(s.number * 500000000000000000 for n in s.alive) < 3)\n    return s", "may be anything from", "2^62"),
    ("long = s.order + s.order + s.order + s.order\n    require(long + long + long != ())\n    return s", "may have 36 items of Node; at most 28", "slice"),
    ("more = s.sent | {Message(Node(1), None, s.number)}\n    return replace(s, number=len(more))", "types do not fit", "out of its bounds (body)"),
    ("more = s.sent | {Message(Node(1), None, s.number)}\n    require(any(m.body == 1 for m in more))\n    return s", "types do not fit", "bound the value"),
    ("more = s.sent | {Message(Node(1), None, s.number)}\n    require(more != s.sent)\n    return s", "types do not fit", "bound the value"),
    ("more = s.sent | {Message(Node(1), None, s.number)}\n    return replace(s, sent=more - {Message(Node(1), None, 1)})", "types do not fit", "bound the value"),
    ("more = s.sent | {Message(Node(1), None, s.number)}\n    require(more != frozenset())\n    return s", "types do not fit", "bound the value"),
    ("more = s.sent | {Message(Node(1), None, s.number)}\n    require(Message(Node(1), None, 1) in more)\n    return s", "types do not fit", "bound the value"),
    ("require(s.leader in (None, Node(1)))\n    return replace(s, alive=s.alive - {s.leader})", "`s.leader` may be None here", "is not None"),
    ("require(s.inner.on, str(s.number))\n    return s", "`str(s.number)` as a note", "a text"),
    ("if s.inner.on:\n        refuse(max(s.alive))\n    return s", "`max(s.alive)` as a note", "a text"),
    ("x = some(None)\n    return s", "some(None)", "refuse()"),
    ("require(s.number == max(x for x in ()))\n    return s", "of nothing", "default"),
    ("return replace(s, number=max(s.number, 1, default=2))", "max(s.number, 1, default=2)", "one set"),
    ("refuse()", "`act` never returns", "return a value"),
    ("p = Pair(Node(1), first=Node(2), second=Node(3))\n    return s", "Pair(Node(1), first=Node(2), second=Node(3))", "has the fields"),
    ("p = pair(Node(1), first=Node(2), second=Node(3))\n    return s", "pair(Node(1), first=Node(2), second=Node(3))", "takes (first, second)"),
    ("p = Odd(Node(1))\n    return s", "Odd, which has its own `__post_init__`", "its fields"),
    ("return replace(s, leader=Node(0))", "`Node(0)`, whose number may be 0", "keep it within 1..3"),
    ("require(s.number < 4)\n    return replace(s, leader=Node(s.number))", "`Node(s.number)`, whose number may be -2..3", "a test before it"),
    ("return replace(s, leader=Node((s.number + 1) % 4))", "`Node((s.number + 1) % 4)`, whose number may be 0..3", "1..3"),
    ("n = max(s.alive)\n    require(n != Node(2))\n    return replace(s, leader=Node(n + 1))", "`Node(n + 1)`, whose number may be 2..4", "1..3"),
    ("return replace(s, leader=Node(s.inner.on))", "`s.inner.on` is bool", "an int"),
    ("return replace(s, number=int(s.colour))", "`s.colour` is Colour", "an int"),
    ("return replace(s, number=int(s.leader))", "`s.leader` may be None here", "is not None"),
    ("require(any(n == 1 for n in s.alive))\n    return s", "an id and a number: `n == 1`", "int(id)"),
    ("require(any(s.number < n for n in s.alive))\n    return s", "an id and a number: `s.number < n`", "int(id)"),
    ("require(any(n + 1 == s.number for n in s.alive) or Node(1) >= -1)\n    return s", "an id and a number: `Node(1) >= -1`", "`Node(0)`"),
    ("require(any(n * s.inner.on > 1 for n in s.alive))\n    return s", "Node * bool", "for ints"),
    ("return replace(s, alive=every(Node))", "Node without the configuration", "every(Node, c)"),
    ("return replace(s, alive=every(Node, s))", "this as the configuration", "every(Node, c)"),
    ("return replace(s, number=sum(1 for i in range(1000000)))", "a range of 1000000 numbers", "4096"),
    ("x = s.alive\n    x |= s.sent\n    return s", "set", ""),
    # Loops: what shows the order of a set, and what is no loop of the language.
    ("for n in s.alive:\n        if n in s.order:\n            return replace(s, leader=n)\n    return s", "a loop over a set that returns one value in one turn and another in another", "sorted(...)"),
    ("last = None\n    for n in s.alive:\n        last = n\n    return replace(s, leader=last)", "`last` after a loop over a set", "sorted(...)"),
    ("for n in s.alive:\n        pass\n    return replace(s, leader=n)", "`n` after a loop over a set", "sorted(...)"),
    ("k = 0\n    for n in s.alive:\n        k = k * 2 + place(n)\n    return replace(s, number=k)", "`k` of the turn before", "`+=`"),
    ("k = 0\n    for n in s.alive:\n        k += place(n)\n        k *= 2\n    return replace(s, number=k)", "`k` of the turn before", "sorted(...)"),
    ("k = 0\n    for n in s.alive:\n        k += 1\n        if k == 2 and n in s.order:\n            return replace(s, number=2)\n    return s", "`k` of the turn before", "sorted(...)"),
    ("k = 0\n    for n in s.alive:\n        if n in s.order:\n            break\n        k += 1\n    return replace(s, number=k)", "`k` after a loop over a set", "sorted(...)"),
    ("on = False\n    for n in s.alive:\n        if n in s.order:\n            on = True\n        if n == s.leader:\n            break\n    return replace(s, inner=Inner(0, on))", "`on` after a loop over a set", "sorted(...)"),
    ("on = False\n    for n in s.alive:\n        on = n in s.order\n    return replace(s, inner=Inner(0, on))", "`on` after a loop over a set", "sorted(...)"),
    ("out = ()\n    for n in s.alive:\n        out = out + (n,)\n    return replace(s, order=out)", "`out` of the turn before", "sorted(...)"),
    ("m = s.score\n    for n in s.alive:\n        m = m.put(n, m[Node(1)])\n    return replace(s, score=m)", "`m` of the turn before", "sorted(...)"),
    ("m = s.score\n    for n in s.alive:\n        m = m.put(Node(1), s.score[n])\n    return replace(s, score=m)", "`m` of the turn before", "sorted(...)"),
    ("for n in s.alive:\n        require(only(n))\n        if second(s, n):\n            return replace(s, leader=None)\n    return s", "what may fail in a comprehension or loop over a set", "sorted(...)"),
    ("for n in s.alive:\n        if n == s.leader:\n            break\n        require(only(n))\n    return s", "what may fail in a comprehension or loop over a set", "sorted(...)"),
    ("ok = True\n    for n in s.alive:\n        ok = ok and second(s, n)\n    return replace(s, inner=Inner(0, ok))", "what may fail in a loop over a set that changes `ok` by `and`", "sorted(...)"),
    ("for n in s.alive:\n        if n == s.leader:\n            return replace(s, leader=None)\n        if n in s.order:\n            break\n    return s", "`return` and `break` in one loop over a set", "sorted(...)"),
    ("for m in s.sent:\n        return replace(s, number=m.body)\n    return s", "a loop over a set that returns one value in one turn", "one value"),
    ("for n in reversed(s.alive):\n        pass\n    return s", "a set has no order", "sorted(...)"),
    ("for i, n in enumerate(s.alive):\n        pass\n    return s", "a set has no order", "sorted(...)"),
    ("for i, n in s.order:\n        pass\n    return s", "`(i, n)` for Node", "as many names"),
    ("for i, n in ((1, Node(1), 2),):\n        pass\n    return s", "`(i, n)` for a tuple (an int, Node, an int)", "as many names"),
    ("for s.leader in s.order:\n        pass\n    return s", "this loop variable", "one name"),
    ("for n in s.order:\n        k = 1\n    return replace(s, number=k)", "`k` may be unbound here", "every path"),
    ("k = 0\n    for n in s.order:\n        k = n\n    return s", "`k` is of two kinds after this", "an int"),
    ("while s.number < 3:\n        pass\n    return s", "a while loop", "`break`"),
    ("for i in range(s.number * 100000):\n        pass\n    return s", "a range of 500000 numbers", "min(s.number * 100000, 10)"),
    ("for n in s.leader:\n        pass\n    return s", "`s.leader` may be None here", "is not None"),
    ("for n in s.score:\n        pass\n    return s", "iteration over a map from Node", "iterate over its keys: `for k in every(Node, c)`"),
    ("for i in 3:\n        pass\n    return s", "iteration over an int", "iterate over `range(3)`"),
]  # fmt: skip
ODD = """
@dataclass(frozen=True)
class Odd:
    node: Node

    def __post_init__(self) -> None:
        object.__setattr__(self, "node", Node(2))
"""


@pytest.mark.parametrize(("body", "construct", "remedy"), REFUSED, ids=[f"{i}" for i in range(len(REFUSED))])
def test_refused(body: str, construct: str, remedy: str, tmp_path: Path) -> None:
    found = check(BoundModel(model(ODD + action_text("act", body), tmp_path)))
    assert len(found) == 1, [str(r) for r in found]
    assert construct in found[0].construct, found[0]
    assert remedy in found[0].remedy, found[0]
    assert str(found[0]).endswith("^")
