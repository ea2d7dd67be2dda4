"""The state space as data: packed states as typed Arrow columns, whole levels as Parquet that SQL reads directly.

    states/      id, level; parent (id), action and params, the step by which a shortest path comes here; and a column
                 for each field (`id_` and so on if it has such a name): sets and sequences are arrays, records
                 structs, maps maps (a key that is a tuple is a struct of `_1` and `_2`); Parquet has no record without
                 fields, which is `true`
    edges/       source and target (ids), action, params, level of the source: every step taken
    levels/, properties/   what the run says of them

An id is the packed state in hexadecimal digits: exact, and the same in every run of this model and configuration.
`params` is a struct with a struct for each action that has parameters; null in all but the one of the step's action.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reassure.checkers.encoding.state_layout import Field, Layout, codes
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import ACTION_MASK
from reassure.checkers.engines.native.kernels.partitioning import edge_list
from reassure.checkers.engines.native.model.kernel_numbers import ModelKernel
from reassure.checkers.engines.spark.partitioning import Work, kernel_of
from reassure.checkers.engines.spark.run_directory import Commit, RunDirectory
from reassure.checkers.engines.spark.tasks import FileSlice
from reassure.checkers.request.engine_results import CoverResult
from reassure.checkers.request.result import PropertyResult
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.keys import TupleType
from reassure.spec.language.number_sets import NumbersType
from reassure.spec.language.types import (
    BagType,
    BoolType,
    ColumnsType,
    EnumType,
    IdType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
    bits_of,
)

OWN = ("id", "level", "parent", "action", "params")
"""Columns that are not the model's."""
CHUNK = 1 << 15
"""States turned into columns at a time."""


@dataclass(frozen=True)
class Shape:
    """A type without the model's classes, so that a task needs no model: its kind, and the shapes in it."""

    kind: type[Type] | None
    """None: a value of `inner` in one number, its fields side by side."""
    inner: tuple[Shape, ...] = ()
    names: tuple[Any, ...] = ()
    """Fields of a record, of a key that is a tuple, values of an enumeration, keys of a map."""
    size: int = 0
    """The lowest number, the items of a sequence or set, the slots of a bag."""
    bits: tuple[int, ...] = ()
    """Of what is packed within: the item of a sequence, the fields of a value in one number. Of a key that is a tuple,
    how many values each part has."""


@dataclass(frozen=True)
class Columns:
    """The Arrow column of each field of a state, and its place in the words."""

    shape: Shape
    fields: tuple[tuple[int, int, int], ...]
    """Word, shift and bits of each stored number, in order."""

    @classmethod
    def of(cls, layout: Layout) -> Columns:
        return cls(_shape_of(layout.type), _places(layout.fields))

    def array(self, rows: Rows) -> pa.StructArray:
        """The records that these rows hold."""
        unsigned = rows.view(np.uint64)
        stored = iter(
            [(unsigned[:, w] >> np.uint64(s) & np.uint64((1 << b) - 1)).astype(np.int64) for w, s, b in self.fields]
        )
        return _array(self.shape, stored, len(rows))


@dataclass(frozen=True)
class Tables:
    """The columns of `states` and `edges`, made from rows of words."""

    state: Columns
    actions: tuple[str, ...]
    params: tuple[Columns | None, ...]
    """By action; none: it has no parameters."""

    @classmethod
    def of(cls, layout: Layout, kernel: ModelKernel, model: LoweredModel) -> Tables:
        """kernel: one with parameters."""
        parameter_columns: list[Columns | None] = []
        for action, fields in zip(model.actions, kernel.parameters, strict=True):
            inner = tuple(
                _packed(p.type) if isinstance(p.drawn, tuple) else _shape_of(p.type) for p in action.parameters
            )
            shape = Shape(RecordType, inner, tuple(p.name for p in action.parameters))
            parameter_columns.append(Columns(shape, _places(fields)) if inner else None)
        return cls(Columns.of(layout), kernel.actions, tuple(parameter_columns))

    def fields(self, rows: Rows) -> dict[str, pa.Array]:
        """The fields of these states, by column."""
        whole = self.state.array(rows).flatten() if self.state.shape.names else []
        return {f"{n}_" if n.lower() in OWN else n: a for n, a in zip(self.state.shape.names, whole, strict=True)}

    def step(self, actions: Any, words: Rows) -> dict[str, pa.Array]:
        """Columns `action` and `params` of steps. actions: their numbers, -1 where there is none."""
        none = pa.array(actions < 0)
        named = pa.array(self.actions, pa.string()).take(pa.array(np.maximum(actions, 0)))
        arrays: dict[str, pa.Array] = {"action": pc.if_else(none, pa.scalar(None, pa.string()), named)}
        inner: dict[str, pa.Array] = {}
        for number, columns in enumerate(self.params):
            if columns is not None:
                its = actions == number
                values = columns.array(np.ascontiguousarray(words[its]))
                inner[self.actions[number]] = values.take(pa.array(np.cumsum(its) - 1, mask=~its))
        if inner:
            arrays["params"] = pa.StructArray.from_arrays(list(inner.values()), names=list(inner))
        return arrays


def _places(fields: tuple[Field, ...]) -> tuple[tuple[int, int, int], ...]:
    return tuple((f.word, f.shift, f.code.bits) for f in fields)


def _packed(kind: Type) -> Shape:
    """A record in one number."""
    return Shape(None, (_shape_of(kind),), bits=tuple(c.bits for c in codes(kind)))


def _shape_of(kind: Type) -> Shape:
    """The shape of a type."""
    if isinstance(kind, RecordType):
        names = (f"_{i}" for i in range(1, len(kind.fields) + 1)) if isinstance(kind, TupleType) else dict(kind.fields)
        return Shape(RecordType, tuple(_shape_of(t) for _, t in kind.fields), tuple(names))
    if isinstance(kind, MapType):
        key = _shape_of(kind.key)
        if isinstance(kind.key, TupleType):  # one number for all parts
            key = replace(key, kind=TupleType, bits=tuple(part.count for part in kind.key.parts))
        return Shape(MapType, (key, _shape_of(kind.value)), tuple(range(kind.key.count)))
    if isinstance(kind, OptionType):
        return Shape(OptionType, (_shape_of(kind.inner),))
    if isinstance(kind, BagType):
        return Shape(BagType, (_packed(kind.item),), size=kind.size)
    if isinstance(kind, ColumnsType):
        return Shape(ColumnsType, (_shape_of(kind.place),), size=kind.length)
    if isinstance(kind, NumbersType):
        return Shape(NumbersType, (_shape_of(kind.item),), size=kind.item.count)
    if isinstance(kind, SetType):
        return Shape(SetType, (_shape_of(kind.item),), size=kind.item.count)
    if isinstance(kind, SeqType):
        return Shape(SeqType, (_shape_of(kind.item),), size=kind.length, bits=(bits_of(kind.item),))
    if isinstance(kind, EnumType):
        return Shape(EnumType, names=tuple(str(member.value) for member in kind.sort))
    if isinstance(kind, IdType | IntType):
        return Shape(IntType, size=kind.first if isinstance(kind, IdType) else kind.low)
    assert isinstance(kind, BoolType)
    return Shape(BoolType)


def _array(shape: Shape, stored: Iterator[Any], n: int) -> pa.Array:
    """The values whose stored numbers come next, as `checkers.encoding.state_layout` puts them in order."""
    if shape.kind is RecordType and not shape.names:
        return pa.array(np.ones(n, np.bool_))
    if shape.kind is RecordType:
        arrays = [_array(inner, stored, n) for inner in shape.inner]
        return pa.StructArray.from_arrays(arrays, names=list(shape.names))
    if shape.kind is MapType:
        key, value = shape.inner
        count = len(shape.names)
        values = [_array(value, stored, n) for _ in range(count)]
        keys = _scalars(key, np.tile(np.arange(count), n))
        order = (np.arange(count)[None, :] * n + np.arange(n)[:, None]).reshape(-1)
        offsets = pa.array(np.arange(n + 1) * count, pa.int32())
        return pa.MapArray.from_arrays(offsets, keys, pa.concat_arrays(values).take(pa.array(order)))
    if shape.kind is OptionType:
        number, (inner,) = next(stored), shape.inner
        scalar = inner.kind in (BoolType, IntType, EnumType)  # then None is one number more
        return _where(number != 0, _scalars(inner, np.maximum(number - 1, 0)) if scalar else _array(inner, stored, n))
    if shape.kind is ColumnsType:
        places = pa.concat_arrays([_array(shape.inner[0], stored, n) for _ in range(shape.size)])
        by_state = (np.arange(shape.size)[None, :] * n + np.arange(n)[:, None]).reshape(-1)
        items = places.take(pa.array(by_state))
        lengths = np.asarray(items.is_valid()).reshape(n, shape.size).sum(axis=1)
        return pa.ListArray.from_arrays(_offsets(lengths), items.drop_null())
    if shape.kind is BagType:
        slots = np.stack([next(stored) for _ in range(shape.size)], axis=1)
        packed = slots[slots > 0] - 1
        items = _array(shape.inner[0], iter([packed]), len(packed))
        return pa.ListArray.from_arrays(_offsets((slots > 0).sum(axis=1)), items)
    if shape.kind is None:
        packed, fields = next(stored), []
        for bits in reversed(shape.bits):
            fields.append(packed & ((1 << bits) - 1))
            packed = packed >> bits
        return _array(shape.inner[0], iter(fields[::-1]), n)
    if shape.kind in (SetType, NumbersType):
        if shape.kind is SetType:
            inside = (next(stored)[:, None] >> np.arange(shape.size)) & 1 != 0
        else:
            inside = np.stack([next(stored) for _ in range(shape.size)], axis=1) != 0
        members = np.nonzero(inside)[1]
        return pa.ListArray.from_arrays(_offsets(inside.sum(axis=1)), _scalars(shape.inner[0], members))
    if shape.kind is SeqType:
        packed, (bits,) = next(stored), shape.bits
        length = packed >> (shape.size * bits)
        number = (packed[:, None] >> (np.arange(shape.size) * bits)) & ((1 << bits) - 1)
        inside = np.arange(shape.size)[None, :] < length[:, None]
        return pa.ListArray.from_arrays(_offsets(length), _scalars(shape.inner[0], number[inside]))
    return _scalars(shape, next(stored))


def _scalars(shape: Shape, numbers: Any) -> pa.Array:
    if shape.kind is BoolType:
        return pa.array(numbers != 0)
    if shape.kind is EnumType:
        return pa.array(shape.names, pa.string()).take(pa.array(numbers))
    if shape.kind is TupleType:
        columns: list[pa.Array] = []
        for part, count in zip(shape.inner[::-1], shape.bits[::-1], strict=True):
            columns.insert(0, _scalars(part, numbers % count))
            numbers = numbers // count
        return pa.StructArray.from_arrays(columns, names=list(shape.names))
    return pa.array(numbers + shape.size, pa.int64())


def _where(there: Any, values: pa.Array) -> pa.Array:
    """Null elsewhere."""
    return values.take(pa.array(np.arange(len(there)), mask=~there))


def _offsets(lengths: Any) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def state_ids(rows: Rows) -> pa.Array:
    """The states' ids."""
    text = binascii.hexlify(rows.view(np.uint64).astype(">u8").tobytes())
    offsets = np.arange(len(rows) + 1, dtype=np.int64) * (16 * rows.shape[1])
    wide = pa.LargeStringArray.from_buffers(len(rows), pa.py_buffer(offsets), pa.py_buffer(text))
    return wide.cast(pa.string())


# -- writing -----------------------------------------------------------------------------------------------------


def write_states(work: Work, tables: Tables, level: int, pieces: Iterable[FileSlice]) -> Iterator[int]:
    """Files of `states` for some pieces of a level; the rows written."""
    words = work.kernel.words
    for name, rows, origins in _chunks(work, level, pieces, origins=True):
        action = origins[:, words]
        before = state_ids(np.ascontiguousarray(origins[:, :words]))
        columns = {
            "id": state_ids(rows),
            "level": pa.array(np.full(len(rows), level, np.int32)),
            "parent": pc.if_else(pa.array(action < 0), pa.scalar(None, pa.string()), before),
            **tables.step(action, origins[:, words + 1 :]),
            **tables.fields(rows),
        }
        yield _write(work, f"states/{name}", pa.table(columns))


def write_edges(work: Work, tables: Tables, level: int, pieces: Iterable[FileSlice]) -> Iterator[int]:
    """Files of `edges` for the steps from some pieces of a level."""
    words = work.kernel.words
    behind = words + work.kernel.step_words
    for name, rows, _ in _chunks(work, level, pieces):
        out, counts = edge_list(kernel_of(work), rows)
        columns = {
            "source": state_ids(rows).take(pa.array(np.repeat(np.arange(len(rows)), counts))),
            "target": state_ids(np.ascontiguousarray(out[:, :words])),
            **tables.step(out[:, words] & ACTION_MASK, out[:, behind:]),
            "level": pa.array(np.full(len(out), level, np.int32)),
        }
        yield _write(work, f"edges/{name}", pa.table(columns))


def _chunks(
    work: Work, level: int, pieces: Iterable[FileSlice], origins: bool = False
) -> Iterator[tuple[str, Rows, Rows]]:
    """Names of files, states, and their origins if those are asked for."""
    directory = RunDirectory.at(work.place)
    chunk = max(64, min(CHUNK, (1 << 22) // max(1, work.kernel.max_successors)))
    for piece in pieces:
        rows = directory.read_states(piece.file)
        their = directory.read_states(piece.file, "o") if origins else rows
        for low in range(piece.low, piece.high, chunk):
            name = piece.file.split("/")[-1].removesuffix(".parquet")
            high = min(low + chunk, piece.high)
            yield f"level-{level:04}-{name}-{low}.parquet", np.ascontiguousarray(rows[low:high]), their[low:high]


def _write(work: Work, name: str, table: pa.Table) -> int:
    RunDirectory.at(work.place).write_table(name, table)
    return int(table.num_rows)


def write_summary(
    directory: RunDirectory, commits: list[Commit], properties: Iterable[PropertyResult], covers: Iterable[CoverResult]
) -> None:
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
    rows = [(p.name, p.kind, str(p.status), p.depth) for p in properties]
    rows += [(c.name, "cover", "reached" if c.reached else "not reached", c.depth) for c in covers]
    names, kinds, statuses, depths = (list(column) for column in zip(*rows, strict=True)) if rows else ([],) * 4
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
