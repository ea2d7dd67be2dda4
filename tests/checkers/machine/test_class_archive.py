"""Archives of Java classes: which JVM writes one, which ones take it, and when there is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from reassure.checkers.machine.class_archive import jvm_archive


def archive_options(**more: bool) -> str:
    with jvm_archive("jvm", 3, ["-Xfast"], [Path(__file__)], **more) as (options, inherited):
        assert bool(inherited) == ("ArchiveClassesAtExit" in " ".join(options))
        return " ".join(options)


def test_one_jvm_writes_the_archive_of_classes_and_later_ones_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file counts when the JVM that wrote it has ended, and if it wrote it to its end."""
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path))
    writes = archive_options()
    part = Path(writes.removeprefix("-XX:ArchiveClassesAtExit="))
    assert part.parent == tmp_path / "jvm"
    with jvm_archive("jvm", 3, ["-Xfast"], [Path(__file__)]) as (first, inherited):
        assert (first, len(inherited)) == ((writes,), 1)
        jvm = subprocess.Popen(["sleep", "60"], pass_fds=inherited)
    try:
        part.write_bytes(b"half of an archive")
        assert archive_options() == ""
    finally:
        jvm.kill()
        jvm.wait()
    part.write_bytes(bytes(64))  # of a JVM that was killed while it wrote
    assert (archive_options(writes=False), part.exists()) == ("", False)
    assert archive_options() == writes
    part.write_bytes(b"an archive")
    reads = f"-XX:+VerifySharedSpaces -XX:SharedArchiveFile={part.with_suffix('.jsa')}"
    assert [archive_options(), archive_options()] == [reads, reads]
    assert part.with_suffix(".jsa").read_bytes() == b"an archive"
    part.with_suffix(".jsa").write_bytes(b"an archi")  # a JVM that maps what is shorter than it says is killed
    assert (archive_options(), part.with_suffix(".jsa").exists()) == (writes, False)


def test_the_archives_longest_unused_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path))
    part = Path(archive_options().removeprefix("-XX:ArchiveClassesAtExit="))
    for age, name in enumerate(("one", "two", "three", "four")):
        file = part.with_name(f"{name}.jsa")
        file.write_bytes(b"x")
        os.utime(file, (1000 - age, 1000 - age))
    part.write_bytes(b"an archive")
    archive_options()
    assert {path.stem for path in part.parent.glob("*.jsa")} == {"one", "two", part.stem}


@pytest.mark.parametrize("name", ["with a blank", "others"])
def test_no_archive_where_its_folder_cannot_be_used(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / name / "jvm"
    folder.mkdir(parents=True)
    folder.chmod(0o777 if name == "others" else 0o700)
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / name))
    assert archive_options() == ""


def test_a_jvm_of_other_options_or_files_has_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path))
    jar = tmp_path / "a.jar"
    told = []
    for options, content in (("-Xfast", b"one"), ("-Xslow", b"one"), ("-Xslow", b"other")):
        jar.write_bytes(content)
        with jvm_archive("jvm", 3, [options], [jar]) as (given, _):
            told.append(given)
    assert len(set(told)) == 3
    with jvm_archive("jvm", 3, ["-Xfast"], [tmp_path / "missing.jar"]) as none:
        assert none == ((), ())
