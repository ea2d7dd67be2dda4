"""What tests of the folder share: one Spark session, and a run that was kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.options import SparkOptions
from tests.helpers.spark_runs import MASTER, checked, far


@pytest.fixture(scope="session")
def context() -> Iterator[Any]:
    """A session's context: starting one takes longer than what is tested."""
    from reassure.checkers.engines.spark.session import start

    session = start("tests", SparkOptions(MASTER))
    yield session.context
    session.stop()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, context: Any) -> Path:
    """The directory of a run that is complete."""
    place = tmp_path_factory.mktemp("runs") / "core"
    assert checked("core", [], far(out=str(place))).exit() is Exit.OK
    return place
