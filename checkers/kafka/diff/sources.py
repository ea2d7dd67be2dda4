"""The place of a difference in HEAD's sources: the line that threw, or the method that carries out the command."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from reassure.checkers.console.code_hosts import SourcePlace
from reassure.checkers.kafka.controller.words import PROPOSALS, Kind

MODULES = ("metadata", "server-common", "clients", "raft", "server")
"""Modules of Kafka's build whose classes the controller runs."""
SOURCES = "src/main/java"
MANAGER = "metadata/src/main/java/org/apache/kafka/controller/ReplicationControlManager.java"
FRAME = re.compile(r"^\s+at (?:\S+/)?(org\.apache\.kafka\.[\w.$]+)\.[\w$<>]+\((\w+\.java):(\d+)\)$", re.MULTILINE)
"""A line of a stack trace: class, file, line."""
METHODS = {
    Kind.REASSIGN: "alterPartitionReassignment",
    Kind.CANCEL: "cancelPartitionReassignment",
    Kind.ALTER_PARTITION: "alterPartition",
    **dict.fromkeys(PROPOSALS, "alterPartition"),
    Kind.FENCE: "handleBrokerFenced",
    Kind.UNFENCE: "handleBrokerUnfenced",
    Kind.CONTROLLED_SHUTDOWN: "handleBrokerInControlledShutdown",
    Kind.RESTART_UNCLEANLY: "handleBrokerShutdown",
    Kind.RESTART_CLEANLY: "handleBrokerShutdown",
    Kind.ELECT_PREFERRED: "electLeader",
    Kind.ELECT_UNCLEAN: "electLeader",
    Kind.MAYBE_ELECT_UNCLEAN: "maybeElectUncleanLeaders",
    Kind.BALANCE: "maybeBalancePartitionLeaders",
    Kind.DELETE_TOPIC: "deleteTopic",
    Kind.CREATE_TOPIC: "createTopic",
    Kind.ADD_PARTITION: "createPartitions",
    Kind.REASSIGN_BOTH: "alterPartitionReassignments",
}
"""The method of `ReplicationControlManager` that carries out a command, where one does."""


@dataclass(frozen=True)
class HeadSources:
    """The sources of the build that is judged. checkout: None if the build has none."""

    checkout: Path | None = None

    @classmethod
    def of(cls, build: Path) -> HeadSources:
        """The sources of a build; none if it is not a checkout."""
        return cls(build if (build / MANAGER).is_file() else None)

    def place(self, kind: Kind | None, words: str) -> SourcePlace:
        """The line of HEAD's sources for a step. words: Kafka's own, which have the stack if the step threw.

        Without sources a line that threw is known from the stack; any other place is the head of the class.
        """
        thrown = self._thrown(words)
        if thrown is not None:
            return thrown
        lines = self._lines(MANAGER)
        names = [METHODS[kind]] if kind in METHODS else []
        for pattern in (*(rf"^    \S.*\b{name}\(" for name in names), r"^public class ReplicationControlManager\b"):
            line = next((n for n, text in enumerate(lines, 1) if re.search(pattern, text)), None)
            if line is not None:
                return SourcePlace(MANAGER, line)
        return SourcePlace(MANAGER, 1)

    def _thrown(self, words: str) -> SourcePlace | None:
        """The first line of the stack that is in a class of Kafka's controller."""
        for match in FRAME.finditer(words):
            package = match[1].rpartition(".")[0].replace(".", "/")
            files = [f"{module}/{SOURCES}/{package}/{match[2]}" for module in MODULES]
            file = next((f for f in files if self._lines(f)), files[0] if self.checkout is None else None)
            if file is not None and "/controller/" in file:
                return SourcePlace(file, int(match[3]))
        return None

    def _lines(self, file: str) -> list[str]:
        if self.checkout is None:
            return []
        try:
            return (self.checkout / file).read_text(encoding="utf-8").splitlines()
        except OSError:
            return []
