"""Guards: what an action requires of the state and of its parameters."""

from __future__ import annotations

from typing import NoReturn, TypeVar

T = TypeVar("T")


class GuardRefused(Exception):
    """Raised by `require`: the action is not enabled for this state and these parameters."""


def require(condition: bool, note: str = "") -> None:
    """Guard of an action: unless `condition` holds, the action is not enabled. `note` is for people."""
    if condition is not True:
        if condition is not False:
            raise TypeError(f"require() needs a bool, not {condition!r}")
        raise GuardRefused(note)


def some(value: T | None, note: str = "") -> T:
    """Guard and unwrap: the action is enabled only if `value` is not None, and then goes on with it."""
    if value is None:
        raise GuardRefused(note)
    return value


def refuse(note: str = "") -> NoReturn:
    """The action is not enabled here; the same as `require(False)`, but a type checker knows it ends."""
    raise GuardRefused(note)


__all__ = ["GuardRefused", "refuse", "require", "some"]
