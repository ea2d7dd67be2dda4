"""`reassure fairness`: which fairness the properties about whole runs need."""

from __future__ import annotations

import argparse

from reassure.checkers.base.atomic_files import write_atomically, write_record
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import config_values, own_file
from reassure.checkers.base.prepare import must_match, prepare
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.run_identity import trace_stem
from reassure.checkers.base.shared_options import COMMON, MEMORY, WORKERS
from reassure.checkers.base.terminal import Console
from reassure.checkers.console.arguments import search_options
from reassure.checkers.console.files import name_traces
from reassure.checkers.console.gate_kind import Kind, Record, verdict_figures
from reassure.spec.semantics.interpreter import ModelError
from reassure.spec.semantics.trace import to_itf

OPTIONS = (*COMMON, WORKERS, MEMORY)
FIGURES = ("needed", "not_needed", "undecided")


def _figures(record: Record) -> dict[str, int]:
    """How many weakenings of assumptions are of each verdict."""
    return verdict_figures([w for p in record.get("fairness", []) for w in p["weakenings"]], FIGURES)


KIND = Kind(FIGURES, _figures)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Drops and weakens each assumption in turn, and reports."""
    from reassure.checkers.analyses.fairness.analysis import analyse
    from reassure.checkers.analyses.fairness.report import exit_of, fairness_record, report_fairness

    prepared = prepare(args.model, args.set)
    bound, lowered, sha = prepared.bound, prepared.lowered, prepared.sha256
    claims = [p.name for p in bound.properties if p.temporal]
    if not claims:
        raise Failure(Exit.NOTHING, f"{bound.model.name} has no property about whole runs that applies here")
    options = search_options(args, properties=args.property or claims)
    must_match(bound, claims, options)
    progress = Progress(quiet=args.quiet)
    try:
        found = analyse(bound, lowered.only(options.wants), options, progress)
    except ModelError as error:
        raise Failure(Exit.MODEL, str(error)) from None
    finally:
        progress.done()
    config = config_values(bound.config)
    written: dict[tuple[str, int], str] = {}
    for needs in found.properties:
        for number, weakening in enumerate(needs.weakenings):
            if weakening.trace is None:
                continue
            about = {"model": bound.model.name, "model_sha256": sha, "config": config, "property": needs.name}
            about |= {"model_file": args.model} if own_file(args.model) else {}
            kind = next(p.kind for p in bound.properties if p.name == needs.name)
            weakening.trace.meta |= {**about, "property_kind": kind, "engine": "fairness", "repro": args.repro}
            if args.trace_dir:
                stem = trace_stem(bound.model.name, args.set, f"{needs.name}-{number}", "fairness")
                path = args.trace_dir / f"{stem}.itf.json"
                write_atomically(path, to_itf(weakening.trace, bound))
                written[needs.name, number] = str(path)
    report_fairness(bound, found, console, stories=not args.quiet)
    name_traces(list(written.values()), console)
    if args.json:
        write_record(args.json, fairness_record((bound.model.name, sha, config, args.repro), found, written))
    return exit_of(found)
