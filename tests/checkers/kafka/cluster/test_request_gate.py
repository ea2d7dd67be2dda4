"""The gate between brokers and their controller: requests that pass, are held, and end with it."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from reassure.checkers.kafka.cluster.processes import free_ports
from reassure.checkers.kafka.cluster.request_gate import HEADER, RequestGate, RequestKey

HEARTBEAT = 63


def request(key: int, client: str, body: bytes = b"") -> bytes:
    message = HEADER.pack(key, 3, 7, len(client)) + client.encode() + body
    return struct.pack(">i", len(message)) + message


class PlayedController:
    """Answers each connection's bytes with the same ones, and notes them."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.server.getsockname()[1]
        self.received: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(1 << 16):
                self.received.append(data)
                connection.sendall(data)


@pytest.fixture
def controller() -> Iterator[PlayedController]:
    played = PlayedController()
    yield played
    played.server.close()


@pytest.fixture
def gate(controller: PlayedController) -> Iterator[RequestGate]:
    made = RequestGate(controller.port)
    yield made
    made.close()


def connected(gate: RequestGate) -> socket.socket:
    return socket.create_connection(("127.0.0.1", gate.port), 10)


def soon(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def test_requests_and_answers_pass(gate: RequestGate, controller: PlayedController) -> None:
    fetch, parts = request(RequestKey.FETCH, "raft-client-1", b"x" * 70_000), []
    with connected(gate) as broker:
        broker.sendall(fetch[:5])  # a request comes in pieces
        broker.sendall(fetch[5:])
        while sum(map(len, parts)) < len(fetch):
            parts.append(broker.recv(1 << 16))
    assert b"".join(parts) == fetch


@pytest.mark.parametrize(
    ("key", "client", "waits"),
    [
        (RequestKey.FETCH, "raft-client-1", True),
        (RequestKey.FETCH, "raft-client-11", False),
        (RequestKey.FETCH, "raft-client-2", False),
        (RequestKey.ALTER_PARTITION, "1", False),
        (HEARTBEAT, "1", False),
    ],
)
def test_one_kind_of_one_broker_is_held(
    gate: RequestGate, controller: PlayedController, key: int, client: str, waits: bool
) -> None:
    gate.hold(1, RequestKey.FETCH)
    sent = request(key, client)
    with connected(gate) as broker:
        broker.sendall(sent)
        if waits:
            assert soon(lambda: gate.held == 1)
            assert controller.received == []
            gate.release()
        assert broker.recv(1 << 16) == sent
        assert gate.held == 0


def test_another_hold_takes_the_place_of_the_first(gate: RequestGate) -> None:
    gate.hold(1, RequestKey.FETCH)
    sent = request(RequestKey.FETCH, "raft-client-1")
    with connected(gate) as broker:
        broker.sendall(sent)
        assert soon(lambda: gate.held == 1)
        gate.hold(1, RequestKey.ALTER_PARTITION)
        assert broker.recv(1 << 16) == sent
        broker.sendall(request(RequestKey.ALTER_PARTITION, "1"))
        assert soon(lambda: gate.held == 1)


def test_the_end_of_the_gate_ends_connections_and_passes_nothing(
    gate: RequestGate, controller: PlayedController
) -> None:
    gate.hold(2, RequestKey.ALTER_PARTITION)
    with connected(gate) as broker, connected(gate) as idle:
        broker.sendall(request(RequestKey.ALTER_PARTITION, "2"))
        idle.sendall(request(HEARTBEAT, "3"))
        assert soon(lambda: gate.held == 1)
        assert idle.recv(1 << 16)
        gate.close()
        assert (broker.recv(1), idle.recv(1)) == (b"", b"")
    assert [struct.unpack_from(">h", data, 4)[0] for data in controller.received] == [HEARTBEAT]
    with pytest.raises(OSError):
        connected(gate)


def test_a_controller_that_is_down_ends_the_connection() -> None:
    gate = RequestGate(free_ports(1)[0])
    with connected(gate) as broker:
        assert broker.recv(1) == b""
    gate.close()


@pytest.mark.parametrize("begun", [b"\0\0", request(RequestKey.FETCH, "1", b"body")[:-2]])
def test_a_request_that_breaks_off_is_not_passed(gate: RequestGate, controller: PlayedController, begun: bytes) -> None:
    with connected(gate) as broker:
        broker.sendall(begun)
        broker.shutdown(socket.SHUT_WR)
        assert broker.recv(1) == b""
    assert controller.received == []
