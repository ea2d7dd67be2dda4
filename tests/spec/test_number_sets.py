"""Sets of numbers: their type, traces and pictures of them, what is refused, and what a proof says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest

from reassure.checkers.encoding.state_layout import layout_of
from reassure.checkers.traces.plain_json import from_plain, to_plain
from reassure.checkers.traces.render import changes
from reassure.spec.frontend.any_number import free_numbers
from reassure.spec.frontend.lowering import check
from reassure.spec.language.annotations import AnyNumber, SizeIsFree, resolve
from reassure.spec.language.number_sets import NumbersType
from reassure.spec.language.types import DomainError, IntType, Range, SetType, bits_of, limits
from reassure.spec.language.values import Id
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import TraceError, decode, encode
from tests.helpers import model_text, nested_types

SMALL = NumbersType(IntType(-1, 1))


class Server(Id, size=2):
    """An id, which is an int for Python."""


# -- the type --------------------------------------------------------------------------------------------------------


def test_values_in_canonical_order() -> None:
    values = list(SMALL.values())
    assert values[:4] == [frozenset(), frozenset({1}), frozenset({0}), frozenset({0, 1})]
    assert values == sorted(values, key=SMALL.rank)
    assert len(set(values)) == SMALL.count == 8
    assert (bits_of(SMALL), str(SMALL), list(limits(SMALL, "s"))) == (3, "set of int -1..1", ["s[]"])
    assert SetType(IntType(-1, 1)) != SMALL


@pytest.mark.parametrize(
    ("value", "clipped", "path", "message"),
    [
        (frozenset({-1, 0, 1}), None, "", ""),
        (frozenset({5, 0, 3}), True, "[]", "3 is outside -1..1"),
        (frozenset({5, True}), False, "[]", "True is not an int"),
        (frozenset({"x", 7}), False, "[]", "'x' is not an int"),
        (frozenset({Server(1)}), False, "[]", "Server(1) is not an int"),
        ({0}, False, "", "{0} is not a frozenset"),
        ((0,), False, "", "(0,) is not a frozenset"),
        (None, False, "", "None is not a frozenset"),
    ],
)
def test_what_is_such_a_set(value: Any, clipped: bool | None, path: str, message: str) -> None:
    found = SMALL.misfit(value)
    assert (found and (found.clipped, found.path, found.message)) == (
        None if clipped is None else (clipped, path, message)
    )


def test_a_limit_of_the_exploration() -> None:
    found = NumbersType(IntType(0, 2, True)).misfit(frozenset({3}))
    assert found is not None
    assert (found.clipped, found.declared) == (True, True)


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (Annotated[int, Range(0, 62)], "a set over 63 values; at most 62"),
        (Annotated[int, Range(1, 4096)], "a set over 4,096 values; at most 62"),
        (int, "an int needs bounds"),
        (frozenset[Server], "ids, enum members, bools, numbers or records, not set of Server: write a set of records"),
    ],
)
def test_sets_that_are_none(item: Any, text: str) -> None:
    with pytest.raises(DomainError, match=text):
        resolve(frozenset[item], None)


def test_a_number_that_bounds_the_numbers_is_held(tmp_path: Path) -> None:
    made = model_text.module("", tmp_path, prelude=nested_types.NUMBER_SET_PRELUDE)
    free = AnyNumber(made.Config(), frozenset({"top", "servers"}))
    with pytest.raises(SizeIsFree, match="sizes a set of numbers") as caught:
        resolve(frozenset[Annotated[int, Range(0, "top")]], free)
    assert caught.value.names == {"top"}
    assert resolve(frozenset[Annotated[int, Range(-1, 1)]], free) == SMALL
    found = free_numbers(bound("return s", tmp_path))
    assert (found.free, found.held) == (frozenset({"servers"}), ("top sizes a set of numbers",))


# -- stored, written and read ----------------------------------------------------------------------------------------


def the_state(folder: Path) -> Any:
    made = model_text.module("", folder, prelude=nested_types.NUMBER_SET_PRELUDE)
    return made, made.State(), resolve(made.State, made.Config())


def test_a_bit_for_each_number(tmp_path: Path) -> None:
    made, state, kind = the_state(tmp_path)
    layout = layout_of(kind)
    parts = {
        "waiting": (frozenset({-1, 3}), frozenset({0})),
        "held": (None, frozenset(), frozenset({2})),
        "log": (state.log, (made.Entry(made.Server(2), frozenset({1})),)),
        "sent": (state.sent, frozenset({made.Mail(made.Server(1), frozenset({-1, 1}), frozenset({0}))})),
    }
    for name, values in parts.items():
        for value in values:
            changed = made.replace(state, **{name: value})
            assert layout.decode(layout.encode(changed)) == changed
    assert (
        sum(
            1
            for a, b in zip(*(layout.encode(made.replace(state, waiting=w)) for w in parts["waiting"]), strict=True)
            if a != b
        )
        == 1
    )


def test_itf_and_json(tmp_path: Path) -> None:
    _, state, kind = the_state(tmp_path)
    done = kind.field("done")
    assert encode(frozenset({3, 0}), done) == {"#set": [{"#bigint": "0"}, {"#bigint": "3"}]}
    assert to_plain(frozenset({3, 0}), done) == [0, 3]
    for name, inner in kind.fields:
        one = getattr(state, name)
        assert decode(encode(one, inner), inner) == from_plain(to_plain(one, inner), inner) == one
    with pytest.raises(TraceError, match=r"4 is outside 0\.\.3"):
        decode({"#set": [{"#bigint": "4"}]}, done)
    with pytest.raises(TraceError, match="is not of the type"):
        from_plain([True], done)
    with pytest.raises(TraceError):
        from_plain({"0": True}, done)


def test_as_people_read_them(tmp_path: Path) -> None:
    made, state, _ = the_state(tmp_path)
    after = made.replace(state, waiting=frozenset({3, -1}), held=frozenset())
    assert [change.line for change in changes(state, after)] == ["waiting: {} -> {-1, 3}", "held: none -> {}"]


# -- refusals --------------------------------------------------------------------------------------------------------

REFUSED = [
    # (body of the action, construct, part of the remedy)
    ("require(Server(1) in s.waiting)\n    return s", "Server in a set of numbers", "another sort"),
    ("require(s.on in s.waiting)\n    return s", "bool in a set of numbers", "another sort"),
    ("return replace(s, waiting=s.waiting | s.up)", "a set of numbers | set of Server", "of one sort"),
    ("return replace(s, waiting=s.waiting | {s.on})", "a set of numbers | set of bool", "of one sort"),
    ("return replace(s, waiting=s.waiting + {1})", "a set of numbers + a set of numbers", "write `s.waiting | {1}`"),
    ("return replace(s, waiting=frozenset({1, Server(1)}))", "an int and Server in one set", ""),
    ("return replace(s, waiting=frozenset({s.on, 1}))", "an int and bool in one set", ""),
    ("return replace(s, up=s.waiting)", "a set of numbers where set of Server is needed", ""),
    ("return replace(s, waiting=s.up)", "set of Server where set of int -1..3 is needed", ""),
    ("return replace(s, waiting=s.waiting if s.on else s.up)", "a set of numbers here and set of Server there", ""),
    ("require(s.waiting == s.up)\n    return s", "a set of numbers is never equal to set of Server", ""),
    ("require(s.waiting < s.up)\n    return s", "an order of a set of numbers and set of Server", "sets of one sort"),
    ("require(s.waiting)\n    return s", "`s.waiting` is a set of numbers, not a bool", "`x != frozenset()`"),
    ("return replace(s, nums=tuple(k for k in s.waiting))", "a set has no order", "sorted(...)"),
    ("return replace(s, n=next(k for k in s.waiting))", "a set has no order", "sorted(...)"),
    ("for k in s.waiting:\n        s = replace(s, n=k)\n    return s", "", "sorted"),
    ("return replace(s, n=int(s.waiting))", "a set of numbers", ""),
    ("return replace(s, n=s.waiting[0])", "", ""),
    ("require(s.waiting.isdisjoint(s.done))\n    return s", "`.isdisjoint`", "a & b == frozenset()"),
    ("return replace(s, waiting=frozenset({99 * s.n}))", "anything from -297 to 495", "at most 256 numbers"),
    ("return replace(s, nums=tuple(sorted(s.nums)))", "sorted() of a sequence", "a set of ids or numbers"),
]


@pytest.mark.parametrize(("body", "construct", "remedy"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_refused(body: str, construct: str, remedy: str, tmp_path: Path) -> None:
    found = check(bound(body, tmp_path))
    assert found
    said = f"{found[0].construct}: {found[0].remedy}"
    assert construct in said
    assert remedy in said


def test_a_parameter_is_not_drawn_from_one(tmp_path: Path) -> None:
    text = """
    @action(who="x", k=lambda s: s.waiting)
    def act(s: State, k: Annotated[int, Range(-1, 3)]) -> State:
        return replace(s, n=k)
    """
    (refusal,) = check(model(text, tmp_path))
    assert "not drawn from a set of numbers" in str(refusal)
    assert "`require(n in s.numbers)`" in str(refusal)


def model(text: str, folder: Path) -> BoundModel:
    made = model_text.module(text, folder, prelude=nested_types.NUMBER_SET_PRELUDE)
    return BoundModel(Model.of(made.__name__, state=made.State, config=made.Config))


def bound(body: str, folder: Path) -> BoundModel:
    """A model of one action."""
    return model(f'@action(who="x")\ndef act(s: State, c: Config) -> State:\n    {body}\n', folder)
