"""Values as people write them."""

from __future__ import annotations

from enum import Enum
from typing import Any

from reassure.spec.language.values import Id, Map


def plain(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted((plain(v) for v in value), key=natural)) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(plain(v) for v in value) + "]"
    if isinstance(value, Map):
        return "{" + ", ".join(f"{plain(k)}: {plain(v)}" for k, v in entries(value)) + "}"
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
        pairs = entries(value)
        texts = [as_python(entry) for _, entry in pairs]
        usual = max(texts, key=texts.count)
        others = [f".put({as_python(k)}, {text})" for (k, _), text in zip(pairs, texts, strict=True) if text != usual]
        return f"fill({type(pairs[0][0]).__name__}, c, {usual})" + "".join(others)
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if hasattr(value, "__dataclass_fields__"):
        fields = ", ".join(f"{n}={as_python(getattr(value, n))}" for n in value.__dataclass_fields__)
        return f"{type(value).__name__}({fields})"
    return repr(value)


def entries(value: Map[Any, Any]) -> list[tuple[Any, Any]]:
    """The entries of a map, in the order of its sort: it may be built from a set, which has none."""
    return sorted(value.pairs(), key=lambda entry: _place(entry[0]))


def _place(key: Any) -> int:
    return list(type(key)).index(key) if isinstance(key, Enum) else int(key)


def natural(text: str) -> tuple[int, str]:
    """The order of values as people write them: numbers by size, then words."""
    return (int(text), "") if text.lstrip("-").isdigit() else (10**9, text)
