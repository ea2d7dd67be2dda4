"""A search of one state of each class: states are in one class if renaming ids leads from one to the other.

Exact (`on`): where nothing that is evaluated tells ids apart, the model takes the same steps from every state of a
class, but for names. With the order of ids forgotten (`any-order`) there are more steps than the model has: what holds
then holds in the model, and everything else is confirmed by a run of the model, or decided by the search without
renaming.

Also here: classes of states for the searches of a model and of its changes, which are compared: by the counts of all
states.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT, Layout, scalars, state_layout
from reassure.checkers.engines.native.conclusion import conclusion, state_claims, temporal_claims, told_claims
from reassure.checkers.engines.native.counterexample import Paths, Wanted
from reassure.checkers.engines.native.exploration import Exploration, Limits, Start, compiled, explore, reporting
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.levels import SearchSizes, as_arrays
from reassure.checkers.engines.native.probe import Probe
from reassure.checkers.engines.native.search import Clock, Search
from reassure.checkers.engines.native.symmetry.cells import NotRenamed, Sort, sorts_to_rename
from reassure.checkers.engines.native.symmetry.renamings import ClassPaths, NoRun, Renamings
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Ending, StopReason
from reassure.checkers.request.engine_results import CoverResult, EngineResult, Evidence, PropertyFact, SearchResult
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.run_identity import AllStatesRecord, ClassesRecord
from reassure.spec.frontend.any_order import forgotten_lists, guards_read_order, in_any_order
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.types import SeqType, Type, bits_of
from reassure.spec.semantics.interpreter import BoundModel, Clipped

PAYS = 4
"""Ids that may take each other's names, at least, where a search of classes is quicker."""


def too_few(sorts: tuple[Sort, ...]) -> str:
    """The reason why a search of classes under these renamings would not pay; "" if it does."""
    most = max(len(cell) for sort in sorts for cell in sort.cells)
    return f"{most} ids can be renamed, and it pays from {PAYS} on" if most < PAYS else ""


def classes_record(
    renamings: Renamings,
    classes: int,
    levels: Iterable[Iterable[Rows]],
    threads: int,
    look: Callable[[], None] | None,
) -> ClassesRecord:
    """The part of the run record about a search of classes. levels: their representatives.

    look: called while their states are counted; where it ends that, the record has no number of them. None: they are
    not counted.
    """
    states = None
    with Ending():
        states = None if look is None else renamings.states_of(chain.from_iterable(levels), threads, look)
    return {
        "renamed": [str(sort) for sort in renamings.sorts],
        "order_forgotten": [sort.type.sort.__name__ for sort in renamings.sorts if sort.order_forgotten],
        "lists_forgotten": [sort.type.sort.__name__ for sort in renamings.sorts if sort.lists_forgotten],
        "classes": classes,
        "states": states,
        "all_states": [],
    }


@dataclass(frozen=True)
class ExactClasses:
    """The classes of which searches visit one state each, or, without renamings, every state.

    Counts are those of all states, and traces are runs of the model, so that the searches are compared as others are.
    """

    renamings: Renamings | None = None
    why: str = ""
    """The reason why all states are visited although classes were asked for."""

    @classmethod
    def of(cls, lowered: LoweredModel, start: Start, layout: Layout, symmetry: str) -> ExactClasses:
        """The classes of a model. symmetry: off, auto or on. `Failure` if that is `on` and no id can be renamed."""
        if symmetry == "off":
            return cls()
        try:
            sorts = _sorts(lowered, start, layout)
        except NotRenamed as error:
            if symmetry == "auto":
                return cls(why=str(error))
            raise Failure(Exit.USAGE, f"--symmetry: {error}") from None
        if symmetry == "auto" and (why := too_few(sorts)):
            return cls(why=why)
        return cls(Renamings(sorts, layout))

    @property
    def functions(self) -> str:
        """What a kernel takes as `representatives`."""
        return self.renamings.functions if self.renamings is not None else ""

    def are_of(self, lowered: LoweredModel, start: Start) -> bool:
        """Whether the same ids can be renamed in this change of the model."""
        if self.renamings is None:
            return True
        try:
            return _sorts(lowered, start, self.renamings.layout) == self.renamings.sorts
        except NotRenamed:
            return False

    def start(self, start: Start) -> Start:
        """The initial states that are visited."""
        return start if self.renamings is None else start.of_classes(self.renamings.representative)

    def counted(self, exploration: Exploration, switch: int = 0) -> Exploration:
        """A complete search with the counts of all states: what a state counts for is counted for its whole class.

        switch: 1 + the guard that is left out, of a kernel with switches.
        """
        if self.renamings is None or not exploration.complete:
            return exploration
        rows = np.concatenate([part for level in exploration.level_rows for part in level])
        classes, probe = self.renamings.sizes_of(rows), Probe(exploration.kernel, switch)
        tally = np.zeros(exploration.kernel.shape.tally_words, object)  # a count may take more than a word
        for size in np.unique(classes):
            before = np.array(probe.worker.tally)
            probe.run(np.ascontiguousarray(rows[classes == size]), lambda _: False)
            tally += (np.array(probe.worker.tally) - before).astype(object) * int(size)
        return replace(exploration, of_all=(sum(classes.tolist()), tally))

    def paths(
        self,
        exploration: Exploration,
        bound: BoundModel | None = None,
        switch: int = 0,
        look: Callable[[], None] = lambda: None,
    ) -> Paths:
        """Shortest paths to the states of a search; as `Exploration.paths`."""
        class_of = None if self.renamings is None else self.renamings.class_of
        return self.runs(exploration.paths(bound, switch, class_of, look))

    def runs(self, paths: Paths) -> Paths:
        """Runs of the model along paths of representatives."""
        return paths if self.renamings is None else ClassPaths(paths, self.renamings, exact=True)

    def record(
        self,
        exploration: Exploration,
        levels: Iterable[Iterable[Rows]] | None = None,
        threads: int = 1,
        look: Callable[[], None] | None = lambda: None,
    ) -> ClassesRecord:
        """The part of the run record about the classes of a search; nothing if none were asked for.

        levels: its representatives; None: those of a search in this process. look: as of `classes_record`.
        """
        if self.renamings is None:
            return {"renamed": [], "why": self.why} if self.why else {}
        rows = exploration.level_rows if levels is None else levels
        return classes_record(self.renamings, exploration.search.distinct, rows, threads, look)


EVERY_STATE = ExactClasses()


def _sorts(lowered: LoweredModel, start: Start, layout: Layout) -> tuple[Sort, ...]:
    return sorts_to_rename(lowered, [layout.decode(row) for row in start.rows], any_order=False)


Check = Callable[[Prepared, SearchOptions, Progress], EngineResult]
OPEN = PropertyFact(Evidence.OPEN, note="with the order of ids forgotten it is open, and not all states were searched")
HOLDS = PropertyFact(Evidence.EVERY_STATE)


@dataclass
class Undecided:
    """What a search of classes does not decide. everything: since the model may raise."""

    levels: dict[str, int] = field(default_factory=dict)
    """By claim: the level of the hit that no run of the model was found for; 0 where there may be one without a hit,
    and of properties about whole runs."""
    everything: bool = False


def check(
    prepared: Prepared, options: SearchOptions, progress: Progress, sizes: SearchSizes, whole: Check
) -> EngineResult:
    """Searches one state of each class. whole: the search without renaming. `Failure` if no id can be renamed.

    With `auto` it is for those who do not know whether it pays: it is exact, and searches all states where it does not.
    """
    began, bound, lowered = time.monotonic(), prepared.bound, prepared.lowered
    layout, any_order = state_layout(bound), options.symmetry == "any-order"
    starts = [state for _, _, state in bound.initial_states() if not isinstance(state, Clipped)]
    try:
        sorts = sorts_to_rename(lowered, starts, any_order)
        why_not = _why_not(sorts, prepared, options) if options.symmetry == "auto" else ""
    except NotRenamed as error:
        if options.symmetry != "auto":
            raise Failure(Exit.USAGE, f"--symmetry: {error}") from None
        sorts, why_not = (), str(error)
    if why_not:
        return _all_states(whole(prepared, replace(options, symmetry="off"), progress), why_not)
    forgotten = [sort.type.sort for sort in sorts if sort.order_forgotten]
    lists = forgotten_lists(lowered, forgotten)
    sorts = tuple(replace(sort, lists_forgotten=sort.type.sort in lists) for sort in sorts)
    renamings = Renamings(sorts, layout)
    progress.ready("compiling")
    # A violation may be one that the model does not have: the search goes on until it is confirmed.
    limited = replace(options, fail_fast=options.fail_fast and not forgotten)
    searched = in_any_order(lowered, forgotten, lists) if forgotten else lowered
    agreeing = in_any_order(lowered, forgotten, lists, partial(_agree, lowered, starts)) if lists else searched
    compile_seconds = time.monotonic() - began
    explored = partial(_explored, prepared, renamings, progress=progress, sizes=sizes)
    exploration, clock = explored(agreeing, limited)
    if exploration.search.raised_on is not None and agreeing != searched:  # a step may change the order of a list
        del exploration  # before another search, which may take as much memory
        exploration, clock = explored(searched, _remaining(limited, began))
    stats = exploration.stats
    stats.seconds["compile"] += compile_seconds
    stats.bytes_per_state, stats.workers = layout.bytes_per_state, options.workers
    paths = ClassPaths(
        exploration.paths(class_of=renamings.class_of, look=clock.look_to_the_end), renamings, exact=not forgotten
    )
    undecided = _undecided(exploration, paths, options) if forgotten else Undecided()
    if forgotten and guards_read_order(lowered, forgotten, lists) and "deadlock" in state_claims(bound, options):
        undecided.levels["deadlock"] = 0
    summary, result = SearchResult(), None
    if not undecided.everything:  # with the order of ids forgotten, the traces are there
        told = replace(options, traces=options.traces or bool(forgotten))
        result = conclusion(prepared, told, exploration, paths, summary)
    counting_began = time.monotonic()
    summary.symmetry = _record(exploration, renamings, clock.look_to_the_end if options.traces else None)
    stats.seconds["report"] += time.monotonic() - counting_began
    decidable = exploration.complete or exploration.stopped.reason is StopReason.DEPTH
    del exploration, paths  # before another search, which may take as much memory
    if result is None:
        return _decided_by(whole, prepared, options, progress, summary, began)
    if result.complete:  # what is about whole runs takes the graph of all states
        undecided.levels |= dict.fromkeys(temporal_claims(bound, options), 0)
    if undecided.levels and decidable:
        result = _completed(result, undecided, whole, prepared, _remaining(options, began), progress)
    elif undecided.levels:
        result = replace(result, facts={**result.facts, **dict.fromkeys(undecided.levels, OPEN)})
    return result


def _explored(
    prepared: Prepared,
    renamings: Renamings,
    lowered: LoweredModel,
    options: SearchOptions,
    progress: Progress,
    sizes: SearchSizes,
) -> tuple[Exploration, Clock]:
    """A search of representatives, and the clock of its budget."""
    began, bound = time.monotonic(), prepared.bound
    progress.ready("compiling")
    kernel = compiled(lowered, renamings.layout, representatives=renamings.functions)
    search = Search(kernel, max(1, options.workers), options.memory, sizes)
    search.warm_up()
    seconds = time.monotonic() - began
    progress.begin()
    start = Start.of(bound, renamings.layout).of_classes(renamings.representative)
    limits = Limits.of(options, state_claims(bound, options), told_claims(bound, options))
    exploration = explore(bound, kernel, start, search, limits, reporting(search, start, progress))
    exploration.stats.seconds["compile"] = seconds
    return exploration, limits.clock


def _agree(lowered: LoweredModel, starts: list[Any], *paths: str) -> bool:
    """Whether the items that are in both of two sequences are in the same order, and once, in every initial state."""
    places = [k for k, leaf in enumerate(lowered.leaves) if leaf.path in paths]
    for state in starts:
        leaves = list(scalars(state, lowered.bound.type))
        a, b = (_items(leaves[place], lowered.leaves[place].type) for place in places)
        common = [[item for item in one if item in other] for one, other in ((a, b), (b, a))]
        if common[0] != common[1] or len(set(common[0])) < len(common[0]):
            return False
    return True


def _items(packed: int, kind: Type) -> list[int]:
    """The items of a sequence, as a scalar leaf has it."""
    assert isinstance(kind, SeqType)
    bits = bits_of(kind.item)
    return [packed >> place * bits & ((1 << bits) - 1) for place in range(packed >> SEQ_LENGTH_AT)]


def _why_not(sorts: tuple[Sort, ...], prepared: Prepared, options: SearchOptions) -> str:
    """The reason why a search of classes would not pay; "" if it does."""
    if few := too_few(sorts):
        return few
    temporal = temporal_claims(prepared.bound, options)
    return f"{temporal[0]} is about whole runs, which take the graph of all states" if temporal else ""


def _all_states(result: EngineResult, why: str) -> EngineResult:
    """The result of a search of all states, with the reason for it."""
    assert isinstance(result.summary, SearchResult)
    result.summary.symmetry = {"renamed": [], "why": why}
    return result


def _record(exploration: Exploration, renamings: Renamings, look: Callable[[], None] | None) -> ClassesRecord:
    """The part of the run record about classes."""
    assert isinstance(exploration.search, Search)
    search = exploration.search
    levels = [*search.found, search.beyond, *(worker.new_states() for worker in search.workers)]
    return classes_record(renamings, exploration.distinct, map(as_arrays, levels), len(search.workers), look)


def _undecided(exploration: Exploration, paths: ClassPaths, options: SearchOptions) -> Undecided:
    """The claims that were hit and of which no run of the model was found; they count as not hit from here on."""
    undecided, bound, levels = Undecided(), exploration.bound, exploration.search.hits.levels
    if exploration.search.raised_on is not None:
        return Undecided(everything=True)
    claims = {p.name: p for p in [*bound.properties, *bound.covers]}
    flags = {
        name: flag
        for name, flag in exploration.kernel.model.flags().items()
        if flag in levels and options.wants(name) and (name != "deadlock" or bound.model.deadlock)
    }
    confirmed = set[str]()
    with Ending():  # what there is no time to confirm is undecided too
        paths.look_for([(levels[flag], Wanted(flag)) for flag in flags.values()])
        for name, flag in flags.items():
            with suppress(NoRun):
                paths.shown(claims.get(name), flag, levels[flag])
                confirmed.add(name)
    for name, flag in flags.items():
        if name not in confirmed:
            undecided.levels[name] = levels.pop(flag)
    return undecided


def _remaining(options: SearchOptions, began: float) -> SearchOptions:
    """The options of a search without renaming in the time that is left."""
    left = None if options.budget is None else max(0.001, options.budget - (time.monotonic() - began))
    return replace(options, budget=left, symmetry="off")


def _decided_by(
    whole: Check, prepared: Prepared, options: SearchOptions, progress: Progress, summary: SearchResult, began: float
) -> EngineResult:
    """The result of the search without renaming, since a step of the other one may raise where the model does not."""
    result = whole(prepared, _remaining(options, began), progress)
    assert isinstance(result.summary, SearchResult)
    result.summary.symmetry = {**summary.symmetry, "all_states": [_noted([], options, result)]}
    return result


def _completed(
    result: EngineResult,
    undecided: Undecided,
    whole: Check,
    prepared: Prepared,
    options: SearchOptions,
    progress: Progress,
) -> EngineResult:
    """The result with what searches of all states say of what is undecided.

    The first goes to the depth of the hits alone: many are as near in the model. Where one of them ends early, what the
    search of classes decided stays, and the run is not complete.
    """
    began, names, exact = time.monotonic(), set(undecided.levels), None
    properties = state_claims(prepared.bound, options)
    depth = max(undecided.levels.values())
    if depth and (options.depth is None or depth < options.depth):
        nearby = {name for name, level in undecided.levels.items() if level}
        exact = _asked(nearby, whole, prepared, replace(options, depth=depth), progress, result)
        result = _taken_over(result, exact, nearby, properties)
        shown = {*exact.facts, *(cover.name for cover in exact.covers if cover.reached)}
        names -= nearby if exact.complete else shown
    if names and (exact is None or exact.complete or exact.stopped.reason is StopReason.DEPTH):
        exact = _asked(names, whole, prepared, _remaining(options, began), progress, result)
        result = _taken_over(result, exact, names, properties)
    assert exact is not None
    to_depth = exact.stopped.reason is StopReason.DEPTH
    if not names or exact.complete or (to_depth and not result.complete):
        return result
    facts = dict(result.facts)
    if not to_depth:
        facts |= dict.fromkeys((names & properties) - facts.keys(), OPEN)
        if result.complete:
            facts |= dict.fromkeys(properties - facts.keys(), HOLDS)
    return replace(result, facts=facts, complete=False, stopped=exact.stopped)


def _asked(
    names: set[str], whole: Check, prepared: Prepared, options: SearchOptions, progress: Progress, result: EngineResult
) -> EngineResult:
    """The result of a search of all states for some claims, which is noted in the record."""
    exact = whole(prepared.only(names.__contains__), replace(options, properties=sorted(names)), progress)
    assert isinstance(result.summary, SearchResult)
    result.summary.symmetry["all_states"].append(_noted(sorted(names), options, exact))
    return exact


def _noted(asked: list[str], options: SearchOptions, exact: EngineResult) -> AllStatesRecord:
    """A search of all states as the record has it; nothing asked: everything."""
    distinct, complete = exact.stats.distinct, exact.complete
    return {"asked": asked, "depth": options.depth, "distinct": distinct, "complete": complete}


def _taken_over(result: EngineResult, exact: EngineResult, names: set[str], properties: frozenset[str]) -> EngineResult:
    """The result with the violations and covers that a search of all states found, and what it decided.

    properties: those of states and steps. After a complete search, what ends the run is what ended the decision of
    those about whole runs.
    """
    facts = {**result.facts, **exact.facts}
    assert isinstance(result.summary, SearchResult) and isinstance(exact.summary, SearchResult)
    if exact.complete:
        facts |= dict.fromkeys((names & properties) - facts.keys(), HOLDS)
        result.summary.fairness = exact.summary.fairness
    reached = {cover.name: cover for cover in exact.covers}
    covers: tuple[CoverResult, ...] = tuple(reached.get(c.name, c) if c.name in names else c for c in result.covers)
    stopped = exact.stopped if exact.complete and result.complete else result.stopped
    return replace(result, facts=facts, covers=covers, raised=exact.raised, stopped=stopped)
