"""Output of `sweep`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reassure.checkers.analyses.sweep.analysis import PointRecord
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console
from reassure.checkers.report.analysis_report import tally

EXCLUDED = 5
"""Reasons of skipped combinations that are printed."""


def report_sweep(
    model: str,
    keys: list[str],
    records: list[PointRecord],
    excluded: Mapping[Any, str],
    every: int,
    not_run: int,
    code: Exit,
    verdict: str,
    console: Console,
) -> None:
    """One row for each configuration.

    excluded: why, of each combination that is none. every: how many there are. not_run: how many are left.
    """
    few = f"{len(records)} of {every}" if len(records) < every else f"{every}"
    text = f"{model}: {few} configuration{'s' * (few != '1')}"
    several = len(excluded) != 1
    left_out = f", {len(excluded)} combination{'s' * several} skipped: the model excludes {'them' if several else 'it'}"
    text += left_out if excluded else ""
    console.print(text, style="bold")
    for why in list(dict.fromkeys(excluded.values()))[:EXCLUDED]:
        console.print(f"  skipped: {why}", style="dim")
    rows = []
    for record in records:
        point = record["point"]
        fallen = [f"{p['name']} ({p['depth']})" for p in record["properties"] if p["status"] in ("violated", "raised")]
        fallen += [f"{c['name']} never reached" for c in record["covers"] if not c["reached"] and record["complete"]]
        what = ", ".join(fallen) if record["stats"] else record["stopped_because"].splitlines()[0]
        counts = f"{record['stats']['distinct']:,}" if record["stats"] else "-"
        rows.append([*(point[k] for k in keys), record["verdict"], counts, f"{record['took']:.1f} s", what])
    head = [*keys, "verdict", "distinct", "took", "violated (states)"]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head) - 1)] + [0]
    styles = ["bold", *("" if record["exit_code"] == 0 else "red" for record in records)]
    for row, style in zip([head, *rows], styles, strict=True):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        console.print(line.rstrip(), style=style)
    verdicts = [record["verdict"] for record in records] + ["not run: interrupted"] * not_run
    console.print(f"\n{tally(verdicts)}")
    console.verdicts[code] = verdict
