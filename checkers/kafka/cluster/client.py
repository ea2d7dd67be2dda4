"""The Java program of Kafka's own clients, as a Python object: a line out, a line in."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Mapping
from dataclasses import dataclass

from reassure.checkers.kafka.cluster.processes import Cluster
from reassure.checkers.kafka.controller.class_path import QUICK
from reassure.checkers.kafka.controller.driver import Jvm
from reassure.checkers.machine.exit_codes import SystemFailure

SECONDS = 240.0
"""Longest wait for an answer: the clients' own limits are shorter."""


class RequestRefused(Exception):
    """A request that the cluster answers with an error. name: of `org.apache.kafka.common.protocol.Errors`."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(name, message)
        self.name, self.message = name, message


@dataclass(frozen=True)
class RecordCounts:
    """The acknowledged records of a topic after everything was consumed."""

    acknowledged: int
    readable: int
    lost: int
    different: int
    """Read twice, or with another content."""
    end: int
    """The end offset."""


class ClusterClient(Jvm):
    """Admin client, producer and consumer of a cluster, in one JVM. As a context: the JVM ends with it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        controller = f"127.0.0.1:{cluster.controller.port}" if cluster.from_4 else ""
        logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        command = [cluster.java, *QUICK, "-Xmx256m", logging, "-cp", cluster.kafka.class_path, "ClusterClient"]
        errors = open(cluster.folder / "client.log", "wb")  # noqa: SIM115
        super().__init__([*command, cluster.addresses, controller], errors)
        cluster.clients.append(self.process.pid)
        self.rest = b""
        (version,) = self._answer()
        if version != cluster.kafka.release.stated:
            self.close()
            raise SystemFailure(f"the jars of Kafka {cluster.kafka.release.stated} say that they are {version}")

    # -- requests ------------------------------------------------------------------------------------------------

    def create(self, topic: str, replicas: tuple[int, ...], settings: Mapping[str, str]) -> None:
        """A topic of one partition; `RequestRefused` as for every request."""
        self._ask("create", topic, _ids(replicas), _settings(settings))

    def reassign(self, topic: str, replicas: tuple[int, ...]) -> None:
        """Asks for replicas of the partition."""
        self._ask("reassign", topic, _ids(replicas))

    def cancel(self, topic: str) -> None:
        """Cancels the partition's reassignment."""
        self._ask("cancel", topic)

    def listed(self, topic: str) -> bool:
        """Whether a reassignment of the partition is listed."""
        return bool(self._ask("listed", topic))

    def set(self, kind: str, name: str, settings: Mapping[str, str]) -> None:
        """Changes settings of a TOPIC or BROKER; "" as name: all brokers; "" as value: the default."""
        self._ask("set", kind, name, _settings(settings))

    def elect_uncleanly(self, topic: str) -> None:
        """Asks for an election that may choose a replica out of sync."""
        self._ask("elect", topic, "UNCLEAN")

    def produce(self, topic: str, count: int, size: int, acks: str = "all") -> None:
        """Sends records of so many bytes, and waits for their acknowledgements."""
        self._ask("produce", topic, str(count), str(size), acks)

    def high_watermark(self, topic: str) -> int:
        """The end offset that consumers see."""
        return int(self._ask("end", topic)[0])

    def feed(self, topic: str, size: int, per_second: int) -> None:
        """Sends records all the time."""
        self._ask("feed", topic, str(size), str(per_second))

    def stop(self, topic: str) -> tuple[int, int, int]:
        """Ends the feed: records sent so far, acknowledged, failed."""
        sent, acknowledged, failed = map(int, self._ask("stop", topic))
        return sent, acknowledged, failed

    def consume(self, topic: str, seconds: float) -> RecordCounts:
        """Reads the partition from its beginning to its end."""
        return RecordCounts(*map(int, self._ask("consume", topic, str(int(seconds)))))

    # -- the pipes -----------------------------------------------------------------------------------------------

    def _ask(self, *words: str) -> list[str]:
        with contextlib.suppress(OSError):  # the missing answer says why
            self.stdin.write("\t".join(words).encode() + b"\n")
            self.stdin.flush()
        return self._answer()

    def _answer(self) -> list[str]:
        """The values of the next line; `RequestRefused` for an error."""
        until = time.monotonic() + SECONDS
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.stdout], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise SystemFailure(f"Kafka's clients gave no answer for {SECONDS:g} s")
            part = os.read(self.stdout.fileno(), 1 << 16)
            if not part:
                raise SystemFailure(f"the JVM of Kafka's clients ended: {self._first_error()}")
            self.rest += part
        line, _, self.rest = self.rest.partition(b"\n")
        kind, *values = line.decode(errors="replace").split("\t")
        if kind == "error":
            raise RequestRefused(*values)
        return values

    def _first_error(self) -> str:
        text = (self.cluster.folder / "client.log").read_text(encoding="utf-8", errors="replace")
        return next((line for line in text.splitlines() if line.strip()), "no reason given")


def _ids(brokers: tuple[int, ...]) -> str:
    return ",".join(str(int(b)) for b in brokers)


def _settings(settings: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in settings.items())
