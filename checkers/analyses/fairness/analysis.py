"""The fairness that a property about whole runs needs: each assumption dropped and weakened in turn.

The states and the region of a property do not depend on fairness, so one search and one graph answer every question;
the graph has the labels of the finest assumptions, those for each value that the model declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, combinations, islice

import numpy as np

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.exploration import Limits, Start, compiled, explore
from reassure.checkers.engines.native.liveness.decide import Liveness, needs_parameters
from reassure.checkers.engines.native.liveness.fair_loops import Region
from reassure.checkers.engines.native.model.translation import Translation
from reassure.checkers.engines.native.search import RaisedAt, Search
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Ending, Stop, StopReason
from reassure.checkers.machine.terminal import quantity
from reassure.checkers.request.engine_results import PremiseStates, SearchStatistics
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.result import fair_runs_beyond
from reassure.checkers.request.vacuity import vacuous_claims
from reassure.checkers.traces.reconstruct import raised_in
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, ModelError
from reassure.spec.semantics.liveness import Assumption, Assumptions, assumptions_of
from reassure.spec.semantics.trace import Trace

ALL_WEAKENED = Stop(StopReason.COMPLETE, "every assumption was dropped and weakened")


class Need(StrEnum):
    """Whether a property needs an assumption."""

    NEEDED = "needed"
    NOT_NEEDED = "not needed"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Weakening:
    """One assumption replaced by less, the others as declared."""

    assumption: Assumption
    instead: Assumption | None
    """None: the action is not fair at all."""
    need: Need = Need.UNDECIDED
    trace: Trace | None = None
    """A fair run that violates the property under the weaker assumption."""
    rests: bool = False
    """Whether the property then holds as steps of fair actions leave a bound, and with every assumption it does not."""

    @property
    def words(self) -> str:
        """The change of the assumption, in words."""
        if self.instead is None:
            return "dropped"
        if self.instead.strength != self.assumption.strength:
            return f"{self.instead.strength} instead of {self.assumption.strength}"
        some = [name for name in self.assumption.each if name not in self.instead.each]
        return f"for some {', '.join(some)} instead of each"


@dataclass(frozen=True)
class Suggestion:
    """What makes a property hold of a model that declares no fairness.

    enough: assumptions, none of which can be dropped, or strong ones made weak; None: there are none. Of each action
    as a whole: not for each value of its parameters.
    """

    enough: tuple[Assumption, ...] | None
    beyond: str = ""
    """What it means that some fair runs leave a bound then; without `enough`: that all do with what suffices."""


@dataclass(frozen=True)
class PropertyNeeds:
    """The analysis of one property."""

    name: str
    holds: bool | None = None
    """Whether it holds with every assumption as declared; None: it was not decided."""
    vacuous: str = ""
    """Why it says nothing, if it does."""
    beyond: str = ""
    """What it means for a property that holds that some fair runs leave a bound, if it means anything."""
    premise: PremiseStates | None = None
    """Where steps of fair actions leave a bound."""
    weakenings: tuple[Weakening, ...] = ()
    enough: tuple[Assumption, ...] | None = None
    """Assumptions under which alone it holds, none of which can be dropped from among them.

    None also where it holds only as steps of fair actions leave a bound.
    """
    suggestion: Suggestion | None = None
    """Of a model without a fair action, which violates it."""


@dataclass(frozen=True)
class FairnessAnalysis:
    """The analysis of every property about whole runs that is asked for.

    states, clipped: distinct states, and steps that leave a bound; 0 unless every reachable state was visited.
    """

    properties: tuple[PropertyNeeds, ...]
    stopped: Stop
    """The reason why it ended."""
    states: int = 0
    clipped: int = 0
    undeclared: int = 0
    """Steps that leave a bound which the model does not declare."""

    @property
    def complete(self) -> bool:
        """Whether every assumption was dropped and weakened."""
        return self.stopped == ALL_WEAKENED


def weakenings(assumptions: Assumptions) -> Iterator[Weakening]:
    """Each assumption dropped; strong made weak; for each value of a parameter made for some."""
    for a in assumptions.values():
        yield Weakening(a, None)
        if a.strength == "strong":
            yield Weakening(a, Assumption(a.action, "weak", a.each))
        for name in a.each:
            yield Weakening(a, Assumption(a.action, a.strength, tuple(n for n in a.each if n != name)))


def with_assumption(assumptions: Assumptions, action: str, instead: Assumption | None) -> dict[str, Assumption]:
    """The assumptions with that of one action replaced."""
    others = {name: a for name, a in assumptions.items() if name != action}
    return others if instead is None else {**others, action: instead}


def all_fair(names: Iterable[str], strength: str) -> dict[str, Assumption]:
    """These actions, each fair as a whole."""
    return {name: Assumption(name, strength) for name in names}


def suggested(liveness: Liveness, prop: Property, region: Region, stats: SearchStatistics) -> Suggestion:
    """Weak fairness of each action, else strong fairness, less what a property does without. stats: of the search.

    Actions that leave no bound are tried alone first, then with one of the others, then with two, and so on: fairness
    of an action that leaves a bound may exclude runs by leading out of it. So what holds of no run within the bounds,
    or only as steps leave a bound, is not suggested. Less fairness is that of more runs: what is found and not hollow
    stays so.
    """
    every, useless = [a.name for a in liveness.bound.model.actions], ""
    leaving = liveness.leaving_a_bound if stats.clipped else set()
    for names in _candidates(every, leaving):
        for strength in ("weak", "strong"):
            enough = all_fair(names, strength)
            if liveness.has_fair_loop(region, enough):
                continue
            premise = liveness.premise_states(prop, enough) if stats.clipped else None
            if premise is not None and premise.beyond == premise.count:
                useless = fair_runs_beyond(prop.kind, premise, stats.clipped_at)
                continue
            if premise is not None and premise.rests_on_a_bound:
                continue
            for name in names:
                for instead in (None, Assumption(name, "weak")):
                    less = with_assumption(enough, name, instead)
                    if enough[name] != instead and _suffices(liveness, prop, region, less, stats):
                        enough = less
                        break
            premise = liveness.premise_states(prop, enough) if leaving & enough.keys() else None
            says = "" if premise is None else fair_runs_beyond(prop.kind, premise, stats.clipped_at)
            return Suggestion(tuple(enough[name] for name in every if name in enough), says)
    return Suggestion(None, useless)


MOST_TRIED = 64
"""Sets of actions that a suggestion is looked for among, at most."""


def _candidates(every: list[str], leaving: set[str]) -> Iterator[list[str]]:
    """The actions that leave no bound, and with them some that do: the fewest first, then all."""
    out = [name for name in every if name in leaving]
    some = chain.from_iterable(combinations(out, count) for count in range(len(out)))
    for chosen in islice(some, MOST_TRIED - 1):
        yield [name for name in every if name not in leaving or name in chosen]
    yield every


def _suffices(
    liveness: Liveness, prop: Property, region: Region, assumptions: Assumptions, stats: SearchStatistics
) -> bool:
    """Whether no fair run violates a property, even if steps beyond the bounds were disabled. stats: of the search."""
    if liveness.has_fair_loop(region, assumptions):
        return False
    return not stats.clipped or not liveness.rests_on_a_bound(prop, assumptions)


def analyse(bound: BoundModel, lowered: LoweredModel, options: SearchOptions, progress: Progress) -> FairnessAnalysis:
    """Searches every reachable state, then decides whether each property still holds with each assumption weakened.

    Raises `ModelError` if the model raises in one of them.
    """
    claims = [p for p in bound.properties if p.temporal and p.name in lowered.claims]
    vacuous = vacuous_claims(bound, lowered)
    needs = {claim.name: PropertyNeeds(claim.name) for claim in claims}
    assumptions, layout = assumptions_of(bound.model), state_layout(bound)
    kernel = compiled(lowered, layout, parameters=needs_parameters(assumptions))
    search, limits = Search(kernel, max(1, options.workers), options.memory), Limits.of(options)

    def look(left: int) -> None:
        progress.proof(quantity(search.distinct, "state"))

    exploration = explore(bound, kernel, Start.of(bound, layout), search, limits, look)
    if exploration.stopped.reason is StopReason.RAISED:
        raise ModelError(
            f"{bound.model.name} raises in a state of depth {search.raised_on}: `reassure check` shows how"
        )
    if not exploration.complete:
        return FairnessAnalysis(tuple(needs.values()), exploration.stopped)
    search.release_table()
    stats = exploration.stats
    try:
        with Ending() as ending:
            threads, names, rows = len(search.workers), list(needs), search.found.arrays
            strongest = assumptions or all_fair([a.name for a in bound.model.actions], "strong")
            liveness = Liveness(
                bound,
                Translation.of(lowered, layout),
                kernel,
                rows,
                names,
                search.allow,
                limits.clock.look,
                threads,
                True,
                strongest,
            )
            paths = exploration.paths()
            for claim in claims:
                progress.proof(f"fairness that {claim.name} needs")
                for so_far in _decided(liveness, claim, assumptions, paths, vacuous.get(claim.name, ""), stats):
                    needs[claim.name] = so_far
    except RaisedAt as raised:
        state = layout.decode(raised.row.view(np.uint64))
        raise ModelError(f"{raised_in(bound, state, options.wants).text}; `reassure check` shows how") from None
    stopped = ending.stop or ALL_WEAKENED
    return FairnessAnalysis(tuple(needs.values()), stopped, stats.distinct, stats.clipped, stats.undeclared)


def _decided(
    liveness: Liveness,
    prop: Property,
    assumptions: Assumptions,
    paths: Paths,
    vacuous: str,
    stats: SearchStatistics,
) -> Iterator[PropertyNeeds]:
    """The needs of a property, as far as they are decided; again after each weakening.

    vacuous: why its text says nothing, if so. stats: of the search.
    """
    region, concerned = liveness.region(prop)
    holds = liveness.violating_run(prop, region, assumptions, paths) is None
    if holds and not concerned:
        vacuous = vacuous or "no reachable state satisfies its premise"
    premise, beyond = None, ""
    if holds and not vacuous and stats.clipped:  # weaker fairness is that of more runs
        premise = liveness.premise_states(prop, assumptions)
    if premise is not None:
        beyond = fair_runs_beyond(prop.kind, premise, stats.clipped_at)
        if premise.beyond == premise.count:
            vacuous, beyond = beyond, ""
    rows = list(weakenings(assumptions)) if holds and not vacuous else []
    needs = PropertyNeeds(prop.name, holds, vacuous, beyond, premise, tuple(rows))
    yield needs
    if not holds and not assumptions:
        yield replace(needs, suggestion=suggested(liveness, prop, region, stats))
    if not holds or vacuous:
        return
    solid = premise is None or not premise.rests_on_a_bound
    for number, weakening in enumerate(rows):
        others = with_assumption(assumptions, weakening.assumption.action, weakening.instead)
        trace = liveness.violating_run(prop, region, others, paths)
        rests = not trace and solid and not _suffices(liveness, prop, region, others, stats)
        need = Need.NEEDED if trace or rests else Need.NOT_NEEDED
        rows[number] = replace(weakening, trace=trace, need=need, rests=rests)
        needs = replace(needs, weakenings=tuple(rows))
        yield needs
    if not solid:
        return
    enough = dict(assumptions)
    for name in assumptions:
        fewer = with_assumption(enough, name, None)
        if _suffices(liveness, prop, region, fewer, stats):
            enough = fewer
    yield replace(needs, enough=tuple(enough.values()))
