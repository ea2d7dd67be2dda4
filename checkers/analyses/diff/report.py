"""The report of `diff`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from reassure.checkers.analyses.diff.analysis import Diff, guards_added
from reassure.checkers.analyses.diff.compare import Verdict
from reassure.checkers.machine.exit_codes import Exit, worst
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.machine.terminal import Console, quantity
from reassure.checkers.report.analysis_report import AnalysisReport, Row, Tone, Write
from reassure.checkers.request.result import CheckResult, PropertyStatus
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.traces.render import tell
from reassure.spec.semantics.trace import Trace

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


def _exit_of(difference: Diff, changes: list[PropertyChange]) -> Exit:
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


def diff_report(
    difference: Diff, changes: list[PropertyChange], identities: Sequence[RunIdentity], stories: int
) -> AnalysisReport:
    """The comparison. identities: of both models. stories: how many traces are told, the shortest first."""
    comparison, labels, variant = difference.comparison, difference.labels, difference.prepared[1]
    complete = comparison.verdict is not Verdict.UNDECIDED
    because = "; ".join(comparison.open) or "everything was compared"
    seen = "" if comparison.observation.whole else " in what is compared"
    lost = sum(change.kind == "lost" for change in changes)
    and_lost = f"; {lost:,} propert{'y' if lost == 1 else 'ies'} lost" if lost else ""
    graphs = [(label, side.graph) for label, side in zip(labels, difference.sides, strict=True)]
    sizes = [
        f"{label}: {quantity(graph.count, 'state')}, {quantity(graph.edge_count, 'step')}"
        + (f", {graph.clipped:,} clipped" if graph.clipped else "")
        for label, graph in graphs
    ]
    shortest = sorted(difference.traces, key=lambda one: len(one[2]))[:stories]
    told = [Row("", tell=partial(_tell, difference, *one)) for one in shortest]
    return AnalysisReport(
        identities[0],
        _exit_of(difference, changes),
        complete,
        Stop(StopReason.COMPLETE if complete else StopReason.OPEN, because),
        "\n".join(sizes),
        [*_behaviour(difference, identities), *_properties(changes), *told],
        lambda rows: {
            "model": labels[0],
            "diff": {
                "verdict": comparison.verdict,
                "compared": comparison.observation.words,
                "whole": comparison.observation.whole,
                "variant": {"model": labels[1], "model_sha256": variant.sha256, "config": variant.config},
                "states": {"both": comparison.both, "only": comparison.only},
                "initial_only": [labels[side] for side, _ in comparison.initial_only],
                "steps": rows,
                "properties": [{"name": c.name, "kind": c.kind, "before": c.before, "after": c.after} for c in changes],
                "open": comparison.open,
            },
        },
        [
            *((f"the rest is undecided: {reason}", Tone.OPEN) for reason in comparison.open),
            (f"{comparison.verdict}{seen}{and_lost}", Tone.BOLD),
        ],
        partial(_tell_states, difference),
    )


def _tell_states(difference: Diff, console: Console) -> None:
    comparison, labels = difference.comparison, difference.labels
    console.print(f"compared: {comparison.observation.words}")
    models = [side.bound.model for side in difference.sides]
    for base, variant in ((0, 1), (1, 0)):
        if added := guards_added(models[base], models[variant]):
            what = f"{labels[variant]} only forbids: it adds guards to {', '.join(added)}"
            console.print(f"{what}; each of its states and steps is one of {labels[base]}")
    counts = f"\n{quantity(comparison.both, 'state')} of both"
    if comparison.only is not None:
        counts += "".join(f", {n:,} of {label} alone" for n, label in zip(comparison.only, labels, strict=True))
    console.print(counts)


def _behaviour(difference: Diff, identities: Sequence[RunIdentity]) -> Iterator[Row]:
    comparison, labels, write = difference.comparison, difference.labels, partial(_write, difference, identities)
    for side, trace in comparison.initial_only:
        group = f"an initial state that only {labels[side]} has"
        yield Row("", group=group, write=write(side, "an initial state", trace))
    for d in comparison.differences:
        data = {"only": labels[d.side], "action": d.action, "steps": d.steps, "depth": len(d.trace), "trace": None}
        text = f"{quantity(d.steps, 'step')}, shortest run: {quantity(len(d.trace) - 1, 'step')}"
        group = f"steps that only {labels[d.side]} takes, in states of both"
        yield Row(d.action, text, group=group, data=data, write=write(d.side, d.action, d.trace))


def _write(difference: Diff, identities: Sequence[RunIdentity], side: int, only: str, trace: Trace) -> Write:
    """Signs a trace; the function that writes it."""
    trace.meta = {**identities[side].origin(), "only": only, "other": identities[1 - side].model}
    name = f"not-in-{difference.labels[1 - side].replace('/', '-')}--{only.replace(' ', '-')}"
    bound = difference.sides[side].bound
    return partial(identities[side].write_trace, name=name, trace=trace, bound=bound, method="diff")


def _properties(changes: list[PropertyChange]) -> Iterator[Row]:
    width = max((len(c.name) for c in changes), default=0)
    for change in changes:
        answers = f"{change.before or 'none'} -> {change.after or 'none'}".replace("_", " ")
        tone = {"gained": Tone.GOOD, "lost": Tone.BAD}.get(change.kind, Tone.PLAIN)
        yield Row(f"{change.kind:8} {change.name:{width}}  {answers}", tone=tone, group="properties")


def _tell(difference: Diff, side: int, only: str, trace: Trace, console: Console) -> None:
    console.print(f"only {difference.labels[side]}: {only}", style="bold")
    tell(trace, difference.sides[side].bound, console)
