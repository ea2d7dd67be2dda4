"""A lowered model: what the engines translate. Its functions have become nodes of one graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum, auto

from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.symbolic_values import Excess
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import Type
from reassure.spec.language.values import Id
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel


@dataclass(frozen=True)
class Check:
    """A condition that a function passes, in the order in which Python evaluates them.

    kind "require": the action is not enabled unless it holds, where no check before it has failed. kind "error":
    Python raises unless it holds; that Python gets there, past the guards before it, is part of the condition.
    """

    kind: str
    condition: Node
    text: str
    file: str
    line: int
    column: int = 0
    part: tuple[int, int] = (0, 1)
    """Number of the conjunct, and how many conjuncts are written there."""


class Telling(Enum):
    """How a declaration tells the ids of a sort apart."""

    NAME = auto()
    """It names one of them."""
    ORDER = auto()
    """It reads their order by nodes of the graph: `lowest`, `highest`, `seq_sorted`, `lt`."""
    HIDDEN_ORDER = auto()
    """It reads their order while it is lowered: the graph does not show it."""


@dataclass(frozen=True)
class ToldApart:
    """A declaration tells ids of a sort apart. index: of the id that it names, counted from 0."""

    sort: type[Id]
    by: Telling
    index: int | None = None


@dataclass(frozen=True)
class Guard:
    """A guard of the text: one conjunct of a `require`, or a `some` or `refuse`. kind: which of the three."""

    kind: str
    file: str
    line: int
    column: int
    part: tuple[int, int]
    """Number of the conjunct, and how many conjuncts are written there."""
    text: str
    reached_by: tuple[str, ...] = field(default=(), compare=False)
    """Names of the actions and initial functions that evaluate it."""
    narrows: bool = field(default=False, compare=False)
    """Whether an optional that it tests is read behind it as a value that is there."""


@dataclass(frozen=True)
class Leaf:
    """One scalar of the state: its path, and its type."""

    path: str
    type: Type


@dataclass(frozen=True)
class Parameter:
    """A parameter of an action or initial function.

    leaves: its scalars, in layout order. drawn: what it is drawn from, a set node or the slots of a message set;
    None for all values of its type.
    """

    name: str
    type: Type
    leaves: tuple[Node, ...]
    drawn: Node | tuple[Node, ...] | None
    most: int | None = None
    """Values that it has in one state, at most; None: those of its type."""


@dataclass(frozen=True)
class LoweredAction:
    """A lowered action or initial function."""

    name: str
    parameters: tuple[Parameter, ...]
    checks: tuple[Check, ...]
    """In program order: the first that fails disables the action or is an error."""
    clips: tuple[Excess, ...]
    """The bounds that the step may leave once every check has passed, in the order of the fields."""
    next_leaves: tuple[Node, ...]
    """The leaves of the state after the step."""


@dataclass(frozen=True)
class Formula:
    """A lowered claim. For a step it reads the leaves of `before` and, as variables with a prime, of `after`."""

    name: str
    claim: Property | None
    condition: Node
    checks: tuple[Check, ...]
    goal: Node | None = None


@dataclass
class LoweredModel:
    """A model under one configuration, in the form that engines translate."""

    bound: BoundModel
    graph: Graph
    leaves: tuple[Leaf, ...]
    initials: tuple[LoweredAction, ...]
    actions: tuple[LoweredAction, ...]
    state_formulas: tuple[Formula, ...]
    """Claims over one state: invariants, state covers, leads-to (with `goal`)."""
    step_formulas: tuple[tuple[Formula, ...], ...]
    """For each action, the claims over its steps."""
    terminal_formulas: tuple[Formula, ...]
    """States in which a run may stop."""
    told_apart: Mapping[str, frozenset[ToldApart]] = field(default_factory=dict)
    """By declaration: how it tells ids apart; where nothing does, renaming them changes nothing."""
    guards: tuple[Guard, ...] = ()
    """With switches: the guards of the text. Node `switch` with data k says that guard k is left out; a `refuse` has
    none."""

    def only(self, wants: Callable[[str], bool]) -> LoweredModel:
        """The same model with the claims whose names `wants` accepts; no engine evaluates the others."""
        state_formulas = tuple(f for f in self.state_formulas if wants(f.name))
        step_formulas = tuple(tuple(f for f in formulas if wants(f.name)) for formulas in self.step_formulas)
        deadlock = self.bound.model.deadlock and wants("deadlock")
        return dataclasses.replace(
            self,
            state_formulas=state_formulas,
            step_formulas=step_formulas,
            terminal_formulas=self.terminal_formulas if deadlock else (),
        )

    @property
    def claims(self) -> tuple[str, ...]:
        """Names of what is evaluated in states and steps; "deadlock" where terminal states are told from deadlocks."""
        names = {f.name for f in self.state_formulas} | {f.name for formulas in self.step_formulas for f in formulas}
        return tuple(sorted(names | ({"deadlock"} if self.terminal_formulas else set())))


def substitute(graph: Graph, node: Node, replacements: dict[str, Node], results: dict[Node, Node]) -> Node:
    """The node with variables replaced by other nodes, simplified again. results: what was replaced already."""
    return graph.rebuilt(node, results, lambda one: replacements.get(one.data, one) if one.op == "var" else one)
