"""The models that a model is a variant of, and the claims that it declares otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from reassure.spec.language.vocabulary import Model


def replaced_claims(model: Model) -> dict[str, str]:
    """The claims of a variant that take the place of others of their names, each with the model whose claim it was."""
    claims = {claim.name: claim for claim in model.properties}
    return {
        old.name: base.name
        for base in _bases(model, {id(model)})
        for old in base.properties
        if old.name in claims and claims[old.name] is not old
    }


def _bases(model: Model, seen: set[int]) -> Iterator[Model]:
    """The models that the modules of a variant name and that share declarations with it, the nearest first."""
    declared = {id(declaration) for declaration in model.declarations()}
    for value in list(vars(sys.modules.get(model.module, sys)).values()):
        for base in _models(value):
            if id(base) not in seen and any(id(d) in declared for d in base.declarations()):
                seen.add(id(base))
                yield base
                yield from _bases(base, seen)


def _models(value: Any) -> list[Model]:
    if isinstance(value, Model):
        return [value]
    return [v for v in vars(value).values() if isinstance(v, Model)] if isinstance(value, ModuleType) else []
