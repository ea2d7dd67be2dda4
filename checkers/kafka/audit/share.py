"""A share of a log's partitions, for several processes or machines to judge them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass


@dataclass(frozen=True)
class PartitionShare:
    """The partitions of one of several judges. number: from 0."""

    number: int = 0
    of: int = 1

    def has(self, topic: str, partition: int) -> bool:
        """Whether a partition is of this share. topic: its id."""
        return self.of == 1 or zlib.crc32(f"{topic}-{partition}".encode()) % self.of == self.number

    def decodes(self, topic: str, partition: int) -> bool:
        """Whether records of a partition are decoded: of this share, and of partition 0 of each topic."""
        return partition == 0 or self.has(topic, partition)


WHOLE = PartitionShare()
