"""Property-directed reachability by Z3's Spacer, over the bit-vectors of a transition system.

Spacer's word is not taken for a proof: what counts is the invariant that it gives, checked like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import z3

from reassure.checkers.engines.symbolic.smt_terms import parts
from reassure.checkers.engines.symbolic.solver import constants, milliseconds, query, query_interrupted
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.engines.symbolic.verification import Invariant, ProofResult, inductive, refuted
from reassure.checkers.machine.stop import BY_USER
from reassure.checkers.request.result import PropertyStatus
from reassure.spec.frontend.lowered_model import Formula

PROVED_BY = "by property-directed reachability"
OF_SPACER = "an invariant of Spacer for "
"""The text of a lemma, with the name of the property that it implies."""
MOST_INSTANCES = 1024
"""Of the body of a quantifier in an answer, in place of the quantifier."""


def pdr(machine: Machine, claim: Formula, invariants: list[Invariant], seconds: float | None) -> ProofResult:
    """A proof of a claim over states by an inductive invariant.

    invariants: true in every reachable state; they narrow the states that steps are taken from. The status is
    VIOLATED, without a counterexample, if Spacer reports one.
    """
    engine, reached = _engine(machine, invariants, seconds)
    bad = z3.And(reached, z3.Not(machine.holds(claim, 0)))
    try:
        with query(engine.ctx):
            answer = engine.query(_bound(z3.Exists, bad, reached))
    except z3.Z3Exception as error:
        raise query_interrupted(str(error)) from None
    if answer == z3.sat:
        return ProofResult(PropertyStatus.VIOLATED, "Spacer: it can be violated")
    if answer == z3.unknown:
        reason = engine.reason_unknown()
        if (ended := query_interrupted(reason)).stop == BY_USER:
            raise ended
        return ProofResult(PropertyStatus.UNKNOWN, f"Spacer gave no answer ({reason})")
    condition = _invariant(engine.get_answer(), reached)
    if condition is None:
        return ProofResult(PropertyStatus.UNKNOWN, "Spacer gave no invariant that can be read")
    invariant = Invariant(OF_SPACER + claim.name, z3.And(condition, machine.holds(claim, 0)))
    if refuted(inductive(machine, [*invariants, invariant]), seconds):
        return ProofResult(PropertyStatus.UNKNOWN, "Spacer's invariant did not pass its check")
    return ProofResult(PropertyStatus.PROVED, PROVED_BY, lemmas=(invariant,))


def _engine(machine: Machine, invariants: list[Invariant], seconds: float | None) -> tuple[z3.Fixedpoint, z3.BoolRef]:
    """The steps as rules, and `reached` of copy 0."""
    engine = z3.Fixedpoint()
    engine.set(engine="spacer")
    if seconds is not None:
        engine.set(timeout=milliseconds(seconds))
    before, after = ([part for term in machine.state(k).values() for part in parts(term)] for k in (0, 1))
    reached = z3.Function("reached", *(c.sort() for c in before), z3.BoolSort())
    engine.register_relation(reached)

    def rule(head: z3.BoolRef, *body: z3.BoolRef) -> None:
        formula = z3.Implies(z3.And(*body), head)
        engine.add_rule(_bound(z3.ForAll, formula, reached(*before)))

    rule(reached(*before), machine.initial())
    premises = [machine.well_formed(0), *(i.condition for i in invariants)]
    for step in machine.steps(0):
        rule(reached(*after), reached(*before), *premises, step.taken)
    return engine, reached(*before)


def _bound(quantifier: Callable[..., z3.BoolRef], formula: z3.BoolRef, reached: z3.BoolRef) -> z3.BoolRef:
    """A formula with its constants bound; `reached` is none of them, also where it has no arguments."""
    variables = [c for c in constants(formula) if not c.decl().eq(reached.decl())]
    return quantifier(variables, formula) if variables else formula


def _invariant(answer: Any, reached: z3.BoolRef) -> z3.BoolRef | None:
    """Spacer's condition on the reached states, over copy 0; None if its answer has another form than the documented:
    `reached(x, y) == condition` for all x and y, or `reached == condition` if a state has no parts."""
    for part in answer.children() if z3.is_and(answer) else [answer]:
        body = part.body() if z3.is_quantifier(part) else part
        if not (z3.is_eq(body) and body.arg(0).decl().eq(reached.decl())):
            continue
        head, condition = body.children()
        variables = head.children()
        if not all(z3.is_var(v) for v in variables):
            return None
        arguments = dict(zip((z3.get_var_index(v) for v in variables), reached.children(), strict=True))
        if set(arguments) != set(range(len(variables))):
            return None
        return _without_quantifiers(z3.substitute_vars(condition, *(arguments[i] for i in range(len(arguments)))))
    return None


def _without_quantifiers(condition: z3.ExprRef, left: int = MOST_INSTANCES) -> z3.BoolRef | None:
    """The condition with an instance for each value of its bound variables; None if it would have too many.

    left: the instances that it may have. Z3's own elimination may take for ever: it does not look at a time limit.
    """
    if not _quantified(condition):
        return condition
    if not z3.is_quantifier(condition):
        parts_of_it = [_without_quantifiers(part, left) for part in condition.children()]
        return None if any(part is None for part in parts_of_it) else condition.decl()(*parts_of_it)
    sorts = [condition.var_sort(i) for i in range(condition.num_vars())]
    values = [_values(sort) for sort in reversed(sorts)]  # the variable that was bound last has the index 0
    count = math.prod(map(len, values))
    if condition.is_lambda() or not 0 < count <= left:
        return None
    instances = (z3.substitute_vars(condition.body(), *chosen) for chosen in product(*values))
    without = [_without_quantifiers(z3.simplify(one), left // count) for one in instances]
    return None if any(one is None for one in without) else (z3.And if condition.is_forall() else z3.Or)(*without)


def _values(sort: z3.SortRef) -> list[z3.ExprRef]:
    """The values of a sort; none if they are too many."""
    if isinstance(sort, z3.BitVecSortRef):
        return [z3.BitVecVal(i, sort) for i in range(1 << sort.size())] if 1 << sort.size() <= MOST_INSTANCES else []
    return [z3.BoolVal(False), z3.BoolVal(True)] if isinstance(sort, z3.BoolSortRef) else []


def _quantified(condition: z3.ExprRef) -> bool:
    seen, todo = set[int](), [condition]
    while todo:
        e = todo.pop()
        if z3.is_quantifier(e):
            return True
        if e.get_id() not in seen:
            seen.add(e.get_id())
            todo += e.children()
    return False
