"""Metadata logs written by Kafka's own classes: what a release's controller answers to random commands.

`python -m tests.helpers.metadata_logs FOLDER` makes the files that the tests of `audit` read.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

from reassure.checkers.kafka.controller import driver as drivers
from reassure.checkers.kafka.controller.class_path import ClassPath, compiled_java, fetch, java_source, tool
from reassure.checkers.kafka.controller.driver import OPTIONS, Driver
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.words import Command, ControllerState, Kind, packed_state
from reassure.spec.kafka.partition import NOBODY, Broker, Partition

HERE = Path(__file__).parent


def writing_driver() -> str:
    """The driver's text, with calls that write down what is replayed."""
    text = java_source()
    replay = "private void replay(ApiMessage message) throws Exception {\n"
    loop = "        for (ApiMessageAndVersion record : records) {\n            if (text"
    end = "        if (!records.isEmpty()) {\n            read();"
    for place in (replay, loop, end):
        assert text.count(place) == 1, place
    text = text.replace(replay, replay + "        LogWriter.replayed(message);\n")
    text = text.replace(loop, "        LogWriter.answered(records);\n" + loop)
    return text.replace(end, "        LogWriter.done();\n" + end)


def random_command(rng: random.Random, brokers: int) -> Command:
    kind = rng.choice([*[Kind.REASSIGN, Kind.PROPOSE] * 4, *[Kind.FENCE, Kind.UNFENCE] * 3, *Kind])
    everybody = list(range(1, brokers + 1))
    if kind is Kind.REASSIGN:
        return Command(kind, 0, tuple(rng.sample(everybody, rng.randrange(1, brokers + 1))))
    if kind is Kind.PROPOSE:
        return Command(kind, 0, tuple(b for b in everybody if rng.random() < 0.7))
    if kind is Kind.ALTER_PARTITION:
        return Command(Kind.CANCEL)
    return Command(kind, rng.choice(everybody))


def write_log(version: str, path: Path, seed: int, steps: int, brokers: int = 4, min_isr: int = 2) -> None:
    """A log of what a release's controller does under random commands."""
    found = fetch(release(version))
    rng = random.Random(seed)
    start = Partition(
        tuple(Broker(n) for n in (1, 2, 3)), frozenset(Broker(n) for n in (1, 2, 3)), NOBODY, NOBODY, NOBODY,
        Broker(1), 0, 0, False, None,
    )  # fmt: skip
    everybody = frozenset(Broker(n) for n in range(1, brokers + 1))
    state = ControllerState(start, everybody, (0,) * brokers, rng.random() < 0.5)
    with tempfile.TemporaryDirectory() as made:
        classes = Path(made) / "classes"
        writer = (HERE / "LogWriter.java").read_text()
        if version >= "4.3":  # where these classes moved to
            writer = writer.replace("kafka.common.record.", "kafka.common.record.internal.")
        sources = {"ControllerDriver.java": writing_driver(), "LogWriter.java": writer}
        compiled_java(tool("javac"), list(found.jars), sources, classes)
        features = "" if version.startswith("3.") else "eligible.leader.replicas.version=1"
        options = (*OPTIONS, f"-Dlog.file={path}", f"-Dlog.features={features}")
        with (
            mock.patch.object(drivers, "OPTIONS", options),
            Driver(ClassPath(found.release, classes, found.jars)) as jvm,
        ):
            jvm.begin(brokers, min_isr)
            for number in range(steps):
                jvm.describe((*packed_state(state), *random_command(rng, brokers).words(number == 0)))


def dumped(path: Path, class_path: str) -> str:
    """What Kafka's own tool prints of a segment. class_path: of `kafka_2.13` or `kafka-tools`."""
    words = ["kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--print-data-log", "--files", str(path)]
    ran = subprocess.run([tool("java"), "-cp", class_path, *words], capture_output=True, text=True, check=True)
    return ran.stdout.replace(str(path.parent) + os.sep, "")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for number, version in enumerate(("3.9.0", "4.1.0", "4.4.0")):
        write_log(version, folder / f"{version}.log", number, 150)
