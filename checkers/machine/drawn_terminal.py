"""What rich draws for `terminal.Console`: colours, tables, and lines that are broken between words."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable
from typing import Any

import rich.console
from rich.segment import Segment, Segments
from rich.style import Style
from rich.table import Table
from rich.text import Text

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


class DrawnConsole(rich.console.Console):
    """A console of rich that prints each text as it is.

    (rich would read markup and emoji in texts, break lines inside of paths and commands, and end the interpreter with
    exit code 1.)
    """

    def __init__(self, closed: Callable[[], None], printable: Callable[[str], str], **settings: Any) -> None:
        """closed: called when the reader of a pipe has gone. printable: writes control characters out."""
        super().__init__(soft_wrap=True, markup=False, emoji=False, highlight=False, **settings)
        self._closed, self._printable = closed, printable
        self.breaks_lines = self.is_terminal and (self.file.isatty() or "COLUMNS" in os.environ)

    def draw(self, *objects: Any, style: str | Style | None = None, **settings: Any) -> None:
        """Prints as rich does; one text that is wider than a terminal is broken between words."""
        if len(objects) == 1 and isinstance(objects[0], str):
            objects, style = (Text(objects[0], style or ""),), None
        elif len(objects) == 1 and hasattr(objects[0], "pieces"):
            (text, first), *more = objects[0].pieces
            objects = (Text(text, first),)
            for text, one in more:
                objects[0].append(text, one or None)
        if self.breaks_lines and len(objects) == 1 and isinstance(objects[0], Text):
            objects = (broken(objects[0], self.width),)
        elif len(objects) == 1 and hasattr(objects[0], "add_row"):
            objects, settings = (Segments(list(self._without_padding(objects[0]))),), {"end": ""}
        self.print(*objects, style=style, **settings)

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
            text = segment.text if segment.control else self._printable(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        self._closed()


def broken_to_terminal(text: str) -> str:
    """A text with its lines broken to the width of the terminal."""
    return broken(Text(text), shutil.get_terminal_size().columns).plain


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
