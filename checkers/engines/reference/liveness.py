"""The oracle for properties about whole runs: plain Python and networkx, never optimised.

A property is violated iff some fair run stays in the region that its pattern names (`spec.semantics.liveness`). A run
that never ends goes round in a strongly connected part of that region, or stops in a state of it; so the graph of the
region is made, its components are found, and what no fair loop goes through is removed, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import networkx as nx

from reassure.checkers.request.engine_results import PremiseStates
from reassure.checkers.traces.fairness import fair_loop, shortest_stem
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Step
from reassure.spec.semantics.liveness import Assumptions, Constraint, Pattern, constraint_of, in_order, pattern_of


@dataclass
class ViolatingRegion:
    """The states that a violating run may stay in, numbered in canonical order, and the steps between them."""

    states: list[Any]
    starts: dict[int, list[int]]
    """By level: where a violating run may begin to stay."""
    returning: set[int]
    """The states that it has to come back to."""
    graph: Any = field(default_factory=nx.DiGraph)
    """Steps that change something and stay; `taken`: numbers of the constraints that a step counts for."""
    can: list[set[int]] = field(default_factory=list)
    """By state: numbers of the constraints that are enabled."""
    constraints: list[Constraint] = field(default_factory=list)

    @property
    def strong(self) -> list[bool]:
        return [c.strong for c in self.constraints]

    def successors(self, states: Sequence[int]) -> Iterable[Sequence[int]]:
        return (sorted(self.graph.successors(state)) for state in states)

    def enabled(self, state: int) -> Collection[int]:
        return self.can[state]

    def taken(self, before: int, after: int) -> Collection[int]:
        numbers: set[int] = self.graph.edges[before, after]["taken"]
        return numbers


def premise_states(
    bound: BoundModel,
    prop: Property,
    levels: Sequence[Sequence[Any]],
    steps_of: Callable[[Any], Iterable[Step]],
    assumptions: Assumptions,
    order: Callable[[Any], Any],
    beat: Callable[[], None] = lambda: None,
) -> PremiseStates:
    """The reachable states that a property is about, how many of them are in no fair run within the bounds, and whether
    a fair run would violate the property if no step that leaves a bound was enabled.

    A fair run goes through a state iff steps lead from it to a fair loop, or to where a fair run may stop; all states
    are looked at, whatever holds of them. The arguments are those of `region_of`.
    """
    everywhere = Pattern(lambda _: True, lambda _: True, lambda _: True)
    whole = region_of(bound, everywhere, levels, steps_of, assumptions, order, beat)
    fair = resting(whole).union(*fair_components(whole))
    on_a_fair_run = set().union(*nx.bfs_layers(whole.graph.reverse(copy=False), fair))
    about = {n for n, s in enumerate(whole.states) if prop.kind != "leads_to" or bound.holds(prop, s)}
    beyond = len(about - on_a_fair_run)

    def steps_within(state: Any) -> list[Step]:
        return [step for step in steps_of(state) if not isinstance(step.after, Clipped)]

    region = region_of(bound, pattern_of(bound, prop), levels, steps_within, assumptions, order, beat)
    rests = bool(resting(region)) or any(True for _ in fair_components(region))
    return PremiseStates(len(about), beyond, beyond < len(about) and rests)


def region_of(
    bound: BoundModel,
    pattern: Pattern,
    levels: Sequence[Sequence[Any]],
    steps_of: Callable[[Any], Iterable[Step]],
    assumptions: Assumptions,
    order: Callable[[Any], Any],
    beat: Callable[[], None] = lambda: None,
) -> ViolatingRegion:
    """The region of a property's pattern.

    levels: every reachable state, by breadth-first level. steps_of: the steps of a state, in canonical order.
    order: the canonical one. beat: called now and then; raises to end the work.
    """
    begins = {s: level for level, states in enumerate(levels, 1) for s in states if pattern.starts(s)}
    inside, pending = set(begins), list(begins)
    steps = {}
    while pending:
        beat()
        state = pending.pop()
        steps[state] = [step for step in steps_of(state) if step.after != state]
        for step in steps[state]:
            after = step.after
            if not isinstance(after, Clipped) and after not in inside and pattern.stays(after):
                inside.add(after)
                pending.append(after)
    states = sorted(inside, key=order)
    number = {s: n for n, s in enumerate(states)}
    labels = {s: [constraint_of(step, assumptions) for step in steps[s]] for s in states}
    constraints = in_order(bound, {c for row in labels.values() for c in row if c is not None})
    place = {c: k for k, c in enumerate(constraints)}
    starts: dict[int, list[int]] = {}
    for s, level in begins.items():
        starts.setdefault(level, []).append(number[s])
    region = ViolatingRegion(states, starts, {number[s] for s in states if pattern.returns(s)}, constraints=constraints)
    region.graph.add_nodes_from(range(len(states)))
    for n, s in enumerate(states):
        region.can.append({place[c] for c in labels[s] if c is not None})
        for step, constraint in zip(steps[s], labels[s], strict=True):
            if step.after in number:
                edge = n, number[step.after]
                if not region.graph.has_edge(*edge):
                    region.graph.add_edge(*edge, taken=set())
                if constraint is not None:
                    region.graph.edges[edge]["taken"].add(place[constraint])
    return region


def resting(region: ViolatingRegion) -> set[int]:
    """The states that a violating run may stop in: nothing that is fair can change anything there."""
    return {n for n in region.returning if not region.can[n]}


def fair_components(region: ViolatingRegion, among: Collection[int] | None = None) -> Iterator[set[int]]:
    """The largest sets of states that a violating run can go round in for ever, through all of them.

    As for Streett automata: where a strongly fair action is enabled somewhere in a component and taken nowhere in it, a
    fair run can pass the states where it is enabled only a finite number of times; they are removed, and what is left
    is looked at again. Where a weakly fair action is enabled everywhere and taken nowhere, no run goes round.
    """
    part = region.graph if among is None else region.graph.subgraph(among)
    for component in list(nx.strongly_connected_components(part)):
        inside = region.graph.subgraph(component)
        if inside.number_of_edges() == 0 or not component & region.returning:
            continue
        taken = set().union(*(t for _, _, t in inside.edges(data="taken")))
        ever = set().union(*(region.can[n] for n in component))
        always = set.intersection(*(region.can[n] for n in component))
        if any(not region.constraints[c].strong for c in always - taken):
            continue
        starved = {c for c in ever - taken if region.constraints[c].strong}
        if not starved:
            yield set(component)
        else:
            yield from fair_components(region, {n for n in component if not region.can[n] & starved})


@dataclass(frozen=True)
class Lasso:
    """A fair run that violates a property: its states from the one on that it stays from, and where it loops."""

    states: list[Any]
    level: int
    """The level of the first of these states."""
    loop: int
    """The place, among them, of the state that follows the last one."""


def violating_run(region: ViolatingRegion) -> Lasso | None:
    """The shortest way into a fair loop, with a short loop; None if the property holds."""
    rests, components = resting(region), list(fair_components(region))
    fair = rests.union(*components)
    if not fair:
        return None
    stem, level = shortest_stem(region, region.starts.keys(), region.starts.__getitem__, fair)
    entry = stem[-1]
    if entry in rests:
        around = [entry]
    else:
        component = next(c for c in components if entry in c)
        around = fair_loop(region, component, entry, region.strong, lambda n: n in region.returning)
    path = [*stem[:-1], *around]
    return Lasso([region.states[n] for n in path], level, len(stem) - 1)
