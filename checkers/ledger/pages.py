"""The ledger of claims as text, as Markdown, and as data."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rich.text import Text

from reassure.checkers.analyses.mutants.record import of_the_project
from reassure.checkers.ledger import markdown
from reassure.checkers.ledger.ledger import RecordedResult
from reassure.checkers.ledger.mutant_page import unexercised_remarks
from reassure.checkers.ledger.verdicts import (
    ESTABLISHED,
    PROMISES,
    Entry,
    ReadingAnswer,
    ReadingVerdict,
    Standing,
    promise_table,
)
from reassure.checkers.machine.terminal import Console, quantity
from reassure.checkers.request.result import after
from reassure.spec.claims import Claim

STYLES = {
    "proved": "green",
    "verified": "green",
    "holds": "green",
    "refuted": "bold red",
    "violated": "bold red",
    "ambiguous": "yellow",
    "partly": "yellow",
    "not-decided": "yellow",
    "open": "yellow",
    "missing": "yellow",
}
COLUMNS = {"document": "", "kafka": "Kafka's code - ", "mutant": "mutant - "}
"""The titles of the columns that readings stand in."""


def title(document: str, found: list[Entry]) -> str:
    """The common name of a document."""
    return next((e.claim.title for e in found if e.claim.document == document and e.claim.title), document)


def reading_name(answer: ReadingAnswer) -> str:
    """A reading's name, with what it is of."""
    return COLUMNS[answer.reading.column] + answer.reading.name


def where(claim: Claim) -> str:
    """The source of a claim: the document with lines, or that it is ours."""
    lines = f", {_lines_of(claim)}" if claim.lines else ""
    return f"{claim.title or claim.document}{lines}{' (ours: the document does not say it)' * claim.ours}"


def _lines_of(claim: Claim) -> str:
    """The lines of the document that a claim is from."""
    return f"line{'s' * any(c in claim.lines for c in ',-')} {claim.lines}"


def remarks(answer: ReadingAnswer) -> list[str]:
    """Remarks for somebody who relies on the verdict."""
    texts = [f"stale: {answer.stale}"] if answer.stale and answer.record is not None else []
    texts += [f"expected: {answer.reading.expect}"] if answer.differs else []
    return texts + (["no expectation is stated"] if answer.unstated else [])


def cautions(answer: ReadingAnswer) -> list[str]:
    """Properties of a verdict that holds which no mutant of the model violates, with the stated reason."""
    if answer.verdict is not ReadingVerdict.HOLDS or answer.record is None:
        return []
    return unexercised_remarks(*of_the_project(), answer.run.subject, answer.record.sha256, answer.results)


def answer_source(answer: ReadingAnswer, whole: bool = True) -> str:
    """The function, or the model with its configuration: the whole of it, or what is not as it comes."""
    pairs = [f"{k}={v}" for k, v in answer.record.config.items()] if whole and answer.record else answer.run.settings
    return f"{answer.run.subject} ({', '.join(pairs)})" if pairs else answer.run.subject


def standing(entry: Entry) -> str:
    """The standing of a claim; if readings differ, the number of each; and whether Kafka's code is another matter."""
    text = entry.standing.words
    if entry.standing in (Standing.AMBIGUOUS, Standing.PARTLY):
        good, judged = readings_that_hold(entry)
        text += f", {good} of {judged} hold{'s' * (good == 1)}"
    return f"{text}; Kafka violates it" if kafka_violates(entry) else text


def readings_that_hold(entry: Entry) -> tuple[int, int]:
    """The numbers of the deciding readings that hold, and of all."""
    judged = [a for a in entry.answers if a.reading.column == "document"] or entry.answers
    return sum(a.verdict is ReadingVerdict.HOLDS for a in judged), len(judged)


def kafka_violates(entry: Entry) -> bool:
    """Whether the claim has readings of the document, and Kafka's code violates it."""
    columns = {(a.reading.column, a.verdict) for a in entry.answers}
    return ("kafka", ReadingVerdict.VIOLATED) in columns and "document" in {column for column, _ in columns}


def relative(path: Path) -> str:
    """The path of a trace from the folder that has the traces' folder; a claim's traces have a folder there."""
    return path.relative_to(path.parents[2]).as_posix()


def cell(answer: ReadingAnswer, found: RecordedResult | None) -> str:
    """A cell of the table of shared promises: never empty."""
    if found is None:
        return answer.stale or "not declared"  # such as limits: a protocol without any would hold vacuously
    word = {"not_reached": "never reached", "not_checked": "not checked"}.get(found.status)
    word = word or found.status.replace("_", " ")
    return f"{word} {after(found.states, found.kind)}" if found.status == "violated" and found.states else word


def counts(found: list[Entry]) -> list[tuple[Standing, int]]:
    """The number of claims by standing."""
    return [(standing, n) for standing in Standing if (n := sum(e.standing is standing for e in found))]


# -- text -------------------------------------------------------------------------------------------------


def tell_claims(found: list[Entry], console: Console) -> None:
    """Every claim with its readings."""
    for entry in found:
        claim = entry.claim
        head = Text(f"{claim.id}  ", style="bold")
        head.append(standing(entry), style=STYLES[entry.standing])
        head.append(f"  {where(claim)}", style="dim")
        console.print(head)
        console.print(f"    {claim.statement}")
        for answer in entry.answers:
            row = Text(f"    {reading_name(answer)}: ", style="bold")
            row.append(answer.verdict.words, style=STYLES[answer.verdict])
            row.append(f"  {answer_source(answer)}", style="dim")
            console.print(row)
            lines = [", ".join(answer.reading.properties), answer.strength(), *cautions(answer), answer.reading.note]
            lines += [f"trace: {relative(path)}" for path in answer.traces.values()]
            for line in filter(None, lines):
                console.print(f"        {line}", style="dim")
            for line in remarks(answer):
                console.print(f"        {line}", style="bold red")
        console.print()


def tell_table(found: list[Entry], console: Console) -> None:
    """The shared promises, protocol by protocol."""
    rows = promise_table(found)
    if not rows:
        return
    width = max(len(a.reading.name) for a, _ in rows)
    for i, promise in enumerate(PROMISES):
        console.print(f"{promise.name}", style="bold")
        console.print(f"    {matters(promise.doc)}", style="italic")
        for answer, cells in rows:
            row = Text(f"    {answer.reading.name:{width}}  ")
            good = cells[i] is not None and getattr(cells[i], "status", "") in ESTABLISHED
            row.append(cell(answer, cells[i]), style="green" if good else "bold red" if cells[i] else "yellow")
            console.print(row)
    console.print()


def tell_counts(found: list[Entry], console: Console) -> None:
    parts = [f"{n} {key.short}" for key, n in counts(found)]
    console.print(f"{quantity(len(found), 'claim')}: {', '.join(parts)}", style="bold")


def matters(doc: str) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(doc.split("\n\n")[0].split())


# -- Markdown ---------------------------------------------------------------------------------------------


def markdown_page(found: list[Entry], to: Path | None = None) -> str:
    """The claims, document by document; links are relative to the folder `to`."""
    lines: list[str] = []
    for document in dict.fromkeys(e.claim.document for e in found):
        rows = []
        for entry in (e for e in found if e.claim.document == document):
            place = f" ({_lines_of(entry.claim)})" if entry.claim.lines else ""
            claim = f"**{entry.claim.id}**, {standing(entry)}. {entry.claim.statement}{place}"
            rows += [(claim * (i == 0), *row) for i, row in enumerate(reading_rows(entry, to))]
        heading = f"### {title(document, found)}"
        lines += [heading, "", markdown.table(("claim", "reading", "verdict", "by"), rows), ""]
    return "\n".join(lines)


def reading_rows(entry: Entry, to: Path | None = None) -> list[tuple[str, str, str]]:
    """The readings of a claim as cells of Markdown: name, verdict, run. Links are relative to the folder `to`."""
    return [
        (reading_name(answer), _verdict_of(answer, to), f"`{answer_source(answer, whole=False)}`")
        for answer in entry.answers
    ]


def _verdict_of(answer: ReadingAnswer, to: Path | None) -> str:
    word = f"**{answer.verdict.words}**" if answer.verdict is ReadingVerdict.VIOLATED else answer.verdict.words
    text = f"{word}: {answer.stale}"
    if answer.record is not None:
        strength = answer.strength()
        founded = strength.removeprefix("refuted: ")  # "violated" says it already
        text = f"{word}{';' if founded == strength else ':'} {founded}"
    for name, path in answer.traces.items():
        link = os.path.relpath(path, to or path.parents[2]).replace(os.sep, "/")
        text = re.sub(rf"\b{name} (?=after|by)", f"[{name}]({link}) ", text)
    return "; ".join([text, *cautions(answer), *remarks(answer)])


def markdown_table(found: list[Entry]) -> str:
    """The table of shared promises."""
    rows = promise_table(found)
    if not rows:
        return ""
    head = ["protocol", *(f"`{p.name}`" for p in PROMISES)]
    return markdown.table(head, [[a.reading.name, *(cell(a, c) for c in cells)] for a, cells in rows]) + "\n"


# -- data -------------------------------------------------------------------------------------------------


def data(found: list[Entry]) -> dict[str, object]:
    """Everything as JSON values."""
    rows = promise_table(found)
    return {
        "claims": [
            {
                "id": e.claim.id,
                "document": e.claim.document,
                "title": e.claim.title,
                "lines": e.claim.lines,
                "ours": e.claim.ours,
                "statement": e.claim.statement,
                "liveness": e.claim.liveness,
                "standing": e.standing,
                "readings": [_reading(a) for a in e.answers],
            }
            for e in found
        ],
        "table": {
            "promises": [p.name for p in PROMISES],
            "protocols": [
                {"protocol": a.reading.name, "model": a.run.subject, "cells": [cell(a, c) for c in cells]}
                for a, cells in rows
            ],
        },
    }


def _reading(answer: ReadingAnswer) -> dict[str, object]:
    record = answer.record
    return {
        "name": answer.reading.name,
        "column": answer.reading.column,
        "method": answer.run.method,
        "subject": answer.run.subject,
        "set": list(answer.run.settings),
        "verdict": answer.verdict,
        "expect": answer.reading.expect,
        "strength": answer.strength(),
        "unexercised": cautions(answer),
        "stale": answer.stale,
        "note": answer.reading.note,
        "properties": [
            {
                "name": name,
                "kind": f.kind,
                "status": f.status,
                "states": f.states,
                "trace": relative(answer.traces[name]) if name in answer.traces else None,
            }
            for name, f in answer.results.items()
        ],
        "config": record.config if record else {},
        "fairness": record.fairness if record else "",
        "repro": record.repro if record else "",
        "engine": record.engine if record else "",
        "engines": record.engines if record else "",
    }
