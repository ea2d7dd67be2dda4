"""`python -m tests.costs`: runs the tests, measures their costs, and writes `dear.txt`, which `./test.sh` leaves out.

With files or folders it runs these, and replaces their entries only. `--check` compares the costs of the last run of
all tests with the list; the exit code is 1 if tests that are missing from it cost a quarter of the ordinary ones.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from typing import TypedDict

from tests.helpers import tiers

ROOT = tiers.TESTS.parent
KEPT = ROOT / ".pytest_cache" / "v" / tiers.COSTS
SURELY = 4
"""A test that costs so many times the limit has to be on the list. Below, two runs may differ."""
STALE = 0.25
"""The list is stale if tests that are missing from it cost more than this part of the ordinary ones. Below, the run may
have been unlucky: the test that comes first pays for what is made once, and in each run another comes first."""
BARELY = 2 / 3
"""An entry stays while its test costs this part of the limit: the list changes when tests do, not with each run."""
HEAD = """\
# What ./test.sh leaves out, and ./test.sh --all runs: tests of more than {limit} processor seconds, and these seconds.
# `python -m tests.costs` writes it. A test without its parameters stands for all of them.
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.costs", description=__doc__)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders below tests/ (default: all)")
    parser.add_argument("--check", action="store_true", help="compare the last run of the whole suite with the list")
    parser.add_argument("--processes", type=int, default=2, help="that run the tests (default: 2)")
    args = parser.parse_args(arguments)
    if args.check:
        return check()
    measured = measure(args.paths, args.processes)
    before = tiers.dear_tests()
    after = updated(before, tiers.costs_of(measured))
    write(after)
    print(summary(tiers.costs_of(measured), after))
    return 0


def measure(paths: Iterable[str], processes: int) -> dict[str, tiers.Cost]:
    """Runs tests; what each of them reports of its cost."""
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", str(processes), *paths], cwd=ROOT, check=False)
    return last_run()["costs"]


class LastRun(TypedDict):
    """named: whether only tests that the user named ran. costs: what each test reported."""

    named: bool
    costs: dict[str, tiers.Cost]


def last_run() -> LastRun:
    """The last run of tests."""
    kept: LastRun = json.loads(KEPT.read_text(encoding="utf-8"))
    return kept


def updated(before: dict[str, float], costs: dict[str, float]) -> dict[str, float]:
    """The list after these costs were measured: entries of files that were not run stay."""
    files = {_file(test) for test in costs}
    after = {entry: seconds for entry, seconds in before.items() if _file(f"tests/{entry}") not in files}
    for function, cases in _functions(costs).items():
        dear = {
            test: seconds
            for test, seconds in cases.items()
            if seconds > tiers.LIMIT * (BARELY if tiers.is_listed(test, before) else 1)
        }
        if len(dear) == len(cases):
            dear = {function: sum(cases.values())}
        for test, seconds in dear.items():
            entry = tiers.short(test)
            old = before.get(entry, 0)
            after[entry] = old if seconds / 1.5 < old < seconds * 1.5 else round(seconds, 1)
    return dict(sorted(after.items()))


def write(entries: dict[str, float]) -> None:
    rows = "".join(f"{seconds:6.1f}  {entry}\n" for entry, seconds in entries.items())
    tiers.DEAR.write_text(HEAD.format(limit=tiers.LIMIT) + rows, encoding="utf-8")


def summary(costs: dict[str, float], entries: dict[str, float]) -> str:
    """How many tests of those that were measured are in each tier, and what they cost."""
    dear = [seconds for test, seconds in costs.items() if tiers.is_listed(test, entries)]
    rest = len(costs) - len(dear)
    return (
        f"{len(costs)} tests, {sum(costs.values()):.0f} processor seconds: "
        f"{len(dear)} dear ones {sum(dear):.0f} s, {rest} others {sum(costs.values()) - sum(dear):.0f} s"
    )


def check() -> int:
    """Compares the last run of the whole suite with the list."""
    run, entries = last_run(), tiers.dear_tests()
    if run["named"]:
        print("the last run was not of the whole suite: ./test.sh --all", file=sys.stderr)
        return 2
    costs = tiers.costs_of(run["costs"])
    suspects = missing(costs, entries)
    if not suspects:
        return 0
    for test in suspects:
        print(f"{tiers.short(test)}: {costs[test]:.1f} processor seconds, and not in tests/dear.txt")
    part = sum(costs[test] for test in suspects) / sum(
        seconds for test, seconds in costs.items() if not tiers.is_listed(test, entries)
    )
    print(f"{part:.0%} of what the ordinary tests cost; more than {STALE:.0%} fails")
    print(f"python -m tests.costs {' '.join(sorted({_file(test) for test in suspects}))}")
    return 1 if part > STALE else 0


def missing(costs: dict[str, float], entries: dict[str, float]) -> list[str]:
    """The tests that are surely dear on this machine, and not on the list."""
    limit = tiers.LIMIT * SURELY * speed(costs, entries)
    return [test for test, seconds in costs.items() if seconds > limit and not tiers.is_listed(test, entries)]


def speed(costs: dict[str, float], entries: dict[str, float]) -> float:
    """How many times longer this machine takes than the list says; 1 if it takes less."""
    here: dict[str, float] = defaultdict(float)
    for test, seconds in costs.items():
        name = tiers.short(test)
        here[name if name in entries else name.partition("[")[0]] += seconds
    both = here.keys() & entries.keys()
    return max(1.0, sum(here[name] for name in both) / max(0.1, sum(entries[name] for name in both)))


def _functions(costs: dict[str, float]) -> dict[str, dict[str, float]]:
    """The tests of each function, one for each of its parameters."""
    several: dict[str, dict[str, float]] = defaultdict(dict)
    for test, seconds in costs.items():
        several[test.partition("[")[0]][test] = seconds
    return several


def _file(test: str) -> str:
    return test.partition("::")[0]


if __name__ == "__main__":
    sys.exit(main())
