"""The kinds of check that a gate runs: commands. The keys of a check are the options of its command.

A command becomes a kind by its name in `KINDS` and `KIND` in its module, or `kind` of its `Subcommand`. It has to write
a run record (`--json`), or its exit code is all that is judged.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from reassure.checkers.console.commands import GateKind, command, options_of, subcommands
from reassure.checkers.gate import values
from reassure.checkers.gate.values import Schema
from reassure.checkers.request import options as argument_types
from reassure.checkers.request.shared_options import Option

RUN_BY_THE_GATE = frozenset({"json", "trace_dir", "quiet", "stories", "full", "workers", "witness"})
"""Options that the gate gives by itself, or that have no use in one."""

KINDS = (
    "check", "prove", "verify", "simulate", "guards", "stuck", "fairness", "replay", "sweep", "diff", "find",
    "mutants", "validate", "plan", "claims", "kafka conform",
    "kafka diff",
)  # fmt: skip
"""Every kind, by the value of `kind`: the words of its command."""
DEFAULT_KIND = "check"

SCHEMAS: dict[Any, Schema] = {
    int: {"type": "integer"},
    argument_types.positive: values.whole_number(1),
    argument_types.whole: values.whole_number(0),
    argument_types.seed: values.whole_number(0),
    argument_types.duration: values.TIME,
    argument_types.size: {"anyOf": [values.TEXT, values.whole_number(1)], "description": 'a size, such as "2G"'},
    argument_types.ids: {"type": "array", "items": values.whole_number(0)},
    argument_types.weight: {
        "type": "object",
        "additionalProperties": values.whole_number(0),
        "description": "a table action = weight",
    },
    Path: values.TEXT,
    None: values.TEXT,
}
"""The schema of a TOML value, by the type of an argument."""


def kind_of(name: str) -> GateKind:
    """A kind by its name, of the module of its command."""
    first, _, second = name.partition(" ")
    holder: Any = subcommands(first)[second] if second else command(first)
    kind: GateKind = holder.kind if second else holder.KIND
    return kind


def takes(kind: str, option: str) -> bool:
    """Whether the command of a kind has an option of this name."""
    return any(declared.name == option for declared in options_of(kind))


@cache
def options(kind: str) -> dict[str, Option]:
    """The keys of a kind that are options of its command, positional arguments first."""
    left_out = RUN_BY_THE_GATE | kind_of(kind).left_out
    declared = sorted(options_of(kind), key=lambda option: bool(option.flag))
    return {option.name: option for option in declared if option.name not in left_out}


def schema_of(kind: str, option: Option) -> Schema:
    """The schema of the TOML value for an option of a kind."""
    schema = values.SWITCH if option.switch else SCHEMAS[option.type]
    if option.name == "set":
        schema = values.SETTINGS
    elif option.choices:
        schema = values.one_of(list(dict(kind_of(kind).only).get(option.name, option.choices)))
    elif option.repeatable and schema["type"] == "string":
        schema = values.TEXTS
    return schema if "description" in schema else {**schema, "title": option.help}
