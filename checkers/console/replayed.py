"""A trace of a folder, executed in plain Python."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from reassure.checkers.console.files import PreparedModels, read_traces
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.traces.replay import replay_trace


@dataclass(frozen=True)
class ReplayedFile:
    """One trace of a folder. stale: the model's text is another than when it was found."""

    name: str
    code: Exit
    problem: str
    stale: bool
    seconds: float


def replayed_file(path: Path, name: str, model: str | None, models: PreparedModels) -> ReplayedFile:
    """Executes the trace of a file under each configuration that it is a run of. models: those prepared before."""
    began, stale, code, problem = time.monotonic(), False, Exit.OK, ""
    try:
        for trace, bound, changed in read_traces(path, model, models):
            stale |= bool(changed)
            result = replay_trace(trace, bound, name)
            if result.code is not Exit.OK:
                code, problem = result.code, result.problem or result.open or result.lines[-1]
                break
    except Failure as failure:
        code, problem = failure.code, str(failure).splitlines()[0]
    return ReplayedFile(name, code, problem, stale, time.monotonic() - began)
