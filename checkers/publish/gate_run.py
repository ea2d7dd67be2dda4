"""The checks of the gate, run for the pages that show them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.gate import gate_file
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.result import CheckResult
from reassure.spec.semantics.interpreter import BoundModel


@dataclass
class GateRun:
    """One check of the gate, run."""

    check: gate_file.Check
    request: CheckRequest
    result: CheckResult
    bound: BoundModel

    @property
    def settings(self) -> str:
        """The configuration, as on the command line."""
        return " ".join(self.request.set)


def gate_runs(path: Path, first_of: Collection[str] | None = None) -> list[GateRun]:
    """Every search of a gate file, or the first one of each of these models, run with the engine it names.

    Raises Ctrl-C of a search again: no page is of half a search.
    """
    runs: list[GateRun] = []
    for check in gate_file.read(path).checks:
        if check.kind != "check":
            continue
        if first_of is not None and (check.model not in first_of or check.model in {r.request.model for r in runs}):
            continue
        request = check.request()
        result, bound = run(request, Progress())
        result.stopped.raise_interrupt()
        runs.append(GateRun(check, request, result, bound))
    return runs
