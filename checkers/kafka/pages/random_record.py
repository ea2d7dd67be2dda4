"""Random runs on clusters of real brokers, as evidence: `reassure kafka cluster --random N --out FILE` records them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from reassure.checkers.kafka.pages.headlines import HEADLINES
from reassure.checkers.ledger.ledger import PATHS
from reassure.checkers.ledger.markdown import table
from reassure.checkers.machine.exit_codes import Exit, Failure

RANDOM_RUNS = PATHS.traces / "random_runs.json"
HEAD = """## Random runs

[Random requests and faults](../how-to/kafka-cluster.md#random-runs) on one cluster, with records produced all the time.
Each run is compared with the model state by state, each change of the metadata log with the release's rules, and every
acknowledged record is looked for.
"""


@dataclass(frozen=True)
class RandomRecord:
    """Random runs of one seed on one release; counts. steps: requests and faults.

    changes, not_by_rules: of the partitions, and those that the release's rules do not make. matched, not_matched,
    undecided: runs, by the comparison with the model. model_steps, hidden_steps: of the runs of the model that match.
    acknowledged, lost, different: records. lost_by: lost records by their explanation, "" for none. never_ended,
    offline: runs whose reassignment had to be cancelled, and whose leader to be elected by hand. broken: runs in which
    a promise is broken. unread: runs of which the records could not be read. note: how the counts came about, where
    that is not by the command alone.
    """

    release: str
    brokers: int
    seed: int
    minutes: int
    runs: int
    steps: int
    changes: int
    not_by_rules: int
    matched: int
    not_matched: int
    undecided: int
    model_steps: int
    hidden_steps: int
    acknowledged: int
    lost: int
    different: int
    lost_by: dict[str, int]
    never_ended: int
    offline: int
    broken: dict[str, int]
    unread: int
    note: str = ""

    @property
    def key(self) -> tuple[list[int], int, int]:
        """Of its place in a file."""
        return [int(n) for n in self.release.split(".")], self.brokers, self.seed


def recorded_random_runs(path: Path = RANDOM_RUNS) -> list[RandomRecord]:
    """The records of a file; none if there is no file. `Failure` (153) for another content."""
    if not path.is_file():
        return []
    try:
        return [RandomRecord(**each) for each in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError):
        raise Failure(
            Exit.SYSTEM,
            f"{path} is not a file of random runs: write it by `reassure kafka cluster --random N --out FILE`",
        ) from None


def random_text(before: Iterable[RandomRecord], newer: RandomRecord) -> str:
    """The text of a file with another record, which takes the place of one of the same release, brokers and seed."""
    latest = {str(each.key): each for each in [*before, newer]}
    return json.dumps([asdict(each) for each in sorted(latest.values(), key=lambda each: each.key)], indent=1) + "\n"


def random_section(records: Sequence[RandomRecord]) -> str:
    """The section of the page of models and brokers; "" if there is no record."""
    if not records:
        return ""
    columns = [f"Kafka {r.release}, {r.brokers} brokers, seed {r.seed}, {r.minutes} minutes" for r in records]
    names = [row[0] for row in _rows(records[0])]
    values = [[row[1] for row in _rows(r)] for r in records]
    rows = [[name, *each] for name, *each in zip(names, *values, strict=True)]
    notes = "".join(f"\n{r.note}\n" for r in records if r.note)
    return f"\n{HEAD}\n{table(('', *columns), rows)}\n{notes}"


def _rows(r: RandomRecord) -> list[tuple[str, str]]:
    lost_by = [f"{count:,} {_explained(name)}" for name, count in r.lost_by.items()]
    broken = [f"`{name}` in {count:,}" for name, count in r.broken.items()]
    return [
        ("runs", f"{r.runs:,}"),
        ("requests and faults", f"{r.steps:,}"),
        ("runs that a run of the model matches", f"{r.matched:,}"),
        ("runs that none matches; undecided", f"{r.not_matched:,}; {r.undecided:,}"),
        ("steps of the model's runs: observed; hidden", f"{r.model_steps:,}; {r.hidden_steps:,}"),
        ("changes of the partitions judged; not made by the release's rules", f"{r.changes:,}; {r.not_by_rules:,}"),
        ("acknowledged records; lost", f"{r.acknowledged:,}; {r.lost:,}"),
        ("lost records by explanation", ", ".join(lost_by) or "-"),
        ("records read twice or with another content", f"{r.different:,}"),
        ("runs whose reassignment ended by a cancellation only", f"{r.never_ended:,}"),
        ("runs without a leader with every broker back", f"{r.offline:,}"),
        ("runs whose records could not be read", f"{r.unread:,}"),
        ("runs with a broken promise", ", ".join(broken) or "-"),
    ]


def _explained(name: str) -> str:
    """The explanation of a loss: a finding of the page, or the words themselves."""
    for number, headline in enumerate(HEADLINES, 1):
        if headline.property == name:
            return f"by finding {number}"
    return f"by {name}" if name else "without an explanation"
