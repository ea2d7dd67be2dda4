"""Restarts, controlled shutdowns and changes of the configuration: the model beside Kafka's controller."""

from __future__ import annotations

import pytest

from reassure.checkers.base.prepare import prepare
from reassure.checkers.base.progress import Progress
from reassure.checkers.kafka.controller.confirm import _command
from reassure.checkers.kafka.controller.conform import conform
from reassure.checkers.kafka.controller.model_steps import NativeSteps
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.replay import TraceCommand
from reassure.checkers.kafka.controller.words import Command, ControllerState, Kind
from tests.helpers.brokers import b, seq
from tests.helpers.kafka_jars import shared_driver
from tests.helpers.kraft_story import partition

OPERATED = ["brokers=2", "admin_requests=1", "min_isr_changes=1", "unclean_changes=1", "unclean=off"]
EVENTS = {"restart_cleanly", "shut_down_in_control", "change_min_isr", "change_unclean"}


@pytest.mark.parametrize(
    ("command", "whole"),
    [
        (Command(Kind.CHANGE_MIN_ISR, 2), "configure min.insync.replicas 2"),
        (Command(Kind.CHANGE_UNCLEAN, 1), "configure unclean.leader.election.enable true"),
        (Command(Kind.CHANGE_UNCLEAN, 0), "configure unclean.leader.election.enable false"),
    ],
)
def test_a_change_of_the_configuration_on_the_whole_controller(command: Command, whole: str) -> None:
    state = ControllerState(partition(seq(1, 2), b(1), 1), b(1, 2), (0, 0), False)
    assert _command(TraceCommand(1, "", command, state, state)) == whole


def test_3_9_takes_the_steps_of_operators() -> None:
    """It has no clean restart; 4.4 is compared with `conform`."""
    prepared = prepare("kraft_kafka_operated", [*OPERATED, "release=3.9"])
    bound, lowered = prepared.bound, prepared.lowered
    view = ModelView(bound)
    driver = shared_driver("3.9.0")
    found = conform(NativeSteps(bound, lowered, view), view, driver, Progress(quiet=True))
    assert [group.cause for group in found.disagreements] == []
    taken = {name for name, count in found.actions.items() if count.agree > 0}
    assert EVENTS - taken == {"restart_cleanly"}
    assert found.agree == found.steps > 500
