"""The identity of a run, made once: every record and every trace of the run is written by it.

Also here: the run record, which `--json` writes: its keys and their types. `docs/reference/record.md` says what they
mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NotRequired, TypedDict

from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import PASS_TO_DEPTH, VERDICTS, Exit
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.request.model_loader import own_file
from reassure.checkers.request.prepare import Prepared
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import JsonObject, PlainConfig, Trace, to_itf


class PremiseRecord(TypedDict):
    """The states that satisfy the premise of a property about whole runs, where steps of fair actions leave a bound."""

    states: int
    without_fair_run: int
    rests_on_a_bound: bool


class PropertyRecord(TypedDict):
    """One property. trace: the file of its counterexample; picture: the file of the picture of it."""

    name: str
    kind: str
    status: str
    trace: str | None
    picture: NotRequired[str]
    depth: int | None
    error: NotRequired[str]
    premise: NotRequired[PremiseRecord]


class CoverRecord(TypedDict):
    """One cover."""

    name: str
    reached: bool
    depth: int | None


class ActionRecord(TypedDict):
    """One action."""

    taken: int
    new: int


class StatisticsRecord(TypedDict, total=False):
    """Counts; none of a run that ended before an engine could answer."""

    generated: int
    distinct: int
    depth: int
    clipped: int
    clipped_at: dict[str, int]
    undeclared: int
    frontier: int
    seconds: dict[str, float]
    bytes_per_state: int
    memory: int
    disk: int
    workers: int


class FairnessRecord(TypedDict):
    """An action that is fair for each value of some of its parameters. strength: weak or strong."""

    action: str
    strength: str
    each: list[str]


class LevelRecord(TypedDict):
    """A level of a search on a cluster."""

    level: int
    states: int
    visited: int
    generated: int
    shuffled_bytes: int
    seconds: float


class FingerprintsRecord(TypedDict):
    """How visited states are kept. collision_bound: the probability, at most, that two of them share a fingerprint."""

    bits: int
    collision_bound: float


class SparkRecord(TypedDict, total=False):
    """The cluster of a search, and the distribution of its states; no keys: it was on this machine."""

    master: str
    partitions: int
    fingerprints: FingerprintsRecord
    levels: list[LevelRecord]


class AllStatesRecord(TypedDict):
    """A search of all states beside one of classes. asked: the properties that it was for; none: all of them."""

    asked: list[str]
    depth: int | None
    distinct: int
    complete: bool


class ClassesRecord(TypedDict, total=False):
    """A search of one state of each class; no keys: none was asked for. why: the reason why no ids were renamed."""

    renamed: list[str]
    why: str
    order_forgotten: list[str]
    lists_forgotten: list[str]
    classes: int
    states: int | None
    all_states: list[AllStatesRecord]


class SimulationRecord(TypedDict):
    """Random walks. depths: counts of walks by their numbers of states."""

    walks: int
    depth: int
    seed: int
    weights: dict[str, int]
    depths: list[dict[str, int]]


class AnyNumberRecord(TypedDict):
    """A proof for any number: the free numbers with their least values, the bounds that it does without, and what it
    takes to be more than it is."""

    free: dict[str, int]
    lifted: list[str]
    remarks: list[str]


class OpinionRecord(TypedDict):
    """The answers of another checker. compared: how many. differences: in words, by `about`, `ours`, `theirs`."""

    checker: str
    same: bool
    compared: int
    differences: list[dict[str, str]]
    traces: int
    reason: str
    undecided: list[str]
    seconds: float


class EngineRecord(TypedDict, total=False):
    """The keys that one kind of engine adds."""

    fairness: list[FairnessRecord]
    spark: SparkRecord
    symmetry: ClassesRecord
    simulation: SimulationRecord
    lemmas: list[str]
    bounds_open: list[str]
    any_number: AnyNumberRecord
    second_opinion: OpinionRecord


class RunRecord(EngineRecord):
    """The record of one run."""

    schema: int
    verdict: str
    exit_code: int
    complete: bool
    stop_reason: str | None
    stopped_because: str
    model: str
    model_sha256: str | None
    config: PlainConfig
    engine: str | None
    engine_version: str
    properties: list[PropertyRecord]
    covers: list[CoverRecord]
    not_applicable: list[str]
    meanings: dict[str, str]
    replaced: dict[str, str]
    actions: dict[str, ActionRecord]
    stats: StatisticsRecord
    repro: str


SCHEMA = 1
ENGINE_VERSION = "0.1.0"


def trace_stem(model: str, settings: Iterable[str], name: str, method: str = "check") -> str:
    """The name, without suffix, of the files of a trace. settings: KEY=VALUE, in any order.

    Traces of two methods, or of two configurations, never have the same name, unless the configurations differ by case
    or punctuation alone.
    """
    signed = (re.sub(r"=\s*-", "=minus", pair.lower()) for pair in sorted(settings))
    pairs = "-".join(re.sub(r"[^a-z0-9]+", "-", pair) for pair in signed)
    return "--".join(part for part in (model, pairs, method if method != "check" else "", name) if part)


@dataclass(frozen=True)
class RunIdentity:
    """One run: the model and its configuration, the engine or analysis, and the command that repeats it.

    source: the name or path that the model was asked for by. settings: KEY=VALUE, as they were given.
    """

    model: str
    model_sha256: str | None
    config: PlainConfig
    engine: str | None
    repro: str
    source: str = ""
    settings: tuple[str, ...] = ()

    @classmethod
    def of(cls, prepared: Prepared, engine: str, repro: str) -> RunIdentity:
        """The identity of a run of this model."""
        return cls(
            prepared.bound.model.name,
            prepared.sha256,
            prepared.config,
            engine,
            repro,
            prepared.source,
            prepared.settings,
        )

    def fields(self) -> JsonObject:
        """The fields of records and traces that identify the model and its configuration."""
        return {"model": self.model, "model_sha256": self.model_sha256, "config": self.config}

    def record(self, code: Exit, complete: bool, stopped: Stop) -> RunRecord:
        """The run record without results."""
        return {
            "schema": SCHEMA,
            "verdict": PASS_TO_DEPTH if code is Exit.OK and stopped.reason is StopReason.DEPTH else VERDICTS[code],
            "exit_code": code.value,
            "complete": complete,
            "stop_reason": stopped.reason,
            "stopped_because": stopped.text,
            "model": self.model,
            "model_sha256": self.model_sha256,
            "config": self.config,
            "engine": self.engine,
            "engine_version": ENGINE_VERSION,
            "properties": [],
            "covers": [],
            "not_applicable": [],
            "meanings": {},
            "replaced": {},
            "actions": {},
            "stats": {},
            "repro": self.repro,
        }

    def origin(self) -> JsonObject:
        """The part of a trace's `#meta` that names the run."""
        own = {"model_file": self.source} if own_file(self.source) else {}
        return {
            **self.fields(),
            "engine": self.engine,
            "engine_version": ENGINE_VERSION,
            "repro": self.repro,
            **own,
        }

    def sign(self, trace: Trace, name: str, kind: str) -> None:
        """Notes in a trace where it comes from. name, kind: of the property that it shows."""
        signed = {**self.fields(), "property": name, "property_kind": kind, **self.origin()}
        trace.meta = {**signed, **{key: value for key, value in trace.meta.items() if key not in signed}}

    def write_trace(self, folder: Path, name: str, trace: Trace, bound: BoundModel, method: str = "check") -> str:
        """Writes a trace as ITF; the file's path. name, method: as of `trace_stem`."""
        path = folder / f"{trace_stem(self.model, self.settings, name, method)}.itf.json"
        write_atomically(path, to_itf(trace, bound))
        return str(path)


def error_record(code: Exit, message: str, model: str, repro: str) -> RunRecord:
    """The record of a run that ended before an engine could answer."""
    return RunIdentity(model, None, {}, None, repro).record(code, False, Stop(StopReason.NOT_STARTED, message))
