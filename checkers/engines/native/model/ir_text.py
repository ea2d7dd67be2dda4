"""Text of LLVM IR: a function made instruction by instruction.

Every value is an i64, or an i1 where it is a truth value. Nothing carries `nsw` or `nuw`, and no count of a shift may
reach 64: an operation on garbage gives garbage, never a poison that would spread into what does not depend on it.

Also here: functions over packed sequences, as LLVM IR: items of k bits from bit 0, the number of items from bit 56.

A sequence has at most as many items as its type says, so that the functions are straight code, without loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT

WORD_BITS = 64
_WRAP = 1 << WORD_BITS


def literal(number: int) -> str:
    """A number as an i64 constant (the bits count, not the sign)."""
    number %= _WRAP
    return str(number - _WRAP if number >> (WORD_BITS - 1) else number)


class FunctionText:
    """One function; `block` is the label of the block that is being written."""

    def __init__(self, name: str, parameters: Iterable[str], internal: bool, suffix: str = "") -> None:
        linkage = "internal " if internal else ""
        self.head = f"define {linkage}i64 @{name}({', '.join(parameters)}) {suffix}{{"
        self.entry: list[str] = []
        """Instructions of the first block: they are before everything else."""
        self.lines: list[str] = []
        self.block = "start"
        self._count = 0

    def fresh(self) -> str:
        """A new name of a value or a block, without its sign."""
        self._count += 1
        return f"v{self._count}"

    def op(self, instruction: str) -> str:
        """Appends an instruction that has a value; its name."""
        name = "%" + self.fresh()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def at_entry(self, instruction: str) -> str:
        """As `op`, in the first block."""
        name = "%" + self.fresh()
        self.entry.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Appends an instruction without a value."""
        self.lines.append("  " + instruction)

    def start(self, label: str) -> None:
        """Begins a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def text(self) -> str:
        """The whole function."""
        return "\n".join([self.head, "entry:", *self.entry, "  br label %start", "start:", *self.lines, "}", ""])

    # -- operations on i64 --------------------------------------------------------------------------

    def add(self, a: str, b: str) -> str:
        return a if b == "0" else b if a == "0" else self.op(f"add i64 {a}, {b}")

    def plus(self, a: str, number: int) -> str:
        return self.add(a, literal(number))

    def sub(self, a: str, b: str) -> str:
        return a if b == "0" else self.op(f"sub i64 {a}, {b}")

    def both(self, a: str, b: str) -> str:
        """Bitwise and."""
        return a if b == "-1" else b if a == "-1" else self.op(f"and i64 {a}, {b}")

    def either(self, a: str, b: str) -> str:
        """Bitwise or."""
        return a if b == "0" else b if a == "0" else self.op(f"or i64 {a}, {b}")

    def flipped(self, a: str) -> str:
        return self.op(f"xor i64 {a}, -1")

    def left(self, a: str, count: int) -> str:
        return a if count == 0 else self.op(f"shl i64 {a}, {count}")

    def right(self, a: str, count: int) -> str:
        return a if count == 0 else self.op(f"lshr i64 {a}, {count}")

    def left_by(self, a: str, count: str) -> str:
        """Shifted by a count that is only known at run time."""
        return self.op(f"shl i64 {a}, {self.count(count)}")

    def right_by(self, a: str, count: str) -> str:
        return self.op(f"lshr i64 {a}, {self.count(count)}")

    def count(self, value: str) -> str:
        """A count of a shift, kept below 64."""
        return literal(int(value) & 63) if value.lstrip("-").isdigit() else self.op(f"and i64 {value}, 63")

    def compare(self, how: str, a: str, b: str) -> str:
        return self.op(f"icmp {how} i64 {a}, {b}")

    def choose(self, condition: str, a: str, b: str, kind: str = "i64") -> str:
        return a if a == b else self.op(f"select i1 {condition}, {kind} {a}, {kind} {b}")

    def call(self, function: str, *arguments: str) -> str:
        operands = ", ".join(f"i64 {a}" for a in arguments)
        return self.op(f"call i64 @{function}({operands})")

    def bit(self, word: str, number: str) -> str:
        """Whether a bit is set, as an i1."""
        return self.op(f"trunc i64 {self.right_by(word, number)} to i1")

    def widened(self, truth: str) -> str:
        """An i1 as an i64."""
        if truth in ("true", "false"):
            return "1" if truth == "true" else "0"
        return self.op(f"zext i1 {truth} to i64")

    def negated(self, truth: str) -> str:
        return self.op(f"xor i1 {truth}, true")


DECLARATIONS = """declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)
"""


ITEMS = (1 << SEQ_LENGTH_AT) - 1


def sequence_length(f: FunctionText, seq: str) -> str:
    """The number of items."""
    return f.right(seq, SEQ_LENGTH_AT)


def item_at(f: FunctionText, seq: str, k: int, place: int) -> str:
    """The item at a place known now; 0 behind the end."""
    return f.both(f.right(seq, place * k), literal((1 << k) - 1))


def with_length(f: FunctionText, items: str, length: str) -> str:
    return f.either(items, f.left(length, SEQ_LENGTH_AT))


def bits_before(f: FunctionText, places: str, k: int) -> str:
    """The number of bits that so many items take, as a count of a shift."""
    return places if k == 1 else f.op(f"mul i64 {places}, {k}")


def get(f: FunctionText, seq: str, place: str, k: int) -> str:
    """The item at a place."""
    return f.both(f.right_by(seq, bits_before(f, place, k)), literal((1 << k) - 1))


def cat(f: FunctionText, a: str, b: str, k: int) -> str:
    """One sequence after the other."""
    length = sequence_length(f, a)
    moved = f.left_by(f.both(b, literal(ITEMS)), bits_before(f, length, k))
    items = f.either(f.both(a, literal(ITEMS)), f.both(moved, literal(ITEMS)))
    return with_length(f, items, f.add(length, sequence_length(f, b)))


def drop(f: FunctionText, seq: str, count: str, k: int) -> str:
    """Without its first items."""
    length = sequence_length(f, seq)
    gone = f.call("llvm.umin.i64", length, count)
    items = f.right_by(f.both(seq, literal(ITEMS)), bits_before(f, gone, k))
    return with_length(f, items, f.sub(length, gone))


def take(f: FunctionText, seq: str, count: str, k: int) -> str:
    """Only its first items."""
    length = f.call("llvm.umin.i64", sequence_length(f, seq), count)
    items = f.plus(f.left_by("1", bits_before(f, length, k)), -1)
    return with_length(f, f.both(seq, items), length)


def keep_in_set(f: FunctionText, seq: str, mask: str, k: int, most: int) -> str:
    """The items that are in a set, in their order."""
    length, result, end, hits = sequence_length(f, seq), "0", "0", "0"
    for place in range(most):
        item = item_at(f, seq, k, place)
        hit = f.op(f"and i1 {f.compare('ult', str(place), length)}, {f.bit(mask, item)}")
        result = f.either(result, f.left_by(f.choose(hit, item, "0"), end))
        hits = f.add(hits, f.widened(hit))
        end = bits_before(f, hits, k)
    return with_length(f, result, hits)


def items_as_set(f: FunctionText, seq: str, k: int, most: int) -> str:
    """The set of its items."""
    length, result = sequence_length(f, seq), "0"
    for place in range(most):
        one = f.left_by("1", item_at(f, seq, k, place))
        result = f.either(result, f.choose(f.compare("ult", str(place), length), one, "0"))
    return result


def first_in_set(f: FunctionText, seq: str, mask: str, k: int, most: int) -> str:
    """The first item that is in a set; 0 if none is."""
    length, result = sequence_length(f, seq), "0"
    for place in reversed(range(most)):
        item = item_at(f, seq, k, place)
        hit = f.op(f"and i1 {f.compare('ult', str(place), length)}, {f.bit(mask, item)}")
        result = f.choose(hit, item, result)
    return result


def ordered(f: FunctionText, mask: str, k: int, count: int) -> str:
    """The members of a set over so many items, ascending."""
    result, end, hits = "0", "0", "0"
    for item in range(count):
        hit = f.bit(mask, str(item))
        if item:
            result = f.either(result, f.left_by(f.choose(hit, str(item), "0"), end))
        hits = f.add(hits, f.widened(hit))
        end = bits_before(f, hits, k)
    return with_length(f, result, hits)


LONG: dict[str, Callable[..., str]] = {
    "keep": keep_in_set,
    "members": items_as_set,
    "first": first_in_set,
    "ordered": ordered,
}
"""Those whose code grows with the sequence: functions of their own, called."""
ARGUMENTS = {"keep": 2, "members": 1, "first": 2, "ordered": 1}


def function_name(name: str, k: int, most: int) -> str:
    """The name of the function for items of k bits, at most so many."""
    return f"seq_{name}_{k}_{most}"


def function_text(name: str, k: int, most: int) -> str:
    """Such a function as text."""
    names = [f"%a{i}" for i in range(ARGUMENTS[name])]
    suffix = "alwaysinline nounwind willreturn memory(none) " if most <= 4 else "nounwind willreturn memory(none) "
    f = FunctionText(function_name(name, k, most), [f"i64 {n}" for n in names], internal=True, suffix=suffix)
    f.do(f"ret i64 {LONG[name](f, *names, k, most)}")
    return f.text()
