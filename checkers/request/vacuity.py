"""Claims that say nothing, whatever the model does: true of every state, or about no configuration."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from reassure.spec.frontend.introspection import find_source, hints_of
from reassure.spec.frontend.lowered_model import Formula, LoweredModel
from reassure.spec.language.annotations import resolve
from reassure.spec.language.types import Range, Type
from reassure.spec.language.vocabulary import Model, Property
from reassure.spec.semantics.interpreter import BoundModel

MOST_VALUES = 10_000
"""Configurations, as far as a `when` reads them, of which it is asked at most."""
TRUE_OF_EVERYTHING = "true of every state and step, whatever the model does"
NOWHERE = "its `when` is true of no configuration"


def vacuous_claims(bound: BoundModel, lowered: LoweredModel | None) -> dict[str, str]:
    """The claims that say nothing, with the reason.

    A claim whose translation is the constant true says nothing if its text reads no state, or if it takes the place of
    a claim of the model that this is a variant of. Others depend on the configuration: in another they may be false.
    lowered: with all claims; None if the model is too large to be translated.
    """
    reasons = {claim.name: NOWHERE for claim in bound.not_applicable if never_applies(claim, bound.model)}
    constant = _constantly_true(lowered) if lowered is not None else set()
    replaced = replaced_claims(bound.model) if constant else {}
    for claim in bound.properties:
        if claim.name in constant and (claim.name in replaced or not _reads_states(claim)):
            reasons[claim.name] = TRUE_OF_EVERYTHING
    return reasons


def replaced_claims(model: Model) -> dict[str, str]:
    """The claims of a variant that take the place of others of their names, each with the model whose claim it was.

    In a variant of a variant, that is the first of the models whose claim of this name is another.
    """
    claims = {claim.name: claim for claim in model.properties}
    lineage = [model]
    while (base := lineage[0].base) is not None:
        lineage.insert(0, base)
    origins: dict[str, str] = {}
    for ancestor in lineage:
        for old in ancestor.properties:
            if claims.get(old.name, old) is not old:
                origins.setdefault(old.name, ancestor.name)
    return origins


def _constantly_true(lowered: LoweredModel) -> set[str]:
    """The claims whose translations are the constant true, of every action; of a leads-to, its goal."""
    formulas: dict[str, list[Formula]] = {}
    for formula in (*lowered.state_formulas, *(f for of_action in lowered.step_formulas for f in of_action)):
        formulas.setdefault(formula.name, []).append(formula)
    true = lowered.graph.true
    return {
        name
        for name, all_of_it in formulas.items()
        if all((f.condition if f.goal is None else f.goal) is true and not f.checks for f in all_of_it)
    }


def _reads_states(claim: Property) -> bool:
    """Whether the text of a claim names a state, or the configuration, that it is given."""
    function: Any = claim.goal or claim.function
    try:
        tree, _, _ = find_source(function)
    except OSError:
        return True
    given = {a.arg for a in (*tree.args.args, *tree.args.kwonlyargs)}
    body = [tree.body] if isinstance(tree.body, ast.expr) else tree.body
    return any(isinstance(n, ast.Name) and n.id in given for part in body for n in ast.walk(part))


def never_applies(claim: Property, model: Model) -> bool:
    """Whether the `when` of a claim is true of no values of the settings that it reads.

    False where nobody can say so: it raises, or there are more than `MOST_VALUES` values to try.
    """
    if claim.when is None:
        return False
    types = _types(model)
    open_values: list[dict[str, Any]] = [{}]
    for _ in range(MOST_VALUES):
        if not open_values:
            return True
        values = open_values.pop()
        try:
            if claim.when(_partial_configuration(model.config, values)):
                return False
        except _Unread as unread:
            if unread.name not in types:
                return False
            open_values += [{**values, unread.name: value} for value in types[unread.name].values()]
        except Exception:  # the model is refused for it, if this configuration is asked for
            return False
    return False


def settings_read(when: Callable[[Any], bool], config: Any) -> set[str]:
    """The settings of a configuration that a `when` reads: while others vary, it says the same."""
    read = set[str]()

    def note(self: Any, name: str) -> Any:
        read.add(name)
        return getattr(config, name)

    when(object.__new__(type(type(config).__name__, (type(config),), {"__getattribute__": note})))
    return read


def _types(model: Model) -> dict[str, Type]:
    """The types of the settings, but for those whose range depends on another setting."""
    hints, defaults = hints_of(model.config), model.config()
    names = [f.name for f in dataclasses.fields(model.config)]
    return {name: resolve(hints[name], defaults) for name in names if not _depends(hints[name])}


def _depends(hint: Any) -> bool:
    ranges = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, Range)]
    return any(not isinstance(end, int) for note in ranges for end in (note.low, note.high))


class _Unread(Exception):
    """A setting was read that has no value yet."""

    def __init__(self, name: str) -> None:
        self.name = name


def _partial_configuration(config: type, values: Mapping[str, Any]) -> Any:
    """A configuration with some of its settings: to read another raises `_Unread`."""
    settings = {f.name for f in dataclasses.fields(config)}

    def read(self: Any, name: str) -> Any:
        if name not in settings:
            return object.__getattribute__(self, name)
        if name not in values:
            raise _Unread(name)
        return values[name]

    return object.__new__(type(config.__name__, (config,), {"__getattribute__": read}))
