"""The kinds of check that a gate runs: commands. The keys of a check are the options of its command.

A command becomes a kind by its line in `KINDS`. It has to write a run record (`--json`), or its exit code is all that
is judged.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from reassure.checkers.base import argument_types
from reassure.checkers.console.commands import command
from reassure.checkers.gate import values
from reassure.checkers.gate.values import Schema

Record = dict[str, Any]

RUN_BY_THE_GATE = frozenset({"help", "json", "trace_dir", "quiet", "stories", "full", "workers", "witness"})
"""Options that the gate gives by itself, or that have no use in one."""
SPARK = frozenset({"master", "conf", "partitions", "out", "resume", "no_data", "fingerprints"})


def search_figures(record: Record) -> dict[str, int]:
    """What a search or a walk has counted."""
    return {name: n for name, n in record["stats"].items() if name in SEARCH_FIGURES}


def plan_figures(record: Record) -> dict[str, int]:
    """What a plan moves."""
    plan = record.get("plan", {})
    found = {name: plan[name] for name in ("partitions", "unmoved", "replicas_copied") if name in plan}
    return found | ({"batches": len(plan["batches"])} if "batches" in plan else {})


def guard_figures(record: Record) -> dict[str, int]:
    """How many guards are of each verdict."""
    return _verdicts(record.get("guards", []), GUARD_FIGURES)


def fairness_figures(record: Record) -> dict[str, int]:
    """How many weakenings of assumptions are of each verdict."""
    return _verdicts([w for p in record.get("fairness", []) for w in p["weakenings"]], FAIRNESS_FIGURES)


def conform_figures(record: Record) -> dict[str, int]:
    """What was compared with Kafka's controller, over all releases."""
    releases = record.get("releases", [])
    if not releases:
        return {}
    actions = [a for r in releases for a in r["actions"].values()]
    return {"kinds": sum(a["kinds"] for a in actions), "agree": sum(a["agree"] for a in actions)}


def sweep_figures(record: Record) -> dict[str, int]:
    """How many configurations were checked, and how many combinations the model excludes."""
    return {name: len(record[name]) for name in ("configurations", "excluded") if name in record}


def find_figures(record: Record) -> dict[str, int]:
    """What was searched, and the length of the trace that was found, in states."""
    depth = record.get("depth")
    return search_figures(record) | ({"depth": depth} if depth is not None else {})


def mutant_figures(record: Record) -> dict[str, int]:
    """How many mutants there are, and how many had which fate."""
    if "counts" not in record:
        return {}
    return {"mutants": record["mutants_chosen"], **{name: record["counts"].get(name, 0) for name in MUTANT_FIGURES[1:]}}


def proof_figures(record: Record) -> dict[str, int]:
    """How many lemmas a proof uses."""
    return {"lemmas": len(record["lemmas"])} if "lemmas" in record else {}


def _verdicts(rows: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, int]:
    counts = Counter(str(row["verdict"]).replace(" ", "_").replace("-", "_") for row in rows)
    return {name: counts[name] for name in names} if rows else {}


SEARCH_FIGURES = ("distinct", "generated", "depth", "clipped")
GUARD_FIGURES = ("load_bearing", "not_needed", "redundant", "raises", "bounding", "undecided")
MUTANT_FIGURES = ("mutants", "killed", "survived", "equivalent", "refused", "raised", "clipped", "undecided")
FAIRNESS_FIGURES = ("needed", "not_needed", "undecided")


@dataclass(frozen=True)
class Kind:
    """A command as a kind of check.

    figures: the whole numbers of its record that may be pinned, and how to find them. left_out: options that a check
    cannot have. models: the keys that name a model. decides: whether a property or cover without an answer is a
    failure beside an expected violation.
    by_digest: whether the texts of its model and files say all that its answer depends on.
    """

    words: tuple[str, ...]
    pins: tuple[str, ...] = ()
    figures: Callable[[Record], dict[str, int]] = search_figures
    left_out: frozenset[str] = frozenset()
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Options of which only some choices are open to a gate."""
    models: tuple[str, ...] = ("model",)
    decides: bool = False
    by_digest: bool = True


KINDS: dict[str, Kind] = {
    "check": Kind(
        ("check",),
        SEARCH_FIGURES,
        left_out=SPARK | {"dump_kernel", "fail_fast"},
        only=(("engine", ("native", "reference")),),
        decides=True,
    ),
    "prove": Kind(("prove",), ("lemmas",), proof_figures),
    "verify": Kind(("verify",), by_digest=False),
    "simulate": Kind(("simulate",), SEARCH_FIGURES),
    "guards": Kind(("guards",), GUARD_FIGURES, guard_figures),
    "stuck": Kind(("stuck",), SEARCH_FIGURES),
    "fairness": Kind(("fairness",), FAIRNESS_FIGURES, fairness_figures),
    "replay": Kind(("replay",), left_out=frozenset({"junit"}), by_digest=False),
    "sweep": Kind(
        ("sweep",),
        ("configurations", "excluded"),
        sweep_figures,
        left_out=SPARK | {"jobs", "fail_fast"},
        only=(("engine", ("native", "reference")),),
    ),
    "diff": Kind(("diff",), models=("model", "variant")),
    "find": Kind(("find",), ("distinct", "generated", "depth"), find_figures),
    "mutants": Kind(("mutants",), MUTANT_FIGURES, mutant_figures, left_out=frozenset({"jobs", "all", "record"})),
    "validate": Kind(("validate",), left_out=frozenset({"trace"})),
    "plan": Kind(
        ("plan",),
        ("partitions", "unmoved", "replicas_copied", "batches"),
        plan_figures,
        left_out=frozenset({"generate", "replication_factor", "brokers", "ignore_racks", "start_index", "show"}),
    ),
    "kafka conform": Kind(
        ("kafka", "conform"), ("kinds", "agree"), conform_figures, left_out=SPARK | {"engine"}, by_digest=False
    ),
}
"""Every kind, by the value of `kind`."""

DEFAULT_KIND = "check"


@dataclass(frozen=True)
class Option:
    """An option of a command as a key of a check. is_path: relative to the gate's file."""

    schema: Schema
    flag: str
    """As on the command line; empty for a positional argument."""
    required: bool = False
    is_path: bool = False

    def words(self, value: Any) -> list[str]:
        """The option with its value on a command line."""
        if not self.flag:
            return [str(value)]
        if isinstance(value, bool):
            return [self.flag] if value else []
        if isinstance(value, dict):
            return [f"{self.flag}={pair}" for pair in pairs(value)]
        if isinstance(value, list):
            if self.schema["items"] == values.TEXT:
                return [f"{self.flag}={item}" for item in value]
            return [f"{self.flag}={','.join(map(str, value))}"]
        return [f"{self.flag}={value}"]


def pairs(settings: dict[str, Any]) -> list[str]:
    """A table as KEY=VALUE."""
    return [f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in settings.items()]


SCHEMAS: dict[Any, Schema] = {
    int: {"type": "integer"},
    argument_types.positive: values.whole(1),
    argument_types.whole: values.whole(0),
    argument_types.seed: values.whole(0),
    argument_types.duration: values.TIME,
    argument_types.size: {"anyOf": [values.TEXT, values.whole(1)], "description": 'a size, such as "2G"'},
    argument_types.ids: {"type": "array", "items": values.whole(0)},
    argument_types.weight: {
        "type": "object",
        "additionalProperties": values.whole(0),
        "description": "a table action = weight",
    },
    Path: values.TEXT,
    None: values.TEXT,
}
"""What to write in TOML, by the type of an argument."""


@cache
def parser_of(kind: str) -> argparse.ArgumentParser:
    """The parser of a kind's command."""
    first, *rest = KINDS[kind].words
    parser = argparse.ArgumentParser(prog=f"reassure {first}", add_help=False)
    command(first).configure(parser)
    for word in rest:
        within = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
        parser = within.choices[word]
    return parser


def takes(kind: str, option: str) -> bool:
    """Whether the command of a kind has an option of this name."""
    return any(action.dest == option for action in parser_of(kind)._actions)


@cache
def options(kind: str) -> dict[str, Option]:
    """The keys of a kind that are options of its command, positional arguments first."""
    this = KINDS[kind]
    found = {}
    for action in sorted(parser_of(kind)._actions, key=lambda a: bool(a.option_strings)):
        if action.dest not in RUN_BY_THE_GATE | this.left_out:
            found[action.dest] = _option(action, dict(this.only).get(action.dest))
    return found


def _option(action: argparse.Action, only: tuple[str, ...] | None) -> Option:
    flag = max(action.option_strings, key=len, default="")
    schema = SCHEMAS.get(action.type, values.TEXT)
    if action.dest == "set":
        schema = values.SETTINGS
    elif action.nargs == 0:
        schema = values.SWITCH
    elif action.choices:
        schema = values.one_of(list(only or map(str, action.choices)))
    elif isinstance(action, argparse._AppendAction) and schema["type"] == "string":
        schema = values.TEXTS
    if action.help and "description" not in schema:
        schema = {**schema, "title": action.help}
    return Option(schema, flag, action.required, action.type is Path)
