"""Random requests and faults on a cluster: compared with the model step by step, and every record is looked for.

A run of the model is looked for that matches the metadata log, and each change of the log is judged by the rules of the
release (`reassure audit`): a state or a change without one is a difference between model and cluster. A lost record is
explained if the run of the model violates a property about lost records, or an unclean election was asked for.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reassure.checkers.kafka.audit.judge import ChangeJudge
from reassure.checkers.kafka.audit.log_files import LogFile, LogRead, changes_in
from reassure.checkers.kafka.cluster.client import RecordCounts, RequestRefused
from reassure.checkers.kafka.cluster.distribution import Distribution
from reassure.checkers.kafka.cluster.execute import Execution, Executor, Workload, schedule_of
from reassure.checkers.kafka.cluster.model_run import ModelRun, matching_run
from reassure.checkers.kafka.cluster.observed import FIRST_SEGMENT
from reassure.checkers.kafka.cluster.processes import ProcessState
from reassure.checkers.kafka.cluster.session import ClusterLimits, started_cluster
from reassure.checkers.machine.exit_codes import Exit

BROKERS = 4
MIN_ISR = 2
PAUSES = (0.2, 1.0, 3.0, 11.0)
"""Seconds after a step: the last is longer than a broker's session."""
STEPS = (4, 10)
"""The fewest and the most steps of a run."""
BY_HAND = "an unclean election by hand"
"""The explanation of a loss where the partition had no leader though every broker was back."""


@dataclass
class RandomRun:
    """One run: the steps taken, and the result. records: None if they could not be read, and why_not says why.

    never_ended, offline: the reassignment had to be cancelled, the leader to be elected by hand. model: the comparison
    with the model; None if there was none. changes: of the partition. broken: promises, with their number. unexplained:
    changes that the release's rules do not make. seconds: with the end, where every broker comes back.
    """

    topic: str
    steps: list[str] = field(default_factory=list)
    records: RecordCounts | None = None
    never_ended: bool = False
    offline: bool = False
    changes: int = 0
    broken: dict[str, int] = field(default_factory=dict)
    unexplained: list[str] = field(default_factory=list)
    model: ModelRun | None = None
    seconds: float = 0.0
    why_not: str = ""

    @property
    def code(self) -> Exit:
        """18 for a difference or an unexplained loss, 5 if something was not decided, 12 for a broken promise."""
        if self.unexplained or self.unexplained_loss or (self.model is not None and self.model.difference):
            return Exit.TRACE
        if self.records is None or (self.model is not None and self.model.undecided):
            return Exit.INCONCLUSIVE
        return Exit.SAFETY if self.broken or self.records.lost else Exit.OK

    @property
    def explanations(self) -> list[str]:
        """What may lose records in this run: properties that the run of the model violates, an election by hand."""
        return [*(self.model.losses if self.model is not None else ()), *[BY_HAND] * self.offline]

    @property
    def unexplained_loss(self) -> bool:
        """Whether records are lost without an explanation, or others than were sent."""
        if self.records is None:
            return False
        return self.records.different > 0 or (self.records.lost > 0 and not self.explanations)


@dataclass(frozen=True)
class RandomScope:
    """runs: at most so many. seconds: after which no run begins."""

    runs: int
    brokers: int
    seed: int
    seconds: float


def execute_random(
    kafka: Distribution, scope: RandomScope, limits: ClusterLimits, tell: Callable[[str], None]
) -> Generator[RandomRun, None, None]:
    """Executes random runs on a cluster, and judges each; the same seed draws the same steps, as long as brokers agree.

    `Failure` if the cluster cannot be started, or a process ends by itself.
    """
    with started_cluster(kafka, scope.brokers, True, limits, tell) as executor:
        end = time.monotonic() + scope.seconds
        for number in range(scope.runs):
            if time.monotonic() >= end:
                return
            rng, began = random.Random(f"{scope.seed} {number}"), time.monotonic()
            run = _carried_out(executor, RandomRun(f"random-{number + 1}"), rng)
            tell(f"{run.topic}: comparing with the model")
            run.model = matching_run(executor.watch.states, kafka.release.rules, executor.cluster.from_4)
            judge_log(executor.cluster.metadata / FIRST_SEGMENT, [run], kafka.release.rules)
            run.seconds = time.monotonic() - began
            yield run


def _carried_out(executor: Executor, run: RandomRun, rng: random.Random) -> RandomRun:
    brokers = [broker.node for broker in executor.cluster.brokers]
    replicas = rng.sample(brokers, rng.choice((2, 2, 3)))
    executor.bring_up()
    execution = executor.begin(run.topic, schedule_of(tuple(replicas), len(brokers), MIN_ISR), Workload(5_000, 200, 50))
    executor.client.set("BROKER", "", {"follower.replication.throttled.rate": "1"})
    for _ in range(rng.randint(*STEPS)):
        step, act = drawn(executor, rng, brokers)
        executor.tell(f"{run.topic}: {step}")
        try:
            act()
        except RequestRefused as error:
            step += f" -> {error.name}"
        run.steps.append(step)
        executor.rest(rng.choice(PAUSES))
    end_run(executor, run, execution)
    return run


def drawn(executor: Executor, rng: random.Random, brokers: list[int]) -> tuple[str, Callable[[], None]]:
    """A step in words, and the step: reassignments, cancellations, faults and returns."""
    cluster, client, topic = executor.cluster, executor.client, executor.topic
    state = {broker.node: broker.state for broker in cluster.brokers}
    running = [n for n, s in state.items() if s is ProcessState.RUNNING]
    away = [n for n, s in state.items() if s is not ProcessState.RUNNING]
    target = tuple(rng.sample(brokers, rng.choice((1, 2, 2, 3))))
    least = str(rng.choice((1, MIN_ISR)))
    slow = frozenset(rng.sample(brokers, rng.choice((0, 0, 1, 2))))
    choices: list[tuple[int, str, Callable[[], None]]] = [
        (5, f"reassign to {list(target)}", lambda: client.reassign(topic, target)),
        (2, "cancel", lambda: client.cancel(topic)),
        (2, f"throttle the copies of {sorted(slow)}", lambda: executor.throttle(slow)),
        (1, f"set min.insync.replicas to {least}", lambda: client.set("TOPIC", topic, {"min.insync.replicas": least})),
    ]
    if len(running) > 1:
        victim = rng.choice(running)
        choices.append((3, f"kill -9 broker {victim}", lambda: cluster.kill(victim)))
        choices.append((1, f"kill -STOP broker {victim}", lambda: cluster.pause(victim)))
    if away:
        back = rng.choice(away)
        paused = state[back] is ProcessState.PAUSED
        come = cluster.resume if paused else cluster.start
        choices.append((4, f"{'kill -CONT' if paused else 'start'} broker {back}", lambda: come(back)))
    _, text, act = rng.choices(choices, [weight for weight, _, _ in choices])[0]
    return text, act


def end_run(executor: Executor, run: RandomRun, execution: Execution) -> None:
    """Brings every broker back, ends what does not end by itself, and reads all records."""
    executor.recover()

    def settled() -> bool:
        state = executor.watch.state()
        return state is not None and not state.partition.adding | state.partition.removing

    if not executor.until(settled, executor.waits.rest):
        run.never_ended = True
        try:
            executor.client.cancel(run.topic)
        except RequestRefused as error:
            run.steps.append(f"cancel -> {error.name}")
    _elect_if_offline(executor, run)
    executor.read(execution)
    if execution.records is None:  # since then a broker that had been killed registered anew, and nobody led
        _elect_if_offline(executor, run)
        executor.read(execution)
    run.records, run.why_not = execution.records, execution.why_not


def _elect_if_offline(executor: Executor, run: RandomRun) -> None:
    executor.watch.poll()
    state = executor.watch.state()
    if state is not None and state.partition.leader is None:
        run.offline = True
        try:
            executor.client.elect_uncleanly(run.topic)
        except RequestRefused as error:
            run.steps.append(f"elect uncleanly -> {error.name}")
    executor.recover()


def judge_log(file: Path, runs: Sequence[RandomRun], rules: str) -> None:
    """Judges a metadata log by the rules of a release, and notes each run's part."""
    by_topic = {run.topic: run for run in runs}
    changes = [c for c in changes_in([LogFile(str(file))], LogRead()) if c.topic in by_topic]
    for run in runs:
        run.changes = sum(c.topic == run.topic and c.before is not None for c in changes)
        run.broken, run.unexplained = {}, []
    for finding in ChangeJudge(rules, MIN_ISR).judge(changes).findings:
        run = by_topic[finding.topic]
        if finding.kind == "rule":
            run.unexplained.append(f"offset {finding.offset}: {finding.name}: {finding.change}")
        else:
            run.broken[finding.name] = run.broken.get(finding.name, 0) + 1
