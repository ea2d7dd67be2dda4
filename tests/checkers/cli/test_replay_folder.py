"""A folder of traces replayed in one process."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.helpers.command import said

FIRST, SECOND, THIRD = (f"core--traces--actions-00{n}.itf.json" for n in (1, 2, 3))


@pytest.fixture
def suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "suite"
    assert said(capsys, "traces", "core", f"--out={folder}", "--quiet")[0] == 0
    return folder


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def test_all_replay(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "replay", str(suite)) == (0, "3 traces, 0 failed, 0 stale (exit code 0)\n", "")


def test_stale_and_refused_traces_are_named(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(suite / FIRST, lambda data: data["#meta"].update(model_sha256="0" * 64))
    code, out, _ = said(capsys, "replay", str(suite))
    assert code == 0
    assert f"stale {FIRST}: the trace replays; the model's text has changed since\n" in out
    assert "3 traces, 0 failed, 1 stale (exit code 0)" in out
    report = suite / "report.xml"
    code, out, _ = said(capsys, "replay", str(suite), "--fail-stale", f"--junit={report}")
    assert code == 17
    edit(suite / SECOND, lambda data: data["states"][1]["#meta"]["params"].update(isr={"#set": []}))
    (suite / THIRD).write_text("{")
    code, out, _ = said(capsys, "replay", str(suite), f"--junit={report}")
    assert code == 64
    assert re.search(f"FAIL  {SECOND}: core does not accept .*: step 1 \\(propose\\): not enabled: core.py", out)
    assert re.search(f"FAIL  {THIRD}: .* is not JSON", out)
    assert "3 traces, 2 failed, 1 stale (exit code 64)" in out
    root = ElementTree.parse(report).getroot()
    assert (root.get("tests"), root.get("failures")) == ("3", "2")
    cases = {case.get("name"): [child.tag for child in case] for case in root}
    assert cases == {FIRST: ["system-out"], SECOND: ["failure"], THIRD: ["failure"]}
    assert [f.get("type") for f in root.iter("failure")] == ["trace-mismatch", "usage"]


def test_an_attempt_that_is_not_refused_fails(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def attempt(data: dict[str, Any], broker: str) -> None:
        params = {"broker": {"#bigint": broker}}
        data["#meta"]["suite"]["refused"] = [{"state": 0, "action": "fence", "params": params, "guard": "g"}]

    edit(suite / FIRST, lambda data: attempt(data, "1"))
    code, out, _ = said(capsys, "replay", str(suite))
    assert code == 15
    assert "fence is enabled in state 0, where it was refused" in out
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
