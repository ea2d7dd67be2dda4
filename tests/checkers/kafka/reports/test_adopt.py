"""A release that is in no table: its rules, the tests of the findings on it, the edits; and what cannot be adopted."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from reassure.checkers.kafka.audit.metadata_records import unknown_records
from reassure.checkers.kafka.builds.unified_diff import written_diff
from reassure.checkers.kafka.controller import explained, findings_command, releases
from reassure.checkers.kafka.controller.explained import RulesComparison, compare_with_all_rules
from reassure.checkers.kafka.controller.explore import Scope
from reassure.checkers.kafka.controller.junit import REASONS
from reassure.checkers.kafka.controller.model_view import release_members
from reassure.checkers.kafka.controller.releases import RELEASES, Release
from reassure.checkers.kafka.pages.headlines import HEADLINES
from reassure.checkers.kafka.reports import adopt
from reassure.checkers.kafka.reports.command import findings_of_project
from reassure.checkers.machine.exit_codes import SystemFailure
from reassure.spec.kafka.releases import RELEASES_OF_RULES
from tests.helpers.command import said
from tests.helpers.kafka_jars import class_path

ROOT = Path(__file__).parents[4]


def table(text: str) -> dict[str, tuple[str, ...]]:
    """The table of releases in the text of its module."""
    (assigned,) = (node for node in ast.parse(text).body if isinstance(node, ast.AnnAssign))
    assert assigned.value is not None
    rows: dict[str, tuple[str, ...]] = ast.literal_eval(assigned.value)
    return rows


def without(text: str, version: str) -> str:
    """The text of the table's module before a release was added to it: without its row if it is alone there."""
    rest = re.sub(rf'(?m)^    "[\d.]+": \("{re.escape(version)}",\),\n', "", text)
    rest = re.sub(rf', "{re.escape(version)}"|(?<=\()"{re.escape(version)}", ', "", rest)
    return re.sub(r'([:=] \("[\d.]+")\)', r"\1,)", rest)


@contextmanager
def hidden(version: str) -> Iterator[None]:
    """Takes a release out of all tables."""
    remaining = tuple(r for r in RELEASES if r.version != version)
    files = (adopt.TABLE, adopt.OF_TESTS)
    texts = {path: without((ROOT / path).read_text(encoding="utf-8"), version) for path in files}
    real = adopt.project_text
    with (
        mock.patch.object(releases, "RELEASES", remaining),
        mock.patch.object(adopt, "project_text", lambda path: texts.get(path) or real(path)),
    ):
        yield


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("4.4.0", 6, "Kafka 4.4.0 is in the table: it goes by the rules of 4.4"),
        ("4.1.2", 6, "Kafka 4.1.2 is in the table: it goes by the rules of 4.2"),
        ("3.8.1", 64, "Kafka 3.8.1 is older than 3.9.0, the oldest release that is supported"),
        ("4.4", 64, "'4.4' is not the version of a release, such as 4.4.0"),
        ("trunk", 64, "'trunk' is not the version of a release, such as 4.4.0"),
        (".", 64, "'.' is not the version of a release, such as 4.4.0"),
        ("", 64, "'' is not the version of a release, such as 4.4.0"),
    ],
)
def test_what_is_not_adopted(name: str, code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "kafka", "adopt", name) == (code, "", f"reassure: {message}\n")


@pytest.mark.parametrize(
    ("maven", "message"),
    [
        (None, "no `javac` on the path: a JDK, 17 or newer, is needed"),
        (
            "Could not find artifact org.apache.kafka:kafka-metadata:jar:9.9.9 in host (http://host/)",
            "Maven cannot bring org.apache.kafka:kafka-metadata:9.9.9: Could not find artifact "
            "org.apache.kafka:kafka-metadata:jar:9.9.9\n",
        ),
        (
            "Could not transfer artifact a:b:1 from/to x (http://host/y): z",
            "Could not transfer artifact a:b:1 from/to x\n",
        ),
    ],
    ids=["no JDK", "no such version", "no network"],
)
def test_a_release_that_cannot_be_had_is_one_line(
    maven: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin" if maven else "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for name, text in (("mvn", f"echo '[ERROR] {maven}'; exit 1"), ("javac", "exit 0")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755 if maven else 0o644)
    code, out, err = said(capsys, "kafka", "adopt", "9.9.9")
    assert (code, out, err.count("\n")) == (153, "", 1)
    assert message in err


# -- edits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kafka", RELEASES, ids=lambda kafka: kafka.version)
def test_the_edits_give_back_what_stands_there_for_a_hidden_release(kafka: Release) -> None:
    with hidden(kafka.version):
        rows = table(adopt.project_text(adopt.TABLE))
        assert kafka.version not in {version for row in rows.values() for version in row}
        edited = adopt.edited(kafka, kafka.rules, "")
    assert table(edited[adopt.TABLE]) == RELEASES_OF_RULES
    assert set(edited) == {adopt.TABLE, *([adopt.OF_TESTS] if not kafka.tested else [])}
    for path, text in edited.items() if kafka.version != "4.1.0" else ():  # whose row is not the last one
        assert text == (ROOT / path).read_text(encoding="utf-8")


def test_rules_of_its_own_are_named_wherever_the_newest_are() -> None:
    edited = adopt.edited(Release("4.5.0", "4.5", tested=True), "4.5", "4.4")
    assert list(edited) == [adopt.TABLE, *(path for path, _, _ in adopt.PLACES_OF_RULES)]
    assert table(edited[adopt.TABLE]) == {**RELEASES_OF_RULES, "4.5": ("4.5.0",)}
    added = {
        path: [line for line in edited[path].splitlines() if line not in set(adopt.project_text(path).splitlines())]
        for path in edited
    }
    readings = added.pop("spec/claims/K.toml")
    assert added == {
        adopt.TABLE: ['    "4.5": ("4.5.0",),'],
        "models/kraft/kafka_controller.py": ['    V4_5 = "4.5"'],
        "models/kraft/kraft_kafka.py": ["    release: Release = Release.V4_5"],
        "models/kraft/worked_examples.py": ["    return compared(kraft_kafka.MODEL, release=Release.V4_5)"],
        "checkers/kafka/pages/headlines.py": ['    "4.5": "on by default",'],
    }
    assert set(readings) == {
        f'releases = [{names}"4.3", "4.4", "4.5"]' for names in ("", '"3.9", "4.0", "4.1", "4.2", ')
    }
    of_claims = [
        tomllib.loads(text) for text in (edited["spec/claims/K.toml"], adopt.project_text("spec/claims/K.toml"))
    ]
    assert len(readings) == json.dumps(of_claims[1]).count('"4.4"]') == json.dumps(of_claims[0]).count('"4.5"]')


def test_git_takes_the_edits(tmp_path: Path) -> None:
    edited = adopt.edited(Release("4.5.0", "4.5"), "4.5", "4.4")
    for path in edited:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(adopt.project_text(path), encoding="utf-8")
    diff = "".join(written_diff(adopt.project_text(path), text, path) for path, text in edited.items())
    ran = subprocess.run(["git", "apply"], input=diff, cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert {path: (tmp_path / path).read_text(encoding="utf-8") for path in edited} == edited


@pytest.mark.parametrize(("version", "name"), [("4.5.0", "4.5"), ("5.0.1", "5.0"), ("4.4.1", "4.5"), ("4.1.3", "4.5")])
def test_the_name_of_rules_that_no_release_had(version: str, name: str) -> None:
    assert adopt.name_of_new_rules(version, ["3.9", "4.1", "4.4", "fixed"]) == name


@pytest.mark.parametrize(
    ("schemas", "unknown"),
    [
        ({"PartitionRecord": (3, "0-2"), "NoOpRecord": (20, "0-7"), "FenceBrokerRecord": (7, "0")}, []),
        ({"PartitionRecord": (3, "0-3")}, ["PartitionRecord of version 3, API key 3"]),
        (
            {"NewRecord": (99, "0"), "TopicRecord": (2, "0-1")},
            ["NewRecord of version 0, API key 99", "TopicRecord of version 1, API key 2"],
        ),
        ({"GoneRecord": (98, "none")}, []),
    ],
)
def test_records_that_the_audit_does_not_know(
    schemas: dict[str, tuple[int, str]], unknown: list[str], tmp_path: Path
) -> None:
    jar = tmp_path / "kafka-metadata-4.5.0.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for name, (key, versions) in schemas.items():
            text = f'// comment\n{{ "apiKey": {key}, "name": "{name}",\n  "validVersions": "{versions}" }}'
            archive.writestr(f"common/metadata/{name}.json", text)
    assert unknown_records(jar) == unknown


def test_what_is_left_to_a_person() -> None:
    kafka = Release("4.5.0", "4.5")
    lines = adopt.to_do(kafka, "4.4", True, [], Path("edits.diff"))
    assert lines[0] == "`git apply edits.diff` in a checkout of this project" and len(lines) == 6
    assert "`reassure kafka conform kraft_kafka --gate --release 4.5.0 --set release=4.4`" in lines[1]
    more = adopt.to_do(kafka, "4.5", False, ["X of version 1, API key 2"], None)
    assert len(more) == 8 and more[0] == "make the edits below" and "gate.toml" in more[2]
    assert "metadata_records.py: X of version 1, API key 2" in " ".join(more)


# -- the comparison --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "own", "nearest"),
    [
        ({"4.2": [3, 0], "4.3": [0, 0], "4.4": [0, 1], "fixed": [9, 9]}, "4.3", "4.3"),
        ({"4.2": [0, 2], "4.3": [1, 0], "4.4": [0, 3], "fixed": [2, 2]}, "4.5", "4.3"),
        ({"4.2": [0, 0], "4.3": [0, 0], "fixed": [0, 0]}, "4.2", "4.2"),
        ({"4.2": [0, 0], "4.3": [0, 0], "fixed": [0, 0]}, "4.5", "4.3"),
        ({"4.2": [1, 0], "4.3": [0, 1], "fixed": [0, 0]}, "4.3", "fixed"),
    ],
)
def test_the_nearest_rules(counts: dict[str, list[int]], own: str, nearest: str) -> None:
    def explanation(count: int) -> Any:
        return SimpleNamespace(unexplained={"reassign": SimpleNamespace(count=count)} if count else {})

    comparison = RulesComparison([], {name: [explanation(n) for n in several] for name, several in counts.items()})
    assert comparison.nearest(own) == nearest
    assert {name: comparison.differing(name).total() for name in counts} == {n: sum(c) for n, c in counts.items()}


def adopted(version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, Any]:
    """Exit code, output and record of the command, for a release that no table has."""
    class_path(version)  # else the test is skipped
    record, diff = tmp_path / "record.json", tmp_path / "edits.diff"
    with hidden(version):
        files = ["--json", str(record), "--diff", str(diff)]
        code, out, _ = said(capsys, "kafka", "adopt", version, "--jvms", "1", *files)
    data = json.loads(record.read_text())
    assert (data["exit_code"], data["edits"], data["release"]) == (code, diff.read_text(), version)
    return code, out, data


@pytest.mark.parametrize(
    ("version", "rules", "depth"), [("4.3.1", "4.3", 3), pytest.param("4.4.0", "4.4", 99, marks=pytest.mark.slow)]
)
def test_a_hidden_release_goes_by_its_rules(
    version: str, rules: str, depth: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every other set of rules differs; the findings are red as the rules have it; the edits are those of the table."""
    searches = tuple((scope, min(levels or depth, depth)) for scope, levels in adopt.SEARCHES)
    with mock.patch.object(adopt, "SEARCHES", searches):
        code, out, data = adopted(version, tmp_path, capsys)
    assert [search["bounds"] for search in data["searches"]] == [scope.text for scope, _ in searches]
    assert code == 0 and f"Kafka {version} goes by the rules of {rules}: 0 of " in out.splitlines()[-2]
    assert [name for name, groups in data["sets_of_rules"].items() if not groups] == [data["rules"]] == [rules]
    red = {row["claim"]: [m and bool(m) for m in (row["message"], row["without_elr"])] for row in data["findings"]}
    assert red == {
        **{claim: [True, ""] for claim in ("K21", "K20", "K24", "K18")},
        **{claim: [True, True] for claim in ("K23", "K14", "K25")},
    }
    assert not any(row["wrong"] for row in data["findings"]) and data["unknown_records"] == []
    assert [line for line in data["edits"].splitlines() if line.startswith("+    ")] == [
        '+    "4.3": ("4.3.0", "4.3.1"),' if version == "4.3.1" else '+    "4.4": ("4.4.0",),'
    ]


compared: list[RulesComparison] = []
"""Of 4.4.0 with the rules before, once for all tests."""


def compared_once(*given: Any) -> RulesComparison:
    if not compared:
        compared.append(compare_with_all_rules(*given))
    return compared[0]


@pytest.mark.parametrize(
    ("ran", "more"),
    [
        ({"return_value": [""] * 14}, "7 findings otherwise than by 4.3"),
        ({"side_effect": SystemFailure("javac refuses it")}, "the tests of the findings were not run"),
    ],
    ids=["tests that pass", "a test class that has changed"],
)
def test_a_release_whose_rules_are_not_known_has_the_nearest_and_the_groups_that_differ(
    ran: Any, more: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """4.4.0 without the rules of 4.4: all that 4.3 does otherwise is a target with a cordoned broker."""
    members = [member for member in release_members("kraft_kafka") if str(member.value) not in ("4.4", "fixed")]
    cordons = ((Scope(2, unclean=(False,), events=("cordon",)), 3),)
    with (
        mock.patch.object(explained, "release_members", return_value=members),
        mock.patch.object(adopt, "SEARCHES", cordons),
        mock.patch.object(adopt, "compare_with_all_rules", compared_once),
        mock.patch.object(findings_command, "_messages", **ran),
    ):
        code, out, data = adopted("4.4.0", tmp_path, capsys)
    differing = data["sets_of_rules"]["4.3"]
    assert (code, data["rules"], data["nearest"], set(differing)) == (19, None, "4.3", {"reassign"})
    assert sum(data["sets_of_rules"]["4.2"].values()) > differing["reassign"] > 0
    assert "the rules differ in" in out and "INVALID_REPLICA_ASSIGNMENT" in out and "cordon(1)" in out
    figures = f"{differing['reassign']} of {data['searches'][0]['steps']:,} steps differ"
    assert (
        f"Kafka 4.4.0 goes by rules of its own; those of 4.3 are the nearest: {figures}; {more} (exit code 19)\n" in out
    )
    assert ("  not run: javac refuses it\n" in out) is (data["findings"] == [])
    assert '+    V4_4 = "4.4"' in data["edits"] and '+    "4.4": ("4.4.0",),' in data["edits"]


RED = {claim: REASONS[name] for claim, name in ((h.claim, h.property) for h in HEADLINES)}
"""A message with which the test of each finding fails."""
OFF = {claim: RED[claim] if claim in ("K23", "K14", "K25") else "" for claim in RED}
"""The same without ELR."""


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({}, {}),
        ({"K21": ""}, {"K21": "its test passes"}),
        ({"K23": "NPE", "K25": ""}, {"K23": "its test fails for another reason: NPE", "K25": "its test passes"}),
    ],
)
def test_what_is_not_as_the_rules_have_it(changed: dict[str, str], wrong: dict[str, str]) -> None:
    messages = [message for claim in RED for message in (changed.get(claim, RED[claim]), OFF[claim])]
    kafka = Release("4.3.2", "4.3")
    cases = [case for _, several in findings_of_project() for case in several]
    with mock.patch.object(findings_command, "_messages", return_value=messages) as ran:
        outcomes = findings_command.outcomes_by_rules(kafka, "4.3", cases)
    assert {outcome.claim: outcome.wrong for outcome in outcomes if outcome.wrong} == wrong
    assert [outcome.claim for outcome in outcomes] == [*RED]
    assert ran.call_args[0][0] == kafka
