"""The value of an expression: any value, one that is not None, a condition, a scalar of some type.

Also here: narrowing of optionals by tests, as in mypy: the access paths that are not None for an outcome of a test.

Also here: the arguments of a call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from reassure.spec.frontend.context import Context
from reassure.spec.frontend.introspection import Refused, TooLarge, signature_of
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Columns,
    Empty,
    Loose,
    Mismatch,
    NumberSet,
    Option,
    Poison,
    Scalar,
    Static,
    Sym,
    describe,
)
from reassure.spec.frontend.symbols import beyond_words
from reassure.spec.language.types import (
    BoolType,
    DomainError,
    EnumType,
    IdType,
    IntType,
    MapType,
    SeqType,
    SetType,
    Type,
    unbounded,
)


def lower(context: Context, node: ast.expr) -> Sym:
    """The value of an expression. Raises `Refused`, the refusal being recorded, if it is outside the language."""
    lower_expression = context.constructs.expressions.get(type(node))
    if context.frame.of_refused and (type(node) in LITERALS or is_written_text(node)):
        return POISON
    if lower_expression is None:
        construct, remedy = UNSUPPORTED.get(type(node), (type(node).__name__, "this is not in the language"))
        refused = context.refuse(node, construct, remedy)
        _look_at_parts(context, node)
        raise refused
    context.must_be_small(node)
    try:
        value = lower_expression(context, node)
    except Refused:
        _look_at_parts(context, node)
        raise
    except (Mismatch, DomainError) as error:
        raise context.refuse_types(node, error) from None
    if isinstance(value, Scalar):
        beyond = beyond_words(node, value.type)
        if beyond is not None:
            raise context.refuse(node, *beyond)
    if isinstance(value, Option) and (path := access_path(node)) in context.frame.not_none:
        guard = context.frame.narrowed_by.get(path or "")
        if guard is not None:
            context.scope.narrowing.add(guard)
        if value.value is None and context.path is context.graph.false:
            raise Refused  # the None of a first turn, say, behind a test that it is none: Python never gets here
        return value if value.value is None else value.value
    return value


def _look_at_parts(context: Context, node: ast.expr) -> None:
    """Lowers those parts of an expression that is refused that were not yet, for their refusals."""
    if context.peeks or context.unreached or node in context.scope.refused_parts:
        return
    context.scope.refused_parts.add(node)
    frame, names = context.frame, [part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr)]
    of_refused = bool(context.scope.types_refused)  # a text in a part may be of such a type
    told = len(context.scope.refusals)
    for part in _parts(node):
        if isinstance(part, NOT_BY_THEMSELVES) or part in context.scope.refused_parts or _is_iterated(part):
            continue
        known = not_none_if(context, node.test, part is node.body) if isinstance(node, ast.IfExp) else NOTHING
        with context.behind_refused(*names), suppress(Refused, TooLarge), context.knowing(frame.not_none | known):
            frame.of_refused += of_refused
            try:
                lower(context, part)
            finally:
                frame.of_refused -= of_refused
                _once_a_line(context, told)


def _once_a_line(context: Context, told: int) -> None:
    """Forgets what is refused in a line for which it was told already. told: how many refusals were there before."""
    refusals = context.scope.refusals
    known = {(r.file, r.line, r.construct, r.remedy) for r in refusals[:told]}
    refusals[told:] = [r for r in refusals[told:] if (r.file, r.line, r.construct, r.remedy) not in known]


def _parts(node: ast.expr) -> list[ast.expr]:
    """The operands of an expression, each of which Python evaluates (or may) by itself."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Tuple | ast.List):
        return node.elts
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("require", "some", "refuse"):
        return node.args[:1]
    return [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else []


def _is_iterated(node: ast.expr) -> bool:
    """Whether an expression may be a call that only a loop or another call takes: `range(n)`, `enumerate(x)`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ITERABLES


ITERABLES = ("range", "enumerate", "reversed", "sorted", "zip", "map", "filter")
NOT_BY_THEMSELVES = (
    *(
        ast.GeneratorExp,
        ast.ListComp,
        ast.SetComp,
        ast.DictComp,
        ast.Dict,
        ast.Set,
        ast.List,
        ast.Lambda,
        ast.Starred,
        ast.Slice,
        ast.Constant,
    ),
)
"""What means something else, or nothing, without what it is in."""


def lower_field(context: Context, cls: type, name: str, node: ast.expr) -> Sym:
    """The value that a field is given; of a field whose type is refused, what is refused whatever its type is."""
    of_refused = bool(context.scope.types_refused) and context.symbols.field_type(cls, name) is None
    frame = context.frame
    frame.of_refused += of_refused
    try:
        return lower(context, node)
    finally:
        frame.of_refused -= of_refused


def lower_beside(context: Context, other: ast.expr, node: ast.expr) -> Sym:
    """The value of an expression; of one beside something refused, what is refused whatever its type is."""
    frame, of_refused = context.frame, isinstance(peek(context, other), Poison)
    frame.of_refused += of_refused
    try:
        return lower(context, node)
    finally:
        frame.of_refused -= of_refused


LITERALS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
"""What makes a value of a type that no field of a model has."""


def is_written_text(node: ast.expr) -> bool:
    """Whether an expression is a text or a fraction that is written there."""
    return isinstance(node, ast.Constant) and not (node.value is None or isinstance(node.value, int))


def beside_refused(context: Context, *nodes: ast.expr) -> None:
    """Raises `Refused` where a text or a fraction is combined with something refused: it is a value of its type."""
    others = [node for node in nodes if not is_written_text(node)]
    if len(others) < len(nodes) and any(isinstance(lower_operand(context, node), Poison) for node in others):
        raise Refused


def access_path(node: ast.expr) -> str | None:
    """The access path `a.b.c` or `a.b[x]`, if it is one; `x` is a number, an id `S(0)`, an access path or several."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = access_path(node.value)
        return None if base is None else f"{base}.{node.attr}"
    if isinstance(node, ast.Subscript):
        keys = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        fixed = all(isinstance(key, ast.Constant) or _is_written_id(key) or access_path(key) for key in keys)
        return f"{access_path(node.value)}[{ast.unparse(node.slice)}]" if fixed and access_path(node.value) else None
    return None


def _is_written_id(node: ast.expr) -> bool:
    """Whether an expression is `S(0)`, which is the same wherever `S` is; of a function of the model too."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        return False
    return len(node.args) == 1 and isinstance(node.args[0], ast.Constant)


def of_other_names(paths: frozenset[str], names: Collection[str]) -> frozenset[str]:
    """The access paths that read none of these names."""
    return frozenset(path for path in paths if not any(name in names for name in NAME.findall(path)))


NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
"""A name in an access path, not that of a field."""


def peek(context: Context, node: ast.expr) -> Sym:
    """The value of an expression, nothing recorded; `POISON` if it is refused."""
    with context.nothing_recorded():
        try:
            return lower(context, node)
        except (Refused, Mismatch):
            return POISON


def lower_present(context: Context, node: ast.expr) -> Sym:
    """The value of an expression that may not be None here."""
    value = lower(context, node)
    if isinstance(value, Option):
        text = ast.unparse(node)
        if isinstance(node, ast.Constant):
            remedy = "a field or parameter `T | None` may have it; compare with it by `x is None`"
            raise context.refuse(node, "`None` where a value is needed", remedy)
        raise context.refuse(node, f"`{text}` may be None here", f"test `{text} is not None` first, or `some({text})`")
    return value


def lower_operand(context: Context, node: ast.expr) -> Sym:
    """As `lower_present`, where also a set display may stand: it gives no mutable set to what comes after."""
    lower_set = context.constructs.set_displays.get(type(node))
    return lower_present(context, node) if lower_set is None else lower_set(context, node)


def lower_condition(context: Context, node: ast.expr) -> Node:
    """The truth value of an expression that is a bool."""
    value = lower(context, node)
    if isinstance(value, Scalar) and isinstance(value.type, BoolType):
        return value.node
    if isinstance(value, Poison):
        raise Refused
    text = ast.unparse(node)
    if isinstance(value, Option):
        raise context.refuse(node, f"`{text}` is not a bool", f"write `{text} is not None`")
    remedy = "only bools are conditions"
    if isinstance(value, Scalar):
        remedy = COMPARE_WITH.get(type(value.type), remedy)
    elif isinstance(value, Columns):
        remedy = COMPARE_WITH[SeqType]
    elif isinstance(value, Bag | Empty | Loose | NumberSet):
        remedy = COMPARE_WITH[SetType]
    raise context.refuse(node, f"`{text}` is {describe(value)}, not a bool", remedy)


def lower_scalar(context: Context, node: ast.expr, *kinds: type[Type]) -> Node:
    """The node of a scalar expression of one of the given types."""
    return scalar_of(context, node, lower_present(context, node), *kinds)


def scalar_of(context: Context, node: ast.expr, value: Sym, *kinds: type[Type]) -> Node:
    """The node of a value of an expression, which is to be of one of the given types."""
    if isinstance(value, Poison):
        raise Refused
    if isinstance(value, Scalar) and isinstance(value.type, kinds):
        return value.node
    kinds_text = " or ".join(TYPE_NAMES[k] for k in kinds)
    text = ast.unparse(node)
    kind = value.type if isinstance(value, Scalar) else None
    way = f": write `int({text})`" if IntType in kinds and isinstance(kind, IdType) else ""
    if IntType in kinds and isinstance(kind, EnumType):
        way = f": an enum member has no number: write `0 if {text} == {next(kind.values())} else 1`"
    raise context.refuse(node, f"`{text}` is {describe(value)}", f"{kinds_text} is needed here{way}")


def number_of(context: Context, node: ast.expr, value: Sym) -> Node:
    """The number that an int is, or that an id has, which counts as reading the order of its sort."""
    g = context.graph
    if isinstance(value, Scalar) and isinstance(value.type, IdType):
        kind, index = value.type, value.node
        if unbounded(kind):
            what = f"the number of a {kind}, of which there may be any number"
            raise context.refuse(node, what, "compare ids with each other, or --set a number of them")
        context.reads_order(kind.sort)
        if index.op == "const":
            return g.num(kind.first + index.data)
        number = g.num(kind.first + kind.count - 1)
        for i in range(kind.count - 2, -1, -1):
            number = g.ite(g.eq(index, g.const(i, kind)), g.num(kind.first + i), number)
        return number
    return scalar_of(context, node, value, IntType)


def as_numbers(context: Context, node: ast.Compare, *sides: tuple[ast.expr, Sym]) -> list[Sym]:
    """The two sides; of an id and a number that the model calculates, their numbers.

    A number that is written there, or that lies in the state, is compared with an id by mistake more often than not.
    """
    kinds = {type(value.type) for _, value in sides if isinstance(value, Scalar)}
    if kinds != {IdType, IntType}:
        return [value for _, value in sides]
    sort = next(value.type for _, value in sides if isinstance(value, Scalar) and isinstance(value.type, IdType))
    for side, value in sides:
        if isinstance(value, Scalar) and isinstance(value.type, IntType) and isinstance(side, DATA):
            what = f"an id and a number: `{ast.unparse(node)}`"
            raise context.refuse(node, what, f"write `int(id)` for its number, or `{sort}(0)` for an id")
    return [Scalar(number_of(context, side, value)) for side, value in sides]


DATA = (ast.Constant, ast.Attribute, ast.Subscript, ast.UnaryOp)
"""Numbers that are written there, or that lie in the state, a record or a map."""


def conditions_behind(context: Context, before: list[ast.expr], behind: list[ast.expr], outcome: bool) -> None:
    """Lowers conditions behind one that is refused, for their refusals. outcome: of those before."""
    if context.unreached:
        return
    with context.behind_refused():
        for test in before:
            context.frame.not_none |= not_none_if(context, test, outcome)
        for test in behind:
            with suppress(Refused):
                lower_condition(context, test)
            context.frame.not_none |= not_none_if(context, test, outcome)


COMPARE_WITH: dict[type[Type], str] = {
    SetType: "compare with an empty set: `x != frozenset()`",
    IntType: "compare with a number: `x != 0`",
    SeqType: "compare with an empty tuple: `x != ()`",
}
"""The remedy where a value of a type stands for a condition."""
TYPE_NAMES: dict[type[Type], str] = {
    BoolType: "a bool",
    IntType: "an int",
    SetType: "a set",
    SeqType: "a tuple",
    IdType: "an id",
    EnumType: "an enum member",
    MapType: "a map",
}
UNSUPPORTED: dict[type[ast.expr], tuple[str, str]] = {
    ast.Lambda: ("a lambda", "write a function of the module"),
    ast.NamedExpr: ("`:=`", "assign in a statement of its own"),
    ast.JoinedStr: ("an f-string", "a model has no text: a name is an id or an enum member"),
    ast.Dict: ("a dict", "use `Map({k: v for k in every(Sort, c)})`"),
    ast.DictComp: ("a dict comprehension", "wrap it: `Map({k: v for k in every(Sort, c)})`"),
    ast.Set: ("a mutable set", "write `frozenset({...})`"),
    ast.SetComp: ("a mutable set", "write `frozenset(... for ...)`"),
    ast.List: ("a list", "use a tuple or frozenset"),
    ast.ListComp: ("a list comprehension", "use `tuple(... for ...)` or `frozenset(... for ...)`"),
    ast.GeneratorExp: ("a generator", "give it to any, all, sum, min, max, next, tuple or frozenset"),
    ast.Await: ("await", "a model is plain functions"),
    ast.Yield: ("yield", "return one value; choices are parameters"),
    ast.YieldFrom: ("yield from", "return one value; choices are parameters"),
    ast.Slice: ("a slice in a key", "write one key, as `m[k]`"),
    ast.Starred: ("`*`", "write the arguments out, and a longer sequence as `t + (x,)`"),
}
"""Expressions outside the language, with what to write instead."""


NOTHING: frozenset[str] = frozenset()


def not_none_if(context: Context, test: ast.expr, outcome: bool) -> frozenset[str]:
    """Access paths that are not None if `test` has come out as `outcome`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return not_none_if(context, test.operand, not outcome)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if outcome else ast.Or):
        paths = NOTHING
        for part in test.values:
            with context.knowing(paths):
                paths |= not_none_if(context, part, outcome)
        return paths
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _by_comparison(context, test, outcome)
    # Refused as conditions: what is behind them is lowered as behind `is not None`.
    if isinstance(test, ast.Call) and len(test.args) == 2:
        called = peek(context, test.func)
        test = test.args[0] if isinstance(called, Static) and called.value is isinstance else test
    path = access_path(test)
    return frozenset({path}) if outcome and path else NOTHING


@contextmanager
def filtered(context: Context, tests: list[ast.expr]) -> Iterator[Node]:
    """Within, the filters of a comprehension hold; yields their conjunction."""
    g, frame = context.graph, context.frame
    path, not_none, all_hold = context.path, frame.not_none, context.graph.true
    try:
        for test in tests:
            holds = g.false  # of a test that lacks a value, where Python never gets
            with context.under(g.true):
                holds = lower_condition(context, test)
            frame.not_none |= not_none_if(context, test, True)
            context.path = g.and_(context.path, holds)
            all_hold = g.and_(all_hold, holds)
        with context.under(g.true):
            yield all_hold
    finally:
        context.path, frame.not_none = path, not_none


def _by_comparison(context: Context, test: ast.Compare, outcome: bool) -> frozenset[str]:
    left, op, right = test.left, test.ops[0], test.comparators[0]
    holds = outcome if isinstance(op, ast.IsNot | ast.Eq | ast.In) else not outcome
    if not holds:
        return NOTHING
    paths: list[str | None] = []
    if isinstance(op, ast.Is | ast.IsNot) and isinstance(right, ast.Constant) and right.value is None:
        paths = [access_path(left)]
    elif isinstance(op, ast.Eq | ast.NotEq):
        sides = ((left, right), (right, left))
        paths = [access_path(one) for one, other in sides if access_path(one) and _never_none(context, other)]
    elif isinstance(op, ast.In | ast.NotIn):
        members = right.elts if isinstance(right, ast.Tuple | ast.Set) else []
        if all(_never_none(context, member) for member in members):
            paths = [access_path(left)]
    return frozenset(path for path in paths if path)


def _never_none(context: Context, node: ast.expr) -> bool:
    return not isinstance(peek(context, node), Option | Poison)


def positional(context: Context, node: ast.Call, low: int, high: int, *keywords: str) -> list[ast.expr]:
    """Positional arguments, from `low` to `high` of them; refuses keywords but the given ones."""
    unknown = [k.arg for k in node.keywords if k.arg not in keywords]
    if unknown or not low <= len(node.args) <= high:
        count = str(low) if low == high else f"{low} to {high}"
        remedy = f"it takes {count} argument{'s' * (count != '1')} here"
        names = ", ".join(f"`{name}`" for name in unknown if name is not None)
        raise context.refuse(node, f"`{ast.unparse(node)}`", remedy + (f", without {names}" if names else ""))
    return node.args


def keyword(node: ast.Call, name: str) -> ast.expr | None:
    """The argument with a keyword, if it is given."""
    return next((k.value for k in node.keywords if k.arg == name), None)


def refuse_options(context: Context, node: ast.Call) -> None:
    """Refuses `sorted(..., reverse=True)` and `sorted(..., key=...)`."""
    text = ast.unparse(ast.Call(node.func, node.args, []))
    if keyword(node, "key") is not None:
        remedy = f"`{text}` has the order of ids or numbers; for another write `min(..., key=...)`"
        raise context.refuse(node, f"`{ast.unparse(node)}`", remedy)
    if keyword(node, "reverse") is not None:
        remedy = f"write `reversed({text})` in a loop, or `tuple(x for x in reversed({text}))`"
        raise context.refuse(node, f"`{ast.unparse(node)}`", remedy)


def by_parameter(
    context: Context, node: ast.Call, function: Callable[..., Any], takes: str, cls: type | None = None
) -> dict[str, Sym]:
    """The arguments by the names of parameters, evaluated in the order in which they are written.

    takes: the remedy where they do not fit the parameters. cls: the class of the record that they make.
    """
    count = len(node.args)
    try:
        places: dict[str, int] = {k.arg: count + i for i, k in enumerate(node.keywords) if k.arg is not None}
        place_of = signature_of(function).bind(*range(count), **places).arguments
    except TypeError:
        raise context.refuse(node, f"`{ast.unparse(node)}`", takes) from None
    names = {place: name for name, place in place_of.items()}
    written = [*node.args, *(k.value for k in node.keywords)]
    arguments = [(names[place], value) for place, value in enumerate(written)]
    if cls is None:
        return dict(lowered_each(context, arguments, lambda _, value: lower(context, value)))
    return dict(lowered_each(context, arguments, lambda name, value: lower_field(context, cls, name, value)))


def lowered_each(
    context: Context, arguments: list[tuple[str, ast.expr]], lower_one: Callable[[str, ast.expr], Sym]
) -> list[tuple[str, Sym]]:
    """The values of arguments, by name. Of several that are refused, all are recorded."""
    values: list[tuple[str, Sym]] = []
    for name, value in arguments:
        try:
            values.append((name, lower_one(name, value)))
        except Refused:
            if context.unreached:
                raise
    if len(values) < len(arguments):
        raise Refused
    return values
