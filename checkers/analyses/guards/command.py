"""`reassure guards`: which guards the properties depend on."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from reassure.checkers.base.atomic_files import write_atomically, write_record
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import config_values, own_file
from reassure.checkers.base.prepare import must_match, prepare
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import RAISES, PropertyResult, PropertyStatus
from reassure.checkers.base.run_identity import error_record, trace_stem
from reassure.checkers.base.shared_options import COMMON, MEMORY_OF_EACH, WORKERS
from reassure.checkers.base.stop import StopReason
from reassure.checkers.base.terminal import Console
from reassure.checkers.console.arguments import search_options
from reassure.checkers.console.files import name_traces
from reassure.checkers.console.gate_kind import Kind, verdict_figures
from reassure.checkers.traces.render import tell
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace, to_itf

OPTIONS = (*COMMON, WORKERS, MEMORY_OF_EACH)
FIGURES = ("load_bearing", "not_needed", "redundant", "raises", "bounding", "undecided")
KIND = Kind(FIGURES, lambda record: verdict_figures(record.get("guards", []), FIGURES))


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Searches without each guard in turn, and reports."""
    from reassure.checkers.analyses.guards.analysis import guards
    from reassure.checkers.analyses.guards.report import guards_record, report_guards

    prepared = prepare(args.model, args.set)
    bound, sha = prepared.bound, prepared.sha256
    options = search_options(args)
    weighed = [p.name for p in bound.properties if not p.temporal] + ["deadlock"] * bound.model.deadlock
    must_match(bound, weighed, options)
    progress = Progress(quiet=args.quiet)
    try:
        found, base, early = guards(bound, sha, options, progress)
    finally:
        progress.done()
    if base.raised is not None:
        return _report_raised(
            base.raised, bound, (bound.model.name, sha, config_values(bound.config), args.repro), args, console
        )
    if not found:
        raise Failure(Exit.NOTHING, f"{bound.model.name} has no guards")
    code = Exit.INCONCLUSIVE if early or any(g.verdict == "undecided" for g in found) else Exit.OK
    report_guards(bound, found, base, early, console)
    written = {}
    for number, guard in enumerate(found):
        if args.trace_dir and guard.trace is not None:
            guard.trace.meta |= {"repro": args.repro} | ({"model_file": args.model} if own_file(args.model) else {})
            name = f"{guard.action.split(',')[0]}-{guard.line}-{number}"
            path = args.trace_dir / f"{trace_stem(bound.model.name, args.set, name, 'guards')}.itf.json"
            write_atomically(path, to_itf(guard.trace, bound))
            written[number] = str(path)
    name_traces(list(written.values()), console)
    if args.json:
        temporal = [p.name for p in bound.properties if p.temporal]
        about = (bound.model.name, sha, config_values(bound.config), args.repro)
        write_record(args.json, guards_record(code, early, about, found, written, temporal))
    return code


def _report_raised(
    raised: tuple[Trace, str],
    bound: BoundModel,
    about: tuple[str, str, dict[str, Any], str],
    args: argparse.Namespace,
    console: Console,
) -> Exit:
    """Tells and records how the model comes to raise with every guard in place; then no guard can be judged."""
    trace, text = raised
    trace.meta |= {"repro": about[3]} | ({"model_file": args.model} if own_file(args.model) else {})
    tell(trace, bound, console)
    path = None
    if args.trace_dir:
        path = args.trace_dir / f"{trace_stem(bound.model.name, args.set, RAISES, 'guards')}.itf.json"
        write_atomically(path, to_itf(trace, bound))
        name_traces([str(path)], console)
    if args.json:
        name, sha, config, repro = about
        finding = PropertyResult(RAISES, RAISES, PropertyStatus.RAISED, trace, len(trace), text)
        record = error_record(Exit.MODEL, text, name, repro)
        record |= {"stop_reason": StopReason.RAISED, "model_sha256": sha, "config": config, "engine": "guards"}
        record["properties"] = [finding.record(str(path) if path else None)]
        write_record(args.json, {**record, "guards": []})
    print(f"reassure: no guard was left out: with all of them {text}", file=sys.stderr)
    return Exit.MODEL
