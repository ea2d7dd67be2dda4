"""What is looked for among the states of a level."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Row = tuple[int, ...]
"""The words of a state, signed."""


def in_canonical_order(row: Iterable[int]) -> list[int]:
    """Sorts rows in canonical order: as unsigned words, the first weighing most."""
    return [word & (1 << 64) - 1 for word in row]


@dataclass(frozen=True)
class Wanted:
    """The object of a look at a level: a state (or one with a step) that has a flag, one with a successor, or one in
    which the model raises."""

    flag: tuple[int, int] = (0, 0)
    successor: Row = ()
    """None: the flag is looked for. Of a search of representatives it is one."""
    raises: bool = False

    @classmethod
    def before(cls, successor: Row) -> Wanted:
        """A state with this successor."""
        return cls(successor=successor)
