"""The whole lowered graph of a model in words, to compare models with."""

from __future__ import annotations

import dataclasses
from typing import Any

from reassure.spec.frontend.lowered_model import Formula, LoweredAction
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.language.types import EnumType, Type
from reassure.spec.language.vocabulary import Action, Property
from reassure.spec.semantics.interpreter import BoundModel


def graph_words(bound: BoundModel) -> list[Any]:
    """Types, initial states, actions, claims and terminals as engines get them, and what the graph lacks."""
    model, declared = lower_model(bound), bound.model
    return [
        [(leaf.path, _type(leaf.type)) for leaf in model.leaves],
        [_step(step) for step in (*model.initials, *model.actions)],
        [_formula(formula) for formula in (*model.state_formulas, *model.terminal_formulas)],
        [[_formula(formula) for formula in formulas] for formulas in model.step_formulas],
        sorted((name, sorted(map(str, how))) for name, how in model.told_apart.items()),
        [_fields(d) for d in (*declared.actions, *declared.properties)],
        dataclasses.asdict(bound.config),
        [claim.name for claim in bound.not_applicable],
        declared.deadlock,
    ]


def _type(kind: Type) -> Any:
    members = [m.name for m in kind.sort] if isinstance(kind, EnumType) else None
    return str(kind), members, getattr(kind, "count", None), getattr(kind, "declared", None)


def _step(step: LoweredAction) -> list[Any]:
    parameters = [(p.name, _type(p.type), repr(p.leaves), repr(p.drawn), p.most) for p in step.parameters]
    clips = [(c.path, repr(c.condition), c.declared) for c in step.clips]
    return [step.name, parameters, [(c.kind, repr(c.condition)) for c in step.checks], clips, repr(step.next_leaves)]


def _formula(formula: Formula) -> list[Any]:
    return [formula.name, repr(formula.condition), [repr(c.condition) for c in formula.checks], repr(formula.goal)]


def _fields(declared: Action | Property) -> list[Any]:
    if isinstance(declared, Action):
        return [declared.name, declared.fair, declared.fair_each, sorted(declared.tags), declared.weight, declared.who]
    return [declared.name, declared.kind, [a.name for a in declared.on], sorted(declared.tags), declared.watches]
