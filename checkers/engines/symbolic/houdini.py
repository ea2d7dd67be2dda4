"""Proofs by induction from as many candidate lemmas as the goals need.

Candidates that fail in a sample of reachable states go first. Then Z3 is asked for each goal, and for each lemma that a
goal turns out to need, whether a step from a state that satisfies every lemma left can break it; it is told of a lemma
once this excludes a state that Z3 has found. A lemma that can be broken goes, and so does what the successor refutes
and what the states beyond it do, which the native kernel walks to.
What the proved goals need holds initially and is preserved by every step: so in every reachable state of any run.

Also here: induction over a model's properties together, with lemmas that Houdini finds among templates if that is
asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

import z3

from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.symbolic.lemma_templates import Lemma
from reassure.checkers.engines.symbolic.sample_evaluator import Sample, Unsupported
from reassure.checkers.engines.symbolic.scout import Scout
from reassure.checkers.engines.symbolic.solver import finite_domain_solver, satisfiable
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.engines.symbolic.verification import Claims, Invariant, ProofResult
from reassure.checkers.request.options import SimulationOptions
from reassure.checkers.request.result import PropertyStatus

WALKS = SimulationOptions(48, 25)
"""From a counterexample to induction: states that it leads to refute more lemmas."""
AT_ONCE = 8
"""Lemmas that Z3 is told of, at most, after a state that they exclude."""


@dataclass(frozen=True)
class ProofGoal:
    """A condition to be proved impossible: a step that violates a property, a step that leaves a bound."""

    name: str
    flag: z3.BoolRef
    """Implies the condition in the solver: assumed in a query, it asks whether the condition is possible."""
    needs_step: bool = True
    """Whether the condition is about a step that is taken, not about one that leaves a bound or raises."""


@dataclass(frozen=True)
class Preservation(ProofGoal):
    """The goal that no step breaks a candidate lemma."""

    lemma: int = 0


class Houdini:
    """Proves goals with those candidate lemmas that they need, each lemma in turn a goal.

    A goal is possible or not from states that satisfy every lemma left. If not, an unsatisfiable core says which lemmas
    matter, and those become goals. If a lemma is refuted it goes, with all that the successor and the states beyond
    refute; what had relied on them is asked again. What remains is inductive, given the invariants known before.

    say: called between queries with what is going on; may raise to stop. seconds_left: None for no limit.
    """

    def __init__(
        self,
        machine: Machine,
        scout: Scout,
        invariants: Iterable[Invariant],
        lemmas: Iterable[Lemma],
        say: Callable[[str], None],
        seconds_left: Callable[[], float | None],
    ) -> None:
        self.machine, self.scout, self.say, self.seconds_left = machine, scout, say, seconds_left
        self.lemmas: list[Lemma] = []
        self.remaining: set[int] = set()
        """Numbers of the lemmas that nothing has refuted."""
        self.queries = 0
        self.counterexamples: dict[ProofGoal, tuple[Any, Any]] = {}
        """For goals of a step that are possible: the state that satisfied all lemmas, and its successor."""
        self.cores: dict[ProofGoal, set[int]] = {}
        """For goals that are proved: the lemmas that they need."""
        self.goals: list[Preservation] = []
        """By lemma: that it is preserved."""
        self._true_initially: set[int] = set()
        self._asked: set[int] = set()
        """Numbers of the lemmas that are goals in any case."""
        self._told: set[tuple[int, int]] = set()
        """The copies of the state, and the lemmas that the solver has over them."""
        self._assume: list[z3.BoolRef] = []
        self._number_of: dict[int, int] = {}
        self._numbers = count()
        self._no_step = z3.Bool("no step need be taken")
        self._solver, self._initially = finite_domain_solver(), finite_domain_solver()
        self._initially.add(machine.initial())
        self._solver.add(
            machine.well_formed(0), *(i.condition for i in invariants), z3.Or(self._no_step, machine.step(0))
        )
        for lemma in lemmas:
            self.say(f"{len(self.lemmas):,} candidate lemmas")
            self.add(lemma)

    def add(self, lemma: Lemma) -> Preservation:
        """One more candidate; the goal that it is never broken."""
        i = len(self.lemmas)
        assume, goal = z3.Bool(f"assume!{i}"), Preservation(lemma.text, z3.Bool(f"broken!{i}"), lemma=i)
        self.lemmas.append(lemma)
        self._assume.append(assume)
        self.goals.append(goal)
        self._number_of[assume.get_id()] = i
        self.remaining.add(i)
        return goal

    def goal(self, name: str, condition: z3.BoolRef, needs_step: bool = True) -> ProofGoal:
        """A goal of one's own: a condition over a state, a step from it and the next state."""
        flag = z3.Bool(f"goal!{next(self._numbers)}")
        self._solver.add(z3.Implies(flag, condition))
        return ProofGoal(name, flag, needs_step)

    def given_all(self, goal: ProofGoal) -> tuple[Any, Any] | list[str]:
        """A step from a state that satisfies every lemma, dropped ones too, to where the goal is possible; if there is
        none, the texts of the lemmas by which it is impossible."""
        if self._possible(goal, set(range(len(self.lemmas)))):
            model = self._solver.model()
            return self.machine.decoded(0, model), self.machine.decoded(1, model)
        return [self.lemmas[i].text for i in sorted(self._core_of_query())]

    def proved(self, goal: ProofGoal) -> bool:
        """Whether a goal is impossible from every reachable state."""
        return goal in self.cores

    def run(self, goals: list[ProofGoal]) -> None:
        """Finds which goals (and which of the lemmas that they need) are impossible; call again for more goals."""
        self._asked |= {g.lemma for g in goals if isinstance(g, Preservation)}
        todo = [*self._relying_on(self._drop_initially_false(self.remaining & self._asked)), *goals]
        while todo:
            goal = todo.pop()
            if goal in self.cores or self._is_dropped(goal):
                continue
            self.say(f"{len(self.cores)} goals proved, {len(todo) + 1} left, {len(self.remaining):,} candidate lemmas")
            core = self._core(goal)
            if core is None:
                if not goal.needs_step:
                    continue  # nothing says what the next state is: it need not even be of its type
                model = self._solver.model()
                before, after = (self.machine.decoded(k, model) for k in (0, 1))
                self.counterexamples[goal] = (before, after)
                if isinstance(goal, Preservation):
                    todo += self._relying_on(self._refuted(goal, before, after, model))
            elif gone := self._drop_initially_false(core):
                todo += [*self._relying_on(gone), goal]
            else:
                self.cores[goal] = core
                waiting = set(todo)
                todo += [g for i in sorted(core) if (g := self.goals[i]) not in self.cores and g not in waiting]

    def _core(self, goal: ProofGoal) -> set[int] | None:
        """Lemmas by which a goal is impossible; None where it is possible, whichever of those left are assumed.

        Those that other goals need are assumed first, then some that exclude the state in which the goal is possible:
        Z3 is never told of most candidates, which would make all of its answers slow.
        """
        known = self.remaining & self._asked.union(*self.cores.values())
        assumed = set(known)
        while self._possible(goal, assumed):
            excluding = self._excluding(self._solver.model(), assumed)
            if not excluding:
                return None
            assumed.update(excluding)
        return self._smaller(goal, self._core_of_query(), known)

    def _excluding(self, model: z3.ModelRef, assumed: set[int]) -> list[int]:
        """The first of the lemmas left that are false in the state before the step, if any."""
        sample = self.scout.sample(self.scout.row(self.machine.decoded(0, model)))
        others = (i for i in sorted(self.remaining - assumed))
        return list(islice((i for i in others if self._is_false(i, sample, model, 0)), AT_ONCE))

    def _possible(self, goal: ProofGoal, assumed: set[int]) -> bool:
        self.queries += 1
        for i in sorted(assumed):
            self._tell(0, i, self._assume[i])
        if isinstance(goal, Preservation):
            self._tell(1, goal.lemma, goal.flag)
        taken = z3.Not(self._no_step) if goal.needs_step else self._no_step
        flags = (self._assume[i] for i in sorted(assumed))
        return satisfiable(self._solver, goal.flag, taken, *flags, seconds=self.seconds_left())

    def _tell(self, copy: int, i: int, flag: z3.BoolRef) -> None:
        """Gives a flag its meaning: a lemma is true before a step, or false after it."""
        if (copy, i) not in self._told:
            self._told.add((copy, i))
            condition = self.machine.terms(copy)(self.lemmas[i].node)
            self._solver.add(z3.Implies(flag, z3.Not(condition) if copy else condition))

    def _core_of_query(self) -> set[int]:
        return {self._number_of[c.get_id()] for c in self._solver.unsat_core() if c.get_id() in self._number_of}

    def _smaller(self, goal: ProofGoal, core: set[int], known: set[int]) -> set[int]:
        """A core without lemmas that it can do without: each that no other goal needs would be one more goal."""
        for i in sorted(core - known, reverse=True):
            if i in core and not self._possible(goal, core - {i}):
                core = self._core_of_query()
        return core

    def _is_dropped(self, goal: ProofGoal) -> bool:
        return isinstance(goal, Preservation) and goal.lemma not in self.remaining

    def _relying_on(self, dropped: set[int]) -> list[ProofGoal]:
        """Goals that had relied on lemmas that went: they are open again."""
        again = [g for g, core in self.cores.items() if core & dropped or self._is_dropped(g)]
        for goal in again:
            del self.cores[goal]
        return again

    def _drop_initially_false(self, numbers: set[int]) -> set[int]:
        """Drops those of some lemmas that an initial state refutes, and others with them; returns what went."""
        gone: set[int] = set()
        while fresh := sorted(numbers - self._true_initially - gone):
            conditions = [self.machine.terms(0)(self.lemmas[i].node) for i in fresh]
            some_is_false = z3.Bool(f"false initially!{next(self._numbers)}")
            self._initially.add(z3.Implies(some_is_false, z3.Not(z3.And(*conditions))))
            if not satisfiable(self._initially, some_is_false, seconds=self.seconds_left()):
                self._true_initially.update(fresh)
                break
            model = self._initially.model()
            state = self.machine.decoded(0, model)
            false = [i for i, c in zip(fresh, conditions, strict=True) if _is_false_in(model, c)]
            gone |= self._dropped(false, state, state) | self._drop(self.scout.row(state), state, state)
        return gone

    def _refuted(self, goal: Preservation, before: Any, after: Any, model: z3.ModelRef) -> set[int]:
        """Drops what the successor of a state refutes that satisfies every lemma, and what lies beyond it does."""
        gone = self._dropped([goal.lemma], before, after) | self._drop(self.scout.row(after), before, after, model)
        walks = SimulationOptions(WALKS.count, WALKS.depth, self.queries)
        _, beyond = self.scout.walks(walks, self.scout.row(before))
        return gone | self._drop(beyond, before, after)

    def _drop(self, rows: Rows, before: Any, after: Any, model: z3.ModelRef | None = None) -> set[int]:
        sample = self.scout.sample(rows)
        return self._dropped([i for i in self.remaining if self._is_false(i, sample, model, 1)], before, after)

    def _is_false(self, i: int, sample: Sample, model: z3.ModelRef | None, copy: int) -> bool:
        """Whether a lemma is known to be false in a sample. model: of Z3, one of whose copies the sample is."""
        try:
            return not sample.holds(self.lemmas[i].node)
        except Unsupported:
            return model is not None and _is_false_in(model, self.machine.terms(copy)(self.lemmas[i].node))

    def _dropped(self, gone: list[int], before: Any, after: Any) -> set[int]:
        for i in gone:
            self.counterexamples[self.goals[i]] = (before, after)
        self.remaining.difference_update(gone)
        return set(gone)

    def used(self) -> list[Lemma]:
        """The lemmas that the proved goals need: inductive together, given the invariants known before."""
        numbers = {g.lemma for g in self.cores if isinstance(g, Preservation)}.union(*self.cores.values())
        return [self.lemmas[i] for i in sorted(numbers)]


def _is_false_in(model: z3.ModelRef, condition: z3.BoolRef) -> bool:
    return bool(z3.is_false(model.eval(condition, model_completion=True)))


def own_lemmas(claims: Claims) -> list[Lemma]:
    """The invariants themselves, as candidate lemmas."""
    return [Lemma(name, f.condition) for name, f in claims.states.items()]


def induction(houdini: Houdini, claims: Claims, note: str) -> dict[str, ProofResult]:
    """An answer for each claim. houdini: its first lemmas are `own_lemmas`. note: how, for what is proved of states.

    The lemmas that the proofs need are `houdini.used()`.
    """
    goals = _goals(houdini, claims)
    houdini.run([g for name in (*claims.steps, *claims.states) for g in goals[name]])
    results = {}
    for name, its in goals.items():
        open_ = [g for g in its if not houdini.proved(g)]
        if not open_:
            how = note if name in claims.states else "for every step from a state that satisfies the lemmas"
            results[name] = ProofResult(PropertyStatus.PROVED, how)
        else:
            states = houdini.counterexamples.get(open_[0], ())
            why = "not inductive" if states else ""
            results[name] = ProofResult(PropertyStatus.UNKNOWN, why, counterexample_to_induction=states)
    return results


def given_the_others(houdini: Houdini, claims: Claims, proved: Collection[str]) -> dict[str, ProofResult]:
    """Why each claim was not proved: a step that breaks it from a state that satisfies every lemma of `houdini`, or the
    lemmas that it follows from and that are not in `proved`. houdini: as `induction`."""
    results = {}
    for name, its in _goals(houdini, claims).items():
        needed: set[str] = set()
        note, states = "not inductive", tuple[Any, ...]()
        for goal in its:
            given = houdini.given_all(goal)
            if isinstance(given, tuple):
                states = given
                break
            needed |= {*given} - {name, *proved}
        else:
            is_or_are = "is" if len(needed) == 1 else "are"
            note = f"proved as soon as {' and '.join(sorted(needed))} {is_or_are}" if needed else ""
        results[name] = ProofResult(PropertyStatus.UNKNOWN, note, counterexample_to_induction=states)
    return results


def _goals(houdini: Houdini, claims: Claims) -> dict[str, list[ProofGoal]]:
    """The goals that prove each claim. houdini: its first lemmas are `own_lemmas`."""
    machine = houdini.machine
    goals: dict[str, list[ProofGoal]] = dict(zip(claims.states, ([g] for g in houdini.goals), strict=False))
    for name, where in claims.steps.items():
        goals[name] = []
        for number, f in where:
            step = machine.steps(0)[number]
            violated = z3.And(step.taken, z3.Not(machine.holds(f, 0)))
            goals[name].append(houdini.goal(f"{name} of {step.name}", violated))
    return goals
