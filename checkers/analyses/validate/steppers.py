"""Sets of possible states, stepped by the compiled kernel or by plain Python: both give the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.analyses.validate.observations import Line, Partly, matches_observation
from reassure.checkers.encoding.state_layout import (
    Code,
    Field,
    coded,
    codes,
    is_index,
    leaf_count,
    pack_record,
    packed_fields,
    scalars,
    state_layout,
)
from reassure.checkers.engines.native.exploration import compiled
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import ACTION_MASK, ERROR
from reassure.checkers.engines.native.kernels.partitioning import edge_list
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.types import MapType, OptionType, RecordType, Type
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Params

Key = Any
"""A state, as the stepper has it: hashable."""
Reached = tuple[int, Key]
"""A state that a step leads to, with the number of the one that it begins in."""

PIECE_WORDS = 1 << 20
"""Words of successors that are listed at a time, about."""


class Stepper(Protocol):
    """Takes steps from many states at once."""

    name: str
    clipped: bool
    """Whether a step that was asked for has left a bound."""

    def initial(self) -> list[Key]:
        """The initial states."""

    def after(self, states: Sequence[Key], line: Line) -> list[Reached]:
        """The states after the steps that a line may be of, as far as they fit its state."""

    def moved(self, states: Sequence[Key], actions: frozenset[str]) -> list[Reached]:
        """The states after the steps of these actions."""

    def matching(self, states: Sequence[Key], line: Line) -> list[bool]:
        """Whether each state is what a line says."""

    def state(self, key: Key) -> Any:
        """The state of plain Python."""


class OnlySome(BoundModel):
    """A bound model of which some actions are taken: the others' parameters are not tried."""

    def __init__(self, bound: BoundModel, actions: frozenset[str]) -> None:
        super().__init__(bound.model, bound.config)
        self._actions = [(declared, callee) for declared, callee in self._actions if declared.name in actions]


class PlainStepper:
    """By plain Python."""

    name = "plain Python"

    def __init__(self, bound: BoundModel) -> None:
        self.bound = bound
        self.clipped = False
        self._of: dict[frozenset[str], BoundModel] = {}

    def initial(self) -> list[Key]:
        """See `Stepper`."""
        starts = [s for _, _, s in self.bound.initial_states()]
        self.clipped = any(isinstance(s, Clipped) for s in starts)
        return list(dict.fromkeys(s for s in starts if not isinstance(s, Clipped)))

    def after(self, states: Sequence[Key], line: Line) -> list[Reached]:
        """See `Stepper`."""
        assert line.actions is not None
        return [
            (i, after)
            for i, params, after in self._steps(states, line.actions)
            if matches_observation(after, line.state)
            and all(matches_observation(params[k], v) for k, v in line.params.items())
        ]

    def moved(self, states: Sequence[Key], actions: frozenset[str]) -> list[Reached]:
        """See `Stepper`."""
        return [(i, after) for i, _, after in self._steps(states, actions)]

    def _steps(self, states: Sequence[Key], actions: frozenset[str]) -> Iterator[tuple[int, Params, Any]]:
        if actions not in self._of:
            self._of[actions] = OnlySome(self.bound, actions)
        for i, state in enumerate(states):
            for step in self._of[actions].steps(state):
                if isinstance(step.after, Clipped):
                    self.clipped = True
                else:
                    yield i, step.params, step.after

    def matching(self, states: Sequence[Key], line: Line) -> list[bool]:
        """See `Stepper`."""
        return [matches_observation(state, line.state) for state in states]

    def state(self, key: Key) -> Any:
        """See `Stepper`."""
        return key


class _Masks:
    """An observation as masks on words: the words in question, and what they are under the masks."""

    def __init__(self, words: int) -> None:
        self.masks, self.values = np.zeros(words, np.uint64), np.zeros(words, np.uint64)

    def add(self, word: int, shift: int, bits: int, value: int) -> None:
        """A field of some bits has a value."""
        self.masks[word] |= np.uint64(((1 << bits) - 1) << shift)
        self.values[word] |= np.uint64(value << shift)

    def fits(self, rows: Rows) -> NDArray[np.bool_]:
        """By row: whether it is what is observed."""
        fitting: NDArray[np.bool_] = ((rows.view(np.uint64) & self.masks) == self.values).all(axis=1)
        return fitting


def _stored(observed: Any, kind: Type, start: int = 0) -> Iterator[tuple[Code, int]]:
    """The coded fields that are known of a value, each with the number that is stored for it."""
    if isinstance(observed, Partly):
        if isinstance(kind, OptionType):
            assert not is_index(kind.inner)
            yield codes(kind, start)[0], 1
            yield from _stored(observed, kind.inner, start + 1)
            return
        assert isinstance(kind, RecordType | MapType)
        inner = kind.fields if isinstance(kind, RecordType) else [(k, kind.value) for k in kind.key.values()]
        for name, t in inner:
            if name in observed:
                yield from _stored(observed[name], t, start)
            start += leaf_count(t)
        return
    leaves = list(scalars(observed, kind))
    for code in codes(kind, start):
        yield code, coded([0] * start + leaves, code)


class NativeStepper:
    """By the compiled kernel: states are their packed words."""

    name = "the compiled kernel"

    def __init__(self, bound: BoundModel, lowered: LoweredModel) -> None:
        """Raises `LanguageError` for a model that is too large for a kernel."""
        self.bound, self.lowered = bound, lowered
        self.kernel = compiled(lowered.only(lambda name: False), state_layout(bound), parameters=True)
        self.layout = self.kernel.model.layout
        self.place = {f.code.leaf: f for f in self.layout.fields}
        self.numbers = {a.name: i for i, a in enumerate(bound.model.actions)}
        self.clipped = False
        shape = self.kernel.shape
        self.piece = max(1, PIECE_WORDS // (max(1, shape.max_successors) * shape.row_words))

    def initial(self) -> list[Key]:
        """See `Stepper`."""
        plain = PlainStepper(self.bound)
        states = plain.initial()
        self.clipped = plain.clipped
        return [np.array(self.layout.encode(state), np.uint64).tobytes() for state in states]

    def _rows(self, states: Sequence[Key]) -> Rows:
        return np.frombuffer(bytearray().join(states), np.int64).reshape(-1, self.layout.words)

    def after(self, states: Sequence[Key], line: Line) -> list[Reached]:
        """See `Stepper`."""
        assert line.actions is not None
        masks_of_state = self._of_state(line)
        params = {self.numbers[name]: self._of_params(name, line) for name in line.actions}
        reached: list[Reached] = []
        for first, sources, rows, actions in self._steps(states, frozenset(params)):
            words, begin = self.layout.words, self.layout.words + self.kernel.shape.step_words
            fitting = masks_of_state.fits(np.ascontiguousarray(rows[:, :words]))
            for number, masks in params.items() if line.params else ():
                of_action = actions == number
                fitting[of_action] &= masks.fits(np.ascontiguousarray(rows[of_action, begin:]))
            reached += self._reached(first, sources[fitting], rows[fitting])
        return reached

    def moved(self, states: Sequence[Key], actions: frozenset[str]) -> list[Reached]:
        """See `Stepper`."""
        reached: list[Reached] = []
        for first, sources, rows, _ in self._steps(states, frozenset(self.numbers[a] for a in actions)):
            reached += self._reached(first, sources, rows)
        return reached

    def _reached(self, first: int, sources: Rows, rows: Rows) -> list[Reached]:
        states = np.ascontiguousarray(rows[:, : self.layout.words])
        return [(first + s, row.tobytes()) for s, row in zip(sources.tolist(), states, strict=True)]

    def _steps(self, states: Sequence[Key], actions: frozenset[int]) -> Iterator[tuple[int, Rows, Rows, Rows]]:
        """The steps of some actions, a piece of the states at a time: its first state, sources, rows, actions."""
        every = self._rows(states)
        shape, among = self.kernel.shape, np.array(sorted(actions), np.int64)
        for first in range(0, len(every), self.piece):
            tally = np.zeros(shape.tally_words, np.int64)
            piece = np.ascontiguousarray(every[first : first + self.piece])
            rows, counts = edge_list(self.kernel, piece, tally)
            if tally[ERROR]:
                list(self.bound.steps(self.state(states[first + int(tally[ERROR]) - 1])))  # raises, and says why
            taken = rows[:, self.layout.words] & ACTION_MASK
            with_clipped = np.array(self.kernel.action_counts(tally.tolist()), np.int64)
            clipped = with_clipped - np.bincount(taken, minlength=shape.actions)
            self.clipped = self.clipped or bool(clipped[among].any())
            of_actions = np.isin(taken, among)
            yield first, np.repeat(np.arange(len(piece)), counts)[of_actions], rows[of_actions], taken[of_actions]

    def matching(self, states: Sequence[Key], line: Line) -> list[bool]:
        """See `Stepper`."""
        matches: list[bool] = self._of_state(line).fits(self._rows(states)).tolist()
        return matches

    def state(self, key: Key) -> Any:
        """See `Stepper`."""
        return self.layout.decode(np.frombuffer(key, np.uint64))

    def _of_state(self, line: Line) -> _Masks:
        masks = _Masks(self.layout.words)
        for code, value in _stored(line.state, self.layout.type):
            field = self.place[code.leaf]
            masks.add(field.word, field.shift, code.bits, value)
        return masks

    def _of_params(self, action: str, line: Line) -> _Masks:
        """The observed parameters, in the words that the kernel writes them to."""
        number = self.numbers[action]
        masks = _Masks(self.kernel.shape.parameter_words or 0)
        fields = iter(self.kernel.model.parameters[number])
        for p in self.lowered.actions[number].parameters:
            is_packed = isinstance(p.drawn, tuple)
            places = [next(fields) for _ in range(1 if is_packed else len(codes(p.type)))]
            if p.name in line.params:
                _add_parameter(masks, line.params[p.name], p.type, places, is_packed)
        return masks


def _add_parameter(masks: _Masks, observed: Any, kind: Type, places: list[Field], is_packed: bool) -> None:
    if not is_packed:
        for code, value in _stored(observed, kind):
            field = next(f for f, c in zip(places, codes(kind), strict=True) if c.leaf == code.leaf)
            masks.add(field.word, field.shift, code.bits, value)
        return
    assert isinstance(kind, RecordType)
    (field,) = places
    if not isinstance(observed, Partly):
        masks.add(field.word, field.shift, field.code.bits, pack_record(observed, kind))
        return
    shifts = {code.leaf: below for code, below in packed_fields(kind)}
    for code, value in _stored(observed, kind):
        masks.add(field.word, field.shift + shifts[code.leaf], code.bits, value)
