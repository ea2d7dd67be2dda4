"""The process on this machine from which Spark forks its Python workers: PySpark's own, ready when Spark asks for it.

The driver starts one beside the JVM (`wait`), which imports what workers need and waits. Spark starts another in the
end, which hands its task and its streams over to the one that waits (`hand_over`), and ends with it. Where none waits,
as after a daemon was killed, it is the daemon itself.

Spark puts `pyspark.zip` first on the path of its workers. Python keeps no byte code of what it imports from an archive,
and compiles it in each run: a third of a second that the first job waits for. The installed package is the same.
"""

from __future__ import annotations

import os
import pickle
import select
import socket
import sys
from importlib.machinery import PathFinder
from pathlib import Path

NEEDED = ("pyspark", "py4j")
PLACE = "REASSURE_WORKER_DAEMON"
"""The variable that names the socket at which a daemon waits."""
WAIT = "--wait"
SINGLE_THREADED = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Variables of a daemon that waits: hashes as Spark has them, and no library that starts a thread when it is imported,
for a process that forks is to have one thread."""


def without_archives(path: list[str]) -> list[str]:
    """The path without the archives of PySpark and Py4J; unchanged if these are not installed beside."""
    kept = [entry for entry in path if not (entry.endswith(".zip") and Path(entry).name.startswith(NEEDED))]
    return kept if all(PathFinder.find_spec(name, kept) for name in NEEDED) else path


def hand_over(place: str) -> bool:
    """Has the daemon that waits at this socket work in place of this process, and returns when that ended.

    False if none waits there.
    """
    task = pickle.dumps((sys.argv[1:], dict(os.environ), sys.path, os.getcwd()))
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(place)
            socket.send_fds(caller, [len(task).to_bytes(8, "big")], [0, 1, 2])
            caller.sendall(task)
        except OSError:
            return False
        caller.recv(1)
    return True


def wait(place: str) -> None:
    """Imports what workers need, and works for the first process that hands over; ends if its standard input does."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        import pyspark.daemon

        import reassure.checkers.engines.spark.tasks  # noqa: F401 (for the workers)

        ready, _, _ = select.select([0, listener.fileno()], [], [])
        if listener.fileno() not in ready:
            return
        caller, _ = listener.accept()
    header, streams, _, _ = socket.recv_fds(caller, 8, 3)
    with caller.makefile("rb") as sent:
        arguments, environment, path, folder = pickle.loads(sent.read(int.from_bytes(header, "big")))
    for own, stream in enumerate(streams):
        os.dup2(stream, own)
        os.close(stream)
    sys.argv[1:], sys.path[:] = arguments, path
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    pyspark.daemon.manager()  # the caller sees by its end of the connection when this process has ended


def main() -> None:
    """The daemon that Spark starts, or with a socket the one that waits there."""
    if sys.argv[1:2] == [WAIT]:
        wait(sys.argv[2])
        return
    sys.path[:] = without_archives(sys.path)
    if not hand_over(os.environ.get(PLACE, "")):
        from pyspark.daemon import manager

        manager()


if __name__ == "__main__":
    main()
