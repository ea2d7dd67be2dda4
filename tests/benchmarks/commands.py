"""`python -m tests.benchmarks.commands`: whole commands, cold and warm, beside the same commands of another commit.

Cold: an empty cache, so that the kernel is compiled. Warm: the same command again, or `gate --changed` after a whole
gate. Of each the least of the runs, since another program on the machine only adds to it. `--before DIR` is a checkout
of the other commit in which `./run.sh --help` has made an environment; both run in turn. No time is asserted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.whole_runs import Measured, timed

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TARGETS: dict[tuple[str, ...], tuple[float | None, float | None]] = {
    ("--version",): (None, 0.03),
    ("--help",): (None, 0.03),
    ("completion", "bash"): (None, 0.03),
    ("lint", "core"): (None, 0.08),
    ("check", "die_hard"): (None, 0.5),
    ("check", "core"): (1.5, 0.18),
    ("check", "core", "--set", "brokers=5"): (None, 0.42),
    ("check", "kraft"): (2.5, 0.4),
    ("check", "batching"): (3.0, 0.8),
    ("gate", "--changed"): (None, 0.6),
}
"""By command: processor seconds on an idle machine that we want to stay below, cold and warm."""
HEAD = """# Whole commands, measured

Written by `python -m tests.benchmarks.commands --write`; one machine, one hour. Cold: with an empty cache. Warm: once
more; of `gate --changed`, after a gate, so that nothing has changed. Seconds from start to end, and processor seconds
of all threads, which `wanted` is about; the least of the runs.

"""


@dataclass(frozen=True)
class Checkout:
    """A commit with its environment. words: what runs `reassure`. path: of Python, if the environment lacks it."""

    folder: Path
    words: tuple[str, ...]
    path: str = ""

    def run(self, cache: Path, *command: str, codes: tuple[int, ...] = (0, 12, 13)) -> Measured:
        """Raises `RuntimeError` if the command ends with another exit code: it neither passed nor found a violation."""
        environment = {**os.environ, "REASSURE_CACHE": str(cache), "XDG_CACHE_HOME": str(cache)}
        environment["PYTHONPATH"] = self.path
        # Many images set it; without bytecode each command of a changed checkout compiles its modules again.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return timed([*self.words, *command], self.folder, environment, codes)[0]


OWN = Checkout(ROOT, (sys.executable, "-m", "reassure"), str(ROOT / "src"))
"""The checkout that this file is of."""


def checkout(folder: Path) -> Checkout:
    """A checkout with its environment. `SystemExit` if it has none."""
    program = folder.resolve() / ".venv" / "bin" / "reassure"
    if not program.is_file():
        raise SystemExit(f"{program} is missing: `./run.sh --help` in {folder} makes it")
    return Checkout(folder.resolve(), (str(program),))


def least(measured: list[Measured]) -> Measured:
    """Of the wall time and of the processor time, each by itself."""
    return Measured(min(m.wall for m in measured), min(m.cpu for m in measured))


def in_turn(sides: list[Checkout], runs: int, cold: bool, *command: str) -> list[Measured]:
    """The least of each side; the sides take turns, so that what else the machine does meets all of them."""
    took: list[list[Measured]] = [[] for _ in sides]
    with tempfile.TemporaryDirectory() as folder:
        caches = [Path(folder) / str(number) for number in range(len(sides))]
        for number, cache in enumerate(caches):
            if not cold:
                sides[number].run(cache, *(word for word in command if word != "--changed"))
        for _ in range(runs):
            for number, cache in enumerate(caches):
                if cold:
                    shutil.rmtree(cache, ignore_errors=True)
                took[number].append(sides[number].run(cache, *command))
    return [least(some) for some in took]


def rows(sides: list[Checkout], runs: int, gate: bool, tell: Callable[[str], None]) -> None:
    """A row of the table for each command."""
    before = " before s | before processor s | times |" if len(sides) > 1 else ""
    tell(f"| command | cache | s | wanted | processor s |{before}")
    tell("|---|---|---|---|---|" + "---|---|---|" * (len(sides) - 1))
    asked: list[tuple[tuple[str, ...], int, int]] = [
        (command, runs, kind)
        for command in TARGETS
        for kind in (0, 1)
        if (kind or command[0] == "check") and (gate or command[0] != "gate")
    ]
    if gate:
        asked.append((("gate",), 1, 0))
    for command, often, kind in asked:
        wanted = TARGETS.get(command, (None, None))[kind]
        now, *others = in_turn(sides, often, kind == 0, *command)
        row = (
            f"| `{' '.join(command)}` | {('empty', 'warm')[kind]} | {now.wall:.2f} | {wanted or '-'} | {now.cpu:.3f} |"
        )
        tell(row + "".join(f" {m.wall:.2f} | {m.cpu:.3f} | {m.cpu / now.cpu:.1f} |" for m in others))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.commands", description=__doc__)
    parser.add_argument("--before", type=Path, metavar="DIR", help="a checkout of another commit, with its .venv")
    parser.add_argument("--runs", type=int, default=7, help="of each command (default 7)")
    parser.add_argument(
        "--gate", action="store_true", help="also the gate: once with an empty cache, and with --changed"
    )
    parser.add_argument("--write", action="store_true", help="also write commands.md beside this file")
    args = parser.parse_args()
    sides = [OWN, *([checkout(args.before)] if args.before is not None else [])]
    lines: list[str] = []

    def tell(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    if len(sides) > 1:
        commits = [
            subprocess.run(
                ["git", "log", "-1", "--format=%h"], cwd=s.folder, capture_output=True, text=True
            ).stdout.strip()
            for s in sides
        ]
        tell(f"Commit {commits[0]} beside {commits[1]} (before), in turn in one run.\n")
    rows(sides, args.runs, args.gate, tell)
    if args.write:
        (HERE / "commands.md").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
