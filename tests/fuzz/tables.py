"""Maps from numbers and from tuples: their types, their keys, and what is read at them. Also here: tuples as values."""

from __future__ import annotations

from tests.fuzz.kinds import Bool, Int, Kind, MapFrom, Tuple, TupleOf
from tests.fuzz.leaves import Leaves, Production

MOST_KEYS = 9
NUMBERS = ((0, 1), (0, 1), (0, 2), (1, 2), (-1, 1), (0, 3), (-2, -1), (2, 2))
"""Ranges of numbers that are keys, or parts of keys."""
STATES = ("s", "before", "after")


class Tables(Leaves):
    """Writes them in the current scope."""

    def of(self, kind: Kind, depth: int) -> str:
        """An expression of a kind."""
        raise NotImplementedError

    # -- types -----------------------------------------------------------------------------------------------------

    def key_kind(self) -> Int | Tuple:
        """A number, or a tuple of few values."""
        rng = self.rng
        if self.chance(0.35):
            return self.key_number()
        alike = [k for k in self.items[:1] if self.taste.alike and k.count <= 4]
        while True:
            parts = [
                rng.choice([*self.items, *alike, Bool(), self.key_number()]) for _ in range(rng.choice((2, 2, 2, 3)))
            ]
            kind = Tuple(tuple(parts))
            if kind.count <= MOST_KEYS:
                return kind

    def pair_kind(self) -> TupleOf:
        """The type of tuples of few values."""
        rng, few = self.rng, [k for k in self.items if k.count <= 4]
        while True:
            parts = [
                rng.choice([*few, *few, Bool(), Int(*rng.choice(NUMBERS), self.chance(0.3))])
                for _ in range(rng.choice((2, 2, 3)))
            ]
            if TupleOf(tuple(parts)).count <= 24:
                return TupleOf(tuple(parts))

    def pairs(self) -> list[tuple[str, TupleOf]]:
        """The tuples that are in reach, but for keys."""
        return [(p, k) for p, k in self.scope.paths() if isinstance(k, TupleOf)] if self.taste.pairs else []

    def _tuple(self, kind: Kind, depth: int) -> list[Production]:
        assert isinstance(kind, TupleOf)
        return [(6, lambda: f"({', '.join(self.of(part, depth) for part in kind.parts)})")]

    def compared_pairs(self, depth: int, path: str, kind: TupleOf) -> str:
        """Two tuples compared, or an item found in one of numbers."""
        if all(isinstance(part, Int) for part in kind.parts) and self.chance(0.3):
            return f"({self.of(Int(), depth)} {self.rng.choice(('in', 'not in'))} {path})"
        return f"({path} {self.rng.choice(self.signs_of(kind))} {self.of(kind, depth)})"

    def key_number(self) -> Int:
        low, high = self.rng.choice(NUMBERS)
        return Int(low, high, named="limit" if high == 3 and self.chance(0.5) else "")

    def table(self, value: Kind) -> MapFrom:
        return MapFrom(self.key_kind(), value)

    def tables(self, ordered: bool = False) -> list[tuple[str, MapFrom]]:
        """Those that are in reach. ordered: whose keys have an order."""
        found = [(p, k) for p, k in self.scope.paths() if isinstance(k, MapFrom) and k.is_table]
        return [(p, k) for p, k in found if not ordered or isinstance(k.key, Int)]

    # -- keys ------------------------------------------------------------------------------------------------------

    def _key(self, kind: Kind, depth: int) -> list[Production]:
        return [(6, lambda: self.key(MapFrom(kind, Bool()), depth))]

    def key(self, kind: MapFrom, depth: int) -> str:
        """A key of a map."""
        if not kind.is_table:
            return self.of(kind.key, depth)
        return kind.written_key([self.part(part, depth) for part in kind.parts])

    def part(self, kind: Kind, depth: int) -> str:
        """A part of a key; a number is within its bounds, but where the model may raise."""
        if not isinstance(kind, Int):
            return self.of(kind, depth)
        within = [p for p in self.numbers_in_bounds() if kind.low <= p[1].low <= p[1].high <= kind.high]
        if within and self.chance(0.6):
            return self.rng.choice(within)[0]
        number = self.of(Int(), depth)
        if self.taste.partial and self.chance(0.3):
            return number
        more = f" + {kind.low}" if kind.low else ""
        return self.rng.choice(
            (f"max({kind.low}, min({kind.high}, {number}))", f"{number} % {kind.count}{more}", self.constant_key(kind))
        )

    def numbers_in_bounds(self) -> list[tuple[str, Int]]:
        """Fields of states, parameters and keys: their kinds have the bounds of their values."""
        found = [(path, kind) for path, kind in self.scope.paths() if isinstance(kind, Int)]
        return [(p, k) for p, k in found if p[0] in "kpqr" or (p.split(".")[0] in STATES and p.count(".") == 1)]

    def at_key(self, path: str, kind: MapFrom, more: str, depth: int) -> str:
        """The value at a key, or a field of it: tested for its bounds before, of one of two keys, or at any one."""
        numbers = [p for p, k in self.scope.paths() if isinstance(k, Int)]
        if isinstance(kind.key, Int) and numbers and self.chance(0.3):
            number, step = self.rng.choice(numbers), self.rng.choice(("", " + 1", " - 1"))
            test = self.rng.choice(
                (
                    f"{kind.key.low} <= {number}{step} <= {kind.key.high}",
                    f"{number}{step} >= {kind.key.low} and {number}{step} < {kind.key.high + 1}",
                )
            )
            return f"({path}[{number}{step}]{more} if {test} else {self.of(kind.value, depth)})"
        key = self.key(kind, depth)
        if isinstance(kind.key, Tuple) and self.chance(0.15):
            return f"{path}[{key} if {self.of(Bool(), depth)} else {self.key(kind, depth)}]{more}"
        return f"{path}[{key[1:-1] if isinstance(kind.key, Tuple) and self.chance(0.7) else key}]{more}"

    def over_keys(self, path: str, kind: MapFrom, element: Kind, depth: int) -> str:
        """As `over`, over all keys of a map, which is read at them."""
        names = [self.fresh("k") for _ in kind.parts]
        self.inside += 1
        with self.within({**dict(zip(names, kind.parts, strict=True)), f"{path}[{', '.join(names)}]": kind.value}):
            test = f" if {self.of(Bool(), depth)}" if self.chance(0.4) else ""
            made = self.of(element, depth)
        self.inside -= 1
        return f"{made} {kind.loops(names, self.c)}{test}"
