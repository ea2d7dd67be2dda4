"""The lowering of a whole model to the typed graph of `ir.py`.

`lower_model(bound)` walks every function reachable from an action or a claim, names resolved by object. It either
refuses (all refusals in one go, `SubsetError`) or returns what each engine translates: a model that can be lowered is
one that every engine accepts. Records, optionals and loops over finite sorts are gone by then.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Mapping
from functools import partial
from types import FunctionType

from reassure.spec.frontend.context import ModelScope
from reassure.spec.frontend.declarations import (
    lower_action,
    lower_initial,
    lower_state_claim,
    lower_step_claim,
    lower_terminal,
)
from reassure.spec.frontend.expressions import CONSTRUCTS
from reassure.spec.frontend.introspection import Definition
from reassure.spec.frontend.leaves import scalar_leaves
from reassure.spec.frontend.lowered_model import Formula, Leaf, LoweredAction, LoweredModel, ToldApart
from reassure.spec.frontend.refusals import Refusal, SubsetError
from reassure.spec.frontend.watching import refuse_unwatched
from reassure.spec.language.annotations import AnyNumber
from reassure.spec.semantics.interpreter import BoundModel


def lower_model(
    bound: BoundModel,
    switches: bool = False,
    any_number: AnyNumber | None = None,
    wants: Callable[[str], bool] = lambda name: True,
) -> LoweredModel:
    """The model in the form that engines translate; raises `SubsetError` with every refusal.

    Raises `LanguageError` if an action can change what a property watches that is not about it. switches: each guard of
    the text can be left out; what is watched has been judged with the guards then. any_number: the configuration with
    its free numbers; then the model has those properties of states and steps that `wants` accepts, and what they watch
    was judged.
    """
    scope = ModelScope(bound, CONSTRUCTS, switches, any_number=any_number)
    model, claims = bound.model, [*bound.properties, *bound.covers]
    if any_number is not None:
        claims = [p for p in bound.properties if not p.temporal and wants(p.name)]
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


__all__ = ["check", "lower_model", "with_changed"]
