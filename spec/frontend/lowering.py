"""The lowering of a whole model to the typed graph of `ir.py`.

`lower_model(bound)` walks every function reachable from an action or a claim, names resolved by object. It either
refuses (all refusals in one go, `SubsetError`) or returns what each engine translates: a model that can be lowered is
one that every engine accepts. Records, optionals and loops over finite sorts are gone by then.

Also here: the expressions of the language, and where each is lowered.

Also here: calls: of what the language offers, of built-in functions, of classes and functions of the model.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from dataclasses import is_dataclass
from enum import EnumMeta
from functools import partial
from types import FunctionType, MethodType
from typing import Any, NoReturn

from reassure.spec.frontend import aggregates, map_keys, sorts_and_maps, statements, tuples_and_sets
from reassure.spec.frontend.comprehensions import calls, set_comprehension
from reassure.spec.frontend.context import Constructs, Context, ModelScope
from reassure.spec.frontend.declarations import (
    lower_action,
    lower_initial,
    lower_state_claim,
    lower_step_claim,
    lower_terminal,
    refuse_unwatched,
)
from reassure.spec.frontend.evaluation import UNSUPPORTED, lower, lower_present, peek, refuse_options
from reassure.spec.frontend.functions import attribute, constant, function_call, method_call, name, with_first_argument
from reassure.spec.frontend.introspection import (
    OVER_RANGE,
    Definition,
    Refusal,
    Refused,
    SubsetError,
    TooLarge,
    cached_hints,
    find_source,
    over_range,
)
from reassure.spec.frontend.lowered_model import Formula, Leaf, LoweredAction, LoweredModel, ToldApart
from reassure.spec.frontend.operators import binary_op, bool_op, compare, if_expression, unary_op
from reassure.spec.frontend.sorts_and_maps import construct, replace_call, subscript, tuple_display
from reassure.spec.frontend.symbolic_values import (
    Bag,
    Columns,
    Empty,
    MapOf,
    NumberSet,
    Option,
    Poison,
    Record,
    RefusedType,
    Scalar,
    Static,
    Sym,
    Tuple,
    describe,
    scalar_leaves,
)
from reassure.spec.language import values
from reassure.spec.language.annotations import AnyNumber, FieldErrors, Problems, fields_of_itself, resolve
from reassure.spec.language.types import DomainError, RecordType, Type
from reassure.spec.language.vocabulary import (
    Action,
    Initial,
    LanguageError,
    Model,
    Property,
    refuse,
    replace,
    require,
    some,
)
from reassure.spec.semantics.interpreter import BoundModel, ModelError


def _call(context: Context, node: ast.Call) -> Sym:
    """Any call."""
    if isinstance(node.func, ast.Attribute):
        base = peek(context, node.func.value)
        if isinstance(base, MapOf | Scalar | Bag | NumberSet | Columns | Tuple | Record | Empty | Option):
            return _method(context, node, node.func, base)
    callee = lower(context, node.func)
    if isinstance(callee, Poison):
        raise Refused
    if not isinstance(callee, Static):
        raise context.refuse(node, f"a call of {describe(callee)}", "only functions are called")
    if any(k.arg is None for k in node.keywords):
        raise context.refuse(node, "`**`", "write the arguments out")
    target = callee.value
    lower_call = _known_call(target)
    if lower_call is not None and target in OVER_RANGE and len(node.args) == 1:
        if isinstance(node.args[0], ast.Call) and calls(context, node.args[0], range):
            target, node = over_range(node, target)
            lower_call = CALLS[target]
    if lower_call is not None:
        return lower_call(context, node)
    if isinstance(target, Action | Property):
        target = target.function
    of_object = isinstance(target, MethodType) and isinstance(target.__func__, FunctionType)
    if of_object and isinstance(node.func, ast.Attribute):  # a method of the configuration, or of a class
        node, target = with_first_argument(node, node.func.value), target.__func__
    if isinstance(target, FunctionType) and target.__module__.split(".")[0] not in sys.stdlib_module_names:
        return function_call(context, node, target)
    if isinstance(target, type) and is_dataclass(target):
        return construct(context, node, target)
    if isinstance(target, type) and issubclass(target, values.Id):
        return sorts_and_maps.id_of(context, node, target)
    if target is sorted:
        refuse_options(context, node)
    name = getattr(target, "__name__", type(target).__name__)
    in_place_of = METHODS if hasattr(target, "__objclass__") else IN_PLACE_OF  # `frozenset.union`
    remedy = in_place_of.get(name, f"call functions of the model, or {OFFERED}")
    if isinstance(target, EnumMeta) and len(target):
        remedy = f"write a member: `{next(iter(target))}`"
    raise context.refuse(node, f"a call of `{name}`", remedy)


def _known_call(target: Any) -> Callable[[Context, ast.Call], Sym] | None:
    """The function that lowers a call of a function of the language, or of a built-in one."""
    try:
        return CALLS.get(target)
    except TypeError:  # it cannot be hashed
        return None


def _method(context: Context, node: ast.Call, function: ast.Attribute, base: Sym) -> Sym:
    if isinstance(base, MapOf) and function.attr == "put" and len(node.args) == 2 and not node.keywords:
        return sorts_and_maps.put(context, node, function.value)
    if isinstance(base, Option):
        lower_present(context, function.value)  # it refuses what may be None
    lowered = method_call(context, node, function, base)
    if lowered is not None:
        return lowered
    of_class = ", or a method of its class" if isinstance(base, Record) else ""
    remedy = METHODS.get(function.attr, f"write a function{of_class}")
    if isinstance(base, MapOf) and function.attr in OF_MAPS:
        remedy = OF_MAPS[function.attr].format(**map_keys.loops_over(base.key))
    raise context.refuse(node, f"a method `.{function.attr}` of {describe(base)}", remedy)


CALLS: dict[Any, Callable[[Context, ast.Call], Sym]] = {
    require: statements.require_call,
    some: statements.some_call,
    refuse: statements.refuse_call,
    replace: replace_call,
    values.every: sorts_and_maps.every_call,
    values.fill: sorts_and_maps.fill_call,
    values.Map: sorts_and_maps.map_call,
    any: aggregates.any_of,
    all: aggregates.all_of,
    sum: aggregates.sum_of,
    len: aggregates.length_of,
    min: aggregates.minimum,
    max: aggregates.maximum,
    next: aggregates.first_of,
    tuple: tuples_and_sets.tuple_of,
    frozenset: tuples_and_sets.frozenset_of,
    abs: aggregates.absolute,
    int: sorts_and_maps.int_of,
}
"""The functions of the language and the built-in ones, each with the function that lowers its calls."""
OFFERED = "any, all, sum, len, min, max, next, sorted, tuple, frozenset, abs, int, replace, every, fill, Map"
IN_PLACE_OF: dict[str, str] = {
    "enumerate": "write a loop or a comprehension over it: `for i, x in enumerate(seq)`",
    "zip": "write `... for i in range(min(len(a), len(b)))`, with `a[i]` and `b[i]`",
    "combinations": "write `... for x in s for y in s if x < y`",
    "product": "write `... for x in s for y in t`",
    "permutations": "write `... for x in s for y in s if x != y`",
    "reversed": "write a loop or a comprehension over it: `tuple(x for x in reversed(seq))`",
    "bool": "write a comparison, as `n != 0`",
    "map": "write a comprehension",
    "filter": "write a comprehension",
    "reduce": "write sum, min, max, any or all over a comprehension",
    "list": "write `tuple(...)`, or `frozenset(...)`",
    "set": "write `frozenset(...)`",
    "dict": "write `Map({k: v for k in every(Sort, c)})`",
    "range": "write `tuple(range(n))`, `frozenset(range(n))`, or a comprehension over it",
    "sorted": "write `tuple(sorted(...))`, or a comprehension over it",
    "isinstance": "each value has one type: test a field of it, or write `x is not None`",
    "type": "each value has one type: test a field of it",
    "str": "a model has no text: a name is an id or an enum member",
    "repr": "a model has no text: a name is an id or an enum member",
    "hash": "compare the values themselves with `==`",
    "print": "a model has no output: call functions of the model alone",
}
"""Functions of Python, with what to write instead."""
METHODS: dict[str, str] = {
    "union": "write `a | b`",
    "intersection": "write `a & b`",
    "difference": "write `a - b`",
    "issubset": "write `a <= b`",
    "issuperset": "write `a >= b`",
    "isdisjoint": "write `a & b == frozenset()`",
    "index": "write `next((i for i, x in enumerate(seq) if x == y), n)`, with a number `n` for none",
    "add": "sets do not change: write `s | {x}`",
    "get": "write `m[k]`: a map has a value for each key",
    "count": "write `sum(1 for x in seq if x == y)`",
    "extend": "tuples do not change: write `a + b`",
    "remove": "write `s - {x}`, or `tuple(y for y in seq if y != x)`",
    "append": "tuples do not change: write `t + (x,)`",
    "symmetric_difference": "write `a ^ b`",
    "discard": "sets do not change: write `s - {x}`",
    "copy": "values do not change: write the value itself",
}
"""Methods of Python's sets and tuples, with what to write instead."""
OF_MAPS: dict[str, str] = {
    "items": "write `... {loops}`, with `m[{key}]` for the value",
    "values": "write `m[{key}] {loops}`",
    "keys": "write `... {loops}`",
    "set": "write `m.put(key, value)`",
    "update": "write `m.put(key, value)`, or `Map({{{written}: value {loops}}})`",
}
"""Methods of Python's dicts, with what to write instead."""


CONSTRUCTS = Constructs(
    expressions={
        ast.Constant: constant,
        ast.Name: name,
        ast.Attribute: attribute,
        ast.BoolOp: bool_op,
        ast.UnaryOp: unary_op,
        ast.IfExp: if_expression,
        ast.BinOp: binary_op,
        ast.Compare: compare,
        ast.Tuple: tuple_display,
        ast.Subscript: subscript,
        ast.Call: _call,
    },
    set_displays={
        ast.Set: tuples_and_sets.set_display,
        ast.SetComp: set_comprehension,
    },
)
"""Other expressions are refused: `evaluation.py` says what to write instead. Statements are in `statements.py`."""


def lower_model(
    bound: BoundModel,
    switches: bool = False,
    any_number: AnyNumber | None = None,
    wants: Callable[[str], bool] = lambda name: True,
    types_refused: str = "",
) -> LoweredModel:
    """The model in the form that engines translate; raises `SubsetError` with every refusal.

    Raises `LanguageError` if an action can change what a property watches that is not about it. switches: each guard of
    the text can be left out; what is watched has been judged with the guards then. any_number: the configuration with
    its free numbers; then the model has those properties of states and steps that `wants` accepts, and what they watch
    was judged. types_refused: what is said of types that are refused; then all other refusals are raised.
    """
    scope = ModelScope(bound, CONSTRUCTS, switches, any_number=any_number)
    if types_refused:
        scope.types_refused = types_refused
        scope.refusals.append(OF_TYPES)
    model, claims = bound.model, [*bound.properties, *bound.covers]
    if any_number is not None:
        claims = [p for p in bound.properties if not p.temporal and wants(p.name)]
    if types_refused:
        _for_refusals(scope)
    initials = tuple(lower_initial(scope, initial) for initial in model.initials)
    actions = tuple(lower_action(scope, action) for action in model.actions)
    state_formulas = tuple(lower_state_claim(scope, claim) for claim in claims if not claim.over_steps)
    step_formulas = tuple(
        tuple(
            lower_step_claim(scope, claim, lowered, action)
            for claim in claims
            if claim.over_steps and bound.concerns(claim, action)
        )
        for action, lowered in zip(model.actions, actions, strict=True)
    )
    terminal_formulas = _terminal_formulas(scope) if any_number is None else ()
    if scope.refusals:
        raise SubsetError(scope.refusals)
    leaves = _state_leaves(scope)
    if not switches and any_number is None:
        refuse_unwatched(scope, leaves, actions)
    return LoweredModel(
        bound=bound,
        graph=scope.graph,
        leaves=leaves,
        initials=initials,
        actions=actions,
        state_formulas=state_formulas,
        step_formulas=step_formulas,
        terminal_formulas=terminal_formulas,
        told_apart=_told_apart(scope),
        guards=tuple(
            dataclasses.replace(g, reached_by=tuple(by), narrows=g in scope.narrowing)
            for g, by in (scope.guards or {}).items()
        ),
    )


def _for_refusals(scope: ModelScope) -> NoReturn:
    """Lowers each declaration for its refusals, which are raised; one that cannot be has a wrong signature."""
    bound, steps = scope.bound, list[tuple[LoweredAction, Action]]()

    def attempted(lowered: Callable[..., Any], *given: Any) -> Any:
        with suppress(LanguageError, DomainError, ModelError, OSError, StopIteration):
            return lowered(scope, *given)

    for initial in bound.model.initials:
        attempted(lower_initial, initial)
    for action in bound.model.actions:
        step = attempted(lower_action, action)
        steps += [(step, action)] if step is not None else []
    for claim in bound.model.properties:
        if not claim.over_steps:
            attempted(lower_state_claim, claim)
        for step, action in steps if claim.over_steps else ():
            attempted(lower_step_claim, claim, step, action)
    for terminal in bound.model.terminals:
        attempted(lower_terminal, terminal, scope.graph.false)
    raise SubsetError(scope.refusals)


def with_changed(
    model: LoweredModel,
    changed: Mapping[FunctionType, Definition],
    names: Container[str],
    any_number: AnyNumber | None = None,
) -> LoweredModel:
    """The model whose actions and initial functions run other bodies of some functions; claims keep the text.

    names: of the actions and initial functions that call one of these functions; the others are taken over. any_number:
    as `lower_model` was given it. Raises what `lower_model` raises.
    """
    scope = ModelScope(model.bound, CONSTRUCTS, graph=model.graph, any_number=any_number)
    scope.changed = changed
    declared = model.bound.model

    def lowered(one: LoweredAction, again: Callable[[], LoweredAction]) -> LoweredAction:
        return again() if one.name in names else one

    initials = tuple(
        lowered(one, partial(lower_initial, scope, initial))
        for one, initial in zip(model.initials, declared.initials, strict=True)
    )
    actions = tuple(
        lowered(one, partial(lower_action, scope, action))
        for one, action in zip(model.actions, declared.actions, strict=True)
    )
    if scope.refusals:
        raise SubsetError(scope.refusals)
    if any_number is None:
        refuse_unwatched(scope, model.leaves, actions)
    told_apart = {**model.told_apart, **_told_apart(scope)}
    return dataclasses.replace(model, initials=initials, actions=actions, told_apart=told_apart)


def check(bound: BoundModel) -> list[Refusal]:
    """Every place where the model leaves the language; empty for a legal model."""
    try:
        lower_model(bound)
    except SubsetError as error:
        return error.refusals
    return []


def all_refused(
    model: Model, error: FieldErrors, settings: Mapping[str, Any] | None = None
) -> tuple[list[str], list[Refusal]]:
    """All that is refused of a model some of whose types are: the texts about types, and the places of the rest.

    error: what was found of its types so far. settings: fields of the configuration with other values than its own.
    """
    problems, refusals = error.problems, statements_refused(model)
    try:
        config = model.config(**settings or {})
    except Exception:  # it is Python of any kind
        return list(problems.values()), refusals
    try:
        BoundModel(model, config)
    except FieldErrors as more:
        problems = problems | more.problems
    except (LanguageError, DomainError) as other:
        problems = problems | {str(other): str(other)}
    try:
        lower_model(_Outline(model, config), types_refused="\n".join(problems.values()))
    except TooLarge:
        pass
    except SubsetError as found:
        refusals += [refusal for refusal in found.refusals if refusal not in (*refusals, OF_TYPES)]
    except (LanguageError, DomainError, OSError):  # of the state: what it means is not known
        pass
    refusals.sort(key=lambda r: (r.file, r.line, r.column))
    return [_with_remedy(text) for text in problems.values()], refusals


def _with_remedy(text: str) -> str:
    """What is wrong with a type, and what to write instead, where the text does not say so. It ends with its place."""
    found = re.search(r"(?:^|: )(?:(\w+) is not a finite type|empty range \S+)(?= \(|$)", text)
    if found is None:
        return text
    remedy = IN_PLACE_OF_TYPES.get(found[1], "write a frozen dataclass: `@dataclass(frozen=True)` above the class")
    return f"{text[: found.end()]}: {remedy}{text[found.end() :]}"


IN_PLACE_OF_TYPES: dict[str | None, str] = {
    None: "the least number comes first, as in `Range(0, 3)`",
    "tuple": "a sequence is Annotated[tuple[T, ...], MaxLen(n)], a tuple of two parts is tuple[A, B]",
    "frozenset": "a set is frozenset[T], where T is an Id sort, an Enum or a Range",
    "set": "a set is frozenset[T], where T is an Id sort, an Enum or a Range",
    "Map": "a map is Map[K, T], where K is an Id sort, an Enum, bool, a Range or a tuple of these",
    "bytes": "names are an Enum or an Id sort; a sequence of numbers is Annotated[tuple[T, ...], MaxLen(n)]",
    "bytearray": "a sequence of numbers is Annotated[tuple[T, ...], MaxLen(n)]",
    "object": "write the type of its values: a record, an Enum, an Id sort, bool or Annotated[int, Range(low, high)]",
    "Any": "write the type of its values: a record, an Enum, an Id sort, bool or Annotated[int, Range(low, high)]",
    "complex": "a number is Annotated[int, Range(low, high)]",
    "NoneType": "write `T | None` with the type of its other values",
    "range": "a sequence is Annotated[tuple[T, ...], MaxLen(n)]",
    "type": "names are an Enum or an Id sort",
}
"""By the name of a type that is not finite, or None for an empty range: what to write."""
OF_TYPES = Refusal("", 0, 0, "types", "refused elsewhere")
"""Stands for the refusals of types, of which nothing more is said in statements."""


class _Outline(BoundModel):
    """A model some of whose types are refused: others are as they are."""

    def _callee(self, name: str, function: Callable[..., Any], skip: int, members: Any = None) -> Any:
        return self._sorted_out(name, function, skip, members or {})  # whatever it takes and returns

    def _judge(self, problems: Problems) -> None:
        """What is wrong is known."""

    def type_of_state(self) -> RecordType:
        kind = self.type_of(self.model.state)
        assert isinstance(kind, RecordType)
        return kind

    def type_of(self, annotation: Any) -> Type:
        try:
            return resolve(annotation, self.config)
        except DomainError:
            if not is_dataclass(annotation) or not isinstance(annotation, type):
                return RefusedType()
            hints, endless = cached_hints(annotation), fields_of_itself(annotation)
            names = (f.name for f in dataclasses.fields(annotation))
            kinds = ((name, RefusedType() if name in endless else self.type_of(hints[name])) for name in names)
            return RecordType(annotation, tuple(kinds))


def statements_refused(model: Model) -> list[Refusal]:
    """The statements and expressions of a model that are refused whatever its types are."""
    from reassure.spec.language.variants import functions_of_step, reached_from

    refusals: dict[Refusal, None] = {}
    steps: list[Action | Initial] = [*model.initials, *model.actions]
    functions = [f for step in steps for f in functions_of_step(step)]
    claims = [*(p.function for p in model.properties), *(t.function for t in model.terminals)]
    functions += [function for function in claims if isinstance(function, FunctionType)]
    for function in dict.fromkeys(g for f in functions for g in reached_from(f, {})):
        try:
            tree, file, lines = find_source(function)
        except OSError:
            continue
        for node in ast.walk(ast.Module([tree] if isinstance(tree, ast.FunctionDef) else [], [])):
            refused = REFUSED_ANYWHERE.get(type(node)) if node is not tree else None
            if refused is not None:
                line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
                refusals[Refusal(file, line, column, *refused, lines[line - 1].rstrip())] = None
    return sorted(refusals, key=lambda r: (r.file, r.line, r.column))


REFUSED_ANYWHERE: dict[type[ast.AST], tuple[str, str]] = {
    **statements.UNSUPPORTED,
    **{kind: UNSUPPORTED[kind] for kind in (ast.NamedExpr, ast.JoinedStr, ast.ListComp, ast.Await, ast.Yield)},
}
"""What is refused wherever it stands, with what to write instead."""


def _terminal_formulas(scope: ModelScope) -> tuple[Formula, ...]:
    """Python asks the terminals one after the other, until one holds."""
    formulas: list[Formula] = []
    for terminal in scope.bound.model.terminals:
        any_before = scope.graph.or_(*(f.condition for f in formulas))
        formulas.append(lower_terminal(scope, terminal, unless=any_before))
    return tuple(formulas)


def _told_apart(scope: ModelScope) -> dict[str, frozenset[ToldApart]]:
    return {name: frozenset(how) for name, how in scope.told_apart.items() if how}


def _state_leaves(scope: ModelScope) -> tuple[Leaf, ...]:
    return tuple(Leaf(path, kind) for path, kind in scalar_leaves(scope.type))
