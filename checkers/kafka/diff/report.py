"""Output and records of `kafka diff`."""

from __future__ import annotations

from typing import Any

from reassure.checkers.kafka.controller.controller_properties import CAN_END
from reassure.checkers.kafka.controller.explore_report import Shown, report_run
from reassure.checkers.kafka.controller.report import own_words, two_columns
from reassure.checkers.kafka.controller.words import described
from reassure.checkers.kafka.diff.analysis import BASE, HEAD, SIDES, BuildComparison
from reassure.checkers.kafka.diff.promises import PromiseComparison
from reassure.checkers.kafka.diff.result import BuildDiff
from reassure.checkers.kafka.diff.runs import RunOfBoth
from reassure.checkers.machine.terminal import Console, counted
from reassure.spec.kafka.partition_properties import SHARED

AFTER = "after another difference"


def report_diff(diff: BuildDiff, console: Console, stories: int) -> None:
    """Figures, a row for each difference, the shortest runs, the promises. stories: runs that are printed of each."""
    _report_states(diff.comparison, console)
    _report_differences(diff.runs, console)
    for run in diff.runs[:stories]:
        console.print("")
        report_run_of_both(run, console)
    _report_promises(diff.promises, console)
    for side in (HEAD, BASE):
        for name, shown in list(diff.promises.only[side].items())[:stories]:
            console.print("")
            report_broken(name, side, shown, console)


def _report_states(comparison: BuildComparison, console: Console) -> None:
    for side, graph in enumerate(comparison.graphs):
        numbers = f"{counted(len(graph.states), 'state')}, {counted(graph.steps, 'step')}"
        console.print(f"{SIDES[side]} Kafka {graph.version}: {numbers}", style="bold")
        console.print(f"  {len(graph.levels)} levels in {graph.seconds:.1f} s; {graph.stopped.text}", style="dim")
    of_base, of_head = comparison.only
    states = f"{counted(comparison.both, 'state')} of both, {of_base:,} of BASE alone, {of_head:,} of HEAD alone"
    console.print(f"{states}; {comparison.differing_steps:,} of {counted(comparison.steps, 'step')} of both differ")


def _report_differences(runs: tuple[RunOfBoth, ...], console: Console) -> None:
    if not runs:
        return
    width = max(len(run.difference.kind.name) for run in runs)
    console.print("\ndifferences", style="bold")
    console.print(f"  {'steps':>9}  {'command':{width}}  {'run':>8}  fields", style="dim")
    for d in (run.difference for run in runs):
        text = counted(len(d.before) + 1, "step")
        after = "" if d.side is None else f" ({AFTER})"
        console.print(f"  {d.count:9,}  {d.kind.name.lower():{width}}  {text:>8}  {', '.join(d.fields)}{after}")


def report_run_of_both(run: RunOfBoth, console: Console) -> None:
    """The shortest run to a difference; its last step by both builds, side by side, in Kafka's own words."""
    d = run.difference
    console.print(f"{d.title}:", style="red")
    if d.side is not None:
        console.print(f"  only {SIDES[d.side]} takes the steps before the last: {AFTER}", style="dim")
    last = len(run.longest.steps) - 1
    report_run(run.longest, [""] * len(run.longest.steps), console, last - 1)
    answers = [one.answers[-1] for one in run.runs]
    answer = f" -> {answers[0]}" if answers[0] == answers[1] != "NONE" else ""
    console.print(f"  {last:2} {d.last}{answer}")
    labels = [f"{SIDES[side]} {run.runs[side].version}" for side in (BASE, HEAD)]
    two_columns(run.rows(), labels[BASE], labels[HEAD], console)
    for label, text in zip(labels, run.texts, strict=True):
        own_words(text, f"in Kafka's words, {label}:", console)


def _report_promises(promises: PromiseComparison, console: Console) -> None:
    console.print("\npromises", style="bold")
    for side in (HEAD, BASE):
        for name, shown in promises.only[side].items():
            style = "red" if side == HEAD else "green"
            console.print(f"  {SIDES[side]} breaks {name}, {SIDES[1 - side]} keeps it: {shown.doc}", style=style)
    for name, breaker in promises.undecided.items():
        text = f"{breaker} breaks it; " if breaker else ""
        console.print(f"  not decided: {name}: {text}too few states were explored", style="yellow")
    if promises.both:
        console.print(f"  both break {len(promises.both)}: {', '.join(promises.both)}", style="dim")
    console.print(f"  both keep {len(promises.kept)}")
    if promises.asked and promises.not_applicable:
        console.print(f"  within these bounds about nothing: {', '.join(promises.not_applicable)}", style="yellow")


def report_broken(name: str, side: int, shown: Shown, console: Console) -> None:
    """The run to a promise that one build alone breaks."""
    console.print(f"{name}: {SIDES[side]} Kafka {shown.run.version} breaks it", style="red")
    report_run(shown.run, shown.texts, console)


def diff_record(
    diff: BuildDiff, traces: dict[str, list[str]], builds: list[dict[str, Any]], same: bool
) -> dict[str, Any]:
    """The keys that a comparison adds to a run record. traces: the files of the runs. builds: BASE and HEAD.

    same: the digests of their classes are equal.

    `properties` has the promises that BASE keeps: violated means that HEAD breaks them.
    """
    comparison, promises = diff.comparison, diff.promises
    rows = [_property(name, "violated", shown, traces) for name, shown in promises.only[HEAD].items()]
    rows += [_property(name, "holds", None, traces) for name in promises.kept]
    rows += [_property(name, "unknown", None, traces) for name in promises.undecided]
    by_side = dict(zip(("base", "head"), comparison.only, strict=True))
    return {
        "properties": rows,
        "not_applicable": promises.not_applicable,
        "diff": {
            "builds": builds,
            "same_classes": same,
            "states": comparison.both,
            "states_of_one": by_side,
            "steps": comparison.steps,
            "differing_steps": comparison.differing_steps,
            "differences": [_difference(run, traces.get(run.difference.name, [])) for run in diff.runs],
            "promises": {
                "head_breaks": list(promises.only[HEAD]),
                "base_breaks": list(promises.only[BASE]),
                "both_break": promises.both,
                "both_keep": promises.kept,
                "not_decided": list(promises.undecided),
            },
        },
    }


def _property(name: str, status: str, shown: Shown | None, traces: dict[str, list[str]]) -> dict[str, Any]:
    kind = {CAN_END: "leads_to", **{p.name: p.kind for p in SHARED}}.get(name, "invariant")
    trace = traces[name][0] if shown is not None and name in traces else None
    depth = len(shown.run.states) if shown is not None else None
    return {"name": name, "kind": kind, "status": status, "trace": trace, "depth": depth}


def difference_record(run: RunOfBoth) -> dict[str, Any]:
    """A difference as data: its steps, and the last step of its shortest run by both builds."""
    d = run.difference
    return {
        "command": d.kind.name.lower(),
        "fields": list(d.fields),
        "steps": d.count,
        "run": [str(command) for command in (*d.before, d.last)],
        "alike_before": d.side is None,
        "before": described(run.before),
        "differs": [{"field": field, "base": base, "head": head} for field, base, head in run.rows()],
    }


def _difference(run: RunOfBoth, traces: list[str]) -> dict[str, Any]:
    records = {"base": run.texts[BASE], "head": run.texts[HEAD]}
    return {**difference_record(run), "records": records, "traces": traces}
