"""Models drawn at random, searched by plain Python and by TLC: `python -m tests.fuzz.second_opinion --jar FILE`.

A difference is printed with its seed, and the exit code is 1. One process runs TLC for many models (`TlcServer.java`),
since Java's start takes longer than most of the searches. It needs a JDK.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.tla import second_opinion
from reassure.checkers.tla.kinds import Untranslatable
from reassure.checkers.tla.second_opinion import Opinion, ask_tlc, opinion_lines
from reassure.checkers.tla.tlc import TlcInstallation, TlcRun, read_run
from tests.fuzz.generate import Source, generate
from tests.fuzz.subject import Refused, loaded
from tests.fuzz.worker import placed
from tests.helpers.runs import plain_result

LANGUAGE = "reassure"
SECONDS = 60
STATES = 10_000
RUNS = 100
"""Runs of one process: TLC leaves threads and memory behind."""


class TlcServer:
    """A process that runs TLC again and again."""

    def __init__(self, tlc: TlcInstallation) -> None:
        self.folder = tempfile.TemporaryDirectory()  # TLC writes its standard modules there
        flags = ["-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Djava.io.tmpdir={self.folder.name}"]
        self.java = [tlc.java, *flags, str(Path(__file__).with_name("TlcServer.java")), str(tlc.jar)]
        self.runs = 0
        self.process: subprocess.Popen[str] | None = None

    def run(
        self, tlc: TlcInstallation, folder: Path, module: str, budget: float | None, memory: int | None, *options: str
    ) -> TlcRun:
        """In place of `run_tlc`."""
        if self.runs >= RUNS:
            self.stop()
        if self.process is None:
            self.process = subprocess.Popen(self.java, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.runs += 1
        assert self.process.stdin
        assert self.process.stdout
        words = ["-tool", "-nowarning", *options, "-workers", "1", "-metadir", str(folder / "work")]
        words += ["-config", f"{module}.cfg", str(folder / f"{module}.tla")]
        began, lines, line = time.monotonic(), [], "BEGIN"
        clock = threading.Timer(budget or SECONDS, self.process.kill)
        clock.start()
        self.process.stdin.write("\t".join(words) + "\n")
        self.process.stdin.flush()
        while line not in ("", "END\n"):
            lines.append(line := self.process.stdout.readline())
        clock.cancel()
        if not line:
            self.stop()
        return replace(read_run("".join(lines[:-1]), time.monotonic() - began), finished=bool(line))

    def stop(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.process, self.runs = None, 0


def opinion_of(source: Source, seed: int, folder: Path, tlc: TlcInstallation) -> Opinion | str:
    """TLC's opinion of a model, or why there is none."""
    try:
        subject = loaded(placed(source, folder, seed), seed)
    except Refused:
        return "outside the language"
    if subject.error is not None:
        return "raises"
    options = SearchOptions(budget=SECONDS)
    result = plain_result(subject.bound, options)
    if not result.complete or result.stats.distinct > STATES:
        return "too large, or raises"
    try:
        return ask_tlc(result, subject.bound, options, tlc, Progress(quiet=True))
    except Untranslatable as refusal:
        return f"refused: {refusal.message.partition(': ')[2] or refusal.message}"


def outcomes(seeds: range, tlc: TlcInstallation, seconds: float, wanted: int) -> Iterator[tuple[int, str]]:
    """The outcome of each seed, until so many models have been compared or the time is over."""
    ends, compared = time.monotonic() + seconds, 0
    for seed in seeds:
        if time.monotonic() > ends or compared >= wanted:
            return
        with tempfile.TemporaryDirectory() as folder:
            try:
                opinion = opinion_of(generate(seed, LANGUAGE, tables=seed % 4 == 0), seed, Path(folder), tlc)
            except Failure as failure:
                opinion = f"refused: {failure}"
        if isinstance(opinion, str):
            yield seed, opinion
            continue
        compared += 1
        if opinion.differences:
            yield seed, "\n".join(["different", *opinion_lines(opinion)])
        else:
            yield seed, opinion.reason or ("undecided" if opinion.undecided else "same")


def main() -> int:
    """Draws models and prints the differences and how many models had each outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jar", type=Path, help="tla2tools.jar (default: the variable TLA2TOOLS)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default: 1)")
    parser.add_argument("--count", type=int, default=500, help="models to compare (default: 500)")
    parser.add_argument("--minutes", type=float, default=60, help="begin no model after this time (default: 60)")
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    tlc = TlcInstallation.find(args.jar)
    server = TlcServer(tlc)
    second_opinion.run_tlc = server.run
    seed, found = args.seed, outcomes(range(args.seed, args.seed + 1_000_000), tlc, 60 * args.minutes, args.count)
    for seed, outcome in found:
        counts[outcome.splitlines()[0]] += 1
        if outcome not in ("same", "outside the language", "raises", "too large, or raises"):
            print(f"seed {seed}: {outcome}", flush=True)
    server.stop()
    print(f"seeds {args.seed} to {seed}")
    for outcome, count in counts.most_common():
        print(f"{count:5} {outcome}")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
