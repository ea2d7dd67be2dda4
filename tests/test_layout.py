"""Who may import whom (DESIGN section 2), and that modules stay readable."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LONG = {
    "types.py",
    "codegen.py",
    "lowering.py",
    "calls.py",
    "expressions.py",
    "symbolic_values.py",
    "engine.py",
}
"""Modules over 500 lines, each one thing: the code generator and the parts of the elaboration."""


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.add(node.module or "")
    return found


def test_spec_needs_the_standard_library_only() -> None:
    for path in (ROOT / "spec").rglob("*.py"):
        for name in imports(path):
            top = name.split(".")[0]
            assert name == "reassure" or name.startswith("reassure.spec") or top in sys.stdlib_module_names, (
                f"{path.name} imports {name}"
            )


def test_models_import_spec_and_the_model_they_vary() -> None:
    for path in (ROOT / "models").rglob("*.py"):
        for name in imports(path):
            top = name.split(".")[0]
            ours = name == "reassure" or name.startswith(("reassure.spec", "reassure.models"))
            assert ours or top in sys.stdlib_module_names, f"{path.name} imports {name}"


def test_checkers_import_no_model() -> None:
    for path in (ROOT / "checkers").rglob("*.py"):
        for name in imports(path):
            assert not name.startswith(("reassure.models.", "tests")), f"{path.name} imports {name}"
            assert name != "reassure.models" or path.name == "model_loader.py"


def test_modules_are_short() -> None:
    for folder in ("spec", "models", "checkers"):
        for path in (ROOT / folder).rglob("*.py"):
            lines = len(path.read_text(encoding="utf-8").splitlines())
            assert lines <= 520 or path.name in LONG, f"{path.name} has {lines} lines"


def test_every_claim_of_a_model_says_what_is_lost() -> None:
    from reassure.checkers.base.model_loader import load, names

    for name, path in names().items():
        if path.parent.name == "mutants":
            continue
        for claim in load(name).properties:
            if claim.kind != "cover":
                assert claim.doc, f"{name}: {claim.name} has no docstring"
