"""States in which the model itself raises: what raises there, and the trace that leads there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from reassure.checkers.request.result import RAISES
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, FailedCall, ModelError, Step
from reassure.spec.semantics.trace import Trace

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
