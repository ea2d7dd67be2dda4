"""Levels on disk: words keep their address and their content, and a search that moves them finds what it found."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.engines.native.level_file import LevelFile, in_memory
from reassure.checkers.engines.native.translator.word_rows import MAPPED, address_of, zeros
from reassure.checkers.machine.stop import StopReason
from tests.helpers.runs import checked, everything

WORDS = MAPPED // 8


def numbered(words: int, first: int = 0) -> memoryview:
    memory = zeros(words)
    for k in range(words):
        memory[k] = first + k
    return memory


def test_words_stay_where_they_are(tmp_path: Path) -> None:
    """A second piece goes behind the first one, at the beginning of a page; no name of the file is left."""
    file, pieces = LevelFile(tmp_path), [numbered(WORDS + 3), numbered(WORDS, 10**9)]
    places, contents = [address_of(p) for p in pieces], [p.tolist() for p in pieces]
    assert [file.take(p) for p in pieces] == [True, True]
    assert [address_of(p) for p in pieces] == places
    assert [p.tolist() for p in pieces] == contents
    assert file.refusal == ""
    assert file.nbytes == MAPPED + 4096 + MAPPED
    assert not list(tmp_path.iterdir())
    file.forget()
    assert [p.tolist() for p in pieces] == contents


def test_words_that_begin_within_a_page_stay_in_memory(tmp_path: Path) -> None:
    file, words = LevelFile(tmp_path), numbered(WORDS)[1:]
    assert not file.take(words)
    assert (file.nbytes, words[0]) == (0, 1)


def test_a_full_disk_takes_nothing(tmp_path: Path) -> None:
    file, words = LevelFile(tmp_path, left_free=1.0), numbered(WORDS)
    assert not file.take(words)
    assert (file.nbytes, words.tolist()) == (0, list(range(WORDS)))
    assert file.refusal == f"levels stay in memory: 100% of the disk of {tmp_path} are kept free"


def test_a_disk_that_fills_up_takes_no_more(tmp_path: Path) -> None:
    file, words = LevelFile(tmp_path), numbered(WORDS)
    assert file.take(numbered(WORDS))
    file.left_free = 1.0
    assert not file.take(words)
    assert (file.nbytes, words[1]) == (MAPPED, 1)
    assert file.refusal == f"further levels stay in memory: 100% of the disk of {tmp_path} are kept free"


def test_a_folder_that_cannot_be_made_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    file = LevelFile(tmp_path / "file" / "levels")
    assert not file.take(numbered(WORDS))
    why = "it cannot be made: File exists"
    assert file.refusal == f"levels stay in memory: the folder {file.folder} is not used: {why}"


def test_a_folder_in_memory_takes_nothing(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir() or not in_memory(shared):
        pytest.skip("this system has no file system in memory")
    assert not in_memory(tmp_path)
    folder = shared / f"levels-{tmp_path.name}"
    file = LevelFile(folder)
    assert not file.take(numbered(WORDS))
    folder.rmdir()
    assert file.refusal == f"levels stay in memory: {folder} is not on a disk: its files take memory"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_whose_levels_are_on_disk_finds_the_same(workers: int) -> None:
    free, _ = checked("core", ["brokers=5"], "native", workers=workers)
    limit = free.stats.memory - 6 * MAPPED
    tight, _ = checked("core", ["brokers=5"], "native", workers=workers, memory=limit)
    assert everything(tight) == everything(free)
    assert free.stats.disk == 0
    assert tight.stats.disk >= 6 * MAPPED
    assert tight.stats.memory <= limit


def test_a_chunk_that_is_full_makes_room_for_the_next_one() -> None:
    """Also the last one that a thread has filled: without it the search would end within this limit."""
    tight, _ = checked("core", ["brokers=5"], "native", workers=1, memory=26 << 20)
    assert (tight.complete, tight.stats.distinct, tight.stats.generated) == (True, 1_989_040, 13_687_571)
    assert tight.stats.memory <= 26 << 20


def test_a_search_says_why_its_levels_stayed_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report and the record of a run that ends for memory; without such a reason they say the limit alone."""
    folder = tmp_path / "levels"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path))
    tight, _ = checked("core", ["brokers=5"], "native", workers=1, memory=42 << 20)
    said = "the memory limit of 42 MiB would be passed"
    why = f"levels stay in memory: the folder {folder} is not used: other users can write to it"
    assert tight.record({})["stopped_because"] == f"{said}; {why}"
    assert (tight.stopped.reason, tight.complete, tight.stats.disk) == (StopReason.MEMORY, False, 0)
    folder.chmod(0o700)
    enough, _ = checked("core", ["brokers=5"], "native", workers=1, memory=42 << 20)
    assert enough.complete and enough.stats.disk > 0
    tiny, _ = checked("core", ["brokers=5"], "native", workers=1, memory=4 << 20)
    assert tiny.stopped.text == "the memory limit of 4 MiB would be passed"
