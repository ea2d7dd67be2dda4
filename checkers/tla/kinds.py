"""What is known of an expression's values: annotations as kinds, their sets of values, Python's constants as terms."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Annotated, Any

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.tla.terms import EMPTY_SEQUENCE, NONE, Term, atom, call, choose, conjunction, field, infix, truth
from reassure.spec.frontend.introspection import cached_hints
from reassure.spec.language.types import MaxLen, MaxSize, Range, Size
from reassure.spec.language.values import Id, Map

Kind = Any
"""An annotation without bounds: `bool`, `Broker`, `frozenset[Broker]`, a dataclass; `frozenset`, of an empty set."""
INTEGER = 1 << 31
"""TLC's integers have 32 bits."""


class Untranslatable(Failure):
    """A construct that has no translation, with its place."""

    def __init__(self, what: str, place: str = "") -> None:
        super().__init__(Exit.MODEL, f"{place}{': ' if place else ''}{what} has no translation to TLA+")


@dataclass(frozen=True)
class Static:
    """The kind of what is known while translating: a function, a class, a module, an action, the configuration."""

    value: Any


def kind_of_annotation(annotation: Any) -> Kind:
    """The kind of values of an annotation; that of an optional is the kind of what may be there."""
    if typing.get_origin(annotation) is Annotated:
        return kind_of_annotation(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        inner = [a for a in typing.get_args(annotation) if a is not type(None)]
        return kind_of_annotation(inner[0]) if len(inner) == 1 else None
    return annotation


def is_optional(annotation: Any) -> bool:
    """Whether None is a value."""
    if typing.get_origin(annotation) is Annotated:
        return is_optional(typing.get_args(annotation)[0])
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def family(kind: Kind) -> Any:
    """`frozenset`, `tuple` or `Map` of what is one, else the kind itself."""
    return typing.get_origin(kind) or kind


def item_of(kind: Kind) -> Kind:
    """The kind of a set's or a sequence's items; None of an empty one."""
    arguments = typing.get_args(kind)
    return kind_of_annotation(arguments[0]) if arguments else None


def sets_of(item: Kind) -> Kind:
    """The kind of sets of items; without one, of an empty set."""
    return frozenset if item is None else types.GenericAlias(frozenset, (item,))


def sequences_of(item: Kind) -> Kind:
    """The kind of sequences of items; without one, of an empty sequence."""
    return tuple if item is None else types.GenericAlias(tuple, (item, ...))


def items_of_tuple(kind: Kind) -> tuple[Kind, ...] | None:
    """The kinds of the items of a tuple that is not a sequence of values of one kind; None of another kind."""
    kinds = tuple(kind_of_annotation(a) for a in typing.get_args(kind)) if family(kind) is tuple else ()
    if not kinds or Ellipsis in kinds or (len(set(kinds)) == 1 and is_item(kinds[0])):
        return None
    return kinds


def is_fixed(annotation: Any) -> bool:
    """Whether an annotation is of tuples with a fixed number of parts."""
    parts = typing.get_args(annotation)
    return family(annotation) is tuple and bool(parts) and Ellipsis not in parts


def is_item(kind: Kind) -> bool:
    """Whether a tuple of several values of a kind is a sequence."""
    return kind in (bool, int) or is_a(kind, Id, Enum) or is_record(kind) or family(kind) in (frozenset, tuple)


def tuple_term(terms: tuple[Term, ...], kinds: tuple[Kind, ...]) -> tuple[Term, Kind]:
    """A tuple with its kind: a sequence, or where its items may be of several kinds a record."""
    known = {kind for kind in kinds if kind is not frozenset}
    if len(known) == 1 and all(family(kind) is frozenset for kind in known):  # the others are empty sets
        kinds = (*known,) * len(kinds)
    kind: Kind = types.GenericAlias(tuple, kinds) if kinds else tuple
    if items_of_tuple(kind) is None:
        return Term("tuple", terms), sequences_of(kinds[0] if kinds else None)
    return Term("record", terms, tuple(map(place_name, range(len(terms))))), kind


def place_name(index: int) -> str:
    """The name of a place of a tuple that is a record."""
    return f"item{index + 1}"


def item_of_tuple(value: Term, kind: Kind, place: int) -> tuple[Term, Kind]:
    """An item of a tuple of a kind, a record or a sequence, with its kind. place: counted from 0."""
    kinds = items_of_tuple(kind)
    if kinds is None:
        return Term("index", (value, atom(str(place + 1)))), item_of(kind)
    return field(value, place_name(place)), kinds[place]


def maps_of(key: Kind, value: Kind) -> Kind:
    """The kind of maps."""
    return typing.cast(Any, Map)[key, value]


def kind_of_values(kind: Kind) -> Kind:
    """The kind of a map's values."""
    return kind_of_annotation(typing.get_args(kind)[1])


def field_of(kind: Kind, name: str) -> Kind:
    """The kind of a record's field."""
    return kind_of_annotation(cached_hints(kind)[name])


def is_a(kind: Kind, *classes: type) -> bool:
    """Whether a kind is a class that extends one of these."""
    return isinstance(kind, type) and issubclass(kind, classes)


def is_record(kind: Kind) -> bool:
    """Whether a kind is that of records."""
    return isinstance(kind, type) and is_dataclass(kind)


Number = Callable[[Size], Term]
"""The term of a size: a number, or the name of a configuration field or property."""


class Sets:
    """The sets of values of annotations. size: translates a size. sort: the name of a sort's definition. name: takes a
    name that nothing else has."""

    def __init__(
        self, size: Number, sort: Callable[[type], Term], helper: Callable[[str], str], name: Callable[[str], str]
    ) -> None:
        self.size, self.sort, self.helper, self.name = size, sort, helper, name
        self.parts: list[str] = []
        """Names of the parts of tuples."""

    def of(self, annotation: Any) -> Term:
        """The set of an annotation's values."""
        notes: tuple[Any, ...] = ()
        if typing.get_origin(annotation) is Annotated:
            annotation, *rest = typing.get_args(annotation)
            notes = tuple(rest)
        if is_optional(annotation):
            inner = next(a for a in typing.get_args(annotation) if a is not type(None))
            whole = self.of(Annotated[(inner, *notes)] if notes else inner)
            return infix(r"\cup", whole, Term("set", (NONE,)))
        if annotation is bool:
            return atom("BOOLEAN")
        if annotation is int:
            bounds = next(n for n in notes if isinstance(n, Range))
            return infix("..", self.size(bounds.low), self.size(bounds.high))
        if is_a(annotation, Id, Enum):
            return self.sort(annotation)
        if family(annotation) is frozenset:
            subsets = Term("prefix", (self.of(typing.get_args(annotation)[0]),), ("SUBSET",))
            most = next((n.size for n in notes if isinstance(n, MaxSize)), None)
            if most is None:
                return subsets
            return Term("filter", (subsets, infix("<=", call("Cardinality", atom("set")), self.size(most))), ("set",))
        if is_fixed(annotation):
            return self.tuples(annotation)
        if family(annotation) is tuple:
            longest = next(n.length for n in notes if isinstance(n, MaxLen))
            return call(self.helper("SequencesOf"), self.of(typing.get_args(annotation)[0]), self.size(longest))
        if family(annotation) is Map:
            key, value = typing.get_args(annotation)
            return Term("functionset", (self.of(key), self.of(value)))
        if is_record(annotation):
            hints = cached_hints(annotation)
            names = tuple(f.name for f in fields(annotation))
            if not names:
                return Term("set", (EMPTY_SEQUENCE,))
            return Term("recordset", tuple(self.of(hints[n]) for n in names), names)
        raise Untranslatable(f"the type {annotation}")

    def tuples(self, annotation: Any) -> Term:
        """The set of the tuples of a fixed number of parts: sequences, or records as `tuple_term` makes them."""
        parts = tuple(map(self.of, typing.get_args(annotation)))
        if items_of_tuple(annotation) is not None:
            return Term("recordset", parts, tuple(map(place_name, range(len(parts)))))
        while len(self.parts) < len(parts):
            self.parts.append(self.name(f"key{len(self.parts) + 1}"))
        names = self.parts[: len(parts)]
        term = Term("tuple", tuple(map(atom, names)))
        for i, (name, part) in enumerate(reversed(list(zip(names, parts, strict=True)))):
            term = Term("image", (part, term), (name,))
            term = Term("prefix", (term,), ("UNION",)) if i else term
        return term

    def typed(self, value: Term, annotation: Any) -> Term:
        """That a value is of an annotation, bounds included, without listing large sets."""
        notes = typing.get_args(annotation)[1:] if typing.get_origin(annotation) is Annotated else ()
        kind, bare = kind_of_annotation(annotation), annotation
        if typing.get_origin(annotation) is Annotated:
            bare = typing.get_args(annotation)[0]
        if not is_optional(bare) and family(kind) is frozenset and is_record(item_of(kind)):
            most = next(n.size for n in notes if isinstance(n, MaxSize))
            within = infix(r"\subseteq", value, self.of(item_of(kind)))
            return conjunction((within, infix("<=", call("Cardinality", value), self.size(most))))
        if not is_optional(bare) and is_fixed(kind):
            annotations = typing.get_args(kind)
            parts = [self.typed(item_of_tuple(value, kind, i)[0], part) for i, part in enumerate(annotations)]
            length = infix("=", call("Len", value), atom(str(len(parts))))
            return conjunction(parts if items_of_tuple(kind) is not None else [length, *parts])
        if not is_optional(bare) and family(kind) is tuple:
            longest = next(n.length for n in notes if isinstance(n, MaxLen))
            items = infix(r"\subseteq", call(self.helper("Range"), value), self.of(typing.get_args(kind)[0]))
            return conjunction((infix("<=", call("Len", value), self.size(longest)), items))
        if not is_optional(bare) and is_record(kind):
            hints = cached_hints(kind)
            parts = [self.typed(Term("field", (value,), (f.name,)), hints[f.name]) for f in fields(kind)]
            return conjunction(parts)
        whole = self.of(annotation)
        if whole.op == "prefix" and whole.names == ("SUBSET",):
            return infix(r"\subseteq", value, whole.parts[0])
        return infix(r"\in", value, whole)


def has_bounds(annotation: Any) -> bool:
    """Whether a value may leave a bound."""
    if typing.get_origin(annotation) is Annotated:
        return True
    if is_record(kind_of_annotation(annotation)):
        return any(has_bounds(hint) for hint in cached_hints(kind_of_annotation(annotation)).values())
    return any(has_bounds(a) for a in typing.get_args(annotation) if a is not Ellipsis)


def constant_of_kind(value: Any) -> tuple[Term, Kind] | None:
    """A Python value as a term, with its kind; None for what is not a value of a model."""
    if value is None:
        return NONE, type(None)
    if isinstance(value, bool):
        return truth(value), bool
    if isinstance(value, Enum):
        return atom(f'"{value.name}"'), type(value)
    if isinstance(value, int):
        if not -INTEGER < value < INTEGER:
            raise Untranslatable(f"the number {value}, as TLC's integers have 32 bits,")
        number = atom(str(abs(int(value))))
        return (Term("neg", (number,)) if value < 0 else number), (type(value) if isinstance(value, Id) else int)
    if isinstance(value, frozenset | tuple):
        items = [constant_of_kind(v) for v in value]
        known = [item for item in items if item is not None]
        if len(known) < len(items):
            return None
        if isinstance(value, tuple):
            return tuple_term(tuple(t for t, _ in known), tuple(k for _, k in known))
        kind = known[0][1] if known else None
        members = tuple(sorted((t for t, _ in known), key=str))
        return Term("set", members), sets_of(kind)
    if isinstance(value, Map):
        return _map(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _record(value)
    return None


def _map(value: Map[Any, Any]) -> tuple[Term, Kind] | None:
    pairs = [(constant_of_kind(k), constant_of_kind(v)) for k, v in value.pairs()]
    if not pairs or any(k is None or v is None for k, v in pairs):
        return None
    keys, values = ([part for part in parts if part is not None] for parts in zip(*pairs, strict=True))
    body, item = values[-1][0], atom("item")
    for (key, _), (entry, _) in reversed(list(zip(keys[:-1], values[:-1], strict=True))):
        body = choose(infix("=", item, key), entry, body)
    domain = Term("set", tuple(key for key, _ in keys))
    kind = next((k for _, k in values if k is not type(None)), None)
    return Term("function", (domain, body), ("item",)), maps_of(keys[0][1], kind)


def _record(value: Any) -> tuple[Term, Kind] | None:
    parts = {f.name: constant_of_kind(getattr(value, f.name)) for f in fields(value)}
    if any(part is None for part in parts.values()):
        return None
    return record_term(tuple(parts), tuple(p[0] for p in parts.values() if p)), type(value)


def record_term(names: tuple[str, ...], values: tuple[Term, ...]) -> Term:
    """A record; one without fields is the empty sequence, since TLA+ has no other."""
    return Term("record", values, names) if names else EMPTY_SEQUENCE
