"""The console of the commands: no line breaks within a word, and a pipe gets each line whole.

A pipe gets plain text without rich, whose import takes longer than a small search.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from reassure.checkers.machine.exit_codes import VERDICTS, Exit

if TYPE_CHECKING:
    from reassure.checkers.machine.drawn_terminal import DrawnConsole

PIPE = 200
"""Columns of a pipe; a table takes no more."""
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters by which a text of a file would move the cursor, colour, or turn other text round."""
AS_DRAWN = re.compile(rf"{CONTROLS.pattern}|\t| $", re.MULTILINE)
"""What rich prints otherwise than it is."""
LONGEST = 2_000
"""Characters of a line of a message."""


def printable(text: str) -> str:
    """The text with its control characters written out, but for line breaks and tabs."""
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def message(text: str) -> str:
    """What is wrong, for a terminal: a line that quotes too much of a file is cut."""
    cut = (line if len(line) <= LONGEST else f"{line[:LONGEST]}..." for line in text.split("\n"))
    return printable("\n".join(cut))


def quantity(number: int, noun: str) -> str:
    """A number with its noun, such as "1 state" or "1,200 states"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def first_few(texts: Sequence[str], most: int, hint: str = "") -> str:
    """The first texts in a row, and how many more there are. hint: the words behind that number."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more:,} more{hint}" if more > 0 else "")


def beyond_bounds(steps: int) -> str:
    """The line about steps that leave a bound which the model does not declare."""
    verb = "leaves" if steps == 1 else "leave"
    return f"{quantity(steps, 'step')} {verb} a bound that the model does not declare: answers are within the bounds"


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
    if sys.stderr.isatty():
        from reassure.checkers.machine.drawn_terminal import broken_to_terminal

        text = broken_to_terminal(text)
    print(text, file=sys.stderr)


class StyledText:
    """A text in pieces, each with its style, as rich names them. The style of the first is that of all others too."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self.pieces = [(text, style)]

    def append(self, text: str, style: str = "") -> StyledText:
        """Adds a piece; returns itself."""
        self.pieces.append((text, style))
        return self

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces)


class Console:
    """A console that prints each text as it is and breaks lines between words in a terminal and nowhere else.

    It falls silent when the reader of a pipe has gone.
    """

    def __init__(
        self,
        closed: Callable[[], None] = lambda: None,
        *,
        file: TextIO | None = None,
        width: int | None = None,
        no_color: bool | None = None,
        force_terminal: bool | None = None,
    ) -> None:
        """closed: called when the reader has gone. width: columns; None: those of the terminal. force_terminal: whether
        it is one; None: if the file is."""
        self._closed, self._file, self._width = closed, file, width
        self._no_color, self._force_terminal = no_color, force_terminal
        self._silent = False
        self.last_line_only = False
        """Whether nothing but the verdict of a report is printed."""
        self.judges = True
        """Whether the command judges; one whose output is data ends without a verdict."""
        self.verdicts: dict[Exit, str] = {}
        """Verdicts that say more than those of `VERDICTS`, by exit code."""
        self.again = ""
        """The command that repeats the run, where another one does so than the one that was given."""

    @cached_property
    def _drawn(self) -> DrawnConsole:
        from reassure.checkers.machine.drawn_terminal import DrawnConsole

        settings = {"file": self._file, "width": self._width, "no_color": self._no_color}
        return DrawnConsole(self._closed, printable, force_terminal=self._force_terminal, **settings)

    @property
    def file(self) -> TextIO:
        """What it prints to."""
        return self._file or sys.stdout

    @property
    def is_terminal(self) -> bool:
        """Whether it prints to a terminal, or is to print as to one."""
        return self._drawn.is_terminal if self._force_terminal is None else self._force_terminal

    @property
    def width(self) -> int:
        """Columns."""
        return self._drawn.width if self._width is None else self._width

    @property
    def breaks_lines(self) -> bool:
        """Whether a line that is too long is broken between words."""
        return self.is_terminal and self._drawn.breaks_lines

    def print(self, *objects: Any, style: str | None = None, **settings: Any) -> None:
        """Prints a text, or what rich draws. settings: of rich."""
        if not self.last_line_only:
            self._print(*objects, style=style, **settings)

    def _print(self, *objects: Any, style: str | None = None, **settings: Any) -> None:
        text = str(objects[0]) if objects and isinstance(objects[0], str | StyledText) else None if objects else ""
        if text is None or self.is_terminal or len(objects) > 1 or AS_DRAWN.search(text):
            self._drawn.draw(*objects, style=style, **settings)
        elif not self._silent:
            try:
                self.file.write(f"{text}\n")
                self.file.flush()
            except BrokenPipeError:
                self._silent = True
                self._closed()

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


def printed(write: Callable[[Console], object]) -> str:
    """The text that a function prints, without colours."""
    out = io.StringIO()
    write(Console(file=out, width=PIPE, no_color=True, force_terminal=False))
    return out.getvalue()
