"""Traces: a path of a model as data (ITF), and its replay in plain Python.

Format: the Informal Trace Format of Apalache (ADR-015): integers as `{"#bigint": "n"}`, sets as `{"#set": [...]}` in
canonical order, maps as `{"#map": [[k, v], ...]}`, an optional as a variant `None`/`Some`, an enum member as its name.
The `#meta` of the project's own traces lists the `properties` that the run violates, by kind, and the `releases`
under which it is a run; of another trace it has one `property` and no releases.

Also here: files that somebody else may have written: no more than a limit is read of them.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import Any, NotRequired, TextIO, TypedDict, cast

from reassure.spec.language.keys import TupleType
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import (
    BagType,
    BoolType,
    ColumnsType,
    EnumType,
    IdType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)
from reassure.spec.language.values import Map
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, Params

JsonObject = dict[str, Any]
"""A JSON object of a file, as it was read or as it will be written: who reads a key asks whether it is there."""
PlainConfig = dict[str, object]
"""A configuration as plain JSON: the value of each field of a model's `Config`; of an enum, the value of its member."""
Itf = TypedDict("Itf", {"#meta": JsonObject, "vars": list[str], "states": list[JsonObject], "loop": NotRequired[int]})
"""The file of a trace. states: each with the values of `vars` and a `#meta` of its own. loop: a number of a state."""

LONGEST = 128 << 20
"""Bytes of a file that is read whole; as JSON it takes up to 25 times as many in memory."""
LONGEST_LINE = 16 << 20
"""Characters of a line."""


def read_text(path: Path) -> str:
    """The text of a file, or of a pipe; `OSError` if it is too long, `UnicodeDecodeError` if it is not text."""
    return read_bytes(path, LONGEST).decode("utf-8")


def read_bytes(path: Path, most: int) -> bytes:
    """The bytes of a file, or of a pipe; `OSError` if there are more than `most`."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"more than {most >> 20:,} MiB are not read", str(path))
    return data


def lines_of(file: TextIO, name: str) -> Iterator[str]:
    """The lines of a file; `OSError` at one that is too long."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise OSError(errno.EFBIG, f"a line of more than {LONGEST_LINE >> 20} MiB is not read", name)
        yield line


class TraceError(Exception):
    """A file that is not a trace, or a trace that is not of this model's types."""


class ReplayRefused(Exception):
    """The model does not have this trace: at `step` (0 is the initial state) `reason` says why."""

    def __init__(self, step: int, action: str, reason: str) -> None:
        self.step, self.action, self.reason = step, action, reason
        super().__init__(f"step {step} ({action}): {reason}")


@dataclass
class TraceStep:
    """The step to a state: the action with its parameters (for the first, the initial function)."""

    action: str
    params: Params
    actor: str


@dataclass
class Trace:
    """States and the steps between them; `steps[i]` leads to `states[i]`, `steps[0]` is the initial function."""

    states: list[Any]
    steps: list[TraceStep]
    meta: JsonObject = field(default_factory=dict)
    loop: int | None = None
    """The number of the state that follows the last one in a run that never ends: from it on, all repeat."""
    closing: TraceStep | None = None
    """The step from the last state to that one; None where the last state itself stays for ever."""

    def __len__(self) -> int:
        return len(self.states)


def encode(value: Any, kind: Type) -> Any:
    """A value as ITF JSON."""
    if isinstance(kind, BoolType):
        return bool(value)
    if isinstance(kind, IntType | IdType):
        return {"#bigint": str(int(value))}
    if isinstance(kind, EnumType):
        return value.name
    if isinstance(kind, OptionType):
        if value is None:
            return {"tag": "None", "value": {}}
        return {"tag": "Some", "value": encode(value, kind.inner)}
    if isinstance(kind, TupleType):
        return {"#tup": [encode(v, part) for v, part in zip(value, kind.parts, strict=True)]}
    if isinstance(kind, SetType | BagType):
        return {"#set": [encode(v, kind.item) for v in sorted(value, key=kind.item.rank)]}
    if isinstance(kind, SeqType | ColumnsType):
        return [encode(v, kind.item) for v in value]
    if isinstance(kind, MapType):
        return {"#map": [[encode(k, kind.key), encode(value[k], kind.value)] for k in kind.key.values()]}
    assert isinstance(kind, RecordType)
    if {name for name, _ in kind.fields} == {"tag", "value"}:
        raise TraceError(f"{kind} has just the fields tag and value, which ITF takes for a variant; rename one")
    return {name: encode(getattr(value, name), t) for name, t in sorted(kind.fields)}


WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""Errors that reading data of the wrong form raises."""


def decode(data: Any, kind: Type) -> Any:
    """The value that `encode` wrote; `TraceError` if it is not of the type."""
    return value_read(data, kind, _decode)


def value_read(data: Any, kind: Type, read: Callable[[Any, Type], Any]) -> Any:
    """The value that a reader finds in data of some form; `TraceError` if that is not of the type."""
    try:
        value = read(data, kind)
    except WRONG:
        raise TraceError(f"{json.dumps(data)[:80]} is not of the type {kind}") from None
    misfit = kind.misfit(value)
    if misfit is not None:
        raise TraceError(f"{misfit.path or 'value'}: {misfit.message}")
    return value


def _decode(data: Any, kind: Type) -> Any:
    if isinstance(kind, BoolType):
        return data
    if isinstance(kind, IntType | IdType):
        number = _number(data)
        return kind.sort(number) if isinstance(kind, IdType) else number
    if isinstance(kind, EnumType):
        return kind.sort[data]
    if isinstance(kind, OptionType):
        # Quint writes a variant without a payload as its tag alone.
        if data["tag"] not in ("None", "Some"):
            raise ValueError
        return None if data["tag"] == "None" else _decode(data["value"], kind.inner)
    if isinstance(kind, TupleType):
        return tuple(_decode(v, part) for v, part in zip(data["#tup"], kind.parts, strict=True))
    if isinstance(kind, SetType | BagType):
        return frozenset(_decode(v, kind.item) for v in data["#set"])
    if isinstance(kind, SeqType | ColumnsType):
        return tuple(_decode(v, kind.item) for v in data)
    if isinstance(kind, MapType):
        pairs = [(_decode(k, kind.key), _decode(v, kind.value)) for k, v in data["#map"]]
        if len({k for k, _ in pairs}) < len(pairs):
            raise TraceError("a map with the same key twice")
        return Map(pairs)
    assert isinstance(kind, RecordType)
    if set(data) - {"#meta"} != {name for name, _ in kind.fields}:
        raise TraceError(f"{kind} has the fields {', '.join(n for n, _ in kind.fields)}, not {', '.join(data)}")
    values = {}
    for name, t in kind.fields:
        try:
            values[name] = _decode(data[name], t)
        except WRONG:
            raise TraceError(f"{name}: {json.dumps(data[name])[:80]} is not of the type {t}") from None
        except TraceError as error:
            raise TraceError(f"{name}.{error}" if isinstance(t, RecordType) else f"{name}: {error}") from None
    return kind.cls(**values)


def _number(data: Any) -> int:
    """An integer; older writers give small ones bare. Nothing is rounded or guessed."""
    if isinstance(data, dict) and isinstance(data["#bigint"], str) and re.fullmatch(r"-?[0-9]+", data["#bigint"]):
        return int(data["#bigint"])
    if type(data) is int:
        return data
    raise TypeError


def to_itf(trace: Trace, bound: BoundModel) -> str:
    """The trace as ITF text, variables sorted by name."""
    variables = sorted(name for name, _ in bound.type.fields)
    states = []
    for i, (state, step) in enumerate(zip(trace.states, trace.steps, strict=True)):
        kinds = dict(bound.parameters(step.action))
        meta = {
            "index": i,
            "action": step.action,
            "params": {k: encode(v, kinds[k]) for k, v in step.params.items()},
            "actor": step.actor,
            "level": i + 1,
        }
        states.append({"#meta": meta, **encode(state, bound.type)})
    meta = {"format": "ITF", "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html", **trace.meta}
    whole: Itf = {"#meta": meta, "vars": variables, "states": states}
    if trace.loop is not None:
        whole["loop"] = trace.loop
    if trace.closing is not None:
        kinds = dict(bound.parameters(trace.closing.action))
        params = {k: encode(v, kinds[k]) for k, v in trace.closing.params.items()}
        meta["closing"] = {"action": trace.closing.action, "params": params, "actor": trace.closing.actor}
    return itf_text(whole)


def itf_text(data: Itf) -> str:
    """The text of ITF data: a line for each state, and one for each other member."""
    members = []
    for name, value in data.items():
        text = json.dumps(value)
        if name == "states":
            text = "[\n" + ",\n".join(map(json.dumps, data["states"])) + "\n]"
        members.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def configurations(meta: JsonObject) -> list[PlainConfig]:
    """The configurations that a trace is a run of: its own, or one for each release that it lists."""
    config = meta.get("config", {})
    return [{**config, "release": release} for release in meta.get("releases", [])] or [config]


def properties_of(meta: JsonObject) -> dict[str, str | None]:
    """The properties that a trace is about, by name, with their kinds."""
    properties = meta.get("properties") or {meta.get("property"): meta.get("property_kind")}
    return {name: kind for name, kind in properties.items() if name}


def of_each_property(trace: Trace) -> list[Trace]:
    """The trace as one of each property that it is about."""
    properties = properties_of(trace.meta).items()
    return [replace(trace, meta={**trace.meta, "property": name, "property_kind": kind}) for name, kind in properties]


def read_itf(path: Path) -> Itf:
    """The JSON of a trace file; `TraceError` says what is wrong with it."""
    try:
        data = json.loads(read_text(path))
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise TraceError(f"{path} is not a trace: it is not JSON: {error}") from None
    except (RecursionError, ValueError) as error:  # nested or numbered beyond what Python reads
        raise TraceError(f"{path} is not a trace: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("states"), list) or "vars" not in data:
        raise TraceError(f"{path} is not an ITF trace: it needs `vars` and `states`")
    if not data["states"]:
        raise TraceError(f"{path} has no states")
    loop = data.get("loop")
    if loop is not None and (type(loop) is not int or not 0 <= loop < len(data["states"])):
        raise TraceError(f"{path}: `loop` is the number of a state, not {json.dumps(loop)[:40]}")
    meta = data.setdefault("#meta", {})
    types: dict[str, type] = dict.fromkeys(("model", "model_file", "property", "property_kind"), str)
    types |= {"config": dict, "fairness": list, "raises": dict, "properties": dict, "releases": list}
    if not isinstance(meta, dict):
        raise TraceError(f"{path}: `#meta` is not an object")
    for key, kind in types.items():
        if not isinstance(meta.get(key, kind()), kind):
            raise TraceError(f"{path}: `#meta`.`{key}` is {json.dumps(meta[key])[:40]}")
    if meta.get("properties"):  # what is about one property is about the first
        meta["property"], meta["property_kind"] = next(iter(meta["properties"].items()))
    return cast(Itf, data)


def from_itf(data: Itf, bound: BoundModel) -> Trace:
    """The trace of ITF data for a model; `TraceError` where it is not of the model's types."""
    states, steps = [], []
    for i, raw in enumerate(data["states"]):
        if not isinstance(raw, dict) or not isinstance(raw.get("#meta", {}), dict):
            raise TraceError(f"state {i} is not an object with an object as `#meta`")
        meta = raw.get("#meta", {})
        try:
            states.append(decode({k: v for k, v in raw.items() if k != "#meta"}, bound.type))
        except TraceError as error:
            raise TraceError(f"state {i}: {error}") from None
        name = meta.get("action")
        if name is None and i == 0:  # another tool's trace: the state says enough
            starts = [TraceStep(d.name, p, "") for d, p, s in bound.initial_states() if s == states[0]]
            steps.append(starts[0] if starts else TraceStep(bound.model.initials[0].name, {}, ""))
            continue
        if name is None:
            raise TraceError(f"state {i} does not say which action led to it (`#meta`.`action`)")
        steps.append(_step(f"state {i}", name, meta, bound))
    meta = dict(data.get("#meta", {}))
    closing, loop = meta.pop("closing", None), data.get("loop")
    if closing is None and loop not in (None, len(states) - 1):
        raise TraceError(f"it does not say which action leads back to state {loop} (`#meta`.`closing`)")
    if closing is not None and not (isinstance(closing, dict) and isinstance(closing.get("action"), str)):
        raise TraceError(f"`#meta`.`closing` is {json.dumps(closing)[:40]}")
    back = None if closing is None else _step("the closing step", closing["action"], closing, bound)
    for assumed in meta.get("fairness", []):
        names = {n for n, _ in bound.parameters(assumed["action"])} if _is_assumption(assumed, bound) else None
        if names is None or not set(assumed["each"]) <= names:
            raise TraceError(f"`#meta`.`fairness` has {json.dumps(assumed)[:80]}")
    return Trace(states, steps, meta, loop, back)


def _is_assumption(data: Any, bound: BoundModel) -> bool:
    return (
        isinstance(data, dict)
        and data.get("action") in [a.name for a in bound.model.actions]
        and data.get("strength") in ("weak", "strong")
        and isinstance(data.get("each"), list)
        and all(isinstance(name, str) for name in data["each"])
    )


def _step(where: str, name: Any, meta: JsonObject, bound: BoundModel) -> TraceStep:
    """The step that a `#meta` tells of; `TraceError` if the model has no such action or parameters."""
    try:
        kinds = dict(bound.parameters(name))
        data = meta.get("params", {})
        if not isinstance(data, dict) or set(data) != set(kinds):
            raise TraceError(f"it takes ({', '.join(kinds)}), not {json.dumps(data)[:80]}")
        params = {k: decode(data[k], t) for k, t in kinds.items()}
    except (TraceError, ModelError) as error:
        raise TraceError(f"{where}, action {name}: {error}") from None
    actors = {a.name: a.who for a in bound.model.actions}
    return TraceStep(name, params, actors.get(name, ""))


def replay(trace: Trace, bound: BoundModel) -> None:
    """Executes the trace in plain Python, round its loop if it has one.

    `ReplayRefused` names the step and the guard that refuses it. Whether a loop is fair is not asked here.
    """
    first = trace.steps[0]
    starts = [(d.name, p) for d, p, s in bound.initial_states() if s == trace.states[0]]
    if not starts:
        raise ReplayRefused(0, first.action, "this is not an initial state of the model")
    if (first.action, first.params) not in starts:
        raise ReplayRefused(0, first.action, f"with {first.params} the model starts in another state")
    for i in range(1, len(trace.states)):
        _take(bound, i, trace.steps[i], trace.states[i - 1], trace.states[i])
    last = len(trace.states) - 1
    if trace.closing is not None:
        if trace.loop is None:
            raise ReplayRefused(last + 1, trace.closing.action, "it leads back, but the trace does not say where to")
        _take(bound, last + 1, trace.closing, trace.states[last], trace.states[trace.loop])
    elif trace.loop not in (None, last):
        raise ReplayRefused(last + 1, "", f"nothing leads back to state {trace.loop}")


def _take(bound: BoundModel, i: int, step: TraceStep, before: Any, expected: Any) -> None:
    """Takes step i from a state; `ReplayRefused` unless that gives the state wanted."""
    try:
        after = bound.take(before, step.action, step.params)
    except GuardRefused as refused:
        raise ReplayRefused(i, step.action, f"not enabled: {guard_of(refused)}") from None
    except ModelError as error:
        raise ReplayRefused(i, step.action, str(error)) from None
    if isinstance(after, Clipped):
        raise ReplayRefused(i, step.action, f"leaves the bound of {after.path}: {after.message}")
    if after != expected:
        changed = [n for n, _ in bound.type.fields if getattr(after, n) != getattr(expected, n)]
        raise ReplayRefused(i, step.action, f"the model gives another state: {', '.join(changed)} differs")


def guard_of(refused: GuardRefused) -> str:
    """The source line of the guard that refused, with its note."""
    frame = refused.__traceback__
    lines = []
    while frame is not None:
        lines.append((frame.tb_frame.f_code.co_filename, frame.tb_lineno))
        frame = frame.tb_next
    note = f" ({refused})" if str(refused) else ""
    if len(lines) < 2:
        return str(refused) or "a guard"
    file, line = lines[-2]
    try:
        text = _lines_of(file, os.stat(file).st_mtime_ns)[line - 1].strip()
    except (OSError, IndexError):
        return str(refused) or "a guard"
    return f"{os.path.basename(file)}:{line}: {text}{note}"


@functools.cache
def _lines_of(file: str, changed: int) -> list[str]:
    """The lines of a source file, read once until it changes: a search for reasons asks about thousands of guards."""
    return Path(file).read_text(encoding="utf-8").splitlines()
