"""The page of the documents' statements: which claims judge each of them, and what is not judged."""

from __future__ import annotations

from reassure.checkers.ledger.markdown import BY, table
from reassure.spec.claims.statements import Coverage, Statement

TEXT = """
Each normative sentence of the five documents, in our words, with the claims that judge it and the properties, covers
and functions by which they do. A line number has a letter where one line says several things. "Covered": all that the
sentence says is judged by something that can fail. "Partly", "not judged": the last column says what is missing, and
why.
"""


def statement_page(statements: list[Statement], claim_pages: dict[str, str]) -> str:
    """The page. claim_pages: the pages of claims by the letter of their document, relative to the page."""
    covered = sum(s.coverage is Coverage.COVERED for s in statements)
    parts = [
        "# The statements of the documents",
        f"{BY} from the files of claims. Covered: {covered} of {len(statements)}.",
        TEXT.strip(),
    ]
    for title in dict.fromkeys(s.title for s in statements):
        own = [s for s in statements if s.title == title]
        counts = ((c.value, sum(s.coverage is c for s in own)) for c in Coverage)
        parts.append(f"## {title}\n\n{len(own)} statements: {', '.join(f'{n} {word}' for word, n in counts if n)}.")
        parts.append(table(("line", "what it says", "judged by", "not judged"), [_row(s, claim_pages) for s in own]))
    return "\n\n".join(parts) + "\n"


def _row(s: Statement, claim_pages: dict[str, str]) -> tuple[str, str, str, str]:
    links = ", ".join(f"[{claim}]({claim_pages[claim[0]]}#{claim.lower()})" for claim in s.claims)
    by = ", ".join(f"`{name}`" for name in s.by)
    return s.at, s.says, f"{links}: {by}" if links else "-", s.open or "-"
