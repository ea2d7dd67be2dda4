"""Releases of Kafka that are driven, and where they are found: by Maven coordinates, or a build by its path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from reassure.checkers.kafka.controller.local_build import DIGEST, LIBRARIES, absolute, local_build, names_a_build
from reassure.checkers.machine.exit_codes import SystemFailure, UsageFailure
from reassure.spec.kafka.releases import RELEASES_OF_RULES, minor, numbers

CONTROLLER = "org.apache.kafka:kafka-metadata"
SILENCE = "org.slf4j:slf4j-nop:1.7.36"
"""Else the controller logs a line for each record."""
TESTED_WITH = (
    "org.junit.jupiter:junit-jupiter:5.10.2",
    "org.junit.platform:junit-platform-console:1.10.2",
    "org.mockito:mockito-junit-jupiter:5.11.0",
)
"""Maven coordinates that Kafka's own tests of the controller need beside its test jars."""
TEST_MODULES = ("kafka-metadata", "kafka-raft", "kafka-server-common", "kafka-clients")
WITHOUT_TESTS = ("4.2.2", "4.4.0")
"""Releases that Kafka published without the jars and the sources of its tests; Maven finds those of all others."""


@dataclass(frozen=True)
class Release:
    """A release of Kafka. rules: the name of the rules that it goes by (`RELEASES_OF_RULES`).

    tested: Kafka published the jars of its tests. listed: the release is in the table, so its rules were compared.
    A build of one's own is a release too: build is its path or paths, and its version ends with a digest of its
    classes, as in 4.4.0-SNAPSHOT+build-1a2b3c4d5e6f.
    """

    version: str
    rules: str
    tested: bool = False
    listed: bool = False
    build: str = ""

    @property
    def stated(self) -> str:
        """The version that a build states; of a release its version."""
        return self.version.partition("+")[0]


RELEASES = tuple(
    sorted(
        (
            Release(version, rules, tested=version not in WITHOUT_TESTS, listed=True)
            for rules, versions in RELEASES_OF_RULES.items()
            for version in versions
        ),
        key=lambda release: numbers(release.version),
    )
)
"""Every release in the table, oldest first."""
LATEST = RELEASES[-1]
NEWEST = tuple({(minor(r.version), r.rules): r for r in RELEASES}.values())
"""What `--release all` means: the newest patch of each minor version, and before a change of rules by a patch too."""


def release(version: str) -> Release:
    """A release by its version, or a build of one's own by its path; `Failure` for what is neither.

    One that is not in the table has the rules of the newest patch of its minor version; if there is none, rules that
    bear the name of its minor version, which a model may have or not. A build that states no version has no rules.
    """
    is_version = re.fullmatch(r"\d+\.\d+\.\d+", version)
    if not is_version and names_a_build(version):
        build = local_build(version)
        numbered = re.match(r"\d+\.\d+\.\d+", build.stated)
        return Release(build.name, release(numbered[0]).rules if numbered else "", tested=True, build=absolute(version))
    if not is_version:
        raise UsageFailure(f"{version!r} is not a release of Kafka; write {LATEST.version}, or the path of a build")
    of_minor = [r for r in RELEASES if minor(r.version) == minor(version)]
    listed = next((r for r in of_minor if r.version == version), None)
    return listed or Release(version, of_minor[-1].rules if of_minor else minor(version))


def release_on_worker(version: str, build: str) -> Release:
    """The release of a task of Spark; `SystemFailure` if the path of a build has another one on this machine."""
    kafka = release(build or version)
    if kafka.version != version:
        raise SystemFailure(f"{build} is Kafka {kafka.version} on a worker, and {version} where the command runs")
    return kafka


def libraries_of(kafka: Release) -> Release:
    """The release whose libraries a build gets that has none: what it states, or the newest in the table before it."""
    numbered = re.match(r"\d+\.\d+\.\d+", kafka.stated)
    older = [r for r in RELEASES if numbered and numbers(r.version) <= numbers(numbered[0])]
    if not older:
        raise SystemFailure(
            f"{kafka.build} has no libraries ({', '.join(LIBRARIES)}) and states no version by which Maven could bring "
            "them: `./gradlew :core:copyDependantLibs` copies them into a checkout"
        )
    return older[-1]


def own_release(name: Any) -> Release:
    """The release of a model's configuration or of a run: of the name of rules, the newest patch that goes by them.

    A full version stands for itself, and None for the newest release. A build, which a run names by its digest, has no
    path: it cannot be fetched.
    """
    text = str(getattr(name, "value", name))
    if DIGEST in text:
        return Release(text, "")
    by_rules = [r for r in RELEASES if r.rules == text]
    if by_rules:
        return by_rules[-1]
    return LATEST if name is None else release(text)
