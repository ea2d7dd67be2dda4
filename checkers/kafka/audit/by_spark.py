"""The audit of a metadata log as tasks of Spark: each judges a share of the partitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reassure.checkers.engines.spark.session import SparkJob, start
from reassure.checkers.kafka.audit.audit_log import AuditReport, AuditTask, Refused, audit_share, together
from reassure.checkers.kafka.audit.metadata_records import PartitionShare
from reassure.checkers.request.options import SparkOptions


def audit_by_spark(task: AuditTask, cluster: SparkOptions, tasks: int | None, beat: Callable[[], None]) -> AuditReport:
    """The audit by so many tasks (none: one a core). The driver reads the files, and executors get their content.

    beat: called now and then; raises to end the job. Raises `NoSpark`, `JobFailed`, or `Failure` for a log that cannot
    be audited.
    """
    files = tuple(replace(file, data=file.read()) for file in task.files)
    session = start("reassure audit", cluster)
    context = session.context
    try:
        sent = context.broadcast(replace(task, files=files))
        count = tasks or int(context.defaultParallelism)

        def judge(number: int) -> AuditReport | Refused:
            return audit_share(sent.value, PartitionShare(number, count))

        job = SparkJob(context, "reassure-audit", context.parallelize(range(count), count).map(judge).collect)
        return together(job.result(beat))
    finally:
        session.stop()
