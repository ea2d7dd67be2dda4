"""What `diff` prints and records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reassure.checkers.analyses.diff.analysis import Diff
from reassure.checkers.analyses.diff.compare import Verdict
from reassure.checkers.base.result import CheckResult, PropertyStatus
from reassure.checkers.base.run_identity import error_record
from reassure.checkers.base.stop import StopReason
from reassure.checkers.base.terminal import Console
from reassure.checkers.traces.render import tell

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


def property_changes(before: dict[str, str], after: dict[str, str]) -> list[PropertyChange]:
    """The properties and covers of either model with different answers."""
    names = dict.fromkeys([*before, *after])
    return [PropertyChange(n, before.get(n), after.get(n)) for n in names if before.get(n) != after.get(n)]


def answers(result: CheckResult) -> dict[str, str]:
    """What is true of each property and cover."""
    found = {p.name: str(p.status) for p in result.properties}
    return found | {c.name: REACHED if c.reached else NOT_REACHED for c in result.covers}


def report_diff(found: Diff, changes: list[PropertyChange], console: Console, stories: int, repro: str) -> None:
    """Prints the comparison; stories: how many traces are told, the shortest first."""
    comparison, labels = found.comparison, found.labels
    for one, label in zip(found.sides, labels, strict=True):
        graph = one.graph
        clipped = f", {graph.clipped:,} clipped" if graph.clipped else ""
        console.print(f"{label}: {graph.count:,} states, {graph.edge_count:,} steps{clipped}", style="bold")
    console.print(f"compared: {comparison.observation.words}")
    counts = f"\n{comparison.both:,} states of both"
    if comparison.only is not None:
        counts += "".join(f", {n:,} of {label} alone" for n, label in zip(comparison.only, labels, strict=True))
    console.print(counts)
    _report_steps(found, console)
    if changes:
        console.print("\nproperties", style="bold")
        width = max(len(c.name) for c in changes)
        for change in changes:
            answers = f"{change.before or 'none'} -> {change.after or 'none'}".replace("_", " ")
            style = {"gained": "green", "lost": "bold red"}.get(change.kind, "")
            console.print(f"  {change.kind:8} {change.name:{width}}  {answers}", style=style)
    for side, what, trace in sorted(found.traces, key=lambda one: len(one[2]))[:stories]:
        console.print(f"\nonly {labels[side]}: {what}", style="bold")
        tell(trace, found.sides[side].bound, console)
    console.print()
    for reason in comparison.open:
        console.print(f"the rest is undecided: {reason}", style="yellow")
    seen = "" if comparison.observation.whole else " in what is compared"
    console.print(f"{comparison.verdict}{seen}", style="bold")
    console.print_exit(found.exit)
    console.print(f"again: {repro}", style="dim")


def _report_steps(found: Diff, console: Console) -> None:
    for side, label in enumerate(found.labels):
        mine = [d for d in found.comparison.differences if d.side == side]
        if any(number == side for number, _ in found.comparison.initial_only):
            console.print(f"\nan initial state that only {label} has", style="bold")
        if mine:
            console.print(f"\nsteps that only {label} takes, in states of both", style="bold")
        width = max((len(d.action) for d in mine), default=0)
        for d in mine:
            text = f"  {d.action:{width}}  {d.steps:,} step{'s' * (d.steps != 1)}, trace of {len(d.trace)} states"
            console.print(text)


def diff_record(found: Diff, changes: list[PropertyChange], repro: str, traces: list[str]) -> dict[str, Any]:
    """The run record. traces: the files of `found.traces`, or none."""
    comparison, labels = found.comparison, found.labels
    because = "; ".join(comparison.open) or "everything was compared"
    record = error_record(found.exit, because, labels[0], repro)
    files: list[str | None] = [*traces] or [None] * len(found.traces)
    named = {(side, what): file for (side, what, _), file in zip(found.traces, files, strict=True)}
    complete = comparison.verdict is not Verdict.UNDECIDED
    return {
        **record,
        "complete": complete,
        "stop_reason": StopReason.COMPLETE if complete else StopReason.OPEN,
        "model_sha256": found.digests[0],
        "config": found.config(0),
        "engine": "diff",
        "diff": {
            "verdict": comparison.verdict,
            "compared": comparison.observation.words,
            "whole": comparison.observation.whole,
            "variant": {"model": labels[1], "model_sha256": found.digests[1], "config": found.config(1)},
            "states": {"both": comparison.both, "only": comparison.only},
            "initial_only": [labels[side] for side, _ in comparison.initial_only],
            "steps": [
                {
                    "only": labels[d.side],
                    "action": d.action,
                    "steps": d.steps,
                    "depth": len(d.trace),
                    "trace": named.get((d.side, d.action)),
                }
                for d in comparison.differences
            ],
            "properties": [{"name": c.name, "kind": c.kind, "before": c.before, "after": c.after} for c in changes],
            "open": comparison.open,
        },
    }
