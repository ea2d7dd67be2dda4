"""`python -m tests.power --faults 24 --seed 1`: how many of the faults that all tests notice the ordinary tests notice.

Puts faults at random into the rooms of `checkers/` and `spec/`, in a copy of the project, and runs the tests against
each. First all tests run once, with a call before each expression that will be wrong: it tells which tests come there,
and a test that fails of any edit does not count. Then, for each fault, the files of these tests run until one fails:
ordinary tests first, and of these the room's own. The table goes to `tests/README.md`. After --minutes no further fault
is tried, and the table has those that are decided.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path

from tests.helpers import tiers
from tests.helpers.dear_last import ORDER, Order
from tests.helpers.source_faults import SourceFault, source_faults

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "tests" / "README.md"
BEGIN, END = "<!-- faults: python -m tests.power -->\n", "<!-- end of faults -->\n"
NOT_COPIED = (".git", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", "out", "build", "dist")
SHARED = ("checkers/engines", "checkers/analyses", "checkers/kafka")
"""Folders whose folders are rooms."""
HANGS = 300
"""Seconds after which a test that has not ended has noticed the fault."""
NOT_RUN = "{} tests did not run, so that it is not known which faults they come to; the last that began is {}"
REACHED = '''"""Written by tests/power.py: which test comes to an expression."""
import os

seen = set()


def at(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").encode()
    if (number, test) not in seen:
        seen.add((number, test))
        file = os.open(os.path.join({folder!r}, str(number)), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.write(file, test + b"\\n")
        os.close(file)
'''


@dataclass
class Attempt:
    """A fault, and the first test that fails of it, an ordinary one if there is one; "" if none does."""

    fault: SourceFault
    room: str
    files: list[str] | None = None
    """Of the tests that come there; None if that may be any."""
    noticed_by: str = ""
    ordinary: bool = False
    seconds: float = 0.0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.power", description=__doc__)
    parser.add_argument("--faults", type=int, default=24, help="how many (default: 24)")
    parser.add_argument("--seed", type=int, default=1, help="of the choice (default: 1)")
    parser.add_argument("--minutes", type=float, default=120, help="no fault is begun after (default: 120)")
    parser.add_argument("--processes", type=int, default=2, help="that run the tests (default: 2)")
    parser.add_argument("--rooms", action="store_true", help="each fault against the tests of its own room only")
    parser.add_argument("--list", action="store_true", help="print the faults, and run nothing")
    args = parser.parse_args(arguments)
    attempts = chosen(args.faults, args.seed)
    if args.list:
        for attempt in attempts:
            print(f"{place(attempt)}: {attempt.fault.before} -> {attempt.fault.after}")
        return 0
    end = time.monotonic() + args.minutes * 60
    with tempfile.TemporaryDirectory() as folder:
        copies = queue.SimpleQueue[Path]()
        for number in range(args.processes):
            copies.put(copied := Path(folder) / str(number) / "copy")
            shutil.copytree(ROOT, copied, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
        others = set() if args.rooms else find_reaching(attempts, copied, args.processes)
        if args.rooms:
            for attempt in attempts:
                attempt.files = tests_of_room(attempt.room)

        def decide(attempt: Attempt) -> list[Attempt]:
            if time.monotonic() > end:
                return []
            copied = copies.get()
            attempt_fault(attempt, copied, others)
            copies.put(copied)
            print(f"{attempt.seconds:5.0f} s {row(attempt)}", end="", flush=True)
            return [attempt]

        with ThreadPoolExecutor(args.processes) as pool:
            decided = [attempt for several in pool.map(decide, attempts) for attempt in several]
    write(table(decided, f"--seed {args.seed}{' --rooms' * args.rooms}"))
    noticed = [attempt for attempt in decided if attempt.noticed_by]
    return 0 if sum(attempt.ordinary for attempt in noticed) * 10 >= len(noticed) * 9 else 1


def chosen(count: int, seed: int) -> list[Attempt]:
    """So many faults, each in another room while there are rooms, and in another module."""
    drawn = random.Random(seed)
    rooms = rooms_of_the_product()
    attempts: list[Attempt] = []
    used: set[Path] = set()
    names: list[str] = []
    while len(attempts) < count:
        names = names or drawn.sample(sorted(rooms), len(rooms))
        name = names.pop()
        faults = [fault for path in rooms[name] if path not in used for fault in faults_of(path)]
        if faults:
            attempts.append(Attempt(drawn.choice(faults), name))
            used.add(attempts[-1].fault.path)
    return attempts


@functools.cache
def faults_of(path: Path) -> list[SourceFault]:
    """The faults that a module of the product can have: a room that comes again is not read again."""
    return source_faults(path)


def rooms_of_the_product() -> dict[str, list[Path]]:
    """The modules of each room."""
    rooms: dict[str, list[Path]] = {}
    for path in sorted([*(ROOT / "spec").rglob("*.py"), *(ROOT / "checkers").rglob("*.py")]):
        parts = path.relative_to(ROOT).parts
        depth = 3 if "/".join(parts[:2]) in SHARED else 2
        rooms.setdefault("/".join(parts[:depth]), []).append(path)
    return rooms


def tests_of_room(room: str) -> list[str]:
    """The folder, or the files, whose tests are of this room; without such, those that compare the engines."""
    if room.startswith("spec/"):
        return ["tests/spec"]
    own = ROOT / "tests" / room.removesuffix(".py")
    files = [own] if own.is_dir() else sorted(own.parent.glob(f"test_{own.name}*.py"))
    return [str(file.relative_to(ROOT)) for file in files] or ["tests/conformance"]


def find_reaching(
    attempts: list[Attempt], copied: Path, processes: int, tested: Callable[[Path, Order, list[str]], Run] | None = None
) -> set[str]:
    """Gives each fault the files of the tests that come to it; the tests that fail of an edit without effect.

    tested: what runs the tests of the copy, of which it ends none.
    """
    tested = tested or functools.partial(run_tests, hangs=None)
    reached = copied.parent / "reached"
    reached.mkdir()
    module = copied / "src" / "reached.py"
    module.write_text(REACHED.format(folder=str(reached)), encoding="utf-8")
    for number, attempt in enumerate(attempts):
        edit(attempt.fault, copied, attempt.fault.instrument(attempt.fault.text, f"__import__('reached').at({number})"))
    run = tested(copied, Order(), ["-n", str(processes)])
    if run.missing:
        raise SystemExit(NOT_RUN.format(run.missing, run.running))
    for number, attempt in enumerate(attempts):
        edit(attempt.fault, copied, attempt.fault.text)
        file = reached / str(number)
        tests = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        attempt.files = None if attempt.fault.once or "" in tests else sorted({t.partition("::")[0] for t in tests})
    module.unlink()
    return set(run.failed)


def edit(fault: SourceFault, copied: Path, text: str) -> None:
    (copied / fault.path.relative_to(ROOT)).write_text(text, encoding="utf-8")


def attempt_fault(
    attempt: Attempt, copied: Path, others: set[str], tested: Callable[[Path, Order, list[str]], Run] | None = None
) -> Attempt:
    """Finds the first test that fails of a fault, and passes without it. tested: what runs tests of the copy."""
    tested = tested or run_tests
    if attempt.files == []:
        return attempt
    skipped, start = set(others), time.monotonic()
    while True:
        order = Order(tests_of_room(attempt.room), sorted(skipped))
        edit(attempt.fault, copied, attempt.fault.apply(attempt.fault.text))
        run = tested(copied, order, ["-n", "0", "-x", *(attempt.files or [])])
        edit(attempt.fault, copied, attempt.fault.text)
        test = run.failed[0] if run.failed else run.running if run.code not in (0, 5) else ""
        if "::" in test and tested(copied, Order(), ["-n", "0", test]).code:
            skipped.add(test)  # it fails without the fault: the machine is busy
            continue
        attempt.noticed_by, attempt.seconds = test, time.monotonic() - start
        attempt.ordinary = bool(test) and not tiers.is_listed(test, tiers.dear_tests())
        return attempt


@dataclass(frozen=True)
class Run:
    """What tests said: the exit code, those that failed, the last that began, and how many never began."""

    code: int
    failed: list[str]
    running: str
    missing: int = 0


def run_tests(copied: Path, order: Order, words: list[str], hangs: float | None = HANGS) -> Run:
    """Runs the tests of the copy. hangs: seconds after which a test is ended; None: however long it takes, none is.

    Where one is, pytest-xdist begins it again in another process, and leaves out the others when nine are lost.
    """
    log = copied / "said-by-tests"
    log.unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(copied / "src"), ORDER: json.dumps([str(log), *astuple(order)])}
    ended = [] if hangs is None else [f"faulthandler_timeout={hangs}", "faulthandler_exit_on_timeout=true"]
    settings = [word for setting in ended for word in ("-o", setting)]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.helpers.dear_last", *settings, *words]
    ran = subprocess.run(command, cwd=copied, env=environment, capture_output=True, text=True, check=False)
    said = [line.split(" ", 1) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    failed = [test for what, test in said if what == "failed"]
    running = [test for what, test in said if what == "began"]
    collected = max((int(count) for what, count in said if what == "collected"), default=0)
    last = running[-1] if running else "what collects the tests"
    return Run(ran.returncode, failed, last, collected - len(set(running)))


def place(attempt: Attempt) -> str:
    return f"{attempt.fault.path.relative_to(ROOT)}:{attempt.fault.line}"


def row(attempt: Attempt) -> str:
    """The row of the table."""
    before, after = (" ".join(text.split()).replace("|", "\\|") for text in (attempt.fault.before, attempt.fault.after))
    tier = "ordinary" if attempt.ordinary else "all" if attempt.noticed_by else "none"
    if attempt.files == []:
        tier = "none comes there"
    test = f"`{tiers.short(attempt.noticed_by)}`".replace("|", "\\|") if attempt.noticed_by else ""
    return f"| `{place(attempt)}` | `{before}` | `{after}` | {tier} | {test} |\n"


def table(attempts: list[Attempt], words: str) -> str:
    """The faults in the order of their places, and the sum. words: of the command."""
    noticed = [attempt for attempt in attempts if attempt.noticed_by]
    ordinary = sum(attempt.ordinary for attempt in noticed)
    return (
        f"Of {len(attempts)} faults at random (`{words}`) all tests notice {len(noticed)}, "
        f"the ordinary ones {ordinary}.\n\n"
        "| place | expression | with the fault | noticed by | first test |\n| --- | --- | --- | --- | --- |\n"
        + "".join(row(attempt) for attempt in sorted(attempts, key=place))
    )


def write(text: str, page: Path = PAGE) -> None:
    """Puts the table between its marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
