"""`reassure traces`: a small set of traces that together take every action, pair, state, ... that a model has."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reassure.checkers.console.parser import note, search_options
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import SearchOptions, positive
from reassure.checkers.request.prepare import Prepared, prepare, prepare_plain
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import BUDGET, MEMORY_OF_GRAPH, MODEL, QUIET, SEED, SET, WORKERS, Option
from reassure.spec.language.vocabulary import LanguageError

if TYPE_CHECKING:
    from reassure.checkers.analyses.suites.goals import NamedGoals
    from reassure.checkers.engines.native.state_graph import StateGraph

NAMED = ("actions", "pairs", "covers", "guards", "branches", "classes")
MASS = ("transitions", "states")
WALK_LENGTH = 20


OPTIONS = (
    MODEL,
    SET,
    Option("--cover", "what the traces cover together (default: actions)", choices=(*NAMED, *MASS)),
    Option("--walks N", "write N random walks in place of a suite", positive),
    replace(SEED, always=False),
    Option(
        "--by EXPRESSION",
        "with --cover classes: steps for which this has the same value are one class; it may read before, after, "
        "action (its name), config and the parameters",
    ),
    Option("--out DIR", "write the traces into this folder", Path, required=True, output=True, place=10),
    Option("--keep DIR", "extend the suite in this folder; traces that the model still has are kept", Path),
    Option(
        "--max-length N",
        "at most N steps a trace (default: the longest of the shortest paths to what is covered; random walks: "
        f"{WALK_LENGTH})",
        positive,
    ),
    Option(
        "--format",
        "steps: write plain JSON for tests in other languages beside each ITF file (default: itf)",
        default="itf",
        choices=("itf", "steps"),
        output=True,
    ),
    BUDGET,
    MEMORY_OF_GRAPH,
    WORKERS,
    replace(QUIET, help="print no progress"),
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Writes a suite, or random walks."""
    return _suite(args, console) if args.walks is None else _random_walks(args, console)


def _suite(args: argparse.Namespace, console: Console) -> Exit:
    """Searches the model, chooses the traces, writes and reports them."""
    from reassure.checkers.analyses.suites.goals import States, Transitions, select_mass, select_named
    from reassure.checkers.analyses.suites.report import exit_of, report_suite
    from reassure.checkers.analyses.suites.suite import KeptSuite, SuiteName, read_kept, write_suite
    from reassure.checkers.engines.native.state_graph import reachable_graph

    args.cover = args.cover or "actions"
    if (args.cover == "classes") != (args.by is not None):
        raise Failure(Exit.USAGE, "--cover classes and --by EXPRESSION go together")
    if args.keep is not None and not args.keep.is_dir():
        raise Failure(Exit.USAGE, f"--keep {args.keep}: there is no such folder")
    prepared = prepare(args.model, args.set)
    bound = prepared.bound
    if args.cover == "covers" and not bound.covers:
        raise Failure(Exit.NOTHING, f"{bound.model.name} has no cover that applies to this configuration")
    options = search_options(args)
    covers = {p.name for p in bound.covers} if args.cover == "covers" else set()
    with Progress(quiet=args.quiet) as progress:
        graph = reachable_graph(prepared.only(lambda name: name in covers), options, progress)
    criterion = args.cover
    if args.by is not None:
        criterion += f"-{hashlib.sha256(args.by.encode(errors='surrogatepass')).hexdigest()[:8]}"
    name = SuiteName(bound.model.name, tuple(args.set), criterion)
    kept = read_kept(args.keep, name, graph) if args.keep else KeptSuite()
    if args.keep and not kept.files and not kept.replaced:
        note(f"note: {args.keep} has no trace of this suite ({name.stem}-NNN.itf.json)")
    if args.cover in NAMED:
        goals = _named_goals(args, graph, options, progress)
        chosen = select_named(args.cover, goals, kept.paths, args.max_length)
    else:
        mass = States(graph) if args.cover == "states" else Transitions(graph)
        chosen = select_mass(graph, mass, kept.paths, args.max_length)
    meta = RunIdentity.of(prepared, "traces", args.repro).origin()
    written = write_suite(args.out, name, graph, chosen, kept, meta, args.format == "steps")
    report_suite(graph, chosen, kept, written, console)
    return exit_of(graph, chosen, args.cover)


def _named_goals(args: argparse.Namespace, graph: StateGraph, options: SearchOptions, progress: Progress) -> NamedGoals:
    """The goals of a criterion of which each has a name; `Failure` for an expression that cannot be evaluated."""
    from reassure.checkers.analyses.suites.goals import Actions, Covers, Pairs
    from reassure.checkers.analyses.suites.outcome_goals import Classes, Outcomes

    try:
        with progress:
            if args.cover in ("guards", "branches"):
                return Outcomes(graph, {"guards": "guard", "branches": "branch"}[args.cover], options, progress)
            if args.cover == "classes":
                return Classes(graph, args.by, progress)
    except LanguageError as error:
        raise Failure(Exit.USAGE, str(error)) from None
    criteria: dict[str, Callable[[StateGraph], NamedGoals]] = {"actions": Actions, "pairs": Pairs, "covers": Covers}
    return criteria[args.cover](graph)


def _random_walks(args: argparse.Namespace, console: Console) -> Exit:
    from reassure.checkers.analyses.suites.suite import SuiteName, random_traces, write_random_traces

    for option in ("cover", "by", "keep", "budget", "memory"):
        if getattr(args, option) is not None:
            raise Failure(Exit.USAGE, f"--{option} is not for random walks")
    bound, sha = prepare_plain(args.model, args.set)
    length = args.max_length or WALK_LENGTH
    meta = RunIdentity.of(Prepared(bound, sha, args.model, tuple(args.set)), "traces", args.repro).origin()
    name = SuiteName(bound.model.name, tuple(args.set), f"walks-{args.seed}")
    traces = random_traces(bound, args.walks, length, args.seed)
    files, taken = write_random_traces(args.out, name, bound, traces, meta, args.format == "steps")
    console.print(f"{bound.model.name}: {len(files):,} random walks, seed {args.seed}, {sum(taken.values()):,} steps")
    for action, count in taken.items():
        console.print(f"  {action}: {count:,}")
    console.print(f"{args.out / files[0]} to {files[-1]}")
    return Exit.OK
