"""Records: made by their class, changed by `replace`."""

from __future__ import annotations

import ast
import dataclasses
from dataclasses import MISSING

from reassure.spec.frontend.arguments import by_parameter, positional
from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import lower, lower_present
from reassure.spec.frontend.symbolic_values import Mismatch, Poison, Record, Sym, describe
from reassure.spec.language.annotations import own_method


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
    values = by_parameter(context, node, cls, f"{cls.__name__} has the fields {', '.join(declared)}")
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
        fields[k.arg] = _fitted(context, k.value, base.cls, k.arg, lower(context, k.value))
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


__all__ = ["construct", "replace_call"]
