"""The program's own dataclasses are those of the standard library, but for when their methods are made."""

from __future__ import annotations

import dataclasses
from dataclasses import field
from typing import Any

import pytest

from reassure.spec.language.light_dataclasses import dataclass as light


def classes(dataclass: Any) -> dict[str, type[Any]]:
    """The same classes, made by a decorator."""

    @dataclass(frozen=True)
    class Nothing: ...

    @dataclass(frozen=True)
    class One:
        a: Any

    @dataclass(frozen=True)
    class Two:
        """It has a text."""

        a: int
        b: Any = field(default=2, compare=False)
        c: tuple[int, ...] = field(default_factory=tuple, repr=False)

    @dataclass(frozen=True)
    class Further(Two):
        d: int = 4

    @dataclass
    class Changing:
        a: int = 1

    @dataclass(frozen=True, eq=False)
    class Same:
        a: int

    @dataclass(frozen=True)
    class Own:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True)
    class Hashed:
        a: int

        def __hash__(self) -> int:
            return 7

    @dataclass
    class Later:
        """What is given in place, by name only, and made of the others."""

        a: int
        b: int = field(default=2, kw_only=True)
        c: int = field(init=False)
        d: list[int] = field(default_factory=list, init=False)

        def __post_init__(self) -> None:
            self.c = self.a + self.b

    class Below(Later):
        """A plain class below one: it has its `__init__`."""

        def __init__(self, a: int) -> None:
            super().__init__(a, b=9)

    @dataclass(frozen=True)
    class OwnInit:
        a: int

        def __init__(self, a: int) -> None:
            object.__setattr__(self, "a", a + 1)

    @dataclass(frozen=True, order=True)
    class Ordered:
        a: int

    return {name: one for name, one in locals().items() if name != "dataclass"}


BOTH = classes(light), classes(dataclasses.dataclass)
CALLS = [
    ("Nothing", ()),
    ("One", (1,)),
    ("One", (True,)),
    ("One", ((1,),)),
    ("One", ([1],)),
    ("Two", (1,)),
    ("Two", (1, 3)),
    ("Two", (1, 2, (3,))),
    ("Further", (1,)),
    ("Further", (1, 2, (), 5)),
    ("Changing", ()),
    ("Changing", (2,)),
    ("Same", (1,)),
    ("Own", (1,)),
    ("Own", (2,)),
    ("Hashed", (1,)),
    ("Hashed", (2,)),
    ("Below", (1,)),
    ("Later", (1,)),
    ("Later", (7,)),
    ("OwnInit", (1,)),
    ("Ordered", (1,)),
    ("Ordered", (2,)),
]


def made(mine: dict[str, type[Any]]) -> list[Any]:
    return [mine[name](*given) for name, given in CALLS]


def hashed(value: Any) -> bool:
    try:
        return hash(value) == hash(value)
    except TypeError:
        return False


def test_equality_hashes_and_texts() -> None:
    ours, theirs = map(made, BOTH)
    assert [repr(one) for one in ours] == [repr(one) for one in theirs]
    assert [[a == b for b in ours] for a in ours] == [[a == b for b in theirs] for a in theirs]
    assert list(map(hashed, ours)) == list(map(hashed, theirs))
    pairs = [
        (a, b) for a in ours for b in ours if a == b and hashed(a) and hashed(b) and "own" not in (repr(a), repr(b))
    ]
    assert [(a, b) for a, b in pairs if hash(a) != hash(b)] == []
    assert ours[0] != theirs[0]
    assert ours[1] != 1


def test_what_else_a_dataclass_has() -> None:
    ours, theirs = map(made, BOTH)
    for a, b in zip(ours, theirs, strict=True):
        assert dataclasses.is_dataclass(a)
        assert [f.name for f in dataclasses.fields(a)] == [f.name for f in dataclasses.fields(b)]
        assert dataclasses.asdict(a) == dataclasses.asdict(b)
        assert type(a).__match_args__ == type(b).__match_args__
    two = BOTH[0]["Two"](1)
    assert repr(dataclasses.replace(two, a=9)) == repr(two).replace("a=1", "a=9")
    assert BOTH[0]["Two"].__doc__ == "It has a text."
    assert BOTH[0]["Ordered"](1) < BOTH[0]["Ordered"](2)


def errors(mine: dict[str, type[Any]]) -> list[str]:
    """What is told of wrong arguments, by a class that has no object yet and by one that has."""
    calls = [("One", (), {}), ("One", (1, 2), {}), ("Later", (1, 2), {}), ("Later", (1,), {"c": 3}), ("Below", (), {})]
    texts = []
    for name, given, named in calls * 2:
        with pytest.raises(TypeError) as told:
            mine[name](*given, **named)
        texts.append(str(told.value))
    return texts


def test_wrong_arguments_are_told_as_of_the_standard_library() -> None:
    assert errors(classes(light)) == errors(classes(dataclasses.dataclass))
    assert "One.__init__() missing 1 required positional argument: 'a'" in errors(classes(light))[0]


def test_a_field_is_compared_by_its_truth() -> None:
    """As in a tuple: the same object is equal to itself, and what `==` gives is taken for true or false."""

    class Odd:
        def __eq__(self, other: object) -> Any:
            return []

        __hash__ = object.__hash__

    odd = Odd()
    for mine in BOTH:
        assert mine["One"](odd) == mine["One"](odd)
        assert (mine["One"](odd) == mine["One"](Odd())) is False
