"""The claims that are about Kafka's code, by release: what holds and what is violated, from the ledger."""

from __future__ import annotations

from reassure.checkers.kafka.pages.findings import CLAIM_PAGE
from reassure.checkers.ledger.markdown import table
from reassure.checkers.ledger.verdicts import Entry, ReadingAnswer, ReadingVerdict
from reassure.spec.kafka.releases import releases_text, rules_in_name

HEAD = """# Claims by Kafka release

Written by `python -m reassure.checkers.publish` from the claims' ledger. A claim is one promise of Kafka's documents; a
K-number, such as K1, names a claim about KRaft's reassignment ([how to read the claims](how-to/read-the-claims.md)).
Each row is one reading of a claim, checked on the model of Kafka's controller (`kraft_kafka` or a variant) with the
rules of each release; K25 is checked on `unregistered_fetch`, whose one rule the code of all releases has. The page of
a claim names the configuration of each verdict.

- "holds": every reachable state and step of the configuration satisfies the reading.
- A number: a run violates the reading, and the shortest such run takes this many steps.
- "unreachable": the reading promises that a situation can occur, and no reachable state has it.
- "-": the reading is not checked for this release.

[Findings](findings.md) explains the seven violations with the worst effect.

A column has the name of the rules of the releases below, which `reassure kafka conform` compared with them. 4.1.1
and 4.1.2 go by the rules of 4.2, because Kafka backported the change (PR 20655).
"""


def matrix_page(found: list[Entry]) -> str:
    """The matrix, as a page."""
    rows = [row for entry in found for row in _rows(entry)]
    releases = sorted({release for _, _, cells in rows for release in cells})
    lines, above = [], None
    for entry, reading, cells in rows:
        claim = f"[{entry.claim.id}](../{CLAIM_PAGE}#{entry.claim.id.lower()}) {entry.claim.statement}"
        by_release = [_cell(cells[r]) if r in cells else "-" for r in releases]
        lines.append([claim * (entry is not above), reading, *by_release])
        above = entry
    columns = table(("column", "releases"), [[rules, releases_text(rules)] for rules in releases])
    return f"{HEAD}\n{columns}\n\n{table(('claim', 'reading', *releases), lines)}\n"


def _rows(entry: Entry) -> list[tuple[Entry, str, dict[str, ReadingAnswer]]]:
    """Each reading of Kafka's code with its answers by release."""
    by_name: dict[str, dict[str, ReadingAnswer]] = {}
    for answer in entry.answers:
        name, releases = rules_in_name(answer.reading.name)
        if answer.reading.column == "kafka":
            for release in releases:
                by_name.setdefault(name, {})[release] = answer
    return [(entry, name, answers) for name, answers in by_name.items()]


def _cell(answer: ReadingAnswer) -> str:
    if answer.record is None or answer.verdict is not ReadingVerdict.VIOLATED:
        return answer.verdict.words
    lengths = [result.states - 1 for result in answer.violated.values() if result.states]
    return f"**{min(lengths)}**" if lengths else "**unreachable**"
