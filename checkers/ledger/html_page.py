"""The ledger of claims as one page of HTML, with every counterexample as a story."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from reassure.checkers.ledger.pages import (
    STYLES,
    answer_source,
    cautions,
    cell,
    counts,
    matters,
    reading_name,
    remarks,
    standing,
    title,
)
from reassure.checkers.ledger.verdicts import ESTABLISHED, PROMISES, Entry, ReadingAnswer, promise_table, trace_of
from reassure.checkers.machine.terminal import quantity
from reassure.checkers.pictures.html_page import Markup, introduction, page, story, tag
from reassure.checkers.pictures.html_page import html_table as html_table
from reassure.checkers.pictures.lifelines import picture
from reassure.checkers.traces.render import ending

TONES = {"green": "good", "bold red": "bad", "yellow": "open"}


def claims_html(entries: list[Entry]) -> str:
    """The tally, the contents, every document with its claims, and the promises that protocols share."""
    documents = {document: number for number, document in enumerate(dict.fromkeys(e.claim.document for e in entries))}
    body = [
        '<p class="text">Runs of the checkers gave all verdicts. A refuted reading has its shortest counterexample, '
        "and plain Python has executed every counterexample.</p>",
        f"<p>{', '.join(f'{n} {escape(key.words)}' for key, n in counts(entries))}</p>",
        '<nav aria-label="Contents"><ul>',
    ]
    sections: list[str] = []
    for document, number in documents.items():
        claims = [e for e in entries if e.claim.document == document]
        heading = escape(title(document, entries))
        links = " ".join(
            f'<a href="#{e.claim.id}" title="{escape(standing(e))}" class="{_tone(e.standing)}">{e.claim.id}</a>'
            for e in claims
        )
        body.append(f'<li><a href="#d{number}">{heading}</a>: {links}</li>')
        sections.append(f'<h2 id="d{number}">{heading}</h2>')
        sections += [f'<p class="quiet">{escape(document)}</p>'] if document.endswith(".txt") else []
        sections += [part for entry in claims for part in _claim(entry)]
    return page("What the documents promise", [*body, "</ul></nav>", *sections, *_promises(entries)])


def _tone(key: str) -> str:
    return TONES[STYLES[key]]


def _claim(entry: Entry) -> Iterator[str]:
    claim = entry.claim
    yield f'<h3 id="{claim.id}">{claim.id} {tag(_tone(entry.standing), standing(entry))}</h3>'
    yield f'<p class="text">{escape(claim.statement)}</p>'
    for answer in entry.answers:
        verdict = tag(_tone(answer.verdict), answer.verdict.words)
        yield f"<p><strong>{escape(reading_name(answer))}</strong> {verdict} {escape(answer.strength())}</p>"
        yield from (f"<p>{escape(text)}</p>" for text in (answer.reading.note, *cautions(answer)) if text)
        yield from (f'<p class="bad">{escape(text)}</p>' for text in remarks(answer))
        run = [f"{answer.run.method}: {answer_source(answer)}", *answer.reading.properties]
        yield f'<p class="quiet"><code>{escape(", ".join(run))}</code></p>'
        for name in answer.traces:
            yield from _story(answer, name)


def _story(answer: ReadingAnswer, name: str) -> list[str]:
    trace, bound = trace_of(answer, name)
    drawn = picture(trace, bound)
    steps = len(drawn["steps"]) - 1
    summary = Markup(f"Counterexample: <code>{escape(name)}</code>, {quantity(steps, 'step')}")
    last = escape(" ".join(ending(trace, bound)))
    return story(drawn, summary, [*introduction(drawn), f"<p>{last}</p>"])


def _promises(entries: list[Entry]) -> list[str]:
    rows = [
        [
            answer.reading.name,
            *(
                tag("open" if r is None else "good" if r.status in ESTABLISHED else "bad", cell(answer, r))
                for r in results
            ),
        ]
        for answer, results in promise_table(entries)
    ]
    notes = (f"<li><code>{escape(p.name)}</code>: {escape(matters(p.doc))}</li>" for p in PROMISES)
    heading = "<h2>Shared promises of all protocols</h2>"
    return (
        [heading, html_table(["protocol", *(p.name for p in PROMISES)], rows), "<ul>", *notes, "</ul>"] if rows else []
    )
