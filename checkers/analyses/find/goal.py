"""An expression of the language, given as text, as a claim of a model."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.temporary_folders import temporary_folder
from reassure.checkers.traces.values_along import names_for_expressions
from reassure.spec.language.vocabulary import Action, Model, Property

NAME = "expression"
NAMES = "`s` is a state, or `before` and `after` by `action` a step; `c` is the configuration"
"""The names that an expression may use, beside the names of the model's module."""
STEP = ("before", "after", "action")


@contextlib.contextmanager
def never(model: Model, expression: str) -> Iterator[tuple[Model, Property]]:
    """A model with one claim in place of its own: that an expression is never true. Lasts as long as the context.

    expression: of a state `s`, or of a step `before`, `after` and `action`; the configuration is `c`. It may use every
    name of the model's module and of its state's. Raises `Failure` if it is no expression, or of both.
    """
    names = _names(expression)
    over_steps = bool(names & set(STEP))
    if over_steps and "s" in names:
        raise Failure(
            Exit.USAGE, "an expression is about a state `s` or about a step `before`, `after`, not about both"
        )
    kinds: dict[str, Any] = {"s": model.state, "c": model.config}
    if over_steps:
        kinds = {"before": model.state, "after": model.state, "c": model.config}
        kinds |= {"action": Action} if "action" in names else {}
    with temporary_folder("find") as folder:
        path = folder / f"{NAME}.py"
        text = f"def {NAME}({', '.join(kinds)}):\n    return not ({expression})\n"
        path.write_text(text, encoding="utf-8")
        namespace = names_for_expressions(model)
        made: dict[str, FunctionType] = {}
        exec(compile(text, str(path), "exec"), namespace, made)
        function = made[NAME]
        function.__annotations__ = {**kinds, "return": bool}
        claim = Property(NAME, "step" if over_steps else "invariant", function)
        yield dataclasses.replace(model, properties=(claim,), deadlock=False), claim


def _names(expression: str) -> set[str]:
    """The names that an expression reads."""
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise Failure(Exit.USAGE, f"{expression!r} is no Python expression: {error.msg}") from None
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def as_written(message: str) -> str:
    """A message about a claim that `never` made, with the places in it named after the expression."""
    lines = [line for line in message.splitlines() if f"{NAME}.py:" in line or not line.startswith("    ")]
    return "\n".join(line.rpartition(f"{NAME}.py:2:")[2].partition(": ")[2] or line for line in lines)
