"""Traces as plain steps: every type, there and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reassure.checkers.request.model_loader import names
from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.traces.plain_json import from_plain, to_plain
from reassure.spec.semantics.interpreter import Clipped
from reassure.spec.semantics.trace import TraceError
from tests.helpers.command import said


@pytest.mark.parametrize("model", [n for n, path in names().items() if path.parent.name != "mutants"])
def test_states_and_parameters_there_and_back(model: str) -> None:
    bound, _ = prepare_plain(model, [])
    state = next(s for _, _, s in bound.initial_states())
    for _ in range(4):
        data = json.loads(json.dumps(to_plain(state, bound.type)))
        assert from_plain(data, bound.type) == state
        step = next((s for s in bound.steps(state) if not isinstance(s.after, Clipped) and s.after != state), None)
        if step is None:
            break
        for name, kind in bound.parameters(step.action.name):
            assert from_plain(json.loads(json.dumps(to_plain(step.params[name], kind))), kind) == step.params[name]
        state = step.after


def test_what_is_not_of_the_type_is_refused() -> None:
    bound, _ = prepare_plain("core", [])
    kinds = dict(bound.type.fields)
    for name, data in (("leader", True), ("leader", "0"), ("leader", 9), ("isr", 3), ("isr", [0, "x"]), ("isr", {})):
        with pytest.raises(TraceError):
            from_plain(data, kinds[name])
    with pytest.raises(TraceError, match="has the fields"):
        from_plain({"isr": []}, bound.type)
    assert from_plain(None, kinds["leader"]) is None


def test_steps_of_a_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("traces", "core", "--format=steps", f"--out={tmp_path}", "--quiet")
    assert said(capsys, *words)[0] == 0
    data = json.loads((tmp_path / "core--traces--actions-003.steps.json").read_text())
    three = [0, 1, 2]
    start = {"replicas": three, "isr": three, "adding": [], "removing": [], "unfenced": three, "leader": 0}
    start["proposed"] = None
    assert data["initial"] == {"function": "three_in_sync", "params": {}, "state": start}
    fenced = {**start, "isr": [0, 1], "unfenced": [0, 1]}
    assert data["steps"] == [
        {"actor": "controller", "action": "fence", "params": {"broker": 2}, "changed": ["isr", "unfenced"],
         "state": fenced},
        {"actor": "controller", "action": "unfence", "params": {"broker": 2}, "changed": ["unfenced"],
         "state": {**fenced, "unfenced": three}},
    ]  # fmt: skip
    assert (data["format"], data["version"], data["config"]) == ("reassure-steps", 1, {"brokers": 3, "min_isr": 2})
    code, out, _ = said(capsys, "show", str(tmp_path / "core--traces--actions-003.itf.json"), "--format=steps")
    assert code == 0
    assert json.loads(out) == data


def test_a_lasso_has_its_closing_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "check", "core_liveness", f"--trace-dir={tmp_path}", "--quiet")[0] == 13
    (path,) = (p for p in tmp_path.iterdir() if '"closing"' in p.read_text())
    code, out, _ = said(capsys, "show", str(path), "--format=steps")
    data, itf = json.loads(out), json.loads(path.read_text())
    assert code == 0
    assert data["loop"] == itf["loop"]
    assert data["closing"]["action"] == itf["#meta"]["closing"]["action"]
