"""A model that raises, searched by Spark: as the native engine tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.options import SparkOptions
from tests.helpers.raising_model import ACTION, written
from tests.helpers.runs import everything
from tests.helpers.spark_runs import MASTER, checked, far, needs_spark

pytestmark = needs_spark


@pytest.mark.parametrize("cluster", [far(), SparkOptions(MASTER)])
def test_as_native(cluster: SparkOptions, tmp_path: Path, context: Any) -> None:
    """Whether the level is searched on the cluster or in the driver."""
    path = written(tmp_path, ACTION)
    assert repr(everything(checked(path, [], cluster))) == repr(everything(checked(path, [])))


def test_a_resumed_run_raises_again(tmp_path: Path, context: Any) -> None:
    path, place = written(tmp_path, ACTION), str(tmp_path / "run")
    first = checked(path, [], far(out=place))
    again = checked(path, [], far(out=place, resume=True))
    assert repr(everything(again)) == repr(everything(first))
    assert again.exit() is Exit.MODEL
