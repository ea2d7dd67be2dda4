"""`python -m tests.benchmarks.symmetry`: searches of one state of each class, and of all states, in turn in one run.

Medians of `--runs`; the time is that of the search, without compilation. The counts are compared, no time is asserted:
where nothing reads the order of ids, the states of the classes are those of the whole search.

With `--jar` and `--rumur` also TLC and Rumur with their symmetry, on `core` with any eligible broker elected
(`CoreAnyOrder.tla` with model values, `core_any_order.m` with a scalarset): whole runs, without Rumur's compilers.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.request.result import CheckResult
from tests.benchmarks.whole_runs import Measured, timed

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
    ("kraft", [], "any-order", True),
    ("kraft", ["brokers=4"], "any-order", True),
    ("kraft", ["brokers=5"], "any-order", True),
    ("kraft", ["brokers=6"], "any-order", False),
    ("kraft_kafka", [], "any-order", True),
]
"""Model, configuration, mode, and whether all states are searched too."""
CHOSEN = ["two_phase_commit", "rolling_upgrade", "core", "kraft", "kraft_kafka", "batching"]
"""With 3 ids or about as many."""
LARGE = [("core", ["brokers=9"], "any-order", False), ("core", ["brokers=10"], "any-order", False)]
MEMORY = 2 << 30
HERE = Path(__file__).parent
CLASSES = {5: 21_502, 6: 109_802}
"""By the number of brokers of `core`."""
PEERS = """
`core` with any eligible broker elected, classes under renaming of brokers: whole runs on two threads, {runs} of each in
turn. The command of reassure has its kernel in the cache. On a machine that does other work as well, only processor
seconds compare.

| brokers | checker | classes | s | processor s | times the processor seconds of the command |
| --- | --- | --- | --- | --- | --- |
"""


def searched(model: str, pairs: list[str], symmetry: str) -> CheckResult:
    bound, _ = prepare_plain(model, pairs)
    # Properties of whole runs take all states in any case, and are not part of this comparison.
    names = [p.name for p in (*bound.properties, *bound.covers) if not p.temporal]
    names += ["deadlock"] if bound.model.deadlock else []
    options = SearchOptions(names, symmetry=symmetry, memory=MEMORY, workers=2)
    result, _ = run(CheckRequest(model, pairs, "native", options), Progress(quiet=True))
    assert result.complete, f"{model} {pairs}: {result.stopped_because}"
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
        statuses = [[(p.name, p.status) for p in r.properties] for r in (found, whole)]
        assert statuses[0] == statuses[1]
    all_states = ["-"] * 3
    if whole is not None:
        all_states = [f"{whole.stats.distinct:,}", f"{whole.stats.generated:,}", f"{seconds[1]:.3f}"]
    cells = [
        model, " ".join(pairs), mode,
        f"{symmetry['classes']:,}", f"{symmetry['states']:,}", f"{found.stats.generated:,}",
        f"{seconds[0]:.3f}", f"{found.stats.memory / 2**20:,.0f}",
        *all_states, ", ".join(left) or "-",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


CHOSEN_HEAD = """
What `--symmetry auto` costs where it does not pay: processor seconds of a whole check on one thread, kernels compiled,
the least of {runs} in turn.

| model | distinct | `off` | `auto` | times | reduced |
| --- | --- | --- | --- | --- | --- |
"""


def chosen(model: str, runs: int) -> str:
    """A row about the mode that chooses."""
    took: dict[str, list[float]] = {"off": [], "auto": []}
    for _ in range(runs + 1):  # the first one compiles
        for mode, seconds in took.items():
            options = SearchOptions(symmetry=mode, memory=MEMORY, workers=1)
            began = time.process_time()
            result, _ = run(CheckRequest(model, [], "native", options), Progress(quiet=True))
            seconds.append(time.process_time() - began)
    assert result.search is not None
    whole, auto = (min(seconds[1:]) for seconds in took.values())
    reduced = "no" if "why" in result.search.symmetry else "yes"
    return f"| {model} | {result.stats.distinct:,} | {whole:.3f} | {auto:.3f} | {auto / whole:.2f} | {reduced} |"


Run = Callable[[], tuple[Measured, str]]


def peers(brokers: int, jar: Path | None, rumur: str | None, folder: Path) -> Iterator[tuple[str, Run]]:
    """The command of reassure, and the others that are at hand: what one run of each prints."""

    def command(*words: str) -> Run:
        return lambda: timed(list(words), folder, codes=(0,))

    main = "from reassure.checkers.cli.main import main; raise SystemExit(main())"
    search = ["check", "core", f"--set=brokers={brokers}", "--symmetry=any-order"]
    yield "reassure", command(sys.executable, "-c", main, *search)
    if jar is not None:
        names = [f"b{n}" for n in range(brokers)]
        constants = [
            *(f"{name} = {name}" for name in names),
            "NONE = NONE",
            "MINISR = 2",
            f"B = {{{', '.join(names)}}}",
        ]
        rest = "SYMMETRY Renamings\nINVARIANT Inv\nINIT Init\nNEXT Next\n"
        (folder / "Core.cfg").write_text("CONSTANTS\n" + "\n".join(constants) + f"\n{rest}", encoding="utf-8")
        (folder / "CoreAnyOrder.tla").write_bytes((HERE / "CoreAnyOrder.tla").read_bytes())
        tlc = [
            "java",
            "-XX:+UseParallelGC",
            "-Xmx2g",
            "-cp",
            str(jar.resolve()),
            "tlc2.TLC",
            "-deadlock",
            "-workers",
            "2",
        ]
        yield "TLC", command(*tlc, "-config", "Core.cfg", "CoreAnyOrder.tla")
    if rumur is not None:
        text = (HERE / "core_any_order.m").read_text(encoding="utf-8")
        head = f"const N: {brokers}; MINISR: 2; MASKS: {(1 << brokers) - 1};"
        text = text.replace("const N: 5; MINISR: 2; MASKS: 31;", head)
        (folder / "core.m").write_text(text, encoding="utf-8")
        options = ["--deadlock-detection", "off", "--symmetry-reduction", "heuristic", "--threads", "2"]
        subprocess.run([rumur, *options, "core.m", "--output", "core.c"], cwd=folder, check=True)
        flags = ["-O3", "-march=native", "-mcx16", "core.c", "-o", "core_rumur", "-lpthread"]
        subprocess.run(["cc", *flags], cwd=folder, check=True)
        yield "Rumur", command("./core_rumur")


def compared(brokers: int, jar: Path | None, rumur: str | None, runs: int) -> Iterator[str]:
    """The rows of one size."""
    with tempfile.TemporaryDirectory() as name:
        sides = list(peers(brokers, jar, rumur, Path(name)))
        sides[0][1]()  # compiles the kernel
        took: dict[str, list[Measured]] = {label: [] for label, _ in sides}
        for _ in range(runs):
            for label, once in sides:
                measured, text = once()
                shown = text.replace(",", "")
                assert f"{CLASSES[brokers]} " in shown, f"{label}: {text[-500:]}"
                took[label].append(measured)
    ours = statistics.median(m.cpu for m in took["reassure"])
    for label, measured_ in took.items():
        wall, cpu = statistics.median(m.wall for m in measured_), statistics.median(m.cpu for m in measured_)
        yield f"| {brokers} | {label} | {CLASSES[brokers]:,} | {wall:.2f} | {cpu:.2f} | {cpu / ours:.1f} |"


HEAD = """# Symmetry, measured

Written by `python -m tests.benchmarks.symmetry --write`; two threads, medians of {runs} runs in turn (of
`core` with 9 and 10 brokers: one run), seconds of search alone. With `any-order` the states are those that the model
has if any eligible id may be first and the initial states are renamed; states that differ only in the order of lists
count once. Load of the machine at the end, this run included: {load:.0f} on {processors} processors.

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
    parser.add_argument("--jar", type=Path, help="tla2tools.jar: compare with TLC")
    parser.add_argument("--rumur", help="the program: compare with Rumur")
    parser.add_argument("--peers", type=int, nargs="*", default=[5, 6], help="numbers of brokers of that comparison")
    parser.add_argument("--peer-runs", type=int, default=1, help="runs of each checker in that comparison")
    given = parser.parse_args()
    text = ""
    for model, pairs, mode, whole in [*ROWS, *(LARGE if given.large else [])]:
        line = row(model, pairs, mode, whole, 1 if (model, pairs, mode, whole) in LARGE else given.runs)
        print(line, flush=True)
        text += line + "\n"
    text += CHOSEN_HEAD.format(runs=2 * given.runs)
    for model in CHOSEN:
        line = chosen(model, 2 * given.runs)
        print(line, flush=True)
        text += line + "\n"
    if given.jar or given.rumur:
        text += PEERS.format(runs=given.peer_runs)
        for brokers in given.peers:
            for line in compared(brokers, given.jar, given.rumur, given.peer_runs):
                print(line, flush=True)
                text += line + "\n"
    if given.write:
        head = HEAD.format(
            runs=given.runs,
            load=os.getloadavg()[2],
            processors=os.cpu_count(),
            columns=" | ".join(COLUMNS),
            rules=" | ".join("-" * 3 for _ in COLUMNS),
        )
        PAGE.write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    main()
