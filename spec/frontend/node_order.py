"""Walks through nodes of the graph that do not use Python's own stack: a model may build long chains of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any, TypeVar

N = TypeVar("N", bound=Any)
"""A node (`ir.py` imports this module)."""


def arguments_first(roots: Iterable[N], done: Container[N] = ()) -> Iterator[N]:
    """Every node below the roots, and they, each once and after its arguments; nothing that is done, nor below it.

    done: may grow while the nodes are taken.
    """
    seen: set[N] = set()
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
