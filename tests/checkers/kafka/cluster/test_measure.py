"""`kafka cluster --findings`: which runs, what is measured, and the options that do not fit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.cluster import command
from reassure.checkers.kafka.cluster.client import RecordCounts
from reassure.checkers.kafka.cluster.distribution import Distribution
from reassure.checkers.kafka.cluster.effects import Outcome
from reassure.checkers.kafka.cluster.execute import Execution
from reassure.checkers.kafka.cluster.random_runs import RandomRun
from reassure.checkers.kafka.cluster.session import ClusterResult, ClusterRun, cases_of, run_of
from reassure.checkers.kafka.controller.releases import Release, release
from reassure.checkers.kafka.pages.measurements import MeasuredRun, Measurement, measured
from reassure.checkers.kafka.pages.random_record import recorded_random_runs
from reassure.checkers.machine.exit_codes import Exit, Failure
from tests.helpers.committed_traces import committed_file


@pytest.mark.parametrize(
    ("version", "claims"),
    [
        ("4.4.0", ["K21", "K20", "K23", "K24", "K14", "K18", "K25"]),
        ("4.2.2", ["K21", "K20", "K24", "K14", "K18", "K25"]),
        ("4.1.2", ["K21", "K20", "K24", "K14", "K18", "K25"]),
        ("3.9.2", ["K14", "K25"]),
    ],
)
def test_the_findings_of_a_release(version: str, claims: list[str]) -> None:
    kafka = release(version)
    cases = cases_of(kafka)
    assert [case.headline.claim for case in cases] == claims
    assert {case.release for case in cases} == {kafka.rules}
    assert [run_of(case).name for case in cases] == claims  # each has a schedule


def test_a_release_without_findings() -> None:
    with pytest.raises(Failure, match=r"no finding is known of Kafka 9\.9\.9") as refused:
        cases_of(Release("9.9.9", "9.9"))
    assert refused.value.code is Exit.USAGE


@pytest.fixture(autouse=True)
def build(monkeypatch: pytest.MonkeyPatch) -> Release:
    """What `build` names: 4.3.1 with the fixes, which is not compiled here."""
    made = replace(release("4.3.1"), version="4.3.1+build-0123456789ab", build="/build")
    for name in ("release", "named_release"):
        known = getattr(command, name)
        monkeypatch.setattr(command, name, lambda text, known=known: made if text == "build" else known(text))
    return made


@pytest.fixture
def lost_with_fixes() -> int:
    return 0


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, lost_with_fixes: int) -> list[tuple[str, list[str]]]:
    """Clusters that are not started: the release and the runs of each. Loss is observed but on a build.

    The second random run fails.
    """
    started: list[tuple[str, list[str]]] = []

    def results(kafka: Distribution, runs: list[ClusterRun], *others: Any) -> Iterator[ClusterResult]:
        version = kafka.release.version
        started.append((version, [run.name for run in runs]))
        outcome = Outcome(not kafka.release.build, "text")
        execution = Execution(records=RecordCounts(10, 10, lost_with_fixes, 0, 10))
        if not kafka.release.build:
            execution = Execution(records=RecordCounts(10, 4, 6, 0, 4))
        yield from (ClusterResult(run, version, execution, outcome, 3.4) for run in runs)

    def random_runs(*others: Any) -> Iterator[RandomRun]:
        yield RandomRun("random-1", ["cancel"], RecordCounts(10, 10, 0, 0, 10))
        raise Failure(Exit.SYSTEM, "broker 2 did not come up within 240 s")

    replaced = {"distribution": lambda kafka: Distribution(kafka, ()), "report_cluster": lambda *values: None}
    for name, played_part in {**replaced, "execute_runs": results, "execute_random": random_runs}.items():
        monkeypatch.setattr(command, name, played_part)
    return started


def test_measurements_are_written(played: list[tuple[str, list[str]]], tmp_path: Path) -> None:
    file = tmp_path / "measured.json"
    words = ["kafka", "cluster", "--findings", "--release", "3.9.2", "--times", "2", "--out", str(file), "--quiet"]
    assert main(words) == 0
    assert played == [("3.9.2", ["K14"]), ("3.9.2", ["K25"])] * 2  # each with its settings on a cluster of its own
    measurement, of_25 = measured(file)
    assert (of_25.claim, of_25.runs) == ("K25", measurement.runs)
    assert (measurement.claim, measurement.release, measurement.fixed) == ("K14", "3.9.2", False)
    assert measurement.runs == (MeasuredRun(True, True, 10, 6, "text", 3),) * 2
    assert main(words) == 0
    assert len(measured(file)[0].runs) == 4


def test_without_a_release_the_newest_of_each_minor_version(
    played: list[tuple[str, list[str]]], tmp_path: Path
) -> None:
    assert main(["kafka", "cluster", "--findings", "--out", str(tmp_path / "m.json"), "--quiet"]) == 0
    versions = ["4.4.0", "4.3.1", "4.2.2", "4.1.2", "4.0.2", "3.9.2"]
    assert [version for version, runs in played if runs != ["K25"]] == versions
    assert [version for version, runs in played if runs == ["K25"]] == versions


def test_a_build_with_the_fixes_has_to_show_nothing(
    build: Release, played: list[tuple[str, list[str]]], tmp_path: Path
) -> None:
    file = tmp_path / "measured.json"
    words = ["kafka", "cluster", "--findings", "--release", "3.9.2", "--fixed", "build", "--out", str(file), "--quiet"]
    assert main(words) == 0
    assert list(dict.fromkeys(version for version, _ in played)) == ["3.9.2", build.version]
    fixed = [m for m in measured(file) if m.fixed]
    assert {m.release for m in fixed} == {"4.3.1"}
    assert [m.claim for m in fixed] == ["K14", "K18", "K20", "K21", "K23", "K24", "K25"]
    assert {m.seen for m in fixed} == {0}


def test_with_the_fixes_an_effect_counts_whatever_its_steps() -> None:
    """The fixes change a step of nearly every run."""
    run = MeasuredRun(observed=True, as_in_run=False, acknowledged=10, lost=0, effect="text", seconds=1)
    measurement = Measurement("K20", "4.3.1", True, "ab", (run, replace(run, observed=False, lost=6)))
    assert (measurement.seen, replace(measurement, fixed=False).seen) == (2, 0)
    assert replace(measurement, runs=(replace(run, observed=False),)).seen == 0


def test_the_finding_of_one_claim(
    played: list[tuple[str, list[str]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["kafka", "cluster", "--findings", "--release", "3.9.2", "--out", str(tmp_path / "m.json"), "--quiet"]
    assert main([*words, "--claim", "K25", "--keep", str(tmp_path / "kept")]) == 0
    assert played == [("3.9.2", ["K25"])]
    assert main([*words, "--claim", "K21"]) == 64
    assert "K21 is not a finding of Kafka 3.9.2; there are K14, K25" in capsys.readouterr().err
    assert main([*words, "--keep", str(tmp_path / "kept")]) == 64
    assert "--keep is for one cluster; here are 2" in capsys.readouterr().err
    assert main(["kafka", "cluster", "--random", "1", "--claim", "K25"]) == 64
    assert "--claim is for --findings, not for --random" in capsys.readouterr().err


def test_the_run_with_a_late_fetch_is_named_by_its_trace(played: list[tuple[str, list[str]]]) -> None:
    """Its steps are of brokers: it has no schedule, but a cluster with settings of its own."""
    assert main(["kafka", "cluster", "K25", "finding-5", "--release", "4.4.0", "--quiet"]) == 0
    assert [runs for _, runs in played] == [["K25"], ["finding-5"]]


def test_a_build_of_ones_own_is_not_measured_as_a_release_or_as_fixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kafka", "cluster", "--findings", "--release", "build", "--out", str(tmp_path / "m.json")]) == 64
    assert "a build of the fixes is given by --fixed" in capsys.readouterr().err


def test_a_run_without_a_step_is_executed_by_no_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(committed_file("kraft_kafka_racks", "rolling_back_ends").read_text())
    data["states"] = data["states"][:1]
    path = tmp_path / "start.itf.json"
    path.write_text(json.dumps(data))
    assert main(["kafka", "cluster", str(path)]) == 6
    assert "has no step for a cluster to take: nothing would be executed" in capsys.readouterr().err


@pytest.mark.parametrize("lost_with_fixes", [1])
def test_a_build_with_the_fixes_has_to_lose_nothing(played: list[tuple[str, list[str]]], tmp_path: Path) -> None:
    words = ["kafka", "cluster", "--findings", "--release", "3.9.2", "--fixed", "build", "--quiet"]
    assert main([*words, "--out", str(tmp_path / "measured.json")]) == 18


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--findings"], "measurements: write it by `reassure kafka cluster --findings`"),
        (["--assumptions"], "assumptions: write it by `reassure kafka cluster --assumptions`"),
        (["--random", "2"], "random runs: write it by `reassure kafka cluster --random N --out FILE`"),
    ],
)
def test_a_file_of_something_else_is_refused_before_a_cluster_starts(
    words: list[str], what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("[1]")
    assert main(["kafka", "cluster", *words, "--release", "4.4.0", "--out", str(file)]) == 153
    assert capsys.readouterr().err == f"reassure: {file} is not a file of {what}\n"


@pytest.mark.usefixtures("played")
def test_random_runs_before_a_failure_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "record.json", tmp_path / "random.json"
    words = ["kafka", "cluster", "--random", "3", "--release", "4.4.0", "--json", str(file), "--out", str(out)]
    assert main([*words, "--quiet"]) == 153
    assert capsys.readouterr().err == "reassure: broker 2 did not come up within 240 s\n"
    record = json.loads(file.read_text())
    assert (record["complete"], record["exit_code"], record["random"]["runs"]) == (False, 153, 1)
    (counts,) = recorded_random_runs(out)
    assert (counts.release, counts.runs, counts.acknowledged) == ("4.4.0", 1, 10)
