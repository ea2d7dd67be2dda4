"""Calls: of what the language offers, of built-in functions, of classes and functions of the model."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import FunctionType
from typing import Any

from reassure.checkers.tla.context import Context, Value, signature
from reassure.checkers.tla.iteration import (
    domain_of,
    is_range,
    range_of,
    selected,
    set_constructor,
    set_value,
    total,
    truths,
    unpacked,
    whole_sequence,
)
from reassure.checkers.tla.kinds import (
    Kind,
    Static,
    family,
    is_a,
    is_record,
    item_of,
    items_of_tuple,
    maps_of,
    record_term,
    sequences_of,
    sets_of,
)
from reassure.checkers.tla.order import best, has_parts
from reassure.checkers.tla.terms import (
    EMPTY_SEQUENCE,
    EMPTY_SET,
    NONE,
    Term,
    atom,
    call,
    choose,
    infix,
    let,
    prime,
)
from reassure.spec.frontend.introspection import OVER_RANGE, cached_hints, find_source, over_range
from reassure.spec.language import values
from reassure.spec.language.vocabulary import Action, Property, replace, some


def translate_call(context: Context, node: ast.Call) -> Value:
    """Any call."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "put":
        base = context.translate(node.func.value)
        if family(base.kind) is values.Map:
            key, value = (context.term(a) for a in node.args)
            return Value(Term("put", (base.term, key, value)), base.kind)
    node, target = _called(context, node)
    known_call = _known_call(target)
    if known_call is not None and target in OVER_RANGE and len(node.args) == 1 and is_range(context, node.args[0]):
        target, node = over_range(node, target)
        known_call = CALLS[target]
    if known_call is not None:
        return known_call(context, node)
    if isinstance(target, Action | Property):
        target = target.function
    if isinstance(target, FunctionType):
        return _function_call(context, node, target)
    if isinstance(target, type) and is_dataclass(target):
        return _construct(context, node, target)
    if is_a(target, values.Id):
        return Value(context.term(node.args[0]), target)
    raise context.refuse(node, f"a call of `{ast.unparse(node.func)}`")


def _called(context: Context, node: ast.Call) -> tuple[ast.Call, Any]:
    """What is called; of a method, with the value before the other arguments."""
    if not isinstance(node.func, ast.Attribute):
        return node, context.translate(node.func).static
    base = context.translate(node.func.value)
    if isinstance(base.kind, Static):
        cls = base.static if isinstance(base.static, type) else type(base.static)
        method = inspect.getattr_static(cls, node.func.attr, None)
        of_class = isinstance(method, classmethod)
        if not of_class and not (isinstance(method, FunctionType) and base.static is context.scope.bound.config):
            return node, context.translate(node.func).static
    else:
        method = declared_by(base.kind, node.func.attr)
        of_class = False
    if isinstance(method, staticmethod):
        return node, method.__func__
    first = ast.copy_location(ast.Call(node.func, [node.func.value, *node.args], node.keywords), node)
    return first, method.__func__ if of_class else method


def declared_by(kind: Kind, name: str) -> Any:
    """What a class of records, ids or enum members declares by a name."""
    return inspect.getattr_static(kind, name, None) if is_record(kind) or is_a(kind, values.Id, Enum) else None


def declared_property(kind: Kind, name: str) -> FunctionType | None:
    """The function of a property that a class of records, ids or enum members declares by a name."""
    found = declared_by(kind, name)
    return found.fget if isinstance(found, property) and isinstance(found.fget, FunctionType) else None


def _known_call(target: Any) -> Callable[[Context, ast.Call], Value] | None:
    try:
        return CALLS.get(target)
    except TypeError:  # it cannot be hashed
        return None


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in node.keywords if k.arg == name), None)


# -- the language -----------------------------------------------------------------------------------------------


def _some(context: Context, node: ast.Call) -> Value:
    value = context.translate(node.args[0])
    context.guards.append(infix("#", context.whole(value, node), NONE))
    return value


def _replace(context: Context, node: ast.Call) -> Value:
    base = context.translate(node.args[0])
    names = tuple(str(k.arg) for k in node.keywords)
    given = dict(zip(names, (context.term(k.value) for k in node.keywords), strict=True))
    term = context.whole(base, node)
    if term.op == "except" and isinstance(term.names, tuple):
        given = {**dict(zip(term.names, term.parts[1:], strict=True)), **given}
        term = term.parts[0]
    if term.op == "record":
        whole = {**dict(zip(term.names, term.parts, strict=True)), **given}
        return Value(Term("record", tuple(whole.values()), tuple(whole)), base.kind)
    if not given:
        return base
    return Value(Term("except", (term, *given.values()), tuple(given)), base.kind)


def _construct(context: Context, node: ast.Call, cls: Any) -> Value:
    declared = {f.name: f for f in fields(cls)}
    given = dict(zip(declared, (context.term(a) for a in node.args), strict=False))
    given |= {str(k.arg): context.term(k.value) for k in node.keywords}
    for name, f in declared.items():
        if name not in given:
            assert f.default is not MISSING
            given[name] = context.whole(context.lift(f.default), node)
    return Value(record_term(tuple(declared), tuple(given[n] for n in declared)), cls)


def _every(context: Context, node: ast.Call) -> Value:
    sort = context.translate(node.args[0]).static
    return Value(context.scope.sets.of(sort), sets_of(sort))


def _fill(context: Context, node: ast.Call) -> Value:
    sort = context.translate(node.args[0]).static
    name = context.fresh(sort.__name__.lower())
    value = context.translate(node.args[2])
    context.in_use.discard(name)
    term = Term("function", (context.scope.sets.of(sort), context.whole(value, node)), (name,))
    return Value(term, maps_of(sort, value.kind))


def _map(context: Context, node: ast.Call) -> Value:
    (argument,) = node.args
    if isinstance(argument, ast.Dict):
        return _map_of_entries(context, node, argument)
    if not isinstance(argument, ast.DictComp) or any(generator.ifs for generator in argument.generators):
        raise context.refuse(node, "Map() of this")
    if isinstance(argument.key, ast.Tuple):
        variables = [n.id for g in argument.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
        if sorted(variables) != sorted(map(ast.unparse, argument.key.elts)):
            raise context.refuse(argument.key, "a key that is not of the loop variables, each once")
        members = set_constructor(context, ast.SetComp(argument.key, argument.generators))
        domain, kind = members.term, item_of(members.kind)
    else:
        (generator,) = argument.generators
        if ast.unparse(argument.key) != ast.unparse(generator.target):
            raise context.refuse(argument.key, "a key that is not the loop variable")
        of_loop = domain_of(context, generator.iter)
        domain, kind = of_loop.members, of_loop.kind
    with unpacked(context, argument.key, kind) as name:
        value = context.translate(argument.value)
        term = Term("function", (domain, context.whole(value, node)), (name,))
    return Value(term, maps_of(kind, value.kind))


def _map_of_entries(context: Context, node: ast.Call, argument: ast.Dict) -> Value:
    """`Map({0: a, 1: b})`; of two entries of one key the last one counts."""
    keys = [context.translate(key) for key in argument.keys if key is not None]
    values_ = [context.translate(value) for value in argument.values]
    terms, whole = [context.whole(key, node) for key in keys], [context.whole(value, node) for value in values_]
    name = context.fresh("item")
    context.in_use.discard(name)
    body = whole[0]
    for key, value in zip(terms[1:], whole[1:], strict=True):
        body = choose(infix("=", atom(name), key), value, body)
    kind = next((value.kind for value in values_ if value.kind is not type(None)), None)
    return Value(Term("function", (Term("set", tuple(terms)), body), (name,)), maps_of(keys[0].kind, kind))


# -- built-in functions -------------------------------------------------------------------------------------------


def _any(context: Context, node: ast.Call) -> Value:
    return Value(truths(context, _generator(context, node), False), bool)


def _all(context: Context, node: ast.Call) -> Value:
    return Value(truths(context, _generator(context, node), True), bool)


def _sum(context: Context, node: ast.Call) -> Value:
    (argument,) = node.args
    if not isinstance(argument, ast.GeneratorExp):
        name = "number"
        over = ast.comprehension(ast.Name(name, ast.Store()), argument, [], 0)
        argument = ast.fix_missing_locations(ast.copy_location(ast.GeneratorExp(ast.Name(name), [over]), argument))
    return Value(total(context, argument), int)


def _generator(context: Context, node: ast.Call) -> ast.GeneratorExp:
    if not isinstance(node.args[0], ast.GeneratorExp):
        raise context.refuse(node, f"`{ast.unparse(node)}`")
    return node.args[0]


def _len(context: Context, node: ast.Call) -> Value:
    value = context.translate(node.args[0])
    kinds = items_of_tuple(value.kind)
    if family(value.kind) is tuple:
        return Value(call("Len", value.term) if kinds is None else atom(str(len(kinds))), int)
    return Value(call("Cardinality", value.term), int)


def _min(context: Context, node: ast.Call) -> Value:
    return _extreme(context, node, "Min")


def _max(context: Context, node: ast.Call) -> Value:
    return _extreme(context, node, "Max")


def _extreme(context: Context, node: ast.Call, name: str) -> Value:
    default, key = _keyword(node, "default"), _keyword(node, "key")
    if key is not None:
        return best(context, node, name, lambda element: _keyed(context, key, element), default)
    if _has_parts(context, node):
        return best(context, node, name, lambda element: element, default)
    helper = context.scope.helper(name)
    if len(node.args) > 1:
        values_ = [context.translate(a) for a in node.args]
        return Value(call(helper, Term("set", tuple(dict.fromkeys(v.term for v in values_)))), values_[0].kind)
    argument = node.args[0]
    sequence = None if isinstance(argument, ast.GeneratorExp) else whole_sequence(context, argument)
    members = set_value(context, argument) if sequence is None else range_of(context, sequence)
    extreme = call(helper, members.term)
    if default is None:
        return Value(extreme, item_of(members.kind))
    return Value(choose(infix("=", members.term, EMPTY_SET), context.term(default), extreme), item_of(members.kind))


def _has_parts(context: Context, node: ast.Call) -> bool:
    """Whether the values that are compared are tuples or records."""
    argument, guards = node.args[0], list(context.guards)
    try:
        if len(node.args) > 1:
            return has_parts(context.translate(argument).kind)
        sequence = whole_sequence(context, argument)
        members = set_value(context, argument) if sequence is None else sequence
        return has_parts(item_of(members.kind))
    finally:
        context.guards[:] = guards


def _keyed(context: Context, key: ast.expr, element: Value) -> Value:
    """The key of an element."""
    variable = key.args.args[0].arg if isinstance(key, ast.Lambda) else "element"
    body = key.body if isinstance(key, ast.Lambda) else ast.Call(key, [ast.Name(variable, ast.Load())], [])
    hidden, number = context.variables.get(variable), len(context.guards)
    context.variables[variable] = element
    value = context.translate(ast.copy_location(body, key))
    if len(context.guards) > number:
        raise context.refuse(key, "a guard in a key")
    if hidden is None:
        del context.variables[variable]
    else:
        context.variables[variable] = hidden
    return value


def _next(context: Context, node: ast.Call) -> Value:
    if not isinstance(node.args[0], ast.GeneratorExp):
        raise context.refuse(node, "next() of this")
    found = context.fresh("found")  # before the parts, which may have another one inside
    kept, element, name, kind, _ = selected(context, node.args[0])
    default = context.term(node.args[1]) if len(node.args) > 1 else None
    context.in_use.discard(found)
    if default is None:
        return Value(let(name, call("Head", kept), element), kind)
    if kept.op == "atom":
        return Value(choose(infix("=", kept, EMPTY_SEQUENCE), default, let(name, call("Head", kept), element)), kind)
    first = let(name, call("Head", atom(found)), element)
    return Value(let(found, kept, choose(infix("=", atom(found), EMPTY_SEQUENCE), default, first)), kind)


def _tuple(context: Context, node: ast.Call) -> Value:
    if not node.args:
        return Value(EMPTY_SEQUENCE, tuple)
    (argument,) = node.args
    if isinstance(argument, ast.Call) and context.translate(argument.func).static is builtins.sorted:
        members = set_value(context, argument.args[0])
        kind: Any = item_of(members.kind)
        return Value(call(context.scope.helper("Sorted"), members.term), sequences_of(kind))
    if isinstance(argument, ast.GeneratorExp):
        sequence = whole_sequence(context, argument)
        if sequence is None:
            raise context.refuse(node, "a sequence of a set's members")
        return sequence
    return context.translate(argument)


def _frozenset(context: Context, node: ast.Call) -> Value:
    if not node.args:
        return Value(EMPTY_SET, frozenset)
    (argument,) = node.args
    if isinstance(argument, ast.GeneratorExp):
        return set_constructor(context, argument)
    if isinstance(argument, ast.Tuple | ast.List | ast.Set):
        return set_enumeration(context, argument)
    value = context.translate(argument)
    if family(value.kind) is tuple:
        if value.term == EMPTY_SEQUENCE:
            return Value(EMPTY_SET, frozenset)
        item = item_of(value.kind)
        return Value(call(context.scope.helper("Range"), value.term), sets_of(item))
    return value


def set_enumeration(context: Context, node: ast.Tuple | ast.List | ast.Set) -> Value:
    """`{a, b}`."""
    items = [context.translate(e) for e in node.elts]
    if not items:
        return Value(EMPTY_SET, frozenset)
    kind: Any = items[0].kind
    return Value(Term("set", tuple(context.whole(i, node) for i in items)), sets_of(kind))


def _abs(context: Context, node: ast.Call) -> Value:
    return Value(call(context.scope.helper("Abs"), context.term(node.args[0])), int)


def _int(context: Context, node: ast.Call) -> Value:
    """`int(id)`: an id is its number."""
    value = context.translate(node.args[0])
    if value.kind is bool:
        return Value(choose(value.term, atom("1"), atom("0")), int)
    return Value(context.whole(value, node), int)


CALLS: dict[Any, Callable[[Context, ast.Call], Value]] = {
    some: _some,
    replace: _replace,
    values.every: _every,
    values.fill: _fill,
    values.Map: _map,
    any: _any,
    all: _all,
    sum: _sum,
    len: _len,
    min: _min,
    max: _max,
    next: _next,
    tuple: _tuple,
    frozenset: _frozenset,
    abs: _abs,
    int: _int,
}
"""The functions of the language and the built-in ones, each with the function that translates its calls."""


# -- functions of the model ---------------------------------------------------------------------------------------


def _function_call(context: Context, node: ast.Call, function: FunctionType) -> Value:
    """A call of a function of the model: of the operator that it becomes."""
    parameters = signature(function)
    given: dict[str, Value] = dict(zip(parameters, (context.translate(a) for a in node.args), strict=False))
    given |= {str(k.arg): context.translate(k.value) for k in node.keywords}
    for name, parameter in parameters.items():
        if name not in given:
            given[name] = context.lift(parameter.default)
    return apply(context, node, function, {name: given[name] for name in parameters})


def apply(context: Context, node: ast.AST, function: FunctionType, given: dict[str, Value]) -> Value:
    """A function of given arguments, in the order of its parameters."""
    scope = context.scope
    if isinstance(find_source(function)[0], ast.Lambda):
        return _inlined(context, function, given)
    fixed: dict[str, Value] = {}
    arguments: list[Term] = []
    for name, value in given.items():
        if (
            (value.moment and (function, name) not in scope.lessons.records)
            or isinstance(value.kind, Static)
            or value.term == NONE
        ):
            fixed[name] = value
        else:
            if scope.is_state(value.kind) and (function, name) not in scope.lessons.records:
                scope.lessons.records.add((function, name))
                scope.again = True
            arguments.append(context.whole(value, node))
    moments = {v.moment for v in fixed.values() if v.moment}
    after = moments == {"after"} and not arguments
    if after:
        fixed = {n: Value(v.term, v.kind, "before") if v.moment else v for n, v in fixed.items()}
    hints = cached_hints(function)
    kinds = {n: v.kind for n, v in given.items() if n not in fixed and n not in hints}
    key = (function, tuple((n, v.moment or _identity(v)) for n, v in fixed.items()), tuple(kinds.items()))
    if key not in scope.memo:
        if function in scope.running:
            raise context.refuse(node, f"`{function.__name__}`, which calls itself,")
        scope.memo[key] = scope.tables.define(scope, function, _wanted(function, fixed), fixed, kinds)
    definition = scope.memo[key]
    if definition.enabled:
        guard = call(definition.enabled, *arguments)
        context.guards.append(prime(guard) if after else guard)
    term = call(definition.name, *arguments)
    return Value(prime(term) if after else term, _returned(definition.kind, given))


def _returned(kind: Kind, given: dict[str, Value]) -> Kind:
    """The kind of the result: that of a record that was given, if it is of a narrower class."""
    for value in given.values():
        if is_record(kind) and is_record(value.kind) and value.kind is not kind and issubclass(value.kind, kind):
            return value.kind
    return kind


def _identity(value: Value) -> Any:
    try:
        hash(value.static)
    except TypeError:
        return id(value.static)
    return (value.static, value.term)


def _wanted(function: FunctionType, fixed: dict[str, Value]) -> str:
    """The name of an operator: the function's, and those of functions that it gets in place of its defaults."""
    parameters = signature(function)
    others = [
        v.static.__name__
        for n, v in fixed.items()
        if isinstance(v.static, FunctionType) and parameters[n].default is not v.static
    ]
    suffix = "_after" if any(v.moment == "after" for v in fixed.values()) and len(fixed) == 1 else ""
    return "_".join([function.__name__, *others]) + suffix


def _inlined(context: Context, function: FunctionType, given: dict[str, Value]) -> Value:
    node = find_source(function)[0]
    assert isinstance(node, ast.Lambda)
    inner = Context(context.scope, function, context.file, given)
    inner.in_use, inner.guards = context.in_use, context.guards
    return inner.translate(node.body)
