"""Groups of states: those for which an expression has the same value."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.traces.format_value import plain
from reassure.checkers.traces.values_along import names_for_expressions, parsed
from reassure.spec.semantics.interpreter import BoundModel

GIVEN = "s, c and the names of the model's module"


@dataclass(frozen=True)
class Grouping:
    """An expression over a state `s` and the configuration `c`."""

    expression: str
    lines: Callable[[Any], tuple[str, ...]]
    """The value for a state as text; of an expression with commas, a line `part = value` each. Raises `Failure`."""


def grouping(bound: BoundModel, expression: str) -> Grouping:
    """The groups by an expression; `Failure` if it is none, or has no value in an initial state."""
    tree = parsed(expression, "--by").body
    parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    codes = [compile(ast.Expression(part), "--by", "eval") for part in parts]
    if not parts:
        raise Failure(Exit.USAGE, "--by '()' has no value to group by: write an expression over the state s")
    titles = [f"{ast.unparse(part).removeprefix('s.')} = " if len(parts) > 1 else "" for part in parts]
    names = names_for_expressions(bound.model) | {"c": bound.config}

    def lines(state: Any) -> tuple[str, ...]:
        names["s"] = state
        try:
            return tuple(title + plain(eval(code, names)) for title, code in zip(titles, codes, strict=True))
        except NameError as error:
            raise Failure(Exit.USAGE, f"--by {expression!r}: {error}; it may use {GIVEN}") from None
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise Failure(
                Exit.USAGE,
                f"--by {expression!r} raised {reason}; it must have a value in every state, also in {plain(state)}",
            ) from None

    for _, _, state in bound.initial_states():
        lines(state)
        break
    return Grouping(expression.strip(), lines)


def view_grouping(bound: BoundModel, name: str) -> Grouping:
    """The groups by a function of the state in the model's module; `Failure` if there is none of this name."""
    for module in (bound.model.module, bound.model.state.__module__):
        view = getattr(sys.modules[module], name, None)
        if callable(view):
            more = ", c" if len(inspect.signature(view).parameters) > 1 else ""
            return grouping(bound, f"{name}(s{more})")
    raise Failure(
        Exit.USAGE, f"--view {name}: {bound.model.name} has no function of this name; or give --by EXPRESSION"
    )
