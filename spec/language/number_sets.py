"""Sets of numbers of a `Range`, as `frozenset[Annotated[int, Range(0, 4)]]`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import IntType, Misfit, SetType


@dataclass(frozen=True)
class NumbersType(SetType):
    """All subsets of a range. Each number is stored as whether it is in the set, the lowest first.

    A set with a number outside the range is clipped.
    """

    item: IntType

    def values(self) -> Iterator[Any]:
        numbers = tuple(self.item.values())
        for inside in product((False, True), repeat=len(numbers)):
            yield frozenset(number for number, there in zip(numbers, inside, strict=True) if there)

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is not frozenset:
            return Misfit(False, "", f"{value!r} is not a frozenset")
        # A set has no order: a wrong member before a clipped one, then the lowest.
        wrong = sorted((m for m in value if type(m) is not int), key=repr)
        found = [self.item.misfit(member) for member in (*wrong, *sorted(value - frozenset(wrong)))]
        return next((misfit.under("[]") for misfit in found if misfit is not None), None)

    def rank(self, value: Any) -> Any:
        return tuple(number in value for number in self.item.values())

    def __str__(self) -> str:
        return f"set of {self.item}"
