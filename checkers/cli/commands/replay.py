"""`reassure replay`: a trace executed in plain Python."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.cli.files import read_trace
from reassure.checkers.cli.parser import note
from reassure.checkers.traces.explain import shows
from reassure.checkers.traces.fairness import repeats, why_fair
from reassure.spec.semantics.trace import ReplayRefused, replay


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", type=Path, metavar="TRACE", help="an ITF file")
    parser.add_argument("--model", metavar="MODEL", help="another model than the trace names")


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Executes the trace; it must be accepted, and show what it was kept for."""
    trace, bound, changed = read_trace(args.trace, args.model)
    note(changed)
    try:
        replay(trace, bound)
    except ReplayRefused as refused:
        raise Failure(Exit.TRACE, f"{bound.model.name} does not accept {args.trace}: {refused}") from None
    steps = len(trace) - 1
    console.print(f"{bound.model.name} accepts the trace: {steps} step{'s' * (steps != 1)}", markup=False)
    if trace.loop is not None:
        for line in [repeats(trace), *why_fair(trace, bound)]:
            console.print(line, markup=False)
    name, kind = trace.meta.get("property"), trace.meta.get("property_kind")
    if not name:
        return Exit.OK
    if name not in {"deadlock", *(p.name for p in bound.model.properties)}:
        raise Failure(Exit.EXPECTATION, f"{bound.model.name} has no property {name}, which the trace is of")
    shown = shows(trace, bound)
    if shown is None:
        note(f"note: {bound.model.name} does not decide {name} here")
        return Exit.OK
    if kind == "deadlock":
        name, said = ("nothing", "is enabled") if shown else ("something", "is enabled")
    elif kind == "cover":
        said = "is reached" if shown else "is not reached"
    else:
        said = "is violated" if shown else "holds"
    where = "at its end" if trace.loop is None else "by this run" if shown else "in this run, or the run is not fair"
    console.print(f"{name} {said} {where}", markup=False)
    # The file claims a violation (or a goal) that is not there: not what it was kept for.
    return Exit.OK if shown else Exit.EXPECTATION
