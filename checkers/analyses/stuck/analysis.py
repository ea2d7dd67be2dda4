"""What a leads-to property cannot survive: states from which its goal is out of reach, whatever the scheduler does.

For P ~> Q, a reachable state that satisfies P and from which no path leads to Q refutes the property under any
fairness, as every run can be continued fairly. That there is no such state proves nothing: a scheduler may still avoid
Q for ever.

What is not fair need not happen. So `fair_only` asks for less and refutes more: a state from which the goal is out of
reach for fair actions alone refutes the property as well, since the others may stop at any time.

Plain Python, on the explicit state graph. A step that leaves a bound, and a state that was not expanded because the
limit was reached, might lead anywhere; what can get there is not called trapped. So trapped states are trapped. Limits
that are guards (of an administrator's requests, say) are the model's own: a run in which no more is asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import networkx as nx

from reassure.checkers.base.engine_results import EngineResult, Evidence, PropertyFact, SearchResult, SearchStatistics
from reassure.checkers.base.exit_codes import VERDICTS, Exit, Failure, worst
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.prepare import Prepared, plain
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult
from reassure.checkers.base.run_identity import RunIdentity
from reassure.checkers.base.stop import ALL_VISITED, Stop, StopReason
from reassure.checkers.base.terminal import Console
from reassure.checkers.traces.reconstruct import replayed_trace
from reassure.checkers.traces.render import tell
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, Step
from reassure.spec.semantics.trace import Trace

LIMIT = 200_000
"""States that are explored unless told otherwise: a few minutes of plain Python."""

DIFFERENCE = (
    "`stuck` asks whether the goal can be reached (possibility); `reassure check` decides whether every fair run "
    "reaches it (liveness)"
)
"""What the command says of itself, whatever it found."""


@dataclass
class Graph:
    """The reachable states, numbered in breadth-first order, and the steps between them."""

    states: list[Any] = field(default_factory=list)
    first: list[tuple[int, Step] | None] = field(default_factory=list)
    """How each state was first reached; None for initial states."""
    steps: Any = field(default_factory=nx.DiGraph)
    fair: Any = field(default_factory=nx.DiGraph)
    """Of the steps, those of fair actions."""
    unexpanded: set[int] = field(default_factory=set)
    leaving: dict[int, bool] = field(default_factory=dict)
    """States with a step out of a bound; whether one of a fair action."""
    generated: int = 0
    clipped: int = 0
    complete: bool = True

    def path(self, number: int) -> tuple[list[Any], list[Step]]:
        """A shortest path to a state."""
        states, steps = [self.states[number]], list[Step]()
        while (came := self.first[number]) is not None:
            number, step = came
            states.insert(0, self.states[number])
            steps.insert(0, step)
        return states, steps

    def reaching(self, goals: Iterable[int], fair_only: bool) -> set[int]:
        """The states from which some path leads to one of the goals, themselves included."""
        edges, sink = self.fair if fair_only else self.steps, -1
        edges.add_edges_from((goal, sink) for goal in goals)
        if sink not in edges:
            return set()
        found: set[int] = nx.ancestors(edges, sink)
        edges.remove_node(sink)
        return found

    def unknown(self, fair_only: bool) -> set[int]:
        """The states that something might follow which is not known."""
        return self.unexpanded | {n for n, fair in self.leaving.items() if fair or not fair_only}


def explored(bound: BoundModel, limit: int = LIMIT, progress: Progress | None = None) -> Graph:
    """The state graph, breadth-first, of at most `limit` states and the unexpanded ones at its edge."""
    graph, numbers = Graph(), dict[Any, int]()
    todo: deque[int] = deque()

    def number_of(state: Any, came: tuple[int, Step] | None) -> int:
        if state not in numbers:
            numbers[state] = len(graph.states)
            todo.append(len(graph.states))
            graph.states.append(state)
            graph.first.append(came)
        return numbers[state]

    for _, _, state in bound.initial_states():
        graph.generated += 1
        if isinstance(state, Clipped):
            graph.clipped += 1
        else:
            number_of(state, None)
    while todo:
        number = todo[0]
        if number >= limit:
            graph.unexpanded.update(todo)
            graph.complete = False
            break
        todo.popleft()
        for step in bound.steps(graph.states[number]):
            graph.generated += 1
            fair = step.action.fair is not None
            if isinstance(step.after, Clipped):
                graph.clipped += 1
                graph.leaving[number] = fair or graph.leaving.get(number, False)
                continue
            after = number_of(step.after, (number, step))
            graph.steps.add_edge(number, after)
            if fair:
                graph.fair.add_edge(number, after)
        if progress is not None and number % 1024 == 0:
            progress.proof(f"{len(graph.states):,} states | {graph.generated:,} generated | {len(todo):,} to expand")
    return graph


@dataclass(frozen=True)
class Stuck:
    """What became of one leads-to property. A P-state is a reachable state that must be followed by the goal."""

    name: str
    states: int
    """States that were found."""
    claimed: int
    """Of these, P-states."""
    can_end: int
    """Of these, those from which the goal can be reached."""
    trapped: int
    """Those from which it cannot: the property is violated."""
    complete: bool
    """Whether every reachable state was expanded."""
    clipped: int
    fair_only: bool
    """Whether only fair actions were counted on."""
    trace: Trace | None
    """The shortest path to a trapped state."""

    @property
    def undecided(self) -> int:
        """P-states that the goal was not found from, but something that is not known."""
        return self.claimed - self.can_end - self.trapped

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

    def record(self, trace: str | None) -> dict[str, Any]:
        counts = {"claimed": self.claimed, "can_end": self.can_end, "trapped": self.trapped}
        return {
            "name": self.name,
            "kind": "leads_to",
            "status": self.status,
            **counts,
            "undecided": self.undecided,
            "trace": trace,
            "depth": len(self.trace) if self.trace else None,
        }


def stuck(
    bound: BoundModel, claim: Property, limit: int = LIMIT, graph: Graph | None = None, fair_only: bool = False
) -> Stuck:
    """The P-states of `claim` from which its goal is out of reach; `graph` if it is explored already.

    fair_only: out of reach for fair actions, the others doing nothing.
    """
    if claim.kind != "leads_to":
        raise ValueError(f"{claim.name} is no leads_to")
    known = explored(bound, limit) if graph is None else graph
    goals = [n for n, s in enumerate(known.states) if bound.goal_holds(claim, s)]
    ends = known.reaching(goals, fair_only)
    unknown = known.reaching(known.unknown(fair_only), fair_only)
    claimed = [n for n, s in enumerate(known.states) if bound.holds(claim, s)]
    trapped = [n for n in claimed if n not in ends and n not in unknown]
    trace = None
    if trapped:
        states, steps = known.path(trapped[0])
        trace = replayed_trace(bound, states, steps)
    return Stuck(
        name=claim.name,
        states=len(known.states),
        claimed=len(claimed),
        can_end=sum(n in ends for n in claimed),
        trapped=len(trapped),
        complete=known.complete,
        clipped=known.clipped,
        fair_only=fair_only,
        trace=trace,
    )


@dataclass
class Report:
    """What the command found, for every property that it was asked for."""

    verdict: CheckResult
    bound: BoundModel
    found: list[Stuck]

    @property
    def exit(self) -> Exit:
        return worst([f.exit for f in self.found])

    def record(self, traces: dict[str, str]) -> dict[str, Any]:
        """The run record; `traces` gives the files that counterexamples were written to."""
        made = self.verdict.record(traces)
        return {
            **made,
            "verdict": VERDICTS[self.exit],
            "exit_code": self.exit.value,
            "properties": [f.record(traces.get(f.name)) for f in self.found],
        }

    def report(self, console: Console, stories: bool) -> None:
        """Prints it."""
        v = self.verdict
        config = ", ".join(f"{k}={x}" for k, x in v.identity.config.items())
        console.print(f"{v.model} ({config})", style="bold")
        for f in self.found:
            console.print(f"\n{f.name}", style="bold")
            console.print(f"  {f.claimed:,} state{'s' * (f.claimed != 1)} must be followed by the goal")
            if f.trapped:
                by = "by fair actions alone" if f.fair_only else "on every path"
                text = f"violated: from {f.trapped:,} of them the goal is unreachable {by}"
                text += f", trace of {len(f.trace or ())} states"
                console.print(f"  {text}", style="bold red")
            if f.undecided:
                text = f"undecided: {f.undecided:,} of them, from which unexplored states can be reached"
                console.print(f"  {text}", style="yellow")
            if f.complete and f.claimed and not f.trapped and not f.undecided:
                console.print("  from each of them the goal can be reached", style="green")
            if stories and f.trace is not None:
                console.print()
                tell(f.trace, self.bound, console)
                by = " by fair actions alone" if f.fair_only else ""
                console.print(f"  from here on the goal is unreachable{by}", style="bold red")
        clipped = f"; {v.stats.clipped:,} steps clipped at a bound" if v.stats.clipped else ""
        text = f"\n{v.stats.generated:,} generated, {v.stats.distinct:,} distinct{clipped}"
        console.print(text)
        console.print(f"stopped because {v.stopped_because}")
        console.print(DIFFERENCE, style="dim")
        console.print(f"\n{VERDICTS[self.exit]} (exit code {self.exit.value})", style="bold red")
        console.print(f"again: {v.repro}", style="dim")


def analysed(
    model: str, pairs: list[str], wanted: list[str], limit: int | None, fair_only: bool, repro: str, progress: Progress
) -> Report:
    """Every leads-to property of the model that is wanted; `Failure` where there is none to be had.

    repro: the command that repeats it.
    """
    bound, sha = plain(model, pairs)
    claims = [p for p in bound.properties if p.kind == "leads_to"]
    if not claims:
        raise Failure(Exit.NOTHING, f"{bound.model.name} declares no leads_to property that applies here")
    for pattern in wanted:
        if not any(fnmatchcase(p.name, pattern) for p in claims):
            has = ", ".join(p.name for p in claims)
            raise Failure(Exit.NOTHING, f"no leads_to property of {bound.model.name} matches {pattern}; it has {has}")
    claims = [p for p in claims if SearchOptions(wanted).wants(p.name)]
    try:
        graph = explored(bound, limit or LIMIT, progress)
        found = [stuck(bound, p, graph=graph, fair_only=fair_only) for p in claims]
    except ModelError as error:
        raise Failure(Exit.MODEL, f"{error}; `reassure check` shows how") from None
    finally:
        progress.done()
    facts = {
        f.name: PropertyFact(Evidence.OPEN if f.trace is None else Evidence.COUNTEREXAMPLE, f.trace) for f in found
    }
    limited = Stop(StopReason.LIMIT, f"{limit or LIMIT:,} states were expanded")
    stats = SearchStatistics(graph.generated, len(graph.states), clipped=graph.clipped)
    ended = EngineResult(SearchResult(), stats, ALL_VISITED if graph.complete else limited, graph.complete, facts)
    identity = RunIdentity.of(Prepared(bound, sha, model, tuple(pairs)), "stuck", repro)
    return Report(CheckResult.of(identity, bound, SearchOptions([p.name for p in claims]), ended), bound, found)
