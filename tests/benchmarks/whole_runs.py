"""`python -m tests.benchmarks.whole_runs`: properties about whole runs, beside TLC and beside the search for states.

First whole commands, from start to end, on `models/examples/core_liveness.py` and `CoreLiveness.tla` (which extends
`Core.tla` of `--bench DIR`): that a leader comes back if unfencing is weakly fair for each broker. Counts are compared.
Then all such properties of our models, beside the search for what is violated in states and steps. Processor seconds
as well, since another program on the machine does not change them; no time is asserted.
"""

from __future__ import annotations

import argparse
import builtins
import json
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reassure.checkers.engines.native.engine import check
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare

HERE = Path(__file__).parent
PAGE = HERE / "whole_runs.md"
HEADING = "Processor seconds"
"""The first words of the second table's text."""
STATES = {3: (1_668, 7_699), 4: (68_064, 393_953), 5: (1_989_040, 13_687_571)}
"""Of core, by brokers: distinct and generated."""
SIZES = [
    ("core_liveness", ["brokers=5"]),
    ("kraft", []),
    ("kraft", ["disturbances=2"]),
    ("kraft", ["brokers=5"]),
    ("kraft_kafka", []),
    ("batching", []),
]


@dataclass(frozen=True)
class Measured:
    """What a command took. cpu: processor seconds of all its threads."""

    wall: float
    cpu: float


def timed(
    words: list[str], folder: Path, environment: dict[str, str] | None = None, codes: tuple[int, ...] = ()
) -> tuple[Measured, str]:
    """A whole command, and what it printed. environment: in place of this process's.

    Raises `RuntimeError` if `codes` are given and the command ends with another exit code.
    """
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    if codes and done.returncode not in codes:
        raise RuntimeError(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return Measured(wall, cpu), done.stdout + done.stderr


def ours(brokers: int, folder: Path) -> Measured:
    """`reassure check`, its kernel on disk."""
    record = folder / "record.json"
    words = [sys.executable, "-m", "reassure", "check", "core_liveness", f"--set=brokers={brokers}", "--quiet"]
    words += ["--property=a_leader_comes_back", "--workers=2", f"--json={record}"]
    found, said = timed(words, Path.cwd())
    data = json.loads(record.read_text())
    assert [p["status"] for p in data["properties"]] == ["holds"], said
    assert (data["stats"]["distinct"], data["stats"]["generated"]) == STATES[brokers]
    return found


def tlc(brokers: int, jar: Path, folder: Path) -> Measured:
    """TLC with two workers."""
    config = (HERE / "CoreLiveness.cfg").read_text().replace("N = 5", f"N = {brokers}")
    (folder / "CoreLiveness.cfg").write_text(config)
    words = ["java", "-XX:+UseParallelGC", "-cp", str(jar), "tlc2.TLC", "-deadlock", "-workers", "2"]
    found, said = timed([*words, "-config", "CoreLiveness.cfg", "CoreLiveness.tla"], folder)
    counts = re.findall(r"(\d+) states generated, (\d+) distinct states found, 0 states left", said)
    assert [(int(d), int(g)) for g, d in counts[-1:]] == [STATES[brokers]], said[-500:]
    assert "No error has been found" in said, said[-500:]
    return found


def processor_seconds(model: str, pairs: list[str], whole_runs: bool) -> tuple[float, int]:
    """Of a search with one thread, kernels compiled; its states."""
    prepared = prepare(model, pairs)
    claims = [*prepared.bound.properties, *prepared.bound.covers]
    options = SearchOptions(workers=1, properties=[p.name for p in claims if whole_runs or not p.temporal])
    only = prepared.only(options.wants)
    took = []
    for _ in range(4):
        began = time.process_time()
        result = check(only, options, Progress(quiet=True))
        took.append(time.process_time() - began)
    return min(took), result.stats.distinct


def _beside_tlc(tell: Callable[[str], None], jar: Path | None, bench: Path, runs: int) -> None:
    """The first table."""
    tell(
        "Core, a leader comes back, weak fairness for each broker: whole commands, two threads each. On a machine that"
    )
    tell("does other work as well, only processor seconds compare.\n")
    tell("| brokers | checker | s | processor s | times the processor seconds of reassure |")
    tell("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for brokers in (4, 5):
            ours(brokers, folder)  # its kernel is on disk from now on
            times = {"reassure": [ours(brokers, folder) for _ in range(3 * runs)]}
            if jar is not None and shutil.which("java") and (bench / "Core.tla").is_file():
                for path in (bench / "Core.tla", HERE / "CoreLiveness.tla"):
                    shutil.copy(path, folder)
                times["TLC"] = [tlc(brokers, jar.resolve(), folder) for _ in range(runs)]
            middle = {
                label: Measured(statistics.median(m.wall for m in some), statistics.median(m.cpu for m in some))
                for label, some in times.items()
            }
            for label, m in middle.items():
                times_ours = m.cpu / middle["reassure"].cpu
                tell(f"| {brokers} | {label} | {m.wall:.2f} | {m.cpu:.2f} | {times_ours:.0f} |")


def main() -> None:
    """Prints two tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.whole_runs", description=__doc__)
    parser.add_argument("--jar", type=Path, help="tla2tools.jar; without it, --write keeps the table beside TLC")
    parser.add_argument("--bench", type=Path, default=Path(__file__).parents[3] / "shared" / "bench")
    parser.add_argument("--runs", type=int, default=1, help="of TLC; ours runs three times as often")
    parser.add_argument("--write", action="store_true", help="also write whole_runs.md beside this file")
    args = parser.parse_args()
    lines: list[str] = []

    def print(text: str) -> None:
        builtins.print(text, flush=True)
        lines.append(text)

    if args.jar is None and args.write:
        lines += [PAGE.read_text(encoding="utf-8").partition("\n\n")[2].partition("\n\n")[2].partition(HEADING)[0][:-2]]
    else:
        _beside_tlc(print, args.jar, args.bench, args.runs)
    print(f"\n{HEADING} of one thread, kernels compiled: the search for what is violated in states and steps,")
    print("and the same with all properties about whole runs.\n")
    print("| model | configuration | distinct | states and steps | with whole runs | times |")
    print("|---|---|---|---|---|---|")
    for model, pairs in SIZES:
        plain, distinct = processor_seconds(model, pairs, whole_runs=False)
        whole, _ = processor_seconds(model, pairs, whole_runs=True)
        print(f"| {model} | {' '.join(pairs)} | {distinct:,} | {plain:.2f} | {whole:.2f} | {whole / plain:.1f} |")
    if args.write:
        head = "# Properties about whole runs, measured\n\n"
        head += "Written by `python -m tests.benchmarks.whole_runs --write`; each table in one run.\n\n"
        PAGE.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
