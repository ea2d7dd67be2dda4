"""IR -> Z3: the nodes of an elaborated model as booleans and bit-vectors, for one copy of the state at a time.

A bool is a Bool; an id or enum member an unsigned bit-vector of its index; an int a signed one, wide enough for the
interval of its node, so that nothing wraps; a set a bit-vector, a bit for each member; a sequence a row of items with a
length, zero beyond it. What an operation leaves undefined (the lowest member of nothing) is the value of index 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT, Code, codes, packed_field
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
    """The range of a scalar of a type, as a condition beside its width."""
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
        numeral = model.eval(t, model_completion=True)
        return int(numeral.as_signed_long() if signed else numeral.as_long())

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
        self.memo: dict[Node, Term] = {}

    def __call__(self, node: Node) -> Term:
        if node not in self.memo:
            for below in _postorder(node, self.memo):
                self.memo[below] = self._term(below)
        return self.memo[node]

    def _term(self, node: Node) -> Term:
        if node.op == "const":
            return constant_term(node.data, node.type)
        if node.op == "var":
            return self.leaves(node.data)
        if node.op == "param":
            return self.params(node)
        return OPERATIONS[node.op](node, *(self.memo[a] for a in node.args))


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


def constant_term(data: Any, kind: Type) -> Term:
    """A constant of the IR."""
    if isinstance(kind, BoolType):
        return z3.BoolVal(bool(data))
    if isinstance(kind, SeqType):
        k = max(1, bits_of(kind.item))
        return Seq(tuple(z3.BitVecVal(i, k) for i in data), z3.BitVecVal(len(data), int_width(0, len(data))))
    return z3.BitVecVal(int(data), width_of(kind))


def _fits(i: int, term: z3.BitVecRef, signed: bool = False) -> bool:
    """Whether a bit-vector of the term's width can be i."""
    return i < int(1 << (term.size() - signed))


def bit(mask: z3.BitVecRef, i: int) -> z3.BoolRef:
    """Whether a set has member i."""
    return z3.Extract(i, i, mask) == 1


def mask_of(conditions: Sequence[z3.BoolRef]) -> z3.BitVecRef:
    """The set of the indices whose condition holds."""
    one, zero = z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)
    parts = [z3.If(c, one, zero) for c in reversed(conditions)]
    return z3.Concat(*parts) if len(parts) > 1 else parts[0]


def packed_record(leaves: list[Term], kind: RecordType) -> z3.BitVecRef:
    """A record as one number, from its scalars: as `layout.pack_record`. One zero bit if there is nothing to pack."""
    parts = [_stored(code, leaves) for code in codes(kind)]
    if not parts:
        return z3.BitVecVal(0, 1)
    return z3.Concat(*parts) if len(parts) > 1 else parts[0]


def unpacked_leaf(word: z3.BitVecRef, kind: RecordType, leaf: int) -> Term:
    """A scalar of a packed record: the inverse of `packed_record`."""
    code, below = packed_field(kind, leaf)
    return taken_apart(code, z3.Extract(below + code.bits - 1, below, word), leaf)


def _stored(code: Code, leaves: list[Term]) -> z3.BitVecRef:
    """The bits that are stored for a field, from the scalars of a record: as `layout.coded`."""

    def raw(term: Term, kind: Type, bits: int) -> z3.BitVecRef:
        if isinstance(kind, BoolType):
            bits_of_term = z3.If(term, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
        elif isinstance(kind, IntType):
            bits_of_term = resized(term, max(term.size(), bits) + 1) - kind.low
        else:
            bits_of_term = term
        if bits_of_term.size() > bits:
            return z3.Extract(bits - 1, 0, bits_of_term)
        return z3.ZeroExt(bits - bits_of_term.size(), bits_of_term) if bits_of_term.size() < bits else bits_of_term

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
    """The scalar of a record from its stored bits: the inverse of `_stored`."""

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


# -- operations -------------------------------------------------------------------------------------

Operation = Callable[..., Term]
"""From a node and the terms of its arguments to its term."""


def _ite(node: Node, condition: z3.BoolRef, a: Term, b: Term) -> Term:
    if isinstance(node.type, SeqType):
        return _choice(condition, a, b, node.type)
    if isinstance(node.type, IntType):
        width = width_of(node.type)
        a, b = resized(a, width), resized(b, width)
    return z3.If(condition, a, b)


def _choice(condition: z3.BoolRef, a: Seq, b: Seq, kind: SeqType) -> Seq:
    zero = z3.BitVecVal(0, max(1, bits_of(kind.item)))
    row = tuple(
        z3.If(condition, a.items[i] if i < len(a.items) else zero, b.items[i] if i < len(b.items) else zero)
        for i in range(kind.length)
    )
    width = int_width(0, kind.length)
    return Seq(row, z3.If(condition, resized(a.length, width), resized(b.length, width)))


def _lt(node: Node, a: z3.BitVecRef, b: z3.BitVecRef) -> z3.BoolRef:
    if not isinstance(node.args[0].type, IntType):
        return z3.ULT(a, b)
    width = max(a.size(), b.size())
    return resized(a, width) < resized(b, width)


def arithmetic(function: Callable[[z3.BitVecRef, z3.BitVecRef], z3.BitVecRef]) -> Operation:
    """A function of signed numbers, computed in a width that holds the arguments and the result."""

    def term(node: Node, *numbers: z3.BitVecRef) -> z3.BitVecRef:
        width = max(width_of(kind) for kind in (node.type, *(a.type for a in node.args)))
        return resized(function(*(resized(n, width) for n in numbers)), width_of(node.type))

    return term


def _divided(a: z3.BitVecRef, b: z3.BitVecRef) -> z3.BitVecRef:
    """Rounded down, as Python does; the divisor is a positive constant. `~a` is -1 - a: no step overflows."""
    return z3.If(a >= 0, a / b, ~(~a / b))


def _index(item: Term) -> z3.BitVecRef:
    """An item of a set or sequence as an unsigned number."""
    return z3.If(item, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)) if isinstance(item, z3.BoolRef) else item


def _item(index: z3.BitVecRef, kind: Type) -> Term:
    """The inverse of `_index`."""
    return index == 1 if isinstance(kind, BoolType) else index


def _in(index: z3.BitVecRef, mask: z3.BitVecRef) -> z3.BoolRef:
    return z3.Or(*(z3.And(index == i, bit(mask, i)) for i in range(mask.size()) if _fits(i, index)))


def _single(node: Node, item: Term) -> z3.BitVecRef:
    index = _index(item)
    return mask_of([index == i if _fits(i, index) else z3.BoolVal(False) for i in range(width_of(node.type))])


def _card(node: Node, mask: z3.BitVecRef) -> z3.BitVecRef:
    width = width_of(node.type)
    one, zero = z3.BitVecVal(1, width), z3.BitVecVal(0, width)
    return z3.Sum([z3.If(bit(mask, i), one, zero) for i in range(mask.size())])


def _extreme(highest: bool) -> Operation:
    """The index of the last or first member; 0 of the empty set."""

    def term(node: Node, mask: z3.BitVecRef) -> Term:
        choices = [(bit(mask, i), i) for i in range(mask.size())]
        if highest:
            choices.reverse()
        if isinstance(node.type, BoolType):
            return z3.And(*(z3.Not(c) for c, i in choices[:1] if not i), *(c for c, i in choices if i))
        width = width_of(node.type)
        index = z3.BitVecVal(0, width)
        for condition, i in reversed(choices):
            index = z3.If(condition, z3.BitVecVal(i, width), index)
        return index

    return term


def _slot(node: Node, record: z3.BitVecRef) -> z3.BitVecRef:
    return resized(z3.ZeroExt(2, record), width_of(node.type)) + 1


def _record(node: Node, slot: z3.BitVecRef) -> z3.BitVecRef:
    width = width_of(node.type)
    return z3.Extract(width - 1, 0, resized(z3.If(slot == 0, slot, slot - 1), max(width, slot.size())))


def _pack(node: Node, *leaves: Term) -> z3.BitVecRef:
    assert isinstance(node.type, RecordType)
    return packed_record(list(leaves), node.type)


def _unpack(node: Node, record: z3.BitVecRef) -> Term:
    kind = node.args[0].type
    assert isinstance(kind, RecordType)
    return unpacked_leaf(record, kind, node.data)


def _item_width(node: Node) -> int:
    """Bits of an item of a sequence, or of the item that a node is."""
    return max(1, bits_of(node.type.item if isinstance(node.type, SeqType) else node.type))


def _there(seq: Seq) -> list[tuple[z3.BoolRef, z3.BitVecRef]]:
    """The items, each with the condition that it is before the end."""
    return [(seq.length > i, item) for i, item in enumerate(seq.items)]


def _filtered(node: Node, choices: list[tuple[z3.BoolRef, z3.BitVecRef]]) -> Seq:
    """The sequence of the values whose condition holds, in order."""
    assert isinstance(node.type, SeqType)
    room, k = node.type.length, _item_width(node)
    width = int_width(0, max(room, len(choices)))
    rank, zero = z3.BitVecVal(0, width), z3.BitVecVal(0, k)
    row = [zero] * room
    for condition, item in choices:
        for p in range(room):
            row[p] = z3.If(z3.And(condition, rank == p), item, row[p])
        rank = z3.If(condition, rank + 1, rank)
    return Seq(tuple(row), resized(rank, int_width(0, room)))


def _seq_len(node: Node, seq: Seq) -> z3.BitVecRef:
    return resized(seq.length, width_of(node.type))


def _seq_get(node: Node, seq: Seq, place: z3.BitVecRef) -> Term:
    index = z3.BitVecVal(0, _item_width(node))
    for i, item in enumerate(seq.items):
        index = z3.If(place == i, item, index) if _fits(i, place, signed=True) else index
    return _item(index, node.type)


def _seq_of(node: Node, *items: Term) -> Seq:
    return Seq(tuple(_index(item) for item in items), z3.BitVecVal(len(items), int_width(0, len(items))))


def _seq_cat(node: Node, a: Seq, b: Seq) -> Seq:
    return _filtered(node, _there(a) + _there(b))


def _seq_part(inside: Callable[[z3.BitVecRef, int], z3.BoolRef]) -> Operation:
    """The items at some places; inside: of the number of items and a place. Python's slices clip at the length too."""

    def term(node: Node, seq: Seq, count: z3.BitVecRef) -> Seq:
        n = resized(count, max(count.size(), seq.length.size()))
        rest = [
            (z3.And(before_end, inside(n, i)), item)
            for i, (before_end, item) in enumerate(_there(seq))
            if _fits(i, n, signed=True)
        ]
        return _filtered(node, rest)

    return term


def _seq_keep(node: Node, seq: Seq, mask: z3.BitVecRef) -> Seq:
    return _filtered(node, [(z3.And(there, _in(item, mask)), item) for there, item in _there(seq)])


def _seq_first(node: Node, seq: Seq, mask: z3.BitVecRef) -> Term:
    index = z3.BitVecVal(0, _item_width(node))
    for there, item in reversed(_there(seq)):
        index = z3.If(z3.And(there, _in(item, mask)), item, index)
    return _item(index, node.type)


def _seq_set(node: Node, seq: Seq) -> z3.BitVecRef:
    return mask_of(
        [z3.Or(*(z3.And(there, item == v) for there, item in _there(seq))) for v in range(width_of(node.type))]
    )


def _seq_sorted(node: Node, mask: z3.BitVecRef) -> Seq:
    return _filtered(node, [(bit(mask, i), z3.BitVecVal(i, _item_width(node))) for i in range(mask.size())])


OPERATIONS: dict[str, Operation] = {
    "not": lambda _, a: z3.Not(a), "and": lambda _, *terms: z3.And(*terms), "or": lambda _, *terms: z3.Or(*terms),
    "eq": lambda _, a, b: same(a, b), "lt": _lt, "ite": _ite,
    "add": arithmetic(lambda a, b: a + b), "sub": arithmetic(lambda a, b: a - b),
    "mul": arithmetic(lambda a, b: a * b), "floordiv": arithmetic(_divided),
    "mod": arithmetic(lambda a, b: a - b * _divided(a, b)),
    "min": arithmetic(lambda a, b: z3.If(a < b, a, b)), "max": arithmetic(lambda a, b: z3.If(a > b, a, b)),
    "member": lambda _, item, mask: _in(_index(item), mask), "single": _single,
    "union": lambda _, a, b: a | b, "inter": lambda _, a, b: a & b, "minus": lambda _, a, b: a & ~b,
    "build": lambda _, *conditions: mask_of(conditions), "card": _card,
    "lowest": _extreme(highest=False), "highest": _extreme(highest=True),
    "slot": _slot, "record": _record, "pack": _pack, "unpack": _unpack,
    "seq_len": _seq_len, "seq_get": _seq_get, "seq_of": _seq_of, "seq_cat": _seq_cat,
    "seq_drop": _seq_part(lambda n, place: n <= place), "seq_take": _seq_part(lambda n, place: n > place),
    "seq_keep": _seq_keep, "seq_first": _seq_first, "seq_set": _seq_set, "seq_sorted": _seq_sorted,
}  # fmt: skip
"""The term of each operation of `spec/frontend/operations.py`."""
