"""What needs no model is answered before the rest of the program is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from reassure.checkers.cli.commands.completion import completion_script
from reassure.checkers.cli.main import main
from reassure.checkers.cli.own_process import SHELLS, answered_at_once

LOADED = """
import sys
from reassure.checkers.cli import own_process
assert own_process.run() == 0
names = {name for name in sys.modules if name in ("argparse", "rich", "typing") or name.startswith("reassure")}
print(*sorted(names), file=sys.stderr)
"""
ENTRY = "reassure reassure.checkers reassure.checkers.cli reassure.checkers.cli.own_process"
OVERVIEW = f"{ENTRY} reassure.checkers.console reassure.checkers.console.overview"
AT_ONCE = [
    ([], OVERVIEW),
    (["--version"], ENTRY),
    (["--help"], OVERVIEW),
    (["-h"], OVERVIEW),
    *((["completion", shell], ENTRY) for shell in SHELLS),
]


@pytest.mark.parametrize(("words", "modules"), AT_ONCE)
def test_the_answer_is_that_of_the_command(words: list[str], modules: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True)
    assert main(words) == 0
    assert done.stdout == capsys.readouterr().out
    assert done.stdout.count("\n") >= 1
    assert done.stderr.split() == modules.split()


@pytest.mark.parametrize(
    "words",
    [
        ["--versions"],
        ["--version", "check"],
        ["check"],
        ["completion"],
        ["completion", "../bash"],
        ["completion", "-h"],
    ],
)
def test_other_command_lines_are_read_by_the_parser(words: list[str]) -> None:
    assert answered_at_once(words) is None


@pytest.mark.parametrize("shell", SHELLS)
def test_the_scripts_of_shells_are_of_the_options_of_now(shell: str) -> None:
    assert answered_at_once(["completion", shell]) == completion_script(shell), (
        "run `python -m reassure.checkers.publish --pages`"
    )


@pytest.mark.parametrize(
    ("output", "code", "error"),
    [(">&-", 0, ""), (">/dev/full", 153, "reassure: No space left on device\n"), ("| true", 0, "")],
)
def test_where_nobody_reads_it(output: str, code: int, error: str) -> None:
    """A pipe without a reader may have taken the text before, or not."""
    line = f"{sys.executable} -m reassure --version {output}"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, error)
