"""The console of the commands: no line breaks within a word, and a pipe gets each line whole."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import rich.console
from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text

from reassure.checkers.machine.exit_codes import VERDICTS, Exit

if TYPE_CHECKING:
    from rich.table import Table

PIPE = 200
"""Columns of a pipe; a table takes no more."""
HANGING = 4
"""Columns by which the rest of a long line stands further right than its beginning, unless it has columns."""
LAST_COLUMN = re.compile(r"^.*\S {2,}")
"""A row of a table up to its last column."""
UNBROKEN = 10_000
"""Columns of a line that is not broken."""
NARROW = 24
"""Columns that a last column needs if it begins in the right half of a terminal."""
COPIED = re.compile(r"^\s*(?:(?:again|what forbids it): |reassure )")
"""Lines that a reader copies: a terminal breaks them itself, so that they are copied as one."""
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters by which a text of a file would move the cursor, colour, or turn other text round."""
LONGEST = 2_000
"""Characters of a line of a message."""


def printable(text: str) -> str:
    """The text with its control characters written out, but for line breaks and tabs."""
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def message(text: str) -> str:
    """What is wrong, for a terminal: a line that quotes too much of a file is cut."""
    cut = (line if len(line) <= LONGEST else f"{line[:LONGEST]}..." for line in text.split("\n"))
    return printable("\n".join(cut))


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as "1 state" or "1,200 states"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def first_few(texts: Sequence[str], most: int, hint: str = "") -> str:
    """The first texts in a row, and how many more there are. hint: the words behind that number."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more:,} more{hint}" if more > 0 else "")


def beyond_bounds(steps: int) -> str:
    """The line about steps that leave a bound which the model does not declare."""
    verb = "leaves" if steps == 1 else "leave"
    return f"{counted(steps, 'step')} {verb} a bound that the model does not declare: answers are within the bounds"


def ways_out(option: str = "") -> list[str]:
    """Lines on what a reader can do about such steps. option: of the command, by which they are accepted."""
    meant = " or ".join(text for text in ("declared=True, as in Range(0, 6, declared=True),", option) if text)
    return [
        "one of these decides it:",
        "  a guard (require) in the action, so that no step leaves the bound",
        "  a wider bound (Range, MaxLen, MaxSize)",
        f"  {meant} if the bound is meant",
    ]


def print_error(text: str) -> None:
    """Prints a text to standard error; lines are broken between words in a terminal and nowhere else."""
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else 0
    print(broken(Text(text), width).plain if width else text, file=sys.stderr)


class Console(rich.console.Console):
    """A console that prints each text as it is and breaks lines between words in a terminal and nowhere else.

    It falls silent when the reader of a pipe has gone. (rich would read markup and emoji in texts, break lines inside
    of paths and commands, and end the interpreter with exit code 1.)
    """

    def __init__(self, closed: Callable[[], None] = lambda: None, **settings: Any) -> None:
        super().__init__(soft_wrap=True, markup=False, emoji=False, highlight=False, **settings)
        self._closed = closed
        self.last_line_only = False
        """Whether nothing but the verdict of a report is printed."""
        self.judges = True
        """Whether the command judges; one whose output is data ends without a verdict."""
        self.verdicts: dict[Exit, str] = {}
        """Verdicts that say more than those of `VERDICTS`, by exit code."""
        self.again = ""
        """The command that repeats the run, where another one does so than the one that was given."""
        self.breaks_lines = self.is_terminal and (self.file.isatty() or "COLUMNS" in os.environ)

    def print(self, *objects: Any, style: str | Style | None = None, **settings: Any) -> None:
        """As of rich; one text that is wider than a terminal is broken between words."""
        if self.last_line_only:
            return
        self._print(*objects, style=style, **settings)

    def _print(self, *objects: Any, style: str | Style | None = None, **settings: Any) -> None:
        if len(objects) == 1 and isinstance(objects[0], str):
            objects, style = (Text(objects[0], style or ""),), None
        if self.breaks_lines and len(objects) == 1 and isinstance(objects[0], Text):
            objects = (broken(objects[0], self.width),)
        elif len(objects) == 1 and hasattr(objects[0], "add_row"):
            objects, settings = (Segments(list(self._without_padding(objects[0]))),), {"end": ""}
        super().print(*objects, style=style, **settings)

    def _without_padding(self, table: Table) -> Iterable[Segment]:
        """The lines of a table, which end with their last words; in a pipe, a line for each row."""
        options = self.options if self.breaks_lines else self.options.update(width=UNBROKEN)
        for line in self.render_lines(table, options, pad=False):
            while line and not line[-1].text.strip():
                line.pop()
            yield from line[:-1]
            if line:
                yield Segment(line[-1].text.rstrip(), line[-1].style)
            yield Segment.line()

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """As of rich, without the control characters of a text."""
        for segment in super().render(renderable, options):
            plain = segment.control or CONTROLS.search(segment.text) is None
            yield segment if plain else Segment(printable(segment.text), segment.style)

    def conclude(self, code: Exit, again: str = "") -> None:
        """Prints the ending of each command that judges: verdict, exit code, and the command that repeats it."""
        if not self.judges:
            return
        verdict = self.verdicts.get(code, VERDICTS[code])
        style = "green" if code is Exit.OK else "bold red"
        self.print()
        self._print(f"{verdict} (exit code {code.value})", style=style)
        if self.again or again:
            self.print(f"again: {self.again or again}", style="dim")

    def on_broken_pipe(self) -> None:
        self.quiet = True
        self._closed()


def printed(write: Callable[[Console], object]) -> str:
    """The text that a function prints, without colours."""
    out = io.StringIO()
    write(Console(file=out, width=PIPE, no_color=True, force_terminal=False))
    return out.getvalue()


def broken(text: Text, width: int) -> Text:
    """The text with each line that is wider broken between words; a word that is wider stays whole."""
    return Text("\n").join(piece for line in text.split("\n", allow_blank=True) for piece in _pieces(line, width))


def _pieces(line: Text, width: int) -> list[Text]:
    plain = line.plain
    if len(plain) <= width or COPIED.match(plain):
        return [line]
    start = indent = len(plain) - len(plain.lstrip())
    pieces: list[Text] = []
    while True:
        room = max(width - indent, HANGING)
        cut = plain.rfind(" ", start, start + room + 1) if len(plain) - start > room else -1
        cut = plain.find(" ", start + room) if cut == -1 and len(plain) - start > room else cut
        piece = line[start : cut if cut != -1 else len(plain)]
        piece.rstrip()
        pieces.append(Text.assemble(" " * indent, piece))
        start = len(plain) - len(plain[cut:].lstrip())
        if cut == -1 or start == len(plain):
            return pieces
        if len(pieces) == 1:
            indent = _hanging(plain, indent, width)


def _hanging(plain: str, indent: int, width: int) -> int:
    """The column at which the rest of a line begins: below its last column, if its words have room there."""
    columns = LAST_COLUMN.match(plain)
    if columns is None:
        return indent + HANGING
    longest = max(map(len, plain[columns.end() :].split()), default=0)
    fits = columns.end() <= width // 2 or columns.end() + max(longest, NARROW) <= width
    return columns.end() if fits else indent + HANGING
