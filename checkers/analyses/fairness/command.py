"""`reassure fairness`: which fairness the properties about whole runs need."""

from __future__ import annotations

import argparse
import shlex

from rich.console import Console

from reassure.checkers.base.argument_types import size
from reassure.checkers.base.atomic_files import write_atomically, write_record
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import config_values, own_file
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.prepare import must_match, prepare
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.trace_files import trace_stem
from reassure.checkers.console.arguments import common_options, thread_option
from reassure.checkers.console.files import name_traces, outputs_must_be_writable
from reassure.spec.semantics.interpreter import ModelError
from reassure.spec.semantics.trace import to_itf


def configure(parser: argparse.ArgumentParser) -> None:
    common_options(parser)
    thread_option(parser)
    parser.add_argument(
        "--memory",
        type=size,
        metavar="2G",
        help="stop before more memory is used, such as 512M or 2G (default: no limit)",
    )


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Drops and weakens each assumption in turn, and reports."""
    from reassure.checkers.analyses.fairness.analysis import analyse
    from reassure.checkers.analyses.fairness.report import exit_of, fairness_record, report_fairness

    outputs_must_be_writable(args)
    bound, lowered, sha = prepare(args.model, args.set)
    claims = [p.name for p in bound.properties if p.temporal]
    if not claims:
        raise Failure(Exit.NOTHING, f"{bound.model.name} has no property about whole runs that applies here")
    options = SearchOptions(args.property or claims, None, args.budget, args.memory, args.workers)
    must_match(bound, claims, options)
    progress = Progress(quiet=args.quiet)
    try:
        found = analyse(bound, lowered.only(options.wants), options, progress)
    except ModelError as error:
        raise Failure(Exit.MODEL, str(error)) from None
    finally:
        progress.done()
    repro = shlex.join(["reassure", "fairness", args.model, *(f"--set={s}" for s in args.set),
                        *(f"--property={p}" for p in args.property)])  # fmt: skip
    config = config_values(bound.config)
    written: dict[tuple[str, int], str] = {}
    for needs in found.properties:
        for number, weakening in enumerate(needs.weakenings):
            if weakening.trace is None:
                continue
            about = {"model": bound.model.name, "model_sha256": sha, "config": config, "property": needs.name}
            about |= {"model_file": args.model} if own_file(args.model) else {}
            kind = next(p.kind for p in bound.properties if p.name == needs.name)
            weakening.trace.meta |= {**about, "property_kind": kind, "engine": "fairness", "repro": repro}
            if args.trace_dir:
                stem = trace_stem(bound.model.name, args.set, f"{needs.name}-{number}", "fairness")
                path = args.trace_dir / f"{stem}.itf.json"
                write_atomically(path, to_itf(weakening.trace, bound))
                written[needs.name, number] = str(path)
    report_fairness(bound, found, console, stories=not args.quiet)
    name_traces(list(written.values()), console)
    if args.json:
        write_record(args.json, fairness_record((bound.model.name, sha, config, repro), found, written))
    return exit_of(found)
