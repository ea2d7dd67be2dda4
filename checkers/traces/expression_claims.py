"""Expressions of the language, given as text, as claims of a model."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.temporary_folders import temporary_folder
from reassure.checkers.traces.values_along import names_for_expressions, parsed
from reassure.spec.language.vocabulary import Action, Model, Property

NAME = "expression"
NAMES = "`s` is a state, or `before` and `after` by `action` a step; `c` is the configuration"
"""The names that an expression may use, beside the names of the model's module."""
STEP = ("before", "after", "action")


@contextlib.contextmanager
def never(model: Model, expression: str) -> Iterator[tuple[Model, Property]]:
    """A model with one claim in place of its own: that an expression is never true. Lasts as long as the context.

    expression: of a state `s`, or of a step `before`, `after` and `action`; the configuration is `c`. It may use every
    name of the model's module and of its state's. Raises `Failure` if it is not an expression, or of both.
    """
    with temporary_folder("find") as folder:
        claim = _claim(model, NAME, expression, True, folder)
        yield dataclasses.replace(model, properties=(claim,), deadlock=False), claim


@dataclasses.dataclass(frozen=True)
class ExpressionClaims:
    """The claims that expressions are true: of every state, and of every step. folder: of their text."""

    folder: Path
    texts: dict[str, str]
    """By the names of the claims: `invariant_1`, `step_1` and so on."""

    def of(self, model: Model) -> tuple[Property, ...]:
        """The claims of a model. Raises `Failure` for what is not an expression, or of the other kind."""
        claims = []
        if taken := sorted(self.texts.keys() & {d.name for d in model.declarations()}):
            has = f"{model.name} declares {taken[0]}, which is the name of an expression here"
            raise Failure(Exit.USAGE, f"{has}: give what it declares another name")
        for name, text in self.texts.items():
            claim, of_step = _claim(model, name, text, False, self.folder), name.startswith("step")
            if claim.over_steps != of_step:
                kind, wanted = (
                    ("step", "a step: `before`, `after`, `action`") if of_step else ("invariant", "a state `s`")
                )
                raise Failure(Exit.USAGE, f"--{kind} {text!r}: an expression about {wanted} is needed")
            claims.append(claim)
        return tuple(claims)


@contextlib.contextmanager
def reachable(expression: str) -> Iterator[Callable[[Model], tuple[Property, ...]]]:
    """The claim of a model that every state is followed by one of which an expression is true, named `NAME`.

    It lasts as long as the context. Raises `Failure` for what is not an expression of a state.
    """
    with temporary_folder("stuck") as folder:

        def of(model: Model) -> tuple[Property, ...]:
            if NAME in {d.name for d in model.declarations()}:
                has = f"{model.name} declares {NAME}, which is the name of an expression here"
                raise Failure(Exit.USAGE, f"{has}: give what it declares another name")
            goal = _claim(model, NAME, expression, False, folder)
            if goal.over_steps:
                raise Failure(Exit.USAGE, f"{expression!r}: an expression about a state `s` is needed")
            every_state = _claim(model, "every_state", "True", False, folder).function
            every_state.__doc__ = f"From every state a state can be reached of which this is true: {expression}"
            return (Property(NAME, "leads_to", every_state, goal=goal.function),)

        yield of


@contextlib.contextmanager
def always(invariants: Sequence[str], steps: Sequence[str]) -> Iterator[ExpressionClaims]:
    """The claims that expressions are true, which last as long as the context."""
    texts = {f"invariant_{number}": text for number, text in enumerate(invariants, 1)}
    texts |= {f"step_{number}": text for number, text in enumerate(steps, 1)}
    with temporary_folder("check") as folder:
        yield ExpressionClaims(folder, texts)


def _claim(model: Model, name: str, expression: str, negated: bool, folder: Path) -> Property:
    """A claim that returns an expression, or its negation, as a function of a file in a folder."""
    tree = parsed(expression)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    over_steps = bool(names & set(STEP))
    if over_steps and "s" in names:
        raise Failure(
            Exit.USAGE, "an expression is about a state `s` or about a step `before`, `after`, not about both"
        )
    kinds: dict[str, Any] = {"s": model.state, "c": model.config}
    if over_steps:
        kinds = {"before": model.state, "after": model.state, "c": model.config}
        kinds |= {"action": Action} if "action" in names else {}
    path = folder / f"{name}.py"
    text = f"def {name}({', '.join(kinds)}):\n    return {'not ' if negated else ''}({ast.unparse(tree)})\n"
    path.write_text(text, encoding="utf-8")
    made: dict[str, FunctionType] = {}
    exec(compile(text, str(path), "exec"), names_for_expressions(model), made)
    function = made[name]
    function.__annotations__ = {**kinds, "return": bool}
    function.__doc__ = expression
    return Property(name, "step" if over_steps else "invariant", function)


def as_written(message: str) -> str:
    """A message about a claim of an expression, with the places in it named after the expression."""
    of_claim = re.compile(rf".*\b(?:{NAME}|(?:invariant|step)_\d+)\.py:\d+:\d+: ")
    lines = [line for line in message.splitlines() if of_claim.match(line) or not line.startswith("    ")]
    text = "\n".join(of_claim.sub("", line).removesuffix(": define or import it") for line in lines)
    return re.sub(rf"what `(?:{NAME}|(?:invariant|step)_\d+)` returns:", "the value of the expression:", text)
