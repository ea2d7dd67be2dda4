"""The kernel that finds the strongly connected components of a graph."""

from __future__ import annotations

from dataclasses import dataclass

from reassure.checkers.engines.native.kernels.region_edges import LABEL_BITS
from reassure.checkers.engines.native.translator.language import Words, kernel


@dataclass
class ComponentArguments:
    """A graph, the part of each state, and room for a depth-first search."""

    count: int
    ends: Words
    """By state: where its edges end."""
    edges: Words
    """As `region_edges` lists them."""
    parts: Words
    """By state: its part; steps between two parts are none. Below 0: the state is left out."""
    components: Words
    """Gets the component of each state that is in a part, from 0 on."""
    index: Words
    """By state: when it was found."""
    low: Words
    """By state: the earliest that was found to be reachable from it."""
    at: Words
    """By state: the next of its edges."""
    path: Words
    stack: Words
    found: int
    """Gets the number of components."""


@kernel
def find_components(a: ComponentArguments) -> None:
    """Tarjan's strongly connected components, without recursion. `index` has zeros."""
    time = 0
    depth = 0
    height = 0
    for root in range(a.count):
        if a.parts[root] >= 0 and a.index[root] == 0:
            a.path[0] = root
            depth = 1
            time += 1
            a.index[root] = time
            a.low[root] = time
            a.at[root] = a.ends[root - 1] if root > 0 else 0
            a.stack[height] = root
            height += 1
            while depth > 0:
                state = a.path[depth - 1]
                part = a.parts[state]
                end = a.ends[state]
                edge = a.at[state]
                deeper = False
                while edge < end and not deeper:
                    after = a.edges[edge] >> LABEL_BITS
                    edge += 1
                    if a.parts[after] == part:
                        if a.index[after] == 0:
                            time += 1
                            a.index[after] = time
                            a.low[after] = time
                            a.at[after] = a.ends[after - 1] if after > 0 else 0
                            a.stack[height] = after
                            height += 1
                            a.path[depth] = after
                            depth += 1
                            deeper = True
                        elif a.index[after] > 0 and a.index[after] < a.low[state]:
                            a.low[state] = a.index[after]
                a.at[state] = edge
                if not deeper:
                    depth -= 1
                    if a.low[state] == a.index[state]:
                        member = -1
                        while member != state:
                            height -= 1
                            member = a.stack[height]
                            a.components[member] = a.found
                            a.index[member] = -1
                        a.found += 1
                    if depth > 0:
                        earlier = a.path[depth - 1]
                        if a.low[state] < a.low[earlier]:
                            a.low[earlier] = a.low[state]


EXPORTED = (find_components,)
