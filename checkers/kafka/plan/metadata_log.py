"""A metadata log as a file of `reassure plan`: the cluster at the log's end, its assignment, and what is under way."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from reassure.checkers.kafka.audit.cluster_history import BROKER, CLUSTER, METADATA_VERSION, MIN_ISR, ClusterHistory
from reassure.checkers.kafka.audit.log_files import LogFile, LogRead, changes_in, files_of
from reassure.checkers.kafka.audit.waiting import rules_from
from reassure.checkers.kafka.plan.cluster_file import ClusterFile
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.partition import Partition

DUMPED = re.compile(r"^(Dumping |baseOffset: \d|\| offset: \d|\| payload: )", re.M)
"""A line of `kafka-dump-log` that no other format has."""
BEGIN = 1 << 16
"""Bytes in which such a line is looked for: a shell or a logger may have written before it."""


def is_log(path: Path) -> bool:
    """Whether a path is a folder, a segment or a snapshot of a metadata log, or a dump of one."""
    if path.is_dir():
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        begin = file.read(BEGIN)
    wide = begin[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = begin.decode("utf-16" if wide else "utf-8-sig", errors="ignore")
    return begin[:1] == b"\0" or DUMPED.search(text) is not None


def metadata_log(path: Path) -> MetadataLog:
    """A log that is read once, though several options may name it."""
    return _read(path, path.resolve(), path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _read(path: Path, resolved: Path, changed: int) -> MetadataLog:
    return MetadataLog(path)


class MetadataLog:
    """The cluster at the end of a metadata log; `Failure` where the log cannot be read."""

    def __init__(self, path: Path) -> None:
        read = LogRead()
        for _ in changes_in([LogFile(str(file)) for file in files_of([path])], read):
            pass
        self.history: ClusterHistory = read.history
        self.not_read = read.torn
        """What of the log was not read, in words."""
        self.partitions: dict[tuple[str, int], Partition] = {
            (self.history.topics[topic], number): p
            for (topic, number), p in self.history.partitions.items()
            if topic in self.history.topics
        }
        if not self.history.brokers or not self.partitions:
            raise Failure(Exit.USAGE, f"{path} has no {'partitions' if self.history.brokers else 'brokers'}")

    @property
    def cluster(self) -> ClusterFile:
        """The cluster at the end of the log. What a broker's file of properties says is in no log."""
        history = self.history
        brokers_of = dict(sorted(history.brokers.items()))
        text = history.configs.get((BROKER, CLUSTER, MIN_ISR), "")
        every = {topic: history.min_isr(topic) for topic in history.topics.values()}
        unclean = {topic: history.unclean(topic) for topic in history.topics.values()}
        return ClusterFile(
            {n: b.rack or None for n, b in brokers_of.items()},
            int(text) if text.isdigit() else None,
            {topic: least for topic, least in every.items() if least is not None},
            frozenset(n for n, b in brokers_of.items() if b.directories and b.directories <= b.cordoned),
            rules_from(history.features.get(METADATA_VERSION)),
            of_log=True,
            faults={n: fault for n, b in brokers_of.items() if (fault := b.fault)},
            unclean={topic: allowed for topic, allowed in unclean.items() if allowed is not None},
            elr=history.elr,
        )

    @property
    def before(self) -> dict[tuple[str, int], tuple[int, ...]]:
        """The replicas of each partition, without those that a reassignment under way adds."""
        return {key: tuple(int(b) for b in p.replicas if b not in p.adding) for key, p in self.partitions.items()}

    @property
    def running(self) -> dict[tuple[str, int], tuple[int, ...]]:
        """The targets of the reassignments under way."""
        moving = {key: p for key, p in self.partitions.items() if p.adding or p.removing}
        return {key: tuple(int(b) for b in p.replicas if b not in p.removing) for key, p in moving.items()}
