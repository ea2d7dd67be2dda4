"""The tests of a model or a gate file, from a server (`reassure serve`) where one answers, otherwise from this process.

It imports as little as can be: that is what a server spares a session of pytest.

The server forks one process for the session, which does what this one would do: it keeps the models, and gets the
environment and the working folder as they are. Its answer is taken only if it is what this process would find. Where it
gives none, as with a model that ends its process, this process does the same itself.
"""

from __future__ import annotations

import _socket
import logging
import marshal
import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reassure.checkers.cli import client
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.testing import REQUESTS, NamedTest

if TYPE_CHECKING:
    from reassure.checkers.testing.file_tests import TestsOfGate, TestsOfModel

CALL = ("reassure.checkers.testing.file_tests", "answer_requests")


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

    def _served(self, asked: list[str]) -> tuple[list[tuple[Any, ...]], dict[str, str], str] | None:
        """The tests, the problems of those asked, and the digest of the file; None if a server has no answer."""
        if "here" in self.__dict__:
            return None
        process = ServedProcess.of_this_session()
        return None if process is None else process.ask(self.kind, self.path, self.engine, self.digest, asked)


class ServedProcess:
    """A process that a server has forked for a session."""

    current: ServedProcess | None = None

    @classmethod
    def of_this_session(cls) -> ServedProcess | None:
        """The one that answers; None if there is none, or none is asked for.

        Another one once `sys.path` has changed: what it has imported may come from elsewhere now.
        """
        if not _may_be_served():
            return None
        if cls.current is not None and (cls.current.session, cls.current.path) != (os.getpid(), sys.path):
            cls.current.close()
        if cls.current is None:
            cls.current = cls.started(_common_key())
        return cls.current

    @classmethod
    def started(cls, common: bytes) -> ServedProcess | None:
        """A process of the server of this key; None if no server gives one."""
        connection = client.connected(common)
        if connection is None:
            return None
        own, other = _socket.socketpair()
        null, *printed = os.open(os.devnull, os.O_RDONLY), os.memfd_create("stdout"), os.memfd_create("stderr")
        try:
            files = {0: null, 1: printed[0], 2: printed[1], REQUESTS: other.fileno()}
            if client.ready(connection, common, CALL, files):
                connection.settimeout(None)
                connection.send(client.BEGIN)
                return cls(connection.detach(), own.detach(), printed)
        except (OSError, ValueError, AttributeError):  # it ends just now, or a stream is not one of Python's
            pass
        finally:
            os.close(null)
            for end in (connection, own, other):
                end.close()
        for number in printed:
            os.close(number)
        return None

    def __init__(self, connection: int, requests: int, printed: list[int]) -> None:
        """All are descriptors. connection: open while the process is to live. printed: of what it prints."""
        self.connection, self.requests, self.printed = connection, requests, dict.fromkeys(printed, 0)
        self.session, self.path = os.getpid(), list(sys.path)

    def close(self) -> None:
        """Ends the process."""
        for number in (self.connection, self.requests, *self.printed):
            os.close(number)
        type(self).current = None

    def ask(self, *request: Any) -> tuple[list[tuple[Any, ...]], dict[str, str], str] | None:
        """The answer to a request, once it is told here what was printed; None if this process is to find it itself.

        Raises `Failure` if that is the answer. Whatever else ends the wait, such as Ctrl-C, ends the process.
        """
        try:
            with open(self.requests, "wb", closefd=False) as requests:
                marshal.dump((dict(os.environ), os.getcwd(), logging.root.level, *request), requests)
            with open(self.requests, "rb", closefd=False) as answers:
                taken, imported, path, failure, answer = marshal.load(answers)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError | EOFError | ValueError | TypeError):
                return None
            raise
        printed = [self._printed(number) for number in self.printed]
        own = [name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names]
        if not taken or not sys.modules.keys().isdisjoint(own):  # tests and plugins may have changed what it imports
            return None
        for stream, text in zip((sys.stdout, sys.stderr), printed, strict=True):
            stream.write(text.decode(stream.encoding, "replace"))
        self.path = sys.path[:] = path
        if failure is not None:
            raise Failure(Exit(failure[0]), failure[1])
        return answer  # type: ignore[no-any-return]

    def _printed(self, number: int) -> bytes:
        """What was printed since it was last asked for."""
        text = os.pread(number, os.fstat(number).st_size - self.printed[number], self.printed[number])
        self.printed[number] += len(text)
        return text


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
