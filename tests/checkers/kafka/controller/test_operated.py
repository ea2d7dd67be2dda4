"""What operators do, ELR off, older metadata versions: the models beside Kafka's controller."""

from __future__ import annotations

import pytest

from reassure.checkers.kafka.controller.confirm import _command
from reassure.checkers.kafka.controller.conform import Conformance, conform
from reassure.checkers.kafka.controller.model_steps import NativeSteps
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.replay import TraceCommand
from reassure.checkers.kafka.controller.words import Command, ControllerState, Kind
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.prepare import prepare
from tests.helpers.brokers import b, seq
from tests.helpers.kafka_jars import shared_driver
from tests.helpers.kraft_story import partition

OPERATED = ["brokers=2", "admin_requests=1", "min_isr_changes=1", "unclean_changes=1", "unclean=off"]
SMALL = ["brokers=2", "admin_requests=1", "unclean=off"]
MAINTAINED = [*SMALL, "cordonings=1", "unregistrations=1", "directory_moves=1"]
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


def conformance(model: str, pairs: list[str], version: str) -> Conformance:
    prepared = prepare(model, pairs)
    bound, lowered = prepared.bound, prepared.lowered
    view = ModelView(bound)
    return conform(NativeSteps(bound, lowered, view), view, shared_driver(version), Progress(quiet=True))


@pytest.mark.parametrize(
    ("version", "absent"),
    [
        ("4.4.0", set()),
        pytest.param("4.3.0", set(), marks=pytest.mark.slow),
        pytest.param("4.2.0", {"cordon", "uncordon"}, marks=pytest.mark.slow),
    ],
)
def test_cordoned_and_unregistered_brokers_and_directories(version: str, absent: set[str]) -> None:
    """4.4 refuses cordoned brokers, 4.3 does not, 4.2 knows none, and empties the ELR with a directory."""
    found = conformance("kraft_kafka_maintained", [*MAINTAINED, f"release={version[:3]}"], version)
    assert [group.cause for group in found.disagreements] == []
    maintenance = {"cordon", "uncordon", "unregister", "register_again", "assign_directory"}
    assert maintenance - found.actions.keys() == absent
    assert found.agree == found.steps > 300


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "pairs", "version", "action"),
    [
        ("release=4.3", MAINTAINED, "4.4.0", "start"),
        ("release=4.2", MAINTAINED, "4.3.0", "assign_directory"),
        ("release=4.4", ["elr=off", *SMALL], "3.9.0", "shut_down_uncleanly"),
        ("release=4.4", [*SMALL], "3.9.0", "start"),
    ],
)
def test_the_rules_of_another_release_disagree(rule: str, pairs: list[str], version: str, action: str) -> None:
    model = "kraft_kafka_maintained" if pairs is MAINTAINED else "kraft_kafka"
    found = conformance(model, [*pairs, rule], version)
    assert action in {group.first.action for group in found.disagreements}


@pytest.mark.parametrize(
    ("version", "setting"),
    [
        ("4.4.0", "metadata_version=3.5-IV2"),
        ("3.9.0", ""),
        ("3.9.0", "metadata_version=3.3-IV2"),
        pytest.param("4.4.0", "", marks=pytest.mark.slow),
        pytest.param("3.9.0", "metadata_version=3.1-IV0", marks=pytest.mark.slow),
    ],
)
def test_without_elr_and_at_an_older_metadata_version(version: str, setting: str) -> None:
    pairs = ["elr=off", *SMALL, f"release={version[:3]}", *filter(None, [setting])]
    found = conformance("kraft_kafka", pairs, version)
    assert [group.cause for group in found.disagreements] == []
    assert found.agree == found.steps > 100


def test_3_9_takes_the_steps_of_operators() -> None:
    """It has no clean restart; 4.4 is compared with `conform`."""
    found = conformance("kraft_kafka_operated", [*OPERATED, "release=3.9"], "3.9.0")
    assert [group.cause for group in found.disagreements] == []
    taken = {name for name, count in found.actions.items() if count.agree > 0}
    assert EVENTS - taken == {"restart_cleanly"}
    assert found.agree == found.steps > 500
