"""Claims that say nothing, whatever the model does: true of every state, or about no configuration.

Also here: the meaning of a claim, as a digest of its text, of the functions that it calls, and of what it is about.

Comments, formatting and docstrings do not count; nor do annotations, since the counts of a search show another state.
The fairness of actions is part of a claim about whole runs, the terminal states are part of "deadlock", and the
function that makes a view is part of a claim over it.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from functools import lru_cache, partial
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from reassure.checkers.request.digest import LANGUAGE, source, words_of
from reassure.spec.frontend.introspection import cached_hints, find_source, methods_named
from reassure.spec.language.annotations import resolve
from reassure.spec.language.types import Range, Type
from reassure.spec.language.vocabulary import Action, Model, Property
from reassure.spec.semantics.interpreter import BoundModel

if TYPE_CHECKING:
    from reassure.spec.frontend.lowered_model import Formula, LoweredModel

MOST_VALUES = 10_000
"""Configurations, as far as a `when` reads them, of which it is asked at most."""
TRUE_OF_EVERYTHING = "true of every state and step, whatever the model does"
NOWHERE = "its `when` is true of no configuration"


def vacuous_claims(bound: BoundModel, lowered: LoweredModel | None, constant: Collection[str] = ()) -> dict[str, str]:
    """The claims that say nothing, with the reason.

    A claim whose translation is the constant true says nothing if its text reads no state, or if it takes the place of
    a claim of the model that this is a variant of. Others depend on the configuration: in another they may be false.
    lowered: with all claims; None if the model is too large to be translated, or was translated before: then constant
    has the names of the claims that are the constant true.
    """
    reasons = {claim.name: NOWHERE for claim in bound.not_applicable if never_applies(claim, bound.model)}
    if lowered is not None:
        constant = constantly_true(lowered)
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


def constantly_true(lowered: LoweredModel) -> set[str]:
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
    open_values: list[dict[str, object]] = [{}]
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
    hints, defaults = cached_hints(model.config), model.config()
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


DIGITS = 12
"""Hexadecimal digits of a digest."""


def meanings(bound: BoundModel) -> dict[str, str]:
    """The digest of every claim of a model, applicable or not, by name; "deadlock" is one if the model has it."""
    model = bound.model
    digests = {claim.name: _meaning(claim, bound) for claim in model.properties}
    if model.deadlock:
        digests["deadlock"] = _sha256(_digest(t.function, model.config) for t in model.terminals)
    return digests


def _meaning(claim: Property, bound: BoundModel) -> str:
    function: Any = claim.function
    config = bound.model.config
    words = [claim.kind, _digest(function, config), *sorted(claim.tags), *sorted(a.name for a in claim.on)]
    words += [f"watches {name}" for name in sorted(claim.watches or ())]
    words += [
        f"{what} {_digest(f, config)}" for what, f in (("when", claim.when), ("goal", claim.goal)) if f is not None
    ]
    kinds = [kind for kind in cached_hints(function).values() if isinstance(kind, type)]
    words += [f"view {_digest(bound.views[kind], config)}" for kind in kinds if kind in bound.views]
    if claim.temporal:
        words += _fairness(bound.model)
    return _sha256(words)


def _fairness(model: Model) -> list[str]:
    return sorted(f"{a.fair} {a.name} {' '.join(a.fair_each)}" for a in model.actions if a.fair)


def _sha256(words: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:DIGITS]


@lru_cache(4096)
def _digest(function: Any, config: type) -> str:
    """The digest of a function's text and of what its names mean."""
    return _sha256(_of_function(function, config, set()))


def _of_function(function: Any, config: type, seen: set[Any]) -> Iterator[str]:
    if function in seen:
        return
    seen.add(function)
    if isinstance(function, partial):
        yield from _of_value(function.func, config, seen)
        yield repr((function.args, sorted(function.keywords.items())))
        return
    try:
        tree, _, _ = find_source(function)
    except (OSError, TypeError):
        yield f"{function.__module__}.{function.__qualname__}"
        return
    names = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]
    body: list[ast.AST] = [tree.body] if isinstance(tree.body, ast.expr) else [*tree.body]
    yield " ".join(names)
    yield words_of(body)
    for default in function.__defaults__ or ():
        yield from _of_value(default, config, seen)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    known = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}
    nodes = [node for statement in body for node in ast.walk(statement)]
    for node in nodes:
        value = _value(node, known)
        if value is not None:
            yield from _of_value(value, config, seen)
    if isinstance(function, FunctionType):
        attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        for method in methods_named(function, attributes, config):
            yield from _of_function(method, config, seen)


@lru_cache(1024)
def _has_known_meaning(module: str) -> bool:
    """Whether a function's name says it all: it is of the language, or of a library."""
    return module.startswith(f"{LANGUAGE}.language") or source(module) is None


def _value(node: ast.AST, known: Mapping[str, object]) -> Any:
    """The object that a name, or a name in a module, stands for outside of the function; None for others."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute):
        base = _value(node.value, known)
        return getattr(base, node.attr, None) if isinstance(base, ModuleType | type) else None
    return None


def _of_value(value: Any, config: type, seen: set[Any]) -> Iterator[str]:
    if isinstance(value, FunctionType | partial):
        if isinstance(value, FunctionType) and _has_known_meaning(value.__module__):
            yield value.__qualname__
        else:
            yield from _of_function(value, config, seen)
    elif isinstance(value, Action):
        yield f"action {value.name}"
    elif isinstance(value, type):
        yield f"class {value.__name__} {[m.name for m in value] if issubclass(value, Enum) else ''}"
    elif isinstance(value, frozenset):
        yield repr(sorted(map(repr, value)))
    elif isinstance(value, tuple):
        for item in value:
            yield from _of_value(item, config, seen)
    elif not isinstance(value, ModuleType):
        yield repr(value) if isinstance(value, int | str | Enum) or value is None else type(value).__name__
