"""What of a mutant is its own: all else is the same object as in the model that it varies, and compared there."""

from __future__ import annotations

import importlib
from dataclasses import replace
from types import ModuleType

from reassure.spec.language.vocabulary import Declaration, Model


def module_of(mutant: str) -> ModuleType:
    """The module of a mutant."""
    return importlib.import_module(f"reassure.models.mutants.{mutant}")


def settings_of(mutant: str) -> list[str]:
    """The settings that a mutant names for itself: those with which its `BREAKS` were found."""
    return list(getattr(module_of(mutant), "SETTINGS", ()))


def breaks(mutant: str) -> dict[str, int]:
    """The properties that fall by the flaw of a mutant, with the number of states of the shortest traces."""
    found: dict[str, int] = module_of(mutant).BREAKS
    return found


def own_declarations(mutant: str) -> list[Declaration]:
    """The declarations that a mutant does not share with the model that it is a variant of."""
    module = module_of(mutant)
    originals = [v.MODEL for v in vars(module).values() if isinstance(v, ModuleType) and hasattr(v, "MODEL")]
    assert originals, f"{mutant} is a variant of no model that it imports"
    shared = {id(d) for model in originals for d in model.declarations()}
    return [d for d in module.MODEL.declarations() if id(d) not in shared]


def flawed_part(mutant: str) -> Model:
    """A mutant without the actions that it shares, and without claims that are not about steps of the others."""
    model: Model = module_of(mutant).MODEL
    own = {id(d) for d in own_declarations(mutant)}
    actions = tuple(a for a in model.actions if id(a) in own)
    claims = tuple(p for p in model.properties if p.over_steps and all(a in actions for a in p.on))
    return replace(model, actions=actions, properties=claims, terminals=())
