"""Output for GitHub Actions, when a gate runs there: annotations in its output, and a summary of the job."""

from __future__ import annotations

from reassure.checkers.console.code_hosts import add_to_summary, annotation, in_actions
from reassure.checkers.gate.locations import Locations
from reassure.checkers.gate.run_gate import GateReport
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console, counted


def workflow_commands(report: GateReport) -> list[str]:
    """A command of the workflow for each problem, which is shown at its line."""
    locations = Locations(report)
    lines = []
    for check, outcome in report.answered:
        for problem in outcome.problems:
            place = locations.of_problem(check, outcome, problem)
            warning = problem.code is Exit.INCONCLUSIVE and not outcome.ran
            lines.append(annotation(place, check.name, f"{problem.text}\nagain: {check.repro()}", warning))
    return lines


def summary(report: GateReport) -> str:
    """The job's summary, as Markdown."""
    lines = ["## reassure gate", "", report.summary(), "", "| | check | verdict | |", "|---|---|---|---|"]
    for check, outcome in report.pairs:
        if outcome is None or not outcome.ran:
            lines.append(f"| ⚪ | {_cell(check.name)} | not run | |")
            continue
        mark = "❌" if outcome.problems else "✅"
        remark = "<br>".join(_cell(p.text) for p in outcome.problems)
        remark = remark or (f"unchanged since {outcome.unchanged_since}" if outcome.unchanged_since else "")
        lines.append(f"| {mark} | {_cell(check.name)} | {outcome.record['verdict']}{outcome.counts} | {remark} |")
    for check, outcome in report.answered:
        if outcome.story is not None:
            head = f"{check.name}: {outcome.story.property}, {counted(outcome.story.states, 'state')}"
            lines += ["", f"<details><summary>{_cell(head)}</summary>", "", "````text", outcome.story.text, "````", ""]
            lines += [f"Again: `{check.repro()}`", "", "</details>"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")


def tell(report: GateReport, console: Console) -> None:
    """Annotations on standard output, and the summary where the job asks for it."""
    if in_actions():
        for line in workflow_commands(report):
            console.print(line)
    add_to_summary(summary(report))
