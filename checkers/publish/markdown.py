"""Parts of generated Markdown that several pages share."""

from __future__ import annotations

from collections.abc import Sequence

BY = "Written by `python -m reassure.checkers.publish`"


def cell(text: str) -> str:
    """A text as a cell of a table."""
    return text.replace("|", "\\|")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows])
