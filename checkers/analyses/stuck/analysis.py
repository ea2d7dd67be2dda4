"""The states that refute a leads-to property: those from which its goal is out of reach, whatever the scheduler does.

For P ~> Q, a reachable state that satisfies P and from which no path leads to Q refutes the property under any
fairness, as every run can be continued fairly. That there is no such state proves nothing: a scheduler may still avoid
Q for ever.

What is not fair need not happen. So `fair_only` asks for less and refutes more: a state from which the goal is out of
reach for fair actions alone refutes the property as well, since the others may stop at any time.

A step that leaves a bound, and one to a state that was not visited because the search ended early, might lead anywhere;
what can get there is not called trapped. So trapped states are trapped. Limits that are guards (of an administrator's
requests, say) are the model's own: a run in which no more is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.liveness.temporal_claims import TemporalClaims
from reassure.checkers.engines.native.model.model_kernel import judge_of
from reassure.checkers.engines.native.state_graph import Numbers, StateGraph, reachable_graph
from reassure.checkers.machine.exit_codes import Exit, Failure, worst
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.engine_results import (
    EngineResult,
    Evidence,
    PropertyFact,
    SearchResult,
    SearchStatistics,
)
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.result import CheckResult
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.traces.format_value import NAME
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.trace import Trace

States = NDArray[np.bool_]
"""A set of states, by number."""


@dataclass(frozen=True)
class Stuck:
    """The answer to one leads-to property. A P-state is a reachable state that must be followed by the goal."""

    name: str
    states: int
    """States that were visited."""
    claimed: int
    """Of these, P-states."""
    can_end: int
    """Of these, those from which the goal can be reached."""
    trapped: int
    """Those from which it cannot: the property is violated."""
    complete: bool
    """Whether every reachable state was visited."""
    clipped: int
    fair_only: bool
    """Whether only fair actions were counted on."""
    trace: Trace | None
    """The shortest path to a trapped state."""

    @property
    def undecided(self) -> int:
        """P-states from which no path to the goal was found, but one to what is not known."""
        return self.claimed - self.can_end - self.trapped

    @property
    def can_always_end(self) -> bool:
        """Whether the goal can be reached from every P-state, of all that there are."""
        open_states = self.trapped or self.undecided or self.clipped or not self.complete
        return bool(self.claimed) and not open_states

    @property
    def status(self) -> str:
        """Not to be trapped is not yet to arrive."""
        return "violated" if self.trapped else "unknown"

    @property
    def exit(self) -> Exit:
        """Never `Exit.OK`: that the goal can be reached does not establish that it is."""
        if self.trapped:
            return Exit.LIVENESS
        if self.complete and not self.claimed:
            return Exit.VACUOUS
        return Exit.INCONCLUSIVE


@dataclass(frozen=True)
class StuckResult:
    """The answers for every property that was asked for."""

    result: CheckResult
    answers: list[Stuck]
    expression: str = ""
    """The goal, if it was given as text."""

    @property
    def exit(self) -> Exit:
        """The exit code: the most severe; 0 for an expression that can be reached from every state: that is all."""
        return worst([Exit.OK if self.expression and a.can_always_end else a.exit for a in self.answers])


class StepsBack:
    """The steps between visited states, from the states that they lead to."""

    def __init__(self, graph: StateGraph, counted: NDArray[np.bool_]) -> None:
        """counted: by action, whether its steps are taken; those of the others are not."""
        edges = np.flatnonzero(counted[graph.actions] & (graph.targets >= 0))
        edges = edges[np.argsort(graph.targets[edges], kind="stable")]
        self.sources: Numbers = graph.sources[edges]
        """Of the steps to a state: `begins[n]` is the first to state n."""
        steps = np.bincount(graph.targets[edges], minlength=graph.count)
        self.begins: Rows = np.concatenate([[0], np.cumsum(steps)])

    def reaching(self, goals: States) -> States:
        """The states from which some path leads to one of the goals, themselves included."""
        reached, frontier = goals.copy(), np.flatnonzero(goals)
        while len(frontier):
            steps = self.begins[frontier + 1] - self.begins[frontier]
            first = np.cumsum(steps) - steps
            before = self.sources[np.arange(steps.sum()) + np.repeat(self.begins[frontier] - first, steps)]
            frontier = np.unique(before[~reached[before]])
            reached[frontier] = True
        return reached


def stuck(
    prepared: Prepared, graph: StateGraph, properties: Sequence[Property], fair_only: bool = False
) -> list[Stuck]:
    """The P-states of each of these leads-to properties from which its goal is out of reach.

    fair_only: out of reach for fair actions, the others doing nothing. Raises `ModelError` where a property raises in
    a visited state.
    """
    bound, names = graph.bound, {p.name for p in properties}
    for p in properties:
        if p.kind != "leads_to":
            raise ValueError(f"{p.name} is not a leads_to")
    layout = graph.kernel.layout
    claims = TemporalClaims(judge_of(prepared.lowered.only(names.__contains__), layout), layout.words)
    if claims.may_raise and len(raising := claims.raising(graph.rows)):
        state = graph.kernel.layout.decode(raising[0].view(np.uint64))
        for p in properties:
            bound.goal_holds(p, state)
            bound.holds(p, state)
        raise Disagreement(f"a property raises in {state}, but not in plain Python")
    counted = [a.name for a in bound.model.actions if a.fair is not None or not fair_only]
    steps = StepsBack(graph, np.array([name in counted for name in graph.kernel.actions]))
    unknown = steps.reaching(graph.leading_out(prepared.lowered, counted))
    answers = []
    for p in properties:
        claimed, goals = claims.truth(p.name, graph.rows)
        ends = steps.reaching(goals)
        trapped = np.flatnonzero(claimed & ~ends & ~unknown)
        answers.append(
            Stuck(
                name=p.name,
                states=graph.count,
                claimed=int(claimed.sum()),
                can_end=int((claimed & ends).sum()),
                trapped=len(trapped),
                complete=graph.complete,
                clipped=graph.start.stats.clipped + graph.clipped,
                fair_only=fair_only,
                trace=_path_to(graph, int(trapped[0]), p) if len(trapped) else None,
            )
        )
    return answers


def _path_to(graph: StateGraph, number: int, prop: Property) -> Trace:
    """A shortest path to a P-state that is not a goal, which plain Python is asked too."""
    edges = graph.path_to(number)
    trace = graph.trace(int(graph.sources[edges[0]]) if edges else number, edges)
    last = trace.states[-1]
    if not graph.bound.holds(prop, last) or graph.bound.goal_holds(prop, last):
        raise Disagreement(f"{prop.name}: the kernel and plain Python differ on {last}")
    return trace


def analysed(
    prepared: Prepared,
    options: SearchOptions,
    limit: int | None,
    fair_only: bool,
    repro: str,
    progress: Progress,
    expression: str = "",
) -> StuckResult:
    """Every leads-to property of the model that `options` ask for; `Failure` where there is none to be had.

    limit: the search ends before the level that follows on so many states. repro: the command that repeats it.
    expression: the text of the goal, of a property that `reachable` made.
    """
    bound = prepared.bound
    properties = [p for p in bound.properties if p.kind == "leads_to"]
    if not properties:
        raise Failure(Exit.NOTHING, f"{bound.model.name} declares no leads_to property that applies here")
    for pattern in options.properties:
        if not any(fnmatchcase(p.name, pattern) for p in properties):
            has = ", ".join(p.name for p in properties)
            raise Failure(Exit.NOTHING, f"no leads_to property of {bound.model.name} matches {pattern}; it has {has}")
    properties = [p for p in properties if options.wants(p.name)]
    graph = reachable_graph(prepared.only(lambda name: False), options, progress, limit)
    answers = stuck(prepared, graph, properties, fair_only)
    facts = {
        a.name: PropertyFact(Evidence.OPEN if a.trace is None else Evidence.COUNTEREXAMPLE, a.trace) for a in answers
    }
    steps, start = graph.edge_count + graph.clipped, graph.start.stats
    depth, clipped = int(graph.levels[-1]) + 1, start.clipped + graph.clipped
    stats = SearchStatistics(start.generated + steps, graph.count, depth, clipped)
    ended = EngineResult(SearchResult(), stats, graph.stopped, graph.complete, facts)
    identity = RunIdentity.of(prepared, "stuck", repro)
    asked = SearchOptions([p.name for p in properties])
    texts = {NAME: expression} if expression else {}
    return StuckResult(CheckResult.of(identity, bound, asked, ended, expressions=texts), answers, expression)
