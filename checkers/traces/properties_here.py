"""What each property says of the end of a path: of its last state, and of its last step."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from reassure.checkers.traces.explain import reasons
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, Step
from reassure.spec.semantics.trace import Trace

WHOLE_RUNS = "about whole runs, which a path cannot decide"


class Here(StrEnum):
    """What a property says of the end of a path."""

    HOLDS = "holds"
    VIOLATED = "violated"
    REACHED = "reached"
    """Of a cover."""
    NOT_REACHED = "not_reached"
    NOT_CHECKED = "not_checked"
    """It is about whole runs, or about steps, and there is none that it is about."""
    RAISED = "raised"


def last_step(trace: Trace, bound: BoundModel) -> Step | None:
    """The step that a path ends with."""
    if len(trace) < 2:
        return None
    last = trace.steps[-1]
    by = next(a for a in bound.model.actions if a.name == last.action)
    return Step(by, last.params, trace.states[-1])


def properties_here(trace: Trace, bound: BoundModel, enabled: int) -> list[dict[str, Any]]:
    """Every property and cover of the model, as plain JSON. enabled: steps that the last state has."""
    found = [_property(claim, trace, bound) for claim in [*bound.properties, *bound.covers]]
    if bound.model.deadlock:
        found.append(_deadlock(trace, bound, enabled))
    return found


def violated_here(trace: Trace, bound: BoundModel) -> list[tuple[str, str]]:
    """Name and kind of each property that the end of a path violates; raises `ModelError` where one raises."""
    found = [
        (claim.name, claim.kind)
        for claim in bound.properties
        if not claim.temporal and _applies(claim, trace, bound) and not _true(claim, trace, bound)
    ]
    state = trace.states[-1]
    stuck = bound.model.deadlock and next(bound.attempts(state), None) is None and not bound.is_terminal(state)
    return [*found, ("deadlock", "deadlock")] if stuck else found


def _applies(claim: Property, trace: Trace, bound: BoundModel) -> bool:
    """Whether a path's end is something that a property of states or steps is about."""
    step = last_step(trace, bound)
    return not claim.over_steps or (step is not None and bound.concerns(claim, step.action))


def _true(claim: Property, trace: Trace, bound: BoundModel) -> bool:
    """The truth of a property that applies."""
    step = last_step(trace, bound)
    if claim.over_steps and step is not None:
        return bound.holds_on(claim, trace.states[-2], step)
    return bound.holds(claim, trace.states[-1])


def _property(claim: Property, trace: Trace, bound: BoundModel) -> dict[str, Any]:
    status, note, lines = _status(claim, trace, bound)
    if status is Here.VIOLATED:
        about = {"property": claim.name, "property_kind": claim.kind}
        lines = reasons(Trace(trace.states, trace.steps, about), bound)
    told = {"name": claim.name, "kind": claim.kind, "doc": claim.doc, "status": status, "note": note}
    return told | {"because": lines}


def _status(claim: Property, trace: Trace, bound: BoundModel) -> tuple[Here, str, list[str]]:
    """The status, a note, and what raises."""
    state, step = trace.states[-1], last_step(trace, bound)
    try:
        if claim.temporal:
            return Here.NOT_CHECKED, _progress(claim, state, bound), []
        if not _applies(claim, trace, bound):
            return Here.NOT_CHECKED, "about steps; the path has none yet" if step is None else _others(claim, step), []
        true = _true(claim, trace, bound)
    except ModelError as error:
        return Here.RAISED, "", [str(error)]
    return status_of(claim, true), "", []


def status_of(claim: Property, true: bool) -> Here:
    """What the truth of a property's function means."""
    if claim.kind == "cover":
        return Here.REACHED if true else Here.NOT_REACHED
    return Here.HOLDS if true else Here.VIOLATED


def _others(claim: Property, step: Step) -> str:
    names = ", ".join(a.name for a in claim.on) or f"actions tagged {', '.join(sorted(claim.tags))}"
    return f"about steps of {names}, not of {step.action.name}"


def _progress(claim: Property, state: Any, bound: BoundModel) -> str:
    """Of a property about whole runs: what is so in this state."""
    true = bound.holds(claim, state)
    if claim.goal is None:
        return f"{WHOLE_RUNS}; its condition is {'true' if true else 'false'} here"
    goal = bound.goal_holds(claim, state)
    return f"{WHOLE_RUNS}; here its premise is {'true' if true else 'false'}, its goal {'true' if goal else 'false'}"


def _deadlock(trace: Trace, bound: BoundModel, enabled: int) -> dict[str, Any]:
    told: dict[str, Any] = {"name": "deadlock", "kind": "deadlock", "doc": "", "note": "", "because": []}
    if enabled:
        return told | {"status": Here.HOLDS}
    try:
        terminal = bound.is_terminal(trace.states[-1])
    except ModelError as error:
        return told | {"status": Here.RAISED, "because": [str(error)]}
    if terminal:
        return told | {"status": Here.HOLDS, "note": "nothing is enabled; the model says that a run may end here"}
    return told | {"status": Here.VIOLATED, "because": ["nothing is enabled here, and no @terminal function is true"]}


def beyond(bound: BoundModel, before: Any, step: Step) -> dict[str, list[str]]:
    """One step ahead: the properties that a step or the state after it violates, covers it reaches, and what raises."""
    found: dict[str, list[str]] = {"violates": [], "reaches": [], "raises": []}
    if isinstance(step.after, Clipped):
        return found
    for claim in [*bound.properties, *bound.covers]:
        if claim.temporal or (claim.over_steps and not bound.concerns(claim, step.action)):
            continue
        try:
            true = bound.holds_on(claim, before, step) if claim.over_steps else bound.holds(claim, step.after)
            status = status_of(claim, true)
        except ModelError:
            found["raises"].append(claim.name)
            continue
        if status is Here.VIOLATED:
            found["violates"].append(claim.name)
        elif status is Here.REACHED:
            found["reaches"].append(claim.name)
    return found
