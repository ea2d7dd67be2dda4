"""The report of a gate as one HTML page that needs nothing else."""

from __future__ import annotations

from html import escape

from reassure.checkers.gate.gate_file import Check
from reassure.checkers.gate.run_check import CheckOutcome
from reassure.checkers.gate.run_gate import GateReport
from reassure.checkers.machine.exit_codes import VERDICTS
from reassure.checkers.pictures.html_page import breakable, command_markup, html_table, page
from reassure.checkers.request.result import after, status_in_words

STYLE = """
details { margin: 0; border-bottom: 1px solid var(--line) } details > div { padding: 0 1.5rem 1rem }
summary { padding: .35rem .5rem; font-weight: inherit } summary::before { font-weight: 600 }
.ok summary::before { content: "ok "; color: var(--good) } .fail summary::before { content: "FAIL "; color: var(--bad) }
@media (max-width: 760px) { details > div { padding: 0 .5rem .5rem } }
.none summary::before { content: "not run "; color: var(--quiet) }
"""


def gate_html(report: GateReport) -> str:
    """The page."""
    title = f"{report.file.path.name}: {VERDICTS[report.exit]}"
    checks = (_check(check, outcome) for check, outcome in report.pairs)
    return page(title, [f"<p>{escape(report.summary())}</p>", *checks], STYLE)


def _check(check: Check, outcome: CheckOutcome | None) -> str:
    if outcome is None or not outcome.ran:
        return f'<details class="none"><summary>{escape(check.name)}</summary></details>'
    failed = bool(outcome.problems)
    record = outcome.record
    parts = [f'<details class="{"fail" if failed else "ok"}"{" open" if failed else ""}>']
    parts.append(f"<summary>{escape(check.name)}: {escape(record['verdict'] + outcome.counts)}")
    if outcome.unchanged_since:
        parts.append(f'<span class="quiet">(unchanged since {escape(outcome.unchanged_since)})</span>')
    parts.append("</summary><div>")
    parts += [f'<p class="bad">{escape(p.text)}</p>' for p in outcome.problems]
    if outcome.story is not None:
        parts.append(f"<pre>{escape(outcome.story.text)}</pre>")
    parts.append(_properties(outcome))
    parts += [f'<p class="quiet">trace: <code>{escape(path)}</code></p>' for path in outcome.files]
    parts.append(f'<p class="quiet">again: {command_markup(check.repro())}, {outcome.seconds:.1f} s</p>')
    return "\n".join([*parts, "</div></details>"])


def _properties(outcome: CheckOutcome) -> str:
    """The result of each property and cover."""
    rows = []
    for p in outcome.record["properties"]:
        length = after(p["depth"], p["kind"]) if p["depth"] else ""
        rows.append((breakable(p["name"]), p["kind"], status_in_words(p["kind"], p["status"]), length))
    for c in outcome.record["covers"]:
        reached = ("not reached", "") if c["depth"] is None else ("reached", after(c["depth"], "cover"))
        rows.append((breakable(c["name"]), "cover", *reached))
    return html_table((), rows) if rows else ""
