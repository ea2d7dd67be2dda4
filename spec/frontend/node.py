"""A node of the graph of `ir.py`, which makes it, and walks through nodes.

These do not use Python's own stack: a model may build long chains of nodes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

from reassure.spec.frontend.operations import BINDERS
from reassure.spec.language.types import BoolType, Type

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
