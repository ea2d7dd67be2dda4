"""A run of Kafka's controller as a Java program: one file that needs `kafka-metadata` and nothing of Kafka's tests.

The steps and assertions are those of the test method; `java/Reproduction.java` has the helpers that they call.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

from reassure.checkers.kafka.controller.class_path import (
    QUICK,
    ClassPath,
    compiled_java,
    java_source,
    kafka_archive,
    tool,
)
from reassure.checkers.kafka.controller.junit import body, class_name
from reassure.checkers.kafka.controller.kafka_tests import MethodOutcome
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.replay import ControllerTrace
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.own_files import temporary_folder

TEMPLATE = "Reproduction.java"
STEPS = "        // STEPS"
SECONDS = 60


@dataclass(frozen=True)
class Program:
    """A Java program of one file."""

    name: str
    """Of its class."""
    text: str

    @property
    def file(self) -> str:
        return f"{self.name}.java"


def reproduction(trace: ControllerTrace, release: Release, name: str, promise: str = "", elr: bool = True) -> Program:
    """The program of a run, for a release. name, promise, elr: as of `junit_method`, which raises as this does."""
    class_of_it = class_name(name)
    text = java_source(TEMPLATE).replace(STEPS, body(trace, release, promise, elr))
    return Program(class_of_it, re.sub(r"\bReproduction\b", class_of_it, text))


def run_program(program: Program, class_path: ClassPath) -> MethodOutcome:
    """Compiles the program against a release, and runs it; `Failure` if it does not end."""
    with temporary_folder("kafka") as temporary:
        classes = temporary / "classes"
        compiled_java(tool("javac"), list(class_path.jars), {program.file: program.text}, classes)
        path = os.pathsep.join([class_path.text, str(classes)])  # an archive is of the beginning of a path
        try:
            with kafka_archive(class_path, writes=False) as (options, _):
                command = [tool("java"), *QUICK, *options, "-cp", path, f"org.apache.kafka.controller.{program.name}"]
                ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Failure(Exit.SYSTEM, f"{program.name} did not finish within {SECONDS} s") from None
    lines = [line for line in ran.stderr.splitlines() if line.startswith("Exception in")]
    message = lines[0].partition(" java.lang.")[2] if lines else ran.stderr.strip()
    return MethodOutcome(ran.returncode == 0, "" if ran.returncode == 0 else message)
