"""A cluster of Kafka processes on this machine: one controller and some brokers, on loopback, in one folder.

Each process is a JVM of `kafka.Kafka`. A warden (`warden.py`) ends what still runs if this program is killed.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import TracebackType

from reassure.checkers.kafka.cluster import warden
from reassure.checkers.kafka.cluster.distribution import Distribution
from reassure.checkers.kafka.cluster.observed import FIRST_SEGMENT
from reassure.checkers.kafka.cluster.request_gate import RequestGate
from reassure.checkers.kafka.controller.class_path import QUICK, tool
from reassure.checkers.machine.exit_codes import Exit, Failure, SystemFailure
from reassure.checkers.machine.memory import free_memory, process_memory

CONTROLLER = 1000
"""The controller's node id: brokers have 1, 2, ..."""
HEAP = 256
"""MiB of each JVM's heap."""
JVM_MEMORY = 420 << 20
"""Bytes that a JVM with such a heap takes at most, as measured, for the check of free memory."""
FORMAT_SECONDS = 120.0
STOP_SECONDS = 60.0
SESSION = 9.0
"""Seconds without a heartbeat after which a broker is fenced: Kafka's default."""
LOGGING = {
    "defaultLogLevel": "info",
    "showDateTime": "true",
    "log.org.apache.kafka.common.config": "warn",
    "log.org.apache.kafka.common.utils": "warn",
}
REQUESTS_LOGGED = {"log.kafka.request.logger": "debug"}
"""Of the controller: each request with its answer, as JSON."""
COMMON = {
    "log.cleaner.dedupe.buffer.size": "2097152",  # 128 MiB by default
    "log.cleaner.io.buffer.size": "65536",
    "num.network.threads": "2",
    "num.io.threads": "3",
    "background.threads": "2",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "broker.session.timeout.ms": str(int(SESSION * 1000)),
    "initial.broker.registration.timeout.ms": "300000",
    "replica.fetch.max.bytes": "65536",
    "offsets.topic.replication.factor": "1",
    "unclean.leader.election.interval.ms": "5000",
}
"""Settings that differ from Kafka's defaults: a small cluster, and small fetches: a throttled copy stays small."""
UNSUPPORTED_BEFORE_4 = ("unclean.leader.election.interval.ms",)


class ProcessState(Enum):
    """The state of a process of the cluster."""

    RUNNING = "running"
    PAUSED = "paused"
    DOWN = "down"


@dataclass
class KafkaProcess:
    """A controller or broker: its folder, port, and the JVM, if one runs."""

    node: int
    port: int
    folder: Path
    state: ProcessState = ProcessState.DOWN
    jvm: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def data(self) -> Path:
        """The folder of its logs."""
        return self.folder / "data"

    @property
    def output(self) -> Path:
        """Its standard error."""
        return self.folder / "output.log"


class Cluster:
    """One controller and some brokers. As a context, every process ends with it, and the folder is removed."""

    def __init__(
        self,
        kafka: Distribution,
        brokers: int,
        elr: bool,
        place: Path | None = None,
        memory: int | None = None,
        settings: Mapping[str, str] = {},
        gated: bool = False,
        logged: bool = False,
    ) -> None:
        """place: the folder, which is then kept; None: a temporary one. memory: the most that all processes may take,
        in bytes; None: what is free. settings: of every broker, beside `COMMON`. gated: the brokers reach the
        controller by a `RequestGate`. gated, logged: the controller logs each request with its answer.

        `SystemFailure` if a port, memory, the folder or a program is missing.
        """
        self.kafka, self.elr, self.settings, self.memory = kafka, elr, dict(settings), memory
        self.clients: list[int] = []
        """Processes of clients, which count as the cluster's for the limit on memory."""
        self.java = tool("java")
        enough_memory(brokers + 2, memory)
        self.kept = place is not None
        self.folder = _folder(place)
        ports = free_ports(brokers + 1)
        nodes = [CONTROLLER, *range(1, brokers + 1)]
        self.nodes = {n: KafkaProcess(n, p, self.folder / _name(n)) for n, p in zip(nodes, ports, strict=True)}
        self.gate = RequestGate(self.controller.port) if gated else None
        self.logged = gated or logged
        self.warden = subprocess.Popen(
            [sys.executable, "-S", "-E", warden.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if not self.kept:
            self._tell(f"remove {self.folder}")

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def brokers(self) -> list[KafkaProcess]:
        """The brokers, by number."""
        return [node for number, node in self.nodes.items() if number != CONTROLLER]

    @property
    def addresses(self) -> str:
        """The brokers' addresses, for a client."""
        return ",".join(f"127.0.0.1:{broker.port}" for broker in self.brokers)

    @property
    def controller(self) -> KafkaProcess:
        """The only controller."""
        return self.nodes[CONTROLLER]

    @property
    def metadata(self) -> Path:
        """The controller's folder of the metadata log."""
        return self.controller.data / "__cluster_metadata-0"

    def format(self) -> None:
        """Writes the configurations, and formats the folders of all nodes, the controller's with Kafka's own tool."""
        cluster = kafka_uuid()
        for node in self.nodes.values():
            node.data.mkdir(parents=True)
            text = "".join(f"{key}={value}\n" for key, value in self._properties(node).items())
            (node.folder / "server.properties").write_text(text, encoding="utf-8")
            if node.node != CONTROLLER:
                meta = f"version=1\ncluster.id={cluster}\nnode.id={node.node}\ndirectory.id={kafka_uuid()}\n"
                (node.data / "meta.properties").write_text(meta, encoding="utf-8")
        feature = ["--feature", f"eligible.leader.replicas.version={int(self.elr)}"] if self.from_4 else []
        about = ["format", "-t", cluster, "-c", str(self.controller.folder / "server.properties"), *feature]
        command = self._command("kafka.tools.StorageTool", 64, *about)
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, timeout=FORMAT_SECONDS, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            raise SystemFailure(f"Kafka's StorageTool did not finish within {FORMAT_SECONDS:g} s") from None
        if ran.returncode != 0:
            raise SystemFailure(f"Kafka's StorageTool: {_reason(ran.stdout + ran.stderr)}")

    @property
    def from_4(self) -> bool:
        """From 4.0 on ELR can be on in production, and the controller itself answers requests about assignments."""
        return not self.kafka.release.stated.startswith("3.")

    def _properties(self, node: KafkaProcess) -> dict[str, str]:
        name = "CONTROLLER" if node.node == CONTROLLER else "BROKER"
        common = {k: v for k, v in COMMON.items() if self.from_4 or k not in UNSUPPORTED_BEFORE_4}
        port, gated = self.controller.port, {}
        if self.gate is not None:
            port = self.gate.port
            gated = {"advertised.listeners": f"{name}://127.0.0.1:{port}"} if node.node == CONTROLLER else {}
        return {
            "process.roles": name.lower(),
            "node.id": str(node.node),
            "controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{name}://127.0.0.1:{node.port}",
            "log.dirs": str(node.data),
            **({"inter.broker.listener.name": "BROKER"} if node.node != CONTROLLER else {}),
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,BROKER:PLAINTEXT",
            **common,
            **gated,
            **self.settings,
        }

    def _command(self, main: str, heap: int, *arguments: str, more_logging: Mapping[str, str] = {}) -> list[str]:
        logging = [f"-Dorg.slf4j.simpleLogger.{key}={value}" for key, value in {**LOGGING, **more_logging}.items()]
        options = [*QUICK, f"-Xmx{heap}m", "-XX:-UsePerfData", *logging]
        return [self.java, *options, "-cp", self.kafka.class_path, main, *arguments]

    # -- processes -----------------------------------------------------------------------------------------------

    def start(self, number: int) -> None:
        """Starts a node that is down."""
        node = self.nodes[number]
        requests = REQUESTS_LOGGED if self.logged and number == CONTROLLER else {}
        command = self._command("kafka.Kafka", HEAP, str(node.folder / "server.properties"), more_logging=requests)
        with open(node.output, "ab") as output:
            try:
                node.jvm = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output, process_group=0
                )
            except OSError as error:
                raise SystemFailure(f"java cannot be run: {error.strerror}") from None
        node.state = ProcessState.RUNNING
        self._tell(f"+{node.jvm.pid}")

    def kill(self, number: int) -> None:
        """Ends a node as `kill -9` does."""
        node = self.nodes[number]
        if node.jvm is not None:
            node.jvm.kill()
            node.jvm.wait()
            self._tell(f"-{node.jvm.pid}")
        node.jvm, node.state = None, ProcessState.DOWN

    def stop(self, number: int) -> None:
        """Ends a node with a controlled shutdown; `kill -9` if it takes longer than a minute."""
        node = self.nodes[number]
        if node.jvm is not None:
            node.jvm.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                node.jvm.wait(STOP_SECONDS)
        self.kill(number)

    def lose_log(self, number: int, topic: str) -> None:
        """Removes the logs of a topic's partition 0 from a node that is down, as at worst a loss of power does."""
        for folder in self.nodes[number].data.glob(f"{topic}-0*"):
            shutil.rmtree(folder)

    def segment(self, number: int, topic: str) -> Path:
        """The only segment of a small log of a topic's partition 0."""
        return self.nodes[number].data / f"{topic}-0" / FIRST_SEGMENT

    def write_back(self, number: int, topic: str) -> int:
        """Has the system write a log to the disk, as it does by itself after some time; its bytes."""
        with open(self.segment(number, topic), "rb") as file:
            os.fsync(file.fileno())
            return os.fstat(file.fileno()).st_size

    def lose_tail(self, number: int, topic: str, written: int) -> None:
        """Cuts a log of a node that is down to the bytes that were written to the disk, as a loss of power does.

        Kafka acknowledges and fetches records without a flush; at the start it makes the indexes of such a log anew.
        """
        os.truncate(self.segment(number, topic), written)

    def pause(self, number: int) -> None:
        """Stops a node's threads, as a long collection of garbage does."""
        self._signal(number, signal.SIGSTOP, ProcessState.PAUSED)

    def resume(self, number: int) -> None:
        """Lets a paused node go on."""
        self._signal(number, signal.SIGCONT, ProcessState.RUNNING)

    def _signal(self, number: int, name: signal.Signals, state: ProcessState) -> None:
        node = self.nodes[number]
        if node.jvm is not None:
            node.jvm.send_signal(name)
            node.state = state

    def alive(self) -> None:
        """`SystemFailure` if a node that should run has ended by itself, with the line that it left.

        `Failure` (5) if the processes have more memory than they may take.
        """
        for node in self.nodes.values():
            if node.jvm is not None and node.jvm.poll() is not None:
                text = node.output.read_text(encoding="utf-8", errors="replace")
                raise SystemFailure(f"{_name(node.node)} ended with code {node.jvm.returncode}: {_reason(text)}")
        if self.memory is not None and (taken := self.memory_taken()) > self.memory:
            allowed = f"--memory allows {self.memory >> 20:,} MiB"
            raise Failure(Exit.INCONCLUSIVE, f"the processes take {taken >> 20:,} MiB of memory; {allowed}")

    def memory_taken(self) -> int:
        """Bytes of memory that all processes have; 0 where the system does not say."""
        nodes = [node.jvm.pid for node in self.nodes.values() if node.jvm is not None]
        return sum(map(process_memory, [*nodes, *self.clients]))

    def close(self) -> None:
        """Kills every node; removes the folder unless it is kept."""
        for number in self.nodes:
            self.kill(number)
        if self.gate is not None:
            self.gate.close()
        if not self.kept:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.warden.stdin is not None:
            with contextlib.suppress(OSError):
                self.warden.stdin.close()
        self.warden.wait()

    def _tell(self, line: str) -> None:
        if self.warden.stdin is not None:
            self.warden.stdin.write(line.encode() + b"\n")
            self.warden.stdin.flush()


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nothing listens on; `SystemFailure` if there are too few."""
    with contextlib.ExitStack() as stack:
        try:
            sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
            for each in sockets:
                each.bind(("127.0.0.1", 0))
        except OSError as error:
            raise SystemFailure(f"{count} ports of 127.0.0.1 are needed: {error.strerror}") from None
        return [each.getsockname()[1] for each in sockets]


def enough_memory(jvms: int, limit: int | None = None) -> None:
    """`SystemFailure` if so many JVMs take more than a limit, or than is free."""
    needed = jvms * JVM_MEMORY
    if limit is not None and limit < needed:
        raise SystemFailure(
            f"{jvms} JVMs need about {needed >> 20:,} MiB of memory; --memory allows {limit >> 20:,} MiB"
        )
    if (there := free_memory()) < needed:
        raise SystemFailure(f"{jvms} JVMs need about {needed >> 20:,} MiB of memory; {there >> 20:,} MiB are free")


def kafka_uuid() -> str:
    """A random id as Kafka writes it; none that begins like an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def _folder(place: Path | None) -> Path:
    if place is None:
        return Path(tempfile.mkdtemp(prefix="reassure-cluster-"))
    try:
        place.mkdir(parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise SystemFailure(f"{place} is not empty: a cluster needs a new folder")
    except OSError as error:
        raise SystemFailure(f"{place}: {error.strerror}") from None
    return place.absolute()


def _name(node: int) -> str:
    return "controller" if node == CONTROLLER else f"broker-{node}"


def _reason(text: str) -> str:
    """The first line of a log that names an exception, else the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "xception" in line and not line.startswith("at ")]
    return (errors or lines[-1:] or ["no reason given"])[0][:200]
