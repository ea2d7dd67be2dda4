"""Folders and files of others are not used; links, pipes and locks of others do no harm."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from reassure.checkers.machine import own_files
from reassure.checkers.machine.own_files import (
    KeptFiles,
    locked,
    others_can_write,
    own_folder,
    read_own,
    why_not_own,
)


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_files, "_told", set())


def test_a_folder_that_is_made_is_the_users_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert own_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("mode", "own"), [(0o700, True), (0o755, True), (0o770, False), (0o702, False), (0o720, False)]
)
def test_a_folder_that_others_can_write_is_not_used(
    mode: int, own: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SECURITY.md, 10."""
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    assert own_folder(folder) is own and own_folder(folder) is own
    told = f"reassure: the folder {folder} is not used: other users can write to it\n"
    assert capsys.readouterr().err == ("" if own else told)
    assert why_not_own(folder) == (None if own else "other users can write to it")


def test_a_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SECURITY.md, 10."""
    assert others_can_write(tmp_path) is None
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert others_can_write(tmp_path) == "it belongs to another user"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not own_folder(tmp_path / "file" / "cache")
    assert why_not_own(tmp_path / "file" / "cache") == "it cannot be made: File exists"


def test_what_is_longest_unused_goes_when_there_are_a_tenth_more(tmp_path: Path) -> None:
    """The eleventh of ten stays; with the twelfth ten are left."""
    kept, folder = KeptFiles(lambda: tmp_path / "kept", b"words\n", ".kept", 10), tmp_path / "kept"

    def age(name: str, seconds: int) -> None:
        os.utime(folder / f"{name}.kept", (seconds, seconds))

    for number in range(11):
        kept.write(f"{number:02}", b"content")
        age(f"{number:02}", 1000 + number)
    (folder / "other").write_text("")
    assert len(list(folder.glob("*.kept"))) == 11
    age("00", 5000)  # used again
    kept.write("11", b"content")
    assert sorted(path.name for path in folder.iterdir()) == [
        *(f"{number:02}.kept" for number in (0, *range(3, 12))),
        "other",
    ]
    assert (kept.read("01"), kept.read("03")) == (None, b"content")


def test_a_file_is_read_and_counts_as_used(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    os.utime(file, (5, 5))
    assert read_own(file) == b"content" and file.stat().st_mtime > 5
    assert read_own(tmp_path / "none") is None and read_own(tmp_path) is None


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_is_not_read(mode: int, tmp_path: Path) -> None:
    """SECURITY.md, 10."""
    file = tmp_path / "file"
    file.write_bytes(b"content")
    file.chmod(mode)
    assert read_own(file) is None


def test_a_link_is_not_followed_and_a_pipe_not_waited_for(tmp_path: Path) -> None:
    """SECURITY.md, 11."""
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert read_own(tmp_path / "link") is None and read_own(tmp_path / "pipe") is None


def test_a_lock_follows_no_link_and_truncates_nothing(tmp_path: Path) -> None:
    """SECURITY.md, 11."""
    victim, link, lock = tmp_path / "victim", tmp_path / "link", tmp_path / "lock"
    victim.write_text("precious")
    link.symlink_to(victim)
    lock.write_text("kept")
    with locked(link), locked(lock):
        pass
    assert victim.read_text() == "precious" and lock.read_text() == "kept"


def test_a_lock_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """SECURITY.md, 11."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    with locked(tmp_path / "pipe"):
        pass


def test_a_lock_excludes_others_and_is_let_go(tmp_path: Path) -> None:
    def free() -> bool:
        with open(tmp_path / "lock", "ab") as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    with locked(tmp_path / "lock"):
        assert not free()
    assert free()


def test_a_lock_that_is_never_let_go_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    """SECURITY.md, 11."""
    with locked(tmp_path / "lock"), locked(tmp_path / "lock", patience=0.1):
        pass
