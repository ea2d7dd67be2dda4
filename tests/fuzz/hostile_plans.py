"""Hostile clusters and assignments for `plan`: `python -m tests.fuzz.hostile_plans --seconds 60 --seed 1`.

Every run ends within its time with an exit code that is documented: a mistake in a file is one line on standard error,
without control characters, and a plan that is accepted moves what the files say. The exit code is 1 if one does not.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reassure.checkers.cli.main import main as command
from reassure.spec.semantics.trace import JsonObject

SLOW = 20
"""Seconds that a command may take."""
NAMES = ("a", "orders", "a.b", "x_1-2")
WORDS = (
    "",
    "a",
    "orders",
    "ö",
    "a\nb",
    "\x1b[31mred",
    "[bold]x[/bold]",
    "\u202etext",
    "x" * 70_000,
    "null",
    "..",
    "a/b",
)
NUMBERS: tuple[Any, ...] = (0, 1, 2, 3, 7, -1, 2**31 - 1, 2**31, 2**63, 10**400, 1.5, True, None, "1", [], {}, 1e308)
ANSWERS = {0, 5, 11, 12, 13, 15, 16}
REFUSALS = {6, 64, 151}


def files_of(rng: random.Random) -> JsonObject:
    """A cluster and two assignments that fit together, before they are damaged."""
    ids = list(range(rng.choice((1, 3, 6))))
    racks = rng.choice(([None], ["a"], ["a", "b", "c"], ["ö", "[bold]x[/bold]"]))
    brokers = [{"id": b} | ({"rack": rack} if (rack := rng.choice(racks)) is not None else {}) for b in ids]
    cluster: JsonObject = {"brokers": brokers, "min.insync.replicas": rng.choice((1, 2, 3))}
    topics = [rng.choice(NAMES) for _ in range(rng.choice((1, 2, 5)))]
    parts = sorted({(t, rng.randrange(4)) for t in topics})

    def assignment() -> JsonObject:
        rows = [
            {"topic": t, "partition": p, "replicas": rng.sample(ids, rng.randint(1, min(3, len(ids))))}
            for t, p in parts
        ]
        return {"version": 1, "partitions": rows}

    return {"cluster": cluster, "current": assignment(), "proposed": assignment()}


def damaged(data: Any, rng: random.Random) -> Any:
    """The data with one place changed."""
    data = json.loads(json.dumps(data))
    places = list(_places(data))
    holder, key = rng.choice(places)
    how = rng.randrange(7)
    if how == 0:
        del holder[key]
    elif how == 1:
        holder[key] = rng.choice(NUMBERS)
    elif how == 2:
        holder[key] = rng.choice(WORDS)
    elif how == 3 and isinstance(holder, list):
        holder.append(holder[key])
    elif how == 4 and isinstance(holder, dict):
        holder[rng.choice(WORDS)] = holder[key]
    elif how == 5 and isinstance(holder[key], list):
        holder[key] = holder[key] * rng.choice((2, 50_000))
    else:
        holder[key] = [holder[key]]
    return data


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every key and index, with what holds it."""
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else []
    for key in keys:
        yield data, key
        yield from _places(data[key])


def problem_of(files: JsonObject, folder: Path, rng: random.Random) -> tuple[int, str]:
    """The exit code of `plan` on these files, and what is wrong with how it ended; "" if nothing is."""
    words = ["plan"]
    for name, data in files.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        words += [f"--{name}", str(path)]
    if "proposed" in files and rng.random() < 0.3:
        words = [*words[: words.index("--proposed")], "--generate"]
    out, err, began = io.StringIO(), io.StringIO(), time.monotonic()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command([*words, "--json", str(folder / "record.json")])
    took, said = time.monotonic() - began, err.getvalue()
    if took > SLOW:
        return code, f"it takes {took:.0f} s"
    if code not in ANSWERS | REFUSALS:
        return code, f"exit code {code}: {said[-200:]!r}"
    if code in REFUSALS and (said.count("\n") != 1 or len(said) > 2100):
        return code, f"a refusal of {len(said):,} letters on {said.count(chr(10))} lines: {said[:200]!r}"
    strange = {c for c in out.getvalue() + said if not c.isprintable()} - {"\n"}
    if strange:
        return code, f"control characters in the output: {sorted(strange)!r}"
    return code, ""


def tried(seed: int) -> tuple[int, str]:
    """As `problem_of`, for the files of a seed."""
    rng = random.Random(seed)
    files = files_of(rng)
    for _ in range(rng.choice((0, 1, 1, 2))):
        files = damaged(files, rng)
    given = {name: files[name] for name in ("cluster", "current", "proposed") if name in files}
    with tempfile.TemporaryDirectory() as folder:
        return problem_of(given, Path(folder), rng)


def main() -> int:
    """Draws files, and prints the problems with their seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    ends, seed, codes, problems = time.monotonic() + args.seconds, args.seed * 1_000_000, Counter[int](), Counter[str]()
    while time.monotonic() < ends:
        seed += 1
        code, problem = tried(seed)
        codes[code] += 1
        if problem:
            problems[problem[:60]] += 1
            if problems[problem[:60]] == 1:
                print(f"seed {seed}: {problem}", flush=True)
    print(f"{sum(codes.values())} plans; exit codes {dict(sorted(codes.items()))}; {sum(problems.values())} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
