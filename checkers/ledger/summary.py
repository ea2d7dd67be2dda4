"""Every claim in one line, and what somebody has to look at: what `reassure claims` prints first."""

from __future__ import annotations

from rich.text import Text

from reassure.checkers.ledger import pages
from reassure.checkers.ledger.integrity import Integrity
from reassure.checkers.ledger.verdicts import Entry, ReadingAnswer, ReadingVerdict, Standing
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console

VIOLATES = "Kafka violates"
LEGEND = "2/3: two of three readings hold"
REMARKS = 10
"""Readings to look at that are printed; `--full` has all."""


def tell_summary(found: list[Entry], pinned: Integrity, console: Console) -> None:
    """The claims by document, each in a line; then what is stale, missing, or not as expected or as it was pinned."""
    wide = max(len(e.claim.id) for e in found)
    standings = [_standing(e) for e in found]
    column = max(map(len, standings))
    any_of_kafka = any(map(pages.kafka_violates, found))
    for document in dict.fromkeys(e.claim.document for e in found):
        console.print(pages.title(document, found), style="bold")
        for entry, standing in zip(found, standings, strict=True):
            if entry.claim.document == document:
                row = Text(f"  {entry.claim.id:{wide}}  ")
                row.append(f"{standing:{column}}", style=pages.STYLES[entry.standing])
                if any_of_kafka:
                    remark = VIOLATES if pages.kafka_violates(entry) else ""
                    row.append(f"  {remark:{len(VIOLATES)}}", style="bold red")
                row.append("  " + " ".join(entry.claim.statement.split()), style="dim")
                if console.is_terminal:
                    row.truncate(console.width, overflow="ellipsis")
                console.print(row)
    console.print()
    if any("/" in s for s in standings):
        console.print(LEGEND, style="dim")
    _tell_what_to_look_at(found, console)
    tell_integrity(pinned, console)


def tell_integrity(pinned: Integrity, console: Console) -> None:
    """What is otherwise than the ledger pins it, and what was executed again."""
    _tell_first(pinned.differences, "differences from the ledger", console)
    if pinned.replayed is not None:
        console.print(f"plain Python executed {pinned.replayed:,} traces")
    if pinned.repeated:
        same = "; some results differ" if not pinned.confirmed else ", with the results of the ledger"
        console.print(f"these engines repeated {len(pinned.repeated):,} runs of another version{same}")
    if pinned.unseen:
        console.print(pinned.unseen, style="bold red")


def _tell_first(lines: list[str], name: str, console: Console) -> None:
    for line in lines[:REMARKS]:
        console.print(line, style="bold red")
    if len(lines) > REMARKS:
        console.print(f"{len(lines) - REMARKS:,} more {name} (--json FILE has all)", style="bold red")


def tell_exit(code: Exit, found: list[Entry], console: Console) -> None:
    """Prints the number of readings as expected, the exit code, and how to see more."""
    every = [a for e in found for a in e.answers]
    good = sum(not _remark(a) for a in every)
    text = f"{good:,} of {len(every):,} readings are up to date and have the expected verdict"
    console.print(text)
    hint = "`reassure claims ID` prints a claim's readings, --full all; --table compares protocols"
    hint += "; --refresh runs what is missing or stale" if any(a.staleness for a in every) else ""
    console.print(hint, style="dim")


def _standing(entry: Entry) -> str:
    """The standing of a claim, in a word or two; if its readings differ, with how many of them hold."""
    if entry.standing not in (Standing.AMBIGUOUS, Standing.PARTLY):
        return entry.standing.short
    good, judged = pages.readings_that_hold(entry)
    return f"{entry.standing.short} {good}/{judged}"


def _remark(answer: ReadingAnswer) -> str:
    """The reason to look at a reading: "" where there is nothing to look at."""
    if answer.verdict is ReadingVerdict.MISSING:
        return f"not run: {answer.stale}"
    return "; ".join([answer.verdict.words, *pages.remarks(answer)]) if pages.remarks(answer) else ""


def _tell_what_to_look_at(found: list[Entry], console: Console) -> None:
    rows = [(e, a, remark) for e in found for a in e.answers if (remark := _remark(a))]
    for entry, answer, remark in rows[:REMARKS]:
        row = Text(f"{entry.claim.id}, {pages.reading_name(answer)}: ", style="bold")
        row.append(remark, style="bold red")
        console.print(row)
    if len(rows) > REMARKS:
        console.print(f"{len(rows) - REMARKS:,} more readings to look at (--full names all)", style="bold red")
    if rows:
        console.print()
