"""What a proof for any number rests on, goal by goal, as scripts that any SMT solver settles.

A script has the conditions of a step, the lemmas that the goal needs, and the goal. That it has no model is the
obligation. Each is made from nothing, by translations that know of no other query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import z3

from reassure.checkers.engines.symbolic.any_number.induction import AnyGoal, AnyInduction
from reassure.checkers.engines.symbolic.any_number.logic import implies
from reassure.checkers.engines.symbolic.any_number.naming import Env
from reassure.checkers.engines.symbolic.any_number.terms import POSITIVE, AnyTerms
from reassure.checkers.engines.symbolic.lemma_templates import Lemma
from reassure.checkers.engines.symbolic.solver import (
    checked,
    constants,
    context_of_any_thread,
    milliseconds,
    unanswered,
)
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import Formula
from reassure.spec.language.types import Type, unbounded


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
    terms, solver = AnyTerms(system.graph, system.look), z3.SimpleSolver()
    initial = session.move is not None and goal.session not in induction.steps
    told = [] if initial else [induction.lemmas[i].node for i in sorted(lemmas)]
    own = [] if session.move is None else [session.move.taken]
    for node in [*system.relations, *own, *told, goal.condition]:
        solver.add(terms.truth(node, (), POSITIVE), *terms.facts())
    return str(solver.to_smt2())


class Quantified(AnyTerms):
    """The same terms with quantifiers in place of instances: what a lemma says, whatever else a query names."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._bound: dict[int, Any] = {}
        """The variables of quantifiers, by the number of the term."""
        self._renamed: dict[str, str] = {}

    def function(self, name: str, arguments: list[Any], kind: Type) -> Any:
        """The same, under a name that does not depend on what else the graph has."""
        if NUMBERED.fullmatch(name):
            name = self._renamed.setdefault(name, f"{name.partition('!')[0]}!{len(self._renamed)}")
        return super().function(name, arguments, kind)

    def _for_all(self, kind: Type, condition: Callable[..., Any], env: Env, arity: int = 1, given: Any = None) -> None:
        if not unbounded(kind):
            super()._for_all(kind, condition, env, arity, given)
            return
        members = [z3.Const(f"x!{len(self._bound) + i}", self.sort(kind)) for i in range(arity)]
        self._bound |= {self._id(member): member for member in members}
        stated = condition(*members)
        self._fact(stated if given is None else implies(given, stated))

    def script(self, node: Node) -> str:
        """A script that asserts a condition on a state: each definition for all members, then the condition."""
        truth = self.truth(node, (), POSITIVE)
        stated = []
        for fact in [*self.facts(), truth]:
            members = [c for c in constants(fact) if c.get_id() in self._bound]
            stated.append(z3.ForAll(members, fact) if members else fact)
        sorts = [f"(declare-sort {sort} 0)" for sort in self._sorts.values()]
        functions = [function.sexpr() for function in _functions(stated)]
        return "\n".join([*sorts, *functions, *(f"(assert {one.sexpr()})" for one in stated)]) + "\n"


NUMBERED = re.compile(r"(n|len|total|less|distinct|s|slots)(!\d+)+")
"""The names of functions that have the numbers of nodes."""


def _functions(terms: Iterable[Any]) -> list[z3.FuncDeclRef]:
    """The uninterpreted functions and constants of terms, each once."""
    seen, found = set[int](), dict[str, z3.FuncDeclRef]()
    todo = list(terms)[::-1]
    while todo:
        term = todo.pop()
        if term.get_id() not in seen:
            seen.add(term.get_id())
            if z3.is_app(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
                found.setdefault(term.decl().name(), term.decl())
            todo += term.children()[::-1]
    return list(found.values())


def z3_settles(text: str, seconds: float | None, effort: int | None = None) -> bool:
    """Whether a Z3 of its own finds that a script has no model. Raises `Interrupted` where it gives no answer.

    effort: in Z3's units of work; None for no limit.
    """
    solver = z3.Solver(ctx=context_of_any_thread())
    if effort is not None:
        solver.set("rlimit", effort)
    if seconds is not None:
        solver.set(timeout=milliseconds(seconds))
    solver.from_string(text)
    answer = checked(solver)
    if answer == z3.unknown:
        raise unanswered(solver.reason_unknown())
    return bool(answer == z3.unsat)


LOGIC = "QF_UFLIA"
"""The logic of the goals: no quantifiers, functions, and integers that are added and compared."""


def one_file(scripts: Iterable[tuple[str, str]]) -> str:
    """Scripts of goals, by name, as one: a solver answers unsat to each `check-sat`."""
    goals = (f"(reset)\n(set-logic {LOGIC})\n(set-info :status unsat)\n; {name}\n{text}" for name, text in scripts)
    return "".join(goals)
