"""The reference engine: plain breadth-first search over the dataclasses, never optimised. The oracle.

What it counts is the contract of every engine. `generated`: initial states and enabled transitions, clipped ones
included. `depth`: levels, the initial states being level 1. `taken`: enabled transitions of an action. `new`: distinct
states first reached, in their level, by the action (by the one declared first if by several). Counterexamples are the
shortest, and among those canonical (`spec/decisions/003`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from reassure.checkers.base.engine_results import SearchResult
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.prepare import open_results
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import RAISES, ActionStatistics, CheckResult, PropertyStatus
from reassure.checkers.base.stop import (
    ALL_VISITED,
    BY_USER,
    FAILED_FAST,
    MODEL_RAISES,
    RUNS_RAISE,
    Interrupted,
    budget_ended,
    depth_reached,
)
from reassure.checkers.encoding.state_layout import Layout, state_layout
from reassure.checkers.traces.fairness import as_data, in_words
from reassure.checkers.traces.raising import note_in, raised_in, temporal_errors
from reassure.checkers.traces.reconstruct import with_loop
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, FailedCall, ModelError, Step
from reassure.spec.semantics.liveness import assumptions_of
from reassure.spec.semantics.trace import Trace, TraceStep, replay

SAMPLE = 61
"""Every so many expansions are executed twice, to find a model that is no function of its state."""
REMEMBERED = 20_000
"""States of which a search keeps the steps, for traces and loops; of others the model is executed again."""


class Nondeterminism(Exception):
    """A model function gave two different results for the same arguments."""


@dataclass
class Violation:
    """The canonical violation of one claim: in `state`, or in the `step` from it."""

    state: Any
    key: tuple[Any, ...]
    level: int
    step: Step | None = None


@dataclass
class Search:
    """The levels found so far and the best violation of each claim."""

    bound: BoundModel
    layout: Layout
    levels: list[list[Any]] = field(default_factory=list)
    found: dict[str, Violation] = field(default_factory=dict)
    known: dict[Any, list[Step]] = field(default_factory=dict)
    """Steps of states that were expanded."""

    def remember(self, state: Any, steps: list[Step]) -> None:
        """Keeps the steps of a state that was expanded, of the first `REMEMBERED` states."""
        if len(self.known) < REMEMBERED:
            self.known[state] = steps

    def steps(self, state: Any) -> list[Step]:
        """The steps of a state, in canonical order."""
        found = self.known.get(state)
        return list(self.bound.steps(state)) if found is None else found

    def note(self, name: str, state: Any, number: int = 0, step: Step | None = None) -> None:
        """Keeps the violation if it is the first, or canonically smaller on the same level."""
        level = len(self.levels)
        old = self.found.get(name)
        if old is not None and old.level < level:
            return
        key = (self.layout.encode(state), number)
        if old is None or key < old.key:
            self.found[name] = Violation(state, key, level, step)

    def ask(self, claim: Property, state: Any, number: int = 0, step: Step | None = None) -> bool:
        """Notes a claim that a state, or the step from it, hits; whether asking it raises."""
        try:
            held = self.bound.holds(claim, state) if step is None else self.bound.holds_on(claim, state, step)
        except ModelError:
            return self.note_raised(state)
        if held == (claim.kind == "cover"):
            self.note(claim.name, state, number, step)
        return False

    def ask_deadlock(self, state: Any) -> None:
        """Notes a deadlock, of a state without a step."""
        try:
            if not self.bound.is_terminal(state):
                self.note("deadlock", state)
        except ModelError:
            self.note_raised(state)

    def note_raised(self, state: Any) -> bool:
        """Notes that the model raises in a state; true."""
        self.note(RAISES, state)
        return True

    def trace(self, violation: Violation) -> Trace:
        """The canonical shortest path to a violation, replayed in plain Python before anybody sees it."""
        path = [violation.state]
        steps: list[Step] = []
        for level in range(violation.level - 2, -1, -1):
            parent, step = min(
                ((p, s) for p in self.levels[level] for s in self.steps(p) if s.after == path[0]),
                key=lambda found: self.layout.encode(found[0]),  # the first such step, as steps come in canonical order
            )
            path.insert(0, parent)
            steps.insert(0, step)
        if violation.step is not None:
            path.append(violation.step.after)
            steps.append(violation.step)
        start = next((d, p) for d, p, s in self.bound.initial_states() if s == path[0])
        made = [TraceStep(start[0].name, start[1], "")]
        made += [TraceStep(s.action.name, s.params, s.action.who) for s in steps]
        trace = Trace(path, made)
        replay(trace, self.bound)
        return trace


def check(bound: BoundModel, options: SearchOptions, verdict: CheckResult, progress: Progress) -> CheckResult:
    """Searches every reachable state; fills in and returns the verdict.

    Raises `ModelError` where the model itself is wrong, `Nondeterminism` where it is no function.
    """
    began = time.monotonic()
    # The tag bits are the native search's own; the canonical order must be that of its words.
    stats, layout = verdict.stats, state_layout(bound)
    stats.bytes_per_state = layout.bytes_per_state
    claims = [p for p in bound.properties if not p.temporal and options.wants(p.name)]
    covers = [p for p in bound.covers if options.wants(p.name)]
    open_results(bound, options, verdict)
    verdict.actions = {a.name: ActionStatistics() for a in bound.model.actions}
    on_state = [p for p in [*claims, *covers] if not p.over_steps]
    on_step = {
        a.name: [p for p in [*claims, *covers] if p.over_steps and bound.concerns(p, a)] for a in bound.model.actions
    }
    ends = bound.model.deadlock and options.wants("deadlock")
    order = {a.name: i for i, a in enumerate(bound.model.actions)}
    search, seen = Search(bound, layout), set()
    frontier: list[Any] = []

    def clipped(outcome: Clipped) -> None:
        stats.clipped += 1
        stats.clipped_at[outcome.path] = stats.clipped_at.get(outcome.path, 0) + 1
        stats.undeclared += not outcome.declared

    for _, _, state in bound.initial_states():
        stats.generated += 1
        if isinstance(state, Clipped):
            clipped(state)
        elif state not in seen:
            seen.add(state)
            frontier.append(state)

    try:
        expanded = 0
        while frontier:
            if options.depth is not None and len(search.levels) >= options.depth:
                verdict.stopped = depth_reached(options.depth)
                break
            search.levels.append(frontier)
            stats.depth, stats.distinct = len(search.levels), len(seen)
            first_by: dict[Any, int] = {}
            for index, state in enumerate(frontier):
                if index % 256 == 0:
                    if options.budget is not None and time.monotonic() - began > options.budget:
                        raise budget_ended(options.budget)
                    progress.report(stats.depth, stats.generated, len(seen), len(frontier) - index, 0)
                stats.frontier = len(frontier) - index + len(first_by)
                stats.distinct = len(seen)
                raises = sum([search.ask(p, state) for p in on_state])
                outcomes = list(bound.attempts(state))
                steps = taken_in(outcomes)
                if len(steps) < len(outcomes):
                    raises += search.note_raised(state)
                else:
                    search.remember(state, steps)
                expanded += 1
                if expanded % SAMPLE == 1 and taken_in(bound.attempts(state)) != steps:
                    raise Nondeterminism(f"the same state gave different steps: {state}")
                for number, step in enumerate(steps):
                    stats.generated += 1
                    verdict.actions[step.action.name].taken += 1
                    if isinstance(step.after, Clipped):
                        clipped(step.after)
                        continue
                    for p in on_step[step.action.name]:
                        raises += search.ask(p, state, number, step)
                    if step.after not in seen:
                        seen.add(step.after)
                        first_by[step.after] = order[step.action.name]
                    elif step.after in first_by:
                        first_by[step.after] = min(first_by[step.after], order[step.action.name])
                if not steps and ends and not raises:
                    search.ask_deadlock(state)
            for by in first_by.values():
                verdict.actions[bound.model.actions[by].name].new += 1
            frontier = list(first_by)
            stats.frontier = len(frontier)
            if RAISES in search.found:
                verdict.stopped = MODEL_RAISES
                break
            if options.fail_fast and any(p.name in search.found for p in verdict.properties):
                verdict.stopped = FAILED_FAST
                break
        else:
            verdict.complete = True
            verdict.stopped = ALL_VISITED
            if note_temporal_error(search, options):
                verdict.stopped = RUNS_RAISE
            else:
                decide_liveness(verdict, search, began, options, progress)
    except KeyboardInterrupt:
        verdict.stopped = BY_USER
    except Interrupted as end:
        verdict.stopped = end.stop
    stats.distinct = len(seen)
    stats.seconds["search"] = time.monotonic() - began
    conclude(verdict, search, options)
    return verdict


def taken_in(outcomes: Iterable[Step | FailedCall]) -> list[Step]:
    """The outcomes that are steps."""
    return [outcome for outcome in outcomes if isinstance(outcome, Step)]


def decide_liveness(
    verdict: CheckResult, search: Search, began: float, options: SearchOptions, progress: Progress
) -> None:
    """Decides the properties about whole runs, every reachable state being known."""
    bound = search.bound
    assumptions = assumptions_of(bound.model)
    claims = {p.name: p for p in bound.properties if p.temporal}
    verdict.found = SearchResult(fairness=as_data(assumptions) if claims else [])
    if not claims:
        return
    from reassure.checkers.engines.reference.liveness import region_of, violating_run  # imports networkx

    def beat() -> None:
        if options.budget is not None and time.monotonic() - began > options.budget:
            raise budget_ended(options.budget)

    for finding in (p for p in verdict.properties if p.temporal):
        claim = claims[finding.name]
        progress.proof(f"fair loops: {claim.name}")
        region = region_of(bound, claim, search.levels, search.steps, assumptions, search.layout.encode, beat)
        lasso = violating_run(region)
        trace = None
        if lasso is not None:
            first = Violation(lasso.states[0], (), lasso.level)
            trace = with_loop(bound, claim, search.trace(first), lasso.states, lasso.loop, assumptions)
        concerned = claim.kind != "leads_to" or any(bound.holds(claim, s) for level in search.levels for s in level)
        verdict.decide_temporal(claim.name, trace, concerned, in_words(assumptions))


def note_temporal_error(search: Search, options: SearchOptions) -> bool:
    """Notes the first state in which a property about whole runs raises, or its goal; whether there is one."""
    for number, level in enumerate(search.levels, 1):
        raising = [s for s in level if next(temporal_errors(search.bound, s, options.wants), None) is not None]
        if raising:
            state = min(raising, key=search.layout.encode)
            search.found[RAISES] = Violation(state, (), number)
            return True
    return False


def conclude(verdict: CheckResult, search: Search, options: SearchOptions) -> None:
    """Turns what was found into findings with traces."""
    began = time.monotonic()
    for finding in verdict.properties:
        violation = search.found.get(finding.name)
        if violation is not None:
            finding.status = PropertyStatus.VIOLATED
            finding.trace = search.trace(violation)
            finding.depth = len(finding.trace)
    for cover in verdict.covers:
        reached = search.found.get(cover.name)
        if reached is not None:
            cover.depth = reached.level + (reached.step is not None)
            if options.witness:
                cover.trace = search.trace(reached)
    if (place := search.found.get(RAISES)) is not None:
        raised = raised_in(search.bound, place.state, options.wants)
        trace = search.trace(replace(place, step=raised.step))
        note_in(trace, raised)
        verdict.add_raised(trace, raised.text)
    verdict.conclude()
    verdict.stats.seconds["report"] = time.monotonic() - began
