"""One Spark session for every test of the folder: starting one takes longer than what is tested."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reassure.checkers.base.options import SparkOptions
from tests.helpers.spark_runs import MASTER


@pytest.fixture(scope="session")
def context() -> Iterator[Any]:
    """The session's context."""
    from reassure.checkers.spark.session import start

    session = start("tests", SparkOptions(MASTER))
    yield session.context
    session.stop()
