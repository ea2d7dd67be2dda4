"""Reachable states of configurations near the one at hand, as columns: what is false in one of them is not a lemma.

Also here: a small state: the members that a model of Z3's names, and what it says of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import combinations, islice
from typing import Any

import numpy as np
import z3

from reassure.checkers.engines.native.exploration import Limits, explore
from reassure.checkers.engines.native.search import Search
from reassure.checkers.engines.symbolic.any_number.instance import Instance, InstanceColumns, Leaves, leaves_of, zero_of
from reassure.checkers.engines.symbolic.any_number.system import Move, System, typed_variables
from reassure.checkers.engines.symbolic.any_number.terms import AnyTerms
from reassure.checkers.engines.symbolic.cross_check import draw
from reassure.checkers.engines.symbolic.lemma_templates import Lemma, candidates
from reassure.checkers.engines.symbolic.scout import Scout
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.request.options import SimulationOptions
from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.frontend.symbolic_values import scalar_leaves
from reassure.spec.language.types import (
    BoolType,
    DomainError,
    IdType,
    IntType,
    MapType,
    SeqType,
    SetType,
    Type,
    unbounded,
)
from reassure.spec.semantics.interpreter import BoundModel, ConfigError, make_config
from reassure.spec.semantics.trace import PlainConfig

SEARCHED, WALKS = 20_000, SimulationOptions(200, 60, 1)
"""States of the search that a sample is drawn from, and the walks that go further."""
FEW, MANY = 150, 800
"""States that are looked at first, and after that."""
DRAWN, NEAR = 300, 40
MOST = 5
"""Configurations, at most."""
WITH_FEWER = 3
"""Configurations of one number of members that are searched, at most."""


def nearby_configurations(bound: BoundModel, free: Iterable[str], furthest: int = 1) -> Iterator[BoundModel]:
    """The model at hand, then with other free numbers, the nearest first. furthest: the sum of all differences."""
    names, values = sorted(free), {f.name: getattr(bound.config, f.name) for f in fields(bound.config)}
    for distance in range(furthest + 1):
        for changes in sorted(_changes(len(names), distance), key=lambda c: (-sum(c), [-abs(change) for change in c])):
            changed = {name: values[name] + change for name, change in zip(names, changes, strict=True)}
            yield from _bound_to(bound, [{**values, **changed}])


def with_fewer(system: System, bound: BoundModel, count: str) -> Iterator[BoundModel]:
    """Configurations with fewer members of a sort, the fewest first. count: the number of these members.

    As few other free numbers as possible are less than they were, and none is less than the number of members.
    """
    values = {f.name: getattr(bound.config, f.name) for f in fields(bound.config)}
    for number in range(dict(system.config)[count].low, values[count]):
        larger = sorted(name for name in system.any_number.free - {count} if values[name] > number)
        chosen = (some for length in range(len(larger) + 1) for some in combinations(larger, length))
        changes = (dict.fromkeys((count, *some), number) for some in chosen)
        yield from islice(_bound_to(bound, ({**values, **change} for change in changes)), WITH_FEWER)


def with_members(bound: BoundModel, each: Iterable[dict[str, int]]) -> Iterator[BoundModel]:
    """The configurations at hand with other numbers of members."""
    values = {f.name: getattr(bound.config, f.name) for f in fields(bound.config)}
    yield from _bound_to(bound, ({**values, **numbers} for numbers in each))


def _bound_to(bound: BoundModel, configs: Iterable[PlainConfig]) -> Iterator[BoundModel]:
    """The model with each configuration that it does not refuse; its text may name more members than there are."""
    for config in configs:
        try:
            sized = BoundModel(bound.model, make_config(bound.model, config))
            lower_model(sized)
        except (ConfigError, DomainError, SubsetError):
            continue
        yield sized


def _changes(numbers: int, distance: int) -> Iterator[tuple[int, ...]]:
    """Changes of so many numbers with this sum of absolute values."""
    if not numbers:
        yield from [()] if not distance else []
        return
    for first in range(distance, -distance - 1, -1):
        yield from ((first, *others) for others in _changes(numbers - 1, distance - abs(first)))


class Samples:
    """Samples of states of several configurations. say: called often; may raise to stop."""

    def __init__(self, system: System, say: Callable[[str], None]) -> None:
        self.system, self.say = system, say
        self.states: list[tuple[BoundModel, list[Any]]] = []
        """Of each configuration."""
        self.few: list[InstanceColumns] = []
        self.many: list[InstanceColumns] = []
        self.rng = random.Random(1)
        near = nearby_configurations(system.lowered.bound, system.any_number.free)
        for number, bound in enumerate(islice(near, MOST)):
            say(f"sample of states: configuration {number + 1}")
            states = self._reachable(bound)
            self.states.append((bound, states))
            self.few.append(self._columns(bound, self.rng.sample(states, min(FEW, len(states)))))
            self.many.append(self._columns(bound, states))
        drawn = [draw(system.lowered.bound.type, self.rng) for _ in range(DRAWN)]
        self.anything = self._columns(system.lowered.bound, drawn)
        self.near = self._near_misses()
        """States that have one variable's value from another state, most of them not reachable."""
        self.near_count = max(len(c) for c in self.near.leaves.values() if isinstance(c, np.ndarray))

    def _near_misses(self) -> InstanceColumns:
        bound, states = self.states[0]
        some = self.rng.sample(states, min(NEAR, len(states)))
        leaves = dict(self._columns(bound, some).leaves)
        leaves |= {name: np.full(len(some), value) for name, value in leaves.items() if isinstance(value, int)}
        shuffled = {name: np.random.default_rng(i).permutation(len(some)) for i, name in enumerate(leaves)}
        numbers = {name for name, kind in typed_variables(self.system) if isinstance(kind, IntType)}
        columns = {}
        for name, column in leaves.items():
            parts = [_rows(column, shuffled[name]) if other == name else column for other in leaves]
            for other in sorted(numbers):
                parts += [column + change if other == name else column for change in (1, -1)]
            columns[name] = _joined(parts)
        return InstanceColumns(sizes(bound, self.system), columns)

    def _reachable(self, bound: BoundModel) -> list[Any]:
        scout = Scout(bound, lower_model(bound))
        search = Search(scout.kernel, 1)

        def until() -> Stop | None:
            return Stop(StopReason.LIMIT, "the sample is large enough") if search.distinct >= SEARCHED else None

        explore(bound, scout.kernel, scout.start, search, Limits(), lambda left: None, until).stopped.end_run(
            StopReason.MEMORY
        )
        rows = np.concatenate([np.asarray(part) for parts in [*search.found, search.beyond] for part in parts])
        rows = scout.some(rows, MANY)
        if search.distinct >= SEARCHED:
            rows = np.concatenate([rows, scout.some(scout.walks(WALKS)[1], MANY)])
        return [scout.layout.decode(row.view(np.uint64)) for row in rows]

    def _columns(self, bound: BoundModel, states: list[Any]) -> InstanceColumns:
        counts = sizes(bound, self.system)
        rows = [leaves_of(state, self.system.type, counts) for state in states]
        leaves = {name: _column([row[name] for row in rows]) for name in rows[0]}
        return InstanceColumns(counts, leaves | numbers_at_hand(bound, self.system))

    def hold(self, node: Node) -> bool:
        """Whether a condition is true in every state, and says something."""
        self.say("looking for lemmas")
        return (
            all(instance.holds(node) for instance in self.few)
            and not (self.anything.holds(node) and self.near.holds(node))
            and all(instance.holds(node) for instance in self.many)
        )

    def distinct(self, lemmas: list[Lemma]) -> list[Lemma]:
        """All relations, and the first of those implications that are false in the same near misses.

        Few near misses have members in a set that is empty most often: they do not tell the relations of it apart.
        """
        first: dict[Any, Lemma] = {}
        for lemma in lemmas:
            self.say("comparing lemmas")
            truths = np.broadcast_to(self.near(lemma.node), self.near_count) != 0
            own = lemma.node if " implies " not in lemma.text else None
            first.setdefault(own or np.packbits(truths).tobytes(), lemma)
        return list(first.values())


def instance_of(system: System, bound: BoundModel, state: Any) -> Instance:
    """The values of nodes in one state of a configuration."""
    counts = sizes(bound, system)
    return Instance(counts, leaves_of(state, system.type, counts) | numbers_at_hand(bound, system))


def numbers_at_hand(bound: BoundModel, system: System) -> dict[str, int]:
    """The values of the free numbers in a configuration."""
    return {f"c.{name}": getattr(bound.config, name) for name in system.any_number.free}


def sizes(bound: BoundModel, system: System) -> dict[type, int]:
    """The number of members of each sort of any number of members, in a configuration."""
    kinds = {_sort_in(node.type) for node in system.graph.nodes()}
    sorts = [kind.sort for kind in kinds if unbounded(kind) and isinstance(kind, IdType)]
    return {sort: getattr(bound.config, str(sort.size)) for sort in sorts}


def _sort_in(kind: Type) -> Type:
    """The sort of the members or keys of a type, or the type itself."""
    return kind.item if isinstance(kind, SetType) else kind.key if isinstance(kind, MapType) else kind


def _rows(column: Any, chosen: Any) -> Any:
    """Some rows of a column."""
    if isinstance(column, list | tuple):
        return type(column)(_rows(part, chosen) for part in column)
    return column[chosen]


def _joined(columns: list[Any]) -> Any:
    """The rows of several columns of one variable."""
    first = columns[0]
    if isinstance(first, list | tuple):
        return type(first)(_joined([column[i] for column in columns]) for i in range(len(first)))
    return np.concatenate(columns)


def _column(values: list[Any]) -> Any:
    """The values of a variable in many states."""
    if not isinstance(values[0], list) and not any(isinstance(v, list) for v in values):
        return np.array(values, np.int64)
    lists = [v if isinstance(v, list) else [] for v in values]
    longest = max(len(v) for v in lists)
    if any(v and isinstance(v[0], tuple) for v in lists) or longest == 0:  # sequences
        padded = [[*v, *[(0, 0)] * (longest - len(v))] for v in lists]
        return [tuple(np.array([row[i][part] for row in padded], np.int64) for part in (0, 1)) for i in range(longest)]
    padded = [[*v, *[0] * (longest - len(v))] for v in lists]  # tables, also of slots that are empty
    return [_column([row[i] for row in padded]) for i in range(longest)]


def promising_for_any_number(samples: Samples, compared: set[Node] | None = None) -> list[Lemma]:
    """Candidates that hold in every state of the samples, and say something. compared: as for `candidates`."""
    system = samples.system
    numbers = [system.graph.config(name, kind.low) for name, kind in system.config]
    lemmas = samples.distinct(candidates(system.lowered, samples.hold, system.type, numbers, compared))
    for columns in (*samples.few, *samples.many, samples.anything, samples.near):
        columns.memo.clear()
    return lemmas


@dataclass
class Structure:
    """A state, with the parameters of a step."""

    instance: Instance

    def holds(self, node: Node) -> bool:
        """Whether a condition is true in it."""
        return self.instance.holds(node)

    def after(self, system: System, move: Move) -> Structure:
        """The state after a step."""
        before, g = self.instance, system.graph
        leaves = {f"c.{name}": before.leaves[f"c.{name}"] for name, _ in system.config}
        for path, node in move.after.items():
            if "#" not in path:
                leaves[path] = before(node)
        for path, bag in system.bags:
            for i in range(bag.size):
                slot = move.after[f"{path}#{i}"]
                empty = before.empty(slot, ())
                leaves[f"{path}#{i}!empty"] = empty
                for number, (_, kind) in enumerate(scalar_leaves(bag.item)):
                    place = f"{path}#{i}.{number}"
                    record = g.op("record", bag.item, (slot,))
                    leaves[place] = (
                        zero_of(kind, before.sizes) if empty else before(g.op("unpack", kind, (record,), number))
                    )
        assert isinstance(before, _Counting)
        return Structure(_Counting(dict(before.sizes), leaves, before.named))


class _Counting(Instance):
    """An instance that knows the numbers of members that the model gives sets: other members may be in them."""

    def __init__(self, sizes: dict[type, int], leaves: Mapping[str, Any], named: dict[type, dict[int, int]]) -> None:
        super().__init__(sizes, leaves)
        self.named = named
        self.counts: dict[tuple[type, int], int] = {}

    def members(self, kind: Type) -> int:
        """The number of members of a sort; one of a sort of which Z3's model names none."""
        if unbounded(kind):
            assert isinstance(kind, IdType)
            return self.sizes.get(kind.sort, 1)
        return super().members(kind)

    def names(self) -> Iterable[str]:
        """The names of the variables."""
        return self.leaves.kinds if isinstance(self.leaves, _Leaves) else self.leaves

    def _value(self, node: Node, env: Any) -> Any:
        if node.op == "card":
            kind = node.args[0].type
            assert isinstance(kind, SetType)
            mask = int(self(node.args[0], env))
            if isinstance(kind.item, IdType) and (kind.item.sort, mask) in self.counts:
                return self.counts[kind.item.sort, mask]
        if node.op == "const" and unbounded(node.type):
            assert isinstance(node.type, IdType)
            return self.named.get(node.type.sort, {}).get(node.data, 0)
        if node.op == "const" and isinstance(node.type, SetType) and unbounded(node.type.item):
            assert isinstance(node.type.item, IdType)
            named, data = self.named.get(node.type.item.sort, {}), node.data
            mask = data if data >= 0 else ~data
            members = sum(1 << place for index, place in named.items() if mask >> index & 1)
            full = (1 << self.members(node.type.item)) - 1
            return members if data >= 0 else full & ~members
        return super()._value(node, env)


_CONTEXT = z3.main_ctx()


class _Reader:
    """Reads a model of Z3's."""

    def __init__(self, terms: AnyTerms, model: z3.ModelRef) -> None:
        self.terms, self.model, self.in_order = terms, model, terms.closed
        self.members: dict[Type, list[Any]] = {}
        self.place: dict[tuple[Type, str], int] = {}
        self.named: dict[type, dict[int, int]] = {}
        for kind, elements in terms.store.elements.items():
            assert isinstance(kind, IdType)
            self._read(kind, [e.term for e in elements])

    def _read(self, kind: IdType, elements: list[Any]) -> None:
        found: dict[str, z3.ExprRef] = {}
        for term in elements:
            found.setdefault(str(self.model.eval(term, True)), term)
        keys = list(found)
        if ("rank", kind) in self.terms.store.memo:
            rank = self.terms.store.memo["rank", kind]
            keys.sort(key=lambda key: self.model.eval(rank(found[key]), True).as_long())
        self.members[kind] = [found[key] for key in keys]
        self.place |= {(kind, key): i for i, key in enumerate(keys)}
        self.named[kind.sort] = {
            index: self.place[kind, value]
            for index, term in self.terms.named(kind).items()
            if (value := str(self.model.eval(term, True))) in found
        }

    def domain(self, kind: Type) -> list[Any]:
        if unbounded(kind):
            return self.members.get(kind) or [self.terms.member_named(0, kind)]
        return [self.terms.member_named(i, kind) for i in range(kind.count)]

    def scalar(self, name: str, kind: Type, arguments: list[Any]) -> Any:
        """The value of a variable, applied to members."""
        if isinstance(kind, MapType):
            return [self.scalar(name, kind.value, [*arguments, key]) for key in self.domain(kind.key)]
        if isinstance(kind, SetType):
            return sum(self._true(name, [*arguments, x]) << i for i, x in enumerate(self.domain(kind.item)))
        if isinstance(kind, SeqType):
            return self._sequence(name, kind, arguments)
        value = self.model.eval(self.terms.function(name, arguments, kind), True)
        if isinstance(kind, BoolType):
            return int(z3.is_true(value))
        if unbounded(kind):
            return self.place.get((kind, str(value)), 0)
        return value.as_long()

    def _true(self, name: str, arguments: list[Any]) -> int:
        value = self.model.eval(self.terms.function(name, arguments, BoolType()), True)
        return int(z3.Z3_get_bool_value(_CONTEXT.ref(), value.ast) == z3.Z3_L_TRUE)

    def _sequence(self, name: str, kind: SeqType, arguments: list[Any]) -> list[tuple[int, int]]:
        """The items, in the order of the sort where the formulas do not say another."""
        domain = self.domain(kind.item)
        items = [i for i, x in enumerate(domain) if self._true(name, [*arguments, x])]
        if self.in_order:
            before = f"{name}!before"
            items.sort(key=lambda i: sum(self._true(before, [*arguments, domain[j], domain[i]]) for j in items))
        twice = [] if self._true(f"{name}!distinct", arguments) else items[:1]
        return [(1, i) for i in [*items, *twice]]


class _Leaves(Leaves):
    """The values of variables, each read when it is asked for."""

    def __init__(self, reader: _Reader, kinds: dict[str, Type]) -> None:
        super().__init__()
        self.reader, self.kinds = reader, kinds

    def __missing__(self, name: str) -> Any:
        self[name] = self.reader.scalar(name, self.kinds[name], [])
        return self[name]


def structure_of(system: System, terms: AnyTerms, model: z3.ModelRef) -> Structure:
    """The state of a model, with the parameters."""
    reader = _Reader(terms, model)
    sizes = {kind.sort: max(1, len(members)) for kind, members in reader.members.items() if isinstance(kind, IdType)}
    instance = _Counting(sizes, _Leaves(reader, dict(typed_variables(system))), reader.named)
    for kind, counted in terms.store.counted.items():
        for one in counted:
            if not one.env and isinstance(kind, IdType):
                mask = int(instance(one.node))
                instance.counts[kind.sort, mask] = model.eval(one.number, True).as_long()
    instance.memo.clear()
    return Structure(instance)
