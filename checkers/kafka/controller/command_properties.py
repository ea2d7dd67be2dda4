"""Properties of single commands of an exploration, and of its topic, over arrays of all steps and states.

The properties of a topic are judged where it may be deleted and given a second partition (`Scope.topic`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.kafka.controller.driver import Words
from reassure.checkers.kafka.controller.explore import ControllerExploration
from reassure.checkers.kafka.controller.explore_logs import replica_sets, set_sizes
from reassure.checkers.kafka.controller.words import (
    ADDING,
    CORDONED,
    ELR,
    ERRORS,
    FENCED,
    ISR,
    LEADER,
    LISTED_OTHERWISE,
    REMEMBERED,
    REMOVING,
    SHUTTING_DOWN,
    UNREGISTERED,
    Command,
    Kind,
    packed_list,
    packed_set,
)

Broken = NDArray[np.bool_]
"""By state whose steps were taken: whether the step of a command breaks a property."""
_REFUSED = next(code for code, name in ERRORS.items() if name == "INVALID_REPLICA_ASSIGNMENT")


@dataclass(frozen=True)
class CommandProperty:
    """Something to hold of each step of some kinds of commands. broken: for the number of such a command.

    It applies where commands of `kinds` are searched, and of `with_kind`, if there is one, too.
    """

    name: str
    doc: str
    kinds: tuple[Kind, ...]
    broken: Callable[[ControllerExploration, int], Broken]
    with_kind: Kind | None = None

    def commands(self, graph: ControllerExploration) -> list[int]:
        """The numbers of the commands that it is about; none if it does not apply."""
        if self.with_kind is not None and not any(c.kind is self.with_kind for c in graph.commands):
            return []
        return [number for number, c in enumerate(graph.commands) if c.kind in self.kinds]


def _forgets_who_may_lead(graph: ControllerExploration, command: int) -> Broken:
    after = graph.targets[:, command]
    may_lead = (graph.states >> ISR | graph.states >> ELR) & 63 != 0
    return np.asarray((after >= 0) & may_lead[: len(after)] & ~may_lead[after])


def _drops_who_may_lead(graph: ControllerExploration, command: int) -> Broken:
    before, after = slice(len(graph.targets)), graph.targets[:, command]
    may_lead = (graph.states >> ISR | graph.states >> ELR) & 63
    return np.asarray((after >= 0) & (may_lead[before] & replica_sets(graph.states[before]) & ~may_lead[after] != 0))


def _refuses_what_is_there(graph: ControllerExploration, command: int) -> Broken:
    before = slice(len(graph.targets))
    target = packed_set(graph.commands[command].brokers)
    settings, replicas = graph.settings[before], replica_sets(graph.states[before])
    answers = graph.answers[:, command]
    refused = graph.applies[:, command] & (answers & 0xFFFF == _REFUSED)
    new_on_cordoned = settings >> CORDONED & target & ~replicas
    return np.asarray(refused & (new_on_cordoned == 0) & (settings >> UNREGISTERED & target == 0))


COMMAND_PROPERTIES = (
    CommandProperty(
        "somebody_may_still_lead",
        "Otherwise a new MinISR, or a replica's new log directory, takes the right to lead from the last that have it.",
        (Kind.CHANGE_MIN_ISR, Kind.ASSIGN_DIRECTORY),
        _forgets_who_may_lead,  # KIP-966: the ELR goes if the ISR reaches the new MinISR; an empty ISR never does (K18)
    ),
    CommandProperty(
        "directories_are_not_about_who_may_lead",
        "Otherwise a partition stays offline although an eligible replica is back: it moved between log directories.",
        (Kind.ASSIGN_DIRECTORY,),
        _drops_who_may_lead,
    ),
    CommandProperty(
        "cordoned_replicas_may_stay",
        "Otherwise a request that puts nothing new on a cordoned broker is refused: a rollback, one step of draining.",
        (Kind.REASSIGN,),
        _refuses_what_is_there,
        Kind.CORDON,
    ),
)


@dataclass(frozen=True)
class TopicProperty:
    """Something to hold in every state of a topic. broken: by state."""

    name: str
    doc: str
    broken: Callable[[ControllerExploration], Broken]


TOPIC_PROPERTIES = (
    TopicProperty(
        "reassignments_are_listed_as_they_are",
        "Otherwise ListPartitionReassignments names a reassignment that there is not, omits one, or fails.",
        lambda graph: np.asarray(graph.second >> LISTED_OTHERWISE & 1 != 0),
    ),
    TopicProperty(
        "deleted_topics_are_forgotten",
        "Otherwise the next event of a broker finds a deleted topic, and the active controller throws and resigns.",
        lambda graph: np.asarray(graph.second >> REMEMBERED & 1 != 0),
    ),
)

_WHOLE = (1 << FENCED) - 1


def _is_not_as_asked(graph: ControllerExploration, command: int) -> Broken:
    """A new partition has other replicas, ISR or leader than its assignment says, or another partition changes."""
    c, (before, other_before), (after, other_after) = graph.commands[command], _words(graph), _words(graph, command)
    if c.kind is Kind.ADD_PARTITION:
        (before, other_before), (after, other_after) = (other_before, before), (other_after, after)
    active = ~(graph.states >> FENCED | graph.states >> SHUTTING_DOWN)[: len(graph.targets)]
    isr = active & packed_set(c.brokers)
    leader = np.zeros(len(isr), np.int64)
    for broker in reversed(c.brokers):
        leader = np.where(isr >> (broker - 1) & 1 != 0, broker, leader)
    expected = packed_list(c.brokers) | isr << ISR | leader << LEADER
    refused = graph.answers[:, command] & 0x1FFFF != 0
    right = np.where(refused, after == before, (after == expected) & (isr != 0)) & (other_after == other_before)
    return np.asarray(graph.applies[:, command] & ~right)


def _has_another_factor(graph: ControllerExploration, command: int) -> Broken:
    """An assignment as long as partition 0 has replicas before and after its move is refused, or another is taken."""
    size = len(graph.commands[command].brokers)
    states = graph.states[: len(graph.targets)]
    replicas = replica_sets(states)
    original, wanted = (set_sizes(replicas & ~(states >> at)) for at in (ADDING, REMOVING))
    assigned = packed_set(graph.commands[command].brokers)
    settings = graph.settings[: len(states)]
    active = ~(states >> FENCED | states >> SHUTTING_DOWN) & assigned
    allowed = (active != 0) & ((settings >> CORDONED | settings >> UNREGISTERED) & assigned == 0)
    code = graph.answers[:, command] & 0xFFFF
    wrong = np.where(original == size, (code == _REFUSED) & allowed, code == 0)
    return np.asarray(graph.applies[:, command] & (original == wanted) & wrong)


def _depends_on_the_other(graph: ControllerExploration, command: int) -> Broken:
    """A partition's part of a request for both does something else than the same request for it alone."""
    c, before, after = graph.commands[command], _words(graph), _words(graph, command)
    applies = graph.applies[:, command]
    codes = (graph.answers[:, command] & 0xFFFF, graph.answers[:, command] >> 48 & 0xFFFF)
    broken = np.zeros(len(graph.targets), bool)
    for partition, target in enumerate((c.brokers, c.others)):
        kind = Kind.REASSIGN if target else Kind.CANCEL
        alone = Command(kind, 0, target, partition=partition)
        if alone in graph.commands:
            number = graph.commands.index(alone)
            code = graph.answers[:, number] & 0xFFFF
            there = graph.applies[:, number]
            same = (after[partition] == _words(graph, number)[partition]) & (codes[partition] == code)
        else:
            there, same = np.zeros(len(broken), bool), broken
        refused = (after[partition] == before[partition]) & (codes[partition] != 0)
        broken = broken | ~np.where(there, same, refused)
    return np.asarray(applies & broken)


def _words(graph: ControllerExploration, command: int | None = None) -> tuple[Words, Words]:
    """Both partitions in each state whose steps were taken, or after the step of a command."""
    if command is None:
        numbers = np.arange(len(graph.targets))
    else:
        numbers = graph.targets[:, command]
    return graph.states[numbers] & _WHOLE, graph.second[numbers] & _WHOLE


TOPIC_COMMAND_PROPERTIES = (
    CommandProperty(
        "new_partitions_are_as_asked",
        "Otherwise a new partition is elsewhere than asked, is led by a dead broker, or another partition is moved.",
        (Kind.CREATE_TOPIC, Kind.ADD_PARTITION),
        _is_not_as_asked,
    ),
    CommandProperty(
        "added_partitions_have_the_topics_factor",
        "Otherwise partitions that are added in a move have as many replicas as both assignments together.",
        (Kind.ADD_PARTITION,),
        _has_another_factor,
    ),
    CommandProperty(
        "parts_of_a_request_are_independent",
        "Otherwise an error of one partition changes what the same request does with another.",
        (Kind.REASSIGN_BOTH,),
        _depends_on_the_other,
    ),
)
