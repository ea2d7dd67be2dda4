"""Functions over packed sequences, as LLVM IR: items of k bits from bit 0, the number of items from bit 56.

A sequence has at most as many items as its type says, so that the functions are straight code, without loops.
"""

from __future__ import annotations

from collections.abc import Callable

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT
from reassure.checkers.engines.native.model.ir_text import FunctionText, literal

ITEMS = (1 << SEQ_LENGTH_AT) - 1


def length_of(f: FunctionText, seq: str) -> str:
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
    length = length_of(f, a)
    moved = f.left_by(f.both(b, literal(ITEMS)), bits_before(f, length, k))
    items = f.either(f.both(a, literal(ITEMS)), f.both(moved, literal(ITEMS)))
    return with_length(f, items, f.add(length, length_of(f, b)))


def drop(f: FunctionText, seq: str, count: str, k: int) -> str:
    """Without its first items."""
    length = length_of(f, seq)
    gone = f.call("llvm.umin.i64", length, count)
    items = f.right_by(f.both(seq, literal(ITEMS)), bits_before(f, gone, k))
    return with_length(f, items, f.sub(length, gone))


def take(f: FunctionText, seq: str, count: str, k: int) -> str:
    """Only its first items."""
    length = f.call("llvm.umin.i64", length_of(f, seq), count)
    items = f.plus(f.left_by("1", bits_before(f, length, k)), -1)
    return with_length(f, f.both(seq, items), length)


def keep(f: FunctionText, seq: str, mask: str, k: int, most: int) -> str:
    """The items that are in a set, in their order."""
    length, result, end, hits = length_of(f, seq), "0", "0", "0"
    for place in range(most):
        item = item_at(f, seq, k, place)
        hit = f.op(f"and i1 {f.compare('ult', str(place), length)}, {f.bit(mask, item)}")
        result = f.either(result, f.left_by(f.choose(hit, item, "0"), end))
        hits = f.add(hits, f.widened(hit))
        end = bits_before(f, hits, k)
    return with_length(f, result, hits)


def members(f: FunctionText, seq: str, k: int, most: int) -> str:
    """The set of its items."""
    length, result = length_of(f, seq), "0"
    for place in range(most):
        one = f.left_by("1", item_at(f, seq, k, place))
        result = f.either(result, f.choose(f.compare("ult", str(place), length), one, "0"))
    return result


def first(f: FunctionText, seq: str, mask: str, k: int, most: int) -> str:
    """The first item that is in a set; 0 if none is."""
    length, result = length_of(f, seq), "0"
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


LONG: dict[str, Callable[..., str]] = {"keep": keep, "members": members, "first": first, "ordered": ordered}
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
