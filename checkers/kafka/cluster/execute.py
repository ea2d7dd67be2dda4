"""A schedule executed on a cluster: each step seen beside the step expected, and the records at the end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from reassure.checkers.kafka.cluster.client import ClusterClient, RecordCounts, RequestRefused
from reassure.checkers.kafka.cluster.observed import BrokerLog, IsrRequest, MetadataWatch, broker_logs, isr_requests
from reassure.checkers.kafka.cluster.processes import SESSION, Cluster, ProcessState
from reassure.checkers.kafka.cluster.schedule import Act, Schedule, ScheduledStep
from reassure.checkers.kafka.controller.words import ControllerState, described_state
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.partition import NOBODY, Broker, Partition

POLL = 0.05
UNCOMPARED = ("registrations", "shutting down", "MinISR", "cordoned", "unregistered")
"""Fields of a state that a model may leave out, or that a cluster has otherwise by when it began."""
EPOCHS = ("leader epoch", "partition epoch")
"""Compared by how much they have risen."""
REQUESTS = (Act.REASSIGN, Act.CANCEL, Act.SET)
"""Acts whose answers are compared."""
RATE = {"leader.replication.throttled.rate": "1", "follower.replication.throttled.rate": "1"}
"""Bytes a second of a throttled copy: after one fetch (`replica.fetch.max.bytes`) it rests for ten seconds."""


@dataclass(frozen=True)
class Workload:
    """Records to produce with acks=all. records: before the run. per_second: during it. bytes: of each record."""

    records: int = 20_000
    bytes: int = 200
    per_second: int = 20


@dataclass(frozen=True)
class Waits:
    """Seconds. request: for the state after a request, which the controller writes before it answers. session: for the
    state after a broker's session expired. step: for any other state. settle: after a step, so that brokers hear of it.

    bring_up: until every broker is there. rest: how long a state has to stay to count as lasting.
    """

    request: float = 15.0
    session: float = 3 * SESSION
    step: float = 60.0
    settle: float = 1.0
    bring_up: float = 240.0
    rest: float = 15.0


@dataclass(frozen=True)
class ExecutedStep:
    """A step on the cluster. differs: field, the run's value, the cluster's; empty if the expected state was seen.

    seen: the states that the partition went through. logs: of every broker, after the step.
    """

    step: ScheduledStep
    seconds: float
    differs: tuple[tuple[str, str, str], ...]
    seen: tuple[ControllerState, ...]
    logs: tuple[BrokerLog, ...]
    controller_epoch: int


@dataclass
class Execution:
    """A run on a cluster. records: None if they could not be read; why_not then says why."""

    steps: list[ExecutedStep] = field(default_factory=list)
    records: RecordCounts | None = None
    why_not: str = ""
    sent: int = 0
    failed: int = 0
    """Records that were refused, or not acknowledged in time."""
    logs: tuple[BrokerLog, ...] = ()

    @property
    def difference(self) -> ExecutedStep | None:
        """The first step after which the cluster was in another state."""
        return next((step for step in self.steps if step.differs), None)


class Executor:
    """Executes schedules on one cluster, each with a topic of its own. tell: is called with each step's text.

    deadline: of `time.monotonic`, after which a run is given up.
    """

    def __init__(
        self,
        cluster: Cluster,
        client: ClusterClient,
        waits: Waits,
        tell: Callable[[str], None],
        deadline: float = math.inf,
    ) -> None:
        self.cluster, self.client, self.waits, self.tell, self.deadline = cluster, client, waits, tell, deadline
        self.watch = MetadataWatch(cluster.metadata)
        self.topic = ""
        self.plan: Schedule
        self.throttled: frozenset[int] = frozenset()

    # -- waiting -------------------------------------------------------------------------------------------------

    def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Polls the metadata log until a condition holds; False after so many seconds. `Failure` at the time limit."""
        end = time.monotonic() + seconds
        while True:
            if time.monotonic() > self.deadline:
                raise Failure(Exit.INCONCLUSIVE, "the time limit was reached")
            self.watch.poll()
            self.cluster.alive()
            if condition():
                return True
            if time.monotonic() >= end:
                return False
            time.sleep(POLL)

    def rest(self, seconds: float) -> None:
        """Lets the cluster run."""
        self.until(lambda: False, seconds)

    def bring_up(self) -> None:
        """Starts every node that is down, lets paused ones go on, and waits until all brokers are unfenced."""
        for node in self.cluster.nodes.values():
            if node.state is ProcessState.DOWN:
                self.cluster.start(node.node)
            elif node.state is ProcessState.PAUSED:
                self.cluster.resume(node.node)
        self.tell("starting brokers")
        everybody = {broker.node for broker in self.cluster.brokers}
        if not self.until(lambda: self.watch.unfenced() >= everybody, self.waits.bring_up):
            missing = ", ".join(str(b) for b in sorted(everybody - self.watch.unfenced()))
            raise Failure(Exit.SYSTEM, f"broker {missing} did not come up within {self.waits.bring_up:g} s")

    # -- a run ---------------------------------------------------------------------------------------------------

    def begin(self, topic: str, plan: Schedule, load: Workload) -> Execution:
        """Creates the topic, and produces the records that are there before the run."""
        self.topic, self.plan, self.throttled = topic, plan, frozenset()
        self.watch.watch(topic, plan.brokers)
        settings = {"min.insync.replicas": str(plan.min_isr)}
        settings["unclean.leader.election.enable"] = str(plan.start.unclean).lower()
        self.tell(f"creating topic {topic}")
        self._request(lambda: self.client.create(topic, tuple(map(int, plan.start.partition.replicas)), settings), "")
        if not self.until(lambda: bool(self.watch.states), self.waits.step):
            raise Failure(Exit.INCONCLUSIVE, f"topic {topic} did not appear in the metadata log")
        if plan.throttles:
            self.client.set("BROKER", "", RATE)
        if load.records:
            self.tell(f"producing {load.records:,} records")
            self.client.produce(topic, load.records, load.bytes)
        if load.per_second:
            self.client.feed(topic, load.bytes, load.per_second)
        return Execution()

    def take(self, step: ScheduledStep, execution: Execution) -> None:
        """Takes a step, and waits for its state; the run goes on after a difference."""
        began = time.monotonic()
        self.tell(f"step {step.number}: {step.text}")
        self.throttle(step.held)
        self.watch.poll()
        at = max(0, len(self.watch.states) - 1)
        if step.act is Act.WAIT and execution.steps:
            at = self._place_after(execution.steps[-1].step, at)
        refused = self._act(step)
        patience = self._patience(step.act)
        right = right_states(step)
        if step.resigns:
            differs = self._resignation(patience)
        else:
            reached = self.until(
                lambda: any(self.same(s.state, r) for s in self.watch.states[at:] for r in right), patience
            )
            differs = () if reached else self.differences(step.expected, self.watch.states[-1].state)
        if step.act in REQUESTS and refused != (step.error or "NONE"):
            differs = (("answer", step.error or "NONE", refused), *differs)
        self.rest(self.waits.settle)
        seen = tuple(s.state for s in self.watch.states[at:])
        execution.steps.append(
            ExecutedStep(step, time.monotonic() - began, differs, seen, self.logs(), self.watch.controller_epoch)
        )

    def _patience(self, act: Act) -> float:
        if act in REQUESTS:
            return self.waits.request
        return self.waits.session if act in (Act.KILL, Act.PAUSE) else self.waits.step

    def _resignation(self, patience: float) -> tuple[tuple[str, str, str], ...]:
        """Waits until the active controller has resigned."""
        before = self.watch.controller_epoch
        if self.until(lambda: self.watch.controller_epoch > before, max(patience, self.waits.bring_up / 2)):
            return ()
        return (("controller", "it resigns", f"it stays, with epoch {before}"),)

    def _act(self, step: ScheduledStep) -> str:
        """Does the step's part of this program; the name of the error that a request was answered with."""
        client, cluster, topic = self.client, self.cluster, self.topic
        match step.act:
            case Act.REASSIGN:
                return self._request(lambda: client.reassign(topic, step.brokers))
            case Act.CANCEL:
                return self._request(lambda: client.cancel(topic))
            case Act.SET:
                return self._request(lambda: client.set("TOPIC", topic, dict([step.setting])))
            case Act.KILL:
                cluster.kill(step.broker)
            case Act.PAUSE:
                cluster.pause(step.broker)
            case Act.STOP:
                cluster.stop(step.broker)
            case Act.RESUME:
                cluster.resume(step.broker)
            case Act.START:
                cluster.start(step.broker)
        return "NONE"

    def _request(self, request: Callable[[], None], refused: str | None = None) -> str:
        """The name of the error; if `refused` is given, an error ends the run."""
        try:
            request()
        except RequestRefused as error:
            if refused is not None:
                raise Failure(Exit.INCONCLUSIVE, f"the cluster answers {error.name}: {error.message}") from None
            return error.name
        return "NONE"

    def throttle(self, held: frozenset[int]) -> None:
        """Throttles the copies of these followers, and no other."""
        if held == self.throttled:
            return
        self.client.set(
            "TOPIC", self.topic, {"follower.replication.throttled.replicas": ",".join(f"0:{b}" for b in sorted(held))}
        )
        self.throttled = held
        self.rest(self.waits.settle)

    def logs(self) -> tuple[BrokerLog, ...]:
        """The logs of the topic's partition on every broker."""
        return tuple(log for b in self.cluster.brokers for log in broker_logs(b.data, b.node, self.topic))

    def isr_requests(self) -> list[IsrRequest]:
        """The requests for another ISR of the topic that a controller has answered which logs them."""
        return isr_requests(self.cluster.controller.output, self.watch.topic_id() or "")

    # -- states --------------------------------------------------------------------------------------------------

    def same(self, seen: ControllerState, expected: ControllerState) -> bool:
        """Whether two states agree in every compared field."""
        return not self.differences(expected, seen)

    def differences(self, expected: ControllerState, seen: ControllerState) -> tuple[tuple[str, str, str], ...]:
        """The compared fields that differ: name, the run's value, the cluster's."""
        ours, theirs = compared(expected, self.plan.start), compared(seen, self.watch.states[0].state)
        return tuple((name, ours[name], theirs[name]) for name in ours if ours[name] != theirs[name])

    def _place_after(self, step: ScheduledStep, otherwise: int) -> int:
        """The place in the watched states from which a step that brokers take by themselves is looked for.

        Its state may have come while that of the step before was waited for.
        """
        right = right_states(step)
        places = [i for i, s in enumerate(self.watch.states) if any(self.same(s.state, r) for r in right)]
        return places[-1] if places else otherwise

    # -- the end of a run ----------------------------------------------------------------------------------------

    def recover(self) -> bool:
        """Brings every broker back, ends throttles, and waits until every replica is in sync; whether it is."""
        self.throttle(frozenset())
        self.bring_up()

        def whole() -> bool:
            state = self.watch.state()
            return state is not None and state.partition.isr == frozenset(state.partition.replicas)

        return self.until(whole, self.waits.step)

    def read(self, execution: Execution) -> None:
        """Ends the producing, and reads all records."""
        self.tell("reading all records")
        execution.sent, _, execution.failed = self.client.stop(self.topic)
        try:
            execution.records = self.client.consume(self.topic, self.waits.step)
        except RequestRefused as error:
            execution.why_not = f"{error.name}: {error.message}"
        execution.logs = self.logs()


def schedule_of(replicas: tuple[int, ...], brokers: int, min_isr: int) -> Schedule:
    """A schedule without steps, of a new topic."""
    first = tuple(map(Broker, replicas))
    partition = Partition(first, frozenset(first), NOBODY, NOBODY, NOBODY, first[0], 0, 0, False, None)
    everybody = frozenset(Broker(number) for number in range(1, brokers + 1))
    return Schedule(ControllerState(partition, everybody, (0,) * brokers, False), min_isr, True, ())


def right_states(step: ScheduledStep) -> list[ControllerState]:
    """The states to which a step may lead."""
    return [step.expected, *([step.alternative] if step.alternative is not None else [])]


def compared(state: ControllerState, start: ControllerState) -> dict[str, str]:
    """The fields of a state in which a run and a cluster are compared. start: the state from which epochs count."""
    fields = {name: text for name, text in described_state(state).items() if name not in UNCOMPARED}
    first = described_state(start)
    return fields | {name: f"+{int(fields[name]) - int(first[name])}" for name in EPOCHS}
