"""The commands by name: a module each, imported when its command is given.

A module has `OPTIONS` (or `SUBCOMMANDS`, by name) and `run(args, console)`, which gives the exit code. `EPILOG` is
printed below its help; `KIND`, or that of a subcommand, makes it a kind of check in a gate.

Also here: a command as a kind of check in a gate: `KIND` beside the `OPTIONS` of its module.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from reassure.checkers.console.overview import MODULES
from reassure.spec.language.light_dataclasses import dataclass

if TYPE_CHECKING:
    import argparse

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
class Reads:
    """What a command reads, whatever its options.

    models: by name. functions: of modules of `models`, each `package.module:name`. files: or folders.
    """

    models: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()


@dataclass(frozen=True)
class GateKind:
    """A command as a kind of check.

    pins: the whole numbers of its record that may be pinned. figures: finds them. left_out: options that a check
    cannot have. models: the keys that name a model. decides: whether a property or cover without an answer is a
    failure beside an expected violation. reads: gives what it reads beside its model and its files; None where its
    answer depends on more. runs: the runs that a record is of, by what they differ in.
    """

    pins: tuple[str, ...] = ()
    figures: Callable[[Record], dict[str, int]] = search_figures
    left_out: frozenset[str] = frozenset()
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Options of which only some choices are open to a gate."""
    models: tuple[str, ...] = ("model",)
    decides: bool = False
    reads: Callable[[], Reads] | None = Reads
    runs: Callable[[Record], Mapping[str, Record]] = itself
    seldom: frozenset[str] = frozenset()
    """Pins that are written into a file only where they are not 0."""


PRINT_WHAT_IS_ASKED_FOR = frozenset(
    (
        "new",
        "models",
        "lint",
        "show",
        "explore",
        "completion",
        "serve",
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
