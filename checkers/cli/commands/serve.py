"""`reassure serve`: a process in which everything is imported, from which commands are forked.

A command that asks for it (`REASSURE_SERVER=1`, see `cli/client.py`) passes its arguments, environment, working folder
and open files through a socket that no other user can reach. The server forks a process for it. That one becomes what
the command would be, and executes it in a process of its own, as every command is. The server itself never executes a
model, has one thread, and ends when a file that it was made from has other bytes, or when nobody has asked for so long.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import gc
import hashlib
import importlib
import importlib.machinery
import io
import marshal
import os
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import reassure
from reassure.checkers.cli import client
from reassure.checkers.cli.own_process import NEW_OBJECTS, Leave, command_line, execute
from reassure.checkers.console.processes import fork_processes
from reassure.checkers.engines.native.kernels import search_loop, state_table
from reassure.checkers.engines.native.model.translation import MADE_BY
from reassure.checkers.engines.native.translator.native_function import prepare_kernels
from reassure.checkers.machine.exit_codes import Exit, Failure, SystemFailure
from reassure.checkers.machine.own_files import locked, stamp
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.digest import digest_of_modules, program_digest
from reassure.checkers.request.options import duration
from reassure.checkers.request.shared_options import Option

IDLE = 900.0
"""Seconds."""
OPTIONS = (
    Option(
        "--idle TIME",
        "end after this time without a command, such as 90s or 2h (default: 15m)",
        duration,
        IDLE,
    ),
    Option("--stop", "end the server; its commands go on", bool),
)
EPILOG = (
    "Commands use the server if the environment variable REASSURE_SERVER is 1. A command that finds none, or one of "
    "another program or environment, is executed as without it."
)
STARTED = b"started\n"
LONGEST = 64 << 20
"""Bytes of a request."""
MOST_OPEN = 250
"""Descriptors that one message can pass."""
SUFFIXES = tuple(importlib.machinery.all_suffixes())
ROOMS = (
    *("machine", "request", "encoding", "traces", "engines", "check"),
    *("api", "console", "pictures", "report", "analyses", "gate", "cli"),
)
"""What is imported of `checkers`; few commands need the other rooms, and Spark."""
STATE_WORDS = (1, 2)
"""Words of the states for which the kernels of the search are loaded; others are loaded by the commands."""


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Starts a server, or ends it."""
    if not hasattr(socket, "SO_PEERCRED"):
        raise SystemFailure("serve needs Linux, which tells the user at the other end of a socket")
    common = client.common_key()
    with _connection(common) as connection:
        if args.stop:
            if connection is None:
                console.print("no server runs")
                return Exit.OK
            os.kill(client.peer(connection)[0], signal.SIGTERM)
            console.print("the server has been ended")
            return Exit.OK
        if connection is not None and _answers(connection, common):
            console.print("a server runs already; `reassure serve --stop` ends it")
            return Exit.OK
    _start(args.idle, common)
    console.print(f"the server runs, and ends after {args.idle:g} s without a command; commands use it with")
    console.print(f"  export {client.ASKED}=1")
    return Exit.OK


def _answers(connection: Any, common: bytes) -> bool:
    """Whether the server goes on: one of which a file was changed ends when it is asked."""
    try:
        return client.ready(connection, common)
    except OSError:
        return False


@contextlib.contextmanager
def _connection(common: bytes) -> Iterator[Any]:
    connection = client.connected(common)
    try:
        yield connection
    finally:
        if connection is not None:
            connection.close()


def _start(idle: float, common: bytes) -> None:
    """Starts a server; returns when it listens. common: the key of the commands that it is for.

    Raises `SystemFailure` if it does not begin.
    """
    first = "" if sys.flags.safe_path else "sys.path[0] = sys.prefix; "  # nothing is imported from the working folder
    text = f"import sys; {first}from {__name__} import main; main({idle!r}, {time.time_ns()}, {common!r})"
    server = subprocess.Popen(
        [sys.executable, "-c", text],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert server.stdout is not None
    lines = iter(server.stdout.readline, b"")
    last = b""
    for last in lines:
        if last == STARTED:
            return
    raise SystemFailure(f"the server has not started: {last.decode(errors='replace').strip()}")


def main(idle: float, asked: int, common: bytes) -> None:
    """The server, or, in a process that it forks, a command. asked: the time at which it was asked for, in ns."""
    leave = Leave.registered()  # before anything is imported that registers what is to be called at the end
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        if client.common_key() != common:
            raise SystemFailure("commands that are given options of Python are not served")
        server = CommandServer(common, idle, ServedProgram(asked))
    except Failure as failure:
        print(failure)
        leave.code = failure.code.value
        return
    connection = server.command()
    if connection is None:
        leave.code = 0
        return
    session = ServedCommand(connection)
    if session.becomes(common):
        execute(leave, session.watch, session.command)
        if leave.code is not None and session.waits:
            session.answer(leave.code)
    else:
        leave.code = 0


class ServedProgram:
    """The files that a server was made from."""

    def __init__(self, asked: int) -> None:
        """Imports what commands need. Raises `SystemFailure` if a file was changed since `asked`, in ns."""
        _import_all()
        self.stamps = {path: stamp(path) for path in _files()}
        for path, (_, _, changed, _) in self.stamps.items():
            if changed >= asked:
                raise SystemFailure(f"{path} was changed while the server was started: start it again")
        self.digests = {path: _digest(path) for path in self.stamps}
        _make_ready()

    def is_as_it_was(self) -> bool:
        """Whether all files have the bytes that they had: those are read whose times or sizes differ."""
        for path, before in self.stamps.items():
            now = stamp(path)
            if now != before:
                if _digest(path) != self.digests[path]:
                    return False
                self.stamps[path] = now
        return True


def _import_all() -> None:
    """Imports what commands import when they are given, and later; nothing of it starts a thread."""
    home = Path(reassure.__path__[0])
    for part in ("spec", "checkers"):
        for found in pkgutil.walk_packages([str(home / part)], f"reassure.{part}.", onerror=lambda name: None):
            room, _, inner = found.name.split(".", 2)[2].partition(".")
            if (part == "spec" or room in ROOMS) and not inner.startswith("spark"):
                importlib.import_module(found.name)


def _make_ready() -> None:
    """Has done what every check begins with and what depends on the program alone."""
    digest_of_modules(name for name in list(sys.modules) if name.startswith("reassure.spec"))  # reads their syntax
    program_digest(MADE_BY)
    for words in (None, *STATE_WORDS):
        for module in (search_loop, state_table):
            prepare_kernels(module, words)
    for place in set(sys.path_importer_cache) - set(sys.path):  # a model's folder is compared with each
        del sys.path_importer_cache[place]


def _files() -> list[str]:
    """The files of all imported modules, and of the program's others."""
    imported = {file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))}
    home = Path(reassure.__path__[0])
    own = {str(path) for part in ("checkers", "spec") for path in (home / part).rglob("*.py")}
    return sorted(own | {file for file in imported if os.path.isfile(file)})


def _digest(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return b""


class CommandServer:
    """The process that listens."""

    def __init__(self, common: bytes, idle: float, program: ServedProgram) -> None:
        """Listens, and says so on standard output. Raises `SystemFailure` if it cannot, or another one does."""
        if threading.active_count() > 1 or len(os.listdir("/proc/self/task")) > 1:
            raise SystemFailure("a library has started a thread: no process can be forked safely")
        self.idle, self.program = idle, program
        self.path = client.socket_of(common)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        folder = Path(client.socket_folder())
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            if not client.is_private(str(folder)):
                raise SystemFailure(f"the folder {folder} is not used: other users can reach it, or it belongs to one")
            with locked(folder / "lock"):
                if (other := client.connected(common)) is not None:
                    other.close()
                    raise SystemFailure("another server was started at the same time")
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path)  # of a server that was killed
                self.listener.bind(self.path)
                self.listener.listen(64)
                self.own = os.stat(self.path).st_ino
        except OSError as error:
            raise SystemFailure(f"{self.path}: {error.strerror}") from None
        os.chdir("/")
        signal.signal(signal.SIGTERM, self._end)
        gc.collect()
        gc.freeze()  # what is shared with the forked processes is not written to by a collection
        os.write(1, STARTED)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.close(null)

    def command(self) -> socket.socket | None:
        """In each forked process, the connection to its command; in the server, at its end, None."""
        ends = time.monotonic() + self.idle
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        while True:
            waits = poll.poll(max(0.0, ends - time.monotonic()) * 1000)
            busy = _reap()
            if not waits:
                if busy:
                    ends = time.monotonic() + self.idle
                    continue
                self._unlink()
                return None
            connection, _ = self.listener.accept()
            with connection:
                if client.peer(connection)[1] != os.geteuid():
                    continue
                if not self.program.is_as_it_was():
                    self._unlink()
                    return None
                if os.fork() == 0:
                    self.listener.close()
                    return connection.dup()
            ends = time.monotonic() + self.idle

    def _unlink(self) -> None:
        with contextlib.suppress(OSError):
            if os.stat(self.path).st_ino == self.own:
                os.unlink(self.path)

    def _end(self, number: int, frame: object) -> None:
        self._unlink()
        os._exit(0)


def _reap() -> bool:
    """Whether a forked process still runs; those that have ended are forgotten."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


class ServedCommand:
    """A forked process that becomes the command that a client asks for."""

    waits = False
    """Whether this is the process that waits for the command, rather than the one that executes it."""
    call: client.Call | None = None
    """The function that is executed instead of the command line."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        connection.settimeout(client.PATIENCE)

    def becomes(self, common: bytes) -> bool:
        """Whether the client has told this process to begin, which has taken over all that the client has."""
        try:
            request, descriptors = self._request()
            if request is None or request["key"] != common:
                return False
            os.fchdir(descriptors[0])
            if _shadowed(request["path"]):
                return False
            self.call = request["call"]
            self._take(request, descriptors)
            self.connection.send(client.READY)
            if self.connection.recv(1) != client.BEGIN:
                return False
        except Exception:  # a limit that cannot be raised, a client that has gone: the command is executed there
            os._exit(Exit.INTERNAL.value)
        self.connection.settimeout(None)
        return True

    def _request(self) -> tuple[Mapping[str, Any] | None, list[int]]:
        data, descriptors, _, _ = socket.recv_fds(self.connection, 1 << 16, MOST_OPEN + 1)
        size = int.from_bytes(data[:8], sys.byteorder)
        if len(data) < 8 or size > LONGEST:
            return None, descriptors
        parts = [data[8:]]
        missing = size - len(parts[0])
        while missing:
            more = self.connection.recv(min(missing, 1 << 20))
            if not more:
                return None, descriptors
            parts.append(more)
            missing -= len(more)
        request = marshal.loads(b"".join(parts))
        whole = len(descriptors) == 1 + len(request["inherited"]) and max(request["inherited"], default=0) < client.HIGH
        return (request if whole else None), descriptors

    def _take(self, request: Mapping[str, Any], descriptors: list[int]) -> None:
        """Becomes what the client is: open files, working folder, limits, environment, arguments."""
        here, *others = [_moved(number) for number in descriptors]
        own = self.connection
        self.connection = socket.socket(fileno=_moved(own.detach()))
        self.connection.settimeout(client.PATIENCE)
        os.close(here)
        for number in (0, 1, 2):
            if number not in request["inherited"]:
                os.close(number)
        for number, received in zip(request["inherited"], others, strict=True):
            os.dup2(received, number)
            os.close(received)
        os.umask(request["umask"])
        if os.getpriority(os.PRIO_PROCESS, 0) != request["nice"]:
            os.setpriority(os.PRIO_PROCESS, 0, request["nice"])
        os.sched_setaffinity(0, request["processors"])
        for number, limits in request["limits"].items():
            if resource.getrlimit(number) != limits:
                resource.setrlimit(number, limits)
        for number in range(1, 32):
            ignored, ignores = number in request["ignored"], signal.getsignal(number) == signal.SIG_IGN
            if ignored != ignores:
                signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)
        if signal.SIGINT not in request["ignored"]:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(request["environ"])
        time.tzset()
        sys.argv[:], sys.orig_argv[:], sys.path[:] = request["argv"], request["orig_argv"], request["path"]
        importlib.invalidate_caches()
        fork_processes()
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            stream = _stream(number, request["streams"][number])
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)

    def watch(self, command: int) -> None:
        """In the process that waits for the command: passes signals on to it, and ends with the client."""
        self.waits = True
        threading.Thread(target=self._pass_on, args=(command,), daemon=True).start()

    def _pass_on(self, command: int) -> None:
        while number := self.connection.recv(1):
            with contextlib.suppress(ProcessLookupError):
                if number[0] == signal.SIGTSTP:  # a group without a terminal ignores it
                    os.killpg(command, signal.SIGSTOP)
                elif number[0] == signal.SIGCONT:
                    os.killpg(command, signal.SIGCONT)
                else:
                    os.kill(command, number[0])
        os._exit(Exit.INTERNAL.value)

    def command(self) -> int:
        """In the process that executes the command; the exit code."""
        self.connection.close()
        os.setpgid(0, 0)
        if self.call is None:
            return command_line()
        gc.set_threshold(NEW_OBJECTS)
        module, function = self.call
        code: int = getattr(importlib.import_module(module), function)()
        return code

    def answer(self, code: int) -> None:
        """Sends the exit code."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                if stream is not None:
                    stream.flush()
        with contextlib.suppress(OSError):
            self.connection.send(bytes([code]))


def _moved(number: int) -> int:
    """A descriptor, above all that a command may have."""
    moved = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, client.HIGH)
    os.close(number)
    return moved


def _shadowed(path: list[str]) -> bool:
    """Whether the command would find another module than the server has by one of its names.

    A command that is called by `python -m` looks into its working folder first, and pytest into those of its tests.
    """
    named = {name for name, module in sys.modules.items() if "." not in name and getattr(module, "__file__", None)}
    return any(named & _modules_in(folder) for folder in path if folder not in sys.path)


def _modules_in(folder: str) -> set[str]:
    """The names that are imported from a folder; none if it cannot be read."""
    try:
        files = os.listdir(folder or ".")
    except OSError:
        return set()
    return {name.partition(".")[0] for name in files if name.endswith(SUFFIXES) or _is_package(folder, name)}


def _is_package(folder: str, name: str) -> bool:
    return os.path.isfile(os.path.join(folder, name, "__init__.py"))


def _stream(number: int, kind: tuple[str, str, bool, bool] | None) -> Any:
    """A standard stream as Python makes it when it starts; None of one that is closed. kind: as the client has it."""
    if kind is None:
        return None
    encoding, errors, by_line, unbuffered = kind
    binary: Any = open(number, "wb" if number else "rb", 0 if unbuffered and number else -1, closefd=False)  # noqa: SIM115
    stream = io.TextIOWrapper(binary, encoding, errors, "\n", by_line, unbuffered)
    stream.mode = "w" if number else "r"  # type: ignore[misc]
    return stream
