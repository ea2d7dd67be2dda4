"""Models for any number: the numbers of the configuration that are free, and the model lowered with them.

Sorts that a free number sizes have any number of members; the bounds of numbers that depend on one are lifted. The
model is lowered by the same functions as for one configuration: what goes through the members of a sort is an operation
of `BINDERS` then, in place of one copy for each member.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from dataclasses import fields
from typing import Any

from reassure.spec.frontend.context import Context, Frame, ModelScope
from reassure.spec.frontend.evaluation import lower_condition
from reassure.spec.frontend.introspection import Refused, cached_hints, find_source, signature_of
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.frontend.lowering import CONSTRUCTS, lower_model
from reassure.spec.frontend.symbolic_values import Static
from reassure.spec.language.annotations import AnyNumber, SizeIsFree, record_type, resolve
from reassure.spec.language.types import IntType
from reassure.spec.semantics.interpreter import BoundModel


def free_numbers(bound: BoundModel, chosen: Collection[str] = ()) -> AnyNumber:
    """The configuration with every number free that nobody chose and that sizes nothing that has to have a size.

    chosen: fields whose values are those of the configuration.
    """
    config: Any = bound.config
    cls: Any = type(config)
    hints = cached_hints(cls)
    numbers = (f.name for f in fields(config) if isinstance(resolve(hints[f.name], config), IntType))
    free = frozenset(name for name in numbers if name not in chosen)
    functions = {d.name: d.function for d in bound.model.actions} | {d.name: d.function for d in bound.model.initials}
    held: tuple[str, ...] = ()
    while True:
        any_number = AnyNumber(config, free, held)
        try:
            record_type(bound.model.state, any_number)
            for name, function in functions.items():
                for parameter, _ in bound.parameters(name):
                    resolve(cached_hints(function)[parameter], any_number)
        except SizeIsFree as error:
            free, held = free - error.names, (*held, str(error))
        else:
            return any_number


def lower_for_any_number(
    bound: BoundModel, any_number: AnyNumber, wants: Callable[[str], bool] = lambda name: True
) -> tuple[LoweredModel, list[Node]]:
    """The model for all values of the free numbers, and conditions on these that every configuration satisfies.

    wants: the properties that are asked for. Raises `SubsetError` with every construct that has no translation for any
    number.
    """
    lowered = lower_model(bound, any_number=any_number, wants=wants)
    return lowered, _relations(lowered, any_number)


def _relations(lowered: LoweredModel, any_number: AnyNumber) -> list[Node]:
    """The negations of the tests by which the configuration's `__post_init__` raises, as far as they are translated.

    A relation that is left out admits more configurations: what is proved of them all holds.
    """
    function = getattr(type(any_number.config), "__post_init__", None)
    if function is None:
        return []
    tree, path, lines = find_source(function)
    scope = ModelScope(lowered.bound, CONSTRUCTS, graph=lowered.graph, any_number=any_number)
    context = Context(scope, function.__name__)
    own = next(iter(signature_of(function).parameters))
    relations = []
    for statement in tree.body if isinstance(tree, ast.FunctionDef) else []:
        if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.body[0], ast.Raise):
            break
        frame = Frame(function, path, lines, {own: Static(any_number.config)})
        with context.entered(frame), context.nothing_recorded():
            try:
                relations.append(lowered.graph.not_(lower_condition(context, statement.test)))
            except Refused:
                continue
    return relations
