"""`reassure find`: the shortest trace to what an expression says, or that there is none, and why."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.helpers.command import reported, said
from tests.helpers.raising_model import written

GROWING = """
@action(who="node")
def grow(s: State) -> State:
    require(s.alive != NOBODY and s.n < 2)
    return replace(s, n=s.n + 1)
"""


def test_a_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shortest way there, the values that make it true, and a trace that replays."""
    record = tmp_path / "r.json"
    words = ["find", "core", "s.leader is None", f"--json={record}", f"--trace-dir={tmp_path}"]
    code, out, _ = said(capsys, *words)
    assert code == 0
    assert "  true: s.leader is None\n    s.leader = none\n" in out
    assert "found after 3 steps, among 381 states" in out
    data = json.loads(record.read_text())
    assert (data["verdict"], data["exit_code"], data["depth"], data["expression"]) == ("pass", 0, 4, "s.leader is None")
    assert Path(data["trace"]).name == "core--find--s-leader-is-none.itf.json"
    assert reported(capsys, "replay", data["trace"])[:2] == (0, "core accepts the trace: 3 steps\n")


def test_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "find", "core", "action == alter and before.leader != after.leader")
    assert code == 0
    assert out.splitlines()[0] == "core: 4 steps"
    assert "true: action == alter and before.leader != after.leader" in out


def test_the_configuration_and_names_of_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, GROWING)
    assert said(capsys, "find", path, "s.alive == every(Node, c) - {Node(0)} and s.n == 2")[0] == 0
    code, out, _ = said(capsys, "find", path, "s.alive == NOBODY", "--set=nodes=1")
    assert (code, "found after 1 step, among 5 states" in out) == (0, True)


def test_what_is_never_so_and_the_guard_that_forbids_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, record = written(tmp_path, GROWING), tmp_path / "r.json"
    code, out, _ = said(capsys, "find", path, "s.n == 3", f"--json={record}")
    assert code == 16
    assert "never true in this configuration: 24 states, all that are reachable" in out
    assert "forbidden by s.n < 2 in grow (raising.py:" in out
    assert "without it: grow() > grow() > grow()" in out
    data = json.loads(record.read_text())
    assert (data["verdict"], data["depth"], [g["text"] for g in data["forbidden_by"]]) == ("vacuous", None, ["s.n < 2"])
    code, out, _ = said(capsys, "find", path, "before.n > after.n")
    assert code == 16
    assert "no guard forbids it by itself" in out
    code, out, _ = said(capsys, "find", path, "s.n == 3", "--no-guards")
    assert (code, "forbidden" in out, "no guard" in out) == (16, False, False)


def test_beyond_a_bound_it_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Steps were cut off: what lies behind them was not searched."""
    path = written(tmp_path, GROWING.replace(" and s.n < 2", ""))
    code, out, _ = said(capsys, "find", path, "before.n > after.n")
    assert code == 5
    assert "unknown: not found among 32 states; 7 steps clipped at a bound" in out


def test_beyond_a_declared_bound_it_is_never_true_within_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `check` says of a cover."""
    cover = "\n@cover\ndef falls(before: State, after: State) -> bool:\n    return before.n > after.n\n"
    path = Path(written(tmp_path, GROWING.replace(" and s.n < 2", "") + cover))
    path.write_text(path.read_text().replace("Range(0, 3)", "Range(0, 3, declared=True)"))
    record = tmp_path / "r.json"
    code, out, _ = said(capsys, "find", str(path), "before.n > after.n", f"--json={record}")
    said_of_it = "never true within bounds: 32 states, all that are reachable without 7 steps beyond a declared bound\n"
    assert (code, said_of_it in out) == (16, True)
    assert "no guard forbids it by itself" in out
    data = json.loads(record.read_text())
    assert (data["exit_code"], data["stats"]["clipped"], data["stats"]["undeclared"]) == (16, 7, 0)
    assert "  falls  never reached" in said(capsys, "check", str(path))[1]
    code, out, _ = said(capsys, "find", str(path), "before.n > after.n", "--prove")
    said_of_it = "never true within bounds: proved, with 0 lemmas; a step may leave the declared bounds of n\n"
    assert (code, said_of_it in out) == (16, True)
    undeclared = written(tmp_path, GROWING.replace(" and s.n < 2", ""))
    assert said(capsys, "find", undeclared, "before.n > after.n", "--prove")[0] == 5


def test_a_budget_that_ends(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "find", "core", "s.isr == NOBODY", "--set=brokers=5", "--budget=1ms")
    assert code == 5
    assert "stopped because the budget of 0.001 s ended" in out


def test_a_model_or_an_expression_that_raises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(
        tmp_path,
        GROWING.replace("s.n + 1", "0 if min(s.alive) == Node(0) else 1").replace(
            "require(s.alive != NOBODY and s.n < 2)", "require(s.n < 2)"
        ),
    )
    record = tmp_path / "r.json"
    code, out, _ = said(capsys, "find", path, "s.n == 3", f"--json={record}", f"--trace-dir={tmp_path}")
    assert code == 150
    data = json.loads(record.read_text())
    assert Path(data["trace"]).is_file()  # to what raises
    assert data["depth"] is None  # of a state that was found
    assert "raising: grow raises after 3 steps" in out
    assert "unknown: the model raises first" in out
    code, out, _ = said(capsys, "find", written(tmp_path, GROWING), "min(s.alive) == Node(2) and s.n == 3")
    assert code == 150
    assert "unknown: the expression raises first" in out
    assert "expression raised ValueError: min() arg is an empty sequence" in out


def test_why_a_declared_cover_is_never_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`check` names the command that says so."""
    path = written(
        tmp_path, GROWING + "\n@cover\ndef full(s: State) -> bool:\n    return s.n == 3\n", ", deadlock=False"
    )
    code, out, _ = said(capsys, "check", path, "--set=nodes=2")
    assert code == 16
    (line,) = [line for line in out.splitlines() if "what forbids it: " in line]
    words = shlex.split(line.partition("what forbids it: ")[2])
    assert words == ["reassure", "find", path, "full(s)", "--set=nodes=2"]
    code, out, _ = said(capsys, *words[1:])
    assert code == 16
    assert "forbidden by s.n < 2 in grow" in out


def test_by_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For runs of any length: proved, found, or unknown where a bound is open."""
    path = written(tmp_path, GROWING)
    code, out, _ = said(capsys, "find", path, "s.n == 3", "--prove")
    assert code == 16
    assert out.startswith("never true in this configuration: proved, with ")
    code, out, _ = said(capsys, "find", path, "s.n == 2 and s.alive == NOBODY", "--prove")
    assert (code, "found after 5 steps\n" in out) == (0, True)
    other = tmp_path / "other"
    other.mkdir()
    path = written(other, GROWING.replace(" and s.n < 2", ""))
    code, out, _ = said(capsys, "find", path, "before.n > after.n", "--prove")
    assert (code, "unknown: neither found nor proved" in out) == (5, True)
    code, _, err = said(capsys, "find", path, "action == 2", "--prove")
    assert (code, "types do not fit: the action grow is never equal to an int" in err) == (64, True)
