"""The project's counterexamples of Kafka's rules are runs of Kafka: each on the releases that it is of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller.releases import own_release
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.traces.properties_here import of_each_configuration
from tests.helpers.kafka_jars import class_path


def model_of(trace: Path) -> str:
    return str(json.loads(trace.read_text())["#meta"]["model"])


FOLDER = Path(__file__).parents[4] / "counterexamples"
TRACES = sorted(path for path in FOLDER.glob("*/*.itf.json") if model_of(path).startswith("kraft_kafka"))


SLOW = pytest.mark.slow
VERSIONS = ["3.9.2", "4.0.2", "4.1.0", "4.2.2", "4.3.1", "4.4.0"]


def versions_of(trace: Path) -> list[str]:
    """The releases that a trace says it is a run of."""
    return [
        own_release(meta["config"]["release"]).version
        for meta in of_each_configuration(json.loads(trace.read_text())["#meta"])
    ]


@pytest.mark.parametrize("version", [*(pytest.param(v, marks=SLOW) for v in VERSIONS[:-1]), VERSIONS[-1]])
def test_every_committed_trace_is_a_run_of_its_release(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    class_path(version)
    traces = [str(path) for path in TRACES if version in versions_of(path)]
    code = main(["kafka", "replay", *traces, "--release", version])
    said, errors = capsys.readouterr()
    assert "is not a trace of" not in errors, errors
    assert [line for line in said.splitlines() if "refuses" in line] == []
    assert code == Exit.OK.value and said.count(" runs ") == len(traces) > 20


def test_no_trace_is_left_out() -> None:
    assert len(TRACES) > 100 and {v for path in TRACES for v in versions_of(path)} == set(VERSIONS)
