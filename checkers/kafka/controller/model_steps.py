"""Every step that a model lets the controller take, each kind once: before, command, after.

The states are searched by the native engine. Steps that differ in ghosts only (logs, counters) are one kind to Kafka's
controller; of each kind the step on the first level, from the smallest state in canonical order, stands for all.

Also here: the part of a model's packed states that Kafka's controller holds: everything else is a ghost to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from reassure.checkers.encoding.state_layout import Field, Layout, rebuild, state_layout, unpack_record
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.exploration import Limits, Start, compiled, explore
from reassure.checkers.engines.native.kernels.growing_table import GrowingTable
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import ACTION_MASK, CLIPS_TOTAL, ERROR
from reassure.checkers.engines.native.kernels.partitioning import EdgeArguments, edges
from reassure.checkers.engines.native.kernels.state_table import BATCH, put_back, unseen
from reassure.checkers.engines.native.level_look import LevelLook
from reassure.checkers.engines.native.probe import rows_in_order
from reassure.checkers.engines.native.search import Search
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.kafka.controller.model_view import COMMANDS, ModelView
from reassure.checkers.kafka.controller.words import Command, ControllerState, packed_state
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.memory import MemoryLimit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import ALL_VISITED, Stop, StopReason
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.types import Type
from reassure.spec.semantics.interpreter import BoundModel, Params
from reassure.spec.semantics.trace import Trace, TraceStep, replay

HELD = ("partition", "unclean", "unfenced", "broker_epochs", "shutting_down", "min_isr", "cordoned", "unregistered")
"""Fields of a model's state that the controller holds."""


@dataclass(frozen=True)
class ControllerPart:
    """The part of a model's state that the controller holds.

    model: the fields of the state, by name. words: those of the driver's protocol.
    """

    model: Any
    state: ControllerState
    words: tuple[int, int, int]


class PartDecoder:
    """Cuts the controller's part out of packed states; equal parts are one object."""

    def __init__(self, lowered: LoweredModel, layout: Layout, view: ModelView) -> None:
        self.view = view
        roots = [leaf.path.split(".")[0].split("[")[0] for leaf in lowered.leaves]
        self.fields: list[tuple[str, Type, list[Field]]] = [
            (name, kind, [f for f in layout.fields if roots[f.code.leaf] == name])
            for name, kind in layout.type.fields
            if name in HELD
        ]
        mask = [0] * layout.words
        for _, _, fields in self.fields:
            for f in fields:
                mask[f.word] |= (1 << f.code.bits) - 1 << f.shift
        self.mask: Rows = np.array(mask, np.uint64).view(np.int64)
        self.columns = np.flatnonzero(self.mask)
        """Words of a state that hold something of it."""
        self._parts: dict[bytes, ControllerPart] = {}
        self._values: dict[tuple[str, tuple[int, ...]], Any] = {}

    def masked(self, states: Rows) -> Rows:
        """The words of rows of states that matter, without what is a ghost in them."""
        return states[:, self.columns] & self.mask[self.columns]

    def part(self, row: Rows) -> ControllerPart:
        """The controller's part of a state."""
        words = row & self.mask
        key = words.tobytes()
        if key not in self._parts:
            values = SimpleNamespace(**{n: self._value(n, kind, fields, words) for n, kind, fields in self.fields})
            state = self.view.state(values)
            self._parts[key] = ControllerPart(values, state, packed_state(state))
        return self._parts[key]

    def _value(self, name: str, kind: Type, fields: list[Field], words: Rows) -> Any:
        stored = tuple(int(words[f.word]) % (1 << 64) >> f.shift & ((1 << f.code.bits) - 1) for f in fields)
        if (name, stored) not in self._values:
            self._values[name, stored] = rebuild(kind, iter(stored))
        return self._values[name, stored]


CHUNK = 1 << 13
"""States expanded at once."""


@dataclass(frozen=True)
class ModelStep:
    """A step of a model that the controller takes. level: of the state before, the initial states being level 1."""

    before: ControllerPart
    action: str
    params: Params
    after: ControllerPart
    command: Command
    level: int
    states: Rows = field(compare=False)
    """The whole states before and after, packed: two rows."""


class StepSource(Protocol):
    """A source of the model's steps for `conform`."""

    states: int
    stopped: Stop
    """The end of the search of the model's states."""

    @property
    def transitions(self) -> dict[str, int]:
        """By action: its steps in the whole state space, each counted."""

    @property
    def clipped(self) -> int:
        """Steps that leave a bound of the model: they are not taken."""

    def steps(self, progress: Progress) -> Iterator[ModelStep]:
        """Each kind of step once, the shortest way to it first."""

    def after(self, step: ModelStep) -> Any:
        """The model's whole state after a step."""

    def trace(self, step: ModelStep) -> Trace:
        """A shortest run that ends with the step."""


class StepKinds:
    """The controller's steps of a compiled model: listed from packed states, told apart, decoded."""

    def __init__(self, bound: BoundModel, lowered: LoweredModel, view: ModelView) -> None:
        self.bound, self.lowered, self.view = bound, lowered, view
        self.layout = state_layout(bound)
        # Steps alone are compared: a kernel without claims is compiled in two thirds of the time.
        self.kernel = compiled(lowered.only(lambda name: False), self.layout, parameters=True)
        self.parts = PartDecoder(lowered, self.layout, view)
        names = [a.name for a in lowered.actions]
        self._of_controller = np.array([name in COMMANDS for name in names])
        self.transitions = {name: 0 for name in names if name in COMMANDS}
        """By action: how many steps were listed."""
        self.clipped = 0
        self._calls: dict[bytes, tuple[str, Params]] = {}
        self._commands: dict[bytes, Command] = {}

    def listed(self, rows: Rows) -> tuple[Rows, Rows, Rows]:
        """The controller's steps from these states, in order: rows of states, successor rows, keys of their kinds.

        `Failure` if the model raises in one, or has a step of the controller that Kafka has no command for.
        """
        shape, words = self.kernel.shape, self.kernel.words
        successors = np.empty((len(rows) * max(1, shape.max_successors), shape.row_words), np.int64)
        counts, tally = np.zeros(len(rows), np.int64), np.zeros(shape.tally_words, np.int64)
        arguments = EdgeArguments(self.kernel.code, rows, len(rows), successors, counts, tally, 0)
        native(edges)(words, arguments)
        if tally[ERROR]:
            raise raises_in_a_step(self.bound)
        self.clipped += int(tally[CLIPS_TOTAL])
        successors = successors[: arguments.end]
        actions = successors[:, words] & ACTION_MASK
        for number, count in enumerate(np.bincount(actions, minlength=len(self.lowered.actions)).tolist()):
            if self._of_controller[number]:
                self.transitions[self.lowered.actions[number].name] += count
        before, after = self.parts.masked(np.repeat(rows, counts, axis=0)), self.parts.masked(successors)
        numbers = np.flatnonzero(self._of_controller[actions] | (before != after).any(axis=1))
        tails = successors[numbers, words + shape.step_words :]
        keys = np.hstack([actions[numbers, None], before[numbers], tails, after[numbers]])
        sources = np.repeat(np.arange(len(rows)), counts)[numbers]
        return rows[sources], successors[numbers], keys

    def step(self, state: Rows, successor: Rows, level: int) -> ModelStep:
        """The step from a state to a successor row."""
        words = self.kernel.words
        before, after = self.parts.part(state), self.parts.part(successor[:words])
        tail = successor[words:].copy()
        tail[0] &= ACTION_MASK
        key = tail.tobytes()
        if key not in self._commands:
            command = self.view.command(before.model, *self.call(tail), after.model)
            assert command is not None, "a step that leaves the controller's part alone is not listed"
            self._calls[key], self._commands[key] = self.call(tail), command
        action, params = self._calls[key]
        states = np.stack([state, successor[:words]])
        return ModelStep(before, action, params, after, self._commands[key], level, states)

    def call(self, step: Rows) -> tuple[str, Params]:
        """Action and parameters of the words behind a successor's state."""
        number = int(step[0]) & ACTION_MASK
        stored = iter(_values(self.kernel.model.parameters[number], step[self.kernel.shape.step_words :]))
        params: Params = {}
        for p in self.lowered.actions[number].parameters:
            if isinstance(p.drawn, tuple):  # a member of a message set: its record as one number
                params[p.name] = unpack_record(next(stored), p.type)  # type: ignore[arg-type]
            else:
                params[p.name] = rebuild(p.type, stored)
        return self.lowered.actions[number].name, params

    def state(self, row: Rows) -> Any:
        """A whole state of the model."""
        return self.layout.decode(row.view(np.uint64))

    def known(self) -> DistinctRows:
        """An empty set of keys."""
        return DistinctRows(1 + 2 * len(self.parts.columns) + (self.kernel.shape.parameter_words or 0))


class NativeSteps:
    """Steps from the native search. depth: levels to search, all if None. workers: threads."""

    def __init__(
        self,
        bound: BoundModel,
        lowered: LoweredModel,
        view: ModelView,
        depth: int | None = None,
        workers: int = os.cpu_count() or 1,
    ) -> None:
        self.bound, self.depth, self.states = bound, depth, 0
        self.stopped = ALL_VISITED
        self.kinds = StepKinds(bound, lowered, view)
        self.search = Search(self.kinds.kernel, workers)

    @property
    def transitions(self) -> dict[str, int]:
        """See `StepSource`."""
        return self.kinds.transitions

    @property
    def clipped(self) -> int:
        """See `StepSource`."""
        return self.kinds.clipped

    def steps(self, progress: Progress) -> Iterator[ModelStep]:
        """Searches breadth first; see `StepSource`."""
        distinct = self.kinds.known()
        for level, rows in self.parcels(progress):
            states, successors, keys = self.kinds.listed(rows)
            for k in distinct.add(keys).tolist():
                yield self.kinds.step(states[k], successors[k], level)

    def parcels(self, progress: Progress) -> Iterator[tuple[int, Rows]]:
        """Searches breadth first, then lists the states of each level, in canonical order, some at a time."""
        search, start = self.search, Start.of(self.bound, self.kinds.layout)
        search.warm_up()

        def look(left: int) -> None:
            progress.proof(f"{search.known:,} states of the model at level {search.depth}")

        exploration = explore(self.bound, self.kinds.kernel, start, search, Limits(self.depth), look)
        self.stopped = exploration.stopped
        self.stopped.end_run(StopReason.MEMORY)
        if search.raised_on is not None:
            raise raises_in_a_step(self.bound)
        self.states = exploration.distinct
        for level, parts in enumerate(search.found.arrays, 1):
            rows = rows_in_order(np.concatenate(parts))
            for low in range(0, len(rows), CHUNK):
                yield level, rows[low : low + CHUNK]
                progress.proof(f"{self.states:,} states of the model, level {level}")

    def after(self, step: ModelStep) -> Any:
        """See `StepSource`."""
        return self.kinds.state(step.states[1])

    def trace(self, step: ModelStep) -> Trace:
        """A shortest run that ends with the step, replayed in plain Python."""
        before, after = (self.kinds.state(row) for row in step.states)
        levels = LevelLook(self.kinds.kernel, self.search)
        trace = Paths(self.bound, self.kinds.kernel.model.layout, levels.smallest).to_state(step.level, before)
        actors = {a.name: a.who for a in self.bound.model.actions}
        trace.states.append(after)
        trace.steps.append(TraceStep(step.action, step.params, actors[step.action]))
        replay(trace, self.bound)
        return trace


def raises_in_a_step(bound: BoundModel) -> Failure:
    """The failure of a model that raises in a step."""
    return Failure(Exit.MODEL, f"{bound.model.name} raises in a step: `reassure check` says where")


def _values(fields: tuple[Field, ...], words: Rows) -> Iterator[int]:
    """The numbers stored in fields, in order."""
    for f in fields:
        yield int(words[f.word]) % (1 << 64) >> f.shift & ((1 << f.code.bits) - 1)


class DistinctRows:
    """A set of rows. Word 0 of a row has its upper eight bits clear."""

    def __init__(self, words: int) -> None:
        """words: of a row."""
        self.words, self.count = words, 0
        self.limit = MemoryLimit.of(None)
        self.table = GrowingTable(words, self.limit.bytes)

    def add(self, rows: Rows) -> Rows:
        """Adds rows; returns the positions of those that are new, of equal ones the first, in order.

        Raises `OutOfMemory`.
        """
        rows = np.ascontiguousarray(rows)
        where, batch = np.empty(len(rows), np.int64), np.empty(BATCH, np.int64)
        table = self.table
        count = native(unseen)(self.words, rows, len(rows), self.words, table.array, table.slots, where, batch)
        unknown = rows[where[:count]]
        _, first = np.unique(unknown.view(np.dtype((np.void, 8 * self.words))).reshape(-1), return_index=True)
        first.sort()
        self.count += len(first)
        slots = table.sizes.slots_for(self.count, table.slots)
        if slots > table.slots:
            self.limit.allow(8 * self.words * slots)
            table.grow(slots)
        native(put_back)(self.words, unknown[first], len(first), self.words, table.array, table.slots)
        return where[first]
