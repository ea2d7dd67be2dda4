"""Lemmas for any number in one configuration: nodes of the model as it is there, which every engine takes.

A formula over all members of a sort becomes one for each member, a table its entries. The native engine evaluates such
lemmas in every reachable state of a configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.exploration import Exploration, Limits, Start, compiled, explore
from reassure.checkers.engines.native.kernels.model_code import STATE_CLAIMS
from reassure.checkers.engines.native.search import Clock, Search
from reassure.checkers.engines.symbolic.any_number.samples import nearby_configurations
from reassure.checkers.engines.symbolic.any_number.system import System
from reassure.checkers.engines.symbolic.lemma_templates import Lemma
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowered_model import Formula, LoweredModel
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.frontend.operations import operation
from reassure.spec.frontend.symbolic_values import scalar_leaves, slot_type
from reassure.spec.language.annotations import record_type, resolve
from reassure.spec.language.types import (
    IdType,
    IntType,
    MapType,
    RecordType,
    SeqType,
    SetType,
    Type,
    key_name,
    unbounded,
)
from reassure.spec.language.vocabulary import LanguageError, Property
from reassure.spec.semantics.interpreter import BoundModel

Env = tuple[tuple[int, int], ...]
"""The members that bound numbers stand for."""
FURTHEST = 12
"""How far the free numbers of a configuration that is searched are from those at hand, all together."""


class Instantiation:
    """Nodes of a model for any number as nodes of the same model in one configuration. A table is a list of nodes."""

    def __init__(self, lowered: LoweredModel) -> None:
        self.graph, self.bound = lowered.graph, lowered.bound
        self.kinds = {leaf.path: leaf.type for leaf in lowered.leaves}
        self.memo: dict[tuple[Node, Env], Any] = {}

    def __call__(self, node: Node, env: Env = ()) -> Any:
        """Raises `ValueError` for a member that the configuration lacks."""
        key = node, tuple((n, i) for n, i in env if f"#{n}" in node.params)
        if key not in self.memo:
            own = getattr(self, f"_{node.op}", None)
            self.memo[key] = own(*key) if own else self._rebuilt(*key)
        return self.memo[key]

    def _kind(self, kind: Type) -> Any:
        """A type for any number as it is in the configuration."""
        if isinstance(kind, SetType):
            return SetType(self._kind(kind.item))
        if isinstance(kind, SeqType):
            return SeqType(self._kind(kind.item), kind.length)
        if isinstance(kind, RecordType):
            return record_type(kind.cls, self.bound.config)
        return resolve(kind.sort, self.bound.config) if isinstance(kind, IdType) and unbounded(kind) else kind

    def _members(self, kind: Type) -> range:
        return range(self._kind(kind).count)

    def _rebuilt(self, node: Node, env: Env) -> Node:
        """An operation that means the same for any number."""
        args = tuple(self(a, env) for a in node.args)
        kind = TYPES[node.op](*args) if node.op in TYPES else self._kind(node.type)
        made: Node = operation(node.op).rebuild(
            self.graph, SimpleNamespace(op=node.op, type=kind, data=node.data), args
        )
        return made

    # -- leaves ---------------------------------------------------------------------------------------------

    def _const(self, node: Node, env: Env) -> Node:
        kind, data = self._kind(node.type), node.data
        if isinstance(kind, SetType):
            data &= (1 << kind.item.count) - 1
        elif isinstance(kind, SeqType):
            kind = SeqType(kind.item, len(data))
        elif isinstance(kind, IdType) and not 0 <= data < kind.count:
            raise ValueError(f"there is no {kind} number {data}")
        elif isinstance(kind, IntType):
            return self.graph.num(data)
        return self.graph.const(data, kind)

    def _bound(self, node: Node, env: Env) -> Node:
        return self.graph.const(dict(env)[node.data], self._kind(node.type))

    def _config(self, node: Node, env: Env) -> Node:
        return self.graph.num(getattr(self.bound.config, node.data))

    def _var(self, node: Node, env: Env) -> Any:
        def scalar(path: str) -> Node:
            return self.graph.var(path, self.kinds[path])

        return self._entries(node.type, node.data, scalar)

    def _entries(self, kind: Type, path: str, scalar: Callable[[str], Node]) -> Any:
        """A scalar, or those of a table."""
        if not isinstance(kind, MapType):
            return scalar(path)
        keys = self._kind(kind.key).values()
        return [self._entries(kind.value, path.replace("[*]", f"[{key_name(key)}]", 1), scalar) for key in keys]

    # -- records and tables -----------------------------------------------------------------------------------

    def _unpack(self, node: Node, env: Env) -> Any:
        own, record = node.args[0].type, self(node.args[0], env)
        numbers = {path: (i, kind) for i, (path, kind) in enumerate(scalar_leaves(record.type))}

        def scalar(path: str) -> Node:
            number, kind = numbers[path]
            return self.graph.op("unpack", kind, (record,), number)

        path, kind = scalar_leaves(own)[node.data]
        return self._entries(kind, path, scalar)

    def _pack(self, node: Node, env: Env) -> Node:
        kind, scalars = self._kind(node.type), dict[str, Node]()
        for (path, own), argument in zip(scalar_leaves(node.type), node.args, strict=True):
            scalars |= self._scalars(own, path, self(argument, env))
        return self.graph.op("pack", kind, tuple(scalars[path] for path, _ in scalar_leaves(kind)))

    def _scalars(self, kind: Type, path: str, value: Any) -> dict[str, Node]:
        """A scalar, or those of a table, by their paths."""
        if not isinstance(kind, MapType):
            return {path: value}
        names = [path.replace("[*]", f"[{key_name(key)}]", 1) for key in self._kind(kind.key).values()]
        parts = [self._scalars(kind.value, name, entry) for name, entry in zip(names, value, strict=True)]
        return {name: scalar for part in parts for name, scalar in part.items()}

    def _slot(self, node: Node, env: Env) -> Node:
        packed = self(node.args[0], env)
        return self.graph.op("slot", IntType(1, slot_type(packed.type).high), (packed,))

    def _those(self, node: Node, env: Env) -> Node:
        assert isinstance(node.type, SetType)
        kind = self._kind(node.type.item)
        return self.graph.build(kind, [self(node.args[0], (*env, (node.data, i))) for i in self._members(kind)])

    def _table(self, node: Node, env: Env) -> list[Any]:
        assert isinstance(node.type, MapType)
        return [self(node.args[0], (*env, (node.data, i))) for i in self._members(node.type.key)]

    def _at(self, node: Node, env: Env) -> Any:
        entries, index = (self(a, env) for a in node.args)
        chosen = entries[0]
        for i, entry in enumerate(entries):
            chosen = self.graph.ite(self.graph.eq(index, self.graph.const(i, index.type)), entry, chosen)
        return chosen

    def _total(self, node: Node, env: Env) -> Node:
        g, (chosen, entries) = self.graph, (self(a, env) for a in node.args)
        total = g.num(0)
        for i, entry in enumerate(entries):
            there = g.member(g.const(i, chosen.type.item), chosen)
            total = g.arith("add", total, g.ite(there, entry, g.num(0)))
        return total


TYPES: dict[str, Callable[..., Type]] = {
    "seq_set": lambda s: SetType(s.type.item),
    "seq_len": lambda s: IntType(0, s.type.length),
    "seq_keep": lambda s, mask: s.type,
    "seq_cat": lambda a, b: SeqType(a.type.item, a.type.length + b.type.length),
    "seq_sorted": lambda mask: SeqType(mask.type.item, mask.type.item.count),
}
"""The types of sequences, whose lengths have no bound for any number."""


# -- in every reachable state ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Searched:
    """A configuration whose reachable states were searched. settings: its free numbers. false: lemmas that some state
    violates."""

    settings: str
    states: int
    complete: bool
    false: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.settings} ({self.states:,} states)"


def search_near(
    system: System, lemmas: list[Lemma], seconds: float, memory: int | None, say: Callable[[str], None]
) -> Iterator[Searched]:
    """Searches configurations whole, the nearest first, for states that violate a lemma, until the time is up.

    seconds: for all of them. memory: bytes, for each search; None: what is free. The last one may be incomplete.
    """
    clock, free = Clock(seconds), sorted(system.any_number.free)
    for bound in nearby_configurations(system.lowered.bound, free, FURTHEST):
        settings = ", ".join(f"{name}={getattr(bound.config, name)}" for name in free)
        left = seconds - clock.seconds
        if left <= 0:
            return
        say(f"lemmas in every reachable state: {settings}")
        try:
            exploration, texts = _explored(system, lemmas, bound, left, memory)
        except LanguageError:  # a state that is too large for the engine
            return
        false = tuple(text for name in exploration.violated(texts) for text in texts[name])
        yield Searched(settings, exploration.distinct, exploration.complete, false)
        if not exploration.complete:
            return


def _explored(
    system: System, lemmas: list[Lemma], bound: BoundModel, seconds: float, memory: int | None
) -> tuple[Exploration, dict[str, list[str]]]:
    """A search of one configuration, and the texts of the lemmas by the name of the claim that has them."""
    lowered, layout = lower_model(bound), state_layout(bound)
    here, claims = Instantiation(lowered), dict[str, list[Lemma]]()
    for number, lemma in enumerate(lemmas):
        claims.setdefault(f"lemmas {number % STATE_CLAIMS}", []).append(lemma)
    formulas = []
    for name, its in claims.items():
        condition = lowered.graph.and_(*(here(lemma.node) for lemma in its))
        formulas.append(Formula(name, Property(name, "invariant", lambda state: True), condition, ()))
    steps = tuple(() for _ in lowered.actions)
    alone = replace(lowered, state_formulas=tuple(formulas), step_formulas=steps, terminal_formulas=())
    kernel = compiled(alone, layout)
    search = Search(kernel, 1, memory)
    exploration = explore(bound, kernel, Start.of(bound, layout), search, Limits(clock=Clock(seconds)))
    return exploration, {name: [lemma.text for lemma in its] for name, its in claims.items()}
