"""Each numbered sentence of SECURITY.md has a test that names it, and each number that a test names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_sentence_has_a_test() -> None:
    sentences = re.findall(r"^(\d+)\. (.+)$", (ROOT / "SECURITY.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number, _ in sentences] == list(range(1, len(sentences) + 1))
    assert all(text.endswith(".") for _, text in sentences)
    named: set[int] = set()
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "SECURITY.md, " not in text or path == Path(__file__):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                named |= {int(number) for number in re.findall(r"SECURITY\.md, (\d+)", ast.get_docstring(node) or "")}
    assert named == set(range(1, len(sentences) + 1))


def test_the_page_is_short() -> None:
    assert len((ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()) <= 40
