"""Traces as programs of their own: compiled against a release, failing for the right reason, elsewhere not."""

from __future__ import annotations

from reassure.checkers.base.prepare import plain
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.replay import controller_trace
from reassure.checkers.kafka.controller.reproduction import reproduction, run_program
from tests.helpers.kafka_jars import VERSIONS, class_path
from tests.helpers.kafka_traces import JOIN, TWO, trace_of


def test_a_models_trace_runs_on_a_release() -> None:
    version = VERSIONS[0]
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
