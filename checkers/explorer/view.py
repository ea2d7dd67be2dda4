"""The end of a path as plain JSON: the state, what each action comes to there, and what the properties say."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, NotRequired, TypedDict
from urllib.parse import unquote

from reassure.checkers.explorer.loaded import Loaded
from reassure.checkers.traces.format_value import plain
from reassure.checkers.traces.named_path import Followed, NamedStep, follow_path, named_step, to_text
from reassure.checkers.traces.properties_here import PropertyHere, beyond, properties_here
from reassure.checkers.traces.refusals import Attempts, RefusingGuard
from reassure.checkers.traces.render import beside, call_text, changes, flat, step_call
from reassure.spec.language.vocabulary import Action
from reassure.spec.semantics.interpreter import Clipped, Step
from reassure.spec.semantics.trace import Trace

MOST_STARTS = 200
"""Initial states that are listed."""
MOST_STEPS = 300
"""Enabled steps of an action that are listed."""


class FieldShown(TypedDict):
    """A field of a state. changed, old: by the last step of a path, if there is one."""

    field: str
    value: str
    changed: NotRequired[bool]
    old: NotRequired[str | None]


class StartShown(TypedDict):
    """An initial state."""

    call: str
    path: str
    state: list[FieldShown]


class StartsShown(TypedDict):
    """The first initial states, and how many there are. clipped: those that leave a bound."""

    starts: list[StartShown]
    count: int
    clipped: int


class GuardShown(TypedDict):
    """A guard, with the choices of parameters that it refuses: their number, and some of them."""

    text: str
    note: str
    place: str
    count: int
    refused: list[dict[str, object]]


class ProblemShown(TypedDict):
    """The reason why a path ends early. step: 0 is the initial state. guard: it forbids the step."""

    step: int
    call: str
    reason: str
    guard: NotRequired[GuardShown]


class StepShown(TypedDict):
    """A step of a path. path: up to it."""

    call: str
    actor: str
    path: str
    changes: list[dict[str, str]]


class NextStep(TypedDict):
    """A step that can be taken. path: with it; None if it leaves a bound, which `leaves` tells. Others: as `Beyond`."""

    call: str
    who: str
    path: str | None
    leaves: NotRequired[str]
    changes: NotRequired[list[dict[str, str]]]
    violates: NotRequired[list[str]]
    reaches: NotRequired[list[str]]
    raises: NotRequired[list[str]]


class ActionShown(TypedDict):
    """An action in the last state of a path. unlisted: steps beyond those listed. undrawn: as of `Attempts`."""

    name: str
    who: str
    doc: str
    enabled: list[NextStep]
    unlisted: int
    raises: list[dict[str, str]]
    guards: list[GuardShown]
    undrawn: list[str]


class PathShown(TypedDict):
    """All that the page shows of a path; of one without an initial state the problem alone."""

    problem: ProblemShown | None
    path: str
    parent: NotRequired[str | None]
    steps: NotRequired[list[StepShown]]
    state: NotRequired[list[FieldShown]]
    actions: NotRequired[list[ActionShown]]
    properties: NotRequired[list[PropertyHere]]


def starts(loaded: Loaded) -> StartsShown:
    """The initial states, of which a path takes one."""
    bound = loaded.bound
    listed: list[StartShown] = []
    count = clipped = 0
    for declared, params, state in bound.initial_states():
        if isinstance(state, Clipped):
            clipped += 1
            continue
        count += 1
        if len(listed) < MOST_STARTS:
            fields: list[FieldShown] = [{"field": name, "value": plain(value)} for name, value in flat(state).items()]
            path = to_text([named_step(declared.name, params, bound)])
            listed.append({"call": call_text(declared.name, params), "path": path, "state": fields})
    return {"starts": listed, "count": count, "clipped": clipped}


def view(loaded: Loaded, path: list[NamedStep]) -> PathShown:
    """All that the page shows of a path. path: at least an initial function."""
    followed = follow_path(path, loaded.bound)
    problem = _problem(loaded, followed)
    if followed.trace is None:
        return {"problem": problem, "path": ""}
    trace = followed.trace
    walked = path[: len(trace)]
    attempts = loaded.explaining.attempts_by_action(trace.states[-1])
    actions = [
        _action(loaded, action, attempts[action.name], walked, trace.states[-1])
        for action in loaded.bound.model.actions
    ]
    enabled = sum(len(attempt.enabled) + len(attempt.failed) for attempt in attempts.values())
    return {
        "problem": problem,
        "path": to_text(walked),
        "parent": to_text(walked[:-1]) if len(walked) > 1 else None,
        "steps": _steps(trace, walked),
        "state": _state(trace),
        "actions": actions,
        "properties": properties_here(trace, loaded.bound, enabled),
    }


def _problem(loaded: Loaded, followed: Followed) -> ProblemShown | None:
    """The reason why the path ends early, with the guard that forbids the next step."""
    problem = followed.problem
    if problem is None:
        return None
    data: ProblemShown = {"step": problem.step, "call": unquote(problem.call), "reason": problem.reason}
    if problem.refused is None or followed.trace is None:
        return data
    refused = problem.refused
    guard = loaded.explaining.refusal(followed.trace.states[-1], refused.action, refused.params)
    if guard is not None:
        data["guard"] = guard_json(guard, refused.action)
    return data


def _steps(trace: Trace, path: list[NamedStep]) -> list[StepShown]:
    """The steps so far, each with the path that ends with it."""
    rows: list[StepShown] = []
    for i, step in enumerate(trace.steps):
        changed = [change._asdict() for change in changes(trace.states[i - 1], trace.states[i])] if i else []
        rows.append({"call": step_call(step), "actor": step.actor, "path": to_text(path[: i + 1]), "changes": changed})
    return rows


def _state(trace: Trace) -> list[FieldShown]:
    """The last state field by field, with what the last step changed."""
    after = trace.states[-1]
    before = trace.states[-2] if len(trace) > 1 else after
    return [
        {"field": name, "value": plain(new), "changed": old != new, "old": plain(old) if old != new else None}
        for name, old, new in beside(before, after)
    ]


def _action(loaded: Loaded, action: Action, attempts: Attempts, path: list[NamedStep], state: Any) -> ActionShown:
    """The steps that an action has in the last state, its errors, and the guards that refuse it."""
    doc = inspect.getdoc(action.function) or ""
    return {
        "name": action.name,
        "who": action.who,
        "doc": doc.split("\n\n")[0],
        "enabled": [_step(loaded, step, path, state) for step in attempts.enabled[:MOST_STEPS]],
        "unlisted": max(0, len(attempts.enabled) - MOST_STEPS),
        "raises": [
            {"call": call_text(action.name, failed.params), "error": str(failed.error)} for failed in attempts.failed
        ],
        "guards": [guard_json(guard, action.name) for guard in attempts.guards],
        "undrawn": attempts.undrawn,
    }


def _step(loaded: Loaded, step: Step, path: list[NamedStep], before: Any) -> NextStep:
    """A step that can be taken, what it changes, and what it violates."""
    name = step.action.name
    text, who = call_text(name, step.params), step.action.who
    if isinstance(step.after, Clipped):
        return {"call": text, "who": who, "path": None, "leaves": f"{step.after.path}: {step.after.message}"}
    following = to_text([*path, named_step(name, step.params, loaded.bound)])
    changed = [change._asdict() for change in changes(before, step.after)]
    ahead = beyond(loaded.bound, before, step)
    return {
        "call": text,
        "who": who,
        "path": following,
        "changes": changed,
        "violates": ahead["violates"],
        "reaches": ahead["reaches"],
        "raises": ahead["raises"],
    }


def guard_json(guard: RefusingGuard, action: str) -> GuardShown:
    """A guard, with the choices of parameters that it refuses."""
    refused: list[dict[str, object]] = [
        {"call": call_text(action, one.params), "values": list(one.values)} for one in guard.examples
    ]
    place = f"{Path(guard.file).name}:{guard.line}" if guard.file else ""
    return {"text": guard.text, "note": guard.note, "place": place, "count": guard.count, "refused": refused}
