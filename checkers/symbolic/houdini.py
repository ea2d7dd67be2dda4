"""Proofs by induction from as many candidate lemmas as the goals need.

Candidates that fail in a sample of reachable states go first. Then Z3 is asked for each goal, and for each lemma that a
goal turns out to need, whether a step from a state that satisfies every lemma left can break it. A lemma that can be
broken goes, and so does what the successor refutes and what the states beyond it do, which the native kernel walks to.
What the proved goals need holds initially and is preserved by every step: so in every reachable state of any run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

import numpy as np
import z3

from reassure.checkers.base.options import SimulationOptions
from reassure.checkers.encoding.state_layout import Layout, state_layout
from reassure.checkers.native.compiled_kernel import compiled
from reassure.checkers.native.kernel import Rows
from reassure.checkers.native.probe import Probe
from reassure.checkers.native.search import RaisedAt, Search
from reassure.checkers.native.simulation import Walked, Walker
from reassure.checkers.symbolic.lemma_templates import Lemma, candidates
from reassure.checkers.symbolic.sample_evaluator import Sample, Unsupported, columns
from reassure.checkers.symbolic.transition_system import Machine
from reassure.checkers.symbolic.unanswered import unanswered
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowering import LoweredModel
from reassure.spec.language.types import BoolType, IntType, SeqType, Type, bits_of
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped

ENOUGH = 200_000
"""States of the search that the sample is drawn from, at the most (and one level more)."""
SAMPLE = 20_000
FEW = 300
ASTRAY = 48
"""SimulationOptions from a counterexample to induction."""


class Scout:
    """Reachable states of a model, by search and walks with its kernel."""

    def __init__(self, bound: BoundModel, lowered: LoweredModel, digest: str) -> None:
        self.bound, self.model = bound, lowered
        self.layout: Layout = state_layout(bound)
        self.paths = [leaf.path for leaf in lowered.leaves]
        self.kernel = compiled(lowered, self.layout)
        starts = sorted({self.layout.encode(s) for _, _, s in bound.initial_states() if not isinstance(s, Clipped)})
        self.starts = self.rows(starts)
        self.rng = np.random.default_rng(1)

    def rows(self, words: Sequence[tuple[int, ...]]) -> Rows:
        return np.array(words, np.uint64).view(np.int64).reshape(-1, self.layout.words)

    def row(self, state: Any) -> Rows:
        return self.rows([self.layout.encode(state)])

    def reachable(self) -> Rows:
        """A sample of reachable states: of a search, and of walks if the search does not see all."""
        search = Search(self.kernel, 1)
        search.seed([tuple(int(w) for w in row) for row in self.starts.view(np.uint64)])
        for _ in search.levels():
            if search.distinct >= ENOUGH:
                break
        found = np.concatenate([part for parts in search.level_rows for part in parts])
        if search.distinct < ENOUGH:
            return self.some(found, SAMPLE)
        # The first levels alone have too little in common with the rest; walks get there.
        _, beyond = self.walks(SimulationOptions(2_000, 100, 1))
        return np.concatenate([self.some(found, SAMPLE), self.some(beyond, SAMPLE)])

    def some(self, rows: Rows, count: int) -> Rows:
        if len(rows) <= count:
            return rows
        chosen: Rows = rows[self.rng.choice(len(rows), count, replace=False)]
        return chosen

    def walks(self, walks: SimulationOptions, starts: Rows | None = None) -> tuple[Walked, Rows]:
        """What walks saw, and their states."""
        walker = Walker(self.bound, self.kernel, walks, self.starts if starts is None else starts)
        seen, paths = Walked.none(self.kernel, walks.depth), []
        for number in range(walks.count):
            path = np.zeros((walks.depth, self.layout.words), np.int64)
            found, states = walker.run(number, number + 1, path)
            seen.add(found)
            paths.append(path[:states])
        return seen, np.unique(np.concatenate(paths), axis=0)

    def confirm(self, claim: Property, states: list[Any]) -> None:
        """Runs a counterexample through the native kernel too. Raises `Disagreement`."""
        probe = Probe(self.kernel)
        for before, after in pairwise(states):
            if not probe.leads_to(self.row(before), self.row(after)):
                raise Disagreement(f"the kernel has no step from {before} to {after}")
        last = states[-2] if claim.over_steps else states[-1]
        if not probe.flagged(self.row(last), self.kernel.model.flags()[claim.name]):
            raise Disagreement(f"{claim.name}: the kernel finds no fault with {last}")

    def sample(self, rows: Rows) -> Sample:
        return Sample(columns(rows, self.layout, self.paths))

    def anything(self, count: int = 600) -> Sample:
        """States of the type, mostly not reachable: what is true in all of these says little."""
        return Sample({leaf.path: _drawn(leaf.type, count, self.rng) for leaf in self.model.leaves})


def _drawn(kind: Type, count: int, rng: np.random.Generator) -> Any:
    if isinstance(kind, SeqType):
        length, k = rng.integers(0, kind.length + 1, count), bits_of(kind.item)
        packed = np.zeros(count, np.int64)
        for i in range(kind.length):
            packed |= np.where(length > i, rng.integers(0, kind.item.count, count) << (i * k), 0)
        return packed | length << 56
    if isinstance(kind, IntType):
        drawn = rng.integers(kind.low, min(kind.high, 1 << 40) + 1, count)
        return np.where(rng.random(count) < 0.7, drawn, max(kind.low, 0))
    return rng.integers(0, 2 if isinstance(kind, BoolType) else kind.count, count)


def promising(scout: Scout) -> list[Lemma]:
    """Candidates that hold in every state of the sample, and say something."""
    rows = scout.reachable()
    few, all_, anything = scout.sample(scout.some(rows, FEW)), scout.sample(rows), scout.anything()

    def holds(node: Node) -> bool:
        try:
            return few.holds(node) and not anything.holds(node) and all_.holds(node)
        except Unsupported:
            return False

    return candidates(scout.model, holds)


@dataclass(frozen=True)
class Goal:
    """What has to be impossible: a lemma broken by a step, a step that violates a property, or leaves a bound."""

    name: str
    flag: z3.BoolRef
    """Asks for it."""
    lemma: int = -1


class Houdini:
    """Proves goals with those candidate lemmas that they need, each lemma in turn a goal.

    A goal is possible or not from states that satisfy every lemma left. If not, an unsatisfiable core says which lemmas
    matter, and those become goals. If a lemma is refuted it goes, with all that the successor and the states beyond
    refute; what had relied on them is asked again. What remains is inductive by itself.

    budget: called between queries with what is going on; raises to stop.
    """

    def __init__(self, machine: Machine, scout: Scout, lemmas: list[Lemma], budget: Callable[[str], None]) -> None:
        self.machine, self.scout, self.budget = machine, scout, budget
        self.lemmas = lemmas
        self.live = set(range(len(lemmas)))
        self.rounds = 0
        self.numbers = count()
        self.lost: dict[str, tuple[Any, Any]] = {}
        """For goals that are possible: the state that satisfied all lemmas, and its successor."""
        self.cores: dict[Goal, set[int]] = {}
        pre, post = machine.terms(0), machine.terms(1)
        self.assume = [z3.Bool(f"assume!{i}") for i in range(len(lemmas))]
        self.number = {flag.get_id(): i for i, flag in enumerate(self.assume)}
        self.goals = [Goal(lemma.text, z3.Bool(f"broken!{i}"), i) for i, lemma in enumerate(lemmas)]
        self.anyhow = z3.Bool("no step need be taken")
        self.solver, self.initially = z3.SolverFor("QF_FD"), z3.SolverFor("QF_FD")
        self.initially.add(machine.initial())
        self.solver.add(machine.well_formed(0), z3.Or(self.anyhow, machine.step(0)))
        for lemma, assume, goal in zip(lemmas, self.assume, self.goals, strict=True):
            self.initially.add(z3.Implies(goal.flag, z3.Not(pre(lemma.node))))
            self.solver.add(z3.Implies(assume, pre(lemma.node)), z3.Implies(goal.flag, z3.Not(post(lemma.node))))

    def add(self, lemma: Lemma) -> Goal:
        """One more candidate; the goal that it is never broken."""
        i = len(self.lemmas)
        assume, goal = z3.Bool(f"assume!{i}"), Goal(lemma.text, z3.Bool(f"broken!{i}"), i)
        self.lemmas.append(lemma)
        self.assume.append(assume)
        self.goals.append(goal)
        self.number[assume.get_id()] = i
        self.live.add(i)
        pre, post = self.machine.terms(0), self.machine.terms(1)
        self.initially.add(z3.Implies(goal.flag, z3.Not(pre(lemma.node))))
        self.solver.add(z3.Implies(assume, pre(lemma.node)), z3.Implies(goal.flag, z3.Not(post(lemma.node))))
        return goal

    def goal(self, name: str, condition: z3.BoolRef) -> Goal:
        """A goal of one's own: a condition over a state, a step from it and the next state."""
        flag = z3.Bool(f"goal!{next(self.numbers)}")
        self.solver.add(z3.Implies(flag, condition))
        return Goal(name, flag)

    def run(self, goals: list[Goal], steps: bool = True) -> None:
        """Finds which goals (and which of the lemmas that they need) are impossible; call again for more goals.

        steps: whether the goals are about steps that are taken (and not about leaving a bound, or raising).
        """
        self._initially()
        own = {g for g in goals if g.lemma < 0}
        todo = [g for g in goals if g.lemma < 0 or g.lemma in self.live]
        while todo:
            goal = todo.pop()
            if goal in self.cores or (goal.lemma >= 0 and goal.lemma not in self.live):
                continue
            self.rounds += 1
            self.budget(f"{len(self.cores)} goals proved, {len(todo) + 1} to go, {len(self.live):,} lemmas at hand")
            taken = z3.Not(self.anyhow) if steps or goal not in own else self.anyhow
            answer = self.solver.check(goal.flag, taken, *(self.assume[i] for i in sorted(self.live)))
            if answer == z3.unsat:
                core = {self.number[c.get_id()] for c in self.solver.unsat_core() if c.get_id() in self.number}
                self.cores[goal] = core
                waiting = set(todo)
                todo += [g for i in sorted(core) if (g := self.goals[i]) not in self.cores and g not in waiting]
            elif answer == z3.sat:
                model = self.solver.model()
                states = [self.machine.decoded(k, model) for k in (0, 1)]
                self.lost[goal.name] = (states[0], states[1])
                if goal.lemma >= 0:
                    todo += self._without(self._refuted(states, model))
            else:
                raise unanswered(self.solver.reason_unknown())

    def _without(self, gone: set[int]) -> list[Goal]:
        """Goals that had relied on lemmas that went."""
        again = [g for g, core in self.cores.items() if core & gone]
        for goal in again:
            del self.cores[goal]
        return again

    def _initially(self) -> None:
        """Drops lemmas that an initial state refutes."""
        while self.live:
            self.initially.push()
            self.initially.add(z3.Or(*(self.goals[i].flag for i in self.live)))
            answer = self.initially.check()
            model = self.initially.model() if answer == z3.sat else None
            self.initially.pop()
            if answer == z3.unsat:
                return
            if model is None:
                raise unanswered(self.initially.reason_unknown())
            state = self.machine.decoded(0, model)
            if not self._drop(self.scout.row(state), [state, state]):
                self._drop_false(model, 0, [state, state])

    def _refuted(self, states: list[Any], model: z3.ModelRef) -> set[int]:
        """Drops what the successor of a state refutes that satisfies every lemma, and what lies beyond it does."""
        gone = self._drop(self.scout.row(states[-1]), states) or self._drop_false(model, 1, states)
        try:
            _, beyond = self.scout.walks(SimulationOptions(ASTRAY, 25, self.rounds), self.scout.row(states[0]))
        except RaisedAt:  # astray, not necessarily reachable
            return gone
        return gone | self._drop(beyond, states)

    def _drop(self, rows: Rows, states: list[Any]) -> set[int]:
        sample = self.scout.sample(rows)
        gone = {i for i in self.live if not self._holds(sample, i, rows)}
        for i in gone:
            self.lost[self.lemmas[i].text] = (states[0], states[-1])
        self.live -= gone
        return gone

    def _drop_false(self, model: z3.ModelRef, copy: int, states: list[Any]) -> set[int]:
        """What is false in a model, where numpy has another value for what an operation leaves undefined."""
        terms = self.machine.terms(copy)
        gone = {i for i in self.live if z3.is_false(model.eval(terms(self.lemmas[i].node), model_completion=True))}
        if not gone:
            raise RuntimeError("a counterexample refutes nothing: a bug of this program")
        for i in gone:
            self.lost[self.lemmas[i].text] = (states[0], states[-1])
        self.live -= gone
        return gone

    def _holds(self, sample: Sample, i: int, rows: Rows) -> bool:
        try:
            return sample.holds(self.lemmas[i].node)
        except Unsupported:  # by Z3, state by state
            for row in rows:
                state = self.scout.layout.decode(row.view(np.uint64))
                solver = z3.SolverFor("QF_FD")
                solver.add(self.machine.equals(0, state), z3.Not(self.machine.terms(0)(self.lemmas[i].node)))
                if solver.check() == z3.sat:
                    return False
            return True

    def used(self) -> list[Lemma]:
        """The lemmas that the proved goals need: inductive together."""
        found = {g.lemma for g in self.cores if g.lemma >= 0}.union(*self.cores.values())
        return [self.lemmas[i] for i in sorted(found)]
