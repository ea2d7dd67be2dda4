"""What an engine returns, what it means for the exit code, and the run record (DESIGN section 4)."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from reassure.spec.semantics.trace import Trace

SCHEMA = 1
ENGINE_VERSION = "0.1.0"


class Exit(Enum):
    """Exit codes, the most severe first (ANCHORS E.2: internal > disagreement > input > violation > ...)."""

    INTERNAL = 255
    DISAGREE = 19
    SYSTEM = 153
    CONFIG = 151
    MODEL = 150
    USAGE = 64
    SAFETY = 12
    LIVENESS = 13
    DEADLOCK = 11
    TRACE = 18
    EXPECTATION = 15
    VACUOUS = 16
    DRIFT = 17
    NOTHING = 6
    INCONCLUSIVE = 5
    OK = 0


VERDICTS = {
    Exit.OK: "pass",
    Exit.INCONCLUSIVE: "inconclusive",
    Exit.NOTHING: "nothing-checked",
    Exit.DEADLOCK: "deadlock",
    Exit.SAFETY: "safety-violation",
    Exit.LIVENESS: "liveness-violation",
    Exit.EXPECTATION: "expectation-mismatch",
    Exit.VACUOUS: "vacuous",
    Exit.DRIFT: "drift",
    Exit.TRACE: "trace-mismatch",
    Exit.DISAGREE: "engine-disagreement",
    Exit.USAGE: "usage",
    Exit.MODEL: "model-error",
    Exit.CONFIG: "config-error",
    Exit.SYSTEM: "system-error",
    Exit.INTERNAL: "internal-error",
}


def worst(codes: list[Exit]) -> Exit:
    """The most severe of several."""
    order = list(Exit)
    return min(codes, key=order.index, default=Exit.OK)


@dataclass
class Finding:
    """One property's result. status: holds, holds_within_bounds, proved, holds_to_depth, violated, unknown,
    not_checked. depth: levels to the violation, the initial states being level 1."""

    name: str
    kind: str
    status: str
    trace: Trace | None = None
    depth: int | None = None
    note: str = ""
    astray: list[Any] = field(default_factory=list)
    """A counterexample to induction: states, perhaps not reachable, that satisfy everything but the last of them."""


@dataclass
class Reached:
    """One cover's result; `depth` is the level of the state (or of the state after the step)."""

    name: str
    depth: int | None = None
    trace: Trace | None = None
    walks: int | None = None
    """Of a simulation: how many walks reached it."""

    @property
    def reached(self) -> bool:
        return self.depth is not None


@dataclass
class ActionCount:
    """taken: enabled transitions; new: distinct states first reached, in their level, by this action."""

    taken: int = 0
    new: int = 0


@dataclass
class Stats:
    generated: int = 0
    distinct: int = 0
    depth: int = 0
    clipped: int = 0
    clipped_at: dict[str, int] = field(default_factory=dict)
    """Clipped transitions by the bound that they leave."""
    undeclared: int = 0
    """Of the clipped, those at bounds that the model does not declare."""
    frontier: int = 0
    """States found but not expanded when the run ended."""
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("load", "compile", "search", "report"), 0.0)
    )
    bytes_per_state: int = 0
    memory: int = 0
    workers: int = 1


@dataclass
class Verdict:
    """The result of one run: everything that the record, the report and the exit code say."""

    model: str
    model_sha256: str
    config: dict[str, Any]
    engine: str
    properties: list[Finding] = field(default_factory=list)
    covers: list[Reached] = field(default_factory=list)
    not_applicable: list[str] = field(default_factory=list)
    actions: dict[str, ActionCount] = field(default_factory=dict)
    stats: Stats = field(default_factory=Stats)
    complete: bool = False
    stopped_because: str = ""
    accept_clipping: bool = False
    repro: str = ""
    exhaustive: bool = True
    """Whether a complete run has tried every way to reach a cover."""
    walks: dict[str, Any] = field(default_factory=dict)
    """Of a simulation: number, bounds, seed, and how long the walks were."""
    spark: dict[str, Any] = field(default_factory=dict)
    """Of a distributed search: the master, the partitions, and what each level took."""
    bounds_open: list[str] = field(default_factory=list)
    """Of a proof: bounds that it does not exclude that a step leaves."""
    lemmas: list[str] = field(default_factory=list)
    """Of a proof: the lemmas that it uses."""
    asked: set[str] = field(default_factory=set)
    """Properties that were asked for by name."""

    def conclude(self) -> None:
        """Gives every property that is not violated its status, by how far the search came."""
        for p in self.properties:
            if p.status == "violated":
                continue
            if p.kind == "leads_to":
                p.status, p.note = "not_checked", "liveness is declared here and decided by a later engine"
            elif not self.complete:
                p.status = "holds_to_depth" if self.stopped_because.startswith("depth") else "unknown"
            elif self.stats.clipped:
                p.status = "holds_within_bounds"
            else:
                p.status = "holds"

    def exit(self) -> Exit:
        """The exit code: the most severe of what the run found."""
        codes = [Exit.OK]
        if not self.properties and not self.covers:
            codes.append(Exit.NOTHING)
        if self.properties and all(p.status == "not_checked" for p in self.properties) and not self.covers:
            codes.append(Exit.NOTHING)
        for p in self.properties:
            if p.status == "violated":
                codes.append(Exit.DEADLOCK if p.kind == "deadlock" else Exit.SAFETY)
            elif p.status == "unknown" or (p.status == "not_checked" and p.name in self.asked):
                codes.append(Exit.INCONCLUSIVE)
        if self.complete:
            short = Exit.VACUOUS if self.exhaustive else Exit.INCONCLUSIVE
            codes += [short for c in self.covers if not c.reached]
        if self.stats.undeclared and not self.accept_clipping:
            codes.append(Exit.INCONCLUSIVE)
        if not self.complete and not self.stopped_because.startswith("depth"):
            codes.append(Exit.INCONCLUSIVE)
        return worst(codes)

    def record(self, traces: dict[str, str]) -> dict[str, Any]:
        """The run record, `traces` giving the files that counterexamples were written to."""
        code = self.exit()
        s = self.stats
        return {
            "schema": SCHEMA,
            "verdict": VERDICTS[code],
            "exit_code": code.value,
            "complete": self.complete,
            "stopped_because": self.stopped_because,
            "model": self.model,
            "model_sha256": self.model_sha256,
            "config": self.config,
            "engine": self.engine,
            "engine_version": ENGINE_VERSION,
            "properties": [
                {"name": p.name, "kind": p.kind, "status": p.status, "trace": traces.get(p.name), "depth": p.depth}
                for p in self.properties
            ],
            "covers": [{"name": c.name, "reached": c.reached, "depth": c.depth} for c in self.covers],
            "not_applicable": self.not_applicable,
            **({"spark": self.spark} if self.spark else {}),
            **({"simulation": self.walks} if self.walks else {}),
            **({"lemmas": self.lemmas, "bounds_open": self.bounds_open} if self.engine.startswith("prove") else {}),
            "actions": {name: {"taken": a.taken, "new": a.new} for name, a in self.actions.items()},
            "stats": {
                "generated": s.generated,
                "distinct": s.distinct,
                "depth": s.depth,
                "clipped": s.clipped,
                "clipped_at": s.clipped_at,
                "frontier": s.frontier,
                "seconds": {k: round(v, 4) for k, v in s.seconds.items()},
                "bytes_per_state": s.bytes_per_state,
                "memory": s.memory,
                "workers": s.workers,
            },
            "repro": self.repro,
        }


def error_record(code: Exit, message: str, model: str, repro: str) -> dict[str, Any]:
    """The record of a run that ended before an engine could answer."""
    return {
        "schema": SCHEMA,
        "verdict": VERDICTS[code],
        "exit_code": code.value,
        "complete": False,
        "stopped_because": message,
        "model": model,
        "model_sha256": None,
        "config": {},
        "engine": None,
        "engine_version": ENGINE_VERSION,
        "properties": [],
        "covers": [],
        "not_applicable": [],
        "actions": {},
        "stats": {},
        "repro": repro,
    }


def write_atomically(path: Path, text: str) -> None:
    """Writes a file so that it is there whole or not at all; `OSError` if it cannot."""
    if path.exists() and not path.is_file():  # a device or a pipe: nothing to replace
        path.write_text(text, encoding="utf-8")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def write_record(path: Path, record: dict[str, Any]) -> None:
    """The record as JSON, written atomically."""
    write_atomically(path, json.dumps(record, indent=2) + "\n")
