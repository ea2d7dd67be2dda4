"""The place of a gate's problem, as code hosts show it: a file of the repository and a line."""

from __future__ import annotations

from pathlib import Path

from reassure.checkers.console.code_hosts import SourcePlace
from reassure.checkers.gate.gate_file import Check
from reassure.checkers.gate.judge import Problem
from reassure.checkers.gate.run_check import CheckOutcome
from reassure.checkers.gate.run_gate import GateReport
from reassure.checkers.gate.update import HEADER


def repository(path: Path) -> Path:
    """The root of the repository that a file is in; its folder, if it is in none."""
    folder = path.resolve().parent
    return next((p for p in (folder, *folder.parents) if (p / ".git").exists()), folder)


class Locations:
    """Places relative to the repository that a gate's file is in."""

    def __init__(self, report: GateReport) -> None:
        self.root = repository(report.file.path)
        self.gate = report.file.path.resolve()
        starts = [report.file.text.count("\n", 0, m.start()) + 1 for m in HEADER.finditer(report.file.text)]
        whole = len(starts) == len(report.file.checks)
        self.lines = {id(c): starts[n] if whole else 1 for n, c in enumerate(report.file.checks)}

    def inside(self, place: SourcePlace) -> SourcePlace | None:
        """A place relative to the root; None if it is elsewhere, as a model that is installed."""
        path = Path(place.file)
        if not path.is_relative_to(self.root):
            return None
        return SourcePlace(path.relative_to(self.root).as_posix(), place.line)

    def of_check(self, check: Check) -> SourcePlace:
        """The place of a check in the gate's file."""
        return SourcePlace(self.gate.relative_to(self.root).as_posix(), self.lines[id(check)])

    def of_problem(self, check: Check, outcome: CheckOutcome, problem: Problem) -> SourcePlace:
        """The declaration of a problem's property or cover; the place of the check, if it is about neither."""
        declared = outcome.places.get(problem.about)
        inside = self.inside(declared) if declared is not None else None
        return inside or self.of_check(check)
