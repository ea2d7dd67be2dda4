"""The formats that Kafka's tools print: which of them are read, as what, and what to take in place of the others."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class ToolFormat:
    """A format of a tool. seen: what tells it from the others. content: what is read of it; "" of one that is refused.

    instead: of a refused one, what to take.
    """

    tool: str
    output: str
    seen: re.Pattern[str]
    content: str = ""
    instead: str = ""

    @property
    def name(self) -> str:
        """The tool with its option."""
        return f"{self.tool} {self.output}".strip()


RELEASES = "3.9, 4.0, 4.1, 4.2, 4.3, 4.4"
"""Of Kafka, whose tools' output the tests read; other releases print the same words, as far as is known."""
DESCRIBE = "kafka-topics --describe"
FORMATS = (
    ToolFormat(
        "kafka-topics",
        "--describe",
        re.compile(r"^[ \t]*Topic:[ \t]*\S+[ \t]", re.M),
        "replicas, leader, ISR, ELR, what is under way; of lines with Configs MinISR and unclean election",
    ),
    ToolFormat(
        "kafka-reassign-partitions",
        "--list",
        re.compile(r"^(Current partition reassignments:|No partition reassignments found\.)", re.M),
        "replicas, targets of the reassignments under way",
    ),
    ToolFormat(
        "kafka-reassign-partitions",
        "--generate",
        re.compile(r"^Proposed partition reassignment configuration", re.M),
        "the current and the proposed assignment",
    ),
    ToolFormat(
        "kafka-reassign-partitions",
        "--execute",
        re.compile(r"^Current partition replica assignment", re.M),
        "the assignment before",
    ),
    ToolFormat(
        "kafka-reassign-partitions",
        "--verify",
        re.compile(r"^(Status of partition reassignment:|Reassignment of partition \S+ is )", re.M),
        instead="it has no replicas: take the output of kafka-reassign-partitions --list",
    ),
    ToolFormat(
        "kafka-dump-log",
        "--cluster-metadata-decoder",
        re.compile(r"^(Dumping |baseOffset: )", re.M),
        "brokers, racks, configurations, partitions; also with --skip-record-metadata",
    ),
    ToolFormat(
        "kafka-configs",
        "--describe",
        re.compile(r"^(Dynamic c|C|All c)onfigs for ", re.M),
        instead="it has no partitions: write MinISR into the cluster's file",
    ),
    ToolFormat(
        "kafka-metadata-quorum",
        "describe",
        re.compile(r"^(ClusterId:|(NodeId|ReplicaId)\t)", re.M),
        instead=f"it has no partitions: take the output of {DESCRIBE}, or a metadata log",
    ),
    ToolFormat(
        "kcat",
        "-L",
        re.compile(r"^Metadata for .*\(from broker ", re.M),
        instead=f"take the output of {DESCRIBE}",
    ),
)
"""Of text. One before another is looked for first."""


@dataclass(frozen=True)
class JsonFormat:
    """JSON of a tool that is not an assignment. keys: those of its object, all of them. instead: what to take."""

    tool: str
    keys: frozenset[str]
    instead: str


OWN = "a cluster's file of reassure plan"
OTHER_JSON = (
    JsonFormat("kcat -L -J", frozenset({"brokers", "topics", "originating_broker"}), f"the output of {DESCRIBE}"),
    JsonFormat("kafka-log-dirs --describe", frozenset({"version", "brokers"}), f"the output of {DESCRIBE}"),
    JsonFormat(
        "Cruise Control", frozenset({"proposals"}), "the output of kafka-reassign-partitions --generate or --list"
    ),
    JsonFormat(OWN, frozenset({"brokers"}), "it for --cluster; here an assignment"),
)
"""Of objects, by their keys; the most keys first."""
NOISE = re.compile(
    r"^(\[\d{4}-\d\d-\d\d[ T][\d:,.]+\] (TRACE|DEBUG|INFO|WARN|ERROR)\b"  # Kafka's logger
    r"|\d{4}-\d\d-\d\d[ T][\d:,.]+ +(TRACE|DEBUG|INFO|WARN|ERROR)\b"
    r"|SLF4J|log4j:|WARNING:|OpenJDK .* warning:|Picked up (_JAVA|JAVA_TOOL)_OPTIONS|Java HotSpot.* warning:"
    r"|[\w@.:~/\[\] -]*[$#>%] +\S*kafka-[a-z-]+(\.sh|\.bat)?\b)"  # a shell's prompt, with the command
)
"""A line that a logger, the Java machine or the shell prints beside the output of a tool."""


def cleaned(text: str) -> str:
    """The output of a tool without marks of an encoding, carriage returns, and lines of loggers and prompts."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    return "\n".join(line for line in lines if NOISE.match(line) is None)


def format_of(text: str) -> ToolFormat | None:
    """The format that a text has; None if it is no text of a tool."""
    return next((one for one in FORMATS if one.seen.search(text) is not None), None)


def other_json(data: object) -> JsonFormat | None:
    """The tool that prints such JSON, of those that print no assignment."""
    if not isinstance(data, dict):
        return None
    return next((one for one in OTHER_JSON if one.keys <= data.keys()), None)


def called(text: str) -> str:
    """The output that a text is, in words, where it is known; "" where not."""
    if (tool := format_of(text)) is not None:
        return f"output of {tool.name}"
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    other = other_json(data)
    return f"JSON of {other.tool}" if other is not None else "JSON"


def what_is_read() -> str:
    """The formats that are read, in a line."""
    names = [one.name for one in FORMATS if one.content]
    return f"Kafka's reassignment JSON, a metadata log, and the output of {', '.join(names)}"


def formats_table() -> str:
    """Tools, releases and formats that are read, and those that are refused, in Markdown."""
    rows = [
        "| output of | releases of the tests | what is read |",
        "|---|---|---|",
        "| reassignment JSON, with or without `version` | all | replicas; other keys are read over, with a note |",
        "| metadata log: a folder, segment or snapshot | 3.9 to 4.4 | brokers, racks, configurations, partitions |",
    ]
    for one in FORMATS:
        content = one.content or f"refused: {one.instead}"
        rows.append(f"| `{one.name}` | {RELEASES if one.content else 'any'} | {content} |")
    rows += [f"| JSON of {one.tool} | any | refused: take {one.instead} |" for one in OTHER_JSON if one.tool != OWN]
    return "\n".join(rows)
