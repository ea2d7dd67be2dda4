"""The printed report and the run record of `fairness`."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from reassure.checkers.analyses.fairness.analysis import FairnessAnalysis, Need, PropertyNeeds, Suggestion
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console, beyond_bounds, counted
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.traces.fairness import as_data, repeats
from reassure.checkers.traces.render import ROW, in_a_row
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import assumptions_of


def exit_of(analysis: FairnessAnalysis) -> Exit:
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
        return f"fairness of its actions is of no use: {found.beyond}"
    return "strong fairness of every action, each as a whole, is not enough"


def report_fairness(bound: BoundModel, analysis: FairnessAnalysis, console: Console, stories: bool) -> None:
    """Prints whether each assumption is needed."""
    console.print(f"{bound.model.name}: {counted(analysis.states, 'state')}", style="bold")
    for p in analysis.properties:
        text, style = _verdict(p, analysis.clipped, bool(assumptions_of(bound.model)))
        row = Text(f"\n{p.name}  ", style="bold")
        row.append(text, style=style)
        console.print(row)
        last = None
        width = max((len(w.words) for w in p.weakenings), default=0)
        for w in p.weakenings:
            if w.assumption != last:
                console.print(f"  {w.assumption}")
                last = w.assumption
            line = Text(f"    {w.words:{width}}  ")
            line.append(w.need, style="green" if w.need is Need.NEEDED else "yellow")
            if w.trace is not None and stories:
                steps = [*w.trace.steps[1:], *([w.trace.closing] if w.trace.closing else [])]
                path = [*in_a_row(steps), repeats(w.trace)]
                text = f": {'; '.join(path)}"
                line.append(text if len(text) <= ROW else "\n      ".join(["", *path]), style="dim")
            console.print(line)
        if p.enough is not None:
            enough = ", ".join(str(a) for a in p.enough) or "no fairness at all"
            console.print(f"  sufficient together: {enough}")
        if p.suggestion is not None:
            console.print(f"  {_suggestion(p.suggestion)}")
    if not analysis.complete:
        console.print(f"\nstopped because {analysis.stopped.text}")
    if analysis.undeclared:
        console.print(f"\n{beyond_bounds(analysis.undeclared)}", style="yellow")


def fairness_record(
    identity: RunIdentity, analysis: FairnessAnalysis, traces: dict[tuple[str, int], str]
) -> dict[str, Any]:
    """The run record of `fairness`. traces: files by property and number of the weakening."""
    return {
        **identity.record(exit_of(analysis), analysis.complete, analysis.stopped),
        "fairness": [
            {
                "property": p.name,
                "holds": p.holds,
                "weakenings": [
                    {
                        "assumption": as_data({w.assumption.action: w.assumption})[0],
                        "instead": as_data({w.instead.action: w.instead})[0] if w.instead else None,
                        "verdict": w.need,
                        "trace": traces.get((p.name, number)),
                    }
                    for number, w in enumerate(p.weakenings)
                ],
                "enough": None if p.enough is None else as_data({a.action: a for a in p.enough}),
                **({} if p.premise is None else {"premise": p.premise.record()}),
                **({} if p.suggestion is None else {"suggestion": _suggestion_record(p.suggestion)}),
            }
            for p in analysis.properties
        ],
    }


def _suggestion_record(found: Suggestion) -> dict[str, Any]:
    enough = None if found.enough is None else as_data({a.action: a for a in found.enough})
    return {"enough": enough, "beyond": found.beyond}
