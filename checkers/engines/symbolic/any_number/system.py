"""A model for any number as a transition system of nodes: each step, and what it makes of a condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from reassure.spec.frontend.introspection import cached_hints
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import Formula, LoweredAction, LoweredModel, substitute
from reassure.spec.frontend.symbolic_values import bags, scalar_leaves
from reassure.spec.language.annotations import AnyNumber, record_type, resolve
from reassure.spec.language.types import (
    ANY,
    BagType,
    BoolType,
    IntType,
    Type,
)


@dataclass
class Move:
    """An action, or an initial function, with its parameters drawn from one slot at most."""

    name: str
    number: int
    """Of the action in the model; -1: an initial function."""
    taken: Node
    """The step is enabled and leaves no bound."""
    raises: Node
    clips: tuple[tuple[str, Node, bool], ...]
    """The bounds that an enabled step may leave: the path, when it does, and whether the bound is declared."""
    after: dict[str, Node]
    """The scalars of the state after it, by path."""
    drawn: dict[Node, Node]
    """Parameters of which this move is one choice."""
    _before: dict[Node, Node] = field(default_factory=dict)
    _both: dict[Node, Node] = field(default_factory=dict)

    def afterwards(self, g: Graph, condition: Node) -> Node:
        """A condition on the state after the step, as one on the state before it and the parameters."""
        return substitute(g, condition, self.after, self._before)

    def over_step(self, g: Graph, condition: Node) -> Node:
        """A condition on a step, whose state after is written with primes, as one on the state before it."""
        self._both.update({p: n for p, n in self.drawn.items() if p not in self._both})
        return substitute(g, condition, {f"{path}'": node for path, node in self.after.items()}, self._both)


class System:
    """The moves of a model for any number. relations: conditions that every configuration satisfies."""

    def __init__(
        self,
        lowered: LoweredModel,
        relations: list[Node],
        any_number: AnyNumber,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """look: called while formulas are made; raises to end that."""
        self.lowered, self.relations, self.any_number, self.look = lowered, relations, any_number, look
        self.graph = lowered.graph
        self.type = record_type(lowered.bound.model.state, any_number)
        """The type of the states."""
        self.scalars = scalar_leaves(self.type)
        """The scalars of a state, by path."""
        self.bags = bags(self.type)
        """The sets of records of the state, each with its path."""
        self.config = [(name, IntType(low, ANY)) for name, low in _least(any_number).items()]
        """The free numbers, with their types."""
        chosen = [p for one in (*lowered.initials, *lowered.actions) for p in one.parameters]
        self.parameters = [
            self.graph.param(p.name, path, kind)
            for p in chosen
            if not isinstance(p.drawn, tuple)
            for path, kind in scalar_leaves(p.type)
        ]
        """The scalars of the parameters that are not drawn from slots."""
        self.initials = [m for one in lowered.initials for m in self._moves(one, -1)]
        self.moves = [m for number, one in enumerate(lowered.actions) for m in self._moves(one, number)]

    def scalars_of(self, bag: BagType) -> list[Type]:
        """The types of the scalars of a record in a set."""
        return [kind for _, kind in scalar_leaves(bag.item)]

    def claims(self) -> tuple[dict[str, Formula], dict[str, list[tuple[Move, Formula]]]]:
        """The claims over states, and those over steps with the moves that they are about."""
        states = {f.name: f for f in self.lowered.state_formulas}
        steps: dict[str, list[tuple[Move, Formula]]] = {}
        for move in self.moves:
            for f in self.lowered.step_formulas[move.number]:
                steps.setdefault(f.name, []).append((move, f))
        return states, steps

    def _moves(self, one: LoweredAction, number: int) -> list[Move]:
        g = self.graph
        choices: list[dict[Node, Node]] = [{}]
        membership = []
        for p in one.parameters:
            if isinstance(p.drawn, tuple):
                choices = [{**chosen, p.leaves[0]: slot} for chosen in choices for slot in p.drawn]
            elif p.drawn is not None:
                membership.append(g.member(p.leaves[0], p.drawn))
        return [self._move(one, number, chosen, membership) for chosen in choices]

    def _move(self, one: LoweredAction, number: int, drawn: dict[Node, Node], membership: list[Node]) -> Move:
        g = self.graph
        results = dict(drawn)

        def chosen(node: Node) -> Node:
            return substitute(g, node, {}, results)

        occupied = [g.not_(g.eq(slot, g.num(0))) for slot in drawn.values()]
        passed, raises = [*occupied, *(chosen(m) for m in membership)], g.false
        for check in one.checks:
            condition = chosen(check.condition)
            if check.kind == "error":
                raises = g.or_(raises, g.and_(*passed, g.not_(condition)))
            passed.append(condition)
        enabled = g.and_(*passed)
        clips = tuple((path, g.and_(enabled, chosen(c)), declared) for path, c, declared in one.clips)
        after = {leaf.path: chosen(n) for leaf, n in zip(self.lowered.leaves, one.next_leaves, strict=True)}
        taken = g.and_(enabled, *(g.not_(chosen(c)) for _, c, _ in one.clips))
        return Move(one.name, number, taken, raises, clips, after, drawn)


def _least(any_number: AnyNumber) -> dict[str, int]:
    """The least value of each free number."""
    cls: Any = type(any_number.config)
    hints = cached_hints(cls)
    kinds = {name: resolve(hints[name], any_number.config) for name in sorted(any_number.free)}
    return {name: kind.low for name, kind in kinds.items() if isinstance(kind, IntType)}


def typed_variables(system: System) -> Iterator[tuple[str, Type]]:
    """The variables of a state, the free numbers and the parameters, by their names in formulas."""
    yield from ((path, kind) for path, kind in system.scalars if "#" not in path)
    for path, bag in system.bags:
        for i in range(bag.size):
            yield f"{path}#{i}!empty", BoolType()
            yield from ((f"{path}#{i}.{number}", kind) for number, kind in enumerate(system.scalars_of(bag)))
    yield from ((f"c.{name}", kind) for name, kind in system.config)
    yield from ((place_of(node), node.type) for node in system.parameters)


def place_of(node: Node) -> str:
    """The name of a variable, or of a parameter: parameters of two actions may have one name and two types."""
    return str(node.data) if node.op == "var" else f"{node.data[0]}{node.data[1]}${node.type}"
