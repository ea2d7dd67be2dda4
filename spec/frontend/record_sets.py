"""Sets of records as slots: the records in them, one more, some of them."""

from __future__ import annotations

from itertools import count

from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.leaves import of_type
from reassure.spec.frontend.symbolic_values import Bag, Excess, Sym
from reassure.spec.language.types import RecordType, Type


def occupied(g: Graph, slot: Node) -> Node:
    """Whether there is a record in a slot."""
    return g.not_(g.eq(slot, g.num(0)))


def unpack_slot(g: Graph, item: RecordType, slot: Node) -> Sym:
    """The record in a slot known not to be empty."""
    record = slot.args[0] if slot.op == "slot" else g.op("record", item, (slot,))
    numbers = count()

    def leaf(_: str, kind: Type) -> Node:
        return g.op("unpack", kind, (record,), next(numbers))

    return of_type(g, item, leaf)


def padded(g: Graph, slots: tuple[Node, ...], length: int) -> tuple[Node, ...]:
    """The slots, followed by empty ones so that they are so many."""
    return slots + (g.num(0),) * (length - len(slots))


def insert(
    g: Graph, bag: Bag | None, slot: Node, item: RecordType, condition: Node, out: tuple[Excess, ...] = ()
) -> Bag:
    """The set (None: the empty one) with one more record if `condition`; it gets one more slot than it had.

    out: when the record is out of its bounds.
    """
    new = g.ite(condition, slot, g.num(0))
    if bag is None:
        return Bag(item, (new,), out)
    old = bag.slots
    present = g.or_(*(g.eq(s, new) for s in old))
    new = g.ite(present, g.num(0), new)
    slots: list[Node] = []
    for i in range(len(old) + 1):
        here = old[i] if i < len(old) else g.num(0)
        if i == 0:
            slots.append(g.ite(g.lt(here, new), new, here))
        else:
            before = old[i - 1]
            slots.append(g.ite(g.lt(here, new), g.ite(g.lt(before, new), before, new), here))
    return Bag(item, tuple(slots), bag.excess + out)


def keep(g: Graph, bag: Bag, conditions: list[Node]) -> Bag:
    """The set of the records in the slots whose condition holds."""
    slots = [g.ite(c, s, g.num(0)) for c, s in zip(conditions, bag.slots, strict=True)]
    for _ in range(len(slots) - 1):
        for j in range(len(slots) - 1):
            hole = g.eq(slots[j], g.num(0))
            slots[j], slots[j + 1] = g.ite(hole, slots[j + 1], slots[j]), g.ite(hole, g.num(0), slots[j + 1])
    return Bag(bag.item, tuple(slots))


__all__ = ["insert", "keep", "occupied", "padded", "unpack_slot"]
