"""The reference engine: plain breadth-first search over the dataclasses, never optimised. The oracle.

What it counts is the contract of every engine. `generated`: initial states and enabled transitions, clipped ones
included. `depth`: levels, the initial states being level 1. `taken`: enabled transitions of an action. `new`: distinct
states first reached, in their level, by the action (by the one declared first if by several). Counterexamples are the
shortest, and among those canonical (`spec/decisions/003`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.memory import MemoryLimit, process_memory
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import (
    ALL_VISITED,
    FAILED_FAST,
    MODEL_RAISES,
    RUNS_RAISE,
    Ending,
    budget_ended,
    depth_reached,
)
from reassure.checkers.request.engine_results import (
    ActionStatistics,
    CoverResult,
    EngineResult,
    Evidence,
    PropertyFact,
    SearchResult,
    SearchStatistics,
    whole_run_fact,
)
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.result import RAISES
from reassure.checkers.traces.fairness import as_data, assumptions_in_words
from reassure.checkers.traces.reconstruct import note_in, raised_in, temporal_errors, with_loop
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, FailedCall, ModelError, Step
from reassure.spec.semantics.liveness import assumptions_of, pattern_of
from reassure.spec.semantics.trace import Trace, TraceStep, replay

SAMPLE = 61
"""Every so many expansions are executed twice, to find a model that is not a function of its state."""
REMEMBERED = 20_000
"""States of which a search keeps the steps, for traces and loops; of others the model is executed again."""


class Nondeterminism(Failure):
    """A model function gave two different results for the same arguments."""

    def __init__(self, message: str) -> None:
        super().__init__(Exit.INTERNAL, message)


@dataclass
class Violation:
    """The canonical violation of one claim: in `state`, or in the `step` from it."""

    state: Any
    key: tuple[Any, ...]
    level: int
    step: Step | None = None


class ReferenceSearch:
    """A search: the levels so far, what was counted, and the best violation of each claim."""

    def __init__(self, bound: BoundModel, options: SearchOptions) -> None:
        self.bound, self.options = bound, options
        # The tag bits are the native search's own; the canonical order must be that of its words.
        self.layout = state_layout(bound)
        self.stats = SearchStatistics(bytes_per_state=self.layout.bytes_per_state)
        self.actions = {a.name: ActionStatistics() for a in bound.model.actions}
        self.levels: list[list[Any]] = []
        self.seen: set[Any] = set()
        self.violations: dict[str, Violation] = {}
        """By name, also of covers, of "deadlock" and of `RAISES`."""
        self.remembered: dict[Any, list[Step]] = {}
        claims = [p for p in [*bound.properties, *bound.covers] if not p.temporal and options.wants(p.name)]
        self.on_state = [p for p in claims if not p.over_steps]
        self.on_step = {
            a.name: [p for p in claims if p.over_steps and bound.concerns(p, a)] for a in bound.model.actions
        }
        self.deadlocks = bound.model.deadlock and options.wants("deadlock")
        self.expanded = 0

    def seeds(self) -> list[Any]:
        """The initial states: the first level."""
        states: dict[Any, None] = {}
        for _, _, state in self.bound.initial_states():
            self.stats.generated += 1
            if isinstance(state, Clipped):
                self.stats.clip(state.path, state.declared)
            else:
                states[state] = None
        self.seen.update(states)
        return list(states)

    def steps(self, state: Any) -> list[Step]:
        """The steps of a state, in canonical order."""
        steps = self.remembered.get(state)
        return list(self.bound.steps(state)) if steps is None else steps

    def expand(self, frontier: list[Any], look: Callable[[int], None]) -> list[Any]:
        """Takes every step from the states of a level; the next level. look: called with how many states are left."""
        stats, order = self.stats, list(self.actions)
        self.levels.append(frontier)
        stats.depth = len(self.levels)
        first_by: dict[Any, int] = {}
        for index, state in enumerate(frontier):
            stats.distinct = len(self.seen)
            if index % 256 == 0:
                look(len(frontier) - index)
            stats.frontier = len(frontier) - index + len(first_by)
            for step in self.ask_all(state):
                number = order.index(step.action.name)
                if step.after not in self.seen:
                    self.seen.add(step.after)
                    first_by[step.after] = number
                elif step.after in first_by:
                    first_by[step.after] = min(first_by[step.after], number)
        for number in first_by.values():
            self.actions[order[number]].new += 1
        stats.frontier, stats.distinct = len(first_by), len(self.seen)
        return list(first_by)

    def ask_all(self, state: Any) -> Iterator[Step]:
        """Evaluates every claim on a state and its steps, and counts; returns the steps within the bounds."""
        raises = sum([self.ask(p, state) for p in self.on_state])
        outcomes = list(self.bound.attempts(state))
        steps = taken_in(outcomes)
        if len(steps) < len(outcomes):
            raises += self.note_raised(state)
        elif len(self.remembered) < REMEMBERED:
            self.remembered[state] = steps
        self.expanded += 1
        if self.expanded % SAMPLE == 1 and taken_in(self.bound.attempts(state)) != steps:
            raise Nondeterminism(f"the same state gave different steps: {state}")
        for number, step in enumerate(steps):
            self.stats.generated += 1
            self.actions[step.action.name].taken += 1
            if isinstance(step.after, Clipped):
                self.stats.clip(step.after.path, step.after.declared)
                continue
            raises += sum([self.ask(p, state, number, step) for p in self.on_step[step.action.name]])
            yield step
        if not steps and self.deadlocks and not raises:
            self.ask_deadlock(state)

    def note(self, name: str, state: Any, number: int = 0, step: Step | None = None) -> None:
        """Keeps the violation if it is the first, or canonically smaller on the same level."""
        level = len(self.levels)
        old = self.violations.get(name)
        if old is not None and old.level < level:
            return
        key = (self.layout.encode(state), number)
        if old is None or key < old.key:
            self.violations[name] = Violation(state, key, level, step)

    def ask(self, prop: Property, state: Any, number: int = 0, step: Step | None = None) -> bool:
        """Notes a property that a state, or the step from it, hits; whether asking it raises."""
        try:
            held = self.bound.holds(prop, state) if step is None else self.bound.holds_on(prop, state, step)
        except ModelError:
            return self.note_raised(state)
        if held == (prop.kind == "cover"):
            self.note(prop.name, state, number, step)
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
                key=lambda edge: self.layout.encode(edge[0]),  # the first such step, as steps come in canonical order
            )
            path.insert(0, parent)
            steps.insert(0, step)
        if violation.step is not None:
            path.append(violation.step.after)
            steps.append(violation.step)
        start = next((d, p) for d, p, s in self.bound.initial_states() if s == path[0])
        trace_steps = [TraceStep(start[0].name, start[1], "")]
        trace_steps += [TraceStep(s.action.name, s.params, s.action.who) for s in steps]
        trace = Trace(path, trace_steps)
        replay(trace, self.bound)
        return trace


def check(prepared: Prepared, options: SearchOptions, progress: Progress) -> EngineResult:
    """Searches every reachable state.

    Raises `ModelError` where the model itself is wrong, `Nondeterminism` where it is not a function.
    """
    began, bound = time.monotonic(), prepared.bound
    search = ReferenceSearch(bound, options)
    stats, frontier = search.stats, search.seeds()
    stopped, complete, facts, summary = ALL_VISITED, False, dict[str, PropertyFact](), SearchResult()
    names = {*(p.name for p in bound.properties if options.wants(p.name)), "deadlock"}

    def in_time() -> None:
        if options.budget is not None and time.monotonic() - began > options.budget:
            raise budget_ended(options.budget)

    limit, before = MemoryLimit.of(options.memory), process_memory()

    def look(waiting: int) -> None:
        in_time()
        limit.allow(process_memory() - before)
        progress.report(stats.depth, stats.generated, stats.distinct, waiting, 0)

    with Ending() as ending:
        while frontier:
            if options.depth is not None and len(search.levels) >= options.depth:
                stopped = depth_reached(options.depth)
                break
            frontier = search.expand(frontier, look)
            if RAISES in search.violations:
                stopped = MODEL_RAISES
                break
            if options.fail_fast and names & search.violations.keys():
                stopped = FAILED_FAST
                break
        else:
            complete = True
            if note_temporal_error(search):
                stopped = RUNS_RAISE
            else:
                summary.fairness = (
                    as_data(assumptions_of(bound.model)) if any(p.temporal for p in bound.properties) else []
                )
                for name, fact in decide_liveness(search, in_time, progress):
                    facts[name] = fact
    stats.distinct = len(search.seen)
    stats.seconds["search"] = time.monotonic() - began
    return _conclusion(search, EngineResult(summary, stats, ending.stop or stopped, complete, facts))


def taken_in(outcomes: Iterable[Step | FailedCall]) -> list[Step]:
    """The outcomes that are steps."""
    return [outcome for outcome in outcomes if isinstance(outcome, Step)]


def decide_liveness(
    search: ReferenceSearch, look: Callable[[], None], progress: Progress
) -> Iterator[tuple[str, PropertyFact]]:
    """Each property about whole runs that is asked for, as soon as it is decided; every reachable state is known."""
    bound = search.bound
    assumptions = assumptions_of(bound.model)
    claims = [p for p in bound.properties if p.temporal and search.options.wants(p.name)]
    if not claims:
        return
    from reassure.checkers.engines.reference.liveness import (  # imports networkx
        premise_states,
        region_of,
        violating_run,
    )

    for claim in claims:
        progress.proof(f"fair loops: {claim.name}")
        of_all_states = search.levels, search.steps, assumptions, search.layout.encode, look
        region = region_of(bound, pattern_of(bound, claim), *of_all_states)
        lasso = violating_run(region)
        trace = None
        if lasso is not None:
            first = Violation(lasso.states[0], (), lasso.level)
            trace = with_loop(bound, claim, search.trace(first), lasso.states, lasso.loop, assumptions)
        concerned = claim.kind != "leads_to" or any(bound.holds(claim, s) for level in search.levels for s in level)
        ask = search.stats.clipped and concerned and trace is None
        premise = premise_states(bound, claim, *of_all_states) if ask else None
        yield claim.name, whole_run_fact(trace, concerned, f"assuming {assumptions_in_words(assumptions)}", premise)


def note_temporal_error(search: ReferenceSearch) -> bool:
    """Notes the first state in which a property about whole runs raises, or its goal; whether there is one."""
    for number, level in enumerate(search.levels, 1):
        wants = search.options.wants
        raising = [s for s in level if next(temporal_errors(search.bound, s, wants), None) is not None]
        if raising:
            state = min(raising, key=search.layout.encode)
            search.violations[RAISES] = Violation(state, (), number)
            return True
    return False


def _conclusion(search: ReferenceSearch, ended: EngineResult) -> EngineResult:
    """The engine's result, with every violation and cover as a trace."""
    began, bound, options, violations = time.monotonic(), search.bound, search.options, search.violations
    facts = dict(ended.facts)
    for name in [*(p.name for p in bound.properties), "deadlock"]:
        if name in violations:
            facts[name] = PropertyFact(Evidence.COUNTEREXAMPLE, search.trace(violations[name]))
    covers = [CoverResult(p.name) for p in bound.covers if options.wants(p.name)]
    for cover in covers:
        if (reached := violations.get(cover.name)) is not None:
            cover.depth = reached.level + (reached.step is not None)
            cover.trace = search.trace(reached) if options.witness else None
    raised = None
    if (place := violations.get(RAISES)) is not None:
        error = raised_in(bound, place.state, options.wants)
        trace = search.trace(replace(place, step=error.step))
        note_in(trace, error)
        raised = trace, error.text
    ended.stats.seconds["report"] = time.monotonic() - began
    return replace(ended, facts=facts, covers=tuple(covers), actions=search.actions, raised=raised)
