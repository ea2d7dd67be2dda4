"""The scripts, and `environment.sh`, which both source, with stand-ins for the programs that they run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = f"""#!/usr/bin/env bash
case "$*" in
  "-m venv "*) echo venv >> log; mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
  "-m pip --version") test ! -f no-pip ;;
  "-m pip install "*) echo "begin ${{*: -1}}" >> log; sleep 0.2; test ! -f offline || exit 1; echo end >> log ;;
  *) exec {sys.executable} "$@" ;;
esac
"""
INSTALLED = ["begin .[test]", "end"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3.13").write_text(PYTHON)
    (programs / "python3.13").chmod(0o755)
    (tmp_path / "pyproject.toml").write_text("one")
    return tmp_path


def start(checkout: Path) -> subprocess.Popen[bytes]:
    script = f"set -euo pipefail; . {ROOT / 'environment.sh'}; environment; test -x .venv/bin/python"
    path = f"{checkout / 'programs'}:{os.environ['PATH']}"
    return subprocess.Popen(["bash", "-c", script], cwd=checkout, env={**os.environ, "PATH": path})


def log(checkout: Path) -> list[str]:
    """Lines since the last call."""
    file = checkout / "log"
    lines = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return lines


def test_it_is_made_once_and_again_when_pyproject_changes(checkout: Path) -> None:
    assert start(checkout).wait() == 0
    assert log(checkout) == ["venv", *INSTALLED]
    assert start(checkout).wait() == 0
    assert log(checkout) == []
    for text in ("two", "one"):  # back again: what is installed is that of the second text
        (checkout / "pyproject.toml").write_text(text)
        assert start(checkout).wait() == 0
        assert log(checkout) == INSTALLED


def test_an_installation_that_failed_is_repeated(checkout: Path) -> None:
    assert start(checkout).wait() == 0
    (checkout / "pyproject.toml").write_text("two")
    (checkout / "offline").touch()
    assert start(checkout).wait() == 1
    (checkout / "offline").unlink()
    (checkout / "pyproject.toml").write_text("one")
    log(checkout)
    assert start(checkout).wait() == 0
    assert log(checkout) == INSTALLED


def test_an_environment_without_pip_is_made_again(checkout: Path) -> None:
    """An interrupted `python -m venv` leaves such a one."""
    assert start(checkout).wait() == 0
    (checkout / ".venv" / "made-for").unlink()
    (checkout / "no-pip").touch()
    log(checkout)
    assert start(checkout).wait() == 0
    assert log(checkout) == ["venv", *INSTALLED]


def test_of_two_scripts_started_at_once_one_installs(checkout: Path) -> None:
    both = [start(checkout), start(checkout)]
    assert [script.wait() for script in both] == [0, 0]
    assert log(checkout) == ["venv", *INSTALLED]


def test_the_package_is_compiled_where_commands_may_not_write_bytecode(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folders are links; a text that has changed since is compiled again."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (checkout / "checkers").mkdir()
    (checkout / "src" / "reassure").mkdir(parents=True)
    (checkout / "src" / "reassure" / "checkers").symlink_to(checkout / "checkers")
    for time, text in enumerate(("first = 1", "second = 2")):
        (checkout / "checkers" / "one.py").write_text(text)
        os.utime(checkout / "checkers" / "one.py", (time, time))
        assert start(checkout).wait() == 0
        (compiled,) = (checkout / "checkers" / "__pycache__").glob("one.*.pyc")
        assert text.split()[0].encode() in compiled.read_bytes()


def test_ci_runs_both_scripts_and_fails_if_one_does(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "run").write_text((ROOT / ".ci" / "run").read_text())
    for codes in ((0, 0), (17, 0), (0, 1)):
        for name, code in zip(("run.sh", "test.sh"), codes, strict=True):
            (tmp_path / name).write_text(f"#!/bin/sh\necho {name} $* >> log\nexit {code}\n")
            (tmp_path / name).chmod(0o755)
        assert subprocess.run(["bash", ".ci/run"], cwd=tmp_path, check=False).returncode == max(codes)
        assert log(tmp_path) == ["run.sh", "test.sh --all"]


PYTEST = "python -m pytest -n 3 --dist worksteal"
TYPES = "the types are wrong"


@pytest.mark.parametrize(
    ("words", "types", "tests", "code", "run"),
    [
        ([], 0, 0, 0, [f"{PYTEST} --ordinary"]),
        (["--all"], 0, 0, 0, [PYTEST, "python -m tests.costs --check"]),
        (["--all", "-x"], 0, 0, 0, [f"{PYTEST} -x"]),
        (["tests/spec", "-k", "trace"], 0, 0, 0, [f"{PYTEST} --ordinary tests/spec -k trace"]),
        ([], 1, 0, 1, [f"{PYTEST} --ordinary"]),
        (["--all"], 0, 3, 3, [PYTEST]),
        (["--all"], 1, 3, 1, [PYTEST]),
    ],
)
def test_types_are_checked_beside_the_tests(
    words: list[str], types: int, tests: int, code: int, run: list[str], tmp_path: Path
) -> None:
    """mypy ends after the tests here. Its output stands once, at the end, and its failure is one of the script."""
    for name in ("test.sh", "environment.sh", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    sums = subprocess.run(["cksum"], stdin=(ROOT / "pyproject.toml").open(), capture_output=True, text=True, check=True)
    (programs.parent / "made-for").write_text(sums.stdout)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a-pytest-9.pyc").touch()  # compiled
    write = 'echo "$(basename "$0") $*" >> log\n'
    texts = {
        "ruff": write,
        "python": f"{write}echo tests; touch ended; exit {tests}\n",
        "java": "",
        "mypy": f"until [ -f ended ]; do sleep 0.05; done; echo {TYPES}; exit {types}\n",
    }
    for name, text in texts.items():
        (programs / name).write_text(f"#!/usr/bin/env bash\n{text}")
        (programs / name).chmod(0o755)
    path = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    command = ["bash", "test.sh", *words]
    ran = subprocess.run(command, cwd=tmp_path, env=path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (code, "")
    assert ran.stdout == "tests\n" * len(run) + f"{TYPES}\n"
    assert [line for line in log(tmp_path) if not line.startswith(("ruff", "python -m compileall"))] == run


def test_every_library_has_a_lowest_version() -> None:
    """`dependencies.sh` installs these."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for requirement in project["dependencies"] + project["optional-dependencies"]["test"]:
        assert re.fullmatch(r"[\w-]+>=[\d.]+(,<\d[\d.]*)?", requirement), requirement
