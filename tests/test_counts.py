"""Counts that may only shrink: whoever makes one smaller writes the smaller number here."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.source_faults import statements

ROOT = Path(__file__).parent.parent
SHARED = ("engines", "analyses", "kafka")
"""Folders of `checkers/` whose folders are rooms."""
PROTOCOLS = frozenset({"run", "check", "main"})
"""What modules of one kind have under one name: commands, engines, programs."""
MOST = {"fmt: skip": 105, "monkeypatch.setattr": 176, "dict[str, Any]": 27}
"""Lines that have a text, in `checkers/`, `spec/` and `tests/`."""
SMALL, MOST_SMALL = 25, 18
"""Lines of code that a module should have, and modules that have fewer; a model is one module, however small."""
MOST_LOADED = {"core": 92, "kraft": 113}
"""Modules of this project that `check` of a model loads which was checked before, the model's own among them."""
LOADED = """
import sys
from reassure.checkers.cli.main import main
main(["check", sys.argv[1], "--quiet"])
print(sum(name.startswith("reassure.") for name in sys.modules))
"""
SAME_NAMES = """
members
"""
"""Public functions that several rooms call alike; the list may only shrink."""


def modules(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def counted(path: Path) -> tuple[int, list[str]]:
    """Lines of code, and public functions, of a module, which is parsed once."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    names = (node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    return code_lines(text, tree), [name for name in names if not name.startswith("_")]


def same_names() -> set[str]:
    """Names of public functions that modules of several rooms define."""
    rooms: dict[str, set[str]] = defaultdict(set)
    for path in modules("spec", "checkers"):
        parts = path.relative_to(ROOT).parts
        for name in counted(path)[1]:
            rooms[name].add("/".join(parts[: 3 if parts[0] == "checkers" and parts[1] in SHARED else 2]))
    return {name for name, where in rooms.items() if len(where) > 1} - PROTOCOLS


def code_lines(text: str, tree: ast.Module) -> int:
    """Lines without blank ones, comments, imports and texts that stand alone, as docstrings do."""
    left_out: set[int] = set()
    for node in statements(tree):
        alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if alone or isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno, (node.end_lineno or 0) + 1))  # type: ignore[attr-defined]
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(bool(line) and not line.startswith("#") and number not in left_out for number, line in lines)


@pytest.mark.parametrize("text", MOST)
def test_lines_that_should_be_fewer(text: str) -> None:
    own = Path(__file__)
    lines = (
        line for path in modules("checkers", "spec", "tests") if path != own for line in path.open(encoding="utf-8")
    )
    assert sum(text in line for line in lines) <= MOST[text]


def test_functions_of_two_rooms_have_two_names() -> None:
    """A new pair fails, and so does an exception that is none any more."""
    assert same_names() == set(SAME_NAMES.split())


def test_small_modules() -> None:
    sizes = [counted(path)[0] for path in modules("checkers", "spec")]
    assert sum(0 < size < SMALL for size in sizes) <= MOST_SMALL


@pytest.mark.parametrize(("model", "most"), MOST_LOADED.items())
def test_modules_that_a_check_loads(model: str, most: int) -> None:
    words = [sys.executable, "-c", LOADED, model]
    for _ in ("the first keeps the translation", "the second takes it"):
        ran = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert 80 < int(ran.stdout.splitlines()[-1]) <= most, ran.stderr


def test_lines_of_code() -> None:
    text = '"""A text."""\nimport ast\n\nA = 1  # one\n"""Of A."""\n# a remark\nB = (\n    2\n)\n'
    assert code_lines(text, ast.parse(text)) == 4
    inner = 'def f():\n    """A text."""\n    try:\n        import ast\n    finally:\n        "alone"\n        f()\n'
    assert code_lines(inner, ast.parse(inner)) == 4
