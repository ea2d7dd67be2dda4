"""Functions of the model: the value of a call is that of the function's body on the arguments.

A method or a property of a record, an id or an enum member is a function whose first argument is the value.

Also here: constants, names and attributes.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from enum import Enum
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

from reassure.spec.frontend.context import Context, Frame
from reassure.spec.frontend.evaluation import by_parameter, lower, lower_present
from reassure.spec.frontend.introspection import Refused, cached_hints, signature_of
from reassure.spec.frontend.statements import lower_body
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Mismatch,
    Poison,
    Record,
    Scalar,
    Static,
    Sym,
    Unsettled,
    describe,
)
from reassure.spec.language.annotations import AnyNumber, resolve
from reassure.spec.language.types import EnumType, IdType, IntType
from reassure.spec.language.values import Id
from reassure.spec.language.vocabulary import Action


def function_call(context: Context, node: ast.Call, function: FunctionType) -> Sym:
    """A call of a function of the model."""
    parameters = signature_of(function).parameters
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
        raise context.refuse(node, f"`*args` or `**kwargs` of `{function.__name__}`", "name every parameter")
    _refuse_recursion(context, node, function)
    arguments = by_parameter(context, node, function, f"{function.__name__} takes ({', '.join(parameters)})")
    return _called(context, node, function, arguments)


def method_call(context: Context, node: ast.Call, target: ast.Attribute, base: Sym) -> Sym | None:
    """A call of a method that the class of a value declares; None if it declares none of that name."""
    method = _declared(base, target.attr)
    if isinstance(method, staticmethod) and isinstance(method.__func__, FunctionType):
        return function_call(context, node, method.__func__)
    if not isinstance(method, FunctionType):
        return None
    return function_call(context, with_first_argument(node, target.value), method)


def with_first_argument(node: ast.Call, first: ast.expr) -> ast.Call:
    """A call with one more argument, before the others."""
    return ast.copy_location(ast.Call(node.func, [first, *node.args], node.keywords), node)


def _declared(base: Sym, name: str) -> Any:
    """What the class of a record, an id or an enum member declares by a name; None if that is Python's own."""
    cls: type | None = base.cls if isinstance(base, Record) else None
    if isinstance(base, Scalar) and isinstance(base.type, IdType | EnumType):
        cls = base.type.sort
    if cls is None or name.startswith("__"):
        return None
    for owner in cls.__mro__:
        if name in vars(owner):
            return None if owner in (Id, Enum, int, object) else vars(owner)[name]
    return None


def _refuse_recursion(context: Context, node: ast.expr, function: FunctionType) -> None:
    if any(frame.function is function for frame in context.frames):
        raise context.refuse(
            node,
            f"`{function.__name__}` calls itself",
            "recursion is not in the language: write a comprehension, or the cases out",
        )


def _called(context: Context, node: ast.expr, function: FunctionType, arguments: dict[str, Sym]) -> Sym:
    try:
        return lower_function(context, function, arguments)
    except OSError as error:
        what = f"a call of `{function.__name__}`"
        raise context.refuse(node, what, f"its source is not at hand: {error}") from None


def lower_function(context: Context, function: FunctionType, arguments: dict[str, Sym]) -> Sym:
    """The value of a function under the current path; `POISON` if something in it is refused.

    Raises `OSError` if the function has no source.
    """
    tree, path, lines = context.definition_of(function)
    variables = dict(arguments)
    for name, parameter in signature_of(function).parameters.items():
        if name not in variables and parameter.default is not inspect.Parameter.empty:
            variables[name] = context.symbols.lift(parameter.default)
    with context.entered(Frame(function, path, lines, variables)):
        try:
            return lower(context, tree.body) if isinstance(tree, ast.Lambda) else lower_body(context, tree)
        except (Refused, Mismatch):
            return POISON


def constant(context: Context, node: ast.Constant) -> Sym:
    """A bool, an int or None."""
    if isinstance(node.value, bool | int) or node.value is None:
        return context.symbols.lift(node.value)
    remedy = "values are bools, ints, ids, enum members, None"
    if isinstance(node.value, str):
        remedy += (
            f"; an action is compared by its function: `action == {node.value}`" if node.value.isidentifier() else ""
        )
    raise context.refuse(node, f"the constant {node.value!r}", remedy)


def name(context: Context, node: ast.Name) -> Sym:
    """A local variable, or what a name means in the function's module."""
    frame = context.frame
    if node.id in frame.variables:
        value = frame.variables[node.id]
        if isinstance(value, Unsettled):
            raise context.refuse(node, value.construct, value.remedy)
        return value
    code = frame.function.__code__
    if node.id in (*code.co_varnames, *code.co_cellvars):
        raise context.refuse(node, f"`{node.id}` may be unbound here", "give it a value on every path")
    cells = dict(zip(code.co_freevars, frame.function.__closure__ or (), strict=False))
    if node.id in cells:
        return context.symbols.lift(cells[node.id].cell_contents)
    if node.id in frame.function.__globals__:
        return context.symbols.lift(frame.function.__globals__[node.id])
    if hasattr(builtins, node.id):
        return Static(getattr(builtins, node.id))
    raise context.refuse(node, f"`{node.id}` is not defined", "define or import it")


def attribute(context: Context, node: ast.Attribute) -> Sym:
    """A field of a record or the configuration, or what a class or module has."""
    base = lower_present(context, node.value)
    if isinstance(base, Poison):
        return base
    if isinstance(base, Record) and node.attr in base.fields:
        return base.fields[node.attr]
    declared = _declared(base, node.attr)
    if isinstance(declared, property) and isinstance(declared.fget, FunctionType):
        _refuse_recursion(context, node, declared.fget)
        return _called(context, node, declared.fget, {next(iter(signature_of(declared.fget).parameters)): base})
    if isinstance(declared, FunctionType):
        raise context.refuse(node, f"the method `.{node.attr}` as a value", f"call it: `{ast.unparse(node)}(...)`")
    if isinstance(declared, cached_property):
        raise context.refuse(node, f"`.{node.attr}`, a cached_property", "write `@property`: a record is its fields")
    if isinstance(base, Record):
        fields = f"{base.cls.__name__} has the fields {', '.join(base.fields)}"
        import difflib  # of few messages

        near = difflib.get_close_matches(node.attr, base.fields, n=1)
        remedy = f"did you mean `.{near[0]}`? {fields}" if near else fields
        raise context.refuse(node, f"`.{node.attr}` is not a field", remedy)
    if isinstance(base, Static):
        if base.value is context.config or isinstance(base.value, ModuleType | type):
            if base.value is context.config and context.scope.any_number is not None:
                free = _free(context, context.scope.any_number, node)
                if free is not None:
                    return free
            if not hasattr(base.value, node.attr):
                raise context.refuse(node, f"no `{node.attr}`", f"{describe(base)} does not have it")
            return context.symbols.lift(getattr(base.value, node.attr))
        if isinstance(base.value, Action):
            name = ast.unparse(node.value)
            raise context.refuse(node, f"`.{node.attr}` of an action", f"compare it with actions: `{name} == elect`")
    remedy, text = "only records, configuration and modules have fields", ast.unparse(node.value)
    if isinstance(base, Scalar) and isinstance(base.type, EnumType):
        remedy = f"compare it with a member: `{text} == {next(base.type.values())}`"
    elif isinstance(base, Scalar) and isinstance(base.type, IdType):
        remedy = f"an id has no fields: `int({text})` is its number"
    raise context.refuse(node, f"`.{node.attr}` of {describe(base)}", remedy)


def _free(context: Context, any_number: AnyNumber, node: ast.Attribute) -> Sym | None:
    """A field or property of the configuration that depends on a free number; None for another."""
    cls: Any = type(context.config)
    if not hasattr(context.config, node.attr) or not any_number.reads(node.attr) & any_number.free:
        return None
    declared = getattr(cls, node.attr, None)
    if isinstance(declared, property) and isinstance(declared.fget, FunctionType):
        return lower_function(
            context, declared.fget, {next(iter(signature_of(declared.fget).parameters)): Static(context.config)}
        )
    hints = cached_hints(cls)
    kind = resolve(hints[node.attr], context.config) if node.attr in hints else None
    if not isinstance(kind, IntType):
        raise context.refuse(node, f"`.{node.attr}` of a configuration with free numbers", "use fields and properties")
    return Scalar(context.graph.config(node.attr, kind.low))
