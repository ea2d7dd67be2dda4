"""Which tastes the model of a number is drawn with."""

from __future__ import annotations

EVERY = {
    "alike": (9, (0, 3, 6)),
    "in_order": (9, (3, 6)),
    "together": (7, (0,)),
    "commands": (2, (1,)),
    "raising": (7, (4,)),
    "loops": (5, (0, 2)),
    "logs": (11, (0, 2, 4, 6, 8)),
    "tables": (17, (0, 4, 8, 11, 13, 15)),
    "number_sets": (19, (1, 4, 7, 10, 13, 16)),
    "pairs": (29, (2, 5, 9, 13, 18, 21, 25)),
    "numbered": (13, (0, 2, 3, 6, 8, 11)),
    "broad": (23, (3,)),
    "long": (23, (9,)),
    "deep": (23, (15,)),
}
"""By taste, of `generate`: the number that a model's number is divided by, and the remainders that mean it."""


def tastes(number: int) -> dict[str, bool]:
    """The tastes of the model of a number."""
    return {taste: number % every in rest for taste, (every, rest) in EVERY.items()}
