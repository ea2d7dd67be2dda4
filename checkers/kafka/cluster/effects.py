"""The effect of each finding on a cluster: a property that the run violates, and a measurement that shows it there.

A measurement that cannot be made is a `Failure`: it shows neither that the effect is there nor that it is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from reassure.checkers.kafka.cluster.client import RequestRefused
from reassure.checkers.kafka.cluster.execute import RATE, Execution, Executor, Workload
from reassure.checkers.kafka.cluster.schedule import Schedule
from reassure.checkers.machine.exit_codes import Exit, Failure

RESIGNATIONS = 3
"""Resignations after a broker's start that count as again and again."""
LATE_FETCH_PROMISE = "leader_has_what_was_acknowledged"
LONG_SESSION = 30
"""Seconds of a session in which a broker is started again, fetches, and is started once more."""
LATE_FETCH = Workload(records=1_500, bytes=200, per_second=0)
"""Of the run with a late fetch: five fetches of a throttled copy."""
LATE_FETCH_SETTINGS = (
    ("broker.session.timeout.ms", str(LONG_SESSION * 1000)),
    ("replication.quota.window.num", "4"),  # a throttled copy rests for three or four seconds after a fetch
)
SENT_WITHIN = 0.5
"""Seconds until a follower that has all records has sent its next fetch."""
HEARTBEAT = 2.0
"""Seconds between the heartbeats of a broker, by Kafka's default: a pause begins so long after the last one at most."""


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


def late_fetch(executor: Executor, plan: Schedule, execution: Execution) -> Outcome:
    """A fetch with broker epoch -1 waits in a paused leader while its sender loses its unwritten records and registers.

    No request is held back, and of the log only the tail is cut that a loss of power takes. The added broker 2 is
    killed, and started again within its session. Once it has every record its leader is paused, for less than its
    session.

    The controller refuses a registration while the session of the broker's earlier process lasts
    (`ClusterControlManager.registerBroker`). On an idle machine broker 2 has every record four seconds after its
    start, so that it starts after a third of that session: else the leader's session would end first.
    """
    cluster, topic, waits = executor.cluster, executor.topic, executor.waits
    executor.client.set("BROKER", "", RATE)
    executor.throttle(frozenset({2}))
    executor.client.reassign(topic, (1, 2))
    _must(executor, lambda: _end(executor, 2) > 0, waits.step, "broker 2 fetched nothing")
    epoch = executor.watch.broker_epochs[2]
    cluster.kill(2)
    written, before = cluster.write_back(2, topic), _end(executor, 2)
    executor.rest(LONG_SESSION / 3)
    cluster.start(2)
    _must(executor, lambda: _end(executor, 2) > before, LONG_SESSION, "broker 2 fetched nothing again")
    executor.tell("broker 2 copies the rest")
    _wait_until_whole(executor, LONG_SESSION)
    cluster.pause(1)
    paused = time.monotonic()
    executor.rest(SENT_WITHIN)
    whole, early = _end(executor, 2), executor.watch.broker_epochs[2] != epoch or 2 not in executor.watch.unfenced()
    cluster.kill(2)
    cluster.lose_tail(2, topic, written)
    cluster.start(2)
    executor.tell("the leader is paused")
    back = executor.until(
        lambda: executor.watch.broker_epochs[2] != epoch and 2 in executor.watch.unfenced(),
        LONG_SESSION - 2 * HEARTBEAT - (time.monotonic() - paused),
    )
    seconds = time.monotonic() - paused
    in_sync = _in_sync(executor, 2)
    cluster.resume(1)
    if in_sync:
        text = "broker 2 joined the ISR before the leader was paused, by its present registration"
        return Outcome(False, f"{text}; {_lost(executor, execution)}")
    if early or not back:
        late = (
            "did not register anew within the leader's session"
            if not early
            else "was fenced before the leader was paused"
        )
        raise Failure(Exit.INCONCLUSIVE, f"broker 2 {late}: the steps did not fit into sessions of {LONG_SESSION} s")
    executor.until(lambda: _in_sync(executor, 2), waits.settle)
    joined, there = _in_sync(executor, 2), _end(executor, 2)
    if joined:
        cluster.kill(1)
        _must(executor, lambda: _leads(executor, 2), 2 * LONG_SESSION, "broker 2 was not elected")
    requests = [(r.epochs[2], r.answer) for r in executor.isr_requests() if 2 in r.epochs]
    lost = _lost(executor, execution)
    proposed = "; ".join(f"proposed with epoch {number}: {answer}" for number, answer in requests) or "not proposed"
    text = (
        f"the leader was paused for {seconds:.0f} s of its session of {LONG_SESSION} s while broker 2, which had "
        f"{whole:,} records, died, lost what was not on its disk, and registered anew with {before:,}; {proposed}; "
        + (f"in the ISR with {there:,}, and elected when the leader was killed; " if joined else "not in the ISR; ")
        + lost
    )
    return Outcome(joined and execution.records is not None and execution.records.lost > 0, text)


def _must(executor: Executor, condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Waits for a state that a run needs; `Failure` (5) if it does not come."""
    if not executor.until(condition, seconds):
        raise Failure(Exit.INCONCLUSIVE, f"{what} within {seconds:g} s")


def _wait_until_whole(executor: Executor, seconds: float) -> None:
    """Returns as soon as broker 2 has written every record; `Failure` (5) if it takes longer."""
    leader, follower = (executor.cluster.segment(broker, executor.topic) for broker in (1, 2))
    size, end = leader.stat().st_size, time.monotonic() + seconds
    while follower.stat().st_size < size:
        if time.monotonic() > end:
            raise Failure(Exit.INCONCLUSIVE, f"broker 2 did not copy every record within {seconds:g} s")


def _end(executor: Executor, broker: int) -> int:
    """The offset after a broker's last record."""
    return max((log.end for log in executor.logs() if (log.broker, log.kind) == (broker, "")), default=0)


def _in_sync(executor: Executor, broker: int) -> bool:
    state = executor.watch.state()
    return state is not None and broker in {int(b) for b in state.partition.isr}


def _leads(executor: Executor, broker: int) -> bool:
    state = executor.watch.state()
    return state is not None and int(state.partition.leader or 0) == broker


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
    LATE_FETCH_PROMISE: late_fetch,
}
"""The measurement, by the property that a run violates."""
PAUSED = frozenset({"changed_min_isr_leaves_who_may_lead"})
"""Properties of which the brokers have to come back with every record and the registration that they had."""
LAST = frozenset({"broker_events_are_carried_out", "controller_goes_on"})
"""Properties whose effect leaves the cluster without a controller."""
