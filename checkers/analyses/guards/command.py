"""`reassure guards`: which guards the properties depend on."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from reassure.checkers.console.parser import search_options
from reassure.checkers.machine.exit_codes import Exit, Failure, UsageFailure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from reassure.checkers.report.analysis_report import rows_in_gate
from reassure.checkers.request.prepare import must_match, prepare
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import EXACT_SYMMETRY, MEMORY_OF_EACH, WORKERS, Option, common

OPTIONS = (
    *common("weigh only these properties of states and steps, or deadlock"),
    Option("--action NAME", "guards of this action; repeatable", repeatable=True),
    Option("--at FILE:LINE", "guards of this line; repeatable", repeatable=True),
    WORKERS,
    MEMORY_OF_EACH,
    EXACT_SYMMETRY,
)
KIND = rows_in_gate("guards", ("load_bearing", "not_needed", "redundant", "raises", "bounding", "undecided"))


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Searches without each guard in turn, and reports."""
    from reassure.checkers.analyses.guards.analysis import GuardChoice, guards
    from reassure.checkers.analyses.guards.report import guards_report

    prepared = prepare(args.model, args.set)
    bound, options = prepared.bound, search_options(args)
    weighed = [p.name for p in bound.properties if not p.temporal] + ["deadlock"] * bound.model.deadlock
    must_match(bound, weighed, options)
    places = tuple(map(_place, args.at))
    with Progress(quiet=args.quiet) as progress:
        analysis = guards(bound, options, progress, GuardChoice(tuple(args.action), places))
    if analysis.raised is None and not analysis.guards:
        raise Failure(Exit.NOTHING, f"{bound.model.name} has no guards")
    return guards_report(RunIdentity.of(prepared, "guards", args.repro), bound, analysis).deliver(args, console)


def _place(text: str) -> tuple[Path, int]:
    """The file and the line of `FILE:LINE`."""
    if re.fullmatch(r".+:[0-9]{1,9}", text) is None:
        raise UsageFailure(f"--at {text!r}: it is FILE:LINE, such as my_idea.py:14")
    file, _, line = text.rpartition(":")
    return Path(file), int(line)
