"""Nodes of the graph -> LLVM IR: one function for each operation, in `OPERATIONS`."""

from __future__ import annotations

from collections.abc import Callable

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT, Code, Layout, codes, packed_field
from reassure.checkers.engines.native.kernels.model_code import SWITCH
from reassure.checkers.engines.native.model import ir_text as sequences
from reassure.checkers.engines.native.model.ir_text import FunctionText, literal
from reassure.spec.frontend.ir import Node, items
from reassure.spec.frontend.operations import arguments_first
from reassure.spec.language.types import BoolType, IntType, RecordType, SeqType, SetType, Type, bits_of


def low(kind: Type) -> int:
    """The number that is stored as 0."""
    return kind.low if isinstance(kind, IntType) else 0


class NodeEmitter:
    """Emits the nodes that one function computes, each once. The state is at `%row`, the tally at `%tally`."""

    def __init__(self, f: FunctionText, layout: Layout, paths: tuple[str, ...], helpers: dict[str, str]) -> None:
        self.f = f
        self.layout = layout
        self.helpers = helpers
        """Functions that are called, by name: shared by the whole module."""
        self.emitted: dict[Node, str] = {}
        self._field_of = {field.code.leaf: field for field in layout.fields}
        self._leaf_of = {path: i for i, path in enumerate(paths)}
        self._words: dict[int, str] = {}
        self._stored: dict[int, str] = {}
        self._off = ""

    # -- the state ----------------------------------------------------------------------------------

    def word(self, number: int) -> str:
        """A word of the state."""
        if number not in self._words:
            f = self.f
            place = f.at_entry(f"getelementptr i64, ptr %row, i64 {number}") if number else "%row"
            self._words[number] = f.at_entry(f"load i64, ptr {place}, align 8")
        return self._words[number]

    def _stored_leaf(self, leaf: int) -> str:
        """The stored number of the field that holds a leaf."""
        if leaf not in self._stored:
            field = self._field_of[leaf]
            word = self.word(field.word)
            if field.shift:
                word = self.f.at_entry(f"lshr i64 {word}, {field.shift}")
            self._stored[leaf] = self.f.at_entry(f"and i64 {word}, {(1 << field.code.bits) - 1}")
        return self._stored[leaf]

    def variable(self, node: Node) -> str:
        """A leaf of the state."""
        leaf = self._leaf_of[node.data]
        if leaf not in self._field_of:  # the value of an optional index
            return self.optional_value(self._stored_leaf(leaf - 1), self._field_of[leaf - 1].code)
        return self.decoded(self._stored_leaf(leaf), self._field_of[leaf].code)

    def decoded(self, stored: str, code: Code) -> str:
        """A leaf from the number stored for it."""
        f = self.f
        if code.optional or isinstance(code.type, BoolType):
            return f.compare("ne", stored, "0")
        if isinstance(code.type, SeqType):
            room = code.type.length * bits_of(code.type.item)
            packed = f.both(stored, literal((1 << room) - 1))
            return f.either(packed, f.left(f.right(stored, room), SEQ_LENGTH_AT))
        return f.plus(stored, low(code.type))

    def optional_value(self, stored: str, code: Code) -> str:
        """The value of an optional index, whose leaf before says whether it is there."""
        value = self.f.plus(self.f.call("llvm.usub.sat.i64", stored, "1"), low(code.type))
        return self.truth_of(value, code.type)

    def encoded(self, code: Code, leaves: tuple[Node, ...]) -> str:
        """The number to store for a field."""
        f, node = self.f, leaves[code.leaf]
        if code.optional:
            stored = f.plus(self.number(leaves[code.leaf + 1]), 1 - low(code.type))
            if node.op == "const":
                return stored if node.data else "0"
            return f.choose(self.value(node), stored, "0")
        if isinstance(code.type, SeqType):
            room = code.type.length * bits_of(code.type.item)
            word = self.value(node)
            return f.either(f.both(word, literal((1 << room) - 1)), f.left(f.right(word, SEQ_LENGTH_AT), room))
        return f.plus(self.number(node), -low(code.type))

    # -- nodes --------------------------------------------------------------------------------------

    def value(self, node: Node) -> str:
        """The value of a node: an i1 for a truth value, else an i64."""
        if node.op == "const":
            return _constant(node)
        if node not in self.emitted:
            for one in arguments_first([node], self.emitted):
                if one.op != "const":
                    self.emitted[one] = OPERATIONS[one.op](self, one)
        return self.emitted[node]

    def arguments(self, node: Node) -> list[str]:
        """The values of a node's arguments."""
        return [self.value(argument) for argument in node.args]

    def number(self, node: Node) -> str:
        """The value of a node as an i64, also of a truth value."""
        value = self.value(node)
        return self.f.widened(value) if isinstance(node.type, BoolType) else value

    def truth_of(self, value: str, kind: Type) -> str:
        """A number that is a value of a type: an i1 if that is bool."""
        return self.f.compare("ne", value, "0") if isinstance(kind, BoolType) else value

    def switched_off(self) -> str:
        """The number of the guard that is off, or 0."""
        if not self._off:
            place = self.f.at_entry(f"getelementptr i64, ptr %tally, i64 {SWITCH}")
            self._off = self.f.at_entry(f"load i64, ptr {place}, align 8")
        return self._off

    def long(self, name: str, k: int, most: int, *arguments: str) -> str:
        """A call of a function over sequences."""
        function = sequences.function_name(name, k, most)
        if function not in self.helpers:
            self.helpers[function] = sequences.function_text(name, k, most)
        return self.f.call(function, *arguments)


def _constant(node: Node) -> str:
    """A constant as an operand."""
    if isinstance(node.type, BoolType):
        return "true" if node.data else "false"
    if isinstance(node.type, SeqType):
        k = bits_of(node.type.item)
        packed = sum(int(v) << (i * k) for i, v in enumerate(node.data))
        return literal(packed | len(node.data) << SEQ_LENGTH_AT)
    return literal(int(node.data))


Operation = Callable[[NodeEmitter, Node], str]


def _chain(op: str) -> Operation:
    def emit(e: NodeEmitter, node: Node) -> str:
        result = e.value(node.args[0])
        for argument in node.args[1:]:
            result = e.f.op(f"{op} i1 {result}, {e.value(argument)}")
        return result

    return emit


def _ite(e: NodeEmitter, node: Node) -> str:
    kind = "i1" if isinstance(node.type, BoolType) else "i64"
    condition, a, b = e.arguments(node)
    return e.f.choose(condition, a, b, kind)


def _compared(how: str) -> Operation:
    def emit(e: NodeEmitter, node: Node) -> str:
        a, b = node.args
        if how == "eq" and isinstance(a.type, BoolType) and isinstance(b.type, BoolType):
            return e.f.op(f"icmp eq i1 {e.value(a)}, {e.value(b)}")
        return e.f.compare(how, e.number(a), e.number(b))

    return emit


def _arithmetic(op: str) -> Operation:
    return lambda e, node: e.f.op(f"{op} i64 {e.value(node.args[0])}, {e.value(node.args[1])}")


def _divisor(node: Node) -> str:
    divisor = node.args[1]
    assert divisor.op == "const" and divisor.data > 0
    return literal(divisor.data)


def _floordiv(e: NodeEmitter, node: Node) -> str:
    """Rounded down, as Python does; LLVM rounds towards zero."""
    f, a, b = e.f, e.value(node.args[0]), _divisor(node)
    rest = f.op(f"srem i64 {a}, {b}")
    return f.op(f"sub i64 {f.op(f'sdiv i64 {a}, {b}')}, {f.right(rest, 63)}")


def _mod(e: NodeEmitter, node: Node) -> str:
    """The sign of the divisor, as in Python."""
    f, b = e.f, _divisor(node)
    rest = f.op(f"srem i64 {e.value(node.args[0])}, {b}")
    return f.choose(f.compare("slt", rest, "0"), f.add(rest, b), rest)


def _build(e: NodeEmitter, node: Node) -> str:
    result = "0"
    for i, argument in enumerate(node.args):
        result = e.f.either(result, e.f.left(e.number(argument), i))
    return result


def _lowest(e: NodeEmitter, node: Node) -> str:
    zeros = e.f.op(f"call i64 @llvm.cttz.i64(i64 {e.value(node.args[0])}, i1 false)")
    return e.truth_of(e.f.count(zeros), node.type)


def _highest(e: NodeEmitter, node: Node) -> str:
    zeros = e.f.op(f"call i64 @llvm.ctlz.i64(i64 {e.value(node.args[0])}, i1 false)")
    return e.truth_of(e.f.count(e.f.sub("63", zeros)), node.type)


def _pack(e: NodeEmitter, node: Node) -> str:
    assert isinstance(node.type, RecordType)
    word = "0"
    for code in codes(node.type):
        word = e.f.either(word if word == "0" else e.f.left(word, code.bits), e.encoded(code, node.args))
    return word


def _unpack(e: NodeEmitter, node: Node) -> str:
    """A leaf of a packed record."""
    record, leaf = node.args[0], node.data
    assert isinstance(record.type, RecordType)
    code, below = packed_field(record.type, leaf)
    stored = e.f.both(e.f.right(e.value(record), below), literal((1 << code.bits) - 1))
    return e.decoded(stored, code) if leaf == code.leaf else e.optional_value(stored, code)


def _bits(node: Node) -> int:
    """Bits of an item of a sequence."""
    assert isinstance(node.type, SeqType)
    return bits_of(node.type.item)


def _called(name: str) -> Operation:
    """A call of one of `sequences.LONG` with a sequence and what else it takes."""

    def emit(e: NodeEmitter, node: Node) -> str:
        seq = node.args[0]
        assert isinstance(seq.type, SeqType)
        return e.truth_of(e.long(name, _bits(seq), seq.type.length, *e.arguments(node)), node.type)

    return emit


def _seq_get(e: NodeEmitter, node: Node) -> str:
    seq = node.args[0]
    return e.truth_of(sequences.get(e.f, e.value(seq), e.value(node.args[1]), _bits(seq)), node.type)


def _seq_of(e: NodeEmitter, node: Node) -> str:
    result, k = literal(len(node.args) << SEQ_LENGTH_AT), _bits(node)
    for i, argument in enumerate(node.args):
        result = e.f.either(result, e.f.left(e.number(argument), i * k))
    return result


def _seq_sorted(e: NodeEmitter, node: Node) -> str:
    mask = node.args[0]
    assert isinstance(mask.type, SetType)
    return e.long("ordered", _bits(node), items(mask.type.item), e.value(mask))


OPERATIONS: dict[str, Operation] = {
    "var": lambda e, n: e.variable(n),
    "switch": lambda e, n: e.f.compare("eq", e.switched_off(), str(n.data + 1)),
    "and": _chain("and"),
    "or": _chain("or"),
    "not": lambda e, n: e.f.negated(*e.arguments(n)),
    "ite": _ite,
    "eq": _compared("eq"),
    "lt": _compared("slt"),
    "add": _arithmetic("add"),
    "sub": _arithmetic("sub"),
    "mul": _arithmetic("mul"),
    "floordiv": _floordiv,
    "mod": _mod,
    "min": lambda e, n: e.f.call("llvm.smin.i64", *e.arguments(n)),
    "max": lambda e, n: e.f.call("llvm.smax.i64", *e.arguments(n)),
    "member": lambda e, n: e.f.bit(e.value(n.args[1]), e.number(n.args[0])),
    "single": lambda e, n: e.f.left_by("1", e.number(n.args[0])),
    "union": lambda e, n: e.f.either(*e.arguments(n)),
    "inter": lambda e, n: e.f.both(*e.arguments(n)),
    "minus": lambda e, n: e.f.both(e.value(n.args[0]), e.f.flipped(e.value(n.args[1]))),
    "build": _build,
    "card": lambda e, n: e.f.call("llvm.ctpop.i64", *e.arguments(n)),
    "lowest": _lowest,
    "highest": _highest,
    "slot": lambda e, n: e.f.plus(e.value(n.args[0]), 1),
    "record": lambda e, n: e.f.plus(e.value(n.args[0]), -1),
    "pack": _pack,
    "unpack": _unpack,
    "seq_len": lambda e, n: sequences.sequence_length(e.f, *e.arguments(n)),
    "seq_get": _seq_get,
    "seq_of": _seq_of,
    "seq_cat": lambda e, n: sequences.cat(e.f, e.value(n.args[0]), e.value(n.args[1]), _bits(n.args[0])),
    "seq_drop": lambda e, n: sequences.drop(e.f, e.value(n.args[0]), e.value(n.args[1]), _bits(n.args[0])),
    "seq_take": lambda e, n: sequences.take(e.f, e.value(n.args[0]), e.value(n.args[1]), _bits(n.args[0])),
    "seq_keep": _called("keep"),
    "seq_set": _called("members"),
    "seq_first": _called("first"),
    "seq_sorted": _seq_sorted,
}
"""The emitters of each operation of `spec/frontend/operations.py`, and of the leaves that no loop binds."""
