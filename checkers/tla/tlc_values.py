"""Values as TLC prints them, read back as values of a model."""

from __future__ import annotations

import re
from typing import Any

from reassure.spec.language.types import (
    BagType,
    BoolType,
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

TOKEN = re.compile(r'\s*(-?\d+|"[^"]*"|[A-Za-z_]\w*|<<|>>|\|->|:>|@@|\.\.|[{}\[\](),])')


class Unreadable(Exception):
    """What TLC printed is not a value of the model."""


class Name(str):
    """A model value, `TRUE` or `FALSE`."""


class _Reader:
    """Reads one value; sets are lists with the tag `set`, functions are lists of pairs."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        place = 0
        while text[place:].strip():
            match = TOKEN.match(text, place)
            if match is None:
                raise Unreadable(text[place : place + 40])
            self.tokens.append(match[1])
            place = match.end()
        self.place = 0

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.peek()
        if not token:
            raise Unreadable("it ends too early")
        if expected and token not in expected:
            raise Unreadable(f"{token!r} in place of {expected[0]!r}")
        self.place += 1
        return token

    def items(self, closing: str) -> list[Any]:
        found: list[Any] = []
        while self.peek() != closing:
            found.append(self.value())
            if self.peek() == ",":
                self.take()
        self.take(closing)
        return found

    def value(self) -> Any:
        token = self.take()
        if token == "{":
            return ("set", self.items("}"))
        if token == "<<":
            return ("tuple", self.items(">>"))
        if token == "[":
            return self.record()
        if token == "(":
            pairs = [self.pair()]
            while self.peek() == "@@":
                self.take()
                pairs.append(self.pair())
            self.take(")")
            return ("function", pairs)
        if token.startswith('"'):
            return token[1:-1]
        if re.fullmatch(r"-?\d+", token):
            if self.peek() == "..":
                self.take()
                return ("set", list(range(int(token), int(self.take()) + 1)))
            return int(token)
        return Name(token)

    def pair(self) -> tuple[Any, Any]:
        key = self.value()
        self.take(":>")
        return key, self.value()

    def record(self) -> Any:
        pairs = []
        while self.peek() != "]":
            name = self.take()
            self.take("|->")
            pairs.append((name, self.value()))
            if self.peek() == ",":
                self.take()
        self.take("]")
        return ("function", pairs)


def parsed(text: str) -> Any:
    """What TLC printed, as numbers, texts and pairs of a tag and parts."""
    reader = _Reader(text)
    data = reader.value()
    if reader.peek():
        raise Unreadable(f"{text[:60]} goes on after a value")
    return data


def value_of(data: Any, kind: Type) -> Any:
    """The value of a type that was parsed; `Unreadable` if it is none."""
    value = _of(data, kind)
    if kind.misfit(value) is not None:
        raise Unreadable(f"{str(data)[:60]} is not of the kind {kind}")
    return value


def read_value(text: str, kind: Type) -> Any:
    """The value of a type that TLC printed; `Unreadable` if it is none."""
    return value_of(parsed(text), kind)


def _of(data: Any, kind: Type) -> Any:
    try:
        return _converted(data, kind)
    except (KeyError, ValueError, TypeError):
        raise Unreadable(f"{str(data)[:60]} is not of the kind {kind}") from None


def _converted(data: Any, kind: Type) -> Any:
    if isinstance(kind, OptionType):
        return None if data == Name("None") else _of(data, kind.inner)
    if isinstance(kind, BoolType):
        return {"TRUE": True, "FALSE": False}[data]
    if isinstance(kind, IntType):
        return data
    if isinstance(kind, IdType):
        return kind.sort(data)
    if isinstance(kind, EnumType):
        return kind.sort[data]
    tag, parts = data
    if isinstance(kind, SetType | BagType) and tag == "set":
        return frozenset(_of(p, kind.item) for p in parts)
    if isinstance(kind, SeqType) and tag == "tuple":
        return tuple(_of(p, kind.item) for p in parts)
    pairs = list(enumerate(parts, 1)) if tag == "tuple" else parts
    if isinstance(kind, MapType):
        return Map([(_key(k, kind.key), _of(v, kind.value)) for k, v in pairs])
    if not isinstance(kind, RecordType):
        raise Unreadable(f"{str(data)[:60]} is not of the kind {kind}")
    given = dict(pairs)
    return kind.cls(**{name: _of(given[name], t) for name, t in kind.fields})


def _key(key: Any, kind: Type) -> Any:
    return _of(Name(key) if isinstance(kind, BoolType) else key, kind)


__all__ = ["Unreadable", "parsed", "read_value", "value_of"]
