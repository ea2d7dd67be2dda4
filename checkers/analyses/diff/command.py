"""`reassure diff`: what a change does to the behaviour of a model, and to its properties."""

from __future__ import annotations

import argparse
import shlex

from rich.console import Console

from reassure.checkers.analyses.diff.analysis import diff
from reassure.checkers.analyses.diff.report import answers, diff_record, property_changes, report_diff
from reassure.checkers.base.argument_types import duration, size, whole
from reassure.checkers.base.atomic_files import write_atomically, write_record
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.trace_files import trace_stem
from reassure.checkers.check import DEFAULT_ENGINE, CheckRequest
from reassure.checkers.check import run as check
from reassure.checkers.console.arguments import output_options, thread_option
from reassure.checkers.console.files import name_traces, outputs_must_be_writable
from reassure.spec.semantics.trace import to_itf


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a name (kraft), a path or a module")
    parser.add_argument("variant", metavar="VARIANT", help="the model to compare with it")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a configuration value of both models, where both have it; repeatable",
    )
    parser.add_argument(
        "--view",
        metavar="NAME",
        help="compare what this function of the state returns (default: states, or the fields that both have)",
    )
    parser.add_argument("--no-properties", action="store_true", help="compare only states and steps")
    parser.add_argument("--stories", type=whole, default=2, metavar="N", help="print at most N traces (default: 2)")
    parser.add_argument(
        "--budget",
        type=duration,
        metavar="60s",
        help="stop each search after this time, such as 90s (default: no limit)",
    )
    parser.add_argument(
        "--memory",
        type=size,
        metavar="2G",
        help="stop each search before it uses more memory, such as 2G (default: no limit)",
    )
    thread_option(parser)
    output_options(parser)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Searches both, reports what differs, and writes what is asked for."""
    outputs_must_be_writable(args)
    options = SearchOptions([], None, args.budget, args.memory, args.workers)
    found = diff((args.model, args.variant), args.set, args.view, options, Progress(quiet=args.quiet))
    changes = []
    if not args.no_properties:
        before, after = (
            _answers(model, mine, options, Progress(quiet=args.quiet))
            for model, mine in zip(found.models, found.settings, strict=True)
        )
        changes = property_changes(before, after)
    words = ["reassure", "diff", args.model, args.variant, *(f"--set={s}" for s in args.set)]
    repro = shlex.join([*words, *([f"--view={args.view}"] if args.view else [])])
    written = []
    for side, what, trace in found.traces:
        trace.meta["repro"] = repro
        if args.trace_dir:
            other = found.labels[1 - side].replace("/", "-")
            name = f"not-in-{other}--{what.replace(' ', '-')}"
            path = args.trace_dir / f"{trace_stem(found.sides[side].bound.model.name, args.set, name, 'diff')}.itf.json"
            write_atomically(path, to_itf(trace, found.sides[side].bound))
            written.append(str(path))
    report_diff(found, changes, console, 0 if args.quiet else args.stories, repro)
    name_traces(written, console)
    if args.json:
        write_record(args.json, diff_record(found, changes, repro, written))
    return found.exit


def _answers(model: str, settings: list[str], options: SearchOptions, progress: Progress) -> dict[str, str]:
    """What is true of each property and cover of a model; nothing of one that declares none."""
    try:
        result, _ = check(CheckRequest(model, settings, DEFAULT_ENGINE, options), progress)
    except Failure as failure:
        if failure.code is Exit.NOTHING:
            return {}
        raise
    return answers(result)
