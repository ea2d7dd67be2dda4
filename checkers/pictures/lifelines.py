"""A trace as a picture of lifelines, in plain JSON: who acts, who is named, which messages go, what changes.

`docs/how-to/pictures.md` describes the JSON; `assets/lifelines.js` draws it.
"""

from __future__ import annotations

import inspect
from typing import Any

from reassure.checkers.pictures.actors import Cast, Lifeline, members_in
from reassure.checkers.pictures.marks import briefly, marks_of
from reassure.checkers.pictures.messages import Post
from reassure.checkers.request.result import RAISES
from reassure.checkers.traces.explain import claim_of, end_shows, reasons
from reassure.checkers.traces.format_value import plain
from reassure.checkers.traces.render import changes, flat, heading, moves, promise, step_call
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import JsonObject, Trace, TraceStep

FORMAT = "reassure-picture"
VERSION = 1
Json = JsonObject


def picture(trace: Trace, bound: BoundModel, every: bool = False) -> Json:
    """The picture of a trace, ready for `json.dumps`.

    every: also the lifelines of roles that take no part, so that columns stay where they are when steps are added.
    """
    cast = Cast(bound)
    post = Post(cast)
    post.start(trace.states[0])
    used: dict[str, Lifeline] = {}
    steps = [_first(trace)]
    for number, (step, before, after) in enumerate(moves(trace), 1):
        actor = cast.actor(step, before)
        post.step(number, actor, before, after)
        row, lines = _step(number, step, before, after, cast, actor)
        row["about"] = _about(bound, step.action)
        row["closing"] = number == len(trace.states)
        steps.append(row)
        used |= {line.id: line for line in lines}
    for message in post.messages:
        used |= {line.id: line for line in (message.sender, message.receiver) if line is not None}
    claim = claim_of(trace, bound)
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": heading(trace),
        "model": str(trace.meta.get("model", bound.model.name)),
        "config": [[name, plain(value)] for name, value in flat(bound.config).items()],
        "property": _property(trace, promise(claim.doc) if claim is not None else ""),
        "lifelines": [
            {"id": line.id, "label": line.label, "sort": line.sort or None} for line in cast.lifelines(used, every)
        ],
        "steps": steps,
        "messages": [message.as_json() for message in post.messages],
        "loop": trace.loop,
        "notes": _notes(trace, bound),
        "repro": trace.meta.get("repro"),
    }


def _property(trace: Trace, text: str) -> Json | None:
    name = trace.meta.get("property")
    return {"name": name, "kind": trace.meta.get("property_kind"), "text": text} if name else None


def _first(trace: Trace) -> Json:
    """The initial state as step 0, which nobody takes."""
    step = trace.steps[0]
    return {
        "number": 0,
        "action": step.action,
        "call": step_call(step),
        "label": _label(step),
        "actor": step.actor,
        "lifeline": None,
        "names": [],
        "marks": [],
        "other": [],
        "changes": [],
        "state": _state(trace.states[0]),
        "about": "",
        "closing": False,
    }


def _step(
    number: int, step: TraceStep, before: Any, after: Any, cast: Cast, actor: Lifeline
) -> tuple[Json, list[Lifeline]]:
    """A step, and the lifelines that it concerns."""
    named = [
        (line, parameter)
        for parameter, value in step.params.items()
        for member in sorted(members_in(value), key=int)
        if (line := cast.of(member)) is not None and line != actor
    ]
    marks, other = marks_of(before, after, cast)
    row = {
        "number": number,
        "action": step.action,
        "call": step_call(step),
        "label": _label(step),
        "actor": step.actor,
        "lifeline": actor.id,
        "names": [{"lifeline": line.id, "parameter": parameter} for line, parameter in named],
        "marks": [{"lifeline": m.lifeline.id, "sign": m.sign, "text": m.text, "brief": m.brief} for m in marks],
        "other": other,
        "changes": [{"field": c.field, "old": c.old, "new": c.new} for c in changes(before, after)],
        "state": _state(after),
    }
    return row, [actor, *(line for line, _ in named), *(mark.lifeline for mark in marks)]


def _label(step: TraceStep) -> str:
    """The action with its parameters, records by the name of their class."""
    return f"{step.action}({', '.join(f'{name}={briefly(value)}' for name, value in step.params.items())})"


def _state(state: Any) -> list[list[str]]:
    return [[path, plain(value)] for path, value in flat(state).items()]


def _about(bound: BoundModel, action: str) -> str:
    """The first paragraph of an action's docstring."""
    function = next((a.function for a in bound.model.actions if a.name == action), None)
    text = (inspect.getdoc(function) or "") if function is not None else ""
    return " ".join(text.split("\n\n")[0].split())


def _notes(trace: Trace, bound: BoundModel) -> list[Json]:
    """Remarks on states: what the last one shows, with the reasons; from where on the run repeats."""
    last = len(trace.states) - 1
    name, kind = trace.meta.get("property"), trace.meta.get("property_kind")
    notes: list[Json] = []
    if trace.loop is not None:
        text = "the run stays in this state" if trace.closing is None else f"repeats for ever from state {trace.loop}"
        notes.append({"step": last + (trace.closing is not None), "kind": "loop", "text": text, "lines": []})
    if name or kind:
        remark = {
            "cover": ("reached", f"reached: {name}"),
            "deadlock": ("violated", "deadlock: nothing is enabled"),
            RAISES: ("violated", "the model raises"),
        }.get(str(kind), ("violated", f"violated: {name}"))
        if end_shows(trace, bound) is False:
            remark = ("stale", f"the model, as it is now, does not show this: {remark[1]}")
        at = last + (trace.closing is not None)
        notes.append({"step": at, "kind": remark[0], "text": remark[1], "lines": reasons(trace, bound)})
    return notes
