"""Values a model state may hold beyond Python's own: id sorts and total maps.

Everything here is immutable, hashable and ordinary to a type checker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, ClassVar, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S")


class Id(int):
    """A member of a finite sort of names: a broker, a topic, a process.

    Subclass it to declare a sort; `size` names the configuration field (or property) that says how
    many members there are, or is that number; `first` is the number of the first one::

        class Broker(Id, size="brokers", first=1): ...

    Members are integers underneath, so they are fast, have an order (`min`, `sorted`), and a model may
    calculate with them: `Broker((int(b) + 1) % c.brokers)`.
    """

    size: ClassVar[str | int]
    first: ClassVar[int]
    __slots__ = ()

    def __init_subclass__(cls, *, size: str | int, first: int = 0, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if not (type(size) is str and size.isidentifier()) and not (type(size) is int and size >= 1):
            what = 'the name of a configuration field, as size="brokers", or a number from 1 on'
            raise TypeError(f"{cls.__name__} has size={size!r}; it is {what}")
        if type(first) is not int or first < 0:
            raise TypeError(f"{cls.__name__} has first={first!r}; it is a number from 0 on")
        cls.size = size
        cls.first = first

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"


def every(sort: type[S], config: object = None) -> frozenset[S]:
    """All members of a finite sort: an `Id` sort (sized by `config`), an `Enum`, or `bool`.

    Raises `TypeError` for a type that is not such a sort.
    """
    return frozenset(members(sort, config))


def members(sort: type[S], config: object = None) -> tuple[S, ...]:
    """As `every`, in canonical order (ascending ids, declaration order of an enum)."""
    make: Any = sort
    if isinstance(sort, type) and issubclass(sort, Id):
        count = sort.size if isinstance(sort.size, int) else getattr(config, sort.size)
        return tuple(make(i) for i in range(sort.first, sort.first + count))
    if isinstance(sort, type) and issubclass(sort, Enum):
        return tuple(make)
    if sort is bool:
        return (make(False), make(True))
    raise TypeError(f"every() needs an Id sort, an Enum or bool, not {sort!r}")


class Map(Generic[K, V]):
    """A total map from a finite sort, immutable: `m[k]`, and `m.put(k, v)` for the changed copy."""

    __slots__ = ("_hash", "_items")
    _items: dict[K, V]
    _hash: int

    def __init__(self, items: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        object.__setattr__(self, "_items", dict(items))
        object.__setattr__(self, "_hash", hash(frozenset(self._items.items())))

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def put(self, key: K, value: V) -> Map[K, V]:
        """The same map but for `key`, which must be in it already (`KeyError` otherwise)."""
        if key not in self._items:
            raise KeyError(key)
        return Map({**self._items, key: value})

    def keys(self) -> frozenset[K]:
        return frozenset(self._items)

    def pairs(self) -> Iterator[tuple[K, V]]:
        """Entries in the order the map was built in; for engines and printing, not for models."""
        return iter(self._items.items())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Map is immutable; use put()")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and self._items == other._items

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Map[K, V]], tuple[dict[K, V]]]:
        return (Map, (self._items,))

    def __repr__(self) -> str:
        return f"Map({self._items!r})"


def fill(sort: type[K], config: object, value: V) -> Map[K, V]:
    """The map that gives every member of `sort` the same `value`."""
    return Map((k, value) for k in members(sort, config))


def tabulate(sort: type[K], config: object, value: Callable[[K], V]) -> Map[K, V]:
    """The map `k -> value(k)`; for engines and tests (a model writes a dict comprehension)."""
    return Map((k, value(k)) for k in members(sort, config))
