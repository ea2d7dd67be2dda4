"""Which ids of a model may take each other's names: where nothing that a run evaluates tells them apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import factorial, prod
from typing import Any

from reassure.spec.frontend.lowered_model import LoweredModel, Telling, ToldApart
from reassure.spec.language.keys import key_parts
from reassure.spec.language.types import (
    BagType,
    ColumnsType,
    IdType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)
from reassure.spec.language.values import Id, Map

MOST_RENAMINGS = 1 << 63
"""Fewer renamings than these: those that leave a state as it is are counted in a word."""


class NotRenamed(Exception):
    """The reason why no ids are renamed."""


@dataclass(frozen=True)
class Sort:
    """A sort of which some ids may take each other's names. cells: these ids, counted from 0, each once."""

    type: IdType
    cells: tuple[tuple[int, ...], ...]
    order_forgotten: bool = False
    """Whether a step takes any eligible id where the model takes the first one by their order."""
    lists_forgotten: bool = False
    """Whether states that differ only in the order of their sequences of these ids are one."""

    @property
    def order(self) -> int:
        """The number of renamings."""
        return prod(factorial(len(cell)) for cell in self.cells)

    def __str__(self) -> str:
        moved = [[self.type.first + i for i in cell] for cell in self.cells if len(cell) > 1]
        return f"{self.type.sort.__name__} {' and '.join(_in_words(ids) for ids in moved)}"


def _in_words(ids: list[int]) -> str:
    whole = len(ids) > 2 and ids[-1] - ids[0] == len(ids) - 1
    return f"{ids[0]}-{ids[-1]}" if whole else ",".join(map(str, ids))


def id_types(kind: Type) -> Iterator[IdType]:
    """The id types within a type."""
    if isinstance(kind, IdType):
        yield kind
    elif isinstance(kind, RecordType):
        for _, inner in kind.fields:
            yield from id_types(inner)
    elif isinstance(kind, MapType):
        for part in key_parts(kind.key):
            yield from id_types(part)
        yield from id_types(kind.value)
    elif isinstance(kind, OptionType):
        yield from id_types(kind.inner)
    elif isinstance(kind, SetType | SeqType | ColumnsType | BagType):
        yield from id_types(kind.item)


def _ids_in_inner_sets(kind: Type, within: RecordType | None = None) -> Iterator[tuple[IdType, RecordType]]:
    """The id types in sets of records in the records of a set, each with the record of the outer set.

    within: the record of the set that the type is in.
    """
    if isinstance(kind, RecordType):
        for _, inner in kind.fields:
            yield from _ids_in_inner_sets(inner, within)
    elif isinstance(kind, MapType):
        yield from _ids_in_inner_sets(kind.value, within)
    elif isinstance(kind, OptionType):
        yield from _ids_in_inner_sets(kind.inner, within)
    elif isinstance(kind, ColumnsType):
        yield from _ids_in_inner_sets(kind.item, within)
    elif isinstance(kind, BagType) and within is not None:
        yield from ((inner, within) for inner in id_types(kind.item))
    elif isinstance(kind, BagType):
        yield from _ids_in_inner_sets(kind.item, kind.item)


def sorts_to_rename(lowered: LoweredModel, starts: list[Any], any_order: bool) -> tuple[Sort, ...]:
    """The sorts whose ids may be renamed, and among which; `NotRenamed` if there is none.

    starts: the initial states; in exact mode a renaming maps them onto themselves, so that the states of all classes
    are those that the whole search reaches. any_order: where an action reads the order of ids, it is forgotten, and
    initial states are renamed too.
    """
    reasons: list[str] = []
    sorts: list[Sort] = []
    inner = dict(_ids_in_inner_sets(lowered.bound.type))
    for kind in dict.fromkeys(id_types(lowered.bound.type)):
        why = _order_is_read(lowered, kind.sort, any_order)
        if kind in inner:
            why = f"a set of {inner[kind]} holds ids of {kind.sort.__name__} in sets of records"
        if why:
            reasons.append(why)
            continue
        named = {t.index for _, t in _tellings(lowered, kind.sort) if t.by is Telling.NAME and t.index is not None}
        free = tuple(i for i in range(kind.count) if i not in named)
        cells = (free,) if any_order else tuple(_apart_by(starts, kind, free))
        if max(map(len, cells), default=0) < 2:
            reasons.append(_few(lowered, kind, len(free)))
            continue
        reads = any(told.by is Telling.ORDER for _, told in _tellings(lowered, kind.sort))
        sorts.append(Sort(kind, (*(c for c in cells if c), *((i,) for i in sorted(named))), reads))
    if not sorts:
        why = "; ".join(reasons) or "its states hold no ids"
        raise NotRenamed(f"nothing of {lowered.bound.model.name} can be renamed: {why}")
    renamings = prod(sort.order for sort in sorts)
    if renamings >= MOST_RENAMINGS:
        raise NotRenamed(f"there are {renamings:,} renamings, at most {MOST_RENAMINGS - 1:,} are possible")
    return tuple(sorts)


def _tellings(lowered: LoweredModel, sort: type[Id]) -> Iterator[tuple[str, ToldApart]]:
    """How actions and the claims that are evaluated tell ids of a sort apart. Initial functions are left out."""
    actions = [action.name for action in lowered.actions]
    temporal = {f.name for f in lowered.state_formulas if f.claim is not None and f.claim.temporal}  # not evaluated
    claims = [f.name for f in (*lowered.state_formulas, *lowered.terminal_formulas) if f.name not in temporal]
    claims += [f.name for formulas in lowered.step_formulas for f in formulas]
    for name in dict.fromkeys([*actions, *claims]):
        for told in sorted(lowered.told_apart.get(name, ()), key=lambda t: (t.by.value, t.index or 0)):
            if told.sort is sort:
                yield name, told


def _order_is_read(lowered: LoweredModel, sort: type[Id], any_order: bool) -> str:
    """The reason why the order of a sort matters; "" if it does not, or can be forgotten."""
    actions = {action.name for action in lowered.actions}
    for name, told in _tellings(lowered, sort):
        if told.by is Telling.NAME:
            continue
        if not any_order:
            hidden = any(t.by is Telling.HIDDEN_ORDER for _, t in _tellings(lowered, sort))
            more = " (`--symmetry any-order` forgets the order)" if name in actions and not hidden else ""
            return f"{name} reads the order of {sort.__name__}{more}"
        if name not in actions:
            return f"{name} reads the order of {sort.__name__}; name other properties by --property"
        if told.by is Telling.HIDDEN_ORDER:
            return f"{name} reads the order of {sort.__name__} in a way that cannot be forgotten"
    return ""


def _few(lowered: LoweredModel, kind: IdType, free: int) -> str:
    """The reason why no two ids of a sort may be renamed."""
    name = kind.sort.__name__
    if kind.count < 2:
        return f"there is one {name}"
    by = [declared for declared, told in _tellings(lowered, kind.sort) if told.by is Telling.NAME]
    return f"{by[0]} names ids of {name}" if by and free < 2 else f"the initial states tell ids of {name} apart"


def _apart_by(starts: list[Any], kind: IdType, free: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Ids in cells: two are in one if the initial states are the same with their names exchanged."""
    known, cells = set(starts), list[list[int]]()
    for one in free:
        for cell in cells:
            a, b = kind.sort(cell[0] + kind.first), kind.sort(one + kind.first)
            names = {(kind.sort, int(a)): b, (kind.sort, int(b)): a}
            if all(renamed(state, names) in known for state in starts):
                cell.append(one)
                break
        else:
            cells.append([one])
    return [tuple(cell) for cell in cells]


def renamed(value: Any, names: Mapping[tuple[type[Id], int], Id]) -> Any:
    """A Python value in which ids have other names. names: by sort and number; ids that it lacks keep theirs."""
    if isinstance(value, Id):
        return names.get((type(value), int(value)), value)
    if isinstance(value, frozenset):
        return frozenset(renamed(one, names) for one in value)
    if isinstance(value, tuple):
        return tuple(renamed(one, names) for one in value)
    if isinstance(value, Map):
        return Map((renamed(k, names), renamed(v, names)) for k, v in value.pairs())
    if hasattr(type(value), "__dataclass_fields__"):
        return type(value)(*(renamed(getattr(value, name), names) for name in type(value).__dataclass_fields__))
    return value
