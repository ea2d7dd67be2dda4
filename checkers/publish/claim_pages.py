"""The generated pages of claims, one for each document: an index, then every claim with its readings."""

from __future__ import annotations

import os
from pathlib import Path

from reassure.checkers.ledger import pages
from reassure.checkers.ledger.markdown import BY, table
from reassure.checkers.ledger.verdicts import Entry

ACROSS = "X"
"""The letter of claims that no single document makes."""
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "read-the-claims.md"
SHARED = 'Every protocol declares these properties under the same name; "not declared" marks one that a protocol lacks.'


def claim_pages(letter: str, entries: list[Entry], folder: Path) -> dict[Path, str]:
    """The page of a document's claims, by path; none if there are no claims of this letter."""
    own = [e for e in entries if letter and e.claim.id.startswith(letter)]
    if not own:
        return {}
    shared = pages.markdown_table(entries) if letter == ACROSS else ""
    return {folder / "README.md": "\n".join([_index(own, shared, folder), *(_claim(entry, folder) for entry in own)])}


def _index(own: list[Entry], shared: str, folder: Path) -> str:
    """The claims, a line each. shared: the table of the properties that all protocols share, or ""."""
    rows = [(f"[{e.claim.id}](#{e.claim.id.lower()})", pages.standing(e), e.claim.statement) for e in own]
    guide = os.path.relpath(GUIDE, folder).replace(os.sep, "/")
    lines = [
        f"# {pages.title(own[0].claim.document, own)}: claims",
        "",
        f"{BY} from the claims' ledger ([how to read the claims]({guide})).",
        "",
        table(("claim", "verdict", "statement"), rows),
        "",
    ]
    if shared:
        lines += ["## Properties that all protocols share", "", SHARED, "", shared]
    return "\n".join(lines)


def _claim(entry: Entry, folder: Path) -> str:
    """The section of a claim; its heading is its id alone, so that links stay when its standing changes."""
    lines = [
        f"## {entry.claim.id}",
        "",
        f"{pages.standing(entry)[:1].upper()}{pages.standing(entry)[1:]}. {pages.where(entry.claim)}.",
        "",
        f"> {entry.claim.statement}",
        "",
        table(("reading", "verdict", "model and configuration, or function"), pages.reading_rows(entry, folder)),
        "",
    ]
    if entry.claim.quantifiers:
        lines += [table(("quantifier", "more than one"), _quantifiers(entry)), ""]
    notes = "".join(f"\n- *{name}*: {note}" for name, note in _notes(entry).items())
    return "\n".join(lines) + notes + "\n" * bool(notes)


def _quantifiers(entry: Entry) -> list[tuple[str, str]]:
    """Each "all", "some" or "only" of the statement, with the reading that has more than one of its things."""
    rows = []
    for q in entry.claim.quantifiers:
        answer = entry.more_than_one(q)
        text = q.because or f"nothing shows it: `{q.by}`"
        if answer is not None:
            how = f"{answer.record.cases:,} cases" if answer.record and answer.record.cases else "reached"
            text = f"`{q.by}`: {how} ({pages.reading_name(answer)})"
        rows.append((q.says, text))
    return rows


def _notes(entry: Entry) -> dict[str, str]:
    """Notes about the verdicts, by reading; a note that the releases of a reading share stands once."""
    notes: dict[str, str] = {}
    for answer in (a for a in entry.answers if a.reading.note):
        release = f", Kafka {answer.reading.set.get('release', '')}"
        notes[pages.reading_name(answer).removesuffix(release)] = answer.reading.note
    return notes
