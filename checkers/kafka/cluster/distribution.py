"""The classes of a whole Kafka broker, by Maven, and the program of clients compiled against them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from reassure.checkers.kafka.controller.class_path import MAVEN_SECONDS, program
from reassure.checkers.kafka.controller.releases import DIGEST, Release, libraries_of, local_build
from reassure.checkers.machine.exit_codes import SystemFailure, UsageFailure

BROKER = "org.apache.kafka:kafka_2.13"
LOGGING = "org.slf4j:slf4j-simple:1.7.36"
"""Brokers log to standard error, which is a file of the cluster's folder."""
CLIENT = "ClusterClient.java"


@dataclass(frozen=True)
class Distribution:
    """A Kafka release, or a build on top of one, ready to be run as processes."""

    release: Release
    parts: tuple[Path, ...]

    @property
    def class_path(self) -> str:
        """As `java -cp` takes it."""
        return os.pathsep.join(map(str, self.parts))


def distribution(kafka: Release, seconds: float = MAVEN_SECONDS) -> Distribution:
    """A release from the cache, or by Maven and javac; `Failure` says in a line what is missing.

    Of a build, its jars come first, and those of the release that it states follow.
    """
    if not kafka.build and DIGEST in kafka.version:
        raise UsageFailure(f"{kafka.version} names a build by its digest: write its path, as in --release PATH")
    published = libraries_of(kafka) if kafka.build else kafka
    text = resources.files(__package__).joinpath("java", CLIENT).read_text(encoding="utf-8")
    coordinates = [f"{BROKER}:{published.version}", LOGGING]
    parts = program(f"{published.version}-cluster", CLIENT, text, coordinates, seconds)
    return Distribution(kafka, (*_jars_of_build(kafka), *parts))


def _jars_of_build(kafka: Release) -> tuple[Path, ...]:
    """Kafka's own jars of a build; `SystemFailure` for one that is not jars."""
    if not kafka.build:
        return ()
    parts = local_build(kafka.build).parts
    if folders := [part.name for part in parts if not part.is_jar]:
        raise SystemFailure(f"{kafka.build} has classes of {folders[0]} in folders: a cluster runs jars")
    return tuple(part.paths[0] for part in parts)
