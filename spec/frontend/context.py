"""The state of lowering: what is known at the place of the text that is being lowered.

`ModelScope` is what all declarations of a model share; a `Context` is made for each declaration. The functions that
lower constructs take it as their first argument, and reach each other through its tables (`Constructs`).

Also here: consequences of conditions that hold: enough to drop checks that cannot fail, no more.

Conditions are taken apart at `and` and at the negation of `or`; of an `or` all of whose terms but one are known to be
false the last one is known to hold.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from types import FunctionType
from typing import Any

from reassure.spec.frontend.introspection import (
    MOST_OPERATIONS,
    Definition,
    Refusal,
    Refused,
    SubsetError,
    TooLarge,
    cached_hints,
    find_source,
)
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import Check, Formula, Guard, Telling, ToldApart
from reassure.spec.frontend.symbolic_values import POISON, Mismatch, Sym, of_type, refuse_inner_bags
from reassure.spec.frontend.symbols import Symbols
from reassure.spec.language.annotations import AnyNumber, record_type, resolve
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import DomainError, EnumType, IdType, IntType, Type, unbounded
from reassure.spec.language.values import Id
from reassure.spec.language.vocabulary import Initial
from reassure.spec.semantics.interpreter import BoundModel


class Contradiction(Exception):
    """The conditions exclude each other."""


def _parts(g: Graph, condition: Node, op: str) -> list[Node]:
    """The terms of a conjunction or disjunction, also where it is written as the negation of the other."""
    other = "or" if op == "and" else "and"
    if condition.op == op:
        return [part for arg in condition.args for part in _parts(g, arg, op)]
    if condition.op == "not" and condition.args[0].op == other:
        return [part for arg in condition.args[0].args for part in _parts(g, g.not_(arg), op)]
    return [condition]


def facts_of(g: Graph, *conditions: Node) -> set[Node]:
    """The facts that hold where all the conditions do; `Contradiction` if they never do."""
    facts: set[Node] = set()
    choices: list[list[Node]] = []
    pending = list(conditions)
    while pending:
        for fact in _parts(g, pending.pop(), "and"):
            if fact is g.false or g.not_(fact) in facts:
                raise Contradiction
            if fact not in facts:
                facts.add(fact)
                terms = _parts(g, fact, "or")
                if len(terms) > 1:
                    choices.append(terms)
        if pending:
            continue
        for terms in choices:
            open_terms = [t for t in terms if g.not_(t) not in facts]
            if not open_terms:
                raise Contradiction
            if len(open_terms) == 1 and not facts.issuperset(_parts(g, open_terms[0], "and")):
                pending.append(open_terms[0])
    facts.discard(g.true)
    return facts


def implied(g: Graph, premise: Node, condition: Node) -> Node:
    """`not premise or condition`; true where the premise makes the condition hold."""
    try:
        facts = facts_of(g, premise)
        open_parts = [c for c in _parts(g, condition, "and") if c not in facts]
        open_ = [c for c in open_parts if not any(t in facts for t in _parts(g, c, "or"))]
    except Contradiction:
        return g.true
    if not open_:
        return g.true
    return g.implies(premise, condition if len(open_parts) == len(open_) else g.and_(*open_))


def exclude(g: Graph, *conditions: Node) -> bool:
    """Whether the conditions are seen never to hold together."""
    try:
        facts_of(g, *conditions)
    except Contradiction:
        return True
    return False


def _choices(node: Node, facts: set[Node]) -> list[Node]:
    """What a choice may be where facts hold; of one by the value of an id or enum member, as its number is one."""
    test = node.args[0]
    ids = [arg for arg in test.args if isinstance(arg.type, IdType | EnumType) and arg.op != "const"]
    if test.op != "eq" or len(ids) != 1 or unbounded(ids[0].type):
        return list(node.args[1:])
    (chosen,), choices = ids, list[Node]()
    possible = {i for i in range(chosen.type.count) if all(_fits(chosen, i, fact) for fact in facts)}
    while node.op == "ite" and node.args[0].op == "eq" and chosen in node.args[0].args:
        (index,) = (arg for arg in node.args[0].args if arg is not chosen)
        if index.op != "const":
            break
        if index.data in possible:
            choices.append(node.args[1])
        possible.discard(index.data)
        node = node.args[2]
    return [*choices, node] if possible or not choices else choices


def _fits(chosen: Node, index: int, fact: Node) -> bool:
    """Whether an id or enum member may be that of an index, as far as a fact says."""
    holds, test = (False, fact.args[0]) if fact.op == "not" else (True, fact)
    if test.op not in ("lt", "eq") or chosen not in test.args:
        return True
    if any(arg.op != "const" for arg in test.args if arg is not chosen):
        return True
    a, b = (index if arg is chosen else arg.data for arg in test.args)
    return holds == (a < b if test.op == "lt" else a == b)


def bounds_under(node: Node, facts: set[Node], known: dict[Node, tuple[int, int]] | None = None) -> tuple[int, int]:
    """The least and the greatest value that an int may have where facts hold, as far as is seen.

    known: what was found of parts where the same facts hold. A number that a loop sums up has each of its beginnings in
    several places.
    """
    known = {} if known is None else known
    if node not in known:
        known[node] = _bounds_of(node, facts, known)
    return known[node]


def _bounds_of(node: Node, facts: set[Node], known: dict[Node, tuple[int, int]]) -> tuple[int, int]:
    assert isinstance(node.type, IntType)
    low, high = node.type.low, node.type.high
    if node.op in ("add", "sub", "min", "max"):
        (a, b), (c, d) = (bounds_under(arg, facts, known) for arg in node.args)
        low = max(low, {"add": a + c, "sub": a - d, "min": min(a, c), "max": max(a, c)}[node.op])
        high = min(high, {"add": b + d, "sub": b - c, "min": min(b, d), "max": max(b, d)}[node.op])
    elif node.op == "ite":
        taken = [bounds_under(choice, facts, known) for choice in _choices(node, facts)]
        least, greatest = _of_choice(node, facts)
        low = max(low, least, min(b[0] for b in taken))
        high = min(high, greatest, max(b[1] for b in taken))
    before = None
    while before != (low, high):  # what is not a bound excludes another number once the bound is there
        before = low, high
        for fact in facts:
            holds, test = (False, fact.args[0]) if fact.op == "not" else (True, fact)
            if test.op not in ("lt", "eq") or node not in test.args or not isinstance(test.args[0].type, IntType):
                continue
            first, other = node is test.args[0], test.args[1] if node is test.args[0] else test.args[0]
            assert isinstance(other.type, IntType)
            least, greatest = other.type.low, other.type.high
            if test.op == "eq" and holds:
                low, high = max(low, least), min(high, greatest)
            elif test.op == "eq" and least == greatest:  # another value than a constant
                low, high = low + (low == least), high - (high == greatest)
            elif test.op == "lt" and first == holds:  # below it; or not below, and it is the second
                high = min(high, greatest - 1 if holds else greatest)
            elif test.op == "lt":
                low = max(low, least + 1 if holds else least)
    return low, high


def _of_choice(node: Node, facts: set[Node]) -> tuple[int, int]:
    """The bounds of the values that a choice may take where facts hold."""
    false, bounds = {fact.args[0] for fact in facts if fact.op == "not"}, []
    while node.op == "ite":
        condition, *branches = node.args
        constant = next((b for b in branches if b.op == "const"), None)
        if condition in facts or condition in false:
            node = branches[condition in false]
        elif constant is not None:
            bounds.append((constant.data, constant.data))
            node = branches[constant is branches[0]]
        else:
            break
    assert isinstance(node.type, IntType)
    bounds.append((node.type.low, node.type.high))
    return min(low for low, _ in bounds), max(high for _, high in bounds)


LowerExpression = Callable[["Context", Any], Sym]
"""Lowers an expression of one kind of syntax node: it takes the node."""


@dataclass(frozen=True)
class Constructs:
    """The functions that lower expressions, by their kind of syntax node."""

    expressions: Mapping[type[ast.expr], LowerExpression]
    set_displays: Mapping[type[ast.expr], LowerExpression]
    """A mutable set, where an operation takes it at once so that nobody can change it."""


@dataclass
class Frame:
    """One function that is being lowered."""

    function: FunctionType
    file: str
    lines: list[str]
    """The text of the file."""
    variables: dict[str, Sym]
    not_none: frozenset[str] = frozenset()
    """Access paths (`a.b.c`) that are known not to be None here."""
    narrowed_by: dict[str, Guard] = field(default_factory=dict)
    """Of access paths with keys, the guard that narrows them: where such a value is read as one that is there."""
    loops: list[Any] = field(default_factory=list)
    """The loops around what is being lowered (`loops.OpenLoop`), the innermost one last."""
    has_refusal: bool = False
    of_refused: int = 0
    """The fields of refused types around what is being lowered: a literal in the value of one is a part of its type."""
    lacks_value: bool = False
    """Whether a statement that Python never gets to was left, since something in it has no value."""


class ModelScope:
    """The data that the declarations of one model share while they are lowered."""

    def __init__(
        self,
        bound: BoundModel,
        constructs: Constructs,
        switches: bool = False,
        graph: Graph | None = None,
        any_number: AnyNumber | None = None,
    ) -> None:
        self.bound = bound
        self.constructs = constructs
        self.graph = g = graph or Graph()
        self.most_nodes = len(g) + MOST_OPERATIONS
        """Of the graph, with what is translated here: it may have the operations of the model's mutants before."""
        g.apart = any_number is not None
        self.any_number = any_number
        """The configuration, if some of its numbers are free."""
        self.refusals: list[Refusal] = []
        self.symbols = Symbols(g, bound.config, any_number, self.refusals)
        self.type = bound.type if any_number is None else record_type(bound.model.state, any_number)
        try:
            self.state = of_type(g, self.type, g.var)
            if any_number is not None:
                refuse_inner_bags(self.type)
        except Mismatch as error:  # of a type that has no translation for any number
            raise SubsetError([_of_state(bound.model.initials[0], str(error))]) from None
        self.next_state = of_type(g, self.type, lambda path, kind: g.var(path + "'", kind))
        self.told_apart: dict[str, set[ToldApart]] = {}
        """By declaration: how it tells ids apart."""
        self.guards: dict[Guard, list[str]] | None = {} if switches else None
        """With switches: the guards of the text, by number, each with the declarations that evaluate it."""
        self.narrowing: set[Guard] = set()
        """Of the guards, those that let an optional be read as a value that is there."""
        self.changed: Mapping[FunctionType, Definition] = {}
        """Definitions that actions and initial functions run in place of the text of a function."""
        self.of_any_step: dict[str, Formula] = {}
        """Claims over steps that read the states alone, by name: one formula for the steps of every action."""
        self.refused_parts: set[ast.AST] = set()
        """The expressions that were refused."""
        self.types_refused = ""
        """The texts about types that are refused, of a model that is lowered for its other refusals."""

    def parameters(self, name: str) -> tuple[tuple[str, Type], ...]:
        """Names and types of an action's, or an initial function's, parameters."""
        parameters = self.bound.parameters(name)
        if self.any_number is None:
            return parameters
        model = self.bound.model
        functions = {d.name: d.function for d in model.actions} | {d.name: d.function for d in model.initials}
        hints = cached_hints(functions[name])
        return tuple((free, resolve(hints[free], self.any_number)) for free, _ in parameters)


def _of_state(initial: Initial, why: str) -> Refusal:
    """A refusal of the state's type, where a state is made first."""
    assert isinstance(initial.function, FunctionType)
    tree, path, lines = find_source(initial.function)
    return Refusal(path, tree.lineno, tree.col_offset, f"the state of `{initial.name}`", why, lines[tree.lineno - 1])


@dataclass(frozen=True)
class Checkpoint:
    """The record of checks and facts at the start of something that may be lowered once more."""

    checks: int
    assured: Node


class Context:
    """The state of lowering one declaration: an action, an initial function, a claim."""

    def __init__(self, scope: ModelScope, declaration: str) -> None:
        self.scope = scope
        self.declaration = declaration
        self.constructs = scope.constructs
        self.graph = scope.graph
        self.symbols = scope.symbols
        self.symbols.told_apart = scope.told_apart.setdefault(declaration, set())
        self.config = scope.bound.config
        self.within_step = False
        """Whether the body of an action or initial function is being lowered: guards are allowed there."""
        self.frames: list[Frame] = []
        """The function that is being lowered comes last, after those that called it."""
        self.checks: list[Check] = []
        self.path = scope.graph.true
        """The condition under which the branches, filters and operands so far lead here."""
        self.assured = scope.graph.true
        """The conjunction of the guards so far."""
        self.peeks = 0
        """The number of peeks at values (`nothing_recorded`) that are under way, one in another."""
        self.members: list[Node] = []
        """The bound members of the comprehensions over sorts of any number of members that are being lowered."""

    @property
    def frame(self) -> Frame:
        """The function that is being lowered."""
        return self.frames[-1]

    def definition_of(self, function: FunctionType) -> tuple[Definition, str, list[str]]:
        """The definition that a call of a function runs, its file and that file's lines; `OSError` without a source."""
        tree, path, lines = find_source(function)
        return self.scope.changed.get(function, tree) if self.within_step else tree, path, lines

    @contextmanager
    def entered(self, frame: Frame) -> Iterator[None]:
        """Within, a function is being lowered; what its branches have made of the path ends with it."""
        path = self.path
        self.frames.append(frame)
        try:
            yield
        finally:
            self.frames.pop()
            self.path = path

    def reads_order(self, sort: type[Id], *nodes: Node) -> None:
        """Notes that the order of a sort is read, of these nodes; of constants, the graph does not show it."""
        shown = any(node.op != "const" for node in nodes)
        self.symbols.told_apart.add(ToldApart(sort, Telling.ORDER if shown else Telling.HIDDEN_ORDER))

    # -- refusals -------------------------------------------------------------------------------------

    def refuse(self, node: ast.AST, construct: str, remedy: str) -> Refused:
        """Records a refusal at a node. The caller raises what is returned, unless it goes on to find more."""
        refusal = self._refusal(node, construct, remedy)
        if refusal not in self.scope.refusals:
            self.scope.refusals.append(refusal)
        return Refused()

    def refuse_types(self, node: ast.AST, error: Exception) -> Refused:
        """As `refuse`, of types that do not fit; of a type that is refused itself there is nothing more to say."""
        if isinstance(error, DomainError) and str(error) in self.scope.types_refused:
            return Refused()
        return self.refuse(node, "types do not fit", str(error))

    def _refusal(self, node: ast.AST, construct: str, remedy: str) -> Refusal:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        frame = self.frame
        source = frame.lines[line - 1].rstrip() if line <= len(frame.lines) else ""
        return Refusal(frame.file, line, column, construct, remedy, source)

    def must_be_small(self, node: ast.expr) -> None:
        """Raises `TooLarge`, at a node, if the model has more operations than are translated."""
        if len(self.graph) > self.scope.most_nodes:
            what = f"more than {MOST_OPERATIONS:,} operations in {self.declaration}"
            remedy = "each turn of a loop over ids is translated; nest fewer loops, or take fewer ids"
            raise TooLarge([self._refusal(node, what, f"{remedy}; `check --engine reference` translates nothing")])

    # -- conditions -------------------------------------------------------------------------------------

    @property
    def unreached(self) -> bool:
        """Whether Python never gets here, and nothing is refused.

        A value may be missing here (`max` of nothing) although it is lowered, so that what is wrong in it is refused.
        """
        return self.path is self.graph.false and not self.scope.refusals

    @contextmanager
    def under(self, condition: Node) -> Iterator[None]:
        """Within, only runs in which `condition` holds are meant. What lacks a value is left where it is unreached."""
        path, self.path = self.path, self.graph.and_(self.path, condition)
        try:
            yield
        except Refused:
            if not self.unreached:
                raise
        finally:
            self.path = path

    @contextmanager
    def binding(self, member: Node) -> Iterator[None]:
        """Within, what is lowered is meant for each member of a sort, if `member` is a bound one."""
        bound = [member] if member.op == "bound" else []
        self.members += bound
        try:
            yield
        finally:
            del self.members[len(self.members) - len(bound) :]

    @contextmanager
    def knowing(self, not_none: frozenset[str]) -> Iterator[None]:
        """Within, these access paths are known not to be None."""
        frame, before = self.frame, self.frame.not_none
        frame.not_none = before | not_none
        try:
            yield
        finally:
            frame.not_none = before

    def bounds(self, node: Node) -> tuple[int, int]:
        """The least and the greatest value that an int may have here."""
        try:
            return bounds_under(node, facts_of(self.graph, self.path, self.assured))
        except Contradiction:  # nothing gets here
            return 0, 0

    # -- checks ---------------------------------------------------------------------------------------

    def check(self, kind: str, node: ast.expr, condition: Node, part: tuple[int, int] = (0, 1), text: str = "") -> None:
        """Records that Python goes on here only if the condition holds. kind, part: as `Check` has them."""
        g = self.graph
        premise = g.and_(self.path, self.assured) if kind == "error" else self.path
        condition = implied(g, premise, condition)
        for member in reversed(self.members):
            condition = g.for_all(member, condition)
        if condition is g.true:
            return
        file, line, column = self.frame.file, node.lineno, node.col_offset
        self.checks.append(Check(kind, condition, text or ast.unparse(node), file, line, column, part))
        if kind == "require":
            self.assured = g.and_(self.assured, condition)

    def checkpoint(self) -> Checkpoint:
        """A checkpoint that `rollback` returns to."""
        return Checkpoint(len(self.checks), self.assured)

    def rollback(self, checkpoint: Checkpoint) -> None:
        """Forgets the checks since the checkpoint, to lower the same once more."""
        del self.checks[checkpoint.checks :]
        self.assured = checkpoint.assured

    @contextmanager
    def behind_refused(self, *names: str) -> Iterator[None]:
        """Within, what is behind something refused is lowered for its refusals alone. names: have no value there."""
        frame, before = self.frame, (self.frame.variables, self.frame.not_none, self.path)
        frame.variables, self.path = {**frame.variables, **dict.fromkeys(names, POISON)}, self.graph.false
        try:
            yield
        finally:
            frame.variables, frame.not_none, self.path = before

    @contextmanager
    def nothing_recorded(self) -> Iterator[None]:
        """Within, refusals and checks are forgotten at the end."""
        refusals, checkpoint = len(self.scope.refusals), self.checkpoint()
        self.peeks += 1
        try:
            yield
        finally:
            self.peeks -= 1
            del self.scope.refusals[refusals:]
            self.rollback(checkpoint)
