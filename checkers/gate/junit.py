"""The report of a gate that CI systems read: a suite for each check, a case for each property, cover and pin."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from reassure.checkers.console.commands import Record
from reassure.checkers.gate.gate_file import Check
from reassure.checkers.gate.judge import Problem
from reassure.checkers.gate.run_check import CheckOutcome
from reassure.checkers.gate.run_gate import GateReport
from reassure.checkers.machine.exit_codes import VERDICTS, Exit, Failure
from reassure.checkers.request.result import PropertyStatus, in_a_list

FAILURES = (Exit.EXPECTATION, Exit.DRIFT, Exit.VACUOUS, Exit.SAFETY, Exit.LIVENESS, Exit.DEADLOCK, Exit.TRACE)
"""Exit codes that are failures in JUnit's words; anything else is an error: the question was not answered."""
VERDICT_CASE = "verdict"
LONGEST = 64_000
"""Characters of a text; CI systems refuse what is much longer."""
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
COUNTED = ("tests", "failures", "errors", "skipped")
PASSED = "passed"


def junit(report: GateReport) -> str:
    """The report as XML."""
    whole = ElementTree.Element("testsuites", name=report.file.path.name)
    for check, outcome in report.pairs:
        whole.append(_suite(check, outcome, report.file.path))
    for name in COUNTED:
        whole.set(name, str(sum(int(suite.get(name, "0")) for suite in whole)))
    whole.set("time", f"{sum(o.seconds for o in report.outcomes):.3f}")
    return ElementTree.tostring(whole, encoding="unicode", xml_declaration=False) + "\n"


def junit_of_failure(name: str, failure: Failure) -> str:
    """The report of a gate that could not begin: one error."""
    whole = ElementTree.Element("testsuites", name=name, tests="1", failures="0", errors="1", skipped="0", time="0")
    suite = ElementTree.SubElement(whole, "testsuite", dict(whole.attrib))
    case = ElementTree.SubElement(suite, "testcase", classname="reassure.gate", name=name, time="0")
    text = _clean(str(failure))
    ElementTree.SubElement(case, "error", type=VERDICTS[failure.code], message=text.splitlines()[0]).text = text
    return ElementTree.tostring(whole, encoding="unicode") + "\n"


def _suite(check: Check, outcome: CheckOutcome | None, path: Path) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=check.name)
    suite.append(_facts(check, outcome))
    numbers = dict.fromkeys((*COUNTED, PASSED), 0)
    for name in _cases(check, outcome):
        case = ElementTree.SubElement(suite, "testcase", classname=f"{path.stem}.{check.name}", name=in_a_list(name))
        case.set("time", f"{outcome.seconds if outcome and name == VERDICT_CASE else 0.0:.3f}")
        numbers["tests"] += 1
        numbers[_failure_element(case, name, check, outcome)] += 1
    for name in COUNTED:
        suite.set(name, str(numbers[name]))
    suite.set("time", f"{outcome.seconds if outcome else 0.0:.3f}")
    return suite


def _facts(check: Check, outcome: CheckOutcome | None) -> ElementTree.Element:
    """The facts of a check beside its cases."""
    facts = {"kind": check.kind, "expect": check.expect, "command": check.repro()}
    if outcome is not None:
        record = outcome.record
        facts |= {"verdict": record["verdict"], "complete": str(record["complete"]).lower()}
        facts |= {"model_sha256": record["model_sha256"] or "", "stopped_because": record["stopped_because"]}
        facts |= {name: str(n) for name, n in check.about.figures(record).items()}
        facts |= {"unchanged_since": outcome.unchanged_since} if outcome.unchanged_since else {}
    element = ElementTree.Element("properties")
    for name, value in facts.items():
        ElementTree.SubElement(element, "property", name=name, value=_clean(value))
    return element


def _cases(check: Check, outcome: CheckOutcome | None) -> list[str]:
    """The names of a check's cases: the verdict as a whole, then what it is made of."""
    if outcome is None or not outcome.ran:
        return [VERDICT_CASE]
    record = outcome.record
    names = [p["name"] for p in [*record["properties"], *record["covers"]]] + list(record["not_applicable"])
    names += [f"pin {name}" for name in check.pin]
    others = [p.about for p in outcome.problems if p.about and p.about not in names and not p.of_pin]
    return list(dict.fromkeys([VERDICT_CASE, *names, *others]))


def _failure_element(case: ElementTree.Element, name: str, check: Check, outcome: CheckOutcome | None) -> str:
    """Gives a case its result; what it counts as."""
    if outcome is None or outcome.interrupted or not outcome.ran:
        ElementTree.SubElement(case, "skipped", message="not run" if outcome is None else outcome.problems[0].text)
        return "skipped"
    problems = [p for p in outcome.problems if _case_of(p) == name]
    if problems:
        first = problems[0]
        kind = "failure" if first.code in FAILURES else "error"
        element = ElementTree.SubElement(case, kind, type=VERDICTS[first.code], message=_clean(first.text))
        element.text = _clean("\n".join([*(p.text for p in problems), *_more(name, check, outcome)]))
        return f"{kind}s"
    record = outcome.record
    if why := _undecided(name, record):
        ElementTree.SubElement(case, "skipped", message=why)
        return "skipped"
    return PASSED


def _undecided(name: str, record: Record) -> str:
    """Why a property or cover that is as expected has no answer, "" if it has one: what is open has not passed."""
    if name in record["not_applicable"]:
        return "does not apply to this configuration"
    status = {p["name"]: p["status"] for p in record["properties"]}.get(name)
    if status in (PropertyStatus.NOT_CHECKED, PropertyStatus.UNKNOWN):
        return str(status).replace("_", " ")
    is_open = not record["complete"] and any(c["name"] == name and not c["reached"] for c in record["covers"])
    return "not reached so far" if is_open else ""


def _case_of(problem: Problem) -> str:
    return f"pin {problem.about}" if problem.of_pin else problem.about or VERDICT_CASE


def _more(name: str, check: Check, outcome: CheckOutcome) -> list[str]:
    """Further lines that help to understand a failure."""
    story = outcome.story
    lines = ["", story.text] if story is not None and name in (story.property, VERDICT_CASE) else []
    lines += [f"trace: {outcome.traces[name]}"] if name in outcome.traces else []
    return [*lines, "", f"again: {check.repro()}"]


def _clean(text: str) -> str:
    """Without characters that XML has not."""
    return NOT_XML.sub("?", text)[:LONGEST]
