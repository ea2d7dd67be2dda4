"""Sequences of records and of numbers: made, put together, cut, indexed, compared.

Such a sequence is not one node: it has a value for each place, and a node that says whether there is an item. Every
engine gets it as optional values, so that there is no operation on these sequences.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest

from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.symbolic_values import Columns, Empty, Sym, Tuple, interval

Choose = Callable[[Node, Sym, Sym], Sym]
"""`a if condition else b` of values (`Symbols.choose`)."""
Compare = Callable[[Sym, Sym], Node]


def as_columns(g: Graph, value: Sym) -> Columns | None:
    """A sequence of such items, of which some may be known to be there; None for another value."""
    if isinstance(value, Columns):
        return value
    if isinstance(value, Tuple):
        return Columns(tuple((g.true, item) for item in value.items))
    return Columns(()) if isinstance(value, Empty) and value.sequence else None


def length(g: Graph, value: Columns) -> Node:
    """The number of items."""
    result = g.num(len(value.places))
    for number, (there, _) in reversed(list(enumerate(value.places))):
        result = g.ite(there, result, g.num(number))
    return result


def longer_than(g: Graph, value: Columns, number: int) -> Node:
    """Whether there are more items than so many; of a negative number there are."""
    if number < 0:
        return g.true
    return value.places[number][0] if number < len(value.places) else g.false


def of_length(g: Graph, value: Columns, number: int) -> Node:
    """Whether there are so many items."""
    return g.and_(longer_than(g, value, number - 1), g.not_(longer_than(g, value, number)))


def concatenated(g: Graph, choose: Choose, a: Columns, b: Columns) -> Columns:
    """`a + b`."""
    if not a.places or not b.places:
        return a if a.places else b
    places = []
    for place in range(len(a.places) + len(b.places)):
        parts = [
            (longer_than(g, a, place - j - 1), there, item, place - j)
            for j, (there, item) in enumerate(b.places)
            if 0 <= place - j <= len(a.places)
        ]
        there = g.or_(*(g.and_(reached, there) for reached, there, _, _ in parts))
        if b.places[0][0] is not g.true:
            there = g.or_(longer_than(g, a, place), there)
        options = [(of_length(g, a, before), item) for _, _, item, before in parts]
        if place < len(a.places):
            options.append((longer_than(g, a, place), a.places[place][1]))
        places.append((there, _chosen(choose, options)))
    return Columns(tuple(places))


def _chosen(choose: Choose, options: list[tuple[Node, Sym]]) -> Sym:
    """The value whose condition holds, any of them where none does."""
    value = options[0][1]
    for condition, other in options[1:]:
        value = choose(condition, other, value)
    return value


def chosen(g: Graph, choose: Choose, condition: Node, a: Columns, b: Columns) -> Columns:
    """`a if condition else b`."""
    places = []
    for one, other in zip_longest(a.places, b.places):
        there = g.ite(condition, g.false if one is None else one[0], g.false if other is None else other[0])
        if one is None or other is None:
            value = (one or other)[1]
        else:
            value = choose(condition, one[1], other[1])
        places.append((there, value))
    return Columns(tuple(places))


def same_columns(g: Graph, compare: Compare, a: Columns, b: Columns) -> Node:
    """`a == b`."""
    terms = []
    for one, other in zip_longest(a.places, b.places):
        if one is None or other is None:
            terms.append(g.not_((one or other)[0]))
        else:
            terms.append(g.eq(one[0], other[0]))
            terms.append(g.implies(one[0], compare(one[1], other[1])))
    return g.and_(*terms)


def columns_before(g: Graph, before: Compare, compare: Compare, a: Columns, b: Columns, strict: bool) -> Node:
    """`a < b`, or `a <= b` if it is not strict. before: whether an item is less."""
    result = g.truth(not strict)
    for one, other in reversed(list(zip_longest(a.places, b.places))):
        if one is None or other is None:
            result = g.and_(g.not_(one[0]), result) if other is None else g.or_(other[0], result)
            continue
        here = g.or_(before(one[1], other[1]), g.and_(compare(one[1], other[1]), result))
        ended = other[0] if strict else g.true
        result = g.ite(one[0], g.and_(other[0], here), ended)
    return result


def item_of_columns(g: Graph, choose: Choose, value: Columns, index: Node) -> tuple[Node, Sym]:
    """Whether there is an item at a place, from the end if the place is a negative constant; and the item."""
    if index.op == "const" and index.data < 0:
        behind = -index.data - 1
        options = [(longer_than(g, value, i + behind), item) for i, (_, item) in enumerate(value.places)]
        last = max(1, len(value.places) - behind)
        return longer_than(g, value, behind), _chosen(choose, options[:last])
    low, high = interval(index).low, interval(index).high
    within = [i for i in range(len(value.places)) if low <= i <= high]
    there = g.and_(g.lt(index, length(g, value)), g.le(g.num(0), index))
    if not within:
        return there, value.places[0][1]
    return there, _chosen(choose, [(g.eq(index, g.num(i)), value.places[i][1]) for i in within])


def first_items(g: Graph, value: Columns, end: Node) -> Columns:
    """The first items, so many. end: not negative."""
    most = max(1, min(len(value.places), interval(end).high))
    return Columns(
        tuple((g.and_(there, g.lt(g.num(i), end)), item) for i, (there, item) in enumerate(value.places[:most]))
    )


def later_items(g: Graph, choose: Choose, value: Columns, first: Node) -> Columns:
    """All but the first items, so many. first: not negative."""
    count, low, high = len(value.places), interval(first).low, interval(first).high
    if first.op == "const":
        rest = value.places[first.data :]
        return Columns(rest or ((g.false, value.places[0][1]),))
    places = []
    for i in range(max(1, count - low)):
        sources = [(g.eq(first, g.num(k)), value.places[i + k]) for k in range(low, min(high + 1, count - i))]
        there = g.or_(*(g.and_(so_many, place[0]) for so_many, place in sources))
        options = [(so_many, place[1]) for so_many, place in sources]
        places.append((there, _chosen(choose, options) if options else value.places[0][1]))
    return Columns(tuple(places))


def compacted(g: Graph, choose: Choose, items: list[tuple[Node, Sym]]) -> Columns:
    """The sequence of the items whose condition holds, in their order."""
    result = Columns(())
    for condition, item in items:
        one = Columns(((condition, item),))
        result = concatenated(g, choose, result, one) if result.places else one
    return result


def contains(g: Graph, compare: Compare, value: Columns, item: Sym) -> Node:
    """`item in value`."""
    return g.or_(*(g.and_(there, compare(item, other)) for there, other in value.places))
