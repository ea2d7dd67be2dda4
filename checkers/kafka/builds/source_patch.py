"""Patches of Kafka's sources that hold no text of Kafka's: lines by number and digest, and new text of one's own.

A patch is a text file, readable and written by hand or by `reassure kafka build EDITED.java --as-patch -`:

    # Why the change is made: any number of lines of comment.
    file org/apache/kafka/controller/PartitionChangeBuilder.java
    @@ 536,1 0a1b2c3d4e5f
    +        if (clears(targetIsr)) {
    @@ 120:14,2 5e6f0a1b2c3d
    +<
    @@ 140,3 9f0a1b2c3d4e
    =142
    =140-141 +4

`@@ LINE,COUNT DIGEST` replaces COUNT lines from LINE on (from 1) by the lines below it; a COUNT of 0 inserts before
LINE. `@@ LINE:COLUMN,LENGTH DIGEST` replaces LENGTH characters of a line from COLUMN on (from 1) by the text behind one
`+`. DIGEST is the beginning of the SHA-256 of the lines replaced (of LINE itself where none is, or where a part of it
is), each with its line end. Below a header, `+` stands before new text, and `=FIRST-LAST` for lines of the release's
file as they are, `+4` or `-4` blanks further in or out. All numbers are those of the release's file. A new file is one
insertion before line 1, with the digest of nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise

from reassure.checkers.machine.exit_codes import SystemFailure, UsageFailure

DIGITS = 12
"""Hex digits of a digest."""
OWN_LENGTH = 16
"""Characters from which on a line of the original counts as Kafka's text; shorter ones are punctuation of Java."""
SIMILAR = 0.5
"""How alike two lines are, from 0 to 1, for the one to be written as a change of parts of the other."""
HEADER = re.compile(r"@@ (\d+)(?::(\d+))?,(\d+) ([0-9a-f]{4,64})$")
COPY = re.compile(r"=(\d+)(?:-(\d+))?(?: ([+-]\d+))?$")
GRAMMAR = "a hunk begins with `@@ LINE,COUNT DIGEST` or `@@ LINE:COLUMN,LENGTH DIGEST`"


@dataclass(frozen=True)
class Copied:
    """Lines `first` to `last` of the original, both counted from 1, moved `shift` blanks to the right."""

    first: int
    last: int
    shift: int = 0

    def __str__(self) -> str:
        lines = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"={lines}" + (f" {self.shift:+}" if self.shift else "")


@dataclass(frozen=True)
class Hunk:
    """One replacement. line: from 1. count: lines, or characters where `column` (from 1; 0: whole lines) is set."""

    line: int
    count: int
    digest: str
    text: tuple[str | Copied, ...]
    column: int = 0

    def __str__(self) -> str:
        where = f"{self.line}:{self.column}" if self.column else str(self.line)
        return "\n".join([f"@@ {where},{self.count} {self.digest}", *(_row(row) for row in self.text)])

    @property
    def covers(self) -> tuple[int, int]:
        """The lines from (included) and to (excluded) that it replaces, or changes in part."""
        return self.line, self.line + (1 if self.column else self.count)


@dataclass(frozen=True)
class SourcePatch:
    """Replacements by file, the path being that within the jar of sources. comment: its lines without `#`."""

    comment: str = ""
    files: Mapping[str, tuple[Hunk, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"# {line}".rstrip() for line in self.comment.splitlines()]
        for path, hunks in self.files.items():
            lines += [f"file {path}", *map(str, hunks)]
        return "\n".join(lines) + "\n"


def _row(row: str | Copied) -> str:
    return str(row) if isinstance(row, Copied) else f"+{row}"


def digest_of_lines(lines: Iterable[str]) -> str:
    """The beginning of the SHA-256 of lines, each with a line end."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()[:DIGITS]


# -- reading -------------------------------------------------------------------------------------------------------


def parsed_patch(text: str, name: str) -> SourcePatch:
    """The patch of a text; `UsageFailure` with name and line of what cannot be read."""
    comment: list[str] = []
    files: dict[str, list[Hunk]] = {}
    hunks: list[Hunk] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}:{number}"
        if line.startswith(("+", "=")):
            if not hunks:
                raise UsageFailure(f"{where}: new text stands below no hunk; {GRAMMAR}")
            hunks[-1] = _with_row(hunks[-1], line, where)
        elif line.startswith("#"):
            if not files:
                comment.append(line[1:].removeprefix(" "))
        elif line.startswith("file "):
            hunks = files.setdefault(line[5:].strip(), [])
        elif line.startswith("@@"):
            if hunks is None:
                raise UsageFailure(f"{where}: a hunk of no file: write `file org/apache/kafka/....java` above it")
            hunks.append(_header(line.strip(), where))
        elif line.strip():
            raise UsageFailure(f"{where}: {line.strip()[:40]!r} is not a line of a patch; {GRAMMAR}")
    for path, of_file in files.items():
        for hunk in of_file:
            if hunk.column and len(hunk.text) != 1:
                raise UsageFailure(f"{name}: {path}, line {hunk.line}: a part of a line has one line `+TEXT` below it")
    if not any(files.values()):
        raise UsageFailure(f"{name} changes nothing; {GRAMMAR}")
    return SourcePatch("\n".join(comment), {path: tuple(of_file) for path, of_file in files.items()})


def _header(line: str, where: str) -> Hunk:
    match = HEADER.fullmatch(line)
    if match is None or not int(match[1]) or match[2] == "0":
        raise UsageFailure(f"{where}: {line[:40]!r}: {GRAMMAR}, numbers from 1, DIGEST of {DIGITS} hex digits")
    return Hunk(int(match[1]), int(match[3]), match[4], (), int(match[2] or 0))


def _with_row(hunk: Hunk, line: str, where: str) -> Hunk:
    row: str | Copied = line[1:]
    if line.startswith("="):
        match = COPY.fullmatch(line.rstrip())
        if match is None or hunk.column:
            raise UsageFailure(f"{where}: {line[:40]!r}: a copy of lines reads `=FIRST-LAST`, `=LINE` or `=LINE +4`")
        row = Copied(int(match[1]), int(match[2] or match[1]), int(match[3] or 0))
    return Hunk(hunk.line, hunk.count, hunk.digest, (*hunk.text, row), hunk.column)


# -- applying ------------------------------------------------------------------------------------------------------


def applied(hunks: Sequence[Hunk], original: str, path: str) -> str:
    """The file after all replacements, whose numbers are all those of `original`.

    `SystemFailure` where a digest does not fit, a line is not there, or two replacements overlap.
    """
    lines = original.splitlines()
    ordered = sorted(hunks, key=lambda h: (h.covers, h.column))
    for hunk in ordered:
        _must_fit(hunk, lines, path)
    for first, second in pairwise(ordered):
        same_line = first.column and second.column and first.line == second.line
        if (first.column + first.count > second.column) if same_line else _overlap(first.covers, second.covers):
            raise SystemFailure(f"{path}, line {second.line}: two hunks change the same text")
    edited = list(lines)
    for hunk in reversed(ordered):
        if hunk.column:
            before, old = edited[hunk.line - 1], hunk.column - 1
            edited[hunk.line - 1] = f"{before[:old]}{hunk.text[0]}{before[old + hunk.count :]}"
        else:
            edited[hunk.line - 1 : hunk.line - 1 + hunk.count] = _new_lines(hunk, lines, path)
    return "\n".join(edited) + "\n"


def _overlap(first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Whether two ranges, the first beginning no later, share a line; an insertion shares none with its neighbours."""
    return first == second or second[0] < first[1]


def _must_fit(hunk: Hunk, lines: list[str], path: str) -> None:
    start, end = hunk.covers
    replaced = lines[start - 1 : max(end - 1, start)]
    if max(end - 1, start) > max(len(lines), int(hunk.covers == (1, 1))):
        raise SystemFailure(f"{path} has {len(lines)} lines, the patch changes line {start}: it is of another release")
    actual = digest_of_lines(replaced)
    if not actual.startswith(hunk.digest[:DIGITS]):
        raise SystemFailure(
            f"{path}, line {start}: the digest of the text there is {actual}, not {hunk.digest}: "
            "the patch is of another release, or not up to date"
        )
    if hunk.column and hunk.column - 1 + hunk.count > len(replaced[0]):
        raise SystemFailure(f"{path}, line {start}: the line ends before column {hunk.column + hunk.count - 1}")


def _new_lines(hunk: Hunk, lines: list[str], path: str) -> list[str]:
    new: list[str] = []
    for row in hunk.text:
        if isinstance(row, str):
            new.append(row)
            continue
        if not 1 <= row.first <= row.last <= len(lines):
            raise SystemFailure(f"{path}, line {hunk.line}: {row} copies lines that the file does not have")
        new += (_shifted(line, row.shift) for line in lines[row.first - 1 : row.last])
    return new


def _shifted(line: str, shift: int) -> str:
    if shift >= 0:
        return " " * shift + line if line.strip() else line
    return line[min(-shift, len(line) - len(line.lstrip(" "))) :]


# -- making --------------------------------------------------------------------------------------------------------


def hunks_of(original: str, edited: str) -> tuple[Hunk, ...]:
    """The replacements that make `edited` of `original`: lines that stay or move by number, parts of lines as parts."""
    old, new = original.splitlines(), edited.splitlines()
    numbers: dict[str, int] = {}
    for number, line in enumerate(old, 1):
        numbers.setdefault(line.strip(), number)
    hunks: list[Hunk] = []
    for kind, i, i_end, j, j_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        if i_end - i == j_end - j and all(map(_alike, old[i:i_end], new[j:j_end])):
            for k in range(i_end - i):
                hunks += _parts(i + k + 1, old[i + k], new[j + k])
            continue
        anchor = old[i : max(i_end, i + 1)]
        if not anchor and old:
            raise UsageFailure("text behind the last line of a file cannot be written as a patch")
        hunks.append(Hunk(i + 1, i_end - i, digest_of_lines(anchor), _rows(old, new[j:j_end], numbers)))
    return tuple(hunks)


def _alike(old: str, new: str) -> bool:
    return old.strip() != "" and SequenceMatcher(None, old.strip(), new.strip(), autojunk=False).ratio() >= SIMILAR


def _parts(line: int, old: str, new: str) -> list[Hunk]:
    """The changed parts of a line, word by word."""
    words, new_words = (re.findall(r"\w+|\s+|[-+<>=!&|]+|.", text) for text in (old, new))
    at = [0]
    for word in words:
        at.append(at[-1] + len(word))
    return [
        Hunk(line, at[i_end] - at[i], digest_of_lines([old]), ("".join(new_words[j:j_end]),), at[i] + 1)
        for kind, i, i_end, j, j_end in SequenceMatcher(None, words, new_words, autojunk=False).get_opcodes()
        if kind != "equal"
    ]


def _rows(old: list[str], new: list[str], numbers: dict[str, int]) -> tuple[str | Copied, ...]:
    """New lines, those that the original has as copies of them."""
    rows: list[str | Copied] = []
    for line in new:
        number = numbers.get(line.strip()) if len(line.strip()) >= OWN_LENGTH else None
        if number is None:
            rows.append(line)
            continue
        shift = _indent(line) - _indent(old[number - 1])
        last = rows[-1] if rows else None
        if isinstance(last, Copied) and last.last == number - 1 and last.shift == shift:
            rows[-1] = Copied(last.first, number, shift)
        else:
            rows.append(Copied(number, number, shift))
    return tuple(rows)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
