"""The models' assumptions about brokers, each tried on a cluster by a small scenario."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass

from reassure.checkers.kafka.cluster.distribution import Distribution
from reassure.checkers.kafka.cluster.execute import RATE, Executor, Workload, schedule_of
from reassure.checkers.kafka.cluster.observed import BrokerLog
from reassure.checkers.kafka.cluster.request_gate import RequestGate, RequestKey
from reassure.checkers.kafka.cluster.session import ClusterLimits, started_cluster
from reassure.checkers.kafka.pages.broker_page import Assumption
from reassure.checkers.machine.exit_codes import Exit, Failure

RECORDS = 5_000
BYTES = 200
BROKERS = 3
SESSION = 20
"""Seconds of a broker's session: long enough for a broker to be started again within it."""
GONE_WITHIN = 150.0
"""Seconds: Kafka deletes a log that was put aside after `log.segment.delete.delay.ms`, a minute by default."""


@dataclass(frozen=True)
class Scenario:
    """An assumption, and the function that tries it: whether it holds, and the observation in words."""

    text: str
    attempt: Callable[[Executor], tuple[bool, str]]


def execute_assumptions(
    kafka: Distribution, limits: ClusterLimits, tell: Callable[[str], None]
) -> Generator[Assumption, None, None]:
    """Tries every assumption on a cluster of its own; yields each result at once."""
    settings = {"broker.session.timeout.ms": str(SESSION * 1000)}
    with started_cluster(kafka, BROKERS, True, limits, tell, settings=settings, gated=True) as executor:
        for number, scenario in enumerate(SCENARIOS, 1):
            executor.bring_up()
            executor.topic = f"assumption-{number}"
            holds, seen = scenario.attempt(executor)
            yield Assumption(scenario.text, kafka.release.stated, holds, seen)


# -- scenarios ---------------------------------------------------------------------------------------------------


def _begin(executor: Executor, replicas: tuple[int, ...], min_isr: int, per_second: int = 0) -> None:
    executor.begin(executor.topic, schedule_of(replicas, BROKERS, min_isr), Workload(RECORDS, BYTES, per_second))
    executor.client.set("BROKER", "", RATE)


def _log(executor: Executor, broker: int, kind: str = "") -> BrokerLog | None:
    """A broker's log of the topic; None if it has none of this kind."""
    return next((log for log in executor.logs() if (log.broker, log.kind) == (broker, kind)), None)


def _records(executor: Executor, broker: int) -> int:
    log = _log(executor, broker)
    return log.end if log is not None else 0


def _isr(executor: Executor) -> set[int]:
    state = executor.watch.state()
    return {int(b) for b in state.partition.isr} if state is not None else set()


def _leader(executor: Executor) -> int:
    state = executor.watch.state()
    return int(state.partition.leader or 0) if state is not None else 0


def _epoch(executor: Executor, broker: int) -> int:
    """Of a broker's last registration."""
    return executor.watch.broker_epochs[broker]


def _must(executor: Executor, condition: Callable[[], bool], what: str) -> None:
    """Waits for a state that a scenario needs; `Failure` (5) if it does not come."""
    if not executor.until(condition, executor.waits.step):
        raise Failure(Exit.INCONCLUSIVE, f"{executor.topic}: {what} within {executor.waits.step:g} s")


def _removed(executor: Executor) -> tuple[bool, str]:
    """A removed replica: its log is put aside, and deleted later; added again, it begins with an empty log."""
    _begin(executor, (1, 2), 2)
    executor.client.reassign(executor.topic, (1, 3))
    began = time.monotonic()
    _must(executor, lambda: _log(executor, 2) is None and bool(_log(executor, 2, "deleted")), "no log was put aside")
    aside = time.monotonic() - began
    executor.throttle(frozenset({2}))
    executor.client.reassign(executor.topic, (1, 2))
    _must(executor, lambda: _log(executor, 2) is not None, "broker 2 has no new log")
    executor.rest(executor.waits.settle)
    both, new = _log(executor, 2, "deleted") is not None, _records(executor, 2)
    gone = executor.until(lambda: _log(executor, 2, "deleted") is None, GONE_WITHIN)
    seconds = time.monotonic() - began
    fetched = f"{new:,} of {RECORDS:,} records" if new else "no record"
    text = (
        f"the log of {RECORDS:,} records was renamed to `-delete` within {aside:.0f} s of the request"
        + (f" and gone after {seconds:.0f} s" if gone else f" and still there after {seconds:.0f} s")
        + f"; added again while it was there, the broker had {fetched} in a new log, with its copy throttled"
    )
    return both and gone and new < RECORDS, text


def _killed(executor: Executor) -> tuple[bool, str]:
    """A broker that was killed has the records that it had written."""
    _begin(executor, (1, 2), 1)
    before = _records(executor, 2)
    executor.cluster.kill(2)
    _must(executor, lambda: 2 not in executor.watch.unfenced(), "broker 2 was not fenced")
    executor.throttle(frozenset({2}))
    executor.cluster.start(2)
    _must(executor, lambda: 2 in executor.watch.unfenced(), "broker 2 did not come back")
    after = _records(executor, 2)
    return before == after == RECORDS, f"{before:,} records before `kill -9`, {after:,} after the start"


def _caught_up(executor: Executor) -> tuple[bool, str]:
    """A leader proposes a follower once it has caught up to the high watermark, and not before."""
    _begin(executor, (1,), 1)
    executor.throttle(frozenset({2}))
    executor.client.reassign(executor.topic, (1, 2))
    executor.rest(executor.waits.rest)
    early, behind = 2 in _isr(executor), _records(executor, 2)
    executor.throttle(frozenset())
    _must(executor, lambda: 2 in _isr(executor), "broker 2 did not join the ISR")
    at_joining, mark = _records(executor, 2), executor.client.high_watermark(executor.topic)
    text = (
        f"out of the ISR for {executor.waits.rest:g} s with {behind:,} of {RECORDS:,} records; "
        f"in it with {at_joining:,} once the throttle ended"
    )
    return not early and behind < mark == at_joining == RECORDS, text


def _below_min_isr(executor: Executor) -> tuple[bool, str]:
    """Below MinISR the high watermark stands still."""
    _begin(executor, (1, 2), 2)
    executor.cluster.kill(2)
    _must(executor, lambda: _isr(executor) == {1}, "broker 2 did not leave the ISR")
    executor.client.produce(executor.topic, 100, BYTES, "1")
    executor.rest(executor.waits.settle)
    written, mark = _records(executor, 1), executor.client.high_watermark(executor.topic)
    text = (
        f"with ISR {{1}} and MinISR 2 the leader took 100 records with acks=1, had {written:,}, "
        f"and the high watermark stayed at {mark:,}"
    )
    return (written, mark) == (RECORDS + 100, RECORDS), text


def _deposed(executor: Executor) -> tuple[bool, str]:
    """A leader that was paused and deposed acknowledges no record with acks=all that is then lost, and truncates."""
    _begin(executor, (1, 2), 1, per_second=50)
    executor.cluster.pause(1)
    _must(executor, lambda: _leader(executor) == 2, "broker 2 was not elected")
    executor.cluster.resume(1)
    _must(executor, lambda: _isr(executor) == {1, 2}, "broker 1 did not come back into the ISR")
    sent, _, _ = executor.client.stop(executor.topic)
    counts = executor.client.consume(executor.topic, executor.waits.step)
    executor.rest(executor.waits.settle)
    ends = _records(executor, 1), _records(executor, 2)
    text = (
        f"of {sent:,} records sent with acks=all while the leader was paused, deposed and resumed "
        f"{counts.acknowledged:,} were acknowledged and {counts.lost:,} lost; "
        f"the two logs end at {ends[0]:,} and {ends[1]:,}"
    )
    return counts.lost == 0 and counts.different == 0 and ends[0] == ends[1], text


def _gate(executor: Executor) -> RequestGate:
    gate = executor.cluster.gate
    assert gate is not None
    return gate


def _restart(executor: Executor, broker: int) -> tuple[int, int]:
    """Shuts a broker down, and starts it again after its session, so that it is registered before it fetches.

    The epoch of its registration, and that of the new one.
    """
    before = _epoch(executor, broker)
    executor.cluster.stop(broker)
    executor.rest(SESSION)
    executor.cluster.start(broker)
    return before, _registered_anew(executor, broker, before)


def _registered_anew(executor: Executor, broker: int, before: int) -> int:
    """Waits until a broker is registered with another epoch than before, and unfenced; that epoch."""
    _must(
        executor,
        lambda: _epoch(executor, broker) != before and broker in executor.watch.unfenced(),
        f"broker {broker} did not come back",
    )
    return _epoch(executor, broker)


def _proposed(executor: Executor, broker: int) -> list[tuple[int, str]]:
    """The epochs of a broker that leaders proposed for the ISR, each with the controller's answer."""
    executor.rest(executor.waits.settle)  # an answer is logged once it was sent
    return [(r.epochs[broker], r.answer) for r in executor.isr_requests() if broker in r.epochs]


def _asked(proposals: list[tuple[int, str]]) -> str:
    return "; ".join(f"proposed with epoch {epoch}: {answer}" for epoch, answer in proposals) or "not proposed"


def _known(executor: Executor) -> tuple[bool, str]:
    """A leader that does not hear of a registration proposes no follower that fetches with its epoch."""
    gate = _gate(executor)
    _begin(executor, (1,), 1)
    executor.throttle(frozenset({2, 3}))
    executor.client.reassign(executor.topic, (1, 2, 3))
    executor.rest(executor.waits.settle)
    gate.hold(1, RequestKey.FETCH)
    executor.rest(executor.waits.settle)  # the answer to a request that was on its way
    before, after = _restart(executor, 2)
    executor.throttle(frozenset())
    _must(
        executor,
        lambda: 3 in _isr(executor) and _records(executor, 2) == RECORDS,
        "brokers 2 and 3 did not both catch up, and 3 join the ISR,",
    )
    executor.rest(executor.waits.rest)
    early = _proposed(executor, 2)
    gate.release()
    _must(executor, lambda: 2 in _isr(executor), "broker 2 did not join the ISR")
    late = _proposed(executor, 2)[len(early) :]
    text = (
        f"the leader heard no metadata while broker 2 registered anew (epoch {before}, then {after}) and fetched every "
        f"record: {_asked(early)} for {executor.waits.rest:g} s, while broker 3, whose registration the "
        f"leader knew, joined the ISR; once the leader heard, broker 2 was proposed with epoch "
        f"{', '.join(str(epoch) for epoch, _ in late)}"
    )
    return not early and {epoch for epoch, _ in late} == {after}, text


def _on_its_way(executor: Executor) -> tuple[bool, str]:
    """A request that was on its way while the follower registered anew has the old epoch, and is refused."""
    gate = _gate(executor)
    _begin(executor, (1,), 1)
    executor.throttle(frozenset({2}))
    executor.client.reassign(executor.topic, (1, 2))
    executor.rest(executor.waits.settle)
    gate.hold(1, RequestKey.ALTER_PARTITION)
    executor.throttle(frozenset())
    _must(executor, lambda: gate.held > 0, "broker 2 was not proposed")
    before, after = _restart(executor, 2)
    gate.release()
    _must(executor, lambda: 2 in _isr(executor), "broker 2 did not join the ISR")
    answers = _proposed(executor, 2)
    text = (
        f"broker 2 registered anew (epoch {before}, then {after}) while its leader's request was on its way: "
        f"{_asked(answers)}"
    )
    return set(answers) == {(before, "INELIGIBLE_REPLICA"), (after, "NONE")}, text


def _unregistered(executor: Executor) -> tuple[bool, str]:
    """A broker that is started again within its session, so that its registration is refused, fetches nothing yet."""
    _begin(executor, (1,), 1)
    executor.throttle(frozenset({2}))
    executor.client.reassign(executor.topic, (1, 2))
    executor.rest(executor.waits.settle)
    before = _epoch(executor, 2)
    executor.cluster.kill(2)
    executor.cluster.start(2)
    executor.throttle(frozenset())
    _must(
        executor,
        lambda: _epoch(executor, 2) != before or _records(executor, 2) == RECORDS,
        "broker 2 was not registered, and did not fetch",
    )
    fetched = _epoch(executor, 2) == before
    asked = _proposed(executor, 2)
    after = _registered_anew(executor, 2, before)
    _must(executor, lambda: 2 in _isr(executor), "broker 2 did not join the ISR")
    text = (
        f"broker 2 was killed, and started again within its session, in which Kafka refuses its registration: it "
        f"fetched {'every record' if fetched else 'nothing'} before it was registered (epoch {before}, then {after}); "
        f"{_asked(asked)}"
    )
    return not fetched, text


def _log_lost(executor: Executor) -> tuple[bool, str]:
    """A follower that has lost its log does not join the ISR by a request that was made before."""
    gate = _gate(executor)
    _begin(executor, (1,), 1)
    executor.throttle(frozenset({2}))
    executor.client.reassign(executor.topic, (1, 2))
    executor.rest(executor.waits.settle)
    before = _epoch(executor, 2)
    gate.hold(1, RequestKey.ALTER_PARTITION)
    executor.cluster.kill(2)
    executor.cluster.start(2)
    executor.throttle(frozenset())
    _must(executor, lambda: gate.held > 0, "broker 2 was not proposed")
    executor.cluster.kill(2)
    executor.cluster.lose_log(2, executor.topic)
    _must(executor, lambda: 2 not in executor.watch.unfenced(), "the session of broker 2 did not end")
    executor.cluster.start(2)
    _must(executor, lambda: _epoch(executor, 2) != before, "broker 2 was not registered")
    executor.cluster.pause(1)  # so that broker 2 copies nothing, and its leader's session ends
    after = _registered_anew(executor, 2, before)
    gate.release()
    joined = executor.until(lambda: 2 in _isr(executor), executor.waits.settle)
    records = _records(executor, 2)
    if joined:
        _must(executor, lambda: _leader(executor) == 2, "broker 2 was not elected")
    executor.cluster.resume(1)
    _must(executor, lambda: _isr(executor) == {1, 2}, "brokers 1 and 2 were not both in the ISR")
    counts = executor.client.consume(executor.topic, executor.waits.step)
    first = _proposed(executor, 2)[:1]
    text = (
        f"broker 2, started again within its session, was killed and its log removed, and it registered anew (epoch "
        f"{before}, then {after}) while its leader's request was on its way: {_asked(first)}; "
        + (f"in the ISR with {records:,} of {RECORDS:,} records, and elected when the leader was paused; " * joined)
        + f"{counts.lost:,} of {counts.acknowledged:,} acknowledged records lost"
    )
    return not joined and counts.lost == 0, text


SCENARIOS = (
    Scenario(
        "A live broker that leaves the replicas deletes its log; added again, it begins with an empty one.", _removed
    ),
    Scenario("A broker that was killed comes back with the records that it had written.", _killed),
    Scenario("A leader proposes a follower that has caught up to the high watermark, and no other.", _caught_up),
    Scenario("Below MinISR the high watermark stands still.", _below_min_isr),
    Scenario(
        "What a deposed leader acknowledges with acks=all is not lost; back as a follower, its log becomes the new "
        "leader's.",
        _deposed,
    ),
    Scenario(
        "A leader proposes a follower that fetches with an epoch once it has heard that the follower is registered "
        "with it, and not before.",
        _known,
    ),
    Scenario(
        "A request for an ISR has the epochs of the moment when it was made; a follower that has registered anew since "
        "does not join by it.",
        _on_its_way,
    ),
    Scenario("A broker that is started again is registered before it fetches.", _unregistered),
    Scenario(
        "A follower that has lost its log and registered anew does not join the ISR by a request that was made before.",
        _log_lost,
    ),
)
