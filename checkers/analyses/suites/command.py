"""`reassure traces`: a small set of traces that together take every action, pair, state, ... that a model has."""

from __future__ import annotations

import argparse
import hashlib
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from reassure.checkers.base.argument_types import duration, positive, seed, size
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import own_file
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.prepare import plain, prepare
from reassure.checkers.base.progress import Progress
from reassure.checkers.console.arguments import model_argument, note, thread_option
from reassure.checkers.console.files import must_be_writable
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import ModelError

if TYPE_CHECKING:
    from reassure.checkers.analyses.suites.goals import NamedGoals
    from reassure.checkers.engines.native.state_graph import StateGraph

NAMED = ("actions", "pairs", "covers", "guards", "branches", "classes")
MASS = ("transitions", "states")
WALK_LENGTH = 20


def configure(parser: argparse.ArgumentParser) -> None:
    model_argument(parser)
    parser.add_argument("--cover", choices=(*NAMED, *MASS), help="what the traces cover together (default: actions)")
    parser.add_argument("--walks", type=positive, metavar="N", help="write N random walks in place of a suite")
    parser.add_argument(
        "--seed",
        type=seed,
        default=0,
        metavar="N",
        help="seed of random walks; the same seed gives the same walks (default: 0)",
    )
    parser.add_argument(
        "--by",
        metavar="EXPRESSION",
        help="with --cover classes: steps for which this has the same value are one class; it may read before, after, "
        "action (its name), config and the parameters",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="write the traces into this folder")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="extend the suite in this folder; traces that the model still has are kept",
    )
    parser.add_argument(
        "--max-length",
        type=positive,
        metavar="N",
        help="at most N steps a trace (default: the longest of the shortest paths to what is covered; random walks: "
        f"{WALK_LENGTH})",
    )
    parser.add_argument(
        "--format",
        choices=["itf", "steps"],
        default="itf",
        help="steps: write plain JSON for tests in other languages beside each ITF file (default: itf)",
    )
    parser.add_argument(
        "--budget",
        type=duration,
        metavar="60s",
        help="end the search after this time, such as 90s or 10m (default: no limit)",
    )
    parser.add_argument(
        "--memory",
        type=size,
        metavar="2G",
        help="end the search before it uses more memory, such as 2G (default: no limit)",
    )
    thread_option(parser)
    parser.add_argument("--quiet", action="store_true", help="print no progress")


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Writes a suite, or random walks."""
    try:
        return _suite(args, console) if args.walks is None else _random_walks(args, console)
    except ModelError as error:
        raise Failure(Exit.MODEL, str(error)) from None


def _suite(args: argparse.Namespace, console: Console) -> Exit:
    """Searches the model, chooses the traces, writes and reports them."""
    from reassure.checkers.analyses.suites.goals import States, Transitions
    from reassure.checkers.analyses.suites.report import exit_of, report_suite
    from reassure.checkers.analyses.suites.selection import select_mass, select_named
    from reassure.checkers.analyses.suites.suite import KeptSuite, SuiteName, meta_of, read_kept, write_suite
    from reassure.checkers.engines.native.state_graph import explore

    args.cover = args.cover or "actions"
    if (args.cover == "classes") != (args.by is not None):
        raise Failure(Exit.USAGE, "--cover classes and --by EXPRESSION go together")
    must_be_writable(args.out / "suite", "--out")
    if args.keep is not None and not args.keep.is_dir():
        raise Failure(Exit.USAGE, f"--keep {args.keep}: there is no such folder")
    bound, lowered, sha = prepare(args.model, args.set)
    if args.cover == "covers" and not bound.covers:
        raise Failure(Exit.NOTHING, f"{bound.model.name} has no cover that applies to this configuration")
    options = SearchOptions(budget=args.budget, memory=args.memory, workers=args.workers)
    wanted = {p.name for p in bound.covers} if args.cover == "covers" else set()
    progress = Progress(quiet=args.quiet)
    try:
        graph = explore(bound, lowered.only(lambda name: name in wanted), options, progress)
    finally:
        progress.done()
    criterion = args.cover if args.by is None else f"classes-{hashlib.sha256(args.by.encode()).hexdigest()[:8]}"
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
    length = [] if args.max_length is None else [f"--max-length={args.max_length}"]
    repro = shlex.join(["reassure", "traces", args.model, *(f"--set={s}" for s in args.set), f"--cover={args.cover}",
                        *([] if args.by is None else [f"--by={args.by}"]), *length, "--out=DIR"])  # fmt: skip
    meta = meta_of(bound, sha, args.model, own_file(args.model), repro)
    written = write_suite(args.out, name, graph, chosen, kept, meta, args.format == "steps")
    report_suite(graph, chosen, kept, written, console)
    return exit_of(graph, chosen, args.cover)


def _named_goals(args: argparse.Namespace, graph: StateGraph, options: SearchOptions, progress: Progress) -> NamedGoals:
    """The goals of a criterion of which each has a name; `Failure` for an expression that cannot be evaluated."""
    from reassure.checkers.analyses.suites.goals import Actions, Covers, Pairs
    from reassure.checkers.analyses.suites.outcome_goals import Classes, Outcomes

    try:
        if args.cover in ("guards", "branches"):
            return Outcomes(graph, {"guards": "guard", "branches": "branch"}[args.cover], options, progress)
        if args.cover == "classes":
            return Classes(graph, args.by, progress)
    except LanguageError as error:
        raise Failure(Exit.USAGE, str(error)) from None
    finally:
        progress.done()
    criteria: dict[str, Callable[[StateGraph], NamedGoals]] = {"actions": Actions, "pairs": Pairs, "covers": Covers}
    return criteria[args.cover](graph)


def _random_walks(args: argparse.Namespace, console: Console) -> Exit:
    from reassure.checkers.analyses.suites.random_traces import random_traces, write_random_traces
    from reassure.checkers.analyses.suites.suite import SuiteName, meta_of

    for option in ("cover", "by", "keep", "budget", "memory"):
        if getattr(args, option) is not None:
            raise Failure(Exit.USAGE, f"--{option} is not for random walks")
    must_be_writable(args.out / "suite", "--out")
    bound, sha = plain(args.model, args.set)
    length = args.max_length or WALK_LENGTH
    repro = shlex.join(["reassure", "traces", args.model, *(f"--set={s}" for s in args.set), f"--walks={args.walks}",
                        f"--seed={args.seed}", f"--max-length={length}", "--out=DIR"])  # fmt: skip
    meta = meta_of(bound, sha, args.model, own_file(args.model), repro)
    name = SuiteName(bound.model.name, tuple(args.set), f"walks-{args.seed}")
    traces = random_traces(bound, args.walks, length, args.seed)
    files, taken = write_random_traces(args.out, name, bound, traces, meta, args.format == "steps")
    console.print(f"{bound.model.name}: {len(files):,} random walks, seed {args.seed}, {sum(taken.values()):,} steps")
    for action, count in taken.items():
        console.print(f"  {action}: {count:,}", markup=False)
    console.print(f"{args.out / files[0]} to {files[-1]}", markup=False, soft_wrap=True)
    return Exit.OK
