"""The parts of the front page that are generated: what was found in released Kafka, and the speed."""

from __future__ import annotations

import re
from pathlib import Path

from reassure.checkers.kafka.pages import findings
from reassure.checkers.ledger.verdicts import Entry

MEASURED = Path("tests") / "benchmarks" / "measured.md"


def front_page(text: str, found: list[Entry], root: Path) -> str:
    """The front page with its generated parts as they are now. root: of the checkout."""
    measured = (root / MEASURED).read_text(encoding="utf-8")
    text = with_part(text, "findings", findings.front_table(found, root))
    return with_part(text, "speed", speed(measured))


def with_part(text: str, name: str, part: str) -> str:
    """A page with what stands between `<!-- name -->` and `<!-- end of name -->` written anew."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{part}\n\n{end}{after}" if rest else text


def speed(measured: str) -> str:
    """The comparison with other checkers, from the page of what was measured."""
    counts = re.search(r"^core, 5 brokers: ([\d,]+) distinct, ([\d,]+) generated", measured, re.MULTILINE)
    assert counts is not None
    table = measured[counts.end() :].split("\n\n")[1]
    rows = re.findall(r"^\| (\S.*?) +\| ([\d.]+) \|", table, re.MULTILINE)
    head = " | ".join(name for name, _ in rows)
    cells = " | ".join(f"{float(seconds):.2f} s" for _, seconds in rows)
    return (
        f"The model `core` with 5 brokers ({counts[1]} states, {counts[2]} steps), the same protocol for each:\n\n"
        f"| {head} |\n|{'---|' * len(rows)}\n| {cells} |\n\n"
        "The times are medians, measured on two cores in one session. The time of `reassure` by threads is that of the "
        "search, without compilation; the times of whole commands and of the other checkers are whole runs "
        f"([measured]({MEASURED.as_posix()}))."
    )
