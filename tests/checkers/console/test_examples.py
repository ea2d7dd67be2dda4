"""The examples below the help of commands."""

from __future__ import annotations

import argparse
import shlex

import pytest

from reassure.checkers.console.overview import COMMANDS
from reassure.checkers.console.parser import EXAMPLES, parse


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "kafka"])
def test_every_command_has_examples_that_it_accepts(name: str) -> None:
    assert EXAMPLES[name]
    for example in EXAMPLES[name]:
        plain = example.removeprefix('eval "$(').removesuffix(')"').partition(" > ")[0].partition(" | ")[0]
        words, given = shlex.split(plain), argparse.Namespace()
        assert words[0] == "reassure"
        parse(words[1:], given)
        assert given.command == name
