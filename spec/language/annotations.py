"""From an annotation to the type that it means under a configuration; what means none is refused.

Also here: annotations of functions: what is declared takes and returns.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any

from reassure.spec.language.declarations import LanguageError
from reassure.spec.language.keys import MOST_KEYS, TupleType
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.number_sets import NumbersType
from reassure.spec.language.types import (
    ANY,
    FIELD,
    RECORD_BITS,
    SEQUENCE_BITS,
    SET_MEMBERS,
    BagType,
    BoolType,
    ColumnsType,
    DomainError,
    EnumType,
    IdType,
    IntType,
    MapType,
    MaxLen,
    MaxSize,
    OptionType,
    Range,
    RecordType,
    SeqType,
    SetType,
    Size,
    Type,
    bits_of,
    unbounded,
)
from reassure.spec.language.values import Id, Map


@dataclass(frozen=True)
class AnyNumber:
    """A configuration some of whose numbers are free: a size that depends on one is `ANY`, a bound no bound."""

    config: object
    free: frozenset[str]
    """Fields of the configuration."""
    held: tuple[str, ...] = ()
    """Reasons for which other fields that nobody chose have the configuration's values."""

    def reads(self, name: Size) -> frozenset[str]:
        """The fields that a field or property depends on. `AttributeError` if there is no such."""
        read = _Read(self.config)
        getattr(read, str(name))
        return frozenset(read.names)


class _Read:
    """A configuration that notes which of its fields are read, also by its properties."""

    def __init__(self, config: object) -> None:
        self.config, self.names = config, set[str]()

    def __getattr__(self, name: str) -> Any:
        cls: Any = type(self.config)
        declared, names = getattr(cls, name, None), [f.name for f in fields(cls)]
        if isinstance(declared, property) and declared.fget is not None:
            try:
                return declared.fget(self)
            except TypeError:  # `super()` takes no other object than a configuration
                self.names |= set(names)
                return getattr(self.config, name)
        self.names |= {name} if name in names else set(names)  # of anything else it is not known what it reads
        return getattr(self.config, name)


class NoSize(DomainError):
    """It is not known how large a sort is: one problem, wherever the sort is."""


class SizeIsFree(Exception):
    """A free number sizes what has to have a size: a set of records, a sequence, a map from numbers or from tuples."""

    def __init__(self, names: frozenset[str], what: str = "a set of records") -> None:
        super().__init__(f"{', '.join(sorted(names))} sizes {what}")
        self.names = names


def _number(size: Size, config: object, unknown: int = ANY) -> int:
    """unknown: the number where the size depends on one that is free."""
    if isinstance(size, int):
        return size
    try:
        if isinstance(config, AnyNumber):
            if config.reads(size) & config.free:
                return unknown
            config = config.config
        value = getattr(config, size)
    except AttributeError:
        raise DomainError(f"the configuration has no field {size!r}, which sizes a type") from None
    if not isinstance(value, int):
        raise DomainError(f"configuration field {size!r} sizes a type but holds {value!r}")
    return value


def resolve(annotation: Any, config: object) -> Type:
    """The finite type that `annotation` means under `config`.

    Raises `DomainError` with what to write instead when it is not one: types are finite, and their bounds declared.
    """
    notes: tuple[Any, ...] = ()
    if typing.get_origin(annotation) is Annotated:
        annotation, *rest = typing.get_args(annotation)
        notes = tuple(rest)
    if annotation is bool:
        return BoolType()
    if annotation is int:
        for note in notes:
            if isinstance(note, Range):
                low, high = _number(note.low, config, -ANY), _number(note.high, config)
                if low > high:
                    raise DomainError(f"empty range {low}..{high}")
                if low < -FIELD or high >= FIELD:
                    raise DomainError(f"the range {low}..{high} is too wide: it is to be within -2^61..2^61-1")
                return IntType(low, high, note.declared)
        raise DomainError("an int needs bounds: Annotated[int, Range(low, high)]")
    if isinstance(annotation, type) and issubclass(annotation, Id):
        try:
            size = _number(annotation.size, config)
        except DomainError as error:
            raise NoSize(str(error)) from None
        if size < 1:
            raise NoSize(f"sort {annotation.__name__} has size {size}; it needs at least one member")
        return IdType(annotation, size)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        if not len(annotation):
            raise DomainError(f"{annotation.__name__} has no member")
        return EnumType(annotation)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        inner = [a for a in args if a is not type(None)]
        if len(inner) != 1 or len(args) != 2:
            spelt = " | ".join(getattr(one, "__name__", str(one)) for one in args)
            raise DomainError(f"{spelt} is not a finite type: write `T | None`, or a record with a field for each case")
        return OptionType(resolve(Annotated[(inner[0], *notes)] if notes else inner[0], config))
    if origin is frozenset:
        return _resolve_set(args[0], notes, config)
    if origin is tuple:
        if len(args) != 2 or args[1] is not Ellipsis:
            return _resolve_tuple(args, notes, config)
        for note in notes:
            if isinstance(note, MaxLen):
                item = resolve(args[0], config)
                if (names := _reads(note.length, config)) and not unbounded(item):
                    raise SizeIsFree(names, "a sequence")
                return _resolve_sequence(item, _number(note.length, config), note.declared)
        raise DomainError("a sequence needs a length: Annotated[tuple[T, ...], MaxLen(n)]")
    if origin is Map:
        return MapType(_resolve_key(args[0], config), resolve(args[1], config))
    if isinstance(annotation, type) and is_dataclass(annotation):
        return record_type(annotation, config)
    if isinstance(annotation, Unreadable):
        raise DomainError(f"an annotation cannot be read: {annotation.why}")
    if annotation is inspect.Parameter.empty:
        raise DomainError("it needs an annotation")
    plain = origin or annotation
    name = str(annotation) if origin or not isinstance(plain, type) else plain.__name__
    remedy = f": {REMEDIES[plain]}" if plain in REMEDIES else ""
    raise DomainError(f"{name} is not a finite type{remedy}")


REMEDIES: dict[Any, str] = {
    list: "a sequence is Annotated[tuple[T, ...], MaxLen(n)]",
    set: "a set is frozenset[T]",
    dict: "a map is Map[K, T]",
    str: "names are an Enum or an Id sort",
    float: "a number is Annotated[int, Range(low, high)]",
}


def _resolve_key(annotation: Any, config: object) -> Type:
    """The type of a map's keys. A size of it that is free is chosen: a map has a value for each key."""
    if typing.get_origin(annotation) is tuple:
        parts = typing.get_args(annotation)
        if Ellipsis in parts or len(parts) < 2:
            raise DomainError(
                "a Map's keys are no sequences: write a tuple of two parts or more, `Map[tuple[A, B], T]`"
            )
        key: Type = TupleType.of(_resolve_part(part, config) for part in parts)
        sized = [part for part in parts if isinstance(part, type) and issubclass(part, Id)]
        names = frozenset(n for sort in sized if unbounded(resolve(sort, config)) for n in _reads(sort.size, config))
        if names:
            raise SizeIsFree(names, "a map from tuples")
    else:
        key = _resolve_part(annotation, config)
    if not unbounded(key) and key.count > MOST_KEYS:
        raise DomainError(f"a Map from {key} has {key.count:,} keys; at most {MOST_KEYS:,}")
    return key


def _resolve_part(annotation: Any, config: object) -> Type:
    """The type of a key that is no tuple, or of a part of one that is."""
    key = resolve(annotation, config)
    if isinstance(key, IntType):
        if names := _reads_of_range(annotation, config):
            raise SizeIsFree(names, "a map from numbers")
        return IntType(key.low, key.high)
    if isinstance(key, IdType | EnumType | BoolType):
        return key
    remedy = "write `Map[A, Map[B, T]]` or `Map[tuple[A, B], T]` for several of these"
    raise DomainError(f"a Map's keys are an Id sort, an Enum, bool, a Range or a tuple of these, not {key}: {remedy}")


def _reads(size: Size, config: object) -> frozenset[str]:
    """The free fields of the configuration that a size depends on."""
    return config.reads(size) & config.free if isinstance(config, AnyNumber) and isinstance(size, str) else frozenset()


def _reads_of_range(annotation: Any, config: object) -> frozenset[str]:
    """The free fields of the configuration that the bounds of a number depend on."""
    bounds = next(note for note in typing.get_args(annotation)[1:] if isinstance(note, Range))
    return _reads(bounds.low, config) | _reads(bounds.high, config)


def _resolve_sequence(item: Type, length: int, declared: bool) -> Type:
    if length < 1:
        raise DomainError(f"MaxLen({length}) leaves no room for an item; it is at least 1")
    if isinstance(item, OptionType):
        raise DomainError(f"a sequence's items are there, not {item}: write a record with such a field")
    if not isinstance(item, IdType | EnumType | BoolType):
        return ColumnsType(item, length, declared)
    if not unbounded(item) and length * bits_of(item) > SEQUENCE_BITS:
        raise DomainError(f"MaxLen({length}) of {item}: at most {SEQUENCE_BITS // bits_of(item)} items of it fit")
    return SeqType(item, length, declared)


def _resolve_tuple(parts: tuple[Any, ...], notes: tuple[Any, ...], config: object) -> TupleType:
    """The type of tuples of a fixed number of parts. A part is a value that a display has the same kind of anywhere:
    not None or an empty set, which are of any optional and any set."""
    if len(parts) < 2:
        raise DomainError("a tuple has two parts or more, `tuple[A, B]`; a sequence is `tuple[T, ...]` with MaxLen")
    if any(isinstance(note, MaxLen) for note in notes):
        raise DomainError("MaxLen is for `tuple[T, ...]`: the length of a tuple of named parts is fixed, leave it out")
    kind = TupleType.of(resolve(part, config) for part in parts)
    for part in kind.parts:
        if type(part) not in (IdType, EnumType, BoolType, IntType, RecordType):
            remedy = "write a dataclass with such a field"
            what = "a part of a tuple is an id, an enum member, a bool, a number or a record"
            raise DomainError(f"{what}, not {part}: {remedy}")
    return kind


def _resolve_set(item: Any, notes: tuple[Any, ...], config: object) -> Type:
    kind = resolve(item, config)
    if isinstance(kind, RecordType) and not isinstance(kind, TupleType):
        for note in notes:
            if isinstance(note, MaxSize):
                size = _number(note.size, config)
                if isinstance(config, AnyNumber) and size == ANY:
                    raise SizeIsFree(config.reads(note.size))
                if size < 1:
                    raise DomainError(f"MaxSize({size}) leaves no room for a member; it is at least 1")
                if not isinstance(config, AnyNumber) and bits_of(kind) > RECORD_BITS:
                    what = f"{kind} takes {bits_of(kind)} bits; a record in a set has at most {RECORD_BITS}"
                    raise DomainError(f"{what}: narrow its fields")
                return BagType(kind, size, note.declared)
        raise DomainError("a set of records needs a size: Annotated[frozenset[R], MaxSize(n)]")
    if not isinstance(kind, IdType | EnumType | BoolType | IntType):
        remedy = "write a set of records with such a field, or a Map to bool"
        if isinstance(kind, TupleType):
            remedy = "write a dataclass, whose sets have a MaxSize, or `Map[tuple[A, B], bool]`"
        raise DomainError(f"a set's members are ids, enum members, bools, numbers or records, not {kind}: {remedy}")
    if isinstance(kind, IntType) and (names := _reads_of_range(item, config)):
        raise SizeIsFree(names, "a set of numbers")
    if not unbounded(kind) and kind.count > SET_MEMBERS:
        raise DomainError(f"a set over {kind.count:,} values; at most {SET_MEMBERS}")
    return NumbersType(kind) if isinstance(kind, IntType) else SetType(kind)


OWN = ("__new__", "__init__", "__post_init__", "__eq__", "__ne__", "__hash__", "__getattr__", "__getattribute__")
"""Methods that would make, compare or read a record in another way than engines do."""


def own_method(cls: type) -> str | None:
    """A method of a dataclass by which a record would be more than its fields."""
    for name in OWN:
        code = getattr(getattr(cls, name, None), "__code__", None)
        if code is not None and code.co_filename != "<string>":  # a dataclass's own come from no file
            return name
    return None


class FieldErrors(DomainError, LanguageError):
    """Fields and parameters that have no finite type, or other mistakes: a text for each, with its place."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        super().__init__("\n".join(problems.values()))


Problems = dict[str, str]
"""The text of each problem, by what is wrong, which is told once."""


@contextmanager
def gathered_problems(problems: Problems, what: str, place: Callable[[], str]) -> Iterator[None]:
    """Within, what is wrong with a type is added to the problems. what: has it; place: finds where, for the text."""
    try:
        yield
    except FieldErrors as errors:
        problems |= errors.problems | problems
    except DomainError as error:
        text = f"{what}: {error}{place()}"
        problems.setdefault(str(error) if isinstance(error, NoSize) else text, text)


@contextmanager
def declared_gathered(problems: Problems) -> Iterator[None]:
    """Within, problems of types are added to those so far, and another mistake too."""
    try:
        yield
    except FieldErrors as errors:
        problems |= errors.problems | problems
    except (LanguageError, DomainError) as error:
        problems.setdefault(str(error), str(error))


def place_of_field(cls: type, name: str) -> str:
    """The file and the line of a field; nothing of a class without text."""
    owner = next(base for base in cls.__mro__ if name in vars(base).get("__annotations__", ()))
    try:
        lines, first = inspect.getsourcelines(owner)
        (offset, *_) = (i for i, line in enumerate(lines) if re.match(rf"\s*{name}\s*:", line))
        return f" ({Path(inspect.getsourcefile(owner) or '').name}:{first + offset})"
    except (OSError, TypeError, ValueError):
        return ""


def record_type(cls: type, config: object) -> RecordType:
    """The type of a frozen dataclass; `DomainError` if it is not frozen or a field is not finite."""
    if not is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise DomainError(f"{cls.__name__} must be a frozen dataclass: @dataclass(frozen=True)")
    hints = each_hint(cls)
    resolved: list[tuple[str, Type]] = []
    problems: Problems = {}
    for f in fields(cls):
        with gathered_problems(problems, f"{cls.__name__}.{f.name}", partial(place_of_field, cls, f.name)):
            if not f.compare or not f.init:
                raise DomainError("every field takes part in a state's identity")
            if f.name in fields_of_itself(cls):
                raise DomainError(f"{cls.__name__} holds itself, without end: write an Id for the place of another one")
            resolved.append((f.name, resolve(hints[f.name], config)))
            continue
        about = frozenset() if f.name in fields_of_itself(cls) else _records_in(hints[f.name])
        for inner in sorted(about, key=lambda record: record.__qualname__):
            with gathered_problems(problems, f"{cls.__name__}.{f.name}", partial(place_of_field, cls, f.name)):
                record_type(inner, config)  # of what is refused
    if problems:
        raise FieldErrors(problems)
    method = own_method(cls)
    if method is not None:
        raise DomainError(f"{cls.__name__} defines {method}: a record is its fields, nothing else")
    return RecordType(cls, tuple(resolved))


def must_return(function: Callable[..., Any], wanted: type) -> None:
    """Raises `LanguageError` if a declared function is annotated to return something else; no annotation will do."""
    found = _readable(function, each_hint(function).get("return", Any))
    if found is not Any and not (found is bool if wanted is bool else _related(found, wanted)):
        raise LanguageError(f"{function.__name__} is annotated `-> {_spelt(found)}`: write `-> {wanted.__name__}`")


def must_take(function: Callable[..., Any], state: type) -> None:
    """Raises `LanguageError` if an action's first parameter is annotated to be something else than the state."""
    name = next(iter(inspect.signature(function).parameters), "")
    found = _readable(function, each_hint(function).get(name, Any))
    if found is not Any and not _related(found, state):
        what = f"{function.__name__} takes `{name}: {_spelt(found)}`"
        raise LanguageError(f"{what}; its first parameter is the state: write `{name}: {state.__name__}`")


def _related(annotation: Any, cls: type) -> bool:
    """Whether an annotation is a class, or one that it extends or that extends it."""
    return annotation is cls or is_base(annotation, cls) or (isinstance(annotation, type) and is_base(cls, annotation))


def _spelt(annotation: Any) -> str:
    if annotation is type(None):
        return "None"
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def hints_of(function: Any) -> Hints:
    """The annotations of a function or class; `LanguageError` if one names nothing."""
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise LanguageError(f"{function.__name__}: an annotation cannot be read: {error}") from None


Hints = dict[str, Any]


@dataclass(frozen=True)
class Unreadable:
    """Stands for an annotation that names nothing. why: Python's reason."""

    why: str


def each_hint(declared: Any) -> Hints:
    """The annotations of a function or class; one that names nothing is `Unreadable`, which is no type."""
    try:
        return typing.get_type_hints(declared, include_extras=True)
    except Exception:  # of one of them
        pass
    hints: Hints = {}
    for owner in reversed(declared.__mro__) if isinstance(declared, type) else [declared]:
        names = vars(sys.modules[owner.__module__])
        for name, annotation in vars(owner).get("__annotations__", getattr(owner, "__annotations__", {})).items():
            alone = types.SimpleNamespace(__annotations__={name: annotation})
            try:
                hints |= typing.get_type_hints(alone, names, include_extras=True)
            except Exception as error:
                hints[name] = Unreadable(str(error))
    return hints


def _readable(function: Callable[..., Any], annotation: Any) -> Any:
    """An annotation of a function; `LanguageError` if it names nothing."""
    if isinstance(annotation, Unreadable):
        raise LanguageError(f"{function.__name__}: an annotation cannot be read: {annotation.why}")
    return annotation


@lru_cache(256)
def fields_of_itself(record: type) -> frozenset[str]:
    """The fields through which a record holds one of its own class, which is never the last."""
    return frozenset(name for name, annotation in each_hint(record).items() if record in _records_in(annotation))


def _records_in(annotation: Any, seen: frozenset[type] = frozenset()) -> frozenset[type]:
    """The records that a value of this annotation may hold, at any depth."""
    for part in typing.get_args(annotation):
        seen |= _records_in(part, seen)
    if isinstance(annotation, type) and is_dataclass(annotation) and annotation not in seen:
        seen |= {annotation}
        for part in each_hint(annotation).values():
            seen |= _records_in(part, seen)
    return seen


def is_base(annotation: Any, cls: type) -> bool:
    """Whether an annotation is a class that another one extends."""
    return isinstance(annotation, type) and annotation in cls.__mro__[1:] and annotation is not object


@contextmanager
def with_its_place(declared: Any) -> Iterator[None]:
    """Adds the file and the line of a function or class to what is wrong with its declaration."""
    try:
        yield
    except FieldErrors:  # each has its place
        raise
    except (LanguageError, DomainError) as error:
        raise type(error)(f"{error}{declared_at(declared)}") from None


def declared_at(declared: Any) -> str:
    """The file and the line of a function or class; nothing if it was made while running, or is written in no file."""
    try:
        return f" ({Path(inspect.getsourcefile(declared) or '').name}:{inspect.getsourcelines(declared)[1]})"
    except (OSError, TypeError):
        return ""
