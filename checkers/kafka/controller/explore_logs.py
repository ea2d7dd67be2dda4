"""Follows committed records along the controller's steps: the state graph with the brokers' logs.

The controller is Kafka's. The logs are ours, the ghost that the models have too: the set of brokers that hold all
that is committed. A broker deletes its log when it sees that it is not a replica any more, which a fenced one does not;
it comes back empty, and catches up with the leader. With MinISR in sync a record is committed, which everybody
outside the ISR then lacks. A leader proposes for the ISR only who holds everything. An unclean election, which Kafka
marks by RECOVERING, redefines what is committed. Nothing else loses a log: unclean restarts are left out here, and that
unclean election is allowed on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reassure.checkers.kafka.controller.driver import Words
from reassure.checkers.kafka.controller.explore import ControllerExploration
from reassure.checkers.kafka.controller.words import (
    ELR,
    FENCED,
    ISR,
    LEADER,
    RECOVERING,
    UNCLEAN,
    UNVERIFIED_PROPOSALS,
    Command,
    Kind,
    packed_set,
)

CATCH_UP, COMMIT = -1, -2
"""Steps that are not the controller's: of follower f, CATCH_UP - 2 f; COMMIT."""


@dataclass(frozen=True)
class LogStep:
    """A step of the controller, or (command None) of the logs: a follower that catches up, or a commit (0)."""

    command: Command | None
    follower: int
    logs: int
    """The brokers that hold everything committed after the step, as a mask."""


@dataclass
class Loss:
    """A shortest way to a leader that lacks what was committed. initial: the number of the initial state."""

    initial: int
    steps: list[LogStep]


class LogSearch:
    """Breadth-first search over states of the controller together with who holds everything committed."""

    def __init__(self, graph: ControllerExploration) -> None:
        self.graph = graph
        self.room = 1 << graph.scope.brokers
        s = graph.states
        self.min_isr = graph.min_isr
        self.replicas = replica_sets(s)
        self.isr, self.elr = s >> ISR & 63, s >> ELR & 63
        self.leader = s >> LEADER & 7
        self.leader_bit = np.where(self.leader > 0, 1 << np.maximum(self.leader - 1, 0), 0)
        self.recovering = (s >> RECOVERING & 1) != 0
        self.unclean = (s >> UNCLEAN & 1) != 0
        self.unfenced = ~(s >> FENCED) & (self.room - 1)

    def loss(self) -> Loss | None:
        """The shortest way to a leader without what was committed, where no unclean election is allowed."""
        initial = [i for i in range(self.graph.levels[0]) if not self.unclean[i]]
        frontier = np.array([i * self.room + int(self.isr[i]) for i in initial], np.int64)
        parents: dict[int, tuple[int, int]] = {int(pair): (-1, 0) for pair in frontier}
        visited = np.zeros(len(self.graph.states) * self.room, bool)
        visited[frontier] = True
        while len(frontier):
            state, logs = frontier // self.room, frontier % self.room
            lost = np.flatnonzero((self.leader[state] > 0) & (self.leader_bit[state] & logs == 0))
            if len(lost):
                return self._path(int(frontier[lost[0]]), parents)
            after, origin, step = self._successors(frontier, state, logs)
            fresh = ~visited[after]
            after, origin, step = after[fresh], origin[fresh], step[fresh]
            frontier, first = np.unique(after, return_index=True)
            visited[frontier] = True
            parents.update(
                zip(frontier.tolist(), zip(origin[first].tolist(), step[first].tolist(), strict=True), strict=True)
            )
        return None

    def _successors(self, pairs: Words, state: Words, logs: Words) -> tuple[Words, Words, Words]:
        """Pairs that are reached in a step, where from, and by which step."""
        parts = [self._commit(pairs, state, logs)]
        parts += [self._catch_up(pairs, state, logs, f) for f in range(1, self.graph.scope.brokers + 1)]
        kinds = [c.kind for c in self.graph.commands]
        parts += [
            self._controller(pairs, state, logs, number)
            for number, kind in enumerate(kinds)
            if kind not in (Kind.RESTART_UNCLEANLY, Kind.CHANGE_UNCLEAN)
        ]
        return (
            np.concatenate([after for after, _, _ in parts]),
            np.concatenate([origin for _, origin, _ in parts]),
            np.concatenate([np.full(len(after), step) for after, _, step in parts]),
        )

    def _commit(self, pairs: Words, state: Words, logs: Words) -> tuple[Words, Words, int]:
        isr = self.isr[state]
        able = (self.leader[state] > 0) & (set_sizes(isr) >= self.min_isr[state]) & (isr & ~logs == 0) & (logs != isr)
        return state[able] * self.room + isr[able], pairs[able], COMMIT

    def _catch_up(self, pairs: Words, state: Words, logs: Words, follower: int) -> tuple[Words, Words, int]:
        bit = 1 << (follower - 1)
        able = (self.replicas[state] & self.unfenced[state] & ~logs & bit != 0) & (self.leader_bit[state] & logs != 0)
        return (state[able] * self.room + (logs[able] | bit)), pairs[able], CATCH_UP - 2 * follower

    def _controller(self, pairs: Words, state: Words, logs: Words, number: int) -> tuple[Words, Words, int]:
        command = self.graph.commands[number]
        after = self.graph.targets[state, number]
        able = after >= 0
        if command.kind in (Kind.PROPOSE, *UNVERIFIED_PROPOSALS):
            able &= (packed_set(command.brokers) & ~self.isr[state] & ~logs) == 0
        before, after, logs = state[able], after[able], logs[able]
        logs = logs & (self.replicas[after] | ~self.unfenced[after])
        leads = self.leader_bit[after]
        elected = (self.leader[after] > 0) & (self.leader[after] != self.leader[before])
        was_safe = leads & (self.isr[before] | self.elr[before]) != 0
        declared = elected & self.recovering[after] & ~was_safe & (leads & logs == 0)
        logs = np.where(declared, leads, logs)
        return after * self.room + logs, pairs[able], number

    def _path(self, pair: int, parents: dict[int, tuple[int, int]]) -> Loss:
        steps: list[LogStep] = []
        while (origin := parents[pair])[0] >= 0:
            number = origin[1]
            command = self.graph.commands[number] if number >= 0 else None
            follower = (CATCH_UP - number) // 2 if number < COMMIT else 0
            steps.insert(0, LogStep(command, follower, pair % self.room))
            pair = origin[0]
        return Loss(pair // self.room, steps)


def replica_sets(states: Words) -> Words:
    """The replica lists as sets."""
    masks = np.zeros(len(states), np.int64)
    for i in range(6):
        broker = states >> (3 * i) & 7
        masks |= np.where(broker > 0, 1 << np.maximum(broker - 1, 0), 0)
    return masks


def set_sizes(sets: Words) -> Words:
    """By set, a mask of at most six brokers: how many it has."""
    return np.asarray(sum((sets >> i & 1) for i in range(6)), np.int64)
