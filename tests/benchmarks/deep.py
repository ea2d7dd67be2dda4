"""`python -m tests.benchmarks.deep --jar FILE`: deep, narrow spaces beside TLC, and a kernel's levels of optimisation.

Each model is checked by `reassure check`, and by TLC in the module that `reassure export` writes of it. Both are whole
commands, in turn in one run, with one thread: a level has few states. Counts, depth and verdict are compared first.
No time is asserted. What was measured is kept in `deep.json`, of which `deep.md` is made. The second part of that page
is of `tests.benchmarks.optimisation`; `--part` measures one of them.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reassure.checkers.request.prepare import prepare
from reassure.checkers.tla.module import export
from reassure.checkers.tla.tlc import TlcInstallation, run_tlc
from tests.benchmarks import optimisation
from tests.benchmarks.commands import OWN, ROOT
from tests.benchmarks.optimisation import markdown
from tests.benchmarks.second_opinion import Answer

HERE = Path(__file__).parent
PAGE, KEPT = HERE / "deep.md", HERE / "deep.json"

PRELUDE = """
from dataclasses import dataclass
from typing import Annotated

from reassure import (
    Id, Map, Model, Range, action, cover, every, fill, initial, invariant, replace, require, terminal
)


@dataclass(frozen=True)
class Config:
    top: Annotated[int, Range(1, 100_000)] = 60_000
    bad: Annotated[int, Range(0, 100_000)] = 100_000
"""
COUNTER = '''
"""A counter."""
@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, "top")] = 0


@initial
def start() -> State:
    return State()


@action(who="clock")
def tick(s: State, c: Config) -> State:
    require(s.n < c.top)
    return replace(s, n=s.n + 1)


@invariant
def bad_is_not_reached(s: State, c: Config) -> bool:
    return s.n != c.bad


@terminal
def at_the_top(s: State, c: Config) -> bool:
    return s.n == c.top
'''
RING = '''
"""A token goes round a ring of stations; who has asked for it keeps it for a step."""
class Station(Id, size=5): ...


@dataclass(frozen=True)
class State:
    at: Station
    asking: frozenset[Station] = frozenset()
    passed: Annotated[int, Range(0, "top")] = 0


@initial
def start(c: Config) -> State:
    return State(min(every(Station, c)))


@action(who="station")
def ask(s: State, station: Station) -> State:
    require(station not in s.asking and station != s.at and len(s.asking) < 2)
    return replace(s, asking=s.asking | {station})


@action(who="station")
def use(s: State) -> State:
    require(s.at in s.asking)
    return replace(s, asking=s.asking - {s.at})


@action(who="station")
def pass_on(s: State, c: Config) -> State:
    require(s.at not in s.asking and s.passed < c.top)
    return replace(s, at=Station((s.at + 1) % 5), passed=s.passed + 1)


@invariant
def two_ask_at_most(s: State) -> bool:
    return len(s.asking) <= 2


@terminal
def the_end(s: State, c: Config) -> bool:
    return s.passed == c.top
'''
TIMERS = '''
"""Three timers, none of which is more than two ticks ahead of another."""
class Timer(Id, size=3): ...


@dataclass(frozen=True)
class State:
    ticks: Map[Timer, Annotated[int, Range(0, "top")]]


@initial
def start(c: Config) -> State:
    return State(fill(Timer, c, 0))


@action(who="timer")
def tick(s: State, c: Config, timer: Timer) -> State:
    require(s.ticks[timer] < c.top and all(s.ticks[timer] - s.ticks[t] < 2 for t in every(Timer, c)))
    return replace(s, ticks=s.ticks.put(timer, s.ticks[timer] + 1))


@invariant
def together(s: State, c: Config) -> bool:
    return all(s.ticks[a] - s.ticks[b] <= 2 for a in every(Timer, c) for b in every(Timer, c))


@terminal
def the_end(s: State, c: Config) -> bool:
    return all(s.ticks[t] == c.top for t in every(Timer, c))
'''
LOG = '''
"""A log that two replicas follow: at most three entries are not committed."""
class Replica(Id, size=2): ...


@dataclass(frozen=True)
class State:
    has: Map[Replica, Annotated[int, Range(0, "top")]]
    written: Annotated[int, Range(0, "top")] = 0
    committed: Annotated[int, Range(0, "top")] = 0


@initial
def start(c: Config) -> State:
    return State(fill(Replica, c, 0))


@action(who="leader")
def write(s: State, c: Config) -> State:
    require(s.written < c.top and s.written - s.committed < 3)
    return replace(s, written=s.written + 1)


@action(who="replica")
def fetch(s: State, replica: Replica) -> State:
    require(s.has[replica] < s.written)
    return replace(s, has=s.has.put(replica, s.has[replica] + 1))


@action(who="leader")
def commit(s: State, c: Config) -> State:
    require(all(s.committed < s.has[r] for r in every(Replica, c)))
    return replace(s, committed=s.committed + 1)


@invariant
def committed_is_everywhere(s: State, c: Config) -> bool:
    return all(s.committed <= s.has[r] <= s.written for r in every(Replica, c))


@terminal
def the_end(s: State, c: Config) -> bool:
    return s.committed == c.top
'''


def drawn(seed: int) -> str:
    """A model that is drawn: in each step two registers get new values, in one of four ways, some of them guarded."""
    rng, steps = random.Random(seed), []
    for number in range(4):
        p, q, modulus = rng.randrange(1, 7), rng.randrange(1, 7), rng.randrange(2, 6)
        guard = f" and ({p} * s.n + {q} * s.x) % {modulus} == {rng.randrange(modulus)}" if number else ""
        x, y = ([rng.randrange(1, 12) for _ in range(4)] for _ in range(2))
        steps.append(f"""
@action(who="drawn")
def step_{number}(s: State, c: Config) -> State:
    require(s.n < c.top{guard})
    x = ({x[0]} * s.x + {x[1]} * s.y + {x[2]} * s.n + {x[3]}) % 5
    y = ({y[0]} * s.x + {y[1]} * s.y + {y[2]} * s.n + {y[3]}) % 3
    return replace(s, n=s.n + 1, x=x, y=y)
""")
    return f'''
"""Drawn with the seed {seed}."""
@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, "top")] = 0
    x: Annotated[int, Range(0, 4)] = 0
    y: Annotated[int, Range(0, 2)] = 0


@initial
def start() -> State:
    return State()

{"".join(steps)}

@invariant
def small(s: State) -> bool:
    return s.x + s.y <= 6


@terminal
def the_end(s: State, c: Config) -> bool:
    return s.n == c.top
'''


@dataclass(frozen=True)
class Case:
    """A row of the table. settings: of the configuration, KEY=VALUE."""

    name: str
    text: str
    settings: tuple[str, ...]

    def file(self, folder: Path) -> Path:
        """The model as a file."""
        path = folder / f"{self.name}.py"
        path.write_text(f"{PRELUDE}\n{self.text}\n\nMODEL = Model.of(__name__, state=State, config=Config)\n")
        return path


CASES = (
    Case("counter", COUNTER, ("top=60000",)),
    Case("counter", COUNTER, ("top=9999", "bad=9999")),
    Case("ring", RING, ("top=10000",)),
    Case("timers", TIMERS, ("top=5000",)),
    Case("log", LOG, ("top=3000",)),
    *(Case(f"drawn_{seed}", drawn(seed), ("top=20000",)) for seed in (1, 2, 3)),
)
START = ("top=1",)
"""The settings of the smallest space of each model: TLC takes as long for it as to start and to read the module."""


@dataclass(frozen=True)
class Found:
    """What a checker finds. violated: by property, the number of states of its counterexample."""

    distinct: int
    generated: int
    depth: int
    violated: dict[str, int]


@dataclass(frozen=True)
class Took:
    """Seconds: of the whole command, of processor, and of the search alone if the checker tells."""

    wall: float
    cpu: float
    search: float = 0.0


def ours(path: Path, settings: tuple[str, ...], cache: Path) -> tuple[Found, Took]:
    """`reassure check`, with one thread."""
    record = cache.with_suffix(".json")
    chosen = [f"--set={pair}" for pair in settings]
    measured = OWN.run(cache, "check", str(path), *chosen, "--workers=1", f"--json={record}")
    data = json.loads(record.read_text(encoding="utf-8"))
    assert data["complete"], data["stopped_because"]
    stats = data["stats"]
    violated = {p["name"]: p["depth"] for p in data["properties"] if p["status"] == "violated"}
    found = Found(stats["distinct"], stats["generated"], stats["depth"], violated)
    return found, Took(measured.wall, measured.cpu, stats["seconds"]["search"])


def tlc(path: Path, settings: tuple[str, ...], installed: TlcInstallation) -> tuple[Found, Took]:
    """TLC, with one worker; it ends at the first violation."""
    with tempfile.TemporaryDirectory() as name:
        exported = export(prepare(str(path), list(settings)).bound)
        for suffix, text in (("tla", exported.text), ("cfg", exported.cfg)):
            (Path(name) / f"{exported.name}.{suffix}").write_text(text, encoding="utf-8")
        run = run_tlc(installed, Path(name), exported.name, None, None, "-deadlock")
    assert run.finished and not run.error, run.error
    names = {definition: claim for claim, definition in exported.names.items()}
    violated = {names[trace.name]: len(trace.states) for trace in run.traces}
    assert run.complete is not bool(violated), run.text[-500:]
    return Found(run.distinct, run.generated, run.depth, violated), Took(run.seconds, run.processor)


def least(some: list[Took]) -> Took:
    """The least of each."""
    return Took(min(t.wall for t in some), min(t.cpu for t in some), min(t.search for t in some))


def measure(installed: TlcInstallation, runs: int, cases: tuple[Case, ...] = CASES) -> Iterator[Answer]:
    """The rows, one after the other; the two checkers take turns. Raises `AssertionError` where they differ."""
    for case in cases:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path, warm = case.file(folder), folder / "warm"
            found, _ = ours(path, case.settings, warm)
            took: dict[str, list[Took]] = {kind: [] for kind in ("ours", "empty", "tlc", "start")}
            for number in range(runs):
                took["ours"].append(ours(path, case.settings, warm)[1])
                theirs, one = tlc(path, case.settings, installed)
                assert theirs == found, f"{case.name} {case.settings}: TLC {theirs}, ours {found}"
                took["tlc"].append(one)
                took["empty"].append(ours(path, case.settings, folder / f"cold{number}")[1])
                took["start"].append(tlc(path, START, installed)[1])
        times = {kind: vars(least(some)) for kind, some in took.items()}
        yield {"name": case.name, "settings": list(case.settings), **vars(found), **times}


HEAD = """# Deep spaces, and levels of optimisation, measured

Written by `python -m tests.benchmarks.deep --jar tla2tools.jar` from `deep.json` beside it; one machine, one hour.
"""
DEEP = """
## Deep, narrow spaces beside TLC

Commit {commit}, TLC's classes of {tlc}, one thread each. Whole commands in turn, the least of {runs}: `reassure
check` of a model in Python ([all of them](deep.py)), and TLC on the module that `reassure export` writes of it. States,
depth and verdict are equal; `reassure` looks for deadlocks as well. Both tell the whole counterexample.

Seconds of the clock and of processors; "times" is TLC's processor time by ours, and TLC's search by ours. "first" is
the same command with an empty cache, so that the model is compiled. The search is what `reassure` says of it; of TLC it
is what its command takes longer than on the same module with `top=1`, which has two to five levels. In a drawn model
two registers get new values in each step, in ways that were drawn.

"""
COLUMNS = ["model", "levels", "distinct", "generated", "verdict", "s", "processor s", "first s"]
COLUMNS += ["TLC s", "TLC processor s", "times", "search s", "TLC search s", "times"]


def table(data: Answer) -> str:
    """The first part of the page."""
    lines: list[tuple[str, ...]] = []
    for row in data["rows"]:
        own, other = row["ours"], row["tlc"]
        search = max(other["wall"] - row["start"]["wall"], 0.0)
        verdict = "; ".join(f"`{n}` violated after {d - 1:,} steps" for n, d in row["violated"].items()) or "holds"
        counts = (f"{row[count]:,}" for count in ("depth", "distinct", "generated"))
        whole = (
            f"{seconds:.2f}" for seconds in (own["wall"], own["cpu"], row["empty"]["wall"], *list(other.values())[:2])
        )
        alone = (f"{own['search']:.3f}", f"{search:.2f}", f"{search / own['search']:.0f}")
        name = " ".join([row["name"], *row["settings"]])
        lines.append((name, *counts, verdict, *whole, f"{other['cpu'] / own['cpu']:.1f}", *alone))
    return DEEP.format(**data) + markdown(COLUMNS, lines)


def page(kept: dict[str, Answer]) -> str:
    """The page of what is kept."""
    parts = {"deep": table, "levels": optimisation.table}
    return HEAD + "".join(table_of(kept[part]) for part, table_of in parts.items() if part in kept)


def commit() -> str:
    """The commit of this checkout."""
    words = ["git", "log", "-1", "--format=%h"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Measures, keeps what was measured, and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.deep", description=__doc__)
    parser.add_argument("--jar", type=Path, help="tla2tools.jar (default: the variable TLA2TOOLS)")
    parser.add_argument("--runs", type=int, default=5, help="of each command beside TLC (default 5)")
    parser.add_argument("--part", choices=("deep", "levels"), help="measure only this part of the page")
    args = parser.parse_args()
    kept: dict[str, Answer] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    rows: list[Answer] = []
    if args.part != "levels":
        installed = TlcInstallation.find(args.jar)
        for row in measure(installed, args.runs):
            print(row, flush=True)
            rows.append(row)
        kept["deep"] = {"commit": commit(), "tlc": installed.version(), "runs": args.runs, "rows": rows}
    if args.part != "deep":
        levels = []
        for row in optimisation.measure():
            print(row, flush=True)
            levels.append(row)
        kept["levels"] = {"commit": commit(), "runs": optimisation.RUNS, "rows": levels}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
