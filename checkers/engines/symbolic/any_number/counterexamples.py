"""Counterexamples to induction as states of a configuration: the sorts have so many members, and no others.

What is asked is as in `induction.py`, but a set's number of members is exact, and sequences are in an order. A state
counts when plain Python takes the step from it, to a state that violates the property.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any

import z3

from reassure.checkers.engines.symbolic.any_number.induction import EFFORT, AnyGoal, AnyInduction, Session
from reassure.checkers.engines.symbolic.any_number.naming import Env, choice, equal
from reassure.checkers.engines.symbolic.any_number.samples import Structure, instance_of
from reassure.checkers.engines.symbolic.any_number.system import System, typed_variables
from reassure.checkers.engines.symbolic.any_number.terms import AnyTerms
from reassure.checkers.engines.symbolic.solver import Unanswered
from reassure.spec.frontend.introspection import cached_hints
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.symbolic_values import scalar_leaves
from reassure.spec.language.annotations import resolve
from reassure.spec.language.number_sets import NumbersType
from reassure.spec.language.types import (
    BagType,
    BoolType,
    DomainError,
    EnumType,
    IdType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
    key_name,
    part_path,
    unbounded,
)
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ConfigError, ModelError, Step, make_config

MOST_MEMBERS = 8
"""Members of a sort that are tried, at most."""


class ClosedTerms(AnyTerms):
    """Nodes of a model whose sorts have so many members each."""

    closed = True

    def __init__(self, system: System, sizes: dict[IdType, int]) -> None:
        super().__init__(system.graph, system.look)
        for sort, size in sizes.items():
            members = [self.member_named(i, sort) for i in range(size)]
            self.of_these_alone(sort, members)
            self._fact(self._leaf(f"c.{sort.sort.size}", IntType(1, size), []) == size)
        self.sizes = sizes
        for name, kind in typed_variables(system):
            if isinstance(kind, SeqType) and isinstance(kind.item, IdType) and kind.item in sizes:
                self._in_an_order(name, kind.item)

    def _in_an_order(self, name: str, item: IdType) -> None:
        """States that the items of a sequence are in an order."""
        members = [self.member_named(i, item) for i in range(self.sizes[item])]
        place = {m.get_id(): z3.Int(f"{name}!place!{i}") for i, m in enumerate(members)}
        self._fact(z3.Distinct(*place.values(), z3.IntVal(-1)))
        for x, y in product(members, members):
            before = self.function(f"{name}!before", [x, y], BoolType())
            self._fact(equal(before, place[x.get_id()] < place[y.get_id()]))

    def _counted(self, node: Node, env: Env) -> Any:
        assert isinstance(node.type, SetType)
        kind = node.type.item
        assert isinstance(kind, IdType)
        members = (self.member(node, self.member_named(i, kind), env) for i in range(self.sizes[kind]))
        return z3.Sum(*(choice(m, z3.IntVal(1), z3.IntVal(0)) for m in members))


@dataclass(frozen=True)
class SmallStep:
    """A step of plain Python to a state that violates something, from one that satisfies all lemmas.

    It is perhaps not reachable.
    """

    bound: BoundModel
    before: Any
    step: Step


@dataclass
class Counterexamples:
    """Looks for steps that break goals. sorts: those of any number of members."""

    induction: AnyInduction
    seconds_left: Callable[[], float | None]
    sorts: list[IdType] = field(default_factory=list)

    def of(
        self, goals: Iterable[AnyGoal], violated: Callable[[BoundModel, Any, Step], bool]
    ) -> tuple[SmallStep | None, str]:
        """The step with the fewest members of each sort that breaks one of some goals, all but the initial ones.

        violated: whether a step from a state violates what the goals are about. If there is none: why it is not known
        of each step that it does not, or "".
        """
        steps, why = [goal for goal in goals if goal.session in self.induction.steps], ""
        for sizes in self.sizes():
            for goal in steps[:]:
                try:
                    state = self._state(goal, sizes, at_hand=False)
                    if state is None:
                        continue
                    nearer = self._state(goal, sizes, at_hand=True)
                except Unanswered as error:
                    why = str(error)
                    steps.remove(goal)  # with more members it is no easier
                    continue
                for one in (nearer, state):
                    found = None if one is None else self._step(goal, one, violated)
                    if found is not None:
                        return found, ""
        return None, why

    def sizes(self) -> list[dict[IdType, int]]:
        """The numbers of members of each sort that are tried, all alike as far as the configuration declares them."""
        kinds = dict(declared(self.induction.system))
        ranges = {sort: kinds[str(sort.sort.size)] for sort in self.sorts}
        every = [{s: min(max(n, r.low), r.high) for s, r in ranges.items()} for n in range(1, MOST_MEMBERS + 1)]
        return [sizes for number, sizes in enumerate(every) if sizes not in every[:number]]

    def numbers(self) -> list[dict[str, int]]:
        """`sizes`, by the numbers of the configuration."""
        return [{str(sort.sort.size): n for sort, n in sizes.items()} for sizes in self.sizes()]

    def most(self) -> str:
        """The most members that are tried, in words."""
        largest = self.sizes()[-1]
        kinds = dict(declared(self.induction.system))
        every = all(n == kinds[str(sort.sort.size)].high for sort, n in largest.items())
        words = f"up to {max(largest.values(), default=0)} members of each sort" if largest else "the declared numbers"
        return f"{words}, the most that are declared," if largest and every else words

    def _state(self, goal: AnyGoal, sizes: dict[IdType, int], at_hand: bool) -> Structure | None:
        """A state with so many members. at_hand: with the other numbers of the configuration as they are."""
        induction = self.induction
        system, config = induction.system, induction.system.lowered.bound.config
        terms = ClosedTerms(system, sizes)
        session = Session(system, induction.sessions[goal.session].move, self.seconds_left, terms)
        own = {str(kind.sort.size) for kind in self.sorts}
        for name, kind in declared(system):
            number = terms.function(f"c.{name}", [], kind)
            same = number == getattr(config, name)
            session.solver.add(same if at_hand and name not in own else z3.And(number >= kind.low, number <= kind.high))
        remaining = induction.remaining | ({goal.lemma} if goal.lemma is not None else set())
        return induction.decide(goal, session, remaining, EFFORT)[0]

    def _step(
        self, goal: AnyGoal, state: Structure, violated: Callable[[BoundModel, Any, Step], bool]
    ) -> SmallStep | None:
        system, leaves = self.induction.system, state.instance.leaves
        model, move = system.lowered.bound.model, self.induction.sessions[goal.session].move
        assert move is not None
        config = {f.name: getattr(system.lowered.bound.config, f.name) for f in fields(system.lowered.bound.config)}
        try:
            bound = BoundModel(
                model, make_config(model, config | {name: leaves[f"c.{name}"] for name, _ in system.config})
            )
            before = _value_of(leaves.__getitem__, system.type, "", state.instance.members)
            if bound.type.misfit(before) is not None:
                return None
            instance = instance_of(system, bound, before)
            if not all(instance.holds(self.induction.lemmas[i].node) for i in self.induction.remaining):
                return None
            steps = bound.steps(before, of=move.name)
            found = (s for s in steps if not isinstance(s.after, Clipped) and violated(bound, before, s))
            step = next(found, None)
        except (ConfigError, DomainError, ModelError, IndexError):
            return None
        return None if step is None else SmallStep(bound, before, step)


def declared(system: System) -> Iterator[tuple[str, IntType]]:
    """The free numbers with the ranges that the configuration declares."""
    config: Any = system.lowered.bound.config
    cls: Any = type(config)
    hints = cached_hints(cls)
    for name, _ in system.config:
        kind = resolve(hints[name], config)
        assert isinstance(kind, IntType)
        yield name, kind


def _value_of(leaf: Callable[[str], Any], kind: Type, path: str, members: Callable[[Type], int]) -> Any:
    """The value of a type for any number, of its scalars by their path: what `leaves_of` takes apart.

    members: the number of members of a sort.
    """
    if isinstance(kind, RecordType):
        return kind.made(_value_of(leaf, inner, part_path(path, name), members) for name, inner in kind.fields)
    if isinstance(kind, OptionType):
        return _value_of(leaf, kind.inner, path, members) if leaf(f"{path}?") else None
    if isinstance(kind, MapType) and not unbounded(kind.key):
        keys = list(kind.key.values())
        return Map([(k, _value_of(leaf, kind.value, f"{path}[{key_name(k)}]", members)) for k in keys])
    if isinstance(kind, MapType):
        entry: Callable[[int], Callable[[str], Any]] = lambda i: lambda name: leaf(name)[i]  # noqa: E731
        values = (_value_of(entry(i), kind.value, f"{path}[*]", members) for i in range(members(kind.key)))
        return Map([(_scalar(i, kind.key), value) for i, value in enumerate(values)])
    if isinstance(kind, BagType):
        there = (i for i in range(kind.size) if not leaf(f"{path}#{i}!empty"))
        return frozenset(_value_of(_in_slot(leaf, kind, f"{path}#{i}"), kind.item, "", members) for i in there)
    if isinstance(kind, NumbersType):
        return frozenset([number for number in kind.item.values() if leaf(f"{path}[{number}]")])
    if isinstance(kind, SetType):
        mask = leaf(path)
        return frozenset(_scalar(i, kind.item) for i in range(members(kind.item)) if mask >> i & 1)
    if isinstance(kind, SeqType):
        return tuple(_scalar(i, kind.item) for there, i in leaf(path) if there)
    return _scalar(leaf(path), kind)


def _in_slot(leaf: Callable[[str], Any], kind: BagType, slot: str) -> Callable[[str], Any]:
    names = [name for name, _ in scalar_leaves(kind.item)]
    return lambda name: leaf(f"{slot}.{names.index(name)}")


def _scalar(number: int, kind: Type) -> Any:
    if isinstance(kind, IdType):
        return kind.sort(number + kind.first)
    if isinstance(kind, EnumType):
        return list(kind.sort)[number]
    return bool(number) if isinstance(kind, BoolType) else int(number)
