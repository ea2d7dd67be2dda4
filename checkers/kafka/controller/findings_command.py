"""`reassure kafka findings`: Kafka's own classes execute the runs of the page of findings; which did is noted."""

from __future__ import annotations

import argparse
import json

from reassure.checkers.base.atomic_files import write_atomically
from reassure.checkers.base.exit_codes import Exit, Failure, worst
from reassure.checkers.base.terminal import Console
from reassure.checkers.evidence import findings, ledger, verdicts
from reassure.checkers.evidence.findings import Case
from reassure.checkers.kafka.controller.class_path import fetch
from reassure.checkers.kafka.controller.confirm import confirm
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.releases import RELEASES, Release, own_release
from reassure.checkers.kafka.controller.replay import ControllerTrace, controller_trace, replayed
from reassure.checkers.kafka.controller.report import report_difference
from reassure.spec import claims

PART, WHOLE = "`ReplicationControlManager`", "the whole `QuorumController`"


def run_findings(args: argparse.Namespace, console: Console) -> Exit:
    """Executes each run on its release; exit code 18 where Kafka does something else, 15 where the ledger lacks it."""
    cases = findings.cases(verdicts.entries(claims.read(), ledger.read()))
    codes = [Exit.OK]
    notes: dict[str, list[str]] = {}
    for case in cases:
        name = f"claim {case.headline.claim}, Kafka {case.release}"
        if case.answer.stale:
            console.print(f"{name}: {case.answer.stale}", style="yellow")
            codes.append(Exit.EXPECTATION)
        if not case.violated:
            continue
        try:
            by, code = _executed(case, name, console)
        except Failure as failure:
            raise Failure(failure.code, f"{name}: {failure}") from None
        codes.append(code)
        notes.setdefault(findings.run_digest(case), []).extend(by)
        console.print(
            f"{name}: {' and '.join(by) or 'no class of Kafka'} executed all {case.steps} steps",
            style="green" if by else "red",
        )
    write_atomically(args.out, json.dumps({"runs": notes}, indent=1, sort_keys=True) + "\n")
    return worst(codes)


def _executed(case: Case, name: str, console: Console) -> tuple[list[str], Exit]:
    """Names the classes that take every step of a run as it is: the part of the controller, and the whole one."""
    kafka = own_release(case.release)
    trace, bound = verdicts.trace_of(case.answer, case.headline.property)
    commands = controller_trace(trace, ModelView(bound))
    with Driver(fetch(kafka)) as driver:
        difference = replayed(commands, driver)
    if difference is not None:
        report_difference(difference, name, kafka.version, console)
        return [], Exit.TRACE
    by = [PART]
    tested = [release for release in RELEASES if release.rules == kafka.rules and release.tested]
    if tested and _whole_controller_does_it(commands, tested[-1], console):
        by.append(WHOLE)
    return by, Exit.OK


def _whole_controller_does_it(commands: ControllerTrace, kafka: Release, console: Console) -> bool:
    """Not every run can be repeated there: which one cannot is told."""
    try:
        return not any(step.differs for step in confirm(commands, fetch(kafka, tests=True)))
    except Failure as failure:
        console.print(f"not on the whole controller of Kafka {kafka.version}: {failure}", style="dim")
        return False
