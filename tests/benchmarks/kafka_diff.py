"""`python -m tests.benchmarks.kafka_diff`: whole comparisons of two Kafka releases, with their memory.

Each is a command from start to end, JVMs included; the releases are in the cache. Memory is that of the command and its
JVMs together (proportional set size), sampled five times a second. The numbers of states and steps are asserted; times
are not. One machine at one time: what else runs there lengthens the seconds, but hardly the processor seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RELEASES = ("4.3.0", "4.4.0")
"""Two builds without a difference, so that all is searched on both sides and all is compared."""
THREE_BROKERS = ("--brokers=3", "--unclean=off", "--configuration=fixed")
COMPARISONS: tuple[tuple[tuple[str, ...], float, int | None], ...] = (
    ((), 15.0, None),
    (THREE_BROKERS, 60.0, 54_792),
)
"""Options, the seconds that we want to stay below on two idle cores, and the states of both builds."""
HEAD = """# `kafka diff`, measured

Written by `python -m tests.benchmarks.kafka_diff --write`; one machine, one hour. Whole commands from start to end,
with their JVMs. Memory is that of the command and its JVMs together, at its highest. The load is the mean number of
processes that wanted one of the processors in the last 15 minutes: beyond their number, seconds do not compare.

"""


@dataclass(frozen=True)
class DiffCost:
    """What a comparison took: seconds, processor seconds of the command and its JVMs, bytes; its record."""

    seconds: float
    processor: float
    memory: int
    record: dict[str, object]


def measured(options: tuple[str, ...]) -> DiffCost:
    """Runs a comparison; `RuntimeError` if it gives neither "no difference" nor differences."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record.json"
        words = [sys.executable, "-m", "reassure", "kafka", "diff", *RELEASES, *options, "--quiet", f"--json={file}"]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        most = 0
        while process.poll() is None:
            most = max(most, _memory(process.pid))
            time.sleep(0.2)
        seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if process.returncode not in (0, 12, 13, 15):
            raise RuntimeError(f"{' '.join(words)}: exit code {process.returncode}")
        processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        return DiffCost(seconds, processor, most, json.loads(file.read_text(encoding="utf-8")))


def _memory(pid: int) -> int:
    """The proportional set size of a process and its children, in bytes; 0 of one that has ended."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        own = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0
    threads = list(Path("/proc").glob(f"{pid}/task/*")) if not children else []
    for thread in threads:
        with contextlib.suppress(OSError):  # it has ended
            children += (thread / "children").read_text().split()
    return (int(own[1]) << 10 if own is not None else 0) + sum(_memory(int(child)) for child in children)


def main() -> None:
    """Prints a row for each comparison."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.kafka_diff", description=__doc__)
    parser.add_argument("--write", action="store_true", help="also write kafka_diff.md beside this file")
    args = parser.parse_args()
    lines = [
        f"| `kafka diff {' '.join(RELEASES)}` | states | steps | s | wanted s | processor s | MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for options, wanted, states in COMPARISONS:
        cost = measured(options)
        diff = cost.record["diff"]
        assert isinstance(diff, dict) and states in (None, diff["states"]), diff
        row = f"| `{' '.join(options) or '2 brokers'}` | {diff['states']:,} | {diff['steps']:,} | {cost.seconds:.1f} |"
        lines.append(f"{row} {wanted:g} | {cost.processor:.1f} | {cost.memory >> 20:,} |")
    lines += ["", f"{os.cpu_count()} processors, load {os.getloadavg()[2]:.0f}."]
    print("\n".join(lines))
    if args.write:
        (HERE / "kafka_diff.md").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
