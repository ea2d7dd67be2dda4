"""The report of an analysis as one value, and every output that is made of it: text, traces, record.

An analysis returns its rows, its remarks and an exit code. This module prints, signs, writes and records them, once for
all analyses. The frame of all commands (`cli/main.py`) prints the verdict, the exit code and the command that repeats
the run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from reassure.checkers.console.commands import GateKind, verdict_figures
from reassure.checkers.console.files import name_traces
from reassure.checkers.machine.atomic_files import write_record
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.stop import Stop
from reassure.checkers.machine.terminal import Console, StyledText
from reassure.checkers.request.run_identity import RunIdentity
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

if TYPE_CHECKING:
    from rich.text import Text

WIDE = 60
"""Letters of a row's text beyond which the verdict stands on a line of its own."""


class Tone(StrEnum):
    """How a verdict is printed, as a style of rich."""

    GOOD = "green"
    OPEN = "yellow"
    BAD = "bold red"
    BOLD = "bold"
    PLAIN = ""
    QUIET = "dim"


Write = Callable[[Path], str]
"""Writes the run that a row shows into a folder; the file."""


RowRecord = Mapping[str, object]
"""A row as the record has it, ready for `json.dumps`; each analysis has its own keys."""


@dataclass(frozen=True)
class Row:
    """One answer of an analysis: of a guard, a weakening, a property; or a line of it, without a verdict.

    tone: of the verdict, or of the line. group: the heading of the rows that follow each other with the same one. note:
    what is printed behind the verdict. details: lines below it. data: the row in the record, whose `trace`, if it has
    that key, is the file of the row's run; None: the row is printed alone. tell: prints the run below an empty line.
    """

    text: str
    verdict: str = ""
    tone: Tone = Tone.PLAIN
    group: str | Text = ""
    note: str = ""
    details: Sequence[str] = ()
    data: RowRecord | None = None
    write: Write | None = None
    tell: Callable[[Console], object] | None = None


@dataclass(frozen=True)
class AnalysisReport:
    """What a run of an analysis found.

    heading: the first line. complete: whether everything was judged. keys: the keys of the record that this analysis
    adds, made of the rows' records. remarks: lines below the rows, with their tones. tell: prints what stands between
    the heading and the rows, or nothing.
    """

    identity: RunIdentity
    exit: Exit
    complete: bool
    stopped: Stop
    heading: str
    rows: Sequence[Row]
    keys: Callable[[list[RowRecord]], Mapping[str, object]]
    remarks: Sequence[tuple[str, Tone]] = ()
    tell: Callable[[Console], object] | None = None

    def deliver(self, args: argparse.Namespace, console: Console) -> Exit:
        """Writes the traces (`--trace-dir`) and the record (`--json`), and prints the report; the exit code."""
        folder = getattr(args, "trace_dir", None)
        files = [row.write(folder) if folder is not None and row.write is not None else None for row in self.rows]
        write_record(args.json, self.record(files))
        self.print_to(console, stories=not args.quiet)
        name_traces([file for file in files if file is not None], console, self.identity.source)
        return self.exit

    def record(self, files: Sequence[str | None]) -> dict[str, object]:
        """The run record. files: of the rows' runs, in their order; None where none was written."""
        rows: list[RowRecord] = [
            {**row.data, **({"trace": file} if "trace" in row.data else {})}
            for row, file in zip(self.rows, files, strict=True)
            if row.data is not None
        ]
        return {**self.identity.record(self.exit, self.complete, self.stopped), **self.keys(rows)}

    def print_to(self, console: Console, stories: bool = True) -> None:
        """Prints the heading, the rows by group, and the remarks. stories: with the runs; a gate prints a report
        without them."""
        console.print(self.heading, style="bold")
        if self.tell is not None:
            self.tell(console)
        for group, rows in groupby(self.rows, key=lambda row: row.group):
            if group:
                console.print()
                console.print(group, style="bold")
            print_rows(list(rows), console, stories)
        if (self.rows or self.tell) and self.remarks:
            console.print()
        for text, tone in self.remarks:
            console.print(text, style=tone)


def print_rows(rows: Sequence[Row], console: Console, stories: bool = True) -> None:
    """Prints rows with their verdicts: in a column, or below the texts where these are long."""
    width = max((len(row.text) for row in rows if row.verdict), default=0)
    for row in rows:
        if not row.verdict and row.text:
            console.print(f"  {row.text}", style=row.tone)
        elif row.verdict:
            line = StyledText(f"  {row.text:{width}}  " if width <= WIDE else f"  {row.text}\n    ")
            line.append(row.verdict, style=row.tone)
            line.append(row.note)
            console.print(line)
        for detail in row.details:
            console.print(f"      {detail}", style="dim")
        if row.tell is not None and stories:
            console.print()
            row.tell(console)


def signed(identity: RunIdentity, bound: BoundModel, trace: Trace, shows: tuple[str, str], stem: str) -> Write:
    """Signs and writes a trace. shows: the property that it violates, and its kind. stem: as of `write_trace`."""

    def write(folder: Path) -> str:
        identity.sign(trace, *shows)
        return identity.write_trace(folder, stem, trace, bound, identity.engine or "")

    return write


def tally(verdicts: Iterable[str]) -> str:
    """The number of rows of each verdict, in the order in which they appear: "3 needed, 1 not needed"."""
    every = list(verdicts)
    return ", ".join(f"{every.count(verdict):,} {verdict}" for verdict in dict.fromkeys(every))


def rows_in_gate(key: str, verdicts: tuple[str, ...]) -> GateKind:
    """The kind of check of an analysis whose record has rows under a key: their numbers by verdict may be pinned."""
    return GateKind(verdicts, lambda record: verdict_figures(record.get(key, []), verdicts))
