"""Traces as programs of their own: compiled against a release, failing for the right reason, elsewhere not."""

from __future__ import annotations

import json

import pytest

from reassure.checkers.kafka.controller.controller_itf import executed, from_itf, to_itf
from reassure.checkers.kafka.controller.explore import LATE, Scope
from reassure.checkers.kafka.controller.explore_logs import LogStep
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.replay import controller_trace
from reassure.checkers.kafka.controller.reproduction import reproduction, run_program
from reassure.checkers.kafka.controller.words import REFUSED_PROPOSALS, Command, Kind
from reassure.checkers.request.prepare import plain
from tests.helpers.kafka_jars import VERSIONS, class_path, shared_driver
from tests.helpers.kafka_traces import JOIN, TWO, trace_of


@pytest.mark.slow
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


def test_late_proposals_are_sent_with_old_epochs() -> None:
    """Each has the answer by which Kafka's checks refuse it, in the run and in the program."""
    version = VERSIONS[-1]
    scope = Scope(2, unclean=(False,), events=(LATE,))
    late = [command for command in scope.commands() if command.kind in REFUSED_PROPOSALS]
    steps = [
        LogStep(command, 0, 0) for command in (Command(Kind.RESTART_UNCLEANLY, 2), Command(Kind.UNFENCE, 2), *late)
    ]
    run, _ = executed(scope.initial_states()[0], steps, shared_driver(version), scope.setup)
    assert run.answers[3:] == ["INVALID_UPDATE_VERSION", "FENCED_LEADER_EPOCH", "INELIGIBLE_REPLICA", "INVALID_REQUEST"]
    trace = from_itf(json.loads(to_itf(run, {})), "late")
    program = reproduction(trace, release(version), "late")
    assert run_program(program, class_path(version)).passed
    assert program.text.count(" - 1)") == 3
