"""What a partition's reassignment must never do: the partition as the controller keeps it, and the promises over it.

Protocols map their state onto `Partition` (a model's `views`), so that one promise is checked on all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spec.domains import MaxLen, Range
from spec.values import Id


class Broker(Id, size="brokers", first=1):
    """A broker, numbered from 1 as in the documents' examples."""


Brokers = frozenset[Broker]
Replicas = Annotated[tuple[Broker, ...], MaxLen("brokers")]
Epoch = Annotated[int, Range(0, "max_epoch")]
NOBODY: Brokers = frozenset()


@dataclass(frozen=True)
class Partition:
    """One partition's metadata at the controller (`PartitionRegistration` in Kafka)."""

    replicas: Replicas
    """In order; the first is the preferred leader."""
    isr: Brokers
    elr: Brokers
    """Eligible leader replicas (KIP-966)."""
    adding: Brokers
    removing: Brokers
    leader: Broker | None
    leader_epoch: Epoch
    partition_epoch: Epoch
    recovering: bool
    """Leader recovery state: an unclean leader has not finished its recovery."""
    last_known_leader: Broker | None
    """Kafka's lastKnownElr, which in production holds at most the last leader."""
