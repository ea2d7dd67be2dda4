"""Induction for any number: which goals are impossible, and the lemmas that each needs.

For each action there is a solver that knows its condition. A goal is a condition on the state before a step, and on the
parameters: a lemma broken, a property violated. If it is possible, the members that Z3's model names, and no others,
make a small state; candidates that are false in it are told to the solver, and the goal is asked again. What is left
is a counterexample to induction. Each goal has a limit of its own: one that Z3 does not answer leaves the others.

Also here: what a proof for any number rests on, goal by goal, as scripts that any SMT solver settles.

A script has the conditions of a step, the lemmas that the goal needs, and the goal. That it has no model is the
obligation. Each is made from nothing, by translations that know of no other query.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import z3

from reassure.checkers.engines.symbolic.any_number.naming import Env, implication
from reassure.checkers.engines.symbolic.any_number.samples import Structure, structure_of
from reassure.checkers.engines.symbolic.any_number.system import Move, System
from reassure.checkers.engines.symbolic.any_number.terms import POSITIVE, AnyTerms
from reassure.checkers.engines.symbolic.lemma_templates import Lemma
from reassure.checkers.engines.symbolic.solver import (
    Unanswered,
    answered,
    checked,
    constants,
    context_of_any_thread,
    milliseconds,
    query_interrupted,
    spent,
)
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import Formula
from reassure.spec.frontend.operations import arguments_first
from reassure.spec.language.types import IntType, SeqType, Type, unbounded

AT_ONCE = 6
"""Candidates that are told to a solver at a time."""
EFFORT = 2_000_000
"""Of Z3's units of work: a lemma stays in a core if Z3 needs more to find that the goal is impossible without it."""

GOAL_EFFORT = 60_000_000
"""Of Z3's units of work, for each goal: a proof that the ledger has (K21) needs more than a sixth of it."""

LONG_EFFORT = 4 * GOAL_EFFORT
"""Of Z3's units of work, for each goal where some had no answer: the fix of K20 needs more than a quarter of it."""


@dataclass(frozen=True)
class AnyGoal:
    """A condition that must be impossible. session: the number of the solver. lemma: broken by it, if that is it."""

    name: str
    session: int
    condition: Node
    lemma: int | None = None

    @property
    def key(self) -> tuple[str, int, Node]:
        """What it is about, whatever the number of its lemma."""
        return self.name, self.session, self.condition


@dataclass
class Session:
    """A solver that knows the conditions of one step, or of none."""

    system: System
    move: Move | None
    seconds_left: Callable[[], float | None]
    terms: AnyTerms
    solver: z3.Solver = field(init=False)
    flags: dict[int, z3.BoolRef] = field(default_factory=dict)
    """By lemma that the solver was told."""
    queries: int = 0

    def __post_init__(self) -> None:
        self.solver = z3.SimpleSolver()
        g = self.system.graph
        # what the types say of numbers is known also of those that nothing else names: a small state has them all
        numbers = [
            g.var(path, kind) for path, kind in self.system.scalars if isinstance(kind, IntType) and "#" not in path
        ]
        for node in [*numbers, *(g.config(name, kind.low) for name, kind in self.system.config)]:
            self.terms.value(node)
        self.solver.add(*self.terms.facts())
        for condition in [*self.system.relations, *([self.move.taken] if self.move else [])]:
            self.solver.add(self.terms.truth(condition, (), POSITIVE), *self.terms.facts())

    def tell(self, number: int, node: Node) -> None:
        """Tells the solver a lemma, which a query may assume."""
        flag = z3.Bool(f"lemma!{number}")
        self.flags[number] = flag
        self.solver.add(z3.Implies(flag, self.terms.truth(node, (), POSITIVE)), *self.terms.facts())

    def possible(
        self,
        condition: Node,
        remaining: Callable[[int], bool],
        untold: Callable[[Structure], list[tuple[int, Node]]],
        cost: Callable[[int], tuple[int, int]],
        effort: int,
    ) -> tuple[Structure | None, set[int]]:
        """A small state with parameters in which a condition is true; else the lemmas by which there is none.

        untold: lemmas that are false in a state, which the solver is told until there are none. cost: the
        cheapest are preferred. Raises `Unanswered` where Z3 gives no answer with the effort.
        """
        self.queries += 1
        mark, flags = self.terms.mark(), dict(self.flags)
        end = spent(self.solver) + effort
        self.solver.push()
        try:
            self.solver.add(self.terms.truth(condition, (), POSITIVE), *self.terms.facts())
            while True:
                assumed = {flag.get_id(): i for i, flag in self.flags.items() if remaining(i)}
                told = [self.flags[i] for i in assumed.values()]
                if not answered(self.solver, *told, seconds=self.seconds_left, effort=end - spent(self.solver)):
                    return None, self._smaller({assumed[c.get_id()] for c in self.solver.unsat_core()}, cost)
                state = structure_of(self.system, self.terms, self.solver.model())
                false = untold(state)
                if not false:
                    return state, set()
                for number, node in false:
                    self.tell(number, node)
        finally:
            self.solver.pop()
            self.terms.restore(mark)
            self.flags = flags

    def _smaller(self, core: set[int], cost: Callable[[int], tuple[int, int]]) -> set[int]:
        """A core without lemmas that it can do without, each of which would be a goal for every action."""
        number = {self.flags[i].get_id(): i for i in core}
        for i in sorted(core, key=cost, reverse=True):
            if i in core and cost(i)[0]:
                told = [self.flags[j] for j in sorted(core - {i})]
                with contextlib.suppress(Unanswered):
                    if not answered(self.solver, *told, seconds=self.seconds_left, effort=EFFORT):
                        core = {number[c.get_id()] for c in self.solver.unsat_core()}
        return core


class AnyInduction:
    """Goals for any number, and candidate lemmas of which they need some; each lemma is a goal in turn.

    say: called between queries, may raise to stop.
    """

    def __init__(
        self,
        system: System,
        lemmas: Iterable[Lemma],
        say: Callable[[str], None],
        seconds_left: Callable[[], float | None],
    ) -> None:
        self.system, self.say = system, say
        self.remaining: set[int] = set()
        self.cores: dict[AnyGoal, set[int]] = {}
        """For goals that are impossible: the lemmas that this needs."""
        self.failed: dict[AnyGoal, Structure] = {}
        """For goals that may be possible: a state that satisfies every lemma that was left then."""
        self.unanswered: dict[AnyGoal, str] = {}
        """For goals that Z3 did not answer: why."""
        self.kept: set[int] = set()
        """Lemmas of proofs that have been checked."""
        moves = [*system.initials, *system.moves]
        self.sessions = [Session(system, move, seconds_left, AnyTerms(system.graph, system.look)) for move in moves]
        self.no_step = len(self.sessions)
        self.sessions.append(Session(system, None, seconds_left, AnyTerms(system.graph, system.look)))
        self.steps = range(len(system.initials), len(moves))
        self._goals: dict[int, list[AnyGoal]] = {}
        self.actions: list[int] = []
        """By lemma: the number of actions that change what it is about."""
        self.ordered: list[int] = []
        """The lemmas that depend on the order of a sequence."""
        self.lemmas: list[Lemma] = []
        self.add(lemmas)

    def add(self, lemmas: Iterable[Lemma]) -> None:
        """Further candidates. What was not proved is open again, and with it the lemmas that went; the rest stays."""
        for lemma in lemmas:
            if _of_order(lemma.node):
                self.ordered.append(len(self.lemmas))
            self.actions.append(self._actions_that_change(lemma.node))
            self.lemmas.append(lemma)
        self.remaining = set(range(len(self.lemmas)))
        self.failed.clear()
        self.unanswered.clear()

    def _actions_that_change(self, node: Node) -> int:
        about = {one for one in arguments_first([node]) if one.op == "var"}
        return 1 + sum(any(move.after[one.data] is not one for one in about) for move in self.system.moves)

    def goals_of(self, lemma: int) -> list[AnyGoal]:
        """That a lemma holds initially, and that no step breaks it."""
        if lemma not in self._goals:
            g, node = self.system.graph, self.lemmas[lemma].node
            goals = []
            for session, its in enumerate(self.sessions):
                if its.move is not None:
                    after = its.move.afterwards(g, node)
                    if after is not g.true and (after is not node or session not in self.steps):
                        goals.append(AnyGoal(self.lemmas[lemma].text, session, g.not_(after), lemma))
            self._goals[lemma] = goals
        return self._goals[lemma]

    def run(self, goals: Iterable[AnyGoal], effort: int = GOAL_EFFORT) -> None:
        """Decides goals, and all that they come to need. effort: for each goal; with `EFFORT` the others stay open."""
        todo = list(goals)
        while todo:
            goal = todo.pop()
            if (
                goal in self.cores
                or goal in self.failed
                or goal in self.unanswered
                or (goal.lemma is not None and goal.lemma not in self.remaining)
            ):
                continue
            self.say(f"{len(self.cores)} goals proved, {len(todo) + 1} to go, {len(self.remaining):,} lemmas left")
            try:
                state, core = self.decide(goal, self.sessions[goal.session], self.remaining, effort)
            except Unanswered as error:
                if effort == EFFORT:
                    continue
                self.unanswered[goal] = str(error)
                todo += self._drop({goal.lemma}) if goal.lemma is not None else []
                continue
            if state is None:
                self.cores[goal] = core
                todo += [g for i in sorted(core) for g in self.goals_of(i) if g not in self.cores]
                continue
            self.failed[goal] = state
            if goal.lemma is not None:
                todo += self._drop({goal.lemma, *self._refuted_after(goal, state)})
            state.instance.memo.clear()

    def decide(
        self, goal: AnyGoal, session: Session, remaining: Collection[int], effort: int
    ) -> tuple[Structure | None, set[int]]:
        """A state of a session in which a goal is possible; else the lemmas by which it is not. Raises `Unanswered`."""
        initial = session.move is not None and goal.session not in self.steps
        needed = set().union(*self.cores.values())

        def cost(i: int) -> tuple[int, int]:
            """Nothing for a lemma that other goals need; else the number of actions for which it would be a goal."""
            return 0 if i in needed else self.actions[i], i

        def untold(state: Structure) -> list[tuple[int, Node]]:
            """Lemmas that are false in a state and that the solver was not told, the cheapest first."""
            if initial:
                return []
            others = (i for i in sorted(remaining, key=cost) if i not in session.flags)
            false = list(islice((i for i in others if not state.holds(self.lemmas[i].node)), AT_ONCE))
            if not false and _of_order(goal.condition):
                others = (i for i in self.ordered if i in remaining and i not in session.flags)
                false = list(islice(others, AT_ONCE))
            return [(i, self.lemmas[i].node) for i in false]

        state, core = session.possible(goal.condition, remaining.__contains__, untold, cost, effort)
        for i in core:
            if i not in session.flags:
                session.tell(i, self.lemmas[i].node)
        return state, core

    def _refuted_after(self, goal: AnyGoal, state: Structure) -> set[int]:
        """Further lemmas that are false in the state after the step: those about no number of members and no order.

        The state has the members that Z3's model names; how many others there are is not known.
        """
        move = self.sessions[goal.session].move
        assert move is not None
        if goal.session not in self.steps:  # an initial state may name so many members that all its values take minutes
            return set()
        after = state.after(self.system, move)
        known = self.remaining.difference(self.ordered, self.kept)
        return {i for i in known if not self.lemmas[i].node.counts and not after.holds(self.lemmas[i].node)}

    def _drop(self, gone: set[int]) -> list[AnyGoal]:
        """Drops lemmas; the goals that relied on one are open again."""
        self.remaining -= gone
        again = [goal for goal, core in self.cores.items() if core & gone]
        for goal in again:
            del self.cores[goal]
        return again

    def are_proved(self, goals: Iterable[AnyGoal]) -> bool:
        """Whether goals are proved, and those of all lemmas that they need."""
        todo, needed = list(goals), set[int]()
        while todo:
            goal = todo.pop()
            if goal not in self.cores:
                return False
            own = set() if goal.lemma is None else {goal.lemma}
            for i in (self.cores[goal] | own) - needed:
                needed.add(i)
                todo += self.goals_of(i)
        return True

    def used(self, goals: Iterable[AnyGoal]) -> list[int]:
        """The lemmas that proved goals need, those that these need, and so on."""
        used: set[int] = set()
        todo = list(goals)
        while todo:
            goal = todo.pop()
            own = set() if goal.lemma is None else {goal.lemma}
            for i in (self.cores[goal] | own) - used:
                used.add(i)
                todo += self.goals_of(i)
        return sorted(used)


def _of_order(node: Node) -> bool:
    """Whether a condition depends on the order of a sequence, which a small state does not know."""
    nodes = arguments_first([node])
    return any(n.op == "seq_first" or (n.op == "eq" and isinstance(n.args[0].type, SeqType)) for n in nodes)


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
        self._fact(stated if given is None else implication(given, stated))

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
        raise query_interrupted(solver.reason_unknown())
    return bool(answer == z3.unsat)


LOGIC = "QF_UFLIA"
"""The logic of the goals: no quantifiers, functions, and integers that are added and compared."""


def joined_scripts(scripts: Iterable[tuple[str, str]]) -> str:
    """Scripts of goals, by name, as one: a solver answers unsat to each `check-sat`."""
    goals = (f"(reset)\n(set-logic {LOGIC})\n(set-info :status unsat)\n; {name}\n{text}" for name, text in scripts)
    return "".join(goals)
