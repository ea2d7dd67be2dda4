"""Reaching into the interpreter: what is seen, and that everything is put back, also after an error."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from reassure.checkers.machine.polled_interrupts import patched_code, traced_return


def decide(x: int) -> bool:
    doubled = 2 * x
    if x > 3:
        return True
    return doubled > 5


def other(x: int) -> bool:
    return not decide(x)


def fails(x: int) -> bool:
    raise ValueError("no")


FIRST = decide.__code__.co_firstlineno


def test_the_line_and_the_names_of_a_return() -> None:
    line, names = traced_return(decide, lambda: decide(2), False) or (0, {})
    assert (line - FIRST, names["x"], names["doubled"]) == (4, 2, 4)
    assert names["FIRST"] == FIRST
    line, _ = traced_return(decide, lambda: decide(4), True) or (0, {})
    assert line - FIRST == 3


def test_the_last_of_several_calls_counts() -> None:
    seen = traced_return(decide, lambda: (decide(0), decide(1), decide(9)), False)
    assert seen is not None
    assert seen[1]["x"] == 1


def test_calls_of_others_do_not_count() -> None:
    assert traced_return(decide, lambda: decide(4), False) is None
    seen = traced_return(decide, lambda: other(2), False)
    assert seen is not None
    assert seen[1]["x"] == 2


def test_tracing_is_put_back() -> None:
    def tracer(frame: FrameType, event: str, argument: Any) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        traced_return(decide, lambda: decide(2), False)
        assert sys.gettrace() is tracer
        with pytest.raises(ValueError, match="no"):
            traced_return(decide, lambda: fails(1), False)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


def test_patched_code_ends() -> None:
    with patched_code(decide, other.__code__.replace(co_name="decide")), pytest.raises(RecursionError):
        decide(1)
    assert decide(4)
    original = decide.__code__
    with pytest.raises(ValueError, match="no"), patched_code(decide, fails.__code__):
        decide(4)
    assert decide.__code__ is original
