"""A lowered action -> its loop form.

A guard is tested in the outermost loop that has all it reads. A guard that only narrows what a parameter ranges over is
not tested: the loop enumerates what it leaves. Plain Python tests in the order of the text, for each choice of the
parameters: so nothing that may raise stands before a guard that is written above it, or outside a loop that may be
empty, and no guard that is written below it stands before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from reassure.checkers.encoding.state_layout import Field, is_index, scalars
from reassure.checkers.engines.native.model import loop_form as form
from reassure.checkers.engines.native.model.kernel_numbers import KernelParameter
from reassure.checkers.engines.native.model.loop_form import Domain
from reassure.checkers.engines.native.model.split_steps import in_cases
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import Check, Formula, LoweredAction, Parameter, substitute
from reassure.spec.frontend.operations import arguments_first
from reassure.spec.frontend.symbolic_values import (
    Bag,
    Columns,
    MapOf,
    NumberSet,
    Option,
    Record,
    Scalar,
    Sym,
    Tuple,
    of_type,
    typed_parts,
)
from reassure.spec.language.types import (
    BagType,
    BoolType,
    ColumnsType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)
from reassure.spec.language.vocabulary import LanguageError

MOST_SETS = 1 << 16
"""Values that a parameter which is a set of records may have."""


def kernel_parameters(params: tuple[Parameter, ...]) -> tuple[KernelParameter, ...]:
    """The parameters of an action, as a kernel stores them."""
    return tuple(KernelParameter(p.name, p.type, isinstance(p.drawn, tuple)) for p in params)


def _conjuncts(checks: tuple[Check, ...]) -> list[Check]:
    """Guards split at `and`, in order."""
    split: list[Check] = []
    for check in checks:
        parts = check.condition.args if check.kind == "require" and check.condition.op == "and" else ()
        split += [replace(check, condition=condition) for condition in parts] or [check]
    return split


@dataclass
class Numbers:
    """The claims and bounds that the actions of one model number together."""

    graph: Graph
    paths: tuple[str, ...]
    """Of the leaves of a state."""
    step_claims: tuple[str, ...]
    parameters: bool = False
    """Whether successors come with the parameters of their step."""
    clips: list[tuple[str, bool]] = field(default_factory=list)

    def clip(self, path: str, declared: bool) -> int:
        """The number of a bound."""
        if (path, declared) not in self.clips:
            self.clips.append((path, declared))
        return self.clips.index((path, declared))


class Nest:
    """Statements by depth, and the loops between them."""

    def __init__(self) -> None:
        self.blocks: list[list[form.Statement]] = [[]]
        self.loops: list[form.ForEach] = []
        self.depth_of: dict[str, int] = {}
        """By parameter: the depth within its innermost loop so far."""
        self.ready: set[Node] = set()
        """The nodes that were used, and those below them."""
        self._placed: set[Node] = set()
        """The nodes that are computed in the block that they belong to."""

    @property
    def depth(self) -> int:
        return len(self.loops)

    def add(self, statement: form.Statement) -> None:
        """Appends a statement to the innermost block."""
        for node in form.nodes_of(statement):
            self._use(node, self.depth)
        self.blocks[-1].append(statement)

    def open(self, name: str, loop: form.ForEach) -> None:
        """Opens a loop for (a part of) a parameter."""
        for node in form.nodes_of(loop):
            self._use(node, self.depth)
        self.loops.append(loop)
        self.blocks.append([])
        self.depth_of[name] = self.depth

    def _use(self, node: Node, depth: int) -> None:
        """Has a node computed in the outermost block that it may stand in."""
        for one in arguments_first([node], self.ready):
            self.ready.add(one)
            for argument in one.args:
                self._place(argument, self._depth_of(one))
        self._place(node, depth)

    def _place(self, node: Node, depth: int) -> None:
        """Has a node that is first used at a depth computed further out, if it can be."""
        if not node.args or node in self._placed:
            return
        self._placed.add(node)
        own = self._depth_of(node)
        if own < depth:
            self.blocks[own].append(form.Let(node))

    def _depth_of(self, node: Node) -> int:
        return max((self.depth_of[p] for p in node.params), default=0)

    def body(self) -> form.Block:
        """The whole nest."""
        inner: form.Block = tuple(self.blocks[-1])
        for loop, block in zip(reversed(self.loops), reversed(self.blocks[:-1]), strict=True):
            inner = (*block, replace(loop, body=inner))
        return inner


class ActionBuilder:
    """Builds the loop form of one action."""

    def __init__(self, numbers: Numbers, number: int, outcome: LoweredAction, formulas: tuple[Formula, ...]) -> None:
        self.numbers = numbers
        self.number = number
        self.outcome = outcome
        self.formulas = formulas
        self.nest = Nest()
        self.most = 1
        self.domains = {p.name: Domain(p.leaves[0]) for p in outcome.parameters if _is_narrowable(p)}

    def build(self, fields: tuple[Field, ...]) -> form.ActionLoops:
        """The loop form. fields: where the parameters are stored."""
        outcome = self.outcome
        pending = {p.name for p in outcome.parameters}
        checks = self._test(self._absorb(_conjuncts(outcome.checks)), pending)
        for p in outcome.parameters:
            self._choose(p)
            pending.discard(p.name)
            checks = self._test(checks, pending)
        assert not checks
        self._finish()
        return form.ActionLoops(outcome.name, self.number, self.nest.body(), self.most, fields)

    def _absorb(self, checks: list[Check]) -> list[Check]:
        """The checks that must be tested; the others narrow the domain of their last parameter."""
        order = {p.name: i for i, p in enumerate(self.outcome.parameters)}
        tested: list[Check] = []
        for check in checks:
            # What stands after something that may raise is tested where it stands.
            if check.kind == "require" and check.condition.params and not any(c.kind == "error" for c in tested):
                last = max(check.condition.params, key=order.__getitem__)
                if last in self.domains and self.domains[last].absorb(check.condition):
                    continue
            tested.append(check)
        return tested

    def _test(self, checks: list[Check], pending: set[str]) -> list[Check]:
        """Tests what can be tested in the current loop; returns the rest."""
        later: list[Check] = []
        for check in checks:
            condition = check.condition
            # That Python gets there is in the condition of an error, so that it may be tested before what leads there;
            # but a guard behind it must not hide it.
            blocked = check.kind == "require" and any(c.kind == "error" for c in later)
            if blocked or condition.params & pending:
                later.append(check)
            elif check.kind == "require":
                self.nest.add(form.LoopGuard(condition))
            else:
                self.nest.add(form.Error(condition))
        return later

    # -- parameters ---------------------------------------------------------------------------------

    def _choose(self, p: Parameter) -> None:
        """Opens the loops over a parameter's values."""
        if isinstance(p.drawn, tuple):
            self.most *= max(1, len(p.drawn))
            self.nest.open(p.name, form.ForEachSlot(p.leaves[0], None, p.drawn))
            return
        self.most *= p.most or p.type.count
        if isinstance(p.drawn, Node) and p.name in self.domains:
            self.domains[p.name].mask.within.append(p.drawn)
        g = self.numbers.graph
        value = of_type(g, p.type, lambda path, kind: g.param(p.name, path, kind))
        self._over(p.name, value, p.type, None)

    def _over(self, name: str, value: Sym, kind: Type, when: Node | None) -> None:
        """Loops over the parts of a value, the last one innermost: the order of `kind.values()`."""
        if isinstance(value, Record | Tuple) and isinstance(kind, RecordType):
            for _, part, inner in typed_parts(value, kind):
                self._over(name, part, inner, when)
        elif isinstance(value, MapOf) and isinstance(kind, MapType):
            for one in value.values:
                self._over(name, one, kind.value, when)
        elif isinstance(value, Option) and isinstance(kind, OptionType):
            self._over_option(name, value, kind.inner, when)
        elif isinstance(value, Columns) and isinstance(kind, ColumnsType):
            for there, item in value.places:
                self._over_option(name, Option(there, item), kind.item, when)
                when = there if when is None else self.numbers.graph.and_(when, there)
        elif isinstance(value, NumberSet):
            for _, there in value.members:
                self._over_scalar(name, there, BoolType(), when)
        elif isinstance(value, Bag) and isinstance(kind, BagType):
            self._over_record_sets(name, value, kind, when)
        else:
            assert isinstance(value, Scalar)
            self._over_scalar(name, value.node, kind, when)

    def _over_option(self, name: str, value: Option, inner: Type, when: Node | None) -> None:
        assert value.value is not None
        if is_index(inner):
            assert isinstance(value.value, Scalar)
            self.nest.open(name, form.ForEachOptional(value.present, when, value.value.node, inner))
            return
        self.nest.open(name, form.ForEachIndex(value.present, when, value.present.type))
        present = value.present if when is None else self.numbers.graph.and_(when, value.present)
        self._over(name, value.value, inner, present)

    def _over_record_sets(self, name: str, value: Bag, kind: BagType, when: Node | None) -> None:
        if not value.slots:
            return
        if kind.count > MOST_SETS:
            raise LanguageError(
                f"{self.outcome.name}, parameter {name}: there are {kind.count:,} sets to choose from, "
                f"at most {MOST_SETS:,} are possible: draw the parameter from what the state holds"
            )
        sets = tuple(tuple(scalars(one, kind)) for one in kind.values())
        self.nest.open(name, form.ForEachRecordSet(value.slots[0], when, value.slots, sets))

    def _over_scalar(self, name: str, node: Node, kind: Type, when: Node | None) -> None:
        domain = self.domains.get(name)
        mask = domain.mask if domain is not None and domain.node is node else form.Mask()
        loop: form.ForEach
        if isinstance(kind, SetType):
            loop = form.ForEachSubset(node, when, kind.item.count, mask)
        elif isinstance(kind, SeqType):
            loop = form.ForEachSequence(node, when, kind)
        elif mask.nodes:
            loop = form.ForEachMember(node, when, kind, mask)
        else:
            loop = form.ForEachIndex(node, when, kind)
        self.nest.open(name, loop)

    # -- the step -----------------------------------------------------------------------------------

    def _finish(self) -> None:
        outcome, nest, numbers = self.outcome, self.nest, self.numbers
        clips = [form.Clip(condition, numbers.clip(path, declared)) for path, condition, declared in outcome.clips]
        errors: list[form.Statement] = []
        claims = tuple(self._claims(errors))
        leaves = tuple(leaf for p in outcome.parameters for leaf in p.leaves) if numbers.parameters else None
        step = (*clips, *errors, form.Emit(outcome.next_leaves, claims, leaves))
        for statement in in_cases(numbers.graph, step, nest.ready):
            nest.add(statement)

    def _claims(self, errors: list[form.Statement]) -> Iterator[tuple[int, Node]]:
        """The claims over the step, and when they are hit. errors: what raises in them is added."""
        g = self.numbers.graph
        after = {path + "'": node for path, node in zip(self.numbers.paths, self.outcome.next_leaves, strict=True)}
        substitutes: dict[Node, Node] = {}
        for formula in self.formulas:
            assert formula.claim is not None
            safe = [substitute(g, check.condition, after, substitutes) for check in formula.checks]
            for one in safe:
                if one is not g.true:
                    errors.append(form.StepError(one))
            condition = substitute(g, formula.condition, after, substitutes)
            hit = g.and_(*safe, condition if formula.claim.kind == "cover" else g.not_(condition))
            if hit is not g.false:
                yield self.numbers.step_claims.index(formula.name), hit


def _is_narrowable(p: Parameter) -> bool:
    return (
        not isinstance(p.drawn, tuple) and len(p.leaves) == 1 and p.leaves[0].op == "param" and not p.leaves[0].data[1]
    )
