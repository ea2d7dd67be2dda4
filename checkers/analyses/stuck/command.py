"""`reassure stuck`: states from which the goal of a leads-to is unreachable on every path."""

from __future__ import annotations

import argparse
from dataclasses import replace

from reassure.checkers.base.argument_types import positive
from reassure.checkers.base.atomic_files import write_record
from reassure.checkers.base.declared import Option
from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.shared_options import MODEL, OUTPUTS, PROPERTY, SET
from reassure.checkers.base.terminal import Console
from reassure.checkers.console.files import name_traces
from reassure.checkers.console.gate_kind import SEARCH_FIGURES, Kind

OPTIONS = (
    MODEL,
    SET,
    replace(PROPERTY, help="only these properties; repeatable, * matches any letters (default: all)"),
    Option("--fair-only", "search paths of fair actions only: unfair ones need never occur", bool),
    Option("--limit N", "stop after expanding N states (default: 200,000)", positive),
    *OUTPUTS,
)
KIND = Kind(SEARCH_FIGURES)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Analyses the state graph, reports, and writes what is asked for."""
    from reassure.checkers.analyses.stuck.analysis import analysed

    progress = Progress(quiet=args.quiet)
    found = analysed(args.model, args.set, args.property, args.limit, args.fair_only, args.repro, progress)
    written = found.verdict.write_traces(args.trace_dir, found.bound) if args.trace_dir else {}
    if args.json:
        write_record(args.json, found.record(written))
    found.report(console, stories=not args.quiet)
    name_traces(list(written.values()), console)
    return found.exit
