"""Unified diffs: as `diff -u`, `diff -U0` and `git diff` write them, for the text of another commit too."""

from __future__ import annotations

import subprocess
from difflib import unified_diff
from pathlib import Path

import pytest

from reassure.checkers.kafka.builds.unified_diff import file_diffs, is_unified_diff, patched, written_diff
from reassure.checkers.machine.exit_codes import Exit, Failure

OLD = [f"line {n}" for n in range(1, 21)]
NEW = [*OLD[:4], "four and a half", *OLD[4:14], *OLD[15:]]
TEXT = "\n".join(OLD) + "\n"


def diff_of(old: list[str], new: list[str], context: int, path: str = "metadata/src/main/java/A.java") -> str:
    lines = unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="", n=context)
    return "\n".join(["diff --git a/x b/x", "index 1..2 100644", *lines]) + "\n"


@pytest.mark.parametrize("context", [0, 1, 3])
def test_a_diff_is_applied(context: int) -> None:
    text = diff_of(OLD, NEW, context)
    assert is_unified_diff(text) and not is_unified_diff("file A.java\n@@ 1,1 0123456789ab\n")
    (diff,) = file_diffs(text, "d")
    assert diff.path == diff.old_path == "metadata/src/main/java/A.java" and not diff.created
    assert patched(TEXT, diff).splitlines() == NEW


def test_the_nearest_place_is_changed_where_lines_have_moved() -> None:
    (diff,) = file_diffs(diff_of(OLD, NEW, 1), "d")
    moved = ["a", "b", *OLD[:8], *OLD]
    assert patched("\n".join(moved) + "\n", diff).splitlines() == [
        "a",
        "b",
        *OLD[:4],
        "four and a half",
        *OLD[4:8],
        *NEW[:4],
        *NEW[5:],
    ]


def test_a_file_that_is_added() -> None:
    text = f"--- /dev/null\n+++ b/A.java\n@@ -0,0 +1,{len(OLD)} @@\n" + "".join(f"+{line}\n" for line in OLD)
    (diff,) = file_diffs(text, "d")
    assert diff.created and patched("", diff) == TEXT


def test_a_patch_by_mail_ends_with_a_signature() -> None:
    mail = f"Subject: x\n\n A.java | 2 +-\n{diff_of(OLD, NEW, 3)}-- \n2.39\n\n"
    first, second = file_diffs(mail + mail.replace("A.java", "B.java"), "d")
    assert (first.path[-6:], second.path[-6:]) == ("A.java", "B.java")
    assert patched(TEXT, first) == patched(TEXT, second) == "\n".join(NEW) + "\n"


def test_lines_that_are_not_there_are_refused() -> None:
    (diff,) = file_diffs(diff_of(OLD, NEW, 1), "d")
    with pytest.raises(
        Failure, match=r"^metadata/src/main/java/A.java, line 14: the lines that the diff replaces are not"
    ):
        patched(TEXT.replace("line 15", "fifteen"), diff)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--- a/A.java\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "d:2: the diff deletes A.java"),
        ("--- a/A.java\n+++ b/A.java\n@@ -1,2 +1 @@\n-x\n", "d:3: the hunk ends before its 2 old and 1 new lines"),
        ("--- a/A.java\n+++ b/A.java\n@@ -1,2 +1 @@\n-x\nindex\n", "d:3: the hunk ends before"),
        ("--- a/A.java\n+++ b/A.java\n@@ x\n", "d:3: '@@ x' is not a header of a hunk"),
        ("@@ -1 +1 @@\n-x\n+y\n", "d:1: a hunk of no file"),
        ("rename from A.java\n", "d:1: rename is not supported"),
        ("--- a/A.java\n+++ b/A.java\n@@ -1 +1 @@\n-x\n+y\n+z\n", "d:6: a line behind the end of a hunk"),
        ("--- a/A.java\n+++ b/A.java\n@@ -1 +1 @@\n-x\n+y\n-z\n", "d:6: a line behind the end of a hunk"),
        ("--- a/A.java\n+++ b/A.java\n@@ -1 +1 @@\n-x\n+y\n z\n", "d:6: a line behind the end of a hunk"),
    ],
)
def test_what_is_no_change_of_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(Failure, match=f"^{message}") as refused:
        file_diffs(text, "d")
    assert refused.value.code is Exit.USAGE


@pytest.mark.parametrize("tool", [["git", "apply"], ["patch", "-p1", "-s", "-i"]])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TEXT, "\n".join(NEW) + "\n"),
        (TEXT, TEXT + "one more\n"),
        ("", TEXT),
        ("a\nb", "a\nc"),
        ("a\nb\n", "a\nb"),
        ("a\x0cb\nc\n", "a\x0cb\nd\n"),
    ],
    ids=["changed", "longer", "new", "no line end", "a line end less", "a form feed"],
)
def test_a_written_diff_is_applied_by_the_tools(tool: list[str], old: str, new: str, tmp_path: Path) -> None:
    file, diff = tmp_path / "metadata" / "A.java", tmp_path / "d.diff"
    file.parent.mkdir()
    if old:
        file.write_text(old)
    diff.write_text(written_diff(old, new, "metadata/A.java"))
    ran = subprocess.run([*tool, str(diff)], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")
    assert file.read_text() == new
