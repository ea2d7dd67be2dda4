"""Invariants of a random model that are just true, or just false: taken from the states that plain Python reaches."""

from __future__ import annotations

import random
from collections.abc import Iterator
from enum import Enum
from typing import Any

from reassure.spec.language.values import Id
from tests.fuzz.subject import Subject

PAIRS = 3


def tightened(subject: Subject, rng: random.Random) -> str:
    """The model's text with invariants about the reached values of its scalars; empty where there is no scalar."""
    values: dict[str, list[Any]] = {}
    for state in subject.states:
        for path, value in _scalars("s", state):
            values.setdefault(path, []).append(value)
    whole = {path: seen for path, seen in values.items() if len(seen) == len(subject.states)}
    conditions = list(_limits(whole)) + list(_pairs(whole, rng))
    if not conditions:
        return ""
    chosen = rng.sample(conditions, min(len(conditions), 4))
    text = subject.path.read_text(encoding="utf-8")
    for number, condition in enumerate(chosen):
        text += f"\n\n@invariant\ndef tight{number}(s: State) -> bool:\n    return {condition}\n"
    names = ", ".join(f"tight{number}" for number in range(len(chosen)))
    return f"{text}\n\nMODEL = MODEL.adding({names})\n"


def _scalars(path: str, record: Any) -> Iterator[tuple[str, Any]]:
    """The scalars of a record that can be compared with a constant, records within records among them."""
    for name in record.__dataclass_fields__:
        value = getattr(record, name)
        if hasattr(value, "__dataclass_fields__"):
            yield from _scalars(f"{path}.{name}", value)
        elif isinstance(value, int | Enum) or value is None:
            yield f"{path}.{name}", value


def _written(value: Any) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return f"{type(value).__name__}({int(value)})" if isinstance(value, Id) else repr(value)


def _equals(path: str, value: Any) -> str:
    return f"{path} is None" if value is None else f"{path} == {_written(value)}"


def _limits(values: dict[str, list[Any]]) -> Iterator[str]:
    """A number's least and greatest reached values: never left, and never reached."""
    for path, seen in values.items():
        if all(type(v) is int for v in seen):
            yield from (f"{path} <= {max(seen)}", f"{path} >= {min(seen)}")
            yield from (f"{path} < {max(seen)}", f"{path} > {min(seen)}")
        elif len(set(seen)) > 1:
            yield f"not ({_equals(path, seen[-1])})"


def _pairs(values: dict[str, list[Any]], rng: random.Random) -> Iterator[str]:
    """Two values of two scalars, together reached in the last state, or in no state."""
    paths = list(values)
    if len(paths) < 2:
        return
    for _ in range(PAIRS):
        one, other = rng.sample(paths, 2)
        yield f"not ({_equals(one, values[one][-1])} and {_equals(other, values[other][-1])})"
        reached = set(zip(values[one], values[other], strict=True))
        free = [(v, w) for v in dict.fromkeys(values[one]) for w in dict.fromkeys(values[other])]
        free = [pair for pair in free if pair not in reached]
        if free:
            v, w = rng.choice(free)
            yield f"not ({_equals(one, v)} and {_equals(other, w)})"
