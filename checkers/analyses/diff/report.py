"""The printed report and the run record of `diff`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reassure.checkers.analyses.diff.analysis import Diff
from reassure.checkers.analyses.diff.compare import Verdict
from reassure.checkers.machine.exit_codes import Exit, worst
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.machine.terminal import Console, counted
from reassure.checkers.request.result import CheckResult, PropertyStatus
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.traces.render import tell

OPEN = {PropertyStatus.UNKNOWN, PropertyStatus.NOT_CHECKED, PropertyStatus.HOLDS_TO_DEPTH}
GOOD = {PropertyStatus.HOLDS, PropertyStatus.PROVED, PropertyStatus.HOLDS_WITHIN_BOUNDS}
REACHED, NOT_REACHED = "reached", "not reached"


@dataclass(frozen=True)
class PropertyChange:
    """A property or cover whose answer is another in the variant. before, after: None where it does not exist."""

    name: str
    before: str | None
    after: str | None

    @property
    def kind(self) -> str:
        """gained, lost, changed; added or removed where one side does not have it."""
        if self.before is None or self.after is None:
            return "added" if self.before is None else "removed"
        good = {*GOOD, REACHED}
        if self.after in good and self.before not in good:
            return "gained"
        return "lost" if self.before in good and self.after not in good else "changed"


def exit_of(difference: Diff, changes: list[PropertyChange]) -> Exit:
    """The exit code: of the behaviour, and 15 for a property that is lost: also where states and steps are the same.

    Fairness, and the parameters of steps, are in none of those; and the text of a property may be another.
    """
    lost = [change.after for change in changes if change.kind == "lost"]
    codes = [Exit.INCONCLUSIVE if after in OPEN else Exit.EXPECTATION for after in lost]
    return worst([difference.exit, *codes])


def property_changes(before: dict[str, str], after: dict[str, str]) -> list[PropertyChange]:
    """The properties and covers of either model with different answers."""
    names = dict.fromkeys([*before, *after])
    return [PropertyChange(n, before.get(n), after.get(n)) for n in names if before.get(n) != after.get(n)]


def answers(result: CheckResult) -> dict[str, str]:
    """The answers to the properties and covers, by name."""
    statuses = {p.name: str(p.status) for p in result.properties}
    idle = NOT_REACHED if result.complete else str(PropertyStatus.UNKNOWN)
    return statuses | {c.name: REACHED if c.reached else idle for c in result.covers}


def report_diff(difference: Diff, changes: list[PropertyChange], console: Console, stories: int, repro: str) -> None:
    """Prints the comparison; stories: how many traces are told, the shortest first."""
    comparison, labels = difference.comparison, difference.labels
    for one, label in zip(difference.sides, labels, strict=True):
        graph = one.graph
        clipped = f", {graph.clipped:,} clipped" if graph.clipped else ""
        console.print(
            f"{label}: {counted(graph.count, 'state')}, {counted(graph.edge_count, 'step')}{clipped}", style="bold"
        )
    console.print(f"compared: {comparison.observation.words}")
    counts = f"\n{counted(comparison.both, 'state')} of both"
    if comparison.only is not None:
        counts += "".join(f", {n:,} of {label} alone" for n, label in zip(comparison.only, labels, strict=True))
    console.print(counts)
    _report_steps(difference, console)
    if changes:
        console.print("\nproperties", style="bold")
        width = max(len(c.name) for c in changes)
        for change in changes:
            answers = f"{change.before or 'none'} -> {change.after or 'none'}".replace("_", " ")
            style = {"gained": "green", "lost": "bold red"}.get(change.kind, "")
            console.print(f"  {change.kind:8} {change.name:{width}}  {answers}", style=style)
    for side, what, trace in sorted(difference.traces, key=lambda one: len(one[2]))[:stories]:
        console.print(f"\nonly {labels[side]}: {what}", style="bold")
        tell(trace, difference.sides[side].bound, console)
    console.print()
    for reason in comparison.open:
        console.print(f"the rest is undecided: {reason}", style="yellow")
    seen = "" if comparison.observation.whole else " in what is compared"
    lost = sum(change.kind == "lost" for change in changes)
    and_lost = f"; {lost:,} propert{'y' if lost == 1 else 'ies'} lost" if lost else ""
    console.print(f"{comparison.verdict}{seen}{and_lost}", style="bold")


def _report_steps(difference: Diff, console: Console) -> None:
    for side, label in enumerate(difference.labels):
        mine = [d for d in difference.comparison.differences if d.side == side]
        if any(number == side for number, _ in difference.comparison.initial_only):
            console.print(f"\nan initial state that only {label} has", style="bold")
        if mine:
            console.print(f"\nsteps that only {label} takes, in states of both", style="bold")
        width = max((len(d.action) for d in mine), default=0)
        for d in mine:
            text = f"  {d.action:{width}}  {counted(d.steps, 'step')}, trace of {counted(len(d.trace), 'state')}"
            console.print(text)


def diff_record(
    difference: Diff, changes: list[PropertyChange], identity: RunIdentity, traces: list[str]
) -> dict[str, Any]:
    """The run record. identity: of the first model. traces: the files of `difference.traces`, or none."""
    comparison, labels, variant = difference.comparison, difference.labels, difference.prepared[1]
    files: list[str | None] = [*traces] or [None] * len(difference.traces)
    file_of = {(side, only): file for (side, only, _), file in zip(difference.traces, files, strict=True)}
    complete = comparison.verdict is not Verdict.UNDECIDED
    because = "; ".join(comparison.open) or "everything was compared"
    stopped = Stop(StopReason.COMPLETE if complete else StopReason.OPEN, because)
    return {
        **identity.record(exit_of(difference, changes), complete, stopped),
        "model": labels[0],
        "diff": {
            "verdict": comparison.verdict,
            "compared": comparison.observation.words,
            "whole": comparison.observation.whole,
            "variant": {"model": labels[1], "model_sha256": variant.sha256, "config": variant.config},
            "states": {"both": comparison.both, "only": comparison.only},
            "initial_only": [labels[side] for side, _ in comparison.initial_only],
            "steps": [
                {
                    "only": labels[d.side],
                    "action": d.action,
                    "steps": d.steps,
                    "depth": len(d.trace),
                    "trace": file_of.get((d.side, d.action)),
                }
                for d in comparison.differences
            ],
            "properties": [{"name": c.name, "kind": c.kind, "before": c.before, "after": c.after} for c in changes],
            "open": comparison.open,
        },
    }
