"""The run of the model that matches a run of a cluster, state by state, as `reassure validate` matches a log.

The metadata log shows each change of the partition and of its brokers. The steps of followers and leaders between them
(a follower catches up, its leader asks for an ISR, or is refused) are hidden.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from reassure.checkers.analyses.validate.explain_log import LogExplanation, explain_log
from reassure.checkers.analyses.validate.observations import Line, Partly
from reassure.checkers.analyses.validate.steppers import PlainStepper
from reassure.checkers.base.model_loader import function, settings
from reassure.checkers.base.stop import Interrupted
from reassure.checkers.kafka.cluster.observed import SeenState
from reassure.checkers.kafka.controller.words import ControllerState, described
from reassure.spec.kafka.partition import Broker
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import BoundModel, make_config

MODEL = "kraft.cluster_runs:model"
MOST_STATES = 20_000
"""States of the model that may be possible at once."""
MOST_REASONS = 3
OF_PARTITION = ("start", "retarget", "cancel", "alter_partition", "elect_by_hand", "elect_unclean")
"""Actions after which only the partition is another."""
REGISTRATIONS = ("shut_down_uncleanly", "restart_cleanly")


@dataclass(frozen=True)
class ModelRun:
    """A run of a cluster compared with the model. steps: observed ones that a run of the model matches, from the first.

    hidden: steps of that run between them. losses: properties about lost records that it violates. difference: the
    first state that no run matches, and why not, or "". undecided: why the comparison ended early, or "".
    """

    steps: int
    hidden: int
    losses: tuple[str, ...] = ()
    difference: str = ""
    undecided: str = ""


def matching_run(seen: Sequence[SeenState], rules: str, elr: bool) -> ModelRun:
    """Looks for a run of the model, by a release's rules, that goes through these states; the first is a new topic."""
    first = seen[0].state
    make, _ = function(MODEL)
    model: Any = make()
    values = {
        "brokers": first.brokers,
        "replication_factor": len(first.partition.replicas),
        "initial_isr": 0,
        "min_isr": first.min_isr,
        "unclean": "on" if first.unclean else "off",
        "release": rules,
        "elr": str(elr).lower(),
    }
    bound = BoundModel(model, make_config(model, settings(model, [f"{key}={value}" for key, value in values.items()])))
    module, stepper = sys.modules[model.module], PlainStepper(bound)
    hidden = frozenset(module.HIDDEN)
    try:
        answer = explain_log(bound, stepper, observations(seen), hidden, MOST_STATES, lambda matched, states: None)
    except Interrupted as stopped:
        return ModelRun(0, 0, undecided=str(stopped))
    assert answer.behaviour is not None
    states = answer.behaviour.states
    losses = tuple(p.name for p in module.LOSSES if not all(p.function(state) for state in states))
    failed = _difference(answer) if answer.failed is not None else ""
    difference, undecided = ("", failed) if answer.clipped else (failed, "")
    return ModelRun(max(0, answer.lines - 1), answer.hidden_steps, losses, difference, undecided)


def _difference(answer: LogExplanation) -> str:
    assert answer.failed is not None
    why = "; ".join(text for text, _ in answer.reasons[:MOST_REASONS])
    return f"offset {answer.failed.number}: {answer.failed.text}: {why}"


def observations(seen: Sequence[SeenState]) -> Iterator[Line]:
    """What is observed, line by line: a look at the first state, and then a step to each other one."""
    before: ControllerState | None = None
    for each in seen:
        state = each.state
        known = Partly(
            partition=state.partition,
            unfenced=state.unfenced,
            shutting_down=state.shutting_down,
            min_isr=state.min_isr,
            unclean=state.unclean,
            broker_epochs=Map({Broker(i): count for i, count in enumerate(state.incarnations, 1)}),
        )
        if before is None:
            yield Line(each.offset, "a new topic", None, {}, known)
        else:
            actions, params = _actions(before, state)
            yield Line(each.offset, _changes(before, state), frozenset(actions), params, known)
        before = state


def _actions(before: ControllerState, after: ControllerState) -> tuple[Sequence[str], dict[str, Any]]:
    """The actions that a step may be of, with the parameters that are known.

    A broker that registers again proves a clean shutdown only if it was shutting down.
    """
    counts = zip(before.incarnations, after.incarnations, strict=True)
    again = {Broker(number) for number, (old, new) in enumerate(counts, 1) if new > old}
    events: list[tuple[Sequence[str], str, Any]] = []
    for b in again:
        events.append((REGISTRATIONS if b in before.shutting_down else REGISTRATIONS[:1], "broker", b))
    events += [(("fence",), "broker", b) for b in before.unfenced - after.unfenced - again]
    events += [(("shut_down_in_control",), "broker", b) for b in after.shutting_down - before.shutting_down]
    events += [(("unfence",), "broker", b) for b in after.unfenced - before.unfenced]
    if after.min_isr != before.min_isr:
        events.append((("change_min_isr",), "value", after.min_isr))
    if len(events) == 1:
        ((actions, name, value),) = events
        return actions, {name: value}
    return [action for actions, _, _ in events for action in actions] or OF_PARTITION, {}


def _changes(before: ControllerState, after: ControllerState) -> str:
    ours, theirs = described(before), described(after)
    texts = [f"{name} {ours[name]} -> {theirs[name]}" for name in ours if ours[name] != theirs[name]]
    return ", ".join(texts)
