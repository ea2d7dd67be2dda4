"""Entries of claims as text."""

from __future__ import annotations

from pathlib import Path

from reassure.checkers.ledger import verdicts
from reassure.checkers.machine.exit_codes import Exit

CLAIM = """
[[claim]]
id = "K1"
document = "a.txt"
statement = "Something."
"""

READING = """
[[claim.reading]]
name = "as printed"
model = "kraft"
properties = ["leader_is_in_sync"]
method = "check"
expect = "holds"
"""

CASES = """
[[claim.reading]]
name = "by cases"
function = "models.examples:all_of_them"
method = "enumerate"
expect = "holds"
"""

TOY = """
[[claim]]
id = "K1"
document = "toys.txt"
statement = "Four gallons | cannot be measured."
[[claim.reading]]
name = "a search"
model = "die_hard"
properties = ["goal_not_reached"]
method = "check"
expect = "violated"
note = "The riddle."

[[claim]]
id = "K2"
document = "toys.txt"
statement = "Everybody commits, or nobody."
[[claim.reading]]
name = "two managers"
model = "two_phase_commit"
set = { managers = 2 }
properties = ["consistent", "everybody_commits"]
method = "check"
expect = "holds"
[[claim.reading]]
name = "by proof"
model = "core"
properties = ["leader_in_isr", "reassignment_pending"]
method = "prove"
expect = "holds"
"""


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def ledger_entries() -> list[verdicts.Entry]:
    """As `publish.project_entries` gives them; not to be changed."""
    found = verdicts.of_project()
    assert verdicts.exit_code(found) is Exit.OK
    return found
