"""Ids and their numbers, `every`, and total maps: `fill`, `Map({...})`, `map.put(key, value)`.

Also here: records: made by their class, changed by `replace`.

Also here: tuple displays, items and slices of sequences, and `map[key]`.
"""

from __future__ import annotations

import ast
import dataclasses
from dataclasses import MISSING
from enum import EnumMeta

from reassure.spec.frontend import columns
from reassure.spec.frontend.comprehensions import naming, of_any_number, unroll
from reassure.spec.frontend.context import Context, exclude
from reassure.spec.frontend.evaluation import (
    by_parameter,
    keyword,
    lower,
    lower_field,
    lower_present,
    lower_scalar,
    lowered_each,
    number_of,
    peek,
    positional,
)
from reassure.spec.frontend.introspection import Refused
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.map_keys import (
    NOT_TOTAL,
    changed,
    check_key,
    is_tuple,
    lookup,
    loops_over,
    parts_of_key,
    total_map,
    written_key,
)
from reassure.spec.frontend.operations import may_hold_together
from reassure.spec.frontend.sets_and_sequences import as_sequence, items_of_kind, seq_len, sequence_of
from reassure.spec.frontend.symbolic_values import (
    Columns,
    Empty,
    MapOf,
    Mismatch,
    Option,
    Poison,
    Record,
    Scalar,
    Static,
    Sym,
    Tuple,
    describe,
    interval,
    map_of,
)
from reassure.spec.language.annotations import own_method, resolve
from reassure.spec.language.types import BoolType, EnumType, IdType, IntType, SeqType, SetType, Type, unbounded
from reassure.spec.language.values import Id


def id_of(context: Context, node: ast.Call, sort: type[Id]) -> Sym:
    """`Broker(1)`, `Broker((int(b) + 1) % c.brokers)`: the id of a number that is seen to be one's.

    The class does not know how many ids there are, so that Python makes one of any number.
    """
    g, (argument,) = context.graph, positional(context, node, 1, 1)
    number = number_of(context, argument, lower_present(context, argument))
    kind = resolve(sort, context.symbols.sizes)
    assert isinstance(kind, IdType)
    if unbounded(kind) and number.op != "const":
        what = f"{kind}() of a number, as there may be any number of them"
        raise context.refuse(node, what, "use a parameter, or --set a number of them")
    low, high = (number.data, number.data) if number.op == "const" else context.bounds(number)
    outside = low < kind.first or high >= kind.first + kind.count
    if outside and not unbounded(kind):
        if exclude(g, context.path, context.assured):  # as `Broker(i - 1)` in a first turn, behind `i > 0`
            return Scalar(g.const(0, kind))
        last = kind.first + kind.count - 1
        what = f"`{ast.unparse(node)}`, whose number may be {low}" + (f"..{high}" if low < high else "")
        way = "a test before it" if context.scope.guards is None else "an `if`, as each guard may be left out here"
        raise context.refuse(
            node, what, f"keep it within {kind.first}..{last}: by `% n`, by `min` and `max`, or by {way}"
        )
    if number.op == "const":
        return context.symbols.lift(sort(number.data))
    context.reads_order(sort)
    found = g.const(high - kind.first, kind)
    for one in range(high - 1, low - 1, -1):
        found = g.ite(g.eq(number, g.num(one)), g.const(one - kind.first, kind), found)
    return Scalar(found)


def int_of(context: Context, node: ast.Call) -> Sym:
    """`int(id)`: its number."""
    (argument,) = positional(context, node, 1, 1)
    value = lower_present(context, argument)
    if isinstance(value, Scalar) and isinstance(value.type, BoolType):
        return Scalar(context.graph.ite(value.node, context.graph.num(1), context.graph.num(0)))
    return Scalar(number_of(context, argument, value))


def every_call(context: Context, node: ast.Call) -> Sym:
    """`every(Broker, c)`."""
    arguments = positional(context, node, 1, 2, "config")
    config = arguments[1] if len(arguments) == 2 else keyword(node, "config")
    return Scalar(context.graph.full(_sort(context, node, arguments[0], config, "every({}, c)")))


def fill_call(context: Context, node: ast.Call) -> Sym:
    """`fill(Broker, c, value)`."""
    sort, config, value = positional(context, node, 3, 3)
    key = _sort(context, node, sort, config, "fill({}, c, value)")
    return map_of(key, (lower(context, value),) * (1 if unbounded(key) else key.count))


def _sort(context: Context, node: ast.Call, sort: ast.expr, config: ast.expr | None, call: str) -> Type:
    """The sort that `every` or `fill` is of; an id sort is as large as the configuration says. call: as is written."""
    of_sort = f"write `{call.format('Sort')}` with an Id sort, an Enum or bool"
    if isinstance(sort, ast.Call):
        raise context.refuse(node, f"`{ast.unparse(sort)}` is not a sort", of_sort)
    named = lower_present(context, sort)
    if isinstance(named, Poison):
        raise Refused
    if not isinstance(named, Static):
        raise context.refuse(node, f"`{ast.unparse(sort)}` is not a sort", of_sort)
    argument = None if config is None else lower(context, config)
    if isinstance(argument, Poison):
        raise Refused
    kind = resolve(named.value, context.symbols.sizes)
    if not isinstance(kind, IdType | EnumType | BoolType):
        if isinstance(kind, IntType):
            of_sort = f"of numbers, write `range({kind.low}, {kind.high + 1})`, as in `Map({{k: v for k in range(5)}})`"
        raise context.refuse(node, f"`{ast.unparse(sort)}` is not a sort", of_sort)
    remedy = f"write `{call.format(kind)}`, where `c` is the configuration"
    is_none = isinstance(argument, Option) and argument.value is None
    if (argument is None or is_none) and isinstance(kind, IdType) and not isinstance(kind.sort.size, int):
        raise context.refuse(node, f"{kind} without the configuration", remedy)
    if argument is not None and not is_none and not (isinstance(argument, Static) and argument.value is context.config):
        raise context.refuse(node, "this as the configuration", remedy)
    return kind


def map_call(context: Context, node: ast.Call) -> Sym:
    """`Map({k: value for k in every(Sort, c)})`, `Map({0: a, 1: b})`."""
    (argument,) = positional(context, node, 1, 1)
    if isinstance(argument, ast.DictComp):
        over_sort = _over_sort(context, argument)
        if over_sort is not None:
            return over_sort
        pair = ast.Tuple(elts=[argument.key, argument.value], ctx=ast.Load())
        ast.copy_location(pair, argument)
        items = unroll(context, argument, pair, pairs=True)
    elif isinstance(argument, ast.Dict) and argument.keys and None not in argument.keys:
        written = [(k, v) for k, v in zip(argument.keys, argument.values, strict=True) if k is not None]
        items = [(context.graph.true, Static((lower(context, k), lower(context, v)))) for k, v in written]
    else:
        if not isinstance(argument, ast.Dict) and isinstance(lower(context, argument), Poison):
            raise Refused
        remedy = "write `Map({k: v for k in every(Sort, c)})`, of numbers `for k in range(5)`, of tuples `(a, b): v`"
        raise context.refuse(node, "Map() of this", f"{remedy} with a loop for each part")
    entries: dict[tuple[tuple[Type, int], ...], Sym] = {}
    of_tuples = set[bool]()
    for condition, element in items:
        assert isinstance(element, Static)
        key, value = element.value
        if isinstance(key, Poison):
            raise Refused
        found = written_key(context.graph, key)
        if condition is not context.graph.true or found is None:
            raise context.refuse(node, *NOT_TOTAL)
        of_tuples.add(is_tuple(key))
        entries[found] = value
    total = total_map(entries, True in of_tuples) if len(of_tuples) == 1 else None
    if total is None:
        raise context.refuse(node, *NOT_TOTAL)
    return total


def _over_sort(context: Context, node: ast.DictComp) -> Sym | None:
    """The map of a comprehension over all of a sort of any number of members; None for another comprehension."""
    g, first = context.graph, node.generators[0]
    source = peek(context, first.iter)
    if not isinstance(source, Scalar) or not isinstance(source.type, SetType) or not unbounded(source.type.item):
        return None
    target, sort = first.target, source.type.item
    if isinstance(node.key, ast.Tuple):
        raise context.refuse(node, *of_any_number(sort))
    whole = source.node is g.full(sort) and len(node.generators) == 1 and not first.ifs
    if not whole or not isinstance(target, ast.Name) or ast.unparse(node.key) != target.id:
        raise context.refuse(node, *NOT_TOTAL)
    (member,) = g.indices(sort)
    with context.binding(member), naming(context, target, Scalar(member)):
        value = lower(context, node.value)
    return context.symbols.tabulated([member], [value])


def put(context: Context, node: ast.Call, target: ast.expr) -> Sym:
    """`map.put(key, value)`. target: the map."""
    base = lower_present(context, target)
    assert isinstance(base, MapOf)
    key = lower_present(context, node.args[0])
    parts = parts_of_key(context, node.args[0], base.key, key, f"{{}} as a key of a map from {base.key}")
    value = lower(context, node.args[1])
    check_key(context, node, base.key, parts)
    return changed(context, base, parts, value)


def construct(context: Context, node: ast.Call, cls: type) -> Sym:
    """`Class(value, field=value)`."""
    declared = {f.name: f for f in dataclasses.fields(cls)}
    odd = next((f.name for f in declared.values() if not f.init or not f.compare), None) or own_method(cls)
    if odd is not None:
        raise context.refuse(node, f"{cls.__name__}, which has its own `{odd}`", "a record is just its fields")
    written = {*list(declared)[: len(node.args)], *(k.arg for k in node.keywords)}
    missing = [name for name, f in declared.items() if f.default is MISSING and name not in written]
    if missing and written <= set(declared):
        raise context.refuse(node, f"{cls.__name__} without `{missing[0]}`", "give every field a value")
    values = by_parameter(context, node, cls, f"{cls.__name__} has the fields {', '.join(declared)}", cls)
    places: dict[str, ast.expr] = dict(zip(declared, node.args, strict=False))
    places |= {k.arg: k.value for k in node.keywords if k.arg is not None}
    fields: dict[str, Sym] = {}
    for name, f in declared.items():
        value = values[name] if name in values else context.symbols.lift(f.default)
        fields[name] = _fitted(context, places.get(name, node), cls, name, value)
    return Record(cls, fields)


def replace_call(context: Context, node: ast.Call) -> Sym:
    """`replace(record, field=value)`."""
    names = tuple(k.arg for k in node.keywords if k.arg is not None)
    base = lower_present(context, positional(context, node, 1, 1, *names)[0])
    if isinstance(base, Poison):
        return base
    if not isinstance(base, Record):
        raise context.refuse(node, f"replace() of {describe(base)}", "it changes fields of a record")
    fields = dict(base.fields)
    for k in node.keywords:
        if k.arg not in base.fields:
            has = f"{base.cls.__name__} has {', '.join(base.fields)}"
            raise context.refuse(k.value, f"no field `{k.arg}`", has)
    given = [(k.arg, k.value) for k in node.keywords if k.arg is not None]
    cls = base.cls

    def field_of(name: str, value: ast.expr) -> Sym:
        return _fitted(context, value, cls, name, lower_field(context, cls, name, value))

    fields |= lowered_each(context, given, field_of)
    return Record(base.cls, fields)


def _fitted(context: Context, node: ast.AST, cls: type, name: str, value: Sym) -> Sym:
    """A value in the shape of a field's type."""
    kind = context.symbols.field_type(cls, name)
    if kind is None or isinstance(value, Poison):
        return value  # a record that is only a helper's result may have fields of no finite type
    try:
        return context.symbols.fit(value, kind)
    except Mismatch as error:
        raise context.refuse(node, f"{cls.__name__}.{name}", str(error)) from None


def tuple_display(context: Context, node: ast.Tuple) -> Sym:
    """`(a, b)`: a sequence, a tuple of values of several kinds, or one of Python objects."""
    parts = [lower_present(context, e) for e in node.elts]
    if any(isinstance(p, Poison) for p in parts):
        raise Refused
    return sequence_of(context.graph, parts)


def subscript(context: Context, node: ast.Subscript) -> Sym:
    """`map[key]`, `seq[i]`, `seq[a:b]`."""
    base = lower_present(context, node.value)
    if isinstance(base, Poison):
        return base
    if isinstance(base, MapOf):
        if isinstance(node.slice, ast.Slice):
            loops = loops_over(base.key)
            values = f"{ast.unparse(node.value)}[{loops['key']}] {loops['loops']} if ..."
            raise context.refuse(node, f"a slice of {describe(base)}", f"a map has no places: write `{values}`")
        key = lower_present(context, node.slice)
        parts = parts_of_key(context, node, base.key, key, f"a map from {base.key} at {{}}")
        check_key(context, node, base.key, parts)
        return lookup(context, base, parts)
    if isinstance(base, Tuple):
        return _item_of_tuple(context, node, base)
    if isinstance(base, Scalar) and isinstance(base.type, SeqType):
        return _part_of_sequence(context, node, base.node, base.type)
    if isinstance(base, Columns) and base.places:
        return _part_of_columns(context, node, base)
    if isinstance(base, Columns) or (isinstance(base, Empty) and base.sequence):
        return _part_of_nothing(context, node)
    remedy = "only maps and tuples are indexed"
    if isinstance(base, Static) and isinstance(base.value, EnumMeta) and len(base.value):
        written = node.slice.value if isinstance(node.slice, ast.Constant) else None
        names = [name for name in base.value.__members__ if name == written] or list(base.value.__members__)
        remedy = f"write a member: `{base.value.__name__}.{names[0]}`"
    elif items_of_kind(base)[0] == "set":
        remedy = "a set has no places: write `x in s`, or `for x in s`"
    elif isinstance(base, Record):
        remedy = f"write a field of it: `.{'`, `.'.join(base.fields)}`"
    raise context.refuse(node, f"an index into {describe(base)}", remedy)


def _item_of_tuple(context: Context, node: ast.Subscript, base: Tuple) -> Sym:
    """An item of a tuple, whose items may be of several kinds; if they are of one, a part too, or at any place."""
    index = lower_present(context, node.slice) if not isinstance(node.slice, ast.Slice) else None
    if isinstance(index, Poison):
        raise Refused
    sequence = as_sequence(context.graph, base)
    if isinstance(index, Scalar) and isinstance(index.type, IntType) and index.node.op == "const":
        if -len(base.items) <= index.node.data < len(base.items):
            item: Sym = base.items[index.node.data]
            return item
    elif isinstance(sequence, Scalar) and isinstance(sequence.type, SeqType):
        return _part_of_sequence(context, node, sequence.node, sequence.type)
    elif len({describe(item) for item in base.items}) == 1:
        return _part_of_columns(context, node, Columns(tuple((context.graph.true, item) for item in base.items)))
    raise context.refuse(node, f"this index into {describe(base)}", "a number that is one of its places")


def _part_of_sequence(context: Context, node: ast.Subscript, sequence: Node, kind: SeqType) -> Sym:
    """An item or a slice of a sequence of ids, enum members or bools."""
    if not isinstance(node.slice, ast.Slice):
        return _item(context, node, sequence, kind)
    if context.scope.any_number is not None:
        what = "a slice, which has no translation for any number"
        raise context.refuse(node, what, "work with the items themselves, or --set every number")
    return _slice(context, node, node.slice, sequence, kind)


def _slice(context: Context, node: ast.Subscript, part: ast.Slice, sequence: Node, kind: SeqType) -> Sym:
    g = context.graph
    if part.step is not None:
        raise context.refuse(node, "a slice with a step", "write `seq[a:b]`")
    result = sequence
    length = seq_len(g, sequence)
    first = None if part.lower is None else _slice_bound(context, part.lower, length)
    if part.upper is not None:
        end = _slice_bound(context, part.upper, length)
        kind = SeqType(kind.item, max(1, min(kind.length, interval(end).high)))
        result = g.op("seq_take", kind, (result, end))
    if first is not None:
        kind = SeqType(kind.item, max(1, kind.length - interval(first).low))
        result = g.op("seq_drop", kind, (result, first))
    return Scalar(result)


def _part_of_columns(context: Context, node: ast.Subscript, base: Columns) -> Sym:
    """An item or a slice of a sequence of records or numbers."""
    g, choose = context.graph, context.symbols.choose
    length = columns.length(g, base)
    if isinstance(node.slice, ast.Slice):
        if node.slice.step is not None:
            raise context.refuse(node, "a slice with a step", "write `seq[a:b]`")
        first = None if node.slice.lower is None else _slice_bound(context, node.slice.lower, length)
        end = None if node.slice.upper is None else _slice_bound(context, node.slice.upper, length)
        part = base if end is None else columns.first_items(g, base, end)
        return part if first is None else columns.later_items(g, choose, part, first)
    index = lower_scalar(context, node.slice, IntType)
    if not (index.op == "const" and index.data < 0):
        index = _not_negative(context, node.slice, index, length, "an index that may be negative")
    there, item = columns.item_of_columns(g, choose, base, index)
    context.check("error", node, there)
    return item


def _part_of_nothing(context: Context, node: ast.Subscript) -> Sym:
    """A slice of an empty tuple, as that which a loop starts from; an item there is none."""
    if not isinstance(node.slice, ast.Slice):
        lower_scalar(context, node.slice, IntType)
        if context.path is context.graph.false:  # as in a first turn, behind a test that there are items
            raise Refused
        raise context.refuse(node, "an index into an empty tuple", "it always raises; test before that there are items")
    if node.slice.step is not None:
        raise context.refuse(node, "a slice with a step", "write `seq[a:b]`")
    for bound in (node.slice.lower, node.slice.upper):
        if bound is not None:
            _slice_bound(context, bound, context.graph.num(0))
    return Empty(True)


def _slice_bound(context: Context, node: ast.expr, length: Node) -> Node:
    g = context.graph
    bound = lower_scalar(context, node, IntType)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant) and interval(bound).high < 0:
        return g.arith("max", g.arith("add", length, bound), g.num(0))  # from the end
    place = _not_negative(context, node, bound, length, "a slice bound that may be negative")
    return place if interval(place).low >= 0 else g.arith("max", place, g.num(0))


def _not_negative(context: Context, node: ast.expr, place: Node, length: Node, what: str) -> Node:
    """A place that what is known here keeps from being negative, else it is refused; with switches it may be."""
    if interval(place).low >= 0:
        return place
    g = context.graph
    if context.scope.guards is not None:  # each may be switched off: from the end, as in Python
        return g.ite(g.lt(place, g.num(0)), g.arith("add", length, place), place)
    if context.bounds(place)[0] < 0 and may_hold_together((context.path, context.assured, g.lt(place, g.num(0)))):
        text = ast.unparse(node)
        number = f"({text})" if isinstance(node, ast.IfExp) else text
        remedy = f"test `{number} >= 0` before, write `max({text}, 0)`, or count from the front, or with a constant"
        raise context.refuse(node, what, remedy)
    return g.arith("max", place, g.num(0))


def _item(context: Context, node: ast.Subscript, sequence: Node, kind: SeqType) -> Sym:
    g = context.graph
    length = seq_len(g, sequence)
    index = lower_scalar(context, node.slice, IntType)
    if index.op == "const" and index.data < 0:
        index = g.arith("add", length, index)
    else:
        index = _not_negative(context, node.slice, index, length, "an index that may be negative")
    context.check("error", node, g.and_(g.lt(index, length), g.le(g.num(0), index)))
    return Scalar(g.op("seq_get", kind.item, (sequence, index)))
