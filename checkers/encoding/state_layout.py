"""Dataclass <-> packed words, derived from the fields.

A state is a row of 64-bit words that holds every field exactly. Fields do not straddle words; as few words are used as
their bits need. The order of packed states (words compared as unsigned numbers, word 0 first) is the canonical order of
states, by which every engine chooses among counterexamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
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
        bits = _fitting(kind.item, bits_of(kind.item) + 1)
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


def scalars(value: Any, kind: Type) -> list[int]:
    """The scalar leaves of a Python value, as numbers (indices, masks, packed sequences), in order."""
    leaves: list[int] = []
    _coder(_Same(kind)).write_leaves(value, leaves.append)
    return leaves


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
    return _coder(_Same(kind)).pack(value)


def unpack_record(word: int, kind: RecordType) -> Any:
    """Inverse of `pack_record`."""
    return _coder(_Same(kind)).unpack(word)


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
    return _coder(_Same(kind)).read(stored.__next__)


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

    @cached_property
    def _places(self) -> list[tuple[int, int, int]]:
        """Word, shift and mask of each field."""
        return [(f.word, f.shift, (1 << f.code.bits) - 1) for f in self.fields]

    def encode(self, state: Any) -> tuple[int, ...]:
        """A state's words, unsigned."""
        numbers: list[int] = []
        _coder(_Same(self.type)).write(state, numbers.append)
        words = [0] * self.words
        for (word, shift, _), number in zip(self._places, numbers, strict=True):
            words[word] |= number << shift
        return tuple(words)

    def decode(self, words: Any) -> Any:
        """The state that `encode` gives these words for."""
        unsigned = [int(words[n]) % (1 << WORD) for n in range(self.words)]
        stored = iter([unsigned[word] >> shift & mask for word, shift, mask in self._places])
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


# -- values to numbers and back: functions that are made once for a type, for most of them are used many times ---------

Put = Callable[[int], None]
Take = Callable[[], int]
MOST_TYPES = 256
"""Types whose functions are kept."""
MOST_VALUES = 4096
"""Sets, sequences and records in sets, of one type, that are kept by their number: equal ones are one object then."""


class _Same:
    """A type as a key: it alone, and not those that are equal, which takes long to find out."""

    __slots__ = ("kind",)

    def __init__(self, kind: Type) -> None:
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.kind is other.kind

    def __hash__(self) -> int:
        return id(self.kind)


class _Coder:
    """The functions of a type."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    @cached_property
    def write_leaves(self) -> Callable[[Any, Put], None]:
        return _writer(self.kind, leaves=True)

    @cached_property
    def write(self) -> Callable[[Any, Put], None]:
        return _writer(self.kind, leaves=False)

    @cached_property
    def read(self) -> Callable[[Take], Any]:
        return _reader(self.kind)

    @cached_property
    def pack(self) -> Callable[[Any], int]:
        return _packer(self.kind)

    @cached_property
    def unpack(self) -> Callable[[int], Any]:
        return _unpacker(self.kind)


@lru_cache(maxsize=MOST_TYPES)
def _coder(same: _Same) -> _Coder:
    return _Coder(same.kind)


def _writer(kind: Type, leaves: bool) -> Callable[[Any, Put], None]:
    """Gives the numbers of a value one after the other: of its scalar leaves, or of its coded fields (`coded`)."""
    if isinstance(kind, RecordType):
        parts_of, fields = kind.parts_of, [(_number(inner, leaves), inner) for _, inner in kind.fields]
        written = [(number, None if number else _writer(inner, leaves)) for number, inner in fields]

        def record(value: Any, put: Put) -> None:
            for part, (number, write) in zip(parts_of(value), written, strict=True):
                if write is None:
                    put(number(part))  # type: ignore[misc]
                else:
                    write(part, put)

        return record
    if isinstance(kind, MapType):
        keys, each = tuple(kind.key.values()), _writer(kind.value, leaves)

        def entries(value: Any, put: Put) -> None:
            for key in keys:
                each(value[key], put)

        return entries
    if isinstance(kind, ColumnsType):
        length, place = kind.length, _writer(kind.place, leaves)

        def items(value: Any, put: Put) -> None:
            for n in range(length):
                place(value[n] if n < len(value) else None, put)

        return items
    if isinstance(kind, OptionType) and (leaves or not is_index(kind.inner)):
        count, inner = 1 + (leaf_count(kind.inner) if leaves else len(codes(kind.inner))), _writer(kind.inner, leaves)

        def present(value: Any, put: Put) -> None:
            if value is None:
                for _ in range(count):
                    put(0)  # of what is not there the one code
            else:
                put(1)
                inner(value, put)

        return present
    if isinstance(kind, BagType):
        size, pack = kind.size, _packer(kind.item)

        def members(value: Any, put: Put) -> None:
            packed = sorted([1 + pack(member) for member in value], reverse=True)
            for number in (*packed, *(0 for _ in range(size - len(packed)))):
                put(number)

        return members
    if isinstance(kind, NumbersType):
        numbers = tuple(kind.item.values())

        def inside(value: Any, put: Put) -> None:
            for one in numbers:
                put(int(one in value))

        return inside
    number = _number(kind, leaves)
    assert number is not None
    return lambda value, put: put(number(value))


def _number(kind: Type, leaves: bool) -> Callable[[Any], int] | None:
    """The number of a value that has one number; None for a type whose values have several."""
    if isinstance(kind, OptionType):
        if leaves or not is_index(kind.inner):
            return None
        index = _number(kind.inner, leaves)
        return lambda value: 0 if value is None else 1 + index(value)  # type: ignore[misc]
    if isinstance(kind, RecordType | MapType | ColumnsType | BagType | NumbersType):
        return None
    if isinstance(kind, SetType):
        bits = {member: 1 << i for i, member in enumerate(kind.item.values())}
        return lambda value: sum([bits[member] for member in value])
    if isinstance(kind, SeqType):
        return _number_of_sequence(kind, leaves)
    if isinstance(kind, IdType | IntType):
        low = kind.first if isinstance(kind, IdType) else kind.low
        return lambda value: int(value) - low
    if isinstance(kind, EnumType):
        return {member: i for i, member in enumerate(kind.sort)}.__getitem__
    return lambda value: int(kind.rank(value))


def _number_of_sequence(kind: SeqType, leaves: bool) -> Callable[[Any], int]:
    """Items from bit 0 on, the length above them, where the leaf or the coded field has it."""
    k, item = bits_of(kind.item), _number(kind.item, leaves)
    room = SEQ_LENGTH_AT if leaves else kind.length * k

    def number(value: Any) -> int:
        word = len(value) << room
        for i, member in enumerate(value):
            word |= item(member) << (i * k)  # type: ignore[misc]
        return word

    return number


def _packer(kind: RecordType) -> Callable[[Any], int]:
    """See `pack_record`."""
    write, widths = _writer(kind, leaves=False), [code.bits for code in codes(kind)]

    def pack(value: Any) -> int:
        numbers: list[int] = []
        write(value, numbers.append)
        word = 0
        for bits, number in zip(widths, numbers, strict=True):
            word = word << bits | number
        return word

    return pack


def _unpacker(kind: RecordType) -> Callable[[int], Any]:
    """See `unpack_record`."""
    read, fields = _reader(kind), [(below, (1 << code.bits) - 1) for code, below in packed_fields(kind)]
    return lru_cache(MOST_VALUES)(lambda word: read(iter([word >> below & mask for below, mask in fields]).__next__))


def _reader(kind: Type) -> Callable[[Take], Any]:
    """Makes a value of the coded fields that come next."""
    if isinstance(kind, RecordType):
        made, fields = kind.made, [_reader(inner) for _, inner in kind.fields]
        return lambda take: made([read(take) for read in fields])
    if isinstance(kind, MapType):
        from reassure.spec.language.values import Map

        keys, entry = tuple(kind.key.values()), _reader(kind.value)
        return lambda take: Map([(key, entry(take)) for key in keys])
    if isinstance(kind, ColumnsType):
        length, place = kind.length, _reader(kind.place)
        return lambda take: tuple([item for item in [place(take) for _ in range(length)] if item is not None])
    if isinstance(kind, OptionType):
        return _reader_of_option(kind)
    if isinstance(kind, BagType):
        size, unpack = kind.size, _unpacker(kind.item)
        return lambda take: frozenset([unpack(slot - 1) for slot in [take() for _ in range(size)] if slot])
    if isinstance(kind, NumbersType):
        numbers = tuple(kind.item.values())
        return lambda take: frozenset([number for number in numbers if take()])
    value = _value(kind)
    return lambda take: value(take())


def _reader_of_option(kind: OptionType) -> Callable[[Take], Any]:
    if is_index(kind.inner):
        value = _value(kind.inner)

        def optional(take: Take) -> Any:
            number = take()
            return value(number - 1) if number else None

        return optional
    inner = _reader(kind.inner)

    def present(take: Take) -> Any:
        number, found = take(), inner(take)
        return found if number else None

    return present


def _value(kind: Type) -> Callable[[int], Any]:
    """Inverse of `_number`, of a coded field."""
    if isinstance(kind, BoolType):
        return bool
    if isinstance(kind, IdType):
        sort, first = kind.sort, kind.first
        return lambda number: sort(number + first)
    if isinstance(kind, EnumType):
        return tuple(kind.sort).__getitem__
    if isinstance(kind, IntType):
        low = kind.low
        return lambda number: number + low
    if isinstance(kind, SetType):
        members = tuple(kind.item.values())
        return lru_cache(MOST_VALUES)(
            lambda number: frozenset([member for i, member in enumerate(members) if number >> i & 1])
        )
    assert isinstance(kind, SeqType)
    k, room, item = bits_of(kind.item), kind.length * bits_of(kind.item), _value(kind.item)
    return lru_cache(MOST_VALUES)(
        lambda number: tuple([item(number >> (i * k) & ((1 << k) - 1)) for i in range(number >> room)])
    )
