"""`reassure diff`: what a change does to the behaviour of a model, and to its properties."""

from __future__ import annotations

import argparse
from dataclasses import replace

from reassure.checkers.analyses.diff.analysis import diff
from reassure.checkers.analyses.diff.report import answers, diff_report, property_changes
from reassure.checkers.check import CheckRequest
from reassure.checkers.check import run as check
from reassure.checkers.console.commands import GateKind
from reassure.checkers.console.parser import search_options
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import DEFAULT_ENGINE, SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import (
    BUDGET,
    MEMORY_OF_EACH,
    MODEL,
    OUTPUTS,
    SET,
    STORIES,
    WORKERS,
    Option,
)

OPTIONS = (
    replace(MODEL, help="a name (core), a path or a module"),
    Option("VARIANT", "the model to compare with it"),
    replace(SET, help="set a configuration value of both models, where both have it; repeatable"),
    Option(
        "--view NAME", "compare what this function of the state returns (default: states, or the fields that both have)"
    ),
    Option("--no-properties", "compare only states and steps", bool),
    replace(STORIES, help="print at most N traces (default: 2)", default=2),
    replace(BUDGET, help="stop each search after this time, such as 90s (default: no limit)"),
    MEMORY_OF_EACH,
    WORKERS,
    *OUTPUTS,
)
KIND = GateKind(models=("model", "variant"))


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Searches both, reports what differs, and writes what is asked for."""
    options = search_options(args)
    with Progress(quiet=args.quiet) as progress:
        difference = diff((args.model, args.variant), args.set, args.view, options, progress)
    changes = []
    if not args.no_properties:
        before, after = (_answers(one, options, Progress(quiet=args.quiet)) for one in difference.prepared)
        changes = property_changes(before, after)
    identities = [
        replace(RunIdentity.of(one, "diff", args.repro), settings=tuple(args.set)) for one in difference.prepared
    ]
    return diff_report(difference, changes, identities, args.stories).deliver(args, console)


def _answers(prepared: Prepared, options: SearchOptions, progress: Progress) -> dict[str, str]:
    """The answers to the properties and covers of a model; empty for one that declares none. Raises Ctrl-C again."""
    try:
        request = CheckRequest(prepared.source, list(prepared.settings), DEFAULT_ENGINE, options)
        result, _ = check(request, progress)
    except Failure as failure:
        if failure.code is Exit.NOTHING:
            return {}
        raise
    result.stopped.raise_interrupt()
    return answers(result)
