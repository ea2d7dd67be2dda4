"""`reassure mutants`: which mistakes in the model's text its properties notice."""

from __future__ import annotations

import argparse
from dataclasses import replace

from reassure.checkers.console.commands import GateKind, Record
from reassure.checkers.machine.atomic_files import write_record
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import SearchOptions, duration, positive, seed
from reassure.checkers.request.prepare import must_match, prepare
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import (
    BUDGET,
    EXACT_SYMMETRY,
    JOBS,
    JSON,
    MEMORY,
    MODEL,
    PROPERTY,
    QUIET,
    SET,
    Option,
)

TIMEOUT = 20.0
"""Seconds of one mutant's search."""


OPTIONS = (
    replace(MODEL, help="a name (core), a path (my_idea.py) or a module", nargs="?"),
    SET,
    replace(
        PROPERTY, help="judge only by these properties and covers; repeatable, * matches any letters (default: all)"
    ),
    Option("--max N", "judge a sample of N mutants (default: all of them)", positive),
    Option("--seed N", "seed of the sample (default: 0)", seed),
    Option(
        "--wider SETTINGS",
        "judge the equivalent mutants again with 'KEY=VALUE ...': which bound hides them; repeatable",
        repeatable=True,
    ),
    Option("--timeout 20s", "give up a mutant after this time (default: 20s)", duration, TIMEOUT),
    replace(MEMORY, help="give up a mutant before it uses more memory, such as 2G (default: what is free)"),
    replace(JOBS, help="number of processes (default: 1)", default=1),
    EXACT_SYMMETRY,
    replace(BUDGET, usage="--budget 10m"),
    JSON,
    Option("--full", "print the mutants that are killed too", bool, output=True),
    replace(QUIET, help="print no progress"),
    Option("--all", "judge every model of the project as mutants.toml says", bool),
    Option("--record", "write counterexamples/mutants.json; with --all, only what is stale in it", bool, output=True),
)
FIGURES = ("mutants", "killed", "survived", "equivalent", "refused", "raised", "clipped", "undecided")


def _figures(record: Record) -> dict[str, int]:
    """The numbers of mutants, in all and by fate."""
    if "counts" not in record:
        return {}
    return {"mutants": record["mutants_chosen"], **{name: record["counts"].get(name, 0) for name in FIGURES[1:]}}


KIND = GateKind(FIGURES, _figures, left_out=frozenset({"jobs", "all", "record"}))


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Judges every mutant that is asked for, and reports."""
    if args.all or args.record:
        return _recorded(args, console)
    if args.model is None:
        raise Failure(Exit.USAGE, "a model is missing: `reassure mutants MODEL`, or --all")
    from reassure.checkers.analyses.mutants.mutant_run import MutantRequest, judge_mutants
    from reassure.checkers.analyses.mutants.mutant_search import MutantLimits
    from reassure.checkers.analyses.mutants.report import mutants_record, report_mutants

    limits, seed = MutantLimits(args.timeout, None, args.memory), args.seed or 0
    wider = tuple(tuple(words.split()) for words in args.wider)
    request = MutantRequest(
        args.model, tuple(args.set), tuple(args.property), limits, args.max, seed, args.jobs,
        symmetry=args.symmetry, wider=wider,
    )  # fmt: skip
    for settings in wider:
        prepare(args.model, list(request.widened(settings).settings))
    prepared = prepare(args.model, args.set)
    bound = prepared.bound
    names = [p.name for p in (*bound.properties, *bound.covers)] + ["deadlock"] * bound.model.deadlock
    must_match(bound, names, SearchOptions(args.property))
    with Progress(quiet=args.quiet) as progress:
        report = judge_mutants(request, args.budget, progress)
    report_mutants(report, console, args.full, args.quiet)
    write_record(args.json, mutants_record(report, RunIdentity.of(prepared, "mutants", args.repro)))
    return report.exit()


def _recorded(args: argparse.Namespace, console: Console) -> Exit:
    """Judges what `mutants.toml` plans, for every model or one."""
    from reassure.checkers.analyses.mutants.mutants_of_all import MutantsOfAll

    values = {
        "--set": args.set,
        "--property": args.property,
        "--max": args.max,
        "--seed": args.seed,
        "--wider": args.wider,
        "--json": args.json,
        "--symmetry": args.symmetry,
    }
    if odd := [option for option, value in values.items() if value not in ([], None, "off")]:
        raise Failure(Exit.USAGE, f"{odd[0]} does not go with --all or --record: mutants.toml says what is judged")
    if args.all == (args.model is not None):
        raise Failure(Exit.USAGE, "name a model or give --all: `reassure mutants core --record`")
    with Progress(quiet=args.quiet) as progress:
        return MutantsOfAll(args.jobs, args.memory, args.budget, progress, console).run(args.model, args.record)
