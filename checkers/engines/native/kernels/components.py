"""The kernel that finds the fair components of a graph: strongly connected states that a fair run may go round in.

The method is that of `reference.liveness`. A component with a fair loop is kept; one without is dropped; of one where a
strongly fair action is starved, the states where that is enabled are dropped, and the rest is split again.
"""

from __future__ import annotations

from reassure.checkers.engines.native.kernels.region_edges import LABEL_BITS, MOST_LABELS
from reassure.checkers.engines.native.translator.language import Words, kernel
from reassure.spec.language.light_dataclasses import dataclass

RESTS = 1
"""Of what is found of a state: a run may stop there for ever."""
LOOPS_AT = 1
"""From this bit on: 1 + a state of the fair component, 0 if it is in none."""
OUT = -1
"""The part of a state that no fair loop goes through."""


@dataclass
class ComponentArguments:
    """States low..high-1 of a graph, from which no step leads to others; what is fair there; and room to work in.

    The arrays from `parts` on have a word for each of these states, and one more.
    """

    low: int
    high: int
    verdicts: Words
    """By state of the whole graph, as `found`: what holds of it."""
    stays: int
    """A state whose verdict has none of these bits is one that a violating run may stay in."""
    returns: int
    """A state whose verdict has none of these bits is one that it has to return to."""
    ends: Words
    """By state, from `low` on: where its edges end."""
    edges: Words
    """As `region_edges` lists them."""
    enabled: Words
    """As `region_edges` lists them."""
    enabled_count: int
    constraints: Words
    """By label: 1 + the number of its constraint; 0: it counts for nothing."""
    strong: Words
    """By 1 + the number of a constraint, as the next five: whether its fairness is strong."""
    seen: Words
    """The last component with a state where it is enabled."""
    last: Words
    """The last such state."""
    often: Words
    """How many such states that component has."""
    taken: Words
    """Whether a step that counts for it stays within that component."""
    touched: Words
    """Those that are enabled in some state of the component."""
    stamp: int
    """Components that were looked at; grows."""
    found: Words
    """Gets what is found, `RESTS` and so on; has zeros."""
    parts: Words
    """The part of each state; steps between two parts are none."""
    index: Words
    """When it was found."""
    earliest: Words
    """The earliest that was found to be reachable from it."""
    at: Words
    """The next of its edges."""
    enabled_ends: Words
    path: Words
    stack: Words


@kernel
def first_edge(a: ComponentArguments, state: int) -> int:
    """Where the edges of a state begin, which is counted from `low` on."""
    return a.ends[state - 1] if state > 0 else 0


@kernel
def begin_parts(a: ComponentArguments) -> None:
    """Puts the states that a run may stay in into one part; notes those in which it may stop."""
    at = 0
    for state in range(a.high - a.low):
        verdict, something = a.verdicts[a.low + state], False
        while at < a.enabled_count and a.enabled[at] >> LABEL_BITS == a.low + state:
            if a.constraints[a.enabled[at] & MOST_LABELS] != 0:
                something = True
            at += 1
        a.enabled_ends[state] = at
        a.parts[state] = 0 if verdict & a.stays == 0 else OUT
        if verdict & (a.stays | a.returns) == 0 and not something:
            a.found[a.low + state] = RESTS


@kernel
def count_enabled(a: ComponentArguments, first: int, end: int) -> int:
    """Counts what is enabled in the states first..end-1 of the stack; how many constraints that are."""
    touched = 0
    for k in range(first, end):
        state = a.stack[k]
        for at in range(a.enabled_ends[state - 1] if state > 0 else 0, a.enabled_ends[state]):
            constraint = a.constraints[a.enabled[at] & MOST_LABELS]
            if constraint != 0:
                if a.seen[constraint] != a.stamp:
                    a.seen[constraint] = a.stamp
                    a.often[constraint] = 0
                    a.taken[constraint] = 0
                    a.last[constraint] = -1
                    a.touched[touched] = constraint
                    touched += 1
                if a.last[constraint] != state:
                    a.last[constraint] = state
                    a.often[constraint] += 1
    return touched


@kernel
def drop_starved(a: ComponentArguments, first: int, end: int) -> None:
    """Drops the states of the stack in which something strongly fair is enabled that no step within the part takes."""
    for k in range(first, end):
        state = a.stack[k]
        for at in range(a.enabled_ends[state - 1] if state > 0 else 0, a.enabled_ends[state]):
            constraint = a.constraints[a.enabled[at] & MOST_LABELS]
            if constraint != 0 and a.strong[constraint] != 0 and a.taken[constraint] == 0:
                a.parts[state] = OUT


@kernel
def judge_component(a: ComponentArguments, first: int, end: int) -> bool:
    """Decides about the component first..end-1 of the stack; whether it is to be split again."""
    returning, part = False, a.stack[first] + 1
    for k in range(first, end):
        a.index[a.stack[k]] = -1
        if a.verdicts[a.low + a.stack[k]] & a.returns == 0:
            returning = True
    if end - first == 1 or not returning:
        for k in range(first, end):
            a.parts[a.stack[k]] = OUT
        return False
    a.stamp += 1
    touched = count_enabled(a, first, end)
    for k in range(first, end):
        a.parts[a.stack[k]] = part
    left, k = touched, first  # what is taken is enabled, and needs no further look
    while left > 0 and k < end:
        for at in range(first_edge(a, a.stack[k]), a.ends[a.stack[k]]):
            constraint = a.constraints[a.edges[at] & MOST_LABELS]
            if constraint != 0 and a.taken[constraint] == 0 and a.parts[(a.edges[at] >> LABEL_BITS) - a.low] == part:
                a.taken[constraint] = 1
                left -= 1
        k += 1
    unfair, hungry = False, False
    for k in range(touched):
        constraint = a.touched[k]
        if a.taken[constraint] == 0:
            if a.strong[constraint] != 0:
                hungry = True
            elif a.often[constraint] == end - first:
                unfair = True
    if hungry and not unfair:
        drop_starved(a, first, end)
        return True
    for k in range(first, end):
        a.parts[a.stack[k]] = OUT
        if not unfair:
            a.found[a.low + a.stack[k]] |= a.low + part << LOOPS_AT
    return False


@kernel
def split_parts(a: ComponentArguments) -> bool:
    """Tarjan's strongly connected components of each part, without recursion; whether some are to be split again."""
    time, height, again = 0, 0, False
    for state in range(a.high - a.low):
        a.index[state] = 0
    for root in range(a.high - a.low):
        if a.parts[root] != OUT and a.index[root] == 0:
            time += 1
            a.index[root] = time
            a.earliest[root] = time
            a.at[root] = first_edge(a, root)
            a.stack[height] = root
            height += 1
            a.path[0] = root
            depth = 1
            while depth > 0:
                state = a.path[depth - 1]
                part = a.parts[state]
                end = a.ends[state]
                edge = a.at[state]
                deeper = False
                while edge < end and not deeper:
                    after = (a.edges[edge] >> LABEL_BITS) - a.low
                    edge += 1
                    if a.parts[after] == part:
                        if a.index[after] == 0:
                            time += 1
                            a.index[after] = time
                            a.earliest[after] = time
                            a.at[after] = first_edge(a, after)
                            a.stack[height] = after
                            height += 1
                            a.path[depth] = after
                            depth += 1
                            deeper = True
                        elif a.index[after] > 0 and a.index[after] < a.earliest[state]:
                            a.earliest[state] = a.index[after]
                a.at[state] = edge
                if not deeper:
                    depth -= 1
                    if a.earliest[state] == a.index[state]:
                        bottom = height - 1
                        while a.stack[bottom] != state:
                            bottom -= 1
                        if judge_component(a, bottom, height):
                            again = True
                        height = bottom
                    if depth > 0:
                        before = a.path[depth - 1]
                        if a.earliest[state] < a.earliest[before]:
                            a.earliest[before] = a.earliest[state]
    return again


@kernel
def find_fair_components(a: ComponentArguments) -> None:
    """Finds the states where a run that violates a property may stop, and the fair components."""
    begin_parts(a)
    again = True
    while again:
        again = split_parts(a)


@kernel
def mark_before(ends: Words, edges: Words, count: int, marks: Words) -> bool:
    """Marks states with a step to a marked one, in a sweep down and one up; whether another may mark more.

    The states are 0..count-1, with edges as in `ComponentArguments`.
    """
    more = False
    for k in range(2 * count):
        state = k if k < count else 2 * count - 1 - k
        at = ends[state - 1] if state > 0 else 0
        while marks[state] == 0 and at < ends[state]:
            if marks[edges[at] >> LABEL_BITS] != 0:
                marks[state] = 1
                more = True
            at += 1
    return more


EXPORTED = (find_fair_components, mark_before)
