"""What a result says of actions that are never enabled, and of the bounds that steps leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.api import check
from reassure.checkers.cli.main import main
from tests.helpers.command import said

MODEL = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Model, Range, action, initial, invariant, replace, require

@dataclass(frozen=True)
class Config:
    pass

@dataclass(frozen=True)
class State:
    z: Annotated[int, Range(0, 2)]
    a: Annotated[int, Range(0, 2)]

@initial
def start() -> State:
    return State(z=0, a=0)

@action(who="one")
def far(s: State) -> State:
    return replace(s, z=s.z + 1)

@action(who="one")
def further(s: State) -> State:
    return replace(s, a=s.a + 2)

@action(who="one")
def never(s: State) -> State:
    require(s.z > 5)
    return s

@invariant
def small(s: State) -> bool:
    return s.z < 3

MODEL = Model.of(__name__, state=State, config=Config)
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "bounded.py"
    path.write_text(MODEL, encoding="utf-8")
    return path


def test_an_action_that_is_never_enabled_is_a_warning(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "check", str(model), "--accept-clipping", "--engine=reference")
    assert (code, out.count("warning: no reachable state enables never\n")) == (0, 1)
    code, out, _ = said(capsys, "check", str(model), "--accept-clipping", "--engine=reference", "--depth=1")
    assert "warning" not in out and "not enabled so far" in out
    code, out, _ = said(capsys, "check", "two_phase_commit", "--engine=reference")
    assert "warning" not in out


@pytest.mark.parametrize(("never", "code"), [('["never"]', 0), ("[]", 16), ('["never", "far"]', 15)])
def test_a_gate_judges_the_actions_that_it_lists(never: str, code: int, model: Path) -> None:
    gate = model.with_name("gate.toml")
    gate.write_text(
        f'[[check]]\nmodel = "bounded.py"\nengine = "reference"\naccept_clipping = true\nexpect = "pass"\n'
        f"never_taken = {never}\n",
        encoding="utf-8",
    )
    assert main(["gate", str(gate), "-j1"]) == code


def test_every_engine_lists_the_bounds_in_one_order(model: Path) -> None:
    for engine in ("reference", "native", "simulate"):
        assert list(check(model, engine=engine, depth=5).record({})["stats"]["clipped_at"]) == ["a", "z"], engine
