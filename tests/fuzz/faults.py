"""Faults that were in an engine once, put back by a patch: the comparison must see each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

import z3

from reassure.checkers.symbolic import smt_terms, type_invariant
from reassure.spec.language.types import IntType, Type

Fault = Callable[[], AbstractContextManager[Any]]


def _arithmetic(**changed: Callable[..., Any]) -> Fault:
    return lambda: patch.dict(smt_terms._ARITHMETIC, changed)


@contextmanager
def _absent_is_low() -> Iterator[None]:
    """An absent number is its range's lowest value in one place and 0 in another."""

    def absent(kind: Type) -> Any:
        value = kind.low - 1 if isinstance(kind, IntType) else 0
        return z3.BitVecVal(value, smt_terms.width_of(kind)) if isinstance(kind, IntType) else whole(kind)

    whole = type_invariant.absent
    with patch.object(type_invariant, "absent", absent):
        yield


def _narrow(better: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison in too few bits."""
    return lambda a, b: z3.If(better(z3.Extract(1, 0, a), z3.Extract(1, 0, b)), a, b)


FAULTS: dict[str, tuple[Fault, str]] = {
    "an absent number has two codes": (_absent_is_low, "11 an optional of a negative range"),
    "max compares in too few bits": (
        _arithmetic(max=_narrow(lambda a, b: a > b)),
        "12 max and min of numbers that cross",
    ),
    "division rounds towards zero": (_arithmetic(floordiv=lambda a, b: a / b), "13 rounding of negative numbers"),
    "a remainder has the dividend's sign": (_arithmetic(mod=z3.SRem), "13 rounding of negative numbers"),
}
"""A patch that puts the fault back, and the directed model that shows it."""
