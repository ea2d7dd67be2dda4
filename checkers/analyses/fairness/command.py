"""`reassure fairness`: which fairness the properties about whole runs need."""

from __future__ import annotations

import argparse

from reassure.checkers.console.commands import GateKind, Record, verdict_figures
from reassure.checkers.console.parser import search_options
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.prepare import must_match, prepare
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import MEMORY, WORKERS, common

OPTIONS = (*common("weigh only these properties of whole runs"), WORKERS, MEMORY)
FIGURES = ("needed", "not_needed", "undecided")


def _figures(record: Record) -> dict[str, int]:
    """The numbers of weakenings of assumptions by verdict."""
    return verdict_figures([w for p in record.get("fairness", []) for w in p["weakenings"]], FIGURES)


KIND = GateKind(FIGURES, _figures)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Drops and weakens each assumption in turn, and reports."""
    from reassure.checkers.analyses.fairness.analysis import analyse
    from reassure.checkers.analyses.fairness.report import fairness_report

    prepared = prepare(args.model, args.set)
    bound = prepared.bound
    claims = [p.name for p in bound.properties if p.temporal]
    if not claims:
        raise Failure(Exit.NOTHING, f"{bound.model.name} has no property about whole runs that applies here")
    options = search_options(args, properties=args.property or claims)
    must_match(bound, claims, options)
    with Progress(quiet=args.quiet) as progress:
        analysis = analyse(bound, prepared.lowered.only(options.wants), options, progress)
    identity = RunIdentity.of(prepared, "fairness", args.repro)
    return fairness_report(identity, bound, analysis, not args.quiet).deliver(args, console)
