"""Models and gate files as tests: one for each property or cover of a model, one for each check of a gate."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.testing import ModelCheckFailed, NamedTest
from reassure.checkers.testing.served import FileTests

GATE = "gate.toml"
DECLARES = re.compile(r"^MODEL\b.*=", re.MULTILINE)
"""Binds `MODEL`, in a file that Python cannot read."""
TESTS = re.compile(r"test_.*|.*_test|conftest")
"""Names of files of tests: what they call MODEL is none."""
HAS_TESTS = re.compile(r"^\s*(async )?(def|class) [Tt]est|^\s*class \w+\(.*TestCase", re.MULTILINE)


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


class FileOfTests(pytest.File):
    """A file that is collected; its tests are made by `served.py`."""

    KIND: str
    TEST: type[ToldTest]

    def collect(self) -> Iterable[pytest.Item]:
        try:
            tests = self.tests.tests()
        except Failure as failure:
            raise self.CollectError(str(failure)) from None
        for test in tests:
            yield self.TEST.from_parent(self, name=test.name, test=test)

    @cached_property
    def tests(self) -> FileTests:
        """The tests of the file, and why they fail."""
        return FileTests(self.KIND, str(self.path), self.config.getoption("reassure_engine"))


class ToldTest(pytest.Item):
    """A test of which a failure is told as a story."""

    parent: FileOfTests

    def __init__(self, *, test: NamedTest, **options: Any) -> None:
        super().__init__(**options)
        self.test = test

    def runtest(self) -> None:
        if not self.test.applies:
            pytest.skip("does not apply to the default configuration")
        if problem := self.parent.tests.problem(self.test.about):
            raise ModelCheckFailed(problem)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, ModelCheckFailed | Failure):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return Path(self.test.path), self.test.line, self.name


class ModelTest(ToldTest):
    """That one property holds, that one cover is reached, or that the search came to its end."""


class GateTest(ToldTest):
    """One check of a gate."""


class ModelTests(FileOfTests):
    """A model under its default configuration, searched when the first of its tests runs."""

    KIND, TEST = "model", ModelTest


class GateTests(FileOfTests):
    """A gate file."""

    KIND, TEST = "gate", GateTest
