"""Answers of earlier runs, for `reassure gate --changed`.

A check that was as expected keeps its record under a digest of all that the answer depends on (`answer_key`). Where
something of that differs there is no such record, and the check runs. Never kept are answers that were cut short,
failures, and answers during which a file was changed.
"""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reassure.checkers.engines.native.translator import object_cache
from reassure.checkers.gate.answer_key import Known, answer_key
from reassure.checkers.gate.gate_file import Check
from reassure.checkers.gate.judge import judge
from reassure.checkers.gate.run_check import CheckOutcome
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.own_files import own_folder, read_own
from reassure.checkers.machine.stop import StopReason

KEPT = (StopReason.COMPLETE, StopReason.DEPTH, StopReason.WALKS, StopReason.OPEN)
"""Ends that were asked for, or that another run would come to as well."""
MOST = 2000
"""Records kept; the oldest are removed."""


def folder() -> Path:
    """The folder of the records: beside the machine code (REASSURE_CACHE)."""
    return object_cache.folder() / "gate"


def last(check: Check, known: Known) -> CheckOutcome | None:
    """The answer of an earlier run, if nothing has changed since and it is still what is expected.

    known: as `answer_key` takes it.
    """
    name = answer_key(check, known=known)
    if name is None:
        return None
    if not own_folder(folder()):
        return None
    try:
        stored = json.loads(read_own(folder() / f"{name}.json") or b"")
        record, when = stored["record"], str(stored["when"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if judge(check, record) else CheckOutcome([], record, unchanged_since=when)


def keep(check: Check, outcome: CheckOutcome) -> None:
    """Keeps the answer of a check that is as expected. A folder that cannot be written is not an error."""
    answered = outcome.record["stop_reason"] in KEPT
    name = outcome.key if answered and not outcome.problems and not outcome.unchanged_since else None
    if name is None or not own_folder(folder()):
        return
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    stored: dict[str, Any] = {"when": when, "record": outcome.record}
    with contextlib.suppress(OSError):
        write_atomically(folder() / f"{name}.json", json.dumps(stored))
        _tidy()


def _tidy() -> None:
    by_age = []
    for path in folder().glob("*.json"):
        with contextlib.suppress(OSError):
            by_age.append((path.stat().st_mtime, path))
    for _, path in sorted(by_age, reverse=True)[MOST:]:
        with contextlib.suppress(OSError):
            path.unlink()
