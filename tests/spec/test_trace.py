"""ITF round trips for values of every type; packed states round trip and keep the canonical order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.encoding.state_layout import codes, layout_of, pack_record, unpack_record
from reassure.spec.language.annotations import resolve
from reassure.spec.language.types import (
    BagType,
    ColumnsType,
    DomainError,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import TraceError, decode, encode
from tests.helpers.model_text import PRELUDE, module
from tests.helpers.record_types import SEQUENCE_PRELUDE, TUPLE_PRELUDE


def of_type(kind: Type) -> st.SearchStrategy[object]:
    """Values of a finite type."""
    if isinstance(kind, RecordType):
        return st.builds(lambda *v: kind.made(v), *(of_type(t) for _, t in kind.fields))
    if isinstance(kind, MapType):
        keys = list(kind.key.values())
        return st.tuples(*(of_type(kind.value) for _ in keys)).map(lambda v: Map(zip(keys, v, strict=True)))
    if isinstance(kind, OptionType):
        return st.none() | of_type(kind.inner)
    if isinstance(kind, SetType):
        return st.frozensets(of_type(kind.item))
    if isinstance(kind, SeqType | ColumnsType):
        return st.lists(of_type(kind.item), max_size=kind.length).map(tuple)
    if isinstance(kind, BagType):
        return st.frozensets(of_type(kind.item), max_size=kind.size)
    return st.sampled_from(list(kind.values()))


def of_states(prelude: str, folder: Path) -> RecordType:
    text = "@action(who='x')\ndef act(s: State) -> State:\n    return s\n"
    text += "MODEL = Model.of(__name__, state=State, config=Config)\n"
    return BoundModel(module(text, folder, prelude=prelude).MODEL).type


@pytest.fixture(scope="module")
def state_type(tmp_path_factory: pytest.TempPathFactory) -> RecordType:
    return of_states(PRELUDE, tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module", params=[PRELUDE, SEQUENCE_PRELUDE, TUPLE_PRELUDE], ids=["sets", "sequences", "tuples"])
def any_state_type(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> RecordType:
    return of_states(request.param, tmp_path_factory.mktemp("models"))


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_itf_round_trip(any_state_type: RecordType, data: st.DataObject) -> None:
    value = data.draw(of_type(any_state_type))
    assert any_state_type.misfit(value) is None
    assert decode(encode(value, any_state_type), any_state_type) == value


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_layout_round_trip(any_state_type: RecordType, data: st.DataObject) -> None:
    layout = layout_of(any_state_type, tag=8)
    value = data.draw(of_type(any_state_type))
    words = layout.encode(value)
    assert len(words) == layout.words
    assert words[0] < 1 << 56
    assert layout.decode(words) == value


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_packed_records_are_ordered_by_rank(state_type: RecordType, data: st.DataObject) -> None:
    message = state_type.field("sent").item  # type: ignore[attr-defined]
    a, b = data.draw(of_type(message)), data.draw(of_type(message))
    assert unpack_record(pack_record(a, message), message) == a
    assert (pack_record(a, message) < pack_record(b, message)) == (message.rank(a) < message.rank(b))


def test_values_come_in_canonical_order(state_type: RecordType) -> None:
    for name in ("alive", "leader", "order", "colour", "inner", "score", "sent", "number"):
        kind = state_type.field(name)
        values = list(kind.values())
        assert len(values) == len(set(values)) == kind.count
        if not isinstance(kind, BagType):
            assert values == sorted(values, key=kind.rank)
        assert all(kind.misfit(v) is None for v in values)


def test_itf_encoding(state_type: RecordType) -> None:
    number = state_type.field("number")
    assert encode(-2, number) == {"#bigint": "-2"}
    assert decode({"#bigint": "-2"}, number) == -2
    assert decode(3, number) == 3  # older writers
    alive = state_type.field("alive")
    two_one = frozenset(list(alive.item.values())[:2])  # type: ignore[attr-defined]
    assert encode(two_one, alive) == {"#set": [{"#bigint": "1"}, {"#bigint": "2"}]}
    assert encode(None, state_type.field("leader")) == {"tag": "None", "value": {}}
    with pytest.raises(TraceError, match=r"outside -2\.\.5"):
        decode({"#bigint": "6"}, number)
    with pytest.raises(TraceError):
        decode({"#set": [{"#bigint": "9"}]}, alive)
    with pytest.raises(TraceError):
        decode("BLUE", state_type.field("colour"))


@pytest.mark.parametrize(
    ("field", "data"),
    [
        ("number", 3.7),
        ("number", True),
        ("number", {"#bigint": "1_0"}),
        ("number", {"#bigint": 1}),
        ("number", {"#bigint": " 1"}),
        ("number", float("inf")),
        ("leader", None),
        ("leader", {"tag": "Any", "value": {"#bigint": "1"}}),
        ("alive", [{"#bigint": "1"}]),
        ("order", {"#set": []}),
        ("score", {"#map": [[{"#bigint": "1"}, "RED"]]}),
        ("score", {"#map": [[{"#bigint": "1"}, "RED"]] * 2}),
        ("inner", {"count": {"#bigint": "0"}}),
        ("inner", {"count": {"#bigint": "0"}, "on": 1}),
        ("sent", {"#set": [{"source": {"#bigint": "1"}}]}),
    ],
)
def test_what_is_no_value(state_type: RecordType, field: str, data: object) -> None:
    """Nothing is rounded, completed or guessed."""
    with pytest.raises(TraceError):
        decode(data, state_type.field(field))


def test_sets_and_maps_are_written_in_canonical_order(state_type: RecordType) -> None:
    alive, score = state_type.field("alive"), state_type.field("score")
    everyone = list(alive.item.values())  # type: ignore[attr-defined]
    assert [v["#bigint"] for v in encode(frozenset(reversed(everyone)), alive)["#set"]] == ["1", "2", "3"]
    colour = next(iter(score.value.values()))  # type: ignore[attr-defined]
    backwards = Map([(k, colour) for k in reversed(everyone)])
    assert [k["#bigint"] for k, _ in encode(backwards, score)["#map"]] == ["1", "2", "3"]


def test_a_record_that_looks_like_a_variant_is_refused(tmp_path: Path) -> None:
    made = module("@dataclass(frozen=True)\nclass Odd:\n    tag: bool\n    value: bool\n", tmp_path)
    with pytest.raises(TraceError, match="tag and value"):
        encode(made.Odd(True, False), resolve(made.Odd, made.Config()))


def test_layout_uses_few_words(state_type: RecordType) -> None:
    layout = layout_of(state_type)
    assert layout.bits == sum(c.bits for c in codes(state_type)) == 37
    assert layout.words == layout_of(state_type, tag=8).words == 1
    assert layout_of(state_type, tag=28).words == 2


def test_too_wide() -> None:
    class Config:
        n = 63

    from reassure.spec.language.values import Id

    class Wide(Id, size="n"): ...

    with pytest.raises(DomainError, match="a set over 63 values; at most 62"):
        resolve(frozenset[Wide], Config())
