"""The forms of the page about type checkers are accepted by the loader, mypy and, where it is installed, pyright."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reassure.checkers.base.prepare import prepare

ROOT = Path(__file__).parents[2]
PRELUDE = '''"""The forms of the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from reassure import Id, Model, Range, action, initial, refuse, replace, require, some


class Node(Id, size="nodes"):
    """A server."""


@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 4)] = 2


@dataclass(frozen=True)
class State:
    leader: Node | None
    down: frozenset[Node]


@initial
def start(c: Config, leader: Node) -> State:
    return State(leader, frozenset())


'''
END = "\n\nMODEL = Model.of(__name__, state=State, config=Config)\n"
BY_REQUIRE = """def with_one_more(nodes: frozenset[Node], node: Node) -> frozenset[Node]:
    return nodes | {node}


@action(who="leader")
def step_down(s: State) -> State:
    require(s.leader is not None)
    return replace(s, leader=None, down=with_one_more(s.down, s.leader))
"""


def written(folder: Path) -> tuple[Path, Path]:
    """The page's forms, and the one that type checkers do not understand."""
    page = (ROOT / "docs" / "how-to" / "type-checkers.md").read_text(encoding="utf-8")
    (forms,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    good, other = folder / "forms.py", folder / "by_require.py"
    good.write_text(PRELUDE + forms + END)
    other.write_text(PRELUDE.replace(", refuse", "").replace(", some", "") + BY_REQUIRE + END)
    return good, other


def test_the_loader_accepts_all_forms(tmp_path: Path) -> None:
    good, other = written(tmp_path)
    bound, _, _ = prepare(str(good), [])
    assert [a.name for a in bound.model.actions] == ["step_down", "fence", "keep"]
    prepare(str(other), [])


def test_mypy_accepts_the_forms_of_the_page(tmp_path: Path) -> None:
    """And refuses the other one, as the page says."""
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nstrict = true\n[mypy-reassure.checkers.*]\nfollow_imports = skip\n"
        "[mypy-reassure,reassure.spec.*]\nfollow_imports = silent\n"
    )
    words = ["--no-error-summary", f"--cache-dir={tmp_path / 'cache'}", *map(str, written(tmp_path))]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"MYPYPATH": str(ROOT / "src"), "PATH": ""},
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 1, done.stdout + done.stderr
    assert errors[0].startswith(f"by_require.py:{len(PRELUDE.splitlines()) + 8}: error: ")
    assert "None" in errors[0]


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_accepts_the_forms_of_the_page(tmp_path: Path) -> None:
    good, _ = written(tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT / "src")]}))
    done = subprocess.run(["pyright", str(good)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
