"""Output of `reassure traces`, and its exit code."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from reassure.checkers.analyses.suites.goals import Selection
from reassure.checkers.analyses.suites.suite import KeptSuite, WrittenSuite
from reassure.checkers.engines.native.state_graph import StateGraph
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console, quantity

MOST_NAMES = 4
"""Goals of one trace that are printed."""
MOST_LINES = 20
"""Traces, and goals that are not taken, that are printed; the index has all of them."""


def report_suite(
    graph: StateGraph, chosen: Selection, kept: KeptSuite, written: WrittenSuite, console: Console
) -> None:
    """Prints the coverage, the traces, and what is not taken."""

    numbers = f"{quantity(graph.count, 'state')}, {quantity(graph.edge_count, 'step')}"
    console.print(f"{graph.bound.model.name}: {numbers}; {graph.stopped.text}")
    if graph.clipped:
        console.print(f"{quantity(graph.clipped, 'step')} beyond a bound: in no trace")
    lengths = written.lengths or [0]
    console.print(
        f"{chosen.noun}: {chosen.taken:,} of {chosen.reachable:,} that can be taken ({chosen.percent:.1f} %), by "
        f"{quantity(len(written.traces), 'trace')} with {quantity(sum(lengths), 'step')} in all, "
        f"at most {max(lengths):,} in one"
    )
    if kept.files:
        console.print(f"kept: {', '.join(kept.files[:MOST_LINES])}{' ...' if len(kept.files) > MOST_LINES else ''}")
    for file, why in kept.replaced.items():
        console.print(f"replaced: {file}: {why}")
    gone = [file for file in written.removed if file not in kept.replaced]
    if gone:
        console.print(f"removed: {', '.join(gone[:MOST_LINES])}{' ...' if len(gone) > MOST_LINES else ''}")
    table = Table(box=None, pad_edge=False)
    for column in ("trace", "steps", "adds"):
        table.add_column(column, justify="right" if column == "steps" else "left")
    for file, steps, adds, added in list(zip(written.traces, written.lengths, chosen.adds, chosen.added, strict=True))[
        :MOST_LINES
    ]:
        table.add_row(file, f"{steps:,}", Text(_in_short(adds) or f"{added:,}"))  # a subscript is not markup
    console.print(table, soft_wrap=False)
    _say_more(len(written.traces), "trace", console, written)
    if chosen.missing:
        console.print("not taken:")
        for goal in chosen.missing[:MOST_LINES]:
            console.print(f"  {goal.name}: {goal.why}")
        _say_more(len(chosen.missing), "goal", console, written)
    if chosen.missing_count:
        console.print(f"not taken: {chosen.missing_count:,} {chosen.noun} that no trace of the allowed length reaches")
    console.print(f"index: {written.index}")


def _in_short(names: list[str]) -> str:
    """The first goals of a trace; the index has all."""
    more = f"; and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return "; ".join(names[:MOST_NAMES]) + more


def _say_more(count: int, noun: str, console: Console, written: WrittenSuite) -> None:
    if count > MOST_LINES:
        console.print(f"  and {quantity(count - MOST_LINES, f'more {noun}')}, in {written.index.name}")


def exit_of(graph: StateGraph, chosen: Selection, cover: str) -> Exit:
    """Whether the suite is all that was asked for: 5 where more may be reachable, 16 for a cover that nothing reaches.

    Goals beyond the length that the user allows are not a failure, and neither are actions that no state enables.
    """
    if not graph.complete:
        return Exit.INCONCLUSIVE
    out_of_reach = [goal for goal in chosen.missing if goal.shortest is None]
    if not chosen.reachable:
        return Exit.VACUOUS if not graph.clipped else Exit.INCONCLUSIVE
    if graph.clipped and out_of_reach:
        return Exit.INCONCLUSIVE
    return Exit.VACUOUS if cover == "covers" and out_of_reach else Exit.OK
