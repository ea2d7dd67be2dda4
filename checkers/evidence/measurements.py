"""Findings measured on clusters of real brokers: `reassure kafka cluster --findings` records them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.evidence.headlines import HEADLINES
from reassure.checkers.evidence.ledger import PATHS
from reassure.checkers.evidence.markdown import table

MEASURED = PATHS.traces / "measured.json"
COLUMNS = ("finding", "release", "runs", "effect seen", "acknowledged", "lost", "in the first run")
HEAD = """## Measured on real brokers

`reassure kafka cluster --findings` executes each run on processes of the release, with real logs
([how](how-to/kafka-cluster.md)). Records are produced with `acks=all`; at the end every broker is back and everything
is consumed. *Effect seen*: in so many runs, with every step as above. Records are of all runs; "-": they were not read,
as no controller is stable.
"""


@dataclass(frozen=True)
class MeasuredRun:
    """One execution of a finding's run. observed: the effect was. as_in_run: every step was as the run has it.

    acknowledged, lost: records; None if they were not read. effect: in words. seconds: without the cluster's start.
    """

    observed: bool
    as_in_run: bool
    acknowledged: int | None
    lost: int | None
    effect: str
    seconds: float


@dataclass(frozen=True)
class Measurement:
    """A finding on a release. run: the digest of its steps. fixed: with the project's fixes."""

    claim: str
    release: str
    fixed: bool
    run: str
    runs: tuple[MeasuredRun, ...]

    @property
    def key(self) -> tuple[str, list[int], bool]:
        """Of its place in a file: by claim, then release."""
        return self.claim, [int(n) for n in self.release.split(".")], self.fixed

    @property
    def seen(self) -> int:
        """Executions with the effect that took every step as the run has it."""
        return sum(run.observed and run.as_in_run for run in self.runs)


def measured(path: Path = MEASURED) -> list[Measurement]:
    """The measurements of a file; none if there is no file. `Failure` (153) for another content."""
    if not path.is_file():
        return []
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(data, list):
            raise TypeError
        return [Measurement(**{**m, "runs": tuple(MeasuredRun(**run) for run in m["runs"])}) for m in data]
    except (ValueError, KeyError, TypeError):
        raise Failure(
            Exit.SYSTEM, f"{path} is no file of measurements: write it by `reassure kafka cluster --findings`"
        ) from None


def with_more(before: Iterable[Measurement], more: Iterable[Measurement]) -> list[Measurement]:
    """Measurements with those of further executions; of another run they replace those before."""
    by_key = {str(m.key): m for m in before}
    for m in more:
        old = by_key.get(str(m.key))
        runs = (*old.runs, *m.runs) if old is not None and old.run == m.run else m.runs
        by_key[str(m.key)] = Measurement(m.claim, m.release, m.fixed, m.run, runs)
    return sorted(by_key.values(), key=lambda m: m.key)


def written(measurements: Iterable[Measurement]) -> str:
    """The text of a file."""
    data: list[Mapping[str, Any]] = [asdict(m) for m in measurements]
    return json.dumps(data, indent=1) + "\n"


def section(measurements: list[Measurement]) -> str:
    """The part of the page of findings; "" if nothing was measured."""
    if not measurements:
        return ""
    number = {headline.claim: n for n, headline in enumerate(HEADLINES, 1)}
    ordered = sorted(measurements, key=lambda m: (number[m.claim], m.fixed, [-n for n in m.key[1]]))
    rows, last, shown = [], "", False
    for m in ordered:
        first, observed = m.claim != last, m.runs[0].observed
        release = f"{m.release} with the fixes" if m.fixed else m.release
        effect = m.runs[0].effect if first or observed is not shown else ""
        rows.append([f"{number[m.claim]}" * first, release, str(len(m.runs)), str(m.seen), *_records(m), effect])
        last, shown = m.claim, observed
    return HEAD + "\n" + table(COLUMNS, rows)


def _records(m: Measurement) -> tuple[str, str]:
    """Acknowledged and lost records of all executions; "-" if they were not read in one."""
    if any(run.acknowledged is None for run in m.runs):
        return "-", "-"
    return f"{sum(run.acknowledged or 0 for run in m.runs):,}", f"{sum(run.lost or 0 for run in m.runs):,}"
