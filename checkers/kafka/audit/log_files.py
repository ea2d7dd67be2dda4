"""Files of a metadata log: segments, snapshots, and what `kafka-dump-log` prints of them."""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reassure.checkers.kafka.audit.cluster_history import BeginsEarlier, BrokenLog, ClusterHistory, PartitionChange
from reassure.checkers.kafka.audit.metadata_records import BatchOrder, MalformedRecord, MetadataRecord, PartitionShare
from reassure.checkers.kafka.audit.record_files import read_dump, read_segment
from reassure.checkers.machine.atomic_files import did_you_mean
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.semantics.trace import read_bytes

LONGEST = 1 << 31
"""Bytes of a segment, which Kafka counts in 31 bits."""
NAMED = "00000000000000000040-0000000001.checkpoint"
INDEXES = (".index", ".timeindex", ".snapshot", ".txnindex")
"""Files beside a segment, which `kafka-dump-log` prints too."""
DUMPING = b"Dumping "
FILES = re.compile(rb"Dumping ([^\r\n]+?)[ \t\r]*$", re.MULTILINE)
"""The line with which `kafka-dump-log` begins a file."""
INDENTED = re.compile(rb"^([ \t]+)(?:Dumping|baseOffset:) ", re.MULTILINE)
BLOCK = 1 << 20
"""Bytes of a dump of which the lines are made at once. One of a million records takes 600 MB: it is never text as a
whole."""
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
    time: int = 0
    """The newest time of a record, in milliseconds since 1970."""
    torn: list[str] = field(default_factory=list)
    """What was not read: the end of a file within a batch, a snapshot of what was read before, an open transaction."""
    order: BatchOrder = field(default_factory=BatchOrder)


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


@dataclass(frozen=True)
class LogPart:
    """The content of one file of a log: a file itself, or what a dump has of it.

    path: for messages. name: of the file of the log. data: of the file itself, or of the whole dump, in UTF-8.
    dumped: the places between which a dump has this part; None of the file itself.
    """

    path: str
    name: str
    data: bytes
    dumped: tuple[int, int] | None = None

    @property
    def words(self) -> str:
        """The file, for people."""
        return self.path if self.dumped is None else f"{self.name} in {self.path}"

    @property
    def snapshot(self) -> int | None:
        """The offset at which a snapshot ends; None of a segment."""
        found = SNAPSHOT.match(self.name)
        return None if found is None else int(found[1])

    def records(self, order: BatchOrder, share: PartitionShare) -> Iterator[MetadataRecord]:
        """The records. Raises `MalformedRecord`."""
        if self.dumped is None:
            return read_segment(self.data, order, share)
        first, last = self.dumped
        return read_dump(_lines(self.data, first, last), order, self.data.count(b"\n", 0, first) + 1, share)


def changes_in(files: list[LogFile], read: LogRead) -> Iterator[PartitionChange]:
    """The changes of partitions that the files tell of, in order; `Failure` where a file cannot be read."""
    for file in files:
        for part in _parts(file):
            try:
                yield from _changes_in(part, read)
            except (MalformedRecord, BrokenLog) as error:
                hint = "; does the log begin earlier? give its snapshot first" * isinstance(error, BeginsEarlier)
                raise Failure(Exit.USAGE, f"{part.path}: {error}{hint}") from None
    if read.history.pending is not None:
        read.torn.append(f"the log ends within a transaction: its {len(read.history.pending)} records do not count")


def _changes_in(part: LogPart, read: LogRead) -> Iterator[PartitionChange]:
    read.history.last = None
    order = read.order
    if part.snapshot is not None:
        if order.next >= max(part.snapshot, 1):
            read.torn.append(f"{part.words} was not read: the files before it tell what this snapshot tells")
            return
        if order.next:
            last = order.next - 1
            raise MalformedRecord(f"a snapshot of offset {part.snapshot} after {last}: what is between them is missing")
        order = BatchOrder()
    covered = read.order.covered if part.snapshot is None else 0
    yield from read.history.play(_noted(part.records(order, read.history.share), read, covered))
    if part.snapshot is None and order.has_header:
        raise MalformedRecord(f"a snapshot has the offset at which it ends in its name, as in {NAMED}")
    if part.snapshot is not None:
        if order.hides_control:
            raise MalformedRecord("the footer of a snapshot is not printed with --skip-record-metadata: leave it out")
        if not order.has_footer:
            raise MalformedRecord("a snapshot without its footer: the file is cut, or was still being written")
        read.order = BatchOrder(next=part.snapshot, covered=part.snapshot)
    elif order.torn is not None and part.dumped is not None:
        read.torn.append(f"{part.words} ends within the batch of line {order.torn}, which was not read")
    elif order.torn is not None:
        left = len(part.data) - order.torn
        read.torn.append(f"{part.path} ends within a batch at byte {order.torn}: {left} bytes were not read")


def _noted(records: Iterator[MetadataRecord], read: LogRead, covered: int) -> Iterator[MetadataRecord]:
    """The records from an offset on, up to which a snapshot covers them."""
    for record in records:
        if record.offset >= covered:
            read.first = record.offset if read.first is None else read.first
            read.last = max(read.last, record.offset)
            read.time = max(read.time, record.timestamp)
            yield record


def _parts(file: LogFile) -> Iterator[LogPart]:
    """A segment or snapshot itself; of a dump, each file that it has."""
    data, name = file.read(), Path(file.path).name
    if data[:1] == b"\0":
        yield LogPart(file.path, name, data)
        return
    data = _unindented(_utf_8(data, file.path))
    for begin, end in itertools.pairwise(dict.fromkeys([0, *_begins(data), len(data)])):
        found = FILES.match(data, begin)
        of_file = name if found is None else Path(found[1].decode()).name
        if found is None or not of_file.endswith(INDEXES):
            yield LogPart(file.path, of_file, data, (begin, end))


def _unindented(data: bytes) -> bytes:
    """A dump without the blanks before each line, as a message or a ticket has it."""
    begun = INDENTED.search(data, 0, BLOCK)
    if begun is None:
        return data
    return re.sub(rb"^" + re.escape(begun[1]), b"", data, flags=re.MULTILINE)


def _begins(data: bytes) -> Iterator[int]:
    """The places where the parts of a dump begin."""
    at = data.find(DUMPING)
    while at >= 0:
        if (at == 0 or data[at - 1 : at] == b"\n") and FILES.match(data, at):
            yield at
        at = data.find(DUMPING, at + 1)


def _lines(data: bytes, at: int, end: int) -> Iterator[str]:
    """The lines of a part of a text, without their ends: a value may have other breaks than \\n."""
    while at < end:
        stop = data.find(b"\n", min(at + BLOCK, end), end)
        stop = end if stop < 0 else stop
        block = data[at:stop].decode()
        yield from [line.rstrip("\r") for line in block.split("\n")] if "\r" in block else block.split("\n")
        at = stop + 1


def _utf_8(data: bytes, path: str) -> bytes:
    """A dump in UTF-8, without a mark of its encoding; `Failure` if it is no text."""
    try:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return data.decode("utf-16").encode()
        data = data.removeprefix(codecs.BOM_UTF8)
        decoder = codecs.getincrementaldecoder("utf-8")()
        for at in range(0, 0 if data.isascii() else len(data), BLOCK):
            decoder.decode(data[at : at + BLOCK])
        decoder.decode(b"", final=True)
        return data
    except UnicodeError:
        raise Failure(
            Exit.USAGE, f"{path} is neither a segment nor what kafka-dump-log --print-data-log prints of one"
        ) from None
