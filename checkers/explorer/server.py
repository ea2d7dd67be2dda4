"""The explorer's page and its questions over HTTP, on 127.0.0.1 only, for those who have the address with its token."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from reassure.checkers.explorer.session import BadRequest, ExplorerSession
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.pictures.html_page import asset as picture_asset

HOST = "127.0.0.1"
SCRIPTS = ("explorer.js", "dom.js", "graph.js", "offline.js", "picture.js", "searches.js", "sections.js")
PICTURES = {"lifelines.js": "text/javascript", "picture.css": "text/css"}
"""The functions of `pictures` that draw a path, with their media types."""
ASSETS = {
    "": ("explorer.html", "text/html"),
    "explorer.css": ("explorer.css", "text/css"),
    **{name: (name, "text/javascript") for name in SCRIPTS},
}
"""By address below the token: the file and its media type."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LONGEST_BODY = 1 << 20
FORBIDDEN = (
    "This address is not one of a running explorer. `reassure explore` prints the address to open; "
    "what follows the # in an old address can be put behind the new one.\n"
)


class ExplorerServer(ThreadingHTTPServer):
    """Serves one session; `Failure` if the port is taken."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, session: ExplorerSession, port: int, token: str) -> None:
        """port: 0 for any that is free."""
        self.session, self.token = session, token
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise Failure(Exit.SYSTEM, f"port {port} of {HOST}: {error.strerror}; give another --port") from None
        except OverflowError:
            raise Failure(Exit.USAGE, f"--port {port}: a port is at most 65535") from None

    @property
    def address(self) -> str:
        """The address that a browser opens."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle of an answer is not news."""


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: ExplorerServer
    server_version = "reassure"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """The page, its files, questions, exported paths."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Commands."""
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged: addresses hold the token."""

    def _answer(self, handle: Callable[[str], None]) -> None:
        """Checks who asks, and turns what is wrong into an answer of one line."""
        below = self._below_token()
        if below is None:
            self.close_connection = True  # what else was sent is not read
            self._send(HTTPStatus.FORBIDDEN, "text/plain", FORBIDDEN)
            return
        try:
            handle(below)
        except KeyError:
            self._send_json({"error": f"there is nothing at {below[:80]}"}, HTTPStatus.NOT_FOUND)
        except BadRequest as error:
            self._send_json({"error": str(error)}, HTTPStatus.BAD_REQUEST)
        except Failure as failure:
            self._send_json({"error": str(failure), "model": True}, HTTPStatus.CONFLICT)
        except OSError:  # the browser has gone
            raise
        except Exception as error:
            text = f"{type(error).__name__}: {error} (a bug of this program)"
            self._send_json({"error": text}, HTTPStatus.INTERNAL_SERVER_ERROR)

    def _below_token(self) -> str | None:
        """The path below the token; None for who has not got it, or comes by another name of this host."""
        port = self.server.server_port
        if self.headers.get("Host") not in (f"{HOST}:{port}", f"localhost:{port}"):  # a name that is bound to 127.0.0.1
            return None
        if self.headers.get("Origin", f"http://{self.headers['Host']}") != f"http://{self.headers['Host']}":
            return None
        token, _, below = urlsplit(self.path).path.removeprefix("/").partition("/")
        return below if hmac.compare_digest(token.encode(), self.server.token.encode()) else None

    def _get(self, below: str) -> None:
        kind, _, name = below.partition("/")
        query = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        if kind == "api" and name == "export":
            export = self.server.session.exported(query)
            self._send(HTTPStatus.OK, export.kind, export.text, f'attachment; filename="{export.name}"')
        elif kind == "api":
            self._send_json(self.server.session.ask(name, query))
        else:
            self._send(HTTPStatus.OK, *_asset(below))

    def _post(self, below: str) -> None:
        kind, _, name = below.partition("/")
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > LONGEST_BODY:
            self.close_connection = True
            raise BadRequest("a command is a JSON object of at most 1 MiB")
        try:
            body = json.loads(self.rfile.read(int(length)) or b"{}")
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict) or not all(isinstance(value, str) for value in body.values()):
            raise BadRequest("a command is a JSON object of texts")
        if kind != "api":
            raise KeyError(below)
        self._send_json(self.server.session.command(name, body))

    def _send_json(self, data: Mapping[str, object], status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(status, "application/json", json.dumps(data))

    def _send(self, status: HTTPStatus, media: str, text: str, disposition: str = "") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{media}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if disposition:
            self.send_header("Content-Disposition", disposition)
        self.end_headers()
        self.wfile.write(body)


def _asset(below: str) -> tuple[str, str]:
    """Media type and text of a file of the page; `KeyError` if it has none of this name."""
    if below in PICTURES:
        return PICTURES[below], picture_asset(below)
    name, media = ASSETS[below]
    return media, (files(__package__) / "assets" / name).read_text(encoding="utf-8")
