"""Types in the notation of Apalache (its ADR-002, type system 1.2), which reads them in comments of the module."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from reassure.checkers.tla.context import Definition
from reassure.checkers.tla.kinds import family, is_a, plain
from reassure.checkers.tla.term_types import Inference, TlaType, named, numbered, read_type
from reassure.spec.frontend.introspection import hints_of
from reassure.spec.language.values import Map

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
        kind = plain(annotation)
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
        return named(apart, {n: names[text] for n, text in texts.items()}), {n: text for text, n in names.items()}


WORDS = {
    "Int": "Number", "Str": "Text", "Bool": "Truth", "Set": "Set", "Seq": "Sequence", "(": "Function", "": "Record",
}  # fmt: skip
"""What a `None` of each type is called by, where there are several; by the beginning of the type."""


__all__ = ["ApalacheTypes"]
