"""Errors that one process sends to another."""

from __future__ import annotations

import pickle

import pytest

from reassure.checkers.engines.spark.session import JobFailed
from reassure.checkers.kafka.controller.driver import JvmLost
from reassure.checkers.machine.exit_codes import Exit, Failure, SystemFailure, UsageFailure
from reassure.checkers.machine.memory import OutOfMemory
from reassure.checkers.machine.stop import Interrupted, Stop, StopReason

BUDGET, MEMORY = Stop(StopReason.BUDGET, "the text"), Stop(StopReason.MEMORY, "the text")


@pytest.mark.parametrize(
    ("error", "carried"),
    [
        (Failure(Exit.NOTHING, "the text"), Exit.NOTHING),
        (SystemFailure("the text"), Exit.SYSTEM),
        (UsageFailure("the text"), Exit.USAGE),
        (JvmLost("the text"), Exit.SYSTEM),
        (JobFailed("the text"), Exit.SYSTEM),
        (Interrupted(StopReason.BUDGET, "the text"), BUDGET),
        (OutOfMemory("the text"), MEMORY),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_arrives_in_another_process(error: Failure | Interrupted, carried: Exit | Stop) -> None:
    sent = pickle.loads(pickle.dumps(error))
    assert (type(sent), str(sent)) == (type(error), "the text")
    assert (sent.stop if isinstance(sent, Interrupted) else sent.code) == carried


def test_a_failure_names_no_address() -> None:
    """It would differ from run to run."""
    failure = Failure(Exit.MODEL, f"on is an action or a list of actions, not {no_action!r}")
    assert str(failure) == "on is an action or a list of actions, not <function no_action>"


def no_action() -> None:
    """A function that stands where none may."""
