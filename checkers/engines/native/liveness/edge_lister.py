"""Lists the edges between states that have numbers: the kernel expands the states again, piece by piece, on threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from itertools import islice
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from reassure.checkers.encoding.state_layout import codes, rebuild, unpack_record
from reassure.checkers.engines.native.exploration import CompiledKernel, compiled
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import ACTION_MASK, ERROR
from reassure.checkers.engines.native.kernels.partitioning import edge_list
from reassure.checkers.engines.native.kernels.region_edges import (
    CLIPPED,
    FALLS,
    LABEL_BITS,
    RegionArguments,
    index_labels,
    list_edges,
)
from reassure.checkers.engines.native.kernels.state_table import BATCH
from reassure.checkers.engines.native.liveness.buckets import Buckets
from reassure.checkers.engines.native.model.translation import Translation
from reassure.checkers.engines.native.search import RaisedAt
from reassure.checkers.engines.native.translator.native_function import native
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import RecordType
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import Assumption, Assumptions, Constraint

if TYPE_CHECKING:
    from reassure.spec.frontend.lowered_model import LoweredModel

CHUNK = 1 << 20
"""Edges that are listed at a time, at most."""
PIECE = 1 << 16
"""States whose edges a thread lists at a time."""
CLIPPED_AT_ONCE = 1 << 10
"""States of which the steps that leave a bound are listed at a time."""
LABELS = 1 << 8
"""Constraints that there is room for at first; more than a model has actions."""
GROWTH = 4
"""By how much that room grows."""
SLOTS = 4
"""Slots of the index of the constraints, for each that there is room for."""
MOST_CONSTRAINTS = CLIPPED - 1
"""The largest label that an edge has room for."""


def distinct(numbers: Rows) -> Rows:
    """The distinct ones of numbers that are nearly in order, ascending."""
    ordered = np.sort(numbers, kind="stable")  # quick on runs, unlike what `numpy.unique` does
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


class Falls(Exception):
    """A step leads to an earlier bucket, from the state of this number."""

    def __init__(self, state: int) -> None:
        self.state = state


class EdgeLister:
    """Expands states by the kernel and lists the edges between those that have numbers."""

    def __init__(
        self,
        bound: BoundModel,
        translation: Translation,
        kernel: CompiledKernel,
        assumptions: Assumptions,
        threads: int = 1,
    ) -> None:
        """assumptions: with the finest `each` of interest; the kernel has parameters if one of them has any."""
        self.bound, self.kernel, self.assumptions, self.threads = bound, kernel, assumptions, threads
        self.actions, shape = bound.model.actions, kernel.shape
        self.width = 1 + (shape.parameter_words or 0)
        self.masks = np.zeros(max(1, len(self.actions) * (self.width - 1)), np.int64)
        self.action_labels = np.zeros(len(self.actions), np.int64)
        self.labels = np.zeros((LABELS + 1, self.width), np.int64)
        self.label_index = np.zeros(SLOTS * LABELS, np.int64)
        self.label_count = 0
        self.lock = Lock()
        """Of labels, which threads find on their way."""
        self.decoders: dict[int, Callable[[Rows], tuple[Any, ...]]] = {}
        self.further: dict[Constraint, int] = {}
        """Labels of steps that leave a bound, which the kernel does not list."""
        self.translation = translation
        for number, action in enumerate(self.actions):
            assumed = assumptions.get(action.name)
            if assumed is None:
                continue
            if assumed.each:
                self.action_labels[number] = -1
                self._prepare_each(number, assumed)
            else:
                self.label_count += 1
                self.action_labels[number] = self.label_count
                self.labels[self.label_count, 0] = number

    def _prepare_each(self, number: int, assumed: Assumption) -> None:
        """Notes where the parameters of an action that count are, and how their values are read."""
        fields, place, readers = iter(self.kernel.model.parameters[number]), {}, {}
        for name, kind, packed in self.translation.parameters[number]:
            place[name] = [next(fields) for _ in range(1 if packed else len(codes(kind)))]
            readers[name] = kind, packed
        used = [f for name in assumed.each for f in place[name]]
        for f in used:
            mask = ((1 << f.code.bits) - 1) << f.shift
            self.masks[number * (self.width - 1) + f.word] |= np.array(mask, np.uint64).view(np.int64)

        def read(words: Rows) -> tuple[Any, ...]:
            values = []
            for name in assumed.each:
                kind, packed = readers[name]
                stored = [int(words[f.word]) % (1 << 64) >> f.shift & ((1 << f.code.bits) - 1) for f in place[name]]
                if packed:
                    assert isinstance(kind, RecordType)
                    values.append(unpack_record(stored[0], kind))
                else:
                    values.append(rebuild(kind, iter(stored)))
            return tuple(values)

        self.decoders[number] = read

    @property
    def nbytes(self) -> int:
        """Bytes of the labels."""
        return self.labels.nbytes + self.label_index.nbytes

    @property
    def constraints(self) -> dict[int, Constraint]:
        """By label."""
        constraints = {}
        further = {label: constraint for constraint, label in self.further.items()}
        for label in range(1, self.label_count + 1):
            if label in further:
                continue
            constraints[label] = self._constraint(int(self.labels[label, 0]), self.labels[label, 1:])
        return constraints | further

    def _constraint(self, number: int, words: Rows) -> Constraint:
        """The constraint of an action, for the parameters in masked words if it is fair for each of some values."""
        values = self.decoders[number](words) if number in self.decoders else ()
        return Constraint(self.assumptions[self.actions[number].name], values)

    def _grow_labels(self) -> None:
        """Makes room for more constraints. Raises `LanguageError` where edges have none for so many."""
        room = min(GROWTH * (len(self.labels) - 1), MOST_CONSTRAINTS)
        if room < len(self.labels):
            raise LanguageError(
                f"actions are fair for each of more than {room:,} values of their parameters (fair_each): "
                "name fewer parameters, or give them smaller types"
            )
        labels = np.zeros((room + 1, self.width), np.int64)
        labels[: len(self.labels)] = self.labels
        self.labels, self.label_index = labels, np.zeros(SLOTS * room, np.int64)
        native(index_labels)(self.width, labels.reshape(-1), self.label_count, self.label_index, len(self.label_index))

    def merge_labels(self, lists: Lists) -> bool:
        """Takes over the labels that a thread found on its way; False if its edges have to be listed again."""
        a = lists.arguments
        as_taken = len(self.labels) == len(lists.labels) and self.label_count == lists.label_count
        if a.low < 0:  # it had no room for a further label
            if len(self.labels) == len(lists.labels):
                self._grow_labels()
            return False
        if a.label_count == lists.label_count:
            return True
        if as_taken:  # no other thread found any meanwhile
            self.labels, self.label_index = lists.labels.copy(), lists.label_index.copy()
            self.label_count = lists.label_count = a.label_count
        return as_taken

    def _further_label(self, constraint: Constraint) -> int:
        if constraint not in self.further:
            if self.label_count + 1 >= len(self.labels):
                self._grow_labels()
            self.label_count += 1
            self.labels[self.label_count, 0] = -1  # no action's, so that the kernel finds none of its steps there
            self.further[constraint] = self.label_count
        return self.further[constraint]

    def edges(
        self, known: Buckets, look: Callable[[], None], groups: Iterable[tuple[int, int]], rows: Rows | None = None
    ) -> Iterator[ListedEdges]:
        """The edges of groups of the states in buckets, or of `rows` if there is one bucket; in order, piece by piece.

        look: called for each piece; raises to end the work. Raises `Falls` if the buckets are not in order.
        """
        threads, free = self.threads, SimpleQueue[Lists]()
        for _ in range(threads):
            free.put(Lists(self, known.rows if rows is None else rows, known))

        def listed(low: int, high: int) -> list[ListedEdges]:
            lists = free.get()
            try:
                return list(self._pieces(lists, low, high))
            finally:
                free.put(lists)

        cuts = ((at, min(at + PIECE, high)) for low, high in groups for at in range(low, high, PIECE))
        with ThreadPoolExecutor(threads) as pool:
            waiting = deque(pool.submit(listed, *cut) for cut in islice(cuts, 2 * threads))
            try:
                while waiting:
                    look()
                    yield from waiting.popleft().result()
                    waiting += [pool.submit(listed, *cut) for cut in islice(cuts, 1)]
            finally:
                pool.shutdown(cancel_futures=True)

    def _pieces(self, lists: Lists, low: int, high: int) -> Iterator[ListedEdges]:
        """The edges of rows low..high-1."""
        a = lists.arguments
        a.low, a.high = low, high
        a.bucket = int(np.searchsorted(lists.known.ends, low, side="right"))
        while a.low < a.high:
            first, bucket, a.end, a.enabled_end, a.outside_end = a.low, a.bucket, 0, 0, 0
            with self.lock:
                lists.take_labels(self)
            self.kernel.run(list_edges, self.kernel.words, a)
            if lists.tally[ERROR]:
                raise RaisedAt(lists.rows[lists.tally[ERROR] - 1].copy())
            if a.low == FALLS:
                raise Falls(a.high)
            with self.lock:
                if not self.merge_labels(lists):
                    a.low, a.bucket = first, bucket
                    continue
            enabled, outside = lists.enabled[: a.enabled_end], lists.outside[: a.outside_end]
            clipped = outside & CLIPPED != 0
            if clipped.any():
                states = distinct(outside[clipped] >> LABEL_BITS)
                with self.lock:
                    enabled = distinct(np.concatenate([enabled, self._clipped(lists.rows, states)]))
            yield ListedEdges(
                lists.degrees[: a.low - first].copy(),
                lists.edges[: a.end].copy(),
                enabled.copy(),
                outside[~clipped] >> LABEL_BITS,
            )

    @cached_property
    def _clipped_steps(self) -> ClippedSteps:
        """Those of actions that are fair for each of some values."""
        numbers = np.nonzero(self.action_labels < 0)[0].tolist()
        return ClippedSteps(self.translation, numbers)

    def _clipped(self, rows: Rows, states: Rows) -> Rows:
        """The labels that steps which leave a bound enable, of actions that are fair for each of some values.

        states: numbers of rows, ascending.
        """
        enabled = [np.zeros(0, np.int64)]
        for at in range(0, len(states), CLIPPED_AT_ONCE):
            some = states[at : at + CLIPPED_AT_ONCE]
            places, actions, words = self._clipped_steps.of(rows[some])
            masks = self.masks.reshape(len(self.actions), -1)[actions, : words.shape[1]]
            keys, which = np.unique(np.column_stack([actions, words & masks]), axis=0, return_inverse=True)
            constraints = [self._constraint(int(key[0]), key[1:]) for key in keys]
            labels = np.array([self._further_label(constraint) for constraint in constraints], np.int64)
            enabled.append(some[places] << LABEL_BITS | labels[which.reshape(-1)])
        return np.concatenate(enabled)


class Lists:
    """What one thread lists, and the kernel's arguments that point to it."""

    def __init__(self, lister: EdgeLister, rows: Rows, known: Buckets) -> None:
        shape = lister.kernel.shape
        batch = BATCH + shape.max_successors
        room = CHUNK + batch + BATCH * shape.actions
        self.known, self.rows, self.degrees, self.tally = (
            known,
            rows,
            np.zeros(PIECE, np.int64),
            np.zeros(shape.tally_words, np.int64),
        )
        self.edges, self.enabled, self.outside = (np.empty(room, np.int64) for _ in range(3))
        self.labels, self.label_index, self.label_count = np.zeros((0, 0), np.int64), np.zeros(0, np.int64), -1
        self.arguments = RegionArguments(
            model=lister.kernel.code, rows=rows, known=known.rows, low=0, high=0, index=known.index,
            slots=len(known.index), bucket=0, ends=known.ends, ranking=known.ranking.fields.reshape(-1),
            ranks=len(known.ranking.fields),
            actions=shape.actions, action_labels=lister.action_labels, masks=lister.masks,
            labels=lister.labels, label_count=0, label_room=0, label_index=lister.label_index, label_slots=0,
            successors=np.zeros((batch, shape.row_words), np.int64), slots_of=np.zeros(batch, np.int64),
            counts=np.zeros(BATCH, np.int64), before=np.zeros(shape.actions, np.int64),
            clips=np.zeros(BATCH * (1 + shape.actions), np.int64), degrees=self.degrees,
            edges=self.edges, end=0, enabled=self.enabled, enabled_end=0, outside=self.outside, outside_end=0,
            room=CHUNK, tally=self.tally,
        )  # fmt: skip

    def take_labels(self, lister: EdgeLister) -> None:
        """Brings the thread's own labels up to date: the kernel adds to them."""
        a = self.arguments
        if self.label_count == lister.label_count == a.label_count and len(self.labels) == len(lister.labels):
            return
        self.labels, self.label_index = lister.labels.copy(), lister.label_index.copy()
        self.label_count = a.label_count = lister.label_count
        a.labels, a.label_room = self.labels.reshape(-1), len(self.labels) - 1
        a.label_index, a.label_slots = self.label_index, len(self.label_index)


@dataclass(frozen=True)
class ListedEdges:
    """Some of a graph's edges, those of states that follow on each other."""

    degrees: Rows
    """By state: how many edges it has."""
    edges: Rows
    """As `RegionGraph.edges`."""
    enabled: Rows
    """As `RegionGraph.enabled`, of these states."""
    leaving: Rows
    """The states with a step to the outside that counts for a label, once for each step."""


def beyond_bounds_alone(lowered: LoweredModel, numbers: Sequence[int]) -> LoweredModel:
    """Some actions of a model, each taken only where its step leaves a bound; it changes nothing then."""
    from reassure.spec.frontend.lowered_model import Check  # not where the translation is kept

    g = lowered.graph
    same = tuple(g.var(leaf.path, leaf.type) for leaf in lowered.leaves)
    actions = []
    for action in (lowered.actions[number] for number in numbers):
        leaves = Check("require", g.or_(*(clip.condition for clip in action.clips)), "", "", 0)
        actions.append(replace(action, checks=(*action.checks, leaves), clips=(), next_leaves=same))
    no_claims = tuple(() for _ in actions)
    return replace(lowered, actions=tuple(actions), state_formulas=(), step_formulas=no_claims, terminal_formulas=())


class ClippedSteps:
    """Lists the steps of some actions that leave a bound."""

    def __init__(self, translation: Translation, numbers: Sequence[int]) -> None:
        self.numbers = np.array(numbers, np.int64)
        self.kernel = compiled(beyond_bounds_alone(translation.lowered, numbers), translation.layout, parameters=True)

    def of(self, rows: Rows) -> tuple[Rows, Rows, Rows]:
        """Such steps from states: for each the place of its state among the rows, its action, and its parameters."""
        steps, counts = edge_list(self.kernel, np.ascontiguousarray(rows))
        words, shape = self.kernel.words, self.kernel.shape
        places = np.repeat(np.arange(len(rows)), counts)
        return places, self.numbers[steps[:, words] & ACTION_MASK], steps[:, words + shape.step_words :]
