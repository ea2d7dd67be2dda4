"""Bounds of counters that no relation of two fields explains: x + a1 f1 + ... <= c1 r1 + ... + c0.

A step may raise a counter x only by what it pays for: by raising other counters r that are bounded themselves, as
requests and disturbances are, or by lowering what is left to do, f: members outside a set, an absent leader, a
message in flight. The coefficients are a linear programme over steps that were seen; Z3 says whether the inequality is
inductive, and a step by which it is not is one more row of the programme.

Also here: side conditions of a proof beside its properties: no step leaves a bound, no action or claim raises.

A step that leaves a bound, or raises, is not a step of the transition system. Unless none is possible from a reachable
state, a proof is not of all runs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import z3

from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.partitioning import edge_list
from reassure.checkers.engines.symbolic.houdini import Houdini, ProofGoal
from reassure.checkers.engines.symbolic.lemma_templates import Fields, Lemma, Part
from reassure.checkers.engines.symbolic.scout import Scout
from reassure.checkers.engines.symbolic.solver import query
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.engines.symbolic.verification import Claims
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.types import IntType, SetType

STATES = 6_000
"""States of the sample whose steps are evaluated, at most."""
CHUNK = 1 << 16
"""Steps that are evaluated at once, at most."""
LARGEST = 64
"""Larger coefficients are not tried."""


class Potentials:
    """Inequalities for one counter, each better than the last. Raises `LookupError` for what is not a plain number."""

    def __init__(self, scout: Scout, path: str, rows: Rows) -> None:
        fields = Fields(scout.model)
        self.scout, self.graph = scout, scout.model.graph
        self.counter = next((p for p in fields.ints if p.condition is None and p.node.data == path), None)
        if self.counter is None:
            raise LookupError(path)
        kind = self.counter.node.type
        assert isinstance(kind, IntType)
        self.high = kind.high
        self.rising = [p for p in fields.ints if p.condition is None and p is not self.counter]
        self.falling = list(_left_to_do(self.graph, fields))
        self.first = np.unique(self._values(scout.starts), axis=0)
        self.rows = self._changes(rows)
        self.respected: list[Any] = []

    def _changes(self, rows: Rows) -> Any:
        """What steps from some of these states change the numbers by, each once."""
        kernel = self.scout.kernel
        some = self.scout.some(rows, STATES)
        chunk = max(1, CHUNK // max(1, kernel.shape.max_successors))
        weights = np.random.default_rng(1).integers(1 << 62, size=self.first.shape[1])
        distinct = []
        for low in range(0, len(some), chunk):
            self.scout.say(f"steps of a sample: {low:,} of {len(some):,} states")
            before = np.ascontiguousarray(some[low : low + chunk])
            successors, counts = edge_list(kernel, before)
            after = self._values(np.ascontiguousarray(successors[:, : kernel.words]))
            changes = after - np.repeat(self._values(before), counts, axis=0)
            _, first = np.unique(changes @ weights, return_index=True)  # by a hash: rows are slow to sort
            distinct.append(changes[first])
        return np.unique(np.concatenate(distinct), axis=0)

    def _values(self, rows: Rows) -> Any:
        """The counter, the rising and the falling numbers of each state."""
        sample = self.scout.sample(rows)
        assert self.counter is not None
        columns = [np.broadcast_to(sample(p.node), len(rows)) for p in (self.counter, *self.rising, *self.falling)]
        return np.stack(columns, axis=1).astype(np.int64)

    def learn(self, before: Any, after: Any) -> None:
        """A step that the last inequality does not survive."""
        pair = np.concatenate([self.scout.row(before), self.scout.row(after)])
        old, new = self._values(pair)
        self.respected.append(new - old)

    def next(self) -> Lemma | None:
        """An inequality that all steps so far respect, and that keeps the counter within its bound, if any."""
        rising, falling = len(self.rising), len(self.falling)
        c = [z3.Real(f"c{j}") for j in range(rising)]
        a = [z3.Real(f"a{i}") for i in range(falling)]
        solver = z3.Optimize()
        solver.add(*(z3.And(v >= 0, v <= LARGEST) for v in (*c, *a)))
        highs = [p.node.type.high for p in self.rising if isinstance(p.node.type, IntType)]
        for row in self.first:
            x, r, f = row[0], row[1 : 1 + rising], row[1 + rising :]
            paid = z3.Sum([z3.RealVal(int(h - v)) * k for h, v, k in zip(highs, r, c, strict=True)] or [z3.RealVal(0)])
            to_do = z3.Sum([z3.RealVal(int(v)) * k for v, k in zip(f, a, strict=True)] or [z3.RealVal(0)])
            solver.add(z3.RealVal(int(x)) + paid + to_do <= self.high)
        solver.minimize(z3.Sum([*c, *a, z3.RealVal(0)]))
        added = 0
        while True:
            solver.add(*(self._survived(row, c, a) for row in self.respected[added:]))
            added = len(self.respected)
            with query(solver.ctx):
                answer = solver.check()
            if answer != z3.sat:
                return None
            model = solver.model()
            cs, as_ = ([_fraction(model, v) for v in vs] for vs in (c, a))
            broken = self._broken(cs, as_)
            if broken is None:
                return self._lemma(cs, as_)
            self.respected.append(broken)

    def _survived(self, row: Any, c: list[Any], a: list[Any]) -> Any:
        rising = len(self.rising)
        terms = [int(d) * k for d, k in zip(row[1 : 1 + rising], c, strict=True) if d]
        terms += [-int(d) * k for d, k in zip(row[1 + rising :], a, strict=True) if d]
        return z3.Sum([*terms, z3.RealVal(0)]) >= int(row[0])

    def _broken(self, cs: list[Fraction], as_: list[Fraction]) -> Any:
        """The step seen that the coefficients fail by most."""
        if not len(self.rows):
            return None
        weights = np.array([1.0, *(-float(k) for k in cs), *(float(k) for k in as_)])
        excess = self.rows @ weights
        worst = int(np.argmax(excess))
        return self.rows[worst] if excess[worst] > 1e-9 else None

    def _lemma(self, cs: list[Fraction], as_: list[Fraction]) -> Lemma | None:
        g, counter = self.graph, self.counter
        assert counter is not None
        scale = math.lcm(*(k.denominator for k in (*cs, *as_)))
        if scale > LARGEST:
            return None
        left = [(scale, counter), *((int(k * scale), part) for k, part in zip(as_, self.falling, strict=True) if k)]
        right = [(int(k * scale), part) for k, part in zip(cs, self.rising, strict=True) if k]
        weights = [Fraction(1), *(-k for k in cs), *as_]
        start = max(sum(int(v) * k for v, k in zip(row, weights, strict=True)) for row in self.first) * scale
        return _inequality(g, left, right, int(start))


def _inequality(g: Graph, left: list[tuple[int, Part]], right: list[tuple[int, Part]], start: int) -> Lemma:
    """The sum of the first is at most that of the second and `start`. The parts have their coefficients."""
    low, high = _times(g, left[0][0], left[0][1].node), g.num(0)
    for k, part in left[1:]:
        low = g.arith("add", low, _times(g, k, part.node))
    for k, part in right:
        high = g.arith("add", high, _times(g, k, part.node))
    texts = [[_term_text(k, part.text) for k, part in terms] for terms in (left, right)]
    text = f"{' + '.join(texts[0])} <= {' + '.join([*texts[1], str(start)])}"
    return Lemma(text, g.le(low, g.arith("add", high, g.num(start))))


def inequalities_named(model: LoweredModel, text: str) -> list[Node]:
    """The inequalities that `Potentials` calls so: none, one, or several where two parts have one name."""
    fields = Fields(model)
    numbers = [p for p in fields.ints if p.condition is None]
    left, _, right = text.partition(" <= ")
    (counter, *falling), (*rising, start) = left.split(" + "), right.split(" + ")
    if not START.fullmatch(start):
        return []
    paid_for = list(_left_to_do(model.graph, fields))
    low = [_terms(counter, numbers), *(_terms(one, paid_for) for one in falling)]
    high = [_terms(one, numbers) for one in rising]
    chosen = ((one[: len(low)], one[len(low) :]) for one in product(*low, *high))
    made = (_inequality(model.graph, [*a], [*b], int(start)) for a, b in chosen)
    return [lemma.node for lemma in made if lemma.text == text]


def _terms(text: str, parts: list[Part]) -> list[tuple[int, Part]]:
    """The parts that a term of an inequality may be of, with its coefficient."""
    term = TERM.fullmatch(text)
    assert term is not None
    return [(int(term["times"] or 1), part) for part in parts if part.text == term["part"]]


TERM = re.compile(r"(?:(?P<times>[1-9][0-9]{0,5}) )?(?P<part>.*)", re.DOTALL)
START = re.compile(r"-?[0-9]{1,12}")
"""The number that an inequality ends with."""


def _times(g: Graph, k: int, node: Node) -> Node:
    return node if k == 1 else g.arith("mul", g.num(k), node)


def _term_text(k: int, text: str) -> str:
    return text if k == 1 else f"{k} {text}"


def _fraction(model: z3.ModelRef, variable: Any) -> Fraction:
    value = model.eval(variable, model_completion=True)
    return Fraction(value.numerator_as_long(), value.denominator_as_long())


def _left_to_do(g: Graph, f: Fields) -> Iterator[Part]:
    """Numbers that are never negative, and that say how much is still to come."""
    for p in f.bools:
        if p.condition is None:
            yield Part(f"[{p.text}]", g.ite(p.node, g.num(1), g.num(0)))
            yield Part(f"[not {p.text}]", g.ite(p.node, g.num(0), g.num(1)))
    for p in f.present:
        yield Part(f"[{p.text} is there]", g.ite(p.node, g.num(1), g.num(0)))
        if p.condition is None and "#" not in p.text:
            yield Part(f"[{p.text} is absent]", g.ite(p.node, g.num(0), g.num(1)))
    own = [p for p in f.sets if p.condition is None]
    for p in own:
        yield Part(f"len({p.text})", g.card(p.node))
    for p, q in permutations(own, 2):
        if p.node.type == q.node.type:
            yield Part(f"len({p.text} - {q.text})", g.card(g.minus(p.node, q.node)))
    for message in (p for p in f.sets if p.condition is not None):
        assert message.condition is not None and isinstance(message.node.type, SetType)
        prefix = message.text.rsplit(".", 1)[0]
        alike = [
            (x, y)
            for x in f.ints
            for y in f.ints
            if x.condition is message.condition
            and y.condition is None
            and x.text.startswith(prefix)
            and x.node.type == y.node.type
        ]
        for p in own:
            if p.node.type != message.node.type:
                continue
            lacking = g.card(g.minus(p.node, message.node))
            lacking_text = f"len({p.text} - {message.text})"
            yield Part(f"{lacking_text} if {message.condition_text}", g.ite(message.condition, lacking, g.num(0)))
            for x, y in alike:
                current = g.and_(message.condition, g.eq(x.node, y.node))
                yield Part(f"{lacking_text} if {x.text} == {y.text}", g.ite(current, lacking, g.num(0)))
                some = g.and_(current, g.not_(g.eq(lacking, g.num(0))))
                yield Part(f"[{lacking_text} > 0 and {x.text} == {y.text}]", g.ite(some, g.num(1), g.num(0)))


INEQUALITIES = 60
"""Inequalities that are tried for a counter, at most."""


@dataclass
class SideConditions:
    """Side conditions that are not proved. open_bounds: by path, whether every bound that may be left is declared."""

    open_bounds: dict[str, bool] = field(default_factory=dict)
    raising_actions: list[str] = field(default_factory=list)
    raising_claims: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Exit:
    """A step that leaves a bound."""

    goal: ProofGoal
    path: str
    declared: bool


def side_conditions(
    machine: Machine, claims: Claims, houdini: Houdini, say: Callable[[str], None], search_sums: bool = True
) -> SideConditions:
    """The side conditions that a run of Houdini does not prove. search_sums: it may find lemmas that bound counters."""
    raising_actions: dict[ProofGoal, str] = {}
    raising_claims: dict[ProofGoal, str] = {}
    exits: list[_Exit] = []
    for step, outcome in zip(machine.steps(0), machine.model.actions, strict=True):
        if not z3.is_false(z3.simplify(step.error)):
            raising_actions[houdini.goal(f"{step.name} raises", step.error, needs_step=False)] = step.name
        for path, condition, declared in outcome.clips:
            leaves = z3.And(step.enabled, machine.terms(0)(condition))
            goal = houdini.goal(f"{step.name} leaves {path}", leaves, needs_step=False)
            exits.append(_Exit(goal, path, declared))
    for name, f in claims.states.items():
        if f.checks:
            goal = houdini.goal(f"{name} raises", z3.Not(machine.defined(f, 0)), needs_step=False)
            raising_claims[goal] = name
    for name, where in claims.steps.items():
        for number, f in where:
            if f.checks:
                raises = z3.And(machine.steps(0)[number].taken, z3.Not(machine.defined(f, 0)))
                raising_claims[houdini.goal(f"{name} raises", raises, needs_step=False)] = name
    goals = [*raising_actions, *raising_claims, *(e.goal for e in exits)]
    houdini.run(goals)
    unbounded = dict.fromkeys(e.path for e in exits if not e.declared and not houdini.proved(e.goal))
    for path in unbounded if search_sums else ():
        if _bounded_by_inequality(houdini, path, say):
            houdini.run([g for g in goals if not houdini.proved(g)])
    conditions = SideConditions()
    for e in exits:
        if not houdini.proved(e.goal):
            conditions.open_bounds[e.path] = e.declared and conditions.open_bounds.get(e.path, True)
    conditions.raising_actions = [name for goal, name in raising_actions.items() if not houdini.proved(goal)]
    conditions.raising_claims = [name for goal, name in raising_claims.items() if not houdini.proved(goal)]
    return conditions


def _bounded_by_inequality(houdini: Houdini, path: str, say: Callable[[str], None]) -> bool:
    """Whether an inequality was found that bounds a counter, and that every step respects."""
    scout = houdini.scout
    try:
        inequalities = Potentials(scout, path, scout.reachable())
    except LookupError:
        return False
    for number in range(INEQUALITIES):
        say(f"sums that bound {path}: {number + 1}")
        lemma = inequalities.next()
        if lemma is None:
            return False
        goal = houdini.add(lemma)
        houdini.run([goal])
        if houdini.proved(goal):
            return True
        if goal not in houdini.counterexamples:
            return False
        inequalities.learn(*houdini.counterexamples[goal])
    return False
