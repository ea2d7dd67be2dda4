"""Finds states of a finished search again, and the shortest path to them, with nothing stored beside the levels.

Of the states of a level that are looked for, the smallest in canonical order is taken: so the trace does not depend on
threads.

Also here: what is looked for among the states of a level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from reassure.checkers.encoding.state_layout import Layout
from reassure.checkers.engines.native.model.kernel_numbers import Flag
from reassure.checkers.engines.native.translator.language import wrap
from reassure.checkers.traces.reconstruct import Disagreement, Raised, note_in, raised_in, replayed_trace, shows
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, FailedCall, ModelError, Step
from reassure.spec.semantics.trace import Trace

Row = tuple[int, ...]
"""The words of a state, signed."""


def in_canonical_order(row: Iterable[int]) -> list[int]:
    """Sorts rows in canonical order: as unsigned words, the first weighing most."""
    return [word & (1 << 64) - 1 for word in row]


@dataclass(frozen=True)
class Wanted:
    """The object of a look at a level: a state (or one with a step) that has a flag, one with a successor, or one in
    which the model raises."""

    flag: tuple[int, int] = (0, 0)
    successor: Row = ()
    """None: the flag is looked for. Of a search of representatives it is one."""
    raises: bool = False

    @classmethod
    def before(cls, successor: Row) -> Wanted:
        """A state with this successor."""
        return cls(successor=successor)


Back = Callable[[int, Row, int], "list[Row]"]
"""As `LevelLook.back`."""
Finder = Callable[[int, Sequence[Wanted]], "list[Row | None]"]
"""Of each thing that is wanted, the smallest state of a level (from 1)."""


class Paths:
    """Canonical states and paths of one search."""

    def __init__(
        self, bound: BoundModel, layout: Layout, find: Finder, back: Back = lambda level, row, lowest: []
    ) -> None:
        """back: goes down several levels at a time, where it can."""
        self.bound, self.layout, self.find, self.back = bound, layout, find, back
        self._known: dict[tuple[int, Wanted], Row | None] = {}

    def look_for(self, ends: Iterable[tuple[int, Wanted]], paths: bool = True) -> None:
        """Finds these ends, each on its level, and the paths to them, in one pass through the levels backwards.

        What is asked for afterwards is answered from what was found. paths: find them; else the ends alone.
        """
        by_level: dict[int, list[Wanted]] = {}
        for level, wanted in ends:
            by_level.setdefault(level, []).append(wanted)
        rows: list[Row] = []
        level = max(by_level, default=0) + 1
        while (level := level - 1) > 0:
            if len(rows) == 1 and level not in by_level:
                lowest = max((other for other in by_level if other < level), default=0) + 1
                for row in self.back(level, rows[0], lowest):
                    self._known[level, Wanted.before(rows[0])] = row
                    rows, level = [row], level - 1
                if level < lowest:
                    level += 1
                    continue
            of_level = [*map(Wanted.before, dict.fromkeys(rows)), *by_level.get(level, ())]
            smallest = self.find(level, of_level) if of_level else []
            self._known |= {(level, wanted): row for wanted, row in zip(of_level, smallest, strict=True)}
            rows = [row for row in smallest if row is not None] if paths else []

    def _smallest(self, level: int, wanted: Wanted) -> Row:
        if (level, wanted) not in self._known:
            self.look_for([(level, wanted)])
        row = self._known[level, wanted]
        if row is None:
            raise Disagreement(f"a state of level {level} was counted but is not found again")
        return row

    def _state(self, row: Row) -> Any:
        return self.layout.decode(list(row))

    def shown(self, prop: Property | None, flag: Flag, level: int) -> Trace:
        """The shortest trace to the first hit of a claim (none: a deadlock), on this level."""
        return self._trace(level, *self.end(prop, flag, level))

    def end(self, prop: Property | None, flag: Flag, level: int) -> tuple[Any, Step | None]:
        """The first state on this level that hits a claim (none: a deadlock), and the step with which it does."""
        state = self.first_hit(level, flag)
        if prop is None or not prop.over_steps:
            if not self.shows(prop, state):
                raise Disagreement(
                    f"{prop.name if prop else 'deadlock'}: plain Python and the kernel differ on {state}"
                )
            return state, None
        for step in self.bound.attempts(state):
            if not isinstance(step, FailedCall) and self._shows_on(prop, state, step):
                return state, step
        raise Disagreement(f"{prop.name}: plain Python and the kernel differ on the steps of {state}")

    def first_hit(self, level: int, flag: Flag) -> Any:
        """The smallest state of a level that, by itself or by a step, hits a claim."""
        return self._state(self._smallest(level, Wanted(flag)))

    def shows(self, prop: Property | None, state: Any) -> bool:
        """Whether a state shows a claim over states (none: a deadlock)."""
        return shows(self.bound, prop, None, None, state)

    def _shows_on(self, prop: Property, state: Any, step: Step) -> bool:
        """Whether a step shows a claim; no, where the claim raises."""
        try:
            return not isinstance(step.after, Clipped) and shows(self.bound, prop, state, step, step.after)
        except ModelError:
            return False

    def raising(self, level: int, wants: Callable[[str], bool]) -> tuple[Trace, Raised]:
        """The shortest trace to the first state of a level in which the model raises, and what raises there."""
        return self.raising_in(level, self._state(self._smallest(level, Wanted(raises=True))), wants)

    def raising_in(self, level: int, state: Any, wants: Callable[[str], bool]) -> tuple[Trace, Raised]:
        """The shortest trace to a state in which the model raises, and what raises there."""
        raised = raised_in(self.bound, state, wants)
        trace = self._trace(level, state, raised.step)
        note_in(trace, raised)
        return trace, raised

    def to_state(self, level: int, state: Any) -> Trace:
        """The shortest trace to a state of this level."""
        return self._trace(level, state, None)

    def _row(self, state: Any) -> Row:
        return tuple(map(wrap, self.layout.encode(state)))

    def _before(self, level: int, state: Any) -> Any:
        """The smallest state of a level that has `state` among its successors."""
        return self._state(self._smallest(level, Wanted.before(self._row(state))))

    def _trace(self, level: int, state: Any, last: Step | None) -> Trace:
        """The canonical shortest path, replayed in plain Python."""
        bound, path, row = self.bound, [state], self._row(state)
        steps: list[Step] = []
        for k in range(level - 1, 0, -1):
            row = self._smallest(k, Wanted.before(row))
            parent = self._state(row)
            step = next((s for s in bound.steps(parent) if s.after == path[-1]), None)
            if step is None:
                raise Disagreement(f"plain Python has no step from {parent} to {path[-1]}")
            path.append(parent)
            steps.append(step)
        path.reverse()
        steps.reverse()
        if last is not None:
            path.append(last.after)
            steps.append(last)
        return replayed_trace(bound, path, steps)
