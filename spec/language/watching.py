"""Fields that a step property about some actions watches: those of the state that no other action may change."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

from reassure.spec.language.values import Map


def why_unwatched(on: bool, tags: frozenset[str], watches: tuple[str, ...] | None) -> str:
    """The reason for which a declaration's `watches` is wrong or missing; empty if it is neither.

    on: whether it names the actions that it is about. watches: as declared.
    """
    if watches is not None and not on and not tags:
        return "is about every step, so it watches everything: leave `watches` out"
    if watches is not None or not tags:
        return ""
    named = ", ".join(repr(t) for t in sorted(tags))
    return (
        f"is about actions tagged {named} alone: leave `tags` out, or name the fields that no other action may change, "
        'watches=["field"], or watches=[] if it is about a request alone'
    )


def unknown_field(function: Callable[..., Any], watches: tuple[str, ...], state: type) -> str:
    """The first watched field that there is not, and which there are; empty if there is none.

    Fields are those of the class that the property is written over. What cannot be read here, binding the model tells.
    """
    try:
        over = typing.get_type_hints(function).get("before", state)
        for path in watches:
            if why := _not_in(over if is_dataclass(over) else state, path):
                return why
    except (NameError, AttributeError, TypeError):
        return ""
    return ""


def _not_in(cls: Any, path: str) -> str:
    for name in path.split("."):
        if not (isinstance(cls, type) and is_dataclass(cls)):
            return f"{path}, but only the fields of a record have names"
        have = [f.name for f in fields(cls)]
        if name not in have:
            return f"{path}, but {cls.__name__} has no field {name!r}; it has {', '.join(have)}"
        cls = _record_in(typing.get_type_hints(cls, include_extras=True)[name])
    return ""


def _record_in(annotation: Any) -> Any:
    """The class that an annotation is about; of an optional, a map, a set or a sequence, the class of what is in it."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _record_in(args[0])
    if origin in (typing.Union, types.UnionType):
        return _record_in(next((a for a in args if a is not type(None)), None))
    if origin is frozenset or (origin is tuple and Ellipsis in args):
        return _record_in(args[0])
    if origin is Map:
        return _record_in(args[1])
    return annotation


__all__ = ["unknown_field", "why_unwatched"]
