"""`reassure guards`: which guards the properties depend on."""

from __future__ import annotations

import argparse
import sys

from reassure.checkers.console.arguments import search_options
from reassure.checkers.console.files import name_traces
from reassure.checkers.console.gate_kind import GateKind, verdict_figures
from reassure.checkers.machine.atomic_files import write_record
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.prepare import must_match, prepare
from reassure.checkers.request.result import RAISES, PropertyResult, PropertyStatus
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import EXACT_SYMMETRY, MEMORY_OF_EACH, WORKERS, common
from reassure.checkers.traces.render import tell
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

OPTIONS = (
    *common("weigh only these properties of states and steps, or deadlock"),
    WORKERS,
    MEMORY_OF_EACH,
    EXACT_SYMMETRY,
)
FIGURES = ("load_bearing", "not_needed", "redundant", "raises", "bounding", "undecided")
KIND = GateKind(FIGURES, lambda record: verdict_figures(record.get("guards", []), FIGURES))


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Searches without each guard in turn, and reports."""
    from reassure.checkers.analyses.guards.analysis import guards
    from reassure.checkers.analyses.guards.report import exit_of, guards_record, report_guards

    prepared = prepare(args.model, args.set)
    bound, options = prepared.bound, search_options(args)
    weighed = [p.name for p in bound.properties if not p.temporal] + ["deadlock"] * bound.model.deadlock
    must_match(bound, weighed, options)
    with Progress(quiet=args.quiet) as progress:
        analysis = guards(bound, options, progress)
    identity = RunIdentity.of(prepared, "guards", args.repro)
    if analysis.raised is not None:
        return _report_raised(analysis.raised, identity, bound, args, console)
    if not analysis.guards:
        raise Failure(Exit.NOTHING, f"{bound.model.name} has no guards")
    report_guards(bound, analysis, console)
    kinds, files = {p.name: p.kind for p in bound.properties}, {}
    for number, guard in enumerate(analysis.guards):
        if args.trace_dir and guard.trace is not None:
            identity.sign(guard.trace, guard.falls[0], kinds.get(guard.falls[0], "deadlock"))
            name = f"{guard.action.split(',')[0]}-{guard.line}-{number}"
            files[number] = identity.write_trace(args.trace_dir, name, guard.trace, bound, "guards")
    name_traces(list(files.values()), console)
    write_record(args.json, guards_record(identity, bound, analysis, files))
    return exit_of(analysis)


def _report_raised(
    raised: tuple[Trace, str], identity: RunIdentity, bound: BoundModel, args: argparse.Namespace, console: Console
) -> Exit:
    """Prints and records the run by which the model raises with every guard in place; then no guard can be judged."""
    trace, text = raised
    identity.sign(trace, RAISES, RAISES)
    tell(trace, bound, console)
    file = identity.write_trace(args.trace_dir, RAISES, trace, bound, "guards") if args.trace_dir else None
    name_traces([file] if file else [], console)
    finding = PropertyResult(RAISES, RAISES, PropertyStatus.RAISED, trace, len(trace), text)
    record = identity.record(Exit.MODEL, False, Stop(StopReason.RAISED, text))
    write_record(args.json, {**record, "properties": [finding.record(file)], "guards": []})
    print(f"reassure: no guard was left out: with all of them {text}", file=sys.stderr)
    return Exit.MODEL
