"""The value of an expression in each state of a trace."""

from __future__ import annotations

import ast
import sys
from types import CodeType
from typing import Any

from reassure import spec
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.traces.format_value import plain
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace


def names_for_expressions(model: Model) -> dict[str, Any]:
    """Names for expressions about a model: the language, and the modules of its state and of the model."""
    names = {name: getattr(spec, name) for name in spec.__all__}
    for module in (model.state.__module__, model.module):
        names |= vars(sys.modules[module])
    return names


def compiled(expression: str) -> CodeType:
    """An expression, ready to be evaluated; `Failure` for text that is none."""
    try:
        return compile(ast.parse(expression, mode="eval"), "<expression>", "eval")
    except (SyntaxError, ValueError) as error:
        message = getattr(error, "msg", str(error))
        raise Failure(Exit.USAGE, f"{expression!r} is not a Python expression: {message}") from None


def values_along(trace: Trace, bound: BoundModel, expression: str) -> list[str]:
    """The value in each state, as people write it, or what the expression raises there.

    expression: Python, of a state `s` and the configuration `c`, evaluated by CPython. Raises `Failure` for text that
    is not an expression, or that names what there is not.
    """
    code, names = compiled(expression), names_for_expressions(bound.model)
    texts = []
    for state in trace.states:
        try:
            texts.append(plain(eval(code, {**names, "s": state, "c": bound.config})))
        except NameError as error:
            text = f"{expression!r}: {error}; `s` is a state, `c` is the configuration"
            raise Failure(Exit.USAGE, text) from None
        except Exception as error:
            texts.append(f"raises {type(error).__name__}: {error}")
    return texts
