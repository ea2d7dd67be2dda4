"""The reference of the command line, in Markdown, from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from reassure.checkers.console.commands import COMMANDS
from reassure.checkers.console.parser import parser_of

HEAD = """# Commands

Written by `python -m reassure.checkers.publish` from the parsers. Every command ends with one of the
[exit codes](exit-codes.md). `reassure COMMAND --help` prints the same in a terminal.
"""


def page() -> str:
    """Every command with its arguments and options."""
    return "\n".join([HEAD, *(line for name in COMMANDS for line in _command(f"reassure {name}", parser_of(name)))])


def _command(title: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{parser.description}\n"
    yield from _arguments(parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help for choice in action._choices_actions}
            for name, inner in action.choices.items():
                summary = told.get(name) or ""
                inner.description = inner.description or f"{summary[:1].upper()}{summary[1:]}."
                yield from _command(f"{title} {name}", inner)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    rows = [a for a in parser._actions if not isinstance(a, argparse._HelpAction | argparse._SubParsersAction)]
    if rows:
        yield "| argument | effect |\n|---|---|"
    for action in rows:
        yield f"| `{_name(action)}` | {_cell(action.help or '')} |"
    if rows:
        yield ""


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        return str(action.metavar or action.dest)
    words = ", ".join(action.option_strings)
    if action.nargs == 0:
        return words
    value = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    )
    return f"{words} {value if isinstance(value, str) else ' '.join(value)}"


def _cell(text: str) -> str:
    return text.replace("%%", "%").replace("|", "\\|")
