"""Attacks on processes, files and the explorer: `python -m tests.fuzz.attacks killed --seed 1 --times 10`.

    killed      SIGKILL at random times, to a gate, a sweep and a run of Spark: no process stays, and the same command
                then gives the same answer
    together    several processes with one output folder: each answers as it does alone, and leaves whole files
    disks       what is written meets a full disk, a read-only one, a folder that is a file: exit code 153 in one line
    edited      a model that is rewritten all the time: a verdict belongs to the text that the record's digest is of
    long        files of 200 MB: a refusal in one line, and little memory
    wire        the explorer: 2,000 connections, requests that are cut at random places

The exit code is 1 if one of them finds something. `hostile_plans` has the clusters; budgets by a clock that jumps and
pages of other origins are ordinary tests (`test_property_lists`, `test_server`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Id, MaxLen, Model, Range, action, cover, every, initial, invariant, replace, require

class Node(Id, size="nodes"): ...

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 12)] = 7

@dataclass(frozen=True)
class State:
    up: frozenset[Node]
    last: Node | None
    order: Annotated[tuple[Node, ...], MaxLen(4)] = ()

@initial
def start() -> State:
    return State(frozenset(), None)

@action(who="node")
def rise(s: State, n: Node) -> State:
    require(n not in s.up and len(s.order) < 4)
    return replace(s, up=s.up | {n}, last=n, order=s.order + (n,))

@action(who="node")
def fall(s: State, n: Node) -> State:
    require(n in s.up)
    return replace(s, up=s.up - {n}, last=None)

@cover
def two(s: State) -> bool:
    return len(s.up) == 2

@invariant
def few(s: State) -> bool:
    return len(s.up) <= LIMIT

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""
GATE = "".join(
    f'[[check]]\nmodel = "{model}"\nset = {{ {size} }}\nexpect = "{expect}"\n'
    for model, size, expect in (
        ("mine.py", "nodes = 7", "pass"),
        ("core", "brokers = 3", "pass"),
        ("mine.py", "nodes = 6", "pass"),
        ("two_phase_commit", "managers = 3", "pass"),
    )
)
PATIENCE = 600


def model(folder: Path, limit: int, name: str = "mine") -> Path:
    """The model with at most so many nodes that may be up."""
    path = folder / f"{name}.py"
    path.write_text(MODEL.replace("LIMIT", str(limit)), encoding="utf-8")
    return path


@dataclass
class Ended:
    """A command that ended. memory: the most that it took, MiB."""

    code: int
    out: str
    err: str
    seconds: float
    memory: int


def started(folder: Path, *words: object, **options: Any) -> subprocess.Popen[str]:
    """A command as a process, first of a session of its own."""
    environment = {**os.environ, "REASSURE_CACHE": str(folder / "cache")}
    return subprocess.Popen(
        [sys.executable, "-m", "reassure", *map(str, words)], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **options,
    )  # fmt: skip


def ran(folder: Path, *words: object, **options: Any) -> Ended:
    """A command to its end."""
    began = time.monotonic()
    process = started(folder, *words, **options)
    out, err = process.communicate(timeout=PATIENCE)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    return Ended(process.returncode, out, err, time.monotonic() - began, most)


def of_session(leader: int) -> list[int]:
    """The processes of a session that are alive."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[3] == str(leader) and fields[0] != "Z":
            found.append(int(place.name))
    return found


def figures(path: Path) -> Any:
    """What a record says of the model, whoever wrote it."""
    record = json.loads(path.read_text(encoding="utf-8"))
    keys = ("verdict", "exit_code", "complete", "properties", "covers")
    counts = {k: record.get("stats", {}).get(k) for k in ("distinct", "generated", "depth", "clipped")}
    points = [(c["point"], c["verdict"], c["stats"]["distinct"]) for c in record.get("configurations", [])]
    return {k: record.get(k) for k in keys}, counts, points


COMMANDS: dict[str, list[str]] = {
    "gate": ["gate", "gate.toml", "-j2"],
    "sweep": ["sweep", "mine.py", "--set=nodes=4,5,6,7", "-j2"],
    "spark": ["check", "mine.py", "--engine=spark", "--master=local[2]", "--out=run"],
}


def killed(folder: Path, rng: random.Random, times: int) -> Iterator[str]:
    """SIGKILL, and the same command again."""
    model(folder, 4)
    (folder / "gate.toml").write_text(GATE, encoding="utf-8")
    for name, words in COMMANDS.items():
        record = folder / f"{name}.json"
        line = [*words, f"--json={record}"]
        alone = ran(folder, *line)
        want, codes = figures(record), []
        for number in range(times):
            for gone in ("run", "cache") if number % 2 else ("run",):
                subprocess.run(["rm", "-rf", str(folder / gone)], check=True)
            process, after = started(folder, *line), rng.uniform(0.1, alone.seconds)
            time.sleep(after)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            ends = time.monotonic() + 15
            while (left := of_session(process.pid)) and time.monotonic() < ends:
                time.sleep(0.2)
            if left:
                yield f"{name}, killed after {after:.1f} s: {len(left)} processes stay"
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
            again = ran(folder, *line)
            if again.code == 64 and "--resume" in again.err:
                again = ran(folder, *(w.replace("--out", "--resume") for w in line))
            codes.append(again.code)
            if again.code != alone.code or figures(record) != want:
                yield f"{name}, killed after {after:.1f} s: {again.code}, not {alone.code}: {again.err[-300:]}"
        print(f"{name}: {alone.seconds:.1f} s alone, exit code {alone.code}; after {times} kills {codes}", flush=True)


def together(folder: Path, rng: random.Random, times: int) -> Iterator[str]:
    """Processes that write into one folder."""
    model(folder, 2)
    (folder / "gate.toml").write_text(GATE, encoding="utf-8")
    lines = {
        "check": ["check", "mine.py", "--trace-dir=out", "--json=out/r.json", "--quiet"],
        "traces": ["traces", "core", "--out=out", "--cover=pairs"],
        "gate": ["gate", "gate.toml", "--json=out/g.json", "--html=out/g.html", "--trace-dir=out"],
        "sweep": ["sweep", "mine.py", "--set=nodes=4,5", "--trace-dir=out", "--json=out/s.json"],
        "spark": ["check", "mine.py", "--engine=spark", "--master=local[1]", "--out=out", "--quiet"],
    }
    for name, line in lines.items():
        subprocess.run(["rm", "-rf", str(folder / "out")], check=True)
        want = ran(folder, *line).code
        for _ in range(max(1, times // 5)):
            subprocess.run(["rm", "-rf", str(folder / "out")], check=True)
            processes = []
            for _ in range(2 if name == "spark" else 3):
                processes.append(started(folder, *line))
                time.sleep(rng.uniform(0, 0.5))
            ends = [(p.communicate(timeout=PATIENCE), p.returncode) for p in processes]
            codes = [code for _, code in ends]
            refused = name == "spark" and sorted(codes) == sorted([want, 64])  # one folder is of one run
            if codes != [want] * len(codes) and not refused:
                yield f"{name}: {codes}, not {want}: {[err[-300:] for (_, err), _ in ends]}"
            for path in (folder / "out").rglob("*.json"):
                try:
                    json.loads(path.read_text(encoding="utf-8"))
                except ValueError as error:
                    yield f"{name}: {path.name} is half a file: {error}"
            print(f"{name}: {codes}, alone {want}", flush=True)


def disks(folder: Path, rng: random.Random, times: int) -> Iterator[str]:
    """Every command that writes, where nothing can be written. A limit of 0 bytes for a file stands for a full disk."""
    mine = model(folder, 2)
    (folder / "gate.toml").write_text(GATE, encoding="utf-8")
    ran(folder, "check", mine, "--trace-dir=tr", "--quiet")
    trace = next((folder / "tr").glob("*.json"))
    (folder / "log.jsonl").write_text('{"action": "rise", "params": {"n": 0}}\n', encoding="utf-8")
    goal = "len(s.up) == 1"
    lines = [
        *(["check", mine, "--quiet", o] for o in ("--json={}", "--trace-dir={}")),
        ["check", mine, "--engine=reference", "--quiet", "--json={}"],
        *(["simulate", mine, "--walks=500", o] for o in ("--json={}", "--trace-dir={}")),
        *(["prove", "core", "--quiet", o] for o in ("--json={}", "--certificate={}")),
        ["guards", mine, "--set=nodes=2", "--json={}"],
        ["guards", "core", "--trace-dir={}"],
        ["mutants", "die_hard", "--json={}"],
        *(["fairness", "core_liveness", o] for o in ("--json={}", "--trace-dir={}")),
        *(["diff", mine, "core", "--json={}"],),
        *(["find", mine, goal, o] for o in ("--json={}", "--trace-dir={}")),
        *(["stuck", "core_liveness", o] for o in ("--json={}",)),
        *(["sweep", mine, "--set=nodes=3,4", o] for o in ("--json={}", "--trace-dir={}")),
        ["export", "core", "--to=tla", "--out={}"],
        ["replay", "tr", f"--model={mine}", "--junit={}"],
        ["show", trace, f"--model={mine}", "--format=html", "--out={}"],
        ["graph", "die_hard", "--format=svg", "--out={}"],
        *(["validate", mine, "log.jsonl", o] for o in ("--json={}", "--trace={}")),
        ["traces", "die_hard", "--out={}"],
        *(["gate", o] for o in ("--json={}", "--trace-dir={}", "--junit={}", "--sarif={}", "--html={}")),
        ["new", "another", "--dir={}"],
        ["check", mine, "--engine=spark", "--master=local[1]", "--out={}"],
    ]
    (folder / "file").write_text("x")

    def no_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    places = {
        "read-only": "/proc/here/out",
        "a file": str(folder / "file" / "out"),
        "full": str(folder / "full" / "out"),
    }
    for line in lines:
        codes = {}
        for kind, place in places.items():
            options = {"preexec_fn": no_room} if kind == "full" else {}
            if kind == "full":
                (folder / "full").mkdir(exist_ok=True)
                if "spark" in str(line):
                    continue  # Java itself needs files
            end = ran(folder, *(str(w).format(place) for w in line), **options)
            codes[kind] = end.code
            if end.code not in (153, 64) or end.err.strip().count("\n") or "bug" in end.err:
                yield f"{' '.join(map(str, line))}, {kind}: {end.code}: {end.err[-400:]}"
        print(f"{codes} {' '.join(map(str, line))[:90]}", flush=True)


def edited(folder: Path, rng: random.Random, times: int) -> Iterator[str]:
    """Two texts of one length by turns in one file."""
    said, seen = {}, []
    for limit in (3, 4):
        path = model(folder, limit)
        assert ran(folder, "check", path, "--quiet", "--json=r.json").code == (12 if limit == 3 else 0)
        said[json.loads((folder / "r.json").read_text())["model_sha256"]] = 12 if limit == 3 else 0
    stop = threading.Event()

    def rewrite() -> None:
        while not stop.wait(rng.uniform(0, 0.05)):
            model(folder, rng.choice((3, 4)), "next")
            os.replace(folder / "next.py", path)

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for number in range(times):
            (folder / "r.json").unlink(missing_ok=True)
            engine = ("native", "reference", "prove")[number % 3]
            line = ["prove", path] if engine == "prove" else ["check", path, f"--engine={engine}"]
            end = ran(folder, *line, "--quiet", "--json=r.json")
            seen.append(end.code)
            if end.code == 153 and "was changed while it was read" in end.err:
                continue
            record = json.loads((folder / "r.json").read_text())
            right = said.get(record["model_sha256"])
            if record["exit_code"] != end.code or end.code not in (right, 5 if engine == "prove" else right):
                yield f"{engine}: {end.code}, the text of the digest has {right}: {end.err[-300:]}"
    finally:
        stop.set()
        thread.join()
    print(f"exit codes {seen}", flush=True)


def long(folder: Path, rng: random.Random, times: int) -> Iterator[str]:
    """Files of 200 MB."""
    size = 200 << 20
    shapes: dict[str, Callable[[int], str]] = {
        "list.json": lambda n: "[" + "1," * (n // 2) + "1]",
        "text.json": lambda n: '{"a": "' + "x" * n + '"}',
        "nested.json": lambda n: "[" * n,
        "lines.jsonl": lambda n: '{"action": "rise"}\n' * (n // 19),
    }
    for name, text in shapes.items():
        (folder / name).write_text(text(size), encoding="utf-8")
    mine = model(folder, 4)
    for name in shapes:
        lines = [
            ["replay", name, f"--model={mine}"],
            ["show", name, f"--model={mine}"],
            ["verify", name],
            ["gate", name],
            ["validate", mine, name, "--budget=20s"],
            ["audit", name],
            ["plan", f"--cluster={name}", f"--current={name}", f"--proposed={name}"],
        ]
        for line in lines:
            end = ran(folder, *line)
            if end.code not in (5, 6, 18, 64, 153) or end.err.strip().count("\n") or "bug" in end.err:
                yield f"{line[0]} {name}: {end.code}: {end.err[-300:]}"
            print(f"{line[0]} {name}: {end.code} in {end.seconds:.0f} s, at most {end.memory} MiB so far", flush=True)


def wire(folder: Path, rng: random.Random, times: int) -> Iterator[str]:
    """The explorer's server in this process."""
    import socket

    from tests.helpers.explorer_pages import TOKEN, asked, served

    resource.setrlimit(resource.RLIMIT_NOFILE, (5_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with served("die_hard") as server:
        head = f"POST /{TOKEN}/api/find HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\nContent-Length: 50\r\n\r\n"
        whole = (head + '{"expression": "s.big == 3"}').encode()
        held, refused = [], 0
        for _ in range(2_000):
            try:
                wire = socket.create_connection(("127.0.0.1", server.server_port), timeout=5)
                wire.sendall(whole[: rng.randrange(len(whole))])
                held.append(wire)
            except OSError:
                refused += 1
        began = time.monotonic()
        if asked(server, "find")["state"] != "idle":
            yield "it answers otherwise while 2,000 connections are open"
        took, threads = time.monotonic() - began, threading.active_count()
        for wire in held:
            wire.close()
        for _ in range(100 * times):
            with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as wire:
                wire.sendall(whole[: rng.randrange(len(whole))])
        ends = time.monotonic() + 30
        while threading.active_count() > 3 and time.monotonic() < ends:
            time.sleep(0.1)
        if asked(server, "find")["state"] != "idle" or threading.active_count() > 3:
            yield f"{threading.active_count()} threads stay"
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"2,000 connections ({refused} refused): answers in {took:.2f} s, {threads} threads, {most} MiB; "
        f"{100 * times} cut requests; {threading.active_count()} threads at the end",
        flush=True,
    )


ATTACKS: dict[str, Callable[[Path, random.Random, int], Iterator[str]]] = {
    f.__name__: f for f in (killed, together, disks, edited, long, wire)
}


def main() -> int:
    """One attack, and its problems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attack", choices=ATTACKS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=10, help="how often; `disks` and `long` try each line once")
    args = parser.parse_args()
    problems = 0
    with tempfile.TemporaryDirectory(prefix="reassure-attack-") as folder:
        for problem in ATTACKS[args.attack](Path(folder), random.Random(args.seed), args.times):
            problems += 1
            print(f"== {problem}", flush=True)
    print(f"{args.attack}, seed {args.seed}: {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
