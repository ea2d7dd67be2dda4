"""The table of what is read of Kafka's tools, for a page."""

from __future__ import annotations

from reassure.checkers.kafka.printed.tool_formats import FORMATS, OTHER_JSON, OWN, RELEASES


def table() -> str:
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
