"""`reassure validate` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reassure.checkers.request.prepare import prepare_plain
from reassure.spec.semantics.trace import JsonObject, from_itf, read_itf, replay
from tests.helpers.command import model_file, report_of, reported, said
from tests.helpers.counter_model import BY_TWO

REASSIGNED = [
    {"action": "reassign", "note": "10:04:07 admin"},
    {"action": "propose", "state": {"leader": 0}},
    {"action": "alter", "state": {"adding": [], "removing": []}},
    {"state": {"isr": [1, 2]}},
]


def log(folder: Path, *lines: JsonObject) -> str:
    path = folder / "log.jsonl"
    path.write_text("\n\n".join(json.dumps(line) for line in lines) + "\n")
    return str(path)


def test_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, answer = tmp_path / "t.itf.json", tmp_path / "a.json"
    words = ("validate", "core", log(tmp_path, *REASSIGNED), "--hidden=*fence", f"--trace={trace}", f"--json={answer}")
    code, out, err = said(capsys, *words)
    assert (code, err) == (0, "")
    assert "core has a run that matches the log: 4 lines, 5 steps (2 hidden)\n" in out
    assert "2 states possible after the last line; 204 at most after any line, by the compiled kernel" in out
    bound, _ = prepare_plain("core", [])
    behaviour = from_itf(read_itf(trace), bound)
    replay(behaviour, bound)
    assert [s.action for s in behaviour.steps if s.action in ("reassign", "propose", "alter")] == [
        "reassign",
        "propose",
        "alter",
    ]
    assert behaviour.states[-1].isr == {1, 2}
    data = json.loads(answer.read_text())
    assert (data["verdict"], data["lines_explained"], data["failed_line"]) == ("pass", 4, None)
    by_python = reported(capsys, *words, "--engine=reference")[1]
    assert by_python == report_of(out, 0).replace("the compiled kernel", "plain Python")


def test_not_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = tmp_path / "a.json"
    code, out, _ = said(capsys, "validate", "core", log(tmp_path, *REASSIGNED), f"--json={answer}")
    assert code == 18
    assert 'core has no run that matches line 7: {"state": {"isr": [1, 2]}}\n' in out
    assert "a run matches the lines before it: 3 lines, 3 steps (0 hidden)\n" in out
    assert "  isr is {0}; the line says {1, 2} (in 2 of 2 states)\n" in out
    data = json.loads(answer.read_text())
    assert (data["verdict"], data["exit_code"], data["failed_line"]["number"]) == ("trace-mismatch", 18, 7)
    assert [s["isr"] for s in data["states"]] == [[0], [0]]


def test_too_many_possible_states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("validate", "core", log(tmp_path, {"action": "alter"}), "--hidden=*", "--width=100")
    code, _, err = said(capsys, *words)
    assert code == 5
    assert "at line 1 more than 100 states are possible: observe more fields" in err


def test_what_a_bound_may_hide_is_inconclusive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model_file(tmp_path, BY_TWO)
    for engine in ("native", "reference"):
        words = ("validate", path, log(tmp_path, {"action": "add"}, {"action": "add"}), f"--engine={engine}")
        code, out, _ = said(capsys, *words)
        assert code == 5
        assert "add leaves the bound of n (in 1 of 1 state)" in out
        assert "with wider bounds a run may match the log" in out


def test_bad_input_gets_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.write_text("\n")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe{}")
    for words, code, why in (
        ((str(tmp_path / "none"),), 64, "No such file"),
        ((str(empty),), 6, "has no line"),
        ((str(tmp_path / "bytes"),), 64, "is not text"),
        ((str(empty), "--hidden=vanish"), 64, "--hidden vanish: core has the actions"),
    ):
        found, _, err = said(capsys, "validate", "core", *words, "--engine=reference")
        assert found == code
        assert why in err and len(err.splitlines()) == 1


PARTS = BY_TWO.replace("import Model", "import Id, Map, fill, Model").replace(
    "State(0)", "State(None, fill(Node, c, 0), 0)"
)
PARTS = PARTS.replace("def zero()", "def zero(c: Config)").replace(
    "class State:",
    """class Point:
    x: Annotated[int, Range(0, 3)]

class Node(Id, size=2): ...

@dataclass(frozen=True)
class State:
    last: Point | None
    hw: Map[Node, Annotated[int, Range(0, 3)]]""",
)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([{}], 6),
        ([{"note": "isr is {1}"}, {"state": {}}, {"params": {}}], 6),
        ([{"state": {"hw": {}}}], 6),
        ([{"state": {"last": {}}}], 18),
        ([{"state": {"last": None}}], 0),
        ([{"state": {"hw": {"0": 0}}}], 0),
        ([{}, {"action": "*"}], 0),
    ],
)
def test_a_log_that_observes_nothing_is_no_pass(
    lines: list[JsonObject], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of an optional record `{}` says that it is there."""
    model = model_file(tmp_path, PARTS)
    got, _, err = said(capsys, "validate", model, log(tmp_path, *lines), "--engine=reference")
    assert (got, "has no line that observes anything" in err) == (code, code == 6)
