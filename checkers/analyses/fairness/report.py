"""The report of `fairness`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from rich.text import Text

from reassure.checkers.analyses.fairness.analysis import FairnessAnalysis, Need, PropertyNeeds, Suggestion
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import beyond_bounds, quantity, ways_out
from reassure.checkers.report.analysis_report import AnalysisReport, Row, RowRecord, Tone, signed
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.traces.fairness import as_data, repeats
from reassure.checkers.traces.render import ROW, in_a_row
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import assumptions_of

RESTS = ": without it a fair run would violate the property if steps beyond the bounds were disabled"


def _exit_of(analysis: FairnessAnalysis) -> Exit:
    """The exit code: the most severe of those of the properties; 5 after Ctrl-C."""
    codes = [Exit.OK] if analysis.complete and not analysis.undeclared else [Exit.INCONCLUSIVE]
    for p in analysis.properties:
        codes += [Exit.LIVENESS] if p.holds is False else []
        codes += [Exit.VACUOUS] if p.vacuous and analysis.complete else []
        codes += [Exit.INCONCLUSIVE] if any(w.need is Need.UNDECIDED for w in p.weakenings) else []
    return analysis.stopped.exit_of_several(codes)


def _verdict(p: PropertyNeeds, clipped: int, declared: bool) -> tuple[str, str]:
    """The answer to a property in words, and its style. declared: whether some action is fair."""
    if p.holds is None:
        return "undecided", "yellow"
    if p.vacuous:
        return f"vacuous: {p.vacuous}", "yellow"
    if not p.holds and not declared:
        return "violated, and no action is declared fair: `reassure check` shows the run", "bold red"
    if not p.holds:
        return "violated with every assumption as declared: `reassure check` shows the run", "bold red"
    if p.beyond:
        return f"holds within bounds ({p.beyond})", "green"
    return "holds within bounds" if clipped else "holds", "green"


def _suggestion(found: Suggestion) -> str:
    """The assumptions that would do, in words."""
    if found.enough is not None:
        beyond = f" ({found.beyond})" if found.beyond else ""
        return f"it would hold with {', '.join(map(str, found.enough))}{beyond}"
    if found.beyond:
        return f"the fairness that was tried is of no use: {found.beyond}"
    return "strong fairness of every action, each as a whole, is not enough"


def fairness_report(
    identity: RunIdentity, bound: BoundModel, analysis: FairnessAnalysis, stories: bool = True
) -> AnalysisReport:
    """Every property with its assumptions, and whether it needs each of them. stories: with the runs."""
    remarks = [] if analysis.complete else [(f"stopped because {analysis.stopped.text}", Tone.PLAIN)]
    if analysis.undeclared:
        remarks.append(("\n" * len(remarks) + beyond_bounds(analysis.undeclared), Tone.OPEN))
        remarks += [(line, Tone.PLAIN) for line in ways_out()]
    return AnalysisReport(
        identity,
        _exit_of(analysis),
        analysis.complete,
        analysis.stopped,
        f"{bound.model.name}: {quantity(analysis.states, 'state')}",
        [row for p in analysis.properties for row in _rows(p, analysis.clipped, identity, bound, stories)],
        lambda rows: {"fairness": _nested(analysis.properties, iter(rows))},
        remarks,
    )


def _rows(p: PropertyNeeds, clipped: int, identity: RunIdentity, bound: BoundModel, stories: bool) -> Iterator[Row]:
    """The lines of a property; those of its weakenings have a record."""
    text, style = _verdict(p, clipped, bool(assumptions_of(bound.model)))
    group = Text.assemble((f"{p.name}  ", "bold"), (text, style))
    yield Row("", group=group)
    last = None
    for number, w in enumerate(p.weakenings):
        if w.assumption != last:
            yield Row(str(last := w.assumption), group=group)
        path, write = [], None
        if w.trace is not None:
            path = [*in_a_row([*w.trace.steps[1:], *filter(None, [w.trace.closing])]), repeats(w.trace)]
            kind = next(one.kind for one in bound.properties if one.name == p.name)
            write = signed(identity, bound, w.trace, (p.name, kind), f"{p.name}-{number}")
        note = f": {'; '.join(path)}" if path and stories else ""
        note, path = (note, []) if len(note) <= ROW else ("", path)
        note = RESTS if w.rests else note
        data = {
            "assumption": as_data({w.assumption.action: w.assumption})[0],
            "instead": as_data({w.instead.action: w.instead})[0] if w.instead else None,
            "verdict": w.need,
            "trace": None,
        }
        tone = Tone.GOOD if w.need is Need.NEEDED else Tone.OPEN
        yield Row(f"  {w.words}", w.need, tone, group, note, path, data, write)
    if p.enough is not None:
        enough = ", ".join(str(a) for a in p.enough) or "no fairness at all"
        yield Row(f"sufficient together: {enough}", group=group)
    elif p.holds and p.premise is not None and p.premise.rests_on_a_bound:
        yield Row("sufficient together: only while steps beyond the bounds count as enabled", group=group)
    if p.suggestion is not None:
        yield Row(_suggestion(p.suggestion), group=group)


def _nested(properties: Sequence[PropertyNeeds], rows: Iterator[RowRecord]) -> list[dict[str, object]]:
    """The record of each property. rows: of the weakenings of all."""
    return [
        {
            "property": p.name,
            "holds": p.holds,
            "weakenings": list(islice(rows, len(p.weakenings))),
            "enough": None if p.enough is None else as_data({a.action: a for a in p.enough}),
            **({} if p.premise is None else {"premise": p.premise.record()}),
            **({} if p.suggestion is None else {"suggestion": _suggestion_record(p.suggestion)}),
        }
        for p in properties
    ]


def _suggestion_record(found: Suggestion) -> dict[str, object]:
    enough = None if found.enough is None else as_data({a.action: a for a in found.enough})
    return {"enough": enough, "beyond": found.beyond}
