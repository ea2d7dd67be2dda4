"""The formulas that a proof speaks of against plain Python, on drawn states: another way from the model to its meaning.

Reachable states, states of the type and states that satisfy the invariants are drawn. On each, every step that Python
takes is a step of the formulas and respects the invariants; claims are true as in Python; what raises in Python is an
error of the formulas. (A step too many in the formulas makes fewer proofs, never a wrong one.)
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import z3

from reassure.checkers.engines.symbolic.solver import finite_domain_solver, satisfiable
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.engines.symbolic.verification import Claims, Invariant
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.frontend.lowered_model import Formula
from reassure.spec.language.types import (
    BagType,
    ColumnsType,
    EnumType,
    IdType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, Step

DRAWN = 15
"""States of each kind: reachable ones, ones of the type, and ones that satisfy the invariants."""
WALKED = 75
"""States of random walks that the reachable ones are drawn from."""
CALLS = 200_000
"""Calls of the model's actions; with many choices of parameters, fewer states are drawn."""
INITIAL = 100
"""Initial states that are looked at."""
SUCCESSORS = 40
"""Steps from a state that are looked at."""


class CrossCheck:
    """Compares the formulas of a machine with plain Python; each check raises `Disagreement` where they differ.

    say: is told what is checked, and may raise to end it. seconds_left: None for no limit.
    """

    def __init__(
        self, machine: Machine, claims: Claims, say: Callable[[str], None], seconds_left: Callable[[], float | None]
    ) -> None:
        self.machine, self.claims, self.say, self.seconds_left = machine, claims, say, seconds_left
        self.bound: BoundModel = machine.model.bound
        self.random = random.Random(1)
        self.solver, self.start = finite_domain_solver(), finite_domain_solver()
        self.solver.add(machine.well_formed(0))
        self.start.add(machine.initial())
        self.properties = {p.name: p for p in self.bound.properties}
        parameters = [self.bound.parameters(a.name) for a in self.bound.model.actions]
        calls = sum(math.prod(kind.count for _, kind in kinds) for kinds in parameters)
        self.states = max(10, min(WALKED + 3 * DRAWN, CALLS // max(1, calls)))
        """The number of states whose steps are compared with Python's."""

    def run(self, invariants: list[Invariant], proved_before: list[Invariant]) -> None:
        """Compares on initial states and on drawn ones.

        invariants: inductive together with those `proved_before`, which are true of reachable states by another proof.
        """
        self.say("checking against plain Python")
        condition = z3.And(*(i.condition for i in invariants))
        premise = z3.And(condition, *(i.condition for i in proved_before))
        for state in self._initial_states():
            if not self._possible(self.start, self.machine.equals(0, state)):
                raise Disagreement(f"Z3 does not begin in {state}")
            self._satisfies(condition, state, "an initial state")
        for reachable, state in self._drawn(premise):
            self.say("checking against plain Python")
            self.solver.push()
            self.solver.add(self.machine.equals(0, state))
            self._compare(state, premise, condition, reachable)
            self.solver.pop()

    # -- one state ------------------------------------------------------------------------------------

    def _compare(self, state: Any, premise: z3.BoolRef, condition: z3.BoolRef, reachable: bool) -> None:
        if not self._possible(self.solver):
            raise Disagreement(f"Z3 takes a state for ill-formed: {state}")
        satisfied = not self._possible(self.solver, z3.Not(premise))
        if reachable and not satisfied:
            raise Disagreement(f"a reachable state violates the proved invariants: {state}")
        differences = [self._difference(name, f, state) for name, f in self.claims.states.items()]
        if self._possible(self.solver, z3.Or(*(condition for condition, _ in differences))):
            raise Disagreement(next(text for c, text in differences if self._possible(self.solver, c)))
        for step in self._steps(state):
            self._compare_step(state, step)
            if satisfied and not isinstance(step.after, Clipped):
                self._satisfies(condition, step.after, f"the state after {step.action.name} from {state}")

    def _difference(self, name: str, f: Formula, state: Any) -> tuple[z3.BoolRef, str]:
        """A condition that is impossible if a claim is in Z3 as it is in Python; what it means if it is not."""
        holds, defined = self.machine.holds(f, 0), self.machine.defined(f, 0)
        try:
            expected = self.bound.holds(self.properties[name], state)
        except ModelError:
            return defined, f"{name} raises in Python, not in Z3: {state}"
        return z3.And(defined, holds != z3.BoolVal(expected)), f"{name} is {expected} in Python, not in Z3: {state}"

    def _steps(self, state: Any) -> Iterator[Step]:
        """Some of Python's steps from a state."""
        steps = []
        try:
            for step in self.bound.steps(state):
                steps.append(step)
        except ModelError as error:
            if not self._possible(self.solver, z3.Or(*(s.error for s in self.machine.steps(0)))):
                raise Disagreement(f"Python raises, Z3 does not: {error}") from None
        yield from steps if len(steps) <= SUCCESSORS else self.random.sample(steps, SUCCESSORS)

    def _compare_step(self, state: Any, step: Step) -> None:
        number = [a.name for a in self.bound.model.actions].index(step.action.name)
        symbolic = self.machine.steps(0)[number]
        if isinstance(step.after, Clipped):
            if not self._possible(self.solver, symbolic.clipped):
                raise Disagreement(f"Z3 knows no {step.action.name} that leaves a bound from {state}")
            return
        taken = z3.And(symbolic.taken, self.machine.equals(1, step.after))
        agrees = dict(self._agreement(number, state, step))
        if self._possible(self.solver, taken, *agrees.values()):
            return
        if not self._possible(self.solver, taken):
            raise Disagreement(f"Z3 has no step {step.action.name} from {state} to {step.after}")
        alone = (name for name, condition in agrees.items() if not self._possible(self.solver, taken, condition))
        names = next(alone, ", ".join(agrees))
        raise Disagreement(f"{names} differs in Z3 on {step.action.name} from {state} to {step.after}")

    def _agreement(self, number: int, state: Any, step: Step) -> Iterator[tuple[str, z3.BoolRef]]:
        """By claim over steps: that it is on a step of this action what it is in Python."""
        for name, where in self.claims.steps.items():
            for f in (f for n, f in where if n == number):
                try:
                    expected = self.bound.holds_on(self.properties[name], state, step)
                except ModelError:
                    yield name, z3.Not(self.machine.defined(f, 0))
                else:
                    yield name, self.machine.holds(f, 0) == z3.BoolVal(expected)

    def _satisfies(self, condition: z3.BoolRef, state: Any, what: str) -> None:
        solver = finite_domain_solver()
        solver.add(self.machine.equals(0, state))
        if self._possible(solver, z3.Not(condition)):
            raise Disagreement(f"{what} violates the proved invariants: {state}")

    def _possible(self, solver: z3.Solver, *conditions: z3.BoolRef) -> bool:
        return satisfiable(solver, *conditions, seconds=self.seconds_left())

    # -- drawn states -----------------------------------------------------------------------------------

    def _initial_states(self) -> list[Any]:
        states = dict.fromkeys(s for _, _, s in self.bound.initial_states() if not isinstance(s, Clipped))
        return list(states) if len(states) <= INITIAL else self.random.sample(list(states), INITIAL)

    def _drawn(self, condition: z3.BoolRef) -> Iterator[tuple[bool, Any]]:
        """States, and whether each is reachable."""
        seen = dict.fromkeys(self._walked())
        drawn = max(2, min(DRAWN, self.states // 5))
        yield from ((True, s) for s in self.random.sample(list(seen), min(drawn, len(seen))))
        yield from ((False, draw(self.bound.type, self.random)) for _ in range(drawn))
        for _ in range(drawn):
            yield False, self._near(draw(self.bound.type, self.random), condition)

    def _walked(self) -> Iterator[Any]:
        """The states of random walks from initial states, in plain Python."""
        starts = self._initial_states()
        for _ in range(3):
            state = self.random.choice(starts)
            for _ in range(self.states // 5):
                yield state
                try:
                    after = [s.after for s in self.bound.steps(state) if not isinstance(s.after, Clipped)]
                except ModelError:
                    break
                if not after:
                    break
                state = self.random.choice(after)

    def _near(self, state: Any, condition: z3.BoolRef) -> Any:
        """A state that satisfies the invariants, and has as much of a given one as cores of conflicts leave."""
        solver = finite_domain_solver()
        solver.add(self.machine.well_formed(0), condition)
        wishes = {f"wish!{i}": part for i, part in enumerate(self.machine.equals(0, state).children())}
        flags = [z3.Bool(name) for name in wishes]
        solver.add(*(z3.Implies(flag, part) for flag, part in zip(flags, wishes.values(), strict=True)))
        while not self._possible(solver, *flags):
            core = {str(flag) for flag in solver.unsat_core()}
            flags = [flag for flag in flags if str(flag) not in core]
        return self.machine.decoded(0, solver.model())


def draw(kind: Type, rng: random.Random) -> Any:
    """A random value of a type: each shape likely, and the ends of ranges."""
    if isinstance(kind, RecordType):
        return kind.made(draw(t, rng) for _, t in kind.fields)
    if isinstance(kind, MapType):
        return Map((key, draw(kind.value, rng)) for key in kind.key.values())
    if isinstance(kind, OptionType):
        return None if rng.random() < 0.3 else draw(kind.inner, rng)
    if isinstance(kind, SetType):
        return frozenset(v for v in kind.item.values() if rng.random() < 0.5)
    if isinstance(kind, SeqType | ColumnsType):
        return tuple(draw(kind.item, rng) for _ in range(rng.randint(0, kind.length)))
    if isinstance(kind, BagType):
        return frozenset(draw(kind.item, rng) for _ in range(rng.randint(0, kind.size)))
    if isinstance(kind, IntType):
        return rng.choice((kind.low, kind.high, rng.randint(kind.low, kind.high)))
    assert isinstance(kind, EnumType | IdType) or kind.count == 2
    return rng.choice(list(kind.values()))
