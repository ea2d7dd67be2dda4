"""What the `kafka` commands print."""

from __future__ import annotations

from rich.console import Console

from reassure.checkers.kafka.replay import ControllerTrace, Difference

COLUMN = 26


def say(console: Console, text: str, style: str = "") -> None:
    """A line as it is."""
    console.print(text, style=style, markup=False, soft_wrap=True)


def report_difference(found: Difference, name: str, version: str, console: Console) -> None:
    """The first step that Kafka takes otherwise, side by side, then in Kafka's own words."""
    say(console, f"Kafka {version} refuses {name} at step {found.step.number}: {found.step.text}", "red")
    say(console, f"  {'':20} {'the trace':{COLUMN}} Kafka {version}", "dim")
    for field, ours, theirs in found.rows():
        say(console, f"  {field:20} {ours:{COLUMN}} {theirs}")
    own = found.records.rstrip().splitlines() or ["no records"]
    say(console, "  in Kafka's words:", "dim")
    for line in own:
        say(console, f"    {line}")


def report_accepted(trace: ControllerTrace, name: str, version: str, console: Console) -> None:
    """That a trace is a run of Kafka's controller."""
    count = len(trace.commands)
    say(console, f"Kafka {version} runs {name}: {count} command{'s' * (count != 1)} of {trace.steps} steps", "green")
