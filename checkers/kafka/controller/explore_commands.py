"""Properties of single commands of an exploration, over arrays of all its steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.kafka.controller.explore import ControllerExploration
from reassure.checkers.kafka.controller.explore_logs import replica_sets
from reassure.checkers.kafka.controller.words import (
    CORDONED,
    ELR,
    ERRORS,
    ISR,
    UNREGISTERED,
    Kind,
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
