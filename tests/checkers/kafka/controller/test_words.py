"""States, commands and answers as words of the driver's protocol."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.kafka.controller.class_path import TOPIC_DRIVER, java_source
from reassure.checkers.kafka.controller.words import (
    MAX_BROKERS,
    Command,
    ControllerAnswer,
    ControllerState,
    Kind,
    answer_of,
    few_enough,
    packed_second,
    packed_state,
    unpacked_state,
    unpacked_words,
)
from reassure.checkers.machine.exit_codes import Failure
from reassure.spec.kafka.partition import Broker, Partition

BROKERS = [Broker(b) for b in range(1, MAX_BROKERS + 1)]
sets = st.frozensets(st.sampled_from(BROKERS))
somebody = st.none() | st.sampled_from(BROKERS)
epochs = st.integers(0, 2**31 - 1)


@st.composite
def states(draw: st.DrawFn) -> ControllerState:
    known = draw(somebody)
    partition = Partition(
        replicas=tuple(draw(st.lists(st.sampled_from(BROKERS), unique=True))),
        isr=draw(sets),
        elr=draw(sets),
        adding=draw(sets),
        removing=draw(sets),
        leader=draw(somebody),
        leader_epoch=draw(epochs),
        partition_epoch=draw(epochs),
        recovering=draw(st.booleans()),
        last_known_leader=known,
    )
    return ControllerState(
        partition,
        unfenced=draw(sets),
        incarnations=tuple(draw(st.lists(st.integers(0, 127), min_size=MAX_BROKERS, max_size=MAX_BROKERS))),
        unclean=draw(st.booleans()),
        shutting_down=draw(sets),
        keeps_nobody=known is None and draw(st.booleans()),
        min_isr=draw(st.integers(0, 255)),
        cordoned=draw(sets),
        unregistered=draw(sets),
    )


@settings(deadline=None)
@given(states())
def test_a_state_survives_the_words(state: ControllerState) -> None:
    words = packed_state(state)
    assert all(0 <= word < 1 << 63 for word in words)
    assert unpacked_state(*words, MAX_BROKERS) == state


@settings(deadline=None)
@given(states(), states(), st.booleans(), st.booleans())
def test_a_second_partition_survives_the_words(
    state: ControllerState, other: ControllerState, listed_otherwise: bool, remembered: bool
) -> None:
    second = other.partition if other.partition.replicas else None
    flags = (second is not None and other.keeps_nobody, listed_otherwise, remembered)
    both = replace(state, second=second, second_keeps_nobody=flags[0], listed_otherwise=flags[1], remembered=flags[2])
    assert unpacked_words(packed_state(both) + packed_second(both), MAX_BROKERS) == both
    assert packed_state(both) == packed_state(state) and unpacked_words(packed_state(both), MAX_BROKERS) == state


@settings(deadline=None)
@given(states(), states())
def test_different_states_have_different_words(one: ControllerState, other: ControllerState) -> None:
    assert (packed_state(one) == packed_state(other)) == (one == other)


def test_kinds_of_commands_are_the_drivers() -> None:
    text = java_source().split("class Command")[1] + java_source(TOPIC_DRIVER)
    declared = dict(re.findall(r"static final int ([A-Z_0-9]+) = (\d+);", text))
    assert {kind.name: str(kind.value) for kind in Kind}.items() <= declared.items()


def test_commands_as_text() -> None:
    assert str(Command(Kind.REASSIGN, 0, (3, 1))) == "reassign([3, 1])"
    assert str(Command(Kind.PROPOSE, 0, (3, 1))) == "propose({1, 3})"
    assert str(Command(Kind.PROPOSE_BY_FOLLOWER, 0, (2, 1))) == "propose_by_follower({1, 2})"
    assert str(Command(Kind.FENCE, 2)) == "fence(2)"
    assert str(Command(Kind.BALANCE)) == "balance()"
    assert str(Command(Kind.REASSIGN, 0, (2, 1), partition=1)) == "reassign([2, 1]) of partition 1"
    assert str(Command(Kind.REASSIGN_BOTH, 0, (2, 1))) == "reassign_both([2, 1], cancel)"
    assert str(Command(Kind.ADD_PARTITION, 0, (2, 1))) == "add_partition([2, 1])"
    assert str(Command(Kind.DELETE_TOPIC)) == "delete_topic()"


def test_answers() -> None:
    assert answer_of(0) == ControllerAnswer("NONE", False, 0, True)
    assert answer_of(0xFFFF | 1 << 16) == ControllerAnswer("UNKNOWN_SERVER_ERROR", True, 0, True)
    assert answer_of(39 | 5 << 17) == ControllerAnswer("INVALID_REPLICA_ASSIGNMENT", False, 5, True)
    assert not answer_of(1 << 23).applies
    assert answer_of(1234).error == "1234"


def test_seven_brokers_are_too_many() -> None:
    few_enough(6, "kraft_kafka")
    with pytest.raises(Failure, match="kraft_kafka has 7 brokers"):
        few_enough(7, "kraft_kafka")
