"""`reassure stuck`: states from which the goal of a leads-to is unreachable on every path."""

from __future__ import annotations

import argparse

from rich.console import Console

from reassure.checkers.base.argument_types import positive
from reassure.checkers.base.atomic_files import write_record
from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.trace_files import write_traces
from reassure.checkers.console.arguments import model_argument, output_options
from reassure.checkers.console.files import name_traces, outputs_must_be_writable


def configure(parser: argparse.ArgumentParser) -> None:
    model_argument(parser)
    parser.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME",
        help="only these properties; repeatable, * matches any letters (default: all)",
    )
    parser.add_argument(
        "--fair-only", action="store_true", help="search paths of fair actions only: unfair ones need never occur"
    )
    parser.add_argument("--limit", type=positive, metavar="N", help="stop after expanding N states (default: no limit)")
    output_options(parser)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Analyses the state graph, reports, and writes what is asked for."""
    from reassure.checkers.analyses.stuck.analysis import analysed

    outputs_must_be_writable(args)
    progress = Progress(quiet=args.quiet)
    found = analysed(args.model, args.set, args.property, args.limit, args.fair_only, progress)
    written = write_traces(found.verdict, found.bound, args.trace_dir) if args.trace_dir else {}
    if args.json:
        write_record(args.json, found.record(written))
    found.report(console, stories=not args.quiet)
    name_traces(list(written.values()), console)
    return found.exit
