"""The place of a gate's problem, as code hosts show it: a file of the repository and a line.

Also here: the problems of a gate as SARIF: a rule for each property, a code flow for each counterexample.

Also here: output for GitHub Actions, when a gate runs there: annotations in its output, and a summary of the job.
"""

from __future__ import annotations

from pathlib import Path

from reassure.checkers.console.code_hosts import Alert, SourcePlace, add_to_summary, annotation, in_actions, sarif_log
from reassure.checkers.gate.gate_file import Check
from reassure.checkers.gate.judge import Problem
from reassure.checkers.gate.run_check import CheckOutcome, Step
from reassure.checkers.gate.run_gate import GateReport
from reassure.checkers.gate.update import HEADER
from reassure.checkers.machine.exit_codes import VERDICTS, Exit
from reassure.checkers.machine.terminal import Console, quantity


def repository(path: Path) -> Path:
    """The root of the repository that a file is in; its folder, if it is in none."""
    folder = path.resolve().parent
    return next((p for p in (folder, *folder.parents) if (p / ".git").exists()), folder)


class Locations:
    """Places relative to the repository that a gate's file is in."""

    def __init__(self, report: GateReport) -> None:
        self.root = repository(report.file.path)
        self.gate = report.file.path.resolve()
        starts = [report.file.text.count("\n", 0, m.start()) + 1 for m in HEADER.finditer(report.file.text)]
        whole = len(starts) == len(report.file.checks)
        self.lines = {id(c): starts[n] if whole else 1 for n, c in enumerate(report.file.checks)}

    def inside(self, place: SourcePlace) -> SourcePlace | None:
        """A place relative to the root; None if it is elsewhere, as a model that is installed."""
        path = Path(place.file)
        if not path.is_relative_to(self.root):
            return None
        return SourcePlace(path.relative_to(self.root).as_posix(), place.line)

    def of_check(self, check: Check) -> SourcePlace:
        """The place of a check in the gate's file."""
        return SourcePlace(self.gate.relative_to(self.root).as_posix(), self.lines[id(check)])

    def of_problem(self, check: Check, outcome: CheckOutcome, problem: Problem) -> SourcePlace:
        """The declaration of a problem's property or cover; the place of the check, if it is about neither."""
        declared = outcome.places.get(problem.about)
        inside = self.inside(declared) if declared is not None else None
        return inside or self.of_check(check)


WARNINGS = (Exit.INCONCLUSIVE, Exit.VACUOUS)
"""Codes of what was not answered, or of what was answered by nothing; all others are errors."""


def sarif(report: GateReport) -> str:
    """The log as JSON."""
    locations = Locations(report)
    alerts = [
        _alert(check, outcome, problem, locations) for check, outcome in report.answered for problem in outcome.problems
    ]
    return sarif_log(alerts, report.exit)


def _alert(check: Check, outcome: CheckOutcome, problem: Problem, locations: Locations) -> Alert:
    """A problem; its rule is the property of a model, or what a gate expects of a kind of check."""
    subject = check.model or check.kind
    story = outcome.story if outcome.story is not None and problem.about == outcome.story.property else None
    return Alert(
        f"{subject}/{problem.about or VERDICTS[problem.code]}".replace(" ", "-"),
        f"{problem.about} of {subject}" if problem.about else f"what is expected of {subject}",
        f"{check.name}: {problem.text}\nagain: {check.repro()}",
        locations.of_problem(check, outcome, problem),
        f"{check.name}\0{problem.about}\0{VERDICTS[problem.code]}",
        problem.code in WARNINGS,
        story.text if story is not None else "",
        tuple(_step(step, check, outcome, locations) for step in story.steps) if story is not None else (),
    )


def _step(step: Step, check: Check, outcome: CheckOutcome, locations: Locations) -> tuple[SourcePlace, str]:
    declared = outcome.places.get(step.action)
    place = (locations.inside(declared) if declared is not None else None) or locations.of_check(check)
    return place, "; ".join([step.text, *step.changes])


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


def _summary(report: GateReport) -> str:
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
            head = f"{check.name}: {outcome.story.property}, {quantity(outcome.story.length, 'step')}"
            lines += ["", f"<details><summary>{_cell(head)}</summary>", "", "````text", outcome.story.text, "````", ""]
            lines += [f"Again: `{check.repro()}`", "", "</details>"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")


def annotate_job(report: GateReport, console: Console) -> None:
    """Annotations on standard output, and the summary where the job asks for it."""
    if in_actions():
        for line in workflow_commands(report):
            console.print(line)
    add_to_summary(_summary(report))
