"""Properties of Kafka's controller beyond the shared ones of a partition: of its brokers, and of its own progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reassure.checkers.kafka.controller.words import ControllerAnswer, ControllerState
from reassure.spec.kafka.partition import NOBODY, members


@dataclass(frozen=True)
class StateProperty:
    """Something to hold in every state of the controller."""

    name: str
    doc: str
    holds: Callable[[ControllerState], bool]


@dataclass(frozen=True)
class AnswerProperty:
    """Something to hold of every answer."""

    name: str
    doc: str
    holds: Callable[[ControllerAnswer], bool]


def _isr_is_active(s: ControllerState) -> bool:
    return s.partition.isr <= s.unfenced - s.shutting_down


def _leader_is_active(s: ControllerState) -> bool:
    return s.partition.leader is None or s.partition.leader in s.unfenced - s.shutting_down


def _last_known_leader_is_a_replica(s: ControllerState) -> bool:
    leader = s.partition.last_known_leader
    return leader is None or leader in members(s.partition)


def _led_if_it_can_be(s: ControllerState) -> bool:
    p = s.partition
    candidates = p.isr if p.isr != NOBODY else p.elr
    return p.leader is not None or candidates & members(p) & s.unfenced - s.shutting_down == NOBODY


STATE_PROPERTIES = (
    StateProperty(
        "isr_is_active",
        "Otherwise acks=all producers wait for a dead broker, and leadership may move to it.",
        _isr_is_active,
    ),
    StateProperty("leader_is_active", "Otherwise clients are sent to a dead broker.", _leader_is_active),
    StateProperty(
        "last_known_leader_is_a_replica",
        "Otherwise an election asks for the directory of a broker that has none, and fails.",
        _last_known_leader_is_a_replica,
    ),
    StateProperty(
        "led_if_it_can_be",
        "Otherwise a partition is offline although an in-sync or eligible replica is alive.",
        _led_if_it_can_be,
    ),
)

ANSWER_PROPERTIES = (
    AnswerProperty(
        "controller_goes_on",
        "Otherwise the active controller resigns, and the next one does so too as soon as the event is repeated.",
        lambda answer: not answer.thrown,
    ),
    AnswerProperty(
        "requests_are_understood",
        "Otherwise a valid request is answered with UNKNOWN_SERVER_ERROR, and nothing that it asks for is done.",
        lambda answer: answer.thrown or answer.error != "UNKNOWN_SERVER_ERROR",
    ),
)

CAN_END = "a_led_reassignment_can_end"
CAN_END_DOC = "Otherwise a reassignment of a healthy partition goes on for ever, unless an administrator steps in."
KEEPS_COMMITTED = "leaders_hold_what_was_committed"
KEEPS_COMMITTED_DOC = "Otherwise acknowledged records are gone, although no unclean election was allowed or asked for."
