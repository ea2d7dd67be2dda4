"""The part of the front page that is generated: the speed."""

from __future__ import annotations

import re
from pathlib import Path

MEASURED = Path("tests") / "benchmarks" / "measured.md"
SHOWN = {
    "reassure, whole command": "reassure, 2 cores",
    "SPIN, 1 core": "SPIN, 1 core",
    "Rumur, 2 threads": "Rumur, 2 cores",
    "TLC, 2 workers": "TLC, 2 cores",
}
"""The rows of the measurements that the front page has, and how it calls them."""
EMPTY_CACHE = "reassure, whole command, empty cache"


def front_page(text: str, root: Path) -> str:
    """The front page with its generated part as it is now. root: of the checkout."""
    return with_part(text, "speed", speed((root / MEASURED).read_text(encoding="utf-8")))


def with_part(text: str, name: str, part: str) -> str:
    """A page with what stands between `<!-- name -->` and `<!-- end of name -->` written anew."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}{part}\n{end}{after}" if rest else text


def speed(measured: str) -> str:
    """The comparison with other checkers, from the page of what was measured."""
    counts = re.search(r"^core, 5 brokers: ([\d,]+) distinct", measured, re.MULTILINE)
    assert counts is not None
    table = measured[counts.end() :].split("\n\n")[1]
    rows = dict(re.findall(r"^\| (\S.*?) +\| ([\d.]+) \|", table, re.MULTILINE))
    shown = {name: rows[row] for row, name in SHOWN.items() if row in rows}
    empty = (
        f"{float(rows[EMPTY_CACHE]):.2f} s with an empty one"
        if EMPTY_CACHE in rows
        else "with an empty one it takes longer"
    )
    times = " | ".join(f"{float(seconds):.2f} s" for seconds in shown.values())
    return (
        f"| `core`, 5 brokers: {counts[1]} states | {' | '.join(shown)} |\n|---|{'---|' * len(shown)}\n"
        f"| whole run | {times} |\n\n"
        "Every tool checks [`core`](models/examples/core.md), which moves one partition; reassure has it compiled in "
        f"its cache\n({empty}). The times are medians of one session ([how they were taken]({MEASURED.as_posix()}))."
    )
