"""A small state: the members that a model of Z3's names, and what it says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import z3

from reassure.checkers.engines.symbolic.any_number.instance import Instance, zero_of
from reassure.checkers.engines.symbolic.any_number.system import Move, System, places
from reassure.checkers.engines.symbolic.any_number.terms import AnyTerms
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.leaves import scalar_leaves
from reassure.spec.language.types import BoolType, IdType, MapType, SeqType, SetType, Type, unbounded


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
        found: dict[str, Any] = {}
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


class _Leaves(dict[str, Any]):
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
    instance = _Counting(sizes, _Leaves(reader, dict(places(system))), reader.named)
    for kind, counted in terms.store.counted.items():
        for one in counted:
            if not one.env and isinstance(kind, IdType):
                mask = int(instance(one.node))
                instance.counts[kind.sort, mask] = model.eval(one.number, True).as_long()
    instance.memo.clear()
    return Structure(instance)
