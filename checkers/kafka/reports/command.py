"""`reassure kafka report`: a finding as a report that can be filed, with a diff of fix and test."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from reassure.checkers.console.commands import Subcommand
from reassure.checkers.kafka.builds.patched_build import NEWEST_WITH_SOURCES, make_build
from reassure.checkers.kafka.controller.class_path import fetch
from reassure.checkers.kafka.controller.junit import REASONS
from reassure.checkers.kafka.controller.kafka_tests import message_of, run_methods, with_tests
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.reproduction import reproduction, run_program
from reassure.checkers.kafka.pages import findings, measurements
from reassure.checkers.kafka.pages.findings import Case
from reassure.checkers.kafka.pages.headlines import HEADLINES
from reassure.checkers.kafka.reports.committer_report import CommitterReport, committer_report, report_files
from reassure.checkers.ledger import ledger, verdicts
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import Exit, UsageFailure
from reassure.checkers.machine.own_files import temporary_folder
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.shared_options import Option
from reassure.spec import claims

SUBCOMMANDS = {
    "report": Subcommand(
        "write a finding as a report to file, with a diff of fix and test",
        (
            Option("name NAME", "a finding, by its number on the page of findings, such as 1, or that of its claim"),
            Option(
                "--release R",
                f"the release that the report is about (default: {NEWEST_WITH_SOURCES}, the newest with sources)",
                default=NEWEST_WITH_SOURCES,
            ),
            Option("--out DIR", "the folder to write, created if it is not there", Path, output=True, required=True),
            Option(
                "--run",
                "run the test on the release and on the release with the fix; exit code 18 if it does not fail on the "
                "one by the finding, or does not pass on the other",
                bool,
            ),
        ),
    )
}


def run_report(args: argparse.Namespace, console: Console) -> Exit:
    """Writes the files; with `--run` executes the test without and with the fix."""
    number, several = named_finding(args.name)
    report = committer_report(number, several, release(args.release))
    args.out.mkdir(parents=True, exist_ok=True)
    for name, text in report_files(report, measurements.measured()).items():
        write_atomically(args.out / name, text)
        console.print(f"written: {args.out / name}", style="dim")
    for sentence in report.missing:
        console.print(sentence, style="yellow")
    return _executed(report, console) if args.run else Exit.OK


def findings_of_project() -> list[tuple[int, list[Case]]]:
    """The findings with their numbers on the page, each with its cases by release."""
    names = {headline.claim for headline in HEADLINES}
    told = [claim for claim in claims.read() if claim.id in names]  # the other models need not be read
    return findings.numbered_findings(verdicts.entries(told, ledger.read_ledger()))


def named_finding(name: str) -> tuple[int, list[Case]]:
    """A finding by claim or number, with its number; `UsageFailure` names the nearest."""
    numbered = findings_of_project()
    by_name = {cases[0].headline.claim: (number, cases) for number, cases in numbered}
    by_number = {str(number): (number, cases) for number, cases in numbered}
    if (finding := by_name.get(name.upper()) or by_number.get(name)) is not None:
        return finding
    near = get_close_matches(name.upper(), by_name, n=3, cutoff=0.5) or list(by_name)
    raise UsageFailure(f"{name!r} is not a finding that this command reports; did you mean {', '.join(near)}?")


def _executed(report: CommitterReport, console: Console) -> Exit:
    """Runs the test on Kafka's own classes; exit code 18 if an outcome is not as the finding and its fix have it."""
    reason = REASONS[report.case.headline.property]
    messages = failure_messages(report)
    for where, message in zip((f"Kafka {report.kafka.version}", "with the fix"), messages, strict=False):
        console.print(f"{report.test}, {where}: {f'fails: {message}' if message else 'passes'}")
    return outcome(reason, messages)


def outcome(reason: str, messages: Sequence[str]) -> Exit:
    """Whether a test is red by its finding and green with the fix. messages: as `failure_messages` gives them.

    reason: a part of the message with which the test fails because of the finding.
    """
    return Exit.OK if reason in messages[0] and not any(messages[1:]) else Exit.TRACE


def failure_messages(report: CommitterReport) -> Sequence[str]:
    """Why the test fails, "" if it passes: on the release, and then with the fix if there is one that can be built."""
    kafka, name = report.kafka, report.case.headline.property
    if not kafka.tested:
        return [message_of(run_program(reproduction(report.run, kafka, name, name), fetch(kafka)))]
    messages = [message_of(run_methods(with_tests(kafka), [report.method])[0])]
    if report.fix is not None:
        with temporary_folder("kafka") as temporary:
            patch = temporary / "fix.patch"
            patch.write_text(str(report.fix.patch), encoding="utf-8")
            build = make_build([patch], kafka, temporary / "build")
            messages.append(message_of(run_methods(with_tests(kafka, build.folder), [report.method])[0]))
    return messages


ACTIONS = {"report": run_report}
