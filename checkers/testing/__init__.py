"""Models in pytest: what its modules share."""

from __future__ import annotations

from typing import NamedTuple

REQUESTS = 3
"""The descriptor by which a process of a server gets requests and answers them."""


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
