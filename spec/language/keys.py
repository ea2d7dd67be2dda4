"""Tuples of a fixed number of parts: keys of maps, as `Map[tuple[Server, Server], bool]` has them, and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import MapType, Misfit, RecordType, Type, first_misfit

MOST_KEYS = 4096
"""Keys of a map, at most: a state has so many bits, and each value takes one."""


@dataclass(frozen=True)
class TupleType(RecordType):
    """Tuples of a fixed number of parts: records whose fields are the places, `[0]`, `[1]`, ....

    A map from them has its values in the order of a map from the first part to maps from the others (`nested`).
    """

    @classmethod
    def of(cls, parts: Iterable[Type]) -> TupleType:
        """The tuples with parts of these types."""
        return cls(tuple, tuple((f"[{place}]", part) for place, part in enumerate(parts)))

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types of the parts."""
        return tuple([part for _, part in self.fields])

    def made(self, parts: Iterable[Any]) -> Any:
        return tuple(parts)

    def parts_of(self, value: Any) -> Iterator[Any]:
        return iter(value)

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is not tuple or len(value) != len(self.fields):
            return Misfit(False, "", f"{value!r} is not a {self}")
        return first_misfit((kind.misfit(part), name) for (name, kind), part in zip(self.fields, value, strict=True))

    def __str__(self) -> str:
        return f"tuple ({', '.join(map(str, self.parts))})"


def key_parts(key: Type) -> tuple[Type, ...]:
    """The types of the parts of a key that is a tuple; of another key, its type."""
    return key.parts if isinstance(key, TupleType) else (key,)


def nested(kind: MapType) -> MapType:
    """A map from tuples as a map from their first parts to maps from the others, which is stored in the same way."""
    first, *others = key_parts(kind.key)
    if not others:
        return MapType(first, kind.value)
    rest = others[0] if len(others) == 1 else TupleType.of(others)
    return MapType(first, nested(MapType(rest, kind.value)))
