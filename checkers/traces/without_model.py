"""A trace of another tool (Apalache, Quint; ITF) told without a model: its states, and what each step changes."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from typing import Any

from reassure.checkers.traces.format_value import natural
from reassure.spec.semantics.trace import WRONG, TraceError

BARE = re.compile(r"(?!-?\d+$|(?:yes|no|none)$)[\w.:/-]+")
"""Texts that are printed without quotation marks; another one could be taken for another value, or for several."""


def story(data: Mapping[str, Any], name: str) -> list[str]:
    """The lines of the story. `TraceError` if a value is not ITF's. name: of the file."""
    names, states = data["vars"], data["states"]
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise TraceError(f"{name}: `vars` is to list names")
    rows: list[dict[str, str]] = []
    for number, state in enumerate(states):
        if not isinstance(state, dict) or (lacking := [each for each in names if each not in state]):
            what = f"has no value of {lacking[0]}" if isinstance(state, dict) else "is not an object"
            raise TraceError(f"{name}: state {number} {what}")
        try:
            rows.append({each: _text(state[each]) for each in names})
        except (*WRONG, RecursionError) as error:
            raise TraceError(f"{name}: state {number} is wrong: {type(error).__name__} {error}") from None
    last, loop = len(rows) - 1, data.get("loop")
    lines = [f"{name}: {last} step{'s' * (last != 1)}", "no model: nothing is checked", "  0."]
    lines += [f"       {each} = {value}" for each, value in rows[0].items()]
    pairs = list(itertools.pairwise(rows)) + ([(rows[-1], rows[loop])] if loop not in (None, last) else [])
    for number, (before, after) in enumerate(pairs, 1):
        lines.append(f"  {number}." + (f" back to state {loop}" if number > last else ""))
        changed = [f"       {each}: {before[each]} -> {after[each]}" for each in names if before[each] != after[each]]
        lines += changed or ["       nothing changes"]
    return lines + ([f"  from state {loop} on the run repeats for ever"] if loop is not None else [])


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
