"""`reassure gate`: the checks of a file, run in processes of their own, judged and reported in their order.

Also here: answers of earlier runs, for `reassure gate --changed`.

A check that was as expected keeps its record under a digest of all that the answer depends on (`answer_key`). Where
something of that differs there is no such record, and the check runs. Never kept are answers that were cut short,
failures, and answers during which a file was changed.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from rich.text import Text

from reassure.checkers.console.processes import in_processes
from reassure.checkers.gate import update
from reassure.checkers.gate.gate_file import Check, GateFile, read_gate_file
from reassure.checkers.gate.judge import judge_record
from reassure.checkers.gate.kinds import DEFAULT_KIND
from reassure.checkers.gate.run_check import KILLED, CheckOutcome, Known, answer_key, run_check, unanswered
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import VERDICTS, Exit, Failure, worst
from reassure.checkers.machine.own_files import cache_folder, own_folder, read_own
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import BY_USER, StopReason
from reassure.checkers.machine.terminal import Console, quantity

KEPT = (StopReason.COMPLETE, StopReason.DEPTH, StopReason.WALKS, StopReason.OPEN)
"""Ends that were asked for, or that another run would come to as well."""
MOST = 2000
"""Records kept; the oldest are removed."""


def record_folder() -> Path:
    """The folder of the records."""
    return cache_folder("gate")


def last(check: Check, known: Known) -> CheckOutcome | None:
    """The answer of an earlier run, if nothing has changed since and it is still what is expected.

    known: as `answer_key` takes it.
    """
    name = answer_key(check, known=known)
    if name is None:
        return None
    if not own_folder(record_folder()):
        return None
    try:
        stored = json.loads(read_own(record_folder() / f"{name}.json") or b"")
        record, when = stored["record"], str(stored["when"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if judge_record(check, record) else CheckOutcome([], record, unchanged_since=when)


def _keep(check: Check, outcome: CheckOutcome) -> None:
    """Keeps the answer of a check that is as expected. A folder that cannot be written is not an error."""
    answered = outcome.record["stop_reason"] in KEPT
    name = outcome.key if answered and not outcome.problems and not outcome.unchanged_since else None
    if name is None or not own_folder(record_folder()):
        return
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    stored = {"when": when, "record": outcome.record}
    with contextlib.suppress(OSError):
        write_atomically(record_folder() / f"{name}.json", json.dumps(stored))
        _tidy()


def _tidy() -> None:
    by_age = []
    for path in record_folder().glob("*.json"):
        with contextlib.suppress(OSError):
            by_age.append((path.stat().st_mtime, path))
    for _, path in sorted(by_age, reverse=True)[MOST:]:
        with contextlib.suppress(OSError):
            path.unlink()


STORY_LINES = 60
"""Lines of a counterexample that are printed; the file has all."""


@dataclass
class GateOptions:
    """The options of the command line. only: patterns of names. budget: seconds, in place of the file's."""

    engine: str | None = None
    jobs: int = 1
    only: list[str] = field(default_factory=list)
    changed: bool = False
    budget: float | None = None
    update: bool = False
    traces: Path | None = None


@dataclass
class GateReport:
    """The result of a gate: each check with its outcome, in the order of the file; the last may be missing.

    rewritten: whether the file has new pins.
    """

    file: GateFile
    checks: list[Check]
    outcomes: list[CheckOutcome]
    rewritten: bool = False

    @property
    def not_run(self) -> int:
        """The number of checks without an answer."""
        return len(self.checks) - sum(o.ran for o in self.outcomes)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended one of the checks; the others were not begun."""
        return any(outcome.interrupted for outcome in self.outcomes)

    @property
    def exit(self) -> Exit:
        """The exit code: the most severe of the problems; 5 after Ctrl-C."""
        return Exit.INCONCLUSIVE if self.interrupted else worst([p.code for o in self.outcomes for p in o.problems])

    @property
    def pairs(self) -> list[tuple[Check, CheckOutcome | None]]:
        """Every check, with its outcome if it has one."""
        missing = len(self.checks) - len(self.outcomes)
        return list(zip(self.checks, [*self.outcomes, *[None] * missing], strict=True))

    @property
    def answered(self) -> list[tuple[Check, CheckOutcome]]:
        """The checks that have an outcome, with it."""
        return list(zip(self.checks, self.outcomes, strict=False))

    @property
    def counts(self) -> str:
        """The numbers of checks, in a line."""
        failed = sum(bool(o.problems) and o.ran for o in self.outcomes)
        text = f"{quantity(len(self.checks), 'check')}, {failed} failed"
        text += f", {self.not_run} not run" if self.not_run else ""
        unchanged = sum(bool(o.unchanged_since) for o in self.outcomes)
        text += f", {unchanged} unchanged and answered from the last record" if unchanged else ""
        return "with the new pins: " * self.rewritten + text

    def summary(self) -> str:
        """One line, for outputs without an ending."""
        return f"{self.counts} (exit code {self.exit.value})"

    def record(self) -> dict[str, object]:
        """The record of the gate: of each check its run record, and what is wrong."""
        head = {"schema": 1, "exit_code": self.exit.value, "verdict": VERDICTS[self.exit]}
        records = []
        for check, outcome in self.answered:
            about = {"name": check.name, "kind": check.kind, "wrong": [p.text for p in outcome.problems]}
            about |= {"unchanged_since": outcome.unchanged_since} if outcome.unchanged_since else {}
            records.append({**outcome.record, "gate": about})
        whole = not self.not_run and not self.interrupted
        return {**head, "complete": whole, "checks": records}


def _selected_checks(file: GateFile, only: list[str]) -> list[Check]:
    """The checks that are asked for by name."""
    for pattern in only:
        if not any(fnmatchcase(c.name, pattern) for c in file.checks):
            has = ", ".join(c.name for c in file.checks)
            raise Failure(Exit.NOTHING, f"no check of {file.path} matches {pattern}; it has {has}")
    return [c for c in file.checks if not only or any(fnmatchcase(c.name, p) for p in only)]


def run_gate(path: Path, options: GateOptions, console: Console) -> GateReport:
    """Runs the checks of a file, several at once, and reports each; the summary is left to the caller."""
    file = read_gate_file(path, options.engine)
    if not file.checks:
        raise Failure(Exit.NOTHING, f"{path} has no [[check]]")
    checks = _selected_checks(file, options.only)
    report = GateReport(file, checks, [])
    models: Known = {}
    earlier = [last(check, models) if options.changed else None for check in checks]
    with Progress() as progress:
        for check, outcome in zip(checks, _outcomes(checks, earlier, file, options), strict=False):
            progress.done()
            report.outcomes.append(outcome)
            _keep(check, outcome)
            tell_check(check, outcome, console)
            progress.proof(f"{len(report.outcomes)} of {len(checks)} checks")
            if outcome.interrupted:
                break
    report.rewritten = options.update and _update(report, console)
    return report


def _outcomes(
    checks: list[Check], earlier: list[CheckOutcome | None], file: GateFile, options: GateOptions
) -> Iterator[CheckOutcome]:
    """The outcome of each check, in order, those that are not known being run; ends after one that was interrupted."""
    budget = options.budget if options.budget is not None else file.budget
    deadline = time.monotonic() + budget if budget is not None else None
    due = sum(outcome is None for outcome in earlier)
    jobs = max(1, min(options.jobs, due))
    threads = max(1, (os.cpu_count() or 1) // jobs)
    unknown = [
        (check, threads, options.traces, deadline)
        for check, outcome in zip(checks, earlier, strict=True)
        if outcome is None
    ]
    answers = in_processes(run_check, unknown, jobs)
    for check, outcome in zip(checks, earlier, strict=True):
        try:
            yield outcome or next(answers)
        except KeyboardInterrupt:
            answers.close()
            yield unanswered(check, Exit.INCONCLUSIVE, BY_USER)
            return
        except BrokenProcessPool:  # of all that were waiting; which one it killed is not told
            yield unanswered(check, Exit.SYSTEM, KILLED)
            return


def tell_check(check: Check, outcome: CheckOutcome, console: Console) -> None:
    """One line of a check that is as expected; else what it gave, what is wrong, and how to run it again."""

    def say(text: str, style: str) -> None:
        console.print(text, style=style)

    row = Text("FAIL " if outcome.problems else "ok   ", style="bold red" if outcome.problems else "green")
    row.append(f"{check.name}: {outcome.record['verdict']}{outcome.counts}", style="default")
    row.append(f" (unchanged since {outcome.unchanged_since})" if outcome.unchanged_since else "", style="dim")
    console.print(row)
    for problem in outcome.problems:
        place = outcome.places.get(problem.about)
        say(f"     {problem.text}" + (f" ({place})" if place is not None else ""), "red")
    lines = _explanation(check, outcome)
    for line in lines[:STORY_LINES]:
        say(f"     | {line}", "default")
    if len(lines) > STORY_LINES:
        say(f"     | and {len(lines) - STORY_LINES} more lines; the command below prints all", "dim")
    for trace in outcome.files:
        say(f"     trace: {trace}", "dim")
    if outcome.problems:
        say(f"     again: {check.repro()}", "dim")


def _explanation(check: Check, outcome: CheckOutcome) -> list[str]:
    """The lines that explain a failure: the shortest counterexample; if there is none, what the command printed."""
    if not outcome.problems:
        return []
    if outcome.story is not None:
        return outcome.story.text.splitlines()
    return [] if check.kind == DEFAULT_KIND else outcome.printed.strip().splitlines()


def _update(report: GateReport, console: Console) -> bool:
    """Whether the pins of the file change: rewrites and shows them, and judges the checks by what it says now."""
    file = report.file
    numbers = {id(check): number for number, check in enumerate(file.checks)}
    pins = {numbers[id(check)]: update.found_pins(check, outcome) for check, outcome in report.answered}
    text = update.updated(file.text, pins)
    if text == file.text:
        answers = [(outcome.ran, outcome.record["verdict"], check.expect) for check, outcome in report.answered]
        other = sum(not ran or verdict != expected for ran, verdict, expected in answers)
        kept = f"; of {other:,} with another verdict they are left as they are" if other else ""
        console.print(
            f"--update: nothing to change: the file has the pins and trace lengths of this run{kept}", style="dim"
        )
        return False
    if read_gate_file(file.path).text != file.text:
        raise Failure(Exit.SYSTEM, f"{file.path} was changed while its checks ran, and is left as it is: run it again")
    write_atomically(file.path, text)
    name = str(file.path)
    for line in difflib.unified_diff(file.text.splitlines(), text.splitlines(), name, name, lineterm="", n=2):
        style = {"+": "green", "-": "red"}.get(line[:1], "dim")
        console.print(line, style=style)
    anew = read_gate_file(file.path)
    for check, outcome in report.answered:
        if outcome.ran and not outcome.interrupted:
            outcome.problems = judge_record(anew.checks[numbers[id(check)]], outcome.record)
    return True
