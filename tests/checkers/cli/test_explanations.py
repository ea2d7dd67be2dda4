"""An explanation evaluates what Python evaluated; an error in it changes no exit code, and the trace is printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reassure.checkers.explorer.loaded import ModelSource
from reassure.checkers.explorer.session import ExplorerSession
from reassure.checkers.explorer.view import GuardShown
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.testing.expect import Expecting, ModelCheckFailed
from reassure.checkers.traces import explain, replay
from reassure.checkers.traces.properties_here import PropertyHere
from tests.helpers.command import model_file, said

MODEL = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

@dataclass(frozen=True)
class Entry:
    term: Annotated[int, Range(0, 3)]
    valid: bool

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 2)]
    entry: Entry | None

@dataclass(frozen=True)
class Config: ...

@initial
def start() -> State:
    return State(0, Entry(1, True))

@action(who="log")
def drop(s: State) -> State:
    require(s.entry is not None and some(s.entry).valid and s.n < 2)
    return replace(s, entry=None, n=s.n + 1)

@action(who="log")
def turn(s: State) -> State:
    require(s.entry is None)
    return replace(s, n=3 - s.n)

def there(s: State) -> bool:
    return s.entry is not None and some(s.entry).valid

@{kind}
def fine(s: State) -> bool:
    return {returned}

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""
SAFETY = ("invariant", "s.entry is not None and some(s.entry).valid")
LIVENESS = ("leads_to(there)", "s.entry is None")
BECAUSE = ["false: s.entry is not None and some(s.entry).valid", "because false: s.entry is not None", "s.entry = none"]
BROKEN = "not explained: OverflowError: too wide"

CODES = {
    "check MODEL": 12,
    "check MODEL --engine=reference": 12,
    "check MODEL --full": 12,
    "prove MODEL": 12,
    "simulate MODEL --walks=20": 12,
    "show TRACE --model=MODEL": 0,
    "show TRACE --model=MODEL --format=md": 0,
    "show TRACE --model=MODEL --format=html": 0,
    "show TRACE --model=MODEL --format=mermaid": 0,
    "replay TRACE --model=MODEL": 0,
    "find MODEL not(s.entry\\ is\\ not\\ None\\ and\\ some(s.entry).valid)": 0,
    "gate GATE": 15,
    "explore MODEL --out=OUT": 0,
}
WITHOUT_REASONS = ("replay", "explore")
"""Of a trace without a loop these print no reasons."""
LASSO_CODES = {
    words: {12: 13}.get(code, code)
    for words, code in CODES.items()
    if words.split()[0] not in ("prove", "simulate", "find")
}


def model_of(folder: Path, claim: tuple[str, str]) -> str:
    kind, returned = claim
    return model_file(folder, MODEL.replace("{kind}", kind).replace("{returned}", returned))


@pytest.fixture
def break_reasons(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has the reasons of a violation fail from now on."""
    return lambda: monkeypatch.setattr(explain, "_false_parts", broken)


def broken(*_: object) -> list[str]:
    raise OverflowError("too wide")


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Runs a command of the tables; its exit code, and its output with that of its files."""

    def run(words: str, claim: tuple[str, str]) -> tuple[int, str]:
        model, gate, out = model_of(tmp_path, claim), tmp_path / "gate.toml", tmp_path / "out.html"
        gate.write_text(f'[[check]]\nmodel = "{model}"\nengine = "reference"\nexpect = "pass"\n')
        if "TRACE" in words:
            assert said(capsys, "check", model, "--engine=reference", f"--trace-dir={tmp_path}")[0] in (12, 13)
        places = {"MODEL": model, "GATE": str(gate), "OUT": str(out), "TRACE": str(tmp_path / "mine--fine.itf.json")}
        parts = words.replace("\\ ", "\0").split()
        for name, place in places.items():
            parts = [part.replace("\0", " ").replace(name, place) for part in parts]
        code, printed, messages = said(capsys, *parts)
        return code, printed + messages

    return run


@pytest.mark.parametrize("words", CODES)
def test_what_python_evaluated_is_explained(words: str, run: Callable[..., tuple[int, str]]) -> None:
    code, printed = run(words, SAFETY)
    assert code == CODES[words]
    assert "not explained" not in printed
    reasons = [] if any(word in words for word in WITHOUT_REASONS) else BECAUSE if "find" not in words else BECAUSE[2:]
    assert [line for line in reasons if line not in printed] == []


@pytest.mark.parametrize("words", CODES)
def test_a_counterexample_is_printed_without_reasons(
    words: str, run: Callable[..., tuple[int, str]], break_reasons: Callable[[], None]
) -> None:
    break_reasons()
    code, printed = run(words, SAFETY)
    assert code == CODES[words]
    if not any(word in words for word in WITHOUT_REASONS):
        assert "drop()" in printed
    assert (BROKEN in printed) == (not any(word in words for word in (*WITHOUT_REASONS, "find")))
    assert BECAUSE[1] not in printed


@pytest.mark.parametrize("words", LASSO_CODES)
def test_a_lasso_is_printed_without_reasons(
    words: str, run: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, printed = run(words, LIVENESS)
    assert (code, "not explained" in printed) == (LASSO_CODES[words], False)
    monkeypatch.setattr(explain, "why_fair", broken)
    monkeypatch.setattr(replay, "why_fair", broken)
    code, printed = run(words, LIVENESS)
    assert code == LASSO_CODES[words]
    assert (BROKEN in printed) == ("explore" not in words)


def test_reports_of_a_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], break_reasons: Callable[[], None]
) -> None:
    gate, junit, record = (tmp_path / name for name in ("gate.toml", "junit.xml", "r.json"))
    gate.write_text(f'[[check]]\nmodel = "{model_of(tmp_path, SAFETY)}"\nengine = "reference"\nexpect = "pass"\n')
    words = ["gate", str(gate), f"--junit={junit}", f"--json={record}"]
    for reasons, breaks in ((BECAUSE, False), ([BROKEN], True)):
        if breaks:
            break_reasons()
        assert said(capsys, *words)[0] == 15
        assert json.loads(record.read_text())["exit_code"] == 15
        failures = [f.text or "" for f in ElementTree.parse(junit).iter("failure")]
        assert any(all(line in text for line in ["1. log: drop()", *reasons]) for text in failures)


def test_a_gate_whose_counterexample_cannot_be_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate.toml"
    gate.write_text(f'[[check]]\nmodel = "{model_of(tmp_path, SAFETY)}"\nengine = "reference"\nexpect = "pass"\n')
    monkeypatch.setattr("reassure.checkers.gate.run_check.told", broken)
    code, out, _ = said(capsys, "gate", str(gate))
    assert code == 15
    assert "; its counterexample cannot be told: OverflowError: too wide" in out


def in_explorer(model: str) -> tuple[PropertyHere, GuardShown]:
    """The explorer's answers on a property, and on a disabled action, after `start/drop`."""
    view = ExplorerSession(ModelSource(model, []), SearchOptions()).ask("view", {"path": "start/drop"})
    return view["properties"][0], next(a for a in view["actions"] if a["name"] == "drop")["guards"][0]


def test_the_explorer(tmp_path: Path, break_reasons: Callable[[], None]) -> None:
    model = model_of(tmp_path, SAFETY)
    claim, guard = in_explorer(model)
    assert (claim["status"], [line.strip() for line in claim["because"]]) == ("violated", BECAUSE)
    assert guard["refused"][0]["values"] == ["because false: s.entry is not None", "s.entry = none"]
    break_reasons()
    claim, guard = in_explorer(model)
    assert (claim["status"], claim["because"]) == ("violated", [BROKEN])
    assert guard["refused"][0]["values"] == [BROKEN]


def test_in_pytest(tmp_path: Path, break_reasons: Callable[[], None]) -> None:
    model = model_of(tmp_path, SAFETY)
    for line in (BECAUSE[1], BROKEN):
        with pytest.raises(ModelCheckFailed, match=line):
            Expecting(tmp_path, "reference")(model)
        break_reasons()


def test_a_file_that_changed_meanwhile(tmp_path: Path) -> None:
    """Its text now says something else than what was false."""
    from reassure.checkers.api import check, load

    path = Path(model_of(tmp_path, SAFETY))
    loaded = load(path)
    (result,) = check(loaded, engine="reference").properties
    assert result.trace is not None
    assert explain.reasons(result.trace, loaded.bound)[0] == BECAUSE[0]
    text = path.read_text()
    path.write_text(text.replace(SAFETY[1], "s.entry is None or some(s.entry).term == 1"))
    assert explain.reasons(result.trace, loaded.bound) == []
