"""The declarations that a protocol consists of: actions, initial and terminal functions, properties.

Models collect them (`vocabulary.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar, overload

from reassure.spec.language.guards import require
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.watching import why_unwatched

F = Callable[..., Any]
V = TypeVar("V")


class LanguageError(Exception):
    """A model is put together wrongly; the message says what to write instead."""


@dataclass(frozen=True)
class Action:
    """A named, parameterised, guarded step. Two actions are equal when their names are.

    who: the actor, for stories. members: for some parameters, a function of the state that gives the set the
    parameter is drawn from. fair: None, "weak" or "strong", assumed by properties about whole runs. fair_each:
    parameters for each value of which that is assumed separately. tags: kinds of steps that protocols share. weight:
    for random walks. guards: conditions of the state, and of parameters by name, without which it is not enabled; a
    variant adds them (`Model.guarded`).
    """

    name: str
    function: F = field(compare=False)
    who: str = field(compare=False)
    members: MappingProxyType[str, F] = field(compare=False)
    fair: str | None = field(default=None, compare=False)
    tags: frozenset[str] = field(default=frozenset(), compare=False)
    weight: int = field(default=1, compare=False)
    fair_each: tuple[str, ...] = field(default=(), compare=False)
    guards: tuple[F, ...] = field(default=(), compare=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        more = {name: kwargs.pop(name) for name in self.only_of_guards if name in kwargs}
        for guard in self.guards:
            own = inspect.signature(self.function).bind(*args, **kwargs).arguments
            given = given_to(guard, own | more)
            require(guard(**given))
        return self.function(*args, **kwargs)

    @property
    def only_of_guards(self) -> list[str]:
        """The names under which guards, and not the function, take the configuration."""
        return only_of_guards(self.function, self.guards)

    def __hash__(self) -> int:
        return hash(self.name)


FAIRNESS = (None, "weak", "strong")
"""What is assumed of an action in whole runs."""


def only_of_guards(function: F, guards: Iterable[F]) -> list[str]:
    """The names of guards' parameters that their action's function has not: each is the configuration."""
    own = inspect.signature(function).parameters
    names = dict.fromkeys(name for guard in guards for name in [*inspect.signature(guard).parameters][1:])
    return [name for name in names if name not in own]


def given_to(guard: F, arguments: Mapping[str, V]) -> dict[str, V]:
    """The arguments of a guard, of those of its action and of guards: the state comes first, others by name."""
    state, *names = inspect.signature(guard).parameters
    return {state: next(iter(arguments.values())), **{name: arguments[name] for name in names}}


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
    if fair not in FAIRNESS:
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
    about = (on,) if isinstance(on, Action) or not isinstance(on, Iterable) else tuple(on)
    if any(not isinstance(a, Action) for a in about):
        raise LanguageError(f"on is an action or a list of actions, not {getattr(on, 'name', repr(on))}")
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
    if isinstance(declared.function, type):
        raise LanguageError(f"{declared.name} is a class: a declaration is a function")
    if "<locals>" not in declared.function.__qualname__:
        declared.function.__globals__.setdefault("__declared__", []).append(declared)
    return declared


def must_fit_its_kind(claim: Property) -> None:
    """Raises `LanguageError` for a claim over a state that takes a step, or the other way round."""
    takes = set(inspect.signature(claim.function).parameters) & {"before", "after"}
    if takes and claim.kind not in ("step", "cover"):
        raise LanguageError(f"{claim.name} takes {min(takes)}, so it is about steps: write @step_property")
    if len(takes) < 2 and (takes or claim.kind == "step" or claim.on or claim.tags):
        raise LanguageError(f"{claim.name} is about steps: it takes before and after")


def plain_parameters(function: Callable[..., Any], first: int = 0, by_name: bool = False) -> list[str]:
    """The parameters of a function of the model; `LanguageError` for one that cannot be given as it is.

    by_name: those from `first` on are given by name, and others by place.
    """
    parameters = inspect.signature(function).parameters
    for number, parameter in enumerate(parameters.values()):
        by_place = not by_name or number < first
        if parameter.kind is (parameter.KEYWORD_ONLY if by_place else parameter.POSITIONAL_ONLY):
            sign = "*" if by_place else "/"
            raise LanguageError(f"{function.__name__}: write its parameters without `{sign}`")
    return list(parameters)


def fields_without_default(cls: type) -> list[str]:
    """The fields that must be given when a record of the class is made; none of a class that is not a dataclass."""
    declared = fields(cls) if is_dataclass(cls) else ()
    return [f.name for f in declared if f.default is MISSING and f.default_factory is MISSING]
