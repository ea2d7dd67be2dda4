"""What Kafka's shell tools print of partitions: their present state, and assignments."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

HEADS = {
    "current": "Current partition replica assignment",
    "proposed": "Proposed partition reassignment configuration",
}
"""The lines of `kafka-reassign-partitions --generate` before each of its two objects."""
PARTITION_BEGINS = re.compile(r"^\s*Topic:\s*(\S+)\s+Partition:[ \t]*(\S*)", re.M)
PARTITION = re.compile(
    r"^\s*Topic:\s*(\S+)\s+Partition:\s*(\d+)\s+Leader:[ ]*(none|-1|\d+)\s+"
    r"Replicas:\s*([\d,\s]+?)\s+Isr:[ ]*([\d, ]*)(.*)$",
    re.M,
)
COLUMN = re.compile(r"\b(Adding Replicas|Removing Replicas|Elr|LastKnownElr|Observers|Offline):(?! *N/A)[ ]*([\d, ]*)")
"""Behind the ISR: of a reassignment under way; from 4.0 on the ELR; of Confluent's Kafka observers and offline ones."""
TOPIC = re.compile(r"^[ \t]*Topic:[ \t]*(\S+)[ \t].*\bConfigs:[ \t]*(\S*)", re.M)
MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
LISTED = "Current partition reassignments:"
NOTHING_LISTED = "No partition reassignments found."
MOVE_BEGINS = re.compile(r"^(\S+)-(\d+): replicas:", re.M)
MOVE = re.compile(r"^(\S+)-(\d+): replicas: ([\d,]+)\.(?: adding: ([\d,]+)\.)?(?: removing: ([\d,]+)\.)?[ \t]*$", re.M)
Key = tuple[str, int]


@dataclass(frozen=True)
class DescribedPartition:
    """The present state of a partition, as far as a tool says it. leader: None if nobody leads.

    elr: None if there is no column for it. observers, offline: replicas that Confluent's Kafka names so.
    """

    replicas: tuple[int, ...]
    leader: int | None
    isr: frozenset[int]
    adding: frozenset[int] = frozenset()
    removing: frozenset[int] = frozenset()
    elr: frozenset[int] | None = None
    last_known: tuple[int, ...] = ()
    observers: frozenset[int] = frozenset()
    offline: frozenset[int] = frozenset()

    @property
    def before(self) -> tuple[int, ...]:
        """The replicas without those that a reassignment under way adds."""
        return tuple(b for b in self.replicas if b not in self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas without those that a reassignment under way removes."""
        return tuple(b for b in self.replicas if b not in self.removing)

    @property
    def moving(self) -> bool:
        """Whether a reassignment is under way."""
        return bool(self.adding or self.removing)


@dataclass
class Described:
    """What `kafka-topics --describe` says."""

    partitions: dict[Key, DescribedPartition] = field(default_factory=dict)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of each topic of which a line with its configurations is there: what is not in it has Kafka's default."""

    @property
    def min_isr(self) -> dict[str, int]:
        """By topic; of a topic without a line of configurations it is not known."""
        numbers = {topic: configs.get(MIN_ISR, "1") for topic, configs in self.configs.items()}
        return {topic: int(text) for topic, text in numbers.items() if text.isdecimal()}

    @property
    def unclean(self) -> dict[str, bool]:
        """Whether a topic allows unclean election, as `min_isr`."""
        return {topic: configs.get(UNCLEAN, "false").lower() == "true" for topic, configs in self.configs.items()}


def generated(text: str, part: str) -> str | None:
    """The JSON of one part (`current`, `proposed`) of what `--generate` prints; None for a text of another kind.

    Empty if the part is missing. `ValueError` if it stands there twice: which of them is meant is in no text.
    """
    pieces = re.split(f"({'|'.join(HEADS.values())})", text)
    if len(pieces) == 1:
        return None
    bodies = [body for head, body in zip(pieces[1::2], pieces[2::2], strict=True) if head == HEADS[part]]
    objects = [one for body in bodies for one in _objects(body)]
    if len(objects) > 1:
        raise ValueError(f"it has {len(objects)} {part} assignments; a file has one")
    return objects[0] if objects else ""


def _objects(body: str) -> list[str]:
    """The JSON objects of a text; each begins a line, and ends where its brackets close."""
    objects: list[str] = []
    decoder, at = json.JSONDecoder(), 0
    while (begun := re.compile(r"^[ \t]*(?=\{)", re.M).search(body, at)) is not None:
        try:
            _, at = decoder.raw_decode(body, begun.end())
        except (ValueError, RecursionError):
            return [*objects, body[begun.end() :]]  # its reader says what is wrong with it
        objects.append(body[begun.end() : at])
    return objects


def listed(text: str) -> dict[Key, DescribedPartition] | None:
    """What `kafka-reassign-partitions --list` prints; None for a text of another kind. The ISR is not in it.

    `ValueError` for a partition that is cut off, or listed twice.
    """
    if NOTHING_LISTED in text:
        return {}
    if LISTED not in text:
        return None
    moves: dict[Key, DescribedPartition] = {}
    for topic, number, replicas, adding, removing in MOVE.findall(text):
        if (topic, int(number)) in moves:
            raise ValueError(f"{topic}-{number} is listed twice")
        moves[topic, int(number)] = DescribedPartition(
            tuple(_ids(replicas)), None, frozenset(), frozenset(_ids(adding)), frozenset(_ids(removing))
        )
    for topic, number in MOVE_BEGINS.findall(text):
        if (topic, int(number)) not in moves:
            raise ValueError(f"the line of {topic}-{number} is not what kafka-reassign-partitions --list prints")
    return moves


def described(text: str) -> Described | None:
    """What `kafka-topics --describe` prints; None for a text of another kind.

    `ValueError` for a partition that is cut off, or that stands there with two states.
    """
    found = Described()
    for topic, number, leader, replicas, in_sync, more in PARTITION.findall(text):
        columns = {name: _ids(ids) for name, ids in COLUMN.findall(more)}
        elr = frozenset(columns["Elr"]) if "Elr" in columns else None
        sets = [frozenset(columns.get(n, ())) for n in ("Adding Replicas", "Removing Replicas", "Observers", "Offline")]
        state = DescribedPartition(
            tuple(_ids(replicas)),
            None if leader in ("none", "-1") else int(leader),
            frozenset(_ids(in_sync)),
            sets[0],
            sets[1],
            elr,
            tuple(columns.get("LastKnownElr", ())),
            sets[2],
            sets[3],
        )
        old = found.partitions.setdefault((topic, int(number)), state)
        if old.replicas != state.replicas:
            raise ValueError(f"{topic}-{number} is described twice, with other replicas")
        if old != state:
            raise ValueError(f"{topic}-{number} is described twice, with another state")
    for topic, number in PARTITION_BEGINS.findall(text):
        if not number.isdecimal() or (topic, int(number)) not in found.partitions:
            raise ValueError(f"the line of {topic}-{number} is not what kafka-topics prints: no list of replicas")
    for topic, configs in TOPIC.findall(text):
        pairs = re.findall(r"(?:^|,)([\w.]+)=([^,]*)", configs)
        found.configs.setdefault(topic, {}).update(pairs)
    return found if found.partitions else None


def _ids(text: str) -> list[int]:
    return [int(b) for b in text.replace(" ", "").split(",") if b.strip()]
