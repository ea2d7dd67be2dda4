"""Maps whose keys are numbers of a Range or tuples, and tuples as values: their types, how they are written and read, what
is refused."""

# ruff: noqa: E501 - a row of a table is one line
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest

from reassure.checkers.engines.native.symmetry.cells import id_types
from reassure.checkers.traces.format_value import as_python, map_entries, plain
from reassure.checkers.traces.plain_json import from_plain, to_plain
from reassure.checkers.traces.render import changes, in_short
from reassure.spec.frontend.any_number import free_numbers, lower_for_any_number
from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.frontend.lowered_model import Telling
from reassure.spec.frontend.lowering import check, lower_model
from reassure.spec.language.annotations import AnyNumber, SizeIsFree, resolve
from reassure.spec.language.keys import TupleType, nested
from reassure.spec.language.types import (
    BoolType,
    DomainError,
    IntType,
    MapType,
    MaxLen,
    MaxSize,
    OptionType,
    Range,
    bits_of,
    limits,
)
from reassure.spec.language.values import Id, Map
from reassure.spec.language.vocabulary import LanguageError, Model
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import TraceError, decode, encode
from tests.helpers import model_text, nested_types, record_types


class Server(Id, size="servers"): ...


@dataclass(frozen=True)
class Config:
    servers: Annotated[int, Range(1, 6)] = 2
    top: Annotated[int, Range(1, 9)] = 3


Small = Annotated[int, Range(-1, 1)]


def test_the_types_of_keys() -> None:
    numbers = resolve(Map[Annotated[int, Range(1, "top", declared=True)], bool], Config())
    assert numbers == MapType(IntType(1, 3), BoolType())
    assert str(numbers) == "map from int 1..3 to bool"
    pairs = resolve(Map[tuple[Server, Small], bool], Config())
    assert isinstance(pairs, MapType) and isinstance(pairs.key, TupleType)
    assert str(pairs) == "map from tuple (Server, int -1..1) to bool"
    assert list(pairs.key.values()) == [(Server(a), k) for a in (0, 1) for k in (-1, 0, 1)]
    assert [pairs.key.rank(key) for key in pairs.key.values()] == [(a, k) for a in (0, 1) for k in (-1, 0, 1)]
    assert (pairs.key.count, pairs.count) == (6, 64)
    assert nested(pairs) == MapType(resolve(Server, Config()), MapType(IntType(-1, 1), BoolType()))
    assert [str(kind) for kind in id_types(pairs)] == ["Server"]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (int, "an int needs bounds"),
        (Annotated[int, Range(0, 4096)], "4,097 keys; at most 4,096"),
        (tuple[Annotated[int, Range(0, 99)], Annotated[int, Range(0, 99)]], "10,000 keys; at most 4,096"),
        (Annotated[tuple[Server, ...], MaxLen(2)], "not sequence of Server, at most 2"),
        (tuple[Server, ...], r"no sequences: write a tuple of two parts or more, `Map\[tuple\[A, B\], T\]`"),
        (tuple[Server], "a tuple of two parts or more"),
        (frozenset[Server], r"not set of Server: write `Map\[A, Map\[B, T\]\]` or `Map\[tuple\[A, B\], T\]`"),
        (tuple[Server, Server | None], "or a tuple of these, not Server | None"),
    ],
)
def test_keys_that_are_none(key: Any, text: str) -> None:
    with pytest.raises(DomainError, match=text):
        resolve(Map[key, bool], Config())


def test_values_that_are_no_keys() -> None:
    kind = resolve(Map[tuple[Server, Small], Annotated[int, Range(0, 1)]], Config())
    assert isinstance(kind, MapType)
    whole = Map((key, 0) for key in kind.key.values())
    assert kind.misfit(whole) is None
    out = kind.misfit(whole.put((Server(1), -1), 2))
    assert out is not None and (out.clipped, out.path) == (True, "[1,-1]")
    assert "[1,-1]" in list(limits(kind, ""))
    for wrong in (Map({**dict(whole.pairs()), (Server(2), 0): 0}), Map({(Server(0), 0): 0})):
        found = kind.misfit(wrong)
        assert found is not None and not found.clipped
    assert kind.key.misfit((Server(0), 2)) is not None
    assert kind.key.misfit((Server(0),)) is not None
    with pytest.raises(KeyError):
        whole[Server(1), 2]
    with pytest.raises(KeyError):
        whole.put((Server(2), 0), 1)


def test_a_number_that_sizes_keys_is_held() -> None:
    made = AnyNumber(Config(), frozenset({"servers", "top"}))
    for key, names in ((tuple[Server, Server], {"servers"}), (Annotated[int, Range(0, "top")], {"top"})):
        with pytest.raises(SizeIsFree, match="sizes a map from") as caught:
            resolve(Map[key, bool], made)  # type: ignore[valid-type]
        assert caught.value.names == names
    assert resolve(Map[Small, bool], made) == MapType(IntType(-1, 1), BoolType())


# -- traces ----------------------------------------------------------------------------------------------------------


def the_state(folder: Path) -> Any:
    made = model_text.module("", folder, prelude=nested_types.MAP_PRELUDE)
    return made, made.State(), resolve(made.State, made.Config())


def test_itf_and_json(tmp_path: Path) -> None:
    made, state, kind = the_state(tmp_path)
    term = kind.field("term")
    value = state.term.put((made.Server(2), made.Role.LEADER), 1)
    assert encode(value, term)["#map"][3] == [{"#tup": [{"#bigint": "2"}, "LEADER"]}, {"#bigint": "1"}]
    assert to_plain(value, term)['[2,"LEADER"]'] == 1
    assert encode(state.votes, kind.field("votes"))["#map"][0] == [{"#bigint": "-1"}, {"#bigint": "0"}]
    assert to_plain(state.votes, kind.field("votes")) == {"-1": 0, "0": 0, "1": 0, "2": 0}
    assert to_plain(state.cube, kind.field("cube"))['[false,1,"LEADER"]'] is None
    for name, inner in kind.fields:
        one = getattr(state, name)
        assert decode(encode(one, inner), inner) == from_plain(to_plain(one, inner), inner) == one
    with pytest.raises(TraceError):
        decode({"#map": [[[{"#bigint": "1"}, "LEADER"], {"#bigint": "0"}]]}, term)
    with pytest.raises(TraceError):
        from_plain({"[1]": 0}, term)


def test_as_people_read_them(tmp_path: Path) -> None:
    made, state, _ = the_state(tmp_path)
    after = made.replace(
        state, votes=state.votes.put(-1, 2), term=state.term.put((made.Server(2), made.Role.LEADER), 1)
    )
    assert [change.line for change in changes(state, after)] == ["votes[-1]: 0 -> 2", "term[2, leader]: 0 -> 1"]
    short = dict(in_short(after))
    assert (short["votes[-1]"], short["votes[0..2]"], short["term[2, leader]"]) == ("2", "0", "1")
    assert short["term[(1, follower), (1, leader), (2, follower), (3, follower), (3, leader)]"] == "0"
    assert [key for key, _ in map_entries(state.term)][:2] == [(made.Server(1), role) for role in made.Role]
    assert plain(after.votes) == "{-1: 2, 0: 0, 1: 0, 2: 0}"


def test_as_expressions(tmp_path: Path) -> None:
    made, state, _ = the_state(tmp_path)
    after = made.replace(
        state, votes=state.votes.put(-1, 2), term=state.term.put((made.Server(2), made.Role.LEADER), 1)
    )
    votes, term, cube = (as_python(getattr(after, name)) for name in ("votes", "term", "cube"))
    assert votes == "Map({k: 0 for k in range(-1, 3)}).put(-1, 2)"
    assert term == (
        "Map({(k1, k2): 0 for k1 in every(Server, c) for k2 in every(Role, c)}).put((Server(2), Role.LEADER,), 1)"
    )
    assert "for k1 in every(bool, c) for k2 in range(0, 2)" in cube
    names = {**vars(made), "c": made.Config()}
    assert [eval(text, names) for text in (votes, term, cube)] == [after.votes, after.term, after.cube]


# -- refusals --------------------------------------------------------------------------------------------------------

REFUSED = [
    # (body of the action, construct, part of the remedy)
    ("require(s.votes[some(s.leader)] > 0)\n    return s", "a map from int -1..2 at Server", "`int(id)`"),
    ("require(s.votes[s.on] > 0)\n    return s", "a map from int -1..2 at bool", "one of its keys"),
    ("require(s.seen[some(s.leader)])\n    return s", "(Server, Server) at Server", "one of its keys"),
    ("require(s.seen[some(s.leader), 1])\n    return s", "(Server, Server) at a tuple (Server, an int)", "its keys"),
    ("require(s.term[Role.LEADER, Server(1)] > 0)\n    return s", "at a tuple (Role, Server)", "its keys"),
    ("require(s.cube[s.on, some(s.leader), Role.LEADER] is None)\n    return s", "at a tuple", "`int(id)`"),
    ("require(s.cube[s.on, 1] is None)\n    return s", "at a tuple (bool, an int)", "one of its keys"),
    ("require(s.seen[s.leader, Server(1)])\n    return s", "`s.leader` may be None here", "is not None"),
    ("return replace(s, votes=s.votes.put(some(s.leader), 1))", "Server as a key of a map", "`int(id)`"),
    ("return replace(s, votes=Map({k: 0 for k in range(3)}))", "State.votes", "from int 0..2 where map from int -1..2"),
    ("return replace(s, votes=Map({k: 0 for k in range(-1, 3) if k != 1}))", "not total", "range(5)"),
    ("return replace(s, votes=Map({-1: 0, 0: 0, 2: 1}))", "not total", "in full"),
    ("return replace(s, votes=Map({-1: 0, 0: 0, True: 1, 2: 1}))", "not total", "in full"),
    ("return replace(s, votes=Map({s.n: 0, 0: 0}))", "not total", "in full"),
    ("return replace(s, votes=Map({}))", "Map() of this", "every(Sort, c)"),
    ("return replace(s, votes=Map({**s.votes}))", "Map() of this", "every(Sort, c)"),
    ("return replace(s, seen=Map({(a, b): False for a in s.up for b in s.up}))", "not total", "in full"),
    ("return replace(s, on=s.n in s.votes)", "an int in a map from int -1..2", "`low <= n <= high`"),
    ("return replace(s, n=sum(v for k, v in s.votes.items()))", "`.items`", "for k in range(-1, 3)`, with `m[k]`"),
    (
        "return replace(s, n=max(s.term.values()))",
        "`.values`",
        "m[k1, k2] for k1 in every(Server, c) for k2 in every(Role",
    ),
    ("return replace(s, votes=s.votes.set(1, 2))", "`.set`", "m.put(key, value)"),
    ("return replace(s, votes=fill(Number, c, 0))", "is not a sort", "`range(-1, 3)`"),
    (
        "m = s.seen\n    for a in s.up:\n        m = m.put((a, Server(1)), m[Server(1), a])\n    return replace(s, seen=m)",
        "`m` of the turn before",
        "sorted",
    ),
    (
        "m = s.seen\n    for a in s.up:\n        for b in s.up:\n            m = m.put((a, b), True)\n            m = m.put((b, a), False)\n    return replace(s, seen=m)",
        "`m` of the turn before",
        "sorted",
    ),
]


@pytest.mark.parametrize(("body", "construct", "remedy"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_refused(body: str, construct: str, remedy: str, tmp_path: Path) -> None:
    found = check(bound(body, tmp_path))
    assert found
    assert construct in found[0].construct
    assert remedy in found[0].remedy


def bound(body: str, folder: Path) -> BoundModel:
    """A model of one action."""
    text = (
        f'Number = Annotated[int, Range(-1, 2)]\n@action(who="x")\ndef act(s: State, c: Config) -> State:\n    {body}\n'
    )
    made = model_text.module(text, folder, prelude=nested_types.MAP_PRELUDE)
    return BoundModel(Model.of(made.__name__, state=made.State, config=made.Config))


CONSTANTS = ("Map({0: 1, True: 2, 2: 3})", "Map({0: 1, 2: 3})", "Map({(0, 1): 1, (1, 0): 2})", "Map({(0, 1): 1, 0: 2})")


@pytest.mark.parametrize("constant", CONSTANTS)
def test_constants_that_are_no_maps_of_the_language(constant: str, tmp_path: Path) -> None:
    text = f'KEPT = {constant}\n@action(who="x")\ndef act(s: State) -> State:\n    return replace(s, on=KEPT == KEPT)\n'
    made = model_text.module(text, tmp_path, prelude=nested_types.MAP_PRELUDE)
    (refusal,) = check(BoundModel(Model.of(made.__name__, state=made.State, config=made.Config)))
    assert "a constant map" in str(refusal)


def test_a_constant_map_tells_the_ids_in_its_keys_apart(tmp_path: Path) -> None:
    text = """
    WEIGHT = Map({(Server(a), on): a if on else 0 for a in (1, 2, 3) for on in (False, True)})
    ALIKE = Map({(Server(a), on): 1 for a in (1, 2, 3) for on in (False, True)})

    @action(who="x")
    def act(s: State, a: Server) -> State:
        return replace(s, n=WEIGHT[a, s.on])

    @action(who="x")
    def same(s: State, a: Server) -> State:
        return replace(s, n=ALIKE[a, s.on])
    """
    made = model_text.module(text, tmp_path, prelude=nested_types.MAP_PRELUDE)
    apart = lower_model(BoundModel(Model.of(made.__name__, state=made.State, config=made.Config))).told_apart
    assert {(told.by, told.index) for told in apart["act"]} == {(Telling.NAME, i) for i in range(3)}
    assert "same" not in apart


def test_numbers_that_size_keys_are_not_free(tmp_path: Path) -> None:
    found = free_numbers(bound("return s", tmp_path))
    assert found.free == frozenset()
    assert found.held == ("top sizes a map from numbers", "servers sizes a map from tuples")


def test_a_parameter_sizes_keys_too(tmp_path: Path) -> None:
    text = """
    @action(who="x")
    def act(s: State, m: Map[tuple[Node, bool], bool]) -> State:
        return replace(s, inner=replace(s.inner, on=m[Node(1), True]))
    """
    made = model_text.module(text, tmp_path)
    found = free_numbers(BoundModel(Model.of(made.__name__, state=made.State, config=made.Config)))
    assert (found.free, found.held) == (frozenset(), ("nodes sizes a map from tuples",))


OF_ANY = """
@action(who="tester")
def act(s: State, c: Config) -> State:
    m = Map({(a, b): False for a in every(Node, c) for b in every(Node, c)})
    return replace(s, inner=replace(s.inner, on=m[Node(1), Node(1)]))
"""


def test_pairs_of_any_number_are_refused(tmp_path: Path) -> None:
    made = model_text.module(OF_ANY, tmp_path)
    model = BoundModel(Model.of(made.__name__, state=made.State, config=made.Config))
    assert check(model) == []
    with pytest.raises(SubsetError, match="over Node, of which there may be any number"):
        lower_for_any_number(model, free_numbers(model))


# -- tuples as values ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    term: Small
    by: Server


def test_the_types_of_tuples() -> None:
    pair = resolve(tuple[Server, Small], Config())
    assert isinstance(pair, TupleType) and str(pair) == "tuple (Server, int -1..1)"
    assert [name for name, _ in pair.fields] == ["[0]", "[1]"]
    assert list(pair.values()) == [(Server(a), k) for a in (0, 1) for k in (-1, 0, 1)]
    assert [pair.rank(value) for value in pair.values()] == [(a, k) for a in (0, 1) for k in (-1, 0, 1)]
    assert (pair.count, bits_of(pair)) == (6, 3)
    assert resolve(Map[Server, tuple[Server, Small]], Config()) == MapType(resolve(Server, Config()), pair)
    held = resolve(tuple[Entry, bool] | None, Config())
    assert isinstance(held, OptionType) and str(held) == "tuple (Entry, bool) | None"
    declared = resolve(tuple[Annotated[int, Range(0, 1, declared=True)], bool], Config())
    assert isinstance(declared, TupleType) and declared.parts == (IntType(0, 1, True), BoolType())
    assert [str(kind) for kind in id_types(pair)] == ["Server"]


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (tuple[Server], r"two parts or more, `tuple\[A, B\]`"),
        (tuple[()], "two parts or more"),
        (Annotated[tuple[Server, bool], MaxLen(2)], r"the length of a tuple of named parts is fixed, leave it out"),
        (tuple[Server | None, bool], "a record, not Server | None: write a dataclass with such a field"),
        (tuple[frozenset[Server], bool], "a record, not set of Server: write a dataclass"),
        (tuple[Annotated[tuple[Server, ...], MaxLen(2)], bool], "not sequence of Server, at most 2: write a dataclass"),
        (tuple[Map[Server, bool], bool], "not map from Server to bool: write a dataclass"),
        (tuple[tuple[Server, bool], bool], r"not tuple \(Server, bool\): write a dataclass with such a field"),
        (tuple[int, bool], "an int needs bounds"),
        (tuple[Server, ..., bool], "Ellipsis is not a finite type"),
        (
            frozenset[tuple[Server, bool]],
            r"not tuple \(Server, bool\): write a dataclass, .* or `Map\[tuple\[A, B\], b",
        ),
        (Annotated[frozenset[tuple[Server, bool]], MaxSize(2)], "write a dataclass, whose sets have a MaxSize"),
        (Map[Server, tuple[Server]], "two parts or more"),
    ],
)
def test_tuples_that_are_none(annotation: Any, text: str) -> None:
    with pytest.raises(DomainError, match=text):
        resolve(annotation, Config())


def test_values_that_are_no_tuples_of_the_type() -> None:
    kind = resolve(tuple[Server, Small, Entry], Config())
    whole = (Server(1), 0, Entry(1, Server(0)))
    assert kind.misfit(whole) is None
    clipped = kind.misfit((Server(1), 2, Entry(3, Server(0))))
    assert clipped is not None and (clipped.clipped, clipped.path) == (True, "[1]")
    inner = kind.misfit((Server(1), 1, Entry(3, Server(0))))
    assert inner is not None and (inner.clipped, inner.path) == (True, "[2].term")
    wrong = kind.misfit((Server(2), 2, Entry(1, Server(0))))
    assert wrong is not None and (wrong.clipped, wrong.path) == (False, "[0]")
    for other in (whole[:2], (*whole, 0), list(whole), None, whole[0]):
        found = kind.misfit(other)
        assert found is not None and not found.clipped
    assert list(limits(MapType(BoolType(), kind), "m")) == [
        f"m[{key}]{path}" for key in (False, True) for path in ("[1]", "[2].term")
    ]


def of_tuples(folder: Path) -> Any:
    made = model_text.module("", folder, prelude=record_types.TUPLE_PRELUDE)
    return made, made.State(), resolve(made.State, made.Config())


def test_tuples_in_itf_and_json(tmp_path: Path) -> None:
    made, state, kind = of_tuples(tmp_path)
    pairs, held, log = kind.field("pairs"), kind.field("held"), kind.field("log")
    assert encode(state.pairs, pairs)["#map"][1] == [{"#bigint": "2"}, {"#tup": [{"#bigint": "2"}, True]}]
    assert to_plain(state.pairs, pairs) == {"1": [1, False], "2": [2, True]}
    assert encode((made.Role.LEADER, made.Server(1), True), held) == {
        "tag": "Some",
        "value": {"#tup": ["LEADER", {"#bigint": "1"}, True]},
    }
    assert to_plain(((2, made.Server(1)),), log) == [[2, 1]]
    for name, inner in kind.fields:
        one = getattr(state, name)
        assert decode(encode(one, inner), inner) == from_plain(to_plain(one, inner), inner) == one
    pair = kind.field("pair")
    for wrong in ([1], [1, False, 0], [1, 0], {"[0]": 1, "[1]": False}, 1, None, [True, False], ["1", False]):
        with pytest.raises(TraceError, match=r"is not of the type tuple \(Server, bool\)"):
            from_plain(wrong, pair)
    with pytest.raises(TraceError, match=r"\[0\]: Server\(3\) is not one of the 2 Server ids"):
        from_plain([3, False], pair)
    with pytest.raises(TraceError, match=r"\[0\]: 3 is outside 0\.\.2"):
        decode({"#tup": [{"#bigint": "3"}, {"#bigint": "1"}]}, kind.field("vote"))
    for wrong in ({"#tup": [{"#bigint": "1"}]}, [{"#bigint": "1"}, False], {"#map": []}):
        with pytest.raises(TraceError, match="is not of the type"):
            decode(wrong, pair)


def test_tuples_as_people_read_them(tmp_path: Path) -> None:
    made, state, _ = of_tuples(tmp_path)
    after = made.replace(
        state,
        pair=(made.Server(2), True),
        pairs=state.pairs.put(made.Server(1), (made.Server(2), False)),
        held=(made.Role.LEADER, made.Server(1), False),
    )
    assert [change.line for change in changes(state, after)] == [
        "pair: [1, no] -> [2, yes]",
        "held: none -> [leader, 1, no]",
        "pairs[1]: [1, no] -> [2, no]",
    ]
    assert as_python(after.held) == "(Role.LEADER, Server(1), False,)"
    names = {**vars(made), "c": made.Config()}
    for value in (after.pairs, after.at, after.pair, after.last):
        assert eval(as_python(value), names) == value


REFUSED_OF_TUPLES = [
    # (body of the action, construct, part of the remedy)
    ("return replace(s, n=s.nums[2])", "this index into a tuple (an int, an int)", "one of its places"),
    ("return replace(s, n=s.nums[-3])", "this index into a tuple (an int, an int)", "one of its places"),
    ("return replace(s, on=s.pair[s.n])", "this index into a tuple (Server, bool)", "one of its places"),
    ("return replace(s, n=s.nums[s.n])", "an index that may be negative", "test `s.n >= 0` before"),
    (
        "return replace(s, n=s.nums[-1 if s.n > 1 else 0])",
        "an index that may be negative",
        "`(-1 if s.n > 1 else 0) >= 0`",
    ),
    ("return replace(s, leader=s.two[s.n])", "an index that may be negative", "test `s.n >= 0` before"),
    ("return replace(s, pair=(1, True))", "State.pair", "an int where Server is needed: write `Server(n)`"),
    (
        "return replace(s, pair=(x,))",
        "State.pair",
        "sequence of Server, at most 1 where tuple (Server, bool) is needed",
    ),
    ("return replace(s, two=s.order)", "State.two", "(Server, Server) is needed: write its items: `(x[0], x[1])`"),
    ("return replace(s, nums=tuple(e[0] for e in s.log))", "State.nums", "write its items: `(x[0], x[1])`"),
    ("return replace(s, pair=None)", "State.pair", "None where tuple (Server, bool) is needed"),
    ("return replace(s, pair=s.held)", "State.pair", "(Role, Server, bool) | None where tuple (Server, bool) is"),
    ("return replace(s, order=s.pair)", "State.order", "a tuple (Server, bool) where sequence of Server"),
    ("return replace(s, pairs=s.pairs.put(x, True))", "types do not fit", "bool here and a tuple (Server, bool) there"),
    ("return replace(s, pairs=s.pairs.put(x, (x, x)))", "types do not fit", "Server here and bool there"),
    ("require(s.pair == s.on)\n    return s", "types do not fit", "compare an item of it: `[1]`"),
    ("require(s.last == Entry())\n    return s", "types do not fit", "compare an item of it: `[0]`"),
    ("require(s.pair < s.vote)\n    return s", "an order of bool and Server", "tuples of these"),
    ("require(s.pair)\n    return s", "`s.pair` is a tuple (Server, bool), not a bool", "only bools are conditions"),
    ("s.pair[0] = x\n    return s", "changing `s.pair[0]`", "write `t = (value, t[1])`"),
    ("s.order[0] = x\n    return s", "changing `s.order[0]`", "write `t = t[:i] + (value,) + t[i + 1:]`"),
    ("a, b, d = s.pair\n    return s", "`(a, b, d)` for a tuple (Server, bool)", "as many names as a tuple has items"),
    ("(a, b), d = s.pair\n    return s", "`(a, b)` for Server", "as many names as a tuple has items"),
    ("a, b = s.held\n    return s", "`s.held` may be None here", "some(s.held)"),
    ("a, b = s.log\n    return s", "unpacking a sequence of a tuple (an int, Server)", "write `a = s.log[0]`"),
    ("a, s.on = s.pair\n    return s", "unpacking", "as many names as a tuple has items"),
    ("return replace(s, on=s.pair.sure)", "`.sure` of a tuple (Server, bool)", "records"),
    ("return replace(s, pair=replace(s.pair, x=1))", "replace() of a tuple (Server, bool)", "fields of a record"),
    ("return replace(s, up=frozenset(s.pair))", "types do not fit", "set of Server and set of bool in one set"),
    ("return replace(s, n=len({s.pair}))", "types do not fit", "a tuple (Server, bool) in a set"),
    ("return replace(s, n=sum(s.vote))", "sum() of this", "write `sum(number for x in set)`"),
    ("return replace(s, n=sum(1 for a, b in s.order))", "`(a, b)` for Server", "as many names"),
]


@pytest.mark.parametrize(("body", "construct", "remedy"), REFUSED_OF_TUPLES, ids=[b for b, _, _ in REFUSED_OF_TUPLES])
def test_refused_of_tuples(body: str, construct: str, remedy: str, tmp_path: Path) -> None:
    text = f'@action(who="x")\ndef act(s: State, c: Config, x: Server) -> State:\n    {body}\n'
    made = model_text.module(text, tmp_path, prelude=record_types.TUPLE_PRELUDE)
    (found,) = check(BoundModel(Model.of(made.__name__, state=made.State, config=made.Config)))
    assert construct in found.construct
    assert remedy in found.remedy


def test_a_tuple_is_watched_as_a_whole(tmp_path: Path) -> None:
    text = """
    @action(who="x")
    def act(s: State, x: Server) -> State:
        return replace(s, pairs=s.pairs.put(x, (x, True)))

    @action(who="x", tags=["told"])
    def tell(s: State) -> State:
        return replace(s, on=not s.on)

    @step_property(tags=["told"], watches=["WATCHED"])
    def claim(before: State, after: State) -> bool:
        return True
    """
    for watched, reason in (
        ("pairs", "act can change pairs, which claim"),
        ("pairs.who", "claim watches pairs.who, but only the fields of a record have names"),
        ("last.term", "claim watches last.term, but only the fields of a record have names"),
    ):
        made = model_text.module(text.replace("WATCHED", watched), tmp_path, prelude=record_types.TUPLE_PRELUDE)
        with pytest.raises(LanguageError, match=reason):
            lower_model(BoundModel(Model.of(made.__name__, state=made.State, config=made.Config)))
    made = model_text.module(text.replace("WATCHED", "on"), tmp_path, prelude=record_types.TUPLE_PRELUDE)
    assert check(BoundModel(Model.of(made.__name__, state=made.State, config=made.Config))) == []
