"""The order of a log's batches: each begins at the offset that follows the last one of the batch before it."""

from __future__ import annotations

from dataclasses import dataclass

from reassure.checkers.kafka.audit.message_format import MalformedRecord


@dataclass
class BatchOrder:
    """How far a log has been read. A log with a gap would be judged without the changes that are missing."""

    next: int = 0
    """The offset that comes next. A log begins at 0, or goes on from a snapshot."""
    covered: int = 0
    """The end of the snapshot that the log goes on from: batches before it tell what the snapshot tells."""
    torn: int | None = None
    """Of the file read last: the byte (of a dump, the line) where its incomplete last batch begins; None: all of it was
    read. A file ends so where a controller stopped while writing."""
    has_header: bool = False
    has_footer: bool = False
    """The file read last has the header of a snapshot, or its footer."""
    hides_control: bool = False
    """The file read last is a dump with `--skip-record-metadata`, which has neither, though the snapshot may."""

    def follow(self, first: int, last: int) -> None:
        """Goes on by the offsets of a batch. Raises `MalformedRecord` if they are not the next ones."""
        if not 0 <= first <= last:
            raise MalformedRecord(f"a batch of offsets {first} to {last}")
        if self.next == self.covered and first < self.next:
            if last < self.next:
                return
            first = self.next
        if first > self.next == 0:
            raise MalformedRecord(f"the log begins at offset {first}, and has no snapshot to begin with")
        if first > self.next:
            raise MalformedRecord(f"offset {first} comes after {self.next - 1}: what is between them is missing")
        if first < self.next:
            raise MalformedRecord(f"offset {first} comes after {self.next - 1}")
        self.next = last + 1
