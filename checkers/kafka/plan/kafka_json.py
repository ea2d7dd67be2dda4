"""The files of `reassure plan`: a cluster in a few lines of JSON, and reassignments in Kafka's own JSON.

{"brokers": [{"id": 1, "rack": "a"}, {"id": 2, "log.dirs": "/a,/b", "cordoned.log.dirs": "*"}], "release": "4.4.0",
 "min.insync.replicas": 1, "topics": {"t": {"min.insync.replicas": 2}}}

Names with dots are those of configurations, with the values that `kafka-configs.sh --describe` prints.

A file that cannot be read, or is not JSON, is a wrong command line; what it says being wrong is a wrong configuration.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.missing_file import did_you_mean
from reassure.spec.kafka.releases import RELEASES_OF_RULES, numbers, rules_of
from reassure.spec.semantics.files import read_text

Partition = tuple[str, int]
"""A topic and a partition's number."""
Assignment = dict[Partition, tuple[int, ...]]
MIN_ISR = "min.insync.replicas"
LOG_DIRS, CORDONED = "log.dirs", "cordoned.log.dirs"
INT32 = (1 << 31) - 1


@dataclass(frozen=True)
class ClusterFile:
    """The brokers with their racks, and what counts as enough replicas in sync.

    cordoned: brokers whose log directories are all cordoned (KIP-1066). rules: of which release (`RELEASES_OF_RULES`).
    """

    racks: dict[int, str | None]
    min_isr: int = 1
    topics: dict[str, int] = field(default_factory=dict)
    cordoned: frozenset[int] = frozenset()
    rules: str = max(RELEASES_OF_RULES, key=numbers)

    @property
    def refuses_cordoned(self) -> bool:
        """Whether Kafka refuses a target with a cordoned broker, even one that has the replica: from 4.4.0 on."""
        return numbers(self.rules) >= (4, 4)

    def enough(self, topic: str) -> int:
        """The topic's min.insync.replicas."""
        return self.topics.get(topic, self.min_isr)

    def rack_of(self, replicas: Iterable[int]) -> set[str]:
        """The racks of these brokers, as far as they have one."""
        return {rack for b in replicas if (rack := self.racks[b]) is not None}


def name(partition: Partition) -> str:
    """As Kafka writes it."""
    return f"{partition[0]}-{partition[1]}"


def _wrong(path: Path, what: str) -> NoReturn:
    raise Failure(Exit.CONFIG, f"{path}: {what}")


def _json(path: Path) -> Any:
    try:
        return json.loads(read_text(path), object_pairs_hook=_once)
    except OSError as error:
        raise Failure(Exit.USAGE, f"{path}: {error.strerror}{did_you_mean(path)}") from None
    except (ValueError, RecursionError) as error:
        raise Failure(Exit.USAGE, f"{path} is not JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{max(keys, key=keys.count)!r} is listed twice")
    return data


def _object(path: Path, value: Any, keys: Iterable[str], needed: Iterable[str], what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _wrong(path, f"{what} is an object, not {value!r}")
    unknown = sorted(set(value) - set(keys))
    if unknown:
        _wrong(path, f"{what} has no {unknown[0]!r}; it has {', '.join(keys)}")
    missing = [key for key in needed if key not in value]
    if missing:
        _wrong(path, f"{what} has no {missing[0]}")
    return value


def _number(path: Path, value: Any, least: int, what: str) -> int:
    if type(value) is not int or not least <= value <= INT32:
        _wrong(path, f"{what} is a whole number of at least {least}, not {value!r}")
    return int(value)


def read_cluster(path: Path) -> ClusterFile:
    """The cluster that a file describes; `Failure` names what is wrong with it."""
    data = _object(path, _json(path), ("brokers", MIN_ISR, "topics", "release"), ("brokers",), "a cluster")
    if not isinstance(data["brokers"], list) or not data["brokers"]:
        _wrong(path, "brokers is a list of at least one")
    racks: dict[int, str | None] = {}
    cordoned = []
    for entry in data["brokers"]:
        broker = _object(path, entry, ("id", "rack", LOG_DIRS, CORDONED), ("id",), "a broker")
        number = _number(path, broker["id"], 0, "a broker's id")
        rack = broker.get("rack")
        if rack is not None and not isinstance(rack, str):
            _wrong(path, f"the rack of broker {number} is a text, not {rack!r}")
        if number in racks:
            _wrong(path, f"broker {number} is listed twice")
        racks[number] = rack
        if _cordoned(path, broker, number):
            cordoned.append(number)
    topics = {}
    listed = data.get("topics", {})
    if not isinstance(listed, dict):
        _wrong(path, f"topics is an object, not {listed!r}")
    for topic, value in listed.items():
        entry = _object(path, value, (MIN_ISR,), (MIN_ISR,), f"topic {topic}")
        topics[topic] = _number(path, entry[MIN_ISR], 1, f"{MIN_ISR} of {topic}")
    least = _number(path, data.get(MIN_ISR, 1), 1, MIN_ISR)
    newest = max(RELEASES_OF_RULES, key=numbers)
    rules = rules_of(str(data.get("release", newest)))
    if not rules:
        releases = ", ".join(RELEASES_OF_RULES)
        _wrong(path, f"release {data['release']!r} is not known; there are {releases} and their patch releases")
    return ClusterFile(racks, least, topics, frozenset(cordoned), rules)


def _cordoned(path: Path, broker: dict[str, Any], number: int) -> bool:
    """Whether all log directories of a broker are cordoned, by its configurations."""
    names: dict[str, set[str]] = {}
    for key in (LOG_DIRS, CORDONED):
        value = broker.get(key, "")
        if not isinstance(value, str):
            _wrong(path, f"{key} of broker {number} is a text such as '/a,/b', not {value!r}")
        names[key] = {part.strip() for part in value.split(",") if part.strip()}
    if names[CORDONED] == {"*"}:
        return True
    strange = sorted(names[CORDONED] - names[LOG_DIRS])
    if strange:
        _wrong(path, f"{CORDONED} of broker {number} has {strange[0]!r}, which is not in its {LOG_DIRS}")
    return bool(names[CORDONED]) and names[CORDONED] == names[LOG_DIRS]


def read_assignment(path: Path, cluster: ClusterFile) -> Assignment:
    """The partitions of a file in Kafka's JSON, on brokers of this cluster; `Failure` names what is wrong with it."""
    data = _object(path, _json(path), ("version", "partitions"), ("version", "partitions"), "a reassignment")
    if type(data["version"]) is not int or data["version"] != 1:
        _wrong(path, f"version {data['version']!r} of the format is not supported; only version 1 is")
    if not isinstance(data["partitions"], list) or not data["partitions"]:
        _wrong(path, "partitions is a list of at least one")
    assignment: Assignment = {}
    for value in data["partitions"]:
        keys = ("topic", "partition", "replicas")
        entry = _object(path, value, (*keys, "log_dirs"), keys, "a partition")
        if not isinstance(entry["topic"], str) or not entry["topic"]:
            _wrong(path, f"a topic is a name, not {entry['topic']!r}")
        partition = (entry["topic"], _number(path, entry["partition"], 0, f"a partition of {entry['topic']}"))
        if partition in assignment:
            _wrong(path, f"{name(partition)} is listed twice")
        assignment[partition] = _replicas(path, entry["replicas"], name(partition), cluster)
    return assignment


def _replicas(path: Path, value: Any, of: str, cluster: ClusterFile) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(b) is int for b in value):
        _wrong(path, f"{of}: replicas is a list of broker ids, not {value!r}")
    if not value:
        _wrong(path, f"{of} has no replicas")
    twice = [b for b in value if value.count(b) > 1]
    if twice:
        _wrong(path, f"{of}: broker {twice[0]} has two replicas")
    unknown = [b for b in value if b not in cluster.racks]
    if unknown:
        _wrong(path, f"{of}: broker {unknown[0]} is not in the cluster")
    return tuple(value)


def write_assignment(assignment: Assignment) -> str:
    """Kafka's JSON, one partition on a line."""
    lines = [
        json.dumps({"topic": topic, "partition": number, "replicas": list(replicas)})
        for (topic, number), replicas in sorted(assignment.items())
    ]
    return '{"version": 1, "partitions": [\n  ' + ",\n  ".join(lines) + "\n]}\n"
