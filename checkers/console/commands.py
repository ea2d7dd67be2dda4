"""The commands by name: a module each, imported when its command is given.

A module has `OPTIONS` (or `SUBCOMMANDS`, by name) and `run(args, console)`, which gives the exit code. `EPILOG` is
printed below its help; `KIND`, or that of a subcommand, makes it a kind of check in a gate.

Also here: a command as a kind of check in a gate: `KIND` beside the `OPTIONS` of its module.
"""

from __future__ import annotations

import argparse
import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.shared_options import Option

Record = Mapping[str, Any]
"""The run record of a command, with the keys that it adds."""

SEARCH_FIGURES = ("distinct", "generated", "depth", "clipped")


def search_figures(record: Record) -> dict[str, int]:
    """The counts of a search or a walk."""
    return {name: n for name, n in record["stats"].items() if name in SEARCH_FIGURES}


def verdict_figures(rows: Iterable[Record], names: tuple[str, ...]) -> dict[str, int]:
    """The numbers of a record's rows by verdict; nothing if there is no row."""
    counts = Counter(str(row["verdict"]).replace(" ", "_").replace("-", "_") for row in rows)
    return {name: counts[name] for name in names} if counts else {}


def itself(record: Record) -> dict[str, Record]:
    """The one run of a record that is of one run."""
    return {"": record}


@dataclass(frozen=True)
class GateKind:
    """A command as a kind of check.

    pins: the whole numbers of its record that may be pinned. figures: finds them. left_out: options that a check
    cannot have. models: the keys that name a model. decides: whether a property or cover without an answer is a
    failure beside an expected violation. by_digest: whether the texts of its model and files say all that its answer
    depends on. runs: the runs that a record is of, by what they differ in.
    """

    pins: tuple[str, ...] = ()
    figures: Callable[[Record], dict[str, int]] = search_figures
    left_out: frozenset[str] = frozenset()
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Options of which only some choices are open to a gate."""
    models: tuple[str, ...] = ("model",)
    decides: bool = False
    by_digest: bool = True
    runs: Callable[[Record], Mapping[str, Record]] = itself
    seldom: frozenset[str] = frozenset()
    """Pins that are written into a file only where they are not 0."""


GROUPS = {
    "check": {
        "new": ("cli.commands.new", "write a small model with its test and its entry in a gate file"),
        "models": ("cli.commands.models", "list the models, or print what one of them declares"),
        "lint": ("cli.commands.lint", "list what is outside the language, as file:line:column for editors"),
        "check": ("cli.commands.check", "search every reachable state of a model"),
        "simulate": ("cli.commands.simulate", "take random walks through a model: finds bugs, proves nothing"),
        "prove": ("cli.commands.prove", "prove invariants for runs of any length, or refute them"),
        "verify": ("cli.commands.verify", "check a certificate of `prove` with a fresh solver"),
        "replay": ("cli.commands.replay", "execute a trace, or a folder of them, in plain Python"),
        "show": ("cli.commands.show", "print a trace as text, Markdown, a picture, a diagram or JSON"),
        "explore": ("explorer.command", "walk through a model in the browser, step by step"),
        "gate": ("gate.command", "run all checks of a file; exit with the most severe code"),
        "completion": ("cli.commands.completion", "print a script by which bash, zsh or fish complete commands"),
    },
    "ask": {
        "find": ("analyses.find.command", "find the shortest trace that makes an expression true"),
        "stuck": ("analyses.stuck.command", "find states from which a goal is unreachable on every path"),
        "guards": ("analyses.guards.command", "remove each guard in turn: which properties depend on it?"),
        "mutants": ("analyses.mutants.command", "make one mistake at a time: which properties does it violate?"),
        "fairness": ("analyses.fairness.command", "drop and weaken each fairness assumption: which are needed?"),
        "diff": ("analyses.diff.command", "compare a model and a variant: states, steps and properties"),
        "sweep": ("analyses.sweep.command", "check every configuration of a grid, here or on Spark"),
        "traces": ("analyses.suites.command", "write few traces that together cover every action, pair or state"),
        "validate": ("analyses.validate.command", "find a run of a model that matches a log"),
        "graph": ("analyses.graph.command", "draw the reachable states of a model, or groups of them"),
        "query": ("cli.commands.query", "run SQL over the state space that a Spark run has kept"),
        "export": ("tla.command", "write a model as a TLA+ module, with its configuration for TLC"),
    },
    "Kafka": {
        "plan": ("kafka.plan.command", "check a reassignment of a real cluster, or propose one"),
        "audit": ("kafka.audit.command", "judge every change of a partition in a KRaft metadata log"),
        "claims": ("ledger.command", "print what the documents promise, and the verdicts"),
        "kafka": ("kafka.command", "run Kafka's own controller; compare it with a model"),
    },
}
"""Every command, by the group that `reassure --help` lists it in: its module below `reassure.checkers`, imported when
the command is given; and what it does, short enough for a line of the help in 80 columns."""
_COMMANDS = {name: row for rows in GROUPS.values() for name, row in rows.items()}
PRINT_WHAT_IS_ASKED_FOR = frozenset(
    (
        "new",
        "models",
        "lint",
        "show",
        "explore",
        "completion",
        "query",
        "export",
        "kafka fetch",
        "kafka record",
        "kafka test",
        "kafka build",
        "kafka report",
    )
)
"""Commands whose output is data. All others end with verdict, exit code and the command itself."""
COMMANDS = {name: text for name, (_, text) in _COMMANDS.items()}
"""What each command does, by its name."""


@dataclass(frozen=True)
class Subcommand:
    """A command below another one. kind: as a kind of check in a gate; None if a gate does not run it."""

    help: str
    options: tuple[Option, ...]
    kind: GateKind | None = None


class CommandModule(Protocol):
    """A module of a command."""

    def run(self, args: argparse.Namespace, console: Console) -> Exit:
        """Carries the command out."""


def command(name: str) -> CommandModule:
    """The module of a command."""
    return cast(CommandModule, importlib.import_module(f"reassure.checkers.{_COMMANDS[name][0]}"))


def subcommands(name: str) -> dict[str, Subcommand]:
    """The commands below one, by name."""
    below: dict[str, Subcommand] = getattr(command(name), "SUBCOMMANDS", {})
    return below


def options_of(name: str) -> tuple[Option, ...]:
    """The options of a command (`check`), or of one below it (`kafka conform`)."""
    first, _, second = name.partition(" ")
    if second:
        return subcommands(first)[second].options
    options: tuple[Option, ...] = getattr(command(first), "OPTIONS", ())
    return options
