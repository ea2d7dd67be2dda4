"""The grammar of the command line: every command with its options."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import NoReturn

from reassure.checkers.base.argument_types import duration, positive, seed, setting, size, weight
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.options import METHODS, SimulationOptions
from reassure.checkers.check import DEFAULT_ENGINE, ENGINE_NAMES, ENGINES
from reassure.checkers.plan import command as plan_command


class Parser(argparse.ArgumentParser):
    """One line for a wrong command line, and exit code 64."""

    def error(self, message: str) -> NoReturn:
        raise Failure(Exit.USAGE, f"{message} (see {self.prog} --help)")


def _common(command: argparse.ArgumentParser) -> None:
    """What every command takes that asks something of a model."""
    command.add_argument("model", metavar="MODEL", help="a name (kraft) or a path (my_idea.py)")
    command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="configuration; repeatable")
    command.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME",
        help="only these properties or covers; repeatable, * allowed",
    )
    command.add_argument("--budget", type=duration, metavar="60s", help="stop after this time")
    command.add_argument("--json", type=Path, metavar="FILE", help="write the run record")
    command.add_argument("--trace-dir", type=Path, metavar="DIR", help="write counterexamples as ITF")
    command.add_argument("--quiet", action="store_true", help="no progress, no stories")


def _threads(command: argparse.ArgumentParser) -> None:
    command.add_argument("--workers", type=positive, default=os.cpu_count() or 1, metavar="N", help="threads")


def _running(command: argparse.ArgumentParser) -> None:
    """What a command takes that runs a model."""
    _threads(command)
    command.add_argument("--fail-fast", action="store_true", help="stop at the first violation")
    command.add_argument("--witness", action="store_true", help="show how covers are reached")


def _spark_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--master", metavar="URL", help="Spark: local[2] (the default), spark://..., yarn, k8s://...")
    command.add_argument(
        "--conf", action="append", type=setting, default=[], metavar="spark.KEY=VALUE", help="Spark: repeatable"
    )


def parser() -> Parser:
    """The whole command line."""
    top = Parser(prog="reassure", description="Model checking of Kafka partition reassignment protocols.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)

    listing = commands.add_parser("models", help="list the models and what can be set on them")
    listing.add_argument("--mutants", action="store_true", help="list the deliberately flawed models too")

    check = commands.add_parser("check", help="search every reachable state of a model")
    _common(check)
    _running(check)
    check.add_argument("--engine", choices=ENGINE_NAMES, default=DEFAULT_ENGINE)
    check.add_argument("--depth", type=positive, metavar="N", help="stop after this many levels")
    check.add_argument("--memory", type=size, metavar="2G", help="stop before using more memory")
    check.add_argument("--accept-clipping", action="store_true", help="leaving a bound is meant; do not exit with 5")
    _spark_options(check)
    check.add_argument("--partitions", type=positive, metavar="N", help="Spark: owners of the visited states")
    check.add_argument("--out", metavar="DIR", help="Spark: keep the run here; the state space as data for `query`")
    check.add_argument(
        "--fingerprints", action="store_true", help="Spark: keep 120 bits of each visited state; not exact"
    )
    check.add_argument("--no-data", action="store_true", help="Spark: with --out, only what --resume needs")
    check.add_argument("--resume", metavar="DIR", help="Spark: continue the run that was begun there")

    walking = commands.add_parser("simulate", help="take random walks through a model: finds flaws, proves nothing")
    _common(walking)
    _running(walking)
    walking.add_argument("--walks", type=positive, default=SimulationOptions.count, metavar="N", help="how many")
    walking.add_argument(
        "--depth", type=positive, default=SimulationOptions.depth, metavar="N", help="states of a walk, at most"
    )
    walking.add_argument(
        "--seed", type=seed, default=SimulationOptions.seed, metavar="N", help="the same seed, the same walks"
    )
    walking.add_argument(
        "--weight",
        action="append",
        type=weight,
        default=[],
        metavar="ACTION=N",
        help="how often it is taken beside the others, which weigh 1; repeatable",
    )

    proving = commands.add_parser("prove", help="prove invariants for runs of any length, or refute them")
    _common(proving)
    proving.add_argument("--method", choices=METHODS, default="auto", help="auto: bounded search, then induction")
    proving.add_argument("--depth", type=positive, metavar="N", help="states of bounded search and k-induction")
    proving.add_argument("--seed", type=seed, default=0, metavar="N", help="Z3's; another may find another proof")
    proving.add_argument("--accept-clipping", action="store_true", help="leaving a bound is meant; do not exit with 5")
    proving.add_argument("--certificate", type=Path, metavar="FILE", help="write the inductive invariant")

    weighing = commands.add_parser("guards", help="leave out each guard in turn: which property falls?")
    _common(weighing)
    _threads(weighing)
    weighing.add_argument("--memory", type=size, metavar="2G", help="stop a search before using more memory")

    asking = commands.add_parser("query", help="ask SQL of the state space that a distributed search has kept")
    asking.add_argument("dir", metavar="DIR", help="as given to check --engine spark --out DIR")
    asking.add_argument("sql", metavar="SQL", help="over the tables states, edges, levels, properties")
    asking.add_argument("--format", choices=["table", "csv", "json"], default="table")
    asking.add_argument("--limit", type=int, default=1000, metavar="N", help="rows, at most (0: all)")
    _spark_options(asking)

    sweeping = commands.add_parser("sweep", help="check every configuration of a grid as one Spark job")
    _common(sweeping)
    sweeping.add_argument("--pairwise", action="store_true", help="only so many that any two values meet")
    sweeping.add_argument("--depth", type=positive, metavar="N", help="stop each after this many levels")
    sweeping.add_argument("--memory", type=size, metavar="2G", help="stop each before it uses more memory")
    sweeping.add_argument("--fail-fast", action="store_true", help="stop each at its first violation")
    sweeping.add_argument("--accept-clipping", action="store_true", help="leaving a bound is meant")
    _spark_options(sweeping)

    trapped = commands.add_parser("stuck", help="states from which the goal of a leads_to is out of reach")
    trapped.add_argument("model", metavar="MODEL", help="a name (kraft) or a path (my_idea.py)")
    trapped.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="configuration; repeatable")
    trapped.add_argument("--property", action="append", default=[], metavar="NAME", help="only these; * allowed")
    trapped.add_argument("--fair-only", action="store_true", help="count on fair actions only: others need not happen")
    trapped.add_argument("--limit", type=positive, metavar="N", help="states to expand, at most")
    trapped.add_argument("--json", type=Path, metavar="FILE", help="write the run record")
    trapped.add_argument("--trace-dir", type=Path, metavar="DIR", help="write counterexamples as ITF")
    trapped.add_argument("--quiet", action="store_true", help="no progress, no stories")

    checking = commands.add_parser("verify", help="check a certificate with a fresh solver")
    checking.add_argument("certificate", type=Path, metavar="FILE")
    checking.add_argument("--model", metavar="MODEL", help="where the model is now")

    again = commands.add_parser("replay", help="execute a trace in plain Python")
    again.add_argument("trace", type=Path, metavar="TRACE")
    again.add_argument("--model", metavar="MODEL", help="another model than the trace names")

    show = commands.add_parser("show", help="tell a trace as a story")
    show.add_argument("trace", type=Path, metavar="TRACE")
    show.add_argument("--model", metavar="MODEL", help="another model than the trace names")
    show.add_argument("--format", choices=["text", "md", "mermaid", "json"], default="text")

    plan_command.options(commands.add_parser("plan", help="check a reassignment of a real cluster, or propose one"))

    gating = commands.add_parser("gate", help="run the checks of a file and exit by the worst")
    gating.add_argument("file", type=Path, nargs="?", default=Path("gate.toml"), metavar="FILE")
    gating.add_argument("--engine", choices=list(ENGINES), help="for every check")
    gating.add_argument("--json", type=Path, metavar="FILE", help="write the records of all checks")
    gating.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report")

    claiming = commands.add_parser("claims", help="what the documents promise, and what the checkers say about it")
    claiming.add_argument("--claim", action="append", default=[], metavar="ID", help="only this claim; repeatable")
    claiming.add_argument("--table", action="store_true", help="only the table of shared promises")
    claiming.add_argument("--format", choices=["text", "md", "html"], default="text")
    claiming.add_argument("--refresh", action="store_true", help="first run what is missing or stale")
    claiming.add_argument("--json", type=Path, metavar="FILE", help="write everything as data")
    return top
