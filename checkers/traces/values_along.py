"""The value of an expression in each state of a trace."""

from __future__ import annotations

import ast
import sys
from typing import Any

from reassure import spec
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.traces.format_value import plain
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

DEEPEST = 200
"""Levels of the syntax tree of an expression: the functions that read it call themselves at each one."""
LONGEST = 300
"""Letters of an expression that a message shows."""


def names_for_expressions(model: Model) -> dict[str, Any]:
    """Names for expressions about a model: the language, and the modules of its state and of the model."""
    names = {name: getattr(spec, name) for name in spec.__all__}
    for module in (model.state.__module__, model.module):
        names |= vars(sys.modules[module])
    return names


def parsed(expression: str, option: str = "") -> ast.Expression:
    """An expression that was given as text, with or without a comment; Python can compile it.

    option: the option that it was given to, for messages. Raises `Failure` for text that is no expression, and for one
    that nests deeper than `DEEPEST` levels.
    """
    shown = f"{option} {_quoted(expression)}".lstrip()
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        level, depth = list(ast.iter_child_nodes(tree)), 0
        while level and depth <= DEEPEST:
            level, depth = [inner for node in level for inner in ast.iter_child_nodes(node)], depth + 1
        if level:
            raise RecursionError
        compile(tree, "<expression>", "eval")
    except (RecursionError, MemoryError):  # both are Python's own for what it cannot read
        raise Failure(Exit.USAGE, f"{shown} nests too deeply: at most {DEEPEST} levels are read") from None
    except (SyntaxError, ValueError) as error:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        raise Failure(Exit.USAGE, f"{shown} is not a Python expression: {message}") from None
    return tree


def _quoted(expression: str) -> str:
    text = repr(expression)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def values_along(trace: Trace, bound: BoundModel, expression: str) -> list[str]:
    """The value in each state, as people write it, or what the expression raises there.

    expression: Python, of a state `s` and the configuration `c`, evaluated by CPython. Raises `Failure` for text that
    is not an expression, or that names what there is not.
    """
    code, names = compile(parsed(expression), "<expression>", "eval"), names_for_expressions(bound.model)
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
