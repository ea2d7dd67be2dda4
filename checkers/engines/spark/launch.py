"""The JVM of Spark on this machine: its Java, its settings, and its start."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from reassure.checkers.machine.class_archive import NONE, Archive, jvm_archive
from reassure.checkers.machine.own_files import make_folder
from reassure.checkers.request.options import SparkOptions

JAVA = 17
"""The oldest Java that Spark 4 runs on."""
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=128m"
"""For short jobs in one process: the quick compiler and the collector without threads start sooner; room for the
classes, which are loaded in the first seconds, so that they cause no full collections then."""
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


def launch_settings(cluster: SparkOptions) -> dict[str, str]:
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


def class_archive() -> contextlib.AbstractContextManager[Archive]:
    """What a JVM is given for the archive of Spark's classes: see `jvm_archive`."""
    import pyspark

    jars = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    return jvm_archive("jvm", MOST_ARCHIVES, [JAVA_OPTIONS], [Path(_java() or "").resolve(), *jars])


def gateway(cluster: SparkOptions) -> Any:
    """PySpark's gateway to a new JVM. Raises PySpark's error if the JVM ends instead."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    if cluster.master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.pop("SPARK_HOME", None)  # another Spark than the package's
    conf = SparkConf().setMaster(retrying(cluster.master))
    for key, value in launch_settings(cluster).items():
        if not key.startswith("spark.python."):  # a later session with another master would have it as its default
            conf.set(key, value)
    before, tempfile.tempdir = tempfile.tempdir, str(process_folder())  # PySpark leaves a folder if it is killed here
    own = is_local(cluster.master) and OPTIONS not in cluster.conf
    try:
        with log().open("wb") as output, class_archive() if own else contextlib.nullcontext(NONE) as archive:
            options, inherited = archive
            if options:
                conf.set(OPTIONS, " ".join([JAVA_OPTIONS, *options]))
            streams = {"stdout": output, "stderr": output, "pass_fds": inherited}
            return launch_gateway(conf, streams)  # type: ignore[no-untyped-call]
    finally:
        tempfile.tempdir = before
