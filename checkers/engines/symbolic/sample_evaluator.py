"""Many states at once: the nodes of the IR evaluated with numpy over the columns of a sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT, Layout, codes
from reassure.spec.frontend.ir import Node, items
from reassure.spec.language.types import IntType, RecordType, SeqType, SetType, Type, bits_of

Column = NDArray[np.int64]


class Unsupported(Exception):
    """An operation that is not evaluated here."""


def columns(rows: Column, layout: Layout, paths: list[str]) -> dict[str, Column]:
    """The scalars of packed states, by path: indices, masks, ints as they are, sequences packed."""
    found: dict[str, Column] = {}
    for f in layout.fields:
        code = f.code
        stored = (rows[:, f.word] >> f.shift) & ((1 << code.bits) - 1)
        low = code.type.low if isinstance(code.type, IntType) else 0
        if code.optional:
            found[paths[code.leaf]] = (stored != 0).astype(np.int64)
            found[paths[code.leaf + 1]] = np.maximum(stored - 1, 0) + low
        elif isinstance(code.type, SeqType):
            room = code.type.length * bits_of(code.type.item)
            found[paths[code.leaf]] = (stored & ((1 << room) - 1)) | ((stored >> room) << SEQ_LENGTH_AT)
        else:
            found[paths[code.leaf]] = stored + low
    return found


class Sample:
    """Nodes over states in columns; bools are 0 and 1."""

    def __init__(self, given: dict[str, Column]) -> None:
        self.given = given
        self.made: dict[Node, Any] = {}

    def __call__(self, node: Node) -> Any:
        if node not in self.made:
            self.made[node] = self._value(node)
        return self.made[node]

    def holds(self, node: Node) -> bool:
        """Whether a condition is true in every state."""
        return bool(np.all(self(node)))

    def _value(self, node: Node) -> Any:
        op, kind = node.op, node.type
        if op == "const":
            return _constant(node)
        if op == "var":
            return self.given[node.data]
        made = [self(a) for a in node.args]
        if op == "ite":
            return np.where(np.asarray(made[0]) != 0, made[1], made[2])
        if op in ("and", "or"):
            found = made[0]
            for more in made[1:]:
                found = found & more if op == "and" else found | more
            return found
        if op == "build":
            return sum((np.asarray(m, np.int64) << i for i, m in enumerate(made)), np.int64(0))
        if op == "unpack":
            return _unpacked(node.args[0].type, made[0], node.data)
        if op == "seq_set":
            assert isinstance(node.args[0].type, SeqType)
            return _seq_set(made[0], node.args[0].type)
        if op == "seq_keep":
            assert isinstance(node.args[0].type, SeqType)
            return _seq_keep(made[0], made[1], node.args[0].type)
        if op == "seq_len":
            return made[0] >> SEQ_LENGTH_AT
        if op in _OPS:
            return _OPS[op](*made)
        raise Unsupported(f"{op} of {kind}")


def _constant(node: Node) -> Any:
    if isinstance(node.type, SeqType):
        k = bits_of(node.type.item)
        return np.int64(sum(v << (i * k) for i, v in enumerate(node.data)) | len(node.data) << SEQ_LENGTH_AT)
    return np.int64(int(node.data))


def _seq_set(packed: Any, kind: SeqType) -> Any:
    k = bits_of(kind.item)
    found: Any = np.int64(0)
    for i in range(kind.length):
        item = (packed >> (i * k)) & ((1 << k) - 1)
        found = found | np.where(packed >> SEQ_LENGTH_AT > i, np.int64(1) << item, 0)
    return found


def _seq_keep(packed: Any, mask: Any, kind: SeqType) -> Any:
    k = bits_of(kind.item)
    found: Any = np.int64(0)
    count: Any = np.int64(0)
    for i in range(kind.length):
        item = (packed >> (i * k)) & ((1 << k) - 1)
        kept = (packed >> SEQ_LENGTH_AT > i) & ((mask >> item) & 1 == 1)
        found = found | np.where(kept, item << (count * k), 0)
        count = count + kept
    return found | count << SEQ_LENGTH_AT


def _unpacked(kind: Type, word: Column, leaf: int) -> Any:
    assert isinstance(kind, RecordType)
    shift = 0
    for code in reversed(codes(kind)):
        stored = (word >> shift) & ((1 << code.bits) - 1)
        low = code.type.low if isinstance(code.type, IntType) else 0
        if code.optional and leaf == code.leaf:
            return (stored != 0).astype(np.int64)
        if code.optional and leaf == code.leaf + 1:
            return np.maximum(stored - 1, 0) + low
        if leaf == code.leaf:
            if isinstance(code.type, SeqType):
                raise Unsupported("a sequence in a message")
            return stored + low
        shift += code.bits
    raise AssertionError("no such leaf")


def _card(mask: Any) -> Any:
    return np.asarray(sum((np.asarray(mask) >> i) & 1 for i in range(64)), np.int64)


def _lowest(mask: Any) -> Any:
    word = np.asarray(mask)
    return _card((word & -word) - 1) * (word != 0)


def _highest(mask: Any) -> Any:
    word, found = np.asarray(mask), np.zeros_like(np.asarray(mask))
    for i in range(63):
        found = np.where((word >> i) & 1, i, found)
    return found


_OPS: dict[str, Callable[..., Any]] = {
    "not": lambda a: 1 - a,
    "eq": lambda a, b: (np.asarray(a) == b).astype(np.int64),
    "lt": lambda a, b: (np.asarray(a) < b).astype(np.int64),
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": np.minimum,
    "max": np.maximum,
    "member": lambda item, mask: (mask >> item) & 1,
    "single": lambda item: np.int64(1) << item,
    "union": lambda a, b: a | b,
    "inter": lambda a, b: a & b,
    "minus": lambda a, b: a & ~b,
    "card": _card,
    "lowest": _lowest,
    "highest": _highest,
    "slot": lambda record: record + 1,
    "record": lambda slot: np.maximum(slot - 1, 0),
}

__all__ = ["Column", "Sample", "SetType", "Unsupported", "columns", "items"]
