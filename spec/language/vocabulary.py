"""The vocabulary a protocol is written in: actions, properties, models and their variants.

A model is frozen dataclasses over finite types (`spec.language.types`) and plain functions over them. CPython
running those functions is the meaning of the model; every engine is a translation of it.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar, overload

from reassure.spec.language.default_values import fields_without_default
from reassure.spec.language.guards import GuardRefused, refuse, require, some
from reassure.spec.language.watching import unknown_field, why_unwatched

F = Callable[..., Any]
replace = dataclasses.replace


class LanguageError(Exception):
    """A model is put together wrongly; the message says what to write instead."""


@dataclass(frozen=True)
class Action:
    """A named, parameterised, guarded step. Two actions are equal when their names are.

    who: the actor, for stories. members: for some parameters, a function of the state that gives the set the
    parameter is drawn from. fair: None, "weak" or "strong", assumed by properties about whole runs. fair_each:
    parameters for each value of which that is assumed separately. tags: kinds of steps that protocols share. weight:
    for random walks.
    """

    name: str
    function: F = field(compare=False)
    who: str = field(compare=False)
    members: MappingProxyType[str, F] = field(compare=False)
    fair: str | None = field(default=None, compare=False)
    tags: frozenset[str] = field(default=frozenset(), compare=False)
    weight: int = field(default=1, compare=False)
    fair_each: tuple[str, ...] = field(default=(), compare=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self.name)


TEMPORAL = ("leads_to", "recurrence", "persistence")
"""Kinds of properties about whole runs, which may never end; they assume the fairness of actions."""


@dataclass(frozen=True)
class Property:
    """A claim. kind: "invariant", "step", "cover" (a goal something must reach), or one of `TEMPORAL`.

    on: the actions a step property or cover is about (empty: every action, or a state).
    when: the configurations it applies to; elsewhere it is listed as not applicable.
    goal: for leads-to, the state that must follow.
    watches: of a step property about some actions, the fields that no other action may change; None: it says nothing.
    """

    name: str
    kind: str
    function: F
    on: tuple[Action, ...] = ()
    tags: frozenset[str] = frozenset()
    when: Callable[[Any], bool] | None = None
    goal: Callable[..., bool] | None = None
    watches: tuple[str, ...] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.function) or ""

    @property
    def temporal(self) -> bool:
        """Whether it is about whole runs, rather than about a state or a step."""
        return self.kind in TEMPORAL

    @cached_property
    def over_steps(self) -> bool:
        """Whether it reads a step (before, after) rather than a state."""
        return "before" in inspect.signature(self.function).parameters


@dataclass(frozen=True)
class Initial:
    """A function that gives initial states: parameters over finite domains, and `require`."""

    name: str
    function: F


@dataclass(frozen=True)
class Terminal:
    """A predicate: a state in which nothing is enabled is not a deadlock if this is true of it."""

    name: str
    function: F


def action(
    *,
    who: str,
    fair: str | None = None,
    fair_each: Iterable[str] = (),
    tags: Iterable[str] = (),
    weight: int = 1,
    **drawn_from: Callable[..., Iterable[Any]],
) -> Callable[[F], Action]:
    """Declare an action: `@action(who="controller", request=lambda s: s.requests)`.

    The function takes the state, optionally the configuration (a parameter annotated with its class),
    and parameters. Each parameter ranges over all values of its annotation, or, if named in
    `drawn_from`, over the members of that set in the state. It returns the next state.

    With `fair_each=("broker",)` the action is fair for each broker: every one gets its turn, not only some.
    Raises `LanguageError` for an unknown fairness or parameter name.
    """
    if fair not in (None, "weak", "strong"):
        raise LanguageError(f'fair is None, "weak" or "strong", not {fair!r}')
    if weight < 1:
        raise LanguageError(f"weight is at least 1, not {weight}")
    if isinstance(fair_each, str):
        raise LanguageError(f"fair_each is a list of parameters: fair_each=[{fair_each!r}]")
    words, each = _words(tags), tuple(dict.fromkeys(fair_each))

    def declare(function: F) -> Action:
        _without_defaults(function)
        unknown = ({*drawn_from, *each}) - set(list(inspect.signature(function).parameters)[1:])
        if unknown:
            raise LanguageError(f"{function.__name__} has no parameter {', '.join(sorted(unknown))}")
        if each and fair is None:
            raise LanguageError(
                f'{function.__name__} has fair_each but is not fair: write fair="weak" or fair="strong"'
            )
        drawn = MappingProxyType(dict(drawn_from))
        return _noted(Action(function.__name__, function, who, drawn, fair, words, weight, each))

    return declare


def _without_defaults(function: Callable[..., Any]) -> None:
    """Raises `LanguageError` for a parameter with a default, which would say nothing: it takes all its values."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not inspect.Parameter.empty:
            raise LanguageError(
                f"{function.__name__} has a default for {parameter.name}: a parameter takes every value of its type"
            )


def initial(function: F) -> Initial:
    """Declare the initial states: `@initial def start(c: Config) -> State`, parameters allowed."""
    _without_defaults(function)
    return _noted(Initial(function.__name__, function))


def terminal(function: F) -> Terminal:
    """Declare where a run may stop: a state with nothing enabled is a deadlock unless this holds."""
    return _noted(Terminal(function.__name__, function))


@overload
def invariant(function: F) -> Property: ...
@overload
def invariant(*, when: Callable[[Any], bool] | None = None) -> Callable[[F], Property]: ...
def invariant(function: F | None = None, *, when: Callable[[Any], bool] | None = None) -> Any:
    """Declare that every reachable state satisfies the function (state, optionally configuration)."""
    return _declare(function, "invariant", when=when)


@overload
def step_property(function: F) -> Property: ...
@overload
def step_property(
    *,
    on: Action | Iterable[Action] = (),
    tags: Iterable[str] = (),
    watches: Iterable[str] | None = None,
    when: Callable[[Any], bool] | None = None,
) -> Callable[[F], Property]: ...
def step_property(
    function: F | None = None,
    *,
    on: Action | Iterable[Action] = (),
    tags: Iterable[str] = (),
    watches: Iterable[str] | None = None,
    when: Callable[[Any], bool] | None = None,
) -> Any:
    """Declare that every step satisfies the function of (before, after).

    It may also name `action: Action` (compare with `==` or `in`), the configuration, and, with `on`,
    parameters of those actions by their names. `on` and `tags` narrow the steps it is about.

    `watches` goes with `tags` (and may with `on`): fields of the state, `"queue.head"` too, that no other action may
    change; `watches=()` for what is promised of a request alone. A model in which another action can is refused.
    """
    return _declare(function, "step", on=on, tags=tags, watches=watches, when=when)


@overload
def cover(function: F) -> Property: ...
@overload
def cover(
    *,
    on: Action | Iterable[Action] = (),
    tags: Iterable[str] = (),
    when: Callable[[Any], bool] | None = None,
) -> Callable[[F], Property]: ...
def cover(
    function: F | None = None,
    *,
    on: Action | Iterable[Action] = (),
    tags: Iterable[str] = (),
    when: Callable[[Any], bool] | None = None,
) -> Any:
    """Declare a goal: some reachable state (or step, as in `step_property`) satisfies the function.

    A goal that nothing reaches makes the run vacuous (exit code 16).
    """
    return _declare(function, "cover", on=on, tags=tags, when=when)


def leads_to(
    goal: Callable[..., bool] | Property, *, when: Callable[[Any], bool] | None = None
) -> Callable[[F], Property]:
    """Declare that in every fair run a state satisfying the function is followed by one satisfying `goal`.

    The same state will do. The goal may be a function or an invariant. `spec/README.md` says which runs are fair.
    Raises `LanguageError` for a goal of another kind.
    """
    if isinstance(goal, Property) and goal.kind != "invariant":
        raise LanguageError(f"{goal.name} is no goal of leads_to: a goal is a function of a state, or an invariant")
    aim = goal.function if isinstance(goal, Property) else goal

    def declare(function: F) -> Property:
        return _noted(Property(function.__name__, "leads_to", function, when=when, goal=aim))

    return declare


@overload
def infinitely_often(function: F) -> Property: ...
@overload
def infinitely_often(*, when: Callable[[Any], bool] | None = None) -> Callable[[F], Property]: ...
def infinitely_often(function: F | None = None, *, when: Callable[[Any], bool] | None = None) -> Any:
    """Declare that every fair run comes back to states that satisfy the function, again and again (recurrence)."""
    return _declare(function, "recurrence", when=when)


@overload
def eventually_always(function: F) -> Property: ...
@overload
def eventually_always(*, when: Callable[[Any], bool] | None = None) -> Callable[[F], Property]: ...
def eventually_always(function: F | None = None, *, when: Callable[[Any], bool] | None = None) -> Any:
    """Declare that in every fair run all states from some point on satisfy the function (persistence)."""
    return _declare(function, "persistence", when=when)


def _declare(
    function: F | None,
    kind: str,
    *,
    on: Action | Iterable[Action] = (),
    tags: Iterable[str] = (),
    watches: Iterable[str] | None = None,
    when: Callable[[Any], bool] | None = None,
) -> Any:
    about = (on,) if isinstance(on, Action) else tuple(on)
    if any(not isinstance(a, Action) for a in about):
        raise LanguageError(f"on is an action or a list of actions, not {on!r}")
    words = _words(tags)
    watched = _field_names(watches)

    def declare(f: F) -> Property:
        if kind == "step" and (why := why_unwatched(bool(about), words, watched)):
            raise LanguageError(f"{f.__name__} {why}")
        return _noted(Property(f.__name__, kind, f, about, words, when, watches=watched))

    return declare if function is None else declare(function)


Declaration = Action | Property | Initial | Terminal
D = TypeVar("D", Action, Property, Initial, Terminal)


def _words(tags: Iterable[str]) -> frozenset[str]:
    if isinstance(tags, str):
        raise LanguageError(f"tags is a list: tags=[{tags!r}]")
    return frozenset(tags)


def _field_names(watches: Iterable[str] | None) -> tuple[str, ...] | None:
    if isinstance(watches, str):
        raise LanguageError(f"watches is a list: watches=[{watches!r}]")
    names = None if watches is None else tuple(dict.fromkeys(watches))
    if names is not None and not all(isinstance(name, str) for name in names):
        raise LanguageError('watches names fields of the state: watches=["isr", "partition.leader"]')
    return names


def _noted(declared: D) -> D:
    """Notes what a module declares in it, so that `Model` can tell what another definition of its name has hidden."""
    if "<locals>" not in declared.function.__qualname__:
        declared.function.__globals__.setdefault("__declared__", []).append(declared)
    return declared


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
            takes = set(inspect.signature(p.function).parameters) & {"before", "after"}
            if takes and p.kind not in ("step", "cover"):
                raise LanguageError(f"{p.name} takes {min(takes)}, so it is about steps: write @step_property")
            if len(takes) < 2 and (takes or p.kind == "step" or p.on or p.tags):
                raise LanguageError(f"{p.name} is about steps: it takes before and after")
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

    def replacing(self, *changed: Declaration, state: type | None = None, config: type | None = None) -> Model:
        """A variant in which each given declaration takes the place of the one with its name.

        `state` may be a dataclass that extends this model's with defaulted fields, and `config` likewise.
        Raises `LanguageError` if there is nothing of that name and kind.
        """
        _declared_only(changed)
        new = {d.name: d for d in changed}
        old = {d.name: d for d in self.declarations()}
        for name, d in new.items():
            if type(old.get(name)) is not type(d):
                kind = type(d).__name__.lower()
                have = ", ".join(o.name for o in self.declarations() if type(o) is type(d))
                raise LanguageError(f"{self.name} has no {kind} {name!r} to replace; it has {have}")
        return self._vary([new.get(d.name, d) for d in self.declarations()], state, config)

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


UNFINISHED = {f.__qualname__ + ".<locals>.declare" for f in (action, leads_to, _declare)}
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
    "Action", "Declaration", "GuardRefused", "Initial", "LanguageError", "Model", "Property", "Terminal", "action",
    "cover", "eventually_always", "infinitely_often", "initial", "invariant", "leads_to", "refuse", "replace",
    "require", "some", "step_property", "terminal",
]  # fmt: skip
