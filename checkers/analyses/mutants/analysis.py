"""The mistakes that each property notices: every mutant of a model is searched, and compared with the model.

A mutant is killed by each property that it violates and the model does not, and by each cover that the model reaches
and it does not. What survives may be a mistake for which nobody has written a property, or no mistake at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from reassure.checkers.analyses.mutants.mutant_search import (
    MutantLimits,
    MutantOutcome,
    MutantSearch,
    same_behaviour,
)
from reassure.checkers.analyses.mutants.mutants import Mutant
from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.exploration import Start
from reassure.checkers.engines.native.symmetry.reduced_search import EVERY_STATE, ExactClasses
from reassure.checkers.request.options import SearchOptions
from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.frontend.lowered_model import Check, LoweredAction, LoweredModel
from reassure.spec.frontend.lowering import with_changed
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import BoundModel, ModelError

MOST = 8
"""A mutant is given up at so many times the states of the model, or at `LEAST_MOST`."""
LEAST_MOST = 200_000
SAME = "the same states and steps"


class Fate(StrEnum):
    """The fate of a mutant. Only `KILLED` is to a property's credit."""

    KILLED = "killed"
    SURVIVED = "survived"
    """It was searched whole, and no property notices it."""
    EQUIVALENT = "equivalent"
    """It has the same initial states, reachable states and steps as the model, in this configuration."""
    REFUSED = "refused"
    """It is not a model: outside the language, or without an initial state."""
    RAISED = "raised"
    """Plain Python raises in a reachable state, and no property was violated before."""
    CLIPPED = "clipped"
    """It leaves a bound that the model stays within; within the bounds no property notices it."""
    UNDECIDED = "undecided"
    """Its search was given up, and no property was violated before."""


@dataclass
class Judged:
    """The judgement of one mutant."""

    fate: Fate
    killers: dict[str, int | None]
    """Properties by name, with the states of the shortest trace; None of covers, and of properties of whole runs."""
    note: str = ""
    told_by: tuple[str, Judged] | None = None
    """Of an equivalent mutant: the wider configuration that tells it from the model, and its judgement there."""


class Judge:
    """The model itself, searched, and what its mutants are compared with."""

    def __init__(
        self,
        bound: BoundModel,
        lowered: LoweredModel,
        options: SearchOptions,
        limits: MutantLimits,
        look: Callable[[int], None],
    ) -> None:
        """limits: of each search; look: as of `MutantSearch`."""
        self.bound, self.options, self.limits, self.look = bound, options, limits, look
        self.lowered = lowered.only(options.wants)
        self.layout = state_layout(bound)
        self.start = Start.of(bound, self.layout)
        self.initials = {i.name for i in bound.model.initials}
        self.whole_runs = {p.name for p in bound.properties if p.temporal and options.wants(p.name)}
        self.classes = ExactClasses.of(self.lowered, self.start, self.layout, options.symmetry)
        self.search = MutantSearch(
            bound, self.lowered, self.layout, options, limits, look, self.whole_runs, self.classes
        )
        self.base = self.search.decide_whole_runs(self.search.run(self.start))
        self.whole_runs -= self.base.violated.keys()
        """The properties about whole runs that can kill."""
        self.judgements = {self._key(self.lowered, self.start): Judged(Fate.EQUIVALENT, {}, SAME)}
        """By all that a search depends on: the fates of mutants, for those that lowering makes the same."""
        self.most = max(LEAST_MOST, MOST * self.base.stats.distinct)

    def judge(self, mutant: Mutant) -> Judged:
        """Searches and judges a mutant. Raises what `look` raises.

        Properties about whole runs are decided if nothing else kills it.
        """
        try:
            lowered, bound = self._lowered(mutant), mutant.of(self.bound)
            start = self._start(mutant, bound)
            if not start.rows:
                return Judged(Fate.REFUSED, {}, "it has no initial state")
            if before := self.judgements.get(key := self._key(lowered, start)):
                return before
            search = self._search(bound, lowered, self.whole_runs, start)
        except SubsetError as error:
            first = error.refusals[0]
            return Judged(Fate.REFUSED, {}, f"{first.construct}: {first.remedy}")
        except (LanguageError, LookupError) as error:
            return Judged(Fate.REFUSED, {}, str(error))
        except ModelError as error:
            return Judged(Fate.RAISED, {}, str(error))
        judged = self._compared(search, search.run(start), start)
        if judged.fate in (Fate.KILLED, Fate.SURVIVED, Fate.EQUIVALENT, Fate.CLIPPED):  # that it raises has a place
            self.judgements[key] = judged
        return judged

    def violated_runs(self, mutant: Mutant, names: Container[str]) -> set[str]:
        """Those of these properties about whole runs that a mutant violates which something else kills."""
        return {name for name in self.outcome(mutant, names).violated if name in names}

    def outcome(self, mutant: Mutant, whole_runs: Container[str] | None = None) -> MutantOutcome:
        """All that a mutant violates and reaches. whole_runs: properties of whole runs that are decided (none: all).

        Raises `LanguageError`, `LookupError` or `ModelError` where the mutant is not a model.
        """
        names = self.whole_runs | self.base.violated.keys() if whole_runs is None else whole_runs
        bound = mutant.of(self.bound)
        start = self._start(mutant, bound)
        search = self._search(bound, self._lowered(mutant), names, start)
        return search.decide_whole_runs(search.run(start))

    def _start(self, mutant: Mutant, bound: BoundModel) -> Start:
        return Start.of(bound, self.layout) if self.initials & set(mutant.reached_by) else self.start

    def _search(
        self, bound: BoundModel, lowered: LoweredModel, whole_runs: Container[str], start: Start
    ) -> MutantSearch:
        """The search of a mutant: of every state, where it tells apart ids that the model does not."""
        limits = MutantLimits(self.limits.seconds, self.limits.states or self.most, self.limits.memory)
        classes = self.classes if self.classes.are_of(lowered, start) else EVERY_STATE
        return MutantSearch(bound, lowered, self.layout, self.options, limits, self.look, whole_runs, classes)

    @cached_property
    def every_state(self) -> tuple[MutantSearch, MutantOutcome]:
        """The search of the model that visits every state."""
        search = self.search.of_all_states()
        return search, search.run(self.start)

    def _key(self, lowered: LoweredModel, start: Start) -> tuple[object, ...]:
        """All that the search of a mutant depends on. Nodes of one graph are the same if they are equal."""
        steps = ((tuple((c.kind, c.condition) for c in a.checks), a.clips, a.next_leaves) for a in lowered.actions)
        return *steps, tuple(start.rows), tuple(sorted(start.stats.clipped_at.items()))

    def _lowered(self, mutant: Mutant) -> LoweredModel:
        if mutant.change is None:
            return without_action(self.lowered, mutant.where)
        function, definition = mutant.change
        return with_changed(self.lowered, {function: definition}, mutant.reached_by)

    def _compared(self, search: MutantSearch, outcome: MutantOutcome, start: Start) -> Judged:
        base = self.base
        killers, alike = self._killers(outcome), False
        if outcome.complete and not killers:
            if start.rows == self.start.rows and _counts(outcome) == _counts(base):
                alike, ended = self._is_equivalent(search)
                if alike and not search.by_parameters:
                    return Judged(Fate.EQUIVALENT, {}, SAME)
                if ended:
                    return Judged(Fate.UNDECIDED, {}, ended)
            outcome = search.decide_whole_runs(outcome)
            killers = self._killers(outcome)
            if alike and outcome.complete and not killers:
                return Judged(Fate.EQUIVALENT, {}, SAME)
        why = outcome.ended or (f"raises: {outcome.raised}" if outcome.raised else "")
        if killers:
            return Judged(Fate.KILLED, killers, f"not searched to its end: {why}" if why else "")
        if outcome.raised:
            return Judged(Fate.RAISED, {}, outcome.raised)
        if outcome.ended:
            return Judged(Fate.UNDECIDED, {}, outcome.ended)
        if beyond := sorted(outcome.stats.clipped_at.keys() - base.stats.clipped_at.keys()):
            return Judged(Fate.CLIPPED, {}, f"it leaves the bound of {', '.join(beyond)}")
        more = outcome.stats.distinct - base.stats.distinct, outcome.stats.generated - base.stats.generated
        differs = (
            f"{more[0]:+,} states, {more[1]:+,} steps"
            if any(more)
            else "the same number of states and steps, but different ones"
        )
        return Judged(Fate.SURVIVED, {}, differs)

    def _killers(self, outcome: MutantOutcome) -> dict[str, int | None]:
        """The properties that a mutant violates and the model does not, and covers that only the model reaches."""
        base = self.base
        killers = {name: states for name, states in outcome.violated.items() if name not in base.violated}
        return killers | (dict.fromkeys(sorted(base.reached - outcome.reached)) if outcome.complete else {})

    def _is_equivalent(self, search: MutantSearch) -> tuple[bool, str]:
        """Whether a mutant of the same counts has the same states and steps, and the reason why that is not known.

        Of classes, that their representatives have the same steps: renamed, those are the steps of all their states.
        """
        ours = self.search
        if search.classes != ours.classes:
            ours, outcome = self.every_state
            if not outcome.complete:
                return False, f"the model itself was not searched to its end: {outcome.ended}"
        states = ours.states
        alike = np.array_equal(states, search.states) and same_behaviour(states, ours.steps, search.steps)
        return alike, ""


def _counts(outcome: MutantOutcome) -> tuple[int, int, dict[str, int]]:
    """The counts that are equal for equal behaviour."""
    return outcome.stats.distinct, outcome.stats.generated, outcome.stats.clipped_at


def without_action(lowered: LoweredModel, name: str) -> LoweredModel:
    """The model with an action that is never enabled."""
    never = Check("require", lowered.graph.false, "removed", "", 0)

    def stilled(one: LoweredAction) -> LoweredAction:
        return dataclasses.replace(one, checks=(never,)) if one.name == name else one

    return dataclasses.replace(lowered, actions=tuple(map(stilled, lowered.actions)))
