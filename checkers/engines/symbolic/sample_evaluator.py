"""Many states at once: the nodes of the IR evaluated with numpy over the columns of a sample."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT, Code, Layout, packed_field
from reassure.spec.frontend.ir import Node
from reassure.spec.language.types import IntType, RecordType, SeqType, SetType, bits_of

Column = NDArray[np.int64]
WIDEST = 64
"""Bits of a column, and so members of a set."""
Operation = Callable[..., Any]
"""From a node and the columns of its arguments to its column."""


class Unsupported(Exception):
    """An operation of `UNSUPPORTED`, or a leaf of a step."""


def columns(rows: Column, layout: Layout, paths: list[str]) -> dict[str, Column]:
    """The scalars of packed states, by path: indices, masks, ints as they are, sequences packed."""
    scalars: dict[str, Column] = {}
    for f in layout.fields:
        stored = (rows[:, f.word] >> f.shift) & ((1 << f.code.bits) - 1)
        for leaf in range(f.code.leaf, f.code.leaf + 1 + f.code.optional):
            scalars[paths[leaf]] = _scalar(stored, f.code, leaf)
    return scalars


def _scalar(stored: Any, code: Code, leaf: int) -> Any:
    """A scalar from the number that is stored for its field."""
    low = code.type.low if isinstance(code.type, IntType) else 0
    if code.optional:
        return (stored != 0).astype(np.int64) if leaf == code.leaf else np.maximum(stored - 1, 0) + low
    if isinstance(code.type, SeqType):
        room = code.type.length * bits_of(code.type.item)
        return (stored & ((1 << room) - 1)) | ((stored >> room) << SEQ_LENGTH_AT)
    return stored + low


class Sample:
    """Nodes over states in columns; bools are 0 and 1. A single state may have numbers for columns."""

    def __init__(self, columns: Mapping[str, Column | int]) -> None:
        self.columns = columns
        self.memo: dict[Node, Any] = {}
        self._every = (1 << max((np.size(column) for column in columns.values()), default=1)) - 1
        self._true: dict[Node, int] = {}
        """By condition, the states in which it is true, as the bits of a number."""

    def __call__(self, node: Node) -> Any:
        if node not in self.memo:
            self.memo[node] = self._value(node)
        return self.memo[node]

    def holds(self, node: Node) -> bool:
        """Whether a condition is true in every state.

        The columns of a disjunction's parts are kept, not its own: there may be many of few parts.
        """
        true = 0
        for part in node.args if node.op == "or" else (node,):
            if part not in self._true:
                self._true[part] = self._bits(self(part))
            true |= self._true[part]
        return true == self._every

    def _bits(self, truths: Any) -> int:
        if not np.ndim(truths):
            return self._every if truths else 0
        return int.from_bytes(np.packbits(truths != 0, bitorder="little").tobytes(), "little")

    def _value(self, node: Node) -> Any:
        if node.op == "const":
            return _constant(node)
        if node.op == "var":
            return self.columns[node.data]
        if node.op not in OPERATIONS:
            raise Unsupported(node.op)
        return OPERATIONS[node.op](node, *(self(a) for a in node.args))


def _constant(node: Node) -> Any:
    if isinstance(node.type, SeqType):
        k = bits_of(node.type.item)
        return np.int64(sum(v << (i * k) for i, v in enumerate(node.data)) | len(node.data) << SEQ_LENGTH_AT)
    return np.int64(int(node.data))


# -- operations -------------------------------------------------------------------------------------


def _truth(function: Callable[[Any, Any], Any]) -> Operation:
    return lambda _, a, b: function(a, b) * 1


def _chain(function: Callable[[Any, Any], Any]) -> Operation:
    return lambda _, *values: functools.reduce(function, values)


def _build(_: Node, *conditions: Any) -> Any:
    return sum((np.asarray(c, np.int64) << i for i, c in enumerate(conditions)), np.int64(0))


def _card(node: Node, mask: Any) -> Any:
    kind = node.args[0].type
    assert isinstance(kind, SetType)
    return sum((mask >> i) & 1 for i in range(min(kind.item.count, WIDEST)))  # a sort may have any number of members


def _lowest(_: Node, mask: Any) -> Any:
    below = (mask & -mask) - 1
    return sum((below >> i) & 1 for i in range(63)) * (mask != 0)


def _highest(_: Node, mask: Any) -> Any:
    word, index = np.asarray(mask), np.zeros_like(np.asarray(mask))
    for i in range(63):
        index = np.where((word >> i) & 1, i, index)
    return index


def _unpack(node: Node, record: Any) -> Any:
    kind, leaf = node.args[0].type, node.data
    assert isinstance(kind, RecordType)
    code, below = packed_field(kind, leaf)
    return _scalar((record >> below) & ((1 << code.bits) - 1), code, leaf)


def _items(node: Node, packed: Any) -> Iterator[tuple[Any, Any]]:
    """The items of a sequence, each with whether it is before the end."""
    assert isinstance(node.type, SeqType)
    k = bits_of(node.type.item)
    for i in range(node.type.length):
        yield (packed >> (i * k)) & ((1 << k) - 1), packed >> SEQ_LENGTH_AT > i


def _seq_set(node: Node, packed: Any) -> Any:
    mask: Any = np.int64(0)
    for item, there in _items(node.args[0], packed):
        mask = mask | np.where(there, np.int64(1) << item, 0)
    return mask


def _seq_keep(node: Node, packed: Any, mask: Any) -> Any:
    assert isinstance(node.type, SeqType)
    k = bits_of(node.type.item)
    row: Any = np.int64(0)
    count: Any = np.int64(0)
    for item, there in _items(node.args[0], packed):
        stays = there & ((mask >> item) & 1 == 1)
        row = row | np.where(stays, item << (count * k), 0)
        count = count + stays
    return row | count << SEQ_LENGTH_AT


OPERATIONS: dict[str, Operation] = {
    "not": lambda _, a: 1 - a, "and": _chain(operator.and_), "or": _chain(operator.or_),
    "eq": _truth(operator.eq), "lt": _truth(operator.lt),
    "ite": lambda _, condition, a, b: np.where(np.asarray(condition) != 0, a, b),
    "add": lambda _, a, b: a + b, "sub": lambda _, a, b: a - b, "mul": lambda _, a, b: a * b,
    "floordiv": lambda _, a, b: a // b, "mod": lambda _, a, b: a % b,
    "min": lambda _, a, b: np.minimum(a, b), "max": lambda _, a, b: np.maximum(a, b),
    "member": lambda _, item, mask: (mask >> item) & 1, "single": lambda _, item: np.int64(1) << item,
    "union": lambda _, a, b: a | b, "inter": lambda _, a, b: a & b, "minus": lambda _, a, b: a & ~b, "build": _build,
    "card": _card, "lowest": _lowest, "highest": _highest,
    "slot": lambda _, record: record + 1, "record": lambda _, slot: np.maximum(slot - 1, 0), "unpack": _unpack,
    "seq_len": lambda _, packed: packed >> SEQ_LENGTH_AT, "seq_keep": _seq_keep, "seq_set": _seq_set,
}  # fmt: skip
"""The column of each operation of `spec/frontend/operations.py`, but for those of `UNSUPPORTED`."""

_BY_Z3 = "no lemma has it; Z3 evaluates a property that has it in the states that it finds (`houdini.py`)"
UNSUPPORTED = {
    **dict.fromkeys(("seq_get", "seq_of", "seq_cat", "seq_drop", "seq_take", "seq_first", "seq_sorted"), _BY_Z3),
    "pack": "only the next state of a step has it, and a sample has no steps",
}
"""The operations that no column is computed for, and why no lemma is lost by it."""
