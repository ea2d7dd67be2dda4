"""Models drawn at random, searched by plain Python and by TLC: `python -m tests.fuzz.second_opinion --jar FILE`.

A difference is printed with its seed, and the exit code is 1. TLC takes a second or more for each model.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from reassure.checkers.base.exit_codes import Failure
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.tla.kinds import Untranslatable
from reassure.checkers.tla.second_opinion import Opinion, ask_tlc, lines_of
from reassure.checkers.tla.tlc import TlcInstallation
from tests.fuzz.generate import Source, generate
from tests.fuzz.subject import Refused, loaded
from tests.fuzz.worker import placed
from tests.helpers.runs import plain_result

LANGUAGE = "reassure"
SECONDS = 60


def opinion_of(source: Source, seed: int, folder: Path, tlc: TlcInstallation) -> Opinion | str:
    """TLC's opinion of a model, or why there is none."""
    try:
        subject = loaded(placed(source, folder, seed), seed)
    except Refused:
        return "outside the language"
    if subject.error is not None or not subject.complete:
        return "raises" if subject.error is not None else "too large"
    options = SearchOptions(budget=SECONDS)
    try:
        return ask_tlc(plain_result(subject.bound, options), subject.bound, options, tlc, Progress(quiet=True))
    except Untranslatable as refusal:
        return f"refused: {refusal.message.partition(': ')[2] or refusal.message}"


def outcomes(seeds: range, tlc: TlcInstallation, seconds: float) -> Iterator[tuple[int, str]]:
    """The outcome of each seed, until the time is over."""
    ends = time.monotonic() + seconds
    for seed in seeds:
        if time.monotonic() > ends:
            return
        with tempfile.TemporaryDirectory() as folder:
            try:
                opinion = opinion_of(generate(seed, LANGUAGE), seed, Path(folder), tlc)
            except Failure as failure:
                opinion = f"refused: {failure}"
        if isinstance(opinion, str):
            yield seed, opinion
        elif opinion.differences:
            yield seed, "\n".join(["different", *lines_of(opinion)])
        else:
            yield seed, opinion.reason or ("undecided" if opinion.undecided else "same")


def main() -> int:
    """Draws models and prints the differences and how many models had each outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jar", type=Path, help="tla2tools.jar (default: the variable TLA2TOOLS)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default: 1)")
    parser.add_argument("--count", type=int, default=500, help="models to draw (default: 500)")
    parser.add_argument("--minutes", type=float, default=60, help="begin no model after this time (default: 60)")
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    found = outcomes(range(args.seed, args.seed + args.count), TlcInstallation.find(args.jar), 60 * args.minutes)
    for seed, outcome in found:
        counts[outcome.splitlines()[0]] += 1
        if outcome not in ("same", "outside the language", "raises", "too large"):
            print(f"seed {seed}: {outcome}", flush=True)
    for outcome, count in counts.most_common():
        print(f"{count:5} {outcome}")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
