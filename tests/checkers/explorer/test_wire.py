"""Bytes that no browser sends: the explorer refuses them, and goes on answering."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from reassure.checkers.explorer.server import ExplorerServer
from tests.helpers.explorer_pages import PATIENCE, TOKEN, asked, served

POST = f"POST /{TOKEN}/api/find HTTP/1.1\r\nHost: HOST\r\n"
GET = f"GET /{TOKEN}/api/about HTTP/1.1\r\nHost: HOST\r\n"
REQUESTS = {
    "a length that is no ASCII digit": (POST + "Content-Length: \xb2\r\n\r\n", "400"),
    "a length of 5,000 digits": (POST + f"Content-Length: {'9' * 5_000}\r\n\r\n", "400"),
    "a negative length": (POST + "Content-Length: -1\r\n\r\n", "400"),
    "a body of 100 GB": (POST + "Content-Length: 99999999999\r\n\r\n", "400"),
    "a body of 1 MiB and a byte": (POST + f"Content-Length: {(1 << 20) + 1}\r\n\r\n", "400"),
    "a body in chunks": (POST + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "400"),
    "a body that nests": (POST + f"Connection: close\r\nContent-Length: 90000\r\n\r\n{'[' * 90_000}", "400"),
    "a page without an origin": (POST + "Origin: null\r\nContent-Length: 2\r\n\r\n{}", "403"),
    "another host first": (GET.replace("Host: HOST", "Host: evil.example\r\nHost: HOST") + "\r\n", "403"),
    "no host": (f"GET /{TOKEN}/api/about HTTP/1.0\r\n\r\n", "403"),
    "an address that is none": ("GET //[ HTTP/1.1\r\nHost: HOST\r\n\r\n", "403"),
    "a second request in the body of one without the token": (
        f"GET /x/ HTTP/1.1\r\nHost: HOST\r\nContent-Length: 60\r\n\r\n{GET}\r\n",
        "403",
    ),
    "a path of 70,000 letters": (f"GET /{'a' * 70_000} HTTP/1.1\r\n\r\n", "414"),
    "500 headers": (GET + "".join(f"X-{i}: 1\r\n" for i in range(500)) + "\r\n", "431"),
    "a question about what may be sent": (GET.replace("GET", "OPTIONS") + "\r\n", "501"),
    "another method": (GET.replace("GET", "PUT") + "\r\n", "501"),
}
"""By what is wrong: the request, and the status of the only answer."""


@pytest.fixture(scope="module")
def server() -> Iterator[ExplorerServer]:
    with served("die_hard") as serving:
        yield serving


def connected(server: ExplorerServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.server_port), timeout=PATIENCE)


def sent(server: ExplorerServer, text: str) -> bytes:
    """All that comes back until the server closes the connection."""
    with connected(server) as wire:
        wire.sendall(text.replace("HOST", f"127.0.0.1:{server.server_port}").encode("latin-1"))
        return b"".join(iter(lambda: wire.recv(1 << 16), b""))


@pytest.mark.parametrize("name", REQUESTS)
def test_a_strange_request_is_refused_and_the_connection_closed(name: str, server: ExplorerServer) -> None:
    request, status = REQUESTS[name]
    came = sent(server, request).decode("latin-1")
    assert came.startswith(f"HTTP/1.1 {status} ") or (status == "414" and " 414 " in came.splitlines()[0])
    assert came.count("HTTP/1.1 ") == 1
    assert "die_hard" not in came and "bug" not in came


def test_requests_that_are_cut_leave_nothing_behind(server: ExplorerServer) -> None:
    before = threading.active_count()
    whole = (POST + 'Content-Length: 50\r\n\r\n{"expression": "s.big == 3"').encode()
    for at in range(200):
        with connected(server) as wire:
            wire.sendall(whole[: at * 7 % len(whole)])
    until = time.monotonic() + PATIENCE
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.02)
    assert threading.active_count() <= before
    assert asked(server, "find")["state"] == "idle"


def test_connections_that_say_nothing_hold_up_nobody(server: ExplorerServer) -> None:
    silent = [connected(server) for _ in range(150)]
    try:
        assert asked(server, "search")["state"] == "idle"
    finally:
        for wire in silent:
            wire.close()
