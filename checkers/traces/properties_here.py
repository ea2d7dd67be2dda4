"""The status of each property at the end of a path: of its last state, and of its last step.

Also here: what a trace shows: the properties that its run violates, under each configuration that it is a run of.

A trace that a search writes has one configuration. A file of the project's traces has every one that gives the same
states. `#meta.config` and `#meta.properties` are those of the first, and `#meta.releases` lists the releases that
give the same as it. `#meta.also` lists the others: `set` has the values that differ, `releases` as above, and
`properties` those that are violated there, if they are others.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypedDict

from reassure.checkers.traces.explain import reasons
from reassure.checkers.traces.reconstruct import is_deadlock, last_step
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, Step
from reassure.spec.semantics.trace import WRONG, JsonObject, Trace, TraceError, configurations, properties_of

WHOLE_RUNS = "about whole runs: a finite path does not decide it"


class Here(StrEnum):
    """The status of a property at the end of a path."""

    HOLDS = "holds"
    VIOLATED = "violated"
    REACHED = "reached"
    """The status of a cover that holds."""
    NOT_REACHED = "not_reached"
    NOT_CHECKED = "not_checked"
    """The property is about whole runs, or about steps of other actions than the path's last."""
    RAISED = "raised"


class PropertyHere(TypedDict):
    """A property at the end of a path. doc, note: "" if there is none. because: why it is violated, or what raises."""

    name: str
    kind: str
    doc: str
    status: Here
    note: str
    because: list[str]


class Beyond(TypedDict):
    """The names of properties one step ahead: those violated there, covers reached, and those that raise."""

    violates: list[str]
    reaches: list[str]
    raises: list[str]


def properties_here(trace: Trace, bound: BoundModel, enabled: int) -> list[PropertyHere]:
    """Every property and cover of the model, as plain JSON. enabled: steps that the last state has."""
    entries = [_property(prop, trace, bound) for prop in [*bound.properties, *bound.covers]]
    if bound.model.deadlock:
        entries.append(_deadlock(trace, bound, enabled))
    return entries


def violated_here(trace: Trace, bound: BoundModel) -> list[tuple[str, str]]:
    """Name and kind of each property that the end of a path violates; raises `ModelError` where one raises."""
    violations = [
        (prop.name, prop.kind)
        for prop in bound.properties
        if not prop.temporal and _applies(prop, trace, bound) and not _true(prop, trace, bound)
    ]
    stuck = bound.model.deadlock and is_deadlock(bound, trace.states[-1])
    return [*violations, ("deadlock", "deadlock")] if stuck else violations


def _applies(prop: Property, trace: Trace, bound: BoundModel) -> bool:
    """Whether a path's end is something that a property of states or steps is about."""
    step = last_step(trace, bound)
    return not prop.over_steps or (step is not None and bound.concerns(prop, step.action))


def _true(prop: Property, trace: Trace, bound: BoundModel) -> bool:
    """The truth of a property that applies."""
    step = last_step(trace, bound)
    if prop.over_steps and step is not None:
        return bound.holds_on(prop, trace.states[-2], step)
    return bound.holds(prop, trace.states[-1])


def _property(prop: Property, trace: Trace, bound: BoundModel) -> PropertyHere:
    status, note, lines = _status(prop, trace, bound)
    if status is Here.VIOLATED:
        about = {"property": prop.name, "property_kind": prop.kind}
        lines = reasons(Trace(trace.states, trace.steps, about), bound)
    entry: PropertyHere = {
        "name": prop.name,
        "kind": prop.kind,
        "doc": prop.doc,
        "status": status,
        "note": note,
        "because": lines,
    }
    return entry


def _status(prop: Property, trace: Trace, bound: BoundModel) -> tuple[Here, str, list[str]]:
    """The status, a note, and what raises."""
    state, step = trace.states[-1], last_step(trace, bound)
    try:
        if prop.temporal:
            return Here.NOT_CHECKED, _progress(prop, state, bound), []
        if not _applies(prop, trace, bound):
            return Here.NOT_CHECKED, "about steps; the path has none yet" if step is None else _others(prop, step), []
        true = _true(prop, trace, bound)
    except ModelError as error:
        return Here.RAISED, "", [str(error)]
    return status_of(prop, true), "", []


def status_of(prop: Property, true: bool) -> Here:
    """The status that follows from the value of a property's function."""
    if prop.kind == "cover":
        return Here.REACHED if true else Here.NOT_REACHED
    return Here.HOLDS if true else Here.VIOLATED


def _others(prop: Property, step: Step) -> str:
    names = ", ".join(a.name for a in prop.on) or f"actions tagged {', '.join(sorted(prop.tags))}"
    return f"about steps of {names}, not of {step.action.name}"


def _progress(prop: Property, state: Any, bound: BoundModel) -> str:
    """The note on a property about whole runs: the values of its condition, or premise and goal, in this state."""
    true = bound.holds(prop, state)
    if prop.goal is None:
        return f"{WHOLE_RUNS}; its condition is {'true' if true else 'false'} here"
    goal = bound.goal_holds(prop, state)
    return f"{WHOLE_RUNS}; here its premise is {'true' if true else 'false'}, its goal {'true' if goal else 'false'}"


def _deadlock(trace: Trace, bound: BoundModel, enabled: int) -> PropertyHere:
    status, note, lines = _end(trace.states[-1], bound) if not enabled else (Here.HOLDS, "", [])
    return {"name": "deadlock", "kind": "deadlock", "doc": "", "note": note, "because": lines, "status": status}


def _end(state: Any, bound: BoundModel) -> tuple[Here, str, list[str]]:
    """As `_status`, of a state with nothing enabled: whether a run may end there."""
    try:
        terminal = bound.is_terminal(state)
    except ModelError as error:
        return Here.RAISED, "", [str(error)]
    if terminal:
        return Here.HOLDS, "nothing is enabled; the model says that a run may end here", []
    return Here.VIOLATED, "", ["nothing is enabled here, and no @terminal function is true"]


def beyond(bound: BoundModel, before: Any, step: Step) -> Beyond:
    """One step ahead: the properties that a step or the state after it violates, covers it reaches, and what raises."""
    names: Beyond = {"violates": [], "reaches": [], "raises": []}
    if isinstance(step.after, Clipped):
        return names
    for prop in [*bound.properties, *bound.covers]:
        if prop.temporal or (prop.over_steps and not bound.concerns(prop, step.action)):
            continue
        try:
            true = bound.holds_on(prop, before, step) if prop.over_steps else bound.holds(prop, step.after)
            status = status_of(prop, true)
        except ModelError:
            names["raises"].append(prop.name)
            continue
        if status is Here.VIOLATED:
            names["violates"].append(prop.name)
        elif status is Here.REACHED:
            names["reaches"].append(prop.name)
    return names


Meta = JsonObject
"""The `#meta` of a trace."""


def of_each_configuration(meta: Meta) -> list[Meta]:
    """The `#meta` under each configuration that a trace is a run of, its own at the end, each with its newest last.

    `TraceError` for an `also` that is not as this module says.
    """
    own = {key: value for key, value in meta.items() if key not in ("also", "releases")}
    metas = []
    for other in [*_also(meta), {"releases": meta.get("releases", [])}]:
        config = {**meta.get("config", {}), **other.get("set", {})}
        about = {**own, "properties": other["properties"]} if "properties" in other else own
        if about.get("properties"):  # what is about one property is about the first
            name, kind = next(iter(properties_of(about).items()))
            about = {**about, "property": name, "property_kind": kind}
        releases = other.get("releases", [])
        metas += [{**about, "config": each} for each in configurations({"config": config, "releases": releases})]
    return metas


def every_property(meta: Meta) -> dict[str, str | None]:
    """The properties that a trace is about under any of its configurations, with their kinds; its own first."""
    metas = of_each_configuration(meta)[::-1]
    return {name: kind for about in metas for name, kind in properties_of(about).items()}


def _also(meta: Meta) -> list[Meta]:
    """The other configurations, the last one first: what is read at the end is nearest to the trace's own."""
    also = meta.get("also", [])
    if not isinstance(also, list) or not all(_is_other(other) for other in also):
        raise TraceError("`#meta`.`also` is to list configurations: `set`, `releases` and `properties` of each")
    return also[::-1]


def _is_other(other: Any) -> bool:
    kinds = {"set": dict, "releases": list, "properties": dict}
    try:
        return bool(other) and all(isinstance(value, kinds[key]) for key, value in other.items())
    except WRONG:
        return False
