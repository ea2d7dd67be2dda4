"""The table of runs found in Kafka's classes: each is a run of exactly the releases named, and its program fails."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller.controller_itf import commands_from_itf, run_of_controller
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.replay import replayed
from reassure.checkers.machine.exit_codes import Exit
from tests.helpers.kafka_jars import PATCHES, VERSIONS, class_path, kafka_sources, shared_driver

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "how-to" / "kafka.md"
FOLDER = ROOT / "checkers" / "kafka" / "controller" / "defects"
ROW = re.compile(r"^\| .* \| (.*) \| (\d+) \| \[([a-z-]+)\]\((.*)\) \|$", re.MULTILINE)
REASONS = {
    "rollback-never-ends": "AssertionError: the reassignment goes on although every replica is in sync",
    "committed-records-lost": "AssertionError: broker 2 was no replica, has deleted its log, and leads",
    "controller-resigns": "IllegalArgumentException: Replica 2 is not assigned to this partition.",
    "request-is-not-understood": "AssertionError: expected: <0> but was: <-1>",
    "cordoned-replica-may-not-stay": "AssertionError: expected: <0> but was: <39>",
    "deleted-topic-is-looked-up": "RuntimeException: Topic ID AAAAAAAAAAEAAAAAAAAAAQ existed in isrMembers, but not in",
    "partitions-added-in-a-move": "AssertionError: a new partition has more replicas than the topic was created with",
    "new-directory-empties-the-elr": "AssertionError: an eligible replica is back, and nobody leads",
    "leader-is-no-replica": "AssertionError: the leader is not in sync: PartitionRegistration(replicas=[1]",
}


def rows() -> dict[str, tuple[list[str], int]]:
    """Releases and steps of each defect, as the page has them."""
    found = {}
    for releases, steps, name, link in ROW.findall(PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / link).resolve() == FOLDER / f"{name}.itf.json"
        first, _, last = releases.partition(" to ")
        between = VERSIONS[VERSIONS.index(first) : VERSIONS.index(last) + 1] if last else releases.split(", ")
        found[name] = (between, int(steps))
    return found


def accepted(versions: list[str]) -> dict[str, list[str]]:
    """The releases that execute each run as it is."""
    traces = {}
    for name, (_, steps) in rows().items():
        path = FOLDER / f"{name}.itf.json"
        data = run_of_controller(path)
        assert data is not None
        traces[name] = commands_from_itf(data, name)
        assert traces[name].steps == steps, name
    assert set(traces) == set(REASONS) == {path.name.split(".")[0] for path in FOLDER.iterdir()}
    releases: dict[str, list[str]] = {name: [] for name in traces}
    for version in versions:
        driver = shared_driver(version)
        for name, trace in traces.items():
            releases[name] += [version] if replayed(trace, driver) is None else []
    return releases


@pytest.mark.parametrize("versions", [["3.9.0", "4.4.0"], pytest.param(VERSIONS, marks=pytest.mark.slow)])
def test_every_run_is_one_of_the_releases_that_the_table_names_and_of_no_other(versions: list[str]) -> None:
    assert accepted(versions) == {
        name: [v for v in versions if v in releases] for name, (releases, _) in rows().items()
    }


@pytest.mark.slow
def test_a_patch_release_executes_the_runs_of_the_first_release_of_its_rules() -> None:
    assert accepted(PATCHES) == {
        name: [version for version in PATCHES if f"{release(version).rules}.0" in releases]
        for name, (releases, _) in rows().items()
    }


@pytest.mark.parametrize("name", REASONS)
def test_its_program_fails_for_the_reason(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the newest release that has the defect: 4.4.0 was published without the jars of its tests."""
    newest = rows()[name][0][-1]
    class_path(newest)
    path, program = FOLDER / f"{name}.itf.json", tmp_path / "Program.java"
    options = ["--main", "--run", "--release", newest, "--out", str(program)]
    assert main(["kafka", "test", str(path), *options]) == Exit.SAFETY.value
    assert f" on Kafka {newest} fails: {REASONS[name]}" in capsys.readouterr().out
    text = program.read_text()
    assert "junit" not in text and "// STEPS" not in text
    assert [line for line in text.splitlines() if len(line) > 120] == []


REPAIRS = {
    "cordoned-replica-may-not-stay": "cordoned-replicas-may-stay",
    "deleted-topic-is-looked-up": "cleared-elr-leaves-its-index",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REPAIRS)
def test_its_program_passes_on_a_build_with_the_repair(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka_sources("4.3.1")
    build, patch = tmp_path / "build", ROOT / "docs" / "findings" / f"{REPAIRS[name]}.patch"
    assert main(["kafka", "build", str(patch), "--out", str(build)]) == 0
    run = ["kafka", "test", str(FOLDER / f"{name}.itf.json"), "--main", "--run", "--release"]
    assert main([*run, str(build)]) == Exit.OK.value
    assert re.search(r" on Kafka 4\.3\.1\+build-\w+ passes$", capsys.readouterr().out)
