"""Kafka's own test class with a generated method in it: compiled against a release's test jars, and run by JUnit."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reassure.checkers.kafka.controller.class_path import QUICK, ClassPath, compiled_java, fetch, tool
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.own_files import temporary_folder

TEST = "org/apache/kafka/controller/ReplicationControlManagerTest.java"
SECONDS = 300


@dataclass(frozen=True)
class MethodOutcome:
    """The outcome of a test method. message: of the failure, "" if it passed."""

    passed: bool
    message: str


def with_methods(source: str, methods: Sequence[str]) -> str:
    """The text of Kafka's test class with more methods, before its end."""
    end = source.rstrip().rfind("}")
    return source[:end] + "\n" + "\n".join(methods) + "}\n"


def kafkas_test(class_path: ClassPath) -> str:
    """The text of `ReplicationControlManagerTest` of a release; `Failure` if its test sources are not there.

    Of a checkout, that in its `metadata/src/test/java`.
    """
    of_checkout = Path(class_path.release.build) / "metadata" / "src" / "test" / "java" / TEST
    if class_path.release.build and of_checkout.is_file():
        return of_checkout.read_text(encoding="utf-8")
    for jar in class_path.jars:
        if jar.name == f"kafka-metadata-{class_path.release.version}-test-sources.jar":
            with zipfile.ZipFile(jar) as sources:
                return sources.read(TEST).decode()
    raise Failure(Exit.SYSTEM, f"the sources of the tests of Kafka {class_path.release.version} are not there")


def with_tests(kafka: Release, build: Path | None = None) -> ClassPath:
    """The classes of a release with its tests; of a build of it too, whose changed classes come before them.

    build: the folder, as `kafka build` makes it.
    """
    class_path = fetch(kafka, tests=True)
    jars = sorted(build.glob("kafka-metadata-*.jar")) if build is not None else []
    return replace(class_path, jars=(*jars, *class_path.jars))


def message_of(outcome: MethodOutcome) -> str:
    """Why a method failed, without the state that a message ends with and the name of an exception; "" if it passed."""
    return _short(outcome.message) or ("" if outcome.passed else "it fails")


def _short(message: str) -> str:
    text = re.sub(r"^\w+(Error|Exception): ", "", message)
    return re.split(r": (?:Partition|Listed|ListPartition)\w*\(| ==> ", text)[0].strip()


def run_methods(class_path: ClassPath, methods: Sequence[str]) -> list[MethodOutcome]:
    """Compiles Kafka's test class with the methods in it, and runs each."""
    names = [_name(method) for method in methods]
    with temporary_folder("kafka") as temporary:
        classes = temporary / "classes"
        source = with_methods(kafkas_test(class_path), methods)
        compiled_java(tool("javac"), list(class_path.jars), {Path(TEST).name: source}, classes)
        path = os.pathsep.join([str(classes), *map(str, class_path.jars)])
        launcher = [tool("java"), *QUICK, "-cp", path, "org.junit.platform.console.ConsoleLauncher", "execute"]
        options = ["--disable-banner", "--disable-ansi-colors", "--details=tree", "--details-theme=ascii"]
        selectors = [
            f"--select-method=org.apache.kafka.controller.ReplicationControlManagerTest#{name}()" for name in names
        ]
        try:
            ran = subprocess.run(
                [*launcher, *options, *selectors],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            raise Failure(Exit.SYSTEM, f"Kafka's tests did not finish within {SECONDS} s") from None
    return [_outcome(name, ran.stdout + ran.stderr) for name in names]


def _name(method: str) -> str:
    match = re.search(r"void (\w+)\(", method)
    assert match is not None
    return match[1]


def _outcome(name: str, output: str) -> MethodOutcome:
    match = re.search(rf"-- {name}\(\) \[(OK|X)\] ?(.*)", output)
    if match is None:
        lines = [line for line in output.splitlines() if line.strip()]
        raise Failure(Exit.SYSTEM, f"JUnit did not run {name}: {(lines or ['it said nothing'])[0]}")
    return MethodOutcome(match[1] == "OK", match[2].strip())
