"""The problems of a gate as SARIF 2.1.0, which code hosts show beside the code: a rule for each property, a code flow
for each counterexample."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from reassure import __version__
from reassure.checkers.base.exit_codes import VERDICTS, Exit
from reassure.checkers.gate.gate_file import Check
from reassure.checkers.gate.judge import Problem
from reassure.checkers.gate.locations import Locations
from reassure.checkers.gate.run_check import CheckOutcome, SourcePlace, Step
from reassure.checkers.gate.run_gate import GateReport

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
WARNINGS = (Exit.INCONCLUSIVE, Exit.VACUOUS)
"""Codes of what was not answered, or of what was answered by nothing; all others are errors."""
MOST_RESULTS = 5000
"""Results that code hosts take of one run."""


def sarif(report: GateReport) -> str:
    """The log as JSON."""
    locations = Locations(report)
    rules: dict[str, dict[str, Any]] = {}
    results: list[dict[str, Any]] = []
    for check, outcome in report.answered:
        for problem in outcome.problems:
            rule = _rule_id(check, problem)
            rules.setdefault(rule, {"id": rule, "shortDescription": {"text": _about(check, problem)}})
            results.append(_result(rule, check, outcome, problem, locations))
    names = sorted(rules)
    for result in results:
        result["ruleIndex"] = names.index(result["ruleId"])
    driver = {
        "name": "reassure",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [rules[name] for name in names],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": report.exit in (Exit.OK, *_ANSWERED),
                "exitCode": report.exit.value,
                "exitCodeDescription": VERDICTS[report.exit],
            }
        ],
        "results": results[:MOST_RESULTS],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


_ANSWERED = (
    Exit.SAFETY, Exit.LIVENESS, Exit.DEADLOCK, Exit.EXPECTATION, Exit.VACUOUS, Exit.DRIFT, Exit.TRACE,
    Exit.INCONCLUSIVE,
)  # fmt: skip
"""Exit codes of a gate that ran, whatever it found."""


def _rule_id(check: Check, problem: Problem) -> str:
    """The rule of a problem: the property of a model, or what a gate expects of a kind of check."""
    return f"{check.model or check.kind}/{problem.about or VERDICTS[problem.code]}".replace(" ", "-")


def _about(check: Check, problem: Problem) -> str:
    subject = check.model or check.kind
    return f"{problem.about} of {subject}" if problem.about else f"what is expected of {subject}"


def _result(rule: str, check: Check, outcome: CheckOutcome, problem: Problem, locations: Locations) -> dict[str, Any]:
    message = f"{check.name}: {problem.text}\nagain: {check.repro()}"
    fingerprint = hashlib.sha256(f"{check.name}\0{problem.about}\0{VERDICTS[problem.code]}".encode()).hexdigest()
    result: dict[str, Any] = {
        "ruleId": rule,
        "level": "warning" if problem.code in WARNINGS else "error",
        "message": {"text": message},
        "locations": [{"physicalLocation": _physical(locations.of_problem(check, outcome, problem))}],
        # neither counts nor lines: the same problem stays one alert
        "partialFingerprints": {"reassure/v1": fingerprint[:32]},
    }
    story = outcome.story
    if story is not None and problem.about == story.property:
        steps = [_step(n, step, check, outcome, locations) for n, step in enumerate(story.steps)]
        result["codeFlows"] = [{"message": {"text": story.text}, "threadFlows": [{"locations": steps}]}]
    return result


def _step(number: int, step: Step, check: Check, outcome: CheckOutcome, locations: Locations) -> dict[str, Any]:
    declared = outcome.places.get(step.action)
    place = (locations.inside(declared) if declared is not None else None) or locations.of_check(check)
    text = "; ".join([step.text, *step.changes])
    return {
        "executionOrder": number,
        "location": {"physicalLocation": _physical(place), "message": {"text": text}},
    }


def _physical(place: SourcePlace) -> dict[str, Any]:
    return {
        "artifactLocation": {"uri": place.file.replace(" ", "%20"), "uriBaseId": ROOT},
        "region": {"startLine": place.line},
    }
