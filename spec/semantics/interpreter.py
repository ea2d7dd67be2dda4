"""A model under one configuration, executed by CPython: the meaning that every engine translates.

`BoundModel` answers what the initial states are and which steps a state has. It checks every value a model
function returns, so that a mistake in a model is reported as one and never becomes a state.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from reassure.spec.language.annotations import (
    FieldErrors,
    Problems,
    declared_at,
    declared_gathered,
    each_hint,
    gathered_problems,
    hints_of,
    is_base,
    must_return,
    must_take,
    place_of_field,
    record_type,
    resolve,
    with_its_place,
)
from reassure.spec.language.declarations import fields_without_default, must_fit_its_kind, plain_parameters
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import DomainError, Misfit, RecordType, Type
from reassure.spec.language.vocabulary import Action, GuardRefused, Initial, LanguageError, Model, Property

Params = dict[str, Any]

CHOICES = 1 << 20
"""Values that the parameters of one action may have together, but for those drawn from the state."""


class ModelError(Exception):
    """The model does something a model may not: it raises, returns a wrong value, is not a function."""


class ConfigError(Exception):
    """The configuration is out of range or contradictory."""


@dataclass(frozen=True)
class Clipped:
    """The outcome of a step that leaves a declared bound: there is no next state."""

    path: str
    message: str
    declared: bool


@dataclass(frozen=True)
class Step:
    """One enabled transition: the action, its parameters in order, and what comes out."""

    action: Action
    params: Params
    after: Any


@dataclass(frozen=True)
class FailedCall:
    """A call of an action that raises; without parameters where what they are drawn from raises."""

    action: Action
    params: Params
    error: ModelError


@dataclass(frozen=True)
class _Callee:
    """The arguments of a function of the model: which are the configuration, which are free."""

    function: Callable[..., Any]
    fixed: Params
    free: tuple[tuple[str, Type], ...]
    drawn: dict[str, Callable[[Any], Any]]

    @functools.cached_property
    def choices(self) -> list[tuple[Any, ...]]:
        """The values of each free argument, ascending; none of one that is drawn from the state."""
        return [() if name in self.drawn else tuple(kind.values()) for name, kind in self.free]


class BoundModel:
    """A model with a configuration. Raises `LanguageError`, `DomainError` or `ConfigError`."""

    def __init__(self, model: Model, config: Any = None) -> None:
        self.model = model
        self.config = make_config(model, {}) if config is None else config
        problems: Problems = {}
        with declared_gathered(problems), with_its_place(model.state):
            self.type: RecordType = self.type_of_state()
        self._initials: list[tuple[Initial, _Callee]] = []
        self._actions: list[tuple[Action, _Callee]] = []
        for i in model.initials:
            with declared_gathered(problems):
                self._initials.append((i, self._callee(i.name, i.function, skip=0)))
        for a in model.actions:
            with declared_gathered(problems):
                self._actions.append((a, self._called(a)))
        self.views: dict[type, Callable[..., Any]] = {}
        self._views: dict[type, Callable[[Any], Any]] = {}
        self._claims: dict[str, _Claim] = {}
        self._terminals: list[Callable[[Any], Any]] = []
        applicable: list[Property] = []
        with declared_gathered(problems):
            self.views = {self._viewed(v): v for v in model.views}
            self._views = {kind: _remembering(self._state_function(v)) for kind, v in self.views.items()}
            for p in model.properties:
                with declared_gathered(problems), with_its_place(p.function):
                    if self._applies(p):
                        applicable.append(p)
                        self._claims[p.name] = self._claim(p)
            for t in model.terminals:
                with declared_gathered(problems), with_its_place(t.function):
                    self._terminals.append(self._state_function(t.function))
        self.not_applicable = [p for p in model.properties if p not in applicable]
        self.properties = [p for p in applicable if p.kind != "cover"]
        self.covers = [p for p in applicable if p.kind == "cover"]
        for action, callee in self._actions:
            for name in action.fair_each:
                with declared_gathered(problems), with_its_place(action.function):
                    if name not in {free for free, _ in callee.free}:
                        raise LanguageError(
                            f"{action.name}: fair_each is about parameters; {name} is the configuration"
                        )
        self._judge(problems)

    def _judge(self, problems: Problems) -> None:
        """Raises `FieldErrors` if something is wrong with types or declarations."""
        if problems:
            raise FieldErrors(problems)

    def type_of_state(self) -> RecordType:
        """The type of the state; `FieldErrors` if fields are not finite."""
        return record_type(self.model.state, self.config)

    def type_of(self, annotation: Any) -> Type:
        """The type of a parameter; `DomainError` if it is not finite."""
        return resolve(annotation, self.config)

    def _applies(self, claim: Property) -> bool:
        """Whether a claim is about this configuration, and a step property about some action of the model."""
        try:
            if claim.when is not None and not claim.when(self.config):
                return False
        except Exception as error:
            raise LanguageError(f"{claim.name}: its `when` raised {type(error).__name__}: {error}") from None
        return claim.kind != "step" or any(self.concerns(claim, a) for a in self.model.actions)

    @property
    def parameter_types(self) -> list[tuple[tuple[str, Type], ...]]:
        """By action: its parameters, the configuration apart, with their types."""
        return [callee.free for _, callee in self._actions]

    # -- calling the model ----------------------------------------------------------------------

    def _called(self, action: Action) -> _Callee:
        callee = self._callee(action.name, action.function, skip=1, members=dict(action.members))
        more = dict.fromkeys(action.only_of_guards, self.config)
        return replace(callee, function=action, fixed=callee.fixed | more) if action.guards else callee

    def _claim(self, claim: Property) -> _Claim:
        must_return(claim.function, bool)
        must_fit_its_kind(claim)
        return _Claim(self, claim)

    def _callee(
        self, name: str, function: Callable[..., Any], skip: int, members: dict[str, Any] | None = None
    ) -> _Callee:
        with with_its_place(function):
            must_return(function, self.model.state)
            if skip:
                must_take(function, self.model.state)
            return self._sorted_out(name, function, skip, members or {})

    def _sorted_out(self, name: str, function: Callable[..., Any], skip: int, members: dict[str, Any]) -> _Callee:
        hints = each_hint(function)
        names = plain_parameters(function, skip, by_name=True)
        if len(names) < skip:
            raise LanguageError(f"{name}: its first parameter is the state")
        fixed: Params = {}
        free: list[tuple[str, Type]] = []
        drawn = {}
        problems: Problems = {}
        for parameter in names[skip:]:
            hint = hints.get(parameter, inspect.Parameter.empty)
            if hint is self.model.config or is_base(hint, self.model.config):
                fixed[parameter] = self.config
                continue
            with gathered_problems(problems, f"{name}, parameter {parameter}", lambda: declared_at(function)):
                free.append((parameter, self.type_of(hint)))
            if parameter in members:
                drawn[parameter] = self._state_function(members[parameter])
        if problems:
            raise FieldErrors(problems)
        choices = prod(t.count for n, t in free if n not in drawn)
        if choices > CHOICES:
            what = f"its parameters have {choices:,} values, to be tried in every state; at most {CHOICES:,}"
            raise DomainError(f"{name}: {what}: bound them, or draw them from a set of the state")
        return _Callee(function, fixed, tuple(free), drawn)

    def _state_function(self, function: Callable[..., Any]) -> Callable[[Any], Any]:
        """`function` of the state (or of a view of it), the configuration filled in."""
        hints = hints_of(function)
        names = plain_parameters(function)
        if len(names) in (1, 2) and (len(names) == 1 or self._is_config(hints.get(names[1]))):
            view = self._view(function, hints.get(names[0]))
            if len(names) == 1:
                return function if view is None else lambda s: function(view(s))
            return (lambda s: function(s, self.config)) if view is None else lambda s: function(view(s), self.config)
        raise LanguageError(f"{function.__name__} takes the state and, if need be, the configuration")

    def _is_config(self, annotation: Any) -> bool:
        """Whether a parameter that is annotated so may be given the configuration."""
        return annotation in (None, Any, self.model.config) or is_base(annotation, self.model.config)

    def _view(self, function: Callable[..., Any], annotation: Any) -> Callable[[Any], Any] | None:
        """The view that a function over `annotation` wants; None if that is the state itself."""
        found = getattr(self, "_views", {}).get(annotation)
        if found is None and is_dataclass(annotation) and annotation is not self.model.state:
            if not is_base(annotation, self.model.state):
                over = getattr(annotation, "__name__", annotation)
                raise LanguageError(f"{function.__name__} is over {over}, which {self.model.name} has no view of")
        return found

    def _viewed(self, view: Callable[..., Any]) -> type:
        """The class that a view is of."""
        kind = hints_of(view).get("return")
        if not isinstance(kind, type):
            raise LanguageError(f"{view.__name__}, a view, needs the class that it returns")
        return kind

    def lift(self, state: Any) -> Any:
        """A state of a class that the model's own extends gets the defaults of the further fields."""
        if type(state) is not self.model.state and isinstance(state, _bases(self.model.state)):
            names = vars(type(state))["__dataclass_fields__"]
            return self.model.state(**{name: getattr(state, name) for name in names})
        return state

    def _checked(self, name: str, params: Params, after: Any) -> Any:
        found: Misfit | None = self.type.misfit(after)
        if found is None:
            return after
        if found.clipped:
            return Clipped(found.path, found.message, found.declared)
        call = f"{name}({', '.join(f'{k}={v!r}' for k, v in params.items())})"
        where = f" in {found.path}" if found.path else ""
        raise ModelError(f"{call} gives a state with a wrong value{where}: {found.message}")

    def _run(self, name: str, callee: _Callee, positional: tuple[Any, ...], params: Params) -> Any:
        try:
            return callee.function(*positional, **callee.fixed, **params)
        except GuardRefused:
            raise
        except Exception as error:
            call = f"{name}({', '.join(f'{k}={v!r}' for k, v in params.items())})"
            raise ModelError(f"{call} raised {type(error).__name__}: {error} {_where(error)}") from error

    # -- the transition system ------------------------------------------------------------------

    def initial_states(self) -> Iterator[tuple[Initial, Params, Any]]:
        """Every initial state (or `Clipped`) with the declaration and parameters it comes from."""
        for declared, callee in self._initials:
            names = [n for n, _ in callee.free]
            for chosen in product(*callee.choices):
                params = dict(zip(names, chosen, strict=True))
                try:
                    state = self.lift(self._run(declared.name, callee, (), params))
                except GuardRefused:
                    continue
                yield declared, params, self._checked(declared.name, params, state)

    def steps(self, state: Any, of: str | None = None) -> Iterator[Step]:
        """Every enabled step, in canonical order: action by action, parameters ascending. of: of this action alone.

        Raises `ModelError` where an action raises.
        """
        for outcome in self.attempts(state, of):
            if isinstance(outcome, FailedCall):
                raise outcome.error
            yield outcome

    def attempts(self, state: Any, of: str | None = None) -> Iterator[Step | FailedCall]:
        """As `steps`, but goes on past calls that raise."""
        for declared, callee in self._actions:
            if of not in (None, declared.name):
                continue
            try:
                choices = self._choices(declared, callee, state) if callee.drawn else callee.choices
            except ModelError as error:
                yield FailedCall(declared, {}, error)
                continue
            names = [n for n, _ in callee.free]
            for chosen in product(*choices):
                params = dict(zip(names, chosen, strict=True))
                try:
                    after = self._run(declared.name, callee, (state,), params)
                    outcome: Step | FailedCall = Step(declared, params, self._checked(declared.name, params, after))
                except GuardRefused:
                    continue
                except ModelError as error:
                    outcome = FailedCall(declared, params, error)
                yield outcome

    def _choices(self, declared: Action, callee: _Callee, state: Any) -> list[tuple[Any, ...]]:
        """The values of each parameter, ascending."""
        choices = list(callee.choices)
        for number, (name, kind) in enumerate(callee.free):
            if name not in callee.drawn:
                continue
            try:
                members = tuple(callee.drawn[name](state))
            except Exception as error:
                what = f"{declared.name}, parameter {name}: {type(error).__name__}: {error} {_where(error)}"
                raise ModelError(what) from error
            for member in members:
                found = kind.misfit(member)
                if found is not None:
                    where = f" in {found.path}" if found.path else ""
                    raise ModelError(f"{declared.name}, parameter {name}: a wrong value{where}: {found.message}")
            choices[number] = tuple(sorted(members, key=kind.rank))
        return choices

    def take(self, state: Any, name: str, params: Params) -> Any:
        """The outcome of one action: a state or `Clipped`.

        Raises `GuardRefused` if it is not enabled, `ModelError` for an unknown action or parameters.
        """
        for declared, callee in self._actions:
            if declared.name == name:
                self._fitting(declared, callee, state, params)
                return self._checked(name, params, self._run(name, callee, (state,), params))
        raise ModelError(f"model {self.model.name} has no action {name!r}")

    def _fitting(self, declared: Action, callee: _Callee, state: Any, params: Params) -> None:
        if set(params) != {n for n, _ in callee.free}:
            raise ModelError(f"{declared.name} takes ({', '.join(n for n, _ in callee.free)}), not {params}")
        for name, kind in callee.free:
            found = kind.misfit(params[name])
            if found is not None:
                raise ModelError(f"{declared.name}, parameter {name}: {found.message}")
            if name in callee.drawn and params[name] not in callee.drawn[name](state):
                raise GuardRefused(f"{name} is not among the values it is drawn from")

    def parameters(self, name: str) -> tuple[tuple[str, Type], ...]:
        """Names and types of an action's (or initial's) parameters."""
        table: list[tuple[Action | Initial, _Callee]] = [*self._actions, *self._initials]
        for declared, callee in table:
            if declared.name == name:
                return callee.free
        raise ModelError(f"model {self.model.name} has no action {name!r}")

    # -- claims -----------------------------------------------------------------------------------

    def holds(self, claim: Property, state: Any) -> bool:
        """Truth of a state property."""
        return self._claims[claim.name].on_state(state)

    def concerns(self, claim: Property, action: Action) -> bool:
        """Whether a step property is about steps of this action."""
        return (not claim.on or action in claim.on) and (not claim.tags or bool(claim.tags & action.tags))

    def holds_on(self, claim: Property, before: Any, step: Step) -> bool:
        """Truth of a step property; only for actions that it `concerns`."""
        return self._claims[claim.name].on_step(before, step)

    def goal_holds(self, claim: Property, state: Any) -> bool:
        """Truth of the goal of a leads-to property."""
        return _truth(claim.name, self._claims[claim.name].goal, state)

    def is_terminal(self, state: Any) -> bool:
        """Whether the model says that a run may end here."""
        return any(_truth("terminal", t, state) for t in self._terminals)


class _Claim:
    """A property with its arguments sorted out."""

    def __init__(self, bound: BoundModel, claim: Property) -> None:
        self.name = claim.name
        self.bound = bound
        if not claim.over_steps:
            self.state_function = bound._state_function(claim.function)
            self.goal = bound._state_function(claim.goal) if claim.goal is not None else self.state_function
            return
        self.function = claim.function
        hints = hints_of(claim.function)
        self.view = bound._view(claim.function, hints.get("before"))
        self.fixed: Params = {}
        self.from_params: list[str] = []
        self.wants_action = ""
        for name in plain_parameters(claim.function, by_name=True):
            if name in ("before", "after"):
                continue
            if hints.get(name) is Action:
                self.wants_action = name
            elif hints.get(name) is bound.model.config or is_base(hints.get(name), bound.model.config):
                self.fixed[name] = bound.config
            else:
                self.from_params.append(name)
        for action in bound.model.actions:
            if not bound.concerns(claim, action):
                continue
            have = {n for n, _ in bound.parameters(action.name)}
            missing = set(self.from_params) - have
            if missing:
                what = f"{claim.name} reads {', '.join(sorted(missing))}, no parameter of {action.name}"
                raise LanguageError(f"{what}; the action itself is a parameter annotated `Action`")

    def on_state(self, state: Any) -> bool:
        return _truth(self.name, self.state_function, state)

    def on_step(self, before: Any, step: Step) -> bool:
        arguments = self.fixed | {name: step.params[name] for name in self.from_params}
        if self.wants_action:
            arguments[self.wants_action] = step.action
        view = self.view or (lambda state: state)
        return _truth(
            self.name, lambda _: self.function(before=view(before), after=view(step.after), **arguments), before
        )


def _remembering(view: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The view, remembering its last few states: many properties ask for the same one in turn."""
    recent: list[tuple[Any, Any]] = [(None, None)] * 2

    def cached(state: Any) -> Any:
        for known, made in recent:
            if known is state:
                return made
        made = view(state)
        recent[0], recent[1] = recent[1], (state, made)
        return made

    return cached


def _truth(name: str, function: Callable[[Any], Any], state: Any) -> bool:
    try:
        value = function(state)
    except Exception as error:
        raise ModelError(f"{name} raised {type(error).__name__}: {error} {_where(error)}") from error
    if value is not True and value is not False:
        raise ModelError(f"{name} gave {value!r}, not a bool")
    return value


def _where(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"


def _bases(cls: type) -> tuple[type, ...]:
    return tuple(b for b in cls.__mro__[1:] if b is not object)


def make_config(model: Model, settings: dict[str, Any]) -> Any:
    """The model's configuration with the given fields changed; `ConfigError` names what is wrong."""
    cls = model.config
    if not is_dataclass(cls):
        raise LanguageError(f"{cls.__name__}, the configuration, must be a frozen dataclass: @dataclass(frozen=True)")
    known = {f.name: f for f in fields(cls)}
    if bare := fields_without_default(cls):
        raise LanguageError(f"{cls.__name__}, the configuration of {model.name}: {bare[0]} needs a default value")
    for name in settings:
        if name not in known:
            raise ConfigError(f"{model.name} has no configuration field {name!r}; it has {', '.join(known)}")
    try:
        config = cls(**settings)
    except Exception as error:
        raise ConfigError(f"{model.name}: {error}") from None
    hints = each_hint(cls)
    kinds: dict[str, Type] = {}
    problems: Problems = {}
    for name in known:
        with gathered_problems(problems, f"{cls.__name__}.{name}", functools.partial(place_of_field, cls, name)):
            kinds[name] = resolve(hints[name], config)
    if problems:
        raise FieldErrors(problems)
    for name, kind in kinds.items():
        found = kind.misfit(getattr(config, name))
        if found is not None:
            raise ConfigError(f"{model.name}: {name}: {found.message}")
    return config
