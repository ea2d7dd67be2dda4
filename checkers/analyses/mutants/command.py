"""`reassure mutants`: which mistakes in the model's text its properties notice."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from rich.console import Console

from reassure.checkers.base.argument_types import duration, positive, seed, size
from reassure.checkers.base.atomic_files import write_record
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import config_values
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.prepare import must_match, prepare
from reassure.checkers.base.progress import Progress
from reassure.checkers.console.files import must_be_writable

TIMEOUT = 20.0
"""Seconds of one mutant's search."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a name (kraft), a path (my_idea.py) or a module")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a configuration value (default: the model's); repeatable",
    )
    parser.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME",
        help="judge only by these properties and covers; repeatable, * matches any letters (default: all)",
    )
    parser.add_argument("--max", type=positive, metavar="N", help="judge a sample of N mutants (default: all of them)")
    parser.add_argument("--seed", type=seed, metavar="N", help="seed of the sample (default: 0)")
    parser.add_argument(
        "--timeout",
        type=duration,
        default=TIMEOUT,
        metavar="20s",
        help="give up a mutant after this time (default: 20s)",
    )
    parser.add_argument(
        "--memory",
        type=size,
        metavar="2G",
        help="give up a mutant before it uses more memory, such as 2G (default: no limit)",
    )
    parser.add_argument("-j", "--jobs", type=positive, default=1, metavar="N", help="number of processes (default: 1)")
    parser.add_argument(
        "--budget",
        type=duration,
        metavar="10m",
        help="stop after this time, such as 90s or 10m; the result is partial (default: no limit)",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the run record as JSON; - is standard output (default: not written)",
    )
    parser.add_argument("--full", action="store_true", help="print the mutants that are killed too")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    parser.add_argument("--all", action="store_true", help="judge every model of the project as mutants.toml says")
    parser.add_argument(
        "--record", action="store_true", help="write counterexamples/mutants.json; with --all, only what is stale in it"
    )


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Judges every mutant that is asked for, and reports."""
    if args.all or args.record:
        return _recorded(args, console)
    if args.model is None:
        raise Failure(Exit.USAGE, "a model is missing: `reassure mutants MODEL`, or --all")
    from reassure.checkers.analyses.mutants.mutant_run import MutantRequest, judge_mutants
    from reassure.checkers.analyses.mutants.mutant_search import Limits
    from reassure.checkers.analyses.mutants.report import mutants_record, report_mutants

    must_be_writable(args.json, "--json")
    limits, chosen = Limits(args.timeout, None, args.memory), args.seed or 0
    request = MutantRequest(args.model, tuple(args.set), tuple(args.property), limits, args.max, chosen, args.jobs)
    bound, _, sha = prepare(args.model, args.set)
    names = [p.name for p in (*bound.properties, *bound.covers)] + ["deadlock"] * bound.model.deadlock
    must_match(bound, names, SearchOptions(args.property))
    progress = Progress(quiet=args.quiet)
    try:
        report = judge_mutants(request, args.budget, progress)
    finally:
        progress.done()
    report_mutants(report, console, args.full, args.quiet)
    if args.json:
        words = ["reassure", "mutants", args.model, *(f"--set={s}" for s in args.set)]
        words += [f"--property={p}" for p in args.property]
        words += [f"--max={args.max}", f"--seed={chosen}"] if args.max else []
        write_record(args.json, mutants_record(report, (sha, config_values(bound.config), shlex.join(words))))
    return report.exit()


def _recorded(args: argparse.Namespace, console: Console) -> Exit:
    """Judges what `mutants.toml` plans, for every model or one."""
    from reassure.checkers.analyses.mutants.mutants_of_all import MutantsOfAll

    given = {
        "--set": args.set,
        "--property": args.property,
        "--max": args.max,
        "--seed": args.seed,
        "--json": args.json,
    }
    if odd := [option for option, value in given.items() if value not in ([], None)]:
        raise Failure(Exit.USAGE, f"{odd[0]} does not go with --all or --record: mutants.toml says what is judged")
    if args.all == (args.model is not None):
        raise Failure(Exit.USAGE, "name a model or give --all: `reassure mutants kraft --record`")
    progress = Progress(quiet=args.quiet)
    try:
        return MutantsOfAll(args.jobs, args.memory, args.budget, progress, console).run(args.model, args.record)
    finally:
        progress.done()
