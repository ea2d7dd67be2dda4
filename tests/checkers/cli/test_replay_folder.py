"""A folder of traces replayed in one process."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reassure.spec.semantics.trace import Itf
from tests.helpers.command import reported, said

FIRST, SECOND, THIRD = (f"core--traces--actions-00{n}.itf.json" for n in (1, 2, 3))


@pytest.fixture
def suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "suite"
    assert said(capsys, "traces", "core", f"--out={folder}", "--quiet")[0] == 0
    return folder


def edit(path: Path, change: Callable[[Itf], None]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def test_all_replay(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(capsys, "replay", str(suite)) == (0, "3 traces, 0 failed, 0 stale\n", "")


def test_stale_and_refused_traces_are_named(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(suite / FIRST, lambda data: data["#meta"].update(model_sha256="0" * 64))
    code, out, _ = said(capsys, "replay", str(suite))
    assert code == 0
    assert f"stale {FIRST}: the trace replays; the model's text has changed since\n" in out
    assert "3 traces, 0 failed, 1 stale\n\npass (exit code 0)\n" in out
    report = suite / "report.xml"
    code, out, _ = said(capsys, "replay", str(suite), "--fail-stale", f"--junit={report}")
    assert code == 17
    edit(suite / SECOND, lambda data: data["states"][1]["#meta"]["params"].update(isr={"#set": []}))
    (suite / THIRD).write_text("{")
    code, out, _ = said(capsys, "replay", str(suite), f"--junit={report}")
    assert code == 64
    assert re.search(f"FAIL  {SECOND}: core does not accept .*: step 1 \\(propose\\): not enabled: core.py", out)
    assert re.search(f"FAIL  {THIRD}: .* is not JSON", out)
    assert "3 traces, 2 failed, 1 stale\n\nusage (exit code 64)\n" in out
    root = ElementTree.parse(report).getroot()
    assert (root.get("tests"), root.get("failures")) == ("3", "2")
    cases = {case.get("name"): [child.tag for child in case] for case in root}
    assert cases == {FIRST: ["system-out"], SECOND: ["failure"], THIRD: ["failure"]}
    assert [f.get("type") for f in root.iter("failure")] == ["trace-mismatch", "usage"]


def test_a_trace_that_the_index_lists_is_missed(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The index of a suite lists its traces: fewer are not the suite, whatever else is there."""
    (suite / SECOND).rename(suite / SECOND.replace("json", "JSON"))
    report = suite / "report.xml"
    code, out, _ = said(capsys, "replay", str(suite.parent), f"--junit={report}")
    assert code == 17
    assert f"FAIL  suite/{SECOND}: core--traces--actions.suite.json lists it, and it is not there\n" in out
    assert "3 traces, 1 failed, 0 stale\n\ndrift (exit code 17)\n" in out
    assert ElementTree.parse(report).getroot().get("failures") == "1"
    for path in suite.glob("*.itf.*"):
        path.unlink()
    assert said(capsys, "replay", str(suite))[0] == 17
    (suite / "core--traces--actions.suite.json").write_text('{"traces": [3]}')
    code, out, _ = said(capsys, "replay", str(suite))
    assert code == 17 and "it cannot be read as the index of a suite: TypeError" in out
    (suite / "core--traces--actions.suite.json").unlink()
    assert said(capsys, "replay", str(suite))[0] == 6


GUARDED = """
from dataclasses import dataclass
from typing import Annotated

from reassure import Model, Range, action, initial, replace, require


@dataclass(frozen=True)
class Config:
    pass


@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 3)] = 0
    locked: bool = False


@initial
def start() -> State:
    return State()


@action(who="client")
def tick(s: State) -> State:
    require(not s.locked and s.n >= 0)
    require(s.n < 1)
    return replace(s, n=s.n + 1)


@action(who="client")
def lock(s: State) -> State:
    require(s.n == 1, "only then")
    require(not s.locked)
    return replace(s, locked=True)


MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    require(s.n < 1)\n", "    require(s.n < 1); require(s.n <= 3)\n"),
        ("    require(s.n < 1)\n", "    require(some(None if s.locked else s.n, 'locked') < 1)\n"),
        ("replace(s, n=s.n + 1)", "replace(s, n=some(s.n if s.n < 2 else None) + some(1 if s.n < 1 else None))"),
    ],
)
def test_a_new_suite_is_accepted(old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards within guards, and several on one line: what refuses is found by the machinery that wrote the suite."""
    assert old in GUARDED
    (model := tmp_path / "guarded.py").write_text(
        GUARDED.replace(old, new).replace("replace, require", "replace, require, some")
    )
    folder = tmp_path / "suite"
    assert said(capsys, "traces", str(model), "--cover=guards", f"--out={folder}", "--quiet")[0] in (0, 16)
    code, out, _ = said(capsys, "replay", str(folder), f"--model={model}")
    assert (code, " 0 failed" in out) == (0, True), out


def test_another_condition_of_the_guard_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model := tmp_path / "guarded.py").write_text(GUARDED.replace("s.n >= 0)", "s.n < 1)"))
    folder = tmp_path / "suite"
    said(capsys, "traces", str(model), "--cover=guards", f"--out={folder}", "--quiet")
    words = ("replay", str(folder), f"--model={model}")
    assert said(capsys, *words)[0] == 0
    model.write_text(GUARDED.replace("not s.locked and s.n >= 0)", "s.n >= 0 and s.n < 1)"))
    code, out, _ = said(capsys, *words)
    assert code == 15 and "and the trace says by require(not s.locked)" in out


def test_another_guard_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A suite of guards is about each of them: one that another stands in for is missed."""
    (model := tmp_path / "guarded.py").write_text(GUARDED)
    folder = tmp_path / "suite"
    code, out, _ = said(capsys, "traces", str(model), "--cover=guards", f"--out={folder}", "--quiet")
    assert code == 0
    words = ("replay", str(folder), f"--model={model}")
    code, out, _ = said(capsys, *words)
    assert code == 0 and " 0 failed, 0 stale" in out
    model.write_text(GUARDED.replace("    require(not s.locked and s.n >= 0)\n", ""))
    code, out, _ = said(capsys, *words)
    assert code == 15
    assert "by require(s.n < 1), and the trace says by require(not s.locked)" in out


def test_an_attempt_that_is_not_refused_fails(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def attempt(data: Itf, broker: str) -> None:
        params = {"broker": {"#bigint": broker}}
        data["#meta"]["suite"]["refused"] = [{"state": 0, "action": "fence", "params": params, "guard": "g"}]

    edit(suite / FIRST, lambda data: attempt(data, "1"))
    code, out, _ = said(capsys, "replay", str(suite))
    assert code == 15
    assert "fence is enabled in state 0, where it was refused" in out
    edit(suite / FIRST, lambda data: data["#meta"]["suite"]["refused"][0].update(guard=[1]))
    assert said(capsys, "replay", str(suite / FIRST))[0] == 18
    edit(suite / FIRST, lambda data: attempt(data, "7"))
    code, out, _ = said(capsys, "replay", str(suite / FIRST))
    assert code == 18


def test_bad_input_gets_one_line(suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for words, code, why in (
        ((str(empty),), 6, "has no trace"),
        ((str(suite / FIRST), "--fail-stale"), 64, "are for a folder"),
        ((str(tmp_path / "none"),), 64, "No such file"),
    ):
        found, _, err = said(capsys, "replay", *words)
        assert found == code
        assert why in err and len(err.splitlines()) == 1
