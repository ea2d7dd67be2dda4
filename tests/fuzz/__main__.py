"""`python -m tests.fuzz --minutes 60 --seed 1`: random models until the time is over; exit code 1 if engines differ.
`--census 300` draws 300 models and prints how many of them have each feature.

The seeds are counted up from the first; Ctrl-C or SIGTERM ends the run with its summary. Each kind of
difference is judged again, shrunk once, and written to the folder of --out. One that a second run does not show
(it needs a full machine, a signal, a race) has a kind of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.census import counted
from tests.fuzz.compare_commands import COMMANDS
from tests.fuzz.generate import Source, generate
from tests.fuzz.shrink import shrunk
from tests.fuzz.tastes import tastes
from tests.fuzz.worker import Worker

EVERY = {
    "terms": 1,
    "watching": 1,
    "replay": 1,
    "native": 1,
    "wide": 4,
    "asked": 4,
    "prove": 12,
    "bounded": 5,
    "guards": 4,
    "mutants": 4,
    "symmetry": 1,
    "any-number": 6,
    "lint": 1,  # it imports the file anew: what has the classes of before comes first
    **dict.fromkeys(COMMANDS, 1),
    "raises": 1,
    "spark": 40,
    "query": 40,
    "spark-symmetry": 40,
}
"""One of how many models each check is made on, as fast as it is."""
OF_SPARK = ("spark", "query", "spark-symmetry")
"""Asked for by name: they need Java."""
CHECKS = tuple(EVERY)
LANGUAGE = "reassure"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument(
        "--seed", type=int, default=1, help="the first of the run; runs of different seeds share no model"
    )
    parser.add_argument(
        "--only",
        default=",".join(c for c in CHECKS if c not in OF_SPARK),
        help=f"of {', '.join(CHECKS)}, or all",
    )
    parser.add_argument("--model", type=int, help="one model by its number, and nothing else")
    parser.add_argument("--shrink", type=float, default=60, help="seconds to shrink a difference")
    parser.add_argument("--each", type=int, default=1, help="how many models of each kind of difference are shrunk")
    parser.add_argument("--every", help="as native=1,prove=4: one of how many models a check is made on")
    parser.add_argument("--out", type=Path, help="folder for the models that differ")
    parser.add_argument("--census", type=int, metavar="N", help="print how many of N models have each feature, and end")
    given = parser.parse_args()
    if given.census:
        return _census(given.seed * 1_000_000, given.census)
    every = EVERY | {k: int(n) for k, _, n in (pair.partition("=") for pair in (given.every or "").split(",") if pair)}
    only = [c for c in CHECKS if given.only == "all" or c in given.only.split(",")]
    end = time.monotonic() + 60 * given.minutes
    worker = Worker(seconds=400)
    seen: Counter[tuple[str, str]] = Counter()
    took: Counter[str] = Counter()
    made: Counter[str] = Counter()
    models = refused = 0
    number = given.model if given.model is not None else given.seed * 1_000_000
    for number_of_signal in (signal.SIGINT, signal.SIGTERM):  # a shell has its background ignore the first
        signal.signal(number_of_signal, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        while time.monotonic() < end:
            checks = [c for c in only if given.model is not None or number % every[c] == 0]
            source = generate(number, LANGUAGE, **tastes(number))
            answer = worker.judge(source, number, checks)
            models += 1
            refused += bool(answer.refused)
            took.update(dict(answer.took))
            made.update(c for c, _ in answer.took)
            for check, kind, detail in answer.differences:
                shows = _shows(worker, number, check, kind)
                known = seen[check, kind] >= given.each
                kind = kind if known or shows(source) else f"{kind}, in one run of two"
                seen[check, kind] += 1
                if not known:
                    print(f"== {check}: {kind} (model {number})\n{detail[:300]}", flush=True)
                    small = shrunk(source, shows, given.shrink)
                    _tell(number, check, kind, detail, small, given.out, sum(seen.values()))
            if given.model is not None:
                print(source, answer, sep="\n")
                break
            number += 1
    worker.stop()
    print(f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime / 3600:.2f} hours of processor")
    print(f"{models} models, {refused} refused; " + ", ".join(f"{c}: {made[c]} in {took[c]:.0f} s" for c in made))
    for (check, kind), count in seen.most_common():
        print(f"{count:6} {check}: {kind}")
    return 1 if seen else 0


def _census(first: int, count: int) -> int:
    """Prints the share of models with each feature."""
    sources = (generate(number, LANGUAGE, **tastes(number)) for number in range(first, first + count))
    found = counted(sources, first)
    for feature, number in sorted(found.items()):
        print(f"{number:6} {number / found['models']:7.1%} {feature}")
    return 0


def _shows(worker: Worker, seed: int, check: str, kind: str) -> Callable[[Source], bool]:
    """Whether a model shows a difference."""
    checks = [check] if check in CHECKS else list(CHECKS) if check == "process" else []

    def judge(candidate: Source) -> bool:
        answer = worker.judge(candidate, seed, checks)
        return any((c, k) == (check, kind) for c, k, _ in answer.differences)

    return judge


def _tell(number: int, check: str, kind: str, detail: str, small: Source, out: Path | None, index: int) -> None:
    text = f"# {check}: {kind}\n# model {number}\n# {detail[:300]!r}\n\n{small}"
    print(small, flush=True)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{index:03}_{check}_{number}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
