"""The effect of each finding on a cluster: a property that the run violates, and a measurement that shows it there.

A measurement that cannot be made is a `Failure`: it shows neither that the effect is there nor that it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reassure.checkers.kafka.cluster.client import RequestRefused
from reassure.checkers.kafka.cluster.execute import Execution, Executor
from reassure.checkers.kafka.cluster.schedule import Schedule
from reassure.checkers.machine.exit_codes import Exit, Failure

RESIGNATIONS = 3
"""Resignations after a broker's start that count as again and again."""


@dataclass(frozen=True)
class Outcome:
    """A measured effect. observed: None if there is nothing to observe but the steps."""

    observed: bool | None
    text: str


Measure = Callable[[Executor, Schedule, Execution], Outcome]


def lost_records(executor: Executor, plan: Schedule, execution: Execution) -> Outcome:
    """Acknowledged records are gone when every broker is back."""
    text = _lost(executor, execution)
    if execution.records is None or not execution.records.acknowledged:
        raise Failure(Exit.INCONCLUSIVE, text)
    return Outcome(execution.records.lost > 0, text)


def _lost(executor: Executor, execution: Execution) -> str:
    """Brings every broker back, and reads the records: how many are lost, in words."""
    whole = executor.recover()
    executor.read(execution)
    if execution.records is None:
        return f"the records could not be read: {execution.why_not}"
    text = f"{execution.records.lost:,} of {execution.records.acknowledged:,} acknowledged records are lost"
    return text if whole else f"{text}; not every replica came back into the ISR"


def never_ends(executor: Executor, plan: Schedule, execution: Execution) -> Outcome:
    """The reassignment is listed though every replica is in sync, and a cancellation ends it."""
    whole = executor.recover()
    executor.rest(executor.waits.rest)
    listed = executor.client.listed(executor.topic)
    text = "the reassignment ended by itself"
    if listed:
        text = f"{executor.waits.rest:g} s after every replica was in sync the reassignment is still listed"
        executor.client.cancel(executor.topic)
        executor.rest(executor.waits.settle)
        text += "; a cancellation ends it" if not executor.client.listed(executor.topic) else "; a cancellation too"
    if listed and not whole:
        raise Failure(Exit.INCONCLUSIVE, "the reassignment goes on, but not every replica came back into the ISR")
    executor.read(execution)
    return Outcome(listed, text)


def other_replicas(executor: Executor, plan: Schedule, execution: Execution) -> Outcome:
    """The replicas at the end are others than those that were asked for last."""
    executor.recover()

    def ended() -> bool:
        state = executor.watch.state()
        return state is not None and not state.partition.adding | state.partition.removing

    if not executor.until(ended, executor.waits.step):
        raise Failure(Exit.INCONCLUSIVE, f"the reassignment goes on after {executor.waits.step:g} s")
    executor.rest(executor.waits.settle)
    state = executor.watch.state()
    replicas = [int(b) for b in state.partition.replicas] if state is not None else []
    executor.read(execution)
    target = list(plan.targets[-1])
    text = f"asked for {target}, which was answered NONE, the replicas end as {replicas}"
    return Outcome(sorted(replicas) != sorted(target), text)


def offline(executor: Executor, plan: Schedule, execution: Execution) -> Outcome:
    """The partition has no leader though every broker is back; an unclean election by hand brings one."""
    executor.throttle(frozenset())
    executor.bring_up()
    executor.rest(executor.waits.rest)
    state = executor.watch.state()
    if state is None:
        raise Failure(Exit.INCONCLUSIVE, "the metadata log has no such partition")
    leaderless = state.partition.leader is None
    text = f"broker {int(state.partition.leader or 0)} was elected"
    if leaderless:
        text = f"{executor.waits.rest:g} s after every broker is back the partition has no leader"
        try:
            executor.client.elect_uncleanly(executor.topic)
            text += "; an unclean election by hand brings one"
        except RequestRefused as error:
            text += f"; an unclean election by hand is refused ({error.name})"
        executor.recover()
    executor.read(execution)
    return Outcome(leaderless, text)


def resignations(executor: Executor, plan: Schedule, execution: Execution) -> Outcome:
    """The active controller resigns again and again while a broker tries to register."""
    epochs = [step.controller_epoch for step in execution.steps]
    before = epochs[-2] if len(epochs) > 1 else 0
    last = plan.steps[-1].broker
    executor.until(lambda: executor.watch.controller_epoch >= before + 2 * RESIGNATIONS, executor.waits.step)
    risen = executor.watch.controller_epoch - before
    registered = last in executor.watch.unfenced()
    execution.sent, _, execution.failed = executor.client.stop(executor.topic)
    execution.why_not = "they were not read: the cluster has no stable controller"
    execution.logs = executor.logs()
    text = f"the controller's epoch rises by {risen} (from {before}); broker {last} is "
    return Outcome(risen >= RESIGNATIONS and not registered, text + ("registered" if registered else "not registered"))


def nothing_more(executor: Executor, plan: Schedule, execution: Execution) -> Outcome:
    """Of a run without a measured effect: its steps, and the records."""
    return Outcome(None, _lost(executor, execution))


EFFECTS: dict[str, Measure] = {
    "nothing_lost_by_a_completion": lost_records,
    "nothing_lost_by_a_cancellation": lost_records,
    "nothing_lost_otherwise": lost_records,
    "leaders_hold_what_was_committed": lost_records,
    "rolling_back_ends": never_ends,
    "broker_events_are_carried_out": resignations,
    "controller_goes_on": resignations,
    "retarget_replaces_the_target": other_replicas,
    "requests_are_understood": other_replicas,
    "changed_min_isr_leaves_who_may_lead": offline,
}
"""The measurement, by the property that a run violates."""
PAUSED = frozenset({"changed_min_isr_leaves_who_may_lead"})
"""Properties of which the brokers have to come back with every record and the registration that they had."""
LAST = frozenset({"broker_events_are_carried_out", "controller_goes_on"})
"""Properties whose effect leaves the cluster without a controller."""
