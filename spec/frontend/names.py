"""Constants, names and attributes."""

from __future__ import annotations

import ast
import builtins
from types import ModuleType

from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import lower_present
from reassure.spec.frontend.symbolic_values import Poison, Record, Static, Sym, describe
from reassure.spec.language.vocabulary import Action


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
        return frame.variables[node.id]
    if node.id in frame.function.__code__.co_varnames:
        raise context.refuse(node, f"`{node.id}` may be unbound here", "give it a value on every path")
    cells = dict(zip(frame.function.__code__.co_freevars, frame.function.__closure__ or (), strict=False))
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
    if isinstance(base, Record):
        if node.attr in base.fields:
            return base.fields[node.attr]
        fields = f"{base.cls.__name__} has the fields {', '.join(base.fields)}"
        raise context.refuse(node, f"`.{node.attr}` is no field", f"{fields}; instead of a method write a function")
    if isinstance(base, Static):
        if base.value is context.config or isinstance(base.value, ModuleType | type):
            if not hasattr(base.value, node.attr):
                raise context.refuse(node, f"no `{node.attr}`", f"{describe(base)} does not have it")
            return context.symbols.lift(getattr(base.value, node.attr))
        if isinstance(base.value, Action):
            name = ast.unparse(node.value)
            raise context.refuse(node, f"`.{node.attr}` of an action", f"compare it with actions: `{name} == elect`")
    what = f"`.{node.attr}` of {describe(base)}"
    raise context.refuse(node, what, "only records, configuration and modules have fields")


__all__ = ["attribute", "constant", "name"]
