"""The report of `guards`."""

from __future__ import annotations

from reassure.checkers.analyses.guards.analysis import Guard, GuardAnalysis
from reassure.checkers.console.report import report_classes
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.machine.terminal import beyond_bounds, quantity, ways_out
from reassure.checkers.report.analysis_report import AnalysisReport, Row, Tone, signed, tally
from reassure.checkers.request.result import RAISES, PropertyResult, PropertyStatus, after
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.traces.render import in_a_row, tell
from reassure.spec.semantics.interpreter import BoundModel


def guards_report(identity: RunIdentity, bound: BoundModel, analysis: GuardAnalysis) -> AnalysisReport:
    """Every guard with its verdict. A guard without one, and steps beyond an undeclared bound, make it inconclusive."""
    if analysis.raised is not None:
        return _raised(identity, bound, analysis)
    states, steps, undeclared, found = 0, 0, 0, analysis.symmetry
    if analysis.base is not None:
        states, steps, undeclared = analysis.base.distinct, analysis.base.steps, analysis.base.stats.undeclared
    undecided = undeclared or any(g.verdict == "undecided" for g in analysis.guards)
    kinds = {p.name: p.kind for p in bound.properties}
    temporal = [p.name for p in bound.properties if p.temporal]
    violated = f"\nviolated with every guard: {', '.join(analysis.violated)}" if analysis.violated else ""
    needless = any(g.verdict == "not needed" for g in analysis.guards)
    remarks = [
        (tally(g.verdict for g in analysis.guards), Tone.PLAIN),
        ("not needed: without it no property is violated; a property may be missing" if needless else "", Tone.PLAIN),
        (f"not evaluated, since they are about whole runs: {', '.join(temporal)}" if temporal else "", Tone.PLAIN),
        ("" if analysis.complete else f"stopped because {analysis.stopped.text}", Tone.PLAIN),
        (beyond_bounds(undeclared) if undeclared else "", Tone.OPEN),
        *((line, Tone.PLAIN) for line in (ways_out() if undeclared else ())),
    ]
    return AnalysisReport(
        identity,
        Exit.OK if analysis.complete and not undecided else Exit.INCONCLUSIVE,
        analysis.complete,
        analysis.stopped,
        f"{bound.model.name}: {quantity(states, 'state')}, {quantity(steps, 'step')}{violated}",
        [_row(g, kinds, identity, bound) for g in analysis.guards],
        lambda rows: {"guards": rows, "not_checked": temporal} | ({"symmetry": found} if found else {}),
        [(text, tone) for text, tone in remarks if text],
        lambda console: report_classes(found, console) if found else None,
    )


def _row(g: Guard, kinds: dict[str, str], identity: RunIdentity, bound: BoundModel) -> Row:
    """One guard. kinds: of the properties, by name."""
    note = g.note
    if g.depth is not None:
        note = f"{', '.join(g.falls)} violated {after(g.depth, '')}{f'; {note}' if note else ''}"
    write = None
    if g.trace is not None:
        stem = f"{g.action.split(',')[0]}-{g.line}-{g.number}"
        write = signed(identity, bound, g.trace, (g.falls[0], kinds.get(g.falls[0], "deadlock")), stem)
    return Row(
        g.text,
        g.verdict,
        Tone.GOOD if g.verdict == "load-bearing" else Tone.OPEN,
        g.action,
        f": {note}" if note else "",
        in_a_row(g.trace.steps[1:]) if g.trace is not None else (),
        {
            "action": g.action,
            "text": g.text,
            "file": g.file,
            "line": g.line,
            "verdict": g.verdict,
            "falls": list(g.falls),
            "depth": g.depth,
            "note": g.note,
            "trace": None,
        },
        write,
    )


def _raised(identity: RunIdentity, bound: BoundModel, analysis: GuardAnalysis) -> AnalysisReport:
    """The run by which the model raises with every guard in place; then no guard can be judged."""
    assert analysis.raised is not None
    trace, text = analysis.raised
    write = signed(identity, bound, trace, (RAISES, RAISES), RAISES)
    finding = PropertyResult(RAISES, RAISES, PropertyStatus.RAISED, trace, len(trace), text).record(None)
    return AnalysisReport(
        identity,
        Exit.MODEL,
        False,
        Stop(StopReason.RAISED, text),
        f"{bound.model.name}: no guard was left out: with all of them {text}",
        [Row(RAISES, "raised", Tone.BAD, data=dict(finding), write=write)],
        lambda rows: {"properties": rows, "guards": []},
        tell=lambda console: tell(trace, bound, console),
    )
