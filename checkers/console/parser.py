"""The command line: finds the command that is meant, and its parser."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path
from typing import NoReturn

from reassure import __version__
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.console.commands import COMMANDS, Command, command

DESCRIPTION = "Model checking of Kafka partition reassignment protocols."


class Parser(argparse.ArgumentParser):
    """Reports a wrong command line in one line, with exit code 64."""

    def error(self, message: str) -> NoReturn:
        raise Failure(Exit.USAGE, f"{message} (see {self.prog} --help)")


def parse(words: list[str], into: argparse.Namespace) -> Command:
    """Reads the command line; the module of its command. Raises `Failure`, or `SystemExit` after `--help`."""
    name = words[0] if words else ""
    if name not in COMMANDS:
        if name and not name.startswith("-"):
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise Failure(Exit.USAGE, f"invalid choice: there is no command {name!r}{hint} (see reassure --help)")
        _overview().parse_args(words)
        raise Failure(Exit.USAGE, "a command is missing (see reassure --help)")
    into.command = name
    parser_of(name).parse_args(words[1:], into)
    return command(name)


def parser_of(name: str) -> Parser:
    """The parser of what follows a command's name."""
    parser = Parser(prog=f"reassure {name}", description=_sentence(COMMANDS[name]))
    command(name).configure(parser)
    return parser


def _overview() -> Parser:
    """The parser of a command line without a command that exists."""
    parser = Parser(prog="reassure", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=list(COMMANDS), metavar="COMMAND", help="one of those below")
    parser.add_argument("--version", action="version", version=f"reassure {__version__}")
    width = max(map(len, COMMANDS))
    parser.epilog = "commands:\n" + "\n".join(f"  {name:{width}}  {text}" for name, text in COMMANDS.items())
    return parser


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith('?') else '.'}"


def record_among(words: list[str]) -> Path | None:
    """The file for the record, for when the command line itself is wrong."""
    finder = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    finder.add_argument("--json", type=Path)
    try:
        found = finder.parse_known_args(words)[0].json
    except argparse.ArgumentError:
        return None
    return found if isinstance(found, Path) else None
