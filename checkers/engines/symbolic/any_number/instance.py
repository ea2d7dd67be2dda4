"""Nodes of a model for any number, evaluated where there are so many: over one state, or over a column of states.

Ids are indices, sets masks, tables lists of one value for each member, and sequences lists of items that may be there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from reassure.checkers.engines.symbolic.any_number.system import place_of
from reassure.checkers.engines.symbolic.sample_evaluator import OPERATIONS as COLUMN_OPERATIONS
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.operations import OPERATIONS
from reassure.spec.frontend.symbolic_values import bags, scalar_leaves
from reassure.spec.language.number_sets import NumbersType
from reassure.spec.language.types import (
    BagType,
    EnumType,
    IdType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
    key_name,
    part_path,
    unbounded,
)

Leaves = dict[str, Any]
"""Scalars by path: a number; of a sequence its items, each with whether it is there; of a table a list of these."""
Env = tuple[tuple[int, int], ...]
Sequence = list[tuple[Any, Any]]
"""Items, each with whether it is there."""


class Instance:
    """Values of nodes in one state, where the sorts have these sizes.

    leaves: of variables, parameters and the configuration, by their places.
    """

    def __init__(self, sizes: Mapping[type, int], leaves: Mapping[str, Any]) -> None:
        self.sizes, self.leaves = sizes, leaves
        self.memo: dict[tuple[Node, Env], Any] = {}

    def __call__(self, node: Node, env: Env = ()) -> Any:
        """The value of a node."""
        env = tuple((n, i) for n, i in env if f"#{n}" in node.params)
        key = node, env
        if key not in self.memo:
            self.memo[key] = self._value(node, env)
        return self.memo[key]

    def holds(self, node: Node) -> bool:
        """Whether a condition is true. Its own value is not kept: there may be many conditions."""
        return bool(self._value(node, ()))

    def members(self, kind: Type) -> int:
        """The number of members of a sort."""
        return self.sizes[kind.sort] if isinstance(kind, IdType) and kind.sort in self.sizes else kind.count

    def names(self) -> Iterable[str]:
        """The names of the variables."""
        return self.leaves

    def where(self, condition: Any, first: Any, second: Any) -> Any:
        """The first value where the condition is true, else the second."""
        return first if condition else second

    def _standard(self, node: Node, arguments: list[Any]) -> Any:
        """An operation that means the same for any number."""
        fold = OPERATIONS[node.op].fold
        assert fold is not None, node.op
        value = fold(*arguments)
        return 0 if value is None else value

    def _value(self, node: Node, env: Env) -> Any:
        special = SPECIAL.get(node.op)
        if special is not None:
            return special(self, node, env)
        if isinstance(node.type, SeqType) and node.op == "ite":
            condition, first, second = (self(a, env) for a in node.args)
            return self._either_sequence(condition, first, second)
        return self._standard(node, [self(a, env) for a in node.args])

    # -- places ---------------------------------------------------------------------------------------------

    def place(self, node: Node, env: Env) -> Any:
        """The value of a variable of whatever kind."""
        if node.op == "config":
            return self.leaves[f"c.{node.data}"]
        if node.op == "unpack":
            return self.field(node.args[0], node.data, env)
        return self.leaves[place_of(node)]

    def field(self, record: Node, number: int, env: Env) -> Any:
        """A scalar of a record in a slot."""
        if record.op == "pack":
            return self(record.args[number], env)
        return self.leaves[f"{place_of(record.args[0])}.{number}"]

    def empty(self, slot: Node, env: Env) -> Any:
        """Whether a slot is empty."""
        if slot.op == "const":
            return int(slot.data == 0)
        if slot.op == "ite":
            return self.where(self(slot.args[0], env), *(self.empty(s, env) for s in slot.args[1:]))
        return 0 if slot.op == "slot" else self.leaves[f"{place_of(slot)}!empty"]

    def pairs(self, a: Node, b: Node, env: Env) -> Iterator[tuple[Any, Any]]:
        """The scalars of the records in two slots, those of a table one by one."""
        for x, y in zip(self._fields(a, env), self._fields(b, env), strict=False):
            yield from self._scalar_pairs(x, y)

    def _scalar_pairs(self, x: Any, y: Any) -> Iterator[tuple[Any, Any]]:
        if _is_sequence(x) and _is_sequence(y):
            yield _length(x), _length(y)
            yield from ((_nth(self, x, place), _nth(self, y, place)) for place in range(max(len(x), len(y))))
        elif isinstance(x, list) and isinstance(y, list):
            for first, second in zip(x, y, strict=True):
                yield from self._scalar_pairs(first, second)
        elif not isinstance(x, list) and not isinstance(y, list):  # a slot that is empty has no lists
            yield x, y

    def _fields(self, slot: Node, env: Env) -> list[Any]:
        """The scalars of the record in a slot; none where it is surely empty."""
        if slot.op == "const":
            return []
        if slot.op == "slot":
            record = slot.args[0]
            return [self(a, env) for a in record.args] if record.op == "pack" else self._fields(record.args[0], env)
        if slot.op == "ite":
            first, second = (self._fields(s, env) for s in slot.args[1:])
            if not first or not second:
                return first or second
            condition = self(slot.args[0], env)
            return [self.either(condition, x, y) for x, y in zip(first, second, strict=True)]
        name = place_of(slot)
        count = sum(1 for leaf in self.names() if leaf.startswith(f"{name}.") and leaf[len(name) + 1 :].isdigit())
        return [self.leaves[f"{name}.{i}"] for i in range(count)]

    def _either_sequence(self, condition: Any, x: Sequence, y: Sequence) -> Sequence:
        no, yes = self.where(condition, 0, 1), self.where(condition, 1, 0)
        return [*((yes & there, i) for there, i in x), *((no & there, i) for there, i in y)]

    def either(self, condition: Any, x: Any, y: Any) -> Any:
        """As `where`, also of tables and sequences."""
        if _is_sequence(x) and _is_sequence(y):
            return self._either_sequence(condition, x, y)
        if isinstance(x, list) and isinstance(y, list):
            return [self.either(condition, one, other) for one, other in zip(x, y, strict=True)]
        if isinstance(x, list) or isinstance(y, list):
            return x if isinstance(x, list) else y
        return self.where(condition, x, y)


class InstanceColumns(Instance):
    """The same in many states at once: each value is a column."""

    def holds(self, node: Node) -> bool:
        """Whether a condition is true in every state."""
        return bool(np.all(self._value(node, ())))

    def where(self, condition: Any, first: Any, second: Any) -> Any:
        """The first value where the condition is true, else the second."""
        return np.where(np.asarray(condition) != 0, first, second)

    def _standard(self, node: Node, arguments: list[Any]) -> Any:
        return COLUMN_OPERATIONS[node.op](node, *arguments)


# -- operations ------------------------------------------------------------------------------------------------


def _const(instance: Instance, node: Node, env: Env) -> Any:
    kind = node.type
    if isinstance(kind, SetType):
        return node.data & ((1 << instance.members(kind.item)) - 1)
    return [(1, i) for i in node.data] if isinstance(kind, SeqType) else int(node.data)


def _bound(instance: Instance, node: Node, env: Env) -> Any:
    return dict(env)[node.data]


def _those(instance: Instance, node: Node, env: Env) -> Any:
    assert isinstance(node.type, SetType)
    mask: Any = 0
    for i in range(instance.members(node.type.item)):
        mask = mask | instance.where(instance(node.args[0], (*env, (node.data, i))), 1 << i, 0)
    return mask


def _table(instance: Instance, node: Node, env: Env) -> Any:
    assert isinstance(node.type, MapType)
    return [instance(node.args[0], (*env, (node.data, i))) for i in range(instance.members(node.type.key))]


def _at(instance: Instance, node: Node, env: Env) -> Any:
    entries, index = instance(node.args[0], env), instance(node.args[1], env)
    if not isinstance(entries, list):
        return zero_of(node.type, instance.sizes)  # of a record in an empty slot
    value = entries[0]
    for i, entry in enumerate(entries[1:], 1):
        value = instance.either(index == i, entry, value)
    return value


def _total(instance: Instance, node: Node, env: Env) -> Any:
    mask, entries = (instance(a, env) for a in node.args)
    return sum((instance.where((mask >> i) & 1, entry, 0) for i, entry in enumerate(entries)), 0)


def _equal(instance: Instance, node: Node, env: Env) -> Any:
    a, b = node.args
    if is_slot(a) or is_slot(b):
        empty = [instance.empty(s, env) for s in (a, b)]
        same: Any = True
        for x, y in instance.pairs(a, b, env):
            same = same & (x == y)
        return instance.where(empty[0] | empty[1], empty[0] == empty[1], same)
    if isinstance(a.type, SeqType):
        return _same_sequences(instance, instance(a, env), instance(b, env))
    return instance._standard(node, [instance(a, env), instance(b, env)])


def _less(instance: Instance, node: Node, env: Env) -> Any:
    a, b = node.args
    if not is_slot(a) and not is_slot(b):
        return instance._standard(node, [instance(a, env), instance(b, env)])
    empty = [instance.empty(s, env) for s in (a, b)]
    less: Any = 0
    for x, y in reversed(list(instance.pairs(a, b, env))):
        less = instance.where(x == y, less, x < y)
    return instance.where(empty[0] | empty[1], empty[0] > empty[1], less)


def _same_sequences(instance: Instance, a: Sequence, b: Sequence) -> Any:
    same: Any = _length(a) == _length(b)
    place_a: Any = 0
    for there_a, item_a in a:
        place_b: Any = 0
        for there_b, item_b in b:
            here = instance.where(place_a == place_b, there_a & there_b, 0)
            same = instance.where(here, same & (item_a == item_b), same)
            place_b = place_b + there_b
        place_a = place_a + there_a
    return same


def _is_sequence(value: Any) -> bool:
    """Whether a value is a sequence, not a table, which has an entry at least."""
    return isinstance(value, list) and all(isinstance(item, tuple) for item in value)


def _nth(instance: Instance, sequence: Sequence, index: Any) -> Any:
    """The item at a place; 0 where there is none."""
    value: Any = 0
    place: Any = 0
    for there, item in sequence:
        value = instance.where(instance.where(place == index, there, 0), item, value)
        place = place + there
    return value


def _length(sequence: Sequence) -> Any:
    return sum((there for there, _ in sequence), 0)


def _seq_set(instance: Instance, node: Node, env: Env) -> Any:
    mask: Any = 0
    for there, item in instance(node.args[0], env):
        mask = mask | instance.where(there, 1 << item, 0)
    return mask


def _seq_keep(instance: Instance, node: Node, env: Env) -> Any:
    sequence, mask = (instance(a, env) for a in node.args)
    return [(there & (mask >> item) & 1, item) for there, item in sequence]


def _seq_sorted(instance: Instance, node: Node, env: Env) -> Any:
    mask, kind = instance(node.args[0], env), node.type
    assert isinstance(kind, SeqType)
    return [((mask >> i) & 1, i) for i in range(instance.members(kind.item))]


def _seq_cat(instance: Instance, node: Node, env: Env) -> Any:
    return [item for a in node.args for item in instance(a, env)]


def _seq_of(instance: Instance, node: Node, env: Env) -> Any:
    return [(1, instance(a, env)) for a in node.args]


def _seq_len(instance: Instance, node: Node, env: Env) -> Any:
    return _length(instance(node.args[0], env))


def _seq_first(instance: Instance, node: Node, env: Env) -> Any:
    first: Any = 0
    mask = instance(node.args[1], env)
    for there, item in reversed(instance(node.args[0], env)):
        first = instance.where(there & (mask >> item) & 1, item, first)
    return first


def _seq_get(instance: Instance, node: Node, env: Env) -> Any:
    return _nth(instance, *(instance(a, env) for a in node.args))


def is_slot(node: Node) -> bool:
    """Whether a number is a slot of a set of records."""
    if node.op == "ite":
        return any(is_slot(a) for a in node.args[1:])
    if node.op in ("var", "param"):
        return "#" in (node.data if node.op == "var" else node.data[1]) and isinstance(node.type, IntType)
    return node.op == "slot"


SPECIAL: dict[str, Callable[[Instance, Node, Env], Any]] = {
    "const": _const, "bound": _bound, "those": _those, "table": _table, "at": _at, "total": _total,
    "eq": _equal, "lt": _less, "seq_set": _seq_set, "seq_keep": _seq_keep, "seq_sorted": _seq_sorted,
    "seq_cat": _seq_cat, "seq_of": _seq_of, "seq_len": _seq_len, "seq_first": _seq_first, "seq_get": _seq_get,
    **dict.fromkeys(("var", "param", "config", "unpack"), Instance.place),
}  # fmt: skip
"""Operations whose values differ from those for one number of members (`sample_evaluator.py` has the others)."""


# -- from Python's values ------------------------------------------------------------------------------------------


def leaves_of(value: Any, kind: Type, sizes: Mapping[type, int], path: str = "") -> Leaves:
    """The scalars of a value of a type for any number, by their path. sizes: of the sorts."""
    if isinstance(kind, RecordType):
        of_fields = zip(kind.parts_of(value), kind.fields, strict=True)
        parts = [leaves_of(part, inner, sizes, part_path(path, name)) for part, (name, inner) in of_fields]
        return {name: v for part in parts for name, v in part.items()}
    if isinstance(kind, OptionType):
        inner = _absent(kind.inner, sizes, path) if value is None else leaves_of(value, kind.inner, sizes, path)
        return {f"{path}?": int(value is not None), **inner}
    if isinstance(kind, MapType):
        if not unbounded(kind.key):
            parts = [leaves_of(value[k], kind.value, sizes, f"{path}[{key_name(k)}]") for k in kind.key.values()]
            return {name: v for part in parts for name, v in part.items()}
        entries = [leaves_of(value[key], kind.value, sizes, f"{path}[*]") for key in sorted(value.keys())]
        return {name: [entry[name] for entry in entries] for name in entries[0]}
    if isinstance(kind, BagType):
        return _slots(value, kind, sizes, path)
    if isinstance(kind, NumbersType):
        return {f"{path}[{number}]": int(number in value) for number in kind.item.values()}
    return {path: _scalar(value, kind)}


def zero_of(kind: Type, sizes: Mapping[type, int]) -> Any:
    """A scalar of nothing, of an absent optional or an empty slot: what `spec.frontend.leaves.zero` says."""
    if isinstance(kind, MapType):
        assert isinstance(kind.key, IdType)
        return [zero_of(kind.value, sizes)] * sizes.get(kind.key.sort, 1)
    if isinstance(kind, IntType):
        return kind.low
    return [] if isinstance(kind, SeqType) else 0


def _absent(kind: Type, sizes: Mapping[type, int], path: str) -> Leaves:
    """What an optional that is absent holds."""
    scalars = {name: zero_of(scalar, sizes) for name, scalar in scalar_leaves(kind, path) if "#" not in name}
    return scalars | {name: v for inner, bag in bags(kind, path) for name, v in _slots((), bag, sizes, inner).items()}


def _slots(records: Any, kind: BagType, sizes: Mapping[type, int], path: str) -> Leaves:
    leaves: Leaves = {}
    scalars = list(scalar_leaves(kind.item))
    held = [leaves_of(record, kind.item, sizes) for record in records]
    there = sorted(([one[name] for name, _ in scalars] for one in held), key=_flat, reverse=True)
    for i in range(kind.size):
        leaves[f"{path}#{i}!empty"] = int(i >= len(there))
        values = there[i] if i < len(there) else [zero_of(scalar, sizes) for _, scalar in scalars]
        leaves |= {f"{path}#{i}.{number}": value for number, value in enumerate(values)}
    return leaves


def _flat(values: list[Any]) -> list[Any]:
    """The values, those of a table one by one and the length of a sequence before its items: as `_less` has them."""
    flat: list[Any] = []
    for value in values:
        if _is_sequence(value):
            flat += [len(value), *(item for _, item in value)]
        else:
            flat += _flat(value) if isinstance(value, list) else [value]
    return flat


def _scalar(value: Any, kind: Type) -> Any:
    if isinstance(kind, SetType):
        return sum(1 << _index(v, kind.item) for v in value)
    if isinstance(kind, SeqType):
        return [(1, _index(v, kind.item)) for v in value]
    return _index(value, kind)


def _index(value: Any, kind: Type) -> int:
    if isinstance(kind, IdType):
        return int(value) - kind.first
    return list(kind.sort).index(value) if isinstance(kind, EnumType) else int(value)
