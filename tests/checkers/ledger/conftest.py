"""Claims of their own, with a ledger and traces of their own."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.cli.main import main
from reassure.checkers.ledger import command, ledger, recorded_run, refresh
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import BY_USER
from reassure.checkers.request.result import CheckResult
from reassure.spec import claims
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.claim_text import TOY


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with claims of its own, and a ledger and traces beside them."""
    monkeypatch.setattr(claims, "FOLDER", tmp_path)
    monkeypatch.setattr(ledger, "PATHS", ledger.LedgerPaths(tmp_path / "ledger.json", tmp_path / "traces"))
    monkeypatch.setattr(command, "refresh", partial(refresh.refresh, engine="reference"))
    (tmp_path / "K.toml").write_text(TOY, encoding="utf-8")
    return tmp_path


@pytest.fixture
def interrupted_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Has each search of a reading end as by Ctrl-C; gets the models that are searched."""
    asked: list[str] = []

    def interrupted(request: CheckRequest, progress: Progress) -> tuple[CheckResult, BoundModel]:
        asked.append(request.model)
        result, bound = run(request, progress)
        return replace(result, returned=replace(result.returned, stopped=BY_USER)), bound

    monkeypatch.setattr(recorded_run, "run", interrupted)
    return asked


@pytest.fixture
def ran(toys: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """As `toys`, refreshed, without the proof."""
    path = toys / "K.toml"
    path.write_text(TOY[: TOY.rindex("[[claim.reading]]")], encoding="utf-8")
    assert main(["claims", "--refresh"]) == 0
    capsys.readouterr()
    return toys
