"""Kafka's own tests, from the published test jars of a release, run against a build of it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from reassure.checkers.kafka.builds.patched_build import PatchedBuild
from reassure.checkers.kafka.controller.class_path import QUICK, fetch, tool
from reassure.checkers.machine.exit_codes import SystemFailure

TESTED_CLASSES = (
    "ReplicationControlManager",
    "PartitionChangeBuilder",
    "PartitionReassignmentReplicas",
    "PartitionReassignmentRevert",
)
"""Classes of the controller whose tests are run, each by `...Test`."""
SECONDS = 600
COUNT = re.compile(r"\[\s*(\d+) (tests|containers) (successful|failed|found|skipped)\s*\]")


@dataclass(frozen=True)
class OwnTests:
    """The outcome of Kafka's tests. failed: the names of failed tests, each with the first line of its message."""

    passed: int
    failed: tuple[str, ...]


def run_own_tests(build: PatchedBuild, classes: Sequence[str] = TESTED_CLASSES) -> OwnTests:
    """Runs the tests of some classes; `SystemFailure` if the release has no jars of its tests, or one is not run."""
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
    """The outcome as JUnit's console launcher prints it; a class whose tests cannot begin counts as a failed test."""
    counts = {(what, name): int(n) for n, what, name in COUNT.findall(output)}
    passed, failed = (counts.get(("tests", name), 0) for name in ("successful", "failed"))
    if not passed + failed:
        lines = [line for line in output.splitlines() if line.strip()]
        raise SystemFailure(f"JUnit ran no test of Kafka's: {(lines or ['it printed nothing'])[0]}")
    failed += counts.get(("containers", "failed"), 0)
    left = counts["tests", "found"] - counts["tests", "skipped"] - passed - counts["tests", "failed"]
    if left and not failed:
        raise SystemFailure(f"JUnit did not run {left} of {counts['tests', 'found']} tests of Kafka's to their end")
    names = [f"{name}: {why.strip()}" for name, why in re.findall(r"-- (.+?) \[X\] ?(.*)", output)]
    return OwnTests(passed, tuple(names[-failed:] if failed else ()))
