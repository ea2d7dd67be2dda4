"""Scenarios on brokers that a test plays: each assumption about them, held and not held, and the fetch that waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from reassure.checkers.kafka.cluster import effects
from reassure.checkers.kafka.cluster.assumptions import SCENARIOS
from reassure.checkers.kafka.cluster.client import RecordCounts
from reassure.checkers.kafka.cluster.effects import Outcome, late_fetch
from reassure.checkers.kafka.cluster.execute import Execution, Waits, schedule_of
from reassure.checkers.kafka.cluster.observed import BrokerLog, IsrRequest
from reassure.checkers.machine.exit_codes import Exit, Failure

Changes = dict[str, dict[str, Any]]


class PlayedBrokers:
    """Stands for an executor with its cluster and client. changes: by act and its number, values that become others."""

    def __init__(self, changes: Changes) -> None:
        self.changes, self.acts = changes, Counter[str]()
        self.logs_now: dict[tuple[int, str], int] = {(1, ""): 5000, (2, ""): 5000}
        self.isr, self.leader, self.unfenced_now, self.mark = {1, 2}, 1, {1, 2, 3}, 5000
        self.counts = RecordCounts(100, 100, 0, 0, 100)
        self.topic, self.waits = "assumption-1", Waits(rest=15.0, step=60.0)
        self.client = self.cluster = self.gate = self
        self.held, self.epochs, self.requests = 0, {2: 13, 3: 14}, list[IsrRequest]()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def act(*values: object) -> Any:
            self.acts[name] += 1
            self.__dict__.update(self.changes.get(f"{name} {self.acts[name]}", {}))
            return {"consume": self.counts, "stop": (101, 100, 1), "high_watermark": self.mark}.get(name)

        return act

    @property
    def watch(self) -> SimpleNamespace:
        partition = SimpleNamespace(isr=self.isr, leader=self.leader)
        return SimpleNamespace(
            state=lambda: SimpleNamespace(partition=partition),
            unfenced=lambda: self.unfenced_now,
            broker_epochs=self.epochs,
        )

    def isr_requests(self) -> list[IsrRequest]:
        return self.requests

    def logs(self) -> list[BrokerLog]:
        return [BrokerLog(broker, kind, 0, end) for (broker, kind), end in self.logs_now.items()]

    def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        self.wait()  # an act too: what comes in the meantime
        return condition()


BOTH = {(1, ""): 5000, (2, "deleted"): 5000}
AGAIN = {(1, ""): 5000, (2, "deleted"): 5000, (2, ""): 310}
GONE = {(1, ""): 5000, (2, ""): 310}
REMOVED: Changes = {"reassign 1": {"logs_now": BOTH}, "reassign 2": {"logs_now": AGAIN}, "wait 3": {"logs_now": GONE}}
KILLED: Changes = {"kill 1": {"unfenced_now": {1, 3}}, "start 1": {"unfenced_now": {1, 2, 3}}}
CAUGHT_UP: Changes = {
    "begin 1": {"isr": {1}, "logs_now": {(1, ""): 5000}},
    "rest 1": {"logs_now": {(1, ""): 5000, (2, ""): 312}},
    "throttle 2": {"isr": {1, 2}, "logs_now": {(1, ""): 5000, (2, ""): 5000}},
}
BELOW: Changes = {"kill 1": {"isr": {1}}, "produce 1": {"logs_now": {(1, ""): 5100, (2, ""): 5000}}}
DEPOSED: Changes = {
    "pause 1": {"leader": 2},
    "resume 1": {"isr": {1, 2}},
    "rest 1": {"logs_now": {(1, ""): 100, (2, ""): 100}},
}
OLD, NEW, AGAIN_3 = (IsrRequest({1: 12, 2: 13}, "INELIGIBLE_REPLICA"), IsrRequest({1: 12, 2: 70}, "NONE"), {2: 70})
OF_3 = IsrRequest({1: 12, 3: 14}, "NONE")
KNOWN: Changes = {
    "begin 1": {"isr": {1}, "logs_now": {(1, ""): 5000}},
    "start 1": {"epochs": AGAIN_3},
    "throttle 2": {"isr": {1, 3}, "logs_now": {(1, ""): 5000, (2, ""): 5000}, "requests": [OF_3]},
    "release 1": {"isr": {1, 2, 3}, "requests": [OF_3, NEW]},
}
ON_ITS_WAY: Changes = {
    "begin 1": {"isr": {1}},
    "throttle 2": {"held": 1},
    "start 1": {"epochs": AGAIN_3},
    "release 1": {"isr": {1, 2}, "requests": [OLD, NEW]},
}
BOTH_FULL = {(1, ""): 5000, (2, ""): 5000}
REFUSED: Changes = {
    "begin 1": {"isr": {1}, "logs_now": {(1, ""): 5000}},
    "throttle 2": {"isr": {1, 2}, "logs_now": BOTH_FULL, "requests": [IsrRequest({1: 12, 2: -1}, "NONE")]},
    "wait 2": {"epochs": AGAIN_3, "isr": {1, 2}},
}
GONE_ALL = RecordCounts(100, 0, 100, 0, 0)
LATE: Changes = {
    "begin 1": {"isr": {1}},
    "throttle 2": {"held": 1},
    "kill 2": {"unfenced_now": {1, 3}},
    "start 2": {"epochs": AGAIN_3, "unfenced_now": {1, 2, 3}, "logs_now": {(1, ""): 5000, (2, ""): 0}},
    "resume 1": {"isr": {1, 2}, "requests": [OLD, NEW]},
}
LOST: Changes = {
    **LATE,
    "pause 1": {"leader": 2},
    "release 1": {"isr": {1, 2}},
    "resume 1": {"counts": GONE_ALL, "requests": [IsrRequest({1: 12, 2: -1}, "NONE")]},
}


@pytest.mark.parametrize(
    ("number", "changes", "holds", "seen"),
    [
        (1, REMOVED, True, "and gone after 0 s; added again while it was there, the broker had 310 of 5,000 records"),
        (1, {**REMOVED, "wait 3": {}}, False, "and still there after 0 s"),
        (1, {**REMOVED, "reassign 2": {"logs_now": {**AGAIN, (2, ""): 5000}}}, False, "had 5,000 of 5,000 records"),
        (1, {**REMOVED, "rest 1": {"logs_now": GONE}}, False, "310 of 5,000 records"),
        (2, KILLED, True, "5,000 records before `kill -9`, 5,000 after the start"),
        (
            2,
            {**KILLED, "start 1": {"unfenced_now": {1, 2, 3}, "logs_now": {(2, ""): 4999}}},
            False,
            "5,000 records before `kill -9`, 4,999 after the start",
        ),
        (3, CAUGHT_UP, True, "out of the ISR for 15 s with 312 of 5,000 records; in it with 5,000 once the throttle"),
        (3, {**CAUGHT_UP, "begin 1": {}}, False, "once the throttle ended"),
        (3, {**CAUGHT_UP, "throttle 2": {}}, None, "broker 2 did not join the ISR within 60 s"),
        (3, {**CAUGHT_UP, "throttle 2": {"isr": {1, 2}}}, False, "in it with 312 once the throttle ended"),
        (4, BELOW, True, "had 5,100, and the high watermark stayed at 5,000"),
        (4, {**BELOW, "rest 1": {"mark": 5100}}, False, "had 5,100, and the high watermark stayed at 5,100"),
        (4, {**BELOW, "kill 1": {}}, None, "assumption-1: broker 2 did not leave the ISR within 60 s"),
        (5, DEPOSED, True, "100 were acknowledged and 0 lost; the two logs end at 100 and 100"),
        (5, {**DEPOSED, "stop 1": {"counts": RecordCounts(100, 99, 1, 0, 99)}}, False, "and 1 lost"),
        (5, {**DEPOSED, "rest 1": {"logs_now": {(1, ""): 101, (2, ""): 100}}}, False, "end at 101 and 100"),
        (5, {**DEPOSED, "pause 1": {}}, None, "broker 2 was not elected within 60 s"),
        (6, KNOWN, True, "epoch 13, then 70) and fetched every record: not proposed for 15 s, while broker 3"),
        (6, {**KNOWN, "rest 4": {"requests": [OF_3, NEW]}}, False, "record: proposed with epoch 70: NONE for 15 s"),
        (6, {**KNOWN, "release 1": {"isr": {1, 2, 3}, "requests": [OF_3, OLD]}}, False, "was proposed with epoch 13"),
        (6, {**KNOWN, "throttle 2": {"logs_now": {(1, ""): 5000, (2, ""): 5000}}}, None, "and 3 join the ISR, within"),
        (6, {**KNOWN, "start 1": {}}, None, "broker 2 did not come back within 60 s"),
        (7, ON_ITS_WAY, True, "13, then 70) while its leader's request was on its way: proposed with epoch 13: INELI"),
        (
            7,
            {**ON_ITS_WAY, "release 1": {"isr": {1, 2}, "requests": [NEW]}},
            False,
            "way: proposed with epoch 70: NONE",
        ),
        (
            7,
            {**ON_ITS_WAY, "release 1": {"isr": {1, 2}, "requests": [IsrRequest({2: 13}, "NONE"), NEW]}},
            False,
            "proposed with epoch 13: NONE; proposed with epoch 70: NONE",
        ),
        (7, {**ON_ITS_WAY, "throttle 2": {}}, None, "broker 2 was not proposed within 60 s"),
        (
            8,
            REFUSED,
            False,
            "every record before it was registered (epoch 13, then 70); proposed with epoch -1: NONE",
        ),
        (8, {**REFUSED, "throttle 2": {"logs_now": BOTH_FULL}}, False, "then 70); not proposed"),
        (8, {**REFUSED, "throttle 2": {"epochs": AGAIN_3}}, True, "it fetched nothing before it was registered"),
        (
            9,
            LOST,
            False,
            "epoch -1: NONE; in the ISR with 0 of 5,000 records, and elected when the leader was paused; 100",
        ),
        (9, LATE, True, "on its way: proposed with epoch 13: INELIGIBLE_REPLICA; 0 of 100 acknowledged records lost"),
        (9, {**LATE, "resume 1": {"isr": {1, 2}, "counts": GONE_ALL}}, False, "way: not proposed; 100 of 100"),
        (9, {**LOST, "throttle 2": {}}, None, "broker 2 was not proposed within 60 s"),
        (9, {**LOST, "pause 1": {"leader": 1}}, None, "broker 2 was not elected within 60 s"),
        (8, {**REFUSED, "throttle 2": {}}, None, "broker 2 was not registered, and did not fetch within 60 s"),
    ],
)
def test_an_assumption(number: int, changes: Changes, holds: bool | None, seen: str) -> None:
    played: Any = PlayedBrokers(changes)
    if holds is None:
        with pytest.raises(Failure, match=seen) as ended:
            SCENARIOS[number - 1].attempt(played)
        assert ended.value.code is Exit.INCONCLUSIVE
    else:
        result, text = SCENARIOS[number - 1].attempt(played)
        assert result is holds
        assert seen in text


# -- a fetch that waits in a paused leader -------------------------------------------------------------------------


class PlayedPair(PlayedBrokers):
    """Broker 1 leads with 1,500 records, and broker 2 has 312. A byte is a record."""

    def __init__(self, changes: Changes) -> None:
        super().__init__(changes)
        self.logs_now, self.isr = {(1, ""): 1500, (2, ""): 312}, {1}

    def segment(self, broker: int, topic: str) -> SimpleNamespace:
        return SimpleNamespace(stat=lambda: SimpleNamespace(st_size=self.logs_now[broker, ""]))

    def recover(self) -> bool:
        return True

    def read(self, execution: Execution) -> None:
        execution.records = self.counts


WITH_624 = {(1, ""): 1500, (2, ""): 624}
WAITS: Changes = {
    "start 1": {"logs_now": {(1, ""): 1500, (2, ""): 1500}},
    "lose_tail 1": {"logs_now": {(1, ""): 1500, (2, ""): 312}},
    "start 2": {"epochs": {2: 70}, "unfenced_now": {1, 2}},
    "resume 1": {"isr": {1, 2}, "logs_now": WITH_624, "requests": [IsrRequest({1: 12, 2: -1}, "NONE")]},
    "kill 3": {"leader": 2, "counts": RecordCounts(1500, 624, 876, 0, 624)},
}


def outcome_of(changes: Changes) -> Outcome:
    played: Any = PlayedPair(changes)
    return late_fetch(played, schedule_of((1,), 2, 1), Execution())


@pytest.mark.parametrize(
    ("changes", "observed", "seen"),
    [
        (
            WAITS,
            True,
            "the leader was paused for 0 s of its session of 30 s while broker 2, which had 1,500 records, died, lost "
            "what was not on its disk, and registered anew with 312; proposed with epoch -1: NONE; in the ISR "
            "with 624, and elected when the leader was killed; 876 of 1,500 acknowledged records are lost",
        ),
        ({**WAITS, "kill 3": {"leader": 2}}, False, "; 0 of 100 acknowledged records are lost"),
        ({**WAITS, "resume 1": {}}, False, "with 312; not proposed; not in the ISR; 0 of 100 acknowledged"),
        (
            {**WAITS, "pause 1": {"isr": {1, 2}}},
            False,
            "broker 2 joined the ISR before the leader was paused, by its present registration; 0 of 100 acknowledged",
        ),
    ],
)
def test_a_late_fetch(changes: Changes, observed: bool, seen: str) -> None:
    outcome = outcome_of(changes)
    assert outcome.observed is observed
    assert seen in outcome.text


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({**WAITS, "reassign 1": {"logs_now": {(1, ""): 1500}}}, "^broker 2 fetched nothing within 60 s"),
        ({**WAITS, "start 1": {}}, "^broker 2 fetched nothing again within 0 s"),
        ({**WAITS, "start 1": {"logs_now": WITH_624}}, "^broker 2 did not copy every record within 0 s"),
        ({**WAITS, "kill 3": {}}, "^broker 2 was not elected within 0 s"),
        (
            {**WAITS, "pause 1": {"unfenced_now": {1}}},
            "^broker 2 was fenced before the leader was paused: the steps did",
        ),
        ({**WAITS, "pause 1": {"epochs": {2: 14}}}, "^broker 2 was fenced before the leader was paused"),
        (
            {**WAITS, "start 2": {}},
            "^broker 2 did not register anew within the leader's session: the steps did not fit",
        ),
    ],
)
def test_a_late_fetch_that_cannot_be_brought_about(changes: Changes, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "LONG_SESSION", 0)
    with pytest.raises(Failure, match=why) as ended:
        outcome_of(changes)
    assert ended.value.code is Exit.INCONCLUSIVE
