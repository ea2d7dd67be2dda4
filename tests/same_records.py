"""`python -m tests.same_records BASE`: whether this checkout writes the records and traces that another one writes.

BASE is a commit, or the folder of a checkout. A fixed list of commands runs in both: each analysis, and the checks of
`gate.toml` that have few states. Records are compared key by key, the order of the keys too, but for times, memory and
the version of the engines; exit codes and written files are compared as well. The exit code is 1 if any differ.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reassure.spec.semantics.trace import JsonObject

ROOT = Path(__file__).parents[1]
FEW = 3_000
"""Pinned states of a check of the gate up to which it takes less than a second."""
LEFT_OUT = frozenset({"seconds", "memory", "took", "engine_version"})
"""Keys of a record that differ from run to run, or from version to version."""
MEASURED = re.compile(r'[\d.,]+ (?:m?s|MiB|generated/s)\b| time="[^"]*"|/[^\s"]*/(?=(?:traces|models)/)')
"""The same in texts and files; and the folders of the checkout and of a gate's checks."""
LONGEST = 200
"""Letters of a value that are printed."""
WRONG = (
    'kind = "stuck"\nmodel = "die_hard"\nexpression = "s.big == 9"',
    'kind = "stuck"\nmodel = "throttle"\nset = { changes = 0 }',
    'kind = "fairness"\nmodel = "core_liveness"',
    'kind = "guards"\nmodel = "two_phase_commit"',
    'kind = "find"\nmodel = "die_hard"\nexpression = "s.big == 4"',
    'kind = "diff"\nmodel = "throttle"\nvariant = "throttle_listed"\nset = { changes = 0 }',
    'kind = "mutants"\nmodel = "die_hard"',
    'kind = "validate"\nmodel = "die_hard"\nlog = "matched.log"',
    'kind = "sweep"\nmodel = "die_hard"',
)
"""Checks that fail: the gate prints then what their commands print."""
FILES = {
    "wrong.toml": "".join(f'[[check]]\n{check}\nexpect = "vacuous"\n' for check in WRONG),
    "matched.log": '{"action": "fill_big"}\n',
    "unmatched.log": '{"action": "fill_big"}\n{"state": {"big": 4}}\n',
}
COMMANDS = """
stuck core_liveness --property re* --fair-only
stuck throttle --set changes=0 --trace-dir traces
stuck throttle --set changes=0 --limit 20 --quiet
stuck die_hard "s.big == 4" --trace-dir traces
stuck die_hard "s.big == 9"
fairness core_liveness --trace-dir traces
fairness throttle --set changes=0 --quiet
fairness bootstrapping --trace-dir traces
find die_hard "s.big == 4" --trace-dir traces
find die_hard "s.big == 6" --symmetry auto
find core s.nothing
find core --prove "len(s.isr) == 0"
guards die_hard --trace-dir traces
guards two_phase_commit --symmetry auto --trace-dir traces
sweep die_hard --trace-dir traces
sweep two_phase_commit --set managers=2..4
sweep throttled_batch --set leader_rate=2..3 --set split=even,any --pairwise --depth 3
diff core core_liveness
diff throttle throttle_listed --set changes=0 --trace-dir traces
diff batching_example batching_waits_to_lead --set deaths=0 --set crashes=0 --trace-dir traces --stories 9
mutants die_hard
mutants two_phase_commit --max 12 --seed 3 --wider managers=2 --full
mutants core --max 3 --property leader* --symmetry auto
traces die_hard --out suite --cover transitions
traces two_phase_commit --out suite --cover pairs --format steps --max-length 3
traces core --out suite --cover guards
traces two_phase_commit --out suite --walks 3 --seed 1
validate die_hard matched.log --trace run.itf.json
validate die_hard unmatched.log --engine reference
graph die_hard --out picture.json
graph core --out picture.dot
gate wrong.toml --junit junit.xml --sarif sarif.json --html page.html
"""


def commands() -> list[list[str]]:
    """The words of each command, after `reassure`."""
    checks = tomllib.loads((ROOT / "gate.toml").read_text(encoding="utf-8"))["check"]
    few = [check for check in checks if check.get("pin", {}).get("distinct", FEW + 1) <= FEW]
    of_gate = [["check", c["model"], *(f"--set={k}={v}" for k, v in c.get("set", {}).items())] for c in few]
    gate = ["gate", str(ROOT / "gate.toml"), "--only", "die_hard", "core", "--junit=junit.xml", "--sarif=sarif.json"]
    return [*map(shlex.split, COMMANDS.split("\n")[1:-1]), *of_gate, gate]


def run_in(checkout: Path, words: list[str]) -> tuple[JsonObject, list[str]]:
    """Runs a command of a checkout in a folder that has `FILES` alone: what it gave, and the lines that it printed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in FILES.items():
            (folder / file).write_text(text)
        words = [*words, *["--json=record"] * (words[0] not in ("traces", "graph"))]
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
        done = subprocess.run(
            [sys.executable, "-m", "reassure", *words], cwd=folder, env=environment, capture_output=True, text=True
        )
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        files = {str(path.relative_to(folder)): MEASURED.sub("", path.read_text()) for path in paths}
        run = {"code": done.returncode, "record": json.loads(files.pop("record", "null"))}
        lines = MEASURED.sub("", done.stdout + done.stderr).splitlines()
        return run | {"files": files}, lines


def differences(base: Any, here: Any, place: str = "run") -> Iterator[str]:
    """The places where two records, or runs, differ: keys or their order, lengths, values."""
    if isinstance(base, dict) and isinstance(here, dict):
        if list(base) != list(here):
            yield f"{place}: keys {', '.join(base)} -> {', '.join(here)}"
        for key in [key for key in base if key in here and key not in LEFT_OUT]:
            yield from differences(base[key], here[key], f"{place}.{key}")
    elif isinstance(base, list) and isinstance(here, list) and len(base) == len(here):
        for number, (one, other) in enumerate(zip(base, here, strict=True)):
            yield from differences(one, other, f"{place}[{number}]")
    elif type(base) is not type(here) or base != here:
        yield f"{place}: {str(base)[:LONGEST]} -> {str(here)[:LONGEST]}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.same_records", description=__doc__)
    parser.add_argument("base", metavar="BASE", help="a commit, or the folder of a checkout")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="commands that match this (default: all)")
    parser.add_argument("--texts", action="store_true", help="print the differences of the printed texts too")
    args, differing = parser.parse_args(arguments), 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        base = Path(args.base).resolve() if Path(args.base).is_dir() else Path(folder)
        if base == Path(folder):
            tree = subprocess.run(["git", "archive", args.base], cwd=ROOT, capture_output=True, check=False)
            if tree.returncode:
                parser.error(f"{args.base} is neither a folder nor a commit: {tree.stderr.decode().strip()}")
            subprocess.run(["tar", "-x", "-C", folder], input=tree.stdout, check=True)
        for words in [words for words in commands() if fnmatchcase(shlex.join(words), args.only)]:
            (before, printed_before), (after, printed) = pool.map(run_in, (base, ROOT), (words, words))
            places = list(differences(before, after))
            differing += bool(places)
            print(f"{'DIFFERS' if places else 'same'}: {shlex.join(words)} (exit code {after['code']})", flush=True)
            if args.texts:
                places += difflib.unified_diff(printed_before, printed, "BASE", "here", lineterm="", n=0)
            print("".join(f"  {place}\n" for place in places), end="")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
