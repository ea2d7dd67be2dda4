"""`prove --any-number` by property: a goal that Z3 does not answer leaves the others; six to eight members."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.engines.symbolic.any_number import counterexamples, induction, prover
from reassure.checkers.engines.symbolic.any_number.induction import AnyGoal, AnyInduction
from reassure.checkers.engines.symbolic.solver import EFFORT_USED, Unanswered, answered
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.stop import Interrupted, StopReason
from reassure.checkers.request.result import CheckResult
from tests.helpers import model_text
from tests.helpers.any_number import proof, statuses

CUBES = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

class Node(Id, size="nodes"): ...

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 3)] = 2
    limit: Annotated[int, Range(1, 3)] = 2

@dataclass(frozen=True)
class State:
    k: Annotated[int, Range(0, "limit")]
    x: Annotated[int, Range(1, 1000)]
    y: Annotated[int, Range(1, 1000)]
    z: Annotated[int, Range(1, 1000)]
    up: frozenset[Node]

@initial
def start(c: Config) -> State:
    return State(0, 1, 1, 1, frozenset())

@action(who="tester")
def count(s: State, c: Config) -> State:
    require(s.k < c.limit)
    return replace(s, k=s.k + 1)

@action(who="tester")
def grow(s: State) -> State:
    require(s.x < 1000 and s.y < 1000 and s.z < 999)
    return replace(s, x=s.y, y=s.x + 1, z=s.z + 2)

@invariant
def no_sum_of_cubes(s: State) -> bool:
    return s.x * s.x * s.x + s.y * s.y * s.y != s.z * s.z * s.z

@invariant
def within_limit(s: State, c: Config) -> bool:
    return s.k <= c.limit

@step_property
def k_never_falls(before: State, after: State) -> bool:
    return before.k <= after.k
"""


def cubes(folder: Path) -> str:
    return model_text.file("", folder, CUBES)


def test_a_goal_that_z3_does_not_answer_leaves_the_others(tmp_path: Path) -> None:
    """Of three cubes Z3 knows nothing. The others are inductive by themselves."""
    result = proof(cubes(tmp_path))
    assert statuses(result) == {"no_sum_of_cubes": "unknown", "within_limit": "proved", "k_never_falls": "proved"}
    (note,) = [p.note for p in result.properties if p.name == "no_sum_of_cubes"]
    assert note.startswith("no proof that grow keeps it (Z3 ")
    assert result.stopped.text == "not decided: no_sum_of_cubes"
    assert result.exit() is Exit.INCONCLUSIVE
    assert result.proof is not None and result.proof.certificate is not None
    assert result.proof.certificate.properties == ["within_limit", "k_never_falls"]


def ended(*words: object) -> list[object]:
    raise Interrupted(StopReason.BUDGET, "the budget of 9 s ended")


def long_for_cubes(self: AnyInduction, goal: AnyGoal, session: Any, remaining: Any, effort: int) -> Any:
    """Z3 uses up a small effort for the goal of cubes, and all the time that there is with a large one."""
    if goal.name != "no_sum_of_cubes":
        return DECIDE(self, goal, session, remaining, effort)
    if effort == induction.EFFORT:
        raise Unanswered("Z3 used up the effort for a goal")
    return ended()


DECIDE = AnyInduction.decide


@pytest.mark.parametrize(
    ("where", "function", "takes_all_the_time"),
    [(prover, "promising_for_any_number", ended), (AnyInduction, "decide", long_for_cubes)],
)
def test_what_is_inductive_alone_is_kept_when_the_budget_ends(
    where: object, function: str, takes_all_the_time: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model's own invariants are tried before the candidates of the templates; what takes Z3 long comes last."""
    monkeypatch.setattr(where, function, takes_all_the_time)
    result = proof(cubes(tmp_path))
    assert statuses(result) == {"no_sum_of_cubes": "unknown", "within_limit": "proved", "k_never_falls": "proved"}
    (note,) = [p.note for p in result.properties if p.name == "no_sum_of_cubes"]
    assert note == "not decided: the budget of 9 s ended"
    assert (result.stopped.reason, result.exit()) == (StopReason.BUDGET, Exit.INCONCLUSIVE)
    assert result.proof is not None and result.proof.certificate is not None
    assert result.proof.certificate.properties == ["within_limit", "k_never_falls"]


def with_answers(how: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> CheckResult:
    monkeypatch.setattr(induction, "answered", how)
    return proof(cubes(folder), properties=names)


def test_where_the_effort_is_used_up_a_goal_gets_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z3's share of the time grows only where it ended a goal."""
    asked: list[int] = []

    def slow(*words: Any, effort: int, **more: Any) -> bool:
        asked.append(effort)
        if effort <= induction.GOAL_EFFORT:
            raise Unanswered(EFFORT_USED)
        return answered(*words, effort=effort, **more)

    result = with_answers(slow, tmp_path, monkeypatch, "within_limit", "k_never_falls")
    assert statuses(result) == {"within_limit": "proved", "k_never_falls": "proved"}
    assert induction.GOAL_EFFORT < max(asked) <= induction.LONG_EFFORT


def test_where_nothing_is_answered_each_property_has_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def silent(*words: object, effort: int, **more: object) -> bool:
        asked.append(effort)
        raise Unanswered("Z3 says nothing")

    result = with_answers(silent, tmp_path, monkeypatch)
    assert induction.EFFORT < max(asked) <= induction.GOAL_EFFORT
    assert {p.name: (str(p.status), p.note) for p in result.properties if p.name in statuses(result)} == {
        name: (
            "unknown",
            f"no proof that {action} keeps it (Z3 says nothing); with up to 3 members of each sort, the most that are "
            "declared, no step was found that breaks it (Z3 says nothing) from a state that satisfies all lemmas",
        )
        for name, action in (("no_sum_of_cubes", "grow"), ("within_limit", "count"), ("k_never_falls", "count"))
    }


def test_a_proof_that_no_fresh_solver_settles_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one property alone."""

    def script(given: AnyInduction, goal: AnyGoal, lemmas: set[int]) -> str:
        if goal.name == "within_limit":
            raise Interrupted(StopReason.SOLVER, "Z3 gave no answer: perhaps")
        return induction.script(given, goal, lemmas)

    monkeypatch.setattr(prover, "script", script)
    monkeypatch.setattr(prover.AnyNumberProver, "is_complete", lambda self, names: True)
    result = proof(cubes(tmp_path), properties=["within_limit", "k_never_falls"])
    assert statuses(result) == {"within_limit": "unknown", "k_never_falls": "proved"}
    (note,) = [p.note for p in result.properties if p.name == "within_limit"]
    assert note == "proved, but the proof was not checked: Z3 gave no answer: perhaps"


FIVE = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

class Node(Id, size="nodes"): ...

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, {most})] = 3

@dataclass(frozen=True)
class State:
    up: frozenset[Node]
    number: Annotated[int, Range(0, 9)]

@initial
def start(c: Config) -> State:
    return State(frozenset(), 0)

@action(who="tester")
def join(s: State, node: Node) -> State:
    return replace(s, up=s.up | {{node}})

@action(who="tester")
def count(s: State) -> State:
    require(s.number < 8)
    return replace(s, number=s.number + 2)

@action(who="tester")
def jump(s: State) -> State:
    require(len(s.up) > 5)
    return replace(s, number=7)

@invariant
def at_most_five(s: State) -> bool:
    return len(s.up) <= 5

@invariant
def not_seven(s: State) -> bool:
    return s.number != 7
"""


def test_what_is_true_for_five_members_and_false_for_six_is_violated(tmp_path: Path) -> None:
    """The first has no step that breaks it with five, the second one that is not reachable."""
    result = proof(model_text.file("", tmp_path, FIVE.format(most=8)))
    assert statuses(result) == {"at_most_five": "violated", "not_seven": "violated"}
    notes = {p.name: p.note for p in result.properties if p.name in statuses(result)}
    assert notes == dict.fromkeys(notes, "with --set nodes=6; the fewest nodes found: 6")
    assert result.exit() is Exit.SAFETY


def test_what_no_declared_number_of_members_violates_stays_unknown(tmp_path: Path) -> None:
    """Of up to five members it is true: but not of any number."""
    result = proof(model_text.file("", tmp_path, FIVE.format(most=5)))
    assert statuses(result) == {"at_most_five": "unknown", "not_seven": "unknown"}
    notes = {p.name: p.note for p in result.properties if p.name in statuses(result)}
    assert notes["at_most_five"] == (
        "no proof that join keeps it; with up to 5 members of each sort, the most that are declared, no step breaks it "
        "from a state that satisfies all lemmas"
    )
    assert notes["not_seven"] == "count() breaks it from a state that satisfies all lemmas, with --set nodes=1"


def test_six_members_are_not_tried_where_five_are_declared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sizes: list[list[dict[str, int]]] = []
    of = counterexamples.Counterexamples.of

    def told(self: counterexamples.Counterexamples, *words: object) -> object:
        sizes.append(self.numbers())
        return of(self, *words)  # type: ignore[arg-type]

    monkeypatch.setattr(counterexamples.Counterexamples, "of", told)
    proof(model_text.file("", tmp_path, FIVE.format(most=7)), properties=["not_seven"])
    proof(model_text.file("", tmp_path, FIVE.format(most=99)), properties=["not_seven"])
    assert sizes == [[{"nodes": n} for n in range(1, 8)], [{"nodes": n} for n in range(1, 9)]]
