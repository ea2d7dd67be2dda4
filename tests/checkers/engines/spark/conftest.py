"""A run that tests of the folder share."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.machine.exit_codes import Exit
from tests.helpers.spark_runs import checked, far


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of a test: its own, and nothing is in it."""
    (folder := tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, context: Any) -> Path:
    """The directory of a run that is complete."""
    place = tmp_path_factory.mktemp("runs") / "core"
    assert checked("core", [], far(out=str(place))).exit() is Exit.OK
    return place
