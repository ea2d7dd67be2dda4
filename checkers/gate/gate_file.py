"""The file of `reassure gate`: checks with what is expected of them.

budget = "10m"                           # of all checks together; what has not begun by then is not run

[[check]]
kind = "check"                           # a command; its options are keys of the check
model = "core"
set = { brokers = 3 }
expect = "pass"                          # or another verdict string, such as "safety-violation"
violated = ["goal_not_reached"]          # exactly these properties, with the length of the trace if given
unreached = []                           # covers that nothing reaches; any other that is not is a failure
never_taken = []                         # actions that no step takes; if it is given, any other is a failure
depth = 10                               # levels; expect is then "pass-to-depth": nothing is known beyond
pin = { distinct = 16, generated = 97, depth = 8, properties = "6f0a2c9d1b3e" }

`reassure gate --schema` prints the whole of it as a JSON schema.
"""

from __future__ import annotations

import difflib
import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from reassure.checkers.check import CheckRequest
from reassure.checkers.console.commands import GateKind
from reassure.checkers.console.files import is_short_name
from reassure.checkers.gate import values
from reassure.checkers.gate.kinds import DEFAULT_KIND, KINDS, kind_of, options, schema_of, takes
from reassure.checkers.gate.values import Schema, fits, schema_in_words
from reassure.checkers.machine.atomic_files import did_you_mean
from reassure.checkers.machine.exit_codes import PASS_TO_DEPTH, VERDICTS, Exit, Failure
from reassure.checkers.request.model_loader import own_file
from reassure.checkers.request.options import DEFAULT_ENGINE, SearchOptions, seconds
from reassure.checkers.request.shared_options import pairs
from reassure.spec.semantics.trace import JsonObject, read_bytes

TO_DEPTH = ("check", "sweep", "kafka conform", "kafka diff")
"""Kinds whose searches pass to a depth."""
VERDICT_NAMES = [*VERDICTS.values(), PASS_TO_DEPTH]
LONGEST = 4 << 20
"""Bytes of a file. One with 1,000 checks has half a MiB."""
PROPERTIES = "properties"
"""The pin that is not a number: the digest of which properties and covers there are."""


Entry = JsonObject
"""Values of a check by key, each as the schema of the key says (`values.py`)."""


@dataclass
class Check:
    """One entry of the file."""

    name: str
    kind: str
    given: Entry
    """The options of its command, by key; paths as they are from here."""
    expect: str
    violated: dict[str, int | None] | None
    unreached: list[str] | None = None
    pin: dict[str, int | str] = field(default_factory=dict)
    never_taken: list[str] | None = None
    named: tuple[str, ...] = ()
    """The models that its file names: their traces and certificates may execute them."""

    @property
    def about(self) -> GateKind:
        """Its kind."""
        return kind_of(self.kind)

    def words(self) -> list[str]:
        """Its command line, without `reassure`."""
        words = self.kind.split()
        for key, option in options(self.kind).items():
            if key in self.given:
                words += option.words(self.given[key])
        return words

    def repro(self) -> str:
        """The command that repeats it."""
        return shlex.join(["reassure", *self.words()])

    @property
    def model(self) -> str | None:
        """The model by name or path, if it names one."""
        named = self.given.get("model")
        return None if named is None else str(named)

    @property
    def models(self) -> list[str]:
        """Every model that it names."""
        return [str(self.given[key]) for key in self.about.models if key in self.given]

    def files(self) -> list[Path]:
        """The files and folders that it reads, but for the model."""
        return [
            Path(self.given[key])
            for key, option in options(self.kind).items()
            if option.type is Path and key in self.given
        ]

    def request(self) -> CheckRequest:
        """A check of kind `check` as it is asked of an engine."""
        values = self.given
        budget = seconds(str(values["budget"])) if "budget" in values else None
        search = SearchOptions(
            properties=values.get("property", []),
            depth=values.get("depth"),
            budget=budget,
            symmetry=values.get("symmetry", "off"),
        )
        engine = values.get("engine", DEFAULT_ENGINE)
        return CheckRequest(
            values["model"], pairs(values.get("set", {})), engine, search, values.get("accept_clipping", False)
        )


@dataclass
class GateFile:
    """The checks of a file. budget: seconds for all checks together."""

    path: Path
    checks: list[Check]
    budget: float | None = None
    text: str = ""


def judged_keys(kind: str) -> dict[str, Schema]:
    """The keys of a check that say what is expected."""
    pins = {name: values.whole_number(0) for name in kind_of(kind).pins}
    pinned = values.table_schema({**pins, PROPERTIES: values.TEXT}, f"a table of {', '.join([*pins, PROPERTIES])}")
    lengths = {
        "type": "object",
        "additionalProperties": values.whole_number(1),
        "description": "a table property = states",
    }
    judged = {
        "name": values.TEXT,
        "kind": values.one_of(list(KINDS)),
        "expect": values.one_of(VERDICT_NAMES),
        "violated": {"anyOf": [{**values.TEXTS, "description": "a list of properties"}, lengths]},
        "unreached": {**values.TEXTS, "description": "a list of covers"},
        "never_taken": {**values.TEXTS, "description": "a list of actions"},
        "pin": pinned,
    }
    if not kind_of(kind).decides:
        del judged["unreached"], judged["never_taken"]  # nobody would look at them
    return judged


def keys(kind: str) -> dict[str, Schema]:
    """Every key that a check of a kind may have."""
    schemas = {**judged_keys(kind), **{key: schema_of(kind, option) for key, option in options(kind).items()}}
    about = {"description": 'a name or a path, such as "core"'}
    return {key: {**s, **about} if key in kind_of(kind).models else s for key, s in schemas.items()}


def required(kind: str) -> list[str]:
    """The keys that a check of a kind must have."""
    return [key for key, option in options(kind).items() if option.must_be_given] + ["expect"]


def schema() -> Schema:
    """The JSON schema of a gate's file."""
    kinds = []
    for kind in KINDS:
        this = {**keys(kind), "kind": {"const": kind}}
        must = required(kind) + ([] if kind == DEFAULT_KIND else ["kind"])
        kinds.append(
            {"title": kind, "type": "object", "properties": this, "additionalProperties": False, "required": must}
        )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The file of reassure gate",
        "type": "object",
        "properties": {"budget": values.TIME, "check": {"type": "array", "items": {"anyOf": kinds}}},
        "additionalProperties": False,
    }


def read_gate_file(path: Path, engine: str | None = None) -> GateFile:
    """Reads a file; `Failure` names what is wrong with it. engine: of every search, whatever the file says."""
    try:
        text = read_bytes(path, LONGEST).decode("utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise Failure(Exit.USAGE, f"{path}: {error.strerror}{did_you_mean(path)}") from None
    except ValueError as error:
        raise Failure(Exit.USAGE, f"{path} is not TOML: {error}") from None
    except RecursionError:
        raise Failure(Exit.USAGE, f"{path} cannot be read: it nests too deeply") from None
    unknown = sorted(set(data) - {"check", "budget"})
    entries = data.get("check", [])
    if unknown or not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise Failure(
            Exit.USAGE, f"{path}: a gate is a list of [[check]] tables and a budget, not {', '.join(unknown) or 'this'}"
        )
    checks = [_entry(path, i, e, engine) for i, e in enumerate(entries, 1)]
    named = tuple(sorted({model for check in checks for model in check.models if own_file(model)}))
    for check in checks:
        check.named = named
    return GateFile(path, checks, _budget(str(path), data), text)


def _budget(where: str, data: Entry) -> float | None:
    if "budget" not in data:
        return None
    if not fits(data["budget"], values.TIME):
        raise Failure(Exit.USAGE, f"{where}: budget is {schema_in_words(values.TIME)}, not {data['budget']!r}")
    try:
        return seconds(str(data["budget"]))
    except ValueError as error:
        raise Failure(Exit.USAGE, f"{where}: budget: {error}") from None


def _entry(path: Path, number: int, entry: Entry, engine: str | None) -> Check:
    where = f"{path}, check {number}"
    kind = entry.get("kind", DEFAULT_KIND)
    if not fits(kind, values.one_of(list(KINDS))):
        raise Failure(Exit.USAGE, f"{where}: kind is one of {', '.join(KINDS)}, not {kind!r}")
    _must_be_of(where, kind, entry)
    for key, value in entry.items():
        if isinstance(value, str) and value.startswith("-") and len(value) > 1 and key in options(kind):
            raise Failure(Exit.USAGE, f"{where}: {key} is {value!r}, which is an option of a command")
    if isinstance(entry.get("name"), str) and not entry["name"].isprintable():
        raise Failure(Exit.USAGE, f"{where}: a name is one line of text, not {entry['name']!r}")
    if "depth" in entry and entry["expect"] == VERDICTS[Exit.OK] and kind in TO_DEPTH:
        why = f'a search of {entry["depth"]} levels passes to that depth: write expect = "{PASS_TO_DEPTH}"'
        raise Failure(Exit.USAGE, f"{where}: {why}")
    _budget(where, entry)
    violated = entry.get("violated")
    if isinstance(violated, list):
        violated = dict.fromkeys(violated)
    options_of = {key: value for key, value in entry.items() if key in options(kind)}
    name = entry.get("name") or _name(kind, options_of)
    for key in kind_of(kind).models:
        if key in options_of:
            options_of[key] = _model(path, options_of[key])
    for key, option in options(kind).items():
        if option.type is Path and key in options_of:
            beside = path.parent / options_of[key]
            if key != "trace" or beside.exists() or not is_short_name(options_of[key]):
                options_of[key] = str(beside)
    if engine and takes(kind, "engine"):
        options_of["engine"] = engine
    return Check(
        name,
        kind,
        options_of,
        entry["expect"],
        violated,
        entry.get("unreached"),
        entry.get("pin", {}),
        entry.get("never_taken"),
    )


def _must_be_of(where: str, kind: str, entry: Entry) -> None:
    """`Failure` unless a check has what its kind needs, and nothing else."""
    schemas = keys(kind)
    for key in sorted(set(entry) - set(schemas)):
        near = difflib.get_close_matches(key, schemas, n=1)
        hint = f"did you mean {near[0]}?" if near else f"a check of kind {kind} has {', '.join(sorted(schemas))}"
        raise Failure(Exit.USAGE, f"{where}: unknown {key}; {hint}")
    for key, value in entry.items():
        if not fits(value, schemas[key]):
            raise Failure(Exit.USAGE, f"{where}: {key} is {schema_in_words(schemas[key])}, not {value!r}")
    for key in required(kind):
        if key not in entry:
            raise Failure(Exit.USAGE, f"{where}: {key} is missing; it is {schema_in_words(schemas[key])}")


def _name(kind: str, values: Entry) -> str:
    """The name of a check that has none: its kind, unless it is a search; its subject; its settings."""
    positional = [str(values[key]) for key, option in options(kind).items() if not option.flag and key in values]
    files = [
        Path(values[key]).name
        for key, option in options(kind).items()
        if option.type is Path and option.flag and key in values
    ]
    return " ".join([*([] if kind == DEFAULT_KIND else [kind]), *positional, *files, *pairs(values.get("set", {}))])


def _model(path: Path, named: str) -> str:
    """The model of a check: a path is relative to the gate's file, whatever the working directory."""
    beside = path.parent / named
    return str(beside) if (own_file(named) or beside.is_file()) and not Path(named).is_absolute() else named
