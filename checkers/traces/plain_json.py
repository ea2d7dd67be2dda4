"""Values as plain JSON, which a program reads without a library; `docs/reference/traces.md` describes it."""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from typing import Any

from reassure.spec.language.keys import TupleType
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
)
from reassure.spec.language.values import Map
from reassure.spec.semantics.trace import JsonObject, TraceError, value_read


def keys_once(pairs: list[tuple[str, Any]]) -> JsonObject:
    """A JSON object; `ValueError` if it has a key twice, of which a reader would see the last alone."""
    data = dict(pairs)
    if len(data) != len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"{reprlib.repr(key)} is listed twice")
    return data


def to_plain(value: Any, kind: Type) -> Any:
    """A value as plain JSON."""
    if isinstance(kind, BoolType):
        return bool(value)
    if isinstance(kind, IntType | IdType):
        return int(value)
    if isinstance(kind, EnumType):
        return value.name
    if isinstance(kind, OptionType):
        return None if value is None else to_plain(value, kind.inner)
    if isinstance(kind, TupleType):
        return [to_plain(v, part) for v, part in zip(value, kind.parts, strict=True)]
    if isinstance(kind, SetType | BagType):
        return [to_plain(v, kind.item) for v in sorted(value, key=kind.item.rank)]
    if isinstance(kind, SeqType | ColumnsType):
        return [to_plain(v, kind.item) for v in value]
    if isinstance(kind, MapType):
        return {key_text(k, kind.key): to_plain(value[k], kind.value) for k in kind.key.values()}
    assert isinstance(kind, RecordType)
    return {name: to_plain(getattr(value, name), t) for name, t in kind.fields}


def key_text(key: Any, kind: Type) -> str:
    """A key of a map as the name of a JSON field."""
    plain = to_plain(key, kind)
    return plain if isinstance(plain, str) else json.dumps(plain, separators=(",", ":"))


def from_plain(data: Any, kind: Type) -> Any:
    """The value that `to_plain` writes so; `TraceError` if it is not of the type."""
    return value_read(data, kind, _read)


def _read(data: Any, kind: Type) -> Any:
    if isinstance(kind, BoolType | IntType | IdType):
        if type(data) is not (bool if isinstance(kind, BoolType) else int):
            raise TypeError
        return kind.sort(data) if isinstance(kind, IdType) else data
    if isinstance(kind, EnumType):
        return kind.sort[data]
    if isinstance(kind, OptionType):
        return None if data is None else _read(data, kind.inner)
    if isinstance(kind, TupleType | SetType | BagType | SeqType | ColumnsType):
        if not isinstance(data, list):
            raise TypeError
        if isinstance(kind, TupleType):
            return tuple([_read(v, part) for v, part in zip(data, kind.parts, strict=True)])
        values = tuple(_read(v, kind.item) for v in data)
        return values if isinstance(kind, SeqType | ColumnsType) else frozenset(values)
    if not isinstance(data, dict):
        raise TypeError
    if isinstance(kind, MapType):
        keys = {key_text(k, kind.key): k for k in kind.key.values()}
        return Map([(keys[text], _read(v, kind.value)) for text, v in data.items()])
    assert isinstance(kind, RecordType)
    if set(data) != {name for name, _ in kind.fields}:
        raise TraceError(f"{kind} has the fields {', '.join(n for n, _ in kind.fields)}, not {', '.join(data)}")
    return kind.cls(**{name: _read(data[name], t) for name, t in kind.fields})
