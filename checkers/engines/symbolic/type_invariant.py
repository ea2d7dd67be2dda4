"""The type invariant: what the scalars of every value of a type satisfy, as Z3 conditions.

Each value has exactly one encoding: an absent optional holds the lowest value of its type, the slots of a set of
records descend and the empty ones come last, and a packed record has no bits beside those of its fields.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import z3

from reassure.checkers.encoding.state_layout import codes
from reassure.checkers.engines.symbolic.smt_terms import Term, constant, in_range, packed, resized, same, unpacked
from reassure.spec.frontend.leaves import scalar_leaves
from reassure.spec.language.types import (
    BagType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    Type,
    bits_of,
)


def well_formed(kind: Type, leaves: Iterator[Term]) -> list[z3.BoolRef]:
    """Conditions that the scalars of every value of a type satisfy, taken from `leaves` in order."""
    if isinstance(kind, RecordType):
        return [c for _, inner in kind.fields for c in well_formed(inner, leaves)]
    if isinstance(kind, MapType):
        return [c for _ in range(kind.key.count) for c in well_formed(kind.value, leaves)]
    if isinstance(kind, OptionType):
        present = next(leaves)
        inner = [(next(leaves), k) for _, k in scalar_leaves(kind.inner)]
        nothing = [same(t, absent(k)) for t, k in inner]
        return [*well_formed(kind.inner, iter([t for t, _ in inner])), z3.Or(present, z3.And(*nothing))]
    if isinstance(kind, BagType):
        slots = [next(leaves) for _ in range(kind.size)]
        descending = [z3.Or(a > b, b == 0) for a, b in itertools.pairwise(slots)]
        return [*descending, *(c for slot in slots for c in _slot(slot, kind.item))]
    return in_range(next(leaves), kind)


def absent(kind: Type) -> Term:
    """The condition that a scalar of an absent optional has the value of `symbolic_values.zero`."""
    if isinstance(kind, SeqType):
        return constant((), kind)
    return constant(kind.low if isinstance(kind, IntType) else 0, kind)


def _slot(slot: z3.BitVecRef, item: RecordType) -> list[z3.BoolRef]:
    """A slot is 0 (empty), or 1 more than a packed record."""
    bits = bits_of(item)
    word = z3.Extract(max(1, bits) - 1, 0, resized(slot, bits + 2) - 1)
    return [slot >= 0, slot <= 1 << bits, z3.Or(slot == 0, z3.And(*_packed_record(word, item)))]


def _packed_record(word: z3.BitVecRef, kind: RecordType) -> list[z3.BoolRef]:
    """Conditions on a message's packed record: its scalars are of their types, and packing them gives it back."""
    leaves = [unpacked(word, kind, i) for i, _ in enumerate(scalar_leaves(kind))]
    inside = well_formed(kind, iter(leaves))
    return [*inside, packed(leaves, kind) == word] if codes(kind) else []
