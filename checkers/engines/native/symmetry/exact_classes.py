"""Classes of states for the searches of a model and of its changes, which are compared: by the counts of all states."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from reassure.checkers.encoding.state_layout import Layout
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.exploration import Exploration, Start
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.probe import Probe
from reassure.checkers.engines.native.symmetry.cells import NotRenamed, Sort, sorts_to_rename
from reassure.checkers.engines.native.symmetry.class_paths import ClassPaths
from reassure.checkers.engines.native.symmetry.renamings import Renamings
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.stop import Ending
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel

PAYS = 4
"""Ids that may take each other's names, at least, where a search of classes is quicker."""


def too_few(sorts: tuple[Sort, ...]) -> str:
    """The reason why a search of classes under these renamings would not pay; "" if it does."""
    most = max(len(cell) for sort in sorts for cell in sort.cells)
    return f"{most} ids can be renamed, and it pays from {PAYS} on" if most < PAYS else ""


def classes_record(
    renamings: Renamings,
    classes: int,
    levels: Iterable[Iterable[Rows]],
    threads: int,
    look: Callable[[], None],
) -> dict[str, Any]:
    """The part of the run record about a search of classes. levels: their representatives.

    look: called while their states are counted; where it ends that, the record has no number of them.
    """
    states = None
    with Ending():
        states = renamings.states_of(chain.from_iterable(levels), threads, look)
    return {
        "renamed": [str(sort) for sort in renamings.sorts],
        "order_forgotten": [sort.type.sort.__name__ for sort in renamings.sorts if sort.order_forgotten],
        "lists_forgotten": [sort.type.sort.__name__ for sort in renamings.sorts if sort.lists_forgotten],
        "classes": classes,
        "states": states,
        "all_states": [],
    }


@dataclass(frozen=True)
class ExactClasses:
    """The classes of which searches visit one state each, or, without renamings, every state.

    Counts are those of all states, and traces are runs of the model, so that the searches are compared as others are.
    """

    renamings: Renamings | None = None
    why: str = ""
    """The reason why all states are visited although classes were asked for."""

    @classmethod
    def of(cls, lowered: LoweredModel, start: Start, layout: Layout, symmetry: str) -> ExactClasses:
        """The classes of a model. symmetry: off, auto or on. `Failure` if that is `on` and no id can be renamed."""
        if symmetry == "off":
            return cls()
        try:
            sorts = _sorts(lowered, start, layout)
        except NotRenamed as error:
            if symmetry == "auto":
                return cls(why=str(error))
            raise Failure(Exit.USAGE, f"--symmetry: {error}") from None
        if symmetry == "auto" and (why := too_few(sorts)):
            return cls(why=why)
        return cls(Renamings(sorts, layout))

    @property
    def functions(self) -> str:
        """What a kernel takes as `representatives`."""
        return self.renamings.functions if self.renamings is not None else ""

    def are_of(self, lowered: LoweredModel, start: Start) -> bool:
        """Whether the same ids can be renamed in this change of the model."""
        if self.renamings is None:
            return True
        try:
            return _sorts(lowered, start, self.renamings.layout) == self.renamings.sorts
        except NotRenamed:
            return False

    def start(self, start: Start) -> Start:
        """The initial states that are visited."""
        return start if self.renamings is None else start.of_classes(self.renamings.representative)

    def counted(self, exploration: Exploration, switch: int = 0) -> Exploration:
        """A complete search with the counts of all states: what a state counts for is counted for its whole class.

        switch: 1 + the guard that is left out, of a kernel with switches.
        """
        if self.renamings is None or not exploration.complete:
            return exploration
        rows = np.concatenate([part for level in exploration.level_rows for part in level])
        classes, probe = self.renamings.sizes_of(rows), Probe(exploration.kernel, switch)
        tally = np.zeros(exploration.kernel.shape.tally_words, object)  # a count may take more than a word
        for size in np.unique(classes):
            before = np.array(probe.worker.tally)
            probe.run(np.ascontiguousarray(rows[classes == size]), lambda _: False)
            tally += (np.array(probe.worker.tally) - before).astype(object) * int(size)
        return replace(exploration, of_all=(sum(classes.tolist()), tally))

    def paths(
        self,
        exploration: Exploration,
        bound: BoundModel | None = None,
        switch: int = 0,
        look: Callable[[], None] = lambda: None,
    ) -> Paths:
        """Shortest paths to the states of a search; as `Exploration.paths`."""
        class_of = None if self.renamings is None else self.renamings.class_of
        return self.runs(exploration.paths(bound, switch, class_of, look))

    def runs(self, paths: Paths) -> Paths:
        """Runs of the model along paths of representatives."""
        return paths if self.renamings is None else ClassPaths(paths, self.renamings, exact=True)

    def record(
        self,
        exploration: Exploration,
        levels: Iterable[Iterable[Rows]] | None = None,
        threads: int = 1,
        look: Callable[[], None] = lambda: None,
    ) -> dict[str, Any]:
        """The part of the run record about the classes of a search; nothing if none were asked for.

        levels: its representatives; None: those of a search in this process. look: as of `classes_record`.
        """
        if self.renamings is None:
            return {"renamed": [], "why": self.why} if self.why else {}
        rows = exploration.level_rows if levels is None else levels
        return classes_record(self.renamings, exploration.search.distinct, rows, threads, look)


EVERY_STATE = ExactClasses()


def _sorts(lowered: LoweredModel, start: Start, layout: Layout) -> tuple[Sort, ...]:
    return sorts_to_rename(lowered, [layout.decode(row) for row in start.rows], any_order=False)
