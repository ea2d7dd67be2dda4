"""Kafka's jars for tests: fetched once, and where they cannot be had, one line that says so."""

from __future__ import annotations

import atexit
import functools

import pytest

from reassure.checkers.kafka.builds.patched_build import ReleaseSources, sources
from reassure.checkers.kafka.controller.class_path import ClassPath, fetch, fetched
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.releases import RELEASES, release
from reassure.checkers.machine.exit_codes import Failure

SECONDS = 120
"""What Maven may take: without a network it gives up, and nobody waits for it twice."""
_missing: list[str] = []


def class_path(version: str, tests: bool = False) -> ClassPath:
    """A release ready to run; skips the test where it cannot be fetched."""
    wanted = release(version)
    kept = fetched(wanted, tests)
    if kept is not None:
        return kept
    if not _missing:
        try:
            return fetch(wanted, tests, SECONDS)
        except Failure as failure:
            _missing.append(str(failure))
    pytest.skip(f"Kafka's classes are not run: {_missing[0]}")


_running: dict[str, Driver] = {}


def shared_driver(version: str) -> Driver:
    """The JVM of a release that the tests of this process share, for those that leave it alive; `begin` comes first.

    Starting one takes longer than what most tests ask of it.
    """
    if version not in _running or _running[version].process.poll() is not None:
        _running[version] = Driver(class_path(version))
        atexit.register(_running[version].close)
    return _running[version]


VERSIONS = [r.version for r in RELEASES if r.version.endswith(".0")]
"""A release for each set of rules: what patch releases do is compared by the slow tests."""
EACH = [pytest.param(v, marks=[pytest.mark.slow] if v not in (VERSIONS[0], VERSIONS[-1]) else []) for v in VERSIONS]
"""The same as parameters: between the oldest and the newest, whose rules differ most, tests are slow."""
PATCHES = [r.version for r in RELEASES if r.version not in VERSIONS]
TESTED = [r.version for r in RELEASES if r.tested and r.version in VERSIONS]


@functools.cache
def kafka_sources(version: str) -> ReleaseSources:
    """The published sources of a release; skips the test where they cannot be fetched."""
    class_path(version)
    try:
        return sources(release(version), SECONDS)
    except Failure as failure:
        pytest.skip(f"Kafka's sources are not there: {failure}")
