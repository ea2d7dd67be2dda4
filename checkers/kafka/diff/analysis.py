"""Two builds of Kafka's controller compared step by step, over the states that both reach from the same beginnings.

Every command is executed in every state of each build (`controller.explore`). A step of a state that both have differs
if the state after it, the answer, the rises of the epochs or the number of records differ. Steps of one kind of command
that differ in the same fields are one difference. Its shortest run is of steps that both builds take alike, but for the
last. A build's successor that the other does not have is explored in its own build alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.kafka.controller.driver import Words
from reassure.checkers.kafka.controller.explore import NOT_APPLICABLE, ControllerExploration
from reassure.checkers.kafka.controller.words import (
    ADDING,
    CORDONED,
    ELR,
    FENCED,
    INCARNATIONS,
    ISR,
    LAST_KNOWN,
    LEADER,
    LISTED_OTHERWISE,
    MIN_ISR,
    RECOVERING,
    REMEMBERED,
    REMOVING,
    SHUTTING_DOWN,
    UNCLEAN,
    UNREGISTERED,
    Command,
    Kind,
)
from reassure.checkers.machine.terminal import quantity

STATE_FIELDS = {
    "replicas": (0, ISR),
    "ISR": (ISR, ELR),
    "ELR": (ELR, ADDING),
    "adding": (ADDING, REMOVING),
    "removing": (REMOVING, LEADER),
    "leader": (LEADER, RECOVERING),
    "recovering": (RECOVERING, LAST_KNOWN),
    "last known leader": (LAST_KNOWN, FENCED),
    "unfenced brokers": (FENCED, SHUTTING_DOWN),
    "shutting down": (SHUTTING_DOWN, UNCLEAN),
    "unclean election": (UNCLEAN, UNCLEAN + 1),
}
"""The bits of a state's word: first, and first after."""
SETTINGS_FIELDS = {
    "MinISR": (MIN_ISR, CORDONED),
    "cordoned": (CORDONED, UNREGISTERED),
    "unregistered": (UNREGISTERED, INCARNATIONS),
}
"""The bits of its settings."""
SECOND = "partition 1: "
SECOND_FIELDS = {
    **{SECOND + name: at for name, at in STATE_FIELDS.items() if at[1] <= FENCED},
    "reassignments listed": (LISTED_OTHERWISE, LISTED_OTHERWISE + 1),
    "topic": (REMEMBERED, REMEMBERED + 1),
}
"""The bits of the word of the topic's second partition."""
ANSWER_FIELDS = {
    "error code": (0, 16),
    "exception": (16, 17),
    "records": (17, 23),
    "applies": (23, 24),
    "leader epoch": (24, 28),
    "partition epoch": (28, 32),
}
"""The bits of an answer's word: the rises of the epochs, and how many records there are."""
ANSWER_FIELDS_OF_SECOND = {
    SECOND + "leader epoch": (32, 36),
    SECOND + "partition epoch": (36, 40),
    SECOND + "error code": (48, 64),
}
"""The same of the second partition."""
FIELDS = (*STATE_FIELDS, *SETTINGS_FIELDS, *ANSWER_FIELDS, *SECOND_FIELDS, *ANSWER_FIELDS_OF_SECOND)
BASE, HEAD = 0, 1
SIDES = ("BASE", "HEAD")


@dataclass(frozen=True)
class StepPlace:
    """A command in a state that both builds have. numbers: of the state, in BASE's exploration and in HEAD's."""

    numbers: tuple[int, int]
    command: int


@dataclass(frozen=True)
class BuildDifference:
    """Steps of one kind of command that differ in the same fields.

    initial, before: a shortest run to the first of them. side: None if both builds take that run alike; else the build
    that alone takes it, since every such step comes after another difference.
    """

    kind: Kind
    fields: tuple[str, ...]
    count: int
    place: StepPlace
    side: int | None
    initial: int
    before: tuple[Command, ...]
    last: Command

    @property
    def title(self) -> str:
        """The difference in words."""
        fields = f"{', '.join(self.fields)} differ{'s' * (len(self.fields) == 1)}"
        return f"{self.kind.name.lower()}: {fields} in {quantity(self.count, 'step')}"

    @property
    def name(self) -> str:
        """The difference as a slug: of files and rules."""
        fields = (field.lower().replace(": ", "-").replace(" ", "-") for field in self.fields)
        return "-".join([self.kind.name.lower().replace("_", "-"), *fields])


class BuildComparison:
    """The steps of two explorations over the same scope, side by side."""

    def __init__(self, base: ControllerExploration, head: ControllerExploration) -> None:
        """Raises `ValueError` for explorations of different scopes."""
        if base.scope != head.scope or base.commands != head.commands:
            raise ValueError("explorations of different scopes")
        self.graphs = (base, head)
        keys = [graph.keys for graph in self.graphs]
        _, of_base, of_head = np.intersect1d(keys[BASE], keys[HEAD], assume_unique=True, return_indices=True)
        order = np.argsort(of_base)
        self.numbers: tuple[Words, Words] = (of_base[order], of_head[order])
        """Of each state that both have, in the order of BASE's search: its number in each exploration."""
        expanded = (self.numbers[BASE] < len(base.targets)) & (self.numbers[HEAD] < len(head.targets))
        self.expanded = np.flatnonzero(expanded)
        """Those of which both took the steps, by their place in `numbers`."""

    @property
    def both(self) -> int:
        """States that both builds have."""
        return len(self.numbers[BASE])

    @property
    def only(self) -> tuple[int, int]:
        """States of BASE alone, and of HEAD alone."""
        return len(self.graphs[BASE].states) - self.both, len(self.graphs[HEAD].states) - self.both

    @property
    def complete(self) -> bool:
        """Whether both explorations visited every state."""
        return all(graph.complete for graph in self.graphs)

    @cached_property
    def _rows(self) -> tuple[list[Words], list[Words], list[Words], list[NDArray[np.int64]]]:
        """Of each state of both that is expanded, by build: numbers of successors, their words, settings; answers."""
        targets, words, settings, answers = [], [], [], []
        for side, graph in enumerate(self.graphs):
            rows = self.numbers[side][self.expanded]
            numbers = graph.targets[rows]
            targets.append(numbers)
            words.append(np.where(numbers >= 0, graph.states[numbers], -1))
            settings.append(np.where(numbers >= 0, graph.settings[numbers], -1))
            answers.append(graph.answers[rows].astype(np.int64))
        return targets, words, settings, answers

    @property
    def steps(self) -> int:
        """Steps that were compared: commands that at least one build executes."""
        _, _, _, (base, head) = self._rows
        return int(((base & head & NOT_APPLICABLE) == 0).sum())

    @property
    def differing_steps(self) -> int:
        """Steps in which the builds differ."""
        return int(self.differing.sum())

    def _second(self, side: int) -> Words:
        """The second partition after each step of `_rows`; zeros where a topic always has one partition."""
        numbers, graph = self._rows[0][side], self.graphs[side]
        return np.where(numbers >= 0, graph.second[numbers], -1) if graph.scope.topic else np.zeros_like(numbers)

    @cached_property
    def differing(self) -> NDArray[np.bool_]:
        """By state of `expanded` and command: whether the builds differ."""
        _, words, settings, answers = self._rows
        differs = (words[BASE] != words[HEAD]) | (settings[BASE] != settings[HEAD])
        differs |= self._second(BASE) != self._second(HEAD)
        return np.asarray(differs | (answers[BASE] != answers[HEAD]))

    def differences(self) -> list[BuildDifference]:
        """Every difference, those with the shortest runs first; those after another difference last."""
        rows, commands = np.nonzero(self.differing)
        if not len(rows):
            return []
        levels, parents = self._alike()
        graph = self.graphs[BASE]
        kinds = np.array([int(c.kind) for c in graph.commands])[commands]
        changed = kinds << len(FIELDS) | self._changed_fields(rows, commands)
        reached = levels[self.expanded[rows]]
        own = np.minimum(*(self._own_levels(side, rows) for side in (BASE, HEAD)))
        first = np.where(reached > 0, reached, own + (1 << 32))
        order = np.lexsort((commands, rows, first))
        values, where, counts = np.unique(changed[order], return_index=True, return_counts=True)
        groups = []
        for value, k, count in sorted(
            zip(values.tolist(), where.tolist(), counts.tolist(), strict=True), key=lambda g: g[1]
        ):
            row, command = int(rows[order[k]]), int(commands[order[k]])
            fields = tuple(name for bit, name in enumerate(FIELDS) if value >> bit & 1)
            groups.append(self._difference(row, command, fields, count, levels, parents))
        return groups

    def _changed_fields(self, rows: Words, commands: Words) -> Words:
        """A bit for each of `FIELDS`, of some steps that differ."""
        _, words, settings, answers = self._rows
        bits = np.zeros(len(rows), np.int64)
        one, other = (words[side][rows, commands] for side in (BASE, HEAD))
        both = (one >= 0) & (other >= 0)
        ours, theirs = (answers[side][rows, commands] for side in (BASE, HEAD))
        places = [(one ^ other, both, at) for at in STATE_FIELDS.values()]
        changed = settings[BASE][rows, commands] ^ settings[HEAD][rows, commands]
        places += [(changed, both, at) for at in SETTINGS_FIELDS.values()]
        places += [(ours ^ theirs, both | (at == ANSWER_FIELDS["applies"]), at) for at in ANSWER_FIELDS.values()]
        changed = self._second(BASE)[rows, commands] ^ self._second(HEAD)[rows, commands]
        places += [(changed, both, at) for at in SECOND_FIELDS.values()]
        places += [(ours ^ theirs, both, at) for at in ANSWER_FIELDS_OF_SECOND.values()]
        for bit, (changes, counts, (first, after)) in enumerate(places):
            differs = (changes >> first & (1 << after - first) - 1) != 0
            bits |= (differs & counts).astype(np.int64) << bit
        return bits

    def _own_levels(self, side: int, rows: Words) -> Words:
        """The levels of states in one build's exploration."""
        ends = np.cumsum(self.graphs[side].levels)
        return np.searchsorted(ends, self.numbers[side][self.expanded[rows]], side="right") + 1

    def _alike(self) -> tuple[Words, Words]:
        """Breadth-first over the steps that both take alike. By state of both: its level, and its origin.

        A level of 0: not reached. An origin is the state before times the number of commands, plus the command; -1: an
        initial state.
        """
        (targets, _), _, _, (answers, _) = self._rows
        width = len(self.graphs[BASE].commands)
        place = np.full(len(self.graphs[BASE].states), -1, np.int64)
        place[self.numbers[BASE]] = np.arange(self.both)
        row_of = np.full(self.both, -1, np.int64)
        row_of[self.expanded] = np.arange(len(self.expanded))
        levels, parents = np.zeros(self.both, np.int64), np.full(self.both, -1, np.int64)
        usable = ~self.differing & ((answers & NOT_APPLICABLE) == 0)
        frontier, level = np.flatnonzero(self.numbers[BASE] < self.graphs[BASE].levels[0]), 1
        levels[frontier] = level
        while len(frontier):
            level += 1
            rows = row_of[frontier]
            at = rows >= 0
            origins, commands = np.nonzero(usable[rows[at]])
            after = place[targets[rows[at]][origins, commands]]
            before = frontier[at][origins]
            new = levels[after] == 0
            frontier, first = np.unique(after[new], return_index=True)
            parents[frontier] = (before * width + commands)[new][first]
            levels[frontier] = level
        return levels, parents

    def _difference(
        self, row: int, command: int, fields: tuple[str, ...], count: int, levels: Words, parents: Words
    ) -> BuildDifference:
        graph = self.graphs[BASE]
        place = int(self.expanded[row])
        numbers = (int(self.numbers[BASE][place]), int(self.numbers[HEAD][place]))
        last = graph.commands[command]
        side: int | None = None
        if levels[place]:
            before: list[Command] = []
            while (origin := int(parents[place])) >= 0:
                place, number = divmod(origin, len(graph.commands))
                before.insert(0, graph.commands[number])
            initial = int(self.numbers[BASE][place])
        else:
            side = min((HEAD, BASE), key=lambda s: self.graphs[s].level_of(numbers[s]))
            initial, before = self.graphs[side].path(numbers[side])
        return BuildDifference(
            last.kind, fields, count, StepPlace(numbers, command), side, initial, tuple(before), last
        )
