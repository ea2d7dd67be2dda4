"""The JVM of a session on this machine: with which settings it is started, and that early."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import itertools
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reassure.checkers.base.options import SparkOptions
from reassure.checkers.engines.spark import worker_daemon

JAVA = 17
"""The oldest Java that Spark 4 runs on."""
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=128m"
"""For short jobs in one process: the quick compiler and the collector without threads start sooner; room for the
classes, which are loaded in the first seconds, so that they cause no full collections then."""
WORKER_DAEMON = "reassure.checkers.engines.spark.worker_daemon"
"""What forks the workers on this machine."""
SOCKET_FOLDER = 20
"""Bytes of the name of the temporary folder, at the most, for sockets in it: their whole names have 103 at the most."""


def java_home() -> str | None:
    """The java command that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    if home:
        command = Path(home) / "bin" / "java"
        return str(command) if command.is_file() else None
    return shutil.which("java")


def java_version(command: str) -> int | None:
    """The major version of a java command, as its installation says or else the command; None if neither does."""
    try:
        said = (Path(command).resolve().parents[1] / "release").read_text(encoding="utf-8")
    except (OSError, ValueError, IndexError):
        said = ""
    if "JAVA_VERSION=" not in said:
        try:
            done = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return None
        said = done.stderr + done.stdout
    found = re.search(r'(?:version |JAVA_VERSION=)"(\d+)(?:\.(\d+))?', said)
    if not found:
        return None
    return int(found[2] or 0) if found[1] == "1" else int(found[1])


def why_not() -> str | None:
    """What Spark lacks here, in one line; None if it can start."""
    if os.environ.get("PYSPARK_GATEWAY_PORT"):  # under spark-submit there is a JVM already
        return None
    command = java_home()
    if command is None:
        where = f" in JAVA_HOME={os.environ['JAVA_HOME']}" if os.environ.get("JAVA_HOME") else ""
        return f"Spark needs Java {JAVA} or later, and there is none{where}"
    version = java_version(command)
    if version is None:
        return f"Spark needs Java {JAVA} or later, and {command} does not say what it is"
    if version < JAVA:
        return f"Spark needs Java {JAVA} or later; {command} is Java {version}"
    return None


def on_this_machine(master: str) -> bool:
    """Whether the workers are processes of this machine that run this Python, with what is installed for it."""
    return is_local(master) and os.environ.get("PYSPARK_PYTHON", sys.executable) == sys.executable


def retrying(master: str) -> str:
    """A local master that tries a failed task again, as clusters do."""
    found = re.fullmatch(r"local\[(\d+|\*)\]", master)
    if found:
        return f"local[{found[1]},4]"
    return "local[1,4]" if master == "local" else master


def sockets_folder(master: str) -> Path | None:
    """A folder for the sockets between a local master's JVM and the Python processes; None if there are to be none.

    Over TCP a task waits 40 ms in the end, for an acknowledgement that is delayed.
    """
    if not is_local(master) or len(os.fsencode(tempfile.gettempdir())) > SOCKET_FOLDER:
        return None
    return _sockets()


@functools.cache
def _sockets() -> Path:
    """The folder of this process, for all its sessions: a JVM keeps to the one of its first session."""
    folder = Path(tempfile.mkdtemp(prefix=f"reassure-{os.getuid()}-{os.getpid()}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def is_local(master: str) -> bool:
    """Whether the tasks run in the driver's JVM and Python processes beside it."""
    return master.startswith("local") and not master.startswith("local-cluster")


def settings(cluster: SparkOptions, submitted: bool, sockets: Path | None) -> dict[str, str]:
    """What Spark is told; an empty value leaves Spark's default. The user's own settings win."""
    local = cluster.master.startswith("local")
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.python.worker.reuse": "true",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS if local else "",
        "spark.driver.host": "localhost" if local else "",
        "spark.python.daemon.module": WORKER_DAEMON if not submitted and on_this_machine(cluster.master) else "",
        "spark.python.unix.domain.socket.enabled": "true" if sockets else "",  # Spark 4.0 has no such setting
        "spark.python.unix.domain.socket.dir": str(sockets) if sockets else "",
        **cluster.conf,
    }


_numbers = itertools.count(1)
TOLD = "connection"
"""The file in which a JVM tells where it listens."""


@dataclass
class Starting:
    """A JVM that is starting, to which PySpark is to connect."""

    cluster: SparkOptions
    settings: dict[str, str]
    process: subprocess.Popen[bytes]
    folder: Path
    """Of its log, and of the file in which it tells where it listens."""
    sockets: Path | None
    workers: subprocess.Popen[bytes] | None
    """The daemon that waits for the JVM to start Python workers."""

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def gateway(self) -> Any:
        """PySpark's gateway to it, as soon as it listens. Raises `RuntimeError` if it ends instead."""
        from pyspark.java_gateway import launch_gateway

        told = self.folder / TOLD
        while not told.is_file():
            if self.process.poll() is not None:
                raise RuntimeError("the JVM has ended")
            time.sleep(0.01)
        data = told.read_bytes()
        port, length = struct.unpack_from("!ii", data)
        place = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": data[8 : 8 + length].decode()}
        try:
            os.environ.update(place)
            gateway = launch_gateway()  # type: ignore[no-untyped-call]
        finally:
            for name in place:
                del os.environ[name]
        gateway.proc = self.process  # its standard input is kept open: the JVM ends when that is closed
        return gateway

    def tidy(self) -> None:
        """Removes what was needed to start."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def drop(self) -> None:
        """Ends it."""
        for process in (self.process, self.workers):
            if process is not None:
                end(process, 0)
        self.tidy()


def launch(cluster: SparkOptions) -> Starting:
    """Starts a JVM as PySpark does, and waits for nothing. Raises `OSError`."""
    if cluster.master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.pop("SPARK_HOME", None)  # another Spark than the package's
    sockets = sockets_folder(cluster.master)
    told = settings(cluster, False, sockets)
    command = [str(_spark_home() / "bin" / "spark-submit"), "--conf", f"spark.master={retrying(cluster.master)}"]
    command += [word for key, value in told.items() if value for word in ("--conf", f"{key}={value}")]
    command += shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    folder = Path(tempfile.mkdtemp(prefix="reassure-spark-"))
    environment = {**os.environ, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / TOLD)}
    place = sockets / f"daemon-{next(_numbers)}" if sockets is not None and _usual_workers(cluster) else None
    environment[worker_daemon.PLACE] = str(place or "")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, preexec_fn=_ignore_interrupts
        )
    return Starting(cluster, told, process, folder, sockets, _waiting_daemon(place) if place else None)


def _usual_workers(cluster: SparkOptions) -> bool:
    """Whether the workers are forked from our daemon, with the environment that it has of itself."""
    own = ("spark.executorEnv.", "spark.python.", "spark.pyspark.")
    return on_this_machine(cluster.master) and not any(key.startswith(own) for key in cluster.conf)


def _waiting_daemon(place: Path) -> subprocess.Popen[bytes]:
    """A daemon that imports what workers need while the JVM starts. It ends with this process."""
    return subprocess.Popen(
        [sys.executable, "-m", WORKER_DAEMON, worker_daemon.WAIT, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **worker_daemon.SINGLE_THREADED},
        preexec_fn=_ignore_interrupts,
    )


def end(process: subprocess.Popen[bytes], patience: float) -> None:
    """Ends a process whose standard input is ours; kills it after some seconds."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _ignore_interrupts() -> None:
    """Ctrl-C is for the driver, which stops the JVM in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _spark_home() -> Path:
    """Where the package has Spark; as PySpark finds it where the package is without."""
    found = importlib.util.find_spec("pyspark")
    for place in found.submodule_search_locations or () if found else ():
        if (Path(place) / "bin" / "spark-submit").is_file():
            return Path(place)
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home())


_ahead: list[Starting] = []


def _has_pyspark() -> bool:
    """Whether this process has imported PySpark: it may have a session, as in a notebook."""
    return "pyspark" in sys.modules


@contextlib.contextmanager
def ahead(cluster: SparkOptions) -> Iterator[None]:
    """Starts the JVM of the session that is started within, if it is to have one; a model is loaded meanwhile."""
    if not _has_pyspark() and not os.environ.get("PYSPARK_GATEWAY_PORT") and why_not() is None:
        with contextlib.suppress(OSError):
            _ahead.append(launch(cluster))
    try:
        yield
    finally:
        while _ahead:
            _ahead.pop().drop()


def launched(cluster: SparkOptions) -> Starting:
    """The JVM that was started ahead for these options, or one that is started now. Raises `OSError`."""
    if _ahead and _ahead[0].cluster == cluster:
        return _ahead.pop()
    return launch(cluster)
