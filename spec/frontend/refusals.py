"""Refusals: a construct outside the language, its place, and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Refusal:
    """A construct outside the language. line: counted from 1; column: from 0; source: the line's text."""

    file: str
    line: int
    column: int
    construct: str
    remedy: str
    source: str = field(default="", compare=False)

    def __str__(self) -> str:
        text = f"{self.file}:{self.line}:{self.column + 1}: {self.construct}: {self.remedy}"
        return text + (f"\n    {self.source}\n    {' ' * self.column}^" if self.source else "")


class Refused(Exception):
    """Unwinds to the statement in which something was refused. The refusal is recorded already."""


class SubsetError(Exception):
    """The model uses Python outside the language; `refusals` lists every place."""

    def __init__(self, refusals: list[Refusal]) -> None:
        self.refusals = sorted(refusals, key=lambda r: (r.file, r.line, r.column))
        super().__init__("\n".join(str(r) for r in self.refusals))


MOST_OPERATIONS = 60_000
"""Operations of the largest model that is translated: eight times those of the largest that comes with the project."""


class TooLarge(SubsetError):
    """The model is in the language, and has more than `MOST_OPERATIONS` operations. It names the place."""


__all__ = ["MOST_OPERATIONS", "Refusal", "Refused", "SubsetError", "TooLarge"]
