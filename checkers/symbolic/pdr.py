"""Property-directed reachability by Z3's Spacer, over the bit-vectors of a machine."""

from __future__ import annotations

from typing import Any

import z3

from reassure.checkers.symbolic.lemma_templates import Lemma
from reassure.checkers.symbolic.smt_terms import Seq
from reassure.checkers.symbolic.transition_system import Machine
from reassure.spec.frontend.lowering import Formula


def spacer(machine: Machine, claims: list[Formula], known: list[Lemma], seconds: float | None) -> tuple[Any, str]:
    """Whether a state that violates a claim is reachable: sat, unsat, or unknown; and what Spacer says to it.

    known: what holds in every reachable state; it narrows the states that steps are taken from.
    """
    engine = z3.Fixedpoint()
    engine.set(engine="spacer")
    if seconds is not None:
        engine.set(timeout=max(1, int(1000 * seconds)))
    before, after = _constants(machine, 0), _constants(machine, 1)
    reached = z3.Function("reached", *(c.sort() for c in before), z3.BoolSort())
    engine.register_relation(reached)

    def rule(head: z3.BoolRef, *body: z3.BoolRef) -> None:
        formula = z3.Implies(z3.And(*body), head)
        engine.add_rule(z3.ForAll(free(formula), formula))

    rule(reached(*before), machine.initial())
    terms = machine.terms(0)
    given = [machine.well_formed(0), *(terms(lemma.node) for lemma in known)]
    for step in machine.steps(0):
        rule(reached(*after), reached(*before), *given, step.taken)
    bad = z3.And(reached(*before), z3.Or(*(z3.Not(machine.holds(f, 0)) for f in claims)))
    answer = engine.query(z3.Exists(free(bad), bad))
    return answer, engine.reason_unknown() if answer == z3.unknown else ""


def _constants(machine: Machine, k: int) -> list[Any]:
    found: list[Any] = []
    for term in machine.state(k).values():
        found += [*term.items, term.length] if isinstance(term, Seq) else [term]
    return found


def free(formula: z3.ExprRef) -> list[z3.ExprRef]:
    """The constants of a formula."""
    seen, found, todo = set(), [], [formula]
    while todo:
        e = todo.pop()
        if e.get_id() in seen:
            continue
        seen.add(e.get_id())
        if z3.is_const(e) and e.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found.append(e)
        todo += e.children()
    return found
