"""Parts of generated Markdown that several pages share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

BY = "Written by `python -m reassure.checkers.publish`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown. A bar in a cell is escaped."""
    lines = [_line(head), "|" + "---|" * len(head)]
    return "\n".join([*lines, *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
