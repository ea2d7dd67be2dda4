"""The vocabulary a protocol is written in: actions, properties, models and their variants.

A model is frozen dataclasses over finite types (`spec.language.types`) and plain functions over them. CPython
running those functions is the meaning of the model; every engine is a translation of it.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import field
from types import FunctionType
from typing import Any

from reassure.spec.language.declarations import (
    FAIRNESS,
    TEMPORAL,
    Action,
    Declaration,
    F,
    Initial,
    LanguageError,
    Property,
    Terminal,
    action,
    cover,
    eventually_always,
    fields_without_default,
    infinitely_often,
    initial,
    invariant,
    leads_to,
    step_property,
    terminal,
)
from reassure.spec.language.guards import GuardRefused, refuse, require, some
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.watching import unknown_field

replace = dataclasses.replace


@dataclass(frozen=True)
class Model:
    """A protocol: state and configuration classes, initial states, actions, claims.

    views: functions of the state whose result's class other properties are written over, so that one
    promise is checked on many protocols. deadlock=False: a state with nothing enabled is not reported. base: of a
    variant, the model that it was made of.
    """

    name: str
    state: type
    config: type
    initials: tuple[Initial, ...]
    actions: tuple[Action, ...]
    properties: tuple[Property, ...]
    terminals: tuple[Terminal, ...] = ()
    views: tuple[F, ...] = ()
    deadlock: bool = True
    module: str = ""
    base: Model | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        module: str,
        *,
        state: type,
        config: type,
        views: Iterable[F] = (),
        deadlock: bool = True,
        parts: Iterable[str] = (),
        shared: Iterable[Property] = (),
    ) -> Model:
        """The model made of everything declared in a module so far: `MODEL = Model.of(__name__, ...)`.

        `parts` names further modules, all of whose declarations belong to the model and come first. `shared` adds
        properties declared elsewhere. Nothing declared can be forgotten.
        """
        files = [*parts, module]
        declared = [d for file in files for d in declared_in(file)]
        for file in files:
            _none_hidden(file)
        return cls._build(
            module.rsplit(".", 1)[-1], state, config, [*declared, *shared], tuple(views), deadlock, module
        )

    @classmethod
    def _build(
        cls, name: str, state: type, config: type, declared: Iterable[Declaration], views: tuple[F, ...],
        deadlock: bool, module: str,
    ) -> Model:  # fmt: skip
        everything = list(declared)
        _none_hidden(module)
        model = cls(
            name, state, config,
            tuple(d for d in everything if isinstance(d, Initial)),
            tuple(d for d in everything if isinstance(d, Action)),
            tuple(d for d in everything if isinstance(d, Property)),
            tuple(d for d in everything if isinstance(d, Terminal)), views, deadlock, module,
        )  # fmt: skip
        model._check()
        return model

    def _check(self) -> None:
        if not self.initials:
            raise LanguageError(f"model {self.name} has no initial state: write one @initial function")
        if not self.actions:
            raise LanguageError(f"model {self.name} has no action")
        for cls, what in ((self.state, "state"), (self.config, "configuration")):
            made = getattr(cls, "__dataclass_params__", None)
            if made is None or not made.frozen:
                raise LanguageError(f"{cls.__name__}, the {what}, must be a frozen dataclass: @dataclass(frozen=True)")
        seen: set[str] = set()
        for d in self.declarations():
            if d.name in seen:
                raise LanguageError(f"model {self.name} declares {d.name!r} twice; use replacing()")
            seen.add(d.name)
        names = {a.name for a in self.actions}
        for p in self.properties:
            missing = [a.name for a in p.on if a.name not in names]
            if missing:
                raise LanguageError(f"{p.name} is about {', '.join(missing)}, no action of {self.name}")
            if why := unknown_field(p.function, p.watches or (), self.state):
                raise LanguageError(f"{p.name} watches {why}")

    def declarations(self) -> Iterator[Declaration]:
        yield from self.initials
        yield from self.actions
        yield from self.properties
        yield from self.terminals

    def replacing(
        self, *changed: Declaration | FunctionType, state: type | None = None, config: type | None = None
    ) -> Model:
        """A variant in which each given declaration takes the place of the one with its name.

        A plain function, a rule, takes the place of the function of its name that actions and initial functions call;
        properties keep theirs. `state` may be a dataclass that extends this model's with defaulted fields, and `config`
        likewise. Raises `LanguageError` if there is nothing of that name and kind.
        """
        rules = [d for d in changed if isinstance(d, FunctionType)]
        declared = [d for d in changed if not isinstance(d, FunctionType)]
        _declared_only(declared)
        new = {d.name: d for d in declared}
        old = {d.name: d for d in self._with_rules(rules)}
        for name, d in new.items():
            if type(old.get(name)) is not type(d):
                kind = type(d).__name__.lower()
                have = ", ".join(o.name for o in self.declarations() if type(o) is type(d))
                raise LanguageError(f"{self.name} has no {kind} {name!r} to replace; it has {have}")
        return self._vary([new.get(name, d) for name, d in old.items()], state, config)

    def _with_rules(self, rules: list[FunctionType]) -> list[Declaration]:
        """The declarations, with rules in the place of functions that actions and initial functions call."""
        steps: list[Any] = [*self.initials, *self.actions]
        if rules:
            from reassure.spec.language.variants import RuleMisfit, with_rule
        else:
            return [*self.declarations()]
        try:
            for rule in rules:
                steps = with_rule(steps, rule)
        except RuleMisfit as misfit:
            raise LanguageError(str(misfit)) from None
        return [*steps, *self.properties, *self.terminals]

    def guarded(self, action: Action | str, condition: F) -> Model:
        """A variant in which an action is enabled only where a condition holds too: it forbids steps and adds none.

        condition: of the state, and by their names of the action's parameters; of the configuration under any name. It
        is evaluated before the action.
        Raises `LanguageError` for an unknown action or parameter.
        """
        from reassure.spec.language.variants import why_no_guard

        old = self._action(action)
        if why := why_no_guard(old.function, condition, self.config):
            raise LanguageError(f"{old.name} guarded by {getattr(condition, '__name__', condition)}: {why}")
        new = replace(old, guards=(*old.guards, condition))
        return self._vary([new if d is old else d for d in self.declarations()], None, None)

    def fair(self, **fairness: str | None) -> Model:
        """A variant with another fairness of actions: `MODEL.fair(grant="weak", win="strong", crash=None)`.

        `fair_each` stays, unless the action is no longer fair. Raises `LanguageError` for an unknown name or fairness.
        """
        new = {}
        for name, fair in fairness.items():
            if fair not in FAIRNESS:
                raise LanguageError(f'{name} is fair=None, "weak" or "strong", not {fair!r}')
            old = self._action(name)
            new[old.name] = replace(old, fair=fair, fair_each=old.fair_each if fair else ())
        return self._vary([new.get(d.name, d) for d in self.declarations()], None, None)

    def _action(self, action: Action | str) -> Action:
        name = action if isinstance(action, str) else getattr(action, "name", repr(action))
        for known in self.actions:
            if known.name == name:
                return known
        raise LanguageError(f"{self.name} has no action {name!r}; it has {', '.join(a.name for a in self.actions)}")

    def adding(self, *more: Declaration, state: type | None = None, config: type | None = None) -> Model:
        """A variant with further actions, properties, initial states; names must be new."""
        _declared_only(more)
        return self._vary([*self.declarations(), *more], state, config)

    def without(self, *names: str) -> Model:
        """A variant that lacks the named declarations (`LanguageError` for an unknown name)."""
        unknown = set(names) - {d.name for d in self.declarations()}
        if unknown:
            raise LanguageError(f"{self.name} has no {', '.join(sorted(unknown))} to leave out")
        return self._vary([d for d in self.declarations() if d.name not in names], None, None)

    def _vary(self, declared: list[Declaration], state: type | None, config: type | None) -> Model:
        # The caller's module names the variant: a variant is one new file.
        frame = inspect.currentframe()
        caller = frame.f_back.f_back if frame and frame.f_back else None
        module = caller.f_globals.get("__name__", self.module) if caller else self.module
        for new, old, what in ((state, self.state, "state"), (config, self.config, "config")):
            if new is not None and not issubclass(new, old):
                raise LanguageError(f"a variant's {what} class must extend {old.__name__}")
            if new is not None and (bare := set(fields_without_default(new)) - set(fields_without_default(old))):
                raise LanguageError(f"{new.__name__}.{min(bare)} needs a default, for the states of {old.__name__}")
        model = Model._build(
            module.rsplit(".", 1)[-1], state or self.state, config or self.config, declared, self.views, self.deadlock,
            module,
        )  # fmt: skip
        return replace(model, base=self)


def _declared_only(declared: Iterable[object]) -> None:
    """Raises `LanguageError` for a value that is not a declaration."""
    for d in declared:
        if not isinstance(d, Declaration):
            name = getattr(d, "__name__", repr(d))
            raise LanguageError(f"{name} is no action, property or initial function: write its decorator")


UNFINISHED = {name + ".<locals>.declare" for name in ("action", "leads_to", "_declare")}
"""Names of the functions that a decorator leaves behind if it is written without its arguments."""


def _none_hidden(module: str) -> None:
    """Raises `LanguageError` for what a module declares and then hides, or declares by half."""
    namespace = vars(sys.modules[module])
    for d in namespace.get("__declared__", ()):
        if namespace.get(d.name) is not d:
            line = d.function.__code__.co_firstlineno
            raise LanguageError(f"{d.name} of line {line} is hidden by another definition of that name: rename one")
    for spelt, value in namespace.items():
        if getattr(value, "__qualname__", None) in UNFINISHED:
            raise LanguageError(f"{spelt} is not declared: write its decorator with arguments, as @leads_to(goal)")


def declared_in(module: str) -> list[Declaration]:
    """The declarations of a module itself, each once, in order."""
    found = [v for v in vars(sys.modules[module]).values() if isinstance(v, Declaration) and _home(v) == module]
    return list({id(d): d for d in found}.values())


def _home(declared: Declaration) -> str:
    return str(declared.function.__module__)


__all__ = [
    "TEMPORAL", "Action", "Declaration", "GuardRefused", "Initial", "LanguageError", "Model", "Property", "Terminal",
    "action", "cover", "eventually_always", "infinitely_often", "initial", "invariant", "leads_to", "refuse", "replace",
    "require", "some", "step_property", "terminal",
]  # fmt: skip
