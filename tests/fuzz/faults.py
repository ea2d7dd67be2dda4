"""Faults that were in the front end or an engine once, put back by a patch: the comparison must see each of them."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

import z3

from reassure.checkers.analyses.mutants import analysis as mutation_analysis
from reassure.checkers.encoding import state_layout
from reassure.checkers.engines.native import exploration
from reassure.checkers.engines.native.liveness.temporal_claims import RAISES_AT, TemporalClaims
from reassure.checkers.engines.native.model import emit_nodes
from reassure.checkers.engines.native.model.build_loops import ActionBuilder
from reassure.checkers.engines.symbolic import bmc, smt_terms, transition_system
from reassure.checkers.engines.symbolic.certificate import Certificate
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.request.result import RAISES
from reassure.spec.frontend import (
    aggregates,
    comprehensions,
    declarations,
    lowering,
    sorts_and_maps,
    statements,
    symbolic_values,
    symbols,
)
from reassure.spec.frontend.aggregates import Default
from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import lower
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.frontend.operations import OPERATIONS
from reassure.spec.frontend.symbolic_values import Bag, Record, Sym
from reassure.spec.frontend.symbols import Symbols
from reassure.spec.language.types import IntType, RecordType, Type

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
    right = aggregates._or_default

    def late(context: Context, node: ast.Call, exists: Any, value: Any, default: Default) -> Any:
        if default.node is not None:
            with context.under(context.graph.not_(exists)):
                default.value = lower(context, default.node)
        return right(context, node, exists, value, default)

    with patch.object(Default, "evaluate", lambda self: None), patch.object(aggregates, "_or_default", late):
        yield


def _sorted_arguments(right: Any) -> Any:
    """Arguments are evaluated in another order than the one in which they are written."""

    def by_parameter(context: Context, node: ast.Call, *more: Any) -> Any:
        other = ast.Call(node.func, node.args, sorted(node.keywords, key=lambda k: k.arg or ""))
        return right(context, ast.copy_location(other, node), *more)

    return by_parameter


def _silently_drawn(right: Any) -> Any:
    """What a parameter is drawn from raises nothing."""

    def drawn(context: Context, *given: Any) -> Any:
        checks = len(context.checks)
        found = right(context, *given)
        del context.checks[checks:]
        return found

    return drawn


def _hoisted(right: Any) -> Any:
    """An error is seen whatever guards stand before it."""

    def check(context: Context, kind: str, *given: Any) -> Any:
        saved = context.path, context.assured
        if kind == "error":
            context.path = context.assured = context.graph.true
        try:
            return right(context, kind, *given)
        finally:
            context.path, context.assured = (saved[0], context.assured) if kind != "error" else saved

    return check


def _near_zero(right: Any) -> Any:
    """An absent number is the one nearest to zero, whatever is stored."""

    def zero(g: Any, kind: Type) -> Any:
        return g.num(min(max(0, kind.low), kind.high)) if isinstance(kind, IntType) else right(g, kind)

    return zero


def _one_place(right: Any) -> Any:
    """A guard that is reached twice is left out in the first place alone."""

    def switch(context: Context, *given: Any) -> Any:
        before = len(context.scope.guards or ())
        found = right(context, *given)
        return found if len(context.scope.guards or ()) > before else context.graph.false

    return switch


def _before_the_parameters(right: Any) -> Any:
    """A value that a parameter chooses counts as the one before."""

    def substitute(graph: Any, node: Any, given: Any, made: Any) -> Any:
        found = right(graph, node, given, made)
        return node if found.params else found

    return substitute


def _widened(right: Any) -> Any:
    """A state of the class that the model's extends gets the further fields' defaults after every step."""

    def fit(self: Symbols, value: Sym, kind: Type) -> Sym:
        if isinstance(value, Record) and isinstance(kind, RecordType) and value.cls in kind.cls.__bases__:
            further = {f.name: self.lift(f.default) for f in dataclasses.fields(kind.cls) if f.name not in value.fields}
            value = Record(kind.cls, {**value.fields, **further})
        fitted: Sym = right(self, value, kind)
        return fitted

    return fit


def _every_terminal(right: Any) -> Any:
    """A terminal is asked also where one before it holds."""
    return lambda scope, terminal, unless: right(scope, terminal, scope.graph.false)


def _unfolded(operation: str) -> Fault:
    return lambda: patch.dict(OPERATIONS, {operation: dataclasses.replace(OPERATIONS[operation], fold=None)})


# -- native ------------------------------------------------------------------------------------------------------


def _of_its_first_field(right: Callable[..., str]) -> Callable[..., str]:
    """A record is packed from its first field on."""

    def pack(e: Any, node: Node) -> str:
        assert node.args[0] is not None
        return right(e, node)

    return pack


def _absent_of_every_value(right: Any) -> Any:
    """A parameter that is absent is so once for each value that it could have."""
    return lambda self, name, value, kind, when: right(self, name, value, kind, None)


# -- Z3 ----------------------------------------------------------------------------------------------------------


def _arithmetic(**changed: Callable[..., Any]) -> Fault:
    return lambda: patch.dict(smt_terms.OPERATIONS, {op: smt_terms.arithmetic(f) for op, f in changed.items()})


def _below_its_range(right: Any) -> Any:
    """An absent number is one below its range in one place and in the range in another."""

    def absent(kind: Type) -> Any:
        return z3.BitVecVal(kind.low - 1, smt_terms.width_of(kind)) if isinstance(kind, IntType) else right(kind)

    return absent


def _narrow(better: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison in too few bits."""
    return lambda a, b: z3.If(better(z3.Extract(1, 0, a), z3.Extract(1, 0, b)), a, b)


def _goes_on(right: Any) -> Any:
    """A run into what raises is not told of."""

    def search(*given: Any) -> Iterator[Any]:
        return ((name, result) for name, result in right(*given) if name != RAISES)

    return search


def _without_raising(right: Any) -> Any:
    """What raises in a state is forgotten."""
    return lambda self, rows: right(self, rows) & ~(1 << RAISES_AT)


def _of_any_value(right: Any) -> Any:
    """A parameter that is drawn from no set may have values that are none of its type."""
    return lambda self, p, terms: right(self, p, terms) if p.drawn is not None else iter(())


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
    "2 numbers may leave a word": (lambda: patch.object(symbols, "NUMBER", 1 << 90), "2 products"),
    "3 sequences may leave a word": (
        lambda: patch.object(symbols, "SEQUENCE_BITS", 1 << 10),
        "3 a sequence longer than a word",
    ),
    "4 a set is looked into that may hold what it cannot": (
        lambda: patch.object(Bag, "looked_into", lambda bag: bag.slots),
        "4 a record out of its bound in a claim",
    ),
    "5 a default is evaluated late": (_late_default, "5 a default that is evaluated first"),
    "5 arguments in another order": (
        _instead(sorts_and_maps, "by_parameter", _sorted_arguments),
        "5 keyword arguments out of order",
    ),
    "5 a narrower state is widened after every step": (_instead(Symbols, "fit", _widened), "5 a wider state"),
    "5 a drawn set raises nothing": (_instead(declarations, "_drawn", _silently_drawn), "5 a drawn set that raises"),
    "6, 7 an absent number is nearest to zero": (
        _instead(symbolic_values, "zero", _near_zero),
        "6 an optional record of a negative range",
    ),
    "7 an absent parameter has every value": (
        _instead(ActionBuilder, "_over", _absent_of_every_value),
        "7 a parameter that is an optional set",
    ),
    "7 a parameter is of any value": (
        _instead(Machine, "_drawn", _of_any_value),
        "7 a parameter that is a set of records",
    ),
    "8 errors are seen before guards": (_instead(Context, "check", _hoisted), "8 an error behind a guard"),
    "8 a terminal is asked after one that holds": (
        _instead(lowering, "lower_terminal", _every_terminal),
        "8 a terminal that raises behind one that holds",
    ),
    "10 what is not asked for is evaluated": (
        lambda: patch.object(LoweredModel, "only", lambda self, wanted: self),
        "10 a property that raises is not asked for",
    ),
    "11 an absent number has two codes": (
        _instead(transition_system, "absent", _below_its_range),
        "11 an optional of a negative range",
    ),
    "12 max compares in too few bits": (
        _arithmetic(max=_narrow(lambda a, b: a > b)),
        "12 max and min of numbers that cross",
    ),
    "13 division rounds towards zero": (_arithmetic(floordiv=lambda a, b: a / b), "13 rounding of negative numbers"),
    "13 a remainder has the dividend's sign": (_arithmetic(mod=z3.SRem), "13 rounding of negative numbers"),
    "14 a certificate lacks its lemmas": (_instead(Certificate, "of", _without_lemmas), "14 a certificate"),
    "9 a record has a first field": (
        lambda: patch.dict(emit_nodes.OPERATIONS, pack=_of_its_first_field(emit_nodes.OPERATIONS["pack"])),
        "9 an empty record",
    ),
    "9 a length is not a constant": (_unfolded("seq_len"), "9 division by a length"),
    "9 a state leaves tags no room": (
        lambda: patch.object(state_layout, "TAG_BITS", 0),
        "9 an int field of 57 bits",
    ),
    "9 an action more than tags has the last one's": (
        lambda: patch.object(exploration, "MAX_TAG", 200),
        "9 more than 126 actions",
    ),
    "15 a guard is left out in one place": (
        _instead(statements, "_switch", _one_place),
        "15 a guard that is reached twice",
    ),
    "15 a switch is never off": (
        lambda: patch.dict(emit_nodes.OPERATIONS, switch=lambda e, node: "false"),
        "15 a guard that is reached twice",
    ),
    "15 a guard before what is never there is weighed": (
        lambda: patch.object(statements, "_is_optional", lambda context, path: False),
        "15 a guard before what is never there",
    ),
    "16 a mutant runs the text as it is": (
        _instead(mutation_analysis, "with_changed", lambda right: lambda model, changed, names: model),
        "16 a mutant of a helper",
    ),
    "17 whole runs are decided although one raises": (
        _instead(TemporalClaims, "verdicts", _without_raising),
        "17 a property of whole runs that raises beside another",
    ),
    "18 k-induction goes on where the model raises": (
        _instead(bmc, "bounded_search", _goes_on),
        "18 an invariant that raises at once",
    ),
    "19 nothing is changed that a parameter chooses": (
        _instead(declarations, "substitute", _before_the_parameters),
        "19 an entry of a map that a parameter chooses",
    ),
    "20 a missing value is a crash": (
        lambda: patch.object(symbolic_values, "Poison", type(None)),
        "20 a value is missing where no run gets",
    ),
}
"""A patch that puts the fault back, and the directed model that shows it. The number is of the cause."""
