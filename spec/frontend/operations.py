"""The operations of the IR, one definition each: graph, substitution and tests read this table.

Every engine has a function for each of them, in a table of its own: machine code in
`checkers/engines/native/model/emit_nodes.py`, Z3 in `checkers/engines/symbolic/smt_terms.py`, numpy in
`checkers/engines/symbolic/sample_evaluator.py`. `tests/conformance/test_operations.py` compares the tables.

Also here: a node of the graph of `ir.py`, which makes it, and walks through nodes.

These do not use Python's own stack: a model may build long chains of nodes.

Also here: the decision whether conditions may hold together, by intervals of values that are split in halves.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import BoolType, EnumType, IdType, IntType, Type, unbounded

Rebuild = Callable[[Any, Any, tuple[Any, ...]], Any]
"""From a `Graph`, a `Node` of the operation and other arguments to a node on these (`ir.py` imports this module)."""


@dataclass(frozen=True)
class Operation:
    """One operation of the IR. Every field is required, so that no definition forgets one."""

    name: str
    signature: str
    """Kinds of arguments and result. `item` is an index, `slot` a slot of a message set, `one` a value of any kind of
    one node; the kind before `...` may occur any number of times."""
    meaning: str
    fold: Callable[..., Any] | None
    """The result on constants, as `Node.data` has them; None where that is undefined. No `fold`: not simplified."""
    rebuild: Rebuild
    """The same operation on other arguments, through the constructor of `Graph` that simplifies it."""


def _by(constructor: str) -> Rebuild:
    return lambda g, node, args: getattr(g, constructor)(*args)


def _arithmetic(g: Any, node: Any, args: tuple[Any, ...]) -> Any:
    return g.arith(node.op, *args)


def _extreme(g: Any, node: Any, args: tuple[Any, ...]) -> Any:
    return g.extreme(node.op, *args)


def _build(g: Any, node: Any, args: tuple[Any, ...]) -> Any:
    return g.build(node.type.item, list(args))


def _as_it_was(g: Any, node: Any, args: tuple[Any, ...]) -> Any:
    return g.op(node.op, node.type, args, node.data)


def _members(mask: int) -> tuple[int, ...]:
    """The members of a set, ascending."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def _mask(indices: Any) -> int:
    return sum(1 << i for i in set(indices))


LEAVES = {
    "const": "a constant; data: a bool, an int, an index, a mask, or for a sequence a tuple of indices",
    "var": "a scalar of the state; data: its path",
    "param": "a scalar of an action's parameter; data: the parameter and the path",
    "switch": "a guard is left out in this run; data: its number",
    "config": "a free number of the configuration; data: its name",
    "bound": "a member of a sort that an operation of `BINDERS` goes through; data: its number",
}
"""Nodes without arguments. Their values come from a state, a step or a run: each engine has its own way to them."""

_TABLE = [
    Operation("not", "bool -> bool", "the opposite", lambda a: not a, _by("not_")),
    Operation("and", "bool... -> bool", "all of them are true", lambda *a: all(a), _by("and_")),
    Operation("or", "bool... -> bool", "one of them is true", lambda *a: any(a), _by("or_")),
    Operation("eq", "one, one -> bool", "they are equal", lambda a, b: a == b, _by("eq")),
    Operation("lt", "one, one -> bool", "the first is less", lambda a, b: a < b, _by("lt")),
    Operation("ite", "bool, one, one -> one", "the second if the first is true, else the third",
              lambda c, a, b: a if c else b, _by("ite")),
    Operation("add", "int, int -> int", "the sum", lambda a, b: a + b, _arithmetic),
    Operation("sub", "int, int -> int", "the difference", lambda a, b: a - b, _arithmetic),
    Operation("mul", "int, int -> int", "the product", lambda a, b: a * b, _arithmetic),
    Operation("floordiv", "int, int -> int", "the quotient by a positive constant, rounded down",
              lambda a, b: a // b, _arithmetic),
    Operation("mod", "int, int -> int", "the remainder by a positive constant, never negative",
              lambda a, b: a % b, _arithmetic),
    Operation("min", "int, int -> int", "the lesser", min, _arithmetic),
    Operation("max", "int, int -> int", "the greater", max, _arithmetic),
    Operation("member", "item, set -> bool", "the item is in the set",
              lambda item, mask: bool(mask >> item & 1), _by("member")),
    Operation("single", "item -> set", "the set of one item", lambda item: 1 << item, _by("single")),
    Operation("union", "set, set -> set", "what is in one of them", lambda a, b: a | b, _by("union")),
    Operation("inter", "set, set -> set", "what is in both", lambda a, b: a & b, _by("inter")),
    Operation("minus", "set, set -> set", "what is in the first alone", lambda a, b: a & ~b, _by("minus")),
    Operation("build", "bool... -> set", "item i is in it if condition i is true",
              lambda *a: _mask(i for i, one in enumerate(a) if one), _build),
    Operation("card", "set -> int", "the number of members", lambda mask: len(_members(mask)), _by("card")),
    Operation("lowest", "set -> item", "the first member; undefined for the empty set",
              lambda mask: _members(mask)[0] if mask else None, _extreme),
    Operation("highest", "set -> item", "the last member; undefined for the empty set",
              lambda mask: _members(mask)[-1] if mask else None, _extreme),
    Operation("slot", "record -> slot", "1 + the packed record (an empty slot is 0)", None, _as_it_was),
    Operation("record", "slot -> record", "the record in a slot; undefined for an empty one", None, _as_it_was),
    Operation("pack", "one... -> record", "a record of its scalars, see `checkers/encoding/state_layout.py`",
              None, _as_it_was),
    Operation("unpack", "record -> one", "a scalar of a record; data: its number", None, _as_it_was),
    Operation("seq_len", "seq -> int", "the number of items", len, _as_it_was),
    Operation("seq_get", "seq, int -> item", "the item at a place; undefined behind the end", None, _as_it_was),
    Operation("seq_of", "item... -> seq", "the sequence of these items", lambda *items: items, _as_it_was),
    Operation("seq_cat", "seq, seq -> seq", "the first, then the second", lambda a, b: a + b, _as_it_was),
    Operation("seq_drop", "seq, int -> seq", "all but the first items, so many", lambda s, n: s[n:], _as_it_was),
    Operation("seq_take", "seq, int -> seq", "the first items, so many", lambda s, n: s[:n], _as_it_was),
    Operation("seq_keep", "seq, set -> seq", "the items that are in the set, in their order",
              lambda s, mask: tuple(i for i in s if mask >> i & 1), _as_it_was),
    Operation("seq_first", "seq, set -> item", "the first item that is in the set; undefined if none is",
              None, _as_it_was),
    Operation("seq_set", "seq -> set", "the set of the items", _mask, _as_it_was),
    Operation("seq_sorted", "set -> seq", "the members, ascending", _members, _as_it_was),
]  # fmt: skip
OPERATIONS = {operation.name: operation for operation in _TABLE}
"""The operations by name: what a node with arguments may be."""

_OF_ANY_NUMBER = [
    Operation("those", "bool -> set", "the members for which the condition holds; data: the bound member in it",
              None, lambda g, node, args: g.those(node.type.item, g.bound(node.data, node.type.item), args[0])),
    Operation("table", "one -> table", "the value for each member of a sort; data: the bound member in it",
              None, lambda g, node, args: g.tabulate(g.bound(node.data, node.type.key), args[0])),
    Operation("at", "table, item -> one", "the value of a member", None, _by("at")),
    Operation("total", "set, table -> int", "the sum of the values of the members", None, _as_it_was),
]  # fmt: skip
BINDERS = ("those", "table")
"""The operations that go through the members of a sort."""
OF_ANY_NUMBER = {operation.name: operation for operation in _OF_ANY_NUMBER}
"""Operations on sorts of any number of members. No engine for a number of members meets them."""


def operation(name: str) -> Operation:
    """An operation of either table."""
    return OPERATIONS.get(name) or OF_ANY_NUMBER[name]


BOOL = BoolType()


class Node:
    """One operation. Compared by identity: a `Graph` never makes two equal ones."""

    __slots__ = ("args", "counts", "data", "height", "number", "op", "params", "type")

    def __init__(self, number: int, op: str, type_: Type, args: tuple[Node, ...], data: Any, params: frozenset[str]):
        self.number = number
        self.op = op
        self.type = type_
        self.args = args
        self.data = data
        self.params = params
        """Names of the action parameters it depends on, and `#n` of a bound member that it does not bind itself."""
        self.counts: bool = op in ("card", "seq_len", "total") or any(a.counts for a in args)
        """Whether it depends on a number of members."""
        self.height: int = max((a.height for a in args), default=0) + (op in BINDERS)
        """The number of operations of `BINDERS` in it, one within the other, at most."""

    def __repr__(self) -> str:
        inner = ", ".join([*(repr(a) for a in self.args), *([repr(self.data)] if self.data is not None else [])])
        return f"{self.op}({inner})"

    @property
    def value(self) -> Any:
        """The value of a constant."""
        assert self.op == "const"
        return self.data


def chooses_constants(node: Node) -> bool:
    """Whether a node chooses one of a few constants: compared with a constant it is what its conditions say."""
    chosen, depth = node, 0
    while chosen.op == "ite" and depth < 64:
        first, second = chosen.args[1:]
        if first.op != "const" and second.op != "const":
            return False
        chosen, depth = (second if first.op == "const" else first), depth + 1
    return node.op == "ite" and chosen.op == "const"


def arguments_first(roots: Iterable[Node], done: Container[Node] = ()) -> Iterator[Node]:
    """Every node below the roots, and they, each once and after its arguments; nothing that is done, nor below it.

    done: may grow while the nodes are taken.
    """
    seen: set[Node] = set()
    for root in roots:
        stack = [(root, iter(root.args))] if root not in done and root not in seen else []
        seen.add(root)
        while stack:
            node, rest = stack[-1]
            for argument in rest:
                if argument not in seen and argument not in done:
                    seen.add(argument)
                    stack.append((argument, iter(argument.args)))
                    break
            else:
                stack.pop()
                yield node


Values = tuple[int, int]
"""The least and the greatest of the values that a bool (0 or 1), an int or an index may have."""
MOST_EVALUATIONS = 200_000
"""Of nodes, at most, until a decision is given up: about half a second."""
DEEPEST_SPLIT = 200
"""How often values are split, one half within the other: each is a call on Python's stack."""
MONOTONE = ("add", "min", "max", "floordiv")
"""Operations whose result is not less where an operand is greater (the divisor is a constant)."""
CALCULATED = ("not", "and", "or", "eq", "lt", "ite", "add", "sub", "mul", "floordiv", "mod", "min", "max")


def may_hold_together(conditions: Iterable[Node]) -> bool:
    """Whether all the conditions may hold at once; also where that is not decided.

    What is not an operation on bools, ints and indices counts as a leaf, which may have any value of its type whatever
    the others have: more seems possible than is, never less.
    """
    try:
        decision = _Together(conditions)
    except ArithmeticError:
        return False
    return decision.excluded_by(decision.leaves, 0) is None


class _Together:
    """Conditions, taken apart into nodes that are true or false where all of them hold."""

    def __init__(self, conditions: Iterable[Node]) -> None:
        """Raises `ArithmeticError` if a node would be both."""
        self.asserted: dict[Node, Values] = {}
        todo = [(condition, True) for condition in conditions][::-1]
        while todo:
            node, holds = todo.pop()
            if node.op == "not":
                todo.append((node.args[0], not holds))
            elif node.op == "and" and holds:
                todo += [(part, holds) for part in reversed(node.args)]
            elif node.op == "or" and not holds:
                todo += [(part, holds) for part in node.args]  # what is behind a premise is looked at before it
            elif self.asserted.setdefault(node, (holds, holds)) != (holds, holds):
                raise ArithmeticError
        self.leaves: dict[Node, Values] = {}
        """With all that they may be."""
        self.read: dict[Node, int] = {}
        """The leaves that each node depends on, as a mask; after those of its arguments."""
        self.evaluations = 0
        for root in self.asserted:
            self._collect(root)

    def _collect(self, root: Node) -> None:
        stack = [root]
        while stack:
            node = stack[-1]
            arguments = node.args if _is_calculated(node) else ()
            missing = [a for a in arguments if a not in self.read]
            stack += missing
            if missing:
                continue
            stack.pop()
            if node in self.read:
                continue
            mask = 0
            for argument in arguments:
                mask |= 0 if argument in self.asserted else self.read[argument]
            if not arguments and node.op != "const":
                mask = 1 << len(self.leaves)
                self.leaves[node] = self.asserted.get(node, _values_of(node.type))
            self.read[node] = mask

    def excluded_by(self, leaves: dict[Node, Values], depth: int) -> int | None:
        """The leaves whose values here exclude the conditions, as a mask; None if nothing is seen to exclude them."""
        self.evaluations += len(self.read)
        values: dict[Node, Values] = {}
        open_ = set[Node]()
        for node, read in self.read.items():
            values[node] = found = leaves[node] if node in leaves else _calculated(node, values)
            wanted = self.asserted.get(node, found)
            if found != wanted:
                if found[0] == found[1]:
                    return read
                open_.add(node)
                values[node] = wanted
        if not open_ or depth == DEEPEST_SPLIT or self.evaluations > MOST_EVALUATIONS:
            return None
        leaf = next(node for node in self.asserted if node in open_)
        while leaf not in leaves:
            test = values[leaf.args[0]]
            if leaf.op == "ite" and test[0] == test[1]:
                leaf = leaf.args[1 if test[0] else 2]
            else:
                leaf = next(a for a in leaf.args if values[a][0] != values[a][1])
        low, high = leaves[leaf]
        middle, masks = (low + high) // 2, 0
        for half in ((low, middle), (middle + 1, high)):
            mask = self.excluded_by({**leaves, leaf: half}, depth + 1)
            if mask is None or not mask & self.read[leaf]:  # whatever this leaf is
                return mask
            masks |= mask
        return masks


def _is_calculated(node: Node) -> bool:
    """Whether the values of a node are calculated from those of its arguments."""
    return node.op in CALCULATED and all(_values_of(part.type) is not None for part in (node, *node.args))


def _values_of(kind: Type) -> Any:
    """The values of a type as an interval; None of a type that is none."""
    if isinstance(kind, BoolType):
        return 0, 1
    if isinstance(kind, IntType):
        return kind.low, kind.high
    return (0, kind.count - 1) if isinstance(kind, IdType | EnumType) and not unbounded(kind) else None


def _calculated(node: Node, values: dict[Node, Values]) -> Values:
    """The values that a node may have, from those of its arguments; one where each of these has one."""
    if node.op == "const":
        return int(node.data), int(node.data)
    found = [values[argument] for argument in node.args]
    lows, highs = [low for low, _ in found], [high for _, high in found]
    match node.op:
        case "not":
            return 1 - highs[0], 1 - lows[0]
        case "and":
            return min(lows), min(highs)
        case "or":
            return max(lows), max(highs)
        case "eq":
            return int(lows[0] == highs[0] == lows[1] == highs[1]), int(max(lows) <= min(highs))
        case "lt":
            return int(highs[0] < lows[1]), int(lows[0] < highs[1])
        case "sub":
            return lows[0] - highs[1], highs[0] - lows[1]
        case "ite" if lows[0] == highs[0]:
            return found[1 if lows[0] else 2]
        case "ite":
            return min(lows[1:]), max(highs[1:])
    fold = OPERATIONS[node.op].fold
    assert fold is not None
    if node.op in MONOTONE or (lows == highs):
        return fold(*lows), fold(*highs)
    whole: Values = _values_of(node.type)
    return whole
