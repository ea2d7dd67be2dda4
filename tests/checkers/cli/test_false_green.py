"""Answers that were green, or a crash, where nothing was decided: each command refuses, or leaves it open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import model_text
from tests.helpers.command import said

COUNTER = """
@dataclass(frozen=True)
class State:
    up: Nodes
    count: Annotated[int, Range(0, 2)]

@initial
def start(c: Config) -> State:
    require(not c.flag)
    return State(NOBODY, 0)

@action(who="node")
def join(s: State, node: Node) -> State:
    require(node not in s.up)
    return replace(s, up=s.up | {node})

@action(who="counter", fair="weak")
def step(s: State) -> State:
    require(Node(1) in s.up)
    return replace(s, count=s.count + 1)

@invariant
def counted(s: State) -> bool:
    return s.count == 0 or Node(1) in s.up

@invariant(when=lambda c: c.nodes > 3)
def nobody_joins(s: State) -> bool:
    return s.up == NOBODY

@leads_to(lambda s: s.count == 2)
def comes(s: State) -> bool:
    return Node(1) in s.up
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    return model_text.file(COUNTER, tmp_path, model_text.BEFORE_STATE)


BACK = """
@action(who="counter", fair="weak")
def back(s: State) -> State:
    require(s.count == 2)
    return replace(s, count=0)
"""
"""With it a fair run stays within the bound."""


WAYS = """\
one of these decides it:
  a guard (require) in the action, so that no step leaves the bound
  a wider bound (Range, MaxLen, MaxSize)
  declared=True, as in Range(0, 6, declared=True), if the bound is meant
"""


@pytest.mark.parametrize(
    ("command", "words", "leaves"),
    [
        (
            "check",
            ("--engine=reference",),
            "steps leave a bound that the model does not declare: answers are within the",
        ),
        ("prove", (), "not excluded: steps that leave the bound of "),
    ],
)
def test_ways_out_of_an_undeclared_bound(
    command: str, words: tuple[str, ...], leaves: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only where the answers stay open for it."""
    ways = WAYS.replace("declared=True),", "declared=True), or --accept-clipping")
    model = model_text.file(COUNTER + BACK, tmp_path, model_text.BEFORE_STATE)
    code, out, _ = said(capsys, command, model, *words)
    assert (code, leaves in out, out.count(ways)) == (5, True, 1), out
    _, out, _ = said(capsys, command, model, *words, "--accept-clipping")
    assert (leaves in out, "one of these" in out) == (command == "prove", False)
    Path(model).write_text(Path(model).read_text().replace("Range(0, 2)", "Range(0, 2, declared=True)"))
    assert "one of these" not in said(capsys, command, model, *words)[1]


@pytest.mark.parametrize(
    ("command", "more", "codes"),
    [("fairness", "", (16, 16)), ("fairness", BACK, (5, 0)), ("guards", "", (5, 0))],
    ids=["fairness of no run", "fairness", "guards"],
)
def test_steps_that_leave_an_undeclared_bound_leave_it_open(
    command: str, more: str, codes: tuple[int, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If no fair run stays within the bound, `comes` is vacuous."""
    model = model_text.file(COUNTER + more, tmp_path, model_text.BEFORE_STATE)
    code, out, _ = said(capsys, command, model)
    assert code == codes[0]
    assert "4 steps leave a bound that the model does not declare: answers are within the bounds\n" + WAYS in out
    declared = Path(model).read_text().replace("Range(0, 2)", "Range(0, 2, declared=True)")
    Path(model).with_name("declared.py").write_text(declared)
    code, out, _ = said(capsys, command, str(Path(model).with_name("declared.py")))
    assert (code, "does not declare" in out) == (codes[1], False)


@pytest.mark.parametrize("how", [[], ["--prove"]])
def test_never_is_not_said_of_a_model_without_initial_states(
    how: list[str], model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "find", model, "s.count == 2", "--set", "flag=true", *how) == (
        6,
        "",
        "reassure: model has no initial state: start requires what is never so\n",
    )


def test_a_property_of_some_numbers_is_not_left_out_of_a_proof_for_any(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["prove", model, "--any-number"]
    assert said(capsys, *words) == (
        64,
        "",
        "reassure: the `when` of nobody_joins reads nodes, which is any number here: set it with --set, "
        "or name other properties by --property\n",
    )
    code, out, _ = said(capsys, *words, "--property", "counted")
    assert (code, "counted" in out and "within bounds" in out) == (
        5,
        True,
    )  # within its bounds, which it does not declare
    assert said(capsys, "prove", model, "--set", "nodes=4", "--property", "nobody_joins")[0] == 12


SUITES: list[tuple[Any, str]] = [
    (None, "`#meta`.`suite` is to be an object"),
    (0, "`#meta`.`suite` is to be an object"),
    ({"refused": None}, "`refused` in it a list of attempts"),
    ({"refused": ""}, "`refused` in it a list of attempts"),
    ({"refused": [1]}, "`refused` in it a list of attempts"),
    ({"refused": [{"state": -1, "action": "step", "params": {}}]}, "is of no state and action of this trace"),
    ({"refused": [{"state": 0, "action": "step", "params": []}]}, "has no `params`, an object"),
]


@pytest.mark.parametrize(("suite", "message"), SUITES)
def test_the_attempts_of_a_suite_have_their_shape(
    suite: Any, message: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--set", "nodes=4", "--property", "nobody_joins"]
    assert said(capsys, "check", model, *words, "--trace-dir", str(tmp_path / "traces"))[0] == 12
    (path,) = (tmp_path / "traces").glob("*.json")
    trace = json.loads(path.read_text())
    attempt = {"state": 0, "action": "step", "params": {}, "guard": "require(Node(1) in s.up)"}
    for refused, code in ((suite, None), ({"refused": [attempt]}, 0)):
        trace["#meta"]["suite"] = refused
        path.write_text(json.dumps(trace))
        for command in (["replay"], ["show", "--format", "steps"]):
            got, _, err = said(capsys, command[0], str(path), "--model", model, *command[1:])
            if code is None:
                assert got not in (0, 255) and message in err
            else:
                assert (got, err) == (code, "")
