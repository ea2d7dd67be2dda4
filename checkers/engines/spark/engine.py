"""The distributed engine: level-synchronous search on a Spark cluster, with the native engine's kernel.

Every state belongs to a partition by its hash. A level is one Spark job: tasks expand slices of it, drop duplicates
among what they find, and send the rest to the owners; each owner looks up what arrived among all that it has seen, and
writes what is new to the run directory. Visited states are never sent again. Small levels at the start are searched in
the driver. The answers are the native engine's: same counts, same traces.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from reassure.checkers.base.engine_results import SearchResult
from reassure.checkers.base.options import SearchOptions, SparkOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import ENGINE_VERSION, CheckResult
from reassure.checkers.base.stop import (
    ALL_VISITED,
    FAILED_FAST,
    MODEL_RAISES,
    Stop,
    StopReason,
    depth_reached,
)
from reassure.checkers.encoding.state_layout import Layout, state_layout
from reassure.checkers.engines.native.compiled_kernel import compiled
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.engine import explore
from reassure.checkers.engines.native.kernels.fingerprints import BITS, Key, collision_bound, new_key
from reassure.checkers.engines.native.kernels.tally import GENERATED
from reassure.checkers.engines.native.results import (
    Start,
    conclude,
    count,
    early_end_noted,
    open_findings,
    raised_noted,
)
from reassure.checkers.engines.native.search import Clock, Search
from reassure.checkers.engines.spark.datasets import Tables, write_edges, write_states, write_summary
from reassure.checkers.engines.spark.distributed_search import TASK_STATES, Run
from reassure.checkers.engines.spark.launch import is_local, why_not
from reassure.checkers.engines.spark.owner_table import tidy_dead, tidy_host
from reassure.checkers.engines.spark.partitioning import Work
from reassure.checkers.engines.spark.run_directory import Identity, RunDirectory
from reassure.checkers.engines.spark.session import Job, NoSpark, Session, note, resolved, stopping
from reassure.checkers.engines.spark.session import start as start_spark
from reassure.checkers.engines.spark.tasks import load, touch, warm
from reassure.checkers.engines.spark.whole_runs import StoredLevels, decide_in_driver
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel

WARM = 0.2
"""Seconds that a warming task waits on a cluster, where tasks are not all started at once as they are here."""


def check(
    bound: BoundModel,
    lowered: LoweredModel,
    options: SearchOptions,
    verdict: CheckResult,
    progress: Progress,
    cluster: SparkOptions,
) -> CheckResult:
    """Searches every reachable state; fills in and returns the verdict. Raises as the native engine does, `NoSpark`,
    `RunDirectoryError`, `OSError`."""
    if lacking := why_not():
        raise NoSpark(lacking)
    cluster = resolved(cluster)
    clock = Clock(options.budget)
    layout = state_layout(bound)
    place = cluster.out or tempfile.mkdtemp(prefix="reassure-run-")
    directory = RunDirectory.at(place)
    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as last:
        kernel: Future[Work] = Future()
        session = pool.submit(_started, f"reassure check {verdict.model}", cluster, kernel)
        with stopping(session):
            try:
                partitions = cluster.partitions or _usual(cluster, directory, session)
                words = layout.words
                key = _key(cluster, directory, words)
                identity = Identity(
                    verdict.model, verdict.model_sha256, verdict.config, ENGINE_VERSION, partitions, words,
                    cluster.steps, key, lowered.claims,
                )  # fmt: skip
                if cluster.resume:
                    directory.must_be(identity)
                else:
                    directory.begin(identity)
                checking = _Check(bound, options, verdict, progress, cluster, clock, layout, session, kernel)
                tidy_dead()
                last.callback(checking.tidy)  # a task that still ran may have begun a table again
                try:
                    verdict = checking.run(lowered, directory, partitions, key)
                finally:  # also after a failure: what stays in memory is missing for the next run
                    checking.leave()
                session.result()  # a cluster that cannot be reached is said also where it was not needed
                return verdict
            finally:
                if cluster.out is None:
                    shutil.rmtree(place, ignore_errors=True)


def _key(cluster: SparkOptions, directory: RunDirectory, words: int) -> Key:
    """The key of the fingerprints, if there are to be some: that of the run that goes on, or a new one."""
    if not cluster.fingerprints:
        return ()
    return (cluster.resume and directory.identity().fingerprints) or new_key(words)


def _usual(cluster: SparkOptions, directory: RunDirectory, session: Future[Session]) -> int:
    """Partitions where none are asked for: those of the run that goes on, or two for each core."""
    if cluster.resume:
        return directory.identity().partitions
    if cluster.master.startswith("local"):
        return 2 * cores_of(cluster.master)
    return 2 * int(session.result().context.defaultParallelism)


def _started(name: str, cluster: SparkOptions, work: Future[Work]) -> Session:
    """A session whose workers load what they need while the driver searches the small levels.

    work: with a kernel whose machine code is on disk.
    """
    session, cores = start_spark(name, cluster), cores_of(cluster.master)
    if session.ours and session.context.uiWebUrl:
        note(f"Spark UI: {session.context.uiWebUrl}")
    context = session.context
    if session.ours:
        wait = 0.0 if is_local(cluster.master) else WARM

        def warm_up() -> None:
            if not work.done():
                context.parallelize(range(cores), cores).foreach(lambda _: load())
            ready = work.result()
            context.parallelize(range(cores), cores).foreach(lambda _: warm(ready, wait))

        Job(context, "reassure-warm", warm_up)
    return session


def cores_of(master: str) -> int:
    """Cores that a master's name tells of; 2 if it does not tell."""
    inner = master.partition("[")[2].rstrip("]").split(",")
    if master.startswith("local-cluster") and len(inner) >= 2 and inner[0].isdigit() and inner[1].isdigit():
        return int(inner[0]) * int(inner[1])
    if inner[0].isdigit():
        return int(inner[0])
    return os.cpu_count() or 2 if master.startswith("local") else 2


@dataclass
class _Check:
    bound: BoundModel
    options: SearchOptions
    verdict: CheckResult
    progress: Progress
    cluster: SparkOptions
    clock: Clock
    layout: Layout
    session: Future[Session]
    work: Future[Work]
    """To be given to the workers, for warming up."""
    started: Run | None = None
    searched: Search | None = None
    """What was searched in the driver."""

    def run(self, lowered: LoweredModel, directory: RunDirectory, partitions: int, key: Key) -> CheckResult:
        bound, verdict, options = self.bound, self.verdict, self.options
        began = time.monotonic()
        self.progress.ready("compiling")
        kernel = compiled(lowered, self.layout, parameters=self.cluster.steps)
        run = Run(kernel, directory, partitions, key)
        run.tally, run.new = np.zeros(kernel.shape.tally_words, np.int64), [0] * kernel.shape.actions
        self.started = run
        run.cores = max(1, cores_of(self.cluster.master))
        run.small = self.cluster.small if is_local(self.cluster.master) else 0
        stats = verdict.stats
        touch(run.work)
        self.work.set_result(run.work)
        stats.seconds["compile"] = time.monotonic() - began
        self.progress.begin()
        self.clock = Clock(options.budget)  # as of the native engine: of the search
        stats.bytes_per_state, stats.workers = self.layout.bytes_per_state, run.cores
        claims, start = open_findings(bound, options, verdict), Start.of(bound, self.layout)
        if self.cluster.resume:
            run.resume()
        paths: Paths | None = None
        with early_end_noted(verdict):
            if not run.commits:
                paths = self._in_driver(run, start, claims)
            if paths is None:
                run.expanded, stats.frontier = len(run.commits) - 1, run.commits[-1].states
                run.connect(self.session.result().context)
                self._distributed(run, start, claims)
        count(verdict, start, kernel, run.tally, run.new)
        if not run.commits and self.searched is not None:  # ended before anything was committed
            paths = Paths.of(bound, kernel, self.searched)
        if paths is None:
            stats.distinct, stats.depth, stats.memory = run.distinct, run.expanded, sum(run.memory.values())
            paths = Paths(bound, kernel.model, run.find)
            stats.bytes_per_state = 8 * run.work.table_words
        stats.seconds["search"] = self.clock.seconds
        verdict.found = SearchResult(cluster=spark_record(run, self.cluster))
        if verdict.complete and any(p.temporal for p in verdict.properties):
            began = time.monotonic()
            levels = self.searched.level_rows if not run.commits and self.searched is not None else StoredLevels(run)
            with early_end_noted(verdict), raised_noted(levels, paths, options, verdict):
                decide_in_driver(
                    bound, lowered, kernel, levels, paths, options, verdict, self.progress, self.clock.look
                )
            stats.seconds["liveness"] = time.monotonic() - began
        began = time.monotonic()
        conclude(bound, kernel.model, run.hits, paths, verdict, options, run.raised_on)
        stats.seconds["report"] = time.monotonic() - began
        if self.cluster.steps and run.commits and not verdict.ended(StopReason.INTERRUPTED):
            self._export(run, lowered)
        return verdict

    def _in_driver(self, run: Run, start: Start, claims: set[str]) -> Paths | None:
        """The levels at the start; the paths if that was all."""
        search = self.searched = Search(run.kernel, max(1, self.options.workers), self.options.memory)
        search.seed(start.rows)

        def stop(left: int) -> None:
            self.clock.look()
            generated = start.generated + sum(int(w.tally[GENERATED]) for w in search.workers)
            self.progress.report(len(search.level_rows), generated, search.distinct, left, search.memory)

        def enough() -> bool:
            return sum(len(p) for p in search.level_rows[-1]) >= self.cluster.small

        try:
            ended = explore(search, run.kernel.model, self.options, claims, stop, self.verdict, enough)
        finally:
            run.tally, run.new, run.hits = search.tally, search.new_by_action, search.hits
            run.raised_on = search.raised_on
            stats = self.verdict.stats
            stats.distinct, stats.depth, stats.memory = search.distinct, len(search.level_rows), search.memory
        if not ended or self.cluster.out is not None:
            run.store([*search.level_rows, search.beyond] if search.beyond else search.level_rows)
        return Paths.of(self.bound, run.kernel, search) if ended else None

    def _distributed(self, run: Run, start: Start, claims: set[str]) -> None:
        verdict, options = self.verdict, self.options
        verdict.stopped = ALL_VISITED

        def beat() -> None:
            self.clock.look()
            generated = start.generated + int(run.tally[GENERATED])
            shuffled = sum(c.shuffled for c in run.commits)
            self.progress.report(
                len(run.commits), generated, run.distinct, run.commits[-1].states, sum(run.memory.values()),
                f"{shuffled / 2**20:,.0f} MiB shuffled",
            )  # fmt: skip

        while True:
            verdict.stats.frontier = run.commits[-1].states
            if options.depth is not None and len(run.commits) > options.depth:
                verdict.stopped = depth_reached(options.depth)
                return
            if options.fail_fast and run.hits.violated(run.kernel.model, claims):
                verdict.stopped = FAILED_FAST
                return
            if options.memory is not None and sum(run.memory.values()) > options.memory:
                verdict.stopped = Stop(
                    StopReason.MEMORY, f"the memory limit of {options.memory / 2**20:,.0f} MiB was passed"
                )
                return
            run.expanded = len(run.commits)
            if not run.step(beat):
                if run.raised_on is not None:
                    verdict.stopped, verdict.stats.frontier = MODEL_RAISES, run.beyond
                else:
                    verdict.complete, verdict.stats.frontier = True, 0
                return

    def _export(self, run: Run, lowered: LoweredModel) -> None:
        """Writes the datasets: here if they are small, else by jobs."""
        tables, work = Tables.of(self.layout, run.kernel.model, lowered), run.work
        large = run.distinct >= TASK_STATES
        if large and run.context is None:
            run.connect(self.session.result().context)
        for commit in run.commits:
            pieces, level, shipped = run.pieces(commit.level), commit.level, run.shipped
            expanded = self.verdict.complete or level < len(run.commits)
            if not large:
                list(write_states(work, tables, level, pieces))
                if expanded:
                    list(write_edges(work, tables, level, pieces))
                continue

            def write(some: Any, shipped: Any = shipped, level: int = level, edges: bool = expanded) -> Any:
                some = list(some)
                yield from write_states(shipped.value, tables, level, some)
                if edges:
                    yield from write_edges(shipped.value, tables, level, some)

            rdd = run.context.parallelize(pieces, min(4 * run.cores, len(pieces))).mapPartitions(write)
            run.job(rdd.count, _saying(self.progress, f"writing the states of level {level}"))
        write_summary(run.directory, run.commits, self.verdict)

    def tidy(self) -> None:
        """Removes the caches of this host."""
        if self.started is not None:
            tidy_host(self.started.token)

    def leave(self) -> None:
        """Removes the caches, on every host that may have some."""
        if (run := self.started) is None:
            return
        tidy_host(run.token)
        if run.context is not None and not self.cluster.master.startswith("local"):
            token = run.token
            with contextlib.suppress(Exception):
                many = 4 * run.context.defaultParallelism
                rdd = run.context.parallelize(range(many), many)
                Job(run.context, f"reassure-{token}-tidy", lambda: rdd.foreach(lambda _: tidy_host(token))).briefly(10)


def _saying(progress: Progress, what: str) -> Callable[[], None]:
    return lambda: progress.proof(what)


def spark_record(run: Run, cluster: SparkOptions) -> dict[str, Any]:
    """What the record says of the distribution."""
    used = run.key and run.context is not None
    return {
        "master": cluster.master,
        "partitions": run.partitions,
        **({"fingerprints": {"bits": BITS, "collision_bound": collision_bound(run.distinct)}} if used else {}),
        "levels": [
            {
                "level": c.level,
                "states": c.states,
                "visited": sum(other.states for other in run.commits[: c.level]),
                "generated": c.generated,
                "shuffled_bytes": c.shuffled,
                "seconds": round(c.seconds, 3),
            }
            for c in run.commits
        ],
    }


__all__ = ["check"]
