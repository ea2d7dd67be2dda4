"""The participants of a trace: roles such as the controller, and members of sorts such as broker 2."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from reassure.checkers.traces.format_value import map_entries, place_text
from reassure.spec.frontend.symbolic_values import scalar_leaves
from reassure.spec.language.types import BagType, ColumnsType, IdType, OptionType, RecordType, SeqType, SetType, Type
from reassure.spec.language.values import Id, Map
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import TraceStep

ENVIRONMENT = "environment"
SENDERS = ("source", "sender", "origin", "src")
RECEIVERS = ("destination", "receiver", "recipient", "target", "to", "dst")
"""Fields of a message, and parameters of an action, that say who sends and to whom."""
MOST_MEMBERS = 8
"""Of a sort: with more of them, only those that take part have a lifeline."""


@dataclass(frozen=True)
class Lifeline:
    """One column of a picture. sort: the class of a member; empty for a role."""

    id: str
    label: str
    sort: str = ""


@dataclass(frozen=True)
class Place:
    """A scalar, set or sequence of a state.

    shape: its path without the keys of maps; leaf: the last name in it; keys: those of the maps, outermost
    first; of a tuple its parts.
    """

    path: str
    shape: str
    leaf: str
    keys: tuple[Any, ...]
    value: Any


def places(state: Any) -> Iterator[Place]:
    """Everything in a state that is neither a record nor a map."""
    yield from _places(state, Place("", "", "", (), None))


def _places(value: Any, at: Place) -> Iterator[Place]:
    if hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            dot = "." if at.path else ""
            below = Place(f"{at.path}{dot}{name}", f"{at.shape}{dot}{name}", name, at.keys, None)
            yield from _places(getattr(value, name), below)
    elif isinstance(value, Map):
        for key, inner in map_entries(value):
            parts = key if isinstance(key, tuple) else (key,)
            below = Place(f"{at.path}[{place_text(key)}]", at.shape, at.leaf, (*at.keys, *parts), None)
            yield from _places(inner, below)
    else:
        yield replace(at, value=value)


def words(sort: type) -> str:
    """The name of a class as words: `ResourceManager` is a resource manager."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", sort.__name__).lower()


def _called(sort: type[Id], actor: str) -> bool:
    """Whether an actor is a member of the sort, by the sort's name or the first words of its docstring."""
    match = re.match(r"(?:an?|one|the) ([\w -]+)", inspect.getdoc(sort) or "", re.IGNORECASE)
    return actor.lower() in {words(sort), match.group(1).lower() if match else ""}


def members_in(value: Any) -> frozenset[Id]:
    """The identifiers that a value is or has as members; of records nothing."""
    if isinstance(value, Id):
        return frozenset({value})
    if isinstance(value, frozenset | tuple):
        return frozenset(member for member in value if isinstance(member, Id))
    return frozenset()


class Cast:
    """The possible lifelines of a model under its configuration."""

    def __init__(self, bound: BoundModel) -> None:
        self._bound = bound
        self._types = list(dict.fromkeys(t for kind in self._parameter_types() for t in _id_types(kind)))

    def _parameter_types(self) -> Iterator[Type]:
        for action in self._bound.model.actions:
            yield from (kind for _, kind in self._bound.parameters(action.name))

    @cached_property
    def sorts(self) -> frozenset[str]:
        """The sorts whose members have lifelines: they occur in parameters of actions, and have two members or more."""
        return frozenset(t.sort.__name__ for t in self._types if t.count > 1)

    @cached_property
    def roles(self) -> list[str]:
        """Every actor that the model names, in the order of its actions."""
        return list(dict.fromkeys(a.who or ENVIRONMENT for a in self._bound.model.actions))

    def of(self, member: Any) -> Lifeline | None:
        """The lifeline of a member of a sort, if it has one."""
        sort = type(member)
        if not isinstance(member, Id) or sort.__name__ not in self.sorts:
            return None
        return Lifeline(f"{sort.__name__}:{int(member)}", f"{words(sort)} {int(member)}", sort.__name__)

    def actor(self, step: TraceStep, before: Any) -> Lifeline:
        """The lifeline that takes a step: the member that the actor's name stands for, else the role itself."""
        member = self._acting_member(step, before)
        lifeline = self.of(member) if member is not None else None
        return lifeline or Lifeline(f"role:{step.actor or ENVIRONMENT}", step.actor or ENVIRONMENT)

    def _acting_member(self, step: TraceStep, before: Any) -> Id | None:
        """By a parameter of the actor's name, a message or a sort; else by the state, as in `partition.leader`."""
        named = step.params.get(step.actor)
        if isinstance(named, Id):
            return named
        of_sort = {n: v for n, v in step.params.items() if isinstance(v, Id) and _called(type(v), step.actor)}
        senders = {n: v for n, v in of_sort.items() if n not in RECEIVERS}
        for choice in (_end_of_message(step, before), of_sort, senders):
            if len(choice) == 1:
                return next(iter(choice.values()))
        members = {(type(v), v) for v in step.params.values()}
        acting = [p for p in places(before) if p.leaf == step.actor and isinstance(p.value, Id)]
        fitting = [p for p in acting if all((type(k), k) in members for k in p.keys)]
        holders = {(type(p.value), int(p.value)): p.value for p in fitting or acting}
        return next(iter(holders.values())) if len(holders) == 1 else None

    def lifelines(self, used: Mapping[str, Lifeline], every: bool) -> list[Lifeline]:
        """Roles in the order of the model's actions, then the members of each sort.

        used: those that take part, by id. every: also roles that take no part, unless a member can stand for them.
        """
        roles = [Lifeline(f"role:{name}", name) for name in self.roles]
        drawn_lines = [r for r in roles if r.id in used or (every and not self._held(r.label))]
        drawn_lines += [line for line in used.values() if not line.sort and line not in drawn_lines]
        for kind in self._types:
            lines = [line for line in map(self.of, kind.values()) if line is not None]
            drawn_lines += [line for line in lines if len(lines) <= MOST_MEMBERS or line.id in used]
        return drawn_lines or roles

    def _held(self, role: str) -> bool:
        """Whether a role is one that members have: a parameter, a sort or a field of the state is named so."""
        parameters = {n for a in self._bound.model.actions for n, _ in self._bound.parameters(a.name)}
        named = role in parameters or any(_called(t.sort, role) for t in self._types)
        return named or role in _fields_of_members(self._bound.type)


def _end_of_message(step: TraceStep, before: Any) -> dict[str, Id]:
    """Of a message that is a parameter: who receives it if it is under way, else who sends it, if that is the actor."""
    under_way = {record for p in places(before) if isinstance(p.value, frozenset) for record in p.value}
    ends = {}
    for name, value in step.params.items():
        if hasattr(value, "__dataclass_fields__"):
            fields = (getattr(value, f, None) for f in (RECEIVERS if value in under_way else SENDERS))
            end = next((member for member in fields if isinstance(member, Id)), None)
            if end is not None and _called(type(end), step.actor):
                ends[name] = end
    return ends


def _id_types(kind: Type) -> Iterator[IdType]:
    """The sorts of identifiers that values of a type have in them."""
    match kind:
        case IdType():
            yield kind
        case OptionType(inner=inner):
            yield from _id_types(inner)
        case SetType(item=item) | SeqType(item=item) | ColumnsType(item=item) | BagType(item=item):
            yield from _id_types(item)
        case RecordType(fields=fields):
            for _, inner in fields:
                yield from _id_types(inner)


def _fields_of_members(kind: Type) -> set[str]:
    """The names of the fields, however deep, that hold an identifier or none."""
    ids = [path for path, leaf in scalar_leaves(kind) if isinstance(leaf, IdType) and not path.endswith("]")]
    return {path.rpartition(".")[2] for path in ids}
