"""What Kafka's shell tools print, as the files of `reassure plan`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HEADS = {
    "current": "Current partition replica assignment",
    "proposed": "Proposed partition reassignment configuration",
}
"""The lines of `kafka-reassign-partitions --generate` before each of its two objects."""
PARTITION = re.compile(
    r"^\s*Topic:\s*(\S+)\s+Partition:\s*(\d+)\s+Leader:\s*\S+\s+Replicas:\s*([\d,\s]+?)\s+Isr:[ ]*([\d, ]*)", re.M
)
TOPIC = re.compile(r"^Topic:\s*(\S+)\s.*\bConfigs:\s*(\S*)", re.M)


@dataclass
class Described:
    """What `kafka-topics --describe` says."""

    replicas: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    min_isr: dict[str, int] = field(default_factory=dict)
    """By topic, where its configuration has one."""
    out_of_sync: list[tuple[str, int]] = field(default_factory=list)
    """Partitions with a replica that is not in the ISR."""


def generated(text: str, part: str) -> str | None:
    """The JSON of one part (`current`, `proposed`) of what `--generate` prints; None for a text of another kind."""
    if HEADS["current"] not in text and HEADS["proposed"] not in text:
        return None
    _, _, after = text.partition(HEADS[part])
    lines = [line for line in after.splitlines() if line.strip().startswith("{")]
    return lines[0] if lines else ""


def described(text: str) -> Described | None:
    """What `kafka-topics --describe` prints; None for a text of another kind."""
    found = Described()
    for topic, number, replicas, in_sync in PARTITION.findall(text):
        found.replicas[topic, int(number)] = _ids(replicas)
        found.out_of_sync += [(topic, int(number))] * (not {*_ids(replicas)} <= {*_ids(in_sync)})
    for topic, configs in TOPIC.findall(text):
        if least := re.search(r"(?:^|,)min\.insync\.replicas=(\d+)", configs):
            found.min_isr[topic] = int(least[1])
    return found if found.replicas else None


def _ids(text: str) -> list[int]:
    return [int(b) for b in text.replace(" ", "").split(",") if b]
