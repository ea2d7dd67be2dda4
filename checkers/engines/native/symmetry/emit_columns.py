"""LLVM IR of representatives where nothing in a state relates two ids: the ids' columns are sorted, in a vector.

The *column* of an id is all that a state says of it: a bit for each set that it may be in, for each field and for each
place of a sequence that may hold it, how often it is in a sequence whose order is forgotten, and the values that maps
have for it. The fields of a set of at most one record count as fields. A state is told, but for names, by the
columns of its ids in any order. So the state with sorted columns is the representative, and exactly the ids with equal
columns are interchangeable. Columns lie in the lanes of a vector; those of one cell stay together, since the number of
its cell is above an id's column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reassure.checkers.encoding.state_layout import Field, packed_fields
from reassure.checkers.engines.native.kernels import canonical as kernel
from reassure.checkers.engines.native.model.ir_text import FunctionText, literal
from reassure.checkers.engines.native.symmetry.entries import FieldEntry

MOST_LANES = 16


@dataclass(frozen=True)
class Group:
    """Bits of a column: an entry that mentions ids, or the entries of a map, one for each id. at: their first bit.

    slot: the set of at most one record that they are in.
    """

    entries: tuple[FieldEntry, ...]
    at: int
    bits: int
    slot: FieldEntry | None = None


@dataclass(frozen=True)
class IdColumns:
    """The columns of one sort. first: the number of its first id. ids: by lane, those of a cell together."""

    first: int
    ids: tuple[int, ...]
    cells: tuple[int, ...]
    """By lane: the number of the cell."""
    groups: tuple[Group, ...]

    @property
    def column_bits(self) -> int:
        return sum(group.bits for group in self.groups)

    @property
    def lane_bits(self) -> int:
        """Bits of a lane: the column, the cell, and one more so that what fills the vector comes last."""
        used = self.column_bits + max(self.cells).bit_length() + 1
        return 32 if used < 32 and len(self.ids) < 32 else 64

    @property
    def lanes(self) -> int:
        return max(2, 1 << (len(self.ids) - 1).bit_length())

    @property
    def fits(self) -> bool:
        return self.column_bits + max(self.cells).bit_length() + 1 < 64 and len(self.ids) <= MOST_LANES

    @property
    def in_order(self) -> bool:
        """Whether each id is in the lane of its number."""
        return self.ids == tuple(range(len(self.ids)))


def columns_of(first: int, cells: tuple[tuple[int, ...], ...], entries: tuple[FieldEntry, ...]) -> IdColumns | None:
    """The columns of a sort; None if a fact mentions several ids, or too much is said of one."""
    count = sum(map(len, cells))
    groups: list[Group] = []
    at = 0
    maps: dict[tuple[FieldEntry | None, int], list[FieldEntry]] = {}
    for slot, entry in _fields(entries):
        keyed = [key for key, _ in entry.keys if first <= key < first + count]
        named = entry.kind not in (kernel.PLAIN, kernel.SLOTS) and entry.sort == first
        if entry.members > 1 or (entry.kind == kernel.SLOTS and entry.members):
            return None
        if named:
            bits = {kernel.SEQUENCE: entry.count, kernel.LIST: entry.count.bit_length()}.get(entry.kind, 1)
            groups.append(Group((entry,), at, bits, slot))
            at += bits
        elif keyed:
            maps.setdefault((slot, entry.shape), []).append(entry)
    for slot, shape in maps:
        of_map = tuple(maps[slot, shape])
        groups.append(Group(of_map, at, of_map[0].code.bits, slot))
        at += of_map[0].code.bits
    ids = tuple(one for cell in cells for one in cell)
    numbers = tuple(number for number, cell in enumerate(cells) for _ in cell)
    columns = IdColumns(first, ids, numbers, tuple(groups))
    return columns if columns.fits else None


def _fields(entries: tuple[FieldEntry, ...]) -> Iterator[tuple[FieldEntry | None, FieldEntry]]:
    """The entries; those of a record in the place of a set that holds at most one, with that set."""
    for entry in entries:
        if entry.kind == kernel.SLOTS and entry.count == 1 and not entry.keys:
            yield from ((entry, inner) for inner in entry.record)
        else:
            yield None, entry


class ColumnsEmitter:
    """Emits the columns of a state at `%row` as a vector, and states from vectors."""

    def __init__(self, f: FunctionText, columns: IdColumns, fields: tuple[Field, ...]) -> None:
        self.f, self.columns, self.fields = f, columns, fields
        self.type = f"<{columns.lanes} x i{columns.lane_bits}>"

    # -- vectors ------------------------------------------------------------------------------------

    def vector(self, numbers: list[int]) -> str:
        """A constant, with zeros in the lanes behind."""
        rest = [0] * (self.columns.lanes - len(numbers))
        return f"<{', '.join(f'i{self.columns.lane_bits} {n}' for n in (*numbers, *rest))}>"

    def in_all(self, number: str) -> str:
        """An i64 in every lane."""
        f, lanes, bits = self.f, self.columns.lanes, self.columns.lane_bits
        if bits == 32:
            number = f.op(f"trunc i64 {number} to i32")
        first = f.op(f"insertelement {self.type} poison, i{bits} {number}, i64 0")
        return f.op(f"shufflevector {self.type} {first}, {self.type} poison, <{lanes} x i32> zeroinitializer")

    def either(self, a: str, b: str) -> str:
        return b if not a else self.f.op(f"or {self.type} {a}, {b}")

    def bit_where(self, lanes: str, bit: int) -> str:
        """A bit in the lanes where a vector of truths has it."""
        ones = self.vector([1 << bit] * len(self.columns.ids))
        truths = f"<{self.columns.lanes} x i1>"
        return self.f.op(f"select {truths} {lanes}, {self.type} {ones}, {self.type} zeroinitializer")

    def word(self, number: int) -> str:
        f = self.f
        place = f.op(f"getelementptr i64, ptr %row, i64 {number}") if number else "%row"
        return f.op(f"load i64, ptr {place}, align 8")

    def stored(self, slot: FieldEntry | None, entry: FieldEntry) -> str:
        """The stored number of an entry's field; 0 if it is in a record that is not there."""
        return self._bits(slot, entry.field, entry.code.bits)

    def _bits(self, slot: FieldEntry | None, number: int, bits: int) -> str:
        f, mask = self.f, literal((1 << bits) - 1)
        if slot is not None:
            return f.both(f.right(self.record(slot)[1], below(slot, number)), mask)
        field = self.fields[number]
        return f.both(f.right(self.word(field.word), field.shift), mask)

    def record(self, slot: FieldEntry) -> tuple[str, str]:
        """Whether a set of at most one record is empty, and the record."""
        f, number = self.f, self.stored(None, slot)
        empty = f.compare("eq", number, "0")
        return empty, f.choose(empty, "0", f.plus(number, -1))

    # -- from a state to its columns ----------------------------------------------------------------

    def gathered(self) -> str:
        """The columns, unsorted."""
        c = self.columns
        last = (1 << (c.column_bits + max(c.cells).bit_length() + 1)) - 1
        ranks = [cell << c.column_bits for cell in c.cells]
        result = self.vector([*ranks, *([last] * (c.lanes - len(ranks)))])
        for group in c.groups:
            result = self.either(result, self._of_group(group))
        return result

    def _of_group(self, group: Group) -> str:
        f, entry = self.f, group.entries[0]
        if entry.kind == kernel.PLAIN:
            return self._of_map(group)
        value = self.stored(group.slot, entry)
        if entry.kind == kernel.SET:
            masks = self.vector([1 << one for one in self.columns.ids])
            inside = f.op(f"and {self.type} {self.in_all(value)}, {masks}")
            return self.bit_where(f.op(f"icmp ne {self.type} {inside}, zeroinitializer"), group.at)
        if entry.kind in (kernel.ID, kernel.OPTION):
            if group.slot is not None and entry.kind == kernel.ID:
                value = f.choose(self.record(group.slot)[0], "-1", value)
            if entry.flag >= 0:
                value = f.choose(f.compare("eq", self._bits(group.slot, entry.flag, 1), "0"), "-1", value)
            return self._where_is(value, entry.kind == kernel.OPTION, group.at)
        result, length = "", f.right(value, entry.item * entry.count)
        for place in range(entry.count):
            item = f.both(f.right(value, place * entry.item), literal((1 << entry.item) - 1))
            item = f.choose(f.compare("ult", str(place), length), item, "-1")
            bit = group.at if entry.kind == kernel.LIST else group.at + place
            here = self._where_is(item, False, bit)
            result = here if not result else f.op(f"add {self.type} {result}, {here}")
        return result

    def _where_is(self, value: str, optional: bool, bit: int) -> str:
        """A bit in the lane of an id; of none there is no lane."""
        numbers = [one + optional for one in self.columns.ids]
        rest = [-2] * (self.columns.lanes - len(numbers))
        wanted = self.vector([*numbers, *rest])
        return self.bit_where(self.f.op(f"icmp eq {self.type} {self.in_all(value)}, {wanted}"), bit)

    def _of_map(self, group: Group) -> str:
        f, c = self.f, self.columns
        result = "zeroinitializer"
        for lane, one in enumerate(c.ids):
            value = f.left(self.stored(group.slot, group.entries[one]), group.at)
            if c.lane_bits == 32:
                value = f.op(f"trunc i64 {value} to i32")
            result = f.op(f"insertelement {self.type} {result}, i{c.lane_bits} {value}, i64 {lane}")
        return result

    # -- sorting ------------------------------------------------------------------------------------

    def sorted(self, vector: str) -> str:
        """The lanes in ascending order, by a network of exchanges."""
        f, lanes, kind = self.f, self.columns.lanes, self.type
        for stage in exchanges(lanes):
            partner = list(range(lanes))
            for low, high in stage:
                partner[low], partner[high] = high, low
            order = ", ".join(f"i32 {one}" for one in partner)
            other = f.op(f"shufflevector {kind} {vector}, {kind} poison, <{lanes} x i32> <{order}>")
            name = f"v{lanes}i{self.columns.lane_bits}"
            less = f.op(f"call {kind} @llvm.smin.{name}({kind} {vector}, {kind} {other})")
            more = f.op(f"call {kind} @llvm.smax.{name}({kind} {vector}, {kind} {other})")
            upper = ", ".join(f"i1 {'true' if partner[k] < k else 'false'}" for k in range(lanes))
            vector = f.op(f"select <{lanes} x i1> <{upper}>, {kind} {more}, {kind} {less}")
        return vector

    def declarations(self) -> Iterator[str]:
        """The functions that `sorted` calls."""
        name = f"v{self.columns.lanes}i{self.columns.lane_bits}"
        for which in ("smin", "smax"):
            yield f"declare {self.type} @llvm.{which}.{name}({self.type}, {self.type})"

    # -- from columns to a state --------------------------------------------------------------------

    def scattered(self, vector: str) -> Iterator[tuple[FieldEntry | None, FieldEntry, str]]:
        """The entries that columns tell, with the numbers to store, and the set of a record that an entry is in."""
        f = self.f
        for group in self.columns.groups:
            entry = group.entries[0]
            if entry.kind == kernel.PLAIN:
                yield from self._to_map(group, vector)
                continue
            if entry.kind == kernel.SET:
                value = self._as_set(self._lanes_with(vector, group.at))
            elif entry.kind in (kernel.ID, kernel.OPTION):
                lanes = self._lanes_with(vector, group.at)
                value = self._id_in(lanes)
                if entry.kind == kernel.OPTION:
                    value = f.plus(value, 1)
                if entry.kind == kernel.OPTION or entry.flag >= 0:
                    value = f.choose(f.compare("eq", lanes, "0"), "0", value)
            elif entry.kind == kernel.LIST:
                value = self._as_list(group, vector)
            else:
                length = f.right(self.stored(group.slot, entry), entry.item * entry.count)
                value = f.left(length, entry.item * entry.count)
                for place in range(entry.count):
                    one = self._id_in(self._lanes_with(vector, group.at + place))
                    there = f.compare("ult", str(place), length)
                    value = f.either(value, f.left(f.choose(there, one, "0"), place * entry.item))
            yield group.slot, entry, value

    def _as_list(self, group: Group, vector: str) -> str:
        """The sequence with each id as often as its column says, by lanes."""
        f, entry = self.f, group.entries[0]
        room = entry.item * entry.count
        everywhere = sum(1 << place * entry.item for place in range(entry.count))
        items = used = "0"
        for lane, one in enumerate(self.columns.ids):
            times = f.both(f.right(self._lane(vector, lane), group.at), literal((1 << group.bits) - 1))
            width = f.op(f"mul i64 {times}, {entry.item}")
            part = f.both(literal(one * everywhere), f.plus(f.left_by("1", width), -1))
            items = f.either(items, f.left_by(part, used))
            used = f.add(used, width)
        length = f.right(self.stored(group.slot, entry), room)
        return f.either(items, f.left(length, room))

    def _lane(self, vector: str, lane: int) -> str:
        f, bits = self.f, self.columns.lane_bits
        value = f.op(f"extractelement {self.type} {vector}, i64 {lane}")
        return f.op(f"zext i32 {value} to i64") if bits == 32 else value

    def _lanes_with(self, vector: str, bit: int) -> str:
        """The lanes that have a bit, as bits of an i64."""
        f, c = self.f, self.columns
        ones = self.vector([1 << bit] * len(c.ids))
        inside = f.op(f"icmp ne {self.type} {f.op(f'and {self.type} {vector}, {ones}')}, zeroinitializer")
        return f.op(f"zext i{c.lanes} {f.op(f'bitcast <{c.lanes} x i1> {inside} to i{c.lanes}')} to i64")

    def _as_set(self, lanes: str) -> str:
        """The set of the ids in lanes."""
        f, c = self.f, self.columns
        if c.in_order:
            return lanes
        result = "0"
        for lane, one in enumerate(c.ids):
            result = f.either(result, f.left(f.both(f.right(lanes, lane), "1"), one))
        return result

    def _id_in(self, lanes: str) -> str:
        """The id in the one lane that is set."""
        f, c = self.f, self.columns
        lane = f.count(f.op(f"call i64 @llvm.cttz.i64(i64 {lanes}, i1 false)"))
        if c.in_order:
            return lane
        table = sum(one << 4 * lane_number for lane_number, one in enumerate(c.ids))
        return f.both(f.right_by(literal(table), f.left(lane, 2)), "15")

    def _to_map(self, group: Group, vector: str) -> Iterator[tuple[FieldEntry | None, FieldEntry, str]]:
        f = self.f
        for lane, one in enumerate(self.columns.ids):
            value = f.both(f.right(self._lane(vector, lane), group.at), literal((1 << group.bits) - 1))
            yield group.slot, group.entries[one], value

    # -- equal columns ------------------------------------------------------------------------------

    def same(self, vector: str) -> str:
        """The number of renamings that leave a state as it is, from its sorted columns."""
        f, c = self.f, self.columns
        run, result = "1", "1"
        before = f.op(f"extractelement {self.type} {vector}, i64 0")
        for lane in range(1, len(c.ids)):
            column = f.op(f"extractelement {self.type} {vector}, i64 {lane}")
            equal = f.op(f"icmp eq i{c.lane_bits} {before}, {column}")
            run = f.choose(equal, f.plus(run, 1), "1")
            result = f.op(f"mul i64 {result}, {run}")
            before = column
        return result


def below(slot: FieldEntry, field: int) -> int:
    """The number of bits below a field of a record in its set."""
    assert slot.record_type is not None
    return packed_fields(slot.record_type)[field][1]


def exchanges(lanes: int) -> Iterator[list[tuple[int, int]]]:
    """Batcher's network for a power of two: stages of exchanges that do not depend on each other."""
    p = 1
    while p < lanes:
        k = p
        while k >= 1:
            stage = []
            for j in range(k % p, lanes - k, 2 * k):
                for i in range(min(k, lanes - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        stage.append((i + j, i + j + k))
            yield stage
            k //= 2
        p *= 2


def column_functions(all_columns: list[IdColumns], fields: tuple[Field, ...], words: int) -> str:
    """LLVM IR of `representative` and `stabiliser` of a state at `%row`."""
    f = FunctionText("representative", ("ptr noalias %row",), internal=True, suffix="alwaysinline nounwind ")
    g = FunctionText("stabiliser", ("ptr noalias %row",), internal=True, suffix="alwaysinline nounwind ")
    declared: list[str] = []
    told: dict[int, str] = {}
    masks = [0] * words
    records: dict[FieldEntry, tuple[str, int]] = {}
    same = "1"

    def tell(entry: FieldEntry, value: str) -> None:
        field = fields[entry.field]
        told[field.word] = f.either(told.get(field.word, "0"), f.left(value, field.shift))
        masks[field.word] |= ((1 << field.code.bits) - 1) << field.shift

    for columns in all_columns:
        emitter = ColumnsEmitter(f, columns, fields)
        declared += emitter.declarations()
        for slot, entry, value in emitter.scattered(emitter.sorted(emitter.gathered())):
            if slot is None:
                tell(entry, value)
            else:
                at, (bits, mask) = below(slot, entry.field), records.get(slot, ("0", 0))
                records[slot] = f.either(bits, f.left(value, at)), mask | ((1 << entry.code.bits) - 1) << at
        other = ColumnsEmitter(g, columns, fields)
        same = g.op(f"mul i64 {same}, {other.same(other.sorted(other.gathered()))}")
    for slot, (bits, mask) in records.items():
        empty, record = ColumnsEmitter(f, all_columns[0], fields).record(slot)
        record = f.either(f.both(record, literal(~mask)), bits)
        tell(slot, f.choose(empty, "0", f.plus(record, 1)))
    for number, value in told.items():
        place = f.op(f"getelementptr i64, ptr %row, i64 {number}")
        kept = f.both(f.op(f"load i64, ptr {place}, align 8"), literal(~masks[number]))
        f.do(f"store i64 {f.either(kept, value)}, ptr {place}, align 8")
    f.do("ret i64 0")
    g.do(f"ret i64 {same}")
    return "\n".join([*dict.fromkeys(declared), f.text(), g.text()])
