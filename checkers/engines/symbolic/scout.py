"""Reachable states of a model, by search and walks with its native kernel; and states of its type, drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT, Layout, state_layout
from reassure.checkers.engines.native.exploration import Limits, Start, compiled, explore
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.probe import Probe
from reassure.checkers.engines.native.search import Clock, Search
from reassure.checkers.engines.native.simulation import PIECE, Walked, Walker, raising_walk
from reassure.checkers.engines.symbolic.lemma_templates import Lemma, candidates
from reassure.checkers.engines.symbolic.sample_evaluator import Sample, columns
from reassure.checkers.machine.stop import BY_USER, Stop, StopReason, depth_reached
from reassure.checkers.request.options import SimulationOptions
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.types import IntType, SeqType, Type, bits_of
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

ENOUGH = 200_000
"""States of the search that the sample is drawn from, at the most (and one level more)."""
SAMPLE = 20_000
FEW = 300
SEARCHED_FOR = 5.0
"""Seconds of the search for violations of short runs, at most."""


class Scout:
    """Reachable states of a model, by search and walks with its kernel."""

    def __init__(
        self,
        bound: BoundModel,
        lowered: LoweredModel,
        wants: Callable[[str], bool] = lambda name: True,
        say: Callable[[str], None] = lambda what: None,
    ) -> None:
        """wants: the properties and covers that are asked for. say: reports progress, and raises to end the search."""
        self.bound, self.model, self.wants, self.say = bound, lowered, wants, say
        self.raised: tuple[Trace, str] | None = None
        """A run into a state in which the model raises, if one was seen, and what raises there."""
        self.layout: Layout = state_layout(bound)
        self.paths = [leaf.path for leaf in lowered.leaves]
        self.kernel = compiled(lowered, self.layout)
        self.start = Start.of(bound, self.layout)
        self.starts = self.rows(self.start.rows)
        self.rng = np.random.default_rng(1)

    def rows(self, words: Sequence[tuple[int, ...]]) -> Rows:
        return np.array(words, np.uint64).view(np.int64).reshape(-1, self.layout.words)

    def row(self, state: Any) -> Rows:
        return self.rows([self.layout.encode(state)])

    def reachable(self) -> Rows:
        """A sample of reachable states: of a search, and of walks if the search does not see all."""
        search = Search(self.kernel, 1)

        def look(left: int) -> None:
            self.say(f"a sample of states: {search.distinct:,}")

        def until() -> Stop | None:
            return Stop(StopReason.LIMIT, "the sample is large enough") if search.distinct >= ENOUGH else None

        exploration = explore(self.bound, self.kernel, self.start, search, Limits(), look, until)
        exploration.stopped.end_run(StopReason.MEMORY)
        self.raised = exploration.raised(self.wants) or self.raised
        visited = np.concatenate([np.asarray(part) for parts in [*search.found, search.beyond] for part in parts])
        if search.distinct < ENOUGH:
            return self.some(visited, SAMPLE)
        # The first levels alone have too little in common with the rest; walks get there.
        _, beyond = self.walks(SimulationOptions(2_000, 100, 1))
        return np.concatenate([self.some(visited, SAMPLE), self.some(beyond, SAMPLE)])

    def finds_nothing(self, depth: int, names: Container[str]) -> bool:
        """Whether the kernel searched all runs of up to so many states, some of which go on, and found no violation."""
        search, limits = Search(self.kernel, 1), Limits(depth, Clock(SEARCHED_FOR))
        found = explore(self.bound, self.kernel, self.start, search, limits)
        if found.stopped == BY_USER:
            raise KeyboardInterrupt
        self.raised = found.raised(self.wants) or self.raised
        return found.stopped == depth_reached(depth) and not found.violated(names) and search.raised_on is None

    def some(self, rows: Rows, count: int) -> Rows:
        if len(rows) <= count:
            return rows
        chosen: Rows = rows[self.rng.choice(len(rows), count, replace=False)]
        return chosen

    def hits(self, walks: SimulationOptions) -> Walked:
        """The counts of walks from the initial states, without their states, which take most of the time of `walks`."""
        walker = Walker(self.bound, self.kernel, walks, self.starts)
        seen = Walked.none(self.kernel, walks.depth)
        for first in range(0, walks.count, PIECE):
            seen.add(walker.run(first, min(first + PIECE, walks.count))[0])
        self._note_raised(walker, seen)
        return seen

    def walks(self, walks: SimulationOptions, starts: Rows | None = None) -> tuple[Walked, Rows]:
        """The counts of walks, and their states."""
        walker = Walker(self.bound, self.kernel, walks, self.starts if starts is None else starts)
        seen, paths = Walked.none(self.kernel, walks.depth), []
        for number in range(walks.count):
            path = np.zeros((walks.depth, self.layout.words), np.int64)
            walked, states = walker.run(number, number + 1, path)
            seen.add(walked)
            paths.append(path[:states])
        if starts is None:
            self._note_raised(walker, seen)
        return seen, np.unique(np.concatenate(paths), axis=0)

    def _note_raised(self, walker: Walker, seen: Walked) -> None:
        """Keeps the first walk, from an initial state, into a state in which the model raises."""
        if self.raised is None and seen.raised is not None:
            self.raised = raising_walk(walker, *seen.raised, self.wants)

    def confirm(self, prop: Property, states: list[Any]) -> None:
        """Runs a counterexample through the native kernel too. Raises `Disagreement`."""
        probe = Probe(self.kernel)
        for before, after in pairwise(states):
            if not probe.leads_to(self.row(before), self.row(after).reshape(-1).tolist()):
                raise Disagreement(f"the kernel has no step from {before} to {after}")
        last = states[-2] if prop.over_steps else states[-1]
        if not probe.flagged(self.row(last), self.kernel.model.flags()[prop.name]):
            raise Disagreement(f"{prop.name}: the kernel finds no fault with {last}")

    def sample(self, rows: Rows) -> Sample:
        of_all = columns(rows, self.layout, self.paths)
        if len(rows) > 1:
            return Sample(of_all)
        return Sample({path: int(column[0]) for path, column in of_all.items()})  # numpy takes longer than Python

    def anything(self, count: int = 600) -> Sample:
        """States of the type, mostly not reachable: what is true in all of these says little."""
        return Sample({leaf.path: _drawn(leaf.type, count, self.rng) for leaf in self.model.leaves})


def _drawn(kind: Type, count: int, rng: np.random.Generator) -> Any:
    if isinstance(kind, SeqType):
        length, k = rng.integers(0, kind.length + 1, count), bits_of(kind.item)
        packed = np.zeros(count, np.int64)
        for i in range(kind.length):
            packed |= np.where(length > i, rng.integers(0, kind.item.count, count) << (i * k), 0)
        return packed | length << SEQ_LENGTH_AT
    if isinstance(kind, IntType):
        drawn = rng.integers(kind.low, kind.high, count, endpoint=True)
        return np.where(rng.random(count) < 0.7, drawn, min(max(kind.low, 0), kind.high))
    return rng.integers(0, kind.count, count)


def promising(scout: Scout) -> list[Lemma]:
    """Candidates that hold in every state of the sample, and say something."""
    rows = scout.reachable()
    few, all_, anything = scout.sample(scout.some(rows, FEW)), scout.sample(rows), scout.anything()

    def holds(node: Node) -> bool:
        scout.say("looking for lemmas")
        return few.holds(node) and not anything.holds(node) and all_.holds(node)

    return candidates(scout.model, holds)
