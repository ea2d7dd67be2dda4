"""An audit of a metadata log for people and programs: on the terminal, as JSON, and as one page of HTML."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from reassure.checkers.base.exit_codes import VERDICTS
from reassure.checkers.kafka.audit.audit_log import AuditReport, AuditTask
from reassure.checkers.kafka.audit.judge import Finding

SHOWN = 40
"""Findings that are printed."""
WIDE = 140
"""Columns of a terminal that the table of findings needs; in a narrower one a finding has two lines."""
MOST_ROWS = 5000
"""Findings on a page; the JSON file has all."""
COLUMNS = ("offset", "time (UTC)", "partition", "kind", "what", "change")


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _row(f: Finding) -> tuple[str, ...]:
    return str(f.offset), _time(f.timestamp), f"{f.topic}-{f.partition}", f.kind, f.name, f.change


def summary(report: AuditReport) -> list[str]:
    """What was read and judged, in sentences."""
    audit = report.audit
    return [
        f"{report.records:,} records, offsets {report.first:,} to {report.last:,}; at the end "
        f"brokers: {report.brokers:,}, topics: {report.topics:,}, partitions: {report.partitions:,}",
        f"partitions created: {audit.created:,}, changes: {audit.changes:,}, of them different: {len(report.cases):,}",
    ]


def print_report(report: AuditReport, console: Console) -> None:
    """Prints the counts, which release makes which changes, and the findings."""
    audit = report.audit
    for line in summary(report):
        console.print(line)
    table = Table(box=None, pad_edge=False)
    table.add_column("release")
    table.add_column("changes that it does not make", justify="right")
    for release, count in audit.not_by.items():
        table.add_row(release, f"{count:,}")
    if audit.changes:
        console.print(table, soft_wrap=False)
    if not audit.findings:
        console.print("no findings")
        return
    console.print(f"{len(audit.findings):,} finding{'s' * (len(audit.findings) != 1)}")
    shown = [_row(f) for f in audit.findings[:SHOWN]]
    if console.is_terminal and console.width < WIDE:
        for offset, time, partition, kind, what, change in shown:
            console.print(f"{offset:>6}  {time}  {partition}  {kind}: {what}\n        {change}", markup=False)
    else:
        console.print(_findings_table(shown))
    if len(audit.findings) > SHOWN:
        console.print(f"and {len(audit.findings) - SHOWN:,} more (--json FILE has all)")


def _findings_table(rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in COLUMNS:
        table.add_column(column, justify="right" if column == "offset" else "left")
    for row in rows:
        table.add_row(*row)
    return table


def record(report: AuditReport, task: AuditTask) -> dict[str, Any]:
    """The audit as JSON."""
    audit, code = report.audit, report.exit()
    return {
        "schema": 1,
        "verdict": VERDICTS[code],
        "exit_code": code.value,
        "files": [file.path for file in task.files],
        "not_read": report.torn,
        "rules_sha256": report.rules_sha256,
        "release": task.release,
        "records": report.records,
        "first_offset": report.first,
        "last_offset": report.last,
        "brokers": report.brokers,
        "topics": report.topics,
        "partitions": report.partitions,
        "created": audit.created,
        "changes": audit.changes,
        "different_changes": len(report.cases),
        "not_made_by_release": dict(audit.not_by),
        "causes": dict(sorted(audit.causes.items())),
        "findings": [vars(f) for f in audit.findings],
    }


STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; border-bottom: 1px solid #8884; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
input { font: inherit; width: 20rem; max-width: 100%; }
"""
SCRIPT = """
const field = document.getElementById("filter"), rows = document.querySelectorAll("#findings tbody tr");
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\\s+/);
  for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
});
"""


def html_page(report: AuditReport, task: AuditTask) -> str:
    """The audit as one page that needs nothing else."""
    audit = report.audit
    by_name = Counter((f.kind, f.name) for f in audit.findings)
    by_partition = Counter(f"{f.topic}-{f.partition}" for f in audit.findings)
    files = ", ".join(Path(file.path).name for file in task.files)
    parts = [
        f"<p>{html.escape(files)}</p>",
        *(f"<p>{html.escape(line)}</p>" for line in [*summary(report), *report.torn]),
        "<h2>Releases</h2><p>The number of changes that the controller of each release does not make.</p>",
        _table(("release", "changes"), [(r, f"{n:,}") for r, n in audit.not_by.items()]),
        f"<h2>{len(audit.findings):,} findings</h2>",
    ]
    if audit.findings:
        most = [(name, f"{count:,}") for name, count in by_partition.most_common(20)]
        parts += [
            _table(("kind", "what", "findings"), [(k, n, f"{c:,}") for (k, n), c in sorted(by_name.items())]),
            "<h2>Partitions with the most findings</h2>",
            _table(("partition", "findings"), most),
            "<h2>Each finding</h2>",
            '<p><label>Only rows with these words: <input id="filter" type="search"></label></p>',
            _table(COLUMNS, map(_row, audit.findings[:MOST_ROWS]), 'id="findings"'),
        ]
        if len(audit.findings) > MOST_ROWS:
            parts.append(f"<p>The first {MOST_ROWS:,} of {len(audit.findings):,}; the JSON file has all.</p>")
        parts.append(f"<script>{SCRIPT}</script>")
    title = "Audit of a metadata log"
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "\n".join(parts)
    return f"{head}{view}<style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n{body}\n</body></html>\n"


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], more: str = "") -> str:
    numbers = {i for i, name in enumerate(columns) if name in ("offset", "changes", "findings")}

    def cells(tag: str, values: tuple[str, ...]) -> str:
        classes = ['class="number"' if i in numbers else "" for i in range(len(values))]
        made = (f"<{tag} {c}>{html.escape(v)}</{tag}>" for v, c in zip(values, classes, strict=True))
        return "".join(made).replace(" >", ">")

    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', columns)}</tr></thead>"
    return f'<div class="scroll"><table {more}>{head}<tbody>{body}</tbody></table></div>'
