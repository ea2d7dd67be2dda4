"""Faults that were in the front end or an engine once, put back by a patch: the comparison must see each of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

import z3

from reassure.checkers.native import compiled_kernel
from reassure.checkers.symbolic import smt_terms, type_invariant
from reassure.checkers.symbolic.certificate import Certificate
from reassure.spec.frontend import comprehensions, expressions, symbolic_values
from reassure.spec.frontend.aggregates import Aggregates, Default
from reassure.spec.frontend.calls import Calls
from reassure.spec.frontend.expressions import Expressions
from reassure.spec.frontend.lowering import Elaborator, LoweredModel
from reassure.spec.frontend.symbolic_values import Symbols
from reassure.spec.language.types import IntType, Type

Fault = Callable[[], AbstractContextManager[Any]]


def _instead(where: Any, name: str, fault: Callable[[Any], Any]) -> Fault:
    """A function in another's place; it is made from the one that is right."""
    right = getattr(where, name)
    return lambda: patch.object(where, name, fault(right))


# -- the front end ---------------------------------------------------------------------------------------------


def _not_one_by_one(right: Any) -> Any:
    """All elements of a comprehension are looked at, also after the one that ends it."""
    return lambda element, ordered, pairs, *_: right(element, ordered, pairs)


@contextmanager
def _late_default() -> Iterator[None]:
    """The default of max, min and next is evaluated only where it is wanted."""
    right = Aggregates._or_default

    def late(self: Any, node: ast.Call, exists: Any, value: Any, default: Default) -> Any:
        if default.node is not None:
            with self.under(self.g.not_(exists)):
                default.value = self.expr(default.node)
        return right(self, node, exists, value, default)

    with patch.object(Default, "evaluate", lambda self: None), patch.object(Aggregates, "_or_default", late):
        yield


def _sorted_arguments(right: Any) -> Any:
    """Arguments are evaluated in another order than the one in which they are written."""

    def given(self: Any, node: ast.Call, *more: Any) -> Any:
        other = ast.Call(node.func, node.args, sorted(node.keywords, key=lambda k: k.arg or ""))
        return right(self, ast.copy_location(other, node), *more)

    return given


def _silently_drawn(right: Any) -> Any:
    """What a parameter is drawn from raises nothing."""

    def drawn(self: Any, *given: Any) -> Any:
        checks = len(self.checks)
        found = right(self, *given)
        del self.checks[checks:]
        return found

    return drawn


def _hoisted(right: Any) -> Any:
    """An error is seen whatever guards stand before it."""

    def check(self: Any, kind: str, *given: Any) -> Any:
        saved = self.path, self.passed
        if kind == "error":
            self.path = self.passed = self.g.true
        try:
            return right(self, kind, *given)
        finally:
            self.path, self.passed = (saved[0], self.passed) if kind != "error" else saved

    return check


def _near_zero(right: Any) -> Any:
    """An absent number is the one nearest to zero, whatever is stored."""

    def zero(g: Any, kind: Type) -> Any:
        return g.num(min(max(0, kind.low), kind.high)) if isinstance(kind, IntType) else right(g, kind)

    return zero


def _one_place(right: Any) -> Any:
    """A guard that is reached twice is left out in the first place alone."""

    def switch(self: Any, *given: Any) -> Any:
        before = len(self.guards or ())
        found = right(self, *given)
        return found if len(self.guards or ()) > before else self.g.false

    return switch


# -- Z3 ----------------------------------------------------------------------------------------------------------


def _arithmetic(**changed: Callable[..., Any]) -> Fault:
    return lambda: patch.dict(smt_terms._ARITHMETIC, changed)


def _below_its_range(right: Any) -> Any:
    """An absent number is one below its range in one place and in the range in another."""

    def absent(kind: Type) -> Any:
        return z3.BitVecVal(kind.low - 1, smt_terms.width_of(kind)) if isinstance(kind, IntType) else right(kind)

    return absent


def _narrow(better: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison in too few bits."""
    return lambda a, b: z3.If(better(z3.Extract(1, 0, a), z3.Extract(1, 0, b)), a, b)


def _without_lemmas(right: Any) -> Any:
    def of(machine: Any, sha: str, config: Any, proved: list[str], lemmas: Any, *more: Any) -> Certificate:
        made: Certificate = right(machine, sha, config, proved, [], *more)
        return made

    return of


FAULTS: dict[str, tuple[Fault, str]] = {
    "1 every element is looked at": (
        _instead(comprehensions, "Loop", _not_one_by_one),
        "1 guard within any over a sequence",
    ),
    "2 numbers may leave a word": (lambda: patch.object(expressions, "NUMBER", 1 << 90), "2 products"),
    "3 sequences may leave a word": (
        lambda: patch.object(expressions, "SEQUENCE_BITS", 1 << 10),
        "3 a sequence longer than a word",
    ),
    "4 a set is looked into that may hold what it cannot": (
        lambda: patch.object(Symbols, "looked_into", lambda self, bag: bag),
        "4 a record out of its bound in a claim",
    ),
    "5 a default is evaluated late": (_late_default, "5 a default that is evaluated first"),
    "5 arguments in another order": (_instead(Calls, "given", _sorted_arguments), "5 keyword arguments out of order"),
    "5 a drawn set raises nothing": (_instead(Elaborator, "_drawn", _silently_drawn), "5 a drawn set that raises"),
    "6, 7 an absent number is nearest to zero": (
        _instead(symbolic_values, "zero", _near_zero),
        "6 an optional record of a negative range",
    ),
    "8 errors are seen before guards": (_instead(Expressions, "check", _hoisted), "8 an error behind a guard"),
    "10 what is not asked for is evaluated": (
        lambda: patch.object(LoweredModel, "only", lambda self, wanted: self),
        "10 a property that raises is not asked for",
    ),
    "11 an absent number has two codes": (
        _instead(type_invariant, "absent", _below_its_range),
        "11 an optional of a negative range",
    ),
    "12 max compares in too few bits": (
        _arithmetic(max=_narrow(lambda a, b: a > b)),
        "12 max and min of numbers that cross",
    ),
    "13 division rounds towards zero": (_arithmetic(floordiv=lambda a, b: a / b), "13 rounding of negative numbers"),
    "13 a remainder has the dividend's sign": (_arithmetic(mod=z3.SRem), "13 rounding of negative numbers"),
    "14 a certificate lacks its lemmas": (_instead(Certificate, "of", _without_lemmas), "14 a certificate"),
    "9 an action more than tags has the last one's": (
        lambda: patch.object(compiled_kernel, "MAX_TAG", 200),
        "9 more than 126 actions",
    ),
    "15 a guard is left out in one place": (_instead(Calls, "switch", _one_place), "15 a guard that is reached twice"),
}
"""A patch that puts the fault back, and the directed model that shows it. The number is of the cause."""
