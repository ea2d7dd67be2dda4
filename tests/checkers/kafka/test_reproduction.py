"""Traces as programs of their own: compiled against a release, failing for the right reason, elsewhere not."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.prepare import plain
from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller_itf import to_itf
from reassure.checkers.kafka.model_view import ModelView
from reassure.checkers.kafka.releases import release
from reassure.checkers.kafka.replay import controller_trace
from reassure.checkers.kafka.reproduction import reproduction, run_program
from tests.helpers.kafka_explored import findings_of
from tests.helpers.kafka_jars import VERSIONS, class_path
from tests.helpers.kafka_traces import JOIN, TWO, trace_of


@pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[-1]])
def test_a_models_trace_runs_on_a_release(version: str) -> None:
    bound, _ = plain("kraft_kafka", [])
    trace = controller_trace(trace_of(bound, [*JOIN, ("fence", {"broker": TWO})]), ModelView(bound))
    program = reproduction(trace, release(version), "a follower joins")
    assert program.file == "AFollowerJoins.java" and "// STEPS" not in program.text
    assert run_program(program, class_path(version)).passed
    wrong = type(program)(
        program.name, program.text.replace("assertEquals(Set.of(1), Set", "assertEquals(Set.of(2), Set")
    )
    assert wrong != program
    assert run_program(wrong, class_path(version)).message == "AssertionError: expected: <[2]> but was: <[1]>"


def test_a_defect_is_reproduced_without_kafkas_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """4.4.0 was published without the jars of its tests: the reassignment that never ends, as a program."""
    class_path("4.4.0")
    name = "a_led_reassignment_can_end"
    trace, program = tmp_path / f"{name}.itf.json", tmp_path / "ALedReassignmentCanEnd.java"
    trace.write_text(to_itf(findings_of("4.4.0")[1][name].run, {"property": name}))
    assert main(["kafka", "test", str(trace), "--main", "--run", "--out", str(program)]) == Exit.SAFETY.value
    said = capsys.readouterr().out
    assert "ALedReassignmentCanEnd on Kafka 4.4.0 fails: AssertionError: the reassignment goes on although" in said
    text = program.read_text()
    assert text.count("class ALedReassignmentCanEnd") == 1 and "junit" not in text
    assert [line for line in text.splitlines() if len(line) > 120] == []
