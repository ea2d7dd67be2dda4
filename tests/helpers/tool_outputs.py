"""What Kafka's own shell tools print about a cluster of real brokers, for the tests of what reads it.

`python -m tests.helpers.tool_outputs RELEASE ...` starts brokers of each release from the jars that Maven Central has,
and writes the outputs to `kept_outputs/RELEASE.txt`. It takes some minutes a release.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from reassure.checkers.kafka.cluster.distribution import distribution
from reassure.checkers.kafka.cluster.processes import CONTROLLER, Cluster
from reassure.checkers.kafka.controller.class_path import MAVEN_SECONDS, QUICK, resolved_jars, tool
from reassure.checkers.kafka.controller.releases import release

KEPT = Path(__file__).parent / "kept_outputs"
SECONDS = 400
SESSION = 15
"""Seconds after which a broker that was killed is fenced, and a little more."""
SETTINGS = {"min.insync.replicas": "2"}
REASSIGN, TOPICS = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "org.apache.kafka.tools.TopicCommand"
PRODUCE = "org.apache.kafka.tools.ProducerPerformance"
FOLDERS = re.compile(r"/[^\s\",]*/(?=broker-|controller/)")


class Tools:
    """The shell tools of a release, for a cluster."""

    def __init__(self, version: str, cluster: Cluster) -> None:
        coordinates = [f"org.apache.kafka:{name}:{version}" for name in ("kafka_2.13", "kafka-tools")]
        jars = resolved_jars(tool("mvn"), [*coordinates, "org.slf4j:slf4j-nop:1.7.36"], MAVEN_SECONDS)
        self.begin = [tool("java"), *QUICK, "-cp", os.pathsep.join(map(str, jars))]
        self.cluster = cluster
        self.kept: dict[str, str] = {}

    def say(self, name: str, main: str, *arguments: str) -> str:
        """What a tool prints, which is kept by this name unless it is empty."""
        ran = subprocess.run(
            [*self.begin, main, *arguments], capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
        if ran.returncode not in (0, 1) or "Could not find or load main class" in ran.stderr:
            raise SystemExit(f"{main} {arguments}: {ran.stdout}{ran.stderr}")
        text = FOLDERS.sub("/kafka/", ran.stdout)
        if name:
            self.kept[name] = text or ran.stderr
        return ran.stdout

    def topics(self, name: str, *arguments: str) -> str:
        """`kafka-topics`."""
        return self.say(name, TOPICS, "--bootstrap-server", self.cluster.addresses, *arguments)

    def reassign(self, name: str, *arguments: str) -> str:
        """`kafka-reassign-partitions`."""
        return self.say(name, REASSIGN, "--bootstrap-server", self.cluster.addresses, *arguments)


def write_outputs(version: str) -> None:
    """Every output that the tests read, of one release."""
    with Cluster(distribution(release(version)), 4, elr=not version.startswith("3."), settings=SETTINGS) as cluster:
        cluster.format()
        for number in cluster.nodes:
            cluster.start(number)
        tools = Tools(version, cluster)
        for _ in range(30):
            made = tools.topics("", "--create", "--topic", "orders", "--replica-assignment", "1:2:3,2:3:1")
            if "Created topic" in made or "already exists" in made:
                break
            time.sleep(2)
        tools.topics(
            "", "--create", "--topic", "a-b.c_1", "--replica-assignment", "4:1", "--config", "segment.bytes=1048576"
        )
        tools.topics("describe", "--describe")
        moves, target = cluster.folder / "topics.json", cluster.folder / "target.json"
        moves.write_text(json.dumps({"version": 1, "topics": [{"topic": "orders"}]}))
        target.write_text(
            json.dumps({"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [4, 2, 3]}]})
        )
        tools.reassign("generate", "--generate", "--topics-to-move-json-file", str(moves), "--broker-list", "2,3,4")
        tools.reassign("list-nothing", "--list")
        records = ["--num-records", "3000", "--record-size", "1000", "--throughput", "-1"]
        to_brokers = ["--producer-props", f"bootstrap.servers={cluster.addresses}"]
        tools.say("", PRODUCE, "--topic", "orders", *records, *to_brokers)
        # so slowly that it is under way for as long as the tools take
        tools.reassign("execute", "--execute", "--reassignment-json-file", str(target), "--throttle", "1000")
        tools.reassign("list", "--list")
        tools.reassign("verify", "--verify", "--reassignment-json-file", str(target), "--preserve-throttles")
        tools.topics("describe-moving", "--describe", "--topic", "orders")
        cluster.kill(2)
        cluster.kill(3)
        time.sleep(SESSION)
        tools.topics("describe-under-replicated", "--describe", "--under-replicated-partitions")
        cluster.kill(1)
        time.sleep(SESSION)
        tools.topics("describe-offline", "--describe")
        tools.topics("describe-unavailable", "--describe", "--unavailable-partitions")
        tools.reassign("list-offline", "--list")
        cluster.kill(CONTROLLER)
        decoded = ["--cluster-metadata-decoder", "--files", str(cluster.metadata / f"{0:020}.log")]
        old = tuple(map(int, version.split(".")[:2])) < (4, 3)
        dump = f"{'' if old else 'org.apache.'}kafka.tools.DumpLogSegments"
        tools.say("dump", dump, *decoded)
        tools.say("dump-without-metadata", dump, *decoded, "--skip-record-metadata")
    text = "".join(f"==> {name} <==\n{tools.kept[name]}" for name in sorted(tools.kept))
    (KEPT / f"{version}.txt").write_text(text, encoding="utf-8")


def unpacked(version: str, folder: Path) -> None:
    """Writes each kept output of a release to a file of its name."""
    _, *parts = re.split(r"^==> ([\w-]+) <==\n", (KEPT / f"{version}.txt").read_text(encoding="utf-8"), flags=re.M)
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        write_outputs(wanted)
