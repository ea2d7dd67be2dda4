"""A model's whole graph by plain Python, and what follows from it: breadth first, small, and shared with no engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Params, Step

Fairness = dict[str, tuple[str, tuple[str, ...]]]
"""By action: weak or strong, and the parameters for each value of which the action is fair."""


@dataclass(frozen=True)
class Edge:
    """A step: the numbers of its states. target: None where it leaves a bound."""

    source: int
    action: str
    params: Params
    target: int | None


@dataclass
class Graph:
    """Every reachable state and every step. Levels count from 1, as in reports."""

    bound: BoundModel
    states: list[Any] = field(default_factory=list)
    number: dict[Any, int] = field(default_factory=dict)
    level: list[int] = field(default_factory=list)
    edges: list[list[Edge]] = field(default_factory=list)
    started: int = 0
    """Outcomes of initial functions, with those that leave a bound."""
    clipped: int = 0
    undeclared: int = 0
    """Of the clipped ones, those at bounds that the model does not declare."""

    @property
    def every_edge(self) -> list[Edge]:
        return [e for row in self.edges for e in row]

    @property
    def inner(self) -> list[Edge]:
        """The steps within the bounds."""
        return [e for e in self.every_edge if e.target is not None]

    def find(self, state: Any) -> int:
        """A state's number; -1 if it is not reachable."""
        return self.number.get(state, -1)


def graph_of(bound: BoundModel, most: int) -> Graph | None:
    """The graph; None if it has more states than `most`. Raises `ModelError` where the model raises."""
    graph = Graph(bound)

    def met(after: Any, level: int) -> int | None:
        if isinstance(after, Clipped):
            graph.clipped += 1
            graph.undeclared += not after.declared
            return None
        if after not in graph.number:
            graph.number[after] = len(graph.states)
            graph.states.append(after)
            graph.level.append(level)
        return graph.number[after]

    for _, _, state in bound.initial_states():
        graph.started += 1
        met(state, 1)
    for source, state in enumerate(graph.states):  # grows meanwhile
        if len(graph.states) > most:
            return None
        level = graph.level[source] + 1
        graph.edges.append([Edge(source, s.action.name, s.params, met(s.after, level)) for s in bound.steps(state)])
    return graph


def hit_on_states(graph: Graph, true: Callable[[Any], bool]) -> int | None:
    """The first level with a state of which something is true."""
    return min((graph.level[n] for n, s in enumerate(graph.states) if true(s)), default=None)


def hit_on_steps(graph: Graph, true: Callable[[Edge], bool]) -> int | None:
    """The first level of a state after a step of which something is true."""
    return min((graph.level[e.source] + 1 for e in graph.inner if true(e)), default=None)


def step_truth(graph: Graph, claim: Property) -> Callable[[Edge], bool]:
    """Whether a property over steps is about a step, and true of it."""
    bound, actions = graph.bound, {a.name: a for a in graph.bound.model.actions}

    def true(edge: Edge) -> bool:
        assert edge.target is not None
        step = Step(actions[edge.action], edge.params, graph.states[edge.target])
        return bound.holds_on(claim, graph.states[edge.source], step)

    return true


def first_hit(graph: Graph, claim: Property) -> int | None:
    """The first level at which a property of states or steps is violated, or a cover is reached; None: nowhere."""
    wanted, bound = claim.kind == "cover", graph.bound
    if not claim.over_steps:
        return hit_on_states(graph, lambda s: bound.holds(claim, s) == wanted)
    actions = {a.name for a in bound.model.actions if bound.concerns(claim, a)}
    true = step_truth(graph, claim)
    return hit_on_steps(graph, lambda e: e.action in actions and true(e) == wanted)


def deadlock(graph: Graph) -> int | None:
    """The first level with a state without a step, where no run may end."""
    rest = [n for n, row in enumerate(graph.edges) if not row]
    return min((graph.level[n] for n in rest if not graph.bound.is_terminal(graph.states[n])), default=None)


def reaching(graph: Graph, goals: Iterable[int], actions: set[str]) -> set[int]:
    """The states from which some path of these actions leads to a goal."""
    reached, pending = set(goals), list(goals)
    before: dict[int, list[int]] = {}
    for e in graph.inner:
        if e.action in actions:
            before.setdefault(e.target or 0, []).append(e.source)
    while pending:
        for source in before.get(pending.pop(), []):
            if source not in reached:
                reached.add(source)
                pending.append(source)
    return reached


# -- whole runs ----------------------------------------------------------------------------------------------------


def declared_fairness(bound: BoundModel) -> Fairness:
    """The fairness that a model declares."""
    return {a.name: (a.fair, a.fair_each) for a in bound.model.actions if a.fair is not None}


def violated_by_a_fair_run(graph: Graph, claim: Property, fairness: Fairness) -> bool:
    """Whether some fair run within the bounds violates a property of whole runs.

    A run that never leaves `stays` and never stops returning to `returns` does; from a state of `starts` on.
    """
    bound = graph.bound
    true = [bound.holds(claim, s) for s in graph.states]
    if claim.kind == "leads_to":
        waits = {n for n, s in enumerate(graph.states) if not bound.goal_holds(claim, s)}
        starts, stays, returns = {n for n in waits if true[n]}, waits, waits
    else:
        fails = {n for n, held in enumerate(true) if not held}
        stays = fails if claim.kind == "recurrence" else set(range(len(graph.states)))
        starts, returns = stays, fails
    inside, pending = set(starts), list(starts)
    while pending:
        for e in graph.edges[pending.pop()]:
            if e.target is not None and e.target in stays and e.target not in inside:
                inside.add(e.target)
                pending.append(e.target)
    return _has_fair_run(graph, inside, returns, fairness)


def violated_within(graph: Graph, claim: Property, fairness: Fairness) -> bool:
    """Whether a fair run would violate a property of whole runs if no step that leaves a bound was enabled."""
    within = replace(graph, edges=[[e for e in row if e.target is not None] for row in graph.edges])
    return violated_by_a_fair_run(within, claim, fairness)


def in_no_fair_run(graph: Graph, fairness: Fairness) -> set[int]:
    """The states that no fair run within the bounds goes through: each is asked by itself, with all that follows it."""
    good, bad = set[int](), set[int]()
    for n in reversed(range(len(graph.states))):
        if n in bad:
            continue
        ahead, pending = {n}, [n]
        while pending:
            after = {e.target for e in graph.edges[pending.pop()] if e.target is not None} - ahead
            ahead |= after
            pending += after
        if ahead & good or _has_fair_run(graph, ahead, ahead, fairness):
            good.add(n)
        else:
            bad |= ahead
    return bad


def premise_of(graph: Graph, claim: Property) -> set[int]:
    """The states that satisfy the premise of a property of whole runs: all of them, if it has none."""
    return {n for n, s in enumerate(graph.states) if claim.kind != "leads_to" or graph.bound.holds(claim, s)}


Condition = tuple[str, tuple[Any, ...]]
"""An action that is fair, and the values for which it is."""


def _condition(edge: Edge, fairness: Fairness) -> Condition | None:
    if edge.action not in fairness or edge.target == edge.source:
        return None
    return edge.action, tuple(edge.params[name] for name in fairness[edge.action][1])


def _has_fair_run(graph: Graph, among: set[int], returns: set[int], fairness: Fairness) -> bool:
    """Whether a fair run can stay within some states for ever, coming back to `returns`."""
    can = {n: {c for e in graph.edges[n] if (c := _condition(e, fairness))} for n in among}
    if any(not can[n] for n in among & returns):
        return True  # it stops there
    pending = [among]
    while pending:
        for part in _components(graph, pending.pop()):
            steps = [e for n in part for e in graph.edges[n] if e.target in part and e.target != n]
            if not steps or not part & returns:
                continue
            # A step counts for every action that leads from its first state to its second.
            taken = {c for e in steps if (c := _condition(e, fairness))}
            never = set().union(*(can[n] for n in part)) - taken
            if any(fairness[c[0]][0] == "weak" and all(c in can[n] for n in part) for c in never):
                continue
            starved = {c for c in never if fairness[c[0]][0] == "strong"}
            if not starved:
                return True
            pending.append({n for n in part if not can[n] & starved})
    return False


def _components(graph: Graph, among: set[int]) -> Sequence[set[int]]:
    """Sets of states that reach each other: what reaches the state that a search leaves last, then of the rest."""
    ahead = {n: {e.target for e in graph.edges[n] if e.target in among} for n in among}
    behind: dict[int, set[int]] = {n: set() for n in among}
    left, seen = list[int](), set[int]()
    for start in among:
        path = [(start, iter(ahead[start]))] if start not in seen else []
        seen.add(start)
        while path:
            n, rest = path[-1]
            m = next((m for m in rest if m not in seen), None)
            if m is None:
                left.append(path.pop()[0])
            else:
                seen.add(m)
                path.append((m, iter(ahead[m])))
    for n in among:
        for m in ahead[n]:
            behind[m or 0].add(n)
    parts, taken = [], set[int]()
    for n in reversed(left):
        part, pending = set[int](), [n]
        while pending:
            m = pending.pop()
            if m not in taken:
                taken.add(m)
                part.add(m)
                pending += behind[m]
        parts += [part] if part else []
    return parts
