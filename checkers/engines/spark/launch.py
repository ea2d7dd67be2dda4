"""The JVM of Spark on this machine: its Java, its settings, and its start."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reassure.checkers.machine.own_files import cache_folder, make_folder, own_folder
from reassure.checkers.request.options import SparkOptions

JAVA = 17
"""The oldest Java that Spark 4 runs on."""
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=128m"
"""For short jobs in one process: the quick compiler and the collector without threads start sooner; room for the
classes, which are loaded in the first seconds, so that they cause no full collections then."""
ARCHIVED = "-XX:+VerifySharedSpaces -XX:SharedArchiveFile={}"
ARCHIVING = "-XX:ArchiveClassesAtExit={}"
OPTIONS = "spark.driver.extraJavaOptions"
MOST_ARCHIVES = 3
"""Archives of classes that the cache keeps: each has 60 MB."""
WORKER_DAEMON = "reassure.checkers.engines.spark.worker_daemon"
SOCKET_FOLDER = 60
"""Bytes of the path of a folder of sockets, at most: Spark adds 43, and a socket's path has at most 103."""


@functools.cache
def java_version(command: str) -> int | None:
    """The major version that a java command reports; None if it reports none."""
    try:
        done = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(version[1]) if version else None


def _java() -> str | None:
    """The java that Spark starts; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(f"{home}/bin/java" if home else "java")


def why_not() -> str | None:
    """The reason in one line why Spark cannot start here; None if it can."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # under spark-submit there is a JVM already
        return None
    home, command = os.environ.get("JAVA_HOME"), _java()
    if command is None:
        return f"Spark needs Java {JAVA} or later, and there is none" + (f" in JAVA_HOME={home}" if home else "")
    version = java_version(command)
    if version is None:
        return f"Spark needs Java {JAVA} or later, and {command} does not say what it is"
    return None if version >= JAVA else f"Spark needs Java {JAVA} or later; {command} is Java {version}"


def is_local(master: str) -> bool:
    """Whether the tasks run in the driver's JVM and Python processes beside it."""
    return master.startswith("local") and not master.startswith("local-cluster")


def on_this_machine(master: str) -> bool:
    """Whether the workers are processes of this machine that run this Python, with what is installed for it."""
    return is_local(master) and os.environ.get("PYSPARK_PYTHON", sys.executable) == sys.executable


def retrying(master: str) -> str:
    """A local master that tries a failed task again, as clusters do."""
    threads = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    return f"local[{threads[1] or 1},4]" if threads else master


@functools.cache
def process_folder() -> Path:
    """This process's folder for the sockets between the JVM and the Python workers, the JVM's log, and the archive of
    this program. It is removed when the process ends."""
    folder = make_folder("spark")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def settings(cluster: SparkOptions) -> dict[str, str]:
    """Spark's settings for a master; the user's own override them."""
    defaults = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    if cluster.master.startswith("local"):
        defaults[OPTIONS] = JAVA_OPTIONS
    if on_this_machine(cluster.master) and "PYSPARK_GATEWAY_PORT" not in os.environ:
        defaults["spark.python.daemon.module"] = WORKER_DAEMON
        if len(os.fsencode(process_folder())) <= SOCKET_FOLDER:
            defaults["spark.python.unix.domain.socket.enabled"] = "true"  # Spark 4.0 has no such setting
            defaults["spark.python.unix.domain.socket.dir"] = str(process_folder())
    return {**defaults, **cluster.conf}


def log() -> Path:
    """The file with the output of the JVM that this process started."""
    return process_folder() / "log"


def _archive_name() -> str:
    """Another for another Java, Spark, or set of options."""
    import pyspark

    java = Path(_java() or "").resolve()
    jars = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    known = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in (java, *jars)]
    return hashlib.sha256("\n".join([JAVA_OPTIONS, *known]).encode()).hexdigest()[:32]


@contextlib.contextmanager
def class_archive() -> Iterator[tuple[str, tuple[int, ...]]]:
    """Options of a JVM for the archive of Spark's classes, and descriptors that the JVM inherits.

    To load and verify them is half of what a short job costs. Java takes them from an archive that an
    earlier JVM wrote at its end, after the command (JEP 350). It checks the archive, and goes on without one that does
    not fit. The descriptor is that of a lock, which the JVM holds until it has ended: only then is the archive whole.
    No options where the cache cannot be used, or while another JVM writes the archive.
    """
    with contextlib.ExitStack() as stack:
        options: str = ""
        inherited: tuple[int, ...] = ()
        with contextlib.suppress(OSError):
            folder = cache_folder("jvm")
            archive = folder / f"{_archive_name()}.jsa"
            if own_folder(folder.parent) and own_folder(folder) and not re.search(r"[\s\"'\\\\]", str(archive)):
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                lock = os.open(archive.with_suffix(".lock"), flags, 0o600)
                stack.callback(os.close, lock)
                options, inherited = _of_archive(archive, lock)
        yield options, inherited


def _of_archive(archive: Path, lock: int) -> tuple[str, tuple[int, ...]]:
    written = archive.with_suffix(".part")
    if not archive.exists():
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return "", ()
        if not written.exists() or _begins_with_zeros(written):
            written.unlink(missing_ok=True)
            return ARCHIVING.format(written), (lock,)
        written.replace(archive)
        kept = sorted(archive.parent.glob("*.jsa"), key=lambda path: path.stat().st_mtime)
        for old in kept[:-MOST_ARCHIVES]:
            old.unlink(missing_ok=True)
            old.with_suffix(".lock").unlink(missing_ok=True)
    os.utime(archive)
    return ARCHIVED.format(archive), ()


def _begins_with_zeros(file: Path) -> bool:
    """Whether an archive is not whole: a JVM writes its first bytes last."""
    with file.open("rb") as archive:
        return not any(archive.read(4))


def gateway(cluster: SparkOptions) -> Any:
    """PySpark's gateway to a new JVM. Raises PySpark's error if the JVM ends instead."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    if cluster.master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.pop("SPARK_HOME", None)  # another Spark than the package's
    conf = SparkConf().setMaster(retrying(cluster.master))
    for key, value in settings(cluster).items():
        if not key.startswith("spark.python."):  # a later session with another master would have it as its default
            conf.set(key, value)
    before, tempfile.tempdir = tempfile.tempdir, str(process_folder())  # PySpark leaves a folder if it is killed here
    own = is_local(cluster.master) and OPTIONS not in cluster.conf
    try:
        with log().open("wb") as output, class_archive() if own else contextlib.nullcontext(("", ())) as archive:
            if archive[0]:
                conf.set(OPTIONS, f"{JAVA_OPTIONS} {archive[0]}")
            streams = {"stdout": output, "stderr": output, "pass_fds": archive[1]}
            return launch_gateway(conf, streams)  # type: ignore[no-untyped-call]
    finally:
        tempfile.tempdir = before
