"""Steps in cases: which steps are, what their code is, and that claims over what stays come out as in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from reassure.checkers.encoding.state_layout import layout_of, state_layout
from reassure.checkers.engines.native import engine
from reassure.checkers.engines.native.model import loop_form as form
from reassure.checkers.engines.native.model import split_steps
from reassure.checkers.engines.native.model.kernel_numbers import ModelKernel
from reassure.checkers.engines.native.model.model_kernel import model_kernel
from reassure.checkers.engines.native.model.split_steps import in_cases
from reassure.checkers.request.prepare import prepare
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.language.types import IntType
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.model_text import model
from tests.helpers.runs import everything, plain_result, result_of

NUMBER = IntType(0, 7)


@pytest.fixture
def always() -> Iterator[None]:
    """Every step that has a choice is taken in cases."""
    with patch.dict(vars(split_steps), split_steps.ALWAYS):
        yield


def in_cases_of(kernel: ModelKernel) -> list[str]:
    """The actions whose steps are taken in cases."""
    return [one.name for one in kernel.loops if any(isinstance(s, form.Split) for s in form.statements(one.body))]


@pytest.mark.parametrize(
    ("name", "actions"), [("core", []), ("kraft", ["start", "retarget", "cancel", "alter_partition"])]
)
def test_steps_that_compute_much_for_nothing_are_in_cases(name: str, actions: list[str]) -> None:
    """The others are one piece: `commit` has nothing to choose, `fence` has little to compute."""
    prepared = prepare(name, [])
    assert in_cases_of(model_kernel(prepared.lowered, state_layout(prepared.bound))) == actions


# -- the form --------------------------------------------------------------------------------------------------


def chain(g: Graph, length: int, of: Node) -> Node:
    """A value that takes so many nodes."""
    for _ in range(length):
        of = g.op("seq_keep", of.type, (of, g.var("mask", NUMBER)))  # nothing simplifies it
    return of


@pytest.mark.parametrize(
    ("length", "cases"), [(78, False), (79, True)], ids=["saves less than a branch costs", "saves enough"]
)
def test_a_case_is_worth_a_branch(length: int, cases: bool) -> None:
    """With the choice itself these are 79 and 80 nodes, half of which a case without anything to compute saves."""
    g = Graph()
    a, on = g.var("a", NUMBER), g.var("on", g.true.type)
    step = (form.Emit((g.ite(on, chain(g, length, a), a),), (), None),)
    made = in_cases(g, step, ())
    if not cases:
        assert made == step
        return
    yes, no = (form.Emit((leaf,), (), None) for leaf in (chain(g, length, a), a))
    assert made == (form.Split(on, (yes,), (no,)),)


def test_a_case_has_bounds_errors_and_claims_in_their_order(always: None) -> None:
    """Those that the condition decides are gone; what both cases compute is computed before."""
    g = Graph()
    a, b = g.var("a", NUMBER), g.var("b", NUMBER)
    on, other = (g.var(name, g.true.type) for name in ("on", "other"))
    more, next_a = g.arith("add", a, b), g.ite(on, g.arith("add", a, b), a)
    step = (
        form.Clip(g.lt(g.num(7), next_a), 3),
        form.StepError(g.or_(on, other)),
        form.StepError(g.lt(a, more)),
        form.Emit((next_a, b), ((0, g.eq(next_a, a)), (1, g.and_(on, other)), (2, g.lt(b, more))), None),
    )
    assert in_cases(g, step, ()) == (
        form.Let(more),
        form.Let(g.lt(a, more)),
        form.Let(g.lt(b, more)),
        form.Split(
            on,
            (
                form.Clip(g.lt(g.num(7), more), 3),
                form.StepError(g.lt(a, more)),
                form.Emit((more, b), ((0, g.eq(more, a)), (1, other), (2, g.lt(b, more))), None),
            ),
            (
                form.StepError(other),
                form.StepError(g.lt(a, more)),
                form.Emit((a, b), ((0, g.true), (2, g.lt(b, more))), None),
            ),
        ),
    )


def test_a_conjunction_tells_of_its_terms_where_it_holds_and_a_disjunction_where_it_does_not(always: None) -> None:
    g = Graph()
    a, b = g.var("a", NUMBER), g.var("b", NUMBER)
    p, q = (g.var(name, g.true.type) for name in "pq")
    hits = ((0, p), (1, g.not_(q)))
    for condition, yes, no in (
        (g.and_(p, g.not_(q)), ((0, g.true), (1, g.true)), hits),
        (g.or_(p, g.not_(q)), hits, ()),
    ):
        (split,) = in_cases(g, (form.Emit((g.ite(condition, b, a),), hits, None),), (), 1)
        assert split == form.Split(condition, (form.Emit((b,), yes, None),), (form.Emit((a,), no, None),))


# -- claims over what a step leaves alone ----------------------------------------------------------------------

STEPS = """
@action(who="a node")
def paint(s: State, c: Config, node: Node) -> State:
    if node not in s.alive:
        return s
    new = s.score[node] != Colour.GREEN
    return replace(s, score=s.score.put(node, Colour.GREEN), number=s.number + (1 if new else 0))

@action(who="a node")
def stop(s: State, c: Config, node: Node) -> State:
    require(s.number > 0)
    return replace(s, alive=s.alive - {node}, leader=node if node in s.alive else s.leader)
"""
CLAIMS = {
    "true of a member that stays": (
        "step_property",
        "all(before.score[n] == Colour.RED or after.score[n] == Colour.GREEN for n in every(Node, c))",
        {"claim": None},
    ),
    "true if all stays, false of a change": (
        "step_property",
        "before.score == after.score or len(before.alive) != 2",
        {"claim": 4},
    ),
    "false of a member that stays": (
        "step_property",
        "all(before.score[n] != after.score[n] or n != Node(2) for n in every(Node, c))",
        {"claim": 2},
    ),
    "false if all stays": ("step_property", "before != after", {"claim": 3}),
    "raises if all stays": (
        "step_property",
        "before.number == 0 or max(before.alive - after.alive) in before.alive",
        {"claim": None, "raises": 3},
    ),
    "reached if all stays": ("cover", "before == after and len(after.alive) == 0", {"claim": 6}),
}
"""Their kind, what they say, and the number of states of the shortest run that breaks or reaches them."""


@pytest.mark.parametrize("what", CLAIMS)
def test_claims_over_what_stays(what: str, always: None, tmp_path: Path) -> None:
    kind, condition, depths = CLAIMS[what]
    claim = f"@{kind}\ndef claim(before: State, after: State, c: Config) -> bool:\n    return {condition}\n"
    bound = BoundModel(model(STEPS + claim, tmp_path))
    assert in_cases_of(model_kernel(lower_model(bound), layout_of(bound.type))) == ["paint", "stop"]
    want, got = plain_result(bound), result_of(engine.check, bound)
    assert {one.name: one.depth for one in [*got.properties, *got.covers] if one.name != "deadlock"} == depths
    assert repr(everything(got)) == repr(everything(want))
