"""Plain Python == Z3 terms, construct by construct, on drawn states, and a fault in any operation shows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import z3

from reassure.checkers.engines.symbolic import smt_terms
from reassure.checkers.engines.symbolic.smt_terms import Seq, Term
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.frontend.operations import OPERATIONS, arguments_first
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.constructs import TABLES, bound_model
from tests.helpers.symbolic_steps import STATES, difference

FEW = STATES // 2
"""Drawn states, and steps at least, of each construct."""


@pytest.mark.parametrize("name", TABLES, ids=[n.split(" |")[0].replace(" ", "") for n in TABLES])
def test_construct(name: str, tmp_path: Path) -> None:
    bound = bound_model(name, tmp_path)
    machine, rng, compared = Machine(lower_model(bound)), random.Random(name), 0
    for _ in range(80):
        found, steps = difference(bound, machine, rng, FEW)
        assert found is None
        compared += steps
        if compared >= FEW:
            break
    assert compared >= 1


def wrong(term: Term) -> Term:
    """Another value of the same shape."""
    if isinstance(term, Seq):
        zeros = tuple(z3.BitVecVal(0, item.size()) for item in term.items)
        return Seq(zeros, z3.BitVecVal(0, term.length.size()))
    return z3.Not(term) if isinstance(term, z3.BoolRef) else term + 1


@pytest.fixture(scope="module")
def by_operation(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[BoundModel]]:
    """Models of the tables by the operations that they use."""
    folder, found = tmp_path_factory.mktemp("tables"), dict[str, list[BoundModel]]()
    for name in TABLES:
        bound = bound_model(name, folder)
        (action,) = lower_model(bound).actions
        roots = [*action.next_leaves, *(c.condition for c in action.checks), *(c for _, c, _ in action.clips)]
        for op in {node.op for node in arguments_first(roots)}:
            found.setdefault(op, []).append(bound)
    return found


SEEDED = {
    "quotients rounded to zero": ("floordiv", lambda a, b: a / b),
    "remainders of the sign of the dividend": ("mod", z3.SRem),
    "unsigned maximum": ("max", lambda a, b: z3.If(z3.UGT(a, b), a, b)),
    "unsigned minimum": ("min", lambda a, b: z3.If(z3.ULT(a, b), a, b)),
    "a quotient that overflows": ("floordiv", lambda a, b: z3.If(a >= 0, a / b, -((b - 1 - a) / b))),
}


@pytest.mark.parametrize("fault", SEEDED)
def test_a_fault_in_arithmetic_is_found(
    fault: str, by_operation: dict[str, list[BoundModel]], monkeypatch: pytest.MonkeyPatch
) -> None:
    operation, function = SEEDED[fault]
    monkeypatch.setitem(smt_terms.OPERATIONS, operation, smt_terms.arithmetic(function))
    models = by_operation[operation]
    assert any(difference(b, Machine(lower_model(b)), random.Random(1), 3 * STATES)[0] is not None for b in models)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_fault_in_an_operation_is_found(
    operation: str, by_operation: dict[str, list[BoundModel]], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = smt_terms.OPERATIONS[operation]
    monkeypatch.setitem(smt_terms.OPERATIONS, operation, lambda *given: wrong(right(*given)))
    for bound in by_operation[operation]:
        try:
            if difference(bound, Machine(lower_model(bound)), random.Random(1))[0] is not None:
                return
        except AssertionError:  # a successor twice: two codes for one state
            return
    pytest.fail(f"a wrong {operation} changes nothing in the tables")
