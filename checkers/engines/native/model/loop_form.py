"""The loop form of an action: what its machine code does, in the order in which it does it.

An action becomes one nest of loops over the values of its parameters. Guards stand in the outermost loop that they
allow; where one fails, the loop that it stands in goes on to its next value. Nodes of the graph are the expressions.

Also here: the values that a parameter ranges over, as far as guards narrow it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from reassure.checkers.encoding.state_layout import Field
from reassure.spec.frontend.ir import Node
from reassure.spec.language.types import BoolType, IntType, SeqType, SetType, Type


@dataclass(frozen=True)
class Let:
    """Computes a node here, since a loop further in uses it."""

    node: Node


@dataclass(frozen=True)
class LoopGuard:
    """Goes on to the next value unless the condition holds."""

    condition: Node


@dataclass(frozen=True)
class Error:
    """Plain Python raises here unless the condition holds: noted in the tally; goes on to the next value."""

    condition: Node


@dataclass(frozen=True)
class Clip:
    """The step leaves a bound if the condition holds: counted, not emitted. number: of the bound in the tally."""

    condition: Node
    number: int


@dataclass(frozen=True)
class StepError:
    """A claim over the step raises in plain Python unless the condition holds."""

    condition: Node


@dataclass(frozen=True)
class Emit:
    """Appends a successor."""

    next: tuple[Node, ...]
    """Its leaves."""
    claims: tuple[tuple[int, Node], ...]
    """Claims over the step: number, and the condition under which it is hit."""
    parameters: tuple[Node, ...] | None
    """The leaves of the parameters, if they are kept with the step."""


@dataclass(frozen=True)
class Split:
    """Goes on in one of two ways, by a condition."""

    condition: Node
    yes: Block
    no: Block


@dataclass
class Mask:
    """The nodes that narrow an enumeration of indices or subsets, all computed before the loop.

    Sets whose members are allowed (`within`) or not (`without`), sets and items that a subset contains (`including`,
    `include_items`), items that are not allowed (`exclude_items`) or alone allowed (`only_items`).
    """

    within: list[Node] = field(default_factory=list)
    without: list[Node] = field(default_factory=list)
    including: list[Node] = field(default_factory=list)
    include_items: list[Node] = field(default_factory=list)
    exclude_items: list[Node] = field(default_factory=list)
    only_items: list[Node] = field(default_factory=list)

    @property
    def nodes(self) -> list[Node]:
        """Every node that it reads."""
        narrowed = self.within + self.without + self.including
        return narrowed + self.include_items + self.exclude_items + self.only_items


@dataclass(frozen=True)
class ForEach:
    """A loop over the values of one scalar of a parameter.

    when: the condition under which there is anything to choose; without it the one value is the scalar's zero.
    """

    node: Node
    when: Node | None
    body: Block = field(default=(), kw_only=True)


@dataclass(frozen=True)
class ForEachIndex(ForEach):
    """Ascending values of an int, id, enum or bool, in all its range."""

    type: Type


@dataclass(frozen=True)
class ForEachMember(ForEach):
    """Ascending indices that a mask leaves."""

    type: Type
    mask: Mask


@dataclass(frozen=True)
class ForEachSubset(ForEach):
    """Sets by ascending bit mask, between what they must contain and what they may."""

    items: int
    mask: Mask


@dataclass(frozen=True)
class ForEachSequence(ForEach):
    """Sequences, shorter first; the last item weighs most."""

    type: SeqType


@dataclass(frozen=True)
class ForEachOptional(ForEach):
    """None, then each value. node: whether it is present."""

    value: Node
    type: Type


@dataclass(frozen=True)
class ForEachSlot(ForEach):
    """The records of a message set, ascending: its occupied slots from the last to the first."""

    slots: tuple[Node, ...]


@dataclass(frozen=True)
class ForEachRecordSet(ForEach):
    """Sets of records, smaller ones first. node: the first slot."""

    slots: tuple[Node, ...]
    sets: tuple[tuple[int, ...], ...]
    """Every set: what its slots hold."""


Statement = Let | LoopGuard | Error | Clip | StepError | Emit | Split | ForEach
Block = tuple[Statement, ...]


def nodes_of(statement: Statement) -> tuple[Node, ...]:
    """The nodes that a statement reads, but for those that only the blocks within it read."""
    if isinstance(statement, Let):
        return (statement.node,)
    if isinstance(statement, LoopGuard | Error | Clip | StepError | Split):
        return (statement.condition,)
    if isinstance(statement, Emit):
        return (*statement.next, *(node for _, node in statement.claims), *(statement.parameters or ()))
    when = () if statement.when is None else (statement.when,)
    if isinstance(statement, ForEachMember | ForEachSubset):
        return (*statement.mask.nodes, *when)
    return (*statement.slots, *when) if isinstance(statement, ForEachSlot) else when


def statements(block: Block) -> Iterator[Statement]:
    """Every statement, outer ones first."""
    for statement in block:
        yield statement
        if isinstance(statement, ForEach):
            yield from statements(statement.body)
        elif isinstance(statement, Split):
            yield from statements((*statement.yes, *statement.no))


@dataclass(frozen=True)
class ActionLoops:
    """The loop form of one action."""

    name: str
    number: int
    body: Block
    most: int
    """Successors of one state at most."""
    parameter_fields: tuple[Field, ...]
    """The places of the parameters' scalars in the words behind a successor."""


@dataclass
class Domain:
    """The values of one parameter that is a set, an id or an enum member."""

    node: Node
    mask: Mask = field(default_factory=Mask)
    """The guards that were taken in."""

    def absorb(self, condition: Node) -> bool:
        """Takes a guard that only narrows the enumeration; False if it must be tested."""
        negated = condition.op == "not"
        inner = condition.args[0] if negated else condition
        if len(inner.args) != 2 or isinstance(self.node.type, BoolType | IntType | SeqType):
            return False
        if isinstance(self.node.type, SetType):
            return self._subset(inner, negated)
        return self._index(inner, negated)

    def _free(self, node: Node) -> bool:
        """Whether a node does not depend on the parameter."""
        return self.node.data[0] not in node.params

    def _index(self, inner: Node, negated: bool) -> bool:
        a, b = inner.args
        if inner.op == "member" and a is self.node and self._free(b):
            (self.mask.without if negated else self.mask.within).append(b)
            return True
        if inner.op == "eq":
            for x, y in ((a, b), (b, a)):
                if x is self.node and self._free(y):
                    (self.mask.exclude_items if negated else self.mask.only_items).append(y)
                    return True
        return False

    def _subset(self, inner: Node, negated: bool) -> bool:
        a, b = inner.args
        if inner.op == "member" and b is self.node and self._free(a):
            (self.mask.exclude_items if negated else self.mask.include_items).append(a)
            return True
        if inner.op != "eq" or negated:
            return False
        for x, y in ((a, b), (b, a)):
            if x is self.node and self._free(y):
                self.mask.within.append(y)
                self.mask.including.append(y)
                return True
            if x.op == "const" and x.data == 0 and y.op in ("minus", "inter"):
                return self._no_members(y)
        return False

    def _no_members(self, node: Node) -> bool:
        """Takes `a - b` or `a & b`, known to be empty."""
        left, right = node.args
        if node.op == "minus":
            if left is self.node and self._free(right):
                self.mask.within.append(right)
                return True
            if right is self.node and self._free(left):
                self.mask.including.append(left)
                return True
            return False
        for s, t in ((left, right), (right, left)):
            if s is self.node and self._free(t):
                self.mask.without.append(t)
                return True
        return False
