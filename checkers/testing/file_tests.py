"""The tests of one model or one gate file: their names, and for each the reason why it fails.

Also here: the same as a server answers it, which has all of this imported; pytest is not part of it.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import marshal
import os
import sys
import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.gate.gate_file import Check, read_gate_file
from reassure.checkers.gate.run_check import CheckOutcome, run_check
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import DEFAULT_ENGINE, SearchOptions
from reassure.checkers.request.outside_values import values_digest
from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.request.result import CheckResult, PropertyStatus
from reassure.checkers.request.vacuity import never_applies
from reassure.checkers.testing import REQUESTS, NamedTest
from reassure.checkers.testing.expect import remaining, wrong
from reassure.spec.semantics.interpreter import BoundModel

WHOLE = "search"
"""The test that a search came to its end; the others are named by their property or cover."""


class TestsOfModel:
    """A model under its default configuration, searched when the first of its tests runs."""

    def __init__(self, path: str, engine: str | None, digest: str = "") -> None:
        """engine: None is the default. digest: of the model when its tests were named (default: when they are)."""
        self.path, self.engine, self.digest = path, engine or DEFAULT_ENGINE, digest

    @cached_property
    def bound(self) -> BoundModel:
        """The model of the file, as it is when its tests are named. Raises `Failure`."""
        bound, sha256 = prepare_plain(self.path, [])
        self.digest = f"{sha256} {values_digest(bound)}"
        return bound

    @cached_property
    def checked(self) -> tuple[CheckResult, BoundModel]:
        """The result of a search of every state, and its model. Raises Ctrl-C again, so that no other search begins."""
        request = CheckRequest(self.path, [], self.engine, SearchOptions())
        result, bound = run(request, Progress(quiet=True))
        if f"{result.identity.model_sha256} {values_digest(bound)}" != self.digest:
            raise Failure(Exit.SYSTEM, f"{self.path} was changed since it was loaded: load it again")
        result.stopped.raise_interrupt()
        return result, bound

    def tests(self) -> list[NamedTest]:
        """The search, each property and each cover."""
        bound = self.bound

        def test(name: str, about: str, applies: bool = True) -> NamedTest:
            declared = next((d for d in bound.model.declarations() if d.name == name), None)
            if declared is None:
                return NamedTest(name, about, self.path, None, applies)
            code = inspect.unwrap(declared.function).__code__
            return NamedTest(name, about, code.co_filename, code.co_firstlineno - 1, applies)

        return [
            test(WHOLE, ""),
            *(test(prop.name, prop.name) for prop in bound.properties),
            *([test("no_deadlock", "deadlock")] if bound.model.deadlock else []),
            *(test(cover.name, cover.name) for cover in bound.covers),
            *(test(p.name, p.name, never_applies(p, bound.model)) for p in bound.not_applicable),
        ]

    def problem(self, about: str) -> str:
        """The reason why a test fails, with the counterexample and the command that repeats it; "" if it passes."""
        result, bound = self.checked
        if about:
            problem = wrong({r.name: r for r in result.answers}[about], bound)
        else:
            raised = [p for p in result.properties if p.status is PropertyStatus.RAISED]
            problem = wrong(raised[0], bound) if raised else remaining(result)
        return f"{problem}\nagain: {result.repro}" if problem else ""


class TestsOfGate:
    """The checks of a gate file."""

    def __init__(self, path: str, engine: str | None, digest: str = "") -> None:
        """engine: of the checks that name none. digest: of the file when its tests were named, as that of a model."""
        self.path, self.engine, self.digest = path, engine, digest

    @cached_property
    def checks(self) -> list[Check]:
        """The checks. Raises `Failure`, also if there are none."""
        checks = read_gate_file(Path(self.path), self.engine).checks
        if not checks:
            raise Failure(Exit.NOTHING, f"{self.path} has no [[check]]")
        digest = hashlib.sha256(repr(checks).encode()).hexdigest()
        if self.digest not in ("", digest):
            raise Failure(Exit.SYSTEM, f"{self.path} was changed since it was read: run its checks again")
        self.digest = digest
        return checks

    def tests(self) -> list[NamedTest]:
        """One for each check."""
        return [NamedTest(check.name, str(number), self.path) for number, check in enumerate(self.checks)]

    def problem(self, about: str) -> str:
        """The reason why a check fails, with the counterexample and the command that repeats it; "" if it passes."""
        check = self.checks[int(about)]
        outcome = run_check(check, threads=1, traces=None)
        if outcome.interrupted:
            raise KeyboardInterrupt
        return gate_text(check, outcome) if outcome.problems else ""


def gate_text(check: Check, outcome: CheckOutcome) -> str:
    """The problems of a check, with its counterexample and the command that repeats it."""
    lines = [p.text for p in outcome.problems]
    lines += ["", outcome.story.text, ""] if outcome.story is not None else []
    return "\n".join([*lines, f"again: {check.repro()}"])


KINDS: dict[str, type[TestsOfModel | TestsOfGate]] = {"model": TestsOfModel, "gate": TestsOfGate}


class NotServed(logging.Handler):
    """Stands for what pytest has itself, the terminal and the records of logging: whoever uses it is executed there."""

    def emit(self, record: logging.LogRecord) -> NoReturn:
        """Of logging."""
        not_served()

    def __getattr__(self, name: str) -> NoReturn:
        """Of standard input."""
        not_served()

    def __iter__(self) -> NoReturn:
        """Of standard input."""
        not_served()


def not_served() -> NoReturn:
    """Ends this process without an answer."""
    os._exit(Exit.INTERNAL.value)


def answer_requests() -> int:
    """In a process of a server: answers the requests of a session (`served.py`) until it ends; the exit code."""
    standard_input: Any = NotServed()
    sys.stdin = standard_input
    logging.root.addHandler(NotServed())
    modules = set(sys.modules)
    files: dict[str, TestsOfModel | TestsOfGate] = {}
    with open(REQUESTS, "rb", closefd=False) as requests, open(REQUESTS, "wb", closefd=False) as answers:
        while True:
            try:
                environment, here, level, kind, name, engine, digest, asked = marshal.load(requests)
            except EOFError:
                return 0
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(here)
            logging.root.setLevel(level)
            file = files.get(name)
            if file is None or file.digest != digest:
                file = files[name] = KINDS[kind](name, engine, digest)
            with warnings.catch_warnings(record=True) as noted:
                warnings.simplefilter("always")
                tests, problems, failure = _answer(file, asked)
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            marshal.dump(
                (
                    not noted,  # pytest lists them, or has them raise
                    sorted(sys.modules.keys() - modules),
                    sys.path,
                    failure,
                    (tests, problems, file.digest),
                ),
                answers,
            )
            answers.flush()


def _answer(
    file: TestsOfModel | TestsOfGate, asked: Sequence[str]
) -> tuple[list[tuple[Any, ...]], dict[str, str], tuple[int, str] | None]:
    """The tests, or the problems of some, or the failure."""
    try:
        tests = [] if asked else [tuple(test) for test in file.tests()]
        return tests, {about: file.problem(about) for about in asked}, None
    except Failure as error:
        return [], {}, (error.code.value, error.message)
