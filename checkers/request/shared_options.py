"""The options that several commands take, each declared once, and those of the commands that check a model."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from reassure.checkers.request.argument_types import duration, positive, seed, setting, size, weight, whole
from reassure.checkers.request.declared import Option
from reassure.checkers.request.options import (
    DEFAULT_ENGINE,
    ENGINE_NAMES,
    EXACT_SYMMETRIES,
    METHODS,
    SYMMETRIES,
    SimulationOptions,
    SparkOptions,
)

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
    "-j --jobs N", f"number of processes (default: {os.cpu_count() or 1})", positive, os.cpu_count() or 1, output=True
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
TRACE = Option("TRACE", "an ITF file, or the short name of a counterexample, such as K21", Path)
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
    MODEL, SET, PROPERTY,
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
    *SEARCH[3:], ENGINE, DEPTH, MEMORY, SYMMETRY, ACCEPT_CLIPPING,
    Option(
        "--second-opinion",
        "also give the model to TLC, as TLA+, and compare every answer; exit code 19 if one differs",
        choices=("tlc",),
    ),
    Option("--jar FILE", "with --second-opinion: tla2tools.jar (default: the variable TLA2TOOLS)"),
    Option("--follow", "check again on every save, until Ctrl-C: the verdict, and what changed", bool, output=True),
    Option("--dump-kernel", "print the LLVM IR that the native engine compiles; check nothing", bool, output=True),
    *SPARK,
    Option(
        "--partitions N", "Spark: divide the visited states into N parts (default: two for each core)", positive
    ),
    Option("--out DIR", "Spark: keep the run in this folder, with the state space for `query`", output=True),
    Option("--fingerprints", "Spark: keep 120 bits of each visited state (default: whole states, exact)", bool),
    Option("--no-data", "Spark: with --out, keep only what --resume needs", bool, output=True),
    Option("--resume DIR", "Spark: continue the run in this folder, as it was begun", output=True),
)  # fmt: skip
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
    ACCEPT_CLIPPING, STORIES, FULL,
    Option(
        "--certificate FILE",
        "write the inductive invariant, for `reassure verify` (default: not written)",
        Path,
        output=True,
    ),
)  # fmt: skip
"""The options of `prove`."""
