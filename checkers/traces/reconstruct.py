"""From a row of states to a trace: the actions between them, found and replayed in plain Python.

Also here: states in which the model itself raises: what raises there, and the trace that leads there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from reassure.checkers.request.result import RAISES
from reassure.checkers.traces.fairness import as_data, violates
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, FailedCall, ModelError, Step
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


TERMINAL = "terminal"


@dataclass(frozen=True)
class Raised:
    """An action, property or terminal that raises in a state."""

    by: str
    """The name of the action or property; `TERMINAL`."""
    text: str
    """The call with its parameters, Python's error, and its file and line."""
    step: Step | None = None
    """The step that a property of steps raises on."""


def errors(bound: BoundModel, state: Any, wants: Callable[[str], bool] = lambda _: True) -> Iterator[Raised]:
    """All that raises in a state while it is searched: actions, claims that are wanted over it, then over its steps.

    wants: by name, of properties, covers, and "deadlock".
    """
    steps: list[Step] = []
    failed = False
    for outcome in bound.attempts(state):
        if isinstance(outcome, FailedCall):
            failed = True
            yield Raised(outcome.action.name, str(outcome.error))
        else:
            steps.append(outcome)
    claims = [p for p in [*bound.properties, *bound.covers] if wants(p.name) and not p.temporal]
    for p in claims:
        if not p.over_steps and (text := _error(partial(bound.holds, p, state))):
            failed = True
            yield Raised(p.name, text)
    if not steps and not failed and bound.model.deadlock and wants("deadlock"):
        if text := _error(lambda: bound.is_terminal(state)):
            yield Raised(TERMINAL, text)
    for step in steps:
        for p in claims:
            if p.over_steps and bound.concerns(p, step.action) and not isinstance(step.after, Clipped):
                if text := _error(partial(bound.holds_on, p, state, step)):
                    yield Raised(p.name, text, step)


def temporal_errors(bound: BoundModel, state: Any, wants: Callable[[str], bool] = lambda _: True) -> Iterator[Raised]:
    """The properties about whole runs that raise in a state."""
    for p in bound.properties:
        if p.temporal and wants(p.name):
            if text := _error(partial(_both, bound, p, state)):
                yield Raised(p.name, text)


def _both(bound: BoundModel, prop: Property, state: Any) -> bool:
    held = bound.holds(prop, state)
    return bound.goal_holds(prop, state) if prop.goal is not None else held


def _error(call: Callable[[], bool]) -> str:
    """The error that a call raises, as text; "" if it raises none."""
    try:
        call()
    except ModelError as error:
        return str(error)
    return ""


def raised_in(bound: BoundModel, state: Any, wants: Callable[[str], bool] = lambda _: True) -> Raised:
    """The first thing that raises in a state; `Disagreement` if nothing does."""
    raised = next(errors(bound, state, wants), None) or next(temporal_errors(bound, state, wants), None)
    if raised is None:
        raise Disagreement(f"the kernel found an error where plain Python finds none: {state}")
    return raised


def note_in(trace: Trace, raised: Raised) -> None:
    """Writes into a trace what raises at its end."""
    trace.meta[RAISES] = {"by": raised.by, "error": raised.text}


def raised_at_end(trace: Trace, bound: BoundModel) -> Raised | None:
    """The error that the trace names, if it is raised at the end: in the last state or on the last step."""
    by, last = trace.meta.get(RAISES, {}).get("by"), trace.states[-1]
    errors_there = [r for r in (*errors(bound, last), *temporal_errors(bound, last)) if r.step is None]
    if len(trace) > 1:
        errors_there += [r for r in errors(bound, trace.states[-2]) if r.step is not None and r.step.after == last]
    return next((r for r in errors_there if r.by == by), None)
