"""Released classes of Kafka other than its controller, asked line by line: skipped where they cannot be had."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from reassure.checkers.kafka.controller.class_path import QUICK, program, tool
from reassure.checkers.kafka.controller.releases import SILENCE
from reassure.checkers.machine.exit_codes import Failure

JAVA = Path(__file__).parent / "java"
SECONDS = 120
COORDINATES = {
    "AdminUtilsDriver": "org.apache.kafka:kafka-server-common:3.9.0",
    "StripedDriver": "org.apache.kafka:kafka-metadata:4.4.0",
    "ToolDriver": "org.apache.kafka:kafka-tools:4.3.1",
    "QuotaDriver": "org.apache.kafka:kafka_2.13:4.3.1",
}
"""The Maven coordinates of what a driver in `java` is compiled against: the newest release that has the class."""


def answers(driver: str, lines: Iterable[str]) -> list[str]:
    """A line for each line. Skips the test with one line where there is no JDK, no Maven or no release."""
    text = (JAVA / f"{driver}.java").read_text(encoding="utf-8")
    package = text.partition("package ")[2].partition(";")[0] + "." if text.startswith("package ") else ""
    try:
        parts = program(driver.lower(), f"{driver}.java", text, [COORDINATES[driver], SILENCE], SECONDS)
        java = tool("java")
    except Failure as failure:
        pytest.skip(f"Kafka's classes are not run: {failure}")
    command = [java, *QUICK, "-cp", os.pathsep.join(map(str, parts)), package + driver]
    given = "".join(f"{line}\n" for line in lines)
    ran = subprocess.run(command, input=given, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = ran.stdout.splitlines()
    assert len(found) == given.count("\n")
    return found
