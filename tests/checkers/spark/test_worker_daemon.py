"""The process that forks Spark's Python workers imports PySpark from where its byte code is kept."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from reassure.checkers.spark import worker_daemon
from tests.helpers.spark_runs import needs_spark

pytest.importorskip("pyspark")

ARCHIVES = ["/spark/python/lib/pyspark.zip", "/spark/python/lib/py4j-0.10.9.9-src.zip"]


def test_archives_are_left_out_where_the_packages_are_installed() -> None:
    assert worker_daemon.without_archives([*ARCHIVES, "/mine.zip", *sys.path]) == ["/mine.zip", *sys.path]


def test_archives_stay_where_nothing_is_installed() -> None:
    assert worker_daemon.without_archives([*ARCHIVES, "/nowhere"]) == [*ARCHIVES, "/nowhere"]


@needs_spark
def test_workers_import_the_installed_package(context: Any) -> None:
    def imported_from(_: int) -> str:
        import pyspark

        return str(pyspark.__file__)

    (found,) = context.parallelize([1], 1).map(imported_from).collect()
    assert ".zip" not in found
