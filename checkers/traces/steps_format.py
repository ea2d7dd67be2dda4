"""A trace as plain steps: actions with parameters and the values expected after each, for a test in any language."""

from __future__ import annotations

import json
from typing import Any

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.traces.plain_json import to_plain
from reassure.checkers.traces.replay import refused_attempts
from reassure.spec.semantics.interpreter import BoundModel, ModelError
from reassure.spec.semantics.trace import WRONG, Trace, TraceError, TraceStep, decode

FORMAT = "reassure-steps"
VERSION = 1
ABOUT = ("model", "model_file", "model_sha256", "config", "property", "property_kind", "repro")
"""Fields that are copied from the meta data of a trace."""


def to_steps(trace: Trace, bound: BoundModel) -> str:
    """The trace as the text of a JSON file."""
    start = trace.steps[0]
    whole: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    whole |= {key: trace.meta[key] for key in ABOUT if trace.meta.get(key) is not None}
    whole["initial"] = {
        "function": start.action,
        "params": _params(start, bound),
        "state": to_plain(trace.states[0], bound.type),
    }
    whole["steps"] = [_step(trace, i, bound) for i in range(1, len(trace.states))]
    try:
        if refused := [_refused(attempt, bound) for attempt in refused_attempts(trace)]:
            whole["refused"] = refused
    except (ModelError, TraceError, *WRONG) as error:
        raise Failure(Exit.USAGE, f"an attempt that the trace says is refused is wrong: {error}") from None
    if trace.loop is not None:
        whole["loop"] = trace.loop
    if trace.closing is not None:
        whole["closing"] = {"actor": trace.closing.actor, **_call(trace.closing, bound)}
    return json.dumps(whole, indent=1) + "\n"


def _step(trace: Trace, i: int, bound: BoundModel) -> dict[str, Any]:
    before, after, step = trace.states[i - 1], trace.states[i], trace.steps[i]
    changed = [name for name, _ in bound.type.fields if getattr(before, name) != getattr(after, name)]
    return {"actor": step.actor, **_call(step, bound), "changed": changed, "state": to_plain(after, bound.type)}


def _call(step: TraceStep, bound: BoundModel) -> dict[str, Any]:
    return {"action": step.action, "params": _params(step, bound)}


def _params(step: TraceStep, bound: BoundModel) -> dict[str, Any]:
    kinds = dict(bound.parameters(step.action))
    return {name: to_plain(value, kinds[name]) for name, value in step.params.items()}


def _refused(attempt: dict[str, Any], bound: BoundModel) -> dict[str, Any]:
    """An attempt that is kept as ITF."""
    kinds = dict(bound.parameters(attempt["action"]))
    params = {name: to_plain(decode(data, kinds[name]), kinds[name]) for name, data in attempt["params"].items()}
    return {"after_steps": attempt["state"], "action": attempt["action"], "params": params, "guard": attempt["guard"]}
