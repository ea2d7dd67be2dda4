"""The index of the findings: number, short name, claim, steps by release, run, picture and tests of each.

Also here: the page of the documents' statements: which claims judge each of them, and what is not judged.
"""

from __future__ import annotations

from reassure.checkers.kafka.pages import findings
from reassure.checkers.ledger.markdown import BY, table
from reassure.checkers.ledger.pages import relative
from reassure.checkers.ledger.verdicts import Entry
from reassure.spec.claims.statements import Coverage, Statement

SHORT = {
    "K21": "lost after completion",
    "K20": "lost after cancellation",
    "K23": "taken back, never ends",
    "K24": "registration stops the controller",
    "K14": "removal not stopped",
    "K18": "MinISR keeps it offline",
    "K25": "joins without its epoch",
}
"""A name of three or four words, by the claim of the finding."""
HEAD = f"""# Findings: which is which

{BY}. A finding has a number, a short name and the number of its claim. A K-number, such as K21, names a claim
about KRaft's reassignment: one promise of Kafka's documents with its verdicts ([all
claims](../../models/kraft/claims/README.md)). On the command line `finding-1` and `K21` name the run.

*Steps*: the length of the shortest run that begins with every replica in sync, by release. *ELR*: whether the finding
needs eligible leader replicas (KIP-966), which are not production-ready in 3.9, off by default in 4.0, and on by
default in later releases. 4.1.1 and 4.1.2 behave like 4.2.
"""
TAIL = """The `ReplicationControlManager` of each release executed the run; `reassure kafka replay` repeats that. The
tests are methods of Kafka's own `ReplicationControlManagerTest`. The models add one assumption: a removed broker
deletes its log. The model of finding 7 adds another one: a broker that dies can lose records that it fetched since its
start.

[Findings](../findings.md) explains the causes and has [the measurements on real
brokers](../findings.md#measured-on-real-brokers); [claims by release](../claims-by-release.md) lists every
other promise and its verdict. `reassure kafka cluster finding-1` [repeats a run on real
brokers](../how-to/kafka-cluster.md) in two minutes. A search of Kafka's classes without a model found [six more
runs](../how-to/kafka.md#runs-found-in-the-classes-themselves).
"""


def index_page(found: list[Entry]) -> str:
    """The page, for the folder of the reports."""
    record, rows = findings.recorded(), []
    for number, several in findings.numbered_findings(found):
        headline, broken = several[0].headline, [case for case in several if case.counts]
        if broken:
            title = f"[{SHORT[headline.claim]}](../findings.md#{findings.anchor(number, headline)})"
            links = f"[run](../../{relative(broken[-1].path)}), [picture]({headline.claim}.svg)"
            tests = ", ".join(f"[{name[:-5]}]({name})" for name, _ in findings.tests_of(several, record)) or "-"
            report = f"[{headline.claim}]({headline.claim}.md)"
            needs = "yes" if headline.needs_elr else "no"
            rows.append((str(number), title, report, needs, findings.steps_by_release(broken), links, tests))
    columns = ("number", "short name", "claim, report", "ELR", "steps", "run", "failing tests")
    return f"{HEAD}\n{table(columns, rows)}\n\n{TAIL}"


TEXT = """
Each normative sentence of the five documents, in our words, with the claims that judge it and the properties, covers
and functions by which they do. A claim is one promise of a document with its verdicts ([how to read the
claims](how-to/read-the-claims.md)), and its letter is the document's: K1 is about KRaft, B1 about KIP-435. A line
number has a letter where one line says several things. "Covered": all that the sentence says is judged by something
that can fail. "Partly", "not judged": the last column says what is missing, and why.
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
