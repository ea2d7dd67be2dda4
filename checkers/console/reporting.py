"""Runs a check and reports it: what `check`, `simulate` and `prove` share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.console.files import name_traces
from reassure.checkers.console.report import report
from reassure.checkers.console.trace_files import picture_beside
from reassure.checkers.machine.atomic_files import write_atomically, write_record
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.result import CheckResult, bound_of
from reassure.spec.semantics.interpreter import BoundModel


def run_and_report(request: CheckRequest, args: argparse.Namespace, console: Console) -> CheckResult:
    """Runs it, writes what is asked for, and reports."""
    result, bound = run(request, Progress(quiet=args.quiet))
    report_result(result, bound, args, console, {})
    return result


def report_result(
    result: CheckResult, bound: BoundModel, args: argparse.Namespace, console: Console, more: Mapping[str, Any]
) -> None:
    """Writes what is asked for, and reports. more: keys of the record in place of those of the result."""
    written = result.write_traces(args.trace_dir, bound) if args.trace_dir else {}
    pictures = {} if args.quiet else _drawn(result, bound, written)
    record = result.record(written)
    for row in record["properties"]:
        if row["name"] in pictures:
            row["picture"] = pictures[row["name"]]
    write_record(args.json, {**record, **more})
    report(result, bound, console, 0 if args.quiet else args.stories, args.full)
    name_traces(list(written.values()), console, result.identity.source, list(pictures.values()))


def _drawn(result: CheckResult, bound: BoundModel, written: Mapping[str, str]) -> dict[str, str]:
    """Draws each trace that was written into the file `picture_beside` names; the pictures by property."""
    if not written:
        return {}
    from reassure.checkers.pictures.svg import svg

    pictures = {}
    for answer in result.answers:
        if answer.trace is not None:
            path = picture_beside(written[answer.name])
            write_atomically(Path(path), svg(answer.trace, bound_of(answer, bound)))
            pictures[answer.name] = path
    return pictures
