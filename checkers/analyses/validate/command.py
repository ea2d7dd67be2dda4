"""`reassure validate`: does a run of a model match a log?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from reassure.checkers.console.commands import GateKind
from reassure.checkers.console.files import STANDARD_OUTPUT
from reassure.checkers.machine.atomic_files import did_you_mean, write_atomically, write_record
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.machine.terminal import Console, quantity
from reassure.checkers.request.options import DEFAULT_ENGINE, EXHAUSTIVE_ENGINES, positive
from reassure.checkers.request.prepare import prepare
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import BUDGET, JSON, MODEL, QUIET, SET, Option
from reassure.spec.semantics.interpreter import BoundModel, ModelError
from reassure.spec.semantics.trace import lines_of, to_itf

if TYPE_CHECKING:
    from reassure.checkers.analyses.validate.explain_log import LogExplanation

WIDTH = 200_000
SHOWN = 3
"""Possible states that are printed."""
MOST_REASONS = 8
MATCHED = Stop(StopReason.COMPLETE, "every line was matched, or no run matches one")
BEYOND_BOUNDS = Stop(
    StopReason.OPEN, "no run within the bounds matches a line, and steps that leave one were not followed"
)


OPTIONS = (
    MODEL,
    SET,
    Option("LOG", "observations, one JSON object a line; - is standard input", Path),
    Option(
        "--hidden ACTION,...",
        "actions that may be taken between lines without being observed; * matches any letters (default: none)",
        default="",
    ),
    Option(
        "--width N",
        f"end with exit code 5 if more states than this are possible at once (default: {WIDTH:,})",
        positive,
        WIDTH,
    ),
    Option("--engine", f"the engine (default: {DEFAULT_ENGINE})", default=DEFAULT_ENGINE, choices=EXHAUSTIVE_ENGINES),
    BUDGET,
    Option("--trace FILE", "write the run that matches the log, as ITF", Path, output=True),
    replace(JSON, help="write the answer; - is standard output"),
    replace(QUIET, help="print no progress and no states"),
)
KIND = GateKind(left_out=frozenset({"trace"}))


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Matches the log to the model, and reports."""
    from reassure.checkers.analyses.validate.explain_log import explain_log
    from reassure.checkers.analyses.validate.observations import read_lines
    from reassure.checkers.analyses.validate.steppers import NativeStepper, PlainStepper
    from reassure.checkers.engines.native.search import Clock

    prepared = prepare(args.model, args.set)
    bound, lowered = prepared.bound, prepared.lowered
    hidden = _hidden(args.hidden, bound)
    clock = Clock(args.budget)

    def look(lines: int, states: int) -> None:
        clock.look()
        progress.proof(f"{lines:,} lines matched | {states:,} possible states")

    with Progress(quiet=args.quiet) as progress, _opened(args.log) as texts:
        try:
            stepper = NativeStepper(bound, lowered) if args.engine == "native" else PlainStepper(bound)
            lines = read_lines(lines_of(texts, str(args.log)), bound, str(args.log))
            answer = explain_log(bound, stepper, lines, hidden, args.width, look)
        except ModelError as error:
            raise Failure(Exit.MODEL, str(error)) from None
        except UnicodeDecodeError as error:
            raise Failure(Exit.USAGE, f"{args.log} is not text: {error}") from None
    if not answer.observes and answer.failed is None:
        raise Failure(Exit.NOTHING, f"{args.log} has no line" + (" that observes anything" if answer.lines else ""))
    code = _exit_of(answer)
    identity = RunIdentity.of(prepared, args.engine, args.repro)
    if args.trace and answer.behaviour is not None:
        answer.behaviour.meta |= {**identity.origin(), "engine": "validate"}
        write_atomically(args.trace, to_itf(answer.behaviour, bound))
    stopped = BEYOND_BOUNDS if code is Exit.INCONCLUSIVE else MATCHED
    run_record = identity.record(code, stopped == MATCHED, stopped)
    write_record(args.json, {**run_record, **_record(answer, bound), "log": str(args.log)})
    _report(answer, bound, stepper.name, console, args.quiet)
    return code


def _hidden(text: str, bound: BoundModel) -> frozenset[str]:
    names, hidden = [a.name for a in bound.model.actions], set()
    for pattern in [p.strip() for p in text.split(",") if p.strip()]:
        fitting = {name for name in names if fnmatchcase(name, pattern)}
        if not fitting:
            raise Failure(Exit.USAGE, f"--hidden {pattern}: {bound.model.name} has the actions {', '.join(names)}")
        hidden |= fitting
    return frozenset(hidden)


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    if path == STANDARD_OUTPUT:
        yield sys.stdin
        return
    try:
        file = path.open(encoding="utf-8")
    except OSError as error:
        raise Failure(Exit.USAGE, f"{path}: {error.strerror}{did_you_mean(path)}") from None
    with file:
        yield file


def _exit_of(answer: LogExplanation) -> Exit:
    """18 if no run matches the log; 5 if one with steps beyond the bounds might."""
    if answer.failed is None:
        return Exit.OK
    return Exit.INCONCLUSIVE if answer.clipped else Exit.TRACE


def _report(answer: LogExplanation, bound: BoundModel, engine: str, console: Console, quiet: bool) -> None:
    """Prints the answer."""
    from reassure.checkers.traces.render import filled, in_short

    behaviour = answer.behaviour
    assert behaviour is not None
    steps = f"{quantity(len(behaviour) - 1, 'step')} ({answer.hidden_steps:,} hidden)"
    lines = quantity(answer.lines, "line")
    if answer.failed is None:
        console.print(f"{bound.model.name} has a run that matches the log: {lines}, {steps}")
        place = "after the last line"
    else:
        console.print(
            f"{bound.model.name} has no run that matches line {answer.failed.number}: {answer.failed.text[:200]}"
        )
        console.print(f"a run matches the lines before it: {lines}, {steps}")
        place = "before that line"
    possible = quantity(answer.possible_count, "state")
    console.print(f"{possible} possible {place}; {answer.widest:,} at most after any line, by {engine}")
    if not quiet:
        for number, state in enumerate(answer.possible[:SHOWN], 1):
            rows = filled([f"{path}={value}" for path, value in in_short(state)], ", ")
            console.print(f"  state {number}: " + ",\n    ".join(rows))
    if answer.failed is not None:
        console.print("why the line does not match:")
        for text, count in answer.reasons[:MOST_REASONS]:
            console.print(f"  {text} (in {count:,} of {quantity(answer.examined, 'state')})")
        if answer.clipped:
            console.print("some steps leave a bound and were not followed: with wider bounds a run may match the log")


def _record(answer: LogExplanation, bound: BoundModel) -> dict[str, object]:
    """The answer as JSON, without the run."""
    from reassure.checkers.traces.plain_json import to_plain

    failed = answer.failed
    return {
        "lines_explained": answer.lines,
        "failed_line": None if failed is None else {"number": failed.number, "text": failed.text},
        "possible_states": answer.possible_count,
        "widest": answer.widest,
        "states": [to_plain(state, bound.type) for state in answer.possible[:100]],
        "why": [{"reason": text, "states": count} for text, count in answer.reasons],
        "clipped": answer.clipped,
        "hidden_steps": answer.hidden_steps,
        "steps": len(answer.behaviour) - 1 if answer.behaviour is not None else 0,
    }
