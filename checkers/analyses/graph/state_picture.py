"""The reachable states of a model as a picture: a node for each state, or for each group of states.

Also here: groups of states: those for which an expression has the same value.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.engines.native.state_graph import StateGraph
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import quantity
from reassure.checkers.traces.format_value import names_for_expressions, parsed_expression, plain
from reassure.checkers.traces.render import flat
from reassure.spec.semantics.interpreter import BoundModel

GIVEN = "s, c and the names of the model's module"


@dataclass(frozen=True)
class Grouping:
    """An expression over a state `s` and the configuration `c`."""

    expression: str
    lines: Callable[[Any], tuple[str, ...]]
    """The value for a state as text; of an expression with commas, a line `part = value` each. Raises `Failure`."""


def grouping(bound: BoundModel, expression: str) -> Grouping:
    """The groups by an expression; `Failure` if it is none, or has no value in an initial state."""
    tree = parsed_expression(expression, "--by").body
    parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    codes = [compile(ast.Expression(part), "--by", "eval") for part in parts]
    if not parts:
        raise Failure(Exit.USAGE, "--by '()' has no value to group by: write an expression over the state s")
    titles = [f"{ast.unparse(part).removeprefix('s.')} = " if len(parts) > 1 else "" for part in parts]
    names = names_for_expressions(bound.model) | {"c": bound.config}

    def lines(state: Any) -> tuple[str, ...]:
        names["s"] = state
        try:
            return tuple(title + plain(eval(code, names)) for title, code in zip(titles, codes, strict=True))
        except NameError as error:
            raise Failure(Exit.USAGE, f"--by {expression!r}: {error}; it may use {GIVEN}") from None
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise Failure(
                Exit.USAGE,
                f"--by {expression!r} raised {reason}; it must have a value in every state, also in {plain(state)}",
            ) from None

    for _, _, state in bound.initial_states():
        lines(state)
        break
    return Grouping(expression.strip(), lines)


def view_grouping(bound: BoundModel, name: str) -> Grouping:
    """The groups by a function of the state in the model's module; `Failure` if there is none of this name."""
    for module in (bound.model.module, bound.model.state.__module__):
        view = getattr(sys.modules[module], name, None)
        if callable(view):
            more = ", c" if len(inspect.signature(view).parameters) > 1 else ""
            return grouping(bound, f"{name}(s{more})")
    raise Failure(
        Exit.USAGE, f"--view {name}: {bound.model.name} has no function of this name; or give --by EXPRESSION"
    )


FORMAT = "reassure-graph"
VERSION = 1
BEYOND = "beyond"
"""The node of every state that is not drawn."""
MOST_LINES = 6
"""Fields that the label of a state shows, if no more of them differ between the drawn states."""

Numbers = NDArray[np.int64]


@dataclass
class PictureNode:
    """A state, or a group of states. level: of its first state. Counts are of states."""

    id: str
    lines: tuple[str, ...]
    level: int
    example: list[tuple[str, str]]
    """The fields of its first state."""
    states: int = 0
    initial: int = 0
    terminal: int = 0
    deadlock: int = 0
    violates: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, object]:
        """The node as plain JSON."""
        return {
            "id": self.id,
            "label": list(self.lines),
            "level": self.level,
            "states": self.states,
            "initial": self.initial,
            "terminal": self.terminal,
            "deadlock": self.deadlock,
            "violates": dict(self.violates),
            "example": [list(pair) for pair in self.example],
        }


@dataclass(frozen=True)
class Edge:
    """The steps of one action from one node to another, and how many of them violate a property over steps."""

    source: str
    target: str
    action: str
    steps: int
    violates: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """The edge as plain JSON."""
        return {
            "from": self.source,
            "to": self.target,
            "action": self.action,
            "steps": self.steps,
            "violates": self.violates,
        }


@dataclass
class StatePicture:
    """Nodes in the order in which a search reaches them, and edges. cut: what is missing, a sentence each."""

    model: str
    config: list[tuple[str, str]]
    by: str | None
    states: int
    steps: int
    nodes: list[PictureNode]
    edges: list[Edge]
    cut: list[str]
    clipped: int
    unmarked: list[str]
    """Properties about whole runs, which no state and no step violates by itself."""

    @property
    def complete(self) -> bool:
        """Whether every reachable state and every step within the bounds is in it."""
        return not self.cut

    @property
    def violated(self) -> list[str]:
        """By property: in how many states or steps it is violated."""
        states: Counter[str] = Counter()
        steps: Counter[str] = Counter()
        for node in self.nodes:
            states.update(node.violates)
        for edge in self.edges:
            steps.update(edge.violates)
        dead = sum(node.deadlock for node in self.nodes)
        return [
            *(f"{name} is violated in {quantity(number, 'state')}" for name, number in sorted(states.items())),
            *(f"{name} is violated in {quantity(number, 'step')}" for name, number in sorted(steps.items())),
            *([f"{quantity(dead, 'state')} with nothing enabled, where no run may end (deadlock)"] if dead else []),
        ]

    @property
    def heading(self) -> str:
        """The counts of the picture's states and steps."""
        what = f"{quantity(self.states, 'state')}, {quantity(self.steps, 'step')}"
        return f"{self.model}: {what}" + (f", {quantity(len(self.nodes), 'value')} of {self.by}" if self.by else "")

    @property
    def remarks(self) -> list[str]:
        """Remarks that a reader of the picture needs."""
        lines = [f"not everything is drawn: {text}" for text in self.cut]
        if self.clipped:
            lines.append(f"{quantity(self.clipped, 'step')} left out: beyond a declared bound")
        lines += self.violated
        if self.unmarked:
            lines.append(f"not marked, because they are about whole runs: {', '.join(self.unmarked)}")
        return lines

    def as_json(self) -> dict[str, object]:
        """The picture as plain JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "model": self.model,
            "config": [list(pair) for pair in self.config],
            "by": self.by,
            "states": self.states,
            "steps": self.steps,
            "clipped": self.clipped,
            "complete": self.complete,
            "cut": self.cut,
            "unmarked": self.unmarked,
            "nodes": [node.as_json() for node in self.nodes],
            "edges": [edge.as_json() for edge in self.edges],
        }


def state_picture(
    graph: StateGraph, by: Grouping | None, limit: int | None, progress: Progress, until: float = math.inf
) -> StatePicture:
    """Draws what a search has visited. by: group the states; else a node each. limit: of states without `by`.

    until: when no further state is grouped, by the clock of `time.monotonic`.
    """
    cut = []
    if not graph.complete:
        cut.append(f"the search ended after {quantity(graph.count, 'state')}, because {graph.stopped.text}")
    if by is None:
        groups, nodes = _of_states(graph, graph.count if limit is None else min(limit, graph.count))
    else:
        groups, nodes = _of_values(graph, by, progress, until)
    drawn = int(np.count_nonzero(groups >= 0))
    if drawn < graph.count:
        why = "" if by is None else ": the budget ended"
        cut.append(f"the first {drawn:,} of {graph.count:,} visited states are drawn{why}")
    _count(graph, groups, nodes)
    bound = graph.bound
    return StatePicture(
        model=bound.model.name,
        config=[(name, plain(value)) for name, value in flat(bound.config).items()],
        by=None if by is None else by.expression,
        states=graph.count,
        steps=graph.edge_count,
        nodes=nodes,
        edges=_edges(graph, groups, nodes),
        cut=cut,
        clipped=graph.clipped,
        unmarked=[p.name for p in bound.properties if p.temporal],
    )


def _of_states(graph: StateGraph, drawn: int) -> tuple[Numbers, list[PictureNode]]:
    """A node for each of the first states; the fields that differ between them are their labels."""
    fields = [{name: plain(value) for name, value in flat(graph.state(n)).items()} for n in range(drawn)]
    names = list(dict.fromkeys(name for one in fields for name in one))
    differ = [name for name in names if len({one.get(name) for one in fields}) > 1]
    nodes = []
    for number, one in enumerate(fields):
        lines = tuple(f"{name} {one[name]}" for name in differ if name in one)
        if not 0 < len(differ) <= MOST_LINES:
            lines = (f"state {number}",)
        nodes.append(PictureNode(f"n{number}", lines, int(graph.levels[number]), list(one.items())))
    groups = np.arange(graph.count, dtype=np.int64)
    groups[drawn:] = -1
    return groups, nodes


def _of_values(graph: StateGraph, by: Grouping, progress: Progress, until: float) -> tuple[Numbers, list[PictureNode]]:
    """A node for each value; states that are left when the time is up have none."""
    numbers: dict[tuple[str, ...], int] = {}
    groups = np.full(graph.count, -1, np.int64)
    nodes: list[PictureNode] = []
    for number in range(graph.count):
        if number % 256 == 0:
            progress.proof(f"{len(numbers):,} values in {number:,} of {graph.count:,} states")
            if number and time.monotonic() >= until:
                break
        state = graph.state(number)
        lines = by.lines(state)
        groups[number] = numbers.setdefault(lines, len(numbers))
        if len(numbers) > len(nodes):
            example = [(name, plain(value)) for name, value in flat(state).items()]
            nodes.append(PictureNode(f"n{len(nodes)}", lines, int(graph.levels[number]), example))
    return groups, nodes


def _count(graph: StateGraph, groups: Numbers, nodes: list[PictureNode]) -> None:
    """Notes in each node how many of its states are initial, terminal, dead, or violate a property."""

    def per_node(states: NDArray[np.bool_]) -> list[int]:
        chosen = groups[states & (groups >= 0)]
        return [int(n) for n in np.bincount(chosen, minlength=len(nodes))]

    terminal = graph.terminal
    dead = _dead(graph, terminal) if graph.bound.model.deadlock else np.zeros(graph.count, np.bool_)
    counts = zip(
        per_node(np.ones(graph.count, np.bool_)),
        per_node(graph.levels == 0),
        per_node(terminal),
        per_node(dead),
        strict=True,
    )
    for node, (states, initial, ends, deadlock) in zip(nodes, counts, strict=True):
        node.states, node.initial, node.terminal, node.deadlock = states, initial, ends, deadlock
    for bit, name in enumerate(graph.kernel.state_flags[:-1]):  # the last one is `terminal`
        for node, number in zip(nodes, per_node((graph.state_claims >> bit & 1) > 0), strict=True):
            if number:
                node.violates[name] = number


def _dead(graph: StateGraph, terminal: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Marks states where nothing is enabled although no run may end there; a step that leaves a bound is enabled."""
    dead: NDArray[np.bool_] = (np.diff(graph.begins) == 0) & ~terminal
    for number in np.nonzero(dead)[0].tolist():
        dead[number] = next(graph.bound.steps(graph.state(number)), None) is None
    return dead


def _edges(graph: StateGraph, groups: Numbers, nodes: list[PictureNode]) -> list[Edge]:
    """The steps from drawn states, counted by nodes and action; those to states that are not drawn lead beyond."""
    count, actions = len(nodes) + 1, len(graph.kernel.actions)
    sources = groups[graph.sources]
    targets = np.where(graph.targets >= 0, groups[graph.targets], -1)
    targets[targets < 0] = len(nodes)
    inside = sources >= 0
    codes = (sources * count + targets) * actions + graph.actions
    kinds, steps = np.unique(codes[inside], return_counts=True)
    violations: dict[int, dict[str, int]] = {}
    for name, hit in graph.step_claims.items():
        bad, numbers = np.unique(codes[inside & hit], return_counts=True)
        for code, number in zip(bad.tolist(), numbers.tolist(), strict=True):
            violations.setdefault(code, {})[name] = number
    edges = []
    for code, number in zip(kinds.tolist(), steps.tolist(), strict=True):
        pair, action = divmod(code, actions)
        source, target = divmod(pair, count)
        to = BEYOND if target == len(nodes) else nodes[target].id
        edges.append(Edge(nodes[source].id, to, graph.kernel.actions[action], number, violations.get(code, {})))
    return edges


def marked(bound: BoundModel, name: str) -> bool:
    """Whether a claim is marked in a picture: a property of states or steps, or that a run may not end."""
    return name == "deadlock" or any(p.name == name and not p.temporal for p in bound.properties)
