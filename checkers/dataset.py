"""The state space as data: packed states as typed Arrow columns, whole levels as Parquet that SQL reads directly.

    states/      id, level, and a column for each field (`id_`, `level_` if it has such a name): sets and sequences
                 are arrays, records structs, maps maps
    edges/       source and target (ids), action, level of the source: every step taken
    levels/, properties/   what the run says of them

An id is the packed state in hexadecimal digits: exact, and the same in every run of this model and configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.breadth_first import Rows
from checkers.layout import Layout, codes, is_index
from checkers.run_directory import Commit, RunDirectory
from checkers.spark_tasks import Piece, Work, module_of, states_of
from checkers.verdict import Verdict
from spec.domains import (
    BagType,
    BoolType,
    EnumType,
    IdType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)
from spec.symbols import bits_of

CHUNK = 1 << 15
"""States turned into columns at a time."""


@dataclass(frozen=True)
class Shape:
    """A type without the model's classes, so that a task needs no model: what it is, and what it is made of."""

    kind: str
    inner: tuple[Shape, ...] = ()
    names: tuple[Any, ...] = ()
    """Fields of a record, values of an enumeration, keys of a map."""
    size: int = 0
    """The lowest number, the items of a sequence or set, the slots of a bag."""
    bits: tuple[int, ...] = ()
    """Of what is packed within: the item of a sequence, the fields of a bag's record."""


@dataclass(frozen=True)
class Columns:
    """How to take a state's words apart."""

    shape: Shape
    fields: tuple[tuple[int, int, int], ...]
    """Word, shift and bits of each stored number, in order."""

    @classmethod
    def of(cls, layout: Layout) -> Columns:
        return cls(shape_of(layout.type), tuple((f.word, f.shift, f.code.bits) for f in layout.fields))

    def table(self, rows: Rows) -> pa.Table:
        """The fields of these states."""
        unsigned = rows.view(np.uint64)
        stored = iter(
            [(unsigned[:, w] >> np.uint64(s) & np.uint64((1 << b) - 1)).astype(np.int64) for w, s, b in self.fields]
        )
        whole = _array(self.shape, stored, len(rows))
        names = [f"{n}_" if n.lower() in ("id", "level") else n for n in self.shape.names]
        return pa.Table.from_arrays(whole.flatten(), names=names)


def shape_of(kind: Type) -> Shape:
    """The shape of a type."""
    if isinstance(kind, RecordType):
        return Shape("record", tuple(shape_of(t) for _, t in kind.fields), tuple(n for n, _ in kind.fields))
    if isinstance(kind, MapType):
        return Shape("map", (shape_of(kind.key), shape_of(kind.value)), tuple(range(kind.key.count)))
    if isinstance(kind, OptionType):
        return Shape("index?" if is_index(kind.inner) else "option", (shape_of(kind.inner),))
    if isinstance(kind, BagType):
        return Shape("bag", (shape_of(kind.item),), size=kind.size, bits=tuple(c.bits for c in codes(kind.item)))
    if isinstance(kind, SetType):
        return Shape("set", (shape_of(kind.item),), size=kind.item.count)
    if isinstance(kind, SeqType):
        return Shape("sequence", (shape_of(kind.item),), size=kind.length, bits=(bits_of(kind.item),))
    if isinstance(kind, EnumType):
        return Shape("enum", names=tuple(str(member.value) for member in kind.sort))
    if isinstance(kind, IdType):
        return Shape("number", size=kind.first)
    if isinstance(kind, IntType):
        return Shape("number", size=kind.low)
    assert isinstance(kind, BoolType)
    return Shape("bool")


def _array(shape: Shape, stored: Iterator[Any], n: int) -> pa.Array:
    """The values whose stored numbers come next, as `checkers.layout` puts them in order."""
    if shape.kind == "record":
        made = [_array(inner, stored, n) for inner in shape.inner]
        return pa.StructArray.from_arrays(made, names=list(shape.names))
    if shape.kind == "map":
        key, value = shape.inner
        count = len(shape.names)
        values = [_array(value, stored, n) for _ in range(count)]
        keys = _scalars(key, np.tile(np.arange(count), n))
        order = (np.arange(count)[None, :] * n + np.arange(n)[:, None]).reshape(-1)
        offsets = pa.array(np.arange(n + 1) * count, pa.int32())
        return pa.MapArray.from_arrays(offsets, keys, pa.concat_arrays(values).take(pa.array(order)))
    if shape.kind == "option":
        present = next(stored) != 0
        return _where(present, _array(shape.inner[0], stored, n))
    if shape.kind == "index?":
        number = next(stored)
        return _where(number != 0, _scalars(shape.inner[0], np.maximum(number - 1, 0)))
    if shape.kind == "bag":
        slots = np.stack([next(stored) for _ in range(shape.size)], axis=1)
        packed, inner = slots[slots > 0] - 1, []
        for bits in reversed(shape.bits):
            inner.append(packed & ((1 << bits) - 1))
            packed = packed >> bits
        items = _array(shape.inner[0], iter(inner[::-1]), len(packed))
        return pa.ListArray.from_arrays(_offsets((slots > 0).sum(axis=1)), items)
    if shape.kind == "set":
        mask = next(stored)
        inside = (mask[:, None] >> np.arange(shape.size)) & 1 != 0
        members = np.nonzero(inside)[1]
        return pa.ListArray.from_arrays(_offsets(inside.sum(axis=1)), _scalars(shape.inner[0], members))
    if shape.kind == "sequence":
        packed, (bits,) = next(stored), shape.bits
        length = packed >> (shape.size * bits)
        number = (packed[:, None] >> (np.arange(shape.size) * bits)) & ((1 << bits) - 1)
        inside = np.arange(shape.size)[None, :] < length[:, None]
        return pa.ListArray.from_arrays(_offsets(length), _scalars(shape.inner[0], number[inside]))
    return _scalars(shape, next(stored))


def _scalars(shape: Shape, numbers: Any) -> pa.Array:
    if shape.kind == "bool":
        return pa.array(numbers != 0)
    if shape.kind == "enum":
        return pa.array(shape.names, pa.string()).take(pa.array(numbers))
    return pa.array(numbers + shape.size, pa.int64())


def _where(there: Any, values: pa.Array) -> pa.Array:
    """Null elsewhere."""
    return values.take(pa.array(np.arange(len(there)), mask=~there))


def _offsets(lengths: Any) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def ids(rows: Rows) -> pa.Array:
    """The states' ids."""
    text = rows.view(np.uint64).astype(">u8").tobytes().hex()
    width = 16 * rows.shape[1]
    return pa.array([text[i : i + width] for i in range(0, len(text), width)], pa.string())


# -- writing -----------------------------------------------------------------------------------------------------


def write_states(work: Work, columns: Columns, level: int, pieces: Iterable[Piece]) -> Iterator[int]:
    """Files of `states` for some pieces of a level; the rows written."""
    for name, rows in _chunks(work, level, pieces):
        table = columns.table(rows)
        table = table.add_column(0, "level", pa.array(np.full(len(rows), level, np.int32)))
        yield _write(work, f"states/{name}", table.add_column(0, "id", ids(rows)))


def write_edges(work: Work, level: int, pieces: Iterable[Piece]) -> Iterator[int]:
    """Files of `edges` for the steps from some pieces of a level."""
    m, words = module_of(work), work.kernel.layout.words
    actions = pa.array(work.kernel.actions, pa.string())
    for name, rows in _chunks(work, level, pieces):
        out = np.empty((len(rows) * max(1, work.kernel.max_successors), work.kernel.row_words), np.int64)
        counts, tally = np.zeros(len(rows), np.int64), np.zeros(m.TALLY, np.int64)
        n = m.edges(rows, out, counts, tally)
        made = {
            "source": ids(rows).take(pa.array(np.repeat(np.arange(len(rows)), counts))),
            "target": ids(np.ascontiguousarray(out[:n, :words])),
            "action": actions.take(pa.array(out[:n, words] & 0xFFFF)),
            "level": pa.array(np.full(n, level, np.int32)),
        }
        yield _write(work, f"edges/{name}", pa.table(made))


def _chunks(work: Work, level: int, pieces: Iterable[Piece]) -> Iterator[tuple[str, Rows]]:
    directory = RunDirectory.at(work.place)
    chunk = max(64, min(CHUNK, (1 << 22) // max(1, work.kernel.max_successors)))
    for piece in pieces:
        rows = states_of(work, directory, piece.file)
        for low in range(piece.low, piece.high, chunk):
            name = piece.file.split("/")[-1].removesuffix(".parquet")
            part = np.ascontiguousarray(rows[low : min(low + chunk, piece.high)])
            yield f"level-{level:04}-{name}-{low}.parquet", part


def _write(work: Work, name: str, table: pa.Table) -> int:
    RunDirectory.at(work.place).write_table(name, table)
    return int(table.num_rows)


def write_summary(directory: RunDirectory, commits: list[Commit], verdict: Verdict) -> None:
    """The small datasets: one row for each level, one for each property and cover."""
    visited = np.cumsum([c.states for c in commits])
    directory.write_table(
        "levels/levels.parquet",
        pa.table(
            {
                "level": pa.array([c.level for c in commits], pa.int32()),
                "states": pa.array([c.states for c in commits], pa.int64()),
                "visited": pa.array(visited, pa.int64()),
                "shuffled_bytes": pa.array([c.shuffled for c in commits], pa.int64()),
                "seconds": pa.array([c.seconds for c in commits], pa.float64()),
            }
        ),
    )
    found = [(p.name, p.kind, p.status, p.depth) for p in verdict.properties]
    found += [(c.name, "cover", "reached" if c.reached else "not reached", c.depth) for c in verdict.covers]
    names, kinds, statuses, depths = (list(column) for column in zip(*found, strict=True)) if found else ([],) * 4
    directory.write_table(
        "properties/properties.parquet",
        pa.table(
            {
                "name": pa.array(names, pa.string()),
                "kind": pa.array(kinds, pa.string()),
                "status": pa.array(statuses, pa.string()),
                "depth": pa.array(depths, pa.int32()),
            }
        ),
    )


__all__ = ["Columns", "write_edges", "write_states", "write_summary"]
