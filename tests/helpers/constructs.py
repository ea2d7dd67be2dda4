"""Every construct of the language by name: tables of actions that translations are compared on with plain Python."""

# ruff: noqa: E501 - a row of the table is one line
from __future__ import annotations

from pathlib import Path

from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers import model_text, nested_types, record_types

CONSTRUCTS = {
    # name: body of an action; parameters after a bar
    "sets": "return replace(s, alive=(s.alive | {Node(1)}) & frozenset({Node(1), Node(2)}) ^ {Node(2)})",
    "set_difference": "require(s.alive - {Node(2)} != NOBODY)\n    return replace(s, alive=s.alive - {Node(2)})",
    "order_of_sets": "require(s.alive < every(Node, c) or s.alive >= frozenset({Node(3)}))\n    return s",
    "one_of_two_sets": "return replace(s, alive=s.alive if s.inner.on else frozenset({Node(1)}))",
    "one_of_two_sequences": "return replace(s, order=s.order if s.inner.on else (Node(2), Node(1)))",
    "chained": "require(-1 <= s.number < 3)\n    return replace(s, number=s.number + 1)",
    "arithmetic": "return replace(s, number=(s.number * 3 - 1) // 2 + s.number % 3 - abs(s.number))",
    "min_max_ints": "return replace(s, number=max(min(s.number, 3), s.inner.count, 0))",
    "leave_bound": "return replace(s, number=s.number * 2)",
    "nested_bound": "return replace(s, inner=replace(s.inner, count=s.inner.count + 1))",
    "lowest": "return replace(s, leader=min(s.alive, default=None))",
    "highest_may_raise": "return replace(s, leader=max(s.alive))",
    "raise_behind_guard": "require(s.alive != NOBODY)\n    return replace(s, leader=max(s.alive))",
    "optional": "leader = some(s.leader)\n    return replace(s, alive=s.alive - {leader}, leader=None)",
    "optional_and": "require(s.leader is not None and s.leader in s.alive)\n    return replace(s, leader=None)",
    "optional_in": "require(s.leader in s.alive)\n    return s",
    "optional_not_in": "require(s.leader not in s.alive)\n    return s",
    "optional_eq": "require(s.leader == Node(2))\n    return replace(s, alive=s.alive | {s.leader})",
    "optional_choice": "return replace(s, leader=None if s.inner.on else Node(3))",
    "early_return": """if s.leader is None:
        return replace(s, leader=Node(1))
    if s.leader == Node(1):
        if s.inner.on:
            return replace(s, leader=Node(2))
        s = replace(s, number=0)
    elif s.inner.on:
        s = replace(s, number=1)
    else:
        return replace(s, inner=Inner(1, True))
    return replace(s, colour=Colour.GREEN)""",
    "guard_in_branch": """if s.inner.on:
        require(s.number > 0)
        s = replace(s, number=s.number - 1)
    return s""",
    "refuse": "if s.leader is None:\n        refuse()\n    return replace(s, leader=None)",
    "refuse_in_else": """if s.inner.on:
        n = s.number
    else:
        refuse("off")
    return replace(s, number=min(n, 4))""",
    "sequence_append": "return replace(s, order=s.order + (Node(1),))",
    "sequence_prepend": "require(Node(2) not in s.order)\n    return replace(s, order=(Node(2),) + s.order)",
    "sequence_of_two": "leader = some(s.leader)\n    return replace(s, order=(leader, Node(1)))",
    "sequence_keep": "return replace(s, order=tuple(n for n in s.order if n in s.alive))",
    "sequence_first": "return replace(s, leader=next((n for n in s.order if n in s.alive), None))",
    "sequence_next_raises": "return replace(s, leader=next(n for n in s.order if n in s.alive))",
    "sequence_index": "require(len(s.order) > 1)\n    return replace(s, leader=s.order[1])",
    "sequence_last": "require(s.order != ())\n    return replace(s, leader=s.order[-1])",
    "sequence_index_raises": "return replace(s, leader=s.order[0])",
    "sequence_slices": "return replace(s, order=s.order[1:] + s.order[:1])",
    "sequence_sorted": "return replace(s, order=tuple(sorted(s.alive)))",
    "sequence_sorted_keep": "return replace(s, order=tuple(n for n in sorted(s.alive) if n != s.leader))",
    "sequence_set": "return replace(s, alive=frozenset(s.order))",
    "sequence_equal": "require(s.order == (Node(1), Node(2)) or s.order == ())\n    return replace(s, order=())",
    "sequence_any": "require(any(n == s.leader for n in s.order))\n    return s",
    "sequence_count": "return replace(s, number=sum(1 for n in s.order if n in s.alive))",
    "sequence_of_sorted_first": "return replace(s, leader=next((n for n in sorted(s.alive) if n != Node(1)), None))",
    "next_changed": "return replace(s, colour=next((s.score[n] for n in s.order), Colour.RED))",
    "map_read": "leader = some(s.leader)\n    return replace(s, colour=s.score[leader])",
    "map_put": "leader = some(s.leader)\n    return replace(s, score=s.score.put(leader, Colour.GREEN))",
    "map_build": "return replace(s, score=Map({n: Colour.GREEN if n in s.alive else s.score[n] for n in every(Node, c)}))",
    "map_fill": "return replace(s, score=fill(Node, c, s.colour))",
    "map_equal": "require(s.score == fill(Node, c, Colour.RED))\n    return s",
    "any": "require(any(s.score[n] == Colour.RED and n in s.alive for n in every(Node, c)))\n    return s",
    "all": "require(all(s.score[n] == Colour.RED for n in s.alive))\n    return s",
    "all_filtered": "require(all(n < Node(3) for n in s.alive if s.score[n] == Colour.RED))\n    return s",
    "nested_any": "require(any(a != b and s.score[a] == s.score[b] for a in s.alive for b in s.alive))\n    return s",
    "sum": "return replace(s, number=sum(1 if s.score[n] == Colour.RED else 2 for n in s.alive))",
    "count": "return replace(s, number=len(frozenset(n for n in s.alive if s.score[n] == Colour.RED)))",
    "set_image": "require(frozenset(s.score[n] for n in s.alive) == {Colour.RED})\n    return s",
    "set_comprehension": "return replace(s, alive=s.alive | {n for n in every(Node, c) if s.score[n] == Colour.RED})",
    "extreme_of_comprehension": "return replace(s, leader=max((n for n in s.alive if n < Node(3)), default=s.leader))",
    "extreme_of_numbers": "return replace(s, number=max((len(s.alive) - 1 for n in s.alive), default=-2))",
    "enum_in": "require(s.colour in (Colour.RED, Colour.GREEN) and s.colour != Colour.GREEN)\n    return s",
    "send": "return replace(s, sent=s.sent | {Message(Node(1), s.leader, 2)})",
    "send_out_of_bound": "return replace(s, sent=s.sent | {Message(Node(1), None, s.inner.count + 1)})",
    "send_two": "m = Message(Node(2), None, 0)\n    return replace(s, sent=s.sent | {m, Message(Node(3), Node(1), 1)})",
    "receive | message: Message | message=lambda s: s.sent": "return replace(s, sent=s.sent - {message}, leader=message.to)",
    "receive_some | message: Message | message=lambda s: s.sent": """require(message.body > 0 and message.source in s.alive)
    return replace(s, number=message.body)""",
    "messages_any": "require(any(m.to == s.leader and m.body == 1 for m in s.sent))\n    return s",
    "messages_count": "return replace(s, number=len(s.sent) + sum(m.body for m in s.sent))",
    "messages_keep": "return replace(s, sent=frozenset(m for m in s.sent if m.to is not None))",
    "messages_clear": "require(s.sent != frozenset())\n    return replace(s, sent=frozenset())",
    "messages_member": "require(Message(Node(1), None, 0) not in s.sent)\n    return s",
    "messages_intersect": "return replace(s, sent=s.sent & frozenset({Message(Node(1), None, 0)}))",
    "messages_broadcast": "return replace(s, sent=s.sent | frozenset(Message(n, None, 1) for n in s.alive))",
    "by_id | node: Node": "require(node in s.alive and node != s.leader)\n    return replace(s, leader=node)",
    "by_id_not_in | node: Node": "require(node not in s.alive)\n    return replace(s, alive=s.alive | {node})",
    "by_id_equal | node: Node": "require(node == s.leader)\n    return replace(s, alive=s.alive - {node})",
    "by_set | nodes: Nodes": "require(nodes <= s.alive and nodes != NOBODY)\n    return replace(s, alive=nodes)",
    "by_set_containing | nodes: Nodes": """require(s.leader is not None and s.leader in nodes)
    require(nodes & s.alive == NOBODY)
    return replace(s, alive=nodes)""",
    "by_superset | nodes: Nodes": "require(s.alive <= nodes and Node(1) not in nodes)\n    return replace(s, alive=nodes)",
    "by_two_sets | a: Nodes, b: Nodes": "require(a <= b and b <= s.alive and len(a) == 1)\n    return replace(s, alive=b - a)",
    "by_drawn_id | node: Node | node=lambda s: s.alive": "return replace(s, alive=s.alive - {node})",
    "by_optional | node: Node | None": "require(node is None or node in s.alive)\n    return replace(s, leader=node)",
    "by_number | n: Annotated[int, Range(-1, 2)]": "return replace(s, number=s.number + n)",
    "by_bool | on: bool": "require(on != s.inner.on)\n    return replace(s, inner=replace(s.inner, on=on))",
    "by_enum | colour: Colour": "require(colour != s.colour)\n    return replace(s, colour=colour)",
    "by_record | inner: Inner": "require(inner.count > s.inner.count)\n    return replace(s, inner=inner)",
    "by_sequence | order: Annotated[tuple[Node, ...], MaxLen(2)]": "return replace(s, order=order)",
    "by_another_sequence | order: Annotated[tuple[Node, ...], MaxLen(2)]": "require(order != s.order)\n    return s",
    "by_the_same_sequence | order: Annotated[tuple[Node, ...], MaxLen(2)]": "require(order == s.order)\n    return s",
    "by_several | node: Node, on: bool, nodes: Nodes": """require(node in nodes)
    require(len(nodes) < 3 or on)
    return replace(s, leader=node, alive=nodes)""",
    "helper": "return replace(s, leader=lowest_but(s.alive, Node(1)))",
    "helper_by_default": "return replace(s, leader=chosen(s.alive))",
    "helper_given": "return replace(s, leader=chosen(s.alive, rule=highest_but))",
    "configuration": "require(not c.flag and c.nodes == 3)\n    return s",
    "augmented": "n = s.number\n    n += 1\n    n -= 2\n    return replace(s, number=n)",
    "two_at_once": "a, b = s.number, s.inner.count\n    a, b = b, a\n    return replace(s, number=a - b)",
    "ring | node: Node": "return replace(s, leader=Node((node + 1) % c.nodes + 1))",
    "number_of_an_id": "leader = some(s.leader)\n    return replace(s, number=int(leader) + int(s.inner.on))",
    "id_of_a_number": "if 0 < s.number < 4:\n        return replace(s, leader=Node(s.number))\n    return s",
    "id_and_a_number | node: Node": "require(all(i <= node for i in range(s.number)))\n    return replace(s, number=node - 1)",
    "loop_returns": "for n in sorted(s.alive):\n        if n in s.order:\n            return replace(s, leader=n)\n    return s",
    "loop_counts": "k = 0\n    for n in s.order:\n        if n in s.alive:\n            k += 1\n    return replace(s, number=k)",
    "loop_optional": "best: Node | None = None\n    for n in sorted(s.alive):\n        if best is not None:\n            if s.score[best] == Colour.GREEN:\n                continue\n        best = n\n    return replace(s, leader=best)",
    "loop_breaks": "k = 0\n    for n in s.order:\n        if n not in s.alive:\n            break\n        k += 1\n    else:\n        k = -k\n    return replace(s, number=k)",
    "loop_continues": "up = NOBODY\n    for n in sorted(every(Node, c)):\n        if n in s.alive:\n            continue\n        up |= {n}\n        if len(up) == 2:\n            break\n    return replace(s, alive=up)",
    "loop_guard_and_error": "for n in s.order:\n        require(n in s.alive)\n        if n == s.leader:\n            return replace(s, leader=s.order[1])\n    return replace(s, leader=s.order[0])",
    "loop_enumerate": "k = 0\n    for i, n in enumerate(s.order):\n        if n in s.alive:\n            k += i\n    return replace(s, number=k)",
    "loop_enumerate_sorted": "for i, n in enumerate(sorted(s.alive), 1):\n        if n == s.leader:\n            return replace(s, number=i)\n    return s",
    "loop_reversed": "for n in reversed(s.order):\n        if n in s.alive:\n            return replace(s, leader=n)\n    return s",
    "loop_map": "m = s.score\n    for n in sorted(s.alive):\n        m = m.put(n, Colour.GREEN)\n        if n == s.leader:\n            break\n    return replace(s, score=m)",
    "loop_record": "t = s\n    for n in sorted(s.alive):\n        if n != s.leader:\n            t = replace(t, sent=t.sent | {Message(n, s.leader, 1)}, number=t.number + 1)\n    return t",
    "loop_sequence": "out = ()\n    for n in s.order:\n        if n not in out:\n            out = (n,) + out\n    return replace(s, order=out)",
    "loop_in_a_loop": "k = 0\n    for a in s.order:\n        for b in s.order:\n            if a == b:\n                continue\n            if b == s.leader:\n                break\n            k += 1\n        if k > 3:\n            return replace(s, number=k)\n    return replace(s, number=k - 1)",
    "loop_of_a_set_counts": "k = 0\n    for n in s.alive:\n        if n in s.order:\n            k += 1\n    return replace(s, number=k)",
    "loop_of_a_set_finds": "found = False\n    for n in s.alive:\n        if n in s.order:\n            found = True\n            break\n    return replace(s, inner=replace(s.inner, on=found))",
    "loop_of_a_set_returns": "for n in s.alive:\n        if n in s.order:\n            return replace(s, leader=None)\n    return replace(s, number=0)",
    "loop_of_a_set_map": "m = s.score\n    for n in s.alive:\n        m = m.put(n, Colour.GREEN if m[n] == Colour.RED else Colour.RED)\n    return replace(s, score=m)",
    "loop_of_messages": "k = 0\n    for m in s.sent:\n        k = max(k, m.body)\n    return replace(s, number=k)",
    "loop_of_a_set_guard": "k = 0\n    for n in s.alive:\n        require(n in s.order)\n        k += 1\n    return replace(s, number=k)",
    "loop_of_a_set_and": "ok = True\n    for n in s.alive:\n        ok = ok and n in s.order\n    return replace(s, inner=replace(s.inner, on=ok))",
    "loop_of_pairs": "k = 0\n    for a, b in ((1, Node(1)), (2, Node(3))):\n        if b in s.alive:\n            k += a\n    return replace(s, number=k)",
    "loop_variable_after": "require(0 <= s.number < 3)\n    i = 3\n    for i in range(s.number):\n        if i == 1:\n            break\n    return replace(s, number=i)",
    "loop_variable_without_a_value_before": "for i in range(4):\n        if i == s.number:\n            break\n    return replace(s, number=i)",
    "loop_variable_of_an_inner_loop": "k, i = 0, 1\n    for a in s.order:\n        k += i\n        for i, b in enumerate(s.order):\n            if b == a:\n                break\n    return replace(s, number=k)",
    "loop_of_a_range": "require(0 <= s.number < 3)\n    k = 0\n    for i in range(s.inner.count, s.number + 2):\n        k += i\n    return replace(s, number=k)",
    "range_of_the_state": "require(s.number > 0)\n    return replace(s, number=sum(i for i in range(1, s.number)))",
    "enumerate_sequence": "return replace(s, number=max((i for i, n in enumerate(s.order) if n in s.alive), default=-1))",
    "loop_of_an_optional_ends": "best = None\n    for n in sorted(s.alive):\n        if best is not None and s.score[best] == s.score[n]:\n            require(best != Node(2))\n            return replace(s, leader=best)\n        best = n\n    if best is None:\n        refuse()\n    return replace(s, leader=best)",
    "record_helper": "pair = both(s)\n    return replace(s, alive=pair.nodes, leader=pair.node)",
}


HELPERS = """
from collections.abc import Callable

def lowest_but(nodes: Nodes, but: Node) -> Node | None:
    left = nodes - {but}
    if left == NOBODY:
        return None
    return min(left)

def highest_but(nodes: Nodes, but: Node) -> Node | None:
    return max(nodes - {but}, default=None)

def chosen(nodes: Nodes, rule: Callable[[Nodes, Node], Node | None] = lowest_but) -> Node | None:
    return rule(nodes, Node(2))

@dataclass(frozen=True)
class Both:
    nodes: Nodes
    node: Node | None

def both(s: State) -> Both:
    if s.inner.on:
        return Both(NOBODY, None)
    return Both(s.alive, lowest_but(s.alive, Node(1)))
"""


def action_text(name: str, body: str) -> str:
    """The text of an action of this body; the name has its parameters and the sets they are drawn from after bars."""
    parts = [p.strip() for p in name.replace("Node | None", "Node~None").split("|")]
    parts = [p.replace("~", " | ") for p in parts]
    params = f", {parts[1]}" if len(parts) > 1 else ""
    drawn = f", {parts[2]}" if len(parts) > 2 else ""
    return f'{HELPERS}\n@action(who="tester"{drawn})\ndef act(s: State, c: Config{params}) -> State:\n    {body}\n'


TABLES = {
    **{name: (model_text.PRELUDE, action_text(name, body)) for name, body in CONSTRUCTS.items()},
    **{
        f"nested {name}": (nested_types.PRELUDE, nested_types.action_text(name, body))
        for name, body in nested_types.CONSTRUCTS.items()
    },
    **{
        f"odd {name}": (nested_types.ODD_PRELUDE, nested_types.action_text(name, body))
        for name, body in nested_types.ODD_CONSTRUCTS.items()
    },
    **{
        f"record {name}": (record_types.PRELUDE, nested_types.action_text(name, body))
        for name, body in record_types.CONSTRUCTS.items()
    },
    **{
        f"sequence {name}": (record_types.SEQUENCE_PRELUDE, nested_types.action_text(name, body))
        for name, body in record_types.SEQUENCES.items()
    },
    **{
        f"tuple {name}": (record_types.TUPLE_PRELUDE, nested_types.action_text(name, body))
        for name, body in record_types.TUPLES.items()
    },
    **{
        f"map {name}": (nested_types.MAP_PRELUDE, nested_types.action_text(name, body))
        for name, body in nested_types.MAPS.items()
    },
    **{
        f"numbers {name}": (nested_types.NUMBER_SET_PRELUDE, nested_types.action_text(name, body))
        for name, body in nested_types.NUMBER_SETS.items()
    },
}
"""The types and the action of a construct, by its name."""


def bound_model(name: str, folder: Path) -> BoundModel:
    """The model of a construct, written to a folder and imported."""
    prelude, text = TABLES[name]
    made = model_text.module(text, folder, prelude=prelude)
    return BoundModel(Model.of(made.__name__, state=made.State, config=made.Config))
