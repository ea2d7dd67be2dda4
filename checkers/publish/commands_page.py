"""The reference of the command line, in Markdown, from the declared options."""

from __future__ import annotations

from collections.abc import Iterator

from reassure.checkers.console.commands import COMMANDS, options_of, subcommands
from reassure.checkers.console.parser import sentence
from reassure.checkers.ledger.markdown import table
from reassure.checkers.request.declared import Option

HEAD = """# {0}

Written by `python -m reassure.checkers.publish` from the parsers. Every command ends with one of the
[exit codes](exit-codes.md). `reassure COMMAND --help` prints the same in a terminal.
"""


def pages() -> dict[str, str]:
    """Every command with its arguments and options, by the name of a page: those of Kafka's code have their own."""
    others = [name for name in COMMANDS if name != "kafka"]
    return {
        "commands.md": _page("Commands", others),
        "kafka-commands.md": _page("Commands for Kafka's code", ["kafka"]),
    }


def _page(title: str, names: list[str]) -> str:
    return "\n".join([HEAD.format(title), *(line for name in names for line in _command(name, COMMANDS[name]))])


def _command(name: str, summary: str) -> Iterator[str]:
    yield f"## reassure {name}\n"
    yield f"{sentence(summary)}\n"
    rows = [(f"`{_name(option)}`", option.help) for option in options_of(name)]
    if rows:
        yield from (table(("argument", "effect"), rows), "")
    if " " not in name:
        for word, subcommand in subcommands(name).items():
            yield from _command(f"{name} {word}", subcommand.help)


def _name(option: Option) -> str:
    if not option.flag:
        return option.metavar or option.name
    words = ", ".join(option.flags)
    return words if option.switch else f"{words} {option.metavar or '{' + ','.join(option.choices) + '}'}"
