"""`python -m tests.benchmarks.spark`: the distributed engine beside the native one, whole commands, session included.

Counts are compared first. Then what each level sent through the shuffle, by Spark's own count. No time is asserted.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from reassure.checkers.request.run_identity import RunRecord
from tests.helpers.command import executing


def resident(status: str) -> float:
    """MiB of a process by its `/proc` status, without memory that it shares: the tables are the workers'."""
    kib = {
        line.split(":")[0]: int(line.split()[1]) for line in status.splitlines() if line.startswith(("VmRSS", "RssSh"))
    }
    return (kib["VmRSS"] - kib["RssShmem"]) / 1024


def timed(words: list[str], cache: Path | None = None) -> tuple[float, float, RunRecord]:
    """Seconds of a whole command, the driver's own memory at most (MiB), and its record."""
    with tempfile.NamedTemporaryFile(suffix=".json") as record:
        command = [sys.executable, "-m", "reassure", "check", *words, f"--json={record.name}", "--quiet"]
        environment = {**os.environ, **({"REASSURE_CACHE": str(cache)} if cache else {})}
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
        peak = 0.0
        while process.poll() is None:
            with contextlib.suppress(OSError, KeyError):  # it has just ended
                peak = max(peak, resident(Path(f"/proc/{executing(process.pid)}/status").read_text()))
            time.sleep(0.02)
        return time.monotonic() - began, peak, json.loads(Path(record.name).read_text())


def main() -> None:
    """Prints two tables for each size."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.spark", description=__doc__)
    parser.add_argument("--large", action="store_true", help="also core with 6 brokers (50.5 million states)")
    parser.add_argument("--write", action="store_true", help="also write spark.md beside this file")
    args = parser.parse_args()
    lines: list[str] = []

    def print(text: str) -> None:
        builtins.print(text, flush=True)
        lines.append(text)

    levels: list[str] = []
    print("Whole commands, `local[2]` and 2 threads: imports, compiling or loading the kernel, session, search.\n")
    print("| core with | engine | kernel | s | times native | driver MiB | distinct |")
    print("|---|---|---|---|---|---|---|")
    for brokers in (5, 6) if args.large else (5,):
        model = ["core", f"--set=brokers={brokers}"]
        with tempfile.TemporaryDirectory() as cache:
            runs = [("spark", "cold"), ("spark", "warm"), ("native", "warm")]
            found = [(e, k, *timed([*model, f"--engine={e}"], Path(cache))) for e, k in runs]
        counts = {(r["stats"]["distinct"], r["stats"]["generated"]) for *_, r in found}
        assert len(counts) == 1, counts
        native = found[-1][2]
        for engine, kernel, seconds, peak, record in found:
            print(
                f"| {brokers} brokers | {engine} | {kernel} | {seconds:.1f} | {seconds / native:.1f} | {peak:.0f} | "
                f"{record['stats']['distinct']:,} |"
            )
        smaller = "smaller ones before and after were searched in the driver"
        levels.append(f"\ncore with {brokers} brokers, level by level ({smaller})\n")
        levels.append("| level | frontier | visited before | generated | MiB shuffled | bytes for each step | s |")
        levels.append("|---|---|---|---|---|---|---|")
        made = found[1][4]["spark"]["levels"]
        for before, level in itertools.pairwise(made):
            if level["shuffled_bytes"]:
                levels.append(
                    f"| {level['level']} | {before['states']:,} | {before['visited']:,} | {level['generated']:,} | "
                    f"{level['shuffled_bytes'] / 2**20:.1f} | {level['shuffled_bytes'] / level['generated']:.1f} | "
                    f"{level['seconds']:.2f} |"
                )
    for line in levels:
        print(line)
    if args.write:
        head = "# Spark, measured\n\nWritten by `python -m tests.benchmarks.spark --write`; one machine, one hour.\n\n"
        (Path(__file__).parent / "spark.md").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
