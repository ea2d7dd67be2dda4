"""A Spark context for a run: found or started, quiet, with this program shipped to where it is not installed."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import zipfile
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import reassure
from reassure.checkers.base.options import SparkOptions
from reassure.checkers.engines.spark.launch import (
    Starting,
    end,
    launched,
    on_this_machine,
    retrying,
    settings,
    sockets_folder,
    why_not,
)

PATIENCE = 90.0
"""Seconds for a master to answer."""
ENDING = 5.0
"""Seconds for the daemon of the workers to end when the JVM has."""
PACKAGES = ("spec", "models", "checkers")
"""What executors import; not what is generated."""
COMING = 10.0
"""Seconds for the first executors to come."""
SILENCE = 12.0
"""Seconds without any executor after which it is said."""


class NoSpark(Exception):
    """There is no Spark to be had; the message is one line."""


class JobFailed(Exception):
    """A job failed, also when it was tried again; the message is one line."""


@dataclass(frozen=True)
class Session:
    """A Spark context, and whether it is ours to stop."""

    context: Any
    ours: bool = True
    shipped: Path | None = None
    """This program as it is served to the executors."""
    workers: subprocess.Popen[bytes] | None = None
    """The daemon of its Python workers, if it was started ahead."""

    def stop(self) -> None:
        if self.ours:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a JVM that has gone already
                self.context.stop()
            self.tidy()

    def tidy(self) -> None:
        """Ends and removes what was started and made for the session alone."""
        if self.workers is not None:
            end(self.workers, ENDING)
        if self.shipped is not None:
            shutil.rmtree(self.shipped.parent, ignore_errors=True)


def resolved(cluster: SparkOptions) -> SparkOptions:
    """With the master of the session that is there, as in a notebook or under spark-submit, if none is named."""
    if cluster.master != SparkOptions.master:
        return cluster
    active = _active()
    if active is None and "PYSPARK_GATEWAY_PORT" in os.environ:
        from pyspark import SparkConf, SparkContext

        SparkContext._ensure_initialized()
        master = SparkConf().get("spark.master")
    else:
        master = active.master if active is not None else None
    return cluster if master in (None, retrying(cluster.master)) else replace(cluster, master=str(master))


def _active() -> Any:
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def start(name: str, cluster: SparkOptions) -> Session:
    """The context of this process, as in a notebook, or one that is started. Raises `NoSpark`."""
    cluster, active = resolved(cluster), _active()
    if active is not None:
        if active.master != retrying(cluster.master):
            raise NoSpark(f"this process has a Spark session with --master {active.master}, not {cluster.master}")
        _ship(active)
        return Session(active, ours=False)
    session = _begun(name, cluster)
    _await_executors(session.context, cluster.master)
    return replace(session, shipped=_ship(session.context))


def _await_executors(context: Any, master: str) -> None:
    """Waits a little for executors: how many cores there are is known when they have come."""
    until, before = time.monotonic() + COMING, 0
    while not master.startswith("local") and time.monotonic() < until:
        executors = _executors(context)
        if executors and executors == before:
            return
        before = executors
        time.sleep(0.5)


def _executors(context: Any) -> int:
    """How many there are now, without the driver; of a local master there is none."""
    return len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1


def _begun(name: str, cluster: SparkOptions) -> Session:
    """A session with a new context."""
    if lacking := why_not():
        raise NoSpark(lacking)
    if cluster.master.startswith("spark://") and not answers(cluster.master):
        raise NoSpark(f"no Spark master answers at {cluster.master}")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    starting: Starting | None = None
    try:
        if not submitted and not _has_gateway():
            starting = launched(cluster)
    except OSError as error:
        raise NoSpark(f"Spark does not start: {error}") from None
    sockets = starting.sockets if starting else sockets_folder(cluster.master)
    workers = starting.workers if starting else None
    try:
        context = _connected(name, cluster, submitted, starting, sockets)
    except Exception as error:  # Py4J's and PySpark's are of no common class
        Session(None, workers=workers).tidy()
        reason = _reason(error, starting.log if starting else Path(os.devnull))
        raise NoSpark(f"Spark does not start with --master {cluster.master}: {reason}") from None
    finally:
        if starting:
            starting.tidy()
    _hush(context)
    _end_beside(context._accumulatorServer)
    return Session(context, workers=workers)


def _connected(
    name: str, cluster: SparkOptions, submitted: bool, starting: Starting | None, sockets: Path | None
) -> Any:
    """A context in the JVM that is starting, or in the one that this process has."""
    from pyspark import SparkConf, SparkContext

    told = starting.settings if starting else settings(cluster, submitted, sockets)
    if not submitted and not starting:  # what an earlier session in the same JVM was told is no default
        jvm: Any = SparkContext._jvm
        for key in [key for key, value in told.items() if not value]:
            jvm.java.lang.System.clearProperty(key)
    conf = SparkConf().setAppName(name).setMaster(retrying(cluster.master))
    for key, value in told.items():
        if value and (key in cluster.conf or not (submitted and conf.contains(key))):
            conf.set(key, value)
    return SparkContext(conf=conf, gateway=starting.gateway() if starting else None)


def _has_gateway() -> bool:
    """Whether this process has a JVM from an earlier session."""
    if "pyspark" not in sys.modules:
        return False
    from pyspark import SparkContext

    return SparkContext._gateway is not None


def _end_beside(server: socketserver.BaseServer) -> None:
    """Has a server end in a thread of its own: PySpark's for accumulators looks once a second whether it is to end."""
    shut_down = server.shutdown

    def shutdown() -> None:
        with contextlib.suppress(OSError):  # its socket's folder has gone
            shut_down()

    server.shutdown = threading.Thread(target=shutdown, daemon=True).start  # type: ignore[method-assign]


def _hush(context: Any) -> None:
    """Of a JVM that dies, PySpark and Py4J print tracebacks from threads of their own; the job says it in a line."""
    context._accumulatorServer.handle_error = lambda *_: None
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(lambda record: "Exception while sending command" not in record.getMessage())


def answers(master: str, seconds: float = 5.0) -> bool:
    """Whether one of the masters of `spark://host:port,host:port` takes a connection. Spark tries for minutes."""
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        with contextlib.suppress(OSError, ValueError, OverflowError):
            socket.create_connection((host.strip("[]"), int(port)), seconds).close()
            return True
    return False


def _reason(error: BaseException, log: Path) -> str:
    """The line that says why: from Spark's log if it is there."""
    text = str(error)
    with contextlib.suppress(OSError):
        text += "\n" + log.read_text(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if re.search(r"(Exception|Error|cannot|Could not|refused)", line)]
    telling = next((line for line in told if "Caused by" in line), None) or (told[0] if told else "")
    said = re.sub(r"\s+", " ", telling or (lines[0] if lines else type(error).__name__))
    return re.sub(r'^Exception in thread "\w+" |^Caused by: |[\w.]+\.(?=\w+(Exception|Error))', "", said)[:300]


def _ship(context: Any) -> Path | None:
    """Puts this program, as a zip, on the executors' path, once; None where they have it, being this machine's."""
    if on_this_machine(context.master):
        return None
    if any(name.startswith("reassure-") for name in context._python_includes):
        return None
    root = Path(reassure.__file__).parent
    made = Path(tempfile.mkdtemp(prefix="reassure-ship-")) / f"reassure-{os.getpid()}.zip"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in [root / "__init__.py", *(p for name in PACKAGES for p in sorted((root / name).rglob("*")))]:
            if path.is_file() and path.suffix in (".py", ".toml"):
                archive.write(path, path.relative_to(root.parent))
    context.addPyFile(str(made))
    return made


@contextlib.contextmanager
def stopping(session: Future[Session]) -> Iterator[None]:
    """Stops the session in the end, also one that is still starting."""
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            session.result(timeout=PATIENCE).stop()


def cause(text: str) -> str:
    """The line of a failed job's report that says what is wrong: of Python's traceback, or of Java's."""
    before = text.split("\n\tat ")[0]
    lines = [line.strip() for line in before.splitlines() if line.strip() and "SQLSTATE" not in line]
    told = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Failure)\b", line)]
    return re.sub(r"\s+", " ", told[-1] if told else lines[-1] if lines else "no reason given")[:300]


def failed(error: BaseException) -> str:
    """A failed job in one line, with what can be done where that is known."""
    text = str(error)
    said = cause(text)
    place = re.fullmatch(r"(?:OSError|FileNotFoundError|PermissionError): \[Errno \d+\] (.*): ['\"](.*)['\"]", said)
    if place:
        said = f"{place[2]}: {place[1]}"
    said = re.sub(r"^OSError: (\[Errno \d+\] )?", "", said)
    if found := re.search(r"ModuleNotFoundError: No module named '(llvmlite|numpy|pyarrow)'", said):
        said = f"the executors' Python has no {found[1]}; PYSPARK_PYTHON names one that has llvmlite, numpy and pyarrow"
    elif found := re.search(r"PYTHON_VERSION_MISMATCH\].*?(\d+\.\d+).*?(\d+\.\d+)", text):
        said = f"the executors have Python {found[1]} and this is {found[2]}; PYSPARK_PYTHON names theirs"
    elif found := re.search(r'Cannot run program "([^"]+)"', text):
        said = f"the executors have no {found[1]}; PYSPARK_PYTHON names their Python"
    elif said.startswith("MemoryError: no more memory for the states visited"):
        said = "no more memory for the states visited: a host's /dev/shm is full"
    elif "java.io.IOException: No space left on device" in text:
        said = "no space left in Spark's own directories (spark.local.dir, or SPARK_LOCAL_DIRS of its workers)"
    else:  # Java's report: the last of its reasons
        said = re.sub(r"^: [\w.]+: Job aborted due to .*\(TID \d+\) \([^()]*\): ", "", said)
    return f"a task failed: {said}"


def note(text: str) -> None:
    """A line on stderr, in place of the progress on a terminal."""
    print(("\r\x1b[2K" if sys.stderr.isatty() else "") + text, file=sys.stderr, flush=True)


class Lonely:
    """Says when a cluster has given no executor for a while: Spark itself would wait without a word."""

    def __init__(self, context: Any) -> None:
        self.context, self.next = context, time.monotonic() + SILENCE / 4
        self.since: float | None = None
        self.told = context.master.startswith("local")

    def look(self) -> None:
        """Called often; asks seldom, and says it once."""
        now = time.monotonic()
        if self.told or now < self.next:
            return
        self.next = now + SILENCE / 4
        with contextlib.suppress(Exception):  # of a JVM that has gone: the job says so
            self.since = None if _executors(self.context) else self.since or now
        if self.since is not None and now > self.since + SILENCE:
            self.told = True
            note(
                f"reassure: no executors from {self.context.master} for {now - self.since:.0f} s; "
                "waiting for workers with free cores and memory"
            )


class Job:
    """One Spark job in a thread of its own, so that it can be watched and cancelled."""

    def __init__(self, context: Any, group: str, run: Any) -> None:
        from pyspark import InheritableThread

        self.context, self.group = context, group
        self.future: Future[Any] = Future()

        def work() -> None:
            try:
                context.setJobGroup(group, group, True)
                self.future.set_result(run())
            except BaseException as error:
                self.future.set_exception(error)

        self.thread = InheritableThread(target=work, daemon=True)
        self.thread.start()

    def result(self, beat: Any) -> Any:
        """Waits; `beat` is called now and then, and the job is cancelled if it raises."""
        from pyspark.errors import PySparkException

        executors = Lonely(self.context)
        try:
            while not self.future.done():
                self.thread.join(0.05)
                beat()
                executors.look()
            return self.future.result()
        except BaseException as error:
            if not self.future.done():
                self.context.cancelJobGroup(self.group)
                self.thread.join(20)
            if type(error).__name__ == "Py4JJavaError" or isinstance(error, PySparkException):  # with a SQL session
                raise JobFailed(failed(error)) from None
            if type(error).__name__ in (
                "Py4JNetworkError",
                "Py4JError",
                "ConnectionRefusedError",
                "ConnectionResetError",
            ):
                raise JobFailed("Spark's JVM on this machine has ended") from None
            raise

    def briefly(self, seconds: float) -> None:
        """Waits so long at the most, and does not care how it ends."""
        self.thread.join(seconds)
        if not self.future.done():
            with contextlib.suppress(Exception):
                self.context.cancelJobGroup(self.group)

    def shuffled(self) -> int:
        """Bytes that the job's stages wrote for the shuffle, by Spark's own count."""
        tracker, store = self.context.statusTracker(), self.context._jsc.sc().statusStore()
        total = 0
        for job in tracker.getJobIdsForGroup(self.group):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                with contextlib.suppress(Exception):  # a stage that was skipped has no attempt
                    total += int(store.lastStageAttempt(stage).shuffleWriteBytes())
        return total
