"""What is asked of the same functions and classes again and again while a model is lowered."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from functools import lru_cache
from typing import Any

MOST = 4096
"""Functions and classes that are remembered."""


@lru_cache(MOST)
def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a function, or the fields that a class is made of."""
    return inspect.signature(function)


@lru_cache(MOST)
def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function or class, with what is noted in them."""
    return typing.get_type_hints(function, include_extras=True)


__all__ = ["MOST", "hints_of", "signature_of"]
