"""The commands by name: a module each, imported when its command is given.

A module has `OPTIONS` (or `SUBCOMMANDS`, by name) and `run(args, console)`, which gives the exit code. `EPILOG` is
printed below its help; `KIND`, or that of a subcommand, makes it a kind of check in a gate.
"""

from __future__ import annotations

import argparse
import importlib
from dataclasses import dataclass
from typing import Protocol, cast

from reassure.checkers.base.declared import Option
from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.terminal import Console
from reassure.checkers.console.gate_kind import GateKind

COMMANDS = {
    "models": "list the models, or print what one of them declares",
    "new": "write a small model with its test and its entry in a gate file",
    "check": "search every reachable state of a model",
    "simulate": "take random walks through a model: finds bugs, proves nothing",
    "prove": "prove invariants for runs of any length, or refute them",
    "verify": "check a certificate of `prove` with a fresh solver",
    "guards": "remove each guard in turn: which properties depend on it?",
    "mutants": "make one mistake at a time: which properties does it violate?",
    "fairness": "drop and weaken each fairness assumption: which are needed?",
    "diff": "compare a model and a variant: states, steps and properties",
    "find": "find the shortest trace that makes an expression true",
    "stuck": "find states from which a goal is unreachable on every path",
    "sweep": "check every configuration of a grid, here or on Spark",
    "query": "run SQL over the state space that a Spark run has kept",
    "traces": "write few traces that together cover every action, pair or state",
    "replay": "execute a trace, or a folder of them, in plain Python",
    "validate": "find a run of a model that matches a log",
    "explore": "walk through a model in the browser, step by step",
    "show": "print a trace as text, Markdown, a picture, a diagram or JSON",
    "graph": "draw the reachable states of a model, or groups of them",
    "audit": "judge every change of a partition in a KRaft metadata log",
    "plan": "check a reassignment of a real cluster, or propose one",
    "gate": "run all checks of a file; exit with the most severe code",
    "kafka": "run Kafka's own controller; compare it with a model",
    "claims": "print what the documents promise, and the verdicts",
}
"""Every command, with what it does: short enough for a line of `reassure --help` in a terminal of 80 columns."""

MODULES = {
    "models": "cli.commands.models",
    "new": "cli.commands.new",
    "check": "cli.commands.check",
    "simulate": "cli.commands.simulate",
    "prove": "cli.commands.prove",
    "verify": "cli.commands.verify",
    "guards": "analyses.guards.command",
    "mutants": "analyses.mutants.command",
    "fairness": "analyses.fairness.command",
    "diff": "analyses.diff.command",
    "find": "analyses.find.command",
    "stuck": "analyses.stuck.command",
    "sweep": "analyses.sweep.command",
    "query": "cli.commands.query",
    "traces": "analyses.suites.command",
    "replay": "cli.commands.replay",
    "validate": "analyses.validate.command",
    "explore": "explorer.command",
    "show": "cli.commands.show",
    "graph": "analyses.graph.command",
    "audit": "kafka.audit.command",
    "plan": "kafka.plan.command",
    "gate": "gate.command",
    "kafka": "kafka.command",
    "claims": "evidence.command",
}
"""The module of each command, below `reassure.checkers`: imported when the command is given."""


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
    return cast(CommandModule, importlib.import_module(f"reassure.checkers.{MODULES[name]}"))


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
