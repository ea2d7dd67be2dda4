"""A path as a file: ITF, a pytest test, a story."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reassure.checkers.explorer.loaded import Loaded, ModelSource
from reassure.checkers.pictures.html_page import html_page
from reassure.checkers.request.run_identity import trace_stem
from reassure.checkers.traces.named_path import named_step
from reassure.checkers.traces.plain_json import to_plain
from reassure.checkers.traces.properties_here import violated_here
from reassure.checkers.traces.render import told
from reassure.checkers.traces.replay import to_steps
from reassure.spec.semantics.interpreter import BoundModel, ModelError
from reassure.spec.semantics.trace import JsonObject, Trace, TraceStep, to_itf

WIDTH = 100


@dataclass(frozen=True)
class Exported:
    """A file to download."""

    name: str
    kind: str
    """Its media type."""
    text: str


def export_path(form: str, trace: Trace, loaded: Loaded, source: ModelSource) -> Exported:
    """The path in one of `FORMS`."""
    bound = loaded.bound
    violated = describe_path(trace, loaded, source)
    suffix, kind, write = FORMS[form]
    text = write(trace, bound, source, violated)
    stem = trace_stem(bound.model.name, source.settings, "path", "explore")
    name = f"{_test_name(bound) if form == 'test' else stem}{suffix}"
    return Exported(re.sub(r"[^A-Za-z0-9_.-]+", "-", name), kind, text)


def describe_path(trace: Trace, loaded: Loaded, source: ModelSource) -> list[str] | None:
    """Writes into a path where it comes from and what it shows; the properties that its end violates.

    None where a property raises there.
    """
    trace.meta = {**source.meta(loaded), "engine": "explore"}
    try:
        violated = violated_here(trace, loaded.bound)
    except ModelError:
        return None
    if violated:
        trace.meta |= {"property": violated[0][0], "property_kind": violated[0][1]}
    return [name for name, _ in violated]


def _story(trace: Trace, bound: BoundModel, *others: Any) -> str:
    return "\n".join(line.rstrip() for line in told(trace, bound).splitlines()) + "\n"


def _test(trace: Trace, bound: BoundModel, source: ModelSource, violated: list[str] | None) -> str:
    """A test that walks the path, and expects what each step changes and what is violated at the end."""
    first = trace.steps[0]
    settings = [f"{key}={_literal(_setting(value))}" for key, _, value in (s.partition("=") for s in source.settings)]
    lines = [
        f'"""A path of {bound.model.name}, as `reassure explore` has written it."""',
        "",
        "import reassure",
        "",
        "",
        f"def {_test_name(bound)}() -> None:",
        f"    model = reassure.load({', '.join([_literal(source.model), *settings])})",
        f"    walk = reassure.walk({', '.join(['model', *_arguments(first, bound)])})",
        *_equals("walk.state", _plain(trace.states[0], bound)),
    ]
    for i, step in enumerate(trace.steps[1:], 1):
        before, after = trace.states[i - 1], trace.states[i]
        now = _plain(after, bound)
        changed = {key: now[key] for key, _ in bound.type.fields if getattr(before, key) != getattr(after, key)}
        lines.append(f"    walk.take({', '.join(_arguments(step, bound))})  # {step.actor}")
        lines += _equals("walk.changed", changed)
    lines += _equals("walk.violated()", violated) if violated is not None else []
    return "\n".join(lines) + "\n"


def _test_name(bound: BoundModel) -> str:
    return f"test_path_of_{re.sub(r'[^a-z0-9]+', '_', bound.model.name.lower())}"


def _equals(what: str, value: Any) -> list[str]:
    """The lines that assert a value; a long one takes a line for each of its fields."""
    line = f"    assert {what} == {_literal(value)}"
    if len(line) <= WIDTH or not isinstance(value, dict):
        return [line]
    inner = [f"        {_literal(key)}: {_literal(field)}," for key, field in value.items()]
    return [f"    assert {what} == {{", *inner, "    }"]


def _literal(value: Any) -> str:
    """A plain value as Python text, with the quotes that formatters give it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(_literal(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_literal(key)}: {_literal(item)}' for key, item in value.items())}}}"
    return repr(value)


def _setting(text: str) -> Any:
    """A configuration value as the Python API takes it."""
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _plain(state: Any, bound: BoundModel) -> JsonObject:
    data = to_plain(state, bound.type)
    assert isinstance(data, dict)
    return data


def _arguments(step: TraceStep, bound: BoundModel) -> list[str]:
    """An initial function or an action, and its parameters, as arguments of a call."""
    values = named_step(step.action, step.params, bound).params
    return [_literal(step.action), *(f"{key}={_literal(value)}" for key, value in values.items())]


Writer = Callable[[Trace, BoundModel, ModelSource, list[str] | None], str]

FORMS: dict[str, tuple[str, str, Writer]] = {
    "itf": (".itf.json", "application/json", lambda trace, bound, *_: to_itf(trace, bound)),
    "steps": (".steps.json", "application/json", lambda trace, bound, *_: to_steps(trace, bound)),
    "test": (".py", "text/x-python", _test),
    "page": (".html", "text/html", lambda trace, bound, *_: html_page(trace, bound)),
    "story": (".txt", "text/plain", _story),
}
"""Suffix, media type and writer of each form."""
