"""Exit code 0 is for what was asked for and established; what was not decided is inconclusive."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command import said
from tests.helpers.raising_model import written

CYCLE = """
@action(who="node", fair="weak")
def ping(s: State) -> State:
    require(s.n == 0)
    return replace(s, n=1)

@action(who="node", fair="weak")
def pong(s: State) -> State:
    require(s.n == 1)
    return replace(s, n=0)

def arrived(s: State) -> bool:
    return s.n == 3

@leads_to(arrived)
def arrives(s: State) -> bool:
    return s.n == 1

@action(who="admin")
def arrive(s: State) -> State:
    require(s.n == 1)
    return replace(s, n=3)

@cover
def emptied(s: State) -> bool:
    return s.alive == NOBODY
"""


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["check"], 13, "arrives  violated"),
        (["check", "--depth=3", "--property=emptied"], 5, "emptied  not reached so far"),
        (["check", "--depth=4", "--property=emptied"], 0, "pass-to-depth (exit code 0)"),
        (["check", "--depth=9", "--property=arrives"], 13, "arrives  violated"),
        (["check", "--depth=2", "--property=arrives"], 5, "arrives  unknown (this takes every reachable state)"),
        (["stuck"], 5, "inconclusive (exit code 5)"),
        (["stuck", "--fair-only"], 13, "liveness-violation (exit code 13)"),
        (["prove", "--property=arrives"], 6, "nothing-checked (exit code 6)"),
        (["simulate", "--property=emptied", "--depth=3"], 5, "emptied  not reached so far"),
    ],
)
def test_what_was_not_established(
    words: list[str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, CYCLE, ", deadlock=False")
    command, *options = words
    got, out, err = said(capsys, command, path, *options)
    assert got == code, out + err
    assert message in out
