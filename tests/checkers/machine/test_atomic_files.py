"""Files that are there whole or not at all; what cannot be written is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.machine.atomic_files import write_atomically
from tests.helpers.command import said

FULL = Path("/dev/full")


def test_the_old_text_stays_where_the_new_one_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.json"
    write_atomically(path, "old")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("old", 0o644)

    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.chmod", full)
    with pytest.raises(OSError) as raised:
        write_atomically(path, "new")
    assert (raised.value.errno, raised.value.filename) == (28, str(path))
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.json"]


def test_a_link_leads_to_the_file_that_is_written(tmp_path: Path) -> None:
    """It stays a link. A file keeps what its user may do; others never gain the right to write it."""
    (path := tmp_path / "real.toml").write_text("old")
    (link := tmp_path / "link.toml").symlink_to(path)
    path.chmod(0o600)
    write_atomically(link, "new")
    assert (link.is_symlink(), path.read_text(), path.stat().st_mode & 0o777) == (True, "new", 0o600)
    path.chmod(0o666)
    write_atomically(path, "newer")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("newer", 0o644)


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
def test_a_full_device_is_named_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "check", "die_hard", "--engine", "reference", "--quiet", "--json", str(FULL))
    assert (code, err) == (153, "reassure: /dev/full: No space left on device\n")
