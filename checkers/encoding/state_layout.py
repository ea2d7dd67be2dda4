"""Dataclass <-> packed words, derived from the fields.

A state is a row of 64-bit words that holds every field exactly. Fields do not straddle words; as few words are used as
their bits need. The order of packed states (words compared as unsigned numbers, word 0 first) is the canonical order of
states, by which every engine chooses among counterexamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.number_sets import NumbersType
from reassure.spec.language.types import (
    SEQUENCE_BITS,
    BagType,
    BoolType,
    ColumnsType,
    EnumType,
    IdType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
    bits_of,
    bits_of_slot,
)
from reassure.spec.language.vocabulary import LanguageError

if TYPE_CHECKING:
    from reassure.spec.semantics.interpreter import BoundModel

SEQ_LENGTH_AT = SEQUENCE_BITS
"""In a word that holds a sequence: items from bit 0, the length from here."""
WORD = 64
WIDEST = 62
"""Bits of a field at most: numbers in an engine are signed, and an optional has one value more."""
TAG_BITS = 8
"""Bits at the top of word 0 that engines have for themselves, where that costs no further word."""


class LayoutError(LanguageError):
    """A type that does not fit the engines' words."""


@dataclass(frozen=True)
class Code:
    """The code of one stored field: a scalar leaf, or an optional index (two leaves: present, value).

    leaf: number of the (first) leaf among all leaves. optional: 0 is None, else 1 + index.
    """

    leaf: int
    type: Type
    optional: bool
    bits: int


@dataclass(frozen=True)
class Field:
    """A coded field in its place."""

    code: Code
    word: int
    shift: int


def is_index(kind: Type) -> bool:
    """Whether values are small numbers, so that None can be one more."""
    return isinstance(kind, BoolType | IntType | EnumType | IdType)


def codes(kind: Type, start: int = 0) -> list[Code]:
    """The coded fields of a type, its leaves numbered from `start` as `leaves.of_type` of the front end makes them."""
    if isinstance(kind, RecordType):
        return _several((t for _, t in kind.fields), start)
    if isinstance(kind, MapType):
        return _several((kind.value for _ in range(kind.key.count)), start)
    if isinstance(kind, ColumnsType):
        return _several((kind.place for _ in range(kind.length)), start)
    if isinstance(kind, NumbersType):
        return [Code(start + i, BoolType(), False, 1) for i in range(kind.item.count)]
    if isinstance(kind, OptionType):
        if is_index(kind.inner):
            return [Code(start, kind.inner, True, _fitting(kind, kind.inner.count.bit_length()))]
        return [Code(start, BoolType(), False, 1), *codes(kind.inner, start + 1)]
    if isinstance(kind, BagType):
        slot = IntType(0, 1 << bits_of(kind.item))
        bits = _fitting(kind.item, bits_of_slot(kind.item))
        return [Code(start + i, slot, False, bits) for i in range(kind.size)]
    return [Code(start, kind, False, _fitting(kind, bits_of(kind)))]


def _fitting(kind: Type, bits: int) -> int:
    """The bits of a field; `LayoutError` if they are too many."""
    if bits > WIDEST:
        raise LayoutError(f"{kind} takes {bits} bits; at most {WIDEST} fit a field")
    return bits


def _several(kinds: Iterator[Type], start: int) -> list[Code]:
    stored: list[Code] = []
    for kind in kinds:
        stored += codes(kind, start)
        start += leaf_count(kind)
    return stored


def leaf_count(kind: Type) -> int:
    """The number of scalar leaves of a value of a type."""
    if isinstance(kind, RecordType):
        return sum(leaf_count(inner) for _, inner in kind.fields)
    if isinstance(kind, MapType):
        return kind.key.count * leaf_count(kind.value)
    if isinstance(kind, ColumnsType):
        return kind.length * leaf_count(kind.place)
    if isinstance(kind, OptionType):
        return 1 + leaf_count(kind.inner)
    if isinstance(kind, NumbersType):
        return kind.item.count
    return kind.size if isinstance(kind, BagType) else 1


def scalars(value: Any, kind: Type) -> Iterator[Any]:
    """The scalar leaves of a Python value, as numbers (indices, masks, packed sequences), in order."""
    if isinstance(kind, RecordType):
        for name, inner in kind.fields:
            yield from scalars(getattr(value, name), inner)
    elif isinstance(kind, MapType):
        for key in kind.key.values():
            yield from scalars(value[key], kind.value)
    elif isinstance(kind, ColumnsType):
        for place in range(kind.length):
            yield from scalars(value[place] if place < len(value) else None, kind.place)
    elif isinstance(kind, OptionType):
        yield 0 if value is None else 1
        if value is None:
            yield from (0 for _ in range(leaf_count(kind.inner)))  # its one code
        else:
            yield from scalars(value, kind.inner)
    elif isinstance(kind, BagType):
        packed = sorted((1 + pack_record(member, kind.item) for member in value), reverse=True)
        yield from packed
        yield from (0 for _ in range(kind.size - len(packed)))
    elif isinstance(kind, NumbersType):
        yield from map(int, kind.rank(value))
    elif isinstance(kind, SetType):
        yield kind.rank(value)
    elif isinstance(kind, SeqType):
        k = bits_of(kind.item)
        items = sum(_index(v, kind.item) << (i * k) for i, v in enumerate(value))
        yield items | len(value) << SEQ_LENGTH_AT
    else:
        yield _index(value, kind)


def _index(value: Any, kind: Type) -> int:
    if isinstance(kind, IdType):
        return int(value) - kind.first
    if isinstance(kind, IntType):
        return int(value) - kind.low
    return int(kind.rank(value))


def coded(leaves: list[int], code: Code) -> int:
    """The number stored for a field, from the scalar leaves (ints counted from their lower bound)."""
    if code.optional:
        return leaves[code.leaf] and 1 + leaves[code.leaf + 1]
    if isinstance(code.type, SeqType):
        room = code.type.length * bits_of(code.type.item)
        word = leaves[code.leaf]
        return word & ((1 << room) - 1) | word >> SEQ_LENGTH_AT << room
    return leaves[code.leaf]


def pack_record(value: Any, kind: RecordType) -> int:
    """A record as one number, first field most significant; ascending as `RecordType.rank` is."""
    leaves = list(scalars(value, kind))
    word = 0
    for code in codes(kind):
        word = word << code.bits | coded(leaves, code)
    return word


def unpack_record(word: int, kind: RecordType) -> Any:
    """Inverse of `pack_record`."""
    return rebuild(kind, (word >> below & ((1 << code.bits) - 1) for code, below in packed_fields(kind)))


def packed_fields(kind: RecordType) -> list[tuple[Code, int]]:
    """The fields of a packed record in their order, each with the number of bits below it."""
    fields, below = [], 0
    for code in reversed(codes(kind)):
        fields.append((code, below))
        below += code.bits
    return fields[::-1]


def packed_field(kind: RecordType, leaf: int) -> tuple[Code, int]:
    """The field of a packed record that holds a leaf, and the number of bits below it."""
    return next(f for f in packed_fields(kind) if f[0].leaf <= leaf <= f[0].leaf + f[0].optional)


def rebuild(kind: Type, stored: Iterator[int]) -> Any:
    """The Python value whose coded fields come next."""
    if isinstance(kind, RecordType):
        return kind.cls(*(rebuild(t, stored) for _, t in kind.fields))
    if isinstance(kind, MapType):
        from reassure.spec.language.values import Map

        return Map([(k, rebuild(kind.value, stored)) for k in kind.key.values()])
    if isinstance(kind, ColumnsType):
        places = [rebuild(kind.place, stored) for _ in range(kind.length)]
        return tuple(item for item in places if item is not None)
    if isinstance(kind, OptionType):
        number = next(stored)
        if is_index(kind.inner):
            return _value(number - 1, kind.inner) if number else None
        inner = rebuild(kind.inner, stored)
        return inner if number else None
    if isinstance(kind, BagType):
        slots = [next(stored) for _ in range(kind.size)]
        return frozenset(unpack_record(s - 1, kind.item) for s in slots if s)
    if isinstance(kind, NumbersType):
        return frozenset([number for number in kind.item.values() if next(stored)])
    return _value(next(stored), kind)


def _value(number: int, kind: Type) -> Any:
    if isinstance(kind, BoolType):
        return bool(number)
    if isinstance(kind, IdType):
        return kind.sort(number + kind.first)
    if isinstance(kind, EnumType):
        return tuple(kind.sort)[number]
    if isinstance(kind, IntType):
        return number + kind.low
    if isinstance(kind, SetType):
        members = tuple(kind.item.values())
        return frozenset(v for i, v in enumerate(members) if number >> i & 1)
    assert isinstance(kind, SeqType)
    k = bits_of(kind.item)
    length = number >> (kind.length * k)
    return tuple(_value(number >> (i * k) & ((1 << k) - 1), kind.item) for i in range(length))


@dataclass(frozen=True)
class Layout:
    """The places of the fields of a state in its words."""

    type: RecordType
    fields: tuple[Field, ...]
    words: int
    bits: int
    """Bits in use."""

    @property
    def bytes_per_state(self) -> int:
        return 8 * self.words

    def encode(self, state: Any) -> tuple[int, ...]:
        """A state's words, unsigned."""
        leaves = list(scalars(state, self.type))
        words = [0] * self.words
        for f in self.fields:
            words[f.word] |= coded(leaves, f.code) << f.shift
        return tuple(words)

    def decode(self, words: Any) -> Any:
        """The state that `encode` gives these words for."""
        stored = (int(words[f.word]) % (1 << WORD) >> f.shift & ((1 << f.code.bits) - 1) for f in self.fields)
        return rebuild(self.type, stored)


def layout_of(kind: RecordType, room: int = WORD, tag: int = 0) -> Layout:
    """The layout of a state type; `LayoutError` if a field does not fit a word.

    tag: bits left free at the top of word 0, for the search's own use, where that costs no further word.
    """
    stored = codes(kind)
    places = [_place(stored, room, order, tag) for order in (_as_given, _widest_first)]
    fields, words = min(places, key=lambda place: place[1])
    return Layout(kind, tuple(fields), words, sum(c.bits for c in stored))


def state_layout(bound: BoundModel) -> Layout:
    """The layout that every engine uses for the states of a model."""
    return layout_of(bound.type, tag=TAG_BITS)


def placed(stored: list[Code]) -> tuple[tuple[Field, ...], int]:
    """Fields in their given order, in as few words as that order needs; how many those are."""
    fields, words = _place(stored, WORD, _as_given, 0)
    return tuple(fields), words if fields else 0


def _as_given(c: Code) -> int:
    return 0


def _widest_first(c: Code) -> int:
    return -c.bits


def _place(stored: list[Code], room: int, order: Callable[[Code], int], tag: int) -> tuple[list[Field], int]:
    """The fields in their places, and how many words there are, at least one."""
    filled = [tag]
    place: dict[int, Field] = {}
    for code in sorted(stored, key=order):
        if code.bits > room:
            raise LayoutError(f"{code.type} takes {code.bits} bits; at most {room} fit a word")
        w = next((i for i, used in enumerate(filled) if used + code.bits <= room), len(filled))
        if w == len(filled):
            filled.append(0)
        # From the top down, so that earlier fields weigh more in the canonical order.
        place[code.leaf] = Field(code, w, room - filled[w] - code.bits)
        filled[w] += code.bits
    return [place[c.leaf] for c in stored], len(filled)
