"""Lines of a log: partial observations of a run, read against the types of a model.

`docs/reference/logs.md` describes the format.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.traces.plain_json import from_plain, key_text, keys_once
from reassure.spec.language.keys import TupleType
from reassure.spec.language.types import MapType, OptionType, RecordType, Type
from reassure.spec.semantics.interpreter import BoundModel, Params
from reassure.spec.semantics.trace import TraceError

ANY = "*"
"""As an action: any step."""
KEYS = ("action", "params", "state", "note")


class Partly(dict[Any, Any]):
    """An observation of a record or a map: some of its fields, or of its keys."""


@dataclass(frozen=True)
class Line:
    """One observation. actions: names, one of which was taken; None: no step, only a look at the state."""

    number: int
    text: str
    actions: frozenset[str] | None
    params: Params
    """Of the parameters, what is known: values, or `Partly`."""
    state: Partly
    """Of the state (after the step), what is known."""

    @property
    def observes(self) -> bool:
        """Whether anything is known: a line of which every run is one observes nothing."""
        return self.actions is not None or bool(self.state)


def read_lines(texts: Iterable[str], bound: BoundModel, name: str) -> Iterator[Line]:
    """The lines of a log, those that are blank left out; `Failure` says which line is wrong, and why."""
    for number, text in enumerate(texts, 1):
        if text.strip():
            try:
                yield _line(number, text.strip(), bound)
            except TraceError as error:
                raise Failure(Exit.USAGE, f"{name}, line {number}: {error}") from None


def _line(number: int, text: str, bound: BoundModel) -> Line:
    try:
        data = json.loads(text, object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"it is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise TraceError("a line is a JSON object")
    for key in data:
        if key not in KEYS:
            raise TraceError(f"{key} is none of {', '.join(KEYS)}; remarks go under note")
    actions = _actions(data.get("action"), bound)
    return Line(
        number,
        text,
        actions,
        _params(data.get("params", {}), actions, bound),
        _observed(data.get("state", {}), bound.type, "state"),
    )


def _actions(data: Any, bound: BoundModel) -> frozenset[str] | None:
    """The actions that a line may be of."""
    names = [a.name for a in bound.model.actions]
    if data is None:
        return None
    if data == ANY:
        return frozenset(names)
    chosen = data if isinstance(data, list) else [data]
    for name in chosen:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(names)}"
            raise TraceError(f"{bound.model.name} has no action {json.dumps(name)}; {hint}")
    if not chosen:
        raise TraceError("action is an empty list; leave it out for a look at the state")
    return frozenset(chosen)


def _params(data: Any, actions: frozenset[str] | None, bound: BoundModel) -> Params:
    if not isinstance(data, dict):
        raise TraceError("params is an object")
    if data and actions is None:
        raise TraceError("params without an action")
    params = {}
    for name, value in data.items():
        kinds = {a: dict(bound.parameters(a)).get(name) for a in sorted(actions or ())}
        types = {str(kind): kind for kind in kinds.values() if kind is not None}
        lacking = [a for a, kind in kinds.items() if kind is None]
        if lacking:
            have = ", ".join(n for n, _ in bound.parameters(lacking[0])) or "none"
            raise TraceError(f"{lacking[0]} has no parameter {name}; it has {have}")
        if len(types) > 1:
            raise TraceError(f"the parameter {name} is of several types: {', '.join(types)}")
        params[name] = _observed(value, next(iter(types.values())), name)
    return params


def _observed(data: Any, kind: Type, path: str) -> Any:
    """A value, or of a record or map what is known of it."""
    if isinstance(kind, OptionType) and isinstance(data, dict):
        return _observed(data, kind.inner, path)
    if isinstance(kind, RecordType) and not isinstance(kind, TupleType) and isinstance(data, dict):
        kinds = dict(kind.fields)
        for name in data:
            if name not in kinds:
                near = difflib.get_close_matches(name, kinds, n=1)
                hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(kinds)}"
                raise TraceError(f"{path} has no field {name}; {hint}")
        return _known(
            {name: (_observed(value, kinds[name], f"{path}.{name}"), kinds[name]) for name, value in data.items()}
        )
    if isinstance(kind, MapType) and isinstance(data, dict):
        keys = {key_text(k, kind.key): k for k in kind.key.values()}
        for text in data:
            if text not in keys:
                raise TraceError(f"{path} has no key {text}; it has {', '.join(keys)}")
        return _known(
            {keys[text]: (_observed(v, kind.value, f"{path}[{text}]"), kind.value) for text, v in data.items()}
        )
    try:
        return from_plain(data, kind)
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None


def _known(parts: dict[Any, tuple[Any, Type]]) -> Partly:
    """Without the parts of which nothing is known; of an optional part it is known at least that it is there."""
    return Partly(
        (name, value)
        for name, (value, kind) in parts.items()
        if value or not isinstance(value, Partly) or isinstance(kind, OptionType)
    )


def matches_observation(value: Any, observed: Any) -> bool:
    """Whether a value is one of which this may be observed."""
    return next(differences(value, observed), None) is None


def differences(value: Any, observed: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The differences of a value from an observation: path, value, what is observed."""
    if isinstance(observed, Partly):
        if value is None:
            yield path, None, dict(observed)
            return
        is_record = hasattr(value, "__dataclass_fields__")
        for name, inner in observed.items():
            if is_record:
                yield from differences(getattr(value, name), inner, f"{path}.{name}" if path else name)
            else:
                yield from differences(value[name], inner, f"{path}[{name}]")
    elif value != observed:
        yield path, value, observed
