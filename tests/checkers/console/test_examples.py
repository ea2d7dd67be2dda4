"""The examples below the help of commands, and what a newcomer reads who types the name of the program alone."""

from __future__ import annotations

import argparse
import shlex

import pytest

from reassure import __version__
from reassure.checkers.console.overview import COMMANDS
from reassure.checkers.console.parser import EXAMPLES, parse
from tests.helpers.command import said


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "kafka"])
def test_every_command_has_examples_that_it_accepts(name: str) -> None:
    assert EXAMPLES[name]
    for example in EXAMPLES[name]:
        plain = example.removeprefix('eval "$(').removesuffix(')"').partition(" > ")[0].partition(" | ")[0]
        words, given = shlex.split(plain), argparse.Namespace()
        assert words[0] == "reassure"
        parse(words[1:], given)
        assert given.command == name


def test_no_word_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Six lines that say how to begin, and no usage error."""
    code, out, err = said(capsys)
    assert (code, err) == (0, "")
    head, empty, *lines = out.splitlines()
    assert (head.startswith(f"reassure {__version__}: "), empty) == (True, "")
    assert [line.split("  ")[1] for line in lines] == [
        "reassure new lease",
        "reassure check lease.py",
        "reassure models",
        "reassure --help",
    ]
    assert max(map(len, out.splitlines())) <= 100
