"""The command line: finds the command that is meant, and its parser.

Also here: command lines that show what a command is for, printed below its help.

Also here: parsed arguments as the options of a run.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from reassure import __version__
from reassure.checkers.console.commands import CommandModule, command, options_of, subcommands
from reassure.checkers.console.overview import COMMANDS, WELCOME, overview
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.terminal import message
from reassure.checkers.request.options import SearchOptions, SparkOptions
from reassure.checkers.request.shared_options import OF_SPARK, Option, repro

EXAMPLES: dict[str, tuple[str, ...]] = {
    "models": ("reassure models", "reassure models core", "reassure models my_idea.py"),
    "check": (
        "reassure check my_idea.py --set clients=3",
        "reassure check my_idea.py --invariant 'len(s.using) <= 1'",
        "reassure check core --set brokers=6 --engine spark --out runs/core6",
    ),
    "simulate": ("reassure simulate my_idea.py --walks 100000 --depth 200",),
    "prove": (
        "reassure prove my_idea.py --property one_at_a_time --certificate proof.json",
        "reassure prove core --any-number",
    ),
    "verify": ("reassure verify proof.json --model my_idea.py",),
    "guards": ("reassure guards my_idea.py --property one_at_a_time",),
    "mutants": ("reassure mutants my_idea.py --max 40",),
    "fairness": ("reassure fairness my_idea.py",),
    "diff": ("reassure diff my_idea.py my_change.py",),
    "find": ("reassure find my_idea.py 's.holder is None and len(s.using) == 1'",),
    "stuck": ("reassure stuck my_idea.py --property everybody_is_served",),
    "sweep": ("reassure sweep my_idea.py --set clients=2,3,4",),
    "traces": ("reassure traces my_idea.py --cover guards --out suite",),
    "replay": ("reassure replay traces/my_idea--one_at_a_time.itf.json --model my_idea.py",),
    "show": ("reassure show traces/my_idea--one_at_a_time.itf.json --model my_idea.py --format html --out run.html",),
    "explore": ("reassure explore my_idea.py", "reassure explore my_idea.py --out my_idea.html"),
    "graph": ("reassure graph my_idea.py --by s.holder --out holders.html",),
    "lint": ("reassure lint my_idea.py",),
    "new": ("reassure new my_idea",),
    "serve": ("reassure serve --idle 2h", "reassure serve --stop"),
    "query": ("reassure query runs/core6 'select * from levels'",),
    "export": ("reassure export my_idea.py --to tla --out tla",),
    "validate": ("reassure validate my_idea.py observed.jsonl --hidden 'lose,crash'",),
    "audit": ("reassure audit __cluster_metadata-0 --html audit.html",),
    "plan": ("reassure plan --cluster cluster.json --current current.json --proposed proposed.json",),
    "claims": ("reassure claims K9", "reassure claims --format html > claims.html"),
    "gate": ("reassure gate --changed", "reassure gate gate.toml --update"),
    "completion": ('eval "$(reassure completion bash)"', "reassure completion fish | source"),
}


OF_SPARK_ONLY = "with --engine spark"
OUTPUT = "output"
ANY_WIDTH = partial(argparse.RawDescriptionHelpFormatter, width=100)
"""Of a parser that prints no help: the width of the terminal is not asked for."""
SETTING = re.compile(r"[A-Za-z_]\w*=")
"""How a word begins that is a setting, with `--set` before it or without."""


class Parser(argparse.ArgumentParser):
    """Reports a wrong command line in one line, with exit code 64."""

    command = ""
    """The command whose examples are part of the help."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=ANY_WIDTH, **settings)

    def error(self, message: str) -> NoReturn:
        raise Failure(Exit.USAGE, f"{message} (see {self.prog} --help)")

    def format_help(self) -> str:
        self.epilog = _epilog(self.command) if self.command else None
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        return super().format_help()


def parse(words: list[str], into: argparse.Namespace) -> CommandModule:
    """Reads the command line; the module of its command. Raises `Failure`, or `SystemExit` after `--help`."""
    if not words or words[0] in ("-h", "--help", "--version"):
        print(WELCOME if not words else f"reassure {__version__}" if words[0] == "--version" else overview())
        raise SystemExit(Exit.OK.value)
    name = words[0]
    if name not in COMMANDS:
        if name.startswith("-"):
            raise Failure(Exit.USAGE, f"a command comes first, not {name!r} (see reassure --help)")
        import difflib

        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise Failure(Exit.USAGE, f"invalid choice: there is no command {name!r}{hint} (see reassure --help)")
    parser, below = parser_of(name), subcommands(name)
    # intermixed: an argument that may be left out is also read behind options (`stuck core --set brokers=3 EXPRESSION`)
    _, unknown = (parser.parse_known_args if below else parser.parse_known_intermixed_args)(words[1:], into)
    meant = f"{name} {into.action}" if below else name
    if hasattr(into, "set") and all(SETTING.match(word) for word in unknown):  # `sweep raft servers=2..3`
        into.set = [*into.set, *unknown]
        unknown = []
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
    )
    parser.command = name
    _declare(parser, options_of(name))
    if below := subcommands(name):
        inner = parser.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=Parser)
        for word, subcommand in below.items():
            _declare(inner.add_parser(word, help=subcommand.help), subcommand.options)
    return parser


def _epilog(name: str) -> str:
    """What stands below the help of a command: its own words, and examples."""
    import textwrap

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
    groups: dict[str, argparse._MutuallyExclusiveGroup] = {}
    titles: dict[str, argparse._ArgumentGroup] = {}
    for option in options:
        title = _titled(option) if not option.group else ""
        if title:
            if title not in titles:
                titles[title] = parser.add_argument_group(title)
            titles[title].add_argument(*(option.flags or [option.name]), **_keywords(option))
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


def sentence(text: str) -> str:
    """The help of a command as a sentence."""
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith('?') else '.'}"


def record_among(words: list[str]) -> Path | None:
    """The file for the record, for when the command line itself is wrong."""
    finder = argparse.ArgumentParser(formatter_class=ANY_WIDTH, add_help=False, exit_on_error=False, allow_abbrev=False)
    finder.add_argument("--json", type=Path)
    try:
        file = finder.parse_known_args(words)[0].json
    except argparse.ArgumentError:
        return None
    return file if isinstance(file, Path) else None


def search_options(args: argparse.Namespace, **others: Any) -> SearchOptions:
    """The options of a search by their names; of those that a command does not take, the default. others: in place."""
    values = {**vars(args), "properties": getattr(args, "property", []), **others}
    return SearchOptions(**{f.name: values[f.name] for f in fields(SearchOptions) if f.name in values})


def spark_settings(args: argparse.Namespace) -> SparkOptions:
    """The Spark settings of the options; `Failure` where they do not go together."""
    out, resume = getattr(args, "out", None), getattr(args, "resume", None)
    if getattr(args, "engine", "spark") != "spark":
        for option in OF_SPARK:
            if getattr(args, option, None):
                raise Failure(Exit.USAGE, f"--{option.replace('_', '-')} is for --engine spark")
    if out and resume:
        raise Failure(Exit.USAGE, "--out begins a run and --resume continues one: give one of them")
    return SparkOptions(
        args.master or os.environ.get("MASTER") or SparkOptions.master,
        getattr(args, "partitions", None),
        out=out or resume,
        resume=bool(resume),
        data=not getattr(args, "no_data", False),
        fingerprints=getattr(args, "fingerprints", False),
        conf=dict(args.conf),
    )


def note(text: str) -> None:
    """A remark on standard error, if there is one."""
    if text:
        print(message(text), file=sys.stderr)
