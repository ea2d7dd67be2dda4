"""Where a state holds ids that may be renamed: a list of entries, made from its type."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace

from reassure.checkers.encoding.state_layout import Code, codes, is_index
from reassure.checkers.engines.native.kernels import canonical as kernel
from reassure.spec.language.keys import TupleType, nested
from reassure.spec.language.number_sets import NumbersType
from reassure.spec.language.types import (
    BagType,
    ColumnsType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
    bits_of,
)

Key = tuple[int, int]
"""A key of a map on the way to a field: the id, and the fields between those of two neighbouring ids."""


@dataclass(frozen=True)
class FieldEntry:
    """A field, or the slots of a set of records, as `kernels/canonical.py` tells the kinds.

    field: its number, or that of the first slot. shape: the number with the first id for each key. code: of the field.
    sort: the number of the first id of its sort. item: bits of an item. count: items, or slots. flag: of an id within
    an optional, the number of the field that says whether there is a value; -1: there always is one.
    """

    kind: int
    field: int
    shape: int
    code: Code
    sort: int = 0
    item: int = 0
    count: int = 0
    keys: tuple[Key, ...] = ()
    record: tuple[FieldEntry, ...] = ()
    record_type: RecordType | None = None
    flag: int = -1

    @property
    def members(self) -> int:
        """Ids that one fact mentions, at most; of a set in a record, which mentions any number, two are counted."""
        own = 0 if self.kind in (kernel.PLAIN, kernel.SLOTS) else 1
        several = (kernel.SET, kernel.SEQUENCE, kernel.LIST)
        return len(self.keys) + own + sum(2 if e.kind in several else e.members for e in self.record)


def entries_of(kind: RecordType, first: Mapping[Type, int], unordered: Container[Type] = ()) -> tuple[FieldEntry, ...]:
    """The entries of a record type, its fields numbered as `codes` gives them.

    first: by sort, the number of an id. unordered: the sorts of which sequences are in no order.
    """
    entries = _of(kind, codes(kind), 0, 0, (), first)
    return tuple(
        replace(entry, kind=kernel.LIST) if entry.kind == kernel.SEQUENCE and _item(entry) in unordered else entry
        for entry in entries
    )


def _item(entry: FieldEntry) -> Type | None:
    return entry.code.type.item if isinstance(entry.code.type, SeqType) else None


def _of(
    kind: Type,
    stored: list[Code],
    field: int,
    shape: int,
    keys: tuple[Key, ...],
    first: Mapping[Type, int],
    flag: int = -1,
) -> Iterator[FieldEntry]:
    if isinstance(kind, RecordType):
        for _, inner in kind.fields:
            yield from _of(inner, stored, field, shape, keys, first, flag)
            field, shape = field + len(codes(inner)), shape + len(codes(inner))
    elif isinstance(kind, MapType) and isinstance(kind.key, TupleType):
        yield from _of(nested(kind), stored, field, shape, keys, first, flag)
    elif isinstance(kind, MapType):
        stride = len(codes(kind.value))
        for index in range(kind.key.count):
            at = index * stride
            if kind.key in first:
                further = (*keys, (first[kind.key] + index, stride))
                yield from _of(kind.value, stored, field + at, shape, further, first, flag)
            else:
                yield from _of(kind.value, stored, field + at, shape + at, keys, first, flag)
    elif isinstance(kind, ColumnsType):
        for at in range(0, len(codes(kind)), len(codes(kind.place))):
            yield from _of(kind.place, stored, field + at, shape + at, keys, first, flag)
    elif isinstance(kind, NumbersType):
        for at in range(kind.item.count):
            yield FieldEntry(kernel.PLAIN, field + at, shape + at, stored[field + at], keys=keys)
    elif isinstance(kind, OptionType) and not is_index(kind.inner):
        yield FieldEntry(kernel.PLAIN, field, shape, stored[field], keys=keys)
        yield from _of(kind.inner, stored, field + 1, shape + 1, keys, first, field)
    elif isinstance(kind, BagType):
        if kind.size:
            record = tuple(part for one in entries_of(kind.item, first) for part in _without_ids(one, kind.item))
            yield FieldEntry(kernel.SLOTS, field, shape, stored[field], 0, 0, kind.size, keys, record, kind.item)
    else:
        entry = _of_scalar(kind, stored[field], field, shape, keys, first)
        yield replace(entry, flag=flag) if entry.kind == kernel.ID else entry  # what else is absent names no id


def _without_ids(entry: FieldEntry, record: RecordType) -> Iterator[FieldEntry]:
    """An entry of a record in a set; of a set of records in there, which holds no id (`cells.py`), each slot."""
    if entry.kind != kernel.SLOTS:
        yield entry
        return
    assert not any(one.members for one in entry.record)
    stored = codes(record)
    for k in range(entry.count):
        yield FieldEntry(kernel.PLAIN, entry.field + k, entry.shape + k, stored[entry.field + k], keys=entry.keys)


def _of_scalar(
    kind: Type, code: Code, field: int, shape: int, keys: tuple[Key, ...], first: Mapping[Type, int]
) -> FieldEntry:
    item = kind.inner if isinstance(kind, OptionType) else getattr(kind, "item", kind)
    if item not in first:
        return FieldEntry(kernel.PLAIN, field, shape, code, keys=keys)
    sort = first[item]
    if isinstance(kind, SetType):
        return FieldEntry(kernel.SET, field, shape, code, sort, keys=keys)
    if isinstance(kind, SeqType):
        return FieldEntry(kernel.SEQUENCE, field, shape, code, sort, bits_of(item), kind.length, keys)
    return FieldEntry(kernel.OPTION if isinstance(kind, OptionType) else kernel.ID, field, shape, code, sort, keys=keys)
