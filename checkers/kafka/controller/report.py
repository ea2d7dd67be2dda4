"""Output of the `kafka` commands."""

from __future__ import annotations

from reassure.checkers.kafka.controller.conform import Conformance
from reassure.checkers.kafka.controller.model_steps import StepSource
from reassure.checkers.kafka.controller.model_view import model_step_text
from reassure.checkers.kafka.controller.replay import ControllerTrace, StepDifference
from reassure.checkers.machine.stop import ALL_VISITED
from reassure.checkers.machine.terminal import Console, quantity

COLUMN = 26


def report_difference(difference: StepDifference, name: str, version: str, console: Console) -> None:
    """The first step that Kafka takes otherwise, side by side, then in Kafka's own words."""
    console.print(
        f"Kafka {version} refuses {name} at step {difference.step.number}: {difference.step.text}", style="red"
    )
    side_by_side(difference, version, "the trace", console)


def side_by_side(difference: StepDifference, version: str, ours: str, console: Console) -> None:
    """Prints the fields that differ, then Kafka's own words."""
    two_columns(difference.rows(), ours, f"Kafka {version}", console)
    own_words(difference.records, "in Kafka's words:", console)


def two_columns(rows: list[tuple[str, str, str]], left: str, right: str, console: Console) -> None:
    """Prints fields with two values each. left, right: the heads of the columns."""
    width = max(COLUMN, len(left))
    console.print(f"  {'':20} {left:{width}} {right}", style="dim")
    for field, one, other in rows:
        console.print(f"  {field:20} {one:{width}} {other}")


def own_words(records: str, head: str, console: Console) -> None:
    """Prints the records of a step, or the exception, in Kafka's own words."""
    console.print(f"  {head}", style="dim")
    for line in records.rstrip().splitlines() or ["no records"]:
        console.print(f"    {line}")


def report_accepted(trace: ControllerTrace, name: str, version: str, console: Console) -> None:
    """That a trace is a run of Kafka's controller."""
    count = len(trace.commands)
    text = f"Kafka {version} runs {name}: {quantity(count, 'command')} of {quantity(trace.steps, 'step')}"
    console.print(f"{text}, each with the same result", style="green")


def report_conformance(conformance: Conformance, source: StepSource, name: str, console: Console) -> None:
    """The table by action, then each disagreement with a shortest way to it."""
    console.print(
        f"{name} beside Kafka {conformance.version}: {quantity(source.states, 'state')} of the model", style="bold"
    )
    console.print(f"  {'action':24} {'transitions':>12} {'kinds':>10} {'agree':>10} {'disagree':>10}", style="dim")
    for action, count in conformance.actions.items():
        numbers = (source.transitions.get(action, 0), count.steps, count.agree, count.steps - count.agree)
        console.print(f"  {action:24} {numbers[0]:12,} {numbers[1]:10,} {numbers[2]:10,} {numbers[3]:10,}")
    numbers = (
        sum(source.transitions.values()),
        conformance.steps,
        conformance.agree,
        conformance.steps - conformance.agree,
    )
    console.print(f"  {'in all':24} {numbers[0]:12,} {numbers[1]:10,} {numbers[2]:10,} {numbers[3]:10,}")
    if source.clipped:
        console.print(f"  not taken: {quantity(source.clipped, 'step')} beyond a bound of the model", style="yellow")
    for group in conformance.disagreements:
        console.print("")
        console.print(f"{quantity(group.count, 'kind')} of step: {group.cause}", style="red")
        for number, step in enumerate(source.trace(group.first).steps):
            console.print(f"  {number:3} {model_step_text(step.action, step.params)}")
        side_by_side(group.difference, conformance.version, "the model", console)
    if conformance.steps != conformance.agree:
        console.print(f"disagrees with Kafka {conformance.version}")
    else:
        bound = "" if source.stopped is ALL_VISITED else f" in these states: {source.stopped.text}"
        console.print(f"no disagreement with Kafka {conformance.version}{bound}")


def report_conformance_header(model: str, width: int, console: Console) -> None:
    """The head of a table of configurations and releases. width: of the longest name of a release."""
    console.print(f"{model} beside Kafka", style="bold")
    console.print(
        f"  {'release':{max(width, 8)}} {'states':>10} {'transitions':>12} {'kinds':>10} {'disagree':>10}"
        "  configuration",
        style="dim",
    )


def report_conformance_row(
    conformance: Conformance, source: StepSource, setting: str, width: int, console: Console
) -> None:
    """A row of that table."""
    disagree = conformance.steps - conformance.agree
    numbers = f"{source.states:10,} {sum(source.transitions.values()):12,} {conformance.steps:10,} {disagree:10,}"
    console.print(
        f"  {conformance.version:{max(width, 8)}} {numbers}  {setting or 'the default'}",
        style="red" if disagree else "",
    )


def conformance_record(conformance: Conformance, source: StepSource) -> dict[str, object]:
    """The same as data."""
    return {
        "release": conformance.version,
        "states": source.states,
        "clipped": source.clipped,
        "actions": {
            action: {"transitions": source.transitions.get(action, 0), "kinds": n.steps, "agree": n.agree}
            for action, n in conformance.actions.items()
        },
        "disagreements": [
            {"cause": g.cause, "kinds": g.count, "differs": g.difference.rows(), "kafka": g.difference.records}
            for g in conformance.disagreements
        ],
    }
