"""Walks through nodes of the graph that do not use Python's own stack: a model may build long chains of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from reassure.spec.frontend.ir import Node


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
