"""A search and its run directory: what is committed, level by level, and the jobs that find the next one.

Also here: properties about whole runs after a distributed search: decided in the driver, by the native engine's code.

The states come from the run directory, one file at a time; the driver keeps those of one property's region with their
graph. Where these need more memory than the driver may take, the property is not checked, and the result says so.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from reassure.checkers.engines.native.conclusion import WholeRuns, whole_runs
from reassure.checkers.engines.native.counterexample import Paths, Row, Wanted, in_canonical_order
from reassure.checkers.engines.native.exploration import CompiledKernel, compiled
from reassure.checkers.engines.native.kernels.fingerprints import Key
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import GENERATED
from reassure.checkers.engines.native.levels import FirstHits
from reassure.checkers.engines.native.liveness.decide import Liveness, needs_parameters
from reassure.checkers.engines.native.model.translation import Translation
from reassure.checkers.engines.native.search import Search
from reassure.checkers.engines.spark.partitioning import Work, owners_of, with_origins
from reassure.checkers.engines.spark.run_directory import Commit, RunDirectory
from reassure.checkers.engines.spark.session import JobFailed, SparkJob
from reassure.checkers.engines.spark.tasks import (
    SLICE,
    FileSlice,
    Owned,
    Sent,
    damages,
    expand,
    find_smallest,
    own,
)
from reassure.checkers.machine.memory import MemoryLimit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import StopReason
from reassure.checkers.request.engine_results import Evidence, PropertyFact
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.spec.semantics.liveness import assumptions_of

TASK_STATES = 250_000
"""States that are worth a task of their own: a task costs a tenth of a second, in which so many are expanded."""
OWNER_STATES = 50_000
"""States of a level that are worth a task of their own among the owners."""


class DistributedRun:
    """A search and its run directory."""

    def __init__(
        self,
        kernel: CompiledKernel,
        directory: RunDirectory,
        partitions: int,
        connection: Callable[[], Any],
        key: Key = (),
        commits: Sequence[Commit] = (),
        cores: int = 2,
        small: int = 0,
        limit: MemoryLimit | None = None,
    ) -> None:
        """Begins a run, or takes up the levels that were committed.

        connection: waits for the session; its context. key: of fingerprints, if the tables are to hold those. cores: at
        least. small: a level of fewer states is expanded by the driver, which has the owners' tables on its host; 0:
        none is. limit: of the owners' tables together.
        """
        self.kernel, self.directory, self.partitions, self.connection = kernel, directory, partitions, connection
        self.commits, self.cores, self.small, self.limit = list(commits), cores, small, limit
        self.key, self.token = key, f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self.work = Work(self.token, directory.uri, kernel.shape, partitions, key)
        self.tally = [0] * kernel.shape.tally_words
        self.new_by_action, self.hits = [0] * kernel.shape.actions, FirstHits()
        if commits:
            last = commits[-1]
            self.tally, self.new_by_action = list(last.tally), last.new
            self.hits.levels = {(word, bit): at for word, bit, at in last.flags}
        self.raised_on: int | None = None
        """The level with states in which the model raises."""
        self.beyond = 0
        """States after that level, which are not committed."""
        self.files_beyond: list[str] = []
        self.depth = 0
        """Levels that were expanded, or were to be when the search was stopped."""
        self.table_bytes: dict[int, int] = {}
        """By partition: bytes of the owner's table."""
        self.context: Any = None
        self.shipped: Any = None
        """The work, broadcast once."""
        self.jobs = 0

    def connect(self) -> None:
        """Waits for the session, if there is none yet, and ships the work to its workers."""
        if self.context is None:
            self.context = self.connection()
            self.shipped = self.context.broadcast(self.work)
            self.cores = max(self.cores, self.context.defaultParallelism)

    # -- as `explore` drives it ---------------------------------------------------------------------------

    def begin(self, rows: list[tuple[int, ...]]) -> None:
        """Connects; the initial states are committed already."""
        self.depth = len(self.commits) - 1
        self.connect()

    def levels(self, look: Callable[[int], None], last: int | None = None) -> Iterator[int]:
        """Finds and commits one level after the other; as `LevelSearch` says."""
        while True:
            yield len(self.commits)
            if self.limit is not None:
                self.limit.allow(self.memory)
            self.depth = len(self.commits)
            if not self.step(lambda: look(self.commits[-1].states)):
                return

    def leave_off(self) -> None:
        """Nothing to do: the last level stays committed, and is not counted as expanded."""

    @property
    def frontier(self) -> int:
        return self.beyond if self.raised_on is not None else self.commits[-1].states

    @property
    def memory(self) -> int:
        """Bytes of the owners' tables."""
        return sum(self.table_bytes.values())

    @property
    def disk(self) -> int:
        """None of levels that memory had no room for: every level is in files."""
        return 0

    @property
    def distinct(self) -> int:
        return sum(c.states for c in self.commits) + self.beyond

    def commit(self, level: int, files: dict[int, list[str]], rows: dict[int, int], **more: Any) -> None:
        self.commits.append(self._sealed(level, files, rows, **more))
        self.directory.commit(self.commits[-1])

    def _sealed(self, level: int, files: dict[int, list[str]], rows: dict[int, int], **more: Any) -> Commit:
        """The commit of the level after those that are committed."""
        flags = [(*flag, at) for flag, at in self.hits.levels.items()]
        commit = Commit(level, files, rows, self.tally, self.new_by_action, flags, **more)
        return commit.sealed(self.commits[-1].seal if self.commits else self.directory.seal)

    def verify(self, beat: Callable[[], None]) -> None:
        """Reads the files of the committed levels. Raises `RunDirectoryError` where one is not as it was committed."""
        place, steps = self.work.place, self.kernel.shape.parameter_words is not None
        files = [(name, c.rows[part]) for c in self.commits for part, names in c.files.items() for name in names]
        if self.distinct < TASK_STATES:
            self.directory.must_be_undamaged(damages(place, steps, files))
            return
        self.connect()

        def run() -> list[str]:
            count = min(len(files), 4 * self.cores)
            found: list[str] = (
                self.context.parallelize(files, count).mapPartitions(lambda some: damages(place, steps, some)).collect()
            )
            return found

        self.directory.must_be_undamaged(self.job(run, beat)[0])

    def take(self, search: Search, tally: list[int]) -> None:
        """Takes over the states and marks of a search in the driver. tally: its counts, without the last level's."""
        self.tally, self.new_by_action, self.hits = tally, search.new_by_action, search.hits
        self.raised_on = search.raised_on

    def store(self, levels: Iterable[list[Rows]]) -> None:
        """Commits levels found in the driver: the first one last. Each has the counts of all of them, so that some
        without the others are not a run; and without the first none is read."""
        parts = []
        whole = [np.concatenate(level) for level in levels]
        steps = self.kernel.shape.parameter_words is not None
        rows_of_levels = with_origins(self.work, whole) if steps else ((rows, None) for rows in whole)
        for number, (rows, origins) in enumerate(rows_of_levels, 1):
            owner = owners_of(self.work, rows)
            files: dict[int, list[str]] = {}
            counts: dict[int, int] = {}
            for part in range(self.partitions):
                mine = owner == part
                if mine.any():
                    its = None if origins is None else origins[mine]
                    files[part] = [self.directory.write_states(number, part, rows[mine], its)]
                    counts[part] = int(mine.sum())
            parts.append((number, files, counts))
        for number, files, counts in parts:
            self.commits.append(self._sealed(number, files, counts, together=len(parts)))
        for commit in reversed(self.commits):
            self.directory.commit(commit)

    # -- jobs --------------------------------------------------------------------------------------------

    def pieces(self, level: int) -> list[FileSlice]:
        """A level in pieces for tasks."""
        commit = self.commits[level - 1]
        size = min(SLICE, max(1 << 10, -(-commit.states // (4 * self.cores))))
        slices = []
        for part, names in commit.files.items():
            (name,) = names
            slices += [
                FileSlice(name, low, min(low + size, commit.rows[part])) for low in range(0, commit.rows[part], size)
            ]
        return slices

    def tasks(self, states: int) -> int:
        return max(1, min(4 * self.cores, states // TASK_STATES))

    def job(self, run: Callable[[], Any], beat: Callable[[], None]) -> tuple[Any, int]:
        """A job's result, and the bytes it shuffled."""
        self.jobs += 1
        job = SparkJob(self.context, f"reassure-{self.token}-{self.jobs}", run)
        return job.result(beat), job.shuffled()

    def _expanded(self, level: int, beat: Callable[[], None]) -> tuple[list[Owned | Sent], int]:
        """The states after a level, and the bytes that were shuffled: by a job, or here if the level is small."""
        last, pieces, work = self.commits[level - 1], self.pieces(level), self.shipped
        history = {p: [n for c in self.commits for n in c.files.get(p, [])] for p in range(self.partitions)}
        taken_in = {part: len(files) for part, files in history.items()}
        tasks = self.tasks(last.states)
        owners = min(self.partitions, self.cores, max(1, last.states // OWNER_STATES))
        if last.states < self.small:
            beat()
            try:
                return list(own(self.work, level, history, expand(self.work, taken_in, pieces))), 0
            except MemoryError as error:
                raise JobFailed(str(error)) from None

        def run() -> list[Owned | Sent]:
            arrived = (
                self.context.parallelize(pieces, min(tasks, len(pieces)))
                .mapPartitions(lambda some: expand(work.value, taken_in, some))
                .partitionBy(owners, lambda part: part)
            )
            outputs: list[Owned | Sent] = arrived.mapPartitions(
                lambda some: own(work.value, level, history, some)
            ).collect()
            return outputs

        return self.job(run, beat)

    def step(self, beat: Callable[[], None]) -> bool:
        """Finds and commits the next level; whether it has any states, and the model raises in none of the last."""
        began = time.monotonic()
        level = len(self.commits)
        outputs, shuffled = self._expanded(level, beat)
        flags = np.zeros(self.kernel.shape.claim_words, np.int64)
        files: dict[int, list[str]] = {}
        rows: dict[int, int] = {}
        tally, new = self.tally, self.new_by_action
        for what in outputs:
            if isinstance(what, Sent):
                if what.raised:
                    self.raised_on = level
                tally = [known + more for known, more in zip(tally, what.tally.tolist(), strict=True)]
                flags |= what.flags
            else:
                new = [a + b for a, b in zip(new, what.new, strict=True)]
                self.table_bytes[what.part] = what.memory
                if what.file is not None:
                    files[what.part], rows[what.part] = [what.file], what.rows
        generated = tally[GENERATED] - self.tally[GENERATED]
        self.tally, self.new_by_action = tally, new
        self.hits.note_words(level, flags.tolist())
        if self.raised_on is not None:  # what was found is counted, and not committed: a resumed run raises again
            self.beyond, self.files_beyond = sum(rows.values()), [name for names in files.values() for name in names]
            return False
        if not files:
            return False
        order = sorted(files)
        seconds = time.monotonic() - began
        self.commit(
            level + 1,
            {p: files[p] for p in order},
            {p: rows[p] for p in order},
            shuffled=shuffled,
            seconds=seconds,
            generated=generated,
        )
        return True

    def find(self, level: int, wanted: Sequence[Wanted], look: Callable[[], None]) -> list[Row | None]:
        """Of each thing that is wanted, the smallest state of a level: here if the level is small, else by one job.

        look: called now and then; raises to end the work.
        """
        look()
        pieces, work, states = self.pieces(level), self.shipped, self.commits[level - 1].states
        if states < OWNER_STATES or self.context is None:
            return find_smallest(self.work, level, wanted, pieces, look)
        tasks = min(self.tasks(states), len(pieces))
        of_tasks: list[list[Row | None]] = self.job(
            lambda: (
                self.context.parallelize(pieces, tasks)
                .mapPartitions(lambda some: [find_smallest(work.value, level, wanted, some)])
                .collect()
            ),
            look,
        )[0]
        return [
            min((row for row in rows if row is not None), key=in_canonical_order, default=None)
            for rows in zip(*of_tasks, strict=True)
        ]


class StoredLevels:
    """The levels of a run, read from its directory whenever they are gone through; where the model raises in the last
    one that is committed, also the states found after it."""

    def __init__(self, run: DistributedRun) -> None:
        self.run = run

    def __iter__(self) -> Iterator[Iterator[Rows]]:
        for commit in self.run.commits:
            yield (self.run.directory.read_states(name) for names in commit.files.values() for name in names)
        yield map(self.run.directory.read_states, self.run.files_beyond)


def whole_runs_in_driver(
    prepared: Prepared,
    kernel: CompiledKernel,
    levels: Iterable[Iterable[Rows]],
    names: list[str],
    paths: Paths,
    options: SearchOptions,
    progress: Progress,
    look: Callable[[], None],
    clipped: int,
) -> WholeRuns:
    """Decides properties about whole runs, all states being known.

    kernel: of the search; another one is compiled where fairness needs the parameters of steps. look: called now and
    then; raises to end the work. clipped: steps that leave a bound.
    """
    limit = MemoryLimit.of(options.memory)

    def liveness() -> Liveness:
        bound, lowered = prepared.bound, prepared.lowered
        parameters = needs_parameters(assumptions_of(bound.model)) and kernel.shape.parameter_words is None
        of_steps = compiled(lowered, kernel.model.layout, parameters=True) if parameters else kernel
        translation = Translation.of(lowered, kernel.model.layout)
        return Liveness(bound, translation, of_steps, levels, names, limit.allow, look, max(1, options.workers))

    runs = whole_runs(liveness, names, paths, options, progress, clipped)
    if runs.stopped is not None and runs.stopped.reason is StopReason.MEMORY:
        note = f"its graph needs more than the driver's {limit.bytes / 2**20:,.0f} MiB: give more with --memory"
        left_out = {name: PropertyFact(Evidence.LEFT_OUT, note=note) for name in names}
        runs.facts, runs.stopped = left_out | runs.facts, None
    return runs
