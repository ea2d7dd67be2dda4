"""The place of a problem in the sources of the build that is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.kafka.controller.words import Kind
from reassure.checkers.kafka.diff.sources import MANAGER, HeadSources

CLASS = """package org.apache.kafka.controller;

public class ReplicationControlManager {
    ControllerResult<Void> alterPartition(Request request) {
        cancelPartitionReassignment(request);
    }

    Optional<Record> cancelPartitionReassignment(Request request) {
    }
}
"""
THROWN = """java.lang.IllegalArgumentException: Replica 2 is not assigned
    at org.apache.kafka.metadata.PartitionRegistration.directory(PartitionRegistration.java:320)
    at org.apache.kafka.controller.ReplicationControlManager$Acceptor.test(ReplicationControlManager.java:812)
    at org.apache.kafka.controller.PartitionChangeBuilder.build(PartitionChangeBuilder.java:7)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> HeadSources:
    file = tmp_path / MANAGER
    file.parent.mkdir(parents=True)
    file.write_text(CLASS)
    return HeadSources.of(tmp_path)


@pytest.mark.parametrize(
    ("kind", "line"), [(Kind.PROPOSE, 4), (Kind.CANCEL, 8), (Kind.FENCE, 3), (Kind.ELECT_LEADERLESS, 3), (None, 3)]
)
def test_the_method_of_a_command_or_else_the_class(checkout: HeadSources, kind: Kind | None, line: int) -> None:
    place = checkout.place(kind, "PartitionChangeRecord(partitionId=0)")
    assert (place.file, place.line) == (MANAGER, line)


def test_the_line_of_the_controller_that_threw(checkout: HeadSources) -> None:
    """The helper class that threw is not the controller's; a file that the checkout lacks is passed over."""
    assert checkout.place(Kind.UNFENCE, THROWN).line == 812
    only_builder = "\n".join(line for line in THROWN.splitlines() if "ReplicationControlManager" not in line)
    assert checkout.place(Kind.UNFENCE, only_builder) == checkout.place(Kind.UNFENCE, "")


def test_a_release_has_no_sources() -> None:
    sources = HeadSources.of(Path("4.3.0"))
    assert sources.place(Kind.CANCEL, "").line == 1
    place = sources.place(Kind.UNFENCE, THROWN)
    assert (place.file, place.line) == (MANAGER, 812)
