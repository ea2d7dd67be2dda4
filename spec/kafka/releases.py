"""Kafka's releases, and the name of the rules that each patch release goes by.

Rules bear the number of the minor version that had them first in a model (`models/kraft/kafka_controller.py`). A patch
release can have rules of the next minor version, if Kafka backported a change: `kafka conform --gate` and
`kafka explore --explain` decide it for each.
"""

import re
from collections.abc import Sequence

RELEASES_OF_RULES: dict[str, tuple[str, ...]] = {
    "3.9": ("3.9.0", "3.9.1", "3.9.2"),
    "4.0": ("4.0.0", "4.0.1", "4.0.2"),
    "4.1": ("4.1.0",),
    "4.2": ("4.1.1", "4.1.2", "4.2.0", "4.2.1", "4.2.2"),  # 4.1.1 has the change of 4.2 (PR 20655 of PR 20629)
    "4.3": ("4.3.0", "4.3.1"),
    "4.4": ("4.4.0",),
}
"""The releases that go by some rules, oldest first. A new release is one word here."""


def numbers(version: str) -> tuple[int, ...]:
    """The parts of a version, in whose order versions are sorted."""
    return tuple(int(part) for part in version.split("."))


def minor(version: str) -> str:
    """The minor version of a release: 4.3 of 4.3.1."""
    return ".".join(version.split(".")[:2])


def rules_of(name: str) -> str:
    """The name of rules by which a release goes, given as itself or as a release in the table; "" for another text."""
    fitting = (rules for rules, versions in RELEASES_OF_RULES.items() if name in (rules, *versions))
    return next(fitting, "")


def rules_in_name(name: str) -> tuple[str, tuple[str, ...]]:
    """A name without the rules at its end, and these: ", Kafka 4.3", or several in a row, ", Kafka 3.9 to 4.4".

    None for a name that ends otherwise, or names rules that are not in the table.
    """
    ending = re.search(r", Kafka (\d+\.\d+)(?: to (\d+\.\d+))?$", name)
    rules = list(RELEASES_OF_RULES)
    if ending is None or ending[1] not in rules or (ending[2] or ending[1]) not in rules:
        return name, ()
    return name[: ending.start()], tuple(rules[rules.index(ending[1]) : rules.index(ending[2] or ending[1]) + 1])


def releases_text(rules: str) -> str:
    """The releases that go by some rules, patches in a row as first and last: "4.1.1, 4.1.2, 4.2.0 to 4.2.2"."""
    rows: dict[str, list[str]] = {}
    for version in RELEASES_OF_RULES.get(rules, ()):
        rows.setdefault(minor(version), []).append(version)
    return ", ".join(_row(row) for row in rows.values())


def _row(versions: Sequence[str]) -> str:
    return f"{versions[0]} to {versions[-1]}" if len(versions) > 2 else ", ".join(versions)
