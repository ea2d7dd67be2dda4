"""Where a run is kept, on what it runs, and what is said when either fails."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import fsspec
import pyarrow as pa
import pyarrow.fs as pafs
import pytest
from fsspec.implementations.local import LocalFileSystem

from reassure.checkers.analyses.sweep import analysis as sweep
from reassure.checkers.engines.spark import distributed_search
from reassure.checkers.engines.spark import session as spark_session
from reassure.checkers.engines.spark.owner_table import shared_folder
from reassure.checkers.engines.spark.run_directory import RunDirectory, file_system
from reassure.checkers.engines.spark.session import failed, resolved
from reassure.checkers.engines.spark.sql import run_sql
from reassure.checkers.machine import own_files
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.options import SearchOptions, SparkOptions
from tests.helpers.command import said
from tests.helpers.runs import everything
from tests.helpers.spark_runs import MASTER, checked, far, needs_spark

# -- places --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "root"),
    [
        ("run", "CWD/run"),
        ("./a b/../ü[1]/", "CWD/ü[1]"),
        ("file:///x/a%20b/%C3%BC/", "/x/a b/ü"),
        ("file:///x/a b/ü", "/x/a b/ü"),
        ("file://localhost/x", "/x"),
        ("file:/x", "/x"),
        ("local:///x/a b/ü/", "/x/a b/ü"),
        ("memory://x/y", "/x/y"),
    ],
)
def test_place(place: str, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fs, found = file_system(place)
    assert found == root.replace("CWD", str(tmp_path))
    assert isinstance(fs, pafs.LocalFileSystem) == (not place.startswith(("local:", "memory:")))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("file://host/x", "file://host/x: a file URI has no host; write file:///host/x"),
        ("nofs://x/y", "nofs://x/y: Protocol not known: nofs"),
        ("s3://b/x?nonsense=1", "s3://b/x?nonsense=1: Unexpected query parameter in S3 URI: 'nonsense'"),
    ],
)
def test_no_place(place: str, message: str) -> None:
    with pytest.raises(OSError, match=r".") as refused:
        RunDirectory.at(place)
    assert refused.value.strerror == message


def test_without_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(OSError, match="for ftp:// install fsspec and its package for ftp, here and for the executors"):
        RunDirectory.at("ftp://host/x")


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """Also where the one before is replaced; and what failed leaves nothing."""
    directory = RunDirectory.at(str(tmp_path))
    directory.write_table("levels/levels.parquet", pa.table({"n": [1]}))

    def half(stream: Any) -> None:
        stream.write(b"PAR1")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left on device") as failure:
        directory._write("levels/levels.parquet", half)
    assert (failure.value.errno, failure.value.filename) == (errno.ENOSPC, str(tmp_path))
    (file,) = directory.files("levels")
    assert directory.read_dataset(file).to_pylist() == [{"n": 1}]
    assert [p.name for p in (tmp_path / "levels").iterdir()] == ["levels.parquet"]


@pytest.mark.parametrize(
    ("place", "native"),
    [("/x/a b/ü", "file:///x/a b/ü"), ("/x/run[1]", None), ("/x/*", None), ("local:///x", None)],
)
def test_what_spark_reads_itself(place: str, native: str | None) -> None:
    """No name that it takes for a pattern."""
    assert RunDirectory.at(place).native == native


@needs_spark
@pytest.mark.slow
def test_a_run_by_fsspec(tmp_path: Path, context: Any) -> None:
    """Kept, cut short, resumed and queried where neither Arrow nor Spark know the file system."""
    place = f"local://{tmp_path}/a b/ü"
    wanted = everything(checked("die_hard", []))
    assert everything(checked("die_hard", [], far(out=place, partitions=1))) == wanted
    folder = tmp_path / "a b" / "ü"
    for level in (7, 8):
        (folder / "commits" / f"{level:04}.json").unlink()
    commit = folder / "commits" / "0006.json"
    commit.write_bytes(commit.read_bytes()[:200])  # as a move that is a copy leaves it
    assert everything(checked("die_hard", [], SparkOptions(MASTER, out=place, resume=True))) == wanted
    sql = "select count(*), count(distinct id), max(level) from states"
    assert run_sql(place, sql, SparkOptions(MASTER), 20).rows == [(16, 16, 8)]


@needs_spark
def test_datasets_for_others(tmp_path: Path, context: Any) -> None:
    """DuckDB reads the files as they lie there, and answers as `query` does."""
    place = tmp_path / "core"
    checked("core", [], SparkOptions(MASTER, out=str(place), partitions=1))
    for name in ("states", "edges"):
        duckdb.sql(f"create or replace view {name} as from '{place}/{name}/*.parquet'")
    joined = "edges e join states on source = id where SIZE(isr) = 2"
    sql = f"select e.action, count(*) n from {joined} group by 1 order by 2, 1"
    others = duckdb.sql(sql.replace("SIZE", "len")).fetchall()
    assert others == run_sql(str(place), sql.replace("SIZE", "size"), SparkOptions(MASTER), 20).rows
    assert others[-1] == ("fence", 1_020)


# -- faults --------------------------------------------------------------------------------------------------------


class Full(LocalFileSystem):  # type: ignore[misc]
    """A disk without room for level 7."""

    protocol = "full"

    def _open(self, path: str, mode: str = "rb", **more: Any) -> Any:
        if "/packed/0007/" in path and mode == "wb":
            raise OSError(errno.ENOSPC, "No space left on device")
        return super()._open(path, mode, **more)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(path).removeprefix("full://").rstrip("/")


@needs_spark
def test_a_full_disk(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    context: Any,
) -> None:
    """One line; with room again the run goes on to the same end."""
    fsspec.register_implementation("full", Full, clobber=True)
    place = f"full://{tmp_path}/run"
    code, out, err = said(capsys, "check", "core", "--engine=spark", f"--out={place}", "--quiet")
    assert (code, out, err) == (153, "", f"reassure: {place}: No space left on device\n")
    verdict = checked("core", [], SparkOptions(MASTER, out=str(tmp_path / "run"), resume=True))
    assert everything(verdict) == everything(checked("core", []))


@needs_spark
def test_a_directory_that_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: Any) -> None:
    """It is not begun again half-way, as making folders for new files would; nothing stays in memory."""
    place, commit = tmp_path / "run", RunDirectory.commit

    def then_gone(self: RunDirectory, level: Any) -> None:
        commit(self, level)
        if level.level == 6:
            place.rename(tmp_path / "elsewhere")

    monkeypatch.setattr(RunDirectory, "commit", then_gone)
    with pytest.raises(Failure) as failure:
        checked("core", [], far(out=str(place)))
    assert failure.value.code is Exit.SYSTEM
    assert str(failure.value).startswith(f"a task failed: {place}: there is no run.json in it on ")
    assert not place.exists()
    assert list(shared_folder("x").parent.glob(f"reassure-*-{os.getpid()}-*")) == []


def failing_once(work: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Tasks whose first attempt fails when all is done: files are written, tables are ahead of what is committed."""

    def call(*given: Any) -> Iterator[Any]:
        from pyspark import TaskContext

        found = work(*given)
        if TaskContext.get().attemptNumber() == 0:
            list(found)
            raise RuntimeError("once")
        yield from found

    return call


@needs_spark
def test_tasks_that_fail_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: Any) -> None:
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr(distributed_search, "expand", failing_once(distributed_search.expand))
    monkeypatch.setattr(distributed_search, "own", failing_once(distributed_search.own))
    try:
        verdict = checked("die_hard", [], far(out=str(tmp_path / "run"), partitions=1, data=False), depth=3)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert everything(verdict) == everything(checked("die_hard", [], depth=3))
    written = [len(list((tmp_path / "run" / "packed" / f"{level:04}").iterdir())) for level in (1, 2, 3, 4)]
    assert written == [1, 2, 2, 2]  # by the driver, then by each attempt; a commit names one


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (
            "x\nModuleNotFoundError: No module named 'numpy'\n\n\tat org.apache",
            "the executors' Python has no numpy; PYSPARK_PYTHON names one that has llvmlite, numpy and pyarrow",
        ),
        ("x\nOSError: [Errno 28] No space left on device: '/a b'\n\n\tat org", "/a b: No space left on device"),
        (
            ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, "
            "most recent failure: Lost task 0.3 in stage 1.0 (TID 5) (host executor 1): java.io.IOException: "
            "No space left on device\n\tat java.base",
            "no space left in Spark's own directories (spark.local.dir, or SPARK_LOCAL_DIRS of its workers)",
        ),
        (
            "x\nMemoryError: no more memory for the states visited\n\n\tat org",
            "no more memory for the states visited: a host's /dev/shm is full",
        ),
        (
            'java.io.IOException: Cannot run program "python9": error=2',
            "the executors have no python9; PYSPARK_PYTHON names their Python",
        ),
        ("x\nValueError: something\n\n\tat org", "ValueError: something"),
    ],
)
def test_what_failed(report: str, message: str) -> None:
    assert failed(RuntimeError(report)) == f"a task failed: {message}"


def test_a_sweep_from_a_zip(tmp_path: Path, temporary: Path) -> None:
    """As on a cluster, where executors have this program as one. Nobody else can have put a program where it looks."""
    served: list[str] = []
    cluster = SimpleNamespace(master="spark://head:7077", listFiles=served, addPyFile=served.append)
    for _ in range(2):  # the second time it is there
        spark_session._ship(cluster)
    (archive,) = map(Path, served)
    path = tmp_path / "jugs.py"
    path.write_text((Path(__file__).parents[4] / "models/examples/die_hard.py").read_text(encoding="utf-8"))
    for model in ("die_hard", str(path)):
        task = sweep.shipped(sweep.SweepTask(model, None, SearchOptions(), False, True))
        found = sweep._beside(archive, task, (("goal", "3"),))
        assert (found["verdict"], found["stats"]["distinct"], list(found["texts"])) == (
            "safety-violation",
            16,
            ["goal_not_reached"],
        )
    (program,) = temporary.iterdir()
    assert program.name.startswith(f"{own_files.prefix()}program-") and program.stat().st_mode & 0o077 == 0
    assert [p.name for p in program.iterdir()] == ["reassure"]


def test_a_model_that_comes_as_text_is_a_file_of_this_process_alone(temporary: Path) -> None:
    text = (Path(__file__).parents[4] / "models/examples/die_hard.py").read_text(encoding="utf-8")
    task = sweep.SweepTask("far/jugs.py", text, SearchOptions(), False, True)
    first, second = sweep.check_one(task, (("goal", "3"),)), sweep.check_one(task, (("goal", "4"),))
    assert (first["verdict"], second["verdict"]) == ("safety-violation",) * 2
    assert first["repro"] == "reassure check far/jugs.py --set=goal=3 --engine=native"
    (folder,) = temporary.iterdir()
    assert folder.name.startswith(f"{own_files.prefix()}model-") and folder.stat().st_mode & 0o077 == 0


# -- sessions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "asked", "used"),
    [
        (None, "local[2]", "local[2]"),
        ("local[2,4]", "local[2]", "local[2]"),
        ("spark://head:7077", "local[2]", "spark://head:7077"),
        ("spark://head:7077", "yarn", "yarn"),
    ],
)
def test_the_session_that_is_there(there: str | None, asked: str, used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a notebook: its master, unless another one is named."""
    active = SimpleNamespace(master=there) if there else None
    pyspark = SimpleNamespace(SparkContext=SimpleNamespace(_active_spark_context=active))
    monkeypatch.setitem(sys.modules, "pyspark", pyspark)
    assert resolved(SparkOptions(asked)).master == used


def test_no_executors(capsys: pytest.CaptureFixture[str]) -> None:
    """Said once, after a while without any; not where there are some."""
    now, executors = [0.0], [1]
    tracker = SimpleNamespace(getExecutorInfos=lambda: range(1 + executors[0]))  # with the driver
    scala = SimpleNamespace(statusTracker=lambda: tracker)
    context = SimpleNamespace(master="spark://head:7077", _jsc=SimpleNamespace(sc=lambda: scala))
    lonely = spark_session.lonely(context, lambda: now[0])

    def pass_by(seconds: int) -> str:
        for _ in range(seconds):
            now[0] += 1
            next(lonely)
        return capsys.readouterr().err

    assert pass_by(60) == ""
    executors[0] = 0
    assert pass_by(10) == ""
    assert "reassure: no executors from spark://head:7077 for 1" in pass_by(10)
    assert pass_by(60) == ""
