"""The printed report and the run record of `guards`."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from reassure.checkers.analyses.guards.analysis import GuardAnalysis
from reassure.checkers.console.report import report_classes
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console, beyond_bounds, counted
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.traces.render import in_a_row
from reassure.spec.semantics.interpreter import BoundModel


def exit_of(analysis: GuardAnalysis) -> Exit:
    """The exit code: a guard without a verdict makes it inconclusive, and steps that leave an undeclared bound."""
    undecided = any(g.verdict == "undecided" for g in analysis.guards) or _undeclared(analysis)
    return Exit.OK if analysis.complete and not undecided else Exit.INCONCLUSIVE


def _undeclared(analysis: GuardAnalysis) -> int:
    """Steps, with every guard, that leave a bound which the model does not declare."""
    return analysis.base.stats.undeclared if analysis.base is not None else 0


def report_guards(bound: BoundModel, analysis: GuardAnalysis, console: Console) -> None:
    """Prints every guard with its verdict."""
    states, steps = (analysis.base.distinct, analysis.base.steps) if analysis.base else (0, 0)
    console.print(f"{bound.model.name}: {counted(states, 'state')}, {counted(steps, 'step')}", style="bold")
    if analysis.symmetry:
        report_classes(analysis.symmetry, console)
    if analysis.violated:
        console.print(f"violated with every guard: {', '.join(analysis.violated)}", style="yellow")
    last = ""
    for g in analysis.guards:
        if g.action != last:
            console.print(f"\n{g.action}", style="bold")
            last = g.action
        row = Text(f"  {g.text}")
        row.append("\n    ")
        row.append(g.verdict, style="green" if g.verdict == "load-bearing" else "yellow")
        if g.falls and g.depth is not None:
            row.append(f": {', '.join(g.falls)}, trace of {counted(g.depth, 'state')}")
            if g.trace is not None:
                for line in in_a_row(g.trace.steps[1:]):
                    row.append(f"\n      {line}", style="dim")
            elif g.note:
                row.append(f"; {g.note}")
        elif g.note:
            row.append(f": {g.note}")
        console.print(row)
    verdicts = [g.verdict for g in analysis.guards]
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
    console.print("\n" + ", ".join(f"{n} {verdict}" for verdict, n in counts.items()))
    if counts.get("not needed"):
        console.print("not needed: without it no property is violated; a property may be missing")
    if temporal := [p.name for p in bound.properties if p.temporal]:
        console.print(f"not evaluated, since they are about whole runs: {', '.join(temporal)}")
    if not analysis.complete:
        console.print(f"stopped because {analysis.stopped.text}")
    if undeclared := _undeclared(analysis):
        console.print(beyond_bounds(undeclared), style="yellow")


def guards_record(
    identity: RunIdentity, bound: BoundModel, analysis: GuardAnalysis, traces: dict[int, str]
) -> dict[str, Any]:
    """The run record of `guards`. traces: files by the number of the guard."""
    return {
        **identity.record(exit_of(analysis), analysis.complete, analysis.stopped),
        "guards": [
            {
                "action": g.action,
                "text": g.text,
                "file": g.file,
                "line": g.line,
                "verdict": g.verdict,
                "falls": list(g.falls),
                "depth": g.depth,
                "note": g.note,
                "trace": traces.get(number),
            }
            for number, g in enumerate(analysis.guards)
        ],
        "not_checked": [p.name for p in bound.properties if p.temporal],
        **({"symmetry": analysis.symmetry} if analysis.symmetry else {}),
    }
