"""Unified diffs (`diff -u`, `git diff`) of Kafka's sources: read, applied to the text of a release, and written.

A diff may be of another commit than the release: a hunk is applied at the place nearest to its line numbers where its
old lines stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import unified_diff

from reassure.checkers.machine.exit_codes import SystemFailure, UsageFailure

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NOWHERE = "/dev/null"
NO_LINE_END = "\\ No newline at end of file"
SIGNATURE = "--"
"""Git ends a patch by mail with this line, and its version below."""


@dataclass
class DiffHunk:
    """Old lines, where they stood (from 1), and the new lines in their place."""

    line: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass
class FileDiff:
    """The hunks of one file. path, old_path: as the diff names it behind `+++` and `---`, without `a/` or `b/`."""

    path: str
    old_path: str
    hunks: list[DiffHunk] = field(default_factory=list)

    @property
    def created(self) -> bool:
        """The diff adds the file."""
        return self.old_path == NOWHERE


def is_unified_diff(text: str) -> bool:
    """Whether a text has the headers of a unified diff."""
    return re.search(r"^--- .*\n\+\+\+ .*\n@@ -", text, re.MULTILINE) is not None


def file_diffs(text: str, name: str) -> list[FileDiff]:
    """The files of a diff, in order; `UsageFailure` with name and line of what cannot be read."""
    files: list[FileDiff] = []
    lines = iter(enumerate(text.splitlines(), 1))
    old_path, after_hunk = "", False
    for number, line in lines:
        where = f"{name}:{number}"
        is_header = line.startswith(("--- ", "+++ ", "@@ "))
        if after_hunk and not is_header and line[:1] in (" ", "+", "-") and line.strip() != SIGNATURE:
            raise UsageFailure(f"{where}: a line behind the end of a hunk, whose header counts fewer lines")
        after_hunk = line.startswith("@@ ")
        if line.startswith("--- "):
            old_path = _path(line[4:])
        elif line.startswith("+++ "):
            path = _path(line[4:])
            if path == NOWHERE:
                raise UsageFailure(f"{where}: the diff deletes {old_path}; a build cannot leave out a class")
            files.append(FileDiff(path, old_path))
        elif line.startswith("@@ "):
            if not files:
                raise UsageFailure(f"{where}: a hunk of no file: `--- FILE` and `+++ FILE` are missing above it")
            files[-1].hunks.append(_hunk(line, lines, where))
        elif line.startswith(("rename ", "GIT binary", "Binary files")):
            raise UsageFailure(f"{where}: {line.split()[0]} is not supported: a diff changes or adds text files")
    return files


def _path(text: str) -> str:
    """The path of a header, without a date and without `a/` or `b/`."""
    path = text.split("\t")[0].strip()
    return path[2:] if path.startswith(("a/", "b/")) else path


def _hunk(header: str, lines: Iterator[tuple[int, str]], where: str) -> DiffHunk:
    match = HUNK.match(header)
    if match is None:
        raise UsageFailure(f"{where}: {header[:40]!r} is not a header of a hunk")
    old_count, new_count = int(match[2] or 1), int(match[4] or 1)
    hunk = DiffHunk(int(match[1]) + (old_count == 0))
    while len(hunk.old) < old_count or len(hunk.new) < new_count:
        _, line = next(lines, (0, None))
        if line is None or line[:1] not in ("", " ", "+", "-", "\\"):
            raise UsageFailure(f"{where}: the hunk ends before its {old_count} old and {new_count} new lines")
        if line[:1] in ("", " ", "-"):
            hunk.old.append(line[1:])
        if line[:1] in ("", " ", "+"):
            hunk.new.append(line[1:])
    return hunk


class OfAnotherText(SystemFailure):
    """A diff of lines that the release does not have."""


def patched(original: str, diff: FileDiff) -> str:
    """The text after the diff; `OfAnotherText` where the old lines of a hunk stand nowhere."""
    lines, edited, at, moved = original.splitlines(), list[str](), 0, 0
    for hunk in diff.hunks:
        start = _place(lines, hunk, at, hunk.line - 1 + moved)
        if start is None:
            raise OfAnotherText(
                f"{diff.path}, line {hunk.line}: the lines that the diff replaces are not in the release's text: "
                "the diff is of another release"
            )
        edited += [*lines[at:start], *hunk.new]
        at, moved = start + len(hunk.old), start - (hunk.line - 1)
    return "\n".join([*edited, *lines[at:]]) + "\n"


def _place(lines: list[str], hunk: DiffHunk, at: int, near: int) -> int | None:
    """The index nearest to `near`, from `at` on, where the old lines of a hunk stand."""
    if not hunk.old:
        return max(at, min(near, len(lines)))
    starts = range(at, len(lines) - len(hunk.old) + 1)
    fitting = [start for start in starts if lines[start : start + len(hunk.old)] == hunk.old]
    return min(fitting, key=lambda start: abs(start - near), default=None)


# -- writing -------------------------------------------------------------------------------------------------------


def written_diff(old: str, new: str, path: str) -> str:
    """A change of one file as `git apply` and `patch -p1` take it; path: in the repository. An empty `old`: a new file.

    Lines end at line feeds alone, as for these programs.
    """
    lines, new_lines = (re.findall(r"[^\n]*\n|[^\n]+$", text) for text in (old, new))
    names = (f"a/{path}" if old else NOWHERE, f"b/{path}")
    header = f"diff --git a/{path} b/{path}\n" + ("" if old else "new file mode 100644\n")
    diff = unified_diff(lines, new_lines, *names)
    return header + "".join(line if line.endswith("\n") else f"{line}\n{NO_LINE_END}\n" for line in diff)
