"""From a path of representatives to a run of the model, found step by step in plain Python.

A search that visits one state of each class has paths of representatives: each has a successor in the class of the
next. The model takes a step into that class from every state of the class, so that a run is found by going forward. If
the order of ids was forgotten, the model may have no such run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.model.model_kernel import Flag
from reassure.checkers.engines.native.symmetry.renamings import Renamings
from reassure.checkers.traces.raising import Raised, note_in, raised_in
from reassure.checkers.traces.reconstruct import Disagreement, replayed_trace
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import Clipped, FailedCall, Step
from reassure.spec.semantics.trace import Trace

MOST = 2_000
"""States of one class that are followed at a time, where the order of ids was forgotten."""

Row = tuple[int, ...]
Ends = Callable[[Any], "tuple[Step | None] | None"]
"""From the last state of a run to the step with which it ends (none: in the state); None if it does not show it."""


class NoRun(Exception):
    """The model has no run along a path of representatives."""


class ClassPaths(Paths):
    """Runs of a model along paths of representatives."""

    def __init__(self, paths: Paths, renamings: Renamings, exact: bool) -> None:
        """exact: the model has a run along every path; without one, `Disagreement` is raised, else `NoRun`."""
        super().__init__(paths.bound, paths.layout, paths.find)
        self.renamings, self.exact = renamings, exact
        self._found: dict[tuple[Flag, int], Trace] = {}

    def shown(self, prop: Property | None, flag: Flag, level: int) -> Trace:
        """A shortest run to a hit of a claim (none: a deadlock), on this level."""
        if (flag, level) not in self._found:
            self._found[flag, level] = self._shown(prop, flag, level)
        return self._found[flag, level]

    def _shown(self, prop: Property | None, flag: Flag, level: int) -> Trace:
        def ends(state: Any) -> tuple[Step | None] | None:
            if prop is None or not prop.over_steps:
                return (None,) if self.shows(prop, state) else None
            for step in self.bound.attempts(state):
                if not isinstance(step, FailedCall) and self._shows_on(prop, state, step):
                    return (step,)
            return None

        return self._run(level, self.first_hit(level, flag), ends)

    def raising_in(self, level: int, state: Any, wants: Callable[[str], bool]) -> tuple[Trace, Raised]:
        """A shortest run to a state of this class in which the model raises, and what raises there."""
        found: list[Raised] = []

        def ends(one: Any) -> tuple[Step | None] | None:
            found[:] = [raised_in(self.bound, one, wants)]
            return (found[0].step,)

        trace = self._run(level, state, ends)
        note_in(trace, found[0])
        return trace, found[0]

    def _run(self, level: int, last: Any, ends: Ends) -> Trace:
        classes = [last]
        for k in range(level - 1, 0, -1):
            classes.insert(0, self._before(k, classes[0]))
        run = self._follow([self.layout.encode(state) for state in classes], ends)
        if run is None and self.exact:
            raise Disagreement(f"plain Python has no run to a state that is {last} but for the names of ids")
        if run is None:
            raise NoRun
        return replayed_trace(self.bound, *run)

    def _class_of(self, state: Any) -> Row:
        return self.renamings.representative(self.layout.encode(state))

    def _follow(self, classes: list[Row], ends: Ends) -> tuple[list[Any], list[Step]] | None:
        """A run through these classes: its states and steps. From one state of a class on, where any would do."""
        most = 1 if self.exact else MOST
        came: list[dict[Any, tuple[Any, Step] | None]] = [{}]
        for _, _, state in self.bound.initial_states():
            if len(came[0]) < most and not isinstance(state, Clipped) and self._class_of(state) == classes[0]:
                came[0][state] = None
        for row in classes[1:]:
            came.append({})
            for state in came[-2]:
                for step in self.bound.attempts(state):
                    if len(came[-1]) >= most:
                        break
                    if isinstance(step, FailedCall) or isinstance(step.after, Clipped) or step.after in came[-1]:
                        continue
                    if self._class_of(step.after) == row:
                        came[-1][step.after] = (state, step)
        for state in came[-1]:
            end = ends(state)
            if end is not None:
                return self._back(came, state, end[0])
        return None

    def _back(
        self, came: list[dict[Any, tuple[Any, Step] | None]], state: Any, last: Step | None
    ) -> tuple[list[Any], list[Step]]:
        states, steps = [state], list[Step]()
        for level in reversed(came):
            before = level[states[0]]
            if before is not None:
                states.insert(0, before[0])
                steps.insert(0, before[1])
        if last is not None:
            states.append(last.after)
            steps.append(last)
        return states, steps
