"""How long each batch of a plan takes, and for how long a partition has too few replicas in sync."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reassure.checkers.kafka.plan.cluster_file import ClusterFile
from reassure.checkers.kafka.plan.evaluate import JudgedPlan
from reassure.checkers.kafka.plan.kafka_json import Partition


@dataclass(frozen=True)
class Exposure:
    """A time in which a partition has few replicas that are certainly in sync. seconds: None from then on."""

    partition: Partition
    stage: int
    what: str
    seconds: float | None


def batch_seconds(judged: JudgedPlan, size: int, throttle: int) -> list[float]:
    """The seconds that each batch copies, at least: the broker that has most to send or receive decides."""
    return [count * size / throttle for count in judged.busiest]


def exposures(judged: JudgedPlan, cluster: ClusterFile, seconds: list[float]) -> Iterator[Exposure]:
    """The times below MinISR, or one failure from the loss of a partition, of every partition that moves."""
    begins = [sum(seconds[:i]) for i in range(len(seconds) + 1)]
    entered = {(p, stage): batch for batch, members in enumerate(judged.batches) for p, stage in members}
    for partition, path in judged.paths.items():
        starts: list[float] = []
        for number, stage in enumerate(path):
            batch = entered.get((partition, number))
            if batch is not None:
                starts.append(begins[batch])
            elif number and stage.follows and (before := entered.get((partition, number - 1))) is not None:
                starts.append(begins[before + 1])
            else:
                starts.append(starts[-1] if starts else 0.0)
        for number, stage in enumerate(path):
            if number == 0:
                continue  # before the move
            lasting = starts[number + 1] - starts[number] if number + 1 < len(path) else None
            if lasting == 0:
                continue
            count, least = len(stage.certain), cluster.enough(partition[0])
            if count < least:
                yield Exposure(partition, number, f"{count} certainly in sync, below MinISR {least}", lasting)
            elif count == 1:
                yield Exposure(partition, number, "one failure from loss", lasting)
