"""Claims of their own, with a ledger and traces of their own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.ledger import command, ledger, refresh
from reassure.spec import claims
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
def ran(toys: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """As `toys`, refreshed, without the proof."""
    path = toys / "K.toml"
    path.write_text(TOY[: TOY.rindex("[[claim.reading]]")], encoding="utf-8")
    assert main(["claims", "--refresh"]) == 0
    capsys.readouterr()
    return toys
