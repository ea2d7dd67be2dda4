"""Functions of the model: the value of a call is that of the function's body on the arguments."""

from __future__ import annotations

import ast
import inspect
from types import FunctionType

from reassure.spec.frontend.arguments import by_parameter
from reassure.spec.frontend.context import Context, Frame
from reassure.spec.frontend.evaluation import lower
from reassure.spec.frontend.introspection import signature_of
from reassure.spec.frontend.refusals import Refused
from reassure.spec.frontend.statements import lower_body
from reassure.spec.frontend.symbolic_values import POISON, Mismatch, Sym


def function_call(context: Context, node: ast.Call, function: FunctionType) -> Sym:
    """A call of a function of the model."""
    if any(frame.function is function for frame in context.frames):
        raise context.refuse(node, f"`{function.__name__}` calls itself", "recursion is not in the language")
    parameters = signature_of(function).parameters
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
        raise context.refuse(node, f"`*args` or `**kwargs` of `{function.__name__}`", "name every parameter")
    arguments = by_parameter(context, node, function, f"{function.__name__} takes ({', '.join(parameters)})")
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


__all__ = ["function_call", "lower_function"]
