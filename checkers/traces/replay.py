"""Replay of a trace: the model has its steps, its end shows what it was kept for, its guards refuse as recorded.

Also here: a trace as plain steps: actions with parameters and the values expected after each, for a test in any
language.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict, cast

from reassure.checkers.machine.exit_codes import Exit, Failure, worst
from reassure.checkers.machine.terminal import quantity
from reassure.checkers.request.model_loader import FINDINGS
from reassure.checkers.request.result import RAISES
from reassure.checkers.traces.explain import claim_of, end_shows, explained
from reassure.checkers.traces.fairness import repeats, violates, why_fair
from reassure.checkers.traces.outcomes import Watched
from reassure.checkers.traces.plain_json import to_plain
from reassure.spec.semantics.interpreter import BoundModel, ModelError
from reassure.spec.semantics.liveness import assumptions_of
from reassure.spec.semantics.trace import (
    WRONG,
    JsonObject,
    ReplayRefused,
    Trace,
    TraceError,
    TraceStep,
    decode,
    of_each_property,
    replay,
)


@dataclass
class Replayed:
    """The outcome of a replay. problem: one line, "" if there is none."""

    code: Exit = Exit.OK
    problem: str = ""
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    open: str = ""
    """What the trace is kept for, and is not decided here: exit code 5."""

    def leave_open(self, why: str) -> None:
        """Notes something that is not decided: that the steps are accepted says nothing of it."""
        self.open = why
        self.code = worst([self.code, Exit.INCONCLUSIVE])
        self.notes.append(f"note: {why}")


def replay_trace(trace: Trace, bound: BoundModel, name: str) -> Replayed:
    """Executes a trace in plain Python. name: of its file, for messages."""
    model = bound.model.name
    try:
        replay(trace, bound)
    except ReplayRefused as refused:
        return Replayed(Exit.TRACE, f"{model} does not accept {name}: {refused}")
    steps = len(trace) - 1
    result = Replayed(lines=[f"{model} accepts the trace: {quantity(steps, 'step')}"])
    if trace.loop is not None:
        result.lines += [repeats(trace), *explained(lambda: why_fair(trace, bound))]
    for of_one in of_each_property(trace):
        _judge_property(of_one, bound, result)
    _judge_refusals(trace, bound, result)
    return result


def _judge_property(trace: Trace, bound: BoundModel, result: Replayed) -> None:
    """Whether the trace shows the violation, or the cover, that it is of."""
    name, kind, claim = trace.meta["property"], trace.meta.get("property_kind"), claim_of(trace, bound)
    if "expression" in trace.meta:
        result.leave_open(f"it is of the expression {trace.meta['expression']}, which is not decided here")
        return
    kinds = {**dict(zip(FINDINGS, FINDINGS, strict=True)), **{p.name: p.kind for p in bound.model.properties}}
    if name not in kinds:
        result.code = Exit.EXPECTATION
        result.problem = f"{bound.model.name} has no property {name}, which the trace is of"
        return
    if kind is not None and kind != kinds[name]:  # it says what of the trace is looked at
        result.code = Exit.EXPECTATION
        result.problem = f"{name} is of the kind {kinds[name]}, and the trace says {kind}"
        return
    shown = end_shows(trace, bound)
    if shown is None:
        result.leave_open(f"{bound.model.name} does not decide {name} here")
        return
    if kind == "deadlock":
        name, ending = ("nothing", "is enabled") if shown else ("something", "is enabled")
    elif kind == RAISES:
        name, ending = trace.meta.get(RAISES, {}).get("by"), "raises" if shown else "does not raise"
    elif claim is not None and claim.kind == "cover":
        ending = "is reached" if shown else "is not reached"
    else:
        ending = "is violated" if shown else "holds"
    where = "at its end" if trace.loop is None else "by this run" if shown else "in this run, or the run is not fair"
    result.lines.append(f"{name} {ending} {where}")
    of_the_model = assumptions_of(bound.model)
    if shown and claim is not None and claim.temporal and not violates(trace, bound, claim, of_the_model):
        why = f"the fairness that {bound.model.name} declares excludes this run, and the trace names another"
        result.leave_open(f"{name}: {why}")
    if not shown:  # the file claims a violation (or a goal) that is not there
        result.code = Exit.EXPECTATION


class RefusedAttempt(TypedDict):
    """An action that is not enabled in a state of a trace. state: its number. params: as ITF. guard: it refuses."""

    state: int
    action: str
    params: JsonObject
    guard: NotRequired[str]


def refused_attempts(trace: Trace) -> list[RefusedAttempt]:
    """The attempts that a suite says are refused; `TraceError` if they have another shape."""
    suite = trace.meta.get("suite", {})
    attempts = suite.get("refused", []) if isinstance(suite, dict) else None
    if not isinstance(attempts, list) or not all(isinstance(one, dict) for one in attempts):
        raise TraceError("`#meta`.`suite` is to be an object, and `refused` in it a list of attempts")
    for attempt in attempts:
        state = attempt.get("state")
        if type(state) is not int or not 0 <= state < len(trace.states) or type(attempt.get("action")) is not str:
            raise TraceError("an attempt in `#meta`.`suite`.`refused` is of no state and action of this trace")
        if not isinstance(attempt.get("params"), dict):
            raise TraceError("an attempt in `#meta`.`suite`.`refused` has no `params`, an object")
        if not isinstance(attempt.get("guard", ""), str):
            raise TraceError("an attempt in `#meta`.`suite`.`refused` has a `guard` that is no text")
    return cast(list[RefusedAttempt], attempts)


def _judge_refusals(trace: Trace, bound: BoundModel, result: Replayed) -> None:
    """Whether the attempts that a suite says are refused still are."""
    try:
        attempts = refused_attempts(trace)
    except TraceError as error:
        result.code, result.problem = Exit.TRACE, str(error)
        return
    if not attempts:
        return
    refused, watched = 0, Watched(bound)
    for attempt in attempts:
        try:
            kinds = dict(bound.parameters(attempt["action"]))
            params = {name: decode(data, kinds[name]) for name, data in attempt["params"].items()}
            with watched.watching():
                failing = watched.failing(trace.states[attempt["state"]], attempt["action"], params)
        except (ModelError, TraceError, *WRONG) as error:
            result.code, result.problem = Exit.TRACE, f"an attempt in `#meta`.`suite`.`refused` is wrong: {error}"
            continue
        where, by = f"{attempt['action']} is {{}} in state {attempt['state']}", attempt.get("guard")
        if failing is None:
            result.code = Exit.EXPECTATION
            result.problem = where.format("enabled") + ", where it was refused"
        elif by is not None and by not in failing:
            named = ", ".join(sorted(failing)) or "what a parameter is drawn from"
            result.code = Exit.EXPECTATION
            result.problem = where.format("refused") + f" by {named}, and the trace says by {by}"
        else:
            refused += 1
    if refused:
        result.lines.append(f"{quantity(refused, 'attempt')} refused as expected")


FORMAT = "reassure-steps"
VERSION = 1
ABOUT = ("model", "model_file", "model_sha256", "config", "property", "property_kind", "repro")
"""Fields that are copied from the meta data of a trace."""


def to_steps(trace: Trace, bound: BoundModel) -> str:
    """The trace as the text of a JSON file."""
    start = trace.steps[0]
    whole: dict[str, object] = {"format": FORMAT, "version": VERSION}
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


def _step(trace: Trace, i: int, bound: BoundModel) -> dict[str, object]:
    before, after, step = trace.states[i - 1], trace.states[i], trace.steps[i]
    changed = [name for name, _ in bound.type.fields if getattr(before, name) != getattr(after, name)]
    return {"actor": step.actor, **_call(step, bound), "changed": changed, "state": to_plain(after, bound.type)}


def _call(step: TraceStep, bound: BoundModel) -> dict[str, object]:
    return {"action": step.action, "params": _params(step, bound)}


def _params(step: TraceStep, bound: BoundModel) -> JsonObject:
    kinds = dict(bound.parameters(step.action))
    return {name: to_plain(value, kinds[name]) for name, value in step.params.items()}


def _refused(attempt: RefusedAttempt, bound: BoundModel) -> dict[str, object]:
    """An attempt that is kept as ITF."""
    kinds = dict(bound.parameters(attempt["action"]))
    params = {name: to_plain(decode(data, kinds[name]), kinds[name]) for name, data in attempt["params"].items()}
    return {"after_steps": attempt["state"], "action": attempt["action"], "params": params, "guard": attempt["guard"]}
