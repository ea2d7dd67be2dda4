"""Random runs on a cluster: what counts as explained, and their sums."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reassure.checkers.kafka.cluster.client import RecordCounts
from reassure.checkers.kafka.cluster.execute import Execution, Waits
from reassure.checkers.kafka.cluster.model_run import ModelRun
from reassure.checkers.kafka.cluster.processes import ProcessState
from reassure.checkers.kafka.cluster.random_runs import RandomRun, RandomScope, drawn, end_run, judge_log
from reassure.checkers.kafka.cluster.report import random_data, random_record, report_random, report_random_run
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import printed

KEPT = Path(__file__).parents[3] / "helpers" / "kept_logs" / "4.1.0.log"
SCOPE = RandomScope(3, 4, 7, 60.0)
WHOLE = RecordCounts(100, 100, 0, 0, 100)
LOSS = RecordCounts(100, 40, 60, 0, 40)
DIFFERENT = RecordCounts(100, 100, 0, 1, 101)
BY_COMPLETION = "nothing_lost_by_a_completion"


def run(records: RecordCounts | None = WHOLE, broken: dict[str, int] | None = None, *unexplained: str) -> RandomRun:
    return RandomRun("random-1", ["cancel"], records, False, False, 3, broken or {}, list(unexplained))


def compared(model: ModelRun, records: RecordCounts = WHOLE) -> RandomRun:
    return replace(run(records), model=model)


@pytest.mark.parametrize(
    ("one", "code", "unexplained"),
    [
        (run(), Exit.OK, False),
        (run(None), Exit.INCONCLUSIVE, False),
        (run(WHOLE, {"own_steps_keep_min_isr": 1}), Exit.SAFETY, False),
        (run(WHOLE, None, "offset 3"), Exit.TRACE, False),
        (run(None, None, "offset 3"), Exit.TRACE, False),
        (run(LOSS), Exit.TRACE, True),
        (run(LOSS, {"elr_within_replicas": 1}), Exit.TRACE, True),
        (compared(ModelRun(3, 0), LOSS), Exit.TRACE, True),
        (compared(ModelRun(3, 0, (BY_COMPLETION,)), LOSS), Exit.SAFETY, False),
        (replace(run(LOSS), offline=True), Exit.SAFETY, False),
        (compared(ModelRun(3, 0, (BY_COMPLETION,)), DIFFERENT), Exit.TRACE, True),
        (compared(ModelRun(3, 0, difference="offset 9: no")), Exit.TRACE, False),
        (compared(ModelRun(3, 0, undecided="too many states")), Exit.INCONCLUSIVE, False),
        (compared(ModelRun(3, 1)), Exit.OK, False),
    ],
)
def test_exit_codes(one: RandomRun, code: Exit, unexplained: bool) -> None:
    assert (one.code, one.unexplained_loss) == (code, unexplained)


def test_a_log_is_judged_by_the_rules_of_the_release() -> None:
    watched, other = RandomRun("watched"), RandomRun("other")
    judge_log(KEPT, [watched, other], "4.1")
    assert (watched.changes, watched.unexplained) == (46, [])
    assert (other.changes, other.broken, other.unexplained) == (0, {}, [])
    judge_log(KEPT, [watched], "4.3")
    assert len(watched.unexplained) == 5
    assert watched.unexplained[0].startswith("offset 36: 4.3 does not make this change; 3.9, 4.0, 4.1 would: ")


def test_the_same_seed_draws_the_same_steps() -> None:
    def steps(seed: int) -> list[str]:
        states = {1: ProcessState.RUNNING, 2: ProcessState.RUNNING, 3: ProcessState.DOWN, 4: ProcessState.PAUSED}
        brokers = [SimpleNamespace(node=number, state=state) for number, state in states.items()]
        executor: Any = SimpleNamespace(cluster=SimpleNamespace(brokers=brokers), client=None, topic="t")
        executor.cluster.start = executor.cluster.resume = None
        rng = random.Random(seed)
        return [drawn(executor, rng, [1, 2, 3, 4])[0] for _ in range(300)]

    first = steps(1)
    assert first == steps(1)
    assert first != steps(2)
    kinds = {text.split("[")[0].rstrip(" 1234") for text in first}
    assert kinds == {
        "reassign to", "cancel", "throttle the copies of", "set min.insync.replicas to", "kill -9 broker",
        "kill -STOP broker", "start broker", "kill -CONT broker",
    }  # fmt: skip


def test_the_last_running_broker_stays() -> None:
    brokers = [SimpleNamespace(node=1, state=ProcessState.RUNNING), SimpleNamespace(node=2, state=ProcessState.DOWN)]
    noted: list[int] = []
    act: Callable[[int], None] = noted.append
    cluster = SimpleNamespace(brokers=brokers, start=act, kill=act, pause=act, resume=act)
    executor: Any = SimpleNamespace(cluster=cluster, client=None, topic="t")
    texts = {drawn(executor, random.Random(seed), [1, 2, 3])[0] for seed in range(300)}
    assert "start broker 2" in texts
    assert not [text for text in texts if text.startswith("kill")]


class PlayedEnd:
    """Stands for the executor at the end of a run. leaders: when it is looked at; reads: whether records come."""

    def __init__(self, leaders: list[int | None], reads: list[bool]) -> None:
        self.leaders, self.reads, self.elected, self.waits = leaders, reads, 0, Waits()
        self.watch = self.client = self

    def state(self) -> SimpleNamespace:
        leader = self.leaders.pop(0)
        return SimpleNamespace(partition=SimpleNamespace(leader=leader, adding=frozenset(), removing=frozenset()))

    def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        return condition()

    def read(self, execution: Execution) -> None:
        execution.records = WHOLE if self.reads.pop(0) else None
        execution.why_not = "" if execution.records else "TimeoutException: no"

    def elect_uncleanly(self, topic: str) -> None:
        self.elected += 1

    def recover(self) -> None:
        pass

    poll = recover


@pytest.mark.parametrize(
    ("leaders", "reads", "elected", "records"),
    [
        ([1, 1], [True], 0, WHOLE),
        ([None, None], [True], 1, WHOLE),
        ([1, 1, None], [False, True], 1, WHOLE),
        ([1, 1, 1], [False, False], 0, None),
    ],
)
def test_records_are_read_once_somebody_leads(
    leaders: list[int | None], reads: list[bool], elected: int, records: RecordCounts | None
) -> None:
    played: Any = PlayedEnd(leaders, reads)
    one = RandomRun("random-1")
    end_run(played, one, Execution())
    assert (played.elected, one.offline, one.records) == (elected, elected > 0, records)
    assert one.why_not == ("" if records else "TimeoutException: no")
    assert (played.leaders, played.reads) == ([], [])


def test_sums_and_their_report() -> None:
    losing = compared(ModelRun(5, 1, (BY_COMPLETION,)), LOSS)
    losing.never_ended, losing.broken = True, {"elr_within_replicas": 2}
    offline = run(LOSS)
    offline.offline = True
    runs = [
        compared(ModelRun(7, 2)),
        losing,
        offline,
        run(LOSS),
        run(None, None, "offset 3: a change"),
        compared(ModelRun(4, 1, difference="offset 9: no")),
        compared(ModelRun(0, 0, undecided="too many states")),
    ]
    for each in runs:
        each.seconds = 50.0
    record = random_record(runs, "4.4.0", SCOPE)
    assert asdict(record) == {
        "release": "4.4.0", "brokers": 4, "seed": 7, "minutes": 6, "runs": 7, "steps": 7, "changes": 21,
        "not_by_rules": 1, "matched": 2, "not_matched": 1, "undecided": 1, "model_steps": 16, "hidden_steps": 4,
        "acknowledged": 600, "lost": 180, "different": 0,
        "lost_by": {"": 60, "an unclean election by hand": 60, "nothing_lost_by_a_completion": 60}, "never_ended": 1,
        "offline": 1, "broken": {"elr_within_replicas": 1}, "unread": 1, "note": "",
    }  # fmt: skip
    each = random_data(runs, "4.4.0", SCOPE)["each"]
    assert each[1]["records"]["lost"] == 60
    assert each[0]["model"] == {"steps": 7, "hidden": 2, "losses": (), "difference": "", "undecided": ""}
    codes: list[Exit] = []
    text = printed(lambda console: codes.append(report_random(runs, "4.4.0", SCOPE, console)))
    assert codes == [Exit.TRACE]
    assert text.splitlines() == [
        "Kafka 4.4.0, 4 brokers, seed 7: 7 runs, 7 requests and faults, 21 changes of partitions, "
        "1 that the rules do not make",
        "the model: 2 runs matched by one of the model, 1 not matched, 1 undecided; 16 steps observed, 4 hidden",
        "records: 600 acknowledged, 180 lost, 0 different",
        "  lost without an explanation: 60",
        "  lost by an unclean election by hand: 60",
        "  lost by nothing_lost_by_a_completion: 60",
        "  elr_within_replicas: broken in 1 runs",
        "  reassignments that did not end by themselves: 1; partitions without a leader at the end: 1; not read: 1",
    ]
    assert printed(lambda console: report_random_run(losing, console)).splitlines() == [
        "random-1: cancel",
        "  3 changes of the partition, its reassignment did not end by itself, elr_within_replicas broken 2 times",
        "  60 of 100 records lost by nothing_lost_by_a_completion, 0 different",
    ]


def test_no_run_is_no_result() -> None:
    codes: list[Exit] = []
    assert printed(lambda console: codes.append(report_random([], "4.4.0", SCOPE, console))) == "no run was executed\n"
    assert codes == [Exit.NOTHING]
