"""The reference of the command line, in Markdown, from the declared options.

Also here: the JSON Schema of the run record, from the types that the program writes it with.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterator
from typing import Any

from reassure.checkers.console.commands import options_of, subcommands
from reassure.checkers.console.overview import COMMANDS
from reassure.checkers.console.parser import sentence
from reassure.checkers.ledger.markdown import table
from reassure.checkers.machine.exit_codes import PASS_TO_DEPTH, VERDICTS, Exit
from reassure.checkers.machine.stop import StopReason
from reassure.checkers.request.result import PropertyStatus
from reassure.checkers.request.run_identity import RunRecord
from reassure.checkers.request.shared_options import Option
from reassure.spec.semantics.trace import JsonObject

HEAD = """# {0}

Written by `python -m reassure.checkers.publish` from the parsers. Every command ends with one of the
[exit codes](exit-codes.md). `reassure COMMAND --help` prints the same in a terminal.
"""


def pages() -> dict[str, str]:
    """Every command with its arguments and options, by the name of a page: those of Kafka's code have their own."""
    others = [name for name in COMMANDS if name != "kafka"]
    return {
        "commands.md": _page("Commands", others),
        "kafka-commands.md": _page("Commands for Kafka's code", ["kafka"]),
    }


def _page(title: str, names: list[str]) -> str:
    return "\n".join([HEAD.format(title), *(line for name in names for line in _command(name, COMMANDS[name]))])


def _command(name: str, summary: str) -> Iterator[str]:
    yield f"## reassure {name}\n"
    yield f"{sentence(summary)}\n"
    rows = [(f"`{_name(option)}`", option.help) for option in options_of(name)]
    if rows:
        yield from (table(("argument", "effect"), rows), "")
    if " " not in name:
        for word, subcommand in subcommands(name).items():
            yield from _command(f"{name} {word}", subcommand.help)


def _name(option: Option) -> str:
    if not option.flag:
        return option.metavar or option.name
    words = ", ".join(option.flags)
    return words if option.switch else f"{words} {option.metavar or '{' + ','.join(option.choices) + '}'}"


NAME = "record.schema.json"
CHOICES: dict[str, list[Any]] = {
    "schema": [1],
    "verdict": sorted({*VERDICTS.values(), PASS_TO_DEPTH}),
    "exit_code": sorted(code.value for code in Exit),
    "status": sorted(PropertyStatus),
    "stop_reason": [*sorted(StopReason), None],
}
"""Keys of which only some values occur."""
COMMON = ["exit_code", "schema", "verdict"]
"""Keys of every answer. That of a run, which has a `stop_reason`, has all the others that are required, too."""


def schema_text() -> str:
    """The schema, as the page has it."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The run record of reassure",
        "description": "What `--json FILE` writes. Keys may be added; docs/reference/record.md says what each means.",
    }
    record = _of_record(RunRecord)
    of_a_run = [key for key in record["required"] if key not in COMMON]
    record |= {"required": COMMON, "dependentRequired": {"stop_reason": of_a_run}}
    return json.dumps({**head, **record}, indent=1) + "\n"


def _of_record(record: Any) -> JsonObject:
    hints = typing.get_type_hints(record)
    keys = {key: {**_of(hint), **({"enum": CHOICES[key]} if key in CHOICES else {})} for key, hint in hints.items()}
    extras = typing.get_type_hints(record, include_extras=True)
    optional = {key for key, hint in extras.items() if typing.get_origin(hint) is typing.NotRequired}
    return {"type": "object", "properties": keys, "required": sorted(record.__required_keys__ - optional)}


def _of(hint: Any) -> JsonObject:
    """The schema of an annotation."""
    plain = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
    arguments = typing.get_args(hint)
    if hint in plain:
        return {"type": plain[hint]}
    if hint is object:
        return {}
    if typing.is_typeddict(hint):
        return _of_record(hint)
    if isinstance(hint, types.UnionType):
        return {"type": [plain[one] for one in arguments]}
    if typing.get_origin(hint) is list:
        return {"type": "array", "items": _of(arguments[0])}
    if typing.get_origin(hint) is dict:
        return {"type": "object", "additionalProperties": _of(arguments[1])}
    raise TypeError(f"{hint} has no schema")
