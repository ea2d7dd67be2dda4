"""Infers the types of terms as Apalache's checker does: which type a `None` has, and what would not be accepted.

Operators have one type each, as our functions do; general operators have theirs for every use.

Also here: types in the notation of Apalache (its ADR-002, type system 1.2), which reads them in comments of the
module.
"""

from __future__ import annotations

import itertools
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any

from reassure.checkers.tla.context import Definition
from reassure.checkers.tla.kinds import family, is_a, items_of_tuple, kind_of_annotation, place_name
from reassure.checkers.tla.terms import Term, atom
from reassure.spec.frontend.introspection import cached_hints
from reassure.spec.language.values import Map

Names = dict[str, "TlaType"]
NUMBERED = "None "
"""The beginning of the name of a `None` while types are inferred."""


@dataclass(eq=False)
class TlaType:
    """A type: `Int`, `Set` of a part, `Rec` with a part for each name; "" is not known yet, and may become another."""

    head: str = ""
    parts: list[TlaType] = field(default_factory=list)
    names: tuple[str, ...] = ()
    same: TlaType | None = None

    def found(self) -> TlaType:
        """What it has become."""
        return self if self.same is None else self.same.found()

    def __str__(self) -> str:
        known = self.found()
        if known.head == "Rec":
            return f"{{ {', '.join(f'{n}: {p}' for n, p in zip(known.names, known.parts, strict=True))} }}"
        if known.head == "->":
            return f"({known.parts[0]} -> {known.parts[1]})"
        return (known.head or "?") + (f"({known.parts[0]})" if known.parts else "")


def read_type(text: str, aliases: Mapping[str, str]) -> TlaType:
    """The type of an annotation."""
    tokens = re.findall(r"\$?\w+|->|[(){},:]", text)

    def one() -> TlaType:
        token = tokens.pop(0)
        if token in ("Set", "Seq", "("):
            inner = one() if token == "(" else TlaType(token, [one()])
            if token == "(":
                tokens.pop(0)
        elif token == "{":
            names, parts = [], []
            while token != "}":
                names.append(tokens.pop(0))
                tokens.pop(0)
                parts.append(one())
                token = tokens.pop(0)
            inner = TlaType("Rec", parts, tuple(names))
        else:
            inner = read_type(aliases[token[1:]], aliases) if token.startswith("$") else TlaType(token)
        if tokens[:1] == ["->"]:
            tokens.pop(0)
            return TlaType("->", [inner, one()])
        return inner

    return one()


BOOL, INT, TEXT = TlaType("Bool"), TlaType("Int"), TlaType("Str")
COMPARED = {
    **dict.fromkeys(("<", "<=", ">", ">="), (INT, BOOL)),
    **dict.fromkeys(("=>", "~>"), (BOOL, BOOL)),
    **dict.fromkeys(("+", "-", "*", "%", r"\div"), (INT, INT)),
    "..": (INT, TlaType("Set", [INT])),
}
"""Of an infix operator, the type of its operands and of the result."""


class Inference:
    """Finds the types of the definitions of a module, in which `numbered` has made one name of each `None`.

    variables: with the constants. records: the types of records that there are.
    """

    def __init__(self, definitions: Iterable[Definition], variables: Names, records: list[TlaType]) -> None:
        self.globals: Names = {"BOOLEAN": _set_of(BOOL), **variables}
        self.records = records
        self.operators: dict[str, list[TlaType]] = {}
        """The types of the parameters and of the result."""
        self.nones: Names = {}
        self.errors: list[str] = []
        self.pending: list[tuple[TlaType, str, Callable[[TlaType], None]]] = []
        """What waits until a type is known; of records, the field."""
        for definition in definitions:
            self.about, names = definition.name, {p: TlaType() for p in definition.parameters}
            self.operators[definition.name] = [*names.values(), self.of(definition.body, names)]
            self.settle()
        self.guess()

    def guess(self) -> None:
        """Takes records of which only fields are known for those that have them."""
        wanted: dict[int, tuple[TlaType, set[str]]] = {}
        for kind, name, _ in self.pending:
            if name:
                wanted.setdefault(id(kind.found()), (kind, set()))[1].add(name)
        for kind, names in wanted.values():
            fitting = [r for r in self.records if names <= set(r.names)]
            if not kind.found().head and len(fitting) == 1:
                self.same(kind, fitting[0])
        self.settle()

    def settle(self) -> None:
        """Goes on with what waited for a type that is known by now."""
        waiting = True
        while waiting:
            ready = [p for p in self.pending if p[0].found().head]
            self.pending = [p for p in self.pending if not p[0].found().head]
            for kind, _, then in ready:
                then(kind.found())
            waiting = bool(ready)

    def same(self, a: TlaType, b: TlaType) -> TlaType:
        """Both are one type; a function of numbers may be a sequence, as `FunAsSeq` makes it."""
        a, b = a.found(), b.found()
        if a is b:
            return a
        if not a.head or not b.head:
            one, other = (a, b) if not a.head else (b, a)
            one.same = other
            return other
        if {a.head, b.head} == {"Seq", "->"}:
            sequence, function = (a, b) if a.head == "Seq" else (b, a)
            self.same(function.parts[0], INT)
            self.same(function.parts[1], sequence.parts[0])
        elif a.head != b.head or a.names != b.names:
            self.errors.append(f"{self.about}: {a} and {b}")
        else:
            for x, y in zip(a.parts, b.parts, strict=True):
                self.same(x, y)
        return a

    def all(self, terms: Iterable[Term], names: Names, kind: TlaType | None = None) -> TlaType:
        """The one type of some terms."""
        kind = kind or TlaType()
        for term in terms:
            kind = self.same(kind, self.of(term, names))
        return kind

    def when_known(self, kind: TlaType, then: Callable[[TlaType], None], name: str = "") -> None:
        """Does something with a type as soon as it is known."""
        if kind.found().head:
            then(kind.found())
        else:
            self.pending.append((kind, name, then))

    def function(self, function: TlaType) -> tuple[TlaType, TlaType]:
        """The argument and the value of a function or a sequence."""
        argument, value = TlaType(), TlaType()

        def then(kind: TlaType) -> None:
            self.same(argument, INT if kind.head == "Seq" else kind.parts[0])
            self.same(value, kind.parts[-1])

        self.when_known(function, then)
        return argument, value

    def field(self, record: TlaType, name: str) -> TlaType:
        """The type of a record's field."""
        value = TlaType()

        def then(kind: TlaType) -> None:
            if name in kind.names:
                self.same(value, kind.parts[kind.names.index(name)])
            else:
                self.errors.append(f"{self.about}: {kind} has no {name}")

        self.when_known(record, then, name)
        return value

    def bound(self, term: Term, names: Names) -> Names:
        """The names with those that a term binds to members of sets, which stand before its last part."""
        inner = dict(names)
        for name, domain in zip(term.names, term.parts, strict=False):
            inner[name] = TlaType()
            self.same(self.of(domain, {**inner, name: TlaType()}), _set_of(inner[name]))
        return inner

    def of(self, term: Term, names: Names) -> TlaType:
        """The type of a term. names: what is bound around it."""
        parts, words = term.parts, term.names
        match term.op:
            case "atom":
                return self.atom(words[0], names)
            case "and" | "or" | "not":
                return self.all(parts, names, BOOL)
            case "neg":
                return self.all(parts, names, INT)
            case "prime":
                return self.of(parts[0], names)
            case "prefix":
                return self.prefix(words[0], parts[0], names)
            case "infix":
                return self.infix(words[0], parts, names)
            case "call":
                return self.call(words[0], parts, names)
            case "index":
                argument, value = self.function(self.of(parts[0], names))
                self.same(argument, self.of(parts[1], names))
                return value
            case "field":
                return self.field(self.of(parts[0], names), words[0])
            case "if":
                self.all(parts[:1], names, BOOL)
                return self.all(parts[1:], names)
            case "let":
                inner = dict(names)
                for name, part in zip(words, parts, strict=False):
                    inner[name] = self.of(part, inner)
                return self.of(parts[-1], inner)
            case "exists" | "forall":
                return self.all(parts[-1:], self.bound(term, names), BOOL)
            case "lambda":
                argument = TlaType()
                return TlaType("->", [argument, self.of(parts[0], {**names, words[0]: argument})])
            case "unchanged":
                return BOOL
            case "set":
                return _set_of(self.all(parts, names))
            case "tuple":
                return TlaType("Seq", [self.all(parts, names)])
            case "record":
                return TlaType("Rec", [self.of(p, names) for p in parts], words)
            case "recordset":
                return _set_of(TlaType("Rec", [self.member(p, names) for p in parts], words))
            case "functionset":
                return _set_of(TlaType("->", [self.member(p, names) for p in parts]))
            case "function":
                inner = self.bound(term, names)
                return TlaType("->", [inner[words[0]], self.of(parts[1], inner)])
            case "filter":
                inner = self.bound(term, names)
                self.all(parts[1:], inner, BOOL)
                return _set_of(inner[words[0]])
            case "image":
                return _set_of(self.of(parts[1], self.bound(term, names)))
            case "except":
                whole = self.of(parts[0], names)
                for name, part in zip(words, parts[1:], strict=True):
                    self.same(self.field(whole, name), self.of(part, names))
                return whole
            case "put":
                whole = self.of(parts[0], names)
                argument, value = self.function(whole)
                self.same(argument, self.of(parts[1], names))
                self.same(value, self.of(parts[2], names))
                return whole
        raise ValueError(term.op)

    def member(self, term: Term, names: Names) -> TlaType:
        """The type of a set's members."""
        item = TlaType()
        self.same(self.of(term, names), _set_of(item))
        return item

    def atom(self, text: str, names: Names) -> TlaType:
        """The type of a name, a number or a text; a formula that is written as text is one."""
        if text.startswith(NUMBERED):
            return self.nones.setdefault(text, TlaType())
        if text in names:
            return names[text]
        if text in self.operators:
            return self.operators[text][-1]
        if text.isdecimal():
            return INT
        return TEXT if text.startswith('"') else self.globals.get(text, BOOL)

    def prefix(self, symbol: str, term: Term, names: Names) -> TlaType:
        """The type of `SUBSET S`, `UNION S`, `DOMAIN f` and of formulas."""
        if symbol == "SUBSET":
            return _set_of(_set_of(self.member(term, names)))
        if symbol == "UNION":
            inner = self.member(term, names)
            return self.same(inner, _set_of(TlaType()))
        if symbol == "DOMAIN":
            return _set_of(self.function(self.of(term, names))[0])
        return self.all([term], names, BOOL)

    def infix(self, symbol: str, parts: tuple[Term, ...], names: Names) -> TlaType:
        """The type of `a symbol b`."""
        if symbol in COMPARED:
            operands, result = COMPARED[symbol]
            self.all(parts, names, operands)
            return result
        if symbol in (r"\in", r"\notin"):
            self.same(_set_of(self.of(parts[0], names)), self.of(parts[1], names))
            return BOOL
        kind = self.all(parts, names)
        if symbol in ("=", "#", r"\subseteq"):
            return BOOL
        return self.same(kind, TlaType("Seq" if symbol == r"\o" else "Set", [TlaType()]))

    def call(self, name: str, parts: tuple[Term, ...], names: Names) -> TlaType:
        """The type of an operator with its arguments."""
        if name in self.operators:
            *parameters, result = self.operators[name]
            for parameter, part in zip(parameters, parts, strict=True):
                self.same(parameter, self.of(part, names))
            return result
        if name in FOLDS:
            return self.fold(FOLDS[name], parts, names)
        if name not in GENERAL:
            self.all((p for p in parts if p.names != ("vars",)), names)
            return BOOL
        any_: Names = {}
        *parameters, result = (_instance(kind, any_) for kind in GENERAL[name])
        for parameter, part in zip(parameters, parts, strict=True):
            if name == "Range":
                self.same(result, _set_of(self.function(self.of(part, names))[1]))
            else:
                self.same(parameter, self.of(part, names))
        return result

    def fold(self, of: str, parts: tuple[Term, ...], names: Names) -> TlaType:
        """The type of what a step with two arguments makes of a start and the items of a sequence or a set."""
        step, start, items = parts
        whole, item = self.of(start, names), TlaType()
        self.same(TlaType(of, [item]), self.of(items, names))
        return self.same(whole, self.of(step.parts[0], {**names, step.names[0]: whole, step.names[1]: item}))


FOLDS = {"Folded": "Seq", "FoldedSet": "Set"}
"""Operators that take an operator, and what they go through."""


def _set_of(item: TlaType) -> TlaType:
    """The type of sets of something."""
    return TlaType("Set", [item])


GENERAL = {
    name: [read_type(text, {}) for text in kinds.split(";")]
    for name, kinds in {
        "Holds": "Bool; Bool", "Min": "Set(Int); Int", "Max": "Set(Int); Int", "Abs": "Int; Int", "Range": "a; Set(b)",
        "Only": "Set(a); a", "Precedes": "Seq(Int); Seq(Int); Bool",
        "Sorted": "Set(Int); Seq(Int)", "SequencesOf": "Set(a); Int; Set(Seq(a))", "Sum": "(a -> Int); Int",
        "Cardinality": "Set(a); Int", "Len": "Seq(a); Int", "Head": "Seq(a); a", "Tail": "Seq(a); Seq(a)",
        "Append": "Seq(a); a; Seq(a)", "SubSeq": "Seq(a); Int; Int; Seq(a)", "SelectSeq": "Seq(a); (a -> Bool); Seq(a)",
    }.items()
}  # fmt: skip
"""The types of the parameters and the result of the operators that every module may have; `a` stands for any type."""


def _instance(kind: TlaType, of: Names) -> TlaType:
    if kind.head in ("a", "b"):
        return of.setdefault(kind.head, TlaType())
    return TlaType(kind.head, [_instance(p, of) for p in kind.parts], kind.names)


def numbered(definitions: list[Definition]) -> list[Definition]:
    """Definitions in which each `None` has a name of its own."""
    numbers = itertools.count()
    return _with_nones(definitions, lambda text: f"{NUMBERED}{next(numbers)}" if text == "None" else text)


def name_nones(definitions: list[Definition], names: Mapping[str, str]) -> list[Definition]:
    """Definitions in which each `None` has its name again, or that of its type."""
    return _with_nones(definitions, lambda text: names.get(text, "None") if text.startswith(NUMBERED) else text)


def _with_nones(definitions: list[Definition], name: Callable[[str], str]) -> list[Definition]:
    def of(term: Term) -> Term:
        if term.op == "atom":
            return atom(name(term.names[0]))
        return Term(term.op, tuple(map(of, term.parts)), term.names)

    return [replace(d, body=of(d.body)) for d in definitions]


Name = Callable[[str], str]


class ApalacheTypes:
    """The types of annotations, with an alias for each class of records.

    An optional has the type of what may be there, since a value of Apalache's has one type; so there is a `None` of
    each type.
    """

    def __init__(self) -> None:
        self.aliases: dict[type, str] = {}
        self.records: dict[str, list[str]] = {}
        """By alias, the fields with their types; an alias stands after those that it mentions."""

    def of(self, annotation: Any) -> str:
        """The type of an annotation's values."""
        kind = kind_of_annotation(annotation)
        parts = typing.get_args(kind)
        if kind is bool:
            return "Bool"
        if is_a(kind, Enum):
            return "Str"
        if is_a(kind, int):
            return "Int"
        if family(kind) is frozenset:
            return f"Set({self.of(parts[0])})"
        items = items_of_tuple(kind)
        if items is not None:
            return "{ " + ", ".join(f"{place_name(i)}: {self.of(item)}" for i, item in enumerate(items)) + " }"
        if family(kind) is tuple:
            return f"Seq({self.of(parts[0])})"
        if family(kind) is Map:
            return f"({self.of(parts[0])} -> {self.of(parts[1])})"
        return self._record(kind)

    def _record(self, kind: type) -> str:
        hints = cached_hints(kind)
        if not hints:
            return "Seq(Int)"  # `<<>>`: TLA+ has no record without fields
        if kind not in self.aliases:
            items = [f"{f.name}: {self.of(hints[f.name])}" for f in fields(kind)]
            name = re.sub("[^A-Za-z]", "", kind.__name__)
            name = name[:1].lower() + name[1:]
            while name in self.records:
                name += "X"
            self.aliases[kind], self.records[name] = name, items
        return f"${self.aliases[kind]}"

    def with_typed_nones(
        self, definitions: list[Definition], declared: Mapping[str, str], state: Mapping[str, str], name: Name
    ) -> tuple[list[Definition], dict[str, str]]:
        """Definitions in which a `None` of each type has its name, and the types by these names.

        declared: the types of constants and variables. state: of the fields of the state. name: makes a name of the
        module from a wanted one.
        """
        aliases = {alias: f"{{ {', '.join(items)} }}" for alias, items in self.records.items()}
        records = [read_type(f"${alias}", aliases) for alias in aliases]
        whole = TlaType("Rec", [read_type(kind, aliases) for kind in state.values()], tuple(state))
        apart = numbered(definitions)
        found = Inference(apart, {n: read_type(kind, aliases) for n, kind in declared.items()}, [*records, whole])
        written = {str(record): f"${alias}" for record, alias in zip(records, aliases, strict=True)}
        texts = {n: written.get(str(kind), str(kind)) for n, kind in found.nones.items()}
        names: dict[str, str] = {}
        """By type."""
        for text in sorted(dict.fromkeys(texts.values()), key=lambda text: text != "Int"):
            word = next(word for head, word in WORDS.items() if text.startswith(head))
            word = text[1:2].upper() + text[2:] if text.startswith("$") else word
            names[text] = name(f"No{word}") if names else "None"
        return name_nones(apart, {n: names[text] for n, text in texts.items()}), {n: text for text, n in names.items()}


WORDS = {
    "Int": "Number", "Str": "Text", "Bool": "Truth", "Set": "Set", "Seq": "Sequence", "(": "Function", "": "Record",
}  # fmt: skip
"""What a `None` of each type is called by, where there are several; by the beginning of the type."""
