"""`reassure audit`: a KRaft metadata log judged, change by change."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from reassure.checkers.base.argument_types import positive
from reassure.checkers.base.atomic_files import write_record
from reassure.checkers.base.exit_codes import VERDICTS, Exit, Failure, worst
from reassure.checkers.base.progress import Progress
from reassure.checkers.cli.files import must_be_writable
from reassure.checkers.cli.parser import note

if TYPE_CHECKING:
    from reassure.checkers.audit.judge import Audit, Finding
    from reassure.checkers.audit.log_files import LogRead

SHOWN = 40
"""Findings that are printed; the JSON file has all."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "log",
        type=Path,
        nargs="+",
        metavar="LOG",
        help="segments or a folder of a metadata log, or what kafka-dump-log --cluster-metadata-decoder "
        "--print-data-log prints; in order",
    )
    parser.add_argument(
        "--release", metavar="4.1", help="the release that wrote the log: its rules must allow each change "
        "(default: those of some release)"
    )  # fmt: skip
    parser.add_argument(
        "--min-isr", type=positive, default=1, metavar="N",
        help="min.insync.replicas where the log does not have it (default: 1, as Kafka's)",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every finding; - is standard output")
    parser.add_argument("--quiet", action="store_true", help="print no progress")


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Reads the log, judges every change of a partition, and reports."""
    from reassure.checkers.audit.judge import Judge
    from reassure.checkers.audit.log_files import LogRead, changes_in, files_of

    must_be_writable(args.json, "--json")
    judge = Judge(args.release, args.min_isr)
    if args.release is not None and args.release not in judge.releases:
        raise Failure(Exit.USAGE, f"--release {args.release}: it is one of {', '.join(judge.releases)}")
    progress, read = Progress(quiet=args.quiet), LogRead()
    try:
        for change in changes_in(files_of(args.log), read):
            progress.proof(f"{read.history.records:,} records, {len(judge.audit.findings):,} findings")
            judge.judge([change])
    finally:
        progress.done()
    if not read.history.records:
        raise Failure(Exit.NOTHING, f"{', '.join(read.files)}: no metadata record")
    code = exit_of(judge.audit)
    if args.json:
        write_record(args.json, record(judge, read, code))
    report(judge.audit, read, console)
    for line in read.torn:
        note(f"note: {line}")
    return code


def exit_of(audit: Audit) -> Exit:
    """12 for a broken promise, 18 for a change that the rules do not allow, 6 if no partition changes."""
    if not audit.changes and not audit.created:
        return Exit.NOTHING
    codes = {"promise": Exit.SAFETY, "rule": Exit.TRACE}
    return worst([codes[f.kind] for f in audit.findings])


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def report(audit: Audit, read: LogRead, console: Console) -> None:
    """Prints the counts, which release makes which changes, and the findings."""
    history = read.history
    console.print(
        f"{history.records:,} records, offsets {read.first:,} to {read.last:,}; {len(history.brokers):,} brokers, "
        f"{len(history.topics):,} topics, {len(history.partitions):,} partitions at the end"
    )
    console.print(
        f"{audit.created:,} partitions created, {audit.changes:,} changes, {audit.judged:,} of them different"
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("release")
    table.add_column("changes that it does not make", justify="right")
    for release, count in audit.not_by.items():
        table.add_row(release, f"{count:,}")
    if audit.changes:
        console.print(table)
    if audit.findings:
        console.print(f"{len(audit.findings):,} findings, times in UTC")
        console.print(_findings(audit.findings[:SHOWN]))
    if len(audit.findings) > SHOWN:
        console.print(f"and {len(audit.findings) - SHOWN:,} more (--json FILE has all)")
    if not audit.findings:
        console.print("no findings")


def _findings(findings: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("offset", "time", "partition", "kind", "what", "change"):
        table.add_column(column, justify="right" if column == "offset" else "left")
    for f in findings:
        table.add_row(str(f.offset), _time(f.timestamp), f"{f.topic}-{f.partition}", f.kind, f.name, f.change)
    return table


def record(judge: Any, read: LogRead, code: Exit) -> dict[str, Any]:
    """The audit as JSON."""
    audit, history = judge.audit, read.history
    return {
        "schema": 1,
        "verdict": VERDICTS[code],
        "exit_code": code.value,
        "files": read.files,
        "not_read": read.torn,
        "rules_sha256": judge.digest,
        "release": judge.release,
        "records": history.records,
        "first_offset": read.first,
        "last_offset": read.last,
        "partitions": len(history.partitions),
        "created": audit.created,
        "changes": audit.changes,
        "different_changes": audit.judged,
        "not_made_by_release": dict(audit.not_by),
        "causes": dict(audit.causes),
        "findings": [vars(f) for f in audit.findings],
    }
