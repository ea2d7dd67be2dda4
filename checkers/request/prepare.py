"""From a model's name and settings to a model that can be run, or one line that says why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.digest import digest_and_modules
from reassure.checkers.request.import_file import changed_since_import
from reassure.checkers.request.model_loader import config_values, load_model, settings
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.outside_values import values_digest
from reassure.spec.frontend.introspection import SubsetError, TooLarge
from reassure.spec.language.annotations import FieldErrors
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import DomainError
from reassure.spec.language.vocabulary import LanguageError, Model, Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ConfigError, ModelError, make_config
from reassure.spec.semantics.trace import PlainConfig

if TYPE_CHECKING:
    from reassure.spec.frontend.lowered_model import LoweredModel

MoreClaims = Callable[[Model], tuple[Property, ...]]
"""Claims about a model beside its own."""


@dataclass(frozen=True)
class Prepared:
    """A model under a configuration, ready for every engine.

    sha256: the digest of its meaning. source: the name or path that it was asked for by. settings: KEY=VALUE, as they
    were given.
    """

    bound: BoundModel
    sha256: str = ""
    source: str = ""
    settings: tuple[str, ...] = ()
    restricted: LoweredModel | None = None
    """The lowered model with some claims only; None: with all of them."""
    kept: Any = None
    """What an engine keeps of the model's translation from one run to the next (its `facts`, None: nothing so far)."""

    @cached_property
    def lowered(self) -> LoweredModel:
        """The model in the form that engines translate. Raises `SubsetError` if it is outside of the language."""
        if self.restricted is not None:
            return self.restricted
        from reassure.spec.frontend.lowering import lower_model  # which a model that was translated before is not

        return lower_model(self.bound)

    @cached_property
    def values_sha256(self) -> str:
        """The digest of the values that the model reaches: its text does not say those from outside of it."""
        return values_digest(self.bound)

    @property
    def config(self) -> PlainConfig:
        """The configuration as plain JSON values."""
        return config_values(self.bound.config)

    def only(self, wants: Callable[[str], bool]) -> Prepared:
        """The same model, in which no other claims are evaluated than those that are wanted."""
        return replace(self, restricted=self.lowered.only(wants))


def prepare(
    model: str,
    pairs: list[str],
    translated: bool = True,
    claims: MoreClaims | None = None,
    known: Callable[[Prepared], Any] = lambda prepared: None,
) -> Prepared:
    """A model ready to be checked; `Failure` if there is none, or its configuration is wrong.

    translated: for an engine that translates it; otherwise `restricted` is None if it is too large for that. claims:
    beside its own. known: finds what is kept of its translation (`Prepared.kept`); with facts, it is not translated.
    """
    lower = (lambda prepared: prepared.lowered) if translated else _lowered_if_small
    return _prepared(model, pairs, lower, claims, known)


def _lowered_if_small(prepared: Prepared) -> None:
    try:
        _ = prepared.lowered
    except TooLarge:
        if any(p.watches for p in prepared.bound.properties):
            raise  # whether other actions change what they watch is read off the translation


def prepare_plain(model: str, pairs: list[str]) -> tuple[BoundModel, str]:
    """A model ready to be run by plain Python alone, inside the language or not, and its digest."""
    prepared = _prepared(model, pairs, lambda prepared: None)
    return prepared.bound, prepared.sha256


def _prepared(
    model: str,
    pairs: list[str],
    lower: Callable[[Prepared], Any],
    claims: MoreClaims | None = None,
    known: Callable[[Prepared], Any] = lambda prepared: None,
) -> Prepared:
    try:
        loaded = load_model(model)
        loaded = replace(loaded, properties=(*loaded.properties, *claims(loaded))) if claims else loaded
        bound = BoundModel(loaded, make_config(loaded, settings(loaded, pairs)))
        sha, modules = digest_and_modules(loaded)
        prepared = Prepared(bound, sha, model, tuple(pairs))
        if (kept := known(prepared)) is None or kept.facts is None:
            lower(prepared)
        reason = without_start(bound)
    except SystemExit as error:  # of its Config or a `when`, which are Python of any kind
        raise Failure(Exit.MODEL, f"{loaded.name} ends the interpreter: SystemExit: {error}") from None
    except ConfigError as error:
        raise Failure(Exit.CONFIG, str(error)) from None
    except TooLarge as error:
        raise Failure(Exit.MODEL, f"the model is too large to be translated\n{error}") from None
    except SubsetError as error:
        count = len(error.refusals)
        raise Failure(Exit.MODEL, f"{count} construct{'s' * (count > 1)} outside the language\n{error}") from None
    except FieldErrors as error:  # with what else is refused
        from reassure.spec.frontend.lowering import all_refused

        problems, refusals = all_refused(loaded, error, settings(loaded, pairs))
        raise Failure(Exit.MODEL, "\n".join([*problems, *map(str, refusals)])) from None
    except (LanguageError, DomainError, ModelError) as error:
        raise Failure(Exit.MODEL, str(error)) from None
    if reason:
        raise Failure(Exit.NOTHING, f"{loaded.name} has no initial state: {reason}")
    if (changed := changed_since_import(modules)) is not None:  # its functions are of one text, their syntax of another
        raise Failure(Exit.SYSTEM, f"{changed} was changed while it was read: run the command again")
    return replace(prepared, restricted=prepared.__dict__.get("lowered"), kept=kept)


def without_start(bound: BoundModel) -> str:
    """The reason why there is no initial state, "" if there is one: every property holds of no state."""
    reason = f"{', '.join(i.name for i in bound.model.initials)} requires what is never so"
    for declared, _, state in bound.initial_states():
        if not isinstance(state, Clipped):
            return ""
        reason = f"{declared.name} leaves the bound of {state.path}: {state.message}"
    return reason


def must_match(bound: BoundModel, names: list[str], options: SearchOptions) -> None:
    """Each pattern of `--property` matches a name: one that matches none must not hide behind the others."""
    for pattern in options.properties:
        if not any(fnmatchcase(name, pattern) for name in names):
            idle = any(fnmatchcase(p.name, pattern) for p in bound.not_applicable)
            why = f"{pattern} does not apply to this configuration" if idle else f"it has {', '.join(names)}"
            others = [p.name for p in bound.properties if fnmatchcase(p.name, pattern)]
            if others and not idle:
                judged = ", ".join(names) or "none"
                what = f"this command does not judge properties of the kind of {', '.join(others)}"
                raise Failure(Exit.NOTHING, f"{what}; of those of {bound.model.name} it judges {judged}")
            covers = [p.name for p in bound.covers if fnmatchcase(p.name, pattern)]
            if covers and not idle:
                decided = "`reassure check` decides covers, and `reassure find --prove` proves that none is reached"
                why = f"{', '.join(covers)} is a cover: {decided}. Properties: {why}"
            raise Failure(Exit.NOTHING, f"no property of {bound.model.name} matches {pattern}; {why}")
