"""A program in place of TLC, and what TLC prints."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

SEARCH = """@!@!@STARTMSG 2185:0 @!@!@
Starting... (2026-01-01 00:00:00)
@!@!@ENDMSG 2185 @!@!@
<<"reassure", "first state", 0>>
<<"reassure", "first step", 1>>
<<"reassure", "goal_not_reached", 6>>
@!@!@STARTMSG 2193:0 @!@!@
Model checking completed. No error has been found.
@!@!@ENDMSG 2193 @!@!@
@!@!@STARTMSG 2199:0 @!@!@
97 states generated, 16 distinct states found, 0 states left on queue.
@!@!@ENDMSG 2199 @!@!@
@!@!@STARTMSG 2194:0 @!@!@
The depth of the complete state graph search is 8.
@!@!@ENDMSG 2194 @!@!@
"""
JUGS = [(0, 0), (0, 5), (3, 2), (0, 2), (2, 0), (2, 5), (3, 4)]
STATES = "".join(
    f"@!@!@STARTMSG 2217:4 @!@!@\n{number}: <step>\n/\\ big = {big}\n/\\ small = {small}\n\n@!@!@ENDMSG 2217 @!@!@\n"
    for number, (small, big) in enumerate(JUGS, 1)
)
TRACE = f"""@!@!@STARTMSG 2110:1 @!@!@
Invariant First1 is violated.
@!@!@ENDMSG 2110 @!@!@
@!@!@STARTMSG 2121:1 @!@!@
The behavior up to this point is:
@!@!@ENDMSG 2121 @!@!@
{STATES}"""
TWO_PHASE_COMMIT = """<<"reassure", "first state", 0>>
<<"reassure", "first step", 1>>
<<"reassure", "everybody_aborts", 3>>
<<"reassure", "everybody_commits", 10>>
@!@!@STARTMSG 2193:0 @!@!@
Model checking completed. No error has been found.
@!@!@ENDMSG 2193 @!@!@
@!@!@STARTMSG 2199:0 @!@!@
1146 states generated, 288 distinct states found, 0 states left on queue.
@!@!@ENDMSG 2199 @!@!@
@!@!@STARTMSG 2194:0 @!@!@
The depth of the complete state graph search is 11.
@!@!@ENDMSG 2194 @!@!@
"""
FINISHED = "@!@!@STARTMSG 2193:0 @!@!@\nNo error.\n@!@!@ENDMSG 2193 @!@!@\n"
COUNTED = (
    "@!@!@STARTMSG 2199:0 @!@!@\n97 states generated, 16 distinct states found, 0 states left on queue.\n"
    "@!@!@ENDMSG 2199 @!@!@\n"
)
NO_ERROR = FINISHED + COUNTED


def jar(folder: Path) -> Path:
    """A file that looks like tla2tools.jar."""
    path = folder / "tla2tools.jar"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("tlc2/TLC.class", "")
    return path


def installed(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    search: str,
    alone: str = "",
    deadlocks: str = NO_ERROR,
    ending: str = "",
) -> None:
    """A program in place of TLC that prints these texts. alone: in a search for one counterexample. ending: a command
    of the shell, after the search."""
    for name, text in {"search": search, "trace": alone, "deadlocks": deadlocks}.items():
        (folder / name).write_text(text, encoding="utf-8")
    jar(folder)
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        '#!/bin/sh\ncase "$*" in\n'
        f'*-deadlock*SecondOpinionTrace*) cat "{folder}/trace";;\n'
        f'*SecondOpinionTrace*) cat "{folder}/deadlocks";;\n'
        f'*) cat "{folder}/search"; {ending or ":"};;\nesac\n'
    )
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(folder))
    monkeypatch.setenv("TLA2TOOLS", str(folder / "tla2tools.jar"))
