"""From a row of states to a trace: the actions between them, found and replayed in plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from reassure.checkers.traces.fairness import as_data, violates
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Step
from reassure.spec.semantics.liveness import Assumptions
from reassure.spec.semantics.trace import Trace, TraceStep, replay


class Disagreement(Exception):
    """A translating engine and plain Python differ: a bug of this program."""


def shows(bound: BoundModel, claim: Property | None, before: Any, step: Step | None, after: Any) -> bool:
    """Whether a state, or the step to it, is what is looked for: a violation, a cover; without a claim a deadlock."""
    if claim is None:
        return next(bound.steps(after), None) is None and not bound.is_terminal(after)
    if claim.over_steps:
        if step is None or not bound.concerns(claim, step.action):
            return False
        return bound.holds_on(claim, before, step) == (claim.kind == "cover")
    return bound.holds(claim, after) == (claim.kind == "cover")


def steps_between(bound: BoundModel, claim: Property | None, states: list[Any]) -> list[Step]:
    """A step of plain Python between each two states; the last one shows the claim. Raises `Disagreement`."""
    steps: list[Step] = []
    for before, after in itertools.pairwise(states):
        last = claim is not None and claim.over_steps and len(steps) == len(states) - 2
        fitting = [s for s in bound.steps(before) if s.after == after]
        step = next((s for s in fitting if not last or shows(bound, claim, before, s, after)), None)
        if step is None:
            raise Disagreement(f"plain Python has no such step from {before} to {after}")
        steps.append(step)
    if not shows(bound, claim, states[-2] if steps else None, steps[-1] if steps else None, states[-1]):
        raise Disagreement(f"{claim.name if claim else 'deadlock'}: the engine and plain Python differ on {states[-1]}")
    return steps


def told(bound: BoundModel, states: list[Any], steps: list[Step]) -> Trace:
    """The trace of a run that begins in an initial state, replayed."""
    start = next(((d, p) for d, p, s in bound.initial_states() if s == states[0]), None)
    if start is None:
        raise Disagreement(f"plain Python does not begin in {states[0]}")
    made = [TraceStep(start[0].name, start[1], "")]
    made += [TraceStep(s.action.name, s.params, s.action.who) for s in steps]
    trace = Trace(states, made)
    replay(trace, bound)
    return trace


def with_loop(
    bound: BoundModel, claim: Property, begin: Trace, states: Sequence[Any], loop: int, assumptions: Assumptions
) -> Trace:
    """A trace that goes on through `states`, the first of which is its last state, and round from `states[loop]` on.

    Replayed, and checked in plain Python to be fair and to violate `claim`; raises `Disagreement` otherwise.
    """
    rest, start = list(states), len(begin.states) - 1
    steps = [_told_step(bound, before, after) for before, after in itertools.pairwise(rest)]
    back = None if loop == len(rest) - 1 else _told_step(bound, rest[-1], rest[loop])
    trace = Trace([*begin.states, *rest[1:]], [*begin.steps, *steps], {}, start + loop, back)
    replay(trace, bound)
    trace.meta["fairness"] = as_data(assumptions)
    if not violates(trace, bound, claim):
        raise Disagreement(f"{claim.name}: the engine's loop is none that violates it in plain Python: {rest[loop:]}")
    return trace


def step_between(bound: BoundModel, before: Any, after: Any) -> Step:
    """The first step of plain Python from a state to another. Raises `Disagreement` if there is none."""
    step = next((s for s in bound.steps(before) if s.after == after), None)
    if step is None:
        raise Disagreement(f"plain Python has no step from {before} to {after}")
    return step


def _told_step(bound: BoundModel, before: Any, after: Any) -> TraceStep:
    step = step_between(bound, before, after)
    return TraceStep(step.action.name, step.params, step.action.who)
