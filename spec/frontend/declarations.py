"""Declarations: actions, initial functions, and claims over states and steps.

Also here: actions that can change the fields that a step property about other actions watches, read off the graph.

An action can change a watched field if one of its nodes after the step is another than before, for some values of the
parameters that choose an entry of a map. That errs on one side only: equal nodes are equal values in every state, other
nodes may still be equal.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from pathlib import Path
from types import FunctionType
from typing import Any

from reassure.spec.frontend.context import Context, Frame, ModelScope
from reassure.spec.frontend.functions import lower_function
from reassure.spec.frontend.introspection import Refused, cached_hints, find_source, signature_of
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import Formula, Leaf, LoweredAction, Parameter, substitute
from reassure.spec.frontend.sets_and_sequences import occupied, unpack_slot
from reassure.spec.frontend.statements import added_guard
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Columns,
    Loose,
    MapOf,
    Mismatch,
    NumberSet,
    Option,
    Poison,
    Record,
    RefusedType,
    Scalar,
    Static,
    Sym,
    Tuple,
    bags,
    describe,
    leaves,
    of_type,
    slot_type,
)
from reassure.spec.frontend.symbols import excess
from reassure.spec.language.declarations import given_to, only_of_guards
from reassure.spec.language.types import BoolType, EnumType, IdType, RecordType, SetType, Type
from reassure.spec.language.vocabulary import Action, Initial, LanguageError, Property, Terminal

# -- actions and initial functions ------------------------------------------------------------------------------


def lower_action(scope: ModelScope, action: Action) -> LoweredAction:
    """An action as a step from any state."""
    return _lower_step(scope, action.name, action.function, dict(action.members), [scope.state], action.guards)


def lower_initial(scope: ModelScope, initial: Initial) -> LoweredAction:
    """An initial function as a step from nowhere."""
    return _lower_step(scope, initial.name, initial.function, {}, [])


def _lower_step(
    scope: ModelScope,
    name: str,
    function: Callable[..., Any],
    members: dict[str, Callable[..., Any]],
    before: list[Sym],
    guards: tuple[Callable[..., Any], ...] = (),
) -> LoweredAction:
    """members: what parameters are drawn from, by name. before: the state that the function takes, if it does. guards:
    conditions that are evaluated before the function."""
    assert isinstance(function, FunctionType)
    context = Context(scope, name)
    g, symbols, state_type = scope.graph, scope.symbols, scope.type
    parameters: list[Parameter] = []
    values: dict[str, Sym] = {}
    # Python evaluates what the parameters are drawn from before it calls the function.
    for parameter_name, kind in scope.parameters(name):
        try:
            if scope.any_number is not None and bags(kind):
                raise Mismatch("a set of records as a parameter has no translation for any number")
            parameter = _parameter(context, parameter_name, kind, members.get(parameter_name))
            values[parameter_name] = parameter_value(scope, parameter)
        except Mismatch as error:  # of a type that has no translation for any number
            _refuse(context, function, f"parameter {parameter_name}", str(error))
            return LoweredAction(name, (), (), (), ())
        parameters.append(parameter)
    drawable = g.and_(*(c.condition for c in context.checks))
    parameters = [dataclasses.replace(p, drawn=_drawn_or_any(g, drawable, p.drawn)) for p in parameters]
    context.within_step = True
    context.assured = g.and_(*(_has_value(context, p) for p in parameters))
    arguments = _arguments(scope, function, before, values)
    configuration = dict.fromkeys(only_of_guards(function, guards), Static(scope.bound.config))
    for guard in guards:
        assert isinstance(guard, FunctionType)
        added_guard(context, guard, given_to(guard, arguments | configuration))
    after = lower_function(context, function, arguments)
    refused = LoweredAction(name, tuple(parameters), (), (), ())
    if scope.refusals:
        return refused
    try:
        fitted = symbols.fit(after if before else _widened(scope, after), state_type)
    except Mismatch as error:
        _refuse_result(context, function, str(error))
        return refused
    clips = tuple(excess(g, fitted, state_type, ""))
    next_leaves = tuple(leaves(g, fitted, state_type))
    return LoweredAction(name, tuple(parameters), tuple(context.checks), clips, next_leaves)


def _widened(scope: ModelScope, state: Sym) -> Sym:
    """An initial state of a class that the model's extends gets the further fields' defaults."""
    cls: Any = scope.bound.model.state
    if isinstance(state, Record) and state.cls is not cls and issubclass(cls, state.cls):
        further = [f for f in dataclasses.fields(cls) if f.name not in state.fields]
        return Record(cls, {**state.fields, **{f.name: scope.symbols.lift(f.default) for f in further}})
    return state


# -- parameters ---------------------------------------------------------------------------------------------------


def _parameter(context: Context, name: str, kind: Type, members: Callable[..., Any] | None) -> Parameter:
    """A parameter of a type, drawn from what `members` returns if it is not None."""
    g = context.graph
    drawn = None if members is None else _drawn(context, members, kind)
    if isinstance(kind, RecordType) and isinstance(drawn, tuple):
        return Parameter(name, kind, (g.param(name, "#", slot_type(kind)),), drawn)
    value = of_type(g, kind, lambda path, leaf_type: g.param(name, path, leaf_type))
    return Parameter(name, kind, tuple(leaves(g, value, kind)), drawn)


def parameter_value(scope: ModelScope, parameter: Parameter) -> Sym:
    """The value that a function sees."""
    g = scope.graph
    if isinstance(parameter.type, RecordType) and isinstance(parameter.drawn, tuple):
        return unpack_slot(g, parameter.type, parameter.leaves[0])
    return of_type(g, parameter.type, lambda path, kind: g.param(parameter.name, path, kind))


def _drawn(context: Context, function: Callable[..., Any], kind: Type) -> Node | tuple[Node, ...] | None:
    """The set that a parameter of a type is drawn from; None if it is refused."""
    assert isinstance(function, FunctionType)
    scope = context.scope
    try:
        members = lower_function(context, function, _arguments(scope, function, [scope.state], {}))
        value = scope.symbols.as_bag(members)
        if isinstance(value, Bag) and value.item == kind:
            return value.looked_into()
    except Mismatch as error:
        _refuse_result(context, function, str(error))
        return None
    except Refused:
        return None
    if isinstance(value, Scalar) and isinstance(value.type, SetType) and value.type.item == kind:
        return value.node
    if isinstance(kind, RefusedType):
        return None
    if isinstance(value, NumberSet):
        remedy = "give the parameter their Range, and write `require(n in s.numbers)`"
        _refuse_result(context, function, f"a parameter is not drawn from a set of numbers: {remedy}")
    elif isinstance(value, Bag) or (isinstance(value, Scalar) and isinstance(value.type, SetType)):
        why = f"a parameter has the type of the set's members: {describe(value)} has no {kind}"
        _refuse_result(context, function, why)
    elif not isinstance(value, Poison):
        _refuse_result(context, function, f"a parameter is drawn from a set, not from {describe(value)}")
    return None


def _drawn_or_any(g: Graph, drawable: Node, drawn: Node | tuple[Node, ...] | None) -> Node | tuple[Node, ...] | None:
    """The set drawn from; with some member where `drawable` fails, as Python raises there even if the set is empty."""
    if isinstance(drawn, tuple):
        return tuple(g.ite(drawable, slot, g.num(1)) for slot in drawn[:1]) + drawn[1:]
    if drawn is None or not isinstance(drawn.type, SetType):
        return drawn
    return g.ite(drawable, drawn, g.full(drawn.type.item))


def _has_value(context: Context, parameter: Parameter) -> Node:
    """Whether there is a value to draw: if not, the action is not even called."""
    g, drawn = context.graph, parameter.drawn
    if isinstance(drawn, tuple):
        return g.or_(*(occupied(g, slot) for slot in drawn))
    return g.true if drawn is None else g.not_(g.eq(drawn, g.const(0, drawn.type)))


# -- claims -------------------------------------------------------------------------------------------------------


def lower_state_claim(scope: ModelScope, claim: Property) -> Formula:
    """A property or cover over one state; of a leads-to, its goal too."""
    context = Context(scope, claim.name)
    condition = _over_state(context, claim.function)
    goal = None if claim.goal is None else _over_state(context, claim.goal)
    return Formula(claim.name, claim, condition, tuple(context.checks), goal)


def lower_terminal(scope: ModelScope, terminal: Terminal, unless: Node) -> Formula:
    """The condition under which a run may stop. unless: the condition under which Python does not ask for it."""
    context = Context(scope, terminal.name)
    context.path = scope.graph.not_(unless)
    return Formula(terminal.name, None, _over_state(context, terminal.function), tuple(context.checks))


def lower_step_claim(scope: ModelScope, claim: Property, action: LoweredAction, declared: Action) -> Formula:
    """A property or cover over the steps of an action; lowered once for all actions unless it asks which one."""
    function = claim.function
    assert isinstance(function, FunctionType)
    of_action = _reads_action(function, action)
    if not of_action and claim.name in scope.of_any_step:
        return scope.of_any_step[claim.name]
    context = Context(scope, claim.name)
    parameters = {p.name: parameter_value(scope, p) for p in action.parameters} if of_action else {}
    before = _view(context, function, "before", scope.state)
    after = _view(context, function, "after", scope.next_state)
    values = {**parameters, "before": before, "after": after}
    value = lower_function(context, function, _arguments(scope, function, [], values, declared))
    formula = Formula(claim.name, claim, _truth(context, function, value), tuple(context.checks))
    if not of_action:
        scope.of_any_step[claim.name] = formula
    return formula


def _reads_action(function: FunctionType, action: LoweredAction) -> bool:
    """Whether a claim over steps is given the action, or one of its parameters."""
    hints, parameters = cached_hints(function), {p.name for p in action.parameters}
    return any(name in parameters or hints.get(name) is Action for name in signature_of(function).parameters)


def state_before(scope: ModelScope, claim: Property) -> Sym:
    """The argument `before` of a claim over steps: the state, or a view of it."""
    function = claim.function
    assert isinstance(function, FunctionType)
    return _view(Context(scope, claim.name), function, "before", scope.state)


def _over_state(context: Context, function: Callable[..., Any]) -> Node:
    """The condition that a function of the state, or of a view of it, returns."""
    assert isinstance(function, FunctionType)
    first = next(iter(signature_of(function).parameters))
    state = _view(context, function, first, context.scope.state)
    value = lower_function(context, function, _arguments(context.scope, function, [state], {}))
    return _truth(context, function, value)


def _view(context: Context, function: FunctionType, parameter: str, state: Sym) -> Sym:
    """The state, or the view of it that a function's parameter wants."""
    bound = context.scope.bound
    annotation: Any = cached_hints(function).get(parameter)
    view = bound.views.get(annotation)
    if view is None or annotation is bound.model.state:
        return state
    assert isinstance(view, FunctionType)
    return lower_function(context, view, _arguments(context.scope, view, [state], {}))


def _truth(context: Context, function: FunctionType, value: Sym) -> Node:
    if isinstance(value, Scalar) and isinstance(value.type, BoolType):
        return value.node
    claims = context.scope.bound.model.properties if context.scope.types_refused else ()
    told = any(
        claim.function is function and cached_hints(function).get("return", bool) is not bool for claim in claims
    )
    if not isinstance(value, Poison) and not told:
        _refuse_result(context, function, f"a bool is needed, not {describe(value)}")
    return context.graph.false


# -- both -----------------------------------------------------------------------------------------------------------


def _arguments(
    scope: ModelScope, function: FunctionType, states: list[Sym], values: dict[str, Sym], action: Action | None = None
) -> dict[str, Sym]:
    """Arguments by name: the states first, then those in `values`, an `Action` by its type; else the configuration."""
    hints = cached_hints(function)
    arguments: dict[str, Sym] = {}
    for i, name in enumerate(signature_of(function).parameters):
        of_state = i < len(states) or name in ("before", "after")
        if scope.types_refused and _is_odd(scope, hints.get(name), of_state, name in values):
            arguments[name] = POISON
        elif i < len(states):
            arguments[name] = states[i]
        elif name in values:
            arguments[name] = values[name]
        else:
            arguments[name] = Static(action if hints.get(name) is Action else scope.bound.config)
    return arguments


def _is_odd(scope: ModelScope, hint: Any, of_state: bool, of_action: bool) -> bool:
    """Whether a parameter is annotated to be something else than it is given, which is refused elsewhere."""
    model = scope.bound.model
    if of_state:
        given: tuple[type, ...] = (model.state, *scope.bound.views)
    else:
        given = () if of_action else (model.config, Action)
    known = isinstance(hint, type) and any(issubclass(hint, cls) or issubclass(cls, hint) for cls in given)
    return bool(given) and hint not in (None, Any) and not known


def _refuse_result(context: Context, function: FunctionType, why: str) -> None:
    """Refuses what a declared function returns."""
    _refuse(context, function, f"what `{function.__name__}` returns", why)


def _refuse(context: Context, function: FunctionType, what: str, why: str) -> None:
    """Refuses something of a declared function as a whole."""
    tree, path, lines = find_source(function)
    with context.entered(Frame(function, path, lines, {})):
        context.refuse(tree, what, why)


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
    elif isinstance(value, MapOf | Tuple):
        for part in value.values if isinstance(value, MapOf) else value.items:
            yield from _nodes(part, path)
    elif isinstance(value, Option):
        yield value.present
        if value.value is not None:
            yield from _nodes(value.value, path)
    elif isinstance(value, Columns):
        for there, item in value.places:
            yield there
            yield from _nodes(item, path)
    elif isinstance(value, NumberSet):
        yield from (there for _, there in value.members)
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
