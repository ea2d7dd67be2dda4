"""`python -m tests.benchmarks.symmetry`: searches of one state of each class, and of all states, in turn in one run.

Medians of `--runs`; the time is that of the search, without compilation. The counts are compared, no time is asserted:
where nothing reads the order of ids, the states of the classes are those of the whole search.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult
from reassure.checkers.check import CheckRequest, run

PAGE = Path(__file__).with_suffix(".md")
ROWS = [
    ("two_phase_commit", ["managers=5"], "on", True),
    ("two_phase_commit", ["managers=8"], "on", True),
    ("rolling_upgrade", [], "on", True),
    ("core", ["brokers=3"], "any-order", True),
    ("core", ["brokers=4"], "any-order", True),
    ("core", ["brokers=5"], "any-order", True),
    ("core", ["brokers=6"], "any-order", True),
    ("core", ["brokers=7"], "any-order", False),
    ("core", ["brokers=8"], "any-order", False),
    ("kraft", ["unclean=off"], "any-order", True),
]
"""Model, configuration, mode, and whether all states are searched too."""
LARGE = [("core", ["brokers=9"], "any-order", False), ("core", ["brokers=10"], "any-order", False)]
MEMORY = 2 << 30


def searched(model: str, pairs: list[str], symmetry: str) -> CheckResult:
    options = SearchOptions(symmetry=symmetry, memory=MEMORY, workers=2)
    # Properties of whole runs take all states in any case, and are no part of this comparison.
    result, bound = run(CheckRequest(model, pairs, "native", options), Progress(quiet=True))
    assert result.complete, f"{model} {pairs}: {result.stopped_because}"
    temporal = [p.name for p in bound.properties if p.temporal]
    assert all(p.status == "not_checked" for p in result.properties if symmetry != "off" and p.name in temporal)
    return result


def row(model: str, pairs: list[str], mode: str, compared: bool, runs: int) -> str:
    """A row of the table."""
    modes = [mode, "off"] if compared else [mode]
    results = [[searched(model, pairs, one) for one in modes] for _ in range(runs)]
    seconds = [statistics.median(turn[i].stats.seconds["search"] for turn in results) for i in range(len(modes))]
    found = results[0][0]
    assert found.search is not None
    symmetry = found.search.symmetry
    left = sorted({name for one in symmetry["all_states"] for name in one["asked"]})
    whole = results[0][1] if compared else None
    if whole is not None and mode == "on":
        assert symmetry["states"] == whole.stats.distinct
    if whole is not None:
        statuses = [[(p.name, p.status) for p in r.properties if not p.temporal] for r in (found, whole)]
        assert statuses[0] == statuses[1]
    cells = [
        model, " ".join(pairs), mode,
        f"{symmetry['classes']:,}", f"{symmetry['states']:,}", f"{found.stats.generated:,}",
        f"{seconds[0]:.3f}", f"{found.stats.memory / 2**20:,.0f}",
        f"{whole.stats.distinct:,}" if whole else "-", f"{whole.stats.generated:,}" if whole else "-",
        f"{seconds[1]:.3f}" if whole else "-", ", ".join(left) or "-",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


HEAD = """# Symmetry, measured

Written by `python -m tests.benchmarks.symmetry --write`; two threads, medians of {runs} runs in turn, seconds
of search alone. With `any-order` the states are those that the model has if any eligible id may be first and
the initial states are renamed.

| {columns} |
| {rules} |
"""
COLUMNS = (
    "model", "configuration", "`--symmetry`", "classes", "their states", "steps", "s", "MiB", "all states",
    "their steps", "s", "left to all states",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.symmetry", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="9 and 10 brokers too")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    given = parser.parse_args()
    text = HEAD.format(runs=given.runs, columns=" | ".join(COLUMNS), rules=" | ".join("-" * 3 for _ in COLUMNS))
    for model, pairs, mode, compared in [*ROWS, *(LARGE if given.large else [])]:
        line = row(model, pairs, mode, compared, given.runs)
        print(line, flush=True)
        text += line + "\n"
    if given.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
