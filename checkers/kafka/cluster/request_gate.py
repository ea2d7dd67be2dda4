"""A gate between brokers and their controller: it passes requests on, and holds back those that are named."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from enum import IntEnum

HEADER = struct.Struct(">hhih")
"""Key of the request, version, correlation id, length of the client's id, which follows."""
LENGTH = struct.Struct(">i")
PIECE = 1 << 16


class RequestKey(IntEnum):
    """Requests of Kafka's protocol that can be held back. FETCH: by it a broker hears of new metadata."""

    FETCH = 1
    ALTER_PARTITION = 56


class RequestGate:
    """Listens on loopback, and forwards each connection to the controller's port. `close` ends every connection.

    held: requests that wait now. `OSError` if no port is free.
    """

    def __init__(self, controller: int) -> None:
        self.controller, self.held = controller, 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._changed = threading.Condition()
        self._holding: tuple[str, int] | None = None
        self._open: set[socket.socket] = set()
        self._closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self, broker: int, key: RequestKey) -> None:
        """Holds back a broker's requests of a kind from now on, and no others."""
        with self._changed:
            self._holding = str(broker), key
            self._changed.notify_all()

    def release(self) -> None:
        """Passes on the requests that are held, in the order of each connection, and holds no more."""
        with self._changed:
            self._holding = None
            self._changed.notify_all()

    def close(self) -> None:
        """Ends every connection; requests that are held are passed to nobody."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            for each in [self._server, *self._open]:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                broker, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(broker,), daemon=True).start()

    def _serve(self, broker: socket.socket) -> None:
        with broker, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.controller)) as there:
            pair = {broker, there}
            with self._changed:
                if self._closed:
                    return
                self._open |= pair
            answers = threading.Thread(target=_pass_answers, args=(there, broker), daemon=True)
            answers.start()
            try:
                while (request := _request(broker)) and self._may_pass(request):
                    there.sendall(request)
            finally:
                with self._changed:
                    self._open -= pair
                _end(broker, there)
                answers.join()

    def _may_pass(self, request: bytes) -> bool:
        """Waits while a request is held; False if the gate was closed in the meantime."""
        key, _, _, length = HEADER.unpack_from(request, LENGTH.size)
        start = LENGTH.size + HEADER.size
        client = request[start : start + max(length, 0)].decode(errors="replace")
        # a broker's id ends the client's: raft-client-1 fetches metadata, 1 sends other requests
        own = client.rpartition("-")[2], key
        with self._changed:
            if self._holding == own and not self._closed:
                self.held += 1
                self._changed.wait_for(lambda: self._closed or self._holding != own)
                self.held -= 1
            return not self._closed


def _request(broker: socket.socket) -> bytes:
    """The next request with its length; empty at the end."""
    head = _exactly(broker, LENGTH.size)
    return head + _exactly(broker, *LENGTH.unpack(head)) if head else b""


def _exactly(broker: socket.socket, count: int) -> bytes:
    """So many bytes; `OSError` if the connection ends within them, empty if it ends before."""
    data = b""
    while len(data) < count:
        part = broker.recv(count - len(data))
        if not part:
            if data:
                raise ConnectionError
            return b""
        data += part
    return data


def _pass_answers(there: socket.socket, broker: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := there.recv(PIECE):
            broker.sendall(data)
    _end(broker, there)


def _end(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
