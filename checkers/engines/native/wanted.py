"""What is looked for among the states of a level."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wanted:
    """The object of a look at a level: a state (or one with a step) that has a flag, one with a successor, or one in
    which the model raises."""

    flag: tuple[int, int] = (0, 0)
    successor: tuple[int, ...] = ()
    """Its words, signed; none: the flag is looked for."""
    raises: bool = False
