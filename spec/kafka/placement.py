"""Placement of the replicas of new partitions: KIP-36's rack-aware assignment, and the placer that KRaft has instead.

Pure functions over plain values, not part of the model language: `reassure plan` proposes targets with them and the
claims R1 to R5 are enumerated over them. KIP-36 says what is promised; where it leaves something open (the shift
of a first partition other than 0, the order without racks), Kafka's `AdminUtils` is followed.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

Assignment = dict[int, tuple[int, ...]]
"""By partition id: the replicas in order, the first being the preferred leader."""


class PlacementError(ValueError):
    """Nothing can be placed as asked; the message says why."""


class ReplicationFactorError(PlacementError):
    """It is below 1, or above the number of brokers (R4)."""


class PartitionCountError(PlacementError):
    """It is below 1, or the first partition's id is below 0."""


class MissingRackError(PlacementError):
    """Some brokers have no rack, and whoever asks does not accept that (R5)."""


class RackMode(Enum):
    """The treatment of brokers that have no rack (R5)."""

    REFUSE = "refuse"
    """The command-line tools: fail if a broker has none. The document says if one or more have none, so also if all."""
    REFUSE_SOME = "refuse-some"
    """The tools as Kafka's code has it: fail only if some brokers have a rack and others do not."""
    IGNORE = "ignore"
    """The tools with --ignore-racks: no rack counts, whoever has one."""
    FALL_BACK = "fall-back"
    """Automatic topic creation: racks count if all brokers have one, else none does."""


def rack_alternated(racks: Mapping[int, str]) -> list[int]:
    """The brokers, from the racks in turn: racks by name, in a rack by id; an exhausted rack is passed over."""
    within = {name: sorted(b for b, r in racks.items() if r == name) for name in sorted(set(racks.values()))}
    longest = max((len(brokers) for brokers in within.values()), default=0)
    return [brokers[i] for i in range(longest) for brokers in within.values() if i < len(brokers)]


def follower_index(first: int, shift: int, nth: int, brokers: int) -> int:
    """The place in the list of the `nth` follower: past the leader, by the shift, never on the leader itself."""
    return (first + 1 + (shift + nth) % (brokers - 1)) % brokers


def replicas_aware(
    order: Sequence[int], racks: Mapping[int, str], replication_factor: int, first: int, shift: int
) -> tuple[int, ...]:
    """One partition's replicas: from position `first` on, racks that have one being passed over while others have none.

    shift: in racks, as the document counts it: the round's number.
    """
    count = len({racks[b] for b in order})
    chosen = [order[first]]
    used = {racks[order[first]]}
    look = 0
    while len(chosen) < replication_factor:
        broker = order[follower_index(first, shift * count, look, len(order))]
        look += 1
        if broker not in chosen and (racks[broker] not in used or len(used) == count):
            chosen.append(broker)
            used.add(racks[broker])
    return tuple(chosen)


def replicas_unaware(order: Sequence[int], replication_factor: int, first: int, shift: int) -> tuple[int, ...]:
    """One partition's replicas without racks: the leader, then followers from `shift` past it on."""
    followers = (follower_index(first, shift, j, len(order)) for j in range(replication_factor - 1))
    return (order[first], *(order[i] for i in followers))


def assign(
    racks: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    *,
    start_index: int = 0,
    shift: int = 0,
    first_partition: int = 0,
    mode: RackMode = RackMode.REFUSE_SOME,
) -> Assignment:
    """Replicas for so many partitions over brokers with these racks (in the mapping's order where racks do not count).

    start_index: position of partition 0's leader. shift: the round to begin with. Kafka draws both at random, or sets
    both to its fixed start index; the document's examples have 0 for both. The shift rises by one at each partition
    whose id is a multiple of the number of brokers, 0 excepted.
    """
    if partitions < 1:
        raise PartitionCountError(f"{partitions} partitions; at least 1 is needed")
    if first_partition < 0:
        raise PartitionCountError(f"first partition {first_partition}; ids start at 0")
    if start_index < 0 or shift < 0:
        raise PlacementError(f"start index {start_index}, shift {shift}; neither is below 0")
    if replication_factor < 1:
        raise ReplicationFactorError(f"replication factor {replication_factor}; at least 1 is needed")
    if replication_factor > len(racks):
        raise ReplicationFactorError(f"replication factor {replication_factor} is more than the {len(racks)} brokers")
    known = counted(racks, mode)
    order = list(racks) if known is None else rack_alternated(known)
    made: Assignment = {}
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % len(order) == 0:
            shift += 1
        first = (partition + start_index) % len(order)
        if known is None:
            made[partition] = replicas_unaware(order, replication_factor, first, shift)
        else:
            made[partition] = replicas_aware(order, known, replication_factor, first, shift)
    return made


def counted(racks: Mapping[int, str | None], mode: RackMode) -> dict[int, str] | None:
    """The racks that count under this mode; None if none does."""
    known = {b: r for b, r in racks.items() if r is not None}
    without = sorted(racks.keys() - known.keys())
    if mode is RackMode.IGNORE or (without and mode is RackMode.FALL_BACK):
        return None
    if without and (known or mode is RackMode.REFUSE):
        named = ", ".join(str(b) for b in without[:5]) + (", ..." if len(without) > 5 else "")
        raise MissingRackError(f"no rack is known of broker{'s' * (len(without) > 1)} {named}")
    return known or None


# -- Kafka's placer in KRaft ----------------------------------------------------------------------------------


class Chance(Protocol):
    """The random choices of a placer."""

    def below(self, bound: int) -> int:
        """A number from 0 to `bound` - 1."""

    def shuffle(self, items: MutableSequence[int]) -> None:
        """Puts the items into a random order."""


@dataclass(frozen=True)
class UsableBroker:
    """A registered broker, as the controller's placer sees it."""

    id: int
    rack: str | None = None
    fenced: bool = False


class _Ring:
    """Brokers to go round; every partition begins one further on."""

    def __init__(self, brokers: Sequence[int], chance: Chance) -> None:
        self.brokers = sorted(brokers)
        self.start = chance.below(len(self.brokers)) if self.brokers else 0
        self.given = 0
        self.partition = 0

    def next(self, partition: int) -> int | None:
        """One that this partition has not had yet, if there is one."""
        if not self.brokers:
            return None
        if self.partition != partition:
            self.partition, self.given = partition, 0
            self.start = (self.start + 1) % len(self.brokers)
        if self.given == len(self.brokers):
            return None
        self.given += 1
        return self.brokers[(self.start + self.given - 1) % len(self.brokers)]


class StripedPlacer:
    """Kafka's `StripedReplicaPlacer`: round the racks, each partition beginning one rack further on.

    Having no rack is one more rack. Unfenced brokers come first, and a fenced one never comes first in a partition.
    Kafka sets the racks up in the order of a hash map; here in the order of their names, which matters for what the
    random numbers are used for, and nothing else.
    """

    def __init__(self, brokers: Sequence[UsableBroker], chance: Chance) -> None:
        self.chance = chance
        self.total = len(brokers)
        self.unfenced_total = sum(not b.fenced for b in brokers)
        names = sorted({b.rack for b in brokers}, key=lambda name: (name is not None, name or ""))
        self.fenced: list[_Ring] = []
        self.unfenced: list[_Ring] = []
        for name in names:
            self.fenced.append(_Ring([b.id for b in brokers if b.rack == name and b.fenced], chance))
            self.unfenced.append(_Ring([b.id for b in brokers if b.rack == name and not b.fenced], chance))
        self.racks = list(range(len(names)))
        self.start = chance.below(len(names)) if names else 0
        self.partition = 0

    def place(self, replication_factor: int) -> tuple[int, ...]:
        """The next partition's replicas."""
        if replication_factor < 1:
            raise ReplicationFactorError(f"replication factor {replication_factor}; at least 1 is needed")
        if self.unfenced_total == 0:
            raise ReplicationFactorError("every broker is fenced")
        if replication_factor > self.total:
            raise ReplicationFactorError(
                f"replication factor {replication_factor} is more than the {self.total} brokers"
            )
        if self.partition == self.unfenced_total and self.unfenced_total > 1:
            self._shuffle()
            self.partition = 0
        self.start %= len(self.racks)
        chosen, leading = self._leader()
        passed = False
        look = self.start
        while len(chosen) < replication_factor:
            if look == leading and not passed:
                passed = True  # once only: its rack has the leader
            else:
                follower = self._follower(self.racks[look])
                if follower is not None:
                    chosen.append(follower)
            look = (look + 1) % len(self.racks)
        self.partition += 1
        self.start += 1
        return tuple(chosen)

    def _leader(self) -> tuple[list[int], int]:
        """The first unfenced broker from the partition's rack on, and where its rack is."""
        look = self.start
        while True:
            broker = self.unfenced[self.racks[look]].next(self.partition)
            if broker is not None:
                return [broker], look
            look = (look + 1) % len(self.racks)

    def _follower(self, rack: int) -> int | None:
        broker = self.unfenced[rack].next(self.partition)
        return self.fenced[rack].next(self.partition) if broker is None else broker

    def _shuffle(self) -> None:
        self.chance.shuffle(self.racks)
        for fenced, unfenced in zip(self.fenced, self.unfenced, strict=True):
            self.chance.shuffle(fenced.brokers)
            self.chance.shuffle(unfenced.brokers)
