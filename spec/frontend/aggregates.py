"""Calls of built-in functions that make one value of many: any, all, sum, len, min, max, next."""

from __future__ import annotations

import ast

from reassure.spec.frontend import columns, number_sets
from reassure.spec.frontend.comprehensions import (
    Selection,
    calls,
    naming,
    select,
    subset_of,
    unroll,
)
from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import (
    keyword,
    lower,
    lower_operand,
    lower_present,
    lower_scalar,
    peek,
    positional,
    scalar_of,
)
from reassure.spec.frontend.introspection import Refused
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.map_keys import lookup
from reassure.spec.frontend.operators import every_of, has_order, is_less
from reassure.spec.frontend.sets_and_sequences import occupied, seq_len
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Columns,
    Empty,
    Loose,
    NumberSet,
    Poison,
    Record,
    Scalar,
    Static,
    Sym,
    Tuple,
    conversion,
    describe,
)
from reassure.spec.language.types import ANY, BoolType, IdType, IntType, SeqType, SetType, unbounded


class Default:
    """The default of max, min or next. Python evaluates it before the elements, whether it is wanted or not."""

    def __init__(self, context: Context, node: ast.expr | None) -> None:
        self.context, self.node = context, node
        self.value: Sym | None = None

    def evaluate(self) -> None:
        """Lowers it here."""
        if self.node is not None:
            self.value = lower(self.context, self.node)


# -- any, all, sum, len -------------------------------------------------------------------------------------


def any_of(context: Context, node: ast.Call) -> Sym:
    """`any(condition for x in set)`."""
    return _truths(context, node, False)


def all_of(context: Context, node: ast.Call) -> Sym:
    """`all(condition for x in set)`."""
    return _truths(context, node, True)


def _truths(context: Context, node: ast.Call, conjunction: bool) -> Sym:
    (argument,) = positional(context, node, 1, 1)
    if not isinstance(argument, ast.GeneratorExp):
        raise context.refuse(node, "any/all of this", "write `any(condition for x in set)`")
    g, element = context.graph, argument.elt
    selection = select(context, argument, early=True)
    if selection is not None:
        truths = [_truth(context, element, e) for e in selection.elements]
        if selection.source.op != "const" or unbounded(selection.item):
            return Scalar(_mask_truth(context, selection, truths, conjunction))
        members = [
            (g.and_(g.member(g.const(i, selection.item), selection.source), c), t)
            for i, (c, t) in enumerate(zip(selection.conditions, truths, strict=True))
        ]
    else:

        def ends(value: Sym) -> Node:
            truth = _truth(context, element, value)
            return g.not_(truth) if conjunction else truth

        elements = unroll(context, argument, element, ends=ends)
        members = [(c, _truth(context, element, v)) for c, v in elements]
    if conjunction:
        return Scalar(g.and_(*(g.implies(c, t) for c, t in members)))
    return Scalar(g.or_(*(g.and_(c, t) for c, t in members)))


def _mask_truth(context: Context, selection: Selection, truths: list[Node], conjunction: bool) -> Node:
    """`any` or `all` over a set that is not known: one operation on masks."""
    g = context.graph
    pairs = list(zip(selection.conditions, truths, strict=True))
    if conjunction:
        failing = g.minus(selection.source, g.selected(selection.indices, [g.implies(c, t) for c, t in pairs]))
        return g.eq(failing, g.const(0, failing.type))
    matching = g.inter(selection.source, g.selected(selection.indices, [g.and_(c, t) for c, t in pairs]))
    return g.not_(g.eq(matching, g.const(0, matching.type)))


def _truth(context: Context, node: ast.expr, value: Sym) -> Node:
    if isinstance(value, Scalar) and isinstance(value.type, BoolType):
        return value.node
    if isinstance(value, Poison):
        raise Refused
    raise context.refuse(node, f"{describe(value)} as a condition", "only bools are conditions")


def sum_of(context: Context, node: ast.Call) -> Sym:
    """`sum(number for x in set)`, `sum(sequence)`."""
    (argument,) = positional(context, node, 1, 1)
    if not isinstance(argument, ast.GeneratorExp):
        return _sum_of_items(context, node, lower_present(context, argument))
    g = context.graph
    source = peek(context, argument.generators[0].iter)
    over_set = isinstance(source, Scalar) and isinstance(source.type, SetType)
    selection = select(context, argument) if over_set else None
    if selection is not None and all(isinstance(e, Scalar) and e.node is g.num(1) for e in selection.elements):
        return Scalar(g.card(subset_of(context, selection)))
    if selection is not None and unbounded(selection.item):
        return _sum_of_any_number(context, argument, selection)
    total = g.num(0)
    for condition, value in unroll(context, argument, argument.elt):
        if not isinstance(value, Scalar) or not isinstance(value.type, IntType):
            what = f"a sum of {describe(value)}"
            raise context.refuse(argument.elt, what, _to_sum(value))
        total = g.arith("add", total, g.ite(condition, value.node, g.num(0)))
    return Scalar(total)


def _sum_of_items(context: Context, node: ast.Call, value: Sym) -> Sym:
    """The sum of a sequence or a set of numbers."""
    g, total = context.graph, context.graph.num(0)
    if isinstance(value, Poison):
        return value
    if isinstance(value, NumberSet):
        value = Columns(tuple(number_sets.items(g, value)))
    sequence = columns.as_columns(g, value)
    for there, item in sequence.places if sequence is not None else ():
        if not isinstance(item, Scalar) or not isinstance(item.type, IntType):
            sequence = None
            break
        total = g.arith("add", total, g.ite(there, item.node, g.num(0)))
    if sequence is None:
        raise context.refuse(node, "sum() of this", "write `sum(number for x in set)`")
    return Scalar(total)


def _to_sum(value: Sym) -> str:
    return f"sum ints{conversion(value, IntType(0, 0))}; count with `sum(1 for ...)`"


def _sum_of_any_number(context: Context, node: ast.GeneratorExp, selection: Selection) -> Sym:
    """The sum over the members of a set of which there may be any number."""
    (value,) = selection.elements
    if not isinstance(value, Scalar) or not isinstance(value.type, IntType):
        raise context.refuse(node.elt, f"a sum of {describe(value)}", _to_sum(value))
    kind = IntType(0 if value.type.low >= 0 else -ANY, ANY)
    table = context.graph.tabulate(selection.indices[0], value.node)
    return Scalar(context.graph.op("total", kind, (subset_of(context, selection), table)))


def length_of(context: Context, node: ast.Call) -> Sym:
    """`len(set)`, `len(sequence)`."""
    g = context.graph
    value = context.symbols.as_bag(lower_operand(context, positional(context, node, 1, 1)[0]))
    if isinstance(value, Empty):
        return Scalar(g.num(0))
    sequence = columns.as_columns(g, value)
    if sequence is not None:
        return Scalar(columns.length(g, sequence))
    if isinstance(value, NumberSet):
        return Scalar(number_sets.count_of(g, value))
    if isinstance(value, Scalar) and isinstance(value.type, SetType):
        return Scalar(g.card(value.node))
    if isinstance(value, Scalar) and isinstance(value.type, SeqType):
        return Scalar(seq_len(g, value.node))
    if isinstance(value, Bag):
        total = g.num(0)
        for slot in value.looked_into():
            total = g.arith("add", total, g.ite(occupied(g, slot), g.num(1), g.num(0)))
        return Scalar(total)
    if isinstance(value, Poison):
        return value
    members = every_of(value)
    remedy = f"write `len({members.strip('`')})`" if members else "sets and tuples have a length"
    raise context.refuse(node, f"len() of {describe(value)}", remedy)


def absolute(context: Context, node: ast.Call) -> Sym:
    """`abs(number)`."""
    g = context.graph
    value = lower_scalar(context, positional(context, node, 1, 1)[0], IntType)
    return Scalar(g.arith("max", value, g.arith("sub", g.num(0), value)))


# -- min, max ----------------------------------------------------------------------------------------------


def minimum(context: Context, node: ast.Call) -> Sym:
    """`min(set)`, `min(a, b)`, `min(... for x in set)`, `min(..., key=rule)`."""
    return _extreme(context, node, "min")


def maximum(context: Context, node: ast.Call) -> Sym:
    """`max(set)`, `max(a, b)`, `max(... for x in set)`, `max(..., key=rule)`."""
    return _extreme(context, node, "max")


def _extreme(context: Context, node: ast.Call, name: str) -> Sym:
    arguments = positional(context, node, 1, 8, "default", "key")
    default = Default(context, keyword(node, "default"))
    key = keyword(node, "key")
    if len(arguments) > 1:
        return _extreme_of_several(context, node, name, default, key)
    (argument,) = arguments
    if key is not None:
        return _extreme_by_key(context, node, name, key, default)
    g = context.graph
    checkpoint = context.checkpoint()
    if isinstance(argument, ast.GeneratorExp):
        selection = select(context, argument, then=default.evaluate)
        if selection is None or not (selection.identity and isinstance(selection.item, IdType)):
            context.rollback(checkpoint)
            return _extreme_of_elements(context, node, name, default)
        mask = subset_of(context, selection)
    elif isinstance(argument, ast.Call) and any(calls(context, argument, one) for one in (sorted, range)):
        return _extreme_of_elements(context, node, name, default)
    else:
        source = lower_operand(context, argument)
        if isinstance(source, Poison):
            return source
        packed = isinstance(source, Scalar) and isinstance(source.type, SeqType)
        if packed or isinstance(source, Bag | Loose | NumberSet | Tuple | Columns | Empty):
            context.rollback(checkpoint)
            return _extreme_of_elements(context, node, name, default)
        if not isinstance(source, Scalar) or not isinstance(source.type, SetType):
            raise context.refuse(node, f"{name}() of {describe(source)}", "a set of ids, or several ints")
        default.evaluate()
        mask = source.node
    assert isinstance(mask.type, SetType)
    if not isinstance(mask.type.item, IdType):
        raise context.refuse(node, f"{name}() of a set of {mask.type.item}", "only ids have an order here")
    context.reads_order(mask.type.item.sort, mask)
    exists = g.not_(g.eq(mask, g.const(0, mask.type)))
    extreme = g.extreme("lowest" if name == "min" else "highest", mask)
    return _or_default(context, node, exists, Scalar(extreme), default)


def _elements_of(argument: ast.expr) -> ast.GeneratorExp:
    """The comprehension that goes through an iterable."""
    if isinstance(argument, ast.GeneratorExp):
        return argument
    loop = ast.comprehension(ast.Name(ELEMENT, ast.Store()), argument, [], 0)
    made = ast.GeneratorExp(ast.Name(ELEMENT, ast.Load()), [loop])
    for node in (made, made.elt, loop.target):
        ast.copy_location(node, argument)
    return made


ELEMENT = "an element"
"""The name of a variable that no text has."""


def _extreme_of_several(context: Context, node: ast.Call, name: str, default: Default, key: ast.expr | None) -> Sym:
    if default.node is not None:
        raise context.refuse(node, f"`{ast.unparse(node)}`", "a default is for one set")
    values = [lower_present(context, argument) for argument in node.args]
    if any(isinstance(value, Poison) for value in values):
        raise Refused
    g = context.graph
    if key is not None:
        keyed = [(g.true, value, _key_of(context, key, value)) for value in values]
        return _first_best(context, node, name, keyed, default)
    if any(isinstance(value, Tuple | Record) for value in values):
        return _first_best(context, node, name, [(g.true, value, value) for value in values], default)
    best, *others = (scalar_of(context, a, v, IntType, IdType) for a, v in zip(node.args, values, strict=True))
    for other in others:
        best = _better(context, node, name, best, other)
    return Scalar(best)


def _extreme_of_elements(context: Context, node: ast.Call, name: str, default: Default) -> Sym:
    g, generator = context.graph, _elements_of(node.args[0])
    elements = unroll(context, generator, generator.elt, then=default.evaluate)
    if any(isinstance(value, Tuple | Record) for _, value in elements):
        return _first_best(context, node, name, [(c, value, value) for c, value in elements], default)
    exists, best = g.false, None
    for condition, value in elements:
        if not isinstance(value, Scalar) or not isinstance(value.type, IntType | IdType):
            raise context.refuse(node, f"{name}() of {describe(value)}", "ints or ids")
        if best is None:
            best = value.node
        else:
            better = _better(context, node, name, best, value.node)
            best = g.ite(condition, g.ite(exists, better, value.node), best)
        exists = g.or_(exists, condition)
    return _or_default(context, node, exists, POISON if best is None else Scalar(best), default)


def _better(context: Context, node: ast.Call, name: str, a: Node, b: Node) -> Node:
    g = context.graph
    if isinstance(a.type, IntType) and isinstance(b.type, IntType):
        return g.arith(name, a, b)
    if a.type != b.type or not isinstance(a.type, IdType):
        ways = conversion(Scalar(b), a.type)
        raise context.refuse(node, f"{name}() of values of two sorts", f"of one sort{ways}")
    context.reads_order(a.type.sort, a, b)
    first = g.lt(a, b)
    return g.ite(first, a, b) if name == "min" else g.ite(first, b, a)


def _or_default(context: Context, node: ast.Call, exists: Node, value: Sym, default: Default) -> Sym:
    """The value if it exists, else the default; an error where there is none."""
    g = context.graph
    if default.value is not None:
        return default.value if exists is g.false else context.symbols.choose(exists, value, default.value)
    if isinstance(value, Poison) and exists is not g.false:
        raise Refused
    if isinstance(value, Poison) and context.path is not g.false:
        raise context.refuse(node, f"`{ast.unparse(node)}` of nothing", "it always raises; give it a default")
    context.check("error", node, exists)
    return value


# -- by a key -------------------------------------------------------------------------------------------------


def _extreme_by_key(context: Context, node: ast.Call, name: str, key: ast.expr, default: Default) -> Sym:
    """The first element whose key is best; of a set only where two elements never have the same key."""
    generator = _elements_of(node.args[0])

    def pair(value: Sym) -> Sym:
        return value if isinstance(value, Poison) else Static((value, _key_of(context, key, value)))

    def pairs(ordered: bool) -> list[tuple[Node, Sym, Sym]]:
        elements = unroll(context, generator, generator.elt, ordered, then=default.evaluate, changed=pair)
        return [(c, *pair.value) for c, pair in elements if isinstance(pair, Static)]

    checkpoint = context.checkpoint()
    elements = pairs(False)
    if not all(_shows(found, value) for _, value, found in elements):
        context.rollback(checkpoint)
        elements = pairs(True)
    return _first_best(context, node, name, elements, default)


def _key_of(context: Context, key: ast.expr, value: Sym) -> Sym:
    """The value of a key, a lambda or a function, of an element."""
    body: ast.expr
    if isinstance(key, ast.Lambda):
        names = [*key.args.posonlyargs, *key.args.args]
        if len(names) != 1 or key.args.vararg or key.args.kwarg or key.args.kwonlyargs:
            raise context.refuse(key, "this key", "a function of one element")
        variable, body = names[0].arg, key.body
    else:
        variable = ELEMENT
        body = ast.copy_location(ast.Call(key, [ast.copy_location(ast.Name(ELEMENT, ast.Load()), key)], []), key)
    with naming(context, ast.Name(variable, ast.Store()), value):
        found = lower_present(context, body)
    if isinstance(found, Poison):
        raise Refused
    return found


def _shows(key: Sym, value: Sym) -> bool:
    """Whether elements with equal keys are equal: the element is a part of its key."""
    if isinstance(key, Tuple):
        return any(_shows(item, value) for item in key.items)
    return key is value or (isinstance(key, Scalar) and isinstance(value, Scalar) and key.node is value.node)


def _first_best(
    context: Context, node: ast.Call, name: str, elements: list[tuple[Node, Sym, Sym]], default: Default
) -> Sym:
    """The first of the elements whose key is best. elements: the condition of each, its value and its key."""
    g, choose = context.graph, context.symbols.choose
    exists = g.false
    best: Sym = POISON
    best_key: Sym = POISON
    for condition, value, key in elements:
        if not has_order(key):
            what = f"{name}() of {describe(key)}"
            raise context.refuse(node, what, "ints, bools, ids, tuples of these, or records with `order=True`")
        taken = condition
        if exists is not g.false:
            pair = (best_key, key) if name == "max" else (key, best_key)
            taken = g.and_(condition, g.or_(g.not_(exists), is_less(context, node, *pair, True)))
        best = value if exists is g.false else choose(taken, value, best)
        best_key = key if exists is g.false else choose(taken, key, best_key)
        exists = g.or_(exists, condition)
    return _or_default(context, node, exists, best, default)


# -- next -------------------------------------------------------------------------------------------------


def first_of(context: Context, node: ast.Call) -> Sym:
    """`next((x for x in seq if condition), default)`."""
    arguments = positional(context, node, 1, 2)
    argument = arguments[0]
    default = Default(context, arguments[1] if len(arguments) == 2 else None)
    if not isinstance(argument, ast.GeneratorExp) or len(argument.generators) != 1:
        raise context.refuse(node, "next() of this", "write `next((x for x in seq if condition), None)`")
    g = context.graph
    selection = select(context, argument, ordered=True, then=default.evaluate, early=True)
    if selection is None:
        first: Sym = POISON
        exists = g.false
        elements = unroll(context, argument, argument.elt, True, ends=lambda _: g.true, then=default.evaluate)
        for condition, value in reversed(elements):
            first = value if exists is g.false else context.symbols.choose(condition, value, first)
            exists = g.or_(exists, condition)
        return _or_default(context, node, exists, first, default)
    mask = subset_of(context, selection)
    sequence = ranged_sequence(context, argument)
    if sequence is not None:
        members = g.selected(selection.indices, selection.conditions)
        index = g.op("seq_first", selection.item, (sequence, members))
    else:
        index = g.extreme("lowest", mask)
    exists = g.not_(g.eq(mask, g.const(0, mask.type)))
    first = Scalar(index)
    if not selection.identity:
        first = lookup(context, context.symbols.tabulated(selection.indices, selection.elements), (index,))
    return _or_default(context, node, exists, first, default)


def ranged_sequence(context: Context, argument: ast.GeneratorExp) -> Node | None:
    """The sequence that a comprehension ranges over, if it is one."""
    source = peek(context, argument.generators[0].iter)
    return source.node if isinstance(source, Scalar) and isinstance(source.type, SeqType) else None
