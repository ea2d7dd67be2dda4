"""Variants that are made of a model's own functions: a further guard of an action, another rule that actions call.

Also here: functions that call another function, made once more so that they call one in its place. Their text, their
file and their lines stay.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

from reassure.spec.language.annotations import hints_of, is_base


def why_no_guard(function: Callable[..., Any], condition: Callable[..., Any], config: type) -> str | None:
    """The reason that a condition cannot be a guard of an action's function; None if it can.

    config: the type of the configuration, which a condition may take where the action does not.
    """
    if not isinstance(condition, FunctionType):
        return "a condition is a function or a lambda"
    taken, own = list(inspect.signature(condition).parameters), list(inspect.signature(function).parameters)
    if not taken or taken[0] in own[1:]:
        return "its first parameter is the state"
    unknown = [name for name in taken[1:] if name not in own[1:]]
    hints = hints_of(condition) if unknown else {}
    unknown = [name for name in unknown if hints.get(name) is not config and not is_base(hints.get(name), config)]
    has = f"it has {', '.join(own[1:])}" if own[1:] else "it has none"
    return f"the action has no parameter {', '.join(unknown)}; {has}" if unknown else None


class RuleMisfit(Exception):
    """A function that takes the place of no other one; the message says why."""


def with_rule(steps: Sequence[Any], rule: FunctionType) -> list[Any]:
    """Actions and initial functions that call a rule where they called the function of its name.

    Raises `RuleMisfit` if they call none of that name, or two, or one that takes other parameters.
    """
    called = {f: None for step in steps for start in functions_of_step(step) for f in reached_from(start, {})}
    found = [f for f in called if f.__name__ == rule.__name__ and f is not rule]
    if not found:
        names = sorted({f.__name__ for f in called})
        import difflib  # of few messages

        near = difflib.get_close_matches(rule.__name__, names, n=1)
        what = f"; did you mean {near[0]}?" if near else ""
        declared = f"{rule.__name__} is no action, property or initial function: write its decorator"
        raise RuleMisfit(f"{declared}; nor does an action call a function of its name{what}")
    if len(found) > 1:
        raise RuleMisfit(f"actions call two functions {rule.__name__!r}: {', '.join(f.__module__ for f in found)}")
    (old,) = found
    takes, took = (list(inspect.signature(f).parameters) for f in (rule, old))
    if takes != took:
        raise RuleMisfit(f"{rule.__name__} takes ({', '.join(takes)}), and that of the model ({', '.join(took)})")
    calling = _Calling(old, rule)
    for function in called:
        calling.refuse_hidden_calls(function)
    return [calling.step(step) for step in steps]


def functions_of_step(step: Any) -> Iterator[FunctionType]:
    """The functions that a declaration consists of."""
    members = getattr(step, "members", {})
    for function in (step.function, *members.values(), *getattr(step, "guards", ())):
        if isinstance(function, FunctionType):
            yield function


def reached_from(function: FunctionType, seen: dict[FunctionType, None]) -> dict[FunctionType, None]:
    """The function and those that it may call, by names of its module or as defaults."""
    if function not in seen:
        seen[function] = None
        for _, value in _named(function):
            inner = value if isinstance(value, FunctionType) else getattr(value, "function", None)
            if isinstance(inner, FunctionType) and _is_of_a_model(inner):
                reached_from(inner, seen)
    return seen


def _is_of_a_model(function: FunctionType) -> bool:
    module = function.__module__
    return not module.startswith("reassure.spec.language") and module.split(".")[0] not in sys.stdlib_module_names


def _named(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The values of a function's global names, and its defaults, each by its name."""
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    yield from (("", value) for value in function.__defaults__ or ())


def _names(code: CodeType) -> set[str]:
    """The names of globals and attributes in a code, also within its lambdas and comprehensions."""
    return set(code.co_names).union(*(_names(c) for c in code.co_consts if isinstance(c, CodeType)))


class _Calling:
    """Makes functions that call a rule where they called an old function."""

    def __init__(self, old: FunctionType, rule: FunctionType) -> None:
        self.old, self.rule = old, rule
        self.made: dict[FunctionType, FunctionType] = {old: rule}

    def step(self, step: Any) -> Any:
        """An action or an initial function."""
        if all(self.of(f) is f for f in functions_of_step(step)):
            return step
        changed: dict[str, object] = {"function": self.of(step.function)}
        if hasattr(step, "members"):
            changed["members"] = MappingProxyType({name: self.of(f) for name, f in step.members.items()})
            changed["guards"] = tuple(self.of(f) for f in step.guards)
        return replace(step, **changed)

    def of(self, function: Any) -> Any:
        """The function, or one of the same text that calls the rule."""
        if not isinstance(function, FunctionType) or function in self.made:
            return self.made.get(function, function)
        if self.old not in reached_from(function, {}):
            return function
        names = dict(function.__globals__)
        defaults = tuple(self._value(value) for value in function.__defaults__ or ()) or None
        made = FunctionType(function.__code__, names, function.__name__, defaults, function.__closure__)
        self.made[function] = made
        made.__kwdefaults__, made.__annotations__ = function.__kwdefaults__, function.__annotations__
        made.__qualname__, made.__doc__, made.__module__ = function.__qualname__, function.__doc__, function.__module__
        for name, value in _named(function):
            if name:
                names[name] = self._value(value)
        return made

    def _value(self, value: Any) -> Any:
        """What a name means for a function that is made once more."""
        if isinstance(value, FunctionType):
            return self.of(value)
        if isinstance(getattr(value, "function", None), FunctionType) and _is_of_a_model(value.function):
            made = self.of(value.function)
            return value if made is value.function else replace(value, function=made)
        return value

    def refuse_hidden_calls(self, function: FunctionType) -> None:
        """Raises `RuleMisfit` where the old function is called in a way that is not seen here."""
        names = _names(function.__code__)
        for holder, value in list(function.__globals__.items()):
            if not isinstance(value, type) and not (isinstance(value, ModuleType) and holder in names):
                continue
            for name in names:
                inner = inspect.getattr_static(value, name, None)
                inner = getattr(inner, "fget", None) or getattr(inner, "__func__", inner)
                if isinstance(inner, FunctionType) and self.old in reached_from(inner, {}):
                    what = f"{function.__name__} calls {self.old.__name__} by way of {holder}.{name}"
                    raise RuleMisfit(f"{what}: import the function by its name, to replace it")
