"""Random runs on a cluster: what counts as explained, and their sums."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.terminal import printed
from reassure.checkers.kafka.cluster.client import RecordCounts
from reassure.checkers.kafka.cluster.model_run import ModelRun
from reassure.checkers.kafka.cluster.processes import ProcessState
from reassure.checkers.kafka.cluster.random_runs import RandomRun, RandomScope, drawn, judge_log
from reassure.checkers.kafka.cluster.report import random_record, random_totals, report_random, report_random_run

KEPT = Path(__file__).parents[3] / "helpers" / "kept_logs" / "4.1.0.log"
SCOPE = RandomScope(3, 4, 7, 60.0)
WHOLE = RecordCounts(100, 100, 0, 0, 100)
LOSS = RecordCounts(100, 40, 60, 0, 40)


def run(records: RecordCounts | None = WHOLE, broken: dict[str, int] | None = None, *unexplained: str) -> RandomRun:
    return RandomRun("random-1", ["cancel"], records, False, False, 3, broken or {}, list(unexplained))


def compared(model: ModelRun) -> RandomRun:
    return replace(run(), model=model)


@pytest.mark.parametrize(
    ("one", "code", "unexplained"),
    [
        (run(), Exit.OK, False),
        (run(None), Exit.INCONCLUSIVE, False),
        (run(WHOLE, {"own_steps_keep_min_isr": 1}), Exit.SAFETY, False),
        (run(WHOLE, None, "offset 3"), Exit.TRACE, False),
        (run(None, None, "offset 3"), Exit.TRACE, False),
        (run(LOSS, {"elr_within_replicas": 1}), Exit.SAFETY, False),
        (run(LOSS, {"own_steps_keep_min_isr": 1}), Exit.TRACE, True),
        (run(LOSS), Exit.TRACE, True),
        (run(RecordCounts(100, 100, 0, 1, 101), {"elr_within_replicas": 1}), Exit.TRACE, True),
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


def test_sums_and_their_report() -> None:
    losing = run(LOSS, {"elr_within_replicas": 2})
    losing.never_ended = losing.offline = True
    runs = [
        compared(ModelRun(7, 2)),
        losing,
        run(None, None, "offset 3: a change"),
        compared(ModelRun(4, 1, difference="offset 9: no")),
        compared(ModelRun(0, 0, undecided="too many states")),
    ]
    assert random_totals(runs) == {
        "runs": 5, "steps": 5, "changes": 15, "unexplained": 1, "matched": 1, "not_matched": 1, "undecided": 1,
        "model_steps": 11, "hidden_steps": 3, "acknowledged": 400, "lost": 60, "losing": 1,
        "different": 0, "unexplained_losses": 0, "broken": {"elr_within_replicas": 1}, "never_ended": 1, "offline": 1,
        "unread": 1,
    }  # fmt: skip
    record = random_record(runs, "4.4.0", SCOPE)
    assert (record["release"], record["brokers"], record["seed"], len(record["runs"])) == ("4.4.0", 4, 7, 5)
    assert record["runs"][1]["records"]["lost"] == 60
    assert record["runs"][0]["model"] == {"steps": 7, "hidden": 2, "difference": "", "undecided": ""}
    codes: list[Exit] = []
    text = printed(lambda console: codes.append(report_random(runs, "4.4.0", SCOPE, console)))
    assert codes == [Exit.TRACE]
    assert text.splitlines() == [
        "Kafka 4.4.0, 4 brokers, seed 7: 5 runs, 5 steps, 15 changes of partitions, 1 that the rules do not make",
        "the model: 1 runs matched by one of the model, with 11 steps seen and 3 hidden; 1 not matched, 1 undecided",
        "records: 400 acknowledged, 60 lost in 1 runs, 0 different; in 0 runs no broken promise explains a loss",
        "  elr_within_replicas: broken in 1 runs",
        "  reassignments that did not end by themselves: 1; partitions without a leader at the end: 1; not read: 1",
    ]
    assert printed(lambda console: report_random_run(losing, console)).splitlines() == [
        "random-1: cancel",
        "  3 changes of the partition, its reassignment did not end by itself, it had no leader at the end, "
        "elr_within_replicas broken 2 times",
        "  60 of 100 records lost, 0 different",
    ]


def test_no_run_is_no_result() -> None:
    codes: list[Exit] = []
    assert printed(lambda console: codes.append(report_random([], "4.4.0", SCOPE, console))) == "no run was executed\n"
    assert codes == [Exit.NOTHING]
