"""The distributed engine answers as the native one does, whatever happens on the way."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import bind, load, settings
from reassure.checkers.base.options import SparkOptions
from reassure.checkers.base.stop import budget_ended
from reassure.checkers.check import CheckRequest
from reassure.checkers.cli.report import report
from reassure.checkers.evidence.gate_file import read
from reassure.checkers.native.search import Clock
from reassure.checkers.spark.owner_table import shared_folder
from reassure.checkers.spark.session import why_not
from tests.helpers.command import said
from tests.helpers.runs import everything
from tests.helpers.spark_runs import MASTER, checked, far

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@pytest.mark.parametrize(
    ("model", "pairs"),
    [("die_hard", []), ("two_phase_commit", ["managers=4"]), ("core", []), ("kraft", [])],
)
def test_as_native(model: str, pairs: list[str], context: Any) -> None:
    """Counts, depths, covers, actions, and the traces themselves."""
    assert everything(checked(model, pairs, far())) == everything(checked(model, pairs))


FIRST = {c.asked.model: c.asked for c in reversed(read(Path(__file__).parents[3] / "gate.toml", None))}
"""The first check of each model."""


@pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
def test_every_model(first: CheckRequest, context: Any) -> None:
    """The first levels, all of them by Spark; kernels that other tests have compiled too."""
    found = checked(first.model, first.set, far(), depth=4)
    assert everything(found) == everything(checked(first.model, first.set, depth=4))
    assert found.stats.generated > 10


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_partitions_change_nothing(partitions: int, context: Any) -> None:
    verdict = checked("die_hard", [], far(partitions=partitions))
    assert everything(verdict) == everything(checked("die_hard", []))
    assert verdict.search.cluster["partitions"] == partitions


def test_small_levels_are_searched_in_the_driver(context: Any) -> None:
    verdict = checked("core", ["brokers=4"], SparkOptions(MASTER, small=8_000))
    assert everything(verdict) == everything(checked("core", ["brokers=4"]))
    sent = [level["level"] for level in verdict.search.cluster["levels"] if level["shuffled_bytes"]]
    assert sent == list(range(9, 17))


def test_shuffle_follows_the_frontier(context: Any) -> None:
    """What was visited is not sent again: by Spark's own count of bytes."""
    levels = checked("core", ["brokers=4"], SparkOptions(MASTER, small=2_000)).spark["levels"]
    sent = [level for level in levels if level["shuffled_bytes"]]
    assert len(sent) > 8
    for level in sent:
        # Eight bytes a state, compressed; each step at most once; some hundred bytes of counts from each task.
        assert level["shuffled_bytes"] <= 8 * level["generated"] + 8_000
    assert sent[-1]["shuffled_bytes"] < 8_000 < max(level["shuffled_bytes"] for level in sent)
    assert sent[-1]["visited"] == 68_064


@pytest.mark.parametrize("options", [{"depth": 5}, {"fail_fast": True}, {"depth": 1}])
def test_stopped_early(options: dict[str, Any], context: Any) -> None:
    assert everything(checked("die_hard", [], far(), **options)) == everything(checked("die_hard", [], **options))


def test_budget(context: Any) -> None:
    verdict = checked("core", ["brokers=4"], far(), budget=1.5)
    assert verdict.stopped_because == "the budget of 1.5 s ended"
    assert verdict.exit() is Exit.INCONCLUSIVE


def test_memory_limit(context: Any) -> None:
    """The owners' tables count: two of 65,536 slots are a mebibyte."""
    assert checked("core", ["brokers=4"], far(partitions=2), memory=2**20).complete
    verdict = checked("core", ["brokers=4"], far(partitions=2), memory=2**20 - 1)
    assert verdict.stopped_because == "the memory limit of 1 MiB was passed"
    assert (verdict.exit(), verdict.stats.memory) == (Exit.INCONCLUSIVE, 2**20)


def test_budget_in_the_driver(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found before it ended has its trace, and is counted."""

    def look(clock: Clock, looks: list[int] = []) -> None:  # noqa: B006 (one list for all looks)
        looks.append(1)
        if len(looks) > 12:
            raise budget_ended(9)

    monkeypatch.setattr(Clock, "look", look)
    verdict = checked("kraft_kafka", FIRST["kraft_kafka"].set, SparkOptions(MASTER, small=10**9), budget=9)
    assert verdict.stopped_because == "the budget of 9 s ended"
    fallen = [p for p in verdict.properties if p.status == "violated"]
    assert fallen and all(p.trace is not None for p in fallen)
    assert verdict.stats.distinct > 500


# -- the run directory ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, context: Any) -> Path:
    place = tmp_path_factory.mktemp("runs") / "core"
    assert checked("core", [], far(out=str(place))).exit() is Exit.OK
    return place


@pytest.mark.parametrize("committed", [0, 1, 5, 12, 13])
def test_resume(committed: int, kept: Path, tmp_path: Path, context: Any) -> None:
    """From any commit on, whatever lies about beside: the same as without an interruption."""
    place = tmp_path / "run"
    shutil.copytree(kept, place)
    for path in place.glob("commits/*.json"):
        if int(path.stem) > committed:
            path.unlink()
    (place / "packed" / "0003").mkdir(exist_ok=True)
    (place / "packed" / "0003" / "part-0-half.parquet").write_bytes(b"PAR1, half-written")
    (place / "commits" / "0099.json.half").write_text("{")
    verdict = checked("core", [], far(out=str(place), resume=True))
    assert everything(verdict) == everything(checked("core", []))
    assert len(list(place.glob("commits/????.json"))) == 13


def changed(kept: Path, folder: Path, **fields: Any) -> str:
    place = folder / "run"
    shutil.copytree(kept, place)
    data = json.loads((place / "run.json").read_text())
    (place / "run.json").write_text(json.dumps({**data, **fields}))
    return str(place)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_sha256": "0" * 64}, "is of another text of the model"),
        ({"engine_version": "0.0.9"}, "is of another engine version: 0.0.9, not "),
        ({"partitions": 3}, "is of another partitions: 3, not 4"),
        ({"config": {"brokers": 4, "min_isr": 2}}, "is of another configuration"),
        ({"model": "kraft"}, "is of another model: kraft, not core"),
        ({"schema": 99}, "was written by another version"),
        ({"steps": False}, "was begun with --no-data: go on in the same way"),
        ({"fingerprints": [[1, 2, 3]] * 4}, "was begun with --fingerprints: go on in the same way"),
        ({"words": None, "more": 1}, "run.json cannot be read"),
    ],
)
def test_another_run_is_refused(
    fields: dict[str, Any], message: str, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(
        capsys, "check", "core", "--engine=spark", f"--resume={changed(kept, tmp_path, **fields)}", "--partitions=4"
    )
    assert (code, out, len(err.splitlines())) == (64, "", 1)
    assert message in err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--out=DIR"], 64, "has a run already; --resume"),
        (["--resume=nowhere"], 64, "there is no run.json in it"),
        (["--out=a", "--resume=b"], 64, "give one of them"),
        (["--out=nofs://x/y"], 153, "nofs://x/y"),
        (["--out=/proc/nothing/here"], 153, "/proc/nothing"),
        (["--conf=ui=1"], 64, "is no setting of Spark"),
        (["--partitions=0"], 64, "is no whole number of at least 1"),
    ],
)
def test_wrong_options(
    words: list[str], code: int, message: str, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [w.replace("DIR", str(kept)) for w in words]
    found, out, err = said(capsys, "check", "core", "--engine=spark", *given)
    assert (found, out, len(err.splitlines())) == (code, "", 1)
    assert message in err


def test_options_of_spark_are_for_spark(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "check", "core", "--partitions=2")
    assert (code, "--partitions is for --engine spark" in err) == (64, True)


# -- fingerprints ----------------------------------------------------------------------------------------------------


def test_fingerprints(context: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The same answers, with the probability of a wrong one."""
    verdict = checked("core", [], far(fingerprints=True))
    assert everything(verdict) == everything(checked("core", []))
    assert verdict.search.cluster["fingerprints"] == {"bits": 120, "collision_bound": 1_668 * 1_667 / 2**121}
    assert verdict.stats.bytes_per_state == 16
    model = load("core")
    report(verdict, bind(model, settings(model, []))[0], Console())
    out = capsys.readouterr().out
    assert "fingerprints of 120 bits" in out and "a probability of at most 1.0e-30" in out
    # Where all was searched in the driver, nothing was kept but whole states.
    code, out, _ = said(capsys, "check", "core", "--engine=spark", "--fingerprints")
    assert (code, "fingerprints of" in out, "8 bytes a state" in out) == (0, False, True)
    assert "--fingerprints" in out.splitlines()[-1]


def test_fingerprints_are_what_is_compared(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a key that gives all states one fingerprint, each owner takes in the first that arrive and no more."""
    monkeypatch.setattr("reassure.checkers.spark.engine.new_key", lambda words: ((0,) * (2 * words + 1),) * 4)
    stats = checked("core", [], far(fingerprints=True)).stats
    assert (stats.distinct, stats.depth) == (15, 3)


def test_fingerprint() -> None:
    """Four lanes: the upper half of a sum of products with 32 bits each; 120 bits of them."""
    from reassure.checkers.native.kernels.fingerprints import fingerprints, new_key

    rng = np.random.default_rng(1)
    rows = rng.integers(-(2**63), 2**63 - 1, (50, 4))
    rows[:, 0] &= 2**56 - 1
    key = new_key(3)
    got = fingerprints(rows, key).view(np.uint64).tolist()
    for row, found in zip(rows.view(np.uint64).tolist(), got, strict=True):
        halves = [half for word in row[:3] for half in (word % 2**32, word >> 32)]
        lanes = [(first + sum(k * h for k, h in zip(rest, halves, strict=True))) % 2**64 >> 32 for first, *rest in key]
        assert found == [lanes[0] << 24 | lanes[1] >> 8, lanes[2] << 32 | lanes[3]]


@pytest.mark.parametrize("committed", [1, 9])
def test_resume_with_fingerprints(committed: int, tmp_path: Path, context: Any) -> None:
    """The tables are made anew with the key of the run."""
    place = str(tmp_path / "run")
    checked("core", [], far(out=place, data=False, fingerprints=True), depth=committed)
    verdict = checked("core", [], far(out=place, data=False, fingerprints=True, resume=True))
    assert everything(verdict) == everything(checked("core", []))


# -- faults --------------------------------------------------------------------------------------------------------


def test_killed_and_resumed(tmp_path: Path, context: Any) -> None:
    """The whole program is killed in the middle; another goes on."""
    place = tmp_path / "run"
    words = [sys.executable, "-m", "reassure", "check", "core", "--set=brokers=5", "--engine=spark", "--quiet"]
    process = subprocess.Popen(
        [*words, f"--out={place}", "--no-data"], stdout=subprocess.DEVNULL, start_new_session=True
    )
    until = time.monotonic() + 120
    while not (place / "commits" / "0009.json").exists() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.02)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    verdict = checked("core", ["brokers=5"], SparkOptions(MASTER, out=str(place), resume=True, data=False))
    assert everything(verdict) == everything(checked("core", ["brokers=5"]))


def workers() -> list[int]:
    """Python workers of Spark on this machine that are descendants of this process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                above = (Path("/proc") / str(parent) / "cmdline").read_bytes()
            except (OSError, ValueError, IndexError):
                continue
            if b"pyspark.daemon" in command and b"pyspark.daemon" in above:
                found.append(int(entry.name))
    return found


def test_killed_workers(context: Any) -> None:
    """Python workers die under their tasks, which are tried again: nothing is lost, and nothing counted twice."""
    killed, done = [], threading.Event()

    def kill() -> None:
        while not done.wait(0.9) and len(killed) < 4:
            for pid in workers()[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        verdict = checked("core", ["brokers=5"], SparkOptions(MASTER, small=5_000))
    finally:
        done.set()
        thread.join()
    assert killed
    assert everything(verdict) == everything(checked("core", ["brokers=5"]))


ON_A_CLUSTER = """
import json, sys
from reassure.checkers.base.options import SearchOptions, SparkOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.check import CheckRequest, run

conf = {
    "spark.speculation": "true", "spark.speculation.interval": "20ms", "spark.speculation.multiplier": "1",
    "spark.speculation.quantile": "0.1", "spark.speculation.minTaskRuntime": "1ms",
}
cluster = SparkOptions("local-cluster[2,1,1024]", small=2_000, out=sys.argv[1], data=False, conf=conf)
verdict, _ = run(CheckRequest("core", ["brokers=4"], "spark", SearchOptions(), cluster=cluster), Progress(quiet=True))
print(json.dumps(verdict.record({})))
"""


def test_a_lost_executor_and_doubled_tasks(tmp_path: Path) -> None:
    """Two executors in processes of their own, to which this program is shipped; one is killed; tasks are doubled."""
    place = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-c", ON_A_CLUSTER, str(place)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    until, killed = time.monotonic() + 200, False
    while process.poll() is None and time.monotonic() < until and not killed:
        time.sleep(0.02)
        if (place / "commits" / "0009.json").exists():
            found = subprocess.run(
                ["pgrep", "-g", str(process.pid), "-f", "CoarseGrainedExecutor"], capture_output=True
            )
            executors = [int(pid) for pid in found.stdout.split()]
            if executors:
                os.kill(executors[-1], signal.SIGKILL)
                killed = True
    out, _ = process.communicate(timeout=200)
    assert killed
    found, wanted = json.loads(out), checked("core", ["brokers=4"]).record({})
    for key in ("verdict", "complete", "properties", "covers", "actions"):
        assert found[key] == wanted[key]
    for key in ("generated", "distinct", "depth", "clipped"):
        assert found["stats"][key] == wanted["stats"][key]


def test_nothing_is_left_behind(context: Any) -> None:
    before = set(shared_folder("x").parent.glob("reassure-*"))
    checked("die_hard", [], far())
    assert set(shared_folder("x").parent.glob("reassure-*")) == before


# -- the table of a partition ----------------------------------------------------------------------------------------


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[tuple[Any, Any, np.ndarray[Any, Any]]]:
    """A run of `core`, its directory, and some distinct packed states."""
    from reassure.checkers.encoding.state_layout import state_layout
    from reassure.checkers.native.compiled_kernel import compiled
    from reassure.checkers.spark.distributed_search import Run
    from reassure.checkers.spark.run_directory import RunDirectory

    model = load("core")
    bound, lowered = bind(model, settings(model, []))
    kernel = compiled(lowered, state_layout(bound))
    made = Run(kernel, RunDirectory.at(str(tmp_path / "run")), 1)
    made.directory.write_json("run.json", {})
    yield made.work, made.directory, np.arange(1, 200_001, dtype=np.int64).reshape(-1, 1)
    shutil.rmtree(shared_folder(made.token), ignore_errors=True)


def tagged(rows: np.ndarray[Any, Any], action: int) -> bytes:
    return bytes((rows | (action + 1) << 56).tobytes())


def test_table(owned: tuple[Any, Any, np.ndarray[Any, Any]]) -> None:
    """It grows; what is known is not new; the first action by number counts, in whatever order parcels arrive."""
    from reassure.checkers.spark.owner_table import OwnerTable

    work, _, rows = owned
    table = OwnerTable(work, 0)
    table.clear()
    found, _, new = table.take_in([tagged(rows[:1_000], 2), tagged(rows[500:150_000], 1)])
    assert sorted(found[:, 0]) == list(range(1, 150_001))
    assert (new[2], new[1], sum(new)) == (500, 149_500, 150_000)
    found, _, new = table.take_in([tagged(rows[149_990:], 0), tagged(rows[:7], 0)])
    assert sorted(found[:, 0]) == list(range(150_001, 200_001))
    assert table.states == 200_000
    table.close()


@pytest.mark.parametrize("fault", ["missing", "half-way", "ahead", "behind"])
def test_a_table_that_does_not_fit_is_made_anew(owned: tuple[Any, Any, np.ndarray[Any, Any]], fault: str) -> None:
    from reassure.checkers.spark.owner_table import OwnerTable
    from reassure.checkers.spark.tasks import Owned, own

    work, directory, rows = owned
    files = [directory.write_states(1, 0, rows[:100]), directory.write_states(2, 0, rows[100:3_000])]
    if fault != "missing":
        table = OwnerTable(work, 0)
        table.clear()
        table.take_in([tagged(rows[: 5_000 if fault == "ahead" else 100], 0)])
        table.commit({"half-way": 2, "ahead": 3, "behind": 1}[fault])
        if fault == "half-way":
            table.begin_update()
        table.close()
    (told,) = own(work, 2, {0: files}, [(0, tagged(rows[2_000:6_000], 2))])
    assert isinstance(told, Owned)
    assert (told.rows, told.new[2], sum(told.new)) == (3_000, 3_000, 3_000)
    assert told.file is not None
    assert sorted(directory.read_states(told.file)[:, 0]) == list(range(3_001, 6_001))
    # CheckRequest again, as after a lost answer, it says the same.
    (again,) = own(work, 2, {0: files}, [(0, tagged(rows[2_000:6_000], 2))])
    assert isinstance(again, Owned)
    assert (again.rows, again.new[2], again.file != told.file) == (3_000, 3_000, True)


# -- no Spark --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("java", "message"),
    [
        (None, "Spark needs Java 17 or later, and there is none in JAVA_HOME="),
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11"),
        ('java version "1.8.0_292"', "is Java 8"),
        ("no idea", "does not say what it is"),
    ],
)
def test_java(java: str | None, message: str, tmp_path: Path) -> None:
    """In a process of its own, where no session is there already."""
    if java is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\necho '{java}' >&2\n")
        (tmp_path / "bin" / "java").chmod(0o755)
    words = [sys.executable, "-m", "reassure", "check", "core", "--set=brokers=5", "--engine=spark", "--quiet"]
    done = subprocess.run(
        words, env={**os.environ, "JAVA_HOME": str(tmp_path)}, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (153, "", 1)
    assert message in done.stderr


def test_a_master_that_is_not_there(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "reassure", "check", "core", "--engine=spark", "--quiet"]
    done = subprocess.run([*words, "--master=nonsense://x"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (153, "")
    assert len(done.stderr.splitlines()) == 1
    assert "Spark does not start with --master nonsense://x: SparkException: Master must either be yarn" in done.stderr


def test_a_master_that_does_not_answer() -> None:
    """Said at once; Spark would try for minutes."""
    words = [sys.executable, "-m", "reassure", "check", "core", "--engine=spark", "--quiet"]
    master = "spark://127.0.0.1:1,127.0.0.1:2"
    done = subprocess.run([*words, f"--master={master}"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (153, "")
    assert done.stderr == f"reassure: no Spark master answers at {master}\n"


def test_failure_is_no_verdict(tmp_path: Path) -> None:
    with pytest.raises(Failure) as refused:
        checked("core", [], far(out=str(tmp_path), resume=True))
    assert refused.value.code is Exit.USAGE


# -- the state space as data -----------------------------------------------------------------------------------------


def value_of(value: Any) -> Any:
    """A Python value of a model as Arrow gives it back."""
    from reassure.spec.language.values import Map

    if hasattr(value, "__dataclass_fields__"):
        return {name: value_of(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Map):
        return [(value_of(k), value_of(v)) for k, v in value.pairs()]
    if isinstance(value, frozenset):
        if any(hasattr(v, "__dataclass_fields__") for v in value):
            return sorted((value_of(v) for v in value), key=str)
        return sorted(value_of(v) for v in value)
    if isinstance(value, tuple):
        return [value_of(v) for v in value]
    if isinstance(value, bool) or value is None:
        return value
    return value.value if hasattr(value, "value") else int(value)


@pytest.mark.parametrize(
    ("model", "pairs", "options"),
    [
        ("core", [], {"small": 1, "partitions": 3}),
        ("core", [], {"small": 30, "fingerprints": True}),
        ("kraft", ["unclean=off"], {"depth": 7}),
    ],
)
def test_states_and_edges(model: str, pairs: list[str], options: dict[str, Any], tmp_path: Path, context: Any) -> None:
    """Every state with its level, its origin by the canonical trace, and every step, as plain Python has them."""
    import pyarrow.dataset

    from reassure.checkers.encoding.state_layout import state_layout
    from reassure.checkers.spark.datasets import ids

    place = tmp_path / "run"
    end = options.pop("depth", 100)
    verdict = checked(model, pairs, SparkOptions(MASTER, out=str(place), **options), depth=end)
    made = load(model)
    bound, _ = bind(made, settings(made, pairs))
    layout = state_layout(bound)

    def id_of(state: Any) -> str:
        return str(ids(np.array([layout.encode(state)], np.uint64).view(np.int64))[0])

    def params_of(step: Any) -> dict[str, Any]:
        return {step.action.name: {name: value_of(v) for name, v in step.params.items()}} if step.params else {}

    level = [state for _, _, state in bound.initial_states()]
    known, edges, depth = {id_of(s): (1, s) for s in level}, [], 1
    origins: dict[str, Any] = {id_of(s): (None, None, {}) for s in level}
    while level and depth <= end:
        depth, after = depth + 1, []
        for state in sorted(level, key=layout.encode):  # so the first to reach a state is its smallest parent
            for step in bound.steps(state):
                edges.append((id_of(state), step.action.name, params_of(step), id_of(step.after), depth - 1))
                if id_of(step.after) not in known:
                    known[id_of(step.after)] = (depth, step.after)
                    origins[id_of(step.after)] = (id_of(state), step.action.name, params_of(step))
                    after.append(step.after)
        level = after

    def given(row: dict[str, Any]) -> dict[str, Any]:
        return {name: params for name, params in (row["params"] or {}).items() if params is not None}

    states = pyarrow.dataset.dataset(place / "states").to_table().to_pylist()
    assert len(states) == len(known) == verdict.stats.distinct
    for row in states:
        depth, state = known[row["id"]]
        want = {**value_of(state), "id": row["id"], "level": depth}
        assert (row.pop("parent"), row.pop("action"), given({"params": row.pop("params")})) == origins[row["id"]]
        for key in row:
            got = row[key]
            if key == "requests":
                got = sorted(got, key=str)
            assert got == want[key], key
    table = pyarrow.dataset.dataset(place / "edges").to_table()
    found = [(e["source"], e["action"], given(e), e["target"], e["level"]) for e in table.to_pylist()]
    assert sorted(found, key=str) == sorted(edges, key=str)
    levels = pyarrow.dataset.dataset(place / "levels").to_table().to_pylist()
    assert [row["visited"] for row in levels][-1] == len(known)
    properties = pyarrow.dataset.dataset(place / "properties").to_table().to_pylist()
    assert {p["name"]: p["status"] for p in properties if p["kind"] != "cover"} == {
        p.name: p.status for p in verdict.properties
    }


class TestQuery:
    def ask(self, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
        return said(capsys, "query", *words)

    def test_the_questions_of_the_documentation(self, tmp_path: Path, context: Any) -> None:
        """They are legal SQL, and each has an answer."""
        from reassure.checkers.spark.sql import query

        page = (Path(__file__).parents[3] / "checkers" / "spark" / "README.md").read_text(encoding="utf-8")
        asked = re.findall(r'reassure query /tmp/kraft "([^"]+)"', page)
        checked("kraft", ["unclean=off"], SparkOptions(MASTER, out=str(tmp_path / "kraft")))
        found = [query(str(tmp_path / "kraft"), sql, SparkOptions(MASTER), 20)[1] for sql in asked]
        assert len(found) == 4
        assert found[0] == [(5_369,)]
        assert dict(found[1])["hear"] == 2_505
        assert found[2] == [(16,)]
        assert [row[0] for row in found[3]] == list(range(1, len(found[3]) + 1))
        assert (found[3][0][1], found[3][-1][4]) == (None, None)

    def test_sql(self, kept: Path, capsys: pytest.CaptureFixture[str], context: Any) -> None:
        sql = "select action, count(*) n from edges group by action order by n desc limit 2"
        code, out, _ = self.ask(capsys, str(kept), sql, "--format=csv")
        assert (code, out.splitlines()) == (0, ["action,n", "fence,2928", "unfence,2076"])
        code, out, _ = self.ask(
            capsys, str(kept), "select level, isr, leader from states where level = 1", "--format=json"
        )
        assert [json.loads(line) for line in out.splitlines()] == [{"level": 1, "isr": [0, 1, 2], "leader": 0}]
        code, out, err = self.ask(capsys, str(kept), "select states from levels order by level", "--limit=2")
        assert (code, out.split()) == (0, ["states", "1", "9"])
        assert "only the first 2 rows" in err

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["KEPT", "select nosuch from states"], "name `nosuch` cannot be resolved"),
            (["KEPT", "this is no SQL"], "Syntax error"),
            (["nowhere", "select 1"], "nowhere has no run"),
            (["KEPT", "select 1", "--limit=-1"], "--limit -1"),
        ],
    )
    def test_wrong(
        self, words: list[str], message: str, kept: Path, capsys: pytest.CaptureFixture[str], context: Any
    ) -> None:
        code, out, err = self.ask(capsys, *(w.replace("KEPT", str(kept)) for w in words))
        assert (code, out, len(err.splitlines())) == (64, "", 1)
        assert message in err


class TestSweep:
    def test_grid(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], context: Any) -> None:
        record = tmp_path / "r.json"
        words = ["two_phase_commit", "--set=managers=2,3,99", f"--json={record}", "--quiet"]
        code, out, _ = said(capsys, "sweep", *words)
        assert code == 151  # the most severe of all
        assert [line.split()[:2] for line in out.splitlines()[2:5]] == [
            ["2", "pass"],
            ["3", "pass"],
            ["99", "config-error"],
        ]
        assert "2 pass, 1 config-error" in out
        found = json.loads(record.read_text())["configurations"]
        assert [c["point"] for c in found] == [{"managers": "2"}, {"managers": "3"}, {"managers": "99"}]
        assert [c["stats"].get("distinct") for c in found] == [
            checked("two_phase_commit", [f"managers={n}"]).stats.distinct for n in (2, 3)
        ] + [None]

    def test_traces_of_a_model_by_path(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], context: Any) -> None:
        """Shipped as text; the traces replay on the file here."""
        path = tmp_path / "jugs.py"
        shutil.copy(Path(__file__).parents[3] / "models" / "examples" / "die_hard.py", path)
        code, out, _ = said(capsys, "sweep", str(path), f"--trace-dir={tmp_path}", "--quiet")
        assert (code, "goal_not_reached (7)" in out) == (12, True)
        (trace,) = tmp_path.glob("*.itf.json")
        code, out, _ = said(capsys, "replay", str(trace))
        assert (code, "goal_not_reached is violated at its end" in out) == (0, True)

    @pytest.mark.parametrize(
        ("words", "code", "message"),
        [
            (["core", "--set=brokers"], 64, "is no setting; write KEY=VALUE"),
            (["core", "--set=brokers=3,,4"], 64, "is no setting; write KEY=VALUE"),
            (["core", "--set=brokers=3", "--set=brokers=4"], 64, "brokers is given twice"),
            (["core", "--set=brokers=3,3"], 64, "has a value twice"),
            (["core", "--set=brokerz=3"], 151, "no configuration field 'brokerz'; it has brokers, min_isr"),
            (["nosuch"], 64, "nosuch"),
        ],
    )
    def test_wrong(self, words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
        found, out, err = said(capsys, "sweep", *words)
        assert (found, out, len(err.splitlines())) == (code, "", 1)
        assert message in err


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 3, 3, 3), (4, 3, 2), (2, 5), (1, 1, 1)])
def test_pairwise(sizes: tuple[int, ...]) -> None:
    """Any two values of different settings meet, in far fewer configurations than there are."""
    import itertools

    from reassure.checkers.cli.sweep import Grid

    grid = Grid(tuple((f"k{i}", tuple(str(v) for v in range(n))) for i, n in enumerate(sizes)))
    chosen = grid.pairwise()
    met = {two for point in chosen for two in itertools.combinations(point, 2)}
    for (a, xs), (b, ys) in itertools.combinations(grid.axes, 2):
        assert met >= {((a, x), (b, y)) for x in xs for y in ys}
    assert len(set(chosen)) == len(chosen) <= len(grid.every())
    assert chosen == grid.pairwise()
    if sizes == (3, 3, 3, 3):
        assert len(chosen) <= 15
