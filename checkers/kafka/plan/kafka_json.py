"""The files of `reassure plan`: a cluster in a few lines of JSON, and reassignments in Kafka's own JSON.

{"brokers": [{"id": 1, "rack": "a"}, {"id": 2, "log.dirs": "/a,/b", "cordoned.log.dirs": "*"}], "release": "4.4.0",
 "min.insync.replicas": 1, "topics": {"t": {"min.insync.replicas": 2}}}

Names with dots are those of configurations, with the values that `kafka-configs.sh --describe` prints.

A file that cannot be read, or is not JSON, is a wrong command line; what it says being wrong is a wrong configuration.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from reassure.checkers.kafka.plan.metadata_log import is_log, metadata_log
from reassure.checkers.kafka.plan.shell_output import Described, described, generated
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.missing_file import did_you_mean
from reassure.checkers.traces.plain_json import keys_once
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
    described: bool = False
    """Whether it is of `kafka-topics --describe`, which has no racks, and no brokers without replicas."""

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


TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""The names that Kafka takes (`Topic.validate` of its clients), beside . and .."""


def _wrong(path: Path, what: str) -> NoReturn:
    raise Failure(Exit.CONFIG, f"{path}: {what}")


def _text(path: Path) -> str:
    try:
        if path.is_file() and path.read_bytes()[:2] in (b"\xff\xfe", b"\xfe\xff"):  # as PowerShell redirects output
            return path.read_text(encoding="utf-16")
        return read_text(path).removeprefix("\ufeff")  # some editors begin a file with a mark of the encoding
    except OSError as error:
        raise Failure(Exit.USAGE, f"{path}: {error.strerror}{did_you_mean(path)}") from None
    except ValueError as error:
        raise Failure(Exit.USAGE, f"{path} is not JSON: {error}") from None


def _json(path: Path, text: str | None = None) -> Any:
    try:
        return json.loads(_text(path) if text is None else text, object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:
        raise Failure(Exit.USAGE, f"{path} is not JSON: {error}") from None


def _described(path: Path, text: str) -> Described | None:
    try:
        return described(text)
    except ValueError as error:
        _wrong(path, str(error))


def _generated(path: Path, text: str, part: str) -> str | None:
    try:
        return generated(text, part)
    except ValueError as error:
        _wrong(path, str(error))


_shortened = reprlib.Repr()
_shortened.maxstring = 80


def _short(value: Any) -> str:
    """A value as a message quotes it."""
    return _shortened.repr(value)


def _topic(path: Path, value: Any) -> str:
    if not isinstance(value, str) or value in (".", "..") or TOPIC.fullmatch(value) is None:
        _wrong(path, f"a topic is a name of letters, digits, '.', '_' and '-', not {_short(value)}")
    return value


def _object(path: Path, value: Any, keys: Iterable[str], needed: Iterable[str], what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _wrong(path, f"{what} is an object, not {_short(value)}")
    unknown = sorted(set(value) - set(keys))
    if unknown:
        _wrong(path, f"{what} has no {_short(unknown[0])}; it has {', '.join(keys)}")
    missing = [key for key in needed if key not in value]
    if missing:
        _wrong(path, f"{what} has no {missing[0]}")
    return value


def _number(path: Path, value: Any, least: int, what: str) -> int:
    if type(value) is not int or not least <= value <= INT32:
        _wrong(path, f"{what} is a whole number of at least {least}, not {_short(value)}")
    return int(value)


def read_cluster(path: Path) -> ClusterFile:
    """The cluster that a file or a metadata log describes; `Failure` names what is wrong with it."""
    if is_log(path):
        log = metadata_log(path)
        brokers_of = sorted(log.history.brokers.items())
        closed = frozenset(n for n, b in brokers_of if b.directories and b.directories <= b.cordoned)
        return ClusterFile({n: b.rack or None for n, b in brokers_of}, log.min_isr, log.topics, closed)
    text = _text(path)
    if (topics_of := _described(path, text)) is not None:
        brokers = {b for replicas in topics_of.replicas.values() for b in replicas}
        return ClusterFile(dict.fromkeys(sorted(brokers)), topics=topics_of.min_isr, described=True)
    data = _object(path, _json(path, text), ("brokers", MIN_ISR, "topics", "release"), ("brokers",), "a cluster")
    if not isinstance(data["brokers"], list) or not data["brokers"]:
        _wrong(path, "brokers is a list of at least one")
    racks: dict[int, str | None] = {}
    cordoned = []
    for entry in data["brokers"]:
        broker = _object(path, entry, ("id", "rack", LOG_DIRS, CORDONED), ("id",), "a broker")
        number = _number(path, broker["id"], 0, "a broker's id")
        rack = broker.get("rack")
        if rack is not None and not (isinstance(rack, str) and rack.isprintable()):
            _wrong(path, f"the rack of broker {number} is a text, not {_short(rack)}")
        if number in racks:
            _wrong(path, f"broker {number} is listed twice")
        racks[number] = rack
        if _cordoned(path, broker, number):
            cordoned.append(number)
    topics = {}
    listed = data.get("topics", {})
    if not isinstance(listed, dict):
        _wrong(path, f"topics is an object, not {_short(listed)}")
    for topic, value in listed.items():
        entry = _object(path, value, (MIN_ISR,), (MIN_ISR,), f"topic {_topic(path, topic)}")
        topics[topic] = _number(path, entry[MIN_ISR], 1, f"{MIN_ISR} of {topic}")
    least = _number(path, data.get(MIN_ISR, 1), 1, MIN_ISR)
    newest = max(RELEASES_OF_RULES, key=numbers)
    release = data.get("release", newest)
    rules = rules_of(release) if isinstance(release, str) else None
    if not rules:
        releases = ", ".join(RELEASES_OF_RULES)
        _wrong(path, f"release {_short(release)} is not known; there are {releases} and their patch releases")
    return ClusterFile(racks, least, topics, frozenset(cordoned), rules)


def _cordoned(path: Path, broker: dict[str, Any], number: int) -> bool:
    """Whether all log directories of a broker are cordoned, by its configurations."""
    names: dict[str, set[str]] = {}
    for key in (LOG_DIRS, CORDONED):
        value = broker.get(key, "")
        if not isinstance(value, str):
            _wrong(path, f"{key} of broker {number} is a text such as '/a,/b', not {_short(value)}")
        names[key] = {part.strip() for part in value.split(",") if part.strip()}
    if names[CORDONED] == {"*"}:
        return True
    strange = sorted(names[CORDONED] - names[LOG_DIRS])
    if strange:
        _wrong(path, f"{CORDONED} of broker {number} has {_short(strange[0])}, which is not in its {LOG_DIRS}")
    return bool(names[CORDONED]) and names[CORDONED] == names[LOG_DIRS]


def read_assignment(path: Path, cluster: ClusterFile, part: str = "proposed") -> Assignment:
    """The partitions of a file in Kafka's JSON, on brokers of this cluster; `Failure` names what is wrong with it.

    The file may also be what `kafka-topics --describe` prints, or `kafka-reassign-partitions --generate`, which has two
    assignments, or a metadata log. part: which of them, `current` or `proposed`; of a log the replicas before what is
    under way, or the targets of that.
    """
    if is_log(path):
        log = metadata_log(path)
        found = log.before if part == "current" else log.running
        if not found:
            raise Failure(Exit.NOTHING, f"{path}: no reassignment is under way")
        return {p: _replicas(path, list(replicas), name(p), cluster) for p, replicas in found.items()}
    text = _text(path)
    if (topics_of := _described(path, text)) is not None:
        own_replicas = topics_of.before if part == "current" else topics_of.targets
        return {p: _replicas(path, replicas, name(p), cluster) for p, replicas in own_replicas.items()}
    own = _generated(path, text, part)
    if own == "":
        _wrong(path, f"it has no {part} assignment")
    text = text if own is None else own
    data = _object(path, _json(path, text), ("version", "partitions"), ("version", "partitions"), "a reassignment")
    if type(data["version"]) is not int or data["version"] != 1:
        _wrong(path, f"version {_short(data['version'])} of the format is not supported; only version 1 is")
    if not isinstance(data["partitions"], list) or not data["partitions"]:
        _wrong(path, "partitions is a list of at least one")
    assignment: Assignment = {}
    for value in data["partitions"]:
        keys = ("topic", "partition", "replicas")
        entry = _object(path, value, (*keys, "log_dirs"), keys, "a partition")
        topic = _topic(path, entry["topic"])
        partition = (topic, _number(path, entry["partition"], 0, f"a partition of {topic}"))
        if partition in assignment:
            _wrong(path, f"{name(partition)} is listed twice")
        assignment[partition] = _replicas(path, entry["replicas"], name(partition), cluster)
        _must_be_disks(path, entry, name(partition))
    return assignment


def _must_be_disks(path: Path, entry: dict[str, Any], of: str) -> None:
    disks = entry.get("log_dirs", [])
    if not isinstance(disks, list) or not all(isinstance(disk, str) for disk in disks):
        _wrong(path, f"{of}: log_dirs is a list of texts, not {disks!r}")
    if disks and len(disks) != len(entry["replicas"]):
        _wrong(path, f"{of}: log_dirs has {len(disks)} entries for {len(entry['replicas'])} replicas")


def named_disks(path: Path) -> int:
    """The partitions of a proposal that name a log directory: a move between disks, which is not judged."""
    if is_log(path):
        return 0
    own = _generated(path, _text(path), "proposed")
    data = _json(path, own)
    return sum(any(disk != "any" for disk in entry.get("log_dirs", [])) for entry in data["partitions"])


def under_way(path: Path) -> int:
    """The reassignments under way by a metadata log, or by what `kafka-topics --describe` prints."""
    if is_log(path):
        return len(metadata_log(path).running)
    topics_of = _described(path, _text(path))
    return topics_of.running if topics_of is not None else 0


def out_of_sync(paths: Iterable[Path]) -> list[str]:
    """The partitions that a replica is out of sync of, by what `kafka-topics --describe` prints or by a metadata log.

    In order of name.
    """
    found = (metadata_log(path) if is_log(path) else _described(path, _text(path)) for path in paths)
    return sorted({f"{topic}-{n}" for one in found if one is not None for topic, n in one.out_of_sync})


def _replicas(path: Path, value: Any, of: str, cluster: ClusterFile) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(b) is int for b in value):
        _wrong(path, f"{of}: replicas is a list of broker ids, not {_short(value)}")
    if not value:
        _wrong(path, f"{of} has no replicas")
    broker, times = Counter(value).most_common(1)[0]
    if times > 1:
        _wrong(path, f"{of}: broker {broker} has two replicas")
    unknown = [b for b in value if b not in cluster.racks]
    if unknown and cluster.described:
        cluster.racks.update(dict.fromkeys(unknown))
    elif unknown:
        _wrong(path, f"{of}: broker {unknown[0]} is not in the cluster")
    return tuple(value)


def write_assignment(assignment: Assignment) -> str:
    """Kafka's JSON, one partition on a line."""
    lines = [
        json.dumps({"topic": topic, "partition": number, "replicas": list(replicas)})
        for (topic, number), replicas in sorted(assignment.items())
    ]
    return '{"version": 1, "partitions": [\n  ' + ",\n  ".join(lines) + "\n]}\n"
