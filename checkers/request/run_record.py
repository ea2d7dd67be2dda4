"""The run record, which `--json` writes: its keys and their types. `docs/reference/record.md` says what they mean."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class PremiseRecord(TypedDict):
    """The states that satisfy the premise of a property about whole runs."""

    states: int
    without_fair_run: int


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
    workers: int


class EngineRecord(TypedDict, total=False):
    """The keys that one kind of engine adds."""

    fairness: list[dict[str, Any]]
    spark: dict[str, Any]
    symmetry: dict[str, Any]
    simulation: dict[str, Any]
    lemmas: list[str]
    bounds_open: list[str]
    any_number: dict[str, Any]
    second_opinion: dict[str, Any]


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
    config: dict[str, Any]
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
