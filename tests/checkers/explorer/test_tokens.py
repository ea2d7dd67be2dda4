"""Tokens: random without a port, kept for a port and a model, by a key that nobody else can read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from reassure.checkers.explorer.tokens import TOKEN_LETTERS, key_file, token_of


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_port_and_a_model_keep_their_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = token_of(8000, "kraft")
    assert len(kept) == TOKEN_LETTERS
    assert token_of(8000, "kraft") == kept
    assert len({kept, token_of(8001, "kraft"), token_of(8000, "core")}) == 3
    assert stat.S_IMODE(key_file().stat().st_mode) == 0o600
    assert [path.name for path in key_file().parent.iterdir()] == ["explorer.key"]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert token_of(8000, "kraft") != kept


def test_a_file_has_the_token_of_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert token_of(8000, "mine.py") == token_of(8000, str(tmp_path / "mine.py")) == token_of(8000, "./mine.py")


def test_without_a_port_a_token_is_random_and_leaves_no_file(cache: Path) -> None:
    assert token_of(None, "kraft") != token_of(None, "kraft")
    assert not cache.exists()


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_key_that_others_can_read_is_not_used(mode: int) -> None:
    token_of(8000, "kraft")
    key_file().chmod(mode)
    assert token_of(8000, "kraft") != token_of(8000, "kraft")


def test_a_damaged_key_is_not_used() -> None:
    token_of(8000, "kraft")
    key_file().write_bytes(b"short")
    assert token_of(8000, "kraft") != token_of(8000, "kraft")


def test_where_no_key_can_be_kept_a_token_is_random(cache: Path) -> None:
    cache.write_text("a file in place of the folder")
    assert token_of(8000, "kraft") != token_of(8000, "kraft")
