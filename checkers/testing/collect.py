"""Models and gate files as tests: one for each property or cover of a model, one for each check of a gate."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.api import LoadedModel, check, load
from reassure.checkers.gate.gate_file import Check, read
from reassure.checkers.gate.run_check import CheckOutcome, run_check
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.request.options import DEFAULT_ENGINE
from reassure.checkers.request.result import CheckResult, PropertyStatus
from reassure.checkers.request.vacuity import never_applies
from reassure.checkers.testing.expect import ModelCheckFailed, remaining, wrong

GATE = "gate.toml"
DECLARES = re.compile(r"^MODEL\b.*=", re.MULTILINE)
"""Binds `MODEL`, in a file that Python cannot read."""
TESTS = re.compile(r"test_.*|.*_test|conftest")
"""Names of files of tests: what they call MODEL is none."""
HAS_TESTS = re.compile(r"^\s*(async )?(def|class) [Tt]est|^\s*class \w+\(.*TestCase", re.MULTILINE)
WHOLE = "search"
"""The test that a search came to its end; the others are named by their property or cover."""


def collector(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The collector of a file, if it is a gate or a model."""
    if path.name == GATE or path.name.endswith(f".{GATE}"):
        return GateTests.from_parent(parent, path=path)
    return ModelTests.from_parent(parent, path=path) if _is_model(path, parent, _text_of_model(path)) else None


def module(path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """A module without tests, for a model that has none: pytest would import a file that it is given by name, and a
    file that cannot be imported would be two errors."""
    text = _text_of_model(path)
    is_model = _is_model(path, parent, text) and not HAS_TESTS.search(text)
    return NoTests.from_parent(parent, path=path) if is_model else None


def _is_model(path: Path, parent: pytest.Collector, text: str) -> bool:
    """Whether a file is to be checked: it binds `MODEL`, or it is given by name and is nothing else."""
    return _binds_model(text) or (bool(text) and parent.session.isinitpath(path) and not HAS_TESTS.search(text))


def _binds_model(text: str) -> bool:
    if "MODEL" not in text:
        return False
    try:
        nodes: list[ast.AST] = [*ast.parse(text).body]
    except (SyntaxError, ValueError, RecursionError):
        return DECLARES.search(text) is not None
    for node in nodes:
        if isinstance(node, ast.Name) and node.id == "MODEL" and isinstance(node.ctx, ast.Store):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            nodes += ast.iter_child_nodes(node)
    return False


def _text_of_model(path: Path) -> str:
    """The text of a file that may be a model, else ""."""
    if path.suffix != ".py" or TESTS.fullmatch(path.stem):
        return ""
    return path.read_text(encoding="utf-8", errors="replace")


class NoTests(pytest.Module):
    """A file that is collected as a model alone, and not imported."""

    def collect(self) -> Iterable[pytest.Item]:
        return ()


class ModelTests(pytest.File):
    """A model under its default configuration, searched when the first of its tests runs."""

    def collect(self) -> Iterable[pytest.Item]:
        bound = self.model.bound
        yield ModelTest.from_parent(self, name=WHOLE, whole=True)
        for prop in bound.properties:
            yield ModelTest.from_parent(self, name=prop.name)
        if bound.model.deadlock:
            yield ModelTest.from_parent(self, name="no_deadlock", about="deadlock")
        for cover in bound.covers:
            yield ModelTest.from_parent(self, name=cover.name)
        for claim in bound.not_applicable:
            yield ModelTest.from_parent(self, name=claim.name, applies=never_applies(claim, bound.model))

    @cached_property
    def model(self) -> LoadedModel:
        """The model of the file."""
        try:
            return load(self.path)
        except Failure as failure:
            raise self.CollectError(str(failure)) from None

    @cached_property
    def result(self) -> CheckResult:
        """The result of a search of every state. Raises Ctrl-C again, so that no other search begins."""
        result = check(self.model, engine=self.config.getoption("reassure_engine") or DEFAULT_ENGINE)
        result.stopped.raise_interrupt()
        return result


class ToldTest(pytest.Item):
    """A test of which a failure is told as a story."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, ModelCheckFailed | Failure):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class ModelTest(ToldTest):
    """That one property holds, or that one cover is reached."""

    parent: ModelTests

    def __init__(self, *, applies: bool = True, about: str = "", whole: bool = False, **options: Any) -> None:
        """about: the property or cover, if that is not the test's name. whole: of the search, and of no property."""
        super().__init__(**options)
        self.applies, self.about, self.whole = applies, about or self.name, whole

    def runtest(self) -> None:
        if not self.applies:
            pytest.skip("does not apply to the default configuration")
        result = self.parent.result
        if self.whole:
            raised = [p for p in result.properties if p.status is PropertyStatus.RAISED]
            problem = wrong(raised[0], self.parent.model.bound) if raised else remaining(result)
        else:
            problem = wrong({r.name: r for r in result.answers}[self.about], self.parent.model.bound)
        if problem:
            raise ModelCheckFailed(f"{problem}\nagain: {result.repro}")

    def reportinfo(self) -> tuple[Path, int | None, str]:
        declared = next((d for d in self.parent.model.bound.model.declarations() if d.name == self.name), None)
        if declared is None:
            return self.path, None, self.name
        code = inspect.unwrap(declared.function).__code__
        return Path(code.co_filename), code.co_firstlineno - 1, self.name


class GateTests(pytest.File):
    """A gate file."""

    def collect(self) -> Iterable[pytest.Item]:
        try:
            file = read(self.path, self.config.getoption("reassure_engine"))
        except Failure as failure:
            raise self.CollectError(str(failure)) from None
        if not file.checks:
            raise self.CollectError(f"{self.path} has no [[check]]")
        for one in file.checks:
            yield GateTest.from_parent(self, name=one.name, check=one)


class GateTest(ToldTest):
    """One check of a gate."""

    def __init__(self, *, check: Check, **options: Any) -> None:
        super().__init__(**options)
        self.check = check

    def runtest(self) -> None:
        outcome = run_check(self.check, threads=1, traces=None)
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.problems:
            raise ModelCheckFailed(gate_text(self.check, outcome))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


def gate_text(check: Check, outcome: CheckOutcome) -> str:
    """The problems of a check, with its counterexample and the command that repeats it."""
    lines = [p.text for p in outcome.problems]
    lines += ["", outcome.story.text, ""] if outcome.story is not None else []
    return "\n".join([*lines, f"again: {check.repro()}"])
