"""The page of patches of Kafka: changes of nothing, faults, fixes of the findings, and how `kafka diff` shows each.

Its tables are of records that `reassure kafka patches ... --json` writes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict, cast

from reassure.checkers.ledger.ledger import PATHS
from reassure.checkers.ledger.markdown import table
from reassure.checkers.machine.exit_codes import SystemFailure

PATCHES, FINDINGS_FOLDER = "checkers/kafka/builds/patches", "docs/findings"
"""The folders of the patches, from the top."""
INTRODUCTION = """# Does `kafka diff` show a change?

Written by `python -m reassure.checkers.publish` from the records that the commands below write. Each patch is compiled
into a release of Kafka and compared with it, every command in every state: with two brokers, unclean election off and
on, and with `--brokers 3`, if these show no difference, with three, unclean election off. MinISR is 2, the partition
begins with two replicas. ISR proposals with old epochs are among the commands of two brokers. A run is the shortest to
a difference; its last step differs. Promises are those that one of the two builds breaks. Own tests are those of
Kafka's for the classes that reassign partitions. The seconds, of building a patch and exploring it, are those of two
cores with other work beside.

Every step that a fix changes is in a group: steps of one kind of command that differ in the same fields. "one build's
run": one build alone takes its steps before the last, so that they come after another difference. The price of a fix
is what is worse after the same commands than in the release, also after steps that were answered differently: the
shortest runs to it, of those commands that both take.
"""


@dataclass(frozen=True)
class Section:
    """A table of the page. file: of the record, among the traces. folder: of the patches. words: of the command."""

    title: str
    file: str
    folder: str
    words: str
    columns: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The file of the record."""
        return PATHS.traces / self.file

    @property
    def command(self) -> str:
        """The command that writes the record."""
        return f"reassure kafka patches {self.words} --json counterexamples/{self.file}"


SAME = Section(
    "Changes of no behaviour",
    "kafka-same.json",
    PATCHES,
    f"{PATCHES}/same-*.patch --own-tests",
    ("patch", "change", "states", "steps that differ", "own tests", "seconds"),
)
TOGETHER = Section(
    "All of them in one build, with three brokers",
    "kafka-together.json",
    PATCHES,
    f"{PATCHES}/same-*.patch --together --brokers 3",
    ("brokers", "states", "steps that differ", "seconds"),
)
FAULTS = Section(
    "Faults",
    "kafka-faults.json",
    PATCHES,
    f"{PATCHES}/fault-*.patch --brokers 3 --own-tests",
    ("patch", "change", "brokers", "steps that differ", "shortest run", "promises broken", "own tests", "seconds"),
)
FIXES = Section(
    "Fixes of the findings, with changes of min.insync.replicas and of unclean election",
    "kafka-fixes.json",
    FINDINGS_FOLDER,
    f"{FINDINGS_FOLDER}/fix-*.patch --configuration changes --groups --own-tests",
    ("patch", "change", "steps that differ", "promises kept anew", "promises broken", "own tests", "seconds"),
)
ALL_FIXES = Section(
    "All fixes in one build, with the same changes",
    "kafka-fixed.json",
    FINDINGS_FOLDER,
    f"{FINDINGS_FOLDER}/fix-*.patch --together --configuration changes --own-tests",
    ("states", "steps that differ", "promises kept anew", "promises broken", "own tests", "seconds"),
)
FIXES_OF_THREE = Section(
    "All fixes in one build, with three brokers",
    "kafka-fixed-three.json",
    FINDINGS_FOLDER,
    f"{FINDINGS_FOLDER}/fix-*.patch --together --fewest-brokers 3 --brokers 3 --groups",
    ("states", "steps that differ", "promises kept anew", "promises broken", "seconds"),
)
CORDONED = Section(
    "The rule of 4.4 about cordoned log directories, and its repair",
    "kafka-cordoned.json",
    FINDINGS_FOLDER,
    f"{FINDINGS_FOLDER}/cordoned-*.patch --events cordon --own-tests",
    ("patch", "change", "states", "steps that differ", "promises broken", "own tests", "seconds"),
)
SECTIONS = (SAME, TOGETHER, FAULTS, FIXES, ALL_FIXES, FIXES_OF_THREE, CORDONED)


class ChangedRun(TypedDict):
    """A shortest run, as commands. differs: by field, the values of the release (`base`) and of the patch (`head`)."""

    run: list[str]
    differs: list[dict[str, str]]


class ChangedSteps(ChangedRun):
    """A group of steps that a patch changes. alike_before: both builds have the run up to them."""

    command: str
    fields: list[str]
    steps: int
    alike_before: bool


class PatchRow(TypedDict):
    """A patch, or several together, beside the release. own_tests: of Kafka, how many `passed` and `failed`."""

    patch: str
    sha256: list[str]
    comment: str
    brokers: int
    states: int
    steps: int
    differing_steps: int
    run: list[str]
    head_breaks: list[str]
    base_breaks: list[str]
    complete: bool
    own_tests: dict[str, int] | None
    seconds: float
    groups: NotRequired[list[ChangedSteps]]
    prices: NotRequired[dict[str, ChangedRun | None]]


class PatchesRecord(TypedDict):
    """What `reassure kafka patches` writes, as far as the page reads it."""

    release: str
    patches: list[PatchRow]


def outcomes(section: Section) -> PatchesRecord:
    """The record of a section; `SystemFailure` for a file that is none."""
    try:
        data = json.loads(section.path.read_text(encoding="utf-8"))
        if not isinstance(data["release"], str) or not isinstance(data["patches"], list):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError):
        text = f"{section.path} is not a record of compared patches: write it by `{section.command}`"
        raise SystemFailure(text) from None
    return cast(PatchesRecord, data)


def patch_page(records: Sequence[PatchesRecord]) -> str:
    """The page. records: those of `SECTIONS`."""
    parts = [INTRODUCTION]
    for section, data in zip(SECTIONS, records, strict=True):
        rows = [[_cells(section, row)[name] for name in section.columns] for row in data["patches"]]
        parts.append(
            f"## {section.title}\n\n```sh\n{section.command}\n```\n\n"
            f"Kafka {data['release']}:\n\n{table(section.columns, rows)}\n"
        )
        parts += [_groups(row) for row in data["patches"] if "groups" in row]
    return "\n".join(parts)


def _cells(section: Section, row: PatchRow) -> dict[str, str]:
    """The cells of a patch, by column."""
    tests, unfinished = row["own_tests"], "" if row["complete"] else " (not finished)"
    differing = f"{row['differing_steps']:,} of {row['steps']:,}"
    return {
        "patch": f"[{row['patch']}](../../{section.folder}/{row['patch']}.patch)",
        "change": " ".join(row["comment"].split("\n\n")[0].split()),
        "brokers": str(row["brokers"]),
        "states": f"{row['states']:,}",
        "steps that differ": f"{differing}{unfinished}",
        "shortest run": _steps(row) or "none",
        "promises broken": _names(row["head_breaks"]),
        "promises kept anew": _names(row["base_breaks"]),
        "own tests": f"{tests['failed']} of {tests['passed'] + tests['failed']} fail" if tests else "not run",
        "seconds": f"{row['seconds']:.0f}",
    }


PRICES = {
    "waits": "A reassignment waits that the release has completed",
    "offline": "A partition is offline that has a leader in the release",
}
"""The prices of a fix (`checkers.kafka.diff.prices`) in words."""


def _groups(row: PatchRow) -> str:
    """Every group of steps that a patch changes, each with a shortest run, and what is worse after it."""
    which = row["patch"] if len(row["sha256"]) == 1 else "all of them together"
    lines = [f"### Every step that is changed by {which}", ""]
    for name, text in PRICES.items():
        price = row["prices"].get(name)
        run = f"{_steps(price)}: {_differs(price)}" if price else "after no run"
        lines.append(f"- {text}: {run if name in row['prices'] else 'not decided'}.")
    rows = [[f"{g['steps']:,}", g["command"], ", ".join(g["fields"]), _run(g), _differs(g)] for g in row["groups"]]
    columns = ("steps", "command", "what differs", "shortest run", "after it, release → fix")
    return "\n".join([*lines, "", table(columns, rows), ""])


def _run(group: ChangedSteps) -> str:
    """The shortest run to a step of a group."""
    return _steps(group) + ("" if group["alike_before"] else " (one build's run)")


def _steps(row: PatchRow | ChangedRun) -> str:
    """The commands of a run."""
    return "; ".join(f"`{step}`" for step in row["run"])


def _differs(group: ChangedRun) -> str:
    """The values that differ after that run."""
    return ", ".join(f"{d['field']} {d['base']} → {d['head']}" for d in group["differs"])


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
