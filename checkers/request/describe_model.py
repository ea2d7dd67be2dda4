"""A model's description: its settings with their ranges and meaning, its actions, its claims."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import textwrap
import typing
from dataclasses import dataclass
from enum import Enum
from typing import Any

from reassure.spec.language.annotations import hints_of, resolve
from reassure.spec.language.types import EnumType, Type
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import make_config


@dataclass(frozen=True)
class Setting:
    """A field of the configuration. values: what it may be; meaning: the text that stands below it, or ""."""

    name: str
    values: str
    default: str
    meaning: str


def settings_of(model: Model) -> list[Setting]:
    """Every setting in the order of declaration; ranges that depend on other settings are those of the defaults."""
    defaults = make_config(model, {})
    hints, meanings = hints_of(model.config), field_texts(model.config)
    return [
        Setting(
            f.name,
            values_of(resolve(hints[f.name], defaults)),
            _value(getattr(defaults, f.name)),
            meanings.get(f.name, ""),
        )
        for f in dataclasses.fields(model.config)
    ]


def values_of(kind: Type) -> str:
    """The values of a setting's type, as they are given to `--set`."""
    if isinstance(kind, EnumType):
        return ", ".join(str(member.value) for member in kind.sort)
    return str(kind)


def field_texts(cls: type) -> dict[str, str]:
    """The text that stands below each field of a class, or of a class that it extends."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        try:
            (body,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError, SyntaxError, ValueError):  # no text to be had
            continue
        for before, after in zip(getattr(body, "body", []), getattr(body, "body", [])[1:], strict=False):
            if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name):
                match after:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        texts[before.target.id] = " ".join(text.split())
    return texts


def module_text(model: Model) -> str:
    """The first line of the text of the model's module."""
    return first_line(sys.modules[model.module].__doc__)


def first_line(text: str | None) -> str:
    """The first line of a docstring; "" if there is none."""
    return (inspect.cleandoc(text or "").splitlines() or [""])[0]


def parameters_of(function: Any, model: Model) -> list[str]:
    """The names of what a step is chosen by: not the state, not the configuration."""
    hints = typing.get_type_hints(function)
    names = list(inspect.signature(function).parameters)[1:]
    return [n for n in names if not (isinstance(hints.get(n), type) and issubclass(model.config, hints[n]))]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value.value if isinstance(value, Enum) else value)
