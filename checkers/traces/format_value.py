"""Values as people write them, and the value of an expression in each state of a trace.

Also here: expressions of the language, given as text, as claims of a model.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import Any

from reassure import spec
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.own_files import temporary_folder
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.values import Id, Map
from reassure.spec.language.vocabulary import Action, Model, Property
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace


def plain(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted((plain(v) for v in value), key=natural)) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(plain(v) for v in value) + "]"
    if isinstance(value, Map):
        return "{" + ", ".join(f"{plain(k)}: {plain(v)}" for k, v in map_entries(value)) + "}"
    if isinstance(value, Enum):
        return str(value.name.lower())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, Id):
        return str(int(value))
    if hasattr(value, "__dataclass_fields__"):
        return "(" + ", ".join(f"{n} {plain(getattr(value, n))}" for n in value.__dataclass_fields__) + ")"
    return str(value)


def as_python(value: Any) -> str:
    """A value as an expression of the language, with the names of the model's module."""
    if isinstance(value, frozenset):
        members = ", ".join(sorted(map(as_python, value), key=natural))
        return f"frozenset({{{members}}})" if members else "frozenset()"
    if isinstance(value, tuple):
        return "(" + "".join(f"{as_python(v)}, " for v in value).rstrip() + ")"
    if isinstance(value, Map):
        pairs = map_entries(value)
        texts = [as_python(entry) for _, entry in pairs]
        usual = max(texts, key=texts.count)
        others = [f".put({as_python(k)}, {text})" for (k, _), text in zip(pairs, texts, strict=True) if text != usual]
        return _alike([k for k, _ in pairs], usual) + "".join(others)
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if hasattr(value, "__dataclass_fields__"):
        fields = ", ".join(f"{n}={as_python(getattr(value, n))}" for n in value.__dataclass_fields__)
        return f"{type(value).__name__}({fields})"
    return repr(value)


def _alike(keys: list[Any], value: str) -> str:
    """The map of these keys to one value, as an expression of the language. keys: all of their type, in order."""
    if isinstance(keys[0], Enum | Id | bool):
        return f"fill({type(keys[0]).__name__}, c, {value})"
    columns = [list(dict.fromkeys(column)) for column in zip(*keys, strict=True)] if isinstance(keys[0], tuple) else []
    names = [f"k{i}" for i in range(1, len(columns) + 1)] if columns else ["k"]
    loops = " ".join(f"for {n} in {_all_of(column)}" for n, column in zip(names, columns or [keys], strict=True))
    key = f"({', '.join(names)})" if columns else "k"
    return f"Map({{{key}: {value} {loops}}})"


def _all_of(keys: list[Any]) -> str:
    """All values of a part of a key, as an expression of the language."""
    one = keys[0]
    return f"every({type(one).__name__}, c)" if isinstance(one, Enum | Id | bool) else f"range({one}, {keys[-1] + 1})"


def place_text(key: Any) -> str:
    """A map's key as it stands between brackets behind the map."""
    return ", ".join(map(plain, key)) if isinstance(key, tuple) else plain(key)


def map_entries(value: Map[Any, Any]) -> list[tuple[Any, Any]]:
    """The entries of a map, in the order of its sort: it may be built from a set, which has none."""
    return sorted(value.pairs(), key=lambda entry: _place(entry[0]))


def _place(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(map(_place, key))
    return list(type(key)).index(key) if isinstance(key, Enum) else int(key)


def natural(text: str) -> tuple[int, str]:
    """The order of values as people write them: numbers by size, then words."""
    return (int(text), "") if text.lstrip("-").isdigit() else (10**9, text)


DEEPEST = 200
"""Levels of the syntax tree of an expression: the functions that read it call themselves at each one."""
LONGEST = 300
"""Letters of an expression that a message shows."""


def names_for_expressions(model: Model) -> dict[str, object]:
    """Names for expressions about a model: the language, and the modules of its state and of the model."""
    names = {name: getattr(spec, name) for name in spec.__all__}
    for module in (model.state.__module__, model.module):
        names |= vars(sys.modules[module])
    return names


def parsed_expression(expression: str, option: str = "") -> ast.Expression:
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
    code, names = compile(parsed_expression(expression), "<expression>", "eval"), names_for_expressions(bound.model)
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


@dataclass(frozen=True)
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
    tree = parsed_expression(expression)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    over_steps = bool(names & set(STEP))
    if over_steps and "s" in names:
        raise Failure(
            Exit.USAGE, "an expression is about a state `s` or about a step `before`, `after`, not about both"
        )
    kinds: dict[str, type] = {"s": model.state, "c": model.config}
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
