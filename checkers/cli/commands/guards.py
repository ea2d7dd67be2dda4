"""`reassure guards`: which guards the properties depend on."""

from __future__ import annotations

import argparse
import shlex

from rich.console import Console

from reassure.checkers.base.argument_types import size
from reassure.checkers.base.atomic_files import write_atomically, write_record
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import config_values
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.prepare import must_match, prepare
from reassure.checkers.base.progress import Progress
from reassure.checkers.cli.files import name_traces, outputs_must_be_writable
from reassure.checkers.cli.parser import common_options, thread_option
from reassure.spec.semantics.interpreter import ModelError
from reassure.spec.semantics.trace import to_itf


def configure(parser: argparse.ArgumentParser) -> None:
    common_options(parser)
    thread_option(parser)
    parser.add_argument("--memory", type=size, metavar="2G", help="stop a search before using more memory")


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Searches without each guard in turn, and reports."""
    from reassure.checkers.cli.report import guards_record, report_guards
    from reassure.checkers.native.guard_analysis import guards

    outputs_must_be_writable(args)
    bound, lowered, sha = prepare(args.model, args.set)
    options = SearchOptions(args.property, None, args.budget, args.memory, args.workers)
    weighed = [p.name for p in bound.properties if not p.temporal] + ["deadlock"] * bound.model.deadlock
    must_match(bound, weighed, options)
    progress = Progress(quiet=args.quiet)
    try:
        found, base, early = guards(bound, lowered, sha, options, progress)
    except ModelError as error:
        raise Failure(Exit.MODEL, str(error)) from None
    finally:
        progress.done()
    if not found:
        raise Failure(Exit.NOTHING, f"{bound.model.name} has no guards")
    code = Exit.INCONCLUSIVE if early or any(g.verdict == "undecided" for g in found) else Exit.OK
    report_guards(bound, found, base, early, console)
    written = {}
    for number, guard in enumerate(found):
        if args.trace_dir and guard.trace is not None:
            path = args.trace_dir / f"{bound.model.name}--{guard.action.split(',')[0]}-{guard.line}-{number}.itf.json"
            write_atomically(path, to_itf(guard.trace, bound))
            written[number] = str(path)
    name_traces(list(written.values()), console)
    if args.json:
        repro = shlex.join(["reassure", "guards", args.model, *(f"--set={s}" for s in args.set)])
        temporal = [p.name for p in bound.properties if p.temporal]
        about = (bound.model.name, sha, config_values(bound.config), repro)
        write_record(args.json, guards_record(code, early, about, found, written, temporal))
    return code
