"""The ledger of claims for people: as text, as Markdown, and as one page of HTML that needs nothing else."""

from __future__ import annotations

import html
import os
from itertools import starmap
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from reassure.checkers.analyses.mutants.record import of_the_project
from reassure.checkers.evidence.ledger import RecordedResult
from reassure.checkers.evidence.mutant_page import unexercised_remarks
from reassure.checkers.evidence.verdicts import ESTABLISHED, Answer, Entry, ReadingVerdict, Standing, table, trace_of
from reassure.checkers.traces import render as story
from reassure.checkers.traces.explain import reasons
from reassure.checkers.traces.format_value import plain
from reassure.spec.claims import Claim
from reassure.spec.kafka.shared_properties import PROMISES
from reassure.spec.semantics.trace import TraceStep

STYLES = {
    "proved": "green",
    "verified": "green",
    "holds": "green",
    "refuted": "bold red",
    "violated": "bold red",
    "ambiguous": "yellow",
    "partly": "yellow",
    "not-checked": "yellow",
    "open": "yellow",
    "missing": "yellow",
}
COLUMNS = {"document": "", "kafka": "Kafka's code - ", "mutant": "mutant - "}
"""How a reading says what it is of."""


def title(document: str, found: list[Entry]) -> str:
    """What people call a document."""
    return next((e.claim.title for e in found if e.claim.document == document and e.claim.title), document)


def reading_name(answer: Answer) -> str:
    """A reading's name, with what it is of."""
    return COLUMNS[answer.reading.column] + answer.reading.name


def where(claim: Claim) -> str:
    """Where a claim is from: the document with lines, or that it is ours."""
    lines = f", {lines_of(claim)}" if claim.lines else ""
    return f"{claim.title or claim.document}{lines}{' (ours: the document does not say it)' * claim.ours}"


def lines_of(claim: Claim) -> str:
    """The lines of the document that a claim is from."""
    return f"line{'s' * any(c in claim.lines for c in ',-')} {claim.lines}"


def _is_file(document: str) -> bool:
    return document.endswith(".txt")


def remarks(answer: Answer) -> list[str]:
    """What somebody who relies on the verdict has to know."""
    found = [f"stale: {answer.stale}"] if answer.stale and answer.record is not None else []
    found += [f"expected: {answer.reading.expect}"] if answer.differs else []
    return found + (["no expectation is stated"] if answer.unstated else [])


def cautions(answer: Answer) -> list[str]:
    """Which properties of a verdict that holds no mutant of the model violates, with the reason that is stated."""
    if answer.verdict is not ReadingVerdict.HOLDS or answer.record is None:
        return []
    return unexercised_remarks(*of_the_project(), answer.run.subject, answer.record.sha256, answer.results)


def source(answer: Answer, whole: bool = True) -> str:
    """The function, or the model with its configuration: the whole of it, or what is not as it comes."""
    pairs = [f"{k}={v}" for k, v in answer.record.config.items()] if whole and answer.record else answer.run.settings
    return f"{answer.run.subject} ({', '.join(pairs)})" if pairs else answer.run.subject


def standing(entry: Entry) -> str:
    """How a claim stands; where readings differ, how many say what; and whether Kafka's code is another matter."""
    text = entry.standing.words
    if entry.standing in (Standing.AMBIGUOUS, Standing.PARTLY):
        good, judged = readings_that_hold(entry)
        text += f", {good} of {judged} hold{'s' * (good == 1)}"
    return f"{text}; Kafka violates it" if kafka_violates(entry) else text


def readings_that_hold(entry: Entry) -> tuple[int, int]:
    """How many of the readings that decide a claim hold, and how many they are."""
    judged = [a for a in entry.answers if a.reading.column == "document"] or entry.answers
    return sum(a.verdict is ReadingVerdict.HOLDS for a in judged), len(judged)


def kafka_violates(entry: Entry) -> bool:
    """Whether the claim has readings of the document, and Kafka's code violates it."""
    columns = {(a.reading.column, a.verdict) for a in entry.answers}
    return ("kafka", ReadingVerdict.VIOLATED) in columns and "document" in {column for column, _ in columns}


def relative(path: Path) -> str:
    """The path of a trace from the folder that has the traces' folder."""
    return f"{path.parent.name}/{path.name}"


def cell(answer: Answer, found: RecordedResult | None) -> str:
    """A cell of the table of shared promises: never empty."""
    if found is None:
        return answer.stale or "not declared"  # such as limits: a protocol without any would hold vacuously
    word = {"not_reached": "never reached", "not_checked": "not checked"}.get(found.status)
    word = word or found.status.replace("_", " ")
    return f"{word}, {found.states} states" if found.status == "violated" else word


def counts(found: list[Entry]) -> list[tuple[Standing, int]]:
    """How many claims stand how."""
    return [(standing, n) for standing in Standing if (n := sum(e.standing is standing for e in found))]


# -- text -------------------------------------------------------------------------------------------------


def tell(found: list[Entry], console: Console) -> None:
    """Every claim with its readings."""
    for entry in found:
        claim = entry.claim
        head = Text(f"{claim.id}  ", style="bold")
        head.append(standing(entry), style=STYLES[entry.standing])
        head.append(f"  {where(claim)}", style="dim")
        console.print(head, soft_wrap=True)
        console.print(Text(f"    {claim.statement}"), soft_wrap=True)
        for answer in entry.answers:
            row = Text(f"    {reading_name(answer)}: ", style="bold")
            row.append(answer.verdict.words, style=STYLES[answer.verdict])
            row.append(f"  {source(answer)}", style="dim")
            console.print(row, soft_wrap=True)
            lines = [", ".join(answer.reading.properties), answer.strength(), *cautions(answer), answer.reading.note]
            lines += [
                f"trace: {relative(p)}" for p in answer.traces.values() if answer.verdict is ReadingVerdict.VIOLATED
            ]
            for line in filter(None, lines):
                console.print(Text(f"        {line}", style="dim"), soft_wrap=True)
            for line in remarks(answer):
                console.print(Text(f"        {line}", style="bold red"), soft_wrap=True)
        console.print()


def tell_table(found: list[Entry], console: Console) -> None:
    """The shared promises, protocol by protocol."""
    rows = table(found)
    if not rows:
        return
    width = max(len(a.reading.name) for a, _ in rows)
    for i, promise in enumerate(PROMISES):
        console.print(Text(f"{promise.name}", style="bold"), soft_wrap=True)
        console.print(Text(f"    {matters(promise.doc)}", style="italic"), soft_wrap=True)
        for answer, cells in rows:
            row = Text(f"    {answer.reading.name:{width}}  ")
            good = cells[i] is not None and getattr(cells[i], "status", "") in ESTABLISHED
            row.append(cell(answer, cells[i]), style="green" if good else "bold red" if cells[i] else "yellow")
            console.print(row, soft_wrap=True)
    console.print()


def tell_counts(found: list[Entry], console: Console) -> None:
    parts = [f"{n} {key.short}" for key, n in counts(found)]
    console.print(
        Text(f"{len(found)} claim{'s' * (len(found) != 1)}: {', '.join(parts)}", style="bold"), soft_wrap=True
    )


def matters(doc: str) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(doc.split("\n\n")[0].split())


# -- Markdown ---------------------------------------------------------------------------------------------


def markdown(found: list[Entry], to: Path | None = None) -> str:
    """The claims, document by document; links are relative to the folder `to`."""
    lines: list[str] = []
    for document in dict.fromkeys(e.claim.document for e in found):
        lines += [
            f"### {title(document, found)}",
            "",
            "| claim | reading | verdict | by |",
            "|---|---|---|---|",
        ]
        for entry in (e for e in found if e.claim.document == document):
            place = f" ({lines_of(entry.claim)})" if entry.claim.lines else ""
            said = f"**{entry.claim.id}**, {standing(entry)}. {_bar(entry.claim.statement)}{place}"
            for row in reading_rows(entry, to):
                lines.append("| " + " | ".join((said, *row)) + " |")
                said = ""
        lines.append("")
    return "\n".join(lines)


def reading_rows(entry: Entry, to: Path | None = None) -> list[tuple[str, str, str]]:
    """The readings of a claim as cells of Markdown: name, verdict, run. Links are relative to the folder `to`."""
    return [
        (_bar(reading_name(answer)), _verdict_of(answer, to), f"`{source(answer, whole=False)}`")
        for answer in entry.answers
    ]


def _bar(text: str) -> str:
    return text.replace("|", "\\|")


def _verdict_of(answer: Answer, to: Path | None) -> str:
    word = f"**{answer.verdict.words}**" if answer.verdict is ReadingVerdict.VIOLATED else answer.verdict.words
    text = f"{word}: {answer.stale}"
    if answer.record is not None:
        strength = answer.strength()
        founded = strength.removeprefix("refuted: ")  # "violated" says it already
        text = f"{word}{';' if founded == strength else ':'} {_bar(founded)}"
    if answer.verdict is ReadingVerdict.VIOLATED:
        folder = to or answer.paths.traces.parent
        for name, path in answer.traces.items():
            link = os.path.relpath(path, folder).replace(os.sep, "/").replace(".itf.json", ".md")
            text = text.replace(f"{name}, trace of", f"[{name}]({link}), trace of")
    return "; ".join([text, *map(_bar, cautions(answer)), *remarks(answer)])


def markdown_table(found: list[Entry]) -> str:
    """The table of shared promises."""
    rows = table(found)
    if not rows:
        return ""
    head = ["protocol", *(f"`{p.name}`" for p in PROMISES)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for answer, cells in rows:
        lines.append("| " + " | ".join([_bar(answer.reading.name), *(cell(answer, c) for c in cells)]) + " |")
    return "\n".join(lines) + "\n"


# -- data -------------------------------------------------------------------------------------------------


def data(found: list[Entry]) -> dict[str, Any]:
    """Everything as JSON values."""
    rows = table(found)
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


def _reading(answer: Answer) -> dict[str, Any]:
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
    }


# -- a page -----------------------------------------------------------------------------------------------

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --paper: #ffffff; --wash: #f4f6f8; --line: #d5dbe1;
  --good: #116329; --bad: #b3261e; --open: #7a4b00; --goodw: #e3f4e6; --badw: #fdecea; --openw: #fff3d6;
  --link: #0b57a4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ebef; --soft: #a3adb8; --paper: #14181d; --wash: #1d232a;
  --line: #38414b; --good: #7fd796; --bad: #ff9c93; --open: #f0c36d; --goodw: #16301d; --badw: #3a1b19;
  --openw: #362a10; --link: #8cc2ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 76rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .5rem 0; } h2 { margin: 2.5rem 0 .5rem; font-size: 1.35rem; }
h3 { margin: 0; font-size: 1.05rem; font-weight: 600; } p { margin: .4rem 0; max-width: 62rem; }
a { color: var(--link); } code, pre { font-family: ui-monospace, monospace; font-size: .88em; }
.soft { color: var(--soft); } .skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; }
.tally { display: flex; flex-wrap: wrap; gap: .6rem; padding: 0; margin: 1rem 0; list-style: none; }
.tally li { background: var(--wash); border: 1px solid var(--line); border-radius: .5rem; padding: .35rem .8rem; }
.tally b { font-size: 1.25rem; }
.tag { display: inline-block; padding: 0 .55rem; border-radius: 1rem; font-size: .85rem; font-weight: 600;
  border: 1px solid currentColor; white-space: nowrap; }
.good { color: var(--good); background: var(--goodw); } .bad { color: var(--bad); background: var(--badw); }
.open { color: var(--open); background: var(--openw); }
article { border: 1px solid var(--line); border-radius: .6rem; margin: 1rem 0; padding: .8rem 1rem; }
article header { display: flex; gap: .7rem; align-items: baseline; flex-wrap: wrap; }
.reading { border-top: 1px solid var(--line); margin-top: .7rem; padding-top: .6rem; }
.reading ul { margin: .3rem 0; padding-left: 1.2rem; }
details { margin: .4rem 0; } summary { cursor: pointer; color: var(--link); }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
ol.story { padding-left: 1.6rem; margin: .5rem 0; } ol.story li { margin: .5rem 0; }
.change { display: block; padding-left: 1rem; overflow-wrap: anywhere; }
del { color: var(--bad); text-decoration: none; } ins { color: var(--good); text-decoration: none; font-weight: 600; }
pre { background: var(--wash); border: 1px solid var(--line); border-radius: .4rem; padding: .6rem; overflow-x: auto; }
nav ul { padding-left: 1.1rem; } nav li { margin: .35rem 0; }
.chips { display: inline-flex; flex-wrap: wrap; gap: .25rem; }
.chips a { text-decoration: none; } .wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .92rem; }
th, td { border: 1px solid var(--line); padding: .4rem .6rem; text-align: left; vertical-align: top; }
thead th { background: var(--wash); overflow-wrap: anywhere; min-width: 8rem; }
@media print { details { display: block; } article { break-inside: avoid; } }
"""
TONES = {"green": "good", "bold red": "bad", "yellow": "open"}


def tag(key: str, text: str) -> str:
    return f'<span class="tag {TONES[STYLES[key]]}">{html.escape(text)}</span>'


def page(found: list[Entry]) -> str:
    """The whole ledger as one page."""
    documents = list(dict.fromkeys(e.claim.document for e in found))
    tally = "".join(f"<li><b>{n}</b> {html.escape(key.words)}</li>" for key, n in counts(found))
    links = "".join(_contents(d, [e for e in found if e.claim.document == d]) for d in documents)
    rows = table(found)
    links += '<li><a href="#promises">Shared promises of all protocols</a></li>' if rows else ""
    body = "".join(_section(d, [e for e in found if e.claim.document == d]) for d in documents)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>What the documents promise</title><style>{STYLE}</style></head><body>"
        '<a class="skip" href="#claims">To the claims</a><header><h1>What the documents promise</h1>'
        "<p>This page lists each claim of the source documents with its readings and the verdict on each reading. Runs "
        "of the checkers gave all verdicts. A refuted reading has its shortest counterexample, and plain Python has "
        "executed every counterexample.</p>"
        f'<ul class="tally">{tally}</ul></header><nav aria-label="Contents"><ul>{links}</ul></nav>'
        f'<main id="claims">{body}{_promises(rows)}</main></body></html>\n'
    )


def _anchor(text: str) -> str:
    return "d-" + "".join(c if c.isalnum() else "-" for c in text)


def _contents(document: str, found: list[Entry]) -> str:
    """A document with its claims, each in the tone of how it stands."""
    chips = " ".join(
        f'<a class="tag {TONES[STYLES[e.standing]]}" href="#{e.claim.id}" title="{html.escape(standing(e))}" '
        f'aria-label="{e.claim.id}: {html.escape(standing(e))}">{e.claim.id}</a>'
        for e in found
    )
    return (
        f'<li><a href="#{_anchor(document)}">{html.escape(title(document, found))}</a> '
        f'<span class="chips">{chips}</span></li>'
    )


def _section(document: str, found: list[Entry]) -> str:
    inner = "".join(map(_article, found))
    name = _anchor(document)
    head = f'<h2 id="{name}">{html.escape(title(document, found))}</h2>'
    of = f'<p class="soft">{html.escape(document)}</p>' if _is_file(document) else ""
    return f'<section aria-labelledby="{name}">{head}{of}{inner}</section>'


def _article(entry: Entry) -> str:
    claim = entry.claim
    return (
        f'<article id="{claim.id}"><header><h3>{claim.id}</h3>{tag(entry.standing, standing(entry))}</header>'
        f"<p>{html.escape(claim.statement)}</p>{''.join(map(_html_reading, entry.answers))}</article>"
    )


def _html_reading(answer: Answer) -> str:
    lines = [
        f'<div class="reading"><p><strong>{html.escape(reading_name(answer))}</strong> '
        f"{tag(answer.verdict, answer.verdict.words)} {html.escape(answer.strength())}</p>"
    ]
    if answer.reading.note:
        lines.append(f"<p>{html.escape(answer.reading.note)}</p>")
    lines += [f"<p>{tag('open', caution)}</p>" for caution in cautions(answer)]
    lines += [f"<p>{tag('refuted', remark)}</p>" for remark in remarks(answer)]
    names = ", ".join(f"<code>{html.escape(p)}</code>" for p in answer.reading.properties)
    how = f"{answer.run.method}: <code>{html.escape(source(answer))}</code>"
    lines.append(f'<p class="soft">{how}{"; " if names else ""}{names}</p>')
    for name, path in answer.traces.items():
        if path.is_file():
            lines.append(_story(answer, name))
    return "".join(lines) + "</div>"


def _story(answer: Answer, name: str) -> str:
    trace, bound = trace_of(answer, name)
    what = "Counterexample" if answer.verdict is ReadingVerdict.VIOLATED else "Run that reaches it"
    moves = story.moves(trace)
    steps = f"{len(moves)} step{'s' * (len(moves) != 1)}"
    why = "".join(f"{html.escape(line)}\n" for line in reasons(trace, bound))
    first = "".join(
        f'<span class="change">{html.escape(n)} = {html.escape(plain(v))}</span>'
        for n, v in story.flat(trace.states[0]).items()
    )
    config = ", ".join(f"{k}={v}" for k, v in trace.meta.get("config", {}).items())
    doc = html.escape(" ".join(story.ending(trace, bound)))
    again = html.escape(trace.meta.get("repro", ""))
    return (
        f"<details><summary>{what}: <code>{html.escape(name)}</code>, {steps}</summary>"
        f'<p>{doc}</p><p class="soft">{html.escape(config)}</p>'
        f"<details><summary>The first state</summary>{first}</details>"
        f'<ol class="story">{"".join(starmap(_step, moves))}</ol>'
        + (f"<pre>{why}</pre>" if why else "")
        + f'<p class="soft">Again: <code>{again}</code></p></details>'
    )


def _step(step: TraceStep, before: Any, after: Any) -> str:
    rows = story.changes(before, after)
    told = "".join(
        f'<span class="change">{html.escape(c.field)}: <del>{html.escape(c.old)}</del>'
        f"{' → ' if c.old and c.new else ''}<ins>{html.escape(c.new)}</ins></span>"
        for c in rows
    )
    told = told or '<span class="change soft">nothing changes</span>'
    return f"<li><strong>{html.escape(step.actor)}</strong>: <code>{html.escape(story.call(step))}</code>{told}</li>"


def _promises(rows: list[tuple[Answer, list[RecordedResult | None]]]) -> str:
    if not rows:
        return ""
    head = "".join(f'<th scope="col"><code>{html.escape(p.name)}</code></th>' for p in PROMISES)
    lines = []
    for answer, cells in rows:
        inner = ""
        for found in cells:
            key = "missing" if found is None else "holds" if found.status in ESTABLISHED else "violated"
            inner += f"<td>{tag(key, cell(answer, found))}</td>"
        lines.append(f'<tr><th scope="row">{html.escape(answer.reading.name)}</th>{inner}</tr>')
    notes = "".join(f"<li><code>{html.escape(p.name)}</code>: {html.escape(matters(p.doc))}</li>" for p in PROMISES)
    return (
        '<section aria-labelledby="promises"><h2 id="promises">Shared promises of all protocols</h2>'
        '<div class="wide" role="region" aria-labelledby="promises" tabindex="0"><table><thead><tr>'
        f'<th scope="col">protocol</th>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
        f"<ul>{notes}</ul></section>"
    )
