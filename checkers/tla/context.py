"""The state of a translation: names, definitions so far, and the function that is being translated."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from reassure.checkers.tla.kinds import Kind, Sets, Static, Untranslatable, constant_of_kind, kind_of_annotation
from reassure.checkers.tla.terms import TRUE, Term, atom, conjunction, implies, infix, prime
from reassure.spec.frontend.introspection import cached_hints
from reassure.spec.language.types import Size
from reassure.spec.language.values import Id
from reassure.spec.semantics.interpreter import BoundModel

KEYWORDS = """
ACTION ASSUME ASSUMPTION AXIOM BY CASE CHOOSE CONSTANT CONSTANTS COROLLARY DEF DEFINE DEFS DOMAIN ELSE ENABLED EXCEPT
EXTENDS HAVE HIDE IF IN INSTANCE LAMBDA LEMMA LET LOCAL MODULE NEW OBVIOUS OMITTED ONLY OTHER PICK PROOF PROPOSITION
PROVE QED RECURSIVE STATE SUBSET SUFFICES TAKE TEMPORAL THEN THEOREM UNCHANGED UNION USE VARIABLE VARIABLES WITH WITNESS
STRING BOOLEAN TRUE FALSE
"""
OF_STANDARD_MODULES = """
Nat Int Seq Len Append Head Tail SubSeq SelectSeq Cardinality IsFiniteSet
Any Assert JavaTime Permutations Print PrintT RandomElement SortSeq TLCEval TLCGet TLCSet ToString
"""
OF_EVERY_MODULE = """
None Init Next Spec Step Fairness vars state Becomes StartsAs TypeOK InBounds Holds Min Max Sum Range Sorted Abs
SequencesOf NoDeadlock StepOrEnd set sum item member First Seen OnState OnStep
NextOrEnd Only Precedes Folded FoldedSet
"""
RESERVED = frozenset((KEYWORDS + OF_STANDARD_MODULES + OF_EVERY_MODULE).split())
"""Names that mean something in every module."""


@dataclass(frozen=True)
class Value:
    """A translated expression. moment: of the whole state, "before" or "after" the step, which is in variables."""

    term: Term
    kind: Kind
    moment: str = ""

    @property
    def static(self) -> Any:
        """The object that is known while translating; None if there is none."""
        return self.kind.value if isinstance(self.kind, Static) else None


def known(value: Any) -> Value:
    """What is known while translating, as a value."""
    return Value(atom("?"), Static(value))


@dataclass
class Definition:
    """An operator of the module. enabled: the name of the one that says whether its guards hold, if it has any."""

    name: str
    parameters: tuple[str, ...]
    body: Term
    doc: str = ""
    kind: Kind = None
    enabled: str = ""

    @property
    def head(self) -> str:
        """What stands before `==`."""
        return f"{self.name}({', '.join(self.parameters)})" if self.parameters else self.name


@dataclass
class Lessons:
    """What an earlier attempt has learnt. records: parameters that get states as records; names: of definitions."""

    records: set[tuple[Any, str]] = field(default_factory=set)
    names: set[str] = field(default_factory=set)


HELPERS: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    # name: parameters, lines of the body, helpers that it needs
    "Holds": (("p",), r"p = TRUE", ()),
    "Min": (("S",), r"CHOOSE x \in S : \A y \in S : x <= y", ()),
    "Max": (("S",), r"CHOOSE x \in S : \A y \in S : x >= y", ()),
    "Only": (("S",), r"CHOOSE x \in S : TRUE", ()),
    "Precedes": (
        ("f", "p"),
        r"\E i \in DOMAIN p : /\ \A n \in 1..(i - 1) : n \in DOMAIN f /\ f[n] = p[n]"
        + "\n                         "
        + r"/\ IF i \in DOMAIN f THEN f[i] < p[i] ELSE TRUE",
        (),
    ),
    "Abs": (("x",), r"IF x < 0 THEN -x ELSE x", ()),
    "Range": (("f",), r"{f[x] : x \in DOMAIN f}", ()),
    "Sorted": (
        ("S",),
        r"[i \in 1..Cardinality(S) |-> CHOOSE x \in S : Cardinality({y \in S : y < x}) = i - 1]",
        (),
    ),
    "Folded": (
        ("step(_, _)", "start", "f"),
        "\n    LET after[i \\in 0..Len(f)] == IF i = 0 THEN start ELSE step(after[i - 1], f[i])\n    IN  after[Len(f)]",
        (),
    ),
    "FoldedSet": (
        ("step(_, _)", "start", "S"),
        "\n    LET after[T \\in SUBSET S] ==\n"
        "            IF T = {} THEN start ELSE LET x == CHOOSE x \\in T : TRUE IN step(after[T \\ {x}], x)\n"
        "    IN  after[S]",
        (),
    ),
    "SequencesOf": (("S", "n"), r"UNION {[1..length -> S] : length \in 0..n}", ()),
    "Sum": (
        ("f",),
        "\n    LET sum[S \\in SUBSET DOMAIN f] ==\n"
        "            IF S = {} THEN 0 ELSE LET x == CHOOSE x \\in S : TRUE IN f[x] + sum[S \\ {x}]\n"
        "    IN  sum[DOMAIN f]",
        (),
    ),
}
BOUND_IN_HELPERS = re.compile(r"\b(?:x|y|f|p|i|n|S|T|length|step|start|after)\b")
NOTES = {
    "Holds": "p, evaluated once: TLC takes a disjunction in an action for several ways and counts a step for each.",
    "Folded": "What a step for each item of a sequence makes of the start, in order.",
    "FoldedSet": "What a step for each member of a set makes of the start, in any order.",
    "Only": "The member of a set that has one.",
    "Precedes": "The order of sequences of numbers: the first items that differ decide, else the lengths.",
    "Sorted": "The members of a set of numbers, ascending.",
    "SequencesOf": "Sequences of at most n items.",
    "Sum": "The sum of the values of a function.",
}


def camel(name: str) -> str:
    """`min_isr` as `MinIsr`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


@dataclass(frozen=True)
class Translators:
    """What the modules of this package need of each other. translate: an expression. define: a function, with the
    name that it is to have, the arguments that are known, and the kinds of parameters without an annotation."""

    translate: Callable[[Context, ast.expr], Value]
    define: Callable[[ModuleScope, Any, str, dict[str, Value], Mapping[str, Kind]], Definition]


class ModuleScope:
    """What the declarations of a model share while they are translated."""

    def __init__(self, bound: BoundModel, lessons: Lessons, tables: Translators) -> None:
        self.bound, self.lessons, self.tables = bound, lessons, tables
        self.taken: set[str] = set(RESERVED)
        self.locals: set[str] = set()
        self.definitions: list[Definition] = []
        self.memo: dict[Any, Definition] = {}
        self.helpers: set[str] = set()
        self.again = False
        """Whether the lessons of this attempt need another one."""
        self.splitting: dict[str, bool] = {}
        """By definition, whether TLC would take its body for alternatives."""
        self.variables = {f.name: self.name(f.name) for f in fields(bound.model.state)}
        self.constants = {f.name: self.name(camel(f.name)) for f in fields(bound.model.config)}
        self.sorts: dict[type, str] = {}
        self.sets = Sets(self.size, self.sort, self.helper, self.name)
        self.computed: set[str] = set()
        """Definitions whose values Python has computed."""
        self.running: list[Any] = []

    # -- names ---------------------------------------------------------------------------------------

    def name(self, wanted: str) -> str:
        """A name for a variable, a constant or a definition, which nothing else has."""
        wanted = re.sub(r"^(WF_|SF_)", r"\1x", wanted)
        name, number = wanted, 2
        while name in self.taken:
            name, number = f"{wanted}_{number}", number + 1
        self.taken.add(name)
        if name in self.locals and name not in self.lessons.names:
            self.lessons.names.add(name)
            self.again = True
        return name

    def bound_name(self, wanted: str) -> str:
        """A name for a parameter or a bound variable of a general operator, which no definition has."""
        while wanted in self.taken:
            wanted += "_"
        return wanted

    def helper(self, name: str) -> str:
        """The name of a general operator, which the module then defines."""
        self.helpers.add(name)
        self.helpers.update(HELPERS[name][2])
        return name

    def define(self, definition: Definition) -> Definition:
        """Adds a definition after those that it needs."""
        self.definitions.append(definition)
        self.splitting[definition.name] = splits(definition.body, self.splitting)
        return definition

    # -- the configuration and the types --------------------------------------------------------------

    def size(self, size: Size) -> Term:
        """The term of a bound."""
        if isinstance(size, int):
            found = constant_of_kind(size)
            assert found is not None
            return found[0]
        return self.setting(size).term

    def setting(self, name: str) -> Value:
        """A field of the configuration, or a property of it."""
        config = self.bound.config
        if name in self.constants:
            return Value(atom(self.constants[name]), hinted(type(config), name))
        prop = inspect.getattr_static(type(config), name, None)
        key = ("setting", name)
        if key not in self.memo:
            self.memo[key] = self._property(name, prop)
        definition = self.memo[key]
        return Value(atom(definition.name), definition.kind)

    def _property(self, name: str, prop: Any) -> Definition:
        if isinstance(prop, property) and prop.fget is not None:
            mark, taken = len(self.definitions), set(self.taken)
            try:
                parameter = next(iter(signature(prop.fget)))
                made = self.tables.define(self, prop.fget, camel(name), {parameter: known(self.bound.config)}, {})
            except (Untranslatable, OSError):
                del self.definitions[mark:]
                self.taken = taken
            else:
                return made
        value = constant_of_kind(getattr(self.bound.config, name))
        if value is None:
            raise Untranslatable(f"{type(self.bound.config).__name__}.{name}")
        self.computed.add(tla_name := self.name(camel(name)))
        return self.define(Definition(tla_name, (), value[0], "As Python computes it for these constants.", value[1]))

    def sort(self, sort: type) -> Term:
        """The definition of an id sort or an enumeration."""
        if sort not in self.sorts:
            if issubclass(sort, Enum):
                members = tuple(atom(f'"{m.name}"') for m in sort)
                body = Term("set", members)
            else:
                assert issubclass(sort, Id)
                first = self.size(sort.first)
                count, offset = self.size(sort.size), sort.first - 1
                last = count if offset == 0 else infix("+" if offset > 0 else "-", count, atom(str(abs(offset))))
                body = infix("..", first, last)
            self.sorts[sort] = self.name(sort.__name__)
            doc = (sort.__doc__ or "") if sort.__module__ != "enum" else ""
            self.define(Definition(self.sorts[sort], (), body, doc if not doc.startswith(f"{sort.__name__}(") else ""))
        return atom(self.sorts[sort])

    def named_constant(self, name: str, value: Any, term: Term, kind: Kind) -> str:
        """The definition of a constant of a module."""
        key = ("constant", name, value)
        if key not in self.memo:
            self.memo[key] = self.define(Definition(self.name(name), (), term, "", kind))
        return self.memo[key].name

    # -- the state --------------------------------------------------------------------------------------

    def is_config(self, annotation: Any) -> bool:
        """Whether a parameter that is annotated so is the configuration."""
        is_class = isinstance(annotation, type) and annotation is not object
        return is_class and issubclass(self.bound.model.config, annotation)

    def is_state(self, kind: Kind) -> bool:
        """Whether a kind is the state's class, or one that it extends."""
        return isinstance(kind, type) and is_dataclass(kind) and issubclass(self.bound.model.state, kind)

    def variable(self, name: str, moment: str) -> Term:
        """A variable, before or after the step."""
        variable = atom(self.variables[name])
        return prime(variable) if moment == "after" else variable


def hinted(cls: type, name: str) -> Kind:
    """The kind of a field of a class."""
    return kind_of_annotation(cached_hints(cls)[name])


def signature(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a function."""
    return dict(inspect.signature(function).parameters)


def splits(term: Term, of: dict[str, bool]) -> bool:
    """Whether TLC, where a formula stands in an action, takes it for alternatives. of: the same of definitions."""
    if term.op in ("or", "exists"):
        return True
    if term.op == "and":
        return any(splits(p, of) for p in term.parts)
    if term.op in ("if", "let", "forall"):
        return any(splits(p, of) for p in (term.parts[1:] if term.op == "if" else term.parts[-1:]))
    if term.op == "infix" and term.names[0] == "=>":
        return splits(term.parts[1], of)
    return term.op in ("atom", "call") and of.get(term.names[0], False)


class Context:
    """One function that is being translated: its variables, the names in use, and the guards on the way."""

    def __init__(self, scope: ModuleScope, function: Any, file: str, variables: dict[str, Value]) -> None:
        self.scope, self.function, self.file = scope, function, file
        self.variables = variables
        self.in_use: set[str] = set()
        self.guards: list[Term] = []
        self.loops: list[Any] = []
        """The loops around what is being translated (`trees.FoldedLoop`), the innermost one last."""

    def place(self, node: ast.AST) -> str:
        """The file and the line of a node."""
        return f"{Path(self.file).name}:{getattr(node, 'lineno', 0)}"

    def refuse(self, node: ast.AST, what: str) -> Untranslatable:
        """The refusal of a construct at a node."""
        return Untranslatable(what, self.place(node))

    def fresh(self, wanted: str) -> str:
        """A name for a local value or a bound variable."""
        base = wanted.strip("_") or "x"
        candidates = [base, f"{base}_", *(f"{base}_{i}" for i in range(2, 100))]
        scope = self.scope
        avoided = scope.taken | self.in_use | scope.lessons.names
        name = next(c for c in candidates if c not in avoided)
        self.in_use.add(name)
        scope.locals.add(name)
        return name

    @contextmanager
    def naming(self, variable: str, kind: Kind) -> Iterator[str]:
        """Within, a variable of the text is a bound variable of a kind; yields its name."""
        hidden = self.variables.get(variable)
        name = self.fresh(variable)
        self.variables[variable] = Value(atom(name), kind)
        try:
            yield name
        finally:
            self.in_use.discard(name)
            if hidden is None:
                del self.variables[variable]
            else:
                self.variables[variable] = hidden

    @contextmanager
    def guards_if(self, condition: Term) -> Iterator[None]:
        """Within, guards count only where a condition holds."""
        outer, self.guards = self.guards, []
        yield
        inner, self.guards = conjunction(self.guards), outer
        if inner != TRUE:
            self.guards.append(implies(condition, inner))

    def translate(self, node: ast.expr) -> Value:
        """An expression; its guards are added to those on the way."""
        return self.scope.tables.translate(self, node)

    def term(self, node: ast.expr) -> Term:
        """The term of an expression; of the state in the variables, the record of them."""
        return self.whole(self.translate(node), node)

    def condition(self, node: ast.expr) -> Term:
        """The term of an expression that is a bool; in a property of the configuration it may be something else."""
        value = self.translate(node)
        if value.kind is not bool:
            raise self.refuse(node, f"`{ast.unparse(node)}` as a condition")
        return value.term

    def whole(self, value: Value, node: ast.AST | None = None) -> Term:
        """The term of a value; of the state in the variables, the record of them."""
        if value.moment:
            return prime(atom("state")) if value.moment == "after" else atom("state")
        if isinstance(value.kind, Static):
            raise Untranslatable(f"{value.kind.value!r} as a value", self.place(node or ast.Pass()))
        return value.term

    def lift(self, value: Any, name: str = "") -> Value:
        """A Python object that the text names."""
        found = constant_of_kind(value)
        if found is None:
            return known(value)
        term, kind = found
        if name.isupper() and not isinstance(value, bool | None):
            return Value(atom(self.scope.named_constant(name, value, term, kind)), kind)
        return Value(term, kind)
