"""Nodes of the graph as text that a person reads: close to the Python they come from.

`s.leader` is a scalar of the state; `s.leader?` says whether an optional is present; `s.sent#0` is a slot of a set of
records: 0, or 1 + the packed record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.leaves import scalar_leaves
from reassure.spec.frontend.operations import OPERATIONS
from reassure.spec.language.types import BoolType, EnumType, IdType, SeqType, SetType, Type

_CALLS = {name for name, operation in OPERATIONS.items() if operation.text.endswith("()")}
_PLAIN = {"const", "var", "param", "unpack", "single", "build", *_CALLS}
_NEGATED = {"eq": "!=", "lt": ">=", "member": "not in"}


def item_text(index: int, kind: Type) -> str:
    """A value of a scalar type that is an index."""
    if isinstance(kind, IdType):
        return f"{kind.sort.__name__}({index + kind.first})"
    if isinstance(kind, EnumType):
        return f"{kind.sort.__name__}.{tuple(kind.sort)[index].name}"
    return str(bool(index)) if isinstance(kind, BoolType) else str(index)


def constant_text(node: Node) -> str:
    """A constant."""
    kind, value = node.type, node.data
    if isinstance(kind, SetType):
        members = [i for i in range(kind.item.count) if value >> i & 1]
        if len(members) == kind.item.count > 1:
            return f"every({kind.item})"
        return "{" + ", ".join(item_text(i, kind.item) for i in members) + "}"
    if isinstance(kind, SeqType):
        return "(" + ", ".join(item_text(int(i), kind.item) for i in value) + ")"
    return item_text(int(value), kind)


def leaf_text(name: str, path: str) -> str:
    """A scalar of a value that has a name."""
    return name + ("" if not path or path[0] in "?#[" else ".") + path.removesuffix("#")


class NodePrinter:
    """Prints the nodes of one function. names: of nodes that have been given one."""

    def __init__(self) -> None:
        self.names: dict[Node, str] = {}

    def text(self, node: Node) -> str:
        """A node as an expression."""
        if node in self.names:
            return self.names[node]
        if node.op == "const":
            return constant_text(node)
        if node.op == "var":
            return leaf_text("s", node.data)
        if node.op == "param":
            return leaf_text(*node.data)
        return self.expression(node)

    def operand(self, node: Node) -> str:
        """A node as a part of another: in parentheses if it is made of several."""
        text = self.text(node)
        plain = node in self.names or node.op in _PLAIN
        return text if plain else f"({text})"

    def expression(self, node: Node) -> str:
        """A node as an operation on its arguments, also if it has a name."""
        op, args = node.op, node.args
        if op == "eq" and args[0].op == "const":
            args = args[::-1]
        if op in OTHERS:
            return OTHERS[op](self, node)
        text = OPERATIONS[op].text
        if op not in _CALLS:
            return f" {text} ".join(self.operand(a) for a in args)
        if op == "record" and args[0].op == "param":
            return self.text(args[0])
        return f"{text[:-1]}{self.listed(args)})"

    def listed(self, nodes: Iterable[Node]) -> str:
        """Nodes with commas between them."""
        return ", ".join(self.text(n) for n in nodes)


def _not(p: NodePrinter, node: Node) -> str:
    inner = node.args[0]
    if inner.op in _NEGATED and inner not in p.names:
        swap = inner.op == "eq" and inner.args[0].op == "const"
        return f" {_NEGATED[inner.op]} ".join(p.operand(a) for a in (inner.args[::-1] if swap else inner.args))
    return f"not {p.operand(inner)}"


def _ite(p: NodePrinter, node: Node) -> str:
    condition, a, b = (p.operand(x) for x in node.args)
    return f"{a} if {condition} else {b}"


def _build(p: NodePrinter, node: Node) -> str:
    assert isinstance(node.type, SetType)
    kind = node.type.item
    return "{" + ", ".join(f"{item_text(i, kind)} if {p.text(a)}" for i, a in enumerate(node.args)) + "}"


def _unpack(p: NodePrinter, node: Node) -> str:
    path, _ = scalar_leaves(node.args[0].type)[node.data]
    return leaf_text(p.operand(node.args[0]), path)


OTHERS: dict[str, Callable[[NodePrinter, Node], str]] = {
    "not": _not,
    "ite": _ite,
    "build": _build,
    "unpack": _unpack,
    "single": lambda p, n: "{" + p.text(n.args[0]) + "}",
    "switch": lambda p, n: f"guard {n.data} is left out",
    "seq_get": lambda p, n: f"{p.operand(n.args[0])}[{p.text(n.args[1])}]",
    "seq_of": lambda p, n: f"({p.listed(n.args)},)",
    "seq_drop": lambda p, n: f"{p.operand(n.args[0])}[{p.text(n.args[1])}:]",
    "seq_take": lambda p, n: f"{p.operand(n.args[0])}[:{p.text(n.args[1])}]",
}
"""The printers of each operation that has no `text`, and of a guard that is left out."""
