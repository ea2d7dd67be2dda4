"""Maps at their keys: `map[key]`, `map.put(key, value)`, and the maps of keys that are written out.

A map is a value for each key, in the order of the keys' type. A key is a node for each of its parts: one for an id, an
enum member, a bool or a number, several for a tuple. No engine has an operation on keys.
"""

from __future__ import annotations

import ast
from itertools import product

from reassure.spec.frontend.context import Context
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.operators import every_of
from reassure.spec.frontend.sets_and_sequences import item_index, items_of, seq_len
from reassure.spec.frontend.symbolic_values import MapOf, Scalar, Sym, Tuple, conversion, describe, interval, map_of
from reassure.spec.language.keys import TupleType, key_parts
from reassure.spec.language.types import BoolType, EnumType, IdType, IntType, SeqType, Type, unbounded

NOT_TOTAL = "a map that is not total", "its keys are `k for k in every(Sort, c)` or `k for k in range(5)`, in full"
"""A map that lacks a key, and the remedy."""


def parts_of_key(context: Context, node: ast.expr, key: Type, value: Sym, what: str) -> tuple[Node, ...]:
    """The nodes of a key's parts; refused, at a node, where it is of another type than the keys. what: it is used as.

    A number may be outside its Range: `check_key` says so.
    """
    g, kinds = context.graph, key_parts(key)
    items: list[Sym] | None = [value]
    if isinstance(key, TupleType):
        items = items_of(g, value)
        if items is None and isinstance(value, Scalar) and isinstance(value.type, SeqType):  # one of several tuples
            context.check("error", node, g.eq(seq_len(g, value.node), g.num(len(kinds))))
            items = [Scalar(g.op("seq_get", value.type.item, (value.node, g.num(i)))) for i in range(len(kinds))]
    nodes: list[Node] = []
    for kind, item in zip(kinds, items or [], strict=False):
        if not isinstance(item, Scalar):
            break
        if isinstance(kind, IntType) and isinstance(item.type, IntType):
            nodes.append(item.node)
        elif kind == item.type:
            nodes.append(item_index(g, item))
    if items is None or not len(nodes) == len(items) == len(kinds):
        ways = [conversion(item, kind) for kind, item in zip(kinds, items or [], strict=False)]
        remedy = "index it with one of its keys" + next(filter(None, ways), "")
        raise context.refuse(node, what.format(describe(value)), remedy)
    return tuple(nodes)


def check_key(context: Context, node: ast.expr, key: Type, parts: tuple[Node, ...]) -> None:
    """Records that Python raises where a number is outside the Range of its part of a key."""
    g, within = context.graph, []
    for kind, part in zip(key_parts(key), parts, strict=True):
        if isinstance(kind, IntType):
            within += [g.le(g.num(kind.low), part), g.le(part, g.num(kind.high))]
    context.check("error", node, g.and_(*within))


def lookup(context: Context, base: MapOf, parts: tuple[Node, ...]) -> Sym:
    """`map[key]`; any value where there is no such key. parts: of the key."""
    if unbounded(base.key):
        return context.symbols.with_members(base.values[0], {context.graph.key(base.key): parts[0]})
    return _at(context, key_parts(base.key), parts, base.values)


def _at(context: Context, kinds: tuple[Type, ...], parts: tuple[Node, ...], values: tuple[Sym, ...]) -> Sym:
    """The value at a key among the values of all keys."""
    if not kinds:
        return values[0]
    g, (kind, *others), (part, *rest) = context.graph, kinds, parts
    row = len(values) // kind.count
    places = range(kind.count)
    if isinstance(kind, IntType):
        low, high = interval(part).low - kind.low, interval(part).high - kind.low
        places = range(max(0, low), min(kind.count, high + 1)) or range(1)
    elif part.op == "const":
        places = range(int(part.data), int(part.data) + 1)

    def at(place: int) -> Sym:
        return _at(context, tuple(others), tuple(rest), values[place * row : (place + 1) * row])

    value = at(places[-1])
    for place in reversed(places[:-1]):
        value = context.symbols.choose(g.eq(part, _constant(g, kind, place)), at(place), value)
    return value


def changed(context: Context, base: MapOf, parts: tuple[Node, ...], value: Sym) -> MapOf:
    """`map.put(key, value)`. parts: of the key."""
    g, symbols = context.graph, context.symbols
    if unbounded(base.key):
        return map_of(base.key, (symbols.choose(g.eq(parts[0], g.key(base.key)), value, base.values[0]),))
    kinds = key_parts(base.key)
    entries = []
    for places, old in zip(product(*(range(kind.count) for kind in kinds)), base.values, strict=True):
        same = (g.eq(p, _constant(g, k, i)) for k, p, i in zip(kinds, parts, places, strict=True))
        entries.append(symbols.choose(g.and_(*same), value, old))
    return map_of(base.key, tuple(entries))


def _constant(g: Graph, kind: Type, place: int) -> Node:
    """The value of a part of a key by its place in the part's type."""
    return g.num(kind.low + place) if isinstance(kind, IntType) else g.const(place, kind)


def loops_over(key: Type) -> dict[str, str]:
    """Texts for a remedy: the loops over all keys of a type, a key behind a map, and a key alone."""
    kinds = key_parts(key)
    names = ["k"] if len(kinds) == 1 else [f"k{i}" for i in range(1, len(kinds) + 1)]
    loops = []
    for name, kind in zip(names, kinds, strict=True):
        all_ = f"range({kind.low}, {kind.high + 1})" if isinstance(kind, IntType) else f"every({kind}, c)"
        loops.append(f"for {name} in {all_}")
    text = ", ".join(names)
    return {"loops": " ".join(loops), "key": text, "written": text if len(kinds) == 1 else f"({text})"}


def iterable(node: ast.expr, value: Sym) -> str:
    """A text for a remedy: what to go through in place of a value, at a node, that has no members."""
    if isinstance(value, MapOf):
        return f"its keys: `{loops_over(value.key)['loops']}`"
    if isinstance(value, Scalar) and isinstance(value.type, IntType):
        return f"`range({ast.unparse(node)})`"
    return every_of(value) or "a set, a tuple or `every(Sort, c)`"


def is_tuple(value: Sym) -> bool:
    """Whether a key that is known is a tuple."""
    return isinstance(value, Tuple) or (isinstance(value, Scalar) and isinstance(value.type, SeqType))


def written_key(g: Graph, value: Sym) -> tuple[tuple[Type, int], ...] | None:
    """The parts of a key that is known, each with its type and its place in it, a number as itself; None of others."""
    parts = []
    for item in items_of(g, value) or [value]:
        if not isinstance(item, Scalar) or item.node.op != "const":
            return None
        if not isinstance(item.type, IntType | IdType | EnumType | BoolType):
            return None
        parts.append((IntType(0, 0) if isinstance(item.type, IntType) else item.type, int(item.node.data)))
    return tuple(parts)


def total_map(entries: dict[tuple[tuple[Type, int], ...], Sym], tuples: bool) -> MapOf | None:
    """The map of these entries, if they are of all keys of one type. tuples: whether the keys are tuples."""
    kinds: list[Type] = []
    if len({len(key) for key in entries}) != 1:
        return None
    for column in zip(*entries, strict=True):
        of_part = {kind for kind, _ in column}
        if len(of_part) != 1:
            return None
        numbers = [number for _, number in column]
        (kind,) = of_part
        kinds.append(IntType(min(numbers), max(numbers)) if isinstance(kind, IntType) else kind)
    lows = [kind.low if isinstance(kind, IntType) else 0 for kind in kinds]
    of_places = {tuple(n - low for (_, n), low in zip(key, lows, strict=True)): v for key, v in entries.items()}
    every = list(product(*(range(kind.count) for kind in kinds))) if not any(map(unbounded, kinds)) else []
    if len(every) != len(of_places) or any(places not in of_places for places in every):
        return None
    return MapOf(TupleType.of(kinds) if tuples else kinds[0], tuple(of_places[places] for places in every))
