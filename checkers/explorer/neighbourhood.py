"""The states around one: those that a few steps lead to, as a small graph."""

from __future__ import annotations

from typing import Any, TypedDict

from reassure.checkers.explorer.loaded import Loaded
from reassure.checkers.traces.named_path import NamedStep, named_step, to_text
from reassure.checkers.traces.properties_here import beyond
from reassure.checkers.traces.render import call_text, changes
from reassure.spec.semantics.interpreter import Clipped, FailedCall

MOST_NODES = 60
"""States that are shown; steps to others are counted."""


class NearState(TypedDict):
    """A state near another one. distance: in steps. changes: a line each. violates: by the steps that lead to it."""

    path: str
    distance: int
    changes: list[str]
    violates: list[str]


def neighbourhood(loaded: Loaded, path: list[NamedStep], state: Any, radius: int) -> dict[str, object]:
    """The states that at most `radius` steps lead to from the end of a path, and the steps between them."""
    bound = loaded.bound
    numbers: dict[Any, int] = {state: 0}
    nodes: list[NearState] = [{"path": to_text(path), "distance": 0, "changes": [], "violates": []}]
    edges: list[dict[str, object]] = []
    level: list[tuple[Any, list[NamedStep]]] = [(state, path)]
    left_out = 0
    for distance in range(1, radius + 1):
        following = []
        for before, walked in level:
            for outcome in bound.attempts(before):
                if isinstance(outcome, FailedCall) or isinstance(outcome.after, Clipped):
                    continue
                after, name = outcome.after, outcome.action.name
                if after not in numbers:
                    if len(nodes) >= MOST_NODES:
                        left_out += 1
                        continue
                    numbers[after] = len(nodes)
                    longer = [*walked, named_step(name, outcome.params, bound)]
                    following.append((after, longer))
                    lines = [change.line for change in changes(state, after)]
                    nodes.append({"path": to_text(longer), "distance": distance, "changes": lines, "violates": []})
                violated = nodes[numbers[after]]["violates"]
                violated += [p for p in beyond(bound, before, outcome)["violates"] if p not in violated]
                ends = {"from": numbers[before], "to": numbers[after]}
                edges.append({**ends, "call": call_text(name, outcome.params), "who": outcome.action.who})
        level = following
    return {"nodes": nodes, "edges": edges, "left_out": left_out, "radius": radius}
