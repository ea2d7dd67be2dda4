"""Every block of the pages is executed: sessions, transcripts shortened by hand, command lines, examples in Python."""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers import publish
from reassure.checkers.cli.main import main
from reassure.checkers.console.overview import COMMANDS
from reassure.checkers.console.parser import parse
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.publish import sessions
from tests.helpers.kafka_jars import class_path

ROOT = publish.ROOT
PAGES = [
    *publish.pages_with_sessions(),
    *(ROOT / name for name in ("CONTRIBUTING.md", "spec/README.md", "tests/README.md")),
    *sorted((ROOT / "checkers").glob("**/README.md")),
]
ELSEWHERE = {"ci.md", "type-checkers.md"}
"""Pages whose blocks of Python have tests of their own; the block of `spec/README.md` has one in `test_docs.py`."""
MINUTES = "reassure kafka conform kraft_kafka --gate"
"""A transcript of a command that takes minutes: `tests/checkers/kafka` compares its figures."""
SECONDS = {f"reassure kafka {name}" for name in ("conform", "diff", "explore", "build", "report")}
"""Transcripts that the long run alone compares, with those around them: kernels are compiled, and JVMs started."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@functools.cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def transcripts(page: Path) -> list[tuple[str, str]]:
    """Commands of this page with what they print, shortened by hand."""
    told = [
        pair
        for language, block in sessions.blocks(text_of(page))
        if language == "text"
        for pair in sessions.commands(block)
    ]
    return [(line, below) for line, below in told if line.startswith("reassure ") and not line.startswith(MINUTES)]


def command_lines(page: Path) -> list[str]:
    """Every command of this program that a block of a page has, continued lines joined."""
    found = []
    for language, block in sessions.blocks(text_of(page)):
        if language in ("sh", "text", "console", ""):
            lines = block.replace("\\\n", " ")
            lines = re.sub(r'"[^"]*"', lambda quoted: quoted[0].replace("\n", " "), lines)
            found += re.findall(r"^(?:\$ )?(?:\w+=\S+ )*(reassure [a-z].*)$", lines, re.MULTILINE)
    return found


@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(lang == "console" for lang, _ in sessions.blocks(text_of(p)))], ids=name_of
)
def test_a_session_is_what_the_commands_print(page: Path) -> None:
    assert sessions.renewed(text_of(page), ROOT) == text_of(page), "run `python -m reassure.checkers.publish --pages`"


def takes_seconds(line: str) -> bool:
    return " ".join(line.split()[:3]) in SECONDS


def pages_of_transcripts() -> Iterator[Any]:
    """Each page, and whether all its transcripts are compared."""
    for page in filter(transcripts, PAGES):
        slow = any(takes_seconds(line) for line, _ in transcripts(page))
        yield pytest.param(page, not slow, id=name_of(page))
        if slow:
            yield pytest.param(page, True, id=f"{name_of(page)} whole", marks=pytest.mark.slow)


@pytest.mark.parametrize(("page", "whole"), list(pages_of_transcripts()))
def test_a_shortened_session_is_part_of_what_the_commands_print(page: Path, whole: bool) -> None:
    with sessions.page_folder(text_of(page), ROOT):
        for line, below in transcripts(page):
            if line.startswith("reassure kafka"):
                class_path("4.4.0")
            if whole or not takes_seconds(line):
                printed = sessions.output(shlex.split(line)[1:])
                assert sessions.agrees(below, printed), f"{line}\n{printed}"


@pytest.mark.parametrize("page", [p for p in PAGES if command_lines(p)], ids=name_of)
def test_a_command_line_is_accepted(page: Path) -> None:
    """By the parser; what a command does has its own tests."""
    for line in command_lines(page):
        words = shlex.split(line.split(" # ")[0])[1:]
        words = ["MODEL" if word == "..." else word for word in words]
        try:
            parse(words, argparse.Namespace())
        except Failure as failure:
            pytest.fail(f"{line}: {failure}")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_named_in_the_text_exist(page: Path) -> None:
    """`reassure NAME ... --option` within a line: the command has the option."""
    for words in re.findall(r"`reassure ([a-z]+[^`]*)`", text_of(page)):
        name, *rest = words.split()
        assert name in COMMANDS, words
        if name != "kafka":
            known = f"{_help(name)} --help"
            assert [o for o in re.findall(r"--[a-z-]+", " ".join(rest)) if o not in known] == [], words


@functools.cache
def _help(name: str) -> str:
    from reassure.checkers.console.parser import parser_of

    return parser_of(name).format_help()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_block_is_empty(page: Path) -> None:
    assert [block for _, block in sessions.blocks(text_of(page)) if not block.strip()] == []


@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if p.name not in ELSEWHERE and p.parent.name != "spec" and "```python" in text_of(p)],
    ids=name_of,
)
def test_an_example_in_python_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model is loaded, unless a session of the page checks it; another block is executed, after those before it."""
    scope: dict[str, object] = {"__name__": "example"}
    checked = " ".join(command_lines(page))
    with sessions.page_folder(text_of(page), ROOT) as place:
        for language, block in sessions.blocks(text_of(page)):
            name = sessions.NAMED.match(block.split("\n", 1)[0])
            if language == "python" and name and "MODEL = " in block:
                assert name[1] in checked or main(["models", str(place / name[1])]) == 0
            elif language == "python":
                exec(compile(block, page.name, "exec"), scope)
    capsys.readouterr()


def test_a_wrong_session_is_noticed() -> None:
    """What the tests of this module rest on."""
    page = "```console\n$ reassure --version\nall is well\n```\n"
    version = importlib.metadata.version("reassure")
    assert sessions.renewed(page, ROOT) == f"```console\n$ reassure --version\nreassure {version}\n```\n"
    with pytest.raises(Failure, match="`reassure models nosuch` prints nothing where the page shows what it prints"):
        sessions.renewed(page.replace("--version", "models nosuch"), ROOT)
    assert sessions.agrees("one\n...\nfour 4 ...\n", "one\ntwo\nthree\nfour 4 5\n")
    assert not sessions.agrees("one\n...\nfive\n", "one\ntwo\nthree\nfour\n")
    assert not sessions.agrees("one\n", "one\ntwo\n")
    whole = "```console\n$ reassure check no.py | wc -l\n0\n{}: no file no.py\n[64]\n\n$ false\n[1]\n```\n"
    for name in ("reassure", "somebody"):
        assert sessions.retold(whole.format(name), "", ROOT) == whole.format("reassure")
    assert sessions.files_of_page(
        "```text\n$ cat a.txt\nx\ny\n$ reassure show a\n```\n```toml\n# b/c.toml\nk = 1\n```\n"
    ) == {
        "a.txt": "x\ny\n",
        "b/c.toml": "# b/c.toml\nk = 1\n",
    }
