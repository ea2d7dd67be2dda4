"""The options that several commands take, each declared once, and those of the commands that check a model.

Also here: an option of a command, declared once: the parser, the command that repeats a run, a gate's keys and the
reference page are made from it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reassure.checkers.request.options import (
    DEFAULT_ENGINE,
    ENGINE_NAMES,
    EXACT_SYMMETRIES,
    METHODS,
    SYMMETRIES,
    SimulationOptions,
    SparkOptions,
    duration,
    positive,
    seed,
    setting,
    size,
    weight,
    whole,
)
from reassure.spec.language.light_dataclasses import dataclass

SECRET = "(?i)secret|password|token|access[._]?key"
"""Settings whose values are not printed, as Spark has it."""
OF_THE_REPORT = frozenset({"stories", "full", "show", "format"})
"""Outputs that say how much of the report is printed, and how."""


@dataclass(frozen=True)
class Option:
    """An option or a positional argument of a command.

    usage: as a user writes it, `--limit N`, `-j --jobs N` or `--quiet`; of a positional argument `MODEL`, or `log FILE`
    if its value has another name than its placeholder. type: reads a value; None: text, bool: a switch. nargs: as
    argparse has it. const: the value of an option that is given without one. group: of options with one group at most
    one is given, and one must be if they are required.
    """

    usage: str
    help: str
    type: Callable[[str], Any] | None = None
    default: Any = None
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    nargs: str | None = None
    const: Any = None
    required: bool = False
    group: str = ""
    output: bool = False
    """Says where results go, how they are printed, or how many processes compute them: it changes no result."""
    always: bool = False
    """Whether the command that repeats a run has it at its default too."""
    place: int = 9
    """Its place in the command that repeats a run: the lower, the earlier."""
    secret: bool = False
    """Whether values KEY=VALUE are left out of that command if KEY names a secret."""

    @property
    def flags(self) -> list[str]:
        """Its names on the command line, the long one last; none of a positional argument."""
        return [word for word in self.usage.split() if word.startswith("-")]

    @property
    def flag(self) -> str:
        """Its long name on the command line; "" for a positional argument."""
        return self.flags[-1] if self.flags else ""

    @property
    def name(self) -> str:
        """The name of its value among the parsed arguments."""
        return self.flag[2:].replace("-", "_") or self.usage.split()[0].lower()

    @property
    def metavar(self) -> str | None:
        """The placeholder of its value; None if it has none, or shows its choices."""
        last = self.usage.split()[-1]
        return None if last.startswith("-") else last

    @property
    def switch(self) -> bool:
        """Whether it takes no value."""
        return self.type is bool

    @property
    def must_be_given(self) -> bool:
        """Whether the command line is wrong without it."""
        return self.required and not self.group if self.flag else self.nargs not in ("?", "*")

    @property
    def initial(self) -> Any:
        """The value if it is not given."""
        if self.default is None and (self.repeatable or self.switch):
            return [] if self.repeatable else False
        return self.default

    def words(self, value: Any) -> list[str]:
        """The option with a value on a command line."""
        if self.switch:
            return [self.flag] if value else []
        several = isinstance(value, list) and (self.repeatable or not self.flag)
        values = pairs(value) if isinstance(value, dict) else value if several else [value]
        texts = [_text(one) for one in values]
        if self.secret:
            texts = [text for text in texts if not re.search(SECRET, text.partition("=")[0])]
        return [f"{self.flag}={text}" for text in texts] if self.flag else texts


def pairs(settings: Mapping[str, Any]) -> list[str]:
    """A table as KEY=VALUE."""
    return [f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in settings.items()]


def _text(value: Any) -> str:
    """One value as the command line takes it; a number with a point is a time in seconds."""
    match value:
        case float():
            from decimal import Decimal  # of few command lines

            exact = f"{Decimal(repr(value)):f}"
            return (exact.rstrip("0").rstrip(".") if "." in exact else exact) + "s"
        case tuple():
            return "=".join(map(str, value))
        case list():
            return ",".join(map(str, value))
    return str(value)


def repro(command: str, options: Iterable[Option], values: Mapping[str, Any], as_given: bool = False) -> str:
    """The command that repeats a run: its options with these values, but for defaults and for outputs.

    An output that must be given is its placeholder, `--out=DIR`. as_given: for the reader who gave the options: with
    those of `OF_THE_REPORT`, and without any default.
    """
    words = ["reassure", *command.split()]
    for option in sorted(options, key=lambda o: (bool(o.flag), o.place)):
        value = values.get(option.name, option.initial)
        if option.output and not (as_given and option.name in OF_THE_REPORT):
            words += option.words(option.metavar) if option.required and not option.group else []
        elif value is not None and ((option.always and not as_given) or value != option.initial):
            words += option.words(value)
    return shlex.join(words)


MODEL = Option("MODEL", "a name (core), a path (my_idea.py) or a module (pkg.my_idea)")
SET = Option(
    "--set KEY=VALUE", "set a configuration value (default: the model's); repeatable", repeatable=True, place=0
)
PROPERTY = Option(
    "--property NAME",
    "check only these properties and covers; repeatable, * matches any letters (default: all)",
    repeatable=True,
    place=1,
)
DEPTH = Option("--depth N", "stop after N levels; initial states are level 1 (default: no limit)", positive, place=2)
BUDGET = Option(
    "--budget 60s",
    "stop after this time, such as 90s or 10m; the result is partial (default: no limit)",
    duration,
    place=3,
)
MEMORY = Option(
    "--memory 2G", "stop before more memory is used, such as 512M or 2G (default: what is free)", size, place=4
)
MEMORY_OF_EACH = replace(MEMORY, help="stop each search before it uses more memory, such as 2G (default: what is free)")
MEMORY_OF_GRAPH = replace(
    MEMORY,
    help="stop the search before it uses more memory, such as 2G (default: what is free); the list of the steps "
    "between its states takes more, up to what is free",
)
ACCEPT_CLIPPING = Option("--accept-clipping", "treat exceeded bounds as intended: exit 0 instead of 5", bool, place=5)
FAIL_FAST = Option("--fail-fast", "stop at the first violation (default: search on)", bool, place=6)
WITNESS = Option("--witness", "print and write how covers are reached", bool, place=7)
ENGINE = Option(
    "--engine",
    f"the engine that searches (default: {DEFAULT_ENGINE})",
    choices=ENGINE_NAMES,
    default=DEFAULT_ENGINE,
    always=True,
)

SYMMETRY = Option(
    "--symmetry",
    "on: visit one state of those that differ in names of ids; auto: do so if 4 or more ids of a sort can be renamed "
    "and no property of whole runs is asked for; any-order: also take any eligible id where the model takes the first "
    "one by their order, and confirm violations without that (default: off)",
    choices=SYMMETRIES,
    default="off",
    place=8,
)
EXACT_SYMMETRY = replace(
    SYMMETRY,
    help="on: visit one state of those that differ in names of ids; auto: do so if 4 or more ids of a sort can be "
    "renamed (default: off)",
    choices=EXACT_SYMMETRIES,
)

JSON = Option(
    "--json FILE", "write the run record as JSON; - is standard output (default: not written)", Path, output=True
)
TRACE_DIR = Option(
    "--trace-dir DIR",
    "write each counterexample as an ITF file in this folder (default: not written)",
    Path,
    output=True,
)
QUIET = Option("--quiet", "print nothing but the last line, the verdict", bool, output=True)
NO_STORIES = replace(QUIET, help="print no progress and no counterexamples")
WORKERS = Option(
    "--workers N", "number of threads (default: one for each processor)", positive, os.cpu_count() or 1, output=True
)
JOBS = Option(
    "-j --jobs N", "number of processes (default: one for each processor)", positive, os.cpu_count() or 1, output=True
)
STORIES = Option(
    "--stories N",
    "print at most N traces, the shortest; with 0, and no --trace-dir, `check` rebuilds none (default: 3)",
    whole,
    output=True,
)
FULL = Option("--full", "print all traces, and a line for every property and cover", bool, output=True)
OUTPUTS = (JSON, TRACE_DIR, QUIET)
OUTPUTS_WITH_TABLES = (JSON, TRACE_DIR, NO_STORIES)
COMMON = (MODEL, SET, PROPERTY, BUDGET, *OUTPUTS)
"""Of every command that checks properties of a model."""


def common(what: str) -> tuple[Option, ...]:
    """The options `COMMON` of a command whose `--property` takes something else. what: what the option does."""
    of_property = replace(PROPERTY, help=f"{what}; repeatable, * matches any letters (default: all)")
    return tuple(of_property if option is PROPERTY else option for option in COMMON)


def _drawn(options: tuple[Option, ...]) -> tuple[Option, ...]:
    """The options, of a command that draws the traces which it writes."""
    told = (
        "write each counterexample as an ITF file in this folder, and its picture beside it, a file .svg, unless "
        "--quiet is given (default: not written)"
    )
    return tuple(replace(option, help=told) if option is TRACE_DIR else option for option in options)


SEED = Option("--seed N", "seed of the walks; the same seed gives the same walks (default: 0)", seed, 0, always=True)
TRACE = Option("TRACE", "an ITF file, or the short name of a counterexample, such as finding-1", Path)
OUT = Option("--out FILE", "write to this file (default: standard output)", Path, output=True)
OF_TRACE = Option(
    "--model MODEL",
    "the model to use (default: the one that the trace names, if it comes with this program or the gate file of the "
    "working folder names it)",
)

MASTER = Option(
    "--master URL", f"Spark: {SparkOptions.master} (default), spark://..., yarn, k8s://... ; or the variable MASTER"
)
CONF = Option(
    "--conf spark.KEY=VALUE", "Spark: a setting of Spark's; repeatable", setting, repeatable=True, place=10, secret=True
)
SPARK = (MASTER, CONF)
OF_SPARK = ("master", "partitions", "out", "resume", "no_data", "fingerprints", "conf")
"""The names of all options for Spark alone, of whatever command."""

WALKS = SimulationOptions()
SEARCH = (*_drawn(COMMON), WORKERS, STORIES, FULL, FAIL_FAST, WITNESS)

CHECK = (
    MODEL,
    SET,
    PROPERTY,
    Option(
        "--invariant EXPR",
        "check that this Python expression over a state `s` is true in every state, and nothing else but --property; "
        "`c` is the configuration; repeatable",
        repeatable=True,
        place=1,
    ),
    Option(
        "--step EXPR",
        "as --invariant, of every step: `before`, `after`, `action`; repeatable",
        repeatable=True,
        place=1,
    ),
    *SEARCH[3:],
    ENGINE,
    DEPTH,
    MEMORY,
    SYMMETRY,
    ACCEPT_CLIPPING,
    Option(
        "--second-opinion",
        "also give the model to TLC, as TLA+, and compare every answer; exit code 19 if one differs",
        choices=("tlc",),
    ),
    Option("--jar FILE", "with --second-opinion: tla2tools.jar (default: the variable TLA2TOOLS)"),
    Option("--follow", "check again on every save, until Ctrl-C: the verdict, and what changed", bool, output=True),
    Option("--dump-kernel", "print the LLVM IR that the native engine compiles; check nothing", bool, output=True),
    *SPARK,
    Option("--partitions N", "Spark: divide the visited states into N parts (default: two for each core)", positive),
    Option("--out DIR", "Spark: keep the run in this folder, with the state space for `query`", output=True),
    Option("--fingerprints", "Spark: keep 120 bits of each visited state (default: whole states, exact)", bool),
    Option("--no-data", "Spark: with --out, keep only what --resume needs", bool, output=True),
    Option("--resume DIR", "Spark: continue the run in this folder, as it was begun", output=True),
)
"""The options of `check`."""
SIMULATE = (
    *SEARCH,
    Option(
        "--walks N",
        f"number of walks (default: {WALKS.count:,}; with --budget, as many as there is time for)",
        positive,
        always=True,
    ),
    Option("--depth N", f"most states of a walk (default: {WALKS.depth})", positive, WALKS.depth, always=True),
    SEED,
    Option(
        "--weight ACTION=N",
        "choose this action N times as often as one of weight 1; 0: never; repeatable (default: as declared)",
        weight,
        repeatable=True,
    ),
)
"""The options of `simulate`."""
PROVE = (
    *_drawn(common("prove only these properties of states and steps; of covers, look for these by random walks")),
    Option(
        "--method",
        "how to prove; auto: induction, bounded search, then induction with lemmas (default: auto)",
        choices=METHODS,
        default="auto",
        always=True,
    ),
    Option(
        "--depth N",
        "states of a run in bounded search (default: auto 6, bmc 20) or of k-induction (default: 4)",
        positive,
    ),
    Option(
        "--any-number",
        "prove for every value of the configuration's numbers, but for those given by --set (default: for the values "
        "of the configuration)",
        bool,
    ),
    Option("--seed N", "seed of Z3; another seed may find another proof (default: 0)", seed, 0),
    ACCEPT_CLIPPING,
    STORIES,
    FULL,
    Option(
        "--certificate FILE",
        "write the inductive invariant, for `reassure verify` (default: not written)",
        Path,
        output=True,
    ),
)
"""The options of `prove`."""
