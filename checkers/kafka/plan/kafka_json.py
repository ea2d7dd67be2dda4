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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from reassure.checkers.kafka.audit.ending import UNREGISTERED
from reassure.checkers.kafka.plan.cluster_file import Assignment, ClusterFile, Replicas
from reassure.checkers.kafka.plan.present import is_log, metadata_log
from reassure.checkers.kafka.printed.shell_output import (
    MIN_ISR,
    UNCLEAN,
    Described,
    DescribedPartition,
    Key,
    described,
    generated,
    listed,
)
from reassure.checkers.kafka.printed.tool_formats import OWN, cleaned, format_of, other_json, what_is_read
from reassure.checkers.machine.atomic_files import did_you_mean
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.traces.plain_json import keys_once
from reassure.spec.kafka.releases import RELEASES_OF_RULES, rules_of
from reassure.spec.semantics.trace import JsonObject, read_text

T = TypeVar("T")
LOG_DIRS, CORDONED = "log.dirs", "cordoned.log.dirs"
KEYS, DISKS = ("topic", "partition", "replicas"), "log_dirs"
"""What a partition has in Kafka's JSON, and may have."""
INT32 = (1 << 31) - 1


TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""The names that Kafka takes (`Topic.validate` of its clients), beside . and .."""
_shortened = reprlib.Repr()
_shortened.maxstring = 80
_short = _shortened.repr
"""A value as a message quotes it."""


def partition_name(partition: Key) -> str:
    """As Kafka writes it."""
    return f"{partition[0]}-{partition[1]}"


def _wrong(path: Path, what: str) -> NoReturn:
    raise Failure(Exit.CONFIG, f"{path}: {what}")


def _text(path: Path) -> str:
    """The text of a file, without what a logger, a shell or an editor puts beside it."""
    try:
        if path.is_file() and path.read_bytes()[:2] in (b"\xff\xfe", b"\xfe\xff"):  # as PowerShell redirects output
            return cleaned(path.read_text(encoding="utf-16"))
        return cleaned(read_text(path))
    except OSError as error:
        raise Failure(Exit.USAGE, f"{path}: {error.strerror}{did_you_mean(path)}") from None
    except ValueError as error:
        raise Failure(Exit.USAGE, f"{path} is neither JSON nor text: {error}") from None


def _json(path: Path, text: str) -> Any:
    """The JSON of a file; `Failure` for another text says what was seen and what is read."""
    if not text.lstrip().startswith(("{", "[")):
        if (tool := format_of(text)) is not None:
            why = tool.instead or "it has no partition that can be read"
            raise Failure(Exit.USAGE, f"{path} is output of {tool.name}: {why}")
        begin = _short(next(iter(text.split()), "")) if text.strip() else "nothing"
        raise Failure(Exit.USAGE, f"{path} is not JSON: it begins with {begin}; what is read: {what_is_read()}")
    try:
        return json.loads(text, object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:
        raise Failure(Exit.USAGE, f"{path} is not JSON: {error}") from None


def _of_tool(path: Path, read: Callable[..., T], *text: str) -> T:
    """What a reader of a tool's output gives; `Failure` where it finds a fault."""
    try:
        return read(*text)
    except ValueError as error:
        _wrong(path, str(error))


def _topic(path: Path, value: Any) -> str:
    if not isinstance(value, str) or value in (".", "..") or TOPIC.fullmatch(value) is None:
        _wrong(path, f"a topic is a name of letters, digits, '.', '_' and '-', not {_short(value)}")
    return value


def _object(path: Path, value: Any, keys: Iterable[str], needed: Iterable[str], what: str) -> JsonObject:
    if not isinstance(value, dict):
        _wrong(path, f"{what} is an object, not {_short(value)}")
    if unknown := sorted(set(value) - set(keys)):
        _wrong(path, f"{what} has no {_short(unknown[0])}; it has {', '.join(keys)}")
    if missing := [key for key in needed if key not in value]:
        _wrong(path, f"{what} has no {missing[0]}")
    return value


def _number(path: Path, value: Any, least: int, what: str) -> int:
    if type(value) is not int or not least <= value <= INT32:
        _wrong(path, f"{what} is a whole number of at least {least}, not {_short(value)}")
    return int(value)


def read_cluster(path: Path) -> ClusterFile:
    """The cluster that a file or a metadata log describes; `Failure` names what is wrong with it."""
    if is_log(path):
        return metadata_log(path).cluster
    text = _text(path)
    if (topics_of := _of_tool(path, described, text)) is not None:
        brokers = {b for p in topics_of.partitions.values() for b in p.replicas}
        elr = True if any(p.elr for p in topics_of.partitions.values()) else None
        return ClusterFile(
            dict.fromkeys(sorted(brokers)), None, topics_of.min_isr, described=True, unclean=topics_of.unclean, elr=elr
        )
    data = _json(path, text)
    _must_not_be_of_another_tool(path, data, OWN)
    _object(path, data, ("brokers", MIN_ISR, UNCLEAN, "topics", "release"), ("brokers",), "a cluster")
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
    topics: dict[str, int] = {}
    unclean: dict[str, bool] = {}
    of_topics = data.get("topics", {})
    if not isinstance(of_topics, dict):
        _wrong(path, f"topics is an object, not {_short(of_topics)}")
    for topic, value in of_topics.items():
        entry = _object(path, value, (MIN_ISR, UNCLEAN), (), f"topic {_topic(path, topic)}")
        if not entry:
            _wrong(path, f"topic {topic} has no {MIN_ISR}")
        if MIN_ISR in entry:
            topics[topic] = _number(path, entry[MIN_ISR], 1, f"{MIN_ISR} of {topic}")
        if UNCLEAN in entry:
            unclean[topic] = _switch(path, entry[UNCLEAN], f"{UNCLEAN} of {topic}")
    least = _number(path, data.get(MIN_ISR, 1), 1, MIN_ISR)
    cluster = ClusterFile(racks, least, topics, frozenset(cordoned), unclean=unclean, takes_default=MIN_ISR not in data)
    if "release" in data:
        release = data["release"]
        cluster.releases = (rules_of(release) if isinstance(release, str) else "",)
        if cluster.releases == ("",):
            known = ", ".join(RELEASES_OF_RULES)
            _wrong(path, f"release {_short(release)} is not known; there are {known} and their patch releases")
    cluster.may_lose = _switch(path, data.get(UNCLEAN, False), UNCLEAN)
    return cluster


def _switch(path: Path, value: Any, what: str) -> bool:
    if type(value) is not bool:
        _wrong(path, f"{what} is true or false, not {_short(value)}")
    return value


def _must_not_be_of_another_tool(path: Path, data: Any, *own: str) -> None:
    """`Failure` for JSON of a tool that prints no such file, with what to take."""
    if (tool := other_json(data)) is not None and tool.tool not in own:
        raise Failure(Exit.USAGE, f"{path} is JSON of {tool.tool}: take {tool.instead}")


def _cordoned(path: Path, broker: JsonObject, number: int) -> bool:
    """Whether all log directories of a broker are cordoned, by its configurations."""
    names: dict[str, set[str]] = {}
    for key in (LOG_DIRS, CORDONED):
        value = broker.get(key, "")
        if not isinstance(value, str):
            _wrong(path, f"{key} of broker {number} is a text such as '/a,/b', not {_short(value)}")
        names[key] = {part.strip() for part in value.split(",") if part.strip()}
    if names[CORDONED] == {"*"}:
        return True
    if strange := sorted(names[CORDONED] - names[LOG_DIRS]):
        _wrong(path, f"{CORDONED} of broker {number} has {_short(strange[0])}, which is not in its {LOG_DIRS}")
    return bool(names[CORDONED]) and names[CORDONED] == names[LOG_DIRS]


@dataclass(frozen=True)
class AssignmentFile:
    """What a file says of partitions. under_way: the reassignments under way by a log or a tool's output.

    disks: partitions that name a log directory, to which no move is judged. unknown: keys that no tool of Kafka reads.
    """

    replicas: Assignment
    under_way: int = 0
    disks: int = 0
    unknown: tuple[str, ...] = ()


def read_assignment(path: Path, cluster: ClusterFile, part: str = "proposed") -> AssignmentFile:
    """The partitions of a file in Kafka's JSON, on brokers of this cluster; `Failure` names what is wrong with it.

    The file may also be what `kafka-topics --describe` or `kafka-reassign-partitions --list` prints, or `--generate`,
    which has two assignments, or a metadata log. part: which of them, `current` or `proposed`; of a log the replicas
    before what is under way, or the targets of that.
    """
    present = part == "current"

    def placed(assigned: Iterable[tuple[Key, Any]]) -> Assignment:
        return {key: _replicas(path, value, partition_name(key), cluster, present) for key, value in assigned}

    if is_log(path):
        log = metadata_log(path)
        states, under_way = log.before if present else log.running, len(log.running)
    elif (printed := _printed(path, text := _text(path))) is not None:
        states = {key: p.before if present else p.target for key, p in printed.items()}
        under_way = sum(p.moving for p in printed.values())
    else:
        data = _partitions(path, text, part)
        entries = data["partitions"]
        replicas = placed(((entry["topic"], entry["partition"]), entry["replicas"]) for entry in entries)
        keys = {key for entry in entries for key in entry} - {*KEYS, DISKS} | (set(data) - {"version", "partitions"})
        disks = sum(any(disk != "any" for disk in entry.get(DISKS, [])) for entry in entries)
        return AssignmentFile(replicas, 0, disks, tuple(_short(key)[1:-1] for key in sorted(keys)))
    if not states:
        raise Failure(Exit.NOTHING, f"{path}: no reassignment is under way")
    return AssignmentFile(placed((key, list(row)) for key, row in states.items()), under_way)


def _printed(path: Path, text: str) -> dict[Key, DescribedPartition] | None:
    """The partitions that `kafka-topics --describe` or `kafka-reassign-partitions --list` prints; None for others."""
    topics_of = _of_tool(path, described, text)
    return _of_tool(path, listed, text) if topics_of is None else topics_of.partitions


def _partitions(path: Path, text: str, part: str) -> JsonObject:
    """Kafka's JSON: like Kafka's tool, a file without a version is of version 1, and other keys are read over."""
    own = _of_tool(path, generated, text, part)
    if own == "":
        _wrong(path, f"it has no {part} assignment")
    data = _json(path, text if own is None else own)
    _must_not_be_of_another_tool(path, data)
    if not isinstance(data, dict):
        _wrong(path, f"a reassignment is an object, not {_short(data)}")
    if type(version := data.get("version", 1)) is not int or version != 1:
        _wrong(path, f"version {_short(version)} of the format is not supported; only version 1 is")
    entries = data.get("partitions")
    if not isinstance(entries, list) or not entries:
        _wrong(path, "partitions is a list of at least one")
    seen: set[Key] = set()
    for entry in entries:
        if not isinstance(entry, dict):
            _wrong(path, f"a partition is an object, not {_short(entry)}")
        if missing := [key for key in KEYS if key not in entry]:
            _wrong(path, f"a partition has no {missing[0]}")
        topic = _topic(path, entry["topic"])
        partition = (topic, _number(path, entry["partition"], 0, f"a partition of {topic}"))
        if partition in seen:
            _wrong(path, f"{partition_name(partition)} is listed twice")
        seen.add(partition)
        _must_be_disks(path, entry, partition_name(partition))
    return data


def description(path: Path) -> Described | None:
    """What `kafka-topics --describe` prints; None for another file."""
    return None if is_log(path) else _of_tool(path, described, _text(path))


def _must_be_disks(path: Path, entry: JsonObject, of: str) -> None:
    disks = entry.get(DISKS, [])
    if not isinstance(disks, list) or not all(isinstance(disk, str) for disk in disks):
        _wrong(path, f"{of}: log_dirs is a list of texts, not {disks!r}")
    if disks and isinstance(entry["replicas"], list) and len(disks) != len(entry["replicas"]):
        _wrong(path, f"{of}: log_dirs has {len(disks)} entries for {len(entry['replicas'])} replicas")


def _replicas(path: Path, value: Any, of: str, cluster: ClusterFile, present: bool) -> Replicas:
    """A list of replicas. present: it is there, so that a broker which the cluster does not have is a fault of it."""
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
    elif unknown and present and cluster.of_log:
        cluster.racks.update(dict.fromkeys(unknown))
        cluster.faults.update(dict.fromkeys(unknown, UNREGISTERED))
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
