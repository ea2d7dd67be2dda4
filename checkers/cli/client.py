"""A command that the server of `reassure serve` executes: where its socket is, and what is passed through it.

It imports as little as can be: that is what is spared. `ask` gives None wherever no server would do what this process
does, and then this process does it. Once the server has been told to begin, the answer is the server's.
"""

from __future__ import annotations

import _signal
import _socket
import marshal
import os
import stat
import sys

from reassure import __path__ as program

TYPE_CHECKING = False  # as type checkers read it
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Call = tuple[str, str]

ASKED = "REASSURE_SERVER"
"""The environment variable that has commands use a server: only "1" does."""
PATIENCE = 10.0
"""Seconds until a server that does not answer is left alone."""
READY, BEGIN = b"r", b"b"
LOST = "the process of the server that executed this command was killed before it had an answer"
READ_AT_START = ("PYTHON", "LC_", "LD_", "MALLOC_", "GLIBC_", "OMP_", "OPENBLAS_", "MKL_", "NPY_", "DYLD_")
"""Beginnings of the names of variables that the interpreter or a library reads once, when it starts."""
HIGH = 400
"""Descriptors that a command inherits are below this number: those of the server are moved above."""


def common_key(path: Sequence[str] | None = None) -> bytes:
    """What a server and a command must have in common: program, interpreter, user, and what both read when they start.

    The first folder that modules are looked up in depends on how a command is called, and is passed to the server.
    path: `sys.path` when the process started (default: as it is).
    """
    path = sys.path if path is None else path
    place = os.stat(program[0])
    read = {"OPENBLAS_NUM_THREADS": "1"}  # as every command has it, if it is not declared
    read |= {n: value for n, value in os.environ.items() if n.startswith(READ_AT_START) or n in ("LANG", "LANGUAGE")}
    interpreter = (sys.executable, sys.prefix, sys.version, tuple(sys.flags), sys.warnoptions, sorted(sys._xoptions))
    user = (os.geteuid(), os.getegid(), sorted(os.getgroups()))
    modules = ((program[0], place.st_dev, place.st_ino), list(path[not sys.flags.safe_path :]))
    return repr((modules, interpreter, sorted(read.items()), user)).encode(errors="surrogateescape")


def socket_folder() -> str:
    """The folder of this user's sockets, which may not be there."""
    own = os.environ.get("XDG_RUNTIME_DIR")
    return os.path.join(own, "reassure") if own else f"/tmp/reassure-sockets-{os.geteuid()}"


def is_private(path: str) -> bool:
    """Whether a folder is there, and nobody but this user can reach or change what is in it."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    own = status.st_uid == os.geteuid() and stat.S_ISDIR(status.st_mode)
    return own and not stat.S_IMODE(status.st_mode) & 0o077


def socket_of(common: bytes) -> str:
    """The path of the socket for what server and command have in common."""
    import zlib

    return os.path.join(socket_folder(), f"{zlib.crc32(common):08x}")


def peer(connection: _socket.socket) -> tuple[int, int]:
    """Process and user at the other end."""
    sent = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    return int.from_bytes(sent[:4], sys.byteorder), int.from_bytes(sent[4:8], sys.byteorder)


def connected(common: bytes) -> _socket.socket | None:
    """A connection to a server of this user; None if there is none."""
    if not hasattr(_socket, "SO_PEERCRED") or not is_private(socket_folder()):
        return None
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(PATIENCE)
        connection.connect(socket_of(common))
        if peer(connection)[1] == os.geteuid():
            return connection
    except OSError:
        pass
    connection.close()
    return None


def ready(
    connection: _socket.socket, common: bytes, call: Call | None = None, files: Mapping[int, int] | None = None
) -> bool:
    """Whether the server would execute the command of this process, to which it has passed all that this one has.

    call: what is called instead of the command: a module, and its function that gives an exit code. files: the
    descriptors of the served process, and which of this process they are (default: all that commands inherit).
    """
    import resource

    files = {number: number for number in _inherited()} if files is None else files
    umask = os.umask(0o077)
    os.umask(umask)
    request = marshal.dumps(
        {
            "key": common,
            "argv": sys.argv,
            "orig_argv": sys.orig_argv,
            "path": sys.path,
            "environ": dict(os.environ),
            "ignored": [n for n in range(1, 32) if _signal.getsignal(n) == _signal.SIG_IGN],
            "umask": umask,
            "nice": os.getpriority(os.PRIO_PROCESS, 0),
            "processors": sorted(os.sched_getaffinity(0)),
            "limits": {n: resource.getrlimit(n) for name, n in vars(resource).items() if name.startswith("RLIMIT_")},
            "streams": [_kind_of(s) for s in (None if call else sys.stdin, sys.stdout, sys.stderr)],
            "inherited": list(files),
            "call": call,
        }
    )
    here = os.open(".", os.O_PATH)
    try:
        descriptors = b"".join(one.to_bytes(4, sys.byteorder) for one in (here, *files.values()))
        message = len(request).to_bytes(8, sys.byteorder) + request
        sent = connection.sendmsg([message], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
        connection.sendall(message[sent:])
        return connection.recv(1) == READY
    finally:
        os.close(here)


def _kind_of(stream: Any) -> tuple[str, str, bool, bool] | None:
    """What tells one standard stream from another; None of one that was closed when the process began."""
    return stream and (stream.encoding, stream.errors, stream.line_buffering, stream.write_through)


def _inherited() -> list[int]:
    """The open descriptors that this process was started with."""
    numbers = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.get_inheritable(int(name)):
                numbers.append(int(name))
        except OSError:  # that of the list itself
            pass
    return sorted(numbers)


def ask() -> int | None:
    """The exit code of the command line, executed by a server; None if this process is to execute it."""
    signals = {_signal.SIGINT, _signal.SIGTERM, _signal.SIGTSTP}
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, signals)  # until there is somebody to pass them on to
    connection = None
    try:
        common = common_key()
        connection = connected(common)
        if connection is None or not ready(connection, common):
            return None
        connection.settimeout(None)
        connection.send(BEGIN)
    except (OSError, ValueError):  # it ends just now, or a limit forbids to pass on what is here
        if connection is not None:
            connection.close()
        return None
    else:
        _pass_on(connection, signals)
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
    try:
        answer = connection.recv(1)
    except OSError:
        answer = b""
    if answer:
        return answer[0]
    os.write(2, f"reassure: {LOST}\n".encode())
    return 153  # as `Exit.SYSTEM`, whose module imports more than this one


def _pass_on(connection: _socket.socket, signals: set[int]) -> None:
    """Has signals that come to this process sent to the one that executes its command."""

    def send(number: int) -> None:
        try:  # noqa: SIM105 (contextlib takes longer to import than all of this module)
            connection.send(bytes([number]))
        except OSError:  # it has ended
            pass

    def handle(number: int, frame: object) -> None:
        send(number)
        if number == _signal.SIGTSTP:  # Ctrl-Z stops both; this process goes on where it was stopped
            _signal.signal(number, _signal.SIG_DFL)
            os.kill(os.getpid(), number)
            _signal.signal(number, handle)
            send(_signal.SIGCONT)

    for number in signals:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, handle)
