"""The report of a finding for a release: text, script, run, and one diff of fix and test for a checkout of Kafka.

The diff is made where the command runs, from the sources that Kafka has published: the project ships no text of Kafka.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import groupby
from pathlib import Path

from reassure.checkers.kafka.builds.patched_build import UnpublishedSources, sources
from reassure.checkers.kafka.builds.unified_diff import OfAnotherText
from reassure.checkers.kafka.controller.junit import junit_method, method_name
from reassure.checkers.kafka.controller.kafka_tests import kafkas_test, with_tests
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.replay import ControllerTrace, trace_of_controller
from reassure.checkers.kafka.pages import findings
from reassure.checkers.kafka.pages.bug_reports import (
    FIXES,
    affected_versions,
    expected_words,
    fixed_words,
    observed_words,
)
from reassure.checkers.kafka.pages.findings import Case
from reassure.checkers.kafka.pages.headlines import ELR, SEARCHED
from reassure.checkers.kafka.pages.measurements import Measurement
from reassure.checkers.kafka.reports.filing import FILINGS, hand_script
from reassure.checkers.kafka.reports.fix_diff import ReleaseFix, diff_of_test, fix_for
from reassure.checkers.ledger.verdicts import trace_of
from reassure.checkers.machine.exit_codes import UsageFailure

WIDTH = 100
"""Of plain text, in characters."""


@dataclass
class CommitterReport:
    """A finding in a release, ready to be filed.

    number: on the page of findings. several: its cases in all releases, and case: the one of the release. missing: why
    the diff has no fix, or no test, or is empty. fix: None where there is none for the text of the release.
    """

    number: int
    several: Sequence[Case]
    case: Case
    kafka: Release
    run: ControllerTrace
    method: str
    diff: str = ""
    fix: ReleaseFix | None = None
    missing: list[str] = field(default_factory=list)

    @property
    def claim(self) -> str:
        """The name of the finding."""
        return self.case.headline.claim

    @property
    def test(self) -> str:
        """The name of the test method."""
        return method_name(self.case.headline.property)


def committer_report(number: int, several: Sequence[Case], kafka: Release) -> CommitterReport:
    """The report of a finding for a release; `UsageFailure` if the release does not have the finding.

    `SystemFailure` where Maven cannot bring what Kafka has published.
    """
    case = next((c for c in several if c.release == kafka.rules and c.counts), None)
    claim = several[0].headline.claim
    if case is None:
        having = ", ".join(c.release for c in several if c.counts)
        raise UsageFailure(
            f"Kafka {kafka.version} does not have finding {claim}; releases with the rules of {having} do"
        )
    name = case.headline.property
    trace, bound = trace_of(case.answer, name)
    run = trace_of_controller(trace, bound)
    report = CommitterReport(number, several, case, kafka, run, junit_method(run, kafka, name, name))
    try:
        report.fix = fix_for(fix_file(claim), sources(kafka))
        report.diff = report.fix.diff
    except UnpublishedSources:
        report.missing.append(f"Kafka {kafka.version} is published without its sources: there is no diff of the fix.")
    except OfAnotherText as failure:
        report.missing.append(f"The fix is not written for the text of Kafka {kafka.version}: {failure}.")
    if kafka.tested:
        report.diff += diff_of_test(kafkas_test(with_tests(kafka)), report.method)
    else:
        report.missing.append(f"Kafka {kafka.version} is published without its tests: there is no diff of the test.")
    return report


def fix_file(claim: str) -> Path:
    """The project's patch for a finding."""
    return Path(str(resources.files(__package__).joinpath("findings", FIXES[claim])))


def report_files(report: CommitterReport, measured: Sequence[Measurement]) -> dict[str, str]:
    """The texts of a report by file name. measured: of all findings."""
    text = markdown_text(report, [m for m in measured if m.claim == report.claim])
    files = {f"{report.claim}.md": text, f"{report.claim}.txt": plain_text(text)}
    files[f"{report.claim}.sh"] = hand_script(report.number).text
    files[f"{report.claim}.itf.json"] = report.case.path.read_text(encoding="utf-8")
    if report.diff:
        files[f"{report.claim}.diff"] = report.diff
    return files


def markdown_text(report: CommitterReport, measured: list[Measurement]) -> str:
    """The report as Markdown, each paragraph in a line. measured: of this finding."""
    headline, filing, case = report.case.headline, FILINGS[report.claim], report.case
    broken, script = [c for c in report.several if c.counts], hand_script(report.number)
    fixed = fixed_words([m for m in measured if m.fixed])
    cause = f"{headline.cause} Introduced by: {headline.introduced}"
    if report.fix is not None:
        cause += f"\n\nThe fix changes, in the text of {report.kafka.version}: {report.fix.places}."
    parts = [
        f"# {headline.title}",
        f"- Project: KAFKA, component `controller`\n- Priority: {filing.priority}: {filing.reason}\n"
        f"- Affects: {affected_versions(broken, measured)}",
        "## Who is affected",
        _who(broken),
        "All of this comes first:",
        _listed(filing.preconditions),
        "## What happens",
        headline.breaks,
        "## Steps",
        f"Save the script as `{report.claim}.sh` in the folder of Kafka's distribution, and run "
        f"`bash {report.claim}.sh`: it starts a controller and four brokers, and takes two or three minutes.",
        f"```sh\n{script.text}```",
        script.output,
        f"The shortest run in the controller of {case.release} ({findings.setting_of(case)}):",
        "\n".join(findings.story_of(case)),
        "## Expected",
        expected_words(headline),
        "## Observed",
        observed_words(measured),
        "## Cause",
        cause,
        *(["## Workaround", headline.helps] if headline.helps else []),
        "## Fix",
        *_fix_words(report),
        *([fixed] if fixed else []),
        "## Test",
        *_test_words(report),
        "## Trunk, and earlier reports",
        f"The same lines are in {headline.newest_code} (read, not executed). We know of no public report of it: "
        f"{SEARCHED}.",
    ]
    return "\n\n".join(parts) + "\n"


def _who(broken: Sequence[Case]) -> str:
    """Clusters that have it with the default settings, from which release on."""
    if not broken[0].headline.needs_elr:
        return f"Every cluster from {broken[0].release}.0 on: no feature and no setting is needed."
    words = [
        f"in {' and '.join(c.release for c in of)} they are {default}"
        for default, of in groupby(broken, lambda case: ELR.get(case.release, "on by default"))
    ]
    return f"Clusters with eligible leader replicas (ELR, KIP-966). In a new cluster {', '.join(words)}."


def _listed(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _fix_words(report: CommitterReport) -> list[str]:
    """The reasons of the fix, and what a reader can do with the diff."""
    paragraphs = report.fix.patch.comment.split("\n\n")[1:] if report.fix is not None else []
    words = [re.sub(r"\s*\n\s*", " ", paragraph.strip()) for paragraph in paragraphs]
    if report.fix is not None:
        what = "fix and test" if report.kafka.tested else "the fix"
        words.append(
            f"`{report.claim}.diff` has {what} for a checkout of {report.kafka.version}: "
            f"`git apply {report.claim}.diff`, or `patch -p1 < {report.claim}.diff`."
        )
    return [*words, *report.missing]


def _test_words(report: CommitterReport) -> list[str]:
    """How the test turns from red to green; its text where the diff does not have it."""
    again = f"reassure kafka report {report.claim} --release {report.kafka.version} --out . --run"
    if not report.kafka.tested:
        return ["A method of `ReplicationControlManagerTest`:", f"```java\n{report.method}```"]
    gradle = f"./gradlew :metadata:test --tests '*ReplicationControlManagerTest.{report.test}'"
    red = f"git apply --include='metadata/src/test/*' {report.claim}.diff && {gradle}"
    lines = [f"# fails: the test without the fix\n{red}"]
    if report.fix is not None:
        lines.append(
            f"# passes: with the fix\ngit apply --exclude='metadata/src/test/*' {report.claim}.diff && {gradle}"
        )
    return [
        f"`{report.test}`, a method of `ReplicationControlManagerTest`. In a checkout of {report.kafka.version}:",
        "```sh\n" + "\n".join(lines) + "\n```",
        f"Without a checkout `{again}` compiles and runs it against the jars that Kafka has published.",
    ]


def plain_text(markdown: str) -> str:
    """The text of the Markdown that the reports are written in, for a form that shows no markup.

    Headings are underlined, code is indented. Of Markdown: headings, lists, paragraphs, fenced code and links.
    """
    blocks, in_code = list[str](), False
    for part in re.split(r"^```\w*\n", markdown, flags=re.MULTILINE):
        blocks += [textwrap.indent(part, "    ")] if in_code else [_plain(p) for p in part.split("\n\n") if p.strip()]
        in_code = not in_code
    return "\n\n".join(block.strip("\n") for block in blocks) + "\n"


def _plain(paragraph: str) -> str:
    text = re.sub(r"\[([^\]]+)\]\((https?:[^)]+)\)", r"\1 (\2)", paragraph.strip("\n"))
    text = re.sub(r"\*\*([^*]+)\*\*|\*([^*]+)\*|`([^`]+)`", lambda m: m[1] or m[2] or m[3], text)
    if heading := re.match(r"(#+) (.*)", text):
        return f"{heading[2]}\n{('=' if heading[1] == '#' else '-') * len(heading[2])}"
    return "\n".join(_wrapped(line) for line in text.splitlines())


def _wrapped(line: str) -> str:
    """A line in several, the later ones below the text behind the number or dash of a list."""
    item = re.match(r"(?:\d+\.|-) ", line)
    return textwrap.fill(line, WIDTH, subsequent_indent=" " * len(item[0]) if item else "", break_long_words=False)
