"""Models in pytest: what its modules share."""

from __future__ import annotations

from typing import Any, NamedTuple


class ModelCheckFailed(AssertionError):
    """A model is not as a test expects; the message tells the shortest counterexample."""


class NamedTest(NamedTuple):
    """A test. about: the property or cover, or the number of a gate's check; "" for a search as a whole.

    path and line: where it is declared, lines counted from 0.
    """

    name: str
    about: str
    path: str
    line: int | None = None
    applies: bool = True


Answer = tuple[list[tuple[Any, ...]], dict[str, str], str, tuple[int, str] | None, list[str], list[str]]
"""What a server says of a file: its tests, the problems by test, a digest, the failure, and what was imported and added
to `sys.path`."""
