"""A trace of another tool (Apalache, Quint; ITF) told without a model: its states, and what each step changes."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reassure.checkers.machine.terminal import quantity
from reassure.checkers.traces.format_value import natural
from reassure.checkers.traces.render import Change
from reassure.spec.semantics.trace import WRONG, TraceError

NOT_CHECKED = "no model: nothing is checked"
BARE = re.compile(r"(?!-?\d+$|(?:yes|no|none)$)[\w.:/-]+")
"""Texts that are printed without quotation marks; another one could be taken for another value, or for several."""


@dataclass(frozen=True)
class ForeignStep:
    """A step of another tool's trace. back_to: the state that it leads back to, if it closes the loop.

    changes: of each field that changes its path, and its old and new value; "" for a key that was, or is, not there.
    """

    changes: tuple[tuple[str, str, str], ...]
    back_to: int | None = None


@dataclass(frozen=True)
class ForeignTrace:
    """A trace of another tool. name: of its file. first: the variables of the first state, with their values."""

    name: str
    first: dict[str, str]
    steps: tuple[ForeignStep, ...]
    loop: int | None

    @property
    def title(self) -> str:
        """A line that names the trace: the last step back to the loop is not counted."""
        return f"{self.name}: {quantity(sum(step.back_to is None for step in self.steps), 'step')}"

    @property
    def ending(self) -> str:
        """A line on the loop; "" if there is none."""
        return "" if self.loop is None else f"from state {self.loop} on the run repeats for ever"

    def lines(self) -> list[str]:
        """The story as text."""
        lines = [self.title, NOT_CHECKED, "  0.", *(f"       {each} = {value}" for each, value in self.first.items())]
        for number, step in enumerate(self.steps, 1):
            lines.append(f"  {number}." + (f" back to state {step.back_to}" if step.back_to is not None else ""))
            lines += [f"       {Change(*change).line}" for change in step.changes] or ["       nothing changes"]
        return lines + ([f"  {self.ending}"] if self.ending else [])


def foreign_trace(data: Mapping[str, Any], name: str) -> ForeignTrace:
    """The trace of an ITF file, without its model. `TraceError` if a value is not ITF's. name: of the file."""
    names, states, loop = data["vars"], data["states"], data.get("loop")
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise TraceError(f"{name}: `vars` is to list names")
    first: dict[str, str] = {}
    for number, state in enumerate(states):
        if not isinstance(state, dict) or (lacking := [each for each in names if each not in state]):
            what = f"has no value of {lacking[0]}" if isinstance(state, dict) else "is not an object"
            raise TraceError(f"{name}: state {number} {what}")
        try:
            texts = {each: _text(state[each]) for each in names}
        except (*WRONG, RecursionError) as error:
            raise TraceError(f"{name}: state {number} is wrong: {type(error).__name__} {error}") from None
        first = first or texts
    last = len(states) - 1
    pairs = [(*pair, None) for pair in itertools.pairwise(states)]
    pairs += [(states[-1], states[loop], loop)] if loop not in (None, last) else []
    steps = tuple(
        ForeignStep(tuple(row for each in names for row in _changes(each, before[each], after[each])), back_to)
        for before, after, back_to in pairs
    )
    return ForeignTrace(name, first, steps, loop)


def _changes(path: str, before: Any, after: Any) -> Iterator[tuple[str, str, str]]:
    """The changes between two values: maps key by key, and records field by field where both have the same fields."""
    old, new = _parts(path, before), _parts(path, after)
    if old is None or new is None or (old.keys() != new.keys() and not _is_map(before)):
        if (was := _text(before)) != (now := _text(after)):
            yield path, was, now
        return
    for part in sorted(old.keys() | new.keys(), key=lambda part: natural(part[len(path) + 1 :].removesuffix("]"))):
        if part in old and part in new:
            yield from _changes(part, old[part], new[part])
        else:
            yield part, _text(old[part]) if part in old else "", _text(new[part]) if part in new else ""


def _parts(path: str, data: Any) -> Mapping[str, Any] | None:
    """The values in a map or a record, by their paths; None for any other value."""
    if _is_map(data):
        return {f"{path}[{_text(key)}]": value for key, value in data["#map"]}
    if not isinstance(data, dict) or set(data) == {"tag", "value"} or any(name.startswith("#") for name in data):
        return None
    return {f"{path}.{name}": value for name, value in data.items()}


def _is_map(data: Any) -> bool:
    return isinstance(data, dict) and set(data) == {"#map"}


def _text(data: Any) -> str:
    """A value as `plain` prints those of a model."""
    if isinstance(data, bool):
        return "yes" if data else "no"
    if isinstance(data, int):
        return str(data)
    if isinstance(data, str):
        return data if BARE.fullmatch(data) else json.dumps(data)
    if isinstance(data, list):
        return "[" + ", ".join(map(_text, data)) + "]"
    if not isinstance(data, dict):
        raise ValueError(f"{json.dumps(data)} is no value of ITF")
    if set(data) == {"tag", "value"}:
        empty = data["value"] in ({}, {"#tup": []}, "U_OF_UNIT") or data["value"] == {
            "tag": "UNIT",
            "value": "U_OF_UNIT",
        }
        tag = "none" if data["tag"] == "None" and empty else _text(data["tag"])
        return tag if empty else f"{tag}({_text(data['value'])})"
    if len(data) == 1 and next(iter(data)).startswith("#"):
        ((kind, inner),) = data.items()
        if kind == "#bigint" and isinstance(inner, str) and re.fullmatch(r"-?\d+", inner):
            return str(int(inner))
        if kind == "#unserializable" and isinstance(inner, str):  # such as Nat, of which Apalache has no list
            return _text(inner)
        if kind == "#tup" and isinstance(inner, list):
            return _text(inner)
        if kind == "#set" and isinstance(inner, list):
            return "{" + ", ".join(sorted({_text(each) for each in inner}, key=natural)) + "}"
        if kind == "#map":
            pairs = {_text(key): _text(value) for key, value in inner}
            if len(pairs) != len(inner):
                raise ValueError("a map with the same key twice")
            return "{" + ", ".join(f"{key}: {pairs[key]}" for key in sorted(pairs, key=natural)) + "}"
        raise ValueError(f"{json.dumps(data)[:80]} is no value of ITF")
    return "(" + ", ".join(f"{name} {_text(value)}" for name, value in sorted(data.items())) + ")"
