"""What Kafka's shell tools print, as the files of `reassure plan`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HEADS = {
    "current": "Current partition replica assignment",
    "proposed": "Proposed partition reassignment configuration",
}
"""The lines of `kafka-reassign-partitions --generate` before each of its two objects."""
PARTITION_BEGINS = re.compile(r"^\s*Topic:\s*(\S+)\s+Partition:[ \t]*(\S*)", re.M)
PARTITION = re.compile(
    r"^\s*Topic:\s*(\S+)\s+Partition:\s*(\d+)\s+Leader:\s*\S+\s+Replicas:\s*([\d,\s]+?)\s+Isr:[ ]*([\d, ]*)(.*)$",
    re.M,
)
MOVING = re.compile(r"\b(Adding|Removing) Replicas:[ ]*([\d, ]*)")
"""Of a partition that a reassignment is under way of."""
TOPIC = re.compile(r"^[ \t]*Topic:\s*(\S+)\s.*\bConfigs:\s*(\S*)", re.M)


@dataclass
class Described:
    """What `kafka-topics --describe` says."""

    replicas: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    adding: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    removing: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    """Of partitions that a reassignment is under way of."""
    min_isr: dict[str, int] = field(default_factory=dict)
    """By topic, where its configuration has one."""
    out_of_sync: list[tuple[str, int]] = field(default_factory=list)
    """Partitions with a replica that is not in the ISR, and is not being added."""

    @property
    def before(self) -> dict[tuple[str, int], list[int]]:
        """The replicas of each partition, without those that a reassignment under way adds."""
        return {key: [b for b in own if b not in self.adding.get(key, ())] for key, own in self.replicas.items()}

    @property
    def targets(self) -> dict[tuple[str, int], list[int]]:
        """The replicas of each partition, without those that a reassignment under way removes."""
        return {key: [b for b in own if b not in self.removing.get(key, ())] for key, own in self.replicas.items()}

    @property
    def running(self) -> int:
        """Reassignments under way."""
        return len(self.adding.keys() | self.removing.keys())


def generated(text: str, part: str) -> str | None:
    """The JSON of one part (`current`, `proposed`) of what `--generate` prints; None for a text of another kind.

    Empty if the part is missing. `ValueError` if it stands there twice: which of them is meant is in no text.
    """
    pieces = re.split(f"({'|'.join(HEADS.values())})", text)
    if len(pieces) == 1:
        return None
    bodies = [body for head, body in zip(pieces[1::2], pieces[2::2], strict=True) if head == HEADS[part]]
    objects = [line for body in bodies for line in body.splitlines() if line.strip().startswith("{")]
    if len(objects) > 1:
        raise ValueError(f"it has {len(objects)} {part} assignments; a file has one")
    return objects[0] if objects else ""


def described(text: str) -> Described | None:
    """What `kafka-topics --describe` prints; None for a text of another kind.

    `ValueError` for a partition that is cut off, or that stands there with two lists of replicas.
    """
    found = Described()
    for topic, number, replicas, in_sync, more in PARTITION.findall(text):
        partition, brokers = (topic, int(number)), _ids(replicas)
        if found.replicas.setdefault(partition, brokers) != brokers:
            raise ValueError(f"{topic}-{number} is described twice, with other replicas")
        for kind, moving in MOVING.findall(more):
            if _ids(moving):
                (found.adding if kind == "Adding" else found.removing)[partition] = _ids(moving)
        settled = {*brokers} - {*found.adding.get(partition, ())}
        found.out_of_sync += [partition] * (not settled <= {*_ids(in_sync)})
    for topic, number in PARTITION_BEGINS.findall(text):
        if not number.isdecimal() or (topic, int(number)) not in found.replicas:
            raise ValueError(f"the line of {topic}-{number} is not what kafka-topics prints: no list of replicas")
    for topic, configs in TOPIC.findall(text):
        if least := re.search(r"(?:^|,)min\.insync\.replicas=(\d+)", configs):
            found.min_isr[topic] = int(least[1])
    return found if found.replicas else None


def _ids(text: str) -> list[int]:
    return [int(b) for b in text.replace(" ", "").split(",") if b]
