"""Comprehensions: what they range over, quantifiers, sets, sums."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reassure.checkers.tla.context import Context, Value
from reassure.checkers.tla.kinds import (
    Kind,
    family,
    item_of,
    item_of_tuple,
    items_of_tuple,
    sequences_of,
    sets_of,
    tuple_term,
)
from reassure.checkers.tla.terms import (
    FALSE,
    TRUE,
    Term,
    atom,
    call,
    choose,
    conjunction,
    filtered_set,
    implies,
    infix,
    let,
    quantified,
)

Comprehension = ast.GeneratorExp | ast.SetComp | ast.DictComp


IN_ORDER = (builtins.sorted, builtins.range, builtins.enumerate, builtins.reversed)
"""Built-in functions that give an iterable with an order."""


@dataclass(frozen=True)
class IterationDomain:
    """What a comprehension ranges over. sequence: of what has an order; None for a set."""

    members: Term
    kind: Kind
    sequence: Term | None = None


def domain_of(context: Context, node: ast.expr) -> IterationDomain:
    """The range of a comprehension."""
    scope = context.scope
    if isinstance(node, ast.Call):
        callee = context.translate(node.func).static
        if callee is builtins.sorted:
            members = set_value(context, node.args[0])
            return IterationDomain(members.term, item_of(members.kind), call(scope.helper("Sorted"), members.term))
        if callee is builtins.enumerate:
            return _enumerated(context, node)
        if callee is builtins.reversed:
            domain = domain_of(context, node.args[0])
            return IterationDomain(
                domain.members, domain.kind, _by_place(context, _ordered(context, domain, node), _back)
            )
        if callee is builtins.range:
            bounds = [context.term(a) for a in node.args]
            low = bounds[0] if len(bounds) == 2 else atom("0")
            numbers = infix("..", low, infix("-", bounds[-1], atom("1")))
            return IterationDomain(numbers, int, call(scope.helper("Sorted"), numbers))
    if isinstance(node, ast.Tuple):
        values = [context.translate(e) for e in node.elts]
        terms = tuple(context.whole(v, node) for v in values)
        return IterationDomain(Term("set", terms), values[0].kind if values else None, Term("tuple", terms))
    value = set_value(context, node)
    if family(value.kind) is tuple and items_of_tuple(value.kind) is None:
        return IterationDomain(call(scope.helper("Range"), value.term), item_of(value.kind), value.term)
    if family(value.kind) is frozenset:
        return IterationDomain(value.term, item_of(value.kind))
    raise context.refuse(node, f"iteration over `{ast.unparse(node)}`")


def _ordered(context: Context, domain: IterationDomain, node: ast.expr) -> Term:
    if domain.sequence is None:
        raise context.refuse(node, "an order of a set's members")
    return domain.sequence


def _by_place(context: Context, sequence: Term, item: Callable[[Term, Term], Term]) -> Term:
    """The sequence that has at each place what `item` makes of the sequence and the place."""
    found, place = context.fresh("found"), context.fresh("i")
    context.in_use -= {found, place}
    places = Term("prefix", (atom(found),), ("DOMAIN",))
    return let(found, sequence, Term("function", (places, item(atom(found), atom(place))), (place,)))


def _back(sequence: Term, place: Term) -> Term:
    return Term("index", (sequence, infix("-", infix("+", call("Len", sequence), atom("1")), place)))


def _enumerated(context: Context, node: ast.Call) -> IterationDomain:
    """`enumerate(iterable, start)`: a sequence of pairs."""
    domain = domain_of(context, node.args[0])
    start = next((a for a in (*node.args[1:], *(k.value for k in node.keywords))), None)
    first = atom("0") if start is None else context.term(start)
    kinds: list[Kind] = []

    def pair(sequence: Term, place: Term) -> Term:
        number = infix("-", place, atom("1")) if first == atom("0") else infix("+", first, infix("-", place, atom("1")))
        term, kind = tuple_term((number, Term("index", (sequence, place))), (int, domain.kind))
        kinds.append(kind)
        return term

    sequence = _by_place(context, _ordered(context, domain, node), pair)
    return IterationDomain(call(context.scope.helper("Range"), sequence), kinds[0], sequence)


@contextmanager
def unpacked(context: Context, target: ast.expr, kind: Kind) -> Iterator[str]:
    """Within, a loop's variables are a bound name of a kind, or the items of the tuple that it is; yields the name."""
    if isinstance(target, ast.Name):
        with context.naming(target.id, kind) as name:
            yield name
        return
    name = context.fresh("item")
    given = _named(context, target, Value(atom(name), kind))
    hidden = {variable: context.variables.get(variable) for variable in given}
    context.variables.update(given)
    try:
        yield name
    finally:
        context.in_use.discard(name)
        for variable, before in hidden.items():
            if before is None:
                context.variables.pop(variable, None)
            else:
                context.variables[variable] = before


def _named(context: Context, target: ast.expr, value: Value) -> dict[str, Value]:
    """The values of a target's names: of one name, or of those of a tuple, which may have tuples in it."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if not isinstance(target, ast.Tuple):
        raise context.refuse(target, "this loop variable")
    parts = (item_of_tuple(value.term, value.kind, place) for place in range(len(target.elts)))
    return {
        name: inner
        for one, part in zip(target.elts, parts, strict=True)
        for name, inner in _named(context, one, Value(*part)).items()
    }


def whole_sequence(context: Context, node: ast.expr) -> Value | None:
    """The elements of an iterable that has an order, as a sequence; None of a set."""
    if isinstance(node, ast.GeneratorExp):
        if len(node.generators) != 1 or domain_of(context, node.generators[0].iter).sequence is None:
            return None
        kept, element, name, kind, _ = selected(context, node, "all")
        if element == atom(name):
            return Value(kept, sequences_of(kind))
        places = Term("prefix", (kept,), ("DOMAIN",))
        place = _place(context, name, kept, element)  # the item is defined for it
        item = let(name, Term("index", (kept, atom(place))), element)
        return Value(Term("function", (places, item), (place,)), sequences_of(kind))
    in_order = isinstance(node, ast.Tuple) or (
        isinstance(node, ast.Call) and context.translate(node.func).static in IN_ORDER
    )
    if not in_order and family(context.translate(node).kind) is not tuple:
        return None
    domain = domain_of(context, node)
    assert domain.sequence is not None
    return Value(domain.sequence, sequences_of(domain.kind))


def range_of(context: Context, sequence: Value) -> Value:
    """The set of the items of a sequence."""
    return Value(call(context.scope.helper("Range"), sequence.term), sets_of(item_of(sequence.kind)))


def is_range(context: Context, node: ast.expr) -> bool:
    """Whether an expression is a call of `range`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return context.translate(node.func).static is builtins.range


def set_value(context: Context, node: ast.expr) -> Value:
    """A value, or the set that a comprehension or a range gives."""
    if is_range(context, node):
        return Value(domain_of(context, node).members, sets_of(int))
    if isinstance(node, ast.GeneratorExp | ast.SetComp):
        return set_constructor(context, node)
    return context.translate(node)


def _in_generator(
    context: Context, generator: ast.comprehension, op: str, inner: Callable[[str, IterationDomain, Term], Term]
) -> Term:
    """What `inner` makes of the bound name, its range and the filter; guards are quantified over."""
    domain = domain_of(context, generator.iter)
    with unpacked(context, generator.target, domain.kind) as name:
        number = len(context.guards)
        condition = TRUE
        for test in generator.ifs:
            with context.guards_if(condition):
                term = context.condition(test)
            condition = conjunction((condition, term))
        with context.guards_if(condition):
            result = inner(name, domain, condition)
        if len(context.guards) > number:
            if domain.sequence is not None and op != "all":
                raise context.refuse(generator.iter, "a guard in a comprehension over a sequence")
            found = conjunction(context.guards[number:])
            context.guards[number:] = [quantified("forall", name, domain.members, found)]
        return result


def truths(context: Context, node: ast.GeneratorExp, conjunctive: bool) -> Term:
    """`any` and `all`."""

    def quantify(generators: list[ast.comprehension]) -> Term:
        if not generators:
            return context.condition(node.elt)

        def inner(name: str, domain: IterationDomain, condition: Term) -> Term:
            body = quantify(generators[1:])
            if conjunctive:
                return quantified("forall", name, domain.members, implies(condition, body))
            return quantified("exists", name, domain.members, conjunction((condition, body)))

        return _in_generator(context, generators[0], "any", inner)

    return quantify(node.generators)


def set_constructor(context: Context, node: ast.GeneratorExp | ast.SetComp) -> Value:
    """The set that a comprehension makes."""
    kinds: list[Kind] = []

    def collect(generators: list[ast.comprehension]) -> Term:
        def inner(name: str, domain: IterationDomain, condition: Term) -> Term:
            chosen = filtered_set(name, domain.members, condition)
            if len(generators) > 1:
                return Term("prefix", (Term("image", (chosen, collect(generators[1:])), (name,)),), ("UNION",))
            element = context.translate(node.elt)
            kinds.append(element.kind)
            term = context.whole(element, node)
            return chosen if term == atom(name) else Term("image", (chosen, term), (name,))

        return _in_generator(context, generators[0], "all", inner)

    term = collect(node.generators)
    return Value(term, sets_of(kinds[0]))


def _place(context: Context, name: str, *within: Term) -> str:
    """A name for a place in a sequence: another one than any in its definition, which TLA+ does not take twice."""
    further, pending = {name}, list(within)
    while pending:
        term = pending.pop()
        further.update(term.names)
        pending += term.parts
    further -= context.in_use
    context.in_use |= further
    place = context.fresh("i")
    context.in_use -= further | {place}
    return place


def total(context: Context, node: ast.GeneratorExp) -> Term:
    """`sum(...)`."""
    scope = context.scope

    def add(generators: list[ast.comprehension]) -> Term:
        def inner(name: str, domain: IterationDomain, condition: Term) -> Term:
            place = _place(context, name, domain.members if domain.sequence is None else domain.sequence)
            context.in_use.add(place)
            element = add(generators[1:]) if len(generators) > 1 else context.term(node.elt)
            context.in_use.discard(place)
            if domain.sequence is None or domain.members.names == ("..",):
                chosen = filtered_set(name, domain.members, condition)
                if element == atom("1"):
                    return call("Cardinality", chosen)
                return call(scope.helper("Sum"), Term("function", (chosen, element), (name,)))
            if element == atom("1") and len(generators) == 1:
                lambda_ = Term("lambda", (condition,), (name,))
                return call("Len", call("SelectSeq", domain.sequence, lambda_))
            item = Term("index", (domain.sequence, atom(place)))
            here = let(name, item, choose(condition, element, atom("0")))
            every = Term("prefix", (domain.sequence,), ("DOMAIN",))
            return call(scope.helper("Sum"), Term("function", (every, here), (place,)))

        return _in_generator(context, generators[0], "all", inner)

    return add(node.generators)


def selected(
    context: Context, node: ast.GeneratorExp, op: str = "any"
) -> tuple[Term, Term, str, Kind, IterationDomain]:
    """Of `tuple(...)` and `next(...)`: the sequence of the members that pass, the element, the bound name, its kind.

    op: "all" if every element is evaluated.
    """
    if len(node.generators) != 1:
        raise context.refuse(node, "two `for` here")
    (generator,) = node.generators
    out: list[tuple[Term, Term, str, Kind, IterationDomain]] = []

    def inner(name: str, domain: IterationDomain, condition: Term) -> Term:
        element = context.translate(node.elt)
        term = context.whole(element, node)
        if domain.sequence is None:
            raise context.refuse(node, "a sequence of a set's members")
        kept = domain.sequence
        if condition != TRUE:
            kept = call("SelectSeq", domain.sequence, Term("lambda", (condition,), (name,)))
        out.append((kept, term, name, element.kind, domain))
        return FALSE

    _in_generator(context, generator, op, inner)
    return out[0]
