"""Findings measured on clusters of real brokers: `reassure kafka cluster --findings` records them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from reassure.checkers.kafka.pages.headlines import HEADLINES
from reassure.checkers.ledger.ledger import PATHS
from reassure.checkers.ledger.markdown import table
from reassure.checkers.machine.exit_codes import Exit, Failure

MEASURED = PATHS.traces / "measured.json"
COLUMNS = ("finding", "effect", "seen", "acknowledged", "lost", "seconds", "with the fixes")
HEAD = """## Measured on real brokers

`reassure kafka cluster --findings` executes the run of each finding on a cluster of the release's own processes: a
controller and brokers, each a JVM with real logs ([how](how-to/kafka-cluster.md)). Records are sent with `acks=all`
before and during each run; at the end every broker is back and everything is consumed.

*Effect*: in the first run on the newest release. *Seen*: in so many of the runs, with every step as the run has it.
*Acknowledged*, *lost*: records of all runs of the releases as they are; "-": they were not read, as no controller is
stable. *Seconds*: of these runs without the start of the cluster, the median and the longest. *With the fixes*: the
effect on a release with the project's fixes.
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
        """Executions with the effect that took every step as the run has it; with the fixes, which change steps, those
        with the effect, or a loss."""
        if self.fixed:
            return sum(run.observed or bool(run.lost) for run in self.runs)
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
            Exit.SYSTEM, f"{path} is not a file of measurements: write it by `reassure kafka cluster --findings`"
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
    """The section of the page of findings; "" if nothing was measured on a release."""
    rows, exceptions = [], []
    for number, headline in enumerate(HEADLINES, 1):
        released, fixed = _of(measurements, headline.claim)
        if released:
            effect, seconds = released[0].runs[0].effect, [run.seconds for m in released for run in m.runs]
            times = f"{median(seconds):.0f}, {max(seconds):.0f}"
            rows.append([str(number), effect, _seen(released), *_records(released), times, _seen(fixed)])
        for m in released:
            if others := [run.effect for run in m.runs if not (run.observed and run.as_in_run)]:
                exceptions.append(
                    f"Finding {number} was not seen in {len(others)} of {len(m.runs)} runs on {m.release}: {others[0]}."
                )
    return "\n".join([HEAD, table(COLUMNS, rows), *[f"\n{each}" for each in exceptions]]) if rows else ""


def _of(measurements: list[Measurement], claim: str) -> tuple[list[Measurement], list[Measurement]]:
    """Those of a finding, the newest release first: as released, and with the fixes."""
    of_it = sorted((m for m in measurements if m.claim == claim), key=lambda m: [-n for n in m.key[1]])
    return [m for m in of_it if not m.fixed], [m for m in of_it if m.fixed]


def _seen(measurements: list[Measurement]) -> str:
    """By release, the number of runs with the effect."""
    return ", ".join(f"{m.release}: {m.seen} of {len(m.runs)}" for m in measurements) or "-"


def _records(measurements: list[Measurement]) -> tuple[str, str]:
    """Acknowledged and lost records of all executions; "-" if they were not read in one."""
    runs = [run for m in measurements for run in m.runs]
    if any(run.acknowledged is None for run in runs):
        return "-", "-"
    return f"{sum(run.acknowledged or 0 for run in runs):,}", f"{sum(run.lost or 0 for run in runs):,}"
