"""The project's traces: a file for each run, with the properties that it violates and the configurations that have it.

Two traces are one run if model, steps and states are equal. Configurations with one run share a file
(`traces/properties_here.py` says how it lists them), and its own is the one with the fewest settings, of the newest
release. The digest of the model's text is in the ledger, so that an edit of a model changes the files of those runs
alone that become others. The file of a run is named by the claims and by the records of the ledger.

Also here: the names of the project's traces: a folder for each claim, in it a file for each run that violates it.

`K21/4.3` is the run of claim K21 by the rules of release 4.3, the oldest that has it; `B4/example` is that of a reading
by its first words. `K21/4.3-2` is the next one. What no claim needs is in a folder of its model, by its first
property; the runs of a mutant are in `mutants`, by the mutant.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from reassure.checkers.console.files import SUFFIX
from reassure.checkers.ledger.ledger import Record
from reassure.checkers.ledger.subjects import RunSpec
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.request.model_loader import UnknownModel, config_values, load_model
from reassure.checkers.request.shared_options import pairs
from reassure.checkers.traces.properties_here import of_each_configuration
from reassure.spec import claims
from reassure.spec.claims import Claim, judges
from reassure.spec.semantics.interpreter import BoundModel, make_config
from reassure.spec.semantics.trace import (
    Itf,
    JsonObject,
    PlainConfig,
    Trace,
    TraceError,
    itf_text,
    properties_of,
    read_itf,
    to_itf,
)

MUTANTS = "mutants"
"""The folder of mutants, in `models/` and among the traces."""
LONGEST_LABEL = 44
"""Characters, so that a file has a name of at most 60."""
LONGEST_WORDS = 32
"""Characters of a reading's name: a short name is typed."""


class TraceKey(NamedTuple):
    """A violation, by which its trace is looked up. config: as JSON; method: `check` or `prove`."""

    model: str
    method: str
    config: str
    property: str

    @staticmethod
    def of(model: str, method: str, config: Mapping[str, Any], name: str) -> TraceKey:
        """The key of a property's violation under a whole configuration."""
        return TraceKey(model, method, json.dumps(config, sort_keys=True), name)


class TraceUse(NamedTuple):
    """A violation shows that a reading of a claim is violated. Uses compare: the first is about the fewest properties.

    order: of the claim. place: of the reading in its claim.
    """

    of_mutant: bool
    properties: int
    order: tuple[str, int]
    place: int
    claim: str
    reading: str


TraceUses = Mapping[TraceKey, list[TraceUse]]


def trace_uses(every: Iterable[Claim], records: Mapping[str, Record]) -> TraceUses:
    """The readings that each violation is evidence for. records: of the ledger."""
    uses: dict[TraceKey, list[TraceUse]] = defaultdict(list)
    for claim in every:
        for place, reading in enumerate(claim.readings):
            run, about = RunSpec.of(reading), judges(reading)
            if (record := records.get(run.key)) is None:
                continue
            is_of_mutant = reading.column == "mutant"
            use = TraceUse(is_of_mutant, len(about), claims.order(claim.id), place, claim.id, reading.name)
            for name in about:
                uses[TraceKey.of(run.subject, run.method, record.config, name)].append(use)
    return uses


class TracePlace(NamedTuple):
    """The folder of a trace, and its name there but for a number. Places compare: the first gets no number."""

    folder: str
    label: str
    place: int


def trace_place(keys: Iterable[TraceKey], uses: TraceUses) -> TracePlace:
    """The place of the run that shows these violations."""
    several = sorted(keys)
    of_keys = [(use, key) for key in several for use in uses.get(key, [])]
    model = several[0].model
    if not of_keys or min(of_keys)[0].of_mutant:
        if _is_mutant(model):
            return TracePlace(MUTANTS, model, 0)
        return TracePlace(model, min(key.property for key in several)[:LONGEST_LABEL], 0)
    first = min(of_keys)[0]
    releases = [release_of(key) for use, key in of_keys if use.claim == first.claim]
    label = min(filter(None, releases), key=by_release, default="") or _words(first.reading)
    return TracePlace(first.claim, label, first.place)


def release_of(key: TraceKey) -> str:
    """The release of a violation's configuration; "" if its model has none."""
    return str(json.loads(key.config).get("release", ""))


def by_release(release: str) -> list[int]:
    """Sorts releases, the oldest first."""
    return [int(number) for number in release.split(".") if number.isdigit()]


def _words(reading: str) -> str:
    """The first words of a reading's name but for its releases, as many as a file's name has room for."""
    unversioned = re.sub(r", \w+ \d[\d.]*( to \d[\d.]*)?$", "", reading)
    text = re.sub(r"[^a-z0-9]+", "-", unversioned.lower()).strip("-")
    return text if len(text) <= LONGEST_WORDS else text[: LONGEST_WORDS + 1].rpartition("-")[0] or text[:LONGEST_WORDS]


def _is_mutant(model: str) -> bool:
    try:
        return load_model(model).module.split(".")[-2:-1] == [MUTANTS]
    except UnknownModel:
        return False


OF_THE_SEARCH = ("model_sha256", "engine", "engine_version", "repro")
"""Parts of a trace's `#meta` that a file of the project does not take over; it has a command of its own."""
OF_A_VIOLATION = ("config", "property", "property_kind")
OF_A_FILE = ("properties", "repro")


@dataclass(frozen=True)
class StoredTrace:
    """A file of the project's traces. name: from their folder.

    settings: of its own configuration, those that are not the model's defaults, but for the release.
    """

    name: str
    model: str
    settings: tuple[str, ...]
    releases: tuple[str, ...]
    """Of every configuration, oldest first; none if the model has no such setting."""
    properties: tuple[str, ...]
    """Under any configuration, those of its own first."""
    states: int
    text: str
    keys: frozenset[TraceKey]
    """The violations that it shows."""


@dataclass
class TraceStore:
    """Traces by the violation that they show."""

    traces: dict[TraceKey, Itf] = field(default_factory=dict)
    uses: TraceUses = field(default_factory=dict)
    """What each violation is evidence for: names of files follow from it."""

    @staticmethod
    def read(folder: Path, seals: Mapping[str, str] | None = None, uses: TraceUses | None = None) -> TraceStore:
        """The traces of a folder. Left out: a file that is not a trace, or is of other settings than its model has now.

        seals: if given, a file that is not as its seal says is left out too.

        A setting that a model gains is in no file while it has its default: the old trace would be kept beside the new.
        """
        store = TraceStore(uses=uses or {})
        for path in trace_files(folder):
            if seals is not None and not is_sealed(path, folder, seals):
                continue
            store.traces |= {k: d for k, d in _violations(path).items() if _has_the_settings(k.model, d)}
        return store

    def add(self, trace: Trace, bound: BoundModel, method: str = "check") -> None:
        """Adds a trace that a search found."""
        data: Itf = json.loads(to_itf(trace, bound))
        meta = {key: value for key, value in data["#meta"].items() if key not in OF_THE_SEARCH}
        if method != "check":
            meta["method"] = method
        key = TraceKey.of(meta["model"], method, meta["config"], meta["property"])
        self.traces[key] = {**data, "#meta": meta}

    def files(self) -> list[StoredTrace]:
        """One file for each run that is shown, in the order of their names."""
        by_place: dict[tuple[str, str], list[tuple[int, int, str, dict[TraceKey, Itf]]]] = defaultdict(list)
        for run, violations in self._shown_runs():
            folder, label, place = trace_place(violations, self.uses)
            by_place[folder, label].append((place, _states(violations), run, violations))
        files: dict[str, StoredTrace] = {}
        for folder, label in sorted(by_place):
            names = (f"{folder}/{label}{f'-{n}' if n > 1 else ''}{SUFFIX}" for n in count(1))
            for *_, violations in sorted(by_place[folder, label], key=lambda each: each[:3]):
                name = next(name for name in names if name not in files)
                files[name] = _file(name, violations)
        return [files[name] for name in sorted(files)]

    def _shown_runs(self) -> Iterator[tuple[str, dict[TraceKey, Itf]]]:
        """Runs that claims use; of the others, those that are the shortest of a model's for one of their properties."""
        by_run: dict[str, dict[TraceKey, Itf]] = defaultdict(dict)
        for key, data in self.traces.items():
            by_run[_run(data, key.method)][key] = data
        shown: set[tuple[str, str, str]] = set()
        for run, violations in sorted(by_run.items(), key=lambda each: (_states(each[1]), each[0])):
            about = {(key.model, key.method, key.property) for key in violations}
            used = any(key in self.uses for key in violations)
            if used or about - shown:
                yield run, violations
            if not used:
                shown |= about

    def write(self, folder: Path, seals: dict[str, str] | None = None) -> list[Path]:
        """Writes the files that are not there as they should be, and removes the others; the paths of both.

        seals: if given, the files are sealed in it, and a file that is not as its seal says is not removed.
        """
        texts = {folder / file.name: file.text for file in self.files()}
        others = [p for p in trace_files(folder) if p not in texts and (seals is None or is_sealed(p, folder, seals))]
        changed = [p for p, text in texts.items() if not p.is_file() or p.read_text(encoding="utf-8") != text]
        for path in changed:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, texts[path])
        for path in others:
            path.unlink()
            if path.parent != folder and not any(path.parent.iterdir()):
                path.parent.rmdir()
        if seals is not None:
            for path in others:
                del seals[name_in(folder, path)]
            seals |= self.seals()
        return others + changed

    def seals(self) -> dict[str, str]:
        """SHA-256 of each file, by its path in the folder."""
        return {file.name: _sha256(file.text.encode()) for file in self.files()}


def paths(files: Iterable[Path]) -> dict[TraceKey, Path]:
    """The file of each violation of which one of the files is a trace."""
    return {key: path for path in files for key in _violations(path)}


def is_sealed(path: Path, folder: Path, seals: Mapping[str, str]) -> bool:
    """Whether a file of the folder of traces is the one that was sealed."""
    return path.is_file() and seals.get(name_in(folder, path)) == _sha256(path.read_bytes())


def name_in(folder: Path, path: Path) -> str:
    """The path of a trace from the folder of traces, as the seals have it: two claims may have a file of one name."""
    return path.relative_to(folder).as_posix()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def trace_files(folder: Path) -> list[Path]:
    """The files of a folder, and of those within it, that have the name of a trace."""
    return sorted(path for path in folder.rglob(f"*{SUFFIX}") if path.is_file())


def _violations(path: Path) -> dict[TraceKey, Itf]:
    """The violations that a file shows: each of its properties under each of its configurations."""
    violations: dict[TraceKey, Itf] = {}
    try:
        data = read_itf(path)
        for about in of_each_configuration(data["#meta"]):
            meta = {key: value for key, value in about.items() if key not in OF_A_FILE}
            for name, kind in properties_of(about).items():
                key = TraceKey.of(meta.get("model", ""), meta.get("method", "check"), meta.get("config", {}), name)
                violations[key] = {**data, "#meta": {**meta, "property": name, "property_kind": kind}}
    except TraceError:
        return {}
    return violations


def _has_the_settings(model: str, data: Itf) -> bool:
    """Whether a trace's configuration has the settings that the model has now; a model that is gone has none."""
    return set(data["#meta"]["config"]) == set(_defaults(model))


def _run(data: Itf, method: str) -> str:
    """Equal for equal runs of a model, whatever they violate under whichever configuration."""
    meta = {key: value for key, value in data["#meta"].items() if key not in OF_A_VIOLATION}
    return json.dumps([method, {**data, "#meta": meta}], sort_keys=True)


def _states(violations: Mapping[TraceKey, Itf]) -> int:
    """The number of states of the run that shows them."""
    return len(next(iter(violations.values()))["states"])


@dataclass
class _Shown:
    """Configurations that differ in the release at most, with the properties that are violated under each."""

    config: PlainConfig
    properties: dict[str, str]
    releases: list[str]
    """Oldest first."""
    settings: list[str]
    """Of `config`, which is of the newest release, those that are not the model's defaults."""


def _shown(violations: Mapping[TraceKey, Itf]) -> list[_Shown]:
    """What a run shows, the configuration with the fewest settings first."""
    by_config: dict[str, dict[str, str]] = defaultdict(dict)
    for key in sorted(violations):
        by_config[key.config][key.property] = violations[key]["#meta"]["property_kind"]
    by_rest: dict[tuple[str, str], list[str]] = defaultdict(list)
    for text, properties in by_config.items():
        rest = {name: value for name, value in json.loads(text).items() if name != "release"}
        by_rest[json.dumps(rest), json.dumps(properties)].append(text)
    model = next(iter(violations)).model
    several = []
    for (_, properties_text), texts in by_rest.items():
        configs = sorted(map(json.loads, texts), key=lambda config: by_release(str(config.get("release", ""))))
        settings = pairs({k: v for k, v in configs[-1].items() if v != _defaults(model).get(k)})
        releases = [str(config["release"]) for config in configs if "release" in config]
        several.append(_Shown(configs[-1], json.loads(properties_text), releases, settings))
    return sorted(several, key=lambda each: (len(each.settings), each.settings, sorted(each.properties)))


def _file(name: str, violations: Mapping[TraceKey, Itf]) -> StoredTrace:
    """The file of a run. violations: what it shows."""
    own, *others = _shown(violations)
    key, data = next((k, d) for k, d in violations.items() if json.loads(k.config) == own.config)
    config = data["#meta"]["config"]  # in the order of the model
    meta = {key: value for key, value in data["#meta"].items() if key not in OF_A_VIOLATION}
    meta |= {"config": config, "properties": own.properties}
    if len(own.releases) > 1:
        meta["releases"] = own.releases
    if others:
        meta["also"] = [_other(other, own) for other in others]
    settings = [pair for pair in pairs(config) if pair in own.settings]
    meta["repro"] = shlex.join(["reassure", key.method, key.model, *(f"--set={pair}" for pair in settings)])
    releases = sorted({release for each in (own, *others) for release in each.releases}, key=by_release)
    return StoredTrace(
        name,
        key.model,
        tuple(pair for pair in settings if not pair.startswith("release=")),
        tuple(releases),
        tuple(dict.fromkeys(name for each in (own, *others) for name in each.properties)),
        len(data["states"]),
        itf_text({**data, "#meta": meta}),
        frozenset(violations),
    )


def _other(other: _Shown, own: _Shown) -> JsonObject:
    """What a run shows under another configuration than its own, as far as it differs."""
    part: JsonObject = {"set": {k: v for k, v in other.config.items() if own.config.get(k) != v}}
    if len(other.releases) > 1:
        part["releases"] = other.releases
    if other.properties != own.properties:
        part["properties"] = other.properties
    return part


@cache
def _defaults(model: str) -> PlainConfig:
    """The configuration without settings; empty for a model that is no longer there."""
    try:
        return config_values(make_config(load_model(model), {}))
    except UnknownModel:
        return {}
