"""`reassure kafka findings`: Kafka's own classes execute the runs and tests of the page of findings: a record of it."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reassure.checkers.kafka.controller.class_path import fetch
from reassure.checkers.kafka.controller.confirm import confirm
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.junit import REASONS, junit_method
from reassure.checkers.kafka.controller.kafka_tests import message_of, run_methods, with_tests
from reassure.checkers.kafka.controller.releases import RELEASES, Release, release
from reassure.checkers.kafka.controller.replay import ControllerTrace, replayed, trace_of_controller
from reassure.checkers.kafka.controller.report import report_difference
from reassure.checkers.kafka.controller.reproduction import reproduction, run_program
from reassure.checkers.kafka.pages import finding_tests, findings
from reassure.checkers.kafka.pages.finding_tests import FindingTest, RunWithFixes
from reassure.checkers.kafka.pages.findings import Case, FindingsRecord
from reassure.checkers.ledger import verdicts
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import Exit, Failure, UsageFailure, worst
from reassure.checkers.machine.terminal import Console
from reassure.spec.kafka.releases import minor

PART, WHOLE = "`ReplicationControlManager`", "the whole `QuorumController`"


def run_findings(args: argparse.Namespace, console: Console) -> Exit:
    """Executes each run and each test on its release, and records the outcomes.

    Exit code 18 where Kafka does something else, 15 where the ledger lacks an answer.
    """
    cases = _asked_for(args.claim, [c for c in _cases() if c.headline.in_production(c.release)])
    before = _recorded_before(args.out)
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
            f"{name}: {' and '.join(by) or 'no class of Kafka'} executed every step of the controller",
            style="green" if by else "red",
        )
    tests = tested(cases, args.fixed, before.tests)
    for case in cases:
        wrong = wrong_outcome(case, tests[case.key])
        codes.append(Exit.TRACE if wrong else Exit.OK)
        console.print(
            f"claim {case.headline.claim}, Kafka {case.release}: {wrong or 'its test does what it has to do'}",
            style="red" if wrong else "green",
        )
    broken = {findings.run_digest(case): case for case in reversed(cases) if case.violated}
    with_fixes = {digest: run for digest, run in before.with_fixes.items() if digest in broken}
    if args.fixed is not None:
        with_fixes = runs_with_fixes(broken, args.fixed)
    for digest, run in with_fixes.items():
        case = broken[digest]
        wrong = run.wrong(REASONS[case.headline.property])
        codes.append(Exit.TRACE if wrong else Exit.OK)
        said = wrong or run.words + ("" if args.fixed is not None else " (as recorded; --fixed DIR executes it)")
        console.print(f"claim {case.headline.claim}, run of {case.release}: {said}", style="red" if wrong else "green")
    if args.claim:
        notes, tests, with_fixes = before.runs | notes, before.tests | tests, before.with_fixes | with_fixes
    fixed_runs = finding_tests.outcomes_as_json(with_fixes)
    data = {"runs": notes, "tests": finding_tests.outcomes_as_json(tests), "with_fixes": fixed_runs}
    write_atomically(args.out, json.dumps(data, indent=1, sort_keys=True) + "\n")
    return worst(codes)


def _asked_for(claims: list[str], cases: list[Case]) -> list[Case]:
    """The cases of these claims, or all; `UsageFailure` for a claim of no finding."""
    names = list(dict.fromkeys(case.headline.claim for case in cases))
    if unknown := next((claim for claim in claims if claim not in names), None):
        raise UsageFailure(f"{unknown} is not the claim of a finding; there are {', '.join(names)}")
    return [case for case in cases if not claims or case.headline.claim in claims]


def _recorded_before(path: Path) -> FindingsRecord:
    """The record in the file that is to be written; an empty one if it is not such a file."""
    try:
        return findings.recorded(path)
    except Failure:
        return FindingsRecord()


def _cases() -> list[Case]:
    return findings.cases(verdicts.of_project())


def _executed(case: Case, name: str, console: Console) -> tuple[list[str], Exit]:
    """Names the classes that take every step of a run as it is: the part of the controller, and the whole one."""
    kafka = build_for_tests(case.release)
    trace, bound = verdicts.trace_of(case.answer, case.headline.property)
    commands = trace_of_controller(trace, bound)
    with Driver(fetch(kafka)) as driver:
        difference = replayed(commands, driver)
    if difference is not None:
        report_difference(difference, name, kafka.version, console)
        return [], Exit.TRACE
    if not kafka.tested:
        return [PART], Exit.OK
    try:
        steps = confirm(commands, fetch(kafka, tests=True))
    except Failure as failure:
        if failure.code is not Exit.USAGE:  # of a run that cannot be repeated there
            raise
        console.print(f"not on the whole controller of Kafka {kafka.version}: {failure}", style="dim")
        return [PART], Exit.OK
    if other := next((step for step in steps if step.differs), None):
        field, of_run, of_kafka = other.differs[0]
        text = f"{name}: {WHOLE} takes {other.text} otherwise: {field} {of_kafka}, not {of_run}"
        console.print(text, style="red")
        return [PART], Exit.TRACE
    return [PART, WHOLE], Exit.OK


# -- tests ------------------------------------------------------------------------------------------------------


def build_for_tests(rules: str) -> Release:
    """The release that stands for some rules: of the minor version that bears their name, one that goes by them.

    It is the newest with jars of its tests; the newest of all if none has.
    """
    releases = [r for r in RELEASES if r.rules == rules and minor(r.version) == rules]
    return next((r for r in reversed(releases) if r.tested), releases[-1])


def method_of(
    case: Case, cases: Sequence[Case], elr: bool = True, kafka: Release | None = None
) -> tuple[ControllerTrace, str]:
    """The run of a finding's test for a release, and the text of the method.

    A release without the finding has the test of the next release with it. kafka: the release whose test class the
    method is for (default: as `build_for_tests` has it).
    """
    of_it = [c for c in cases if c.headline == case.headline and c.violated]
    shown = next((c for c in of_it if c.release >= case.release), of_it[-1])
    name = case.headline.property
    trace, bound = verdicts.trace_of(shown.answer, name)
    run = trace_of_controller(trace, bound)
    kafka = kafka or build_for_tests(case.release)
    return run, junit_method(run, kafka, name if elr else f"{name} without ELR", name, elr)


def tested(cases: Sequence[Case], fixed: Path | None, before: Mapping[str, FindingTest]) -> dict[str, FindingTest]:
    """The outcomes of the tests of all cases, by key; of a patched build too, which `kafka build` made.

    before: the outcomes in the record; without a build they say what came of it, as long as a test is what it was.
    """
    outcomes: dict[str, FindingTest] = {}
    for rules in dict.fromkeys(case.release for case in cases):
        kafka, of_it = build_for_tests(rules), [c for c in cases if c.release == rules]
        methods = [method_of(case, cases)[1] for case in of_it]
        messages = _messages(kafka, [(case, elr) for elr in (True, False) for case in of_it], cases, None)
        on, off = messages[: len(of_it)], messages[len(of_it) :]
        patched = _built_from(fixed) if fixed is not None else ""
        repaired = patched == kafka.version and fixed is not None
        after = _messages(kafka, [(c, True) for c in of_it], cases, fixed) if repaired else [""] * len(of_it)
        for case, method, message, without, message_fixed in zip(of_it, methods, on, off, after, strict=True):
            digest = hashlib.sha256(method.encode()).hexdigest()
            outcome = FindingTest(kafka.version, digest, message, without)
            old = before.get(case.key)
            if repaired:
                outcome = replace(outcome, fixed_build=patched, fixed=message_fixed)
            elif old is not None and old.method == digest and fixed is None:
                outcome = replace(outcome, fixed_build=old.fixed_build, fixed=old.fixed)
            outcomes[case.key] = outcome
    return outcomes


def _built_from(folder: Path) -> str:
    """The version that a build in a folder changes; `UsageFailure` if the folder is none."""
    try:
        return str(json.loads((folder / "build.json").read_text(encoding="utf-8"))["release"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageFailure(f"{folder} is not a build of `reassure kafka build`: it has no build.json") from None


def _messages(kafka: Release, runs: list[tuple[Case, bool]], cases: Sequence[Case], build: Path | None) -> list[str]:
    """The messages of failing tests, in the order of the runs; "" for one that passes.

    runs: cases, and whether ELR is on. Kafka's test class is compiled once for all.
    """
    if kafka.tested:
        ran = run_methods(with_tests(kafka, build), [method_of(case, cases, elr, kafka)[1] for case, elr in runs])
    else:
        ran = []
        for case, elr in runs:
            name = case.headline.property
            program = reproduction(method_of(case, cases, elr, kafka)[0], kafka, name, name, elr)
            ran.append(run_program(program, fetch(kafka)))
    return [message_of(outcome) for outcome in ran]


def runs_with_fixes(broken: Mapping[str, Case], build: Path) -> dict[str, RunWithFixes]:
    """Each run on the release that a build patches, and on the build. broken: the cases by the digest of their run."""
    kafka = release(_built_from(build))
    patched = release(str(build))
    names = [f"{case.headline.property} of {case.release}" for case in broken.values()]
    runs = [
        trace_of_controller(trace, bound)
        for trace, bound in (verdicts.trace_of(case.answer, case.headline.property) for case in broken.values())
    ]
    methods = [
        junit_method(run, kafka, name, case.headline.property)
        for run, name, case in zip(runs, names, broken.values(), strict=True)
    ]
    before, after = (run_methods(with_tests(kafka, folder), methods) for folder in (None, build))
    with Driver(fetch(kafka)) as driver, Driver(fetch(patched)) as fixed:
        differences = [(replayed(run, driver), replayed(run, fixed)) for run in runs]
    return {
        digest: RunWithFixes(
            kafka.version,
            ours.step.number if ours is not None else 0,
            theirs.step.number if theirs is not None else 0,
            theirs.step.text if theirs is not None else "",
            tuple(theirs.rows()) if theirs is not None else (),
            message_of(of_release),
            message_of(of_build),
        )
        for digest, (ours, theirs), of_release, of_build in zip(broken, differences, before, after, strict=True)
    }


def wrong_outcome(case: Case, outcome: FindingTest) -> str:
    """What a test does that it has not to do: "" if it fails for the right reason where the finding is, and only there.

    Without ELR it fails if and only if the finding does not need ELR; on a build with the fixes it passes.
    """
    reason = REASONS[case.headline.property]
    with_defect = {"": case.violated, " without ELR": case.violated and not case.headline.needs_elr}
    for where, message in (("", outcome.message), (" without ELR", outcome.without_elr)):
        if with_defect[where] and not message:
            return f"its test passes{where}"
        if with_defect[where] and reason not in message:
            return f"its test fails{where} for another reason: {message}"
        if message and not with_defect[where]:
            return f"its test fails{where}: {message}"
    return f"its test fails on the build with the fixes: {outcome.fixed}" if outcome.fixed else ""


# -- a release that is in no table -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class FindingOutcome:
    """What a finding's test did on a release: messages of failures, "" if it passed.

    wrong: what is not as the rules have it that the release goes by, or "".
    """

    claim: str
    message: str
    without_elr: str
    wrong: str


def outcomes_by_rules(kafka: Release, rules: str, cases: Sequence[Case]) -> list[FindingOutcome]:
    """What the tests of all findings do on a release, beside what they have to do by some rules."""
    of_rules = [case for case in cases if case.release == rules and case.headline.in_production(rules)]
    messages = _messages(kafka, [(case, elr) for case in of_rules for elr in (True, False)], cases, None)
    return [
        FindingOutcome(case.headline.claim, on, off, wrong_outcome(case, FindingTest(kafka.version, "", on, off)))
        for case, on, off in zip(of_rules, messages[::2], messages[1::2], strict=True)
    ]
