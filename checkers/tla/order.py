"""The order of two values: of numbers, bools, sets, tuples item by item and records; the best of some by a key."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import fields

from reassure.checkers.tla.context import Context, Value
from reassure.checkers.tla.iteration import set_constructor, whole_sequence
from reassure.checkers.tla.kinds import Kind, family, field_of, is_a, is_record, item_of, items_of_tuple, place_name
from reassure.checkers.tla.terms import (
    EMPTY_SEQUENCE,
    EMPTY_SET,
    Term,
    atom,
    call,
    choose,
    conjunction,
    disjunction,
    field,
    implies,
    infix,
    let,
    negation,
    quantified,
    truth,
)
from reassure.spec.language.values import Id


def precedes(context: Context, node: ast.AST, a: Value, b: Value, strict: bool) -> Term:
    """`a < b`, or `a <= b` if it is not strict."""
    kind = b.kind if a.kind in (frozenset, tuple) else a.kind
    parts = parts_of(a), parts_of(b)
    if parts[0] is not None and parts[1] is not None:
        return _by_parts(context, node, parts[0], parts[1], strict)
    x, y = context.whole(a, node), context.whole(b, node)
    if family(kind) is frozenset:
        within = infix(r"\subseteq", x, y)
        return conjunction((within, infix("#", x, y))) if strict else within
    if family(kind) is tuple:
        before = _sequence_precedes(context, node, x, y, item_of(a.kind) or item_of(b.kind))
        return before if strict else disjunction((before, infix("=", x, y)))
    if kind is bool:
        return conjunction((negation(x), y)) if strict else disjunction((negation(x), y))
    return infix("<" if strict else "<=", x, y)


def _sequence_precedes(context: Context, node: ast.AST, x: Term, y: Term, kind: Kind) -> Term:
    """The order of two sequences: the first items that differ decide, else the lengths. kind: of the items."""
    if kind is None or kind is int or is_a(kind, Id):
        return call(context.scope.helper("Precedes"), x, y)
    i, n = context.fresh("i"), context.fresh("n")
    known, places = (Term("prefix", (one,), ("DOMAIN",)) for one in (x, y))
    here, there = (Value(Term("index", (one, atom(i))), kind) for one in (x, y))
    same = infix("=", Term("index", (x, atom(n))), Term("index", (y, atom(n))))
    before = infix("..", atom("1"), infix("-", atom(i), atom("1")))
    same_before = quantified("forall", n, before, conjunction((infix(r"\in", atom(n), known), same)))
    less = implies(infix(r"\in", atom(i), known), precedes(context, node, here, there, True))
    context.in_use -= {i, n}
    return quantified("exists", i, places, conjunction((same_before, less)))


def parts_of(value: Value) -> list[Value] | None:
    """The items of a tuple whose length is known, or the fields of a record; None of another value."""
    kinds = items_of_tuple(value.kind)
    if kinds is not None:
        return [Value(field(value.term, place_name(i)), kind) for i, kind in enumerate(kinds)]
    if family(value.kind) is tuple and value.term.op == "tuple":
        return [Value(term, item_of(value.kind)) for term in value.term.parts]
    if is_record(value.kind):
        names = [f.name for f in fields(value.kind)]
        return [Value(field(value.term, name), field_of(value.kind, name)) for name in names]
    return None


def _by_parts(context: Context, node: ast.AST, a: list[Value], b: list[Value], strict: bool) -> Term:
    pairs = list(zip(a, b, strict=False))
    result = truth(len(a) < len(b) if strict else len(a) <= len(b))
    if pairs and len(a) == len(b):
        result = precedes(context, node, *pairs.pop(), strict)
    for x, y in reversed(pairs):
        same = infix("=", context.whole(x, node), context.whole(y, node))
        result = disjunction((precedes(context, node, x, y, True), conjunction((same, result))))
    return result


KeyOf = Callable[[Value], Value]
"""The key of an element."""


def has_parts(kind: Kind) -> bool:
    """Whether values of a kind are compared part by part."""
    return items_of_tuple(kind) is not None or is_record(kind)


def best(context: Context, node: ast.Call, name: str, key: KeyOf, default: ast.expr | None) -> Value:
    """The first of some elements whose key is best. name: `Min` or `Max`."""
    if len(node.args) > 1:
        values = [context.translate(a) for a in node.args]
        members = Value(Term("tuple", tuple(context.whole(v, node) for v in values)), values[0].kind)
        return _first(context, node, name, members.term, members.kind, key, None)
    argument = node.args[0]
    sequence = whole_sequence(context, argument)
    if sequence is not None:
        return _first(context, node, name, sequence.term, item_of(sequence.kind), key, default)
    generator = argument if isinstance(argument, ast.GeneratorExp) else None
    members = context.translate(argument) if generator is None else set_constructor(context, generator)
    return _only(context, node, name, members, key, default)


def _first(
    context: Context, node: ast.Call, name: str, sequence: Term, kind: Kind, key: KeyOf, default: ast.expr | None
) -> Value:
    """Of a sequence: the first item that none is better than."""
    found, keys, i, j = (context.fresh(n) for n in ("found", "keys", "i", "j"))
    places = Term("prefix", (atom(found),), ("DOMAIN",))
    element = Value(Term("index", (atom(found), atom(i))), kind)
    keyed = key(element)
    here, there = (Value(Term("index", (atom(keys), atom(n))), keyed.kind) for n in (i, j))
    pair = (here, there) if name == "Max" else (there, here)
    unbeaten = quantified("forall", j, places, negation(precedes(context, node, *pair, True)))
    place = call(context.scope.helper("Min"), Term("filter", (places, unbeaten), (i,)))
    values = Term("function", (places, context.whole(keyed, node)), (i,))
    values = atom(found) if values == Term("function", (places, element.term), (i,)) else values
    extreme = let(keys, values, Term("index", (atom(found), place)))
    return _with_default(context, kind, found, sequence, EMPTY_SEQUENCE, extreme, default, (keys, i, j))


def _only(context: Context, node: ast.Call, name: str, members: Value, key: KeyOf, default: ast.expr | None) -> Value:
    """Of a set, no two of whose members have one key."""
    kind = item_of(members.kind)
    found, keys, x, y = (context.fresh(n) for n in ("found", "keys", "x", "y"))
    keyed = key(Value(atom(x), kind))
    here, there = (Value(Term("index", (atom(keys), atom(n))), keyed.kind) for n in (x, y))
    pair = (here, there) if name == "Max" else (there, here)
    unbeaten = quantified("forall", y, atom(found), negation(precedes(context, node, *pair, True)))
    member = call(context.scope.helper("Only"), Term("filter", (atom(found), unbeaten), (x,)))
    extreme = let(keys, Term("function", (atom(found), context.whole(keyed, node)), (x,)), member)
    return _with_default(context, kind, found, members.term, EMPTY_SET, extreme, default, (keys, x, y))


def _with_default(
    context: Context,
    kind: Kind,
    found: str,
    members: Term,
    empty: Term,
    extreme: Term,
    default: ast.expr | None,
    names: tuple[str, ...],
) -> Value:
    term = extreme
    if default is not None:
        term = choose(infix("=", atom(found), empty), context.term(default), extreme)
    for name in (found, *names):
        context.in_use.discard(name)
    return Value(let(found, members, term), kind)
