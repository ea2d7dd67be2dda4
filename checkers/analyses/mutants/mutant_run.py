"""The mutants of a model, judged one after the other or by several processes, and what that says of the properties.

The results do not depend on the number of processes, as long as no mutant is given up for its time.
"""

from __future__ import annotations

import multiprocessing
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from multiprocessing.synchronize import Event

from reassure.checkers.analyses.mutants.analysis import Fate, Judge, Judged
from reassure.checkers.analyses.mutants.mutant_search import MutantLimits, MutantOutcome
from reassure.checkers.analyses.mutants.mutants import Mutant, mutants_of
from reassure.checkers.engines.native.search import Clock
from reassure.checkers.machine.exit_codes import Exit, Failure, worst
from reassure.checkers.machine.memory import runs_at_once
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Ending, Interrupted, Stop, StopReason, interrupts_wait
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare
from reassure.checkers.request.run_identity import ClassesRecord

POLL = 0.1
"""Seconds between looks at the processes."""


@dataclass(frozen=True)
class MutantRequest:
    """The mutants to judge. properties: names or patterns (none: all)."""

    model: str
    settings: tuple[str, ...]
    properties: tuple[str, ...]
    limits: MutantLimits
    most: int | None = None
    """Mutants that are judged, at most: a sample of them."""
    seed: int = 0
    """Of the sample."""
    processes: int = 1
    further: int = 0
    """After the sample so many others are judged, at most, until each property but the excused has killed one."""
    excused: frozenset[str] = frozenset()
    wider: tuple[tuple[str, ...], ...] = ()
    """Further settings, one set after the other, in which mutants that leave the space unchanged are judged again."""
    symmetry: str = "off"
    """off, auto or on."""

    def widened(self, settings: tuple[str, ...]) -> MutantRequest:
        """The same request with other values for some settings."""
        pairs = {pair.partition("=")[0]: pair for pair in (*self.settings, *settings)}
        return replace(self, settings=tuple(pairs.values()))

    def judge(self, look: Callable[[int], None]) -> Judge:
        """The model itself, searched. Raises what `look` raises, `Failure` as `prepare` does, and `LanguageError`."""
        prepared = prepare(self.model, list(self.settings))
        bound, lowered = prepared.bound, prepared.lowered
        options = SearchOptions(list(self.properties), symmetry=self.symmetry)
        return Judge(bound, lowered, options, self.limits, look)

    def sample(self, count: int) -> tuple[list[int], list[int]]:
        """The numbers of the mutants that are judged, of so many, in the order of the text; and of further ones."""
        numbers = list(range(count))
        random.Random(self.seed).shuffle(numbers)
        most = count if self.most is None else self.most
        return sorted(numbers[:most]), numbers[most : most + self.further]


@dataclass(frozen=True)
class Noticed:
    """The mutants that a property or cover notices."""

    name: str
    kills: int
    alone: int
    """Mutants that nothing else kills."""
    violated: bool
    """The model itself violates it, or does not reach it, so that it can kill no mutant."""
    is_cover: bool


@dataclass
class MutantReport:
    """The fates of the mutants of a model."""

    model: str
    names: list[str]
    """Of the properties and covers that are asked for."""
    covers: list[str]
    """Those of them that are covers."""
    mutants: list[Mutant]
    """All of the model's."""
    chosen: list[int]
    """Those that are judged, by number."""
    others: list[int] = field(default_factory=list)
    """Those that may be judged after them."""
    base: MutantOutcome = field(default_factory=MutantOutcome)
    """Of the model itself."""
    results: dict[int, Judged] = field(default_factory=dict)
    """By the number of the mutant, as far as they are judged."""
    wider: list[str] = field(default_factory=list)
    """The wider configurations in which equivalent mutants were judged again."""
    symmetry: ClassesRecord = field(default_factory=ClassesRecord)
    """Of searches of one state of each class: as of `SearchResult`, for the model itself."""
    early: Stop | None = None
    """The reason why not all of them are judged."""

    @property
    def judged(self) -> list[tuple[Mutant, Judged]]:
        """In the order of the text."""
        return [(self.mutants[n], self.results[n]) for n in sorted(self.results)]

    @property
    def counts(self) -> dict[Fate, int]:
        """The numbers of mutants by fate."""
        counts = Counter(judged.fate for judged in self.results.values())
        return {fate: counts[fate] for fate in Fate if counts[fate]}

    @property
    def noticed(self) -> list[Noticed]:
        """The mutants that each property and cover notices, in the order of the model."""
        killers = [judged.killers for judged in self.results.values()]
        already = self.base.violated.keys() | self.base.unreached
        return [
            Noticed(n, sum(n in k for k in killers), sum([*k] == [n] for k in killers), n in already, n in self.covers)
            for n in self.names
        ]

    @property
    def unexercised(self) -> list[str]:
        """Properties that kill no mutant, and that the model itself satisfies."""
        return [n.name for n in self.noticed if not n.kills and not n.violated and not n.is_cover]

    @property
    def extent(self) -> str:
        """The number of mutants that were judged, of all."""
        done, chosen, every = len(self.results), len(self.chosen), len(self.mutants)
        sampled = f", a sample of {every:,}" if chosen < every else ""
        return f"{done:,} of {chosen:,} mutants{sampled}" if self.early else f"{chosen:,} mutants{sampled}"

    def exit(self) -> Exit:
        """The exit code: survivors weigh more than mutants of which nothing is known, but not after Ctrl-C.

        An equivalent mutant counts as what the wider settings show it to be.
        """
        judged = self.results.values()
        fates = {one.fate for one in judged} | {one.told_by[1].fate for one in judged if one.told_by is not None}
        codes = [Exit.OK]
        codes += [Exit.EXPECTATION] if Fate.SURVIVED in fates else []
        codes += [Exit.INCONCLUSIVE] if self.early or {Fate.UNDECIDED, Fate.CLIPPED} & fates else []
        return worst(codes) if self.early is None else self.early.exit_of_several(codes)


def judge_mutants(request: MutantRequest, budget: float | None, progress: Progress) -> MutantReport:
    """Judges every mutant that is asked for; fewer if it is interrupted, or after `budget` seconds.

    Raises `Failure` where the model itself cannot be searched whole, or has no mutants.
    """
    clock, report = Clock(budget), MutantReport(request.model, [], [], [], [])

    def look() -> None:
        clock.look()
        progress.proof(f"{len(report.results):,} of {len(report.chosen):,} mutants of {request.model}")

    with Ending() as ending:
        judge = request.judge(lambda states: look())
        _open(report, request, judge)
        some = _one_by_one if request.processes == 1 else _by_processes
        for number, judged in some(request, judge, report, look):
            report.results[number] = judged
            look()
            if not _goes_on(request, judge, report):
                break
        _exercise_whole_runs(judge, report, look)
        for settings in request.wider:
            _judge_again(request, settings, report, look)
    report.early = ending.stop
    if report.early and not report.mutants:
        raise Failure(Exit.INCONCLUSIVE, f"{request.model} itself was not searched to its end: {report.early.text}")
    return report


def _open(report: MutantReport, request: MutantRequest, judge: Judge) -> None:
    """Notes the mutants and the properties. `Failure` as `judge_mutants`."""
    bound, base, wants = judge.bound, judge.base, judge.options.wants
    if base.raised:
        raise Failure(Exit.MODEL, f"{base.raised}; `reassure check` shows how")
    if base.ended:
        raise Failure(Exit.INCONCLUSIVE, f"{request.model} itself was not searched to its end: {base.ended}")
    report.model, report.base, report.symmetry = bound.model.name, base, judge.search.symmetry()
    mutants = mutants_of(bound)
    report.covers = [c.name for c in bound.covers if wants(c.name)]
    properties = [p.name for p in bound.properties] + ["deadlock"] * bound.model.deadlock
    report.names = [n for n in properties if wants(n)] + report.covers
    if not mutants:
        raise Failure(Exit.NOTHING, f"{report.model} has no mutants: its actions have nothing to change")
    report.mutants = mutants
    report.chosen, report.others = request.sample(len(mutants))


def _goes_on(request: MutantRequest, judge: Judge, report: MutantReport) -> bool:
    """Whether a further mutant is to be judged; after the sample it is chosen here."""
    if len(report.results) < len(report.chosen):
        return True
    if not report.others or not set(report.unexercised) - request.excused - judge.whole_runs:
        return False
    report.chosen.append(report.others.pop(0))
    return True


def _exercise_whole_runs(judge: Judge, report: MutantReport, look: Callable[[], None]) -> None:
    """Has properties about whole runs that killed nothing decided for mutants that others killed, until one falls."""
    missing = set(report.unexercised) & judge.whole_runs
    for number in report.chosen:
        judged = report.results[number]
        if missing and judged.fate is Fate.KILLED:
            look()
            fallen = judge.violated_runs(report.mutants[number], missing)
            report.results[number] = replace(judged, killers=judged.killers | dict.fromkeys(sorted(fallen)))
            missing -= fallen


def _judge_again(
    request: MutantRequest, settings: tuple[str, ...], report: MutantReport, look: Callable[[], None]
) -> None:
    """Has the equivalent mutants that no wider configuration has told from the model yet judged in this one.

    Raises `Failure` where the model itself cannot be searched in it.
    """
    left = [n for n in report.chosen if (found := report.results.get(n)) and found.fate is Fate.EQUIVALENT]
    left = [n for n in left if report.results[n].told_by is None]
    if not left:
        return
    judge = request.widened(settings).judge(lambda states: look())
    if why := judge.base.raised or judge.base.ended:
        raise Failure(Exit.INCONCLUSIVE, f"{report.model} with {' '.join(settings)} was not searched to its end: {why}")
    mutants = mutants_of(judge.bound)  # of the functions of this model, which was loaded anew
    for number in left:
        look()
        other = judge.judge(mutants[number])
        if other.fate is not Fate.EQUIVALENT:
            report.results[number] = replace(report.results[number], told_by=(" ".join(settings), other))
    report.wider.append(" ".join(settings))


def _one_by_one(
    request: MutantRequest, judge: Judge, report: MutantReport, look: Callable[[], None]
) -> Iterator[tuple[int, Judged]]:
    for number in report.chosen + report.others:
        yield number, judge.judge(report.mutants[number])


def _by_processes(
    request: MutantRequest, judge: Judge, report: MutantReport, look: Callable[[], None]
) -> Iterator[tuple[int, Judged]]:
    """Each process loads the model and searches it once; then it takes one mutant after the other."""
    context = multiprocessing.get_context("spawn")
    stopped = context.Event()
    with ProcessPoolExecutor(request.processes, context, _begin, (request, stopped)) as pool:
        with interrupts_wait():  # the processes are started with the first
            jobs = [(number, pool.submit(_judged, number)) for number in report.chosen + report.others]
        try:
            for number, job in jobs:
                yield number, _awaited(job, look)
        except BrokenProcessPool:
            raise Interrupted(StopReason.MEMORY, "a process ended, perhaps for want of memory") from None
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)


def _awaited(job: Future[Judged], look: Callable[[], None]) -> Judged:
    while True:
        try:
            return job.result(POLL)
        except TimeoutError:
            look()


# -- within a process -----------------------------------------------------------------------------------------------

_own: list[tuple[Judge, list[Mutant]]] = []
"""The one model that this process judges mutants of, and the mutants."""


def _begin(request: MutantRequest, stopped: Event) -> None:
    """Prepares a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that began this one sets the event
    runs_at_once(request.processes)

    def look(states: int) -> None:
        if stopped.is_set():
            raise Interrupted(StopReason.INTERRUPTED, "interrupted")

    judge = request.judge(look)
    _own.append((judge, mutants_of(judge.bound)))


def _judged(number: int) -> Judged:
    judge, mutants = _own[0]
    return judge.judge(mutants[number])
