"""Breadth-first search over the states of Kafka's own controller: the real class is the model.

A state is the partition without its epochs, the brokers' states, and whether unclean election is allowed. Every
command is tried in every state, by several JVMs; nothing limits how often. States are numbered in the order of the
search, which does not depend on the JVMs, so that results are the same each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import combinations, permutations
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.base.progress import Progress
from reassure.checkers.base.stop import ALL_VISITED, Interrupted, Stop, budget_ended, depth_reached
from reassure.checkers.kafka.controller.class_path import ClassPath
from reassure.checkers.kafka.controller.driver import SUCCESSOR, Driver, Words
from reassure.checkers.kafka.controller.words import Command, ControllerState, Kind, packed
from reassure.spec.kafka.partition import NOBODY, Broker, Partition

BATCH = 256
"""States that a JVM gets at once."""
NOT_APPLICABLE, THROWN = 1 << 23, 1 << 16


@dataclass(frozen=True)
class Scope:
    """The bounds of an exploration. unclean: the settings of unclean election to begin with."""

    brokers: int
    min_isr: int = 2
    replication_factor: int = 2
    unclean: tuple[bool, ...] = (False, True)
    controlled_shutdown: bool = False

    def initial_states(self) -> list[ControllerState]:
        """Replicas on the first brokers, all in sync, led by the first; everybody alive."""
        replicas = tuple(Broker(b) for b in range(1, self.replication_factor + 1))
        everybody = frozenset(Broker(b) for b in range(1, self.brokers + 1))
        partition = Partition(replicas, frozenset(replicas), NOBODY, NOBODY, NOBODY, replicas[0], 0, 0, False, None)
        return [ControllerState(partition, everybody, (0,) * self.brokers, unclean) for unclean in self.unclean]

    def commands(self) -> list[Command]:
        """Every ordered target, cancellation, every ISR proposal, every event of a broker, every election."""
        brokers = range(1, self.brokers + 1)
        commands = [Command(Kind.REASSIGN, 0, ids) for n in brokers for ids in permutations(brokers, n)]
        commands.append(Command(Kind.CANCEL))
        commands += [Command(Kind.PROPOSE, 0, ids) for n in brokers for ids in combinations(brokers, n)]
        kinds = [Kind.FENCE, Kind.UNFENCE, Kind.RESTART_UNCLEANLY, Kind.RESTART_CLEANLY]
        kinds += [Kind.CONTROLLED_SHUTDOWN] if self.controlled_shutdown else []
        commands += [Command(kind, broker) for kind in kinds for broker in brokers]
        elections = (Kind.ELECT_PREFERRED, Kind.ELECT_UNCLEAN, Kind.MAYBE_ELECT_UNCLEAN)
        return commands + [Command(kind) for kind in (*elections, Kind.BALANCE, Kind.ELECT_LEADERLESS)]


@dataclass
class ControllerExploration:
    """The state graph. Arrays over states are in the order of the search; those over steps by state and command."""

    version: str
    scope: Scope
    commands: list[Command]
    states: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    levels: list[int] = field(default_factory=list)
    """The number of states of each level."""
    parents: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of each state: number of the state before times the number of commands, plus the command; -1: initial."""
    targets: Words = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    """Of each expanded state and command: the number of the state after; -1 where it was not found yet."""
    answers: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0), np.int32))
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
        """Every command in every state, as `Driver.expand`; `Interrupted` when the time is up.

        began: when the search did (`time.monotonic`). report: called now and then, with how many states are done.
        """
        ...


def explore(
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
    first = np.array([packed(state)[0] for state in scope.initial_states()], np.int64)
    table = _Table(first)
    frontier, parents, successors, answers = first, [np.full(len(first), -1, np.int64)], [], []
    try:
        while len(frontier):
            graph.levels.append(len(frontier))
            if limits.depth is not None and len(graph.levels) > limits.depth:
                raise Interrupted(depth_reached(limits.depth).reason, depth_reached(limits.depth).text)
            numbers = np.arange(table.size - len(frontier), table.size)
            got = expander.expand(frontier, began, limits, _reporter(progress, graph, table, len(frontier)))
            successors.append(got["state"].astype(np.int64))
            answers.append(got["answer"].astype(np.int32))
            frontier, origins = table.add(successors[-1], (answers[-1] & NOT_APPLICABLE) == 0, numbers)
            parents.append(origins)
    except Interrupted as end:
        graph.stopped = end.stop
    graph.states, graph.parents = table.states, np.concatenate(parents)
    width = len(graph.commands)
    graph.answers = (
        np.concatenate([a.reshape(-1, width) for a in answers]) if answers else np.zeros((0, width), np.int32)
    )
    everything = np.concatenate(successors).reshape(-1, width) if successors else np.zeros((0, width), np.int64)
    graph.targets = np.where(graph.applies, table.numbers(everything), -1)
    graph.seconds = time.monotonic() - began
    return graph


def _reporter(progress: Progress, graph: ControllerExploration, table: _Table, frontier: int) -> Callable[[int], None]:
    """Tells how far a level is, given how many of its states are expanded."""
    depth, distinct = len(graph.levels), table.size

    def report(done: int) -> None:
        expanded = distinct - frontier + done
        progress.report(depth, expanded * len(graph.commands), distinct, frontier - done, 0)

    return report


def prepare(driver: Driver, scope: Scope) -> None:
    """Makes a driver ready to expand states."""
    driver.begin(scope.brokers, scope.min_isr)
    driver.commands(scope.commands())


class _Pool:
    """JVMs that expand states; the results in the order of the states."""

    def __init__(self, drivers: Sequence[Driver], scope: Scope) -> None:
        self.threads = ThreadPoolExecutor(len(drivers))
        self.free: SimpleQueue[Driver] = SimpleQueue()
        for driver in drivers:
            prepare(driver, scope)
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
        return np.concatenate(parts) if parts else np.zeros((0, 0), SUCCESSOR)

    def _expand(self, batch: Words, began: float, limits: ExploreLimits) -> NDArray[Any]:
        limits.must_have_time(began)
        driver = self.free.get()
        try:
            return driver.expand(batch)
        finally:
            self.free.put(driver)


class _Table:
    """The states found, with their numbers."""

    def __init__(self, first: Words) -> None:
        self.states = first
        self.sorted = np.sort(first)
        self.order = np.argsort(first, kind="stable")

    @property
    def size(self) -> int:
        return len(self.states)

    def add(self, successors: Words, executed: NDArray[np.bool_], numbers: Words) -> tuple[Words, Words]:
        """The new states among successors in the order of their steps, and where each comes from."""
        width = successors.shape[1]
        flat = np.flatnonzero(executed.reshape(-1))
        values, where = np.unique(successors.reshape(-1)[flat], return_index=True)
        at = np.minimum(np.searchsorted(self.sorted, values), len(self.sorted) - 1)
        fresh = self.sorted[at] != values
        order = np.argsort(where[fresh], kind="stable")
        new, origin = values[fresh][order], flat[where[fresh][order]]
        self.states = np.concatenate([self.states, new])
        self.order = np.argsort(self.states, kind="stable")
        self.sorted = self.states[self.order]
        return new, numbers[origin // width] * width + origin % width if len(new) else origin

    def numbers(self, states: Words) -> Words:
        """The number of each state; -1 of one that was not found."""
        at = np.minimum(np.searchsorted(self.sorted, states), len(self.sorted) - 1)
        return np.where(self.sorted[at] == states, self.order[at], -1)
