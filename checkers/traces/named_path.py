"""A path as names: an initial function and actions, each with its parameters, that outlast an edit of the model.

As text: `settled(unclean=false)/fence(broker=1)/catch_up(follower=2)`. A value is a word (the name of an enum's member)
or JSON, percent-encoded, so that the text can stand in an address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from reassure.checkers.traces.plain_json import from_plain, to_plain
from reassure.spec.language.types import Type
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, Params
from reassure.spec.semantics.trace import JsonObject, Trace, TraceError, TraceStep, guard_of

WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
STEP = re.compile(r"([A-Za-z_]\w*)(?:\((.*)\))?")
LITERALS = ("true", "false", "null")


@dataclass(frozen=True)
class NamedStep:
    """An initial function or an action. params: plain JSON by name."""

    name: str
    params: JsonObject = field(default_factory=dict)


@dataclass(frozen=True)
class PathProblem:
    """The problem that ends a path early. step: 0 is the initial state. refused: a guard refuses the action."""

    step: int
    call: str
    reason: str
    refused: TraceStep | None = None


@dataclass(frozen=True)
class Followed:
    """The part of a path that a model has. trace: up to the problem, if there is one; None without an initial state."""

    trace: Trace | None
    problem: PathProblem | None = None


def to_text(path: Sequence[NamedStep]) -> str:
    """The path as text."""
    return "/".join(_step_text(step) for step in path)


def _step_text(step: NamedStep) -> str:
    if not step.params:
        return step.name
    return f"{step.name}({','.join(f'{name}={_value_text(value)}' for name, value in step.params.items())})"


def _value_text(value: Any) -> str:
    if isinstance(value, str) and WORD.fullmatch(value) and value not in LITERALS:
        return value
    return quote(json.dumps(value, separators=(",", ":")), safe="[]")


def from_text(text: str) -> list[NamedStep]:
    """The path that `to_text` writes so; `TraceError` says what cannot be read."""
    return [_step_of(part) for part in text.strip("/").split("/")] if text.strip("/") else []


def _step_of(part: str) -> NamedStep:
    match = STEP.fullmatch(part)
    if match is None:
        raise TraceError(f"{part[:80]!r} is not a step; write action or action(parameter=value)")
    params: JsonObject = {}
    for pair in filter(None, (match[2] or "").split(",")):
        name, sign, value = pair.partition("=")
        if not sign or name in params:
            raise TraceError(f"{part[:80]!r}: write each parameter once, as name=value")
        params[name] = _value_of(unquote(value), part)
    return NamedStep(match[1], params)


def _value_of(text: str, part: str) -> Any:
    if WORD.fullmatch(text) and text not in LITERALS:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise TraceError(f"{part[:80]!r}: {text[:40]!r} is neither a word nor JSON") from None


def named_step(name: str, params: Params, bound: BoundModel) -> NamedStep:
    """A step by its name and plain parameters."""
    kinds = dict(bound.parameters(name))
    return NamedStep(name, {key: to_plain(value, kinds[key]) for key, value in params.items()})


def named_path(trace: Trace, bound: BoundModel) -> list[NamedStep]:
    """The path of a trace, without the step that closes its loop."""
    return [named_step(step.action, step.params, bound) for step in trace.steps]


def follow_path(path: Sequence[NamedStep], bound: BoundModel) -> Followed:
    """Executes a path in plain Python, as far as the model has it. path: at least an initial function."""
    first = path[0]
    start = next(
        (
            (TraceStep(declared.name, params, ""), state)
            for declared, params, state in bound.initial_states()
            if declared.name == first.name and named_step(declared.name, params, bound) == first
        ),
        None,
    )
    if start is None or isinstance(start[1], Clipped):
        reason = (
            "this is not an initial state of the model" if start is None else f"it leaves the bound of {start[1].path}"
        )
        return Followed(None, PathProblem(0, _step_text(first), reason))
    trace = Trace([start[1]], [start[0]])
    actors = {action.name: action.who for action in bound.model.actions}
    for number, step in enumerate(path[1:], 1):
        problem = _take(trace, number, step, actors, bound)
        if problem is not None:
            return Followed(trace, problem)
    return Followed(trace)


def _take(trace: Trace, number: int, step: NamedStep, actors: dict[str, str], bound: BoundModel) -> PathProblem | None:
    """Adds a step to a trace; the problem if the model does not have it."""
    text = unquote(_step_text(step))
    if step.name not in actors:
        return PathProblem(number, text, f"{bound.model.name} has no action {step.name}")
    kinds = dict(bound.parameters(step.name))
    try:
        params = _params(step, kinds)
    except TraceError as error:
        return PathProblem(number, text, str(error))
    taken = TraceStep(step.name, params, actors[step.name])
    try:
        after = bound.take(trace.states[-1], step.name, params)
    except GuardRefused as refused:
        return PathProblem(number, text, f"it is not enabled: {guard_of(refused)}", taken)
    except Exception as error:  # a step that raises, or what its parameters are drawn from
        text_of_error = str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
        return PathProblem(number, text, text_of_error)
    if isinstance(after, Clipped):
        return PathProblem(number, text, f"it leaves the bound of {after.path}: {after.message}")
    trace.states.append(after)
    trace.steps.append(taken)
    return None


def _params(step: NamedStep, kinds: dict[str, Type]) -> Params:
    """The values of a step's parameters; `TraceError` if they are not those that the action takes."""
    if set(step.params) != set(kinds):
        names = ", ".join(step.params) or "none"
        raise TraceError(f"{step.name} takes the parameters {', '.join(kinds) or 'none'}, not {names}")
    values: Params = {}
    for name, kind in kinds.items():
        try:
            values[name] = from_plain(step.params[name], kind)
        except TraceError as error:
            raise TraceError(f"{name}: {str(error).removeprefix('value: ')}") from None
    return values
