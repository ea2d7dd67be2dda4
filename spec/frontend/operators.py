"""`and`, `or`, `not`, `a if c else b`, and the operators on ints, sets, sets of records and sequences.

Also here: comparisons: `is None`, `==`, `in`, `<` and their negations, also in chains.

Also here: the order of two values: of numbers, bools, ids, sets, tuples item by item, and records of a class with
`order=True`. A tuple is compared as Python does: where the first items differ they decide, else the rest does.
"""

from __future__ import annotations

import ast
from enum import Enum

from reassure.spec.frontend import columns, number_sets
from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import (
    NOTHING,
    as_numbers,
    beside_refused,
    conditions_behind,
    is_written_text,
    lower,
    lower_condition,
    lower_operand,
    lower_present,
    lower_scalar,
    not_none_if,
    number_of,
    peek,
    positional,
)
from reassure.spec.frontend.introspection import Refused
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.sets_and_sequences import (
    alike,
    as_sequence,
    empty_like,
    in_place_of_operator,
    insert,
    is_like,
    item_index,
    items_of,
    items_of_kind,
    keep,
    occupied,
    seq_len,
    seq_set,
    unpack_slot,
)
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Columns,
    Empty,
    Loose,
    MapOf,
    Mismatch,
    NumberSet,
    Option,
    Poison,
    Record,
    Scalar,
    Static,
    Sym,
    Tuple,
    comparable,
    conversion,
    describe,
)
from reassure.spec.language.types import BoolType, EnumType, IdType, IntType, RecordType, SeqType, SetType, unbounded
from reassure.spec.language.values import Id


def bool_op(context: Context, node: ast.BoolOp) -> Sym:
    """`and`, `or`: a term is evaluated only where those before it have not decided."""
    g = context.graph
    conjunction = isinstance(node.op, ast.And)
    terms: list[Node] = []
    not_none = NOTHING
    undecided = g.true
    for number, part in enumerate(node.values, 1):
        term = g.false
        try:
            with context.under(undecided), context.knowing(not_none):
                term = lower_condition(context, part)
                not_none |= not_none_if(context, part, conjunction)
        except Refused:
            conditions_behind(context, node.values[:number], node.values[number:], conjunction)
            raise
        terms.append(term)
        undecided = g.and_(undecided, term if conjunction else g.not_(term))
    return Scalar(g.and_(*terms) if conjunction else g.or_(*terms))


def unary_op(context: Context, node: ast.UnaryOp) -> Sym:
    """`not` and `-`."""
    g = context.graph
    if isinstance(node.op, ast.Not):
        return Scalar(g.not_(lower_condition(context, node.operand)))
    if isinstance(node.op, ast.USub):
        return Scalar(g.arith("sub", g.num(0), lower_scalar(context, node.operand, IntType)))
    raise context.refuse(node, f"`{ast.unparse(node)}`", _in_place_of_sign(node, lower_present(context, node.operand)))


def _in_place_of_sign(node: ast.UnaryOp, value: Sym) -> str:
    """The remedy for `~` and the sign `+`, by the operand's value."""
    text = ast.unparse(node.operand)
    if isinstance(node.op, ast.UAdd):
        return f"write `{text}`"
    if isinstance(value, NumberSet):
        return f"write `frozenset(i for i in range(low, high) if i not in {text})`"
    kind = value.type if isinstance(value, Scalar) else None
    if isinstance(kind, SetType):
        return f"write `every({kind.item}, c) - {text}`"
    if isinstance(kind, IntType):
        return f"write `-1 - {text}`"
    return f"write `not {text}`" if isinstance(kind, BoolType) else f"{describe(value)} has no complement"


def if_expression(context: Context, node: ast.IfExp) -> Sym:
    """`a if c else b`."""
    g, symbols = context.graph, context.symbols
    test = lower_condition(context, node.test)
    yes: Sym = POISON
    no: Sym = POISON
    with context.under(test), context.knowing(not_none_if(context, node.test, True)):
        yes = symbols.as_bag(lower(context, node.body))
    with context.under(g.not_(test)), context.knowing(not_none_if(context, node.test, False)):
        no = symbols.as_bag(lower(context, node.orelse))
    return symbols.choose(test, yes, no)


def binary_op(context: Context, node: ast.BinOp) -> Sym:
    """`a op b` for ints, sets, sets of records and sequences."""
    beside_refused(context, node.left, node.right)
    a, b = lower_present(context, node.left), lower_operand(context, node.right)
    g, op = context.graph, node.op
    if isinstance(a, Poison) or isinstance(b, Poison):
        return POISON
    if isinstance(op, ast.Add):
        a, b = as_sequence(g, a), as_sequence(g, b)
    legal = not any(isinstance(x, Empty) and (type(op) in OF_SETS) == x.sequence for x in (a, b))
    if legal and (isinstance(a, Bag | Loose) or isinstance(b, Bag | Loose)):
        return _record_sets(context, node, a, b)
    if legal and (isinstance(a, Empty) or isinstance(b, Empty)):
        if isinstance(a, Empty) and isinstance(b, Empty) and a.sequence == b.sequence:
            return a
        a = empty_like(g, b, a.sequence) if isinstance(a, Empty) else a
        b = empty_like(g, a, b.sequence) if isinstance(b, Empty) else b
    if isinstance(a, NumberSet) and isinstance(b, NumberSet) and type(op) in OF_SETS:
        return number_sets.combined(g, lambda x, y: _inside(g, op, x, y), a, b)
    if isinstance(op, ast.Add):
        one, other = columns.as_columns(g, a), columns.as_columns(g, b)
        if one is not None and other is not None:
            return columns.concatenated(g, context.symbols.choose, one, other)
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        if type(op) in ARITHMETIC and isinstance(a.type, IdType | IntType) and isinstance(b.type, IdType | IntType):
            a, b = Scalar(number_of(context, node.left, a)), Scalar(number_of(context, node.right, b))
        combined = _scalars(context, node, a, b)
        if combined is not None:
            return Scalar(combined)
    what = f"{describe(a)} {SIGNS.get(type(op), type(op).__name__)} {describe(b)}"
    remedy = "`| & - ^` are for sets of one sort, `+ - * // %` for ints, `+` for tuples"
    raise context.refuse(node, what, in_place_of_operator(node, a, b) or remedy + conversion(b, a))


def _inside(g: Graph, op: ast.operator, x: Node, y: Node) -> Node:
    """Whether what `a op b` makes of two sets has a member, by whether each has it."""
    if isinstance(op, ast.BitXor):
        return g.not_(g.eq(x, y))
    return g.or_(x, y) if isinstance(op, ast.BitOr) else g.and_(x, y if isinstance(op, ast.BitAnd) else g.not_(y))


def _scalars(context: Context, node: ast.BinOp, a: Scalar, b: Scalar) -> Node | None:
    """`a op b` for ints, sets and sequences; None if there is no such operator."""
    g, x, y = context.graph, a.node, b.node
    if isinstance(a.type, IntType) and isinstance(b.type, IntType) and type(node.op) in ARITHMETIC:
        operation = ARITHMETIC[type(node.op)]
        if operation in ("floordiv", "mod") and not (y.op == "const" and y.data > 0):
            raise context.refuse(node, "division by what is not constant", "the divisor is a positive constant")
        return g.arith(operation, x, y)
    if isinstance(a.type, SetType) and a.type == b.type:
        if isinstance(node.op, ast.BitOr):
            return g.union(x, y)
        if isinstance(node.op, ast.BitAnd):
            return g.inter(x, y)
        if isinstance(node.op, ast.Sub):
            return g.minus(x, y)
        if isinstance(node.op, ast.BitXor):
            return g.xor(x, y)
    if isinstance(a.type, SeqType) and isinstance(b.type, SeqType) and isinstance(node.op, ast.Add):
        if a.type.item == b.type.item:
            kind = SeqType(a.type.item, a.type.length + b.type.length)
            return g.op("seq_cat", kind, (x, y))
    return None


def _record_sets(context: Context, node: ast.BinOp, a: Sym, b: Sym) -> Sym:
    """`a op b` where one of them is a set of records."""
    op = node.op
    if type(op) not in OF_SETS:
        remedy = in_place_of_operator(node, a, b) or "use `|`, `-` or `&`"
        raise context.refuse(node, "this operator on sets of records", remedy)
    if isinstance(a, Empty):
        return b if isinstance(op, ast.BitOr | ast.BitXor) else a
    if isinstance(b, Empty):
        return b if isinstance(op, ast.BitAnd) else a
    if not isinstance(a, Bag | Loose) or not isinstance(b, Bag | Loose):
        remedy = in_place_of_operator(node, a, b) or "sets of the same kind of member"
        raise context.refuse(node, f"{describe(a)} and {describe(b)}", remedy)
    if isinstance(op, ast.BitOr):
        return _union(context, a, b)
    if isinstance(op, ast.Sub | ast.BitAnd):
        return _restricted(context, a, b, isinstance(op, ast.BitAnd))
    raise context.refuse(node, "this operator on sets of records", "use `|`, `-` or `&`")


def _union(context: Context, a: Bag | Loose, b: Bag | Loose) -> Bag:
    g, symbols = context.graph, context.symbols
    union = symbols.as_bag(a)
    assert isinstance(union, Bag)
    if isinstance(b, Loose):
        for condition, record in b.members:
            if record.cls is not union.item.cls:
                raise Mismatch(f"{describe(a)} and {describe(b)}")
            union = symbols.with_record(union, record, condition)
        return union
    if b.item != union.item:
        raise Mismatch(f"{describe(a)} and {describe(b)}")
    for slot in b.slots:
        union = insert(g, union, slot, union.item, occupied(g, slot))
    return Bag(union.item, union.slots, union.excess + b.excess)


def _restricted(context: Context, a: Bag | Loose, b: Bag | Loose, inside: bool) -> Bag | Loose:
    """The records of `a` that are in `b`, or those that are not."""
    g, symbols = context.graph, context.symbols
    if isinstance(a, Loose):
        members = []
        for condition, record in a.members:
            in_b = symbols.among(record, b)
            members.append((g.and_(condition, in_b if inside else g.not_(in_b)), record))
        return Loose(tuple(members))
    conditions = []
    for slot in a.looked_into():
        unpacked = unpack_slot(g, a.item, slot)
        assert isinstance(unpacked, Record)
        in_b = symbols.among(unpacked, b)
        conditions.append(in_b if inside else g.not_(in_b))
    return keep(g, a, conditions)


OF_SETS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
"""The operators on sets; of sequences there is `+` alone."""
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
}
"""Operations of the graph on ints."""
SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Div: "/", ast.Pow: "**",
    ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


def compare(context: Context, node: ast.Compare) -> Sym:
    """A chain of comparisons: each is evaluated only where those before it hold."""
    g = context.graph
    terms = []
    left = node.left
    all_hold = g.true
    for op, right in zip(node.ops, node.comparators, strict=True):
        term = g.false
        with context.under(all_hold):
            term = _comparison(context, node, left, op, right)
        terms.append(term)
        all_hold = g.and_(all_hold, term)
        left = right
    return Scalar(g.and_(*terms))


def _comparison(context: Context, node: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Node:
    g = context.graph
    if isinstance(op, ast.Is | ast.IsNot):
        is_none = _is_none(context, node, left, right)
        return is_none if isinstance(op, ast.Is) else g.not_(is_none)
    if isinstance(op, ast.In | ast.NotIn):
        within = _membership(context, node, lower(context, left), right)
        return within if isinstance(op, ast.In) else g.not_(within)
    beside_refused(context, left, right)
    if isinstance(op, ast.Eq | ast.NotEq):
        a, b = _side(context, left), _side(context, right)
        if isinstance(a, Poison) or isinstance(b, Poison):
            raise Refused
        same = _same(context, *as_numbers(context, node, (left, a), (right, b)))
        return same if isinstance(op, ast.Eq) else g.not_(same)
    a, b = lower_operand(context, left), lower_operand(context, right)
    a, b = as_numbers(context, node, (left, a), (right, b))
    if isinstance(op, ast.Gt | ast.GtE):
        a, b = b, a
    return is_less(context, node, a, b, isinstance(op, ast.Lt | ast.Gt))


def _is_none(context: Context, node: ast.Compare, left: ast.expr, right: ast.expr) -> Node:
    if not (isinstance(right, ast.Constant) and right.value is None):
        raise context.refuse(node, "`is`", "`is` is only for None; compare with `==`")
    value = lower(context, left)
    if isinstance(value, Poison):
        raise Refused
    return context.graph.not_(value.present) if isinstance(value, Option) else context.graph.false


def _side(context: Context, node: ast.expr) -> Sym:
    """A side of `==`: it may be None, or a set display."""
    displayed = type(node) in context.constructs.set_displays
    return lower_operand(context, node) if displayed else lower(context, node)


def _same(context: Context, a: Sym, b: Sym) -> Node:
    if isinstance(a, Static) and isinstance(b, Static):
        return context.graph.truth(a.value == b.value)
    return context.symbols.equal(a, b)


ORDERED = "`<` compares ints, bools, ids of one sort, sets of one sort, and tuples of these"
"""The remedy where two values have no order."""


def is_less(context: Context, node: ast.AST, a: Sym, b: Sym, strict: bool) -> Node:
    """Whether `a < b`, or `a <= b` if it is not strict; refused, at a node, for what has no order."""
    g = context.graph
    if isinstance(a, Poison) or isinstance(b, Poison):
        raise Refused
    if isinstance(a, Record) and isinstance(b, Record) and a.cls is b.cls:
        if not a.cls.__dataclass_params__.order:  # type: ignore[attr-defined]
            remedy = "write `@dataclass(frozen=True, order=True)` above it, or compare tuples of its fields"
            raise context.refuse(node, f"an order of {a.cls.__name__}, a class that declares none", remedy)
        return _by_items(context, node, list(a.fields.values()), list(b.fields.values()), strict)
    items = items_of(g, a), items_of(g, b)
    if items[0] is not None and items[1] is not None:
        return _by_items(context, node, items[0], items[1], strict)
    a, b = alike(g, a, b)
    if isinstance(a, Empty) and isinstance(b, Empty):
        return g.truth(not strict)
    one, other = columns.as_columns(g, a), columns.as_columns(g, b)
    if one is not None and other is not None:
        equal = context.symbols.equal
        return columns.columns_before(g, lambda x, y: is_less(context, node, x, y, True), equal, one, other, strict)
    a = empty_like(g, b, a.sequence) if isinstance(a, Empty) else a
    b = empty_like(g, a, b.sequence) if isinstance(b, Empty) else b
    if isinstance(a, NumberSet) and isinstance(b, NumberSet):
        return number_sets.is_subset(g, a, b, strict)
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        x, y = a.node, b.node
        if isinstance(a.type, IntType) and isinstance(b.type, IntType):
            return g.lt(x, y) if strict else g.le(x, y)
        if isinstance(a.type, BoolType) and isinstance(b.type, BoolType):
            return g.and_(g.not_(x), y) if strict else g.or_(g.not_(x), y)
        if isinstance(a.type, IdType) and a.type == b.type:
            context.reads_order(a.type.sort, x, y)
            return g.lt(x, y) if strict else g.le(x, y)
        if isinstance(a.type, SetType) and a.type == b.type:
            within = g.subset(x, y)
            return g.and_(within, g.not_(g.eq(x, y))) if strict else within
        if isinstance(a.type, SeqType) and isinstance(b.type, SeqType) and a.type.item == b.type.item:
            return _of_sequences(context, node, x, y, a.type, b.type, strict)
    remedy = ORDERED + conversion(a, b)
    if isinstance(a, Scalar) and isinstance(b, Scalar) and isinstance(a.type, EnumType) and a.type == b.type:
        remedy = f"enum members have no order: number them, as `0 if x == {next(a.type.values())} else 1` does"
    raise context.refuse(node, f"an order of {describe(a)} and {describe(b)}", remedy)


def has_order(value: Sym) -> bool:
    """Whether of two such values that differ one is less; of two sets neither may be."""
    if isinstance(value, Record):
        ordered: bool = value.cls.__dataclass_params__.order  # type: ignore[attr-defined]
        return ordered and all(map(has_order, value.fields.values()))
    if isinstance(value, Tuple):
        return all(map(has_order, value.items))
    if isinstance(value, Columns):
        return all(has_order(item) for _, item in value.places)
    return isinstance(value, Scalar) and isinstance(value.type, IntType | BoolType | IdType | SeqType)


def _by_items(context: Context, node: ast.AST, a: list[Sym], b: list[Sym], strict: bool) -> Node:
    """The order of two tuples of known lengths."""
    g = context.graph
    pairs = list(zip(a, b, strict=False))
    result = g.truth(len(a) < len(b) if strict else len(a) <= len(b))
    if pairs and len(a) == len(b):
        result = is_less(context, node, *pairs.pop(), strict)
    for x, y in reversed(pairs):
        result = g.or_(is_less(context, node, x, y, True), g.and_(context.symbols.equal(x, y), result))
    return result


def _of_sequences(context: Context, node: ast.AST, x: Node, y: Node, a: SeqType, b: SeqType, strict: bool) -> Node:
    """The order of two sequences, whatever their lengths."""
    g = context.graph
    if unbounded(a.item):
        raise context.refuse(node, f"an order of sequences of {a.item}, of which there may be any number", ORDERED)
    lengths = seq_len(g, x), seq_len(g, y)
    result = g.lt(*lengths) if strict else g.le(*lengths)
    for i in range(min(a.length, b.length) - 1, -1, -1):
        items = [Scalar(g.op("seq_get", a.item, (sequence, g.num(i)))) for sequence in (x, y)]
        both = g.and_(*(g.lt(g.num(i), length) for length in lengths))
        here = g.or_(
            is_less(context, node, items[0], items[1], True), g.and_(g.eq(items[0].node, items[1].node), result)
        )
        result = g.ite(both, here, g.lt(*lengths) if strict else g.le(*lengths))
    return result


def _membership(context: Context, node: ast.Compare, value: Sym, right: ast.expr) -> Node:
    """`value in right`."""
    g = context.graph
    if isinstance(right, ast.Tuple | ast.Set):
        beside = isinstance(value, Poison)
        members = [POISON if beside and is_written_text(e) else lower(context, e) for e in right.elts]
        if isinstance(value, Poison) or any(isinstance(m, Poison) for m in members):
            raise Refused
        return g.or_(*(_same(context, value, m) for m in members))
    function = peek(context, right.func) if isinstance(right, ast.Call) else None
    if isinstance(right, ast.Call) and isinstance(function, Static) and function.value is range:
        *lows, high = map(ast.unparse, positional(context, right, 1, 2))
        low = lows[0] if lows else "0"
        remedy = f"write `{low} <= {ast.unparse(node.left)} < {high}`"
        raise context.refuse(node, f"`in {ast.unparse(right)}`", remedy)
    container = lower_operand(context, right)
    if isinstance(value, Poison) or isinstance(container, Poison):
        raise Refused
    if isinstance(container, Tuple):
        return g.or_(*(_same(context, value, member) for member in container.items))
    if isinstance(value, Option):
        if value.value is None:
            return g.false
        return g.and_(value.present, _within(context, node, value.value, container))
    return _within(context, node, value, container)


def _within(context: Context, node: ast.Compare, value: Sym, container: Sym) -> Node:
    g = context.graph
    if isinstance(container, Static) and isinstance(container.value, tuple | frozenset | set):
        return g.truth(isinstance(value, Static) and value.value in container.value)
    if isinstance(container, Empty):
        return g.false
    if isinstance(value, Record) and not isinstance(container, Scalar):
        return context.symbols.among(value, container)
    item = items_of_kind(container)[1]
    if isinstance(value, Scalar) and isinstance(item, Record | RecordType):
        fields = item.fields.items() if isinstance(item, Record) else item.fields
        names = [name for name, part in fields if is_like(value, part)] or ["..."]
        remedy = f"write `any(x.{names[0]} == {ast.unparse(node.left)} for x in {ast.unparse(node.comparators[-1])})`"
        raise context.refuse(node, f"{describe(value)} in {describe(container)}", remedy)
    if isinstance(container, Columns):
        return columns.contains(g, context.symbols.equal, container, value)
    if isinstance(value, Scalar) and isinstance(container, Scalar):
        if isinstance(container.type, SetType) and comparable(value.type, container.type.item):
            return g.member(item_index(g, value), container.node)
        if isinstance(container.type, SeqType) and comparable(value.type, container.type.item):
            return g.member(item_index(g, value), seq_set(g, container.node))
    if isinstance(value, Scalar) and isinstance(value.type, IntType) and isinstance(container, NumberSet):
        return number_sets.contains(g, container, value.node)
    what = f"{describe(value)} in {describe(container)}"
    if isinstance(container, MapOf):
        remedy = "a map has all keys of its type: of a number write `low <= n <= high`"
    elif isinstance(container, Static) and (members := every_of(container)):
        remedy = f"write {members}"
    elif isinstance(container, Scalar) and not isinstance(container.type, SetType | SeqType):
        remedy = "`in` is for sets, tuples and ranges: compare with `==`"
    elif isinstance(value, Record):
        names = [name for name, part in value.fields.items() if is_like(part, item)] or list(value.fields)
        remedy = f"its members are of another sort than the record: write a field of it: `.{'`, `.'.join(names)}`"
    else:
        remedy = "the set's members are of another sort"
        if isinstance(container, NumberSet):
            remedy += conversion(value, IntType(0, 0))
        elif isinstance(container, Scalar) and isinstance(container.type, SetType | SeqType):
            remedy += conversion(value, container.type.item)
    raise context.refuse(node, what, remedy)


def every_of(value: Sym) -> str | None:
    """What to write for the set of all members, where the class of ids or enum members stands for it."""
    cls = value.value if isinstance(value, Static) else None
    return f"`every({cls.__name__}, c)`" if isinstance(cls, type) and issubclass(cls, Enum | Id) else None
