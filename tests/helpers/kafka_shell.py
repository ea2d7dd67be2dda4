"""Kafka's shell tools for tests: scripts that call the tools' classes by `java -cp`, as no jar has the scripts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reassure.checkers.kafka.controller.class_path import resolved_jars, tool
from reassure.checkers.machine.exit_codes import Failure

CLASSES = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-leader-election.sh": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-metadata-quorum.sh": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-producer-perf-test.sh": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions.sh": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-server-start.sh": "kafka.Kafka",
    "kafka-storage.sh": "kafka.tools.StorageTool",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}
"""The class of each tool in Kafka 4.3.1."""
VERSION = "4.3.1"
"""The newest release whose tools Maven Central has."""
SECONDS = 300


def write_tools(folder: Path) -> None:
    """Writes the tools into `folder/bin`; skips the test where their classes cannot be fetched."""
    coordinates = [f"org.apache.kafka:{name}:{VERSION}" for name in ("kafka_2.13", "kafka-tools")]
    try:
        jars = resolved_jars(tool("mvn"), [*coordinates, "org.slf4j:slf4j-simple:1.7.36"], SECONDS)
        java = tool("java")
    except Failure as failure:
        pytest.skip(f"Kafka's tools are not run: {failure}")
    (folder / "bin").mkdir(parents=True)
    class_path = os.pathsep.join(map(str, jars))
    for name, main in CLASSES.items():
        script = folder / "bin" / name
        level = "info" if name == "kafka-server-start.sh" else "error"
        options = f"$KAFKA_HEAP_OPTS -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel={level}"
        script.write_text(f'#!/bin/sh\nexec {java} {options} -cp {class_path} {main} "$@"\n')
        script.chmod(0o755)
