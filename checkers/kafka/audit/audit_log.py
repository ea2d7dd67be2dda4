"""An audit of a log: by shares of its partitions, which any number of processes or machines take, and put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from reassure.checkers.kafka.audit.cluster_history import METADATA_VERSION
from reassure.checkers.kafka.audit.ending import LogEnd, ending_of, rules_from
from reassure.checkers.kafka.audit.judge import Audit, ChangeJudge
from reassure.checkers.kafka.audit.log_files import LogFile, LogRead, changes_in
from reassure.checkers.kafka.audit.metadata_records import PartitionShare
from reassure.checkers.machine.exit_codes import Exit, Failure, worst
from reassure.checkers.request.options import SparkOptions


@dataclass(frozen=True)
class AuditTask:
    """The parameters of an audit, which processes can send each other."""

    files: tuple[LogFile, ...]
    release: str | None
    min_isr: int


@dataclass
class AuditReport:
    """An audit, or a share of one."""

    audit: Audit
    cases: set[Any]
    """The different changes, but for the numbers of brokers and epochs."""
    rules_sha256: str
    records: int = 0
    first: int | None = None
    last: int = 0
    torn: list[str] = field(default_factory=list)
    brokers: int = 0
    topics: int = 0
    partitions: int = 0
    """At the end of the log."""
    ending: LogEnd = field(default_factory=LogEnd)

    def exit(self) -> Exit:
        """12 for a broken promise, 18 for a change that the rules do not allow, 6 if there is no partition."""
        if not self.audit.changes and not self.audit.created:
            return Exit.NOTHING
        codes = {"promise": Exit.SAFETY, "rule": Exit.TRACE}
        return worst([codes[f.kind] for f in self.audit.findings])


def audit_share(task: AuditTask, share: PartitionShare) -> AuditReport | Failure:
    """Judges the partitions of a share. A failure is returned: so it goes from one process to another."""
    read = LogRead()
    read.history.share = share
    try:
        judge = ChangeJudge(task.release, task.min_isr)
        audit = judge.judge(changes_in(list(task.files), read))
    except Failure as failure:
        return failure
    history = read.history
    rules = rules_from(history.features.get(METADATA_VERSION)) if task.release is None else (task.release,)
    ending = ending_of(history, read.time, rules, task.min_isr)
    own = sum(share.has(*key) for key in history.partitions)
    return AuditReport(
        audit, set(judge.explanations_of), judge.digest, history.records, read.first, read.last,
        read.torn, len(history.brokers), len(history.topics), own, ending,
    )  # fmt: skip


def together(shares: Iterable[AuditReport | Failure]) -> AuditReport:
    """The audit of the whole log; `Failure` if some share could not be audited."""
    whole: AuditReport | None = None
    for share in shares:
        if isinstance(share, Failure):
            raise share
        if whole is None:
            whole = share
            continue
        whole.audit.findings += share.audit.findings
        whole.audit.created += share.audit.created
        whole.audit.changes += share.audit.changes
        whole.audit.causes.update(share.audit.causes)
        whole.audit.not_by.update(share.audit.not_by)
        whole.cases |= share.cases
        whole.partitions += share.partitions
        whole.ending.add(share.ending)
    assert whole is not None
    whole.audit.findings.sort(key=lambda f: (f.offset, f.kind, f.name))
    return whole


def audit_by_spark(task: AuditTask, cluster: SparkOptions, tasks: int | None, beat: Callable[[], None]) -> AuditReport:
    """The audit by so many tasks (none: one a core), each of a share of the partitions. The driver reads the files, and
    executors get their content.

    beat: called now and then; raises to end the job. Raises `NoSpark`, `JobFailed`, or `Failure` for a log that cannot
    be audited.
    """
    from reassure.checkers.engines.spark.session import SparkJob, start

    files = tuple(replace(file, data=file.read()) for file in task.files)
    session = start("reassure audit", cluster)
    context = session.context
    try:
        sent = context.broadcast(replace(task, files=files))
        count = tasks or int(context.defaultParallelism)

        def judge(number: int) -> AuditReport | Failure:
            return audit_share(sent.value, PartitionShare(number, count))

        job = SparkJob(context, "reassure-audit", context.parallelize(range(count), count).map(judge).collect)
        return together(job.result(beat))
    finally:
        session.stop()
