"""Types in the notation of Apalache (its ADR-002, type system 1.2), which reads them in comments of the module."""

from __future__ import annotations

import re
import typing
from dataclasses import fields
from enum import Enum
from typing import Any

from reassure.checkers.tla.kinds import Kind, family, is_a, is_optional, plain
from reassure.spec.frontend.introspection import hints_of
from reassure.spec.language.values import Map


class ApalacheTypes:
    """The types of annotations, with an alias for each class of records.

    An optional has the type of what may be there, since a value of Apalache's has one type.
    """

    def __init__(self) -> None:
        self.aliases: dict[type, str] = {}
        self.records: dict[str, list[str]] = {}
        """By alias, the fields with their types; an alias stands after those that it mentions."""
        self.optional: dict[str, None] = {}
        """The types of optionals."""

    @property
    def none(self) -> str | None:
        """The type of `None`; it has none where optionals are of several types."""
        return next(iter(self.optional)) if len(self.optional) == 1 else None

    def of(self, annotation: Any) -> str:
        """The type of an annotation's values."""
        text = self._of(plain(annotation))
        if is_optional(annotation):
            self.optional[text] = None
        return text

    def _of(self, kind: Kind) -> str:
        parts = typing.get_args(kind)
        if kind is bool:
            return "Bool"
        if is_a(kind, Enum):
            return "Str"
        if is_a(kind, int):
            return "Int"
        if family(kind) is frozenset:
            return f"Set({self.of(parts[0])})"
        if family(kind) is tuple:
            return f"Seq({self.of(parts[0])})"
        if family(kind) is Map:
            return f"({self.of(parts[0])} -> {self.of(parts[1])})"
        return self._record(kind)

    def _record(self, kind: type) -> str:
        hints = hints_of(kind)
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


__all__ = ["ApalacheTypes"]
