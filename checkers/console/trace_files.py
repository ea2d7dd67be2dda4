"""The file of a trace that a command names: a path, or the short name of one of the project's traces.

`K21/4.3` is the file of that name in the folder of the project's traces. `finding-1`, `K21`, and the releases that
share a file with an older one, are in a table there (`publish/trace_pages.py` makes it).
"""

from __future__ import annotations

import difflib
import json
import re
from functools import cache
from pathlib import Path

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.missing_file import did_you_mean
from reassure.checkers.request.model_loader import home

NAMES = "names.json"
SUFFIX = ".itf.json"
NAME = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)?")
SHOWN = 3


def trace_file(named: Path, folder: Path | None = None) -> Path:
    """The file of a trace: the path itself if there is something, else that of the short name.

    folder: of the project's traces. `Failure` for a name that is not known, with the nearest ones.
    """
    name, traces = named.as_posix(), folder or project_traces()
    if named.exists() or named.suffix == ".json" or not NAME.fullmatch(name):
        return named
    short_names = _short_names(traces)
    if name in short_names:
        return traces / short_names[name]
    folder_of, by_case = name.partition("/")[0], {known.lower(): known for known in short_names}
    near = [known for known in short_names if known.partition("/")[0] == folder_of][:SHOWN]
    near = near or [by_case[each] for each in difflib.get_close_matches(name.lower(), by_case, n=SHOWN)]
    meant = f"; the nearest are {', '.join(near)}" if near else did_you_mean(named)
    raise Failure(Exit.USAGE, f"{named}: No such file or directory, and no trace has this name{meant}")


def picture_beside(trace: str) -> str:
    """The file of a trace's picture: it lies beside the trace and has its name, with `.svg` for `.itf.json`."""
    return trace.removesuffix(SUFFIX) + ".svg"


def is_short_name(name: str) -> bool:
    """Whether one of the project's traces has this name."""
    return name in _short_names(project_traces())


def project_traces() -> Path:
    """The folder of the project's traces."""
    return home().resolve().parent / "counterexamples"


@cache
def _short_names(folder: Path) -> dict[str, str]:
    """The files of the project's traces, from their folder, by short name."""
    files = (path.relative_to(folder).as_posix() for path in folder.glob(f"*/*{SUFFIX}"))
    names = {file.removesuffix(SUFFIX): file for file in sorted(files)}
    table = folder / NAMES
    return json.loads(table.read_text(encoding="utf-8")) | names if table.is_file() else names
