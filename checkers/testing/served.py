"""The tests of a model or a gate file, from a server (`reassure serve`) where one answers, otherwise from this process.

It imports as little as can be: that is what a server spares a session of pytest.

A server's answer is taken only if it is what this process would find. Where it gives none, as with a model that ends
its process, this process does the same itself.
"""

from __future__ import annotations

import marshal
import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from reassure.checkers.cli import client
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.testing import Answer, NamedTest

if TYPE_CHECKING:
    from reassure.checkers.testing.file_tests import TestsOfGate, TestsOfModel

TESTS = "reassure.checkers.testing.file_tests"
"""The module whose function `answer` a server executes."""


class FileTests:
    """The tests of a file. kind: "model" or "gate". engine: None is the default."""

    def __init__(self, kind: str, path: str, engine: str | None) -> None:
        self.kind, self.path, self.engine = kind, path, engine
        self.digest = ""
        self.named: list[NamedTest] = []
        self.problems: dict[str, str] = {}
        self.failure: Failure | None = None

    def tests(self) -> list[NamedTest]:
        """The names of all tests. Raises `Failure`."""
        served = self._served([])
        self.named = self.here.tests() if served is None else [NamedTest(*test) for test in served[0]]
        self.digest = "" if served is None else served[2]
        return self.named

    def problem(self, about: str) -> str:
        """The reason why a test fails, "" if it passes. Raises `Failure`, and Ctrl-C that has ended a search."""
        if self.failure is not None:
            raise self.failure
        if about not in self.problems:
            try:
                self.problems |= self._problems(about)
            except Failure as failure:
                self.failure = failure if self.kind == "model" else None  # one search answers all tests of a model
                raise
        return self.problems[about]

    def _problems(self, about: str) -> dict[str, str]:
        asked = [test.about for test in self.named if test.applies] if self.kind == "model" else [about]
        served = self._served(asked) if self.digest else None
        return {about: self.here.problem(about)} if served is None else served[1]

    @cached_property
    def here(self) -> TestsOfModel | TestsOfGate:
        """The same in this process."""
        from reassure.checkers.testing.file_tests import KINDS

        return KINDS[self.kind](self.path, self.engine, self.digest)

    def _served(self, asked: list[str]) -> Answer | None:
        if "here" in self.__dict__ or not _may_be_served():
            return None
        call = (TESTS, "answer", (self.kind, self.path, self.engine, self.digest, asked))
        answered = client.served_answer(_common_key(), call)
        if answered is None:
            return None
        answer: Answer = marshal.loads(answered[0])
        *_, failure, imported, added = answer
        own = [name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names]
        if not sys.modules.keys().isdisjoint(own):  # tests and plugins may have changed what the model imports
            return None
        for stream, printed in zip((sys.stdout, sys.stderr), answered[1:], strict=True):
            stream.write(printed.decode(stream.encoding, "replace"))
        sys.path += [folder for folder in added if folder not in sys.path]
        if failure is not None:
            raise Failure(Exit(failure[0]), failure[1])
        return answer


def _common_key() -> bytes:
    """The key of a server that is there, if one is: pytest has put folders before those that modules are found in."""
    from reassure.pytest_plugin import PATH_AT_START  # the server has this module without pytest

    keys = (client.common_key(PATH_AT_START[first:]) for first in range(len(PATH_AT_START)))
    return next((key for key in keys if os.path.exists(client.socket_of(key))), b"")


def _may_be_served() -> bool:
    """Whether the environment asks for a server, and no debugger or measurement of coverage follows this process."""
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    followed = sys.gettrace() or sys.getprofile() or (monitoring and any(map(monitoring.get_tool, range(6))))
    return os.environ.get(client.ASKED) == "1" and not os.environ.get("REASSURE_DEBUG") and not followed
