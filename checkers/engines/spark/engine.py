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
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.conclusion import (
    WholeRuns,
    conclusion,
    state_claims,
    temporal_claims,
    told_claims,
)
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.exploration import Exploration, Limits, Start, compiled, explore, reporting
from reassure.checkers.engines.native.kernels.fingerprints import BITS, Key, collision_bound, new_key
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import GENERATED
from reassure.checkers.engines.native.levels import as_arrays
from reassure.checkers.engines.native.search import Search
from reassure.checkers.engines.native.symmetry.reduced_search import ExactClasses
from reassure.checkers.engines.spark.datasets import Tables, write_edges, write_states, write_summary
from reassure.checkers.engines.spark.distributed_search import (
    TASK_STATES,
    DistributedRun,
    StoredLevels,
    whole_runs_in_driver,
)
from reassure.checkers.engines.spark.launch import is_local, why_not
from reassure.checkers.engines.spark.owner_table import tidy_dead_runs, tidy_host
from reassure.checkers.engines.spark.partitioning import Work
from reassure.checkers.engines.spark.run_directory import Identity, RunDirectory, RunDirectoryError
from reassure.checkers.engines.spark.session import (
    ClusterSession,
    NoSpark,
    SparkJob,
    note_on_stderr,
    resolved,
    stopping,
)
from reassure.checkers.engines.spark.session import start as start_spark
from reassure.checkers.engines.spark.tasks import load_worker, touch, warm
from reassure.checkers.machine.memory import MemoryLimit
from reassure.checkers.machine.own_files import make_folder
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Ending, Stop, StopReason
from reassure.checkers.request.engine_results import EngineResult, Evidence, PropertyFact, SearchResult
from reassure.checkers.request.options import SearchOptions, SparkOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.result import property_results
from reassure.checkers.request.run_identity import ENGINE_VERSION, SparkRecord
from reassure.checkers.request.vacuity import vacuous_claims

ON_CLUSTER = Stop(StopReason.LIMIT, "a level is large enough for the cluster")
OF_ALL_STATES = "it takes the graph of all states: leave out --symmetry, or give it to --engine native"
WARM = 0.2
"""Seconds that a warming task waits on a cluster, where tasks are not all started at once as they are here."""


def check(prepared: Prepared, options: SearchOptions, progress: Progress, cluster: SparkOptions) -> EngineResult:
    """Searches every reachable state. Raises as the native engine does, `NoSpark`, `RunDirectoryError`, `OSError`."""
    if lacking := why_not():
        raise NoSpark(lacking)
    cluster = resolved(cluster)
    words = state_layout(prepared.bound).words
    model = prepared.bound.model.name
    place = cluster.out or str(make_folder("run"))
    directory = RunDirectory.at(place)
    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as last:
        kernel: Future[Work] = Future()
        session = pool.submit(_started, f"reassure check {model}", cluster, kernel)
        with stopping(session):
            try:
                partitions = cluster.partitions or _usual(cluster, directory, session)
                key = _key(cluster, directory, words)
                identity = Identity(
                    model, prepared.sha256, prepared.values_sha256, prepared.config, ENGINE_VERSION, partitions, words,
                    cluster.steps, key, prepared.lowered.claims, tuple(options.properties),
                )  # fmt: skip
                if cluster.resume:
                    directory.must_be(identity)
                else:
                    directory.begin(identity)
                checking = _Check(prepared, options, progress, cluster, session, kernel)
                tidy_dead_runs()
                last.callback(checking.tidy)  # a task that still ran may have begun a table again
                try:
                    result = checking.run(directory, partitions, key)
                finally:  # also after a failure: what stays in memory is missing for the next run
                    checking.leave()
                session.result()  # a cluster that cannot be reached is reported also where it was not needed
                return result
            finally:
                if cluster.out is None:
                    shutil.rmtree(place, ignore_errors=True)


def _key(cluster: SparkOptions, directory: RunDirectory, words: int) -> Key:
    """The key of the fingerprints, if there are to be some: that of the run that goes on, or a new one."""
    if not cluster.fingerprints:
        return ()
    return (cluster.resume and directory.identity().fingerprints) or new_key(words)


def _usual(cluster: SparkOptions, directory: RunDirectory, session: Future[ClusterSession]) -> int:
    """Partitions where none are asked for: those of the run that goes on, or two for each core."""
    if cluster.resume:
        return directory.identity().partitions
    if cluster.master.startswith("local"):
        return 2 * cores_of(cluster.master)
    return 2 * int(session.result().context.defaultParallelism)


def _started(name: str, cluster: SparkOptions, work: Future[Work]) -> ClusterSession:
    """A session whose workers load what they need while the driver searches the small levels.

    work: with a kernel whose machine code is on disk.
    """
    session, cores = start_spark(name, cluster), cores_of(cluster.master)
    if session.ours and session.context.uiWebUrl:
        note_on_stderr(f"Spark UI: {session.context.uiWebUrl}")
    context = session.context
    if session.ours:
        wait = 0.0 if is_local(cluster.master) else WARM

        def warm_up() -> None:
            if not work.done():
                context.parallelize(range(cores), cores).foreach(lambda _: load_worker())
            ready = work.result()
            context.parallelize(range(cores), cores).foreach(lambda _: warm(ready, wait))

        SparkJob(context, "reassure-warm", warm_up)
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
    prepared: Prepared
    options: SearchOptions
    progress: Progress
    cluster: SparkOptions
    session: Future[ClusterSession]
    work: Future[Work]
    """To be given to the workers, for warming up."""
    started: DistributedRun | None = None

    def run(self, directory: RunDirectory, partitions: int, key: Key) -> EngineResult:
        bound, options = self.prepared.bound, self.options
        began = time.monotonic()
        self.progress.ready("compiling")
        layout = state_layout(bound)
        start = Start.of(bound, layout)
        classes = self._classes(start)
        kernel = compiled(
            self.prepared.lowered, layout, parameters=self.cluster.steps, representatives=classes.functions
        )
        local = is_local(self.cluster.master)
        run = self.started = DistributedRun(
            kernel,
            directory,
            partitions,
            lambda: self.session.result().context,
            key,
            directory.commits() if self.cluster.resume else (),
            max(1, cores_of(self.cluster.master)),
            self.cluster.small if local else 0,
            MemoryLimit.of(options.memory) if local or options.memory is not None else None,
        )
        touch(run.work)
        self.work.set_result(run.work)
        if run.commits:
            expanded = len(run.commits) - 1
            if options.depth is not None and expanded > options.depth:
                raise RunDirectoryError(f"{directory.uri} went on to level {expanded} already: --depth {options.depth}")
            run.verify(_saying(self.progress, "reading what is committed"))
        compile_seconds = time.monotonic() - began
        self.progress.begin()
        start = classes.start(start)
        limits = Limits.of(options, state_claims(bound, options), told_claims(bound, options))
        here = None if run.commits else self._in_driver(run, start, limits)
        if here is not None and here.stopped != ON_CLUSTER:
            levels: Iterable[Iterable[Rows]] = here.level_rows
            exploration, paths = here, classes.paths(here, look=limits.clock.look_to_the_end)
            bytes_per_state = layout.bytes_per_state
        else:
            exploration = explore(bound, kernel, start, run, limits, self._reporting(run, start))
            look = limits.clock.look_to_the_end
            levels = StoredLevels(run)
            paths = classes.runs(Paths(bound, kernel.model.layout, lambda at, wanted: run.find(at, wanted, look)))
            bytes_per_state = 8 * run.work.table_words
        stats, runs = exploration.stats, None
        stats.seconds["compile"] = compile_seconds
        stats.bytes_per_state, stats.workers = bytes_per_state, run.cores
        names = temporal_claims(bound, options)
        if names and classes.renamings is not None:
            left_out = PropertyFact(Evidence.LEFT_OUT, note=OF_ALL_STATES)
            runs = WholeRuns(dict.fromkeys(names, left_out)) if exploration.complete else None
        elif names and exploration.complete:
            runs = whole_runs_in_driver(
                self.prepared,
                kernel,
                levels,
                names,
                paths,
                options,
                self.progress,
                limits.clock.look,
                exploration.stats.clipped,
            )
        summary = SearchResult(cluster=spark_record(run, self.cluster))
        result = conclusion(self.prepared, options, exploration, paths, summary, runs)
        counting = limits.clock.look_to_the_end if options.traces else None
        summary.symmetry = classes.record(exploration, levels, run.cores, counting)
        if self.cluster.steps and run.commits and result.stopped.reason is not StopReason.INTERRUPTED:
            self._export(run, result)
        return result

    def _classes(self, start: Start) -> ExactClasses:
        """The classes of which one state each is visited, or every state."""
        bound, symmetry = self.prepared.bound, self.options.symmetry
        if symmetry == "auto" and (temporal := temporal_claims(bound, self.options)):
            return ExactClasses(why=f"{temporal[0]} is about whole runs, which take the graph of all states")
        return ExactClasses.of(self.prepared.lowered, start, state_layout(bound), symmetry)

    def _in_driver(self, run: DistributedRun, start: Start, limits: Limits) -> Exploration:
        """The levels at the start; the rest is the cluster's if it ends with `ON_CLUSTER`."""
        search = Search(run.kernel, max(1, self.options.workers), self.options.memory)
        before_last = search.tally

        def large() -> Stop | None:
            nonlocal before_last
            before_last = search.tally
            return ON_CLUSTER if sum(len(part) for part in search.found[-1]) >= self.cluster.small else None

        look = reporting(search, start, self.progress)
        exploration = explore(self.prepared.bound, run.kernel, start, search, limits, look, large)
        # Whoever goes on expands the last level, so that its steps are not among those that are kept.
        run.take(search, before_last if exploration.complete else search.tally)
        to_a_level = exploration.stopped.reason not in (StopReason.INTERRUPTED, StopReason.BUDGET, StopReason.MEMORY)
        # Where the model raises nothing is kept: a run that is resumed begins anew, and raises again.
        kept = self.cluster.out is not None and to_a_level and search.raised_on is None
        if exploration.stopped == ON_CLUSTER or kept:
            with Ending() as ending:
                run.store(map(as_arrays, [*search.found, search.beyond] if search.beyond else search.found))
            if ending.stop is not None:
                return replace(exploration, stopped=ending.stop)
        return exploration

    def _reporting(self, run: DistributedRun, start: Start) -> Callable[[int], None]:
        """Reports a search on the cluster."""

        def report(waiting: int) -> None:
            generated = start.stats.generated + int(run.tally[GENERATED])
            shuffled = sum(c.shuffled for c in run.commits)
            self.progress.report(
                len(run.commits), generated, run.distinct, waiting, run.memory, f"{shuffled / 2**20:,.0f} MiB shuffled"
            )

        return report

    def _export(self, run: DistributedRun, result: EngineResult) -> None:
        """Writes the datasets: here if they are small, else by jobs."""
        layout = run.kernel.model.layout
        tables, work = Tables.of(layout, run.kernel.model, self.prepared.lowered), run.work
        large = run.distinct >= TASK_STATES
        if large:
            run.connect()
        run.directory.clear_tables()
        for commit in run.commits:
            pieces, level, shipped = run.pieces(commit.level), commit.level, run.shipped
            expanded = result.complete or level < len(run.commits)
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
        bound, vacuous = self.prepared.bound, vacuous_claims(self.prepared.bound, self.prepared.lowered)
        write_summary(run.directory, run.commits, property_results(bound, self.options, result, vacuous), result.covers)
        run.directory.end_tables("" if result.complete else result.stopped.text)

    def tidy(self) -> None:
        """Removes the caches of this host."""
        if self.started is not None:
            tidy_host(self.started.token)

    def leave(self) -> None:
        """Removes the caches of the run on all hosts of the cluster, by a Spark job."""
        if (run := self.started) is None:
            return
        tidy_host(run.token)
        if run.context is not None and not self.cluster.master.startswith("local"):
            token = run.token
            with contextlib.suppress(Exception):
                many = 4 * run.context.defaultParallelism
                rdd = run.context.parallelize(range(many), many)
                SparkJob(
                    run.context, f"reassure-{token}-tidy", lambda: rdd.foreach(lambda _: tidy_host(token))
                ).briefly(10)


def _saying(progress: Progress, what: str) -> Callable[[], None]:
    return lambda: progress.proof(what)


def spark_record(run: DistributedRun, cluster: SparkOptions) -> SparkRecord:
    """The part of the run record about the cluster and the distribution of the states."""
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
