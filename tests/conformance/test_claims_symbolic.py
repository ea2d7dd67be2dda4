"""Plain Python == Z3 terms for claims of every kind: their truth, and whether they raise, on drawn states."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import z3

from reassure.checkers.engines.symbolic.smt_terms import Term, Terms
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, Step
from tests.helpers.drawn_states import drawn
from tests.helpers.model_text import module
from tests.helpers.symbolic_steps import Fixed

STATES = 15
OVER_STATES = [
    "s.alive <= every(Node, c) - {Node(2)} or s.inner.on",
    "len(s.alive) >= 2 and s.number // 2 == -1",
    "s.number % 3 == 1 or -s.number * 2 > s.inner.count",
    "max(s.alive) > Node(2)",
    "min(s.alive, default=s.order[0]) == Node(1)",
    "s.leader is not None and s.leader in s.alive",
    "s.order != () and s.order[-1] in s.alive",
    "s.order[1] == s.order[0]",
    "all(n < Node(3) or s.score[n] == Colour.RED for n in sorted(s.alive))",
    "any(s.order[i] == Node(2) for i in range(3))",
    "next(n for n in s.order if n in s.alive) == Node(1)",
    "sum(2 if s.score[n] == Colour.GREEN else 1 for n in s.alive) > 3",
    "any(m.to is None and m.body > 1 for m in s.sent)",
    "tuple(sorted(s.alive))[0] == s.leader",
    "s.score == fill(Node, c, Colour.RED) or s.colour == Colour.GREEN",
    "Message(Node(1), s.leader, 2) in s.sent or s.sent == frozenset()",
]
OVER_STEPS = [
    "after.number >= before.number",
    "node in after.alive or before.leader == node",
    "max(after.alive) == node",
    "before.order[0] == node or after.inner.on",
]
ACTION = """
@action(who="node")
def turn(s: State, c: Config, node: Node) -> State:
    require(node != s.leader)
    return replace(s, alive=s.alive ^ {node}, number=s.number if node in s.alive else s.inner.count)
"""


VIEW = """
@dataclass(frozen=True)
class Seen:
    alive: Nodes
    lowest: Node

def seen(s: State) -> Seen:
    return Seen(s.alive - {Node(2)}, s.order[0] if s.inner.on else min(s.alive))

@invariant
def viewed(s: Seen) -> bool:
    return s.lowest in s.alive

@invariant
def viewed_raising(s: Seen) -> bool:
    return max(s.alive) != s.lowest

@step_property
def viewed_steps(before: Seen, after: Seen, node: Node) -> bool:
    return before.lowest == after.lowest or node in before.alive
"""
KINDS = ("invariant", "cover", "infinitely_often", "eventually_always", "terminal")


def text() -> str:
    """The expressions as claims of every kind in turn, and each as the goal of a premise."""
    lines = [ACTION, VIEW]
    for number, expression in enumerate(OVER_STATES):
        body = f"(s: State, c: Config) -> bool:\n    return {expression}\n\n"
        lines.append(f"@{KINDS[number % len(KINDS)]}\ndef claim_{number}{body}")
        lines.append(f"def goal_{number}{body}@leads_to(goal_{number})\ndef premise_{number}(s: State) -> bool:\n")
        lines.append(f"    return s.number != {number % 7 - 2}\n\n")
    for number, expression in enumerate(OVER_STEPS):
        lines.append(f"@{('step_property', 'cover')[number % 2]}\n")
        lines.append(
            f"def step_{number}(before: State, after: State, node: Node) -> bool:\n    return {expression}\n\n"
        )
    return "\n".join(lines)


@pytest.fixture(scope="module")
def bound(tmp_path_factory: pytest.TempPathFactory) -> BoundModel:
    made = module(text(), tmp_path_factory.mktemp("claims"))
    return BoundModel(Model.of(made.__name__, state=made.State, config=made.Config, views=(made.seen,)))


def truth(call: Callable[[], bool]) -> bool | None:
    """What plain Python says; None if it raises."""
    try:
        return call()
    except ModelError:
        return None


def values(fixed: Fixed, given: z3.BoolRef, defined: z3.BoolRef, holds: z3.BoolRef) -> set[bool | None]:
    """What a claim may be by its terms; None for raising."""
    possible = {True: z3.And(defined, holds), False: z3.And(defined, z3.Not(holds)), None: z3.Not(defined)}
    return {value for value, condition in possible.items() if fixed.possible(given, condition)}


def differences(bound: BoundModel, machine: Machine, states: int) -> Iterator[tuple[str, Any]]:
    """Claims whose terms say something else than plain Python does, with the state."""
    rng, true, ends = random.Random(7), z3.BoolVal(True), machine.model.terminal_formulas
    for _ in range(states):
        state = drawn(bound.type, rng)
        fixed = Fixed(machine, state)
        for f in machine.model.state_formulas:
            assert f.claim is not None
            wanted = [truth(partial(bound.holds, f.claim, state))]
            terms = [machine.holds(f, 0)]
            if f.goal is not None:
                wanted.append(truth(partial(bound.goal_holds, f.claim, state)))
                terms.append(machine.terms(0)(f.goal))
            for want, term in zip(wanted, terms, strict=True):
                if values(fixed, true, machine.defined(f, 0), term) != {None if None in wanted else want}:
                    yield f.name, state
        defined, held = z3.And(*(machine.defined(f, 0) for f in ends)), z3.Or(*(machine.holds(f, 0) for f in ends))
        if values(fixed, true, defined, held) != {truth(partial(bound.is_terminal, state))}:
            yield "terminal", state
        steps = [o for o in bound.attempts(state) if isinstance(o, Step) and not isinstance(o.after, Clipped)]
        for after in dict.fromkeys(step.after for step in steps):
            fixed, taken = Fixed(machine, state).then(after), machine.steps(0)[0].taken
            for f in machine.model.step_formulas[0]:
                assert f.claim is not None
                found = {truth(partial(bound.holds_on, f.claim, state, s)) for s in steps if s.after == after}
                if values(fixed, taken, machine.defined(f, 0), machine.holds(f, 0)) != found:
                    yield f.name, (state, after)


def test_terms_of_claims(bound: BoundModel) -> None:
    machine = Machine(lower_model(bound))
    assert len(machine.model.state_formulas) == 31
    assert len(machine.model.terminal_formulas) == 3
    assert len(machine.model.step_formulas[0]) == 5
    assert next(differences(bound, machine, STATES), None) is None


@pytest.mark.parametrize(
    ("operation", "seen"),
    [("highest", "claim_3"), ("floordiv", "claim_1"), ("seq_get", "premise_6"), ("seq_first", "claim_10")],
)
def test_a_fault_in_a_claim_is_found(
    operation: str, seen: str, bound: BoundModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Terms._term

    def faulty(self: Terms, node: Node) -> Term:
        term = right(self, node)
        return term + 1 if node.op == operation and isinstance(term, z3.BitVecRef) else term

    monkeypatch.setattr(Terms, "_term", faulty)
    assert any(name == seen for name, _ in differences(bound, Machine(lower_model(bound)), 3 * STATES))


def test_what_raises_is_found(bound: BoundModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms without the checks of what raises."""
    monkeypatch.setattr(Machine, "defined", lambda self, formula, k: z3.BoolVal(True))
    left = {"premise_3", "claim_3", "step_2", "viewed", "viewed_raising", "viewed_steps", "terminal"}
    for name, _ in differences(bound, Machine(lower_model(bound)), 3 * STATES):
        left.discard(name)
        if not left:
            return
    pytest.fail(f"{left} are not found to raise")
