"""What a proof for any number rests on, goal by goal, as scripts that any SMT solver settles.

A script has the conditions of a step, the lemmas that the goal needs, and the goal. That it has no model is the
obligation. Each is made from nothing, by translations that know of no other query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import z3

from reassure.checkers.base.stop import Interrupted, StopReason
from reassure.checkers.engines.symbolic.any_number.induction import AnyGoal, AnyInduction
from reassure.checkers.engines.symbolic.any_number.terms import POSITIVE, AnyTerms
from reassure.checkers.engines.symbolic.lemma_templates import Lemma
from reassure.checkers.engines.symbolic.solver import milliseconds, unanswered
from reassure.spec.frontend.lowered_model import Formula


@dataclass
class Goals:
    """The goals of a model's properties. Its invariants are the first lemmas of the induction, in their order."""

    induction: AnyInduction
    of: dict[str, list[AnyGoal]] = field(default_factory=dict)
    """By property: that no step violates it."""
    claims_raise: dict[str, list[AnyGoal]] = field(default_factory=dict)
    actions_raise: dict[str, AnyGoal] = field(default_factory=dict)
    exits: list[tuple[str, bool, AnyGoal]] = field(default_factory=list)
    """Steps that leave a bound: its path, and whether it is declared."""

    def __post_init__(self) -> None:
        induction, system = self.induction, self.induction.system
        g, none = system.graph, induction.no_step
        session = {id(one.move): number for number, one in enumerate(induction.sessions)}
        states, steps = system.claims()
        self.of = {name: induction.goals_of(number) for number, name in enumerate(states)}
        for name, where in steps.items():
            self.of[name] = [
                AnyGoal(name, session[id(move)], g.not_(move.over_step(g, f.condition))) for move, f in where
            ]
            self.claims_raise[name] = [
                AnyGoal(f"{name} raises", session[id(move)], g.not_(move.over_step(g, check.condition)))
                for move, f in where
                for check in f.checks
            ]
        for name, f in states.items():
            checks = (g.not_(check.condition) for check in f.checks)
            self.claims_raise[name] = [AnyGoal(f"{name} raises", none, condition) for condition in checks]
        for move in system.moves:
            if move.raises is not g.false:
                self.actions_raise[move.name] = AnyGoal(f"{move.name} raises", none, move.raises)
            for path, condition, declared in move.clips:
                self.exits.append((path, declared, AnyGoal(f"{move.name} leaves {path}", none, condition)))

    def sides(self) -> Iterator[AnyGoal]:
        """Goals beside the properties: that nothing raises, that no step leaves a bound."""
        yield from chain(self.actions_raise.values(), *self.claims_raise.values())
        yield from (goal for _, _, goal in self.exits)

    def basis(self, names: list[str]) -> list[AnyGoal]:
        """The goals that proofs of properties consist of, but for those of lemmas."""
        goals = [g for name in names for g in (*self.of[name], *self.claims_raise[name])]
        return goals + (list(self.actions_raise.values()) if names else [])


def own_lemmas(states: dict[str, Formula]) -> list[Lemma]:
    """The invariants themselves, as candidate lemmas."""
    return [Lemma(name, f.condition) for name, f in states.items()]


def script(induction: AnyInduction, goal: AnyGoal, lemmas: set[int]) -> str:
    """The SMT-LIB script of a goal, which has no model if the lemmas make the goal impossible."""
    system, session = induction.system, induction.sessions[goal.session]
    terms, solver = AnyTerms(system.graph), z3.SimpleSolver()
    initial = session.move is not None and goal.session not in induction.steps
    told = [] if initial else [induction.lemmas[i].node for i in sorted(lemmas)]
    own = [] if session.move is None else [session.move.taken]
    for node in [*system.relations, *own, *told, goal.condition]:
        solver.add(terms.truth(node, (), POSITIVE), *terms.facts())
    return str(solver.to_smt2())


def z3_settles(text: str, seconds: float | None) -> bool:
    """Whether a Z3 of its own finds that a script has no model. Raises `Interrupted` where it gives no answer."""
    solver = z3.Solver(ctx=z3.Context())
    if seconds is not None:
        solver.set(timeout=milliseconds(seconds))
    solver.from_string(text)
    answer = solver.check()
    if answer == z3.unknown:
        raise unanswered(solver.reason_unknown())
    return bool(answer == z3.unsat)


def cvc5_settles() -> Callable[[str], bool] | None:
    """The same for cvc5; None if it is not installed."""
    try:
        import cvc5
    except ImportError:
        return None

    def settles(text: str) -> bool:
        solver: Any = cvc5.Solver()
        parser: Any = cvc5.InputParser(solver)
        logic = "" if "(set-logic" in text else "(set-logic QF_UFLIA)\n"
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, logic + text, "obligation")
        symbols, answer = parser.getSymbolManager(), ""
        while not (command := parser.nextCommand()).isNull():
            answer = str(command.invoke(solver, symbols)).strip() or answer
        if answer not in ("sat", "unsat"):
            raise Interrupted(StopReason.SOLVER, f"cvc5 gave no answer: {answer}")
        return answer == "unsat"

    return settles
