"""What `fairness` prints and records."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from reassure.checkers.analyses.fairness.analysis import Analysis, Need, PropertyNeeds
from reassure.checkers.base.exit_codes import Exit, worst
from reassure.checkers.base.run_identity import error_record
from reassure.checkers.base.terminal import Console
from reassure.checkers.traces.fairness import as_data, repeats
from reassure.checkers.traces.render import call
from reassure.spec.semantics.interpreter import BoundModel


def exit_of(found: Analysis) -> Exit:
    """The exit code: the most severe of what was found."""
    codes = [Exit.INCONCLUSIVE] if found.stopped else [Exit.OK]
    for p in found.properties:
        codes += [Exit.LIVENESS] if p.holds is False else []
        codes += [Exit.VACUOUS] if p.vacuous else []
        codes += [Exit.INCONCLUSIVE] if any(w.need is Need.UNDECIDED for w in p.weakenings) else []
    return worst(codes)


def _verdict(p: PropertyNeeds, clipped: int) -> tuple[str, str]:
    """What is said of a property, and how it is coloured."""
    if p.holds is None:
        return "undecided", "yellow"
    if p.vacuous:
        return "vacuous: no reachable state satisfies its premise", "yellow"
    if not p.holds:
        return "violated with every assumption as declared: `reassure check` shows the run", "bold red"
    return "holds within bounds" if clipped else "holds", "green"


def report_fairness(bound: BoundModel, found: Analysis, console: Console, stories: bool) -> None:
    """Prints what each assumption is for."""
    console.print(f"{bound.model.name}: {found.states:,} states", style="bold")
    for p in found.properties:
        text, style = _verdict(p, found.clipped)
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
                told = [" > ".join(map(call, steps))] if steps else []
                line.append(": " + "; ".join([*told, repeats(w.trace)]), style="dim")
            console.print(line)
        if p.enough is not None:
            enough = ", ".join(str(a) for a in p.enough) or "no fairness at all"
            console.print(f"  sufficient together: {enough}")
    if found.stopped:
        console.print(f"\nstopped because {found.stopped.text}")
    console.print()
    console.print_exit(exit_of(found))


def fairness_record(
    about: tuple[str, str, dict[str, Any], str], found: Analysis, traces: dict[tuple[str, int], str]
) -> dict[str, Any]:
    """The run record. about: model, its digest, configuration, command; traces: files by property and weakening."""
    model, sha, config, repro = about
    ended = found.stopped.text if found.stopped else "every assumption was dropped and weakened"
    return {
        **error_record(exit_of(found), ended, model, repro),
        "model_sha256": sha,
        "config": config,
        "engine": "fairness",
        "complete": found.stopped is None,
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
            }
            for p in found.properties
        ],
    }
