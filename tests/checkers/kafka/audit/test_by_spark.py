"""An audit by Spark is the audit by one process."""

from __future__ import annotations

from typing import Any

from reassure.checkers.kafka.audit.audit_log import AuditTask, audit_share
from reassure.checkers.kafka.audit.by_spark import audit_by_spark
from reassure.checkers.kafka.audit.log_files import LogFile
from reassure.checkers.kafka.audit.share import PartitionShare
from reassure.checkers.request.options import SparkOptions
from tests.helpers.metadata_log_text import LOGS
from tests.helpers.spark_runs import MASTER, needs_spark

pytestmark = needs_spark


def test_shares_of_spark_are_the_whole(context: Any) -> None:
    task = AuditTask((LogFile(str(LOGS / "4.1.0.log")),), "4.3", 1)
    found = audit_by_spark(task, SparkOptions(MASTER), 3, lambda: None)
    assert found == audit_share(task, PartitionShare())
    assert len(found.audit.findings) == 7
