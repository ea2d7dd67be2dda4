"""The native engine's answer to properties about whole runs, once every reachable state is known.

Also here: the reachable states that fair runs within the bounds go through: not all, where fair actions leave a
bound.

Also here: whether something fair forbids every loop of a region, bucket by bucket, decided without the graph of its
states.

A sample of states says whether that is likely: only then are all states expanded for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import chain
from queue import SimpleQueue

import numpy as np

from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.exploration import CompiledKernel
from reassure.checkers.engines.native.kernels.components import mark_before
from reassure.checkers.engines.native.kernels.excluded_buckets import SurveyArguments, survey_buckets
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import ERROR
from reassure.checkers.engines.native.kernels.partitioning import edge_list
from reassure.checkers.engines.native.kernels.region_edges import FALLS, LABEL_BITS, MOST_LABELS, SPREAD
from reassure.checkers.engines.native.liveness.buckets import Buckets, Ranking, bucket_numbers
from reassure.checkers.engines.native.liveness.edge_lister import (
    PIECE,
    ClippedSteps,
    EdgeLister,
    Falls,
    Lists,
    distinct,
)
from reassure.checkers.engines.native.liveness.fair_loops import (
    AT_ONCE,
    Lasso,
    NotAllKnown,
    Region,
    RegionGraph,
    RegionSearch,
    graph_of,
    region_graph,
    states_near,
)
from reassure.checkers.engines.native.liveness.temporal_claims import (
    Candidates,
    FirstStart,
    TemporalClaim,
    TemporalClaims,
    candidates_of,
)
from reassure.checkers.engines.native.model.translation import Translation
from reassure.checkers.engines.native.search import RaisedAt
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.engine_results import PremiseStates, PropertyFact, whole_run_fact
from reassure.checkers.traces.fairness import assumptions_in_words
from reassure.checkers.traces.reconstruct import with_loop
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import Assumption, Assumptions, assumptions_of
from reassure.spec.semantics.trace import Trace

FIRST_LOOK = 1 << 8
"""States that are looked at first."""
GUESSES = 4
"""How often the fields that steps move one way only are guessed."""


class Survey:
    """Looks whether each bucket of a region has something fair that is always enabled in it and never taken there."""

    def __init__(
        self,
        lister: EdgeLister,
        claims: TemporalClaims,
        claim: TemporalClaim,
        allow: Callable[[int], None],
        look: Callable[[], None],
    ) -> None:
        """lister: it gets the labels of the steps that are looked at first. allow, look: as of `region_graph`."""
        self.lister, self.claims, self.claim, self.allow, self.look = lister, claims, claim, allow, look

    def excludes_all(self, candidates: Candidates) -> bool:
        """Whether no run that stays in the region for ever is fair; False also where that is not found out.

        candidates: all states of the region, perhaps among others.
        """
        sample = self._inside(candidates.sample(8 * FIRST_LOOK))
        sample = np.ascontiguousarray(sample[:: len(sample) // FIRST_LOOK + 1])
        for _ in range(GUESSES):
            ranking = self._ranking(sample)
            if not self._each_excluded(sample, ranking, first=True):
                return False
            self.allow(2 * candidates.nbytes)  # what is joined is held twice meanwhile
            rows = candidates.join()
            try:
                return self._each_excluded(rows, ranking)
            except Falls as falls:
                more = self._inside(np.ascontiguousarray(rows[falls.state : falls.state + FIRST_LOOK]))
                sample = np.concatenate([sample, more])
        return False

    def _inside(self, rows: Rows) -> Rows:
        """Those of some states that are in the region."""
        inside: Rows = rows[self.claim.stays(self.claims.verdicts(rows))]
        return inside

    def _ranking(self, sample: Rows) -> Ranking:
        """The fields that steps of the region move one way only or not at all, as far as the steps of a sample tell."""
        after, counts = edge_list(self.lister.kernel, sample)
        to = np.ascontiguousarray(after[:, : self.lister.kernel.words])
        stays = self.claim.stays(self.claims.verdicts(to))
        layout = self.lister.kernel.model.layout
        return Ranking.of(layout, np.repeat(sample, counts, axis=0)[stays], to[stays], still=True)

    def _each_excluded(self, rows: Rows, ranking: Ranking, first: bool = False) -> bool:
        """Whether each bucket of some states is excluded. first: the labels of their steps are to be noted.

        Raises `Falls` if the buckets are not in order.
        """
        threads = 1 if first else self.lister.threads
        self.allow(rows.nbytes + 8 * len(rows))
        (bucket_of,), sizes = bucket_numbers([rows], ranking)
        self.allow(rows.nbytes + 8 * len(rows) + 8 * len(sizes) * (2 * threads + rows.shape[1]))
        none = np.zeros(0, np.int64)
        known, free = Buckets(rows, ranking, none, none), SimpleQueue[_Surveyor]()
        surveyors = [_Surveyor(self, known, bucket_of, len(sizes), first) for _ in range(threads)]
        for surveyor in surveyors:
            free.put(surveyor)

        def surveyed(low: int) -> bool:
            surveyor = free.get()
            try:
                return surveyor.survey(low, min(low + PIECE, len(rows)))
            finally:
                free.put(surveyor)

        lows = range(0, len(rows), PIECE)
        with ThreadPoolExecutor(threads) as pool:
            try:
                for some_left in map(surveyed, lows) if threads == 1 else pool.map(surveyed, lows):
                    self.look()
                    if not some_left:
                        return False
            finally:
                pool.shutdown(cancel_futures=True)
        if first:
            self.lister.merge_labels(surveyors[0].lists)
        always = np.bitwise_and.reduce([s.always for s in surveyors])
        taken = np.bitwise_or.reduce([s.taken for s in surveyors])
        return bool(np.all(always & ~taken))


class _Surveyor:
    """What one thread finds, and the kernel's arguments that point to it."""

    def __init__(self, survey: Survey, known: Buckets, bucket_of: Rows, buckets: int, first: bool) -> None:
        self.lists, self.kernel = Lists(survey.lister, known.rows, known), survey.lister.kernel
        self.lists.take_labels(survey.lister)
        if not first:  # each thread would number further labels in its own way
            self.lists.arguments.label_room = self.lists.arguments.label_count
        self.always, self.taken = np.full(buckets, -1, np.int64), np.zeros(buckets, np.int64)
        stays, judge = survey.claim.stay_bits, survey.claims.function
        self.arguments = SurveyArguments(judge, stays, bucket_of, self.always, self.taken)

    def survey(self, low: int, high: int) -> bool:
        """Looks at rows low..high-1; whether each bucket may still be excluded."""
        a = self.lists.arguments
        a.low, a.high = low, high
        self.kernel.run(survey_buckets, self.kernel.words, a, self.arguments)
        if self.lists.tally[ERROR]:
            raise RaisedAt(self.lists.rows[self.lists.tally[ERROR] - 1].copy())
        if a.low == FALLS:
            raise Falls(a.high)
        return bool(np.all(self.always & ~self.taken))


EVERYWHERE = TemporalClaim("persistence", 0, 0)
"""Of nothing: every run that does not end stays in its region, which is all states, and returns to it."""


class BoundedRuns:
    """The graph of every reachable state and step, and what fair runs go through in it."""

    def __init__(
        self,
        lister: EdgeLister,
        level_rows: Iterable[Iterable[Rows]],
        judge: Callable[[Rows], Rows],
        allow: Callable[[int], None],
        look: Callable[[], None],
    ) -> None:
        """level_rows: every reachable state, by level. judge, allow, look: as of `region_graph`."""
        self.allow, self.look = allow, look
        self._marks: dict[tuple[Assumption, ...], Rows] = {}
        rows = np.concatenate([rows for parts in level_rows for rows in parts])
        allow(rows.nbytes + 8 * SPREAD * len(rows))
        self.graph = graph_of(lister, Buckets.one(rows), judge, allow, look)
        self.region = Region(lister, lambda: self.graph, EVERYWHERE, None, 0, judge, level_rows, look)

    def premise_states(self, bound: BoundModel, claim: TemporalClaim, assumptions: Assumptions) -> PremiseStates:
        """The states that a property is about, how many of them are in no fair run within the bounds, and whether a
        fair run would violate the property if no step that leaves a bound was enabled.
        """
        about = self.graph.verdicts & claim.holds != 0 if claim.kind == "leads_to" else np.ones(self.graph.count, bool)
        beyond = about & (self._marked(bound, assumptions) == 0)
        count, without = int(about.sum()), int(beyond.sum())
        rests = without < count and self.violated_within(bound, claim, assumptions)
        return PremiseStates(count, without, rests)

    def violated_within(self, bound: BoundModel, claim: TemporalClaim, assumptions: Assumptions) -> bool:
        """Whether a fair run would violate a property if no step that leaves a bound was enabled."""
        graph = self._graph_within
        self.allow(self.graph.nbytes + graph.nbytes + RegionSearch.bytes_for(graph))
        region = replace(self.region, make=lambda: graph, claim=claim)
        return len(RegionSearch(bound, region, assumptions).fair_states(self.look).numbers) > 0

    @cached_property
    def _graph_within(self) -> RegionGraph:
        """The graph, in which only the steps that it has are enabled."""
        parts = []
        for part in self.graph.parts:
            states = np.repeat(np.arange(part.low, part.high), np.diff(part.ends, prepend=0))
            taken = states << LABEL_BITS | part.edges & MOST_LABELS
            parts.append(replace(part, enabled=distinct(taken[part.edges & MOST_LABELS != 0])))
        return replace(self.graph, parts=parts)

    def _marked(self, bound: BoundModel, assumptions: Assumptions) -> Rows:
        """By state: 1 if steps lead from it to a fair loop, or to where a fair run may stop; else 0."""
        graph, assumed = self.graph, tuple(assumptions.values())
        if assumed in self._marks:
            return self._marks[assumed]
        self.allow(graph.nbytes + RegionSearch.bytes_for(graph) + 8 * graph.count)
        marks = np.zeros(graph.count, np.int64)
        marks[RegionSearch(bound, self.region, assumptions).fair_states(self.look).numbers] = 1
        for part in graph.parts:  # one, as there is one bucket
            while native(mark_before)(part.ends, part.edges, graph.count, marks):
                self.look()
        self._marks = {assumed: marks}  # properties are asked about one after the other, of the same assumptions
        return marks


LARGE = 1 << 20
"""States of regions, from which on those near a first start are looked at before all others."""
NEAR = 1 << 12
"""How many these are, about."""


def needs_parameters(assumptions: Assumptions) -> bool:
    """Whether a kernel has to give the parameters of steps, as some action is fair for each value of them."""
    return any(a.each for a in assumptions.values())


class Liveness:
    """Decides properties about whole runs on the states of one finished search."""

    def __init__(
        self,
        bound: BoundModel,
        translation: Translation,
        kernel: CompiledKernel,
        level_rows: Iterable[Iterable[Rows]],
        names: Sequence[str],
        allow: Callable[[int], None],
        look: Callable[[], None],
        threads: int = 1,
        weaker: bool = False,
        assumptions: Assumptions | None = None,
    ) -> None:
        """level_rows: every reachable state, by level; gone through once. names: of the properties that are asked for.

        allow, look: as of `region_graph`. threads: that list edges and look for loops.
        weaker: whether weaker assumptions than the model's are asked about too, after these, so that regions that these
        empty are needed as well. assumptions: the strongest that are asked about, where they are not the model's.
        """
        self.bound, self.kernel, self.level_rows = bound, kernel, level_rows
        self.translation, self.allow, self.look, self.threads, self.weaker = translation, allow, look, threads, weaker
        self.claims, self.names = TemporalClaims(translation.judge, kernel.words), names
        self.assumptions = assumptions_of(bound.model) if assumptions is None else assumptions
        self.peak = 0
        """The most bytes that were held at a time."""
        self._excluded: dict[TemporalClaim, bool] = {}
        self._near_starts: dict[TemporalClaim, Region] = {}
        self._lassos_near: dict[TemporalClaim, Lasso | None] = {}

    @cached_property
    def _lister(self) -> EdgeLister:
        return EdgeLister(self.bound, self.translation, self.kernel, self.assumptions, self.threads)

    @cached_property
    def _candidates(self) -> Candidates:
        claims = [self.claims.claims[name] for name in self.names]

        def stops(claim: TemporalClaim, first: FirstStart) -> bool:
            return self._stops(claim, first, self.assumptions)

        words, judge = self.kernel.words, self.claims.verdicts
        return candidates_of(self.level_rows, claims, words, judge, stops, self._count, self.look)

    @cached_property
    def _graph(self) -> RegionGraph:
        """One for all properties that nothing cheaper decides."""
        candidates = self._candidates
        needed = [claim for claim in candidates.open if not self._is_decided(claim)]
        if len(needed) < len(candidates.open):
            candidates.keep(needed, self.claims.verdicts)
        return region_graph(self._lister, candidates, self.claims.verdicts, self._count, self.look)

    @cached_property
    def _bounded_runs(self) -> BoundedRuns:
        """One graph of all states for all properties and assumptions."""
        return BoundedRuns(self._lister, self.level_rows, self.claims.verdicts, self._count, self.look)

    def premise_states(self, prop: Property, assumptions: Assumptions) -> PremiseStates | None:
        """The states that a property is about, where some steps leave a bound; no fair run violates the property.

        None if no step of a fair action leaves one, as far as the text of the model tells: then each can be taken where
        it is enabled, so that a fair run within the bounds goes through every state.
        """
        if self.translation.clipping.isdisjoint(assumptions):
            return None
        return self._bounded_runs.premise_states(self.bound, self.claims.claims[prop.name], assumptions)

    def rests_on_a_bound(self, prop: Property, assumptions: Assumptions) -> bool:
        """Whether a fair run would violate a property if no step that leaves a bound was enabled; none does now."""
        if self.translation.clipping.isdisjoint(assumptions):
            return False
        return self._bounded_runs.violated_within(self.bound, self.claims.claims[prop.name], assumptions)

    @cached_property
    def leaving_a_bound(self) -> set[str]:
        """The actions of which some step from a reachable state leaves a bound."""
        if not self.translation.clipping:
            return set()
        names = self.kernel.model.actions
        numbers = [number for number, name in enumerate(names) if name in self.translation.clipping]
        steps, found = ClippedSteps(self.translation, numbers), set[int]()
        for rows in chain.from_iterable(self.level_rows):
            for at in range(0, len(rows), AT_ONCE):
                self.look()
                found |= set(steps.of(rows[at : at + AT_ONCE])[1].tolist())
        return {names[number] for number in found}

    def region(self, prop: Property) -> tuple[Region, bool]:
        """The region of a property, and whether some state is what it is about.

        Raises `RaisedAt` if a property about whole runs, this one or another, raises in a state.
        """
        claim = self.claims.claims[prop.name]
        return self._region(claim), claim.concerned(self._candidates.seen)

    def _region(self, claim: TemporalClaim) -> Region:
        first, depth = self._candidates.first.get(claim), self._candidates.depth
        judge = self.claims.verdicts
        return Region(self._lister, lambda: self._graph, claim, first, depth, judge, self.level_rows, self.look)

    def has_fair_loop(self, region: Region, assumptions: Assumptions) -> bool:
        """Whether some fair run violates the property of a region. assumptions: the model's, or weaker ones."""
        if region.first is None:
            return False
        if self._stops(region.claim, region.first, assumptions):
            return True
        if assumptions == self.assumptions and self._is_excluded(region.claim):
            return False
        if (near := self._near(region)) is not None:
            if len(RegionSearch(self.bound, near, assumptions).fair_states(self.look).numbers) > 0:
                return True
        return len(self._search(region, assumptions).fair_states(self.look).numbers) > 0

    def _stops(self, claim: TemporalClaim, first: FirstStart, assumptions: Assumptions) -> bool:
        """Whether a run that violates a claim may stop in its first start: nothing fair can change anything there."""
        if first.verdict & (claim.stay_bits | claim.return_bits) != 0:
            return False
        state = self.kernel.model.layout.decode(first.row.view(np.uint64))
        return not any(step.after != state for name in assumptions for step in self.bound.steps(state, of=name))

    def _is_excluded(self, claim: TemporalClaim) -> bool:
        """Whether it is found without a graph that no fair run violates a claim."""
        if self.weaker:
            return False
        if claim not in self._excluded:
            survey = Survey(self._lister, self.claims, claim, self._count, self.look)
            self._excluded[claim] = survey.excludes_all(self._candidates)
        return self._excluded[claim]

    def _is_decided(self, claim: TemporalClaim) -> bool:
        """Whether the graph is not asked about a claim."""
        if self.weaker:
            return False
        return self._is_excluded(claim) or self._lasso_near(self._region(claim), self.assumptions) is not None

    def _near(self, region: Region) -> Region | None:
        """The states of a region near its first start, if it is so large that they should be looked at first."""
        if region.claim not in self._near_starts:
            if region.first is None or self._candidates.count < LARGE:
                return None
            stays, judge = region.claim.stays, self.claims.verdicts
            rows = states_near(self.kernel, region.first.row, lambda rows: stays(judge(rows)), NEAR)
            graph = region_graph(self._lister, Candidates([region.claim], [rows]), judge, self._count, self.look)
            self._near_starts[region.claim] = replace(region, make=lambda: graph)
        return self._near_starts[region.claim]

    def _lasso_near(self, region: Region, assumptions: Assumptions) -> Lasso | None:
        """The canonical lasso, if states near the first start tell which it is."""
        if assumptions == self.assumptions and region.claim in self._lassos_near:
            return self._lassos_near[region.claim]
        lasso, near = None, self._near(region)
        if near is not None:
            search = RegionSearch(self.bound, near, assumptions)
            with suppress(NotAllKnown):
                lasso = search.lasso(search.fair_states(self.look), whole=False)
        if assumptions == self.assumptions:
            self._lassos_near[region.claim] = lasso
        return lasso

    def _search(self, region: Region, assumptions: Assumptions) -> RegionSearch:
        self._count(region.graph.nbytes + RegionSearch.bytes_for(region.graph))
        return RegionSearch(self.bound, region, assumptions, self.threads)

    def _count(self, more: int) -> None:
        """Notes bytes that are held; raises where they pass the memory limit."""
        self.allow(more)
        self.peak = max(self.peak, more)

    def violating_run(self, prop: Property, region: Region, assumptions: Assumptions, paths: Paths) -> Trace | None:
        """The canonical fair run that violates a property; None if it holds.

        A run that stops in the first start is the shortest of all, and the smallest of these.
        """
        if region.first is None:
            return None
        if self._stops(region.claim, region.first, assumptions):
            state = self.kernel.model.layout.decode(region.first.row.view(np.uint64))
            return with_loop(self.bound, prop, paths.to_state(region.first.level, state), [state], 0, assumptions)
        if assumptions == self.assumptions and self._is_excluded(region.claim):
            return None
        lasso = self._lasso_near(region, assumptions)
        if lasso is None:
            search = self._search(region, assumptions)
            lasso = search.lasso(search.fair_states(self.look))
        if lasso is None:
            return None
        rows, level, loop = lasso
        states = [self.kernel.model.layout.decode(row[0].view(np.uint64)) for row in rows]
        return with_loop(self.bound, prop, paths.to_state(level, states[0]), states, loop, assumptions)


def decide(
    liveness: Liveness, names: list[str], paths: Paths, progress: Progress, clipped: int
) -> Iterator[tuple[str, PropertyFact]]:
    """Each of these properties about whole runs, as soon as it is decided. clipped: steps that leave a bound."""
    assumptions = liveness.assumptions
    claims = {p.name: p for p in liveness.bound.properties}
    note = f"assuming {assumptions_in_words(assumptions)}"
    for name in names:
        progress.proof(f"fair loops: {name}")
        region, concerned = liveness.region(claims[name])
        trace = liveness.violating_run(claims[name], region, assumptions, paths)
        premise = None
        if clipped and concerned and trace is None:
            progress.proof(f"fair runs within the bounds: {name}")
            premise = liveness.premise_states(claims[name], assumptions)
        yield name, whole_run_fact(trace, concerned, note, premise)
