"""Traces read back by a public reader of ITF, where it can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import said

itf_py = pytest.importorskip("itf_py")


def test_values_of_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "traces", "die_hard", f"--out={tmp_path}", "--quiet")[0] == 0
    for path in sorted(tmp_path.glob("*.itf.json")):
        data = json.loads(path.read_text())
        trace = itf_py.trace_from_json(data)
        assert trace.vars == ["big", "small"]
        expected = [{name: int(s[name]["#bigint"]) for name in trace.vars} for s in data["states"]]
        assert [state.values for state in trace.states] == expected
        assert [state.meta["action"] for state in trace.states] == [s["#meta"]["action"] for s in data["states"]]


def test_what_the_reader_does_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An optional value: it makes a class of the tag, and `None` is not a name of one (`docs/reference/traces.md`)."""
    assert said(capsys, "traces", "core", f"--out={tmp_path}", "--quiet")[0] == 0
    data = json.loads((tmp_path / "core--traces--actions-001.itf.json").read_text())
    with pytest.raises(ValueError, match=r"'None'|'#bigint'"):
        itf_py.trace_from_json(data)
