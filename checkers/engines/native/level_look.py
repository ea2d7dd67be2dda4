"""Looks through the levels of a finished search, on all of its threads: for the smallest states of which something is
wanted, several things at a time.

Every state of a level is expanded again, unless a smaller one was found already. Where the search visited one state of
each class, no representative is computed: successors are compared with all states of the class that is wanted.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from reassure.checkers.engines.native.counterexample import Row, Wanted, in_canonical_order
from reassure.checkers.engines.native.kernels.growing_table import whole_lines
from reassure.checkers.engines.native.kernels.kernel_shape import Kernel
from reassure.checkers.engines.native.kernels.look_back import (
    RAISES,
    BackArguments,
    LookArguments,
    look_back,
    path_back,
)
from reassure.checkers.engines.native.kernels.model_code import SWITCH
from reassure.checkers.engines.native.kernels.state_table import MAX_TAG, home_of, insert_state
from reassure.checkers.engines.native.levels import AnyRows, Threads, finish, slices
from reassure.checkers.engines.native.search import Search, Worker
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.engines.native.translator.word_rows import zeros

PIECE = 1 << 12
"""States that a thread looks at, at a time."""
STATES = 1 << 16
"""States of small levels that one call looks at, at most."""
LOAD = 4
"""Slots for each target in the table of targets, at least."""

ClassOf = Callable[[Row], "Sequence[Row] | None"]
"""From a representative to the states of its class; None if there are too many."""


def smallest_of(
    level: Sequence[AnyRows],
    wanted: Sequence[Wanted],
    kernel: Kernel,
    workers: Sequence[Worker],
    switch: int = 0,
    class_of: ClassOf | None = None,
    look: Callable[[], None] = lambda: None,
) -> list[Row | None]:
    """Of each thing that is wanted, the smallest state of a level of which it is true.

    level: its states, in parts. workers: one for each thread. The others are as of `LevelLook`.
    """
    rows: dict[Wanted, Row | None] = {}
    successors = [w for w in dict.fromkeys(wanted) if w.successor]
    claims = [w for w in dict.fromkeys(wanted) if not w.successor]
    for first in range(0, max(len(successors), 1), MAX_TAG):
        some = successors[first : first + MAX_TAG]
        rows |= _Pass(kernel, workers, some, claims if first == 0 else [], switch, class_of, look).through(level)
    return [rows[w] for w in wanted]


class LevelLook:
    """Finds the smallest wanted states of the levels of a search."""

    def __init__(
        self,
        kernel: Kernel,
        search: Search,
        switch: int = 0,
        class_of: ClassOf | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """switch: 1 + the guard that was off, of a kernel with switches. class_of: of a search of representatives.
        look: called now and then; raises to end the work."""
        self.kernel, self.search, self.switch, self.class_of, self.look = kernel, search, switch, class_of, look

    def smallest(self, level: int, wanted: Sequence[Wanted]) -> list[Row | None]:
        """Of each thing that is wanted, the smallest state of a level (from 1) of which it is true."""
        found, workers = self.search.found[level - 1], self.search.workers
        return smallest_of(found, wanted, self.kernel, workers, self.switch, self.class_of, self.look)

    def back(self, level: int, row: Row, lowest: int) -> list[Row]:
        """The smallest state of this level with a successor `row`, the smallest one before it, and so on.

        As far down as levels are small, to `lowest` at most; empty where this is none, or classes are searched.
        """
        together = None if self.class_of is not None else self.search.found.together(level, lowest, STATES)
        if together is None:
            return []
        self.look()
        (chunk, ends), words, worker = together, self.kernel.words, self.search.workers[0]
        path, levels = zeros(len(ends) * words), len(ends) - 1
        path[:words] = memoryview(array("q", row))
        tally = zeros(self.kernel.shape.tally_words)
        tally[SWITCH] = self.switch
        best, successors = zeros(words + 1), worker.arguments.successors
        bounds = memoryview(array("q", ends))
        arguments = BackArguments(self.kernel.code, chunk.memory, bounds, levels, path, best, successors, tally)
        found = self.kernel.run(path_back, words, arguments)
        return [tuple(path[at : at + words]) for at in range(words, (found + 1) * words, words)]


class _Pass:
    """One pass through a level."""

    def __init__(
        self,
        kernel: Kernel,
        workers: Sequence[Worker],
        successors: list[Wanted],
        claims: list[Wanted],
        switch: int,
        class_of: ClassOf | None,
        look: Callable[[], None],
    ) -> None:
        self.kernel, self.workers, self.look, self.words = kernel, workers, look, kernel.words
        self.code, self.wanted, self.switch = kernel.code, [*successors, *claims], switch
        classes: list[Sequence[Row] | None] = [(w.successor,) for w in successors]
        if class_of is not None and (steps := kernel.with_steps()) is not None:
            of_classes = [class_of(w.successor) for w in successors]
            if None not in of_classes:
                self.code, classes = steps, of_classes
        self.targets = len(successors)
        self.slots = whole_lines(LOAD * sum(len(states or ()) for states in classes) + 1)
        self.table = zeros(self.slots * self.words)
        for number, states in enumerate(classes):
            for state in states or ():
                native(insert_state)(self.table, self.slots, native(home_of)(state, self.slots), state, 1 + number)
        self.claims = zeros(2 * len(claims))
        for number, w in enumerate(claims):
            self.claims[2 * number], self.claims[2 * number + 1] = (RAISES, 0) if w.raises else w.flag
        self.best = zeros(len(self.wanted) * (self.words + 1))
        self.pending: list[tuple[Any, int, int]] = []
        self.lock, self.halted = Lock(), False

    def through(self, level: Sequence[AnyRows]) -> dict[Wanted, Row | None]:
        """The smallest state of the level for each thing that is wanted."""
        workers = self.workers
        self.pending = list(slices(level, PIECE))[::-1]
        if len(workers) == 1 or len(self.pending) == 1:
            self._work(workers[0], self.look)
        else:
            with Threads(len(workers)) as threads:
                jobs = [threads.pool.submit(self._work, w, lambda: None) for w in workers]
                finish(jobs, self.look, self._halt)
        rows = [self.best[at : at + self.words + 1].tolist() for at in range(0, len(self.best), self.words + 1)]
        return {w: tuple(row[1:]) if row[0] else None for w, row in zip(self.wanted, rows, strict=True)}

    def _halt(self) -> None:
        self.halted = True

    def _work(self, worker: Worker, look: Callable[[], None]) -> None:
        """Looks at pieces until there are none. worker: its room for successors is used."""
        tally, best = zeros(self.kernel.shape.tally_words), zeros(len(self.best))
        tally[SWITCH] = self.switch
        while not self.halted:
            look()
            try:
                part, low, high = self.pending.pop()
            except IndexError:
                return
            with self.lock:
                best[:] = self.best
            arguments = LookArguments(
                self.code, part, low, high, self.table, self.slots, self.targets, self.claims,
                len(self.wanted) - self.targets, best, worker.arguments.successors, tally,
            )  # fmt: skip
            self.kernel.run(look_back, self.words, arguments)
            with self.lock:
                self._merge(best)

    def _merge(self, best: memoryview) -> None:
        """Takes over what is smaller than the best so far."""
        for at in range(0, len(best), self.words + 1):
            one, other = best[at : at + self.words + 1], self.best[at : at + self.words + 1]
            if one[0] and (not other[0] or in_canonical_order(one[1:]) < in_canonical_order(other[1:])):
                other[:] = one
