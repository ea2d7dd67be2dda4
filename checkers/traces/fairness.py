"""Explanation of a loop that violates a property about whole runs: the steps that repeat, and each fair action.

Also here: the run that is shown for a violated property about whole runs: a short way into a fair loop, and the loop.

States are numbered in canonical order, so that the lasso does not depend on how a graph was explored.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from itertools import chain
from typing import Protocol

from reassure.checkers.request.run_identity import FairnessRecord
from reassure.checkers.traces.format_value import plain
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Step
from reassure.spec.semantics.liveness import (
    Assumption,
    Assumptions,
    Constraint,
    Fate,
    assumptions_of,
    fates,
    violated_by,
)
from reassure.spec.semantics.trace import Trace


def assumptions_in(trace: Trace, bound: BoundModel) -> Assumptions:
    """The fairness under which a trace was found: what its file says, else what the model declares."""
    data = trace.meta.get("fairness")
    if not isinstance(data, list):
        return assumptions_of(bound.model)
    return from_data(data)


def from_data(data: list[FairnessRecord]) -> Assumptions:
    """Assumptions that stand in records and trace files."""
    return {a["action"]: Assumption(a["action"], a["strength"], tuple(a["each"])) for a in data}


def as_data(assumptions: Assumptions) -> list[FairnessRecord]:
    """Assumptions as they stand in records and trace files."""
    return [{"action": a.action, "strength": a.strength, "each": list(a.each)} for a in assumptions.values()]


def assumptions_in_words(assumptions: Mapping[str, Assumption]) -> str:
    """Assumptions in one line."""
    parts = []
    for strength in ("weak", "strong"):
        these = [a for a in assumptions.values() if a.strength == strength]
        if these:
            names = [a.action + (f" (each {', '.join(a.each)})" if a.each else "") for a in these]
            parts.append(f"{strength} fairness of {', '.join(names)}")
    return "; ".join(parts) or "no fairness"


def loop_fates(trace: Trace, bound: BoundModel) -> list[Fate]:
    """The fate, in the loop of a trace, of each fairness constraint that is enabled or taken there."""
    assert trace.loop is not None
    return fates(bound, trace.states[trace.loop :], assumptions_in(trace, bound))


def violates(trace: Trace, bound: BoundModel, prop: Property, assumptions: Assumptions | None = None) -> bool:
    """Whether a trace that replays is a fair run that violates a property about whole runs.

    assumptions: what is fair, if it is other than what the trace says.
    """
    if trace.loop is None or not violated_by(bound, prop, trace.states, trace.loop):
        return False
    if assumptions is None:
        assumptions = assumptions_in(trace, bound)
    return all(fate.fair for fate in fates(bound, trace.states[trace.loop :], assumptions))


def repeats(trace: Trace) -> str:
    """A line that names the steps that repeat for ever at the end of a trace with a loop."""
    assert trace.loop is not None
    first, last = trace.loop + 1, len(trace)
    if trace.closing is None:
        return "from here on the run stays in this state"
    if first == last:
        return f"from here on step {first} repeats for ever"
    return f"from here on steps {first} to {last} repeat for ever"


def why_fair(trace: Trace, bound: BoundModel) -> list[str]:
    """Lines that say of each constraint whether the loop of a trace is fair to it, and by which step."""
    assert trace.loop is not None
    reached, names = loop_fates(trace, bound), assumptions_in(trace, bound)
    lines = [f"{_named(f.constraint)}: {_fate(f, trace.loop)}" for f in reached if f.ever_enabled]
    idle = [
        name for name in names if not any(f.ever_enabled and f.constraint.assumption.action == name for f in reached)
    ]
    if idle:
        lines.append(f"not enabled from here on: {', '.join(idle)}")
    fair = all(f.fair for f in reached)
    if not names:
        lines.append("the trace assumes no fairness" if assumptions_of(bound.model) else "no action is declared fair")
    lines += not_fair_here(trace, bound)
    head = "the fairness assumptions allow this:" if fair else "the fairness assumptions exclude this:"
    return [head, *("  " + line for line in lines)]


def not_fair_here(trace: Trace, bound: BoundModel) -> list[str]:
    """Lines that name the steps which the loop of a trace has not: of actions that need not be taken, and clipped ones.

    A fair action would end a loop in which it is enabled and not taken: weak fairness where it is so in each state.
    """
    assert trace.loop is not None
    loop, assumed = trace.states[trace.loop :], assumptions_in(trace, bound)
    taken, rows = set(), []
    for number, state in enumerate(loop):
        steps = [step for step in bound.steps(state) if step.after != state]
        after = loop[(number + 1) % len(loop)]
        taken |= {step.action.name for step in steps if step.after == after}
        rows.append(steps)
    within = [{s.action.name for s in steps if not isinstance(s.after, Clipped)} for steps in rows]
    sometimes = set.union(*within) - taken - assumed.keys()
    always = set.intersection(*within) & sometimes
    lines = []
    for words, names in (("enabled", always), ("enabled in some states", sometimes - always)):
        steps = [s for s in chain(*rows) if s.action.name in names and not isinstance(s.after, Clipped)]
        lines += [f"{words}, but not fair: {_one_of_each(steps)}"] if steps else []
    clipped: dict[str, list[Step]] = {}
    for step in chain(*rows):
        if isinstance(step.after, Clipped):
            clipped.setdefault(step.after.path, []).append(step)
    return lines + [f"clipped at the bound of {path}: {_one_of_each(steps)}" for path, steps in clipped.items()]


def _one_of_each(steps: Iterable[Step]) -> str:
    """The first step of each action, and how many there are with other parameters."""
    calls: dict[str, dict[str, None]] = {}
    for step in steps:
        values = ", ".join(f"{name}={plain(value)}" for name, value in step.params.items())
        calls.setdefault(step.action.name, {})[values] = None
    return ", ".join(
        f"{name}({next(iter(values))})" + (f" (1 of {len(values)})" if len(values) > 1 else "")
        for name, values in calls.items()
    )


def _fate(fate: Fate, loop: int) -> str:
    if fate.taken_after is not None:
        return f"taken at step {loop + fate.taken_after + 1}"
    if fate.fair and fate.disabled_in is not None:
        place = loop + fate.disabled_in
        return f"not enabled after step {place}" if place else "not enabled at the start"
    return "never taken, though enabled " + ("again and again" if fate.disabled_in is not None else "all the time")


def _named(constraint: Constraint) -> str:
    assumed = constraint.assumption
    values = ", ".join(f"{n}={plain(v)}" for n, v in zip(assumed.each, constraint.values, strict=True))
    return f"{assumed.strength} fairness of {assumed.action}" + (f" ({values})" if values else "")


class LassoGraph(Protocol):
    """The states that a violating run may stay in, the steps between them, and what is fair there."""

    def successors(self, states: Sequence[int]) -> Iterable[Sequence[int]]:
        """For each of these states: the other states of the region that a step leads to, ascending."""
        ...

    def enabled(self, state: int) -> Collection[int]:
        """Numbers of the constraints that are enabled in a state."""
        ...

    def taken(self, before: int, after: int) -> Collection[int]:
        """Numbers of the constraints that this step counts for."""
        ...


def shortest_stem(
    graph: LassoGraph, levels: Collection[int], starts: Callable[[int], Iterable[int]], fair: Container[int]
) -> tuple[list[int], int]:
    """The shortest way, counted from the initial states, to a state of `fair`, which are states of fair loops.

    starts: the states of a level from which a violating run stays in the region; levels: where there may be any.
    Returns the states from such a start on, and the start's level. Of several ways, the one whose states are smallest,
    from the last one backwards.
    """
    before: dict[int, int | None] = {}
    level, frontier = min(levels), list[int]()
    while True:
        earlier: dict[int, int | None] = {}
        if level in levels:
            earlier = {s: None for s in starts(level) if s not in before}
        for state, afters in zip(frontier, graph.successors(frontier), strict=True):
            for after in afters:
                if after not in before and after not in earlier:
                    earlier[after] = state
        before.update(earlier)
        frontier = sorted(earlier)
        entry = next((s for s in frontier if s in fair), None)
        if entry is not None:
            path = _backwards(before, entry)
            return path, level - len(path) + 1
        if not frontier and level >= max(levels):
            raise ValueError("no fair loop can be reached")
        level += 1


def _backwards(before: Mapping[int, int | None], state: int) -> list[int]:
    path = [state]
    while (earlier := before[path[0]]) is not None:
        path.insert(0, earlier)
    return path


@dataclass(frozen=True)
class _Wish:
    """A requirement on a loop beside closing: a step or a state of this kind."""

    met_by: Callable[[int, int], bool]
    """Whether a step, given by its two states, is or ends in what is wished for."""


def fair_loop(
    graph: LassoGraph,
    component: Container[int],
    entry: int,
    strong: Sequence[bool],
    returns: Callable[[int], bool],
) -> list[int]:
    """A short fair loop within a component, from `entry` on; the first state follows the last.

    component: strongly connected states of which some loop is fair and has a state of `returns`. strong: by the number
    of a constraint. The loop begins as the shortest one there is; what it does not meet is added, one wish at a time.
    """
    wishes = [] if returns(entry) else [_Wish(lambda _, after: returns(after))]
    while True:
        walk = _walk(graph, component, entry, wishes)
        unmet = _unmet(graph, walk, strong)
        if unmet is None:
            return walk[:-1]
        wishes.append(_wish_for(graph, unmet, strong[unmet]))


def _wish_for(graph: LassoGraph, constraint: int, strong: bool) -> _Wish:
    if strong:
        return _Wish(lambda before, after: constraint in graph.taken(before, after))
    return _Wish(
        lambda before, after: constraint in graph.taken(before, after) or constraint not in graph.enabled(after)
    )


def _walk(graph: LassoGraph, component: Container[int], entry: int, wishes: Iterable[_Wish]) -> list[int]:
    """A walk from `entry` that meets each wish in turn, the shortest way to each, and returns."""
    walk = [entry]
    for wish in wishes:
        if not any(wish.met_by(a, b) for a, b in itertools.pairwise(walk)):
            walk += _shortest(graph, component, walk[-1], wish.met_by)
    if len(walk) == 1 or walk[-1] != entry:
        walk += _shortest(graph, component, walk[-1], lambda _, after: after == entry)
    return walk


def _shortest(graph: LassoGraph, component: Container[int], start: int, meets: Callable[[int, int], bool]) -> list[int]:
    """The states after `start` on the shortest way, within a component, that ends with a step that `meets`."""
    before: dict[int, int | None] = {start: None}
    frontier = [start]
    while frontier:
        earlier: dict[int, int | None] = {}
        for state, afters in zip(frontier, graph.successors(frontier), strict=True):
            for after in afters:
                if after in component:
                    if meets(state, after):
                        return [*_backwards(before, state)[1:], after]
                    if after not in before and after not in earlier:
                        earlier[after] = state
        before.update(earlier)
        frontier = sorted(earlier)
    raise ValueError("the component is not strongly connected, or has no fair loop")


def _unmet(graph: LassoGraph, walk: Sequence[int], strong: Sequence[bool]) -> int | None:
    """The first constraint to which going round for ever is not fair."""
    loop = walk[:-1]
    enabled = [set(graph.enabled(s)) for s in loop]
    taken = set().union(*(graph.taken(a, b) for a, b in itertools.pairwise(walk)))
    ever, always = set().union(*enabled), set(enabled[0]).intersection(*enabled)
    unfair = {c for c in ever - taken if strong[c] or c in always}
    return min(unfair, default=None)
