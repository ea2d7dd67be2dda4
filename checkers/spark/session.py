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

JAVA = 17
"""The oldest Java that Spark 4 runs on."""
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=128m"
"""For short jobs in one process: the quick compiler and the collector without threads start sooner; room for the
classes, which are loaded in the first seconds, so that they cause no full collections then."""
PATIENCE = 90.0
"""Seconds for a master to answer."""
PACKAGES = ("spec", "models", "checkers")
"""What executors import; not what is generated."""
COMING = 10.0
"""Seconds for the first executors to come."""
WORKER_DAEMON = "reassure.checkers.spark.worker_daemon"
"""What forks the workers on this machine."""
SOCKETS = "reassure-sockets-"
"""What the name of a session's folder of sockets begins with; the driver's process follows."""
SOCKET_FOLDER = 20
"""Bytes of the name of the temporary folder, at the most, for sockets in it: their whole names have 103 at the most."""
SILENCE = 12.0
"""Seconds without any executor after which it is said."""


class NoSpark(Exception):
    """There is no Spark to be had; the message is one line."""


class JobFailed(Exception):
    """A job failed, also when it was tried again; the message is one line."""


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


@dataclass(frozen=True)
class Session:
    """A Spark context, and whether it is ours to stop."""

    context: Any
    ours: bool = True
    folders: tuple[Path, ...] = ()
    """Of this session alone: this program as it is served to the executors, and sockets."""

    def stop(self) -> None:
        if self.ours:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a JVM that has gone already
                self.context.stop()
            for folder in self.folders:
                shutil.rmtree(folder, ignore_errors=True)


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
    return cluster if master in (None, _retrying(cluster.master)) else replace(cluster, master=str(master))


def _active() -> Any:
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def start(name: str, cluster: SparkOptions) -> Session:
    """The context of this process, as in a notebook, or one that is started. Raises `NoSpark`."""
    cluster, active = resolved(cluster), _active()
    if active is not None:
        if active.master != _retrying(cluster.master):
            raise NoSpark(f"this process has a Spark session with --master {active.master}, not {cluster.master}")
        _ship(active)
        return Session(active, ours=False)
    sockets = _sockets(cluster.master)
    try:
        context = _context(name, cluster, sockets)
    except BaseException:
        if sockets is not None:
            shutil.rmtree(sockets, ignore_errors=True)
        raise
    _await_executors(context, cluster.master)
    shipped = _ship(context)
    return Session(context, folders=tuple(f for f in (sockets, shipped and shipped.parent) if f is not None))


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


def _sockets(master: str) -> Path | None:
    """A folder for the sockets between a local master's JVM and the Python processes; None if there are to be none.

    Over TCP a task waits 40 ms in the end, for an acknowledgement that is delayed.
    """
    if not is_local(master) or len(os.fsencode(tempfile.gettempdir())) > SOCKET_FOLDER:
        return None
    return Path(tempfile.mkdtemp(prefix=f"{SOCKETS}{os.getpid()}-"))


def is_local(master: str) -> bool:
    """Whether the tasks run in the driver's JVM and Python processes beside it."""
    return master.startswith("local") and not master.startswith("local-cluster")


def _settings(cluster: SparkOptions, submitted: bool, sockets: Path | None) -> dict[str, str]:
    """What Spark is told; an empty value leaves Spark's default. The user's own settings win."""
    local = cluster.master.startswith("local")
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.python.worker.reuse": "true",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS if local else "",
        "spark.driver.host": "localhost" if local else "",
        "spark.python.daemon.module": WORKER_DAEMON if not submitted and _on_this_machine(cluster.master) else "",
        "spark.python.unix.domain.socket.enabled": "true" if sockets else "",  # Spark 4.0 has no such setting
        "spark.python.unix.domain.socket.dir": str(sockets) if sockets else "",
        **cluster.conf,
    }


def _context(name: str, cluster: SparkOptions, sockets: Path | None) -> Any:
    lacking = why_not()
    if lacking:
        raise NoSpark(lacking)
    if cluster.master.startswith("spark://") and not answers(cluster.master):
        raise NoSpark(f"no Spark master answers at {cluster.master}")
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if cluster.master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = SparkConf().setAppName(name).setMaster(_retrying(cluster.master))
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    for key, value in _settings(cluster, submitted, sockets).items():
        if value and (key in cluster.conf or not (submitted and conf.contains(key))):
            conf.set(key, value)
    log = tempfile.NamedTemporaryFile(prefix="reassure-spark-", suffix=".log", delete=False)  # noqa: SIM115
    try:
        with contextlib.suppress(KeyError):
            os.environ.pop("SPARK_HOME")  # another Spark than the package's
        gateway = None
        if not submitted:
            gateway = launch_gateway(  # type: ignore[no-untyped-call]
                conf, popen_kwargs={"stderr": log, "stdout": log}
            )
        context = SparkContext(conf=conf, gateway=gateway)
        _hush(context)
        _end_beside(context._accumulatorServer)
    except Exception as error:  # Py4J's and PySpark's are of no common class
        raise NoSpark(f"Spark does not start with --master {cluster.master}: {_reason(error, log.name)}") from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(log.name)
    return context


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


def _retrying(master: str) -> str:
    """A local master that tries a failed task again, as clusters do."""
    found = re.fullmatch(r"local\[(\d+|\*)\]", master)
    if found:
        return f"local[{found[1]},4]"
    return "local[1,4]" if master == "local" else master


def _reason(error: BaseException, log: str) -> str:
    """The line that says why: from Spark's log if it is there."""
    text = str(error)
    with contextlib.suppress(OSError):
        text += "\n" + Path(log).read_text(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if re.search(r"(Exception|Error|cannot|Could not|refused)", line)]
    telling = next((line for line in told if "Caused by" in line), None) or (told[0] if told else "")
    said = re.sub(r"\s+", " ", telling or (lines[0] if lines else type(error).__name__))
    return re.sub(r'^Exception in thread "\w+" |^Caused by: |[\w.]+\.(?=\w+(Exception|Error))', "", said)[:300]


def _on_this_machine(master: str) -> bool:
    """Whether the workers are processes of this machine that run this Python, with what is installed for it."""
    return is_local(master) and os.environ.get("PYSPARK_PYTHON", sys.executable) == sys.executable


def _ship(context: Any) -> Path | None:
    """Puts this program, as a zip, on the executors' path, once; None where they have it, being this machine's."""
    if _on_this_machine(context.master):
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
