"""The changes of a step, in short words: at lifelines, and elsewhere in the state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from reassure.checkers.pictures.actors import Cast, Lifeline, Place, members_in, places
from reassure.checkers.traces.format_value import plain
from reassure.checkers.traces.render import beside


class Mark(NamedTuple):
    """On a lifeline: sign `+` it joins a field, `-` leaves it, else a value changes; brief: without the old value."""

    lifeline: Lifeline
    sign: str
    text: str
    brief: str


def marks_of(before: Any, after: Any, cast: Cast) -> tuple[list[Mark], list[str]]:
    """The changes at lifelines; and the changes at none of them, a short text each. Messages are left out."""
    old = {place.path: place for place in places(before)}
    new = {place.path: place for place in places(after)}
    values = {path: (was, now) for path, was, now in beside(before, after) if was != now}
    names = Names(new.values())
    marks: list[Mark] = []
    other: list[str] = []
    for path in dict.fromkeys([*new, *old]):
        was, now = old.get(path), new.get(path)
        place = now or was
        if place is None or (was is not None and now is not None and was.value == now.value):
            continue
        if _has_records(was) or _has_records(now):
            continue  # messages, which are drawn as arrows
        owner = next((key for key in reversed(place.keys) if cast.of(key) is not None), None)
        line = cast.of(owner)
        member_marks = _members(was, now, cast, names.of(place))
        marks += member_marks
        if member_marks or path not in values:  # in an optional record that comes or goes, which is one change
            continue
        change = " → ".join(map(plain, values[path]))
        if line is not None:
            name = names.of(place, owner)
            marks.append(Mark(line, "", f"{name} {change}", f"{name} → {briefly(values[path][1])}"))
        else:
            other.append(f"{path} {change}")
    return marks, other


class Names:
    """Short names of places: the last name of the path where that is enough, and the keys that tell places apart."""

    def __init__(self, all_places: Iterable[Place]) -> None:
        self._shapes: dict[str, set[str]] = {}
        self._keys: dict[str, list[set[Any]]] = {}
        for place in all_places:
            self._shapes.setdefault(place.leaf, set()).add(place.shape)
            keys = self._keys.setdefault(place.shape, [set() for _ in place.keys])
            for values, key in zip(keys, place.keys, strict=False):
                values.add(key)

    def of(self, place: Place, owner: Any = None) -> str:
        """The name of a place; owner: the key that the lifeline stands for."""
        name = place.leaf if len(self._shapes.get(place.leaf, ())) == 1 else place.shape
        values = self._keys.get(place.shape, [])
        telling = [key for key, many in zip(place.keys, values, strict=False) if len(many) > 1 and key is not owner]
        return name + "".join(f"[{plain(key)}]" for key in telling)


def _members(was: Place | None, now: Place | None, cast: Cast, name: str) -> list[Mark]:
    """The members that come into a field and leave it, if that is what changed in it."""
    values = [place.value for place in (was, now) if place is not None]
    if not all(value is None or members_in(value) or value in (frozenset(), ()) for value in values):
        return []
    gone, come = (members_in(place.value) if place is not None else frozenset() for place in (was, now))
    signs = [("-", m) for m in sorted(gone - come, key=int)] + [("+", m) for m in sorted(come - gone, key=int)]
    return [Mark(line, sign, name, name) for sign, member in signs if (line := cast.of(member)) is not None]


def _has_records(place: Place | None) -> bool:
    value = None if place is None else place.value
    return isinstance(value, frozenset) and any(hasattr(member, "__dataclass_fields__") for member in value)


def briefly(value: Any) -> str:
    """A value as people write it; a record by the name of its class."""
    return type(value).__name__ if hasattr(value, "__dataclass_fields__") else plain(value)
