"""`reassure sweep` on this machine: a grid of configurations, in processes, without Java."""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.analyses.sweep import analysis as sweep
from reassure.checkers.analyses.sweep.analysis import Grid, Point, PointRecord
from reassure.checkers.encoding.state_layout import layout_of
from reassure.checkers.engines.native.model.model_kernel import model_kernel
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.command import report_of, said
from tests.helpers.lease_model import LEASE

MODEL = '''
from dataclasses import dataclass
from typing import Annotated

from reassure import Model, Range, action, initial, invariant, replace, require


@dataclass(frozen=True)
class Config:
    """How far to count."""

    most: Annotated[int, Range(1, 6)] = 3
    least: Annotated[int, Range(0, 6)] = 0
    label: Annotated[int, Range(0, 9)] = 0

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise ValueError(f"least={self.least} is more than most={self.most}")


@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 6)] = 0


@initial
def start(c: Config) -> State:
    return State(c.least)


@action(who="clock")
def up(s: State, c: Config) -> State:
    require(s.n < c.most)
    return replace(s, n=s.n + 1)


@action(who="clock")
def down(s: State, c: Config) -> State:
    require(s.n > c.least)
    return replace(s, n=s.n - 1)


@invariant
def below_four(s: State) -> bool:
    return s.n < 4


MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
'''


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "counter.py"
    path.write_text(MODEL)
    return str(path)


def rows(out: str, settings: int = 2) -> list[list[str]]:
    """The table: settings, verdict, distinct states; times differ."""
    lines = out.splitlines()
    start = next(n for n, line in enumerate(lines) if "verdict" in line and "took" in line)
    end = lines.index("", start)
    return [line.split()[: settings + 2] for line in lines[start + 1 : end]]


def test_a_grid(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [model, "--set=most=2,5", "--set=least=0,1,3", "--engine=reference", "-j", "1"]
    code, out, _ = said(capsys, "sweep", *words, f"--json={tmp_path / 'r.json'}", f"--trace-dir={tmp_path / 't'}")
    assert code == 12, out
    assert out.splitlines()[:2] == [
        f"{model}: 5 configurations, 1 combination skipped: the model excludes it",
        "  skipped: counter: least=3 is more than most=2",
    ]
    assert rows(out) == [
        ["2", "0", "pass", "3"],
        ["2", "1", "pass", "2"],
        ["5", "0", "safety-violation", "6"],
        ["5", "1", "safety-violation", "5"],
        ["5", "3", "safety-violation", "3"],
    ]
    assert "below_four (5)" in out and "2 pass, 3 safety-violation" in out
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["excluded"] == [{"point": {"most": "2", "least": "3"}, "why": "counter: least=3 is more than most=2"}]
    assert record["repro"] == f"reassure sweep {model} --set=most=2,5 --set=least=0,1,3 --engine=reference"
    trace = record["configurations"][2]["properties"][0]["trace"]
    assert trace == str(tmp_path / "t" / "counter--least-0-most-5--below_four.itf.json")
    assert said(capsys, "replay", trace, f"--model={model}")[0] == 0


def test_a_sweep_to_a_depth_passes_to_that_depth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lease.py").write_text(LEASE)
    code, out, _ = said(capsys, "sweep", "lease.py", "--set=clients=1,2", "--depth=2", "--jobs=1", "--json=r.json")
    assert (code, out.splitlines()[-2]) == (0, "pass-to-depth (exit code 0)")
    record = json.loads(Path("r.json").read_text())
    assert [record[key] for key in ("verdict", "complete", "stop_reason")] == ["pass-to-depth", False, "depth"]
    check = '[[check]]\nkind = "sweep"\nmodel = "lease.py"\nset = { clients = "1,2" }\ndepth = 2\nexpect = "pass"\n'
    Path("gate.toml").write_text(check)
    code, _, err = said(capsys, "gate", "-j1")
    assert (code, 'write expect = "pass-to-depth"' in err) == (64, True)
    Path("gate.toml").write_text(check.replace('"pass"', '"pass-to-depth"'))
    assert said(capsys, "gate", "-j1")[0] == 0
    said(capsys, "sweep", "lease.py", "--set=clients=1,2", "--depth=9", "--jobs=1", "--json=r.json")
    assert json.loads(Path("r.json").read_text())["verdict"] == "pass"


def test_processes_say_what_one_says(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [model, "--set=most=1,2,3", "--engine=reference"]
    one = said(capsys, "sweep", *words, "-j", "1")
    several = said(capsys, "sweep", *words, "-j", "2")
    expected = [["1", "pass", "2"], ["2", "pass", "3"], ["3", "pass", "4"]]
    assert (one[0], rows(one[1], 1)) == (several[0], rows(several[1], 1)) == (0, expected)


def test_java_is_not_needed(model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setenv("PATH", os.devnull)
    assert said(capsys, "sweep", model, "--set=most=1", "--engine=reference", "-j", "1")[0] == 0


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2..4", ["2", "3", "4"]),
        ("2..2", ["2"]),
        ("-2..1", ["-2", "-1", "0", "1"]),
        ("1,3..4,6", ["1", "3", "4", "6"]),
        (" 2..3 , 5", ["2", "3", "5"]),
        ("2,4", ["2", "4"]),
        ("on", ["on"]),
    ],
)
def test_a_range_has_both_its_ends(text: str, values: list[str]) -> None:
    assert Grid.of([f"key={text}"]).axes == (("key", tuple(values)),)


def test_a_range_on_the_command_line(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    ranges = said(capsys, "sweep", model, "--set=most=2..4", "--engine=reference", "-j", "1")
    listed = said(capsys, "sweep", model, "--set=most=2,3,4", "--engine=reference", "-j", "1")
    assert (ranges[0], rows(ranges[1], 1)) == (listed[0], rows(listed[1], 1))
    assert [row[0] for row in rows(ranges[1], 1)] == ["2", "3", "4"]
    bare = said(capsys, "sweep", model, "most=2..4", "--engine=reference", "-j", "1")
    assert (bare[0], rows(bare[1], 1)) == (ranges[0], rows(ranges[1], 1))
    assert f"again: reassure sweep {model} --set=most=2..4 " in bare[1]
    code, _, err = said(capsys, "sweep", model, "most=2..4", "most")
    assert (code, "unrecognized arguments: most=2..4 most" in err) == (64, True)


def test_the_command_again_has_every_option(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "r.json"
    words = ["--set=most=1,2", "--property=below_four", "--depth=2", "--budget=60s", "--memory=1048576000"]
    words += ["--accept-clipping", "--fail-fast", "--engine=reference", "--pairwise"]
    said(capsys, "sweep", model, *words, "-j", "1", f"--json={record}")
    assert json.loads(record.read_text())["repro"] == " ".join(["reassure", "sweep", model, *words])


def test_configurations_with_equal_code_share_it(model: str) -> None:
    """What a kernel is stored under is its text, which holds no setting that no function reads."""
    from reassure.checkers.request.model_loader import load_model

    loaded = load_model(model)

    def text(**settings: Any) -> str:
        bound = BoundModel(loaded, loaded.config(**settings))
        return model_kernel(lower_model(bound, False), layout_of(bound.type)).ir

    assert text(label=1) == text(label=2)
    assert text(most=4) != text(most=5)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 3, 3, 3), (4, 3, 2), (2, 5), (1, 1, 1)])
def test_pairwise(sizes: tuple[int, ...]) -> None:
    """Any two values of different settings meet, in far fewer configurations than there are."""
    grid = Grid(tuple((f"k{i}", tuple(str(v) for v in range(n))) for i, n in enumerate(sizes)))
    chosen = grid.pairwise(grid.every())
    met = {two for point in chosen for two in itertools.combinations(point, 2)}
    for (a, xs), (b, ys) in itertools.combinations(grid.axes, 2):
        assert met >= {((a, x), (b, y)) for x in xs for y in ys}
    assert len(set(chosen)) == len(chosen) <= len(grid.every())
    assert chosen == grid.pairwise(grid.every())
    if sizes == (3, 3, 3, 3):
        assert len(chosen) <= 12


def test_pairwise_of_what_the_model_allows() -> None:
    """Two values that an excluded combination would have shown meet in another one, if there is one."""
    grid = Grid((("a", ("0", "1")), ("b", ("0", "1")), ("c", ("0", "1"))))
    good: list[Point] = [p for p in grid.every() if p != (("a", "0"), ("b", "0"), ("c", "0"))]
    chosen = grid.pairwise(good)
    assert set(chosen) <= set(good)
    assert {two for p in chosen for two in itertools.combinations(p, 2)} == {
        two for p in good for two in itertools.combinations(p, 2)
    }


def test_a_killed_process_is_one_line(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures.process import BrokenProcessPool

    from reassure.checkers.request.options import SearchOptions

    def broken(*_: Any) -> Any:
        raise BrokenProcessPool
        yield

    monkeypatch.setattr(sweep, "in_processes", broken)
    task = sweep.SweepTask(model, None, SearchOptions(), False, False)
    with pytest.raises(Failure, match="a process was killed while most=2 was checked"):
        sweep.locally([(("most", "2"),)], task, 2, lambda n, of: None)


def first_of_another_text(records: list[PointRecord]) -> list[PointRecord]:
    first, *others = records
    return [{**first, "model_sha256": "0" * 64}, *others]


def all_of_other_values(records: list[PointRecord]) -> list[PointRecord]:
    return [{**one, "values": "0" * 64} for one in records]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (first_of_another_text, r"reassure: {model} was changed during the sweep: run the command again\n"),
        (all_of_other_values, r".*has other values from outside of its text in other processes of the sweep.*"),
    ],
    ids=["of another text", "of other values"],
)
def test_records_of_other_models_have_no_verdict(
    changed: Callable[[list[PointRecord]], list[PointRecord]],
    message: str,
    model: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Processes read the text one after another: records of two texts are not a grid of one.

    Or as where an environment variable is not set on the machines of a cluster: all records agree, and not with us.
    """
    locally = sweep.locally
    monkeypatch.setattr(sweep, "locally", lambda *given: changed(locally(*given)))
    code, out, err = said(capsys, "sweep", model, "--set=most=2,3", "--jobs=1", "--quiet")
    assert (code, out) == (Exit.SYSTEM.value, "")
    assert re.fullmatch(message.replace("{model}", re.escape(model)), err, re.DOTALL)


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Gives each record of a configuration to a function, which makes another of it or raises."""
    whole = sweep.check_one

    def by(other: Callable[[Point, PointRecord], PointRecord]) -> None:
        monkeypatch.setattr(sweep, "check_one", lambda task, point: other(point, whole(task, point)))

    return by


def test_an_interrupt_keeps_what_was_found(
    model: str, tmp_path: Path, interrupt: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """The configurations that ended are reported, the others named as not run; never as passed."""

    def interrupted(point: Point, record: PointRecord) -> PointRecord:
        if point == (("most", "2"),):
            raise KeyboardInterrupt
        return record

    interrupt(interrupted)
    path = tmp_path / "r.json"
    words = [model, "--set=most=1,2,3", "--engine=reference", "-j", "1", f"--json={path}"]
    code, out, _ = said(capsys, "sweep", *words)
    assert (code, rows(out, 1)) == (5, [["1", "pass", "2"]])
    assert report_of(out, 5).endswith("\n1 pass, 2 not run: interrupted\n")
    record = json.loads(path.read_text())
    assert (record["complete"], record["stopped_because"]) == (False, "interrupted")
    assert record["not_run"] == [{"most": "2"}, {"most": "3"}]


def test_a_search_that_is_interrupted_ends_the_sweep(
    model: str, interrupt: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process a search ends at an interrupt with what it has: the next one is not begun."""
    cut = {"stop_reason": "interrupted", "verdict": "inconclusive", "exit_code": 5}
    interrupt(lambda point, record: record | cut)
    code, out, _ = said(capsys, "sweep", model, "--set=most=1,2,3", "--engine=reference", "-j", "1")
    assert (code, rows(out, 1)) == (5, [["1", "inconclusive", "2"]])
    assert "1 inconclusive, 2 not run: interrupted" in out
