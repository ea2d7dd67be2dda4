"""Files of a metadata log: segments, snapshots, and what `kafka-dump-log` prints of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.missing_file import did_you_mean
from reassure.checkers.kafka.audit.cluster_history import BrokenLog, ClusterHistory, PartitionChange
from reassure.checkers.kafka.audit.dump_log import read_dump
from reassure.checkers.kafka.audit.message_format import MalformedRecord
from reassure.checkers.kafka.audit.metadata_records import MetadataRecord
from reassure.checkers.kafka.audit.segment_file import TornEnd, read_segment
from reassure.spec.semantics.files import read_bytes

LONGEST = 1 << 31
"""Bytes of a segment, which Kafka counts in 31 bits."""
SEGMENT, SNAPSHOT = re.compile(r"^(\d{20})\.log$"), re.compile(r"^(\d{20})-\d{10}\.checkpoint$")


@dataclass(frozen=True)
class LogFile:
    """A file of a log. data: its content where it was read already, as for another machine."""

    path: str
    data: bytes | None = None

    def read(self) -> bytes:
        """The content; `Failure` if it cannot be read."""
        try:
            return read_bytes(Path(self.path), LONGEST) if self.data is None else self.data
        except OSError as error:
            raise Failure(Exit.USAGE, f"{self.path}: {error.strerror}{did_you_mean(Path(self.path))}") from None


@dataclass
class LogRead:
    """Counts and remarks about the files that were read."""

    history: ClusterHistory = field(default_factory=ClusterHistory)
    first: int | None = None
    last: int = 0
    """The offsets of the first record, and of the last."""
    torn: list[str] = field(default_factory=list)
    """Files that end within a batch, and where."""


def files_of(paths: list[Path]) -> list[Path]:
    """The files to read, in order: of a folder its segments, after the snapshot that they go on from."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        segments = {int(m[1]): p for p in path.iterdir() if (m := SEGMENT.match(p.name))}
        if not segments:
            raise Failure(Exit.USAGE, f"{path} has no segment (00000000000000000000.log, ...)")
        begin = min(segments)
        snapshots = {int(m[1]): p for p in path.iterdir() if (m := SNAPSHOT.match(p.name))}
        fitting = [offset for offset in snapshots if begin <= offset]
        if begin > 0:
            if not fitting:
                raise Failure(Exit.USAGE, f"{path} begins at offset {begin}, and has no snapshot to begin with")
            files.append(snapshots[min(fitting)])
        files += [segments[offset] for offset in sorted(segments)]
    return files


def changes_in(files: list[LogFile], read: LogRead) -> Iterator[PartitionChange]:
    """The changes of partitions that the files tell of, in order; `Failure` where a file cannot be read."""
    covered = -1
    for file in files:
        read.history.last = None
        snapshot = SNAPSHOT.match(Path(file.path).name)
        try:
            yield from read.history.play(_records(file, read, covered))
        except (MalformedRecord, BrokenLog) as error:
            hint = "; does the log begin earlier? give its snapshot first" if isinstance(error, BrokenLog) else ""
            raise Failure(Exit.USAGE, f"{file.path}: {error}{hint}") from None
        if snapshot is not None:
            covered = int(snapshot[1]) - 1


def _records(file: LogFile, read: LogRead, covered: int) -> Iterator[MetadataRecord]:
    """The records of a file after an offset that a snapshot covers."""
    data, torn, path = file.read(), TornEnd(), file.path
    is_segment = data[:1] == b"\0"
    records = read_segment(data, torn, read.history.share) if is_segment else read_dump(_text(data, path).splitlines())
    for record in records:
        if record.offset > covered:
            read.first = record.offset if read.first is None else read.first
            read.last = max(read.last, record.offset)
            yield record
    if torn.at is not None:
        read.torn.append(f"{path} ends within a batch at byte {torn.at}: {len(data) - torn.at} bytes were not read")


def _text(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Failure(
            Exit.USAGE, f"{path} is neither a segment nor what kafka-dump-log --print-data-log prints of one"
        ) from None
