"""An explorer that is served within a test, and what it answers."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

from reassure.checkers.explorer.loaded import ModelSource
from reassure.checkers.explorer.server import ExplorerServer
from reassure.checkers.explorer.session import ExplorerSession
from reassure.checkers.request.options import SearchOptions
from reassure.spec.semantics.trace import JsonObject

TOKEN = "a-token-of-a-test"
PATIENCE = 60.0
"""Seconds that a search of a small model has."""


@contextmanager
def served(model: str, *settings: str, options: SearchOptions | None = None) -> Iterator[ExplorerServer]:
    """The server of a model, in a thread of this process."""
    session = ExplorerSession(ModelSource(model, list(settings)), options or SearchOptions(workers=1, witness=True))
    server = ExplorerServer(session, 0, TOKEN)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        session.close()
        server.server_close()


def answer(
    server: ExplorerServer,
    target: str,
    method: str = "GET",
    body: str | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, str, http.client.HTTPMessage]:
    """Status, text and headers of what the server answers. target: the path in the address, with the token."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE)
    try:
        connection.request(method, target, body, headers or {})
        got = connection.getresponse()
        return got.status, got.read().decode(), got.headers
    finally:
        connection.close()


def asked(server: ExplorerServer, name: str, **query: str) -> JsonObject:
    """The answer to a question of the page."""
    made: JsonObject = json.loads(answer(server, f"/{TOKEN}/api/{name}?{urlencode(query)}")[1])
    return made


def told(server: ExplorerServer, name: str, **body: str) -> JsonObject:
    """The answer to a command of the page."""
    made: JsonObject = json.loads(answer(server, f"/{TOKEN}/api/{name}", "POST", json.dumps(body))[1])
    return made


def ended(server: ExplorerServer, name: str) -> JsonObject:
    """What comes out of a search, once it has ended."""
    until = time.monotonic() + PATIENCE
    while (status := asked(server, name))["state"] == "running":
        assert time.monotonic() < until, f"{name} runs for {PATIENCE:g} s"
        time.sleep(0.02)
    return status
