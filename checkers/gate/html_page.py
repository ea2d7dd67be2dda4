"""The report of a gate as one HTML page that needs nothing else."""

from __future__ import annotations

from html import escape

from reassure.checkers.base.exit_codes import VERDICTS
from reassure.checkers.gate.gate_file import Check
from reassure.checkers.gate.run_check import Outcome
from reassure.checkers.gate.run_gate import Report

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1c2126 }
h1 { font-size: 1.4rem } summary { cursor: pointer; padding: .35rem .5rem; border-radius: .3rem }
details { border-bottom: 1px solid #d9dee3 } details > div { padding: 0 1.5rem 1rem }
.ok summary::before { content: "ok "; color: #1a7f37; font-weight: 600 }
.fail summary::before { content: "FAIL "; color: #b42318; font-weight: 600 }
.none summary::before { content: "not run "; color: #6b7280; font-weight: 600 }
.problem { color: #b42318; margin: .3rem 0 } .more { color: #6b7280 }
table { border-collapse: collapse; margin: .6rem 0 } td, th { padding: .15rem 1rem .15rem 0; text-align: left }
pre, code { font: 13px/1.4 ui-monospace, monospace } pre { background: #f4f6f8; padding: .8rem; overflow-x: auto }
@media (prefers-color-scheme: dark) { body { background: #14181c; color: #dfe4ea } pre { background: #1d2329 } }
"""


def html_page(report: Report) -> str:
    """The page."""
    title = f"{report.file.path.name}: {VERDICTS[report.exit]}"
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>',
        f"<h1>{escape(title)}</h1><p>{escape(report.summary())}</p>",
        *(_check(check, outcome) for check, outcome in report.pairs),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _check(check: Check, outcome: Outcome | None) -> str:
    if outcome is None or not outcome.ran:
        return f'<details class="none"><summary>{escape(check.name)}</summary></details>'
    failed = bool(outcome.problems)
    record = outcome.record
    parts = [f'<details class="{"fail" if failed else "ok"}"{" open" if failed else ""}>']
    parts.append(f"<summary>{escape(check.name)}: {escape(record['verdict'] + outcome.counts)}")
    if outcome.unchanged_since:
        parts.append(f'<span class="more">(unchanged since {escape(outcome.unchanged_since)})</span>')
    parts.append("</summary><div>")
    parts += [f'<p class="problem">{escape(p.text)}</p>' for p in outcome.problems]
    if outcome.story is not None:
        parts.append(f"<pre>{escape(outcome.story.text)}</pre>")
    parts.append(_properties(outcome))
    parts += [f'<p class="more">trace: <code>{escape(path)}</code></p>' for path in outcome.traces.values()]
    parts.append(f'<p class="more">again: <code>{escape(check.repro())}</code>, {outcome.seconds:.1f} s</p>')
    return "\n".join([*parts, "</div></details>"])


def _properties(outcome: Outcome) -> str:
    """What became of each property and cover."""
    rows = []
    for p in outcome.record["properties"]:
        states = f"{p['depth']} states" if p["depth"] else ""
        rows.append((p["name"], p["kind"], str(p["status"]).replace("_", " "), states))
    for c in outcome.record["covers"]:
        rows.append((c["name"], "cover", f"reached at depth {c['depth']}" if c["reached"] else "not reached", ""))
    cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>" if rows else ""
