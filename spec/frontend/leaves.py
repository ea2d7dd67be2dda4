"""Values of a type as their scalars ("leaves"), in the order of the state's layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reassure.spec.frontend.ir import BOOL, Graph, Node, scalar
from reassure.spec.frontend.symbolic_values import (
    Bag,
    MapOf,
    Mismatch,
    Option,
    Poison,
    Record,
    Scalar,
    Sym,
    describe,
    map_of,
)
from reassure.spec.language.types import (
    ANY,
    RECORD_BITS,
    BagType,
    BoolType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    Type,
    bits_of,
    key_name,
    unbounded,
)

MakeLeaf = Callable[[str, Type], Node]
"""The node of a scalar, from its path within the value and its type."""


def slot_type(item: RecordType) -> IntType:
    """The type of a slot of a set of records: 0 where it is empty, else 1 + the packed record."""
    bits = bits_of(item)
    return IntType(0, 1 << bits if bits <= RECORD_BITS else ANY)


def of_type(g: Graph, kind: Type, leaf: MakeLeaf, path: str = "") -> Sym:
    """A value of a type, its scalars made by `leaf`; `Mismatch` for a type that is not a model's.

    A map from a sort of any number of members has one scalar for each of its values: a table.
    """
    if scalar(kind):
        return Scalar(leaf(path, kind))
    if isinstance(kind, RecordType):
        dot = path + "." if path else ""
        return Record(kind.cls, {name: of_type(g, inner, leaf, dot + name) for name, inner in kind.fields})
    if isinstance(kind, OptionType):
        return Option(leaf(path + "?", BOOL), of_type(g, kind.inner, leaf, path))
    if isinstance(kind, MapType) and unbounded(kind.key):
        key = g.key(kind.key)

        def entry(inner_path: str, inner: Type) -> Node:
            return g.at(leaf(inner_path, MapType(kind.key, inner)), key)

        return map_of(kind.key, (of_type(g, kind.value, entry, f"{path}[*]"),))
    if isinstance(kind, MapType):
        names = [key_name(key) for key in kind.key.values()]
        return MapOf(kind.key, tuple(of_type(g, kind.value, leaf, f"{path}[{name}]") for name in names))
    if isinstance(kind, BagType):
        slot = slot_type(kind.item)
        return Bag(kind.item, tuple(leaf(f"{path}#{i}", slot) for i in range(kind.size)))
    raise Mismatch(f"no symbolic value of {kind}")


def scalar_leaves(kind: Type, path: str = "") -> list[tuple[str, Type]]:
    """The path and the type of each scalar of a type, in the order of the layout. path: of the value of the type."""
    scalars: list[tuple[str, Type]] = []

    def leaf(leaf_path: str, leaf_type: Type) -> Node:
        scalars.append((leaf_path, leaf_type))
        return g.var(leaf_path, leaf_type)

    g = Graph()
    of_type(g, kind, leaf, path)
    return scalars


def bags(kind: Type, path: str = "") -> list[tuple[str, BagType]]:
    """The sets of records of a type, each with its path."""
    if isinstance(kind, RecordType):
        return [b for name, inner in kind.fields for b in bags(inner, f"{path}.{name}" if path else name)]
    if isinstance(kind, OptionType):
        return bags(kind.inner, path)
    if isinstance(kind, MapType) and not unbounded(kind.key):
        return [b for key in kind.key.values() for b in bags(kind.value, f"{path}[{key_name(key)}]")]
    return [(path, kind)] if isinstance(kind, BagType) else []


def refuse_inner_bags(kind: Type) -> None:
    """Raises `Mismatch` for sets of records in sets of records or in maps from any number of ids: they have no
    translation for any number."""
    if isinstance(kind, MapType) and unbounded(kind.key) and bags(kind.value):
        raise Mismatch(f"a {kind}, which has sets of records, of which there may be any number")
    for inner in _within(kind):
        refuse_inner_bags(inner)
    for _, bag in bags(kind):
        if bags(bag.item):
            raise Mismatch(f"a set of {bag.item}, which has sets of records itself, of which there may be any number")


def _within(kind: Type) -> list[Type]:
    """The types of the parts of a record, an optional or a map."""
    if isinstance(kind, RecordType):
        return [inner for _, inner in kind.fields]
    if isinstance(kind, OptionType):
        return [kind.inner]
    return [kind.value] if isinstance(kind, MapType) else []


def zero(g: Graph, kind: Type) -> Node:
    """The constant that an absent optional has in a scalar leaf: the one that is stored as 0."""
    if isinstance(kind, BoolType):
        return g.false
    if isinstance(kind, SeqType):
        return g.const((), SeqType(kind.item, 0))
    if isinstance(kind, IntType):
        return g.num(kind.low)
    if isinstance(kind, MapType):
        return g.table(kind.key, zero(g, kind.value))
    return g.const(0, kind)


def nothing(g: Graph, kind: Type) -> Sym:
    """The value that stands for an absent optional of a type: zeros."""
    return of_type(g, kind, lambda _, leaf_type: zero(g, leaf_type))


def leaves(g: Graph, value: Sym, kind: Type) -> Iterator[Node]:
    """Scalars of a fitted value in layout order.

    What an absent optional holds is zero, so that equal values are packed equally. `POISON` is zero too: whether
    something is refused is asked elsewhere.
    """
    if isinstance(value, Scalar):
        yield value.node
    elif isinstance(value, Record) and isinstance(kind, RecordType):
        for name, inner in kind.fields:
            yield from leaves(g, value.fields[name], inner)
    elif isinstance(value, MapOf) and isinstance(kind, MapType) and unbounded(kind.key):
        for node in leaves(g, value.values[0], kind.value):
            yield g.table(kind.key, node)
    elif isinstance(value, MapOf) and isinstance(kind, MapType):
        for part in value.values:
            yield from leaves(g, part, kind.value)
    elif isinstance(value, Bag) and isinstance(kind, BagType):
        yield from value.slots[: kind.size]
    elif isinstance(value, Option) and isinstance(kind, OptionType) and value.value is not None:
        yield value.present
        zeros = leaves(g, nothing(g, kind.inner), kind.inner)
        for node, zero_node in zip(leaves(g, value.value, kind.inner), zeros, strict=True):
            zero_if_absent = _zero_if_absent(g, node, value.present, zero_node)
            yield node if zero_if_absent else g.ite(value.present, node, zero_node)
    elif isinstance(value, Poison):  # of a model in which nothing is refused: no run gets here
        yield from leaves(g, nothing(g, kind), kind)
    else:
        raise Mismatch(f"{describe(value)} is not a value of {kind}")


def _zero_if_absent(g: Graph, node: Node, present: Node, zero_node: Node) -> bool:
    """Whether a leaf is zero already where the optional is absent: it is one of a state or a parameter, whose type
    has the same zero."""
    return (
        node.op in ("var", "param")
        and node.op == present.op
        and _path(node) == _path(present)
        and zero(g, node.type) is zero_node
    )


def _path(node: Node) -> str:
    return str(node.data).replace("?", "")


__all__ = ["MakeLeaf", "leaves", "nothing", "of_type", "scalar_leaves", "slot_type", "zero"]
