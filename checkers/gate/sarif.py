"""The problems of a gate as SARIF: a rule for each property, a code flow for each counterexample."""

from __future__ import annotations

from reassure.checkers.console.code_hosts import Alert, SourcePlace, sarif_log
from reassure.checkers.gate.gate_file import Check
from reassure.checkers.gate.judge import Problem
from reassure.checkers.gate.locations import Locations
from reassure.checkers.gate.run_check import CheckOutcome, Step
from reassure.checkers.gate.run_gate import GateReport
from reassure.checkers.machine.exit_codes import VERDICTS, Exit

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
