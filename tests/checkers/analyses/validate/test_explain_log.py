"""Logs matched to models: the kernel, plain Python and a search by brute force give the same."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from reassure.checkers.analyses.validate.explain_log import LogExplanation, explain_log
from reassure.checkers.analyses.validate.observations import Line, matches_observation, read_lines
from reassure.checkers.analyses.validate.steppers import NativeStepper, PlainStepper
from reassure.checkers.request.prepare import prepare
from reassure.checkers.traces.plain_json import key_text, to_plain
from reassure.spec.language.types import MapType, OptionType, RecordType, Type
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Params
from reassure.spec.semantics.trace import JsonObject, replay

MODELS = {
    "die_hard": ([], {"fill_big"}),
    "two_phase_commit": ([], {"manager_commit", "manager_abort"}),
    "core": ([], {"fence", "unfence"}),
    "kraft": (["admin_requests=1"], {"fence"}),
    "batching_example": (["brokers=3", "crashes=0", "deaths=1"], set()),
}
"""Models with settings and hidden actions; those that a model does not have are left out."""


def partly(value: Any, kind: Type, rng: random.Random) -> Any:
    """Some of what is to be seen of a value, as JSON."""
    if isinstance(kind, OptionType) and value is not None and isinstance(kind.inner, RecordType):
        return partly(value, kind.inner, rng)
    if isinstance(kind, RecordType) and rng.random() < 0.9:
        return {n: partly(getattr(value, n), t, rng) for n, t in kind.fields if rng.random() < 0.4}
    if isinstance(kind, MapType) and rng.random() < 0.7:
        keys = [k for k in kind.key.values() if rng.random() < 0.5]
        return {key_text(k, kind.key): partly(value[k], kind.value, rng) for k in keys}
    return to_plain(value, kind)


def observed(bound: BoundModel, rng: random.Random, hidden: frozenset[str]) -> list[str]:
    """What somebody notes who looks now and then, wrongly at times."""
    state = rng.choice([s for _, _, s in bound.initial_states() if not isinstance(s, Clipped)])
    lines = [{"state": partly(state, bound.type, rng)}]
    names = [a.name for a in bound.model.actions]
    for _ in range(rng.randrange(1, 9)):
        steps = [s for s in bound.steps(state) if not isinstance(s.after, Clipped)]
        if not steps:
            break
        step = rng.choice(steps)
        state = step.after
        if step.action.name in hidden and rng.random() < 0.7:
            continue
        kinds = dict(bound.parameters(step.action.name))
        name: Any = step.action.name if rng.random() < 0.9 else rng.choice(names)
        line: JsonObject = {"action": name}
        if name == step.action.name and rng.random() < 0.7:
            line["params"] = {n: partly(v, kinds[n], rng) for n, v in step.params.items() if rng.random() < 0.6}
        elif rng.random() < 0.4:
            line["action"] = rng.choice(["*", sorted({name, rng.choice(names)})])
        if rng.random() < 0.7:
            line["state"] = partly(state, bound.type, rng)
        lines.append(line)
    return [json.dumps(line) for line in lines]


def by_brute_force(bound: BoundModel, lines: list[Line], hidden: frozenset[str]) -> tuple[int, set[Any]]:
    """How many lines are explained, and where the model can be then: after hidden steps, if a line is not explained."""

    def hidden_from(states: set[Any]) -> set[Any]:
        more = {a for s in states for a in moves(s, lambda name, params, after: name in hidden)}
        return states if more <= states else hidden_from(states | more)

    def moves(state: Any, allowed: Any) -> Iterator[Any]:
        for step in bound.steps(state):
            if not isinstance(step.after, Clipped) and allowed(step.action.name, step.params, step.after):
                yield step.after

    states = {s for _, _, s in bound.initial_states() if not isinstance(s, Clipped)}
    for number, line in enumerate(lines):
        before = hidden_from(states)

        def fits(name: str, params: Params, after: Any, line: Line = line) -> bool:
            if name not in (line.actions or ()) or not matches_observation(after, line.state):
                return False
            return all(matches_observation(params[key], value) for key, value in line.params.items())

        if line.actions is None:
            states = {s for s in before if matches_observation(s, line.state)}
        else:
            states = {a for s in before for a in moves(s, fits)}
        if not states:
            return number, before
    return len(lines), states


def answered(bound: BoundModel, stepper: Any, lines: list[Line], hidden: frozenset[str]) -> LogExplanation:
    return explain_log(bound, stepper, lines, hidden, 10**6, lambda done, states: None)


@pytest.mark.parametrize("model", MODELS)
def test_engines_and_brute_force_agree(model: str) -> None:
    pairs, hide = MODELS[model]
    prepared = prepare(model, pairs)
    bound, lowered = prepared.bound, prepared.lowered
    native, plain = NativeStepper(bound, lowered), PlainStepper(bound)
    hidden_names = frozenset(a.name for a in bound.model.actions if a.name in hide)
    outcomes = {True: 0, False: 0}
    for seed in range(25):
        rng = random.Random(f"{model}-{seed}")
        hidden = hidden_names if rng.random() < 0.5 else frozenset()
        lines = list(read_lines(observed(bound, rng, hidden), bound, "log"))
        explained, states = by_brute_force(bound, lines, hidden)
        for stepper in (native, plain):
            answer = answered(bound, stepper, lines, hidden)
            assert answer.lines == explained, (seed, stepper.name)
            assert set(answer.possible) == states and answer.possible_count == len(states)
            assert (answer.failed is None) == (explained == len(lines))
            assert answer.behaviour is not None
            replay(answer.behaviour, bound)
            assert answer.behaviour.states[-1] in states
            if answer.failed is not None:
                assert answer.reasons
        outcomes[explained == len(lines)] += 1
    assert min(outcomes.values()) >= 2, outcomes


def lines_of(bound: BoundModel, *data: JsonObject) -> list[Line]:
    return list(read_lines([json.dumps(d) for d in data], bound, "log"))


def test_the_guard_that_refuses_is_named() -> None:
    prepared = prepare("core", [])
    bound, lowered = prepared.bound, prepared.lowered
    lines = lines_of(bound, {"action": "fence", "params": {"broker": 1}}, {"action": "alter"})
    for stepper in (NativeStepper(bound, lowered), PlainStepper(bound)):
        answer = answered(bound, stepper, lines, frozenset())
        assert answer.lines == 1 and answer.failed is lines[1]
        assert answer.reasons == [("alter is not enabled: core.py:99: isr = some(p.proposed)", 1)]
        assert answer.possible_count == 1
        assert not answer.clipped


def test_what_is_otherwise_than_observed_is_named() -> None:
    prepared = prepare("core", [])
    bound, lowered = prepared.bound, prepared.lowered
    fenced = {"action": "fence", "params": {"broker": 0}, "state": {"leader": 2, "isr": [1, 2]}}
    answer = answered(bound, NativeStepper(bound, lowered), lines_of(bound, fenced), frozenset())
    assert answer.reasons == [("fence is enabled, and then leader is 1; the line says 2", 1)]
    look = lines_of(bound, {"state": {"leader": None}})
    answer = answered(bound, NativeStepper(bound, lowered), look, frozenset())
    assert answer.reasons == [("leader is 0; the line says none", 1)]


def test_hidden_steps_count_only_where_they_are_allowed() -> None:
    prepared = prepare("core", [])
    bound, lowered = prepared.bound, prepared.lowered
    lines = lines_of(bound, {"action": "alter", "state": {"isr": [0, 1]}})
    stepper = NativeStepper(bound, lowered)
    assert answered(bound, stepper, lines, frozenset()).lines == 0
    answer = answered(bound, stepper, lines, frozenset({"propose"}))
    assert (answer.lines, answer.hidden_steps, answer.possible_count) == (1, 1, 1)
    assert answer.behaviour is not None
    assert [s.action for s in answer.behaviour.steps[1:]] == ["propose", "alter"]
