"""A command again on each save of a model: the verdict, and what changed since the last one."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.model_loader import find_model
from reassure.checkers.request.run_identity import RunRecord

BEAT = 0.3
"""Seconds between two looks at the files."""

Stamp = dict[Path, int]


def follow(model: str, words: list[str], console: Console, wait: Callable[[], None] | None = None) -> int:
    """Runs the command, and again whenever a Python file in the folder of the model changes, until it is interrupted.

    words: the command line without `reassure`. wait: until the next look, by default `BEAT`. The exit code of the last
    run, 5 if none has ended.
    """
    path, code = find_model(model), Exit.INCONCLUSIVE.value  # until a run has ended
    last: RunRecord | None = None
    seen: Stamp = {}
    try:
        while True:
            if (now := _stamp(path.parent)) != seen:
                seen = now
                code, record, message = _run(words)
                console.print(_line(record, message))
                if record is not None and record["stats"]:  # it had an answer
                    if last is not None:
                        console.print(f"  since the last: {difference(last, record)}", style="dim")
                    last = record
            (wait or _wait)()
    except KeyboardInterrupt:
        return code


def difference(before: RunRecord, after: RunRecord) -> str:
    """What changed between two records, in one line."""
    old, new = _answers(before), _answers(after)
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    changes = [f"{name} {old.get(name, 'new')} -> {new.get(name, 'gone')}" for name in names]
    if changes:
        return "; ".join(changes)
    same = before["model_sha256"] == after["model_sha256"]
    return "the model means the same" if same else "the same answers, states and steps"


def _answers(record: RunRecord) -> dict[str, str]:
    answers = {p["name"]: p["status"].replace("_", " ") for p in record["properties"]}
    covers = {c["name"]: "reached" if c["reached"] else "not reached" for c in record["covers"]}
    stats = record["stats"]
    return answers | covers | {"states": f"{stats.get('distinct', 0):,}", "steps": f"{stats.get('generated', 0):,}"}


def _line(record: RunRecord | None, message: str) -> str:
    """The verdict in one line."""
    clock = time.strftime("%H:%M:%S")
    if record is None or not record["stats"]:
        return f"{clock}  {message}"
    bad = [f"{p['name']} {p['status']}" for p in record["properties"] if p["status"] != "holds"]
    count = f"{record['stats'].get('distinct', 0):,} states"
    return f"{clock}  {record['verdict']} (exit code {record['exit_code']}), {'; '.join([count, *bad])}"


def _run(words: list[str]) -> tuple[int, RunRecord | None, str]:
    """The exit code of the command in a process of its own, its record, and what it said on standard error."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record.json"
        command = [sys.executable, "-m", "reassure", *words, "--quiet", f"--json={file}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            record: Any = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            record = None
    return done.returncode, record, done.stderr.strip()


def _stamp(folder: Path) -> Stamp:
    """The times of the last change of the Python files of a folder."""
    stamp: Stamp = {}
    for path in folder.glob("*.py"):
        try:
            stamp[path] = path.stat().st_mtime_ns
        except OSError:  # an editor may remove a file before it writes it anew
            stamp[path] = 0
    return stamp


def _wait() -> None:
    time.sleep(BEAT)
