"""IR -> Z3: the nodes of an elaborated model as booleans and bit-vectors, for one copy of the state at a time.

A bool is a Bool; an id or enum member an unsigned bit-vector of its index; an int a signed one, wide enough for the
interval of its node, so that nothing wraps; a set a bit-vector, a bit for each member; a sequence a row of items with a
length, zero beyond it. What an operation leaves undefined (the lowest member of nothing) is the value of index 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import z3

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT, Code, codes
from reassure.spec.frontend.ir import Node
from reassure.spec.language.types import BoolType, IntType, RecordType, SeqType, SetType, Type, bits_of


@dataclass(frozen=True)
class Seq:
    """A sequence: at most `len(items)` items, of which `length` (a signed bit-vector) count; the others are zero."""

    items: tuple[z3.BitVecRef, ...]
    length: z3.BitVecRef


Term = Any
"""z3.BoolRef, z3.BitVecRef or Seq."""


def parts(term: Term) -> list[z3.ExprRef]:
    """The Z3 terms that a term consists of."""
    return [*term.items, term.length] if isinstance(term, Seq) else [term]


def width_of(kind: Type) -> int:
    """Bits of the bit-vector for a scalar type other than bool and sequences."""
    if isinstance(kind, IntType):
        return int_width(kind.low, kind.high)
    return max(1, bits_of(kind))


def int_width(low: int, high: int) -> int:
    """Bits of a signed number that holds low..high."""
    return max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0) + 1


def fresh(name: str, kind: Type) -> Term:
    """A constant (or a row of them) for a scalar of a type."""
    if isinstance(kind, BoolType):
        return z3.Bool(name)
    if isinstance(kind, SeqType):
        k = max(1, bits_of(kind.item))
        row = tuple(z3.BitVec(f"{name}[{i}]", k) for i in range(kind.length))
        return Seq(row, z3.BitVec(f"{name}.len", int_width(0, kind.length)))
    return z3.BitVec(name, width_of(kind))


def in_range(term: Term, kind: Type) -> list[z3.BoolRef]:
    """What a scalar of a type satisfies beside its width."""
    if isinstance(kind, BoolType):
        return []
    if isinstance(kind, SeqType):
        inside = [term.length >= 0, term.length <= kind.length]
        for i, item in enumerate(term.items):
            inside.append(z3.If(term.length > i, z3.ULE(item, kind.item.count - 1), item == 0))
        return inside
    if isinstance(kind, IntType):
        return [term >= kind.low, term <= kind.high]
    if isinstance(kind, SetType) or kind.count == 1 << term.size():
        return []
    return [z3.ULE(term, kind.count - 1)]


def value(term: Term, kind: Type, model: z3.ModelRef) -> int:
    """The number that a scalar has in a model, as `layout.scalars` gives it."""

    def number(t: z3.ExprRef, signed: bool = False) -> int:
        found = model.eval(t, model_completion=True)
        return int(found.as_signed_long() if signed else found.as_long())

    if isinstance(kind, BoolType):
        return int(z3.is_true(model.eval(term, model_completion=True)))
    if isinstance(kind, SeqType):
        k = bits_of(kind.item)
        packed = sum(number(item) << (i * k) for i, item in enumerate(term.items))
        return packed | number(term.length, signed=True) << SEQ_LENGTH_AT
    if isinstance(kind, IntType):
        return number(term, signed=True) - kind.low
    return number(term)


def resized(term: z3.BitVecRef, width: int) -> z3.BitVecRef:
    """A signed number in another width; what it is must fit there."""
    if term.size() == width:
        return term
    if term.size() < width:
        return z3.SignExt(width - term.size(), term)
    return z3.Extract(width - 1, 0, term)


def same(a: Term, b: Term) -> z3.BoolRef:
    """Equality of two scalars of one kind."""
    if isinstance(a, Seq):
        longest = max(len(a.items), len(b.items))
        zero = z3.BitVecVal(0, (a.items or b.items)[0].size()) if longest else None
        pairs = [
            (a.items[i] if i < len(a.items) else zero) == (b.items[i] if i < len(b.items) else zero)
            for i in range(longest)
        ]
        w = max(a.length.size(), b.length.size())
        return z3.And(resized(a.length, w) == resized(b.length, w), *pairs)
    if isinstance(a, z3.BoolRef):
        return a == b
    w = max(a.size(), b.size())
    return resized(a, w) == resized(b, w)


class Terms:
    """Nodes as Z3 terms over given leaves. Equal nodes are translated once.

    leaves: the term of a state's scalar by path (primed: of the next state). params: of an action's parameter.
    """

    def __init__(self, leaves: Callable[[str], Term], params: Callable[[Node], Term]) -> None:
        self.leaves, self.params = leaves, params
        self.made: dict[Node, Term] = {}

    def __call__(self, node: Node) -> Term:
        if node not in self.made:
            for below in _postorder(node, self.made):
                self.made[below] = self._term(below)
        return self.made[node]

    def number(self, node: Node, width: int) -> z3.BitVecRef:
        """An int's term in a width of at least its own."""
        return resized(self.made[node], width)

    def _term(self, node: Node) -> Term:
        op, args, kind = node.op, node.args, node.type
        if op == "const":
            return constant(node.data, kind)
        if op == "var":
            return self.leaves(node.data)
        if op == "param":
            return self.params(node)
        if op in ("pack", "unpack", "slot", "record"):
            return self._record(node)
        if op.startswith("seq_") or isinstance(kind, SeqType):
            return self._sequence(node)
        if op == "ite":
            c, a, b = (self.made[x] for x in args)
            if isinstance(kind, IntType):
                w = width_of(kind)
                a, b = resized(a, w), resized(b, w)
            return z3.If(c, a, b)
        if op in ("and", "or", "not"):
            return {"and": z3.And, "or": z3.Or, "not": z3.Not}[op](*(self.made[a] for a in args))
        if op == "eq":
            return same(*self._aligned(args))
        if op == "lt":
            a, b = self._aligned(args)
            if isinstance(args[0].type, IntType):
                return a < b
            return z3.ULT(a, b)
        if op in _ARITHMETIC:
            assert isinstance(kind, IntType)
            kinds = [kind, *(a.type for a in args)]
            w = max(width_of(k) for k in kinds)
            return resized(_ARITHMETIC[op](*(self.number(a, w) for a in args)), width_of(kind))
        return self._set(node)

    def _aligned(self, args: tuple[Node, ...]) -> tuple[Term, Term]:
        a, b = (self.made[x] for x in args)
        if isinstance(args[0].type, IntType):
            w = max(a.size(), b.size())
            return resized(a, w), resized(b, w)
        return a, b

    def _set(self, node: Node) -> Term:
        op, made = node.op, [self.made[a] for a in node.args]
        if op == "member":
            item, mask = made
            if isinstance(item, z3.BoolRef):
                item = z3.If(item, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
            return z3.Or(*(z3.And(item == i, bit(mask, i)) for i in range(mask.size()) if fits(i, item)))
        if op == "single":
            (item,) = made
            if isinstance(item, z3.BoolRef):
                item = z3.If(item, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
            return mask_of([item == i if fits(i, item) else z3.BoolVal(False) for i in range(width_of(node.type))])
        if op == "build":
            return mask_of(made)
        if op == "union":
            return made[0] | made[1]
        if op == "inter":
            return made[0] & made[1]
        if op == "minus":
            return made[0] & ~made[1]
        (mask,) = made
        if op == "card":
            w = width_of(node.type)
            return z3.Sum([z3.If(bit(mask, i), z3.BitVecVal(1, w), z3.BitVecVal(0, w)) for i in range(mask.size())])
        if op in ("lowest", "highest"):
            order = range(mask.size()) if op == "lowest" else range(mask.size() - 1, -1, -1)
            return self._first([(bit(mask, i), i) for i in order], node.type)
        raise AssertionError(f"no term for {op}")

    def _first(self, choices: list[tuple[z3.BoolRef, int]], kind: Type) -> Term:
        """The index of the first condition that holds; 0 if none does."""
        if isinstance(kind, BoolType):
            return z3.And(*(z3.Not(c) for c, i in choices[:1] if not i), *(c for c, i in choices if i))
        w = width_of(kind)
        found = z3.BitVecVal(0, w)
        for condition, i in reversed(choices):
            found = z3.If(condition, z3.BitVecVal(i, w), found)
        return found

    def _record(self, node: Node) -> Term:
        op, args = node.op, node.args
        if op == "slot":
            return resized(z3.ZeroExt(2, self.made[args[0]]), width_of(node.type)) + 1
        if op == "record":
            slot, w = self.made[args[0]], width_of(node.type)
            return z3.Extract(w - 1, 0, resized(z3.If(slot == 0, slot, slot - 1), max(w, slot.size())))
        if op == "pack":
            assert isinstance(node.type, RecordType)
            return packed([self.made[a] for a in args], node.type)
        assert isinstance(args[0].type, RecordType)
        return unpacked(self.made[args[0]], args[0].type, node.data)

    def _sequence(self, node: Node) -> Term:
        op, args = node.op, node.args
        made = [self.made[a] for a in args]
        if op == "ite":
            c, a, b = made
            return _choice(c, a, b, node.type)
        if op == "seq_of":
            row = tuple(_index(m, node.type.item) for m in made)  # type: ignore[attr-defined]
            return Seq(row, z3.BitVecVal(len(row), int_width(0, len(row))))
        if op == "seq_sorted":
            return _kept([(bit(made[0], i), z3.BitVecVal(i, _item_width(node))) for i in range(made[0].size())], node)
        seq: Seq = made[0]
        if op == "seq_len":
            return resized(seq.length, width_of(node.type))
        if op == "seq_get":
            at, found = made[1], z3.BitVecVal(0, max(1, bits_of(node.type)))
            for i in range(len(seq.items)):
                found = z3.If(at == i, seq.items[i], found) if fits(i, at, signed=True) else found
            return _from_index(found, node.type)
        if op == "seq_set":
            n = width_of(node.type)
            there = [[z3.And(seq.length > i, x == v) for i, x in enumerate(seq.items)] for v in range(n)]
            return mask_of([z3.Or(*places) for places in there])
        if op == "seq_keep":
            return _kept([(z3.And(seq.length > i, _in(x, made[1])), x) for i, x in enumerate(seq.items)], node)
        if op == "seq_first":
            found = z3.BitVecVal(0, max(1, bits_of(node.type)))
            for i in range(len(seq.items) - 1, -1, -1):
                found = z3.If(z3.And(seq.length > i, _in(seq.items[i], made[1])), seq.items[i], found)
            return _from_index(found, node.type)
        if op == "seq_cat":
            first = [(seq.length > i, x) for i, x in enumerate(seq.items)]
            second = [(made[1].length > i, x) for i, x in enumerate(made[1].items)]
            return _kept(first + second, node)
        if op in ("seq_drop", "seq_take"):
            # Python's slices clip at the length; no model counts from the end.
            w = max(made[1].size(), seq.length.size())
            n = resized(made[1], w)
            rest = [
                (z3.And(seq.length > i, n <= i if op == "seq_drop" else n > i) if fits(i, n, True) else None, x)
                for i, x in enumerate(seq.items)
            ]
            return _kept([(c, x) for c, x in rest if c is not None], node)
        raise AssertionError(f"no term for {op}")


def _postorder(root: Node, done: dict[Node, Term]) -> Iterator[Node]:
    stack, entered = [root], set()
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
        elif node in entered:
            stack.pop()
            yield node
        else:
            entered.add(node)
            stack += [a for a in node.args if a not in done]


def constant(data: Any, kind: Type) -> Term:
    """A constant of the IR."""
    if isinstance(kind, BoolType):
        return z3.BoolVal(bool(data))
    if isinstance(kind, SeqType):
        k = max(1, bits_of(kind.item))
        return Seq(tuple(z3.BitVecVal(i, k) for i in data), z3.BitVecVal(len(data), int_width(0, len(data))))
    return z3.BitVecVal(int(data), width_of(kind))


def fits(i: int, term: z3.BitVecRef, signed: bool = False) -> bool:
    """Whether a bit-vector of the term's width can be i."""
    return i < int(1 << (term.size() - signed))


def bit(mask: z3.BitVecRef, i: int) -> z3.BoolRef:
    """Whether a set has member i."""
    return z3.Extract(i, i, mask) == 1


def mask_of(conditions: list[z3.BoolRef]) -> z3.BitVecRef:
    """The set of the indices whose condition holds."""
    one, zero = z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)
    parts = [z3.If(c, one, zero) for c in reversed(conditions)]
    return z3.Concat(*parts) if len(parts) > 1 else parts[0]


def _in(item: z3.BitVecRef, mask: z3.BitVecRef) -> z3.BoolRef:
    return z3.Or(*(z3.And(item == i, bit(mask, i)) for i in range(mask.size()) if fits(i, item)))


def _item_width(node: Node) -> int:
    assert isinstance(node.type, SeqType)
    return max(1, bits_of(node.type.item))


def _index(term: Term, kind: Type) -> z3.BitVecRef:
    """A scalar as an item of a sequence: an unsigned index."""
    if isinstance(term, z3.BoolRef):
        return z3.If(term, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
    return term


def _from_index(item: z3.BitVecRef, kind: Type) -> Term:
    if isinstance(kind, BoolType):
        return item == 1
    return item


def _choice(c: z3.BoolRef, a: Seq, b: Seq, kind: Type) -> Seq:
    assert isinstance(kind, SeqType)
    zero = z3.BitVecVal(0, max(1, bits_of(kind.item)))
    row = tuple(
        z3.If(c, a.items[i] if i < len(a.items) else zero, b.items[i] if i < len(b.items) else zero)
        for i in range(kind.length)
    )
    w = int_width(0, kind.length)
    return Seq(row, z3.If(c, resized(a.length, w), resized(b.length, w)))


def _kept(choices: list[tuple[z3.BoolRef, z3.BitVecRef]], node: Node) -> Seq:
    """The sequence of the values whose condition holds, in order."""
    assert isinstance(node.type, SeqType)
    room, k = node.type.length, _item_width(node)
    w = int_width(0, max(room, len(choices)))
    rank, zero = z3.BitVecVal(0, w), z3.BitVecVal(0, k)
    row = [zero] * room
    for condition, item in choices:
        for p in range(room):
            row[p] = z3.If(z3.And(condition, rank == p), item, row[p])
        rank = z3.If(condition, rank + 1, rank)
    return Seq(tuple(row), resized(rank, int_width(0, room)))


def packed(leaves: list[Term], kind: RecordType) -> z3.BitVecRef:
    """A record as one number, from its scalars: as `layout.pack_record`. One zero bit if there is nothing to pack."""
    parts = [stored(code, leaves) for code in codes(kind)]
    if not parts:
        return z3.BitVecVal(0, 1)
    return z3.Concat(*parts) if len(parts) > 1 else parts[0]


def unpacked(word: z3.BitVecRef, kind: RecordType, leaf: int) -> Term:
    """A scalar of a packed record: the inverse of `packed`."""
    top = word.size()
    for code in codes(kind):
        wanted = leaf == code.leaf or (code.optional and leaf == code.leaf + 1)
        if wanted:
            return taken_apart(code, z3.Extract(top - 1, top - code.bits, word), leaf)
        top -= code.bits
    raise AssertionError("no such leaf")


def stored(code: Code, leaves: list[Term]) -> z3.BitVecRef:
    """The bits that are stored for a field, from the scalars of a record: as `layout.coded`."""

    def raw(term: Term, kind: Type, bits: int) -> z3.BitVecRef:
        if isinstance(kind, BoolType):
            found = z3.If(term, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
        elif isinstance(kind, IntType):
            found = resized(term, max(term.size(), bits) + 1) - kind.low
        else:
            found = term
        if found.size() > bits:
            return z3.Extract(bits - 1, 0, found)
        return z3.ZeroExt(bits - found.size(), found) if found.size() < bits else found

    term = leaves[code.leaf]
    if code.optional:
        inner = raw(leaves[code.leaf + 1], code.type, code.bits)
        return z3.If(term, inner + 1, z3.BitVecVal(0, code.bits))
    if isinstance(code.type, SeqType):
        k = bits_of(code.type.item)
        length = z3.Extract(code.bits - code.type.length * k - 1, 0, resized(term.length, code.bits + 1))
        zero = z3.BitVecVal(0, k)
        row = [term.items[i] if i < len(term.items) else zero for i in range(code.type.length)]
        return z3.Concat(length, *reversed(row)) if row and k else length
    return raw(term, code.type, code.bits)


def taken_apart(code: Code, part: z3.BitVecRef, leaf: int) -> Term:
    """The scalar of a record from its stored bits: the inverse of `stored`."""

    def whole(bits: z3.BitVecRef, kind: Type) -> Term:
        if isinstance(kind, BoolType):
            return z3.Extract(0, 0, bits) == 1
        if isinstance(kind, IntType):
            w = max(width_of(kind), bits.size() + 1) + 1
            return resized(z3.ZeroExt(w - bits.size(), bits) + kind.low, width_of(kind))
        w = width_of(kind)
        if bits.size() > w:
            return z3.Extract(w - 1, 0, bits)
        return z3.ZeroExt(w - bits.size(), bits) if bits.size() < w else bits

    if code.optional:
        if leaf == code.leaf:
            return part != 0
        return whole(z3.If(part == 0, part, part - 1), code.type)
    if isinstance(code.type, SeqType):
        k, room = bits_of(code.type.item), code.type.length
        row = tuple(z3.Extract(i * k + k - 1, i * k, part) for i in range(room))
        length = z3.Extract(code.bits - 1, room * k, part)
        w = int_width(0, room)
        return Seq(row, z3.ZeroExt(w - length.size(), length) if length.size() < w else z3.Extract(w - 1, 0, length))
    return whole(part, code.type)


def _multiplied(a: z3.BitVecRef, b: z3.BitVecRef) -> z3.BitVecRef:
    return a * b


def _divided(a: z3.BitVecRef, b: z3.BitVecRef) -> z3.BitVecRef:
    """Rounded down, as Python does; the divisor is a positive constant. `~a` is -1 - a: no step overflows."""
    return z3.If(a >= 0, a / b, ~(~a / b))


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": _multiplied,
    "floordiv": _divided,
    "mod": lambda a, b: a - b * _divided(a, b),
    "min": lambda a, b: z3.If(a < b, a, b),
    "max": lambda a, b: z3.If(a > b, a, b),
}
