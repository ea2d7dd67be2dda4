"""`reassure gate`: the checks of a file, run in processes of their own, judged and reported in their order."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rich.console import Console
from rich.text import Text

from reassure.checkers.base.atomic_files import write_atomically
from reassure.checkers.base.exit_codes import VERDICTS, Exit, Failure, worst
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult, PropertyStatus, error_record
from reassure.checkers.base.stop import BY_USER, StopReason
from reassure.checkers.base.trace_files import write_traces
from reassure.checkers.check import run
from reassure.checkers.evidence.gate_file import Check, read

JUDGED = (Exit.EXPECTATION, Exit.DRIFT, Exit.VACUOUS)
"""What a check fails by, in JUnit's words; anything else is an error."""


@dataclass
class Problem:
    """One thing that is not as the check expects."""

    code: Exit
    text: str


@dataclass
class Outcome:
    """What became of one check: plain data, which processes can send each other."""

    problems: list[Problem]
    record: dict[str, Any]
    counts: str
    """Distinct states and generated steps, in words."""
    traces: dict[str, str] = field(default_factory=dict)
    """The files that counterexamples were written to, by property."""
    seconds: float = 0.0

    @property
    def interrupted(self) -> bool:
        return bool(self.record["stop_reason"] == StopReason.INTERRUPTED)


def judge(check: Check, result: CheckResult) -> list[Problem]:
    """What is not as the check expects."""
    problems: list[Problem] = []
    if result.verdict != check.expect:
        problems.append(Problem(Exit.EXPECTATION, f"expected {check.expect}, got {result.verdict}"))
    lengths = {
        p.name: len(p.trace) if p.trace else None for p in result.properties if p.status is PropertyStatus.VIOLATED
    }
    problems += _judge_violations(check.violated, lengths)
    if result.complete and check.expect != VERDICTS[Exit.VACUOUS]:
        # An expected violation must not hide that nothing interesting happens any more.
        idle = {c.name for c in result.covers if not c.reached}
        for name in sorted(idle - set(check.unreached)):
            problems.append(Problem(Exit.VACUOUS, f"cover {name} is never reached"))
        for name in sorted(set(check.unreached) - idle):
            problems.append(Problem(Exit.EXPECTATION, f"{name} is no cover that is never reached"))
    for name, pinned in check.pin.items():
        actual = getattr(result.stats, name)
        if actual != pinned:
            problems.append(Problem(Exit.DRIFT, f"{name} {actual:,}, pinned {pinned:,}"))
    return problems


def _judge_violations(expected: dict[str, int | None] | None, lengths: dict[str, int | None]) -> list[Problem]:
    """What is wrong with the properties that are violated, given the lengths of their traces in states."""
    if expected is None:
        return []
    problems: list[Problem] = []
    if extra := sorted(set(lengths) - set(expected)):
        problems.append(Problem(Exit.EXPECTATION, f"also violated: {', '.join(extra)}"))
    if missing := sorted(set(expected) - set(lengths)):
        problems.append(Problem(Exit.EXPECTATION, f"not violated: {', '.join(missing)}"))
    for name, states in expected.items():
        if states is not None and name in lengths and lengths[name] != states:
            problems.append(Problem(Exit.DRIFT, f"{name}: a trace of {lengths[name]} states, pinned {states}"))
    return problems


def run_check(check: Check, threads: int, traces: Path | None) -> Outcome:
    """Runs and judges one check. threads: of its search. traces: the folder for counterexamples of a failure."""
    began = time.monotonic()
    check.asked.options.workers = threads
    try:
        result, bound = run(check.asked, Progress(quiet=True))
    except Failure as failure:
        problems = [Problem(failure.code, str(failure))] if VERDICTS[failure.code] != check.expect else []
        record = error_record(failure.code, str(failure), check.asked.model, check.asked.repro())
        return Outcome(problems, record, "no verdict", seconds=time.monotonic() - began)
    except KeyboardInterrupt:
        return _interrupted(check)
    problems = (
        [Problem(Exit.INCONCLUSIVE, BY_USER.text)] if result.ended(StopReason.INTERRUPTED) else judge(check, result)
    )
    written = write_traces(result, bound, traces) if traces is not None and problems else {}
    counts = f"{result.stats.distinct:,} distinct, {result.stats.generated:,} generated"
    return Outcome(problems, result.record(written), counts, written, time.monotonic() - began)


def _interrupted(check: Check) -> Outcome:
    record = error_record(Exit.INCONCLUSIVE, BY_USER.text, check.asked.model, check.asked.repro())
    record["stop_reason"] = StopReason.INTERRUPTED
    return Outcome([Problem(Exit.INCONCLUSIVE, BY_USER.text)], record, "no verdict")


def _outcomes(checks: list[Check], jobs: int, traces: Path | None) -> Iterator[Outcome]:
    """The outcome of each check, in order; ends after one that was interrupted."""
    threads = max(1, (os.cpu_count() or 1) // jobs)
    if jobs == 1 or len(checks) == 1:
        for check in checks:
            yield run_check(check, threads, traces)
        return
    pool = ProcessPoolExecutor(
        min(jobs, len(checks)), mp_context=multiprocessing.get_context("spawn"), initializer=_leave_interrupts
    )
    ran: list[Future[Outcome]] = []
    try:
        ran += [pool.submit(run_check, check, threads, traces) for check in checks]
        for check, future in zip(checks, ran, strict=True):
            try:
                yield future.result()
            except KeyboardInterrupt:
                yield _interrupted(check)
                return
            except BrokenProcessPool:
                raise Failure(Exit.SYSTEM, f"a process was killed while {check.name} was checked") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        if len(ran) < len(checks) or not all(future.done() for future in ran):
            for process in multiprocessing.active_children():
                process.terminate()


def _leave_interrupts() -> None:
    """Ctrl-C is the parent's: it ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_file(
    path: Path,
    console: Console,
    *,
    engine: str | None = None,
    jobs: int = 1,
    json_to: Path | None = None,
    junit_to: Path | None = None,
    traces_to: Path | None = None,
) -> Exit:
    """Runs every check of a file, so many at once; the worst exit code."""
    checks = read(path, engine)
    if not checks:
        raise Failure(Exit.NOTHING, f"{path} has no [[check]]")
    outcomes: list[Outcome] = []
    progress = Progress()
    try:
        for check, outcome in zip(checks, _outcomes(checks, jobs, traces_to), strict=False):
            progress.done()
            outcomes.append(outcome)
            outcome.record["gate"] = {"name": check.name, "wrong": [p.text for p in outcome.problems]}
            _report(check, outcome, console)
            progress.proof(f"{len(outcomes)} of {len(checks)} checks")
            if outcome.interrupted:
                break
    finally:
        progress.done()
    left = len(checks) - len(outcomes)
    code = worst([p.code for o in outcomes for p in o.problems])
    failed = sum(bool(o.problems) for o in outcomes)
    text = f"{len(checks)} check{'s' * (len(checks) > 1)}, {failed} failed"
    text += f", {left} not run" if left else ""
    console.print(Text(f"{text} (exit code {code.value})", style="bold"))
    if json_to:
        whole = {"schema": 1, "exit_code": code.value, "verdict": VERDICTS[code], "complete": not left}
        records = [o.record for o in outcomes]
        write_atomically(json_to, json.dumps({**whole, "checks": records}, indent=2) + "\n")
    if junit_to:
        write_atomically(junit_to, _junit(path.name, checks, outcomes))
    return code


def _report(check: Check, outcome: Outcome, console: Console) -> None:
    """One line of a check that is as expected; else what it gave, what is wrong, and how to run it again."""
    row = Text("FAIL " if outcome.problems else "ok   ", style="bold red" if outcome.problems else "green")
    row.append(f"{check.name}: {outcome.record['verdict']}, {outcome.counts}", style="default")
    console.print(row, soft_wrap=True)
    for problem in outcome.problems:
        console.print(Text(f"     {problem.text}", style="red"), soft_wrap=True)
    for p in outcome.record["properties"] if outcome.problems else []:
        if p["status"] == PropertyStatus.VIOLATED:
            states = f", trace of {p['depth']} states" if p["depth"] else ""
            console.print(Text(f"     violated: {p['name']}{states}", style="red"), soft_wrap=True)
    for trace in outcome.traces.values():
        console.print(Text(f"     trace: {trace}", style="dim"), soft_wrap=True)
    if outcome.problems:
        console.print(Text(f"     again: {check.asked.repro()}", style="dim"), soft_wrap=True)


def _junit(name: str, checks: list[Check], outcomes: list[Outcome]) -> str:
    """The report that CI systems read: a case for each check, skipped where it was not run."""
    suite = ElementTree.Element("testsuite", name=name)
    numbers = {"tests": len(checks), "failures": 0, "errors": 0, "skipped": len(checks) - len(outcomes)}
    for number, check in enumerate(checks):
        case = ElementTree.SubElement(suite, "testcase", classname="reassure.gate", name=check.name)
        if number >= len(outcomes):
            ElementTree.SubElement(case, "skipped", message="not run")
            continue
        outcome = outcomes[number]
        case.set("time", f"{outcome.seconds:.3f}")
        if outcome.problems:
            first = outcome.problems[0]
            kind = "failure" if first.code in JUDGED else "error"
            numbers[f"{kind}s"] += 1
            said = ElementTree.SubElement(case, kind, type=VERDICTS[first.code], message=first.text)
            said.text = "\n".join([*(p.text for p in outcome.problems), f"again: {check.asked.repro()}"])
    suite.set("time", f"{sum(o.seconds for o in outcomes):.3f}")
    for key, count in numbers.items():
        suite.set(key, str(count))
    return ElementTree.tostring(suite, encoding="unicode") + "\n"
