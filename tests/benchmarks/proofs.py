"""`python -m tests.benchmarks.proofs`: proofs for one configuration and for any number, beside those of another commit.

Whole commands, with kernels that are compiled; processor seconds as well, which other programs on the machine change
little. `--before DIR` is a checkout of the other commit in which `./run.sh --help` has made an environment; both run in
turn. No time is asserted.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from reassure.spec.semantics.trace import JsonObject
from tests.benchmarks.commands import OWN, Checkout, checkout
from tests.benchmarks.whole_runs import Measured

MEASURED = Path(__file__).parent / "measured.md"
HEADING = "## Proofs\n"
FIXED = ["--set=unclean=off", "--set=release=fixed"]
PROOFS = [
    ("core", ["--set=brokers=3"]),
    ("core", ["--set=brokers=5"]),
    ("core", ["--set=brokers=8"]),
    ("core", ["--set=brokers=12"]),
    ("kraft", ["--set=unclean=off"]),
    ("core", ["--any-number"]),
    ("two_phase_commit", ["--any-number"]),
    ("kraft", ["--any-number", "--set=unclean=off"]),
    ("kraft_kafka", ["--any-number", *FIXED, "--property=nothing_lost_by_a_c*"]),
]
"""Models with the options of `prove`."""
LONG = [("kraft", ["--set=unclean=off", "--set=brokers=4"]), ("kraft", ["--set=unclean=off", "--set=brokers=5"])]
ENDS = (0, 5, 12)
"""Exit codes of a proof that has ended: some properties may be open, or violated."""


def table(tell: Callable[[str], None], before: Checkout | None = None, long: bool = False) -> None:
    """A row for each proof, once, of each commit. long: also those that take minutes."""
    tell(HEADING)
    tell("Seconds of whole commands, from start to end, and processor seconds of all threads, once.\n")
    more = " before: lemmas | before: processor s | times |" if before is not None else ""
    tell(f"| `prove` | proved | lemmas | s | processor s |{more}")
    tell("|---|---|---|---|---|" + "---|---|---|" * (before is not None))
    for model, options in [*PROOFS, *(LONG if long else [])]:
        record, took = proof(OWN, model, options)
        line = f"| `{' '.join([model, *options])}` | {_proved(record)} | {len(record.get('lemmas', ()))} | "
        line += f"{took.wall:.1f} | {took.cpu:.1f} |"
        if before is not None:
            record, earlier = proof(before, model, options)
            lemmas, times = len(record.get("lemmas", ())), earlier.cpu / took.cpu
            line += f" {lemmas} | {earlier.cpu:.1f} | {times:.1f} |"
        tell(line)


def proof(side: Checkout, model: str, options: list[str]) -> tuple[JsonObject, Measured]:
    """The record of a proof, and what it took; the kernel is compiled before."""
    pairs = [option for option in options if option.startswith("--set")]
    with tempfile.TemporaryDirectory() as folder:
        cache, path = Path(folder) / "cache", Path(folder) / "record.json"
        side.run(cache, "prove", model, *pairs, "--method=bmc", "--depth=1", "--quiet", codes=ENDS)
        took = side.run(cache, "prove", model, *options, "--quiet", f"--json={path}", codes=ENDS)
        record: JsonObject = json.loads(path.read_text(encoding="utf-8"))
    return record, took


def _proved(record: JsonObject) -> str:
    """How many of the properties of states and steps that were asked for are proved."""
    asked = [p["status"] for p in record["properties"] if p["status"] not in ("not_checked", "not_applicable")]
    return f"{sum(status in ('proved', 'holds_within_bounds') for status in asked)} of {len(asked)}"


def main() -> None:
    """Prints the table; writes it in the place of the one in measured.md."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.proofs", description=__doc__)
    parser.add_argument("--before", type=Path, metavar="DIR", help="a checkout of another commit, with its .venv")
    parser.add_argument("--long", action="store_true", help="also kraft with 4 and 5 brokers")
    parser.add_argument("--write", action="store_true", help="also write it into measured.md, in place of the last one")
    args = parser.parse_args()
    lines: list[str] = []

    def tell(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    table(tell, checkout(args.before) if args.before else None, args.long)
    if args.write:
        others = MEASURED.read_text(encoding="utf-8").partition(HEADING)[0]
        MEASURED.write_text(others + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
