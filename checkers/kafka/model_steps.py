"""Every step that a model lets the controller take, each kind once: before, command, after.

The states are searched by the model's compiled kernel. Steps that differ in ghosts only (logs, counters) are one step
to Kafka's controller; the one that comes first in the search stands for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.progress import Progress
from reassure.checkers.encoding.state_layout import Field, Layout, rebuild, state_layout, unpack_record
from reassure.checkers.kafka.model_view import COMMANDS, ModelView
from reassure.checkers.kafka.words import Command
from reassure.checkers.native.compiled_kernel import compiled
from reassure.checkers.native.kernels.kernel_shape import Rows
from reassure.checkers.native.kernels.partitioning import EdgeArguments, edges
from reassure.checkers.native.kernels.tally import CLIPS_TOTAL, ERROR
from reassure.checkers.native.translator.native_function import native
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace, TraceStep, replay

CHUNK = 4096
"""States expanded at once."""
_CONTROLLERS_FIELDS = ("partition", "unclean", "unfenced", "broker_epochs", "shutting_down")


@dataclass(frozen=True)
class ModelStep:
    """A step of a model that the controller takes. level: of the state before, the initial states being level 1."""

    before: Any
    action: str
    params: dict[str, Any]
    after: Any
    command: Command
    level: int
    number: int = field(compare=False)
    """Of the state before, in the order of the search."""


class StepSource(Protocol):
    """Where `conform` has its steps from."""

    states: int
    transitions: dict[str, int]
    """By action: its steps in the whole state space, each counted."""
    clipped: int
    """Steps that leave a bound of the model: they are not taken."""

    def steps(self, progress: Progress) -> Iterator[ModelStep]:
        """Each kind of step once, the shortest way to it first."""

    def trace(self, step: ModelStep) -> Trace:
        """A shortest run that ends with the step."""


class NativeSteps:
    """Steps from the compiled kernel. depth: levels to search, all if None."""

    def __init__(self, bound: BoundModel, lowered: LoweredModel, view: ModelView, depth: int | None = None) -> None:
        self.bound, self.view, self.depth = bound, view, depth
        self.layout: Layout = state_layout(bound)
        self.kernel = compiled(lowered, self.layout, parameters=True)
        self.lowered = lowered
        self.mask = _mask(self.layout, [leaf.path for leaf in lowered.leaves])
        self.states = self.clipped = 0
        self.transitions = {a.name: 0 for a in bound.model.actions if a.name in COMMANDS}
        self.origins: list[tuple[int, bytes]] = []
        """Of each state: the number of the state before and the words of the step; -1 for an initial state."""
        self.rows: list[bytes] = []
        self._decoded: dict[bytes, Any] = {}

    def steps(self, progress: Progress) -> Iterator[ModelStep]:
        """Searches breadth first; see `StepSource`."""
        words = self.kernel.words
        numbers: dict[bytes, int] = {}
        for _, _, state in self.bound.initial_states():
            row = np.array(self.layout.encode(state), np.uint64).view(np.int64).tobytes()
            if row not in numbers:
                numbers[row] = len(numbers)
                self.origins.append((-1, b""))
                self.rows.append(row)
        known: set[bytes] = set()
        low, level = 0, 1
        while low < len(self.rows) and (self.depth is None or level <= self.depth):
            high = len(self.rows)
            for first in range(low, high, CHUNK):
                last = min(first + CHUNK, high)
                before, after = self._expanded(first, last)
                yield from self._of_the_controller(before, after, level, known)
                for number, row, tail in zip(
                    before.tolist(), _each(after[:, :words]), _each(after[:, words:]), strict=True
                ):
                    if row not in numbers:
                        numbers[row] = len(numbers)
                        self.origins.append((number, tail))
                        self.rows.append(row)
                progress.proof(f"{len(self.rows):,} states of the model, {len(known):,} steps of the controller")
            low, level = high, level + 1
        self.states = len(self.rows)

    def _expanded(self, first: int, last: int) -> tuple[Rows, Rows]:
        """The successors of some states, with the number of the state that each comes from."""
        rows = np.frombuffer(b"".join(self.rows[first:last]), np.int64).reshape(-1, self.kernel.words)
        shape = self.kernel.shape
        successors = np.empty((len(rows) * max(1, shape.max_successors), shape.row_words), np.int64)
        counts, tally = np.zeros(len(rows), np.int64), np.zeros(shape.tally_words, np.int64)
        arguments = EdgeArguments(self.kernel.code, rows, len(rows), successors, counts, tally, 0)
        native(edges)(self.kernel.words, arguments)
        if tally[ERROR]:
            raise Failure(Exit.MODEL, f"{self.bound.model.name} raises in a step: `reassure check` says where")
        self.clipped += int(tally[CLIPS_TOTAL])
        return np.repeat(np.arange(first, last), counts), successors[: arguments.end]

    def _of_the_controller(self, before: Rows, after: Rows, level: int, known: set[bytes]) -> Iterator[ModelStep]:
        """The steps among these that no earlier one stands for."""
        words = self.kernel.words
        actions = after[:, words] & 0xFFFF
        for number, action in enumerate(self.bound.model.actions):
            of_action = np.flatnonzero(actions == number)
            if action.name in self.transitions:
                self.transitions[action.name] += len(of_action)
            if not len(of_action):
                continue
            sources = np.frombuffer(b"".join(self.rows[i] for i in before[of_action].tolist()), np.int64)
            masked = sources.reshape(-1, words) & self.mask
            tails = after[of_action, words + self.kernel.shape.step_words :]
            keys = np.hstack(
                [np.full((len(of_action), 1), number), masked, tails, after[of_action, :words] & self.mask]
            )
            for k, key in enumerate(_each(keys)):
                if key in known:
                    continue
                known.add(key)
                found = self._step(int(before[of_action[k]]), after[of_action[k]], level)
                if found is not None:
                    yield found

    def _step(self, number: int, successor: Rows, level: int) -> ModelStep | None:
        words = self.kernel.words
        before = self._state(self.rows[number])
        after = self._state(successor[:words].tobytes())
        action, params = self._call(successor[words:].tobytes())
        command = self.view.command(before, action, params, after)
        return None if command is None else ModelStep(before, action, params, after, command, level, number)

    def _state(self, row: bytes) -> Any:
        if row not in self._decoded:
            self._decoded[row] = self.layout.decode(np.frombuffer(row, np.uint64))
        return self._decoded[row]

    def _call(self, tail: bytes) -> tuple[str, dict[str, Any]]:
        """Action and parameters of the words behind a successor's state."""
        step = np.frombuffer(tail, np.int64)
        number = int(step[0]) & 0xFFFF
        stored = iter(_values(self.kernel.model.parameters[number], step[self.kernel.shape.step_words :]))
        params: dict[str, Any] = {}
        for p in self.lowered.actions[number].parameters:
            if isinstance(p.drawn, tuple):  # a member of a message set: its record as one number
                params[p.name] = unpack_record(next(stored), p.type)  # type: ignore[arg-type]
            else:
                params[p.name] = rebuild(p.type, stored)
        return self.lowered.actions[number].name, params

    def trace(self, step: ModelStep) -> Trace:
        """A shortest run that ends with the step, replayed in plain Python."""
        numbers = [step.number]
        while self.origins[numbers[0]][0] >= 0:
            numbers.insert(0, self.origins[numbers[0]][0])
        states = [self._state(self.rows[number]) for number in numbers]
        start = next((d, p) for d, p, s in self.bound.initial_states() if s == states[0])
        steps = [TraceStep(start[0].name, start[1], "")]
        actors = {a.name: a.who for a in self.bound.model.actions}
        for number in numbers[1:]:
            action, params = self._call(self.origins[number][1])
            steps.append(TraceStep(action, params, actors[action]))
        states.append(step.after)
        steps.append(TraceStep(step.action, step.params, actors[step.action]))
        found = Trace(states, steps)
        replay(found, self.bound)
        return found


def _mask(layout: Layout, paths: list[str]) -> Rows:
    """The bits of a state that are the controller's."""
    mask = [0] * layout.words
    for f in layout.fields:
        if paths[f.code.leaf].split(".")[0].split("[")[0] in _CONTROLLERS_FIELDS:
            mask[f.word] |= (1 << f.code.bits) - 1 << f.shift
    return np.array(mask, np.uint64).view(np.int64)


def _values(fields: tuple[Field, ...], words: Rows) -> Iterator[int]:
    """The numbers stored in fields, in order."""
    for f in fields:
        yield int(words[f.word]) % (1 << 64) >> f.shift & ((1 << f.code.bits) - 1)


def _each(rows: Rows) -> list[bytes]:
    """Each row as bytes."""
    whole, width = np.ascontiguousarray(rows).tobytes(), rows.shape[1] * 8
    return [whole[i : i + width] for i in range(0, len(whole), width)]
