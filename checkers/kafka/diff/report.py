"""Output and records of `kafka diff`."""

from __future__ import annotations

from typing import Any

from reassure.checkers.base.stop import StopReason
from reassure.checkers.base.terminal import Console
from reassure.checkers.kafka.controller.explore_report import report_run
from reassure.checkers.kafka.controller.report import own_words, two_columns
from reassure.checkers.kafka.controller.words import described
from reassure.checkers.kafka.diff.analysis import BASE, HEAD, SIDES, BuildComparison, BuildDifference
from reassure.checkers.kafka.diff.promises import PromiseComparison
from reassure.checkers.kafka.diff.runs import RunOfBoth

MORE = "after another difference"


def report_states(comparison: BuildComparison, console: Console) -> None:
    """The figures of both explorations, and how much of them was compared."""
    for side, graph in enumerate(comparison.graphs):
        text = f"{SIDES[side]} Kafka {graph.version}: {len(graph.states):,} states, {graph.steps:,} steps"
        console.print(text, style="bold")
        console.print(f"  {len(graph.levels)} levels in {graph.seconds:.1f} s; {graph.stopped.text}", style="dim")
    of_base, of_head = comparison.only
    states = f"{comparison.both:,} states of both, {of_base:,} of BASE alone, {of_head:,} of HEAD alone"
    console.print(f"{states}; {comparison.differing_steps:,} of {comparison.steps:,} steps of both differ")


def report_differences(differences: list[BuildDifference], console: Console) -> None:
    """A row for each difference."""
    if not differences:
        return
    width = max(len(d.kind.name) for d in differences)
    console.print("\ndifferences", style="bold")
    console.print(f"  {'steps':>9}  {'command':{width}}  {'run':>8}  fields", style="dim")
    for d in differences:
        length = len(d.before) + 1
        run = f"{length} step{'s' * (length != 1)}"
        after = "" if d.side is None else f" ({MORE})"
        console.print(f"  {d.count:9,}  {d.kind.name.lower():{width}}  {run:>8}  {', '.join(d.fields)}{after}")


def report_run_of_both(run: RunOfBoth, console: Console) -> None:
    """The shortest run to a difference; its last step by both builds, side by side, in Kafka's own words."""
    d = run.difference
    console.print("")
    console.print(
        f"{d.kind.name.lower()}: {', '.join(d.fields)} differ in {d.count:,} step{'s' * (d.count != 1)}", style="red"
    )
    if d.side is not None:
        console.print(f"  only {SIDES[d.side]} takes the steps before the last; every such step is {MORE}", style="dim")
    last = len(run.longest.steps) - 1
    report_run(run.longest, [""] * len(run.longest.steps), console, last - 1)
    answers = [one.answers[-1] for one in run.runs]
    answer = f" -> {answers[0]}" if answers[0] == answers[1] != "NONE" else ""
    console.print(f"  {last:2} {d.last}{answer}")
    labels = [f"{SIDES[side]} {run.runs[side].version}" for side in (BASE, HEAD)]
    two_columns(run.rows(), labels[BASE], labels[HEAD], console)
    for label, text in zip(labels, run.texts, strict=True):
        own_words(text, f"in Kafka's words, {label}:", console)


def report_promises(promises: PromiseComparison, console: Console, stories: int) -> None:
    """The promises that one build breaks, with runs; those of both; the number that neither breaks."""
    console.print("\npromises", style="bold")
    for side, other in ((HEAD, BASE), (BASE, HEAD)):
        for name, shown in promises.only[side].items():
            style = "red" if side == HEAD else "green"
            console.print(f"  {SIDES[side]} breaks {name}, {SIDES[other]} keeps it: {shown.doc}", style=style)
    for name, breaker in promises.undecided.items():
        text = f"{breaker} breaks it; " if breaker else ""
        console.print(f"  not decided: {name}: {text}the states explored are too few", style="yellow")
    if promises.both:
        console.print(f"  both break {len(promises.both)}: {', '.join(promises.both)}", style="dim")
    console.print(f"  both keep {len(promises.kept)}")
    for side in (HEAD, BASE):
        for name, shown in list(promises.only[side].items())[:stories]:
            console.print("")
            console.print(f"{name}: {SIDES[side]} Kafka {shown.run.version} breaks it", style="red")
            report_run(shown.run, shown.texts, console)


def difference_record(difference: BuildDifference, run: RunOfBoth | None, traces: list[str]) -> dict[str, Any]:
    """A difference as data. run: None if it was not executed."""
    side = None if difference.side is None else SIDES[difference.side].lower()
    data: dict[str, Any] = {
        "command": difference.kind.name.lower(),
        "fields": list(difference.fields),
        "steps": difference.count,
        "run": [str(command) for command in (*difference.before, difference.last)],
        "after_another_difference_of": side,
        "traces": traces,
    }
    if run is None:
        return data
    return data | {
        "before": described(run.before),
        "differs": [{"field": field, "base": base, "head": head} for field, base, head in run.rows()],
        "base": run.texts[BASE],
        "head": run.texts[HEAD],
    }


def promises_record(promises: PromiseComparison) -> dict[str, Any]:
    """The promises as data."""
    return {
        "head_breaks": list(promises.only[HEAD]),
        "base_breaks": list(promises.only[BASE]),
        "both_break": promises.both,
        "both_keep": promises.kept,
        "not_decided": list(promises.undecided),
    }


def verdict_text(comparison: BuildComparison, differences: int, bounds: str) -> str:
    """The last line: the result, and the bounds within which it stands."""
    if differences:
        text = f"the builds differ: {differences} difference{'s' * (differences != 1)}"
    else:
        text = "no difference"
    unfinished = [
        f"{SIDES[side]} was not finished: {graph.stopped.text}"
        for side, graph in enumerate(comparison.graphs)
        if graph.stopped.reason not in (StopReason.COMPLETE, StopReason.DEPTH)
    ]
    return "; ".join([f"{text} within these bounds: {bounds}", *unfinished])
