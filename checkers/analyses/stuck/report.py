"""The printed report and the record of `stuck`."""

from __future__ import annotations

from typing import Any

from reassure.checkers.analyses.stuck.analysis import Stuck, StuckResult
from reassure.checkers.machine.exit_codes import VERDICTS, Exit
from reassure.checkers.machine.terminal import Console, counted
from reassure.checkers.traces.render import tell
from reassure.spec.semantics.interpreter import BoundModel

DIFFERENCE = (
    "`stuck` asks whether the goal can be reached (possibility); `reassure check` decides whether every fair run "
    "reaches it (liveness)"
)
"""The remark that is printed whatever the answers are."""


def stuck_record(found: StuckResult, traces: dict[str, str]) -> dict[str, Any]:
    """The run record; `traces` gives the files that counterexamples were written to."""
    return {
        **found.result.record(traces),
        "verdict": VERDICTS[found.exit],
        "exit_code": found.exit.value,
        **({"expression": found.expression} if found.expression else {}),
        "properties": [_property_record(answer, traces.get(answer.name), found) for answer in found.answers],
    }


def _property_record(answer: Stuck, trace: str | None, found: StuckResult) -> dict[str, Any]:
    return {
        "name": answer.name,
        "kind": "can_reach" if found.expression else "leads_to",
        "status": "holds" if found.exit is Exit.OK else answer.status,
        "claimed": answer.claimed,
        "can_end": answer.can_end,
        "trapped": answer.trapped,
        "undecided": answer.undecided,
        "trace": trace,
        "depth": len(answer.trace) if answer.trace else None,
    }


def report_stuck(bound: BoundModel, found: StuckResult, console: Console, stories: bool) -> None:
    """Prints every answer, and with `stories` the path to each trapped state."""
    result = found.result
    config = ", ".join(f"{key}={value}" for key, value in result.identity.config.items())
    console.print(f"{result.model} ({config})", style="bold")
    for answer in found.answers:
        _report_answer(answer, found.expression, console)
        if stories and answer.trace is not None:
            console.print()
            tell(answer.trace, bound, console)
            by = " by fair actions alone" if answer.fair_only else ""
            console.print(f"  from here on the goal is unreachable{by}", style="bold red")
    clipped = f"; {counted(result.stats.clipped, 'step')} clipped at a bound" if result.stats.clipped else ""
    console.print(f"\n{result.stats.generated:,} generated, {result.stats.distinct:,} distinct{clipped}")
    console.print(f"stopped because {result.stopped_because}")
    console.print(DIFFERENCE, style="dim")


def _report_answer(answer: Stuck, expression: str, console: Console) -> None:
    console.print(f"\n{expression or answer.name}", style="bold")
    console.print(f"  {counted(answer.claimed, 'state')}{'' if expression else ' must be followed by the goal'}")
    if answer.trapped:
        by = "by fair actions alone" if answer.fair_only else "on every path"
        text = f"violated: from {answer.trapped:,} of them the goal is unreachable {by}"
        console.print(f"  {text}, trace of {counted(len(answer.trace or ()), 'state')}", style="bold red")
    if answer.undecided:
        text = f"undecided: {answer.undecided:,} of them, from which unexplored states can be reached"
        console.print(f"  {text}", style="yellow")
    if answer.complete and answer.claimed and not answer.trapped and not answer.undecided:
        console.print("  from each of them the goal can be reached", style="green")
