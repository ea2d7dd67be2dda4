"""Every claim of the project with what its ledger says: read once for all tests of a process."""

from __future__ import annotations

from reassure.checkers.ledger import verdicts
from reassure.checkers.machine.exit_codes import Exit


def ledger_entries() -> list[verdicts.Entry]:
    """As `publish.entries` gives them; not to be changed."""
    found = verdicts.of_project()
    assert verdicts.exit_code(found) is Exit.OK
    return found
