"""The run of the model that matches a run of a cluster, state by state, as `reassure validate` matches a log.

The metadata log shows each change of the partition and of its brokers, batch by batch. A batch holds one event of the
controller, or several that came within milliseconds: then as many steps match it, of which the last is observed. That
followers catch up is hidden.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reassure.checkers.analyses.validate.explain_log import LogExplanation, explain_log
from reassure.checkers.analyses.validate.observations import Line, Partly
from reassure.checkers.analyses.validate.steppers import PlainStepper
from reassure.checkers.kafka.cluster.observed import SeenState
from reassure.checkers.kafka.controller.words import ControllerState, described_state
from reassure.checkers.machine.stop import Interrupted
from reassure.checkers.request.model_loader import function, settings
from reassure.spec.kafka.partition import Broker
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import BoundModel, Params, make_config

MODEL = "kraft.cluster_runs:model"
MOST_STATES = 20_000
"""States of the model that may be possible at once."""
MOST_REASONS = 3
OF_PARTITION = ("start", "retarget", "cancel", "alter_partition", "elect_by_hand", "elect_unclean")
"""Actions after which only the partition is another."""
REGISTRATIONS = ("shut_down_uncleanly", "restart_cleanly")


@dataclass(frozen=True)
class ModelRun:
    """A run of a cluster compared with the model. steps: for the log's events, as far as a run of the model matches.

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
    make = function(MODEL)
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
    module = sys.modules[model.module]
    hidden = frozenset(module.HIDDEN)
    more: dict[int, int] = {}
    while True:
        lines = observations(seen, more)
        try:
            answer = explain_log(bound, PlainStepper(bound), lines, hidden, MOST_STATES, lambda matched, states: None)
        except Interrupted as stopped:
            return ModelRun(0, 0, undecided=str(stopped))
        if answer.failed is None or not _tried_longer(answer.failed.number, seen, more):
            break
    assert answer.behaviour is not None
    states = answer.behaviour.states
    losses = tuple(p.name for p in module.LOSSES if not all(p.function(state) for state in states))
    failed = _difference(answer) if answer.failed is not None else ""
    difference, undecided = ("", failed) if answer.clipped else (failed, "")
    return ModelRun(max(0, answer.lines - 1), answer.hidden_steps, losses, difference, undecided)


def _tried_longer(offset: int, seen: Sequence[SeenState], more: dict[int, int]) -> bool:
    """Adds a step to those of a batch that no run matches; False if it has as many as it may have.

    The fewest are as many as it has events or changes of the partition, the most as many as both together.
    """
    place = next(i for i, each in enumerate(seen) if each.offset == offset)
    if place == 0 or more.get(offset, 0) >= min(
        seen[place].changes, len(_events(seen[place - 1].state, seen[place].state))
    ):
        return False
    more[offset] = more.get(offset, 0) + 1
    return True


def _difference(answer: LogExplanation) -> str:
    assert answer.failed is not None
    why = "; ".join(text for text, _ in answer.reasons[:MOST_REASONS])
    return f"offset {answer.failed.number}: {answer.failed.text}: {why}"


def observations(seen: Sequence[SeenState], more: Mapping[int, int] = {}) -> Iterator[Line]:
    """What is observed, line by line: a look at the first state, and then the steps to each other one.

    more: by offset, steps that a batch has beyond the fewest.
    """
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
            events, text = _events(before, state), _changes(before, state)
            steps = max(1, len(events), each.changes) + more.get(each.offset, 0)
            if steps == 1:
                actions, params = events[0] if events else (OF_PARTITION, {})
                yield Line(each.offset, text, frozenset(actions), params, known)
            else:
                possible = frozenset(action for actions, _ in events for action in actions).union(OF_PARTITION)
                for _ in range(steps - 1):
                    yield Line(each.offset, text, possible, {}, Partly())
                yield Line(each.offset, text, possible, {}, known)
        before = state


def _events(before: ControllerState, after: ControllerState) -> list[tuple[Sequence[str], Params]]:
    """Events of brokers and of the configuration: the actions that each may be, and its parameter.

    A broker that registers again proves a clean shutdown only if it was shutting down.
    """
    counts = zip(before.incarnations, after.incarnations, strict=True)
    again = {Broker(number) for number, (old, new) in enumerate(counts, 1) if new > old}
    events: list[tuple[Sequence[str], Params]] = []
    for b in again:
        events.append((REGISTRATIONS if b in before.shutting_down else REGISTRATIONS[:1], {"broker": b}))
    events += [(("fence",), {"broker": b}) for b in before.unfenced - after.unfenced - again]
    events += [(("shut_down_in_control",), {"broker": b}) for b in after.shutting_down - before.shutting_down]
    events += [(("unfence",), {"broker": b}) for b in after.unfenced - before.unfenced]
    if after.min_isr != before.min_isr:
        events.append((("change_min_isr",), {"value": after.min_isr}))
    return events


def _changes(before: ControllerState, after: ControllerState) -> str:
    ours, theirs = described_state(before), described_state(after)
    texts = [f"{name} {ours[name]} -> {theirs[name]}" for name in ours if ours[name] != theirs[name]]
    return ", ".join(texts)
