"""A finding as a report to file: its parts, a diff that Git and patch take, a test that turns from red to green."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest import mock

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.builds.patched_build import IN_REPOSITORY, edited_texts, read_patch
from reassure.checkers.kafka.controller.junit import REASONS
from reassure.checkers.kafka.controller.kafka_tests import TEST, kafkas_test
from reassure.checkers.kafka.pages import measurements
from reassure.checkers.kafka.pages.bug_reports import FIXES
from reassure.checkers.kafka.pages.headlines import HEADLINES
from reassure.checkers.kafka.reports import command
from reassure.checkers.kafka.reports.committer_report import fix_file, plain_text
from reassure.checkers.kafka.reports.filing import FILINGS, hand_script
from reassure.checkers.kafka.reports.fix_diff import TESTS_IN_REPOSITORY, fix_for
from tests.helpers.kafka_jars import class_path, kafka_sources

FINDINGS = [(number, headline.claim) for number, headline in enumerate(HEADLINES, 1)]


@pytest.fixture(scope="module", autouse=True)
def the_ledger_is_read_once() -> Iterator[None]:
    with mock.patch.object(command, "findings_of_project", cache(command.findings_of_project)):
        yield


@pytest.mark.parametrize(("number", "claim"), FINDINGS)
def test_the_diff_is_taken_in_a_folder_laid_out_as_the_repository(number: int, claim: str, tmp_path: Path) -> None:
    """By Git, and by patch."""
    of_tests = kafkas_test(class_path("4.3.1", tests=True))
    texts = kafka_sources("4.3.1")
    out = tmp_path / "out"
    assert main(["kafka", "report", claim, "--release", "4.3.1", "--out", str(out)]) == 0
    assert {path.name for path in out.iterdir()} == {
        f"{claim}.{end}" for end in ("md", "txt", "sh", "itf.json", "diff")
    }
    fixed = edited_texts([read_patch(fix_file(claim), texts)], texts)
    before = {f"{IN_REPOSITORY}/{name}": texts.text(name) for name in fixed} | {
        f"{TESTS_IN_REPOSITORY}/{TEST}": of_tests
    }
    _, several = command.named_finding(claim)
    method = command.committer_report(number, several, command.release("4.3.1")).method
    for program in (["git", "apply"], ["patch", "-p1", "-i"]):
        checkout = tmp_path / program[0]
        for name, text in before.items():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (checkout / name).write_text(text)
        ran = subprocess.run([*program, str(out / f"{claim}.diff")], cwd=checkout, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (0, ""), program
        assert {name: (checkout / IN_REPOSITORY / name).read_text() for name in fixed} == fixed
        with_test = (checkout / TESTS_IN_REPOSITORY / TEST).read_text()
        assert with_test == of_tests.rstrip()[:-1] + f"\n{method}}}\n"


@pytest.mark.parametrize(
    "claim", ["K14", *(pytest.param(c, marks=pytest.mark.slow) for _, c in FINDINGS if c != "K14")]
)
def test_the_test_is_red_on_the_release_and_green_with_the_fix(
    claim: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class_path("4.3.1", tests=True)
    kafka_sources("4.3.1")
    assert main(["kafka", "report", claim, "--out", str(tmp_path), "--run"]) == 0
    before, after = " ".join(capsys.readouterr().out.split()).partition("Kafka 4.3.1: fails: ")[2].split(" test")
    assert REASONS[command.named_finding(claim)[1][0].headline.property] in before
    assert after.endswith(", with the fix: passes")


@pytest.mark.parametrize(
    ("messages", "code"),
    [(["it lost", ""], 0), (["", ""], 18), (["other", ""], 18), (["lost", "lost"], 18), (["lost"], 0), ([""], 18)],
)
def test_an_outcome_that_is_not_that_of_finding_and_fix(messages: list[str], code: int) -> None:
    assert command.outcome("lost", messages).value == code


def test_a_release_without_sources_has_a_report_without_a_diff(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class_path("4.4.0")
    assert main(["kafka", "report", "K21", "--release", "4.4.0", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"K21.md", "K21.txt", "K21.sh", "K21.itf.json"}
    reasons = (
        "Kafka 4.4.0 is published without its sources: there is no diff of the fix.",
        "Kafka 4.4.0 is published without its tests: there is no diff of the test.",
    )
    text, printed = (tmp_path / "K21.md").read_text(), " ".join(capsys.readouterr().out.split())
    assert all(reason in text and reason in printed for reason in reasons)
    assert "public void testNothingLostByACompletion() {" in text and "git apply" not in text


def test_a_release_that_the_fix_is_not_written_for_has_the_test_alone(tmp_path: Path) -> None:
    class_path("4.0.2", tests=True)
    kafka_sources("4.0.2")
    kafka_sources("4.3.1")
    assert main(["kafka", "report", "K14", "--release", "4.0.2", "--out", str(tmp_path)]) == 0
    files = [line for line in (tmp_path / "K14.diff").read_text().splitlines() if line.startswith("+++ ")]
    assert files == [f"+++ b/{TESTS_IN_REPOSITORY}/{TEST}"]
    text = (tmp_path / "K14.md").read_text()
    assert "The fix is not written for the text of Kafka 4.0.2: " in text
    assert "--include='metadata/src/test/*' K14.diff" in text and "--exclude" not in text


def test_a_fix_is_placed_where_its_lines_stand_in_another_release() -> None:
    fixes = {version: fix_for(fix_file("K21"), kafka_sources(version)) for version in ("4.0.2", "4.3.1")}
    assert {version: fix.places for version, fix in fixes.items()} == {
        "4.0.2": "`PartitionChangeBuilder.java`, line 560",
        "4.3.1": "`PartitionChangeBuilder.java`, line 554",
    }


@pytest.mark.parametrize(
    ("name", "release", "message"),
    [
        ("K22", "4.3.1", "'K22' is not a finding that this command reports; did you mean K"),
        (
            "lost",
            "4.3.1",
            "'lost' is not a finding that this command reports; did you mean K21, K20, K23, K24, K14, K18, K25?",
        ),
        ("9", "4.3.1", "'9' is not a finding that this command reports; did you mean K21"),
        ("K23", "4.2.0", "Kafka 4.2.0 does not have finding K23; releases with the rules of 4.3, 4.4 do"),
        (
            "K21",
            "3.9.2",
            "Kafka 3.9.2 does not have finding K21; releases with the rules of 4.0, 4.1, 4.2, 4.3, 4.4 do",
        ),
    ],
)
def test_what_is_no_finding_is_refused(
    name: str, release: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kafka", "report", name, "--release", release, "--out", str(tmp_path / "out")]) == 64
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("number", "claim"), FINDINGS)
def test_the_parts_of_a_report(number: int, claim: str) -> None:
    """Each part that a committer needs has its heading and its words."""
    same, several = command.named_finding(str(number))
    assert (same, several[0].headline.claim) == (number, claim)
    assert command.named_finding(claim.lower())[0] == number
    report = command.CommitterReport(
        number,
        several,
        several[-1],
        command.release("4.4.0"),
        None,
        "    @Test\n",  # type: ignore[arg-type]
    )
    text = command.report_files(report, measurements.measured())[f"{claim}.md"]
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert headings == [
        "Who is affected",
        "What happens",
        "Steps",
        "Expected",
        "Observed",
        "Cause",
        "Workaround",
        "Fix",
        "Test",
        "Trunk, and earlier reports",
    ]
    headline, filing = several[0].headline, FILINGS[claim]
    assert f"- Priority: {filing.priority}: {filing.reason}\n" in text
    assert all(f"- {condition}\n" in text for condition in filing.preconditions)
    assert ("eligible leader replicas (ELR, KIP-966)" in text) is headline.needs_elr
    assert headline.cause in text and headline.promise.removeprefix("none is needed: ") in text
    newest = "a public fork that merges trunk" if claim == "K25" else "the code of trunk of August 2026 (read"
    assert f"The same lines are in {newest}" in text and "could not search Apache's Jira" in text
    assert "runs on a cluster of 4.4.0" in text
    assert hand_script(number).text in text and "Observed: " in text


def test_every_finding_has_words_for_its_report_and_a_script_of_its_own() -> None:
    assert set(FILINGS) == set(FIXES) == {claim for _, claim in FINDINGS}
    scripts = [hand_script(number) for number, _ in FINDINGS]
    assert len({script.text for script in scripts}) == len(FINDINGS)
    for number, script in enumerate(scripts, 1):
        assert script.text.startswith(f"#!/usr/bin/env bash\n# finding-{number}.sh\n")
        assert "\n# cluster.sh: a controller" in script.text and ". ./cluster.sh" not in script.text
        assert subprocess.run(["bash", "-n"], input=script.text, text=True).returncode == 0
        assert script.output.startswith("Expected: ") and "```" not in script.output


def test_markdown_as_plain_text() -> None:
    long = "word " * 30
    text = f"# A `b`\n\n## C\n\n- {long}\n- *two* **three**\n\n```sh\na `b`\n\n# c\n```\n\n[KIP](https://x.y) ends.\n"
    assert plain_text(text) == (
        "A b\n===\n\nC\n-\n\n"
        f"- {' '.join(['word'] * 19)}\n  {' '.join(['word'] * 11)}\n- two three\n\n"
        "    a `b`\n\n    # c\n\nKIP (https://x.y) ends.\n"
    )
