"""The values that a parameter ranges over, as far as guards narrow it."""

from __future__ import annotations

from dataclasses import dataclass, field

from reassure.checkers.engines.native.model.loop_form import Mask
from reassure.spec.frontend.ir import Node
from reassure.spec.language.types import BoolType, IntType, SeqType, SetType


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
