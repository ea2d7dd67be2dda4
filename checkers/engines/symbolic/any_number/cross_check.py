"""The translations for any number against plain Python, on states of configurations that have a number.

On each state, every step that Python takes is a step of the nodes, which give the same state after it, and a claim is
as true as in Python. What the nodes say is possible in the formulas: with the members of the configuration and the
values of the state fixed, Z3 finds a model in which a node has the value that it has in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import z3

from reassure.checkers.engines.symbolic.any_number.instance import Instance, Leaves, leaves_of
from reassure.checkers.engines.symbolic.any_number.samples import instance_of, numbers_at_hand, sizes
from reassure.checkers.engines.symbolic.any_number.system import Move, System, place_of, typed_variables
from reassure.checkers.engines.symbolic.any_number.terms import AnyTerms
from reassure.checkers.engines.symbolic.solver import satisfiable
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowered_model import LoweredAction
from reassure.spec.frontend.symbolic_values import scalar_leaves
from reassure.spec.language.types import BoolType, IdType, MapType, SeqType, SetType, Type, unbounded
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, Params, Step


def compare_steps(system: System, bound: BoundModel, states: Iterable[Any], steps_of_each: int = 40) -> int:
    """Compares on states of one configuration; the number of steps compared. Raises `Disagreement`."""
    compared = 0
    properties = {p.name: p for p in bound.properties}
    for state in states:
        instance = instance_of(system, bound, state)
        for f in system.lowered.state_formulas:
            try:
                expected = f.name not in properties or bound.holds(properties[f.name], state)
            except ModelError:
                continue
            if f.name in properties and instance.holds(f.condition) != expected:
                raise Disagreement(f"{f.name} is {expected} in Python, not for any number: {state}")
        try:
            steps = list(bound.steps(state))
        except ModelError:
            continue
        for step in steps[:: max(1, len(steps) // steps_of_each)]:
            if not isinstance(step.after, Clipped):
                _compare_step(system, bound, instance, state, step)
                compared += 1
    return compared


def moves_of(system: System, bound: BoundModel, before: Instance, step: Step) -> Iterator[tuple[Move, Instance]]:
    """The moves that a step of Python is, each with the values of its state and its parameters."""
    number = [a.name for a in bound.model.actions].index(step.action.name)
    moves = (move for move in system.moves if move.number == number)
    return _fitting(system, moves, system.lowered.actions[number], before, step.params, step.after)


def compare_initial(system: System, bound: BoundModel, most: int = 12) -> int:
    """Compares the initial states of a configuration; the number of those compared. Raises `Disagreement`.

    Each is one of the nodes, and the formulas admit that it is one. most: states that are compared, at most.
    """
    every = [one for one in bound.initial_states() if not isinstance(one[2], Clipped)]
    chosen = every[:: max(1, len(every) // most)]
    for declared, params, state in chosen:
        (lowered,) = (one for one in system.lowered.initials if one.name == declared.name)
        moves = (move for move in system.initials if move.name == declared.name)
        nothing = Instance(sizes(bound, system), numbers_at_hand(bound, system))
        fitting = list(_fitting(system, moves, lowered, nothing, params, state))
        if not fitting:
            raise Disagreement(f"for any number {declared.name} does not begin with {state}")
        for move, instance in fitting:
            if not Fixed(system, instance).possible(move.taken):
                raise Disagreement(f"the formulas exclude that {declared.name} begins with {state}")
    return len(chosen)


def _fitting(
    system: System, moves: Iterable[Move], lowered: LoweredAction, before: Instance, params: Params, state: Any
) -> Iterator[tuple[Move, Instance]]:
    """Those moves that lead to a state by these parameters, each with the values of its variables and parameters."""
    leaves = dict(before.leaves)
    for p in lowered.parameters:
        if not isinstance(p.drawn, tuple):
            values = leaves_of(params[p.name], p.type, before.sizes)
            kinds = dict(scalar_leaves(p.type))
            leaves |= {place_of(system.graph.param(p.name, path, kinds[path])): v for path, v in values.items()}
    instance = Instance(before.sizes, leaves)
    after = leaves_of(state, system.type, before.sizes)
    for move in moves:
        if instance.holds(move.taken) and _becomes(move, instance, after):
            yield move, instance


def _becomes(move: Move, instance: Instance, after: Leaves) -> bool:
    """Whether the state after a move is this one: of its sets of records, whether each slot is empty."""
    for path, node in move.after.items():
        if "#" in path:
            if bool(instance.empty(node, ())) != bool(after[f"{path}!empty"]):
                return False
        elif _plain(instance(node)) != _plain(after[path]):
            return False
    return True


def _plain(value: Any) -> Any:
    """A value to compare: of a sequence the items that are there, of a table every entry."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return [int(item) for there, item in value if there]
    return [_plain(entry) for entry in value] if isinstance(value, list) else int(value)


def _compare_step(system: System, bound: BoundModel, before: Instance, state: Any, step: Step) -> None:
    moves = list(moves_of(system, bound, before, step))
    if not moves:
        raise Disagreement(f"for any number there is no step {step.action.name} from {state} to {step.after}")
    properties = {p.name: p for p in bound.properties}
    for move, instance in moves:
        for f in system.lowered.step_formulas[move.number]:
            if f.name not in properties:
                continue
            try:
                expected = bound.holds_on(properties[f.name], state, step)
            except ModelError:
                continue
            if instance.holds(move.over_step(system.graph, f.condition)) != expected:
                raise Disagreement(f"{f.name} is {expected} in Python, not for any number: {step.action.name}, {state}")


class Fixed:
    """The formulas, with the members of a configuration and the values of a state and a step fixed."""

    def __init__(self, system: System, instance: Instance) -> None:
        self.instance, self.terms, self.solver = instance, AnyTerms(system.graph, system.look), z3.SimpleSolver()
        for sort in sorts(system):
            members = [self.terms.member_named(i, sort) for i in range(instance.members(sort))]
            self.terms.of_these_alone(sort, members)
        for name, kind in typed_variables(system):
            if name in instance.leaves:
                self.solver.add(*self._is(name, kind, instance.leaves[name], []))
        self.solver.add(*self.terms.facts())

    def possible(self, node: Node) -> bool:
        """Whether the formulas admit the value that a condition has in the state."""
        mark = self.terms.mark()
        self.solver.push()
        self.solver.add(self.terms.truth(node) == z3.BoolVal(self.instance.holds(node)), *self.terms.facts())
        found = satisfiable(self.solver)
        self.solver.pop()
        self.terms.restore(mark)
        return found

    def _is(self, name: str, kind: Type, value: Any, arguments: list[Any]) -> Iterator[z3.BoolRef]:
        terms = self.terms
        if isinstance(kind, MapType):
            for i, entry in enumerate(value if isinstance(value, list) else []):
                yield from self._is(name, kind.value, entry, [*arguments, terms.member_named(i, kind.key)])
        elif isinstance(kind, SetType):
            for i in range(self.instance.members(kind.item)):
                inside = terms.function(name, [*arguments, terms.member_named(i, kind.item)], BoolType())
                yield inside == z3.BoolVal(bool(value >> i & 1))
        elif isinstance(kind, SeqType):
            yield from self._is_sequence(name, kind, [i for _, i in value] if value else [], arguments)
        elif isinstance(kind, BoolType):
            yield terms.function(name, arguments, kind) == z3.BoolVal(bool(value))
        else:
            term = terms.function(name, arguments, kind)
            yield term == (terms.member_named(value, kind) if unbounded(kind) else value)

    def _is_sequence(self, name: str, kind: SeqType, items: list[int], arguments: list[Any]) -> Iterator[z3.BoolRef]:
        terms = self.terms
        yield from self._is(name, SetType(kind.item), sum(1 << i for i in set(items)), arguments)
        distinct = len(set(items)) == len(items)
        yield terms.function(f"{name}!distinct", arguments, BoolType()) == z3.BoolVal(distinct)
        for place, first in enumerate(items if distinct else []):
            for second in items:
                pair = [terms.member_named(i, kind.item) for i in (first, second)]
                before = terms.function(f"{name}!before", [*arguments, *pair], BoolType())
                yield before == z3.BoolVal(items.index(second) > place)


def sorts(system: System) -> list[IdType]:
    """The sorts of any number of members that a model has."""
    kinds = {n.type.item if isinstance(n.type, SetType) else n.type for n in system.graph.nodes()}
    return sorted((k for k in kinds if isinstance(k, IdType) and unbounded(k)), key=str)


__all__ = ["Fixed", "compare_initial", "compare_steps", "moves_of", "sizes"]
