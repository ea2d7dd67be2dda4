"""Actions that can change the fields that a step property about other actions watches, read off the graph.

An action can change a watched field if one of its nodes after the step is another than before, for some values of the
parameters that choose an entry of a map. That errs on one side only: equal nodes are equal values in every state, other
nodes may still be equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from pathlib import Path

from reassure.spec.frontend.context import ModelScope
from reassure.spec.frontend.declarations import state_before
from reassure.spec.frontend.introspection import find_source
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import Leaf, LoweredAction, Parameter, substitute
from reassure.spec.frontend.symbolic_values import Bag, Loose, MapOf, Option, Record, Scalar, Sym
from reassure.spec.language.types import BoolType, EnumType, IdType
from reassure.spec.language.vocabulary import Action, LanguageError, Property

CHOICES = 256
"""Values of parameters that are tried, at most: of further parameters all values are one case."""


def refuse_unwatched(scope: ModelScope, leaves: tuple[Leaf, ...], lowered: tuple[LoweredAction, ...]) -> None:
    """Raises `LanguageError` if actions can change what a property watches that is not about them; a line for each.

    leaves: of the state. lowered: the model's actions, in their order.
    """
    lines = list(dict.fromkeys(_unwatched(scope, leaves, lowered)))
    if lines:
        raise LanguageError("\n".join(lines))


def _unwatched(scope: ModelScope, leaves: tuple[Leaf, ...], lowered: tuple[LoweredAction, ...]) -> Iterator[str]:
    model, config = scope.bound.model, scope.bound.config
    watching = [p for p in model.properties if p.watches and (p.when is None or p.when(config))]
    if not watching:
        return
    watched = [(p, name, _nodes_of(scope, p, name)) for p in watching for name in p.watches or ()]
    for action, step in zip(model.actions, lowered, strict=True):
        changes = Changes(scope.graph, step, leaves)
        for claim, name, nodes in watched:
            if not scope.bound.concerns(claim, action) and not _never_enabled(step) and any(map(changes.of, nodes)):
                yield _refusal(claim, action, name)


def _never_enabled(step: LoweredAction) -> bool:
    """Whether a guard refuses the action in every state, as one does that reads the configuration alone."""
    return any(c.kind == "require" and c.condition.op == "const" and not c.condition.data for c in step.checks)


class Changes:
    """The changes that an action can make. leaves: of the state."""

    def __init__(self, graph: Graph, step: LoweredAction, leaves: tuple[Leaf, ...]) -> None:
        self.graph = graph
        self.parameters = [p for p in step.parameters if isinstance(p.type, IdType | EnumType | BoolType)]
        self.after = {leaf.path: node for leaf, node in zip(leaves, step.next_leaves, strict=True)}
        self.substituted: dict[Node, Node] = {}

    def of(self, node: Node) -> bool:
        """Whether a node of the state before can be another after the step."""
        after = substitute(self.graph, node, self.after, self.substituted)
        return after is not node and any(
            substitute(self.graph, after, {}, dict(values)) is not node for values in self._choices(after)
        )

    def _choices(self, node: Node) -> Iterator[dict[Node, Node]]:
        """Values of parameters that a node reads, each parameter with its constant; at most `CHOICES`."""
        parameters: list[Parameter] = []
        for parameter in self.parameters:
            if parameter.name in node.params and prod(p.type.count for p in [*parameters, parameter]) <= CHOICES:
                parameters.append(parameter)
        leaves = [p.leaves[0] for p in parameters]
        for values in product(*(range(p.type.count) for p in parameters)):
            yield {leaf: self._constant(leaf, value) for leaf, value in zip(leaves, values, strict=True)}

    def _constant(self, leaf: Node, index: int) -> Node:
        return self.graph.const(bool(index) if isinstance(leaf.type, BoolType) else index, leaf.type)


def _nodes_of(scope: ModelScope, claim: Property, name: str) -> list[Node]:
    """The nodes of a watched field, before a step."""
    value = state_before(scope, claim)
    try:
        return list(_nodes(value, tuple(name.split("."))))
    except KeyError as error:
        raise LanguageError(f"{claim.name} watches {name}, but there is not a field {error}") from None


def _nodes(value: Sym, path: tuple[str, ...]) -> Iterator[Node]:
    """The nodes at a path of fields; `KeyError` if there is no such field. A constant has none."""
    if isinstance(value, Scalar):
        yield value.node
    elif isinstance(value, Record):
        for part in [value.fields[path[0]]] if path else value.fields.values():
            yield from _nodes(part, path[1:])
    elif isinstance(value, MapOf):
        for part in value.values:
            yield from _nodes(part, path)
    elif isinstance(value, Option):
        yield value.present
        if value.value is not None:
            yield from _nodes(value.value, path)
    elif isinstance(value, Bag):  # a record in it is packed: a field of it changes with the whole set
        yield from value.slots
        yield from (condition for _, condition, _ in value.excess)
    elif isinstance(value, Loose):
        for condition, record in value.members:
            yield condition
            yield from _nodes(record, path)


def _refusal(claim: Property, action: Action, name: str) -> str:
    tags = " or ".join(f'"{tag}"' for tag in sorted(claim.tags))
    about = f"tagged {tags}" if tags else f"in its `on` ({', '.join(a.name for a in claim.on)})"
    remedy = f"give {action.name} the tag {tags}" if tags else f"add {action.name} to that list"
    return (
        f"{_place(action)}: {action.name} can change {name}, which {claim.name} ({_place(claim)}) watches, looking at "
        f"actions {about} alone: {remedy}, or leave `{'tags' if tags else 'on'}` out so that it looks at every step"
    )


def _place(declared: Action | Property) -> str:
    tree, path, _ = find_source(declared.function)
    return f"{Path(path).name}:{tree.lineno}"


__all__ = ["Changes", "refuse_unwatched"]
