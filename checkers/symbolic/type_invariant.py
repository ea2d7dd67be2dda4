"""What the scalars of every value of a type satisfy, as Z3 conditions: the states that a proof speaks of."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import z3

from reassure.checkers.encoding.state_layout import codes
from reassure.checkers.symbolic.smt_terms import Term, constant, in_range, resized, same, taken_apart
from reassure.spec.frontend.symbolic_values import bits_of
from reassure.spec.language.types import (
    BagType,
    BoolType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)


def well_formed(kind: Type, leaves: Iterator[Term]) -> list[z3.BoolRef]:
    """What the scalars of every value of a type satisfy, taken from `leaves` in order."""
    if isinstance(kind, RecordType):
        return [c for _, inner in kind.fields for c in well_formed(inner, leaves)]
    if isinstance(kind, MapType):
        return [c for _ in range(kind.key.count) for c in well_formed(kind.value, leaves)]
    if isinstance(kind, OptionType):
        present = next(leaves)
        inner = list(_several(kind.inner, leaves))
        nothing = [same(t, absent(k)) for t, k in inner]
        return [*well_formed(kind.inner, iter([t for t, _ in inner])), z3.Or(present, *([z3.And(*nothing)]))]
    if isinstance(kind, BagType):
        slots = [next(leaves) for _ in range(kind.size)]
        found = [z3.Or(a > b, a == 0) for a, b in itertools.pairwise(slots)]
        for slot in slots:
            w = max(1, bits_of(kind.item))
            record = z3.Extract(w - 1, 0, resized(slot, max(w, slot.size())) - 1)
            found += [
                slot >= 0,
                z3.Or(slot == 0, z3.And(resized(slot, w + 2) <= 1 << w, *_record_ok(record, kind.item))),
            ]
        return found
    return in_range(next(leaves), kind)


def _several(kind: Type, leaves: Iterator[Term]) -> Iterator[tuple[Term, Type]]:
    """The next scalars with their types."""
    if isinstance(kind, RecordType):
        for _, inner in kind.fields:
            yield from _several(inner, leaves)
    elif isinstance(kind, MapType):
        for _ in range(kind.key.count):
            yield from _several(kind.value, leaves)
    elif isinstance(kind, OptionType):
        yield next(leaves), BoolType()
        yield from _several(kind.inner, leaves)
    elif isinstance(kind, BagType):
        slot = IntType(0, 1 << bits_of(kind.item))
        for _ in range(kind.size):
            yield next(leaves), slot
    else:
        yield next(leaves), kind


def absent(kind: Type) -> Term:
    """What a scalar of an absent optional is."""
    if isinstance(kind, SeqType):
        return constant((), kind)
    return constant(kind.low if isinstance(kind, IntType) else 0, kind)


def _record_ok(word: z3.BitVecRef, kind: RecordType) -> list[z3.BoolRef]:
    """What the packed record of a message satisfies."""
    found, top = [], word.size()
    for code in codes(kind):
        part = z3.Extract(top - 1, top - code.bits, word)
        top -= code.bits
        if isinstance(code.type, SeqType):
            found += in_range(taken_apart(code, part, code.leaf), code.type)
        elif not isinstance(code.type, SetType):
            most = code.type.count - 1 + code.optional
            if most < (1 << code.bits) - 1:
                found.append(z3.ULE(part, most))
    return found
