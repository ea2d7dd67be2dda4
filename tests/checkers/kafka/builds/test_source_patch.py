"""Patches without Kafka's text: what they are written as, what they do, and what is refused."""

from __future__ import annotations

import pytest

from reassure.checkers.kafka.builds.source_patch import (
    Copied,
    Hunk,
    SourcePatch,
    applied,
    digest_of_lines,
    hunks_of,
    parsed_patch,
)
from reassure.checkers.machine.exit_codes import Exit, Failure

ORIGINAL = """class A {
    int field = first.value();
    int other = second.value();

    boolean less(int a, int b) {
        return compare(a, b) <= 0;
    }
}
"""
LINES = ORIGINAL.splitlines()


@pytest.mark.parametrize(
    ("edited", "hunks"),
    [
        (ORIGINAL, ""),
        (ORIGINAL.replace("<=", "<"), f"@@ 6:30,2 {digest_of_lines([LINES[5]])}\n+<"),
        (  # two words of a line: each for itself, the text between them is not written
            ORIGINAL.replace("compare(a, b)", "order(a, 0)"),
            f"@@ 6:16,7 {digest_of_lines([LINES[5]])}\n+order\n@@ 6:27,1 {digest_of_lines([LINES[5]])}\n+0",
        ),
        (  # an insertion: the digest is that of the line behind it
            ORIGINAL.replace("    boolean", "    long x;\n    boolean"),
            f"@@ 5,0 {digest_of_lines([LINES[4]])}\n+    long x;",
        ),
        (ORIGINAL.replace(f"{LINES[2]}\n", ""), f"@@ 3,1 {digest_of_lines([LINES[2]])}"),
        (  # lines that change places
            ORIGINAL.replace(f"{LINES[1]}\n{LINES[2]}\n", f"{LINES[2]}\n{LINES[1]}\n"),
            f"@@ 2,0 {digest_of_lines([LINES[1]])}\n=3\n@@ 3,1 {digest_of_lines([LINES[2]])}",
        ),
        (  # lines that move into a block, further in
            ORIGINAL.replace(LINES[5], f"        if (a > 0) {{\n    {LINES[5]}\n        }}\n        throw error;"),
            f"@@ 6,1 {digest_of_lines([LINES[5]])}\n+        if (a > 0) {{\n=6 +4\n+        }}\n+        throw error;",
        ),
    ],
)
def test_an_edited_text_as_hunks_and_back(edited: str, hunks: str) -> None:
    computed = hunks_of(ORIGINAL, edited)
    assert "\n".join(map(str, computed)) == hunks
    assert applied(computed, ORIGINAL, "A.java") == edited
    if hunks:
        patch = SourcePatch("Why.\n\nTwo paragraphs.", {"org/A.java": computed})
        assert str(patch) == f"# Why.\n#\n# Two paragraphs.\nfile org/A.java\n{hunks}\n"
        assert parsed_patch(str(patch), "p") == patch


def test_a_new_file_is_an_insertion_into_nothing() -> None:
    hunks = hunks_of("", ORIGINAL)
    assert hunks == (Hunk(1, 0, digest_of_lines([]), tuple(LINES)),)
    assert applied(hunks, "", "A.java") == ORIGINAL


def test_a_patch_by_hand_may_leave_blank_lines_and_comments_between_and_shorten_its_digests() -> None:
    text = f"# why\n\nfile org/A.java\n\n# the sum\n@@ 2,2 {digest_of_lines(LINES[1:3])[:6]}\n=3 -2\n+    int c;\n"
    patch = parsed_patch(text, "p")
    assert patch.comment == "why"
    assert patch.files["org/A.java"] == (Hunk(2, 2, digest_of_lines(LINES[1:3])[:6], (Copied(3, 3, -2), "    int c;")),)
    edited = applied(patch.files["org/A.java"], ORIGINAL, "A.java").splitlines()
    assert edited == [LINES[0], LINES[2][2:], "    int c;", *LINES[3:]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p changes nothing"),
        ("file A.java\n", "p changes nothing"),
        ("+x\n", "p:1: new text stands below no hunk"),
        ("@@ 1,1 0123456789ab\n", "p:1: a hunk of no file"),
        ("file A.java\n@@ 0,1 0123456789ab\n", "p:2: '@@ 0,1 0123456789ab': a hunk begins with"),
        ("file A.java\n@@ 1,1 sha\n", "p:2: '@@ 1,1 sha': a hunk begins with"),
        ("file A.java\n@@ 1:0,1 0123456789ab\n+x\n", "p:2: .* numbers from 1"),
        ("file A.java\n@@ 1,1 0123456789ab\n=x\n", "p:3: '=x': a copy of lines reads"),
        ("file A.java\n@@ 1:2,1 0123456789ab\n=4\n", "p:3: '=4': a copy of lines reads"),
        ("file A.java\n@@ 1:2,1 0123456789ab\n+x\n+y\n", "p: A.java, line 1: a part of a line has one line"),
        ("file A.java\n- gone\n", "p:2: '- gone' is not a line of a patch"),
    ],
)
def test_what_is_no_patch_is_refused_in_a_line(text: str, message: str) -> None:
    with pytest.raises(Failure, match=f"^{message}") as refused:
        parsed_patch(text, "p")
    assert refused.value.code is Exit.USAGE and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("hunks", "message"),
    [
        (
            [Hunk(2, 1, "0" * 12, ("x",))],
            f"line 2: the digest of the text there is {digest_of_lines([LINES[1]])}, not 0{{12}}",
        ),
        ([Hunk(9, 1, digest_of_lines([]), ("x",))], "A.java has 8 lines, the patch changes line 9"),
        (
            [Hunk(2, 0, digest_of_lines([LINES[1]]), (Copied(7, 9),))],
            "line 2: =7-9 copies lines that the file does not have",
        ),
        ([Hunk(6, 9, digest_of_lines([LINES[5]]), ("x",), 30)], "line 6: the line ends before column 38"),
        (
            [Hunk(2, 2, digest_of_lines(LINES[1:3]), ()), Hunk(3, 1, digest_of_lines([LINES[2]]), ())],
            "line 3: two hunks change the same text",
        ),
        (
            [Hunk(6, 2, digest_of_lines([LINES[5]]), ("x",), 30), Hunk(6, 3, digest_of_lines([LINES[5]]), ("x",), 29)],
            "line 6: two hunks change the same text",
        ),
        ([Hunk(2, 0, digest_of_lines([LINES[1]]), ("x",))] * 2, "line 2: two hunks change the same text"),
    ],
)
def test_what_does_not_fit_the_text_is_refused_in_a_line(hunks: list[Hunk], message: str) -> None:
    with pytest.raises(Failure, match=message) as refused:
        applied(hunks, ORIGINAL, "A.java")
    assert refused.value.code is Exit.SYSTEM and "\n" not in str(refused.value)


def test_neighbours_do_not_overlap() -> None:
    hunks = [
        Hunk(2, 1, digest_of_lines([LINES[1]]), ("two",)),
        Hunk(3, 0, digest_of_lines([LINES[2]]), ("between",)),
        Hunk(3, 1, digest_of_lines([LINES[2]]), ("three",)),
        Hunk(6, 2, digest_of_lines([LINES[5]]), ("==",), 30),
        Hunk(6, 7, digest_of_lines([LINES[5]]), ("order",), 16),
    ]
    edited = applied(hunks, ORIGINAL, "A.java").splitlines()
    assert edited[1:4] == ["two", "between", "three"] and edited[6] == "        return order(a, b) == 0;"
