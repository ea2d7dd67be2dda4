"""A model as a symbolic transition system: states, steps and claims as Z3 formulas over numbered copies of the state.

Copies are named `path@k`; a step from copy k to copy k+1 has parameters of its own, free variables that range over what
their types and the sets they are drawn from allow. A step that would leave a bound is not a step: it is `clipped`, and
where Python would raise is `error`, both conditions of their own that a proof has to exclude.

Also here: the type invariant: what the scalars of every value of a type satisfy, as Z3 conditions.

Each value has exactly one encoding: an absent optional holds the lowest value of its type, the slots of a set of
records descend and the empty ones come last, and a packed record has no bits beside those of its fields.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import z3

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT, Layout, coded, codes, layout_of, scalars
from reassure.checkers.engines.symbolic.smt_terms import (
    Seq,
    Term,
    Terms,
    constant_term,
    fresh,
    in_range,
    packed_record,
    parts,
    resized,
    same,
    unpacked_leaf,
    value,
)
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowered_model import Formula, LoweredAction, LoweredModel, Parameter
from reassure.spec.frontend.symbolic_values import scalar_leaves
from reassure.spec.language.number_sets import NumbersType
from reassure.spec.language.types import (
    BagType,
    BoolType,
    ColumnsType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    Type,
    bits_of,
)


def well_formed(kind: Type, leaves: Iterator[Term]) -> list[z3.BoolRef]:
    """Conditions that the scalars of every value of a type satisfy, taken from `leaves` in order."""
    if isinstance(kind, RecordType):
        return [c for _, inner in kind.fields for c in well_formed(inner, leaves)]
    if isinstance(kind, MapType):
        return [c for _ in range(kind.key.count) for c in well_formed(kind.value, leaves)]
    if isinstance(kind, ColumnsType):
        places = [[next(leaves) for _ in scalar_leaves(kind.place)] for _ in range(kind.length)]
        in_order = [z3.Implies(after[0], before[0]) for before, after in itertools.pairwise(places)]
        return [*in_order, *(c for place in places for c in well_formed(kind.place, iter(place)))]
    if isinstance(kind, NumbersType):
        return [c for _ in range(kind.item.count) for c in in_range(next(leaves), BoolType())]
    if isinstance(kind, OptionType):
        present = next(leaves)
        inner = [(next(leaves), k) for _, k in scalar_leaves(kind.inner)]
        nothing = [same(t, absent(k)) for t, k in inner]
        return [*well_formed(kind.inner, iter([t for t, _ in inner])), z3.Or(present, z3.And(*nothing))]
    if isinstance(kind, BagType):
        slots = [next(leaves) for _ in range(kind.size)]
        descending = [z3.Or(a > b, b == 0) for a, b in itertools.pairwise(slots)]
        return [*descending, *(c for slot in slots for c in _slot(slot, kind.item))]
    return in_range(next(leaves), kind)


def absent(kind: Type) -> Term:
    """The condition that a scalar of an absent optional has the value of `symbolic_values.zero`."""
    if isinstance(kind, SeqType):
        return constant_term((), kind)
    return constant_term(kind.low if isinstance(kind, IntType) else 0, kind)


def _slot(slot: z3.BitVecRef, item: RecordType) -> list[z3.BoolRef]:
    """A slot is 0 (empty), or 1 more than a packed record."""
    bits = bits_of(item)
    word = z3.Extract(max(1, bits) - 1, 0, resized(slot, bits + 2) - 1)
    return [slot >= 0, slot <= 1 << bits, z3.Or(slot == 0, z3.And(*_packed_record(word, item)))]


def _packed_record(word: z3.BitVecRef, kind: RecordType) -> list[z3.BoolRef]:
    """Conditions on a message's packed record: its scalars are of their types, and packing them gives it back."""
    leaves = [unpacked_leaf(word, kind, i) for i, _ in enumerate(scalar_leaves(kind))]
    inside = well_formed(kind, iter(leaves))
    return [*inside, packed_record(leaves, kind) == word] if codes(kind) else []


@dataclass(frozen=True)
class SymbolicStep:
    """One action from a copy of the state to the next."""

    name: str
    enabled: z3.BoolRef
    """Parameters in range and every guard passed."""
    clipped: z3.BoolRef
    """Enabled, but the outcome leaves a bound."""
    error: z3.BoolRef
    """Python would raise."""
    taken: z3.BoolRef
    """Enabled, not clipped, and the next copy is the outcome."""


@dataclass(frozen=True, eq=False)
class VariableValue:
    """A variable of a copy of the state, and what it is."""

    variable: z3.ExprRef
    value: z3.ExprRef
    is_so: z3.BoolRef

    @classmethod
    def of(cls, variable: z3.ExprRef, number: int | bool) -> VariableValue:
        equation = variable == number
        return cls(variable, equation.arg(1), equation)


def _numbers(term: Term, kind: Type, number: int) -> list[tuple[z3.ExprRef, int | bool]]:
    """The variables of a scalar with their numbers; number: as `scalars` gives it."""
    if isinstance(kind, SeqType):
        assert isinstance(term, Seq)
        bits = term.items[0].size() if term.items else 0
        items = [(item, (number >> (i * bits)) % (1 << bits)) for i, item in enumerate(term.items)]
        return [(term.length, number >> SEQ_LENGTH_AT), *items]
    if isinstance(kind, BoolType):
        return [(term, bool(number))]
    return [(term, number + (kind.low if isinstance(kind, IntType) else 0))]


class Machine:
    """The transition system of an elaborated model."""

    def __init__(self, lowered: LoweredModel) -> None:
        self.model = lowered
        self.layout: Layout = layout_of(lowered.bound.type)
        self.kinds = {leaf.path: leaf.type for leaf in lowered.leaves}
        self._copies: dict[int, dict[str, Term]] = {}
        self._params: dict[tuple[int, Node], Term] = {}
        self._terms: dict[int, Terms] = {}
        self._steps: dict[int, list[SymbolicStep]] = {}
        self._well_formed: dict[int, z3.BoolRef] = {}
        self._values: dict[tuple[int, str, int], list[VariableValue]] = {}

    # -- the state ----------------------------------------------------------------------------------

    def state(self, k: int) -> dict[str, Term]:
        """The scalars of copy k, by path."""
        if k not in self._copies:
            self._copies[k] = {path: fresh(f"{path}@{k}", kind) for path, kind in self.kinds.items()}
        return self._copies[k]

    def terms(self, k: int) -> Terms:
        """Nodes over copy k, primed ones over copy k+1, parameters of the step between."""
        if k not in self._terms:

            def leaf(path: str) -> Term:
                return self.state(k + 1)[path[:-1]] if path.endswith("'") else self.state(k)[path]

            self._terms[k] = Terms(leaf, lambda node: self._param(k, node))
        return self._terms[k]

    def _param(self, k: int, node: Node) -> Term:
        if (k, node) not in self._params:
            self._params[k, node] = fresh(f"{node.data[0]}{node.data[1]}#{node.number}@{k}", node.type)
        return self._params[k, node]

    def well_formed(self, k: int) -> z3.BoolRef:
        """Every scalar is within its type: true of all states, reachable or not."""
        if k not in self._well_formed:
            self._well_formed[k] = z3.And(*well_formed(self.model.bound.type, iter(self.state(k).values())))
        return self._well_formed[k]

    def decoded(self, k: int, model: z3.ModelRef) -> Any:
        """The Python state that a model gives copy k."""
        numbers = [value(term, self.kinds[path], model) for path, term in self.state(k).items()]
        words = [0] * self.layout.words
        for f in self.layout.fields:
            words[f.word] |= coded(numbers, f.code) << f.shift
        return self.layout.decode(words)

    def equals(self, k: int, state: Any) -> z3.BoolRef:
        """Copy k is this Python state."""
        return z3.And(*(v.is_so for v in self.values(k, state)))

    def values(self, k: int, state: Any) -> list[VariableValue]:
        """The variables of copy k with what they are in this Python state. The terms of a number are made once."""
        values: list[VariableValue] = []
        for (path, term), number in zip(self.state(k).items(), scalars(state, self.model.bound.type), strict=True):
            key = k, path, number
            if key not in self._values:
                self._values[key] = [VariableValue.of(v, n) for v, n in _numbers(term, self.kinds[path], number)]
            values += self._values[key]
        return values

    def differ(self, j: int, k: int) -> z3.BoolRef:
        """Copies j and k are different states."""
        return z3.Not(z3.And(*(same(a, self.state(k)[path]) for path, a in self.state(j).items())))

    # -- behaviour ------------------------------------------------------------------------------------

    def initial(self) -> z3.BoolRef:
        """Copy 0 is an initial state that leaves no bound."""
        starts = []
        for outcome in self.model.initials:
            terms = Terms(lambda path: self.state(0)[path], lambda node: self._param(-1, node))
            enabled, clipped, _ = self._judged(outcome, terms)
            starts.append(z3.And(enabled, z3.Not(clipped), *self._becomes(outcome, terms, 0)))
        return z3.Or(*starts)

    def steps(self, k: int) -> list[SymbolicStep]:
        """Every action from copy k to copy k+1, in the model's order."""
        if k not in self._steps:
            steps, terms = [], self.terms(k)
            for outcome in self.model.actions:
                enabled, clipped, error = self._judged(outcome, terms)
                taken = z3.And(enabled, z3.Not(clipped), *self._becomes(outcome, terms, k + 1))
                steps.append(SymbolicStep(outcome.name, enabled, clipped, error, taken))
            self._steps[k] = steps
        return self._steps[k]

    def step(self, k: int) -> z3.BoolRef:
        """Some action leads from copy k to copy k+1."""
        return z3.Or(*(s.taken for s in self.steps(k)))

    def _becomes(self, outcome: LoweredAction, terms: Terms, k: int) -> Iterator[z3.BoolRef]:
        for (_, after), node in zip(self.state(k).items(), outcome.next_leaves, strict=True):
            yield same(after, terms(node))

    def _judged(self, outcome: LoweredAction, terms: Terms) -> tuple[z3.BoolRef, z3.BoolRef, z3.BoolRef]:
        """Enabled, clipped, error."""
        drawn = [c for p in outcome.parameters for c in self._drawn(p, terms)]
        passed, errors = list(drawn), []
        for check in outcome.checks:
            condition = terms(check.condition)
            if check.kind == "error":
                errors.append(z3.And(*passed, z3.Not(condition)))
            passed.append(condition)
        enabled = z3.And(*passed)
        clipped = z3.And(enabled, z3.Or(*(terms(condition) for _, condition, _ in outcome.clips)))
        return enabled, clipped, z3.Or(*errors)

    def _drawn(self, p: Parameter, terms: Terms) -> Iterator[z3.BoolRef]:
        """The conditions on a parameter: a value of its type, or a member of the set that it is drawn from."""
        if isinstance(p.drawn, tuple):
            value = terms(p.leaves[0])
            slots = [terms(s) for s in p.drawn]
            yield z3.Or(*(z3.And(same(value, s), s != 0) for s in slots))
            return
        yield from well_formed(p.type, iter([terms(leaf) for leaf in p.leaves]))
        if p.drawn is not None:
            membership = self.model.graph.member(p.leaves[0], p.drawn)
            yield terms(membership)

    def moved(self, condition: z3.BoolRef, k: int) -> z3.BoolRef:
        """A condition over copy 0, of copy k."""
        pairs = [
            pair
            for path, term in self.state(0).items()
            for pair in zip(parts(term), parts(self.state(k)[path]), strict=True)
        ]
        return z3.substitute(condition, *pairs) if k and pairs else condition

    # -- claims -----------------------------------------------------------------------------------------

    def holds(self, formula: Formula, k: int) -> z3.BoolRef:
        """A claim over states, of copy k."""
        return self.terms(k)(formula.condition)

    def defined(self, formula: Formula, k: int) -> z3.BoolRef:
        """Evaluating a claim on copy k does not raise."""
        return z3.And(*(self.terms(k)(check.condition) for check in formula.checks))
