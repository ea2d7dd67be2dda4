"""Releases of Kafka that are driven, and where they are found: by Maven coordinates, no more."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from reassure.checkers.base.exit_codes import Exit, Failure

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


@dataclass(frozen=True)
class Release:
    """A release. tested: Kafka published the jars of its tests."""

    version: str
    tested: bool = False


RELEASES = (
    Release("3.9.0", tested=True),
    Release("4.0.0"),
    Release("4.1.0", tested=True),
    Release("4.2.0"),
    Release("4.3.0", tested=True),
    Release("4.4.0"),
)
"""A new release is one line here, `reassure kafka fetch` and `reassure kafka conform`."""
LATEST = RELEASES[-1]


def release(version: str) -> Release:
    """A release by its version, also one that is not in the table; `Failure` for what is no version."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise Failure(Exit.USAGE, f"{version!r} is no release of Kafka; write {LATEST.version}")
    return next((r for r in RELEASES if r.version == version), Release(version))


def own_release(name: Any) -> Release:
    """The release of a model's configuration or of a run, 4.3 standing for the newest 4.3.x; the newest for none."""
    text = str(getattr(name, "value", name))
    fitting = [r for r in RELEASES if f"{r.version}.".startswith(f"{text}.")]
    if fitting:
        return fitting[-1]
    return LATEST if name is None else release(text)
