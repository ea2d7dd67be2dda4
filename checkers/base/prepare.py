"""From a model's name and settings to a model that can be run, or one line that says why not."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from reassure.checkers.base.digest import digest
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import UnknownModel, bind, load, settings
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.result import CheckResult, CoverResult, PropertyResult, PropertyStatus
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.frontend.refusals import SubsetError
from reassure.spec.language.types import DomainError
from reassure.spec.language.vocabulary import LanguageError, Model
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ConfigError, ModelError, make_config


def prepare(model: str, pairs: list[str]) -> tuple[BoundModel, LoweredModel, str]:
    """A model ready to be checked, and its digest; `Failure` if it is none, or its configuration is wrong."""
    (bound, lowered), sha = _prepared(model, pairs, bind)
    return bound, lowered, sha


Prepared = TypeVar("Prepared", bound=tuple[BoundModel, Any])


def plain(model: str, pairs: list[str]) -> tuple[BoundModel, str]:
    """A model ready to be run by plain Python alone, and its digest; `Failure` as of `prepare`."""
    (bound, _), sha = _prepared(
        model, pairs, lambda loaded, chosen: (BoundModel(loaded, make_config(loaded, chosen)), None)
    )
    return bound, sha


def _prepared(model: str, pairs: list[str], bind: Callable[[Model, dict[str, Any]], Prepared]) -> tuple[Prepared, str]:
    try:
        loaded = load(model)
        made = bind(loaded, settings(loaded, pairs))
        why = _without_start(made[0])
    except UnknownModel as error:
        raise Failure(Exit.USAGE, str(error)) from None
    except ConfigError as error:
        raise Failure(Exit.CONFIG, str(error)) from None
    except SubsetError as error:
        count = len(error.refusals)
        raise Failure(Exit.MODEL, f"{count} construct{'s' * (count > 1)} outside the language\n{error}") from None
    except (LanguageError, DomainError, ModelError) as error:
        raise Failure(Exit.MODEL, str(error)) from None
    if why:
        raise Failure(Exit.NOTHING, f"{loaded.name} has no initial state: {why}")
    return made, digest(loaded)


def _without_start(bound: BoundModel) -> str:
    """Why there is no initial state, if there is none: everything is true of no state."""
    why = f"{', '.join(i.name for i in bound.model.initials)} requires what is never so"
    for declared, _, state in bound.initial_states():
        if not isinstance(state, Clipped):
            return ""
        why = f"{declared.name} leaves the bound of {state.path}: {state.message}"
    return why


def open_results(bound: BoundModel, options: SearchOptions, result: CheckResult) -> None:
    """Lists every property and cover that is asked for, undecided."""
    result.properties = [
        PropertyResult(p.name, p.kind, PropertyStatus.UNKNOWN) for p in bound.properties if options.wants(p.name)
    ]
    if bound.model.deadlock and options.wants("deadlock"):
        result.properties.append(PropertyResult("deadlock", "deadlock", PropertyStatus.UNKNOWN))
    result.covers = [CoverResult(p.name) for p in bound.covers if options.wants(p.name)]


def must_match(bound: BoundModel, claimed: list[str], options: SearchOptions) -> None:
    """Each pattern of `--property` names something: one that does not must not hide behind the others."""
    for pattern in options.properties:
        if not any(fnmatchcase(name, pattern) for name in claimed):
            idle = any(fnmatchcase(p.name, pattern) for p in bound.not_applicable)
            why = f"{pattern} does not apply to this configuration" if idle else f"it has {', '.join(claimed)}"
            covers = [p.name for p in bound.covers if fnmatchcase(p.name, pattern)]
            if covers and not idle:
                decided = "`reassure check` does, and `reassure find --prove` proves that none is reached"
                why = f"{', '.join(covers)} is a cover, which this command does not decide: {decided}; {why}"
            raise Failure(Exit.NOTHING, f"no property of {bound.model.name} matches {pattern}; {why}")
