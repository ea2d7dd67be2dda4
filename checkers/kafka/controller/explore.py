"""Breadth-first search over the states of Kafka's own controller: the real class is the model.

A state is the partition without its epochs, the brokers' states, and the topic's configuration: two words, `state` and
`settings` (`words.packed_state` without epochs and incarnations). Every command is tried in every state, by several
JVMs; nothing limits how often. States are numbered in the order of the search, which does not depend on the JVMs, so
that results are the same each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.kafka.controller.class_path import ClassPath
from reassure.checkers.kafka.controller.driver import Driver, Words
from reassure.checkers.kafka.controller.words import (
    CORDONED,
    ELR,
    FENCED,
    ISR,
    LAST_KNOWN,
    LEADER,
    LISTED_OTHERWISE,
    MIN_ISR,
    RECOVERING,
    REFUSED_PROPOSALS,
    REMEMBERED,
    SETTINGS,
    SHUTTING_DOWN,
    UNCLEAN,
    UNREGISTERED,
    UNVERIFIED_PROPOSALS,
    Command,
    ControllerState,
    Kind,
    Setup,
    packed_second,
    packed_state,
    unpacked_state,
)
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import ALL_VISITED, Interrupted, Stop, budget_ended, depth_reached
from reassure.spec.kafka.partition import NOBODY, Broker, Partition

BATCH = 256
"""States that a JVM gets at once."""
NOT_APPLICABLE = 1 << 23
LATE = "late-proposals"
UNVERIFIED = "unverified-proposals"
EVENTS = {
    "controlled-shutdown": (Kind.CONTROLLED_SHUTDOWN,),
    "cordon": (Kind.CORDON, Kind.UNCORDON),
    "directories": (Kind.ASSIGN_DIRECTORY,),
    "unregister": (Kind.UNREGISTER,),
    LATE: REFUSED_PROPOSALS,
    UNVERIFIED: UNVERIFIED_PROPOSALS,
}
"""Events that are searched on request: of each broker; late proposals of all brokers as the ISR, unverified ones of
every ISR."""
OF_ISR = (LATE, UNVERIFIED)
"""Events that are proposals of an ISR, not of a broker."""
KEY_BROKERS, KEY_MIN_ISR = 4, 7
"""The most brokers whose settings fit into a key, and the bits of MinISR there."""
TOPIC_BROKERS, TOPIC_MIN_ISR = 3, 3
"""The same where the topic may have a second partition; of brokers that are cordoned or not registered, two at most."""


@dataclass(frozen=True)
class Scope:
    """The bounds of an exploration. unclean: the settings of unclean election to begin with.

    configuration_changes: MinISR (1 to `brokers`) and unclean election are changed on the way. events: of `EVENTS`.
    elr, metadata_version, company, topic: as of `Setup`. start: the initial states; none: as `initial_states` has it.
    """

    brokers: int
    min_isr: int = 2
    replication_factor: int = 2
    unclean: tuple[bool, ...] = (False, True)
    configuration_changes: bool = False
    events: tuple[str, ...] = ()
    elr: bool = True
    metadata_version: str = ""
    company: bool = False
    topic: bool = False
    start: tuple[ControllerState, ...] = ()

    @property
    def setup(self) -> Setup:
        """The controller that is searched."""
        directories = 2 if "directories" in self.events else 1
        cluster = (self.brokers, self.min_isr, 0, self.elr, self.metadata_version, directories)
        return Setup(*cluster, self.company, self.topic)

    @property
    def text(self) -> str:
        """The bounds in a line."""
        allowed = " and ".join("on" if unclean else "off" for unclean in self.unclean)
        texts = [f"{self.brokers} brokers", f"MinISR {self.min_isr}"]
        texts.append("from a state of a run" if self.start else f"{self.replication_factor} replicas at first")
        texts.append(f"unclean election {allowed}")
        texts += ["changes of both"] if self.configuration_changes else []
        texts += [name.replace("-", " ") for name in self.events]
        texts += [] if self.elr else ["ELR off"]
        texts += [f"metadata version {self.metadata_version}"] if self.metadata_version else []
        texts += ["a second partition in each request"] if self.company else []
        texts += ["the topic deleted, created, given a second partition"] if self.topic else []
        return ", ".join(texts)

    @property
    def follows_logs(self) -> bool:
        """Whether the brokers' logs are known at first, and an unclean election may be forbidden."""
        return False in self.unclean and not self.start and not self.topic

    def initial_states(self) -> list[ControllerState]:
        """Replicas on the first brokers, all in sync, led by the first; everybody alive. Unless others are given."""
        if self.start:
            return list(self.start)
        replicas = tuple(Broker(b) for b in range(1, self.replication_factor + 1))
        everybody = frozenset(Broker(b) for b in range(1, self.brokers + 1))
        partition = Partition(replicas, frozenset(replicas), NOBODY, NOBODY, NOBODY, replicas[0], 0, 0, False, None)
        nobody_restarted = (0,) * self.brokers
        return [
            ControllerState(partition, everybody, nobody_restarted, unclean, min_isr=self.min_isr)
            for unclean in self.unclean
        ]

    def commands(self) -> list[Command]:
        """Every ordered target, cancellation, every ISR proposal, events of brokers, every election, configurations."""
        brokers = range(1, self.brokers + 1)
        commands = [Command(Kind.REASSIGN, 0, ids) for n in brokers for ids in permutations(brokers, n)]
        commands.append(Command(Kind.CANCEL))
        commands += [Command(Kind.PROPOSE, 0, ids) for n in brokers for ids in combinations(brokers, n)]
        kinds = [Kind.FENCE, Kind.UNFENCE, Kind.RESTART_UNCLEANLY, Kind.RESTART_CLEANLY]
        kinds += [kind for name, of in EVENTS.items() if name in self.events and name not in OF_ISR for kind in of]
        commands += [Command(kind, broker) for kind in kinds for broker in brokers]
        commands += [Command(kind, 0, tuple(brokers)) for kind in EVENTS[LATE] if LATE in self.events]
        unverified = EVENTS[UNVERIFIED] if UNVERIFIED in self.events else ()
        commands += [Command(kind, 0, ids) for kind in unverified for n in brokers for ids in combinations(brokers, n)]
        elections = (Kind.ELECT_PREFERRED, Kind.ELECT_UNCLEAN, Kind.MAYBE_ELECT_UNCLEAN)
        commands += [Command(kind) for kind in (*elections, Kind.BALANCE, Kind.ELECT_LEADERLESS)]
        if self.configuration_changes:
            commands += [Command(Kind.CHANGE_MIN_ISR, value) for value in brokers]
            commands += [Command(Kind.CHANGE_UNCLEAN, value) for value in (0, 1)]
        return commands + (self._of_topic(commands) if self.topic else [])

    def _of_topic(self, commands: list[Command]) -> list[Command]:
        """What is asked of the topic, of its second partition as of the first, and of both in one request.

        In a request for both, one part or both are a cancellation or name a broker that there is not.
        """
        targets = [c.brokers for c in commands if c.kind is Kind.REASSIGN]
        more = [Command(Kind.DELETE_TOPIC)]
        more += [Command(kind, 0, ids) for kind in (Kind.CREATE_TOPIC, Kind.ADD_PARTITION) for ids in targets]
        of_partition = (Kind.REASSIGN, Kind.CANCEL, Kind.PROPOSE, Kind.ELECT_PREFERRED, Kind.ELECT_UNCLEAN)
        more += [replace(c, partition=1) for c in commands if c.kind in of_partition]
        wrong: list[tuple[int, ...]] = [(), (self.brokers + 1,)]
        pairs = [(ids, other) for ids in targets for other in wrong]
        pairs += [(other, ids) for ids, other in pairs]
        return more + [Command(Kind.REASSIGN_BOTH, 0, ids, others=others) for ids, others in [*pairs, ((), ())]]


@dataclass
class ControllerExploration:
    """The state graph. Arrays over states are in the order of the search; those over steps by state and command."""

    version: str
    scope: Scope
    commands: list[Command]
    states: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    settings: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of each state: MinISR, cordoned brokers, unregistered brokers, as in the word of the incarnations."""
    second: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of each state: the topic's second partition; empty if the topic always has one partition."""
    keys: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of each state: a number that is its own (`keys_of`), the same in every exploration with as many brokers."""
    levels: list[int] = field(default_factory=list)
    """The number of states of each level."""
    parents: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of each state: number of the state before times the number of commands, plus the command; -1: initial."""
    targets: Words = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    """Of each expanded state and command: the number of the state after; -1 where it was not found yet."""
    answers: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    """Of each expanded state and command: the answer, where there may be a second partition its own from bit 32 on."""
    stopped: Stop = ALL_VISITED
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        return self.stopped is ALL_VISITED

    @property
    def applies(self) -> NDArray[np.bool_]:
        """By state and command: it was executed."""
        return np.asarray((self.answers & NOT_APPLICABLE) == 0)

    @property
    def steps(self) -> int:
        return int(self.applies.sum())

    @property
    def min_isr(self) -> Words:
        """Of each state: min.insync.replicas."""
        return self.settings >> MIN_ISR & 255

    def state(self, number: int) -> ControllerState:
        """A state, its epochs and incarnations zero."""
        second = int(self.second[number]) if self.scope.topic else 0
        return unpacked_state(int(self.states[number]), 0, int(self.settings[number]), self.scope.brokers, second)

    def number_of(self, state: ControllerState) -> int:
        """The number of a state, whatever its epochs and incarnations; -1 if it was not found."""
        word, _, incarnations = packed_state(state)
        same = (self.states == word) & (self.settings == (incarnations & SETTINGS))
        if self.scope.topic:
            same &= self.second == packed_second(state)[0]
        numbers = np.flatnonzero(same)
        return int(numbers[0]) if len(numbers) else -1

    def level_of(self, number: int) -> int:
        """The level of a state, the initial states being level 1."""
        return int(np.searchsorted(np.cumsum(self.levels), number, side="right")) + 1

    def path(self, number: int) -> tuple[int, list[Command]]:
        """A shortest way to a state: the number of the initial state, and the commands."""
        commands: list[Command] = []
        while (origin := int(self.parents[number])) >= 0:
            number, command = divmod(origin, len(self.commands))
            commands.insert(0, self.commands[command])
        return number, commands


@dataclass
class ExploreLimits:
    """The limits of an exploration. depth: levels. budget: seconds."""

    depth: int | None = None
    budget: float | None = None

    def must_have_time(self, began: float) -> None:
        """Raises `Interrupted` when the time since `began` is up."""
        if self.budget is not None and time.monotonic() - began > self.budget:
            raise budget_ended(self.budget)


class Expander(Protocol):
    """Executes the commands: JVMs of this machine, or a cluster."""

    def expand(self, states: Words, began: float, limits: ExploreLimits, report: Callable[[int], None]) -> NDArray[Any]:
        """Every command in every row (state, settings), as `Driver.expand`; `Interrupted` when the time is up.

        began: when the search did (`time.monotonic`). report: called now and then, with how many states are done.
        """
        ...


def explore_controller(
    class_path: ClassPath, scope: Scope, jvms: int, limits: ExploreLimits, progress: Progress
) -> ControllerExploration:
    """Searches every state of the controller; raises `JvmLost` if a JVM is lost."""
    began = time.monotonic()
    with ExitStack() as stack:
        drivers = [stack.enter_context(Driver(class_path)) for _ in range(jvms)]
        return explore_with(drivers, scope, limits, progress, began)


def explore_with(
    drivers: Sequence[Driver], scope: Scope, limits: ExploreLimits, progress: Progress, began: float | None = None
) -> ControllerExploration:
    """The same by JVMs of one build that run already, and run on. began: when the search did (default: now)."""
    pool = _Pool(drivers, scope)
    with pool.threads:
        start = time.monotonic() if began is None else began
        return search(drivers[0].release.version, scope, pool, start, limits, progress)


def search(
    version: str, scope: Scope, expander: Expander, began: float, limits: ExploreLimits, progress: Progress
) -> ControllerExploration:
    """Breadth-first, level by level. began: when it did, the start of what executes the commands included."""
    graph = ControllerExploration(version, scope, scope.commands())
    second = [packed_second(state)[:1] if scope.topic else () for state in scope.initial_states()]
    states = zip(scope.initial_states(), second, strict=True)
    first = np.array([(*packed_state(state)[::2], *other) for state, other in states], np.int64)
    table = _Table(first, scope.brokers)
    frontier, parents, successors, answers = first, [np.full(len(first), -1, np.int64)], [], []
    try:
        while len(frontier):
            graph.levels.append(len(frontier))
            if limits.depth is not None and len(graph.levels) > limits.depth:
                raise Interrupted(depth_reached(limits.depth).reason, depth_reached(limits.depth).text)
            numbers = np.arange(table.size - len(frontier), table.size)
            got = expander.expand(frontier, began, limits, _reporter(progress, graph, table, len(frontier)))
            columns = ["state", "settings", *(["second"] if scope.topic else [])]
            rows = np.stack([got[column].astype(np.int64) for column in columns], axis=-1)
            successors.append(keys_of(rows[..., 0], rows[..., 1], scope.brokers, rows[..., 2] if scope.topic else None))
            answers.append(_answers(got))
            executed = (answers[-1] & NOT_APPLICABLE) == 0
            frontier, origins = table.add(rows, successors[-1], executed, numbers)
            parents.append(origins)
    except Interrupted as end:
        graph.stopped = end.stop
    graph.states, graph.settings, graph.keys = table.rows[:, 0].copy(), table.rows[:, 1].copy(), table.keys
    graph.second = table.rows[:, 2].copy() if scope.topic else graph.second
    graph.parents = np.concatenate(parents)
    width = len(graph.commands)
    graph.answers = (
        np.concatenate([a.reshape(-1, width) for a in answers]) if answers else np.zeros((0, width), np.int32)
    )
    everything = np.concatenate(successors).reshape(-1, width) if successors else np.zeros((0, width), np.int64)
    graph.targets = np.where(graph.applies, table.numbers(everything), -1)
    graph.seconds = time.monotonic() - began
    return graph


def _answers(got: NDArray[Any]) -> NDArray[Any]:
    """The answers of an expansion, those of the second partition from bit 32 on."""
    if "second" not in (got.dtype.names or ()):
        return got["answer"].astype(np.int32)
    of_first = got["answer"].astype(np.int64) & 0xFFFFFFFF
    return np.asarray(of_first | got["answer_of_second"].astype(np.int64) << 32)


def _reporter(progress: Progress, graph: ControllerExploration, table: _Table, frontier: int) -> Callable[[int], None]:
    """Tells how far a level is, given how many of its states are expanded."""
    depth, distinct = len(graph.levels), table.size

    def report(done: int) -> None:
        expanded = distinct - frontier + done
        progress.report(depth, expanded * len(graph.commands), distinct, frontier - done, 0)

    return report


def prepare_driver(driver: Driver, scope: Scope) -> None:
    """Makes a driver ready to expand states."""
    driver.begin(scope.setup)
    driver.commands(scope.commands())


class _Pool:
    """JVMs that expand states; the results in the order of the states."""

    def __init__(self, drivers: Sequence[Driver], scope: Scope) -> None:
        self.threads = ThreadPoolExecutor(len(drivers))
        self.free: SimpleQueue[Driver] = SimpleQueue()
        for driver in drivers:
            prepare_driver(driver, scope)
            self.free.put(driver)

    def expand(self, states: Words, began: float, limits: ExploreLimits, report: Callable[[int], None]) -> NDArray[Any]:
        """See `Expander`."""
        batches = [states[i : i + BATCH] for i in range(0, len(states), BATCH)]
        parts: list[NDArray[Any]] = []
        done = 0
        for part in self.threads.map(lambda batch: self._expand(batch, began, limits), batches):
            parts.append(part)
            done += len(part)
            report(done)
        return np.concatenate(parts)

    def _expand(self, batch: Words, began: float, limits: ExploreLimits) -> NDArray[Any]:
        limits.must_have_time(began)
        driver = self.free.get()
        try:
            return driver.expand(batch)
        finally:
            self.free.put(driver)


def keys_of(states: Words, settings: Words, brokers: int, second: Words | None = None) -> Words:
    """One word for each pair: the settings in those bits of the state that so many brokers leave unused.

    Beyond `KEY_BROKERS` brokers, the states alone: there the settings must be the same everywhere. With a second
    partition, of `TOPIC_BROKERS` at most: the bits of all three that are used, one after another.
    """
    if second is not None:
        return _keys_with_second(states, settings, second, brokers)
    if brokers > KEY_BROKERS:
        return states
    ends = [range(3 * brokers, ISR)]
    ends += [range(at + brokers, at + 6) for at in (*range(ISR, ISR + 24, 6), FENCED, SHUTTING_DOWN)]
    free = [bit for end in ends for bit in end] + [UNCLEAN + 1]
    used = [*range(MIN_ISR, MIN_ISR + KEY_MIN_ISR)]
    used += [at + broker for at in (CORDONED, UNREGISTERED) for broker in range(brokers)]
    keys = states.copy()
    for bit, place in zip(used, free, strict=False):
        keys |= (settings >> bit & 1) << place
    return keys


def _keys_with_second(states: Words, settings: Words, second: Words, brokers: int) -> Words:
    partition = [bit for at in range(0, 3 * brokers, 3) for bit in (at, at + 1)]  # two bits for each broker's number
    partition += [at + broker for at in range(ISR, LEADER, ELR - ISR) for broker in range(brokers)]
    partition += [LEADER, LEADER + 1, RECOVERING, *range(LAST_KNOWN, FENCED)]
    alive = [at + broker for at in (FENCED, SHUTTING_DOWN) for broker in range(brokers)]
    of_settings = [*range(MIN_ISR, MIN_ISR + TOPIC_MIN_ISR)]
    if brokers < TOPIC_BROKERS:
        of_settings += [at + broker for at in (CORDONED, UNREGISTERED) for broker in range(brokers)]
    used = [(states, bit) for bit in (*partition, *alive, UNCLEAN)] + [(settings, bit) for bit in of_settings]
    used += [(second, bit) for bit in (*partition, LISTED_OTHERWISE, REMEMBERED)]
    assert len(used) < 64, "a key is one word"
    keys = np.zeros(states.shape, np.int64)
    for place, (words, bit) in enumerate(used):
        keys |= (words >> bit & 1) << place
    return keys


class _Table:
    """The states found, as rows (state, settings), with their keys and numbers."""

    def __init__(self, first: Words, brokers: int) -> None:
        self.rows, self.keys = first, keys_of(first[:, 0], first[:, 1], brokers, *first.T[2:])
        self.order = np.argsort(self.keys, kind="stable")
        self.sorted = self.keys[self.order]

    @property
    def size(self) -> int:
        return len(self.rows)

    def add(self, successors: Words, keys: Words, executed: NDArray[np.bool_], numbers: Words) -> tuple[Words, Words]:
        """The new rows among successors in the order of their steps, and where each comes from. keys: theirs."""
        width = keys.shape[1]
        flat = np.flatnonzero(executed.reshape(-1))
        values, where = np.unique(keys.reshape(-1)[flat], return_index=True)
        at = np.minimum(np.searchsorted(self.sorted, values), len(self.sorted) - 1)
        fresh = self.sorted[at] != values
        order = np.argsort(where[fresh], kind="stable")
        origin = flat[where[fresh][order]]
        new = successors.reshape(-1, self.rows.shape[1])[origin]
        self.rows = np.concatenate([self.rows, new])
        self.keys = np.concatenate([self.keys, values[fresh][order]])
        self.order = np.argsort(self.keys, kind="stable")
        self.sorted = self.keys[self.order]
        return new, numbers[origin // width] * width + origin % width if len(new) else origin

    def numbers(self, keys: Words) -> Words:
        """The number of each state; -1 of one that was not found."""
        at = np.minimum(np.searchsorted(self.sorted, keys), len(self.sorted) - 1)
        return np.where(self.sorted[at] == keys, self.order[at], -1)
