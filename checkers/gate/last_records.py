"""Answers of earlier runs, for `reassure gate --changed`.

A check that was as expected keeps its record under a digest of all that the answer depends on: its command, the text
of its model, the files that it reads, this program, and the versions of what it stands on. Where one of these differs
there is no such record, and the check runs. Answers that were cut short, and failures, are never kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import reassure
from reassure.checkers.base.atomic_files import write_atomically
from reassure.checkers.base.digest import digest
from reassure.checkers.base.model_loader import UnknownModel, load
from reassure.checkers.base.own_files import own_folder, read_own
from reassure.checkers.base.stop import StopReason
from reassure.checkers.engines.native.translator import object_cache
from reassure.checkers.gate.gate_file import Check
from reassure.checkers.gate.judge import judge
from reassure.checkers.gate.run_check import CheckOutcome
from reassure.spec.language.vocabulary import LanguageError

SCHEMA = 1
KEPT = (StopReason.COMPLETE, StopReason.DEPTH, StopReason.WALKS, StopReason.OPEN)
"""Ends that were asked for, or that another run would come to as well."""
STANDS_ON = ("llvmlite", "z3-solver", "numpy", "networkx")
MOST = 2000
"""Records kept; the oldest are removed."""


def folder() -> Path:
    """The folder of the records: beside the machine code (REASSURE_CACHE)."""
    return object_cache.folder() / "gate"


@cache
def _program() -> str:
    """The digest of this program and of what it stands on."""
    sha256 = hashlib.sha256(sys.version.encode())
    for name in STANDS_ON:
        sha256.update(f"{name} {importlib.metadata.version(name)}\n".encode())
    home = Path(reassure.__file__).parent
    for part in ("checkers", "spec"):
        for path in sorted((home / part).rglob("*.py")):
            sha256.update(path.read_bytes())
    return sha256.hexdigest()


def _of_file(path: Path) -> str:
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    return " ".join(hashlib.sha256(p.read_bytes()).hexdigest() for p in files)


class LastRecords:
    """The records, as one run of a gate sees them: it takes the digest of each model once."""

    def __init__(self) -> None:
        self.digests: dict[str, str] = {}

    def key(self, check: Check) -> str | None:
        """The digest of all that a check's answer depends on; None if that cannot be said."""
        if not check.about.by_digest:
            return None
        try:
            models = [self._of_model(name) for name in check.models]
            files = [_of_file(path) for path in check.files()]
        except (UnknownModel, LanguageError, OSError):
            return None
        text = json.dumps([SCHEMA, check.words(), models, files, _program()])
        return hashlib.sha256(text.encode()).hexdigest()

    def _of_model(self, name: str) -> str:
        if name not in self.digests:
            self.digests[name] = digest(load(name))
        return self.digests[name]

    def last(self, check: Check) -> CheckOutcome | None:
        """The answer of an earlier run, if nothing has changed since and it is still what is expected."""
        name = self.key(check)
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

    def keep(self, check: Check, outcome: CheckOutcome) -> None:
        """Keeps the answer of a check that is as expected. A folder that cannot be written is not an error."""
        answered = outcome.record["stop_reason"] in KEPT
        name = self.key(check) if answered and not outcome.problems and not outcome.unchanged_since else None
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
