"""The keys of maps that are tuples, as `Map[tuple[Server, Server], bool]` has them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import MapType, Misfit, Type

MOST_KEYS = 4096
"""Keys of a map, at most: a state has so many bits, and each value takes one."""


@dataclass(frozen=True)
class TupleType(Type):
    """Tuples of ids, enum members, bools and numbers. They are keys of maps; no other value of a state is one.

    A map from them has its values in the order of a map from the first part to maps from the others (`nested`).
    """

    parts: tuple[Type, ...]

    @property
    def count(self) -> int:
        return prod(part.count for part in self.parts)

    def values(self) -> Iterator[Any]:
        return product(*(tuple(part.values()) for part in self.parts))

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is not tuple or len(value) != len(self.parts):
            return Misfit(False, "", f"{value!r} is not a {self}")
        found = (part.misfit(one) for part, one in zip(self.parts, value, strict=True))
        return next((one for one in found if one is not None), None)

    def rank(self, value: Any) -> Any:
        return tuple(part.rank(one) for part, one in zip(self.parts, value, strict=True))

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
    rest = others[0] if len(others) == 1 else TupleType(tuple(others))
    return MapType(first, nested(MapType(rest, kind.value)))
