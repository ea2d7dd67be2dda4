"""Every claim of the project with what its ledger says: read once for all tests of a process."""

from __future__ import annotations

import functools

from reassure.checkers import publish
from reassure.checkers.ledger.verdicts import Entry


@functools.cache
def ledger_entries() -> list[Entry]:
    """As `publish.entries` gives them; not to be changed."""
    return publish.entries()
