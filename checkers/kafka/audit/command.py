"""`reassure audit`: a KRaft metadata log judged, change by change."""

from __future__ import annotations

import argparse
import os
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reassure.checkers.console.parser import note, spark_settings
from reassure.checkers.console.processes import in_processes
from reassure.checkers.kafka.printed.tool_formats import called, cleaned
from reassure.checkers.machine.atomic_files import write_atomically, write_record
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import positive
from reassure.checkers.request.shared_options import JOBS, JSON, QUIET, SPARK, Option
from reassure.spec.kafka.releases import rules_of

if TYPE_CHECKING:
    from reassure.checkers.kafka.audit.audit_log import AuditReport, AuditTask
    from reassure.checkers.kafka.audit.log_files import LogFile

CORES = os.cpu_count() or 1
MOST_NAMED = 1 << 20
"""Bytes of a file in which the name of another format is looked for."""
SHARE_BYTES = 4 << 20
"""Bytes of a log for which another process pays."""


OPTIONS = (
    Option(
        "LOG",
        "segments or folders of a metadata log, in order; or output of kafka-dump-log --cluster-metadata-decoder "
        "--print-data-log",
        Path,
        nargs="+",
    ),
    Option(
        "--release 4.1.2",
        "the release that wrote the log, or the name of its rules (4.2); its rules must allow each change "
        "(default: the rules of any release may)",
    ),
    Option(
        "--min-isr N", "min.insync.replicas of topics for which the log has none (default: 1, Kafka's own)", positive, 1
    ),
    replace(JSON, help="write every finding; - is standard output"),
    Option("--html FILE", "write the report as one page", Path, output=True),
    Option(
        "--engine",
        "local: processes of this machine; spark: tasks of Spark (default: local)",
        default="local",
        choices=("local", "spark"),
    ),
    replace(JOBS, help="processes or tasks (default: by the size, at most one for each processor)", default=None),
    *SPARK,
    replace(QUIET, help="print no progress"),
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Reads the log, judges every change of a partition, and reports."""
    from reassure.checkers.kafka.audit.audit_log import AuditTask
    from reassure.checkers.kafka.audit.log_files import LogFile, files_of
    from reassure.checkers.kafka.audit.report import audit_html, audit_record, print_report

    files = tuple(LogFile(str(path)) for path in files_of(args.log))
    task = AuditTask(files, args.release and (rules_of(args.release) or args.release), args.min_isr)
    audit = _by_spark(args, task) if args.engine == "spark" else _locally(args, task)
    names = [file.path for file in files]
    if not audit.records:
        what = called(_beginning(files[0])) if len(files) == 1 else ""
        text = f"it is {what}; kafka-dump-log prints a log: no metadata record" if what else "no metadata record"
        raise Failure(Exit.NOTHING, f"{', '.join(names)}: {text}")
    answer = audit_record(audit, task)
    if args.json:
        write_record(args.json, answer)
    if args.html:
        write_atomically(args.html, audit_html(audit, task))
    print_report(audit, task, console)
    for line in audit.torn:
        note(f"note: {line}")
    return audit.exit()


def _beginning(file: LogFile) -> str:
    """The beginning of a file, or all of a short one, as text."""
    path = Path(file.path)
    return cleaned(path.read_bytes()[:MOST_NAMED].decode(errors="replace")) if path.is_file() else ""


def _locally(args: argparse.Namespace, task: AuditTask) -> AuditReport:
    from reassure.checkers.kafka.audit.audit_log import audit_share, together
    from reassure.checkers.kafka.audit.metadata_records import PartitionShare

    spark_settings(args)
    # A pipe is read once, and here: another process has it not.
    files = tuple(f if Path(f.path).is_file() else replace(f, data=f.read()) for f in task.files)
    task = replace(task, files=files)
    size = sum(Path(f.path).stat().st_size if f.data is None else len(f.data) for f in files)
    jobs = args.jobs or min(CORES, 1 + size // SHARE_BYTES)
    progress = Progress(quiet=args.quiet)
    progress.ready("reading")
    try:
        return together(in_processes(audit_share, [(task, PartitionShare(i, jobs)) for i in range(jobs)], jobs))
    except BrokenProcessPool:
        raise Failure(Exit.SYSTEM, "a process was killed while it judged its share of the partitions") from None
    finally:
        progress.done()


def _by_spark(args: argparse.Namespace, task: AuditTask) -> AuditReport:
    from reassure.checkers.kafka.audit.audit_log import audit_by_spark

    progress = Progress(quiet=args.quiet)
    try:
        return audit_by_spark(task, spark_settings(args), args.jobs, lambda: progress.proof("judging"))
    finally:
        progress.done()
