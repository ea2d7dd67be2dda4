"""Checks by Spark in this process, and by the native engine to compare with."""

from __future__ import annotations

from typing import Any

import pytest

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.engines.spark.launch import why_not
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions, SparkOptions
from reassure.checkers.request.result import CheckResult

MASTER = "local[2]"
needs_spark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


def checked(
    model: str, pairs: list[str], cluster: SparkOptions | None = None, progress: Progress | None = None, **options: Any
) -> CheckResult:
    """The result by Spark on this cluster; by the native engine without one. options: of `SearchOptions`."""
    engine = "native" if cluster is None else "spark"
    asked = CheckRequest(model, pairs, engine, SearchOptions(**options), cluster=cluster or SparkOptions())
    return run(asked, progress or Progress(quiet=True))[0]


def far(**options: Any) -> SparkOptions:
    """Every level goes to Spark."""
    return SparkOptions(MASTER, small=1, **options)
