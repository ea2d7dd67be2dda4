"""The forms of the page about type checkers are accepted by the loader, mypy and, where it is installed, pyright."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.request.model_loader import names
from reassure.checkers.request.prepare import prepare

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
    prepared = prepare(str(good), [])
    bound = prepared.bound
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
        [sys.executable, "-m", "mypy", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"MYPYPATH": str(ROOT / "src"), "PATH": ""},
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 1, done.stdout + done.stderr
    assert errors[0].startswith(f"by_require.py:{len(PRELUDE.splitlines()) + 8}: error: ")
    assert "None" in errors[0]


@functools.cache
def pyright() -> str:
    """The program, from this environment or the path; skips where there is none, or it cannot be fetched to run."""
    beside = Path(sys.executable).with_name("pyright")
    found = str(beside) if beside.is_file() else shutil.which("pyright")
    if found is None or subprocess.run([found, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("pyright is not installed")
    return found


def errors_of_pyright(folder: Path, *files: Path) -> list[str]:
    """What it says of files, in its standard mode, run in a folder."""
    about = {"extraPaths": [str(ROOT / "src")], "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(about))
    words = [pyright(), "--outputjson", *map(str, files)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    assert said["summary"]["filesAnalyzed"] == len(files)
    return [f"{Path(d['file']).name}:{d['range']['start']['line'] + 1}" for d in said["generalDiagnostics"]]


def test_pyright_accepts_the_forms_of_the_page(tmp_path: Path) -> None:
    """And refuses the other one, as the page says."""
    assert errors_of_pyright(tmp_path, *written(tmp_path)) == [f"by_require.py:{len(PRELUDE.splitlines()) + 8}"]


def test_pyright_accepts_every_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that come with the project, and one as `new` writes it."""
    pyright()
    assert main(["new", "lease", "--dir", str(tmp_path)]) == 0
    capsys.readouterr()
    assert errors_of_pyright(tmp_path, tmp_path / "lease.py", *names().values()) == []
