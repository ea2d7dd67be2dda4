"""The report of `stuck`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from reassure.checkers.analyses.stuck.analysis import Stuck, StuckResult
from reassure.checkers.machine.exit_codes import VERDICTS, Exit
from reassure.checkers.machine.terminal import Console, quantity
from reassure.checkers.report.analysis_report import AnalysisReport, Row, Tone
from reassure.checkers.request.result import after
from reassure.checkers.traces.render import tell
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

DIFFERENCE = (
    "`stuck` asks whether the goal can be reached (possibility); `reassure check` decides whether every fair run "
    "reaches it (liveness)"
)
"""The remark that is printed whatever the answers are."""


def stuck_report(bound: BoundModel, found: StuckResult) -> AnalysisReport:
    """Every answer, with the path to each trapped state."""
    result = found.result
    config = ", ".join(f"{key}={value}" for key, value in result.identity.config.items())
    numbers = f"{result.stats.generated:,} generated, {result.stats.distinct:,} distinct"
    clipped = f"; {quantity(result.stats.clipped, 'step')} clipped at a bound" if result.stats.clipped else ""
    return AnalysisReport(
        result.identity,
        found.exit,
        result.complete,
        result.stopped,
        f"{result.model} ({config})",
        [row for answer in found.answers for row in _rows(answer, found, bound)],
        lambda rows: {
            **result.record({}),
            "verdict": VERDICTS[found.exit],
            "exit_code": found.exit.value,
            **({"expression": found.expression} if found.expression else {}),
            "properties": rows,
        },
        [(f"{numbers}{clipped}\nstopped because {result.stopped_because}", Tone.PLAIN), (DIFFERENCE, Tone.QUIET)],
    )


def _rows(answer: Stuck, found: StuckResult, bound: BoundModel) -> list[Row]:
    """The lines of one answer; the first has its record."""
    trace, group, write = answer.trace, found.expression or answer.name, None
    data: dict[str, object] = {"name": answer.name, "kind": "can_reach" if found.expression else "leads_to"}
    data |= {"status": "holds" if found.exit is Exit.OK else answer.status}
    data |= {key: getattr(answer, key) for key in ("claimed", "can_end", "trapped", "undecided")}
    data |= {"trace": None, "depth": len(trace) if trace else None}
    if trace is not None:
        write = partial(found.result.identity.write_trace, name=answer.name, trace=trace, bound=bound)
    claimed = f"{quantity(answer.claimed, 'state')}{'' if found.expression else ' must be followed by the goal'}"
    rows = [Row(claimed, group=group, data=data, write=write)]
    if answer.trapped:
        by = "by fair actions alone" if answer.fair_only else "on every path"
        text = f"violated: from {answer.trapped:,} of them the goal is unreachable {by}"
        rows += [Row(f"{text}, the first {after(len(trace or ()), '')}", "", Tone.BAD, group)]
    if answer.undecided:
        text = f"undecided: {answer.undecided:,} of them, from which unexplored states can be reached"
        rows += [Row(text, "", Tone.OPEN, group)]
    if answer.complete and answer.claimed and not answer.trapped and not answer.undecided:
        rows += [Row("from each of them the goal can be reached", "", Tone.GOOD, group)]
    if trace is not None:
        rows[-1] = replace(rows[-1], tell=partial(_tell, trace, bound, answer.fair_only))
    return rows


def _tell(trace: Trace, bound: BoundModel, fair_only: bool, console: Console) -> None:
    tell(trace, bound, console)
    by = " by fair actions alone" if fair_only else ""
    console.print(f"  from here on the goal is unreachable{by}", style="bold red")
