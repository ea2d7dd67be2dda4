"""From a row of states to a trace: the actions between them, found and replayed in plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from reassure.checkers.traces.fairness import as_data, violates
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Step
from reassure.spec.semantics.liveness import Assumptions
from reassure.spec.semantics.trace import Trace, TraceStep, replay


class Disagreement(Exception):
    """A translating engine and plain Python differ: a bug of this program."""


def is_deadlock(bound: BoundModel, state: Any) -> bool:
    """Whether nothing is enabled in a state that is not terminal; an action that raises counts as enabled."""
    return next(bound.attempts(state), None) is None and not bound.is_terminal(state)


def last_step(trace: Trace, bound: BoundModel) -> Step | None:
    """The last step of a trace; None if it has none, or one of an action that the model does not have."""
    if len(trace) < 2:
        return None
    last = trace.steps[-1]
    action = next((a for a in bound.model.actions if a.name == last.action), None)
    return None if action is None else Step(action, last.params, trace.states[-1])


def shows(bound: BoundModel, prop: Property | None, before: Any, step: Step | None, after: Any) -> bool:
    """Whether `after`, or the step to it, violates a property or reaches a cover; without either, is a deadlock."""
    if prop is None:
        return is_deadlock(bound, after)
    if prop.over_steps:
        if step is None or not bound.concerns(prop, step.action):
            return False
        return bound.holds_on(prop, before, step) == (prop.kind == "cover")
    return bound.holds(prop, after) == (prop.kind == "cover")


def steps_between(bound: BoundModel, prop: Property | None, states: list[Any]) -> list[Step]:
    """A step of plain Python between each two states; the last one `shows` the property. Raises `Disagreement`."""
    steps: list[Step] = []
    for before, after in itertools.pairwise(states):
        last = prop is not None and prop.over_steps and len(steps) == len(states) - 2
        fitting = [s for s in bound.steps(before) if s.after == after]
        step = next((s for s in fitting if not last or shows(bound, prop, before, s, after)), None)
        if step is None:
            raise Disagreement(f"plain Python has no such step from {before} to {after}")
        steps.append(step)
    if not shows(bound, prop, states[-2] if steps else None, steps[-1] if steps else None, states[-1]):
        raise Disagreement(f"{prop.name if prop else 'deadlock'}: the engine and plain Python differ on {states[-1]}")
    return steps


def replayed_trace(bound: BoundModel, states: list[Any], steps: list[Step]) -> Trace:
    """The trace of a run that begins in an initial state, replayed."""
    start = next(((d, p) for d, p, s in bound.initial_states() if s == states[0]), None)
    if start is None:
        raise Disagreement(f"plain Python does not begin in {states[0]}")
    trace_steps = [TraceStep(start[0].name, start[1], "")]
    trace_steps += [TraceStep(s.action.name, s.params, s.action.who) for s in steps]
    trace = Trace(states, trace_steps)
    replay(trace, bound)
    return trace


def with_loop(
    bound: BoundModel, prop: Property, begin: Trace, states: Sequence[Any], loop: int, assumptions: Assumptions
) -> Trace:
    """A trace that goes on through `states`, the first of which is its last state, and round from `states[loop]` on.

    Replayed, and checked in plain Python to be fair and to violate `prop`; raises `Disagreement` otherwise.
    """
    rest, start = list(states), len(begin.states) - 1
    steps = [_trace_step(bound, before, after) for before, after in itertools.pairwise(rest)]
    back = None if loop == len(rest) - 1 else _trace_step(bound, rest[-1], rest[loop])
    trace = Trace([*begin.states, *rest[1:]], [*begin.steps, *steps], {}, start + loop, back)
    replay(trace, bound)
    trace.meta["fairness"] = as_data(assumptions)
    if not violates(trace, bound, prop):
        raise Disagreement(f"{prop.name}: the engine's loop is none that violates it in plain Python: {rest[loop:]}")
    return trace


def step_between(bound: BoundModel, before: Any, after: Any) -> Step:
    """The first step of plain Python from a state to another. Raises `Disagreement` if there is none."""
    step = next((s for s in bound.steps(before) if s.after == after), None)
    if step is None:
        raise Disagreement(f"plain Python has no step from {before} to {after}")
    return step


def _trace_step(bound: BoundModel, before: Any, after: Any) -> TraceStep:
    step = step_between(bound, before, after)
    return TraceStep(step.action.name, step.params, step.action.who)
