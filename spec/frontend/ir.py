"""The typed form of a model that every translating engine starts from: a hash-consed graph of scalar operations.

Records, optionals, maps and message sets are taken apart by the elaboration (`lowering.py`); what is left are nodes
whose values fit in one machine word. Equal expressions are one node, whichever action or property they stand in.

| kind of value | as a node |
|---|---|
| bool | truth value |
| int | itself; `IntType` is an interval that surely holds it |
| enum, id | its index from 0 |
| set | bit mask over the indices of the item type (`SetType`) |
| sequence | `SeqType`: items are indices, at most `length` |
| record in a message set | `RecordType`: `pack`ed fields, see `checkers/encoding/state_layout.py` |

`operations.py` is the table of the operations, with their meaning. Slots of a message set are ints: 0 empty, else 1 +
the packed record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from reassure.spec.frontend.operations import BINDERS, OPERATIONS, chooses_constants, operation
from reassure.spec.frontend.operations import BOOL as BOOL
from reassure.spec.frontend.operations import Node as Node
from reassure.spec.language.types import (
    ANY,
    BoolType,
    IntType,
    MapType,
    SeqType,
    SetType,
    Type,
    unbounded,
)


def items(kind: Type) -> int:
    """The number of indices of an item type of a set or sequence."""
    return kind.count


class Graph:
    """Makes nodes, each only once, simplified."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], Node] = {}
        self._fresh = count(1)
        self.apart = False
        """Whether a scalar of a record in a slot is looked for where the slot is chosen: no record is packed then."""
        self.true = self.const(True, BOOL)
        self.false = self.const(False, BOOL)

    def __len__(self) -> int:
        return len(self._made)

    def _make(self, op: str, type_: Type, args: tuple[Node, ...] = (), data: Any = None) -> Node:
        key = (op, type_, tuple(a.number for a in args), data)
        node = self._made.get(key)
        if node is None:
            folded = self._folded(op, type_, args)
            if folded is not None:
                return folded
            params = frozenset().union(*(a.params for a in args)) if args else frozenset()
            if op == "param":
                params = frozenset({data[0]})
            elif op == "bound":
                params = frozenset({f"#{data}"})
            elif op in BINDERS:
                params -= {f"#{data}"}
            node = self._made[key] = Node(len(self._made), op, type_, args, data, params)
        return node

    def _folded(self, op: str, type_: Type, args: tuple[Node, ...]) -> Node | None:
        """The result as a constant, if all arguments are constants and the operation is defined on them."""
        fold = None if op not in OPERATIONS else OPERATIONS[op].fold
        if fold is None or any(a.op != "const" for a in args):
            return None
        if op in COUNTING and args[0].data < 0:
            return None
        if op == "eq" and isinstance(args[0].type, SetType) and (args[0].data < 0) != (args[1].data < 0):
            return None  # all members but some are excluded, or just these, if there are so few
        value = fold(*(a.data for a in args))
        if value is None:
            return None
        return self.num(value) if isinstance(type_, IntType) else self.const(value, type_)

    # -- leaves ---------------------------------------------------------------------------------

    def const(self, value: Any, type_: Type) -> Node:
        """A constant: bool, int, index, mask, or for a sequence a tuple of indices."""
        return self._make("const", type_, (), value)

    def num(self, value: int) -> Node:
        return self.const(value, IntType(value, value))

    def truth(self, value: bool) -> Node:
        return self.true if value else self.false

    def var(self, path: str, type_: Type) -> Node:
        return self._make("var", type_, (), path)

    def param(self, name: str, path: str, type_: Type) -> Node:
        return self._make("param", type_, (), (name, path))

    # -- bool -------------------------------------------------------------------------------------

    def not_(self, a: Node) -> Node:
        if a.op == "not":
            return a.args[0]
        return self._make("not", BOOL, (a,))

    def and_(self, *terms: Node) -> Node:
        return self._chain("and", terms, self.true, self.false)

    def or_(self, *terms: Node) -> Node:
        return self._chain("or", terms, self.false, self.true)

    def _chain(self, op: str, terms: Iterable[Node], neutral: Node, absorbing: Node) -> Node:
        flat: list[Node] = []
        for t in terms:
            for u in t.args if t.op == op else (t,):
                if u is absorbing:
                    return absorbing
                if u is neutral or u in flat:
                    continue
                if self.not_(u) in flat:
                    return absorbing
                flat.append(u)
        if not flat:
            return neutral
        return flat[0] if len(flat) == 1 else self._make(op, BOOL, tuple(flat))

    def implies(self, a: Node, b: Node) -> Node:
        return self.or_(self.not_(a), b)

    def eq(self, a: Node, b: Node) -> Node:
        if a is b:
            return self.true
        if isinstance(a.type, BoolType):
            for x, y in ((a, b), (b, a)):
                if x.op == "const":
                    return y if x.data else self.not_(y)
        if isinstance(a.type, IntType) and isinstance(b.type, IntType):
            if a.type.high < b.type.low or b.type.high < a.type.low:
                return self.false
        for x, y in ((a, b), (b, a)):
            if x.op == "const" and chooses_constants(y):
                return self.ite(y.args[0], self.eq(x, y.args[1]), self.eq(x, y.args[2]))
        if a.number > b.number:
            a, b = b, a
        return self._make("eq", BOOL, (a, b))

    def lt(self, a: Node, b: Node) -> Node:
        if a is b:
            return self.false
        if isinstance(a.type, IntType) and isinstance(b.type, IntType):
            if a.type.high < b.type.low or a.type.low >= b.type.high:
                return self.truth(a.type.high < b.type.low)
        for x, y in ((a, b), (b, a)):
            if x.op == "const" and chooses_constants(y):
                return self.ite(y.args[0], *(self.lt(a, z) if x is a else self.lt(z, b) for z in y.args[1:]))
        return self._make("lt", BOOL, (a, b))

    def le(self, a: Node, b: Node) -> Node:
        return self.not_(self.lt(b, a))

    def ite(self, c: Node, a: Node, b: Node) -> Node:
        if c.op == "const":
            return a if c.data else b
        if a is b:
            return a
        if c.op == "not":
            return self.ite(c.args[0], b, a)
        if isinstance(a.type, BoolType):
            if a is self.true:
                return self.or_(c, b)
            if a is self.false:
                return self.and_(self.not_(c), b)
            if b is self.true:
                return self.or_(self.not_(c), a)
            if b is self.false:
                return self.and_(c, a)
        if a.op == "ite" and a.args[0] is c:
            a = a.args[1]
        if b.op == "ite" and b.args[0] is c:
            b = b.args[2]
        if a is b:
            return a
        return self._make("ite", join(a.type, b.type), (c, a, b))

    # -- int --------------------------------------------------------------------------------------

    def arith(self, op: str, a: Node, b: Node) -> Node:
        """`add sub mul floordiv mod min max`; the divisor of the two divisions must be a positive constant."""
        assert isinstance(a.type, IntType) and isinstance(b.type, IntType)
        folded = self._folded(op, a.type, (a, b))
        if folded is not None:
            return folded
        if op in ("add", "sub") and b.op == "const" and b.data == 0:
            return a
        if op == "add" and a.op == "const" and a.data == 0:
            return b
        fold = OPERATIONS[op].fold
        assert fold is not None
        corners = [fold(x, y) for x in (a.type.low, a.type.high) for y in (b.type.low, b.type.high)]
        low, high = min(corners), max(corners)
        if op == "mod":
            low, high = 0, b.type.high - 1
        if op == "min" and (a.type.high <= b.type.low or b.type.high <= a.type.low):
            return a if a.type.high <= b.type.low else b
        if op == "max" and (a.type.low >= b.type.high or b.type.low >= a.type.high):
            return a if a.type.low >= b.type.high else b
        return self._make(op, IntType(low, high), (a, b))

    # -- sets ---------------------------------------------------------------------------------------

    def mask(self, bits: int, item: Type) -> Node:
        return self.const(bits, SetType(item))

    def full(self, item: Type) -> Node:
        return self.mask(_all(item), item)

    def member(self, item: Node, set_: Node) -> Node:
        if set_.op == "const":
            if set_.data == 0:
                return self.false
            assert isinstance(set_.type, SetType)
            if set_.data == _all(set_.type.item):
                return self.true
        if set_.op == "single":
            return self.eq(item, set_.args[0])
        if item.op == "const":
            if set_.op == "union":
                return self.or_(*(self.member(item, s) for s in set_.args))
            if set_.op == "inter":
                return self.and_(*(self.member(item, s) for s in set_.args))
            if set_.op == "minus":
                return self.and_(self.member(item, set_.args[0]), self.not_(self.member(item, set_.args[1])))
            if set_.op == "build":
                condition: Node = set_.args[item.data]
                return condition
        return self._make("member", BOOL, (item, set_))

    def single(self, item: Node) -> Node:
        return self._make("single", SetType(item.type), (item,))

    def union(self, a: Node, b: Node) -> Node:
        for x, y in ((a, b), (b, a)):
            if x.op == "const" and x.data == 0:
                return y
        if a is b:
            return a
        if a.number > b.number:
            a, b = b, a
        return self._make("union", a.type, (a, b))

    def inter(self, a: Node, b: Node) -> Node:
        for x, y in ((a, b), (b, a)):
            if x.op == "const" and x.data == 0:
                return x
            if x.op == "const" and isinstance(x.type, SetType) and x.data == _all(x.type.item):
                return y
        if a is b:
            return a
        if a.number > b.number:
            a, b = b, a
        return self._make("inter", a.type, (a, b))

    def minus(self, a: Node, b: Node) -> Node:
        if b.op == "const" and b.data == 0:
            return a
        if a is b or (a.op == "const" and a.data == 0):
            return self.const(0, a.type)
        return self._make("minus", a.type, (a, b))

    def xor(self, a: Node, b: Node) -> Node:
        return self.union(self.minus(a, b), self.minus(b, a))

    def subset(self, a: Node, b: Node) -> Node:
        return self.eq(self.minus(a, b), self.const(0, a.type))

    def build(self, item: Type, conditions: list[Node]) -> Node:
        """The set of the indices whose condition holds; recognised as a set expression where it is one."""
        kind = SetType(item)
        folded = self._folded("build", kind, tuple(conditions))
        if folded is not None:
            return folded
        first = conditions[0]
        if all(c is first for c in conditions):
            return self.ite(first, self.full(item), self.const(0, kind))
        ops = {c.op for c in conditions}
        if ops == {"member"} and all(
            c.args[0].op == "const" and c.args[0].data == i and c.args[1] is first.args[1]
            for i, c in enumerate(conditions)
        ):
            return first.args[1]
        if ops == {"not"}:
            return self.minus(self.full(item), self.build(item, [c.args[0] for c in conditions]))
        for op, combine in (("and", self.inter), ("or", self.union)):
            if ops == {op} and len({len(c.args) for c in conditions}) == 1:
                parts = [self.build(item, [c.args[k] for c in conditions]) for k in range(len(first.args))]
                result = parts[0]
                for part in parts[1:]:
                    result = combine(result, part)
                return result
        return self._make("build", kind, tuple(conditions))

    # -- sorts of any number of members ---------------------------------------------------------------

    def config(self, name: str, low: int) -> Node:
        """A free number of the configuration. low: the least that it may be."""
        return self._make("config", IntType(low, ANY), (), name)

    def bound(self, number: int, sort: Type) -> Node:
        return self._make("bound", sort, (), number)

    def key(self, sort: Type) -> Node:
        """The member that stands for the key in the value of a map."""
        return self.bound(0, sort)

    def indices(self, item: Type) -> list[Node]:
        """The members of a type; one that stands for all, which is used nowhere else, if there may be any number."""
        if unbounded(item):
            return [self.bound(next(self._fresh), item)]
        return [self.const(k, item) for k in range(items(item))]

    def selected(self, indices: list[Node], conditions: list[Node]) -> Node:
        """The set of those of the `indices` of a type whose condition holds."""
        item = indices[0].type
        return self.those(item, indices[0], conditions[0]) if unbounded(item) else self.build(item, conditions)

    def those(self, item: Type, member: Node, condition: Node) -> Node:
        """The members for which a condition holds. member: the bound one in it."""
        if condition.op == "const":
            return self.full(item) if condition.data else self.const(0, SetType(item))
        name = f"#{member.data}"
        if condition.op == "member" and condition.args[0] is member and name not in condition.args[1].params:
            return condition.args[1]
        if condition.op == "eq" and member in condition.args:
            other = condition.args[condition.args[0] is member]
            if name not in other.params:
                return self.single(other)
        if condition.op == "not":
            return self.minus(self.full(item), self.those(item, member, condition.args[0]))
        if condition.op in ("and", "or"):
            combine = self.inter if condition.op == "and" else self.union
            first, *others = (self.those(item, member, c) for c in condition.args)
            for other in others:
                first = combine(first, other)
            return first
        return self._binding("those", SetType(item), member, condition)

    def tabulate(self, member: Node, value: Node) -> Node:
        """The table of a value for each member of a sort. member: the bound one in it."""
        if value.op == "at" and value.args[1] is member and f"#{member.data}" not in value.args[0].params:
            return value.args[0]
        return self._binding("table", MapType(member.type, value.type), member, value)

    def table(self, sort: Type, value: Node) -> Node:
        """The table of the value of a map, in which `key` stands for the key."""
        return self.tabulate(self.key(sort), value)

    def at(self, table: Node, index: Node) -> Node:
        """The value of a member in a table."""
        if table.op == "ite":
            return self.ite(table.args[0], self.at(table.args[1], index), self.at(table.args[2], index))
        if table.op == "table":
            return self.replaced(table.args[0], {self.bound(table.data, index.type): index})
        assert isinstance(table.type, MapType)
        return self._make("at", table.type.value, (table, index))

    def every(self, sort: Type, *conditions: Node) -> Node:
        """Whether all conditions hold, for every key if they are of maps from a sort of any number of members."""
        condition = self.and_(*conditions)
        if not unbounded(sort):
            return condition
        return self.for_all(self.key(sort), condition)

    def for_all(self, member: Node, condition: Node) -> Node:
        """Whether a condition holds for each member of a sort. member: the bound one in it."""
        if f"#{member.data}" not in condition.params:
            return condition
        return self.eq(self.those(member.type, member, condition), self.full(member.type))

    def _binding(self, op: str, kind: Type, member: Node, body: Node) -> Node:
        """A node of `BINDERS`. Its bound member is numbered by its height, so that equal nodes are one, and so that
        what replaces a free member in the body is captured nowhere."""
        canonical = self.bound(-1 - body.height, member.type)
        return self._make(op, kind, (self.replaced(body, {member: canonical}),), canonical.data)

    def replaced(self, node: Node, others: dict[Node, Node]) -> Node:
        """The node with other nodes in place of bound members that are free in it, simplified again."""
        return self.rebuilt(node, dict(others), lambda leaf: leaf)

    def rebuilt(self, node: Node, results: dict[Node, Node], leaf: Callable[[Node], Node]) -> Node:
        """The node on other leaves, simplified again. results: what was rebuilt already. leaf: in place of a leaf.

        A bound member has a name of its own while what binds it is rebuilt: what replaces a leaf is captured nowhere.
        """
        stack = [node]
        while stack:
            one = stack[-1]
            if one in results:
                stack.pop()
            elif one.op in BINDERS:
                results[one] = self._bound_again(one, results, leaf)
            elif not one.args:
                results[one] = leaf(one)
            elif missing := [a for a in one.args if a not in results]:
                stack += missing
            else:
                args = tuple(results[a] for a in one.args)
                results[one] = one if args == one.args else operation(one.op).rebuild(self, one, args)
        return results[node]

    def _bound_again(self, node: Node, results: dict[Node, Node], leaf: Callable[[Node], Node]) -> Node:
        """A node of `BINDERS` rebuilt."""
        kind = node.type
        sort = kind.item if isinstance(kind, SetType) else kind.key if isinstance(kind, MapType) else kind
        fresh = self.bound(next(self._fresh), sort)
        opened = self.replaced(node.args[0], {self.bound(node.data, sort): fresh})
        body = self.rebuilt(opened, results, leaf)
        if body is opened:
            return node
        return self.those(sort, fresh, body) if node.op == "those" else self.tabulate(fresh, body)

    def nodes(self) -> Iterable[Node]:
        """Every node that was made."""
        return self._made.values()

    def compared_with(self, op: str) -> set[Node]:
        """The nodes that are compared by their order with one of an operation, perhaps as the least of several."""
        pairs = (node.args for node in self.nodes() if node.op == "lt")
        todo = [b for pair in pairs for a, b in (pair, pair[::-1]) if a.op == op]
        compared = set[Node]()
        while todo:
            node = todo.pop()
            compared.add(node)
            todo += [a for a in node.args if node.op in ("min", "max") and a not in compared]
        return compared

    def card(self, a: Node) -> Node:
        assert isinstance(a.type, SetType)
        if a.op == "single":
            return self.num(1)
        return self._make("card", IntType(0, min(ANY, items(a.type.item))), (a,))

    def extreme(self, op: str, a: Node) -> Node:
        """`lowest` or `highest` member; what it is for the empty set is undefined."""
        assert isinstance(a.type, SetType)
        if a.op == "single":
            return a.args[0]
        return self._make(op, a.type.item, (a,))

    # -- everything else --------------------------------------------------------------------------

    def op(self, op: str, type_: Type, args: tuple[Node, ...], data: Any = None) -> Node:
        """An operation without a constructor of its own: slots, records and sequences."""
        if op == "unpack" and args[0].op == "pack":
            field: Node = args[0].args[data]
            return field
        if self.apart and op == "record" and args[0].op == "slot":
            return args[0].args[0]
        if self.apart and op == "unpack" and args[0].op == "record" and args[0].args[0].op == "ite":
            condition, *slots = args[0].args[0].args
            first, second = (self.op(op, type_, (self.op("record", args[0].type, (s,)),), data) for s in slots)
            if slots[1].op == "const":
                return first
            return second if slots[0].op == "const" else self.ite(condition, first, second)
        if op == "seq_set" and args[0].op == "seq_sorted":
            return args[0].args[0]
        return self._make(op, type_, args, data)


COUNTING = ("card", "lowest", "highest", "seq_sorted")
"""Operations whose result on a set of all members but some depends on how many members there are."""


def _all(item: Type) -> int:
    """The mask of all members; without an end if there may be any number."""
    return -1 if unbounded(item) else (1 << items(item)) - 1


def join(a: Type, b: Type) -> Type:
    """The type of a value that is of either type; only intervals and lengths differ."""
    if isinstance(a, IntType) and isinstance(b, IntType):
        return IntType(min(a.low, b.low), max(a.high, b.high))
    if isinstance(a, SeqType) and isinstance(b, SeqType):
        return SeqType(a.item, max(a.length, b.length))
    return a
