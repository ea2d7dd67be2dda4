"""The record of the mutants of each model that comes with the project, and the reasons why a property may kill none.

`mutants.toml` says what is judged, and gives reasons; `reassure mutants --all --record` writes the record, with the
digest of each model's text. Everything else only reads.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.digest import digest
from reassure.checkers.request.model_loader import home, load_model, names
from reassure.checkers.request.shared_options import pairs
from reassure.spec.semantics.trace import JsonObject

SCHEMA = 1
FLAWED = "mutants"
"""The folder of the models that are mutants themselves."""
MUTANTS = ("survivors", "equivalent")
"""The fields of a model's record that list mutants."""
DEFAULTS = {"max": 100, "further": 100, "seed": 0}


@dataclass(frozen=True)
class MutantPaths:
    """The files of the plan and of the record."""

    plan: Path
    record: Path

    @staticmethod
    def of_the_project() -> MutantPaths:
        """Those that come with the project."""
        root = home().resolve().parent
        return MutantPaths(root / "mutants.toml", root / "counterexamples" / "mutants.json")


PATHS = MutantPaths.of_the_project()


@dataclass(frozen=True)
class MutantPlan:
    """The plan by which the mutants of one model are judged. set: KEY=VALUE. shares: a model that has most of its text.

    most: so many are judged. further: so many others are judged after them, at most, until each property without a
    stated reason has killed one. wider: settings in which the mutants that change nothing are judged again.
    """

    model: str
    set: tuple[str, ...]
    most: int
    further: int
    seed: int
    shares: str = ""
    wider: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Reason:
    """A reason why properties may kill no mutant. models: those that it is about; none: every model."""

    properties: tuple[str, ...]
    models: tuple[str, ...]
    text: str

    def covers(self, model: str, name: str) -> bool:
        """Whether it is a reason for this property of this model."""
        return name in self.properties and (not self.models or model in self.models)


@dataclass(frozen=True)
class Plans:
    """The contents of `mutants.toml`."""

    plans: Mapping[str, MutantPlan]
    """By model: every one that comes with the project and is not a mutant itself."""
    reasons: tuple[Reason, ...]

    def reason(self, model: str, name: str, records: Mapping[str, ModelRecord]) -> str:
        """The reason why a property of a model may kill no mutant; "" if there is no reason.

        One that is stated, for the model or the one that has most of its text; or that it kills mutants of the latter.
        """
        shares = self._shares(model)
        stated = next((r.text for r in self.reasons if r.covers(model, name) or r.covers(shares, name)), "")
        if stated or shares not in records or not records[shares].kills.get(name):
            return stated
        return f"it kills mutants of {shares}, which has most of this model's text"

    def excused(self, model: str, records: Mapping[str, ModelRecord]) -> frozenset[str]:
        """The properties of a model for which there is a reason."""
        shared = records.get(self._shares(model))
        names = {n for r in self.reasons for n in r.properties} | (shared.kills.keys() if shared else set())
        return frozenset(name for name in names if self.reason(model, name, records))

    def _shares(self, model: str) -> str:
        """The model that has most of a model's text, or ""."""
        return self.plans[model].shares if model in self.plans else ""


@dataclass(frozen=True)
class Survivor:
    """A mutant that no property notices, or of which nothing is known. place: file and line; change: as text.

    Of a mutant that changes nothing the verdict is that of the wider settings that tell it from the model; the note has
    the settings.
    """

    place: str
    function: str
    kind: str
    change: str
    verdict: str
    note: str


@dataclass
class ModelRecord:
    """The results for one model's mutants."""

    sha256: str
    """Of the model's text."""
    set: list[str]
    seed: int
    mutants: int
    """That the model has."""
    judged: int
    counts: dict[str, int]
    """Mutants by what became of them."""
    kills: dict[str, int]
    """By property or cover."""
    violated: list[str]
    """Properties that the model itself violates, and covers that it does not reach: these can kill none."""
    unexercised: list[str]
    """Properties that kill no mutant that was judged, and that the model satisfies."""
    survivors: list[Survivor] = field(default_factory=list)
    equivalent: list[Survivor] = field(default_factory=list)
    """The mutants that change nothing in this configuration, if there are wider settings."""
    wider: list[list[str]] = field(default_factory=list)
    """The settings in which these were judged again, until they differed."""

    def is_of(self, plan: MutantPlan, sha256: str) -> bool:
        """Whether it was made of this text by this plan."""
        enough = self.judged >= min(plan.most, self.mutants)
        made_of = (self.sha256, tuple(self.set), self.seed, tuple(map(tuple, self.wider)))
        return enough and made_of == (sha256, plan.set, plan.seed, plan.wider)


def shipped_models() -> list[str]:
    """The models whose mutants are judged, by name."""
    return [name for name, path in names().items() if path.parent.name != FLAWED]


def read_plans(path: Path = PATHS.plan) -> Plans:
    """The plan for every model, and the reasons. Raises `Failure` for a file that says nothing sensible."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        entries = {entry.pop("model"): entry for entry in data.pop("run", [])}
        reasons = tuple(_reason(entry) for entry in data.pop("reason", []))
        base = {**DEFAULTS, **data}
        models = shipped_models()
        named = {*entries, *(m for r in reasons for m in r.models)}
        named |= {entry["shares"] for entry in entries.values() if "shares" in entry}
        if unknown := sorted(named - set(models)) or sorted(base.keys() - DEFAULTS.keys()):
            raise ValueError(f"it names {unknown[0]!r}, which is neither a model nor a setting")
        return Plans({name: _plan(name, base, entries.get(name, {})) for name in models}, reasons)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(Exit.USAGE, f"{path.name}: {type(error).__name__}: {error}") from None


def _plan(name: str, base: Mapping[str, int], entry: JsonObject) -> MutantPlan:
    settings = tuple(pairs(entry.pop("set", {})))
    shares = entry.pop("shares", "")
    wider = tuple(tuple(pairs(table)) for table in entry.pop("wider", []))
    numbers = {key: entry.pop(key, base[key]) for key in DEFAULTS}
    if entry:
        raise ValueError(
            f"{name}: {min(entry)!r} is not a setting; there are model, set, shares, wider, {', '.join(DEFAULTS)}"
        )
    if any(type(n) is not int or n < 0 for n in numbers.values()) or not numbers["max"]:
        raise ValueError(f"{name}: further and seed are numbers of at least 0, max of at least 1")
    return MutantPlan(name, settings, numbers["max"], numbers["further"], numbers["seed"], shares, wider)


def _reason(entry: JsonObject) -> Reason:
    reason = Reason(tuple(entry.pop("properties")), tuple(entry.pop("models", [])), str(entry.pop("why")))
    if entry:
        raise ValueError(f"a reason has properties, models, why, not {min(entry)!r}")
    return reason


def read_records(path: Path = PATHS.record) -> dict[str, ModelRecord]:
    """The record, by model; empty if there is none. Raises `Failure` for a file that is not a record."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            raise ValueError(f"schema {data['schema']}, not {SCHEMA}")
        return {
            name: ModelRecord(**r | {key: [Survivor(*s) for s in r.get(key, ())] for key in MUTANTS})
            for name, r in data["models"].items()
        }
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(
            Exit.USAGE, f"{path.name} is not a record of mutants ({error}); remove it, and write it anew"
        ) from None


def write_records(records: Mapping[str, ModelRecord], path: Path = PATHS.record) -> None:
    """Writes the record: models by name, one line for each field and survivor."""
    lines = []
    for name in sorted(records):
        fields = asdict(records[name])
        mutants = {key: fields.pop(key) for key in MUTANTS}
        rows = [
            f"   {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in fields.items() if v or k != "wider"
        ]
        for key in (k for k, listed in mutants.items() if listed or k == "survivors"):
            listed = [json.dumps(list(s.values()), ensure_ascii=False) for s in mutants[key]]
            joined = ",\n    ".join(listed)
            rows.append(f'   "{key}": [\n    {joined}\n   ]' if listed else f'   "{key}": []')
        lines.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n  }")
    write_atomically(path, f'{{\n "schema": {SCHEMA},\n "models": {{\n' + ",\n".join(lines) + "\n }\n}\n")


@dataclass(frozen=True)
class Unexercised:
    """A property that kills no mutant of a model. reason: why, or ""."""

    model: str
    name: str
    reason: str


def unexercised(plans: Plans, records: Mapping[str, ModelRecord]) -> list[Unexercised]:
    """Every unexercised property of the record, by model."""
    return [
        Unexercised(model, name, plans.reason(model, name, records))
        for model, record in sorted(records.items())
        for name in record.unexercised
    ]


def is_stale(plans: Plans, model: str, records: Mapping[str, ModelRecord]) -> bool:
    """Whether a model has no record of its text as it is and the plan as it is."""
    plan, record = plans.plans[model], records.get(model)
    if record is None or not record.is_of(plan, digest(load_model(model))):
        return True
    missing = [name for name in record.unexercised if not plans.reason(model, name, records)]
    return bool(missing) and record.judged < min(plan.most + plan.further, record.mutants)


def stale_records(plans: Plans, records: Mapping[str, ModelRecord]) -> list[str]:
    """Models whose record is stale, and records of what is not a model."""
    changed = [name for name in plans.plans if is_stale(plans, name, records)]
    return changed + sorted(records.keys() - plans.plans.keys())


@cache
def of_the_project() -> tuple[Plans, dict[str, ModelRecord]]:
    """The plans and the record that come with the project."""
    return read_plans(), read_records()
