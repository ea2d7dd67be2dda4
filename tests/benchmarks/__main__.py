"""`python -m tests.benchmarks`: this checker against TLC, Rumur and SPIN on one protocol, in turn, in one run.

The protocol is `models/examples/core.py` here and `Core.tla`, `core.m`, `core.pml` there (`--bench DIR`). Counts are
compared first (SPIN stores its blocked choices as states, so only its time counts). Then our own models at growing
sizes, and the bare insert rate of the table, the limit to compare with. Medians of `--runs`, ratios of medians; no
time is asserted.
"""

from __future__ import annotations

import argparse
import builtins
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.engines.native.kernels.growing_table import GrowingTable
from reassure.checkers.engines.native.kernels.state_table import BATCH, insert_all
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.machine.memory import memory_of_machine
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from tests.benchmarks import proofs
from tests.benchmarks.commands import OWN, in_turn
from tests.benchmarks.whole_runs import STATES, Measured, timed

CORE5 = STATES[5]
OURS = 7
"""Our runs in each turn: they are short, and the first one waits for memory that the others left cold."""


def ours(model: str, pairs: list[str], workers: int) -> tuple[float, Any]:
    """Search seconds (compilation apart) and the statistics."""
    verdict, _ = run(CheckRequest(model, pairs, "native", SearchOptions(workers=workers)), Progress(quiet=True))
    return verdict.stats.seconds["search"], verdict.stats


@dataclass(frozen=True)
class Peer:
    """Another checker that is at hand. compilers: what its compilers took, zero without. once: a run of it."""

    compilers: Measured
    once: Callable[[], Measured]


def peers(bench: Path, jar: Path | None, folder: Path, brokers: int) -> dict[str, Peer]:
    """The other checkers that are at hand, for core with so many brokers; their counts are compared in each run."""
    distinct, generated = STATES[brokers]
    found: dict[str, Peer] = {}

    def compiled(*commands: list[str]) -> Measured:
        took = [timed(words, folder, codes=(0,))[0] for words in commands]
        return Measured(sum(m.wall for m in took), sum(m.cpu for m in took))

    def peer(name: str, compilers: Measured, words: list[str], is_right: Callable[[str], bool]) -> None:
        def once() -> Measured:
            took, text = timed(words, folder)
            assert is_right(text), text[-500:]
            return took

        found[name] = Peer(compilers, once)

    def tlc_is_right(text: str) -> bool:
        counts = re.findall(r"(\d+) states generated, (\d+) distinct states found, 0 states left", text)
        return [(int(d), int(g)) for g, d in counts] == [(distinct, generated)]

    constants = {"Core.cfg": ("N = 5", f"N = {brokers}"), "core.m": ("N: 5", f"N: {brokers}")}
    for name in ("Core.tla", "Core.cfg", "core.m", "core.pml"):
        if (bench / name).is_file():
            text = (bench / name).read_text().replace(*constants.get(name, ("", "")))
            (folder / name).write_text(text.replace("Mask: 0..31", f"Mask: 0..{2**brokers - 1}"))
    if jar is not None and shutil.which("java") and (folder / "Core.tla").is_file():
        words = ["java", "-cp", str(jar), "tlc2.TLC", "-deadlock", "-workers", "2", "-config", "Core.cfg", "Core.tla"]
        peer("TLC, 2 workers", Measured(0, 0), words, tlc_is_right)
    if shutil.which("rumur") and (folder / "core.m").is_file():
        options = ["--deadlock-detection", "off", "--symmetry-reduction", "off", "--threads", "2"]
        flags = ["-O3", "-march=native", "-mcx16", "core.c", "-o", "core_rumur", "-lpthread"]
        compilers = compiled(["rumur", *options, "core.m", "--output", "core.c"], ["cc", *flags])
        peer("Rumur, 2 threads", compilers, ["./core_rumur"], lambda text: f"{distinct} states" in text)
    if shutil.which("spin") and (folder / "core.pml").is_file():
        flags = ["-O3", "-DSAFETY", "-DNOREDUCE", "pan.c", "-o", "pan"]
        compilers = compiled(["spin", f"-DN={brokers}", "-a", "core.pml"], ["cc", *flags])
        peer("SPIN, 1 core", compilers, ["./pan", "-E", "-m1000000", "-w24"], lambda text: "errors: 0" in text)
    return found


def whole_commands(bench: Path, jar: Path | None, runs: int, tell: Callable[[str], None]) -> None:
    """A row for each size of core and each checker: processor seconds of whole commands, in turn."""
    tell("Core by brokers: processor seconds of whole commands, the least of the runs, in turn. With compilers: ours")
    tell("with an empty cache, beside the peer's translator and C compiler and its run. Times: the peer's by ours.\n")
    tell("| brokers | distinct | checker | s | times ours | with compilers s | times ours |")
    tell("|---|---|---|---|---|---|---|")
    for brokers, (distinct, _) in STATES.items():
        with tempfile.TemporaryDirectory() as name:
            others = peers(bench, jar, Path(name), brokers)
            took: dict[str, list[Measured]] = {}
            for _ in range(runs):
                for label, peer in others.items():
                    took.setdefault(label, []).append(peer.once())
                for cold in (False, True):
                    ours_once = in_turn([OWN], 1, cold, "check", "core", f"--set=brokers={brokers}")
                    took.setdefault(f"reassure {cold}", []).extend(ours_once)
        warm, cold_ = (min(m.cpu for m in took.pop(f"reassure {cold}")) for cold in (False, True))
        tell(f"| {brokers} | {distinct:,} | reassure | {warm:.3f} | 1 | {cold_:.3f} | 1 |")
        for label, measured in took.items():
            run_alone, compilers = min(m.cpu for m in measured), others[label].compilers.cpu
            whole = run_alone + compilers
            row = f"| {brokers} | {distinct:,} | {label} | {run_alone:.3f} | {run_alone / warm:.2f} |"
            tell(row + (f" {whole:.3f} | {whole / cold_:.2f} |" if compilers else " - | - |"))
    tell("")


def insert_rate() -> float:
    """Inserts a second of distinct and repeated states into a table of the size that core with 5 brokers needs."""
    rng = np.random.default_rng(1)
    distinct = np.unique(rng.integers(1, 1 << 40, CORE5[0] + 1000))[: CORE5[0]]
    # As many look-ups as the search makes, each distinct state first and then again.
    rows = np.concatenate([distinct, rng.choice(distinct, CORE5[1] - len(distinct))]).astype(np.int64)
    rng.shuffle(rows)
    best, insert = 0.0, native(insert_all)
    for _ in range(4):
        table = GrowingTable(1, memory_of_machine())
        table.grow(table.sizes.slots_for(len(distinct), table.slots))
        began = time.monotonic()
        fresh = insert(1, rows, len(rows), 1, table.array, table.slots, np.zeros(BATCH, np.int64))
        best = max(best, len(rows) / (time.monotonic() - began))
        assert fresh == len(distinct)
    return best


def main() -> None:
    """Prints four tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--jar", type=Path, help="tla2tools.jar")
    parser.add_argument("--bench", type=Path, default=Path(__file__).parents[3] / "shared" / "bench")
    parser.add_argument("--runs", type=int, default=3, help="turns; ours runs several times in each")
    parser.add_argument("--write", action="store_true", help="also write measured.md beside this file")
    parser.add_argument("--large", action="store_true", help="also core with 6 brokers (50.5 million states)")
    parser.add_argument(
        "--long-proofs", action="store_true", help="also kraft with 4 and 5 brokers, which takes minutes"
    )
    args = parser.parse_args()
    lines: list[str] = []

    def print(text: str) -> None:
        builtins.print(text, flush=True)
        lines.append(text)

    pairs = ["brokers=5"]
    for workers in (1, 2):
        _, stats = ours("core", pairs, workers)
        assert (stats.distinct, stats.generated) == CORE5
    with tempfile.TemporaryDirectory() as name:
        others = peers(args.bench, args.jar, Path(name), 5)
        times: dict[str, list[float]] = {"reassure, 1 thread": [], "reassure, 2 threads": []}
        for _ in range(args.runs):
            for workers in (1, 2):
                label = f"reassure, {workers} thread{'s' * (workers > 1)}"
                times[label] += [ours("core", pairs, workers)[0] for _ in range(OURS)]
            for label, cold in (("reassure, whole command", False), ("reassure, whole command, empty cache", True)):
                (measured,) = in_turn([OWN], 1, cold, "check", "core", "--set=brokers=5")
                times.setdefault(label, []).append(measured.wall)
            for label, peer in others.items():
                times.setdefault(label, []).append(peer.once().wall)
    two = statistics.median(times["reassure, 2 threads"])
    one = statistics.median(times["reassure, 1 thread"])
    print(
        "core, 5 brokers: 1,989,040 distinct, 13,687,571 generated (ours by threads: search alone; others: whole run)\n"
    )
    print(f"| {'checker':20} | median s | min s | ours with 2 threads is faster by | with 1 |")
    print("|---|---|---|---|---|")
    for label, seconds in times.items():
        m = statistics.median(seconds)
        print(f"| {label:20} | {m:.3f} | {min(seconds):.3f} | {m / two:.1f} | {m / one:.1f} |")
    print("")
    whole_commands(args.bench, args.jar, args.runs, print)
    rate = insert_rate()
    print(f"bare table, 1 thread: {rate / 1e6:.1f} M inserts/s; the search reaches {CORE5[1] / one / rate:.2f} of it")
    sizes = [
        ("core", ["brokers=4"]),
        ("core", ["brokers=5"]),
        ("kraft", []),
        ("kraft", ["disturbances=2"]),
        ("kraft", ["brokers=4"]),
        ("kraft_kafka", []),
        ("kraft_kafka", ["brokers=4"]),
    ]
    if args.large:
        sizes.append(("core", ["brokers=6"]))
    print(
        "\n| model | configuration | distinct | generated | bytes a state | s | M generated/s/thread | ns each | MiB |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for model, chosen in sizes:
        seconds, stats = min((ours(model, chosen, 1) for _ in range(2)), key=lambda found: found[0])
        each = seconds / stats.generated * 1e9
        print(
            f"| {model} | {' '.join(chosen)} | {stats.distinct:,} | {stats.generated:,} | {stats.bytes_per_state} | "
            f"{seconds:.2f} | {stats.generated / seconds / 1e6:.1f} | {each:.0f} | {stats.memory / 2**20:.0f} |"
        )
    print("")
    proofs.table(print, long=args.long_proofs)
    if args.write:
        head = "# Measured\n\nWritten by `python -m tests.benchmarks --write`; one machine, one hour.\n\n"
        (Path(__file__).parent / "measured.md").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
