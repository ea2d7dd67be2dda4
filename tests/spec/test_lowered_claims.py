"""Claims over steps: lowered once for all actions, or for each action that they ask about."""

from __future__ import annotations

from pathlib import Path

from reassure.spec.frontend.ir import Graph
from reassure.spec.frontend.lowered_model import Formula
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.model_text import model

TWO_ACTIONS = """
    @action(who="tester")
    def up(s: State, by: Annotated[int, Range(0, 1)]) -> State:
        return replace(s, number=s.number + by)

    @action(who="tester")
    def down(s: State, by: Annotated[int, Range(0, 3)]) -> State:
        return replace(s, number=s.number - by)

    @step_property
    def the_first_stays(before: State, after: State) -> bool:
        return min(after.alive) == Node(1)

    @step_property
    def in_small_steps(before: State, after: State, by: int) -> bool:
        return by <= 1

    @step_property
    def only_up_raises(before: State, after: State, action: Action) -> bool:
        return action == up or after.number <= before.number
"""


def formulas(folder: Path) -> tuple[Graph, dict[str, Formula], dict[str, Formula]]:
    """The claims over the steps of `up` and of `down`, by name."""
    lowered = lower_model(BoundModel(model(TWO_ACTIONS, folder)))
    up, down = ({f.name: f for f in of_one} for of_one in lowered.step_formulas)
    return lowered.graph, up, down


def test_a_claim_that_reads_states_alone_is_one_formula(tmp_path: Path) -> None:
    _, up, down = formulas(tmp_path)
    assert up["the_first_stays"] is down["the_first_stays"]
    assert [c.text for c in down["the_first_stays"].checks] == ["min(after.alive)"]


def test_a_claim_that_reads_the_action_is_lowered_for_each(tmp_path: Path) -> None:
    graph, up, down = formulas(tmp_path)
    assert up["only_up_raises"].condition is graph.true
    assert down["only_up_raises"].condition.op == "not"


def test_a_claim_that_reads_a_parameter_is_lowered_for_each(tmp_path: Path) -> None:
    graph, up, down = formulas(tmp_path)
    assert up["in_small_steps"].condition is graph.true
    assert down["in_small_steps"].condition.params == {"by"}
