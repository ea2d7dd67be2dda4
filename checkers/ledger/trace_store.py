"""The project's traces: a file for each run, with the properties that it violates and the releases that have it.

Two traces are one run if model, configuration, steps and states are equal. Configurations that differ in the release
alone share a file: it lists its releases, and its own configuration names the newest. The digest of the model's text
is in the ledger, so that an edit of a model changes the files of those runs alone that become others.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.request.declared import pairs
from reassure.checkers.request.model_loader import UnknownModel, config_values, load
from reassure.checkers.request.run_identity import trace_stem
from reassure.spec.semantics.interpreter import BoundModel, make_config
from reassure.spec.semantics.trace import (
    Trace,
    TraceError,
    configurations,
    itf_text,
    properties_of,
    read_itf,
    to_itf,
)

SUFFIX = ".itf.json"
OF_THE_SEARCH = ("model_sha256", "engine", "engine_version", "repro")
"""Parts of a trace's `#meta` that a file of the project does not take over; it has a command of its own."""
OF_A_PROPERTY = ("property", "property_kind")
OF_A_FILE = ("properties", "releases", "repro")

Itf = dict[str, Any]
"""The data of an ITF file, of one property under one configuration."""


class TraceKey(NamedTuple):
    """A violation. config: as JSON; method: `check` or `prove`."""

    model: str
    method: str
    config: str
    property: str

    @staticmethod
    def of(model: str, method: str, config: dict[str, Any], name: str) -> TraceKey:
        """The key of a property's violation under a whole configuration."""
        return TraceKey(model, method, json.dumps(config, sort_keys=True), name)


@dataclass(frozen=True)
class StoredTrace:
    """A file of the project's traces. settings: those that are not the model's defaults, but for the release."""

    name: str
    model: str
    settings: tuple[str, ...]
    releases: tuple[str, ...]
    """Oldest first; none if the model has no such setting."""
    properties: tuple[str, ...]
    states: int
    text: str


@dataclass
class TraceStore:
    """Traces by the violation that they show."""

    traces: dict[TraceKey, Itf] = field(default_factory=dict)

    @staticmethod
    def read(folder: Path, seals: Mapping[str, str] | None = None) -> TraceStore:
        """The traces of a folder. Left out: a file that is not a trace, or is of other settings than its model has now.

        seals: if given, a file that is not as its seal says is left out too.

        A setting that a model gains is in no name of a file while it has its default: the old trace and the new one
        would share a name.
        """
        store = TraceStore()
        for path in trace_files(folder):
            if seals is not None and not is_sealed(path, folder, seals):
                continue
            store.traces |= {k: d for k, d in _violations(path).items() if _has_the_settings(k.model, d)}
        return store

    def add(self, trace: Trace, bound: BoundModel, method: str = "check") -> None:
        """Adds a trace that a search found."""
        data = json.loads(to_itf(trace, bound))
        meta = {key: value for key, value in data["#meta"].items() if key not in OF_THE_SEARCH}
        if method != "check":
            meta["method"] = method
        key = TraceKey.of(meta["model"], method, meta["config"], meta["property"])
        self.traces[key] = {**data, "#meta": meta}

    def files(self) -> list[StoredTrace]:
        """One file for each run and the properties that it violates, in the order of their names."""
        by_release: dict[tuple[str, str], dict[str, Itf]] = defaultdict(dict)
        for key, data in self.traces.items():
            by_release[_run(data), _release(data)][key.property] = data
        by_run: dict[tuple[str, tuple[str, ...]], dict[str, dict[str, Itf]]] = defaultdict(dict)
        for (run, release), violations in by_release.items():
            by_run[run, tuple(sorted(violations))][release] = violations
        return sorted((_file(violations) for violations in by_run.values()), key=lambda file: file.name)

    def write(self, folder: Path, seals: dict[str, str] | None = None) -> list[Path]:
        """Writes the files that are not there as they should be, and removes the others; the paths of both.

        seals: if given, the files are sealed in it, and a file that is not as its seal says is not removed.
        """
        texts = {folder / file.name: file.text for file in self.files()}
        others = [p for p in trace_files(folder) if p not in texts and (seals is None or is_sealed(p, folder, seals))]
        changed = [p for p, text in texts.items() if not p.is_file() or p.read_text(encoding="utf-8") != text]
        for path in others:
            path.unlink()
        for path in changed:
            write_atomically(path, texts[path])
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
    try:
        data = read_itf(path)
    except TraceError:
        return {}
    whole = data["#meta"]
    meta = {key: value for key, value in whole.items() if key not in OF_A_FILE}
    model, method = meta.get("model", ""), meta.get("method", "check")
    violations = {}
    for config in configurations(whole):
        for name, kind in properties_of(whole).items():
            of_one = {**meta, "config": config, "property": name, "property_kind": kind}
            violations[TraceKey.of(model, method, config, name)] = {**data, "#meta": of_one}
    return violations


def _has_the_settings(model: str, data: Itf) -> bool:
    """Whether a trace's configuration has the settings that the model has now; a model that is gone has none."""
    return set(data["#meta"]["config"]) == set(_defaults(model))


def _release(data: Itf) -> str:
    return str(data["#meta"]["config"].get("release", ""))


def _run(data: Itf) -> str:
    """Equal for equal runs under configurations that differ in the release at most."""
    meta = {key: value for key, value in data["#meta"].items() if key not in OF_A_PROPERTY}
    config = {key: value for key, value in meta["config"].items() if key != "release"}
    return json.dumps({**data, "#meta": {**meta, "config": config}}, sort_keys=True)


def _file(violations: dict[str, dict[str, Itf]]) -> StoredTrace:
    """The file of a run. violations: its data by release and property."""
    releases = sorted(violations, key=lambda release: [int(n) for n in release.split(".") if n])
    of_newest = violations[releases[-1]]
    names = tuple(sorted(of_newest))
    data = of_newest[names[0]]
    meta = {key: value for key, value in data["#meta"].items() if key not in OF_A_PROPERTY}
    model, method, config = meta["model"], meta.get("method", "check"), meta["config"]
    settings = pairs({key: value for key, value in config.items() if value != _defaults(model).get(key)})
    meta["properties"] = {name: of_newest[name]["#meta"]["property_kind"] for name in names}
    if len(releases) > 1:
        meta["releases"] = releases
    meta["repro"] = shlex.join(["reassure", method, model, *(f"--set={pair}" for pair in settings)])
    return StoredTrace(
        f"{trace_stem(model, settings, names[0], method)}{SUFFIX}",
        model,
        tuple(pair for pair in settings if not pair.startswith("release=")),
        tuple(filter(None, releases)),
        names,
        len(data["states"]),
        itf_text({**data, "#meta": meta}),
    )


@cache
def _defaults(model: str) -> dict[str, Any]:
    """The configuration without settings; empty for a model that is no longer there."""
    try:
        return config_values(make_config(load(model), {}))
    except UnknownModel:
        return {}
