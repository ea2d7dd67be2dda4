"""A Spark context for a run: found or started, quiet, with this program shipped to where it is not installed."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import socket
import sys
import threading
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import reassure
from reassure.checkers.engines.spark import launch
from reassure.checkers.engines.spark.launch import on_this_machine, retrying
from reassure.checkers.machine.exit_codes import SystemFailure
from reassure.checkers.request.options import SparkOptions

PATIENCE = 90.0
"""Seconds for a master to answer."""
PACKAGES = ("spec", "models", "checkers")
"""Packages that executors import; generated files apart."""
COMING = 10.0
"""Seconds for the first executors to come."""
SILENCE = 12.0
"""Seconds without any executor after which it is said."""


class NoSpark(SystemFailure):
    """There is no Spark to be had; the message is one line."""


class JobFailed(SystemFailure):
    """A job failed, also when it was tried again; the message is one line."""


@dataclass(frozen=True)
class ClusterSession:
    """A Spark context, and whether it is ours to stop."""

    context: Any
    ours: bool = True

    def stop(self) -> None:
        if self.ours:
            # PySpark's server for accumulators looks once a second whether it is to end: nobody waits for that.
            server, self.context._accumulatorServer = self.context._accumulatorServer, None
            threading.Thread(target=server.shutdown, daemon=True).start()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a JVM that has gone already
                self.context.stop()


def _active() -> Any:
    """The Spark context that this process has; None if there is none."""
    return sys.modules["pyspark"].SparkContext._active_spark_context if "pyspark" in sys.modules else None


def resolved(cluster: SparkOptions) -> SparkOptions:
    """With the master of the session that is there, as in a notebook or under spark-submit, if none is named."""
    if cluster.master != SparkOptions.master:
        return cluster
    if active := _active():
        master = active.master
    elif "PYSPARK_GATEWAY_PORT" in os.environ:
        from pyspark import SparkContext

        master = SparkContext.getSystemProperty("spark.master")
    else:
        return cluster
    return cluster if master in (None, retrying(cluster.master)) else replace(cluster, master=master)


def start(name: str, cluster: SparkOptions) -> ClusterSession:
    """The context of this process, as in a notebook, or one that is started. Raises `NoSpark`."""
    cluster, active = resolved(cluster), _active()
    if active is not None and active.master not in (cluster.master, retrying(cluster.master)):
        raise NoSpark(f"this process has a Spark session with --master {active.master}, not {cluster.master}")
    session = ClusterSession(active or _new_context(name, cluster), ours=active is None)
    if session.ours:
        _await_executors(session.context)
    _ship(session.context)
    return session


def _await_executors(context: Any) -> None:
    """Waits a little for executors: how many cores there are is known when they have come."""
    until, before = time.monotonic() + COMING, 0
    while not context.master.startswith("local") and time.monotonic() < until:
        executors = _executors(context)
        if executors and executors == before:
            return
        before = executors
        time.sleep(0.5)


def _executors(context: Any) -> int:
    """The number of executors without the driver; 0 of a local master."""
    return len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1


def _new_context(name: str, cluster: SparkOptions) -> Any:
    """A context in a JVM that is started, or in the one of an earlier session or of spark-submit."""
    if lacking := launch.why_not():
        raise NoSpark(lacking)
    if cluster.master.startswith("spark://") and not _answers(cluster.master):
        raise NoSpark(f"no Spark master answers at {cluster.master}")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    try:
        from pyspark import SparkConf, SparkContext

        gateway = None if submitted or SparkContext._gateway else launch.gateway(cluster)
        conf = SparkConf().setAppName(name).setMaster(retrying(cluster.master))
        for key, value in launch.launch_settings(cluster).items():
            if key in cluster.conf or not (submitted and conf.contains(key)):
                conf.set(key, value)
        context = SparkContext(conf=conf, gateway=gateway)
    except Exception as error:  # Py4J's and PySpark's are of no common class
        raise NoSpark(f"Spark does not start with --master {cluster.master}: {_reason(error)}") from None
    # Of a JVM that dies, PySpark and Py4J print tracebacks from threads of their own; the job says it in a line.
    context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(lambda record: "Exception while sending command" not in record.getMessage())
    return context


def _answers(master: str, seconds: float = 5.0) -> bool:
    """Whether one of the masters of `spark://host:port,host:port` takes a connection. Spark tries for minutes."""
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        with contextlib.suppress(OSError, ValueError, OverflowError):
            socket.create_connection((host.strip("[]"), int(port)), seconds).close()
            return True
    return False


def _reason(error: BaseException) -> str:
    """The line that gives the reason, of an error and the JVM's log."""
    text = str(error)
    with contextlib.suppress(OSError):
        text += "\n" + launch.log().read_text(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"(Exception|Error|cannot|Could not|refused)", line)]
    reason = next((line for line in errors if "Caused by" in line), [*errors, *lines, type(error).__name__][0])
    words = re.sub(r"\s+", " ", reason)
    return re.sub(r'^Exception in thread "\w+" |^Caused by: |[\w.]+\.(?=\w+(Exception|Error))', "", words)[:300]


def _ship(context: Any) -> None:
    """Puts this program on the executors' path, once; not on this machine, where it is installed."""
    if not on_this_machine(context.master) and not any(file.endswith(_archive().name) for file in context.listFiles):
        context.addPyFile(str(_archive()))


@functools.cache
def _archive() -> Path:
    """This program as a zip."""
    root, path = Path(reassure.__file__).parent, launch.process_folder() / f"reassure-{os.getpid()}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in [root / "__init__.py", *(p for name in PACKAGES for p in sorted((root / name).rglob("*")))]:
            if file.is_file() and file.suffix in (".py", ".toml"):
                archive.write(file, file.relative_to(root.parent))
    return path


@contextlib.contextmanager
def stopping(session: Future[ClusterSession]) -> Iterator[None]:
    """Stops the session in the end, also one that is still starting."""
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            session.result(timeout=PATIENCE).stop()


def note_on_stderr(text: str) -> None:
    """A line on stderr, in place of the progress on a terminal."""
    print(("\r\x1b[2K" if sys.stderr.isatty() else "") + text, file=sys.stderr, flush=True)


MEANINGS = (
    (
        r"ModuleNotFoundError: No module named '(llvmlite|numpy|pyarrow)'",
        "the executors' Python has no {}; PYSPARK_PYTHON names one that has llvmlite, numpy and pyarrow",
    ),
    (
        r"PYTHON_VERSION_MISMATCH\].*?(\d+\.\d+).*?(\d+\.\d+)",
        "the executors have Python {} and this is {}; PYSPARK_PYTHON names theirs",
    ),
    (r'Cannot run program "([^"]+)"', "the executors have no {}; PYSPARK_PYTHON names their Python"),
    (r"MemoryError: (no more memory for the states visited)", "{}: a host's /dev/shm is full"),
    (
        r"java\.io\.IOException: No space left on device",
        "no space left in Spark's own directories (spark.local.dir, or SPARK_LOCAL_DIRS of its workers)",
    ),
)
"""Patterns of a failed job's report, and what each means."""


def failed(error: BaseException) -> str:
    """A failed job in one line, with what can be done where that is known."""
    for pattern, meaning in MEANINGS:
        if match := re.search(pattern, str(error)):
            return f"a task failed: {meaning.format(*match.groups())}"
    line = re.sub(r"^: [\w.]+: Job aborted due to .*\(TID \d+\) \([^()]*\): ", "", _last_error(str(error)))
    line = re.sub(r"^\w+: \[Errno \d+\] (.*): ['\"](.*)['\"]$", r"\2: \1", line)
    return "a task failed: " + re.sub(r"^OSError: (\[Errno \d+\] )?", "", line)


def _last_error(report: str) -> str:
    """The line of a failed job's report that gives the reason: of Python's traceback, or of Java's."""
    lines = [line.strip() for line in report.split("\n\tat ")[0].splitlines()]
    lines = [line for line in lines if line and "SQLSTATE" not in line] or ["no reason given"]
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Failure)\b", line)]
    return re.sub(r"\s+", " ", [*lines, *errors][-1])[:300]


def lonely(context: Any, now: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Asks from time to time, when it is advanced, whether a cluster has executors; says once that there are none for a
    while. Spark itself would wait without a word. now: the time, in seconds."""
    since: float | None = None
    while not context.master.startswith("local"):
        pause = now() + SILENCE / 4
        while now() < pause:
            yield
        with contextlib.suppress(Exception):  # of a JVM that has gone: the job says so
            since = None if _executors(context) else since or now()
        if since is not None and now() > since + SILENCE:
            silence = f"no executors from {context.master} for {now() - since:.0f} s"
            note_on_stderr(f"reassure: {silence}; waiting for workers with free cores and memory")
            break
    while True:
        yield


class SparkJob:
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
        from py4j.protocol import Py4JError, Py4JJavaError
        from pyspark.errors import PySparkException

        executors = lonely(self.context)
        try:
            while not self.future.done():
                self.thread.join(0.05)
                beat()
                next(executors)
            return self.future.result()
        except BaseException as error:
            if not self.future.done():
                self.context.cancelJobGroup(self.group)
                self.thread.join(20)
            if isinstance(error, Py4JJavaError | PySparkException):  # the second with a SQL session
                raise JobFailed(failed(error)) from None
            if isinstance(error, Py4JError | ConnectionError):
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
