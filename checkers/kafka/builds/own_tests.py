"""Kafka's own tests, from the published test jars of a release, run against a build of it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from reassure.checkers.base.exit_codes import SystemFailure
from reassure.checkers.kafka.builds.patched_build import PatchedBuild
from reassure.checkers.kafka.controller.class_path import QUICK, fetch, tool

TESTED_CLASSES = (
    "ReplicationControlManager",
    "PartitionChangeBuilder",
    "PartitionReassignmentReplicas",
    "PartitionReassignmentRevert",
)
"""Classes of the controller whose tests are run, each by `...Test`."""
SECONDS = 600


@dataclass(frozen=True)
class OwnTests:
    """The outcome of Kafka's tests. failed: the names of failed tests, each with the first line of its message."""

    passed: int
    failed: tuple[str, ...]


def run_own_tests(build: PatchedBuild, classes: Sequence[str] = TESTED_CLASSES) -> OwnTests:
    """Runs the tests of some classes; `SystemFailure` if the release has no jars of its tests, or JUnit runs none."""
    jars = fetch(build.release, tests=True).jars
    own = {path.name: path for path in build.folder.glob("*.jar")}
    path = os.pathsep.join(str(own.get(jar.name, jar)) for jar in jars)
    launcher = [tool("java"), *QUICK, "-cp", path, "org.junit.platform.console.ConsoleLauncher", "execute"]
    options = ["--disable-banner", "--disable-ansi-colors", "--details=tree", "--details-theme=ascii"]
    selectors = [f"--select-class=org.apache.kafka.controller.{name}Test" for name in classes]
    try:
        ran = subprocess.run(
            [*launcher, *options, *selectors], capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise SystemFailure(f"Kafka's tests did not finish within {SECONDS} s") from None
    return outcome_of(ran.stdout + ran.stderr)


def outcome_of(output: str) -> OwnTests:
    """The outcome as JUnit's console launcher prints it."""
    counts = {name: int(n) for n, name in re.findall(r"\[\s*(\d+) tests (successful|failed|found)", output)}
    if not counts.get("found"):
        lines = [line for line in output.splitlines() if line.strip()]
        raise SystemFailure(f"JUnit ran no test of Kafka's: {(lines or ['it printed nothing'])[0]}")
    failed = [f"{name}: {why.strip()}" for name, why in re.findall(r"-- (.+?) \[X\] ?(.*)", output)]
    return OwnTests(counts["successful"], tuple(failed[-counts["failed"] :] if counts["failed"] else ()))
