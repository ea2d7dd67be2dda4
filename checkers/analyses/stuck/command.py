"""`reassure stuck`: states from which the goal of a leads-to is unreachable on every path."""

from __future__ import annotations

import argparse
from dataclasses import replace

from reassure.checkers.console.commands import SEARCH_FIGURES, GateKind
from reassure.checkers.console.parser import search_options
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import SearchOptions, positive
from reassure.checkers.request.prepare import Prepared, prepare
from reassure.checkers.request.shared_options import (
    BUDGET,
    MEMORY_OF_GRAPH,
    MODEL,
    OUTPUTS,
    PROPERTY,
    SET,
    WORKERS,
    Option,
)
from reassure.checkers.traces.format_value import NAME, NAMES, as_written, reachable

OPTIONS = (
    MODEL,
    SET,
    Option(
        "EXPRESSION",
        "Python over a state `s`, `c` is the configuration: from which states is none reachable of which it is true? "
        "(default: the goals of the properties)",
        nargs="?",
    ),
    replace(PROPERTY, help="only these properties; repeatable, * matches any letters (default: all)"),
    Option("--fair-only", "search paths of fair actions only: unfair ones need never occur", bool),
    Option("--limit N", "stop after expanding N states and the rest of their level (default: no limit)", positive),
    replace(BUDGET, help="stop the search after this time, such as 90s or 10m (default: no limit)"),
    MEMORY_OF_GRAPH,
    *OUTPUTS,
    WORKERS,
)
KIND = GateKind(SEARCH_FIGURES)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Analyses the state graph, reports, and writes what is asked for."""
    if args.expression is None:
        return _reported(prepare(args.model, args.set), search_options(args), args, console)
    if args.property:
        raise Failure(Exit.USAGE, "EXPRESSION is asked for in place of the properties: leave out --property")
    with reachable(args.expression) as claims:
        try:
            prepared = prepare(args.model, args.set, claims=claims)
        except Failure as failure:
            if (text := as_written(str(failure))) == str(failure):
                raise
            raise Failure(Exit.USAGE, f"{text}; {NAMES}" if "is not defined" in text else text) from None
        return _reported(prepared, search_options(args, properties=[NAME]), args, console)


def _reported(prepared: Prepared, options: SearchOptions, args: argparse.Namespace, console: Console) -> Exit:
    from reassure.checkers.analyses.stuck.analysis import analysed
    from reassure.checkers.analyses.stuck.report import stuck_report

    with Progress(quiet=args.quiet) as progress:
        analysis = analysed(prepared, options, args.limit, args.fair_only, args.repro, progress, args.expression or "")
    return stuck_report(prepared.bound, analysis).deliver(args, console)
