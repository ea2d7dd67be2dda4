"""The command line: finds the command that is meant, and its parser."""

from __future__ import annotations

import argparse
import difflib
import textwrap
from pathlib import Path
from typing import Any, NoReturn

from reassure import __version__, spec
from reassure.checkers.console.commands import COMMANDS, GROUPS, CommandModule, command, options_of, subcommands
from reassure.checkers.console.examples import EXAMPLES
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.declared import Option, repro

DESCRIPTION = (
    "Specification and model checking of protocols in plain Python: any protocol can be modelled; those of Kafka's "
    "partition reassignment come with it."
)
WELCOME = f"""\
reassure {__version__}: write a protocol in plain Python, and find the shortest run that breaks a promise.

  reassure new lease       write a small model, lease.py, with its test
  reassure check lease.py  search every reachable state of it
  reassure models          list the models that come with it
  reassure --help          list every command"""
"""What `reassure` prints without a word after it."""
OF_SPARK_ONLY = "with --engine spark"
OUTPUT = "output"
TITLES = {
    "check": "check (write a model, check it, read its counterexamples)",
    "ask": "ask (further questions about a model)",
    "Kafka": "Kafka (clusters, logs, documents and released code)",
}
"""The headings of the groups of commands."""


class Parser(argparse.ArgumentParser):
    """Reports a wrong command line in one line, with exit code 64."""

    def error(self, message: str) -> NoReturn:
        raise Failure(Exit.USAGE, f"{message} (see {self.prog} --help)")


def parse(words: list[str], into: argparse.Namespace) -> CommandModule:
    """Reads the command line; the module of its command. Raises `Failure`, or `SystemExit` after `--help`."""
    name = words[0] if words else ""
    if name not in COMMANDS:
        if name and not name.startswith("-"):
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise Failure(Exit.USAGE, f"invalid choice: there is no command {name!r}{hint} (see reassure --help)")
        if not words:
            print(WELCOME)
            raise SystemExit(Exit.OK.value)
        _overview().parse_args(words)
        raise Failure(Exit.USAGE, "a command is missing (see reassure --help)")
    _, unknown = parser_of(name).parse_known_args(words[1:], into)
    meant = f"{name} {into.action}" if subcommands(name) else name
    if unknown:
        raise Failure(Exit.USAGE, f"unrecognized arguments: {' '.join(unknown)} (see reassure {meant} --help)")
    into.command = meant
    into.repro = repro(into.command, options_of(into.command), vars(into))
    into.again = repro(into.command, options_of(into.command), vars(into), as_given=True)
    return command(name)


def parser_of(name: str) -> Parser:
    """The parser of what follows a command's name."""
    parser = Parser(
        prog=f"reassure {name}",
        description=sentence(COMMANDS[name]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_epilog(name),
    )
    _declare(parser, options_of(name))
    if below := subcommands(name):
        inner = parser.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=Parser)
        for word, subcommand in below.items():
            _declare(inner.add_parser(word, help=subcommand.help), subcommand.options)
    return parser


def _epilog(name: str) -> str:
    """What stands below the help of a command: its own words, and examples."""
    words = textwrap.fill(getattr(command(name), "EPILOG", ""), 100)
    examples = "\n".join(["examples:", *(f"  {line}" for line in EXAMPLES[name])]) if name in EXAMPLES else ""
    return "\n\n".join(text for text in (words, examples) if text)


def _titled(option: Option) -> str:
    """The title of the group that an option of a long list belongs to; "" for none."""
    if option.help.startswith("Spark: "):
        return OF_SPARK_ONLY
    return OUTPUT if option.output and option.flag else ""


def _declare(parser: Parser, options: tuple[Option, ...]) -> None:
    """Adds the options to a parser."""
    groups: dict[str, Any] = {}
    titles: dict[str, Any] = {}
    for option in options:
        title = _titled(option) if not option.group else ""
        if title:
            group = titles.setdefault(title, None) or parser.add_argument_group(title)
            titles[title] = group
            group.add_argument(*(option.flags or [option.name]), **_keywords(option))
            continue
        if option.group and option.group not in groups:
            groups[option.group] = parser.add_mutually_exclusive_group(required=option.required)
        holder = groups[option.group] if option.group else parser
        holder.add_argument(*(option.flags or [option.name]), **_keywords(option))


def _keywords(option: Option) -> dict[str, Any]:
    """An option as argparse takes it."""
    about: dict[str, Any] = {"help": option.help.replace("%", "%%")}
    if option.switch:
        return {**about, "action": "store_true"}
    if option.repeatable:
        about["action"] = "extend" if option.nargs else "append"
    if option.required and not option.group:
        about["required"] = True
    for name in ("type", "metavar", "nargs", "const"):
        if (value := getattr(option, name)) is not None:
            about[name] = value
    return {**about, "default": option.initial, "choices": option.choices or None}


def _overview() -> Parser:
    """The parser of a command line without a command that exists."""
    parser = Parser(
        prog="reassure",
        description=textwrap.fill(DESCRIPTION, 79),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=list(COMMANDS), metavar="COMMAND", help="one of those below")
    parser.add_argument("--version", action="version", version=f"reassure {__version__}")
    width = max(map(len, COMMANDS))
    groups = [
        "\n".join([f"{TITLES[group]}:", *(f"  {name:{width}}  {COMMANDS[name]}" for name in names)])
        for group, names in GROUPS.items()
    ]
    parser.epilog = "\n\n".join([*groups, f"the language of models: {Path(spec.__path__[0]) / 'README.md'}"])
    return parser


def sentence(text: str) -> str:
    """The help of a command as a sentence."""
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith('?') else '.'}"


def record_among(words: list[str]) -> Path | None:
    """The file for the record, for when the command line itself is wrong."""
    finder = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    finder.add_argument("--json", type=Path)
    try:
        file = finder.parse_known_args(words)[0].json
    except argparse.ArgumentError:
        return None
    return file if isinstance(file, Path) else None
