"""The two places where this program reaches into the interpreter, each with a way back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any


def traced_return(
    function: FunctionType, call: Callable[[], object], value: object
) -> tuple[int, dict[str, Any]] | None:
    """The line at which `function` last returned `value` during a call, and the names it saw there; None if it did not.

    A debugger's or a coverage tool's own tracing is put back.
    """
    code = function.__code__
    returns: list[tuple[int, dict[str, Any]]] = []

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return" and argument is value:
            returns.append((frame.f_lineno, {**frame.f_globals, **frame.f_locals}))
        return local

    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: local if frame.f_code is code else None)
    try:
        call()
    finally:
        sys.settrace(before)
    return returns[-1] if returns else None


class patched_code:
    """Within, the function runs other code, for whoever calls it."""

    __slots__ = ("code", "function", "original")

    def __init__(self, function: FunctionType, code: CodeType) -> None:
        self.function, self.code = function, code

    def __enter__(self) -> None:
        self.original = self.function.__code__
        self.function.__code__ = self.code

    def __exit__(self, *error: object) -> None:
        self.function.__code__ = self.original
