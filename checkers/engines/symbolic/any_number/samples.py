"""Reachable states of configurations near the one at hand, as columns: what is false in one of them is not a lemma."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import combinations, islice
from typing import Any

import numpy as np

from reassure.checkers.engines.native.exploration import Limits, explore
from reassure.checkers.engines.native.search import Search
from reassure.checkers.engines.symbolic.any_number.instance import Instance, InstanceColumns, leaves_of
from reassure.checkers.engines.symbolic.any_number.system import System, places
from reassure.checkers.engines.symbolic.cross_check import draw
from reassure.checkers.engines.symbolic.lemma_templates import Lemma, candidates
from reassure.checkers.engines.symbolic.scout import Scout
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.request.options import SimulationOptions
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.frontend.refusals import SubsetError
from reassure.spec.language.types import DomainError, IdType, IntType, MapType, SetType, Type, unbounded
from reassure.spec.semantics.interpreter import BoundModel, ConfigError, make_config

SEARCHED, WALKS = 20_000, SimulationOptions(200, 60, 1)
"""States of the search that a sample is drawn from, and the walks that go further."""
FEW, MANY = 150, 800
"""States that are looked at first, and after that."""
DRAWN, NEAR = 300, 40
MOST = 5
"""Configurations, at most."""
WITH_FEWER = 3
"""Configurations of one number of members that are searched, at most."""


def configurations(bound: BoundModel, free: Iterable[str], furthest: int = 1) -> Iterator[BoundModel]:
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


def _bound_to(bound: BoundModel, configs: Iterable[dict[str, Any]]) -> Iterator[BoundModel]:
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
        near = configurations(system.lowered.bound, system.any_number.free)
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
        numbers = {name for name, kind in places(self.system) if isinstance(kind, IntType)}
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
        return InstanceColumns(counts, leaves | numbers(bound, self.system))

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
    return Instance(counts, leaves_of(state, system.type, counts) | numbers(bound, system))


def numbers(bound: BoundModel, system: System) -> dict[str, Any]:
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
