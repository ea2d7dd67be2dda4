"""The project's counterexamples of Kafka's rules are runs of Kafka: each on the releases that it is of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller.releases import own_release
from reassure.spec.semantics.trace import configurations
from tests.helpers.kafka_jars import class_path

FOLDER = Path(__file__).parents[4] / "counterexamples"
TRACES = sorted(FOLDER.glob("kraft_kafka*.itf.json"))


def test_every_committed_trace_is_a_run_of_its_release(capsys: pytest.CaptureFixture[str]) -> None:
    configs = [config for p in TRACES for config in configurations(json.loads(p.read_text())["#meta"])]
    versions = {own_release(config["release"]).version for config in configs}
    assert (
        len(TRACES) > 150 and len(configs) > 300 and versions == {"3.9.2", "4.0.2", "4.1.0", "4.2.2", "4.3.1", "4.4.0"}
    )
    for version in versions:
        class_path(version)
    code = main(["kafka", "replay", *map(str, TRACES)])
    said, errors = capsys.readouterr()
    assert "is no trace of" not in errors, errors
    assert [line for line in said.splitlines() if "refuses" in line] == []
    assert code == Exit.OK.value and said.count(" runs ") == len(configs)
