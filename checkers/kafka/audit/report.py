"""An audit of a metadata log for people and programs: on the terminal, as JSON, and as one page of HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from rich.table import Table
from rich.text import Text

from reassure.checkers.kafka.audit.audit_log import AuditReport, AuditTask
from reassure.checkers.kafka.audit.judge import Finding
from reassure.checkers.machine.exit_codes import VERDICTS
from reassure.checkers.machine.terminal import Console, quantity
from reassure.checkers.pictures.html_page import html_table, page
from reassure.spec.kafka.releases import releases_text

SHOWN = 40
"""Findings that are printed."""
WIDE = 140
"""Columns of a terminal that the table of findings needs; in a narrower one a finding has two lines."""
MOST_ENDING = 10
"""Names of a kind that the end of a log is told with; the JSON file has all."""
MOST_ROWS = 5000
"""Findings on a page; the JSON file has all."""
COLUMNS = ("offset", "time (UTC)", "partition", "kind", "what", "change")


def _time(milliseconds: int) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"


def _row(f: Finding) -> tuple[str, ...]:
    return str(f.offset), _time(f.timestamp), f"{f.topic}-{f.partition}", f.kind, f.name, f.change


def _summary(report: AuditReport) -> list[str]:
    """Sentences about the records that were read and the changes that were judged."""
    audit = report.audit
    return [
        f"{report.records:,} records, offsets {report.first:,} to {report.last:,}; at the end "
        f"brokers: {report.brokers:,}, topics: {report.topics:,}, partitions: {report.partitions:,}",
        f"partitions created: {audit.created:,}, changes: {audit.changes:,}, different ones: {len(report.cases):,}",
    ]


def ending_lines(report: AuditReport, task: AuditTask) -> list[str]:
    """How the log ends, a line each; those that belong to a line before are indented."""
    ending = report.ending
    lines = []
    if ending.assumed_min_isr:
        topics = quantity(len(ending.assumed_min_isr), "topic")
        lines.append(
            f"min.insync.replicas is taken to be {task.min_isr} for {topics} of which the log has none "
            f"(--min-isr): {_some(ending.assumed_min_isr)}"
        )
    if ending.under_way:
        lines.append(f"reassignments under way at the end: {len(ending.under_way):,}")
        for one in ending.under_way[:MOST_ENDING]:
            target = ", ".join(map(str, one.target))
            begun = f"{one.topic}-{one.partition} to [{target}] since offset {one.since}, {_time(one.timestamp)}"
            days = f"{(ending.time - one.timestamp) / 86_400_000:.1f} days before the last record"
            lines.append(f"  {begun}, {days}: {one.waits}")
        if len(ending.under_way) > MOST_ENDING:
            lines.append(f"  and {len(ending.under_way) - MOST_ENDING:,} more (--json FILE has all)")
    for text, names in (
        ("partitions that nobody leads at the end", ending.leaderless),
        ("partitions with fewer replicas in sync than min.insync.replicas at the end", ending.below_min_isr),
        ("partitions with a replica on a broker that is not registered", ending.unregistered),
        ("throttles of reassignments that are over", ending.left_throttles()),
        ("brokers that can join no ISR", ending.faults),
    ):
        if names:
            lines.append(f"{text}: {len(names):,} ({_some(names)})")
    return lines


def _some(names: list[str]) -> str:
    return ", ".join(names[:MOST_ENDING]) + ", ..." * (len(names) > MOST_ENDING)


def print_report(report: AuditReport, task: AuditTask, console: Console) -> None:
    """Prints the counts, how many of them each set of rules does not make, and the findings."""
    audit = report.audit
    for line in _summary(report):
        console.print(line)
    releases = Table(box=None, pad_edge=False)
    releases.add_column("rules")
    releases.add_column("releases")
    releases.add_column("changes that these rules do not make", justify="right")
    for rules, count in audit.not_by.items():
        releases.add_row(rules, releases_text(rules), f"{count:,}")
    if audit.changes:
        console.print(releases, soft_wrap=False)
    for line in ending_lines(report, task):
        console.print(line)
    if not audit.findings:
        console.print("no findings")
        return
    console.print(quantity(len(audit.findings), "finding"))
    rows = [_row(f) for f in audit.findings[:SHOWN]]
    if console.is_terminal and console.width < WIDE:
        for offset, time, partition, kind, what, change in rows:
            console.print(f"{offset:>6}  {time}  {partition}  {kind}: {what}\n        {change}")
    else:
        console.print(findings_table(rows))
    if len(audit.findings) > SHOWN:
        console.print(f"and {len(audit.findings) - SHOWN:,} more (--json FILE has all)")


def findings_table(rows: list[tuple[str, ...]]) -> Table:
    findings = Table(box=None, pad_edge=False)
    for column in COLUMNS:
        findings.add_column(column, justify="right" if column == "offset" else "left")
    for row in rows:
        findings.add_row(*(Text(cell) for cell in row))
    return findings


def audit_record(report: AuditReport, task: AuditTask) -> dict[str, object]:
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
        "min_isr": task.min_isr,
        "end": {
            **vars(report.ending),
            "under_way": [vars(one) for one in report.ending.under_way],
            "left_throttles": report.ending.left_throttles(),
        },
    }


STYLE = "input { font: inherit; width: 20rem; max-width: 100% }"
SCRIPT = """
const field = document.getElementById("filter"), rows = document.querySelectorAll("#findings tbody tr");
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\\s+/);
  for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
});
"""


def audit_html(report: AuditReport, task: AuditTask) -> str:
    """The audit as one page that needs nothing else."""
    audit = report.audit
    by_name = Counter((f.kind, f.name) for f in audit.findings)
    by_partition = Counter(f"{f.topic}-{f.partition}" for f in audit.findings)
    files = ", ".join(Path(file.path).name for file in task.files)
    parts = [
        f"<p>{escape(files)}</p>",
        *(f"<p>{escape(line)}</p>" for line in [*_summary(report), *report.torn]),
        *(f"<p>{escape(line)}</p>" for line in ending_lines(report, task)),
        "<h2>Releases</h2><p>The number of changes that the controllers of some releases do not make.</p>",
        _table(("rules", "releases", "changes"), [(r, releases_text(r), f"{n:,}") for r, n in audit.not_by.items()]),
        f"<h2>{quantity(len(audit.findings), 'finding')}</h2>",
    ]
    if audit.findings:
        most = [(name, f"{count:,}") for name, count in by_partition.most_common(20)]
        parts += [
            _table(("kind", "what", "findings"), [(k, n, f"{c:,}") for (k, n), c in sorted(by_name.items())]),
            "<h2>Partitions with the most findings</h2>",
            _table(("partition", "findings"), most),
            "<h2>Each finding</h2>",
            '<p><label>Only rows with these words: <input id="filter" type="search"></label></p>',
            _table(COLUMNS, map(_row, audit.findings[:MOST_ROWS]), ' id="findings" class="rows"'),
        ]
        if len(audit.findings) > MOST_ROWS:
            parts.append(f"<p>The first {MOST_ROWS:,} of {len(audit.findings):,}; the JSON file has all.</p>")
        parts.append(f"<script>{SCRIPT}</script>")
    return page("Audit of a metadata log", parts, STYLE)


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], attributes: str = "") -> str:
    return html_table(columns, rows, ("offset", "changes", "findings"), attributes)
