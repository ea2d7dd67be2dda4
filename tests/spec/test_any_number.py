"""The front end for any number: what is free, what the graph says of sets whose size is not known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import pytest

from reassure import Id, MaxLen, Model, Range
from reassure.spec.frontend.any_number import free_numbers, lower_for_any_number
from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.frontend.ir import Graph
from reassure.spec.language.annotations import AnyNumber, SizeIsFree, resolve
from reassure.spec.language.types import ANY, IdType, IntType, SeqType, SetType, unbounded
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers import model_text
from tests.helpers.any_number import bound_to, system_of


class Item(Id, size="items"):
    """A sort of any number of members."""


KIND = IdType(Item, ANY)


def test_what_is_free() -> None:
    assert free_numbers(bound_to("core")).free == {"brokers", "min_isr"}
    assert free_numbers(bound_to("core"), ["brokers"]).free == {"min_isr"}
    kraft = free_numbers(bound_to("kraft")).free
    assert "in_flight" not in kraft  # it sizes a set of records
    assert {"brokers", "min_isr", "replication_factor", "admin_requests", "shutdowns"} <= kraft


def test_relations_of_the_configuration_are_known() -> None:
    system = system_of(bound_to("kraft"))
    assert [repr(relation) for relation in system.relations] == [
        "not(lt(config('brokers'), config('replication_factor')))",
        "not(lt(config('replication_factor'), config('initial_isr')))",
    ]


@dataclass(frozen=True)
class Sizes:
    items: Annotated[int, Range(1, 9)] = 3
    other: Annotated[int, Range(1, 9)] = 2

    @property
    def twice(self) -> int:
        return 2 * self.items

    @property
    def four_times(self) -> int:
        return 2 * self.twice

    @property
    def constant(self) -> int:
        return 7

    @cached_property
    def remembered(self) -> int:
        return self.items


def test_what_depends_on_a_free_number() -> None:
    any_number = AnyNumber(Sizes(), frozenset({"items"}))
    names = ("items", "other", "twice", "four_times", "constant", "remembered")
    assert {name: any_number.reads(name) for name in names} == {
        "items": {"items"},
        "other": {"other"},
        "twice": {"items"},
        "four_times": {"items"},
        "constant": set(),
        "remembered": {"items", "other"},
    }


@dataclass(frozen=True)
class Named:
    item: Item


@pytest.mark.parametrize("item", [bool, Annotated[int, Range(0, 3)], Named])
def test_a_free_number_sizes_no_sequence_of_a_term_for_each_place(item: object) -> None:
    """A drawn model had 1,099,511,627,776 columns of one."""
    annotation = Annotated[tuple[item, ...], MaxLen("other", declared=True)]  # type: ignore[valid-type]
    assert str(resolve(annotation, AnyNumber(Sizes(), frozenset({"items"})))).endswith("at most 2")
    with pytest.raises(SizeIsFree, match=r"^other sizes a sequence$") as caught:
        resolve(annotation, AnyNumber(Sizes(), frozenset({"items", "other"})))
    assert caught.value.names == {"other"}


def test_a_sequence_of_any_number_of_ids_is_one_term() -> None:
    annotation = Annotated[tuple[Item, ...], MaxLen("other")]
    assert resolve(annotation, AnyNumber(Sizes(), frozenset({"items", "other"}))) == SeqType(KIND, ANY)
    with pytest.raises(SizeIsFree, match=r"^other sizes a sequence$"):
        resolve(annotation, AnyNumber(Sizes(), frozenset({"other"})))


def test_sets_that_are_known_but_for_their_size_are_not_compared() -> None:
    g = Graph()
    nobody, first, second = (g.const(mask, SetType(KIND)) for mask in (0, 1, 2))
    everybody = g.full(KIND)
    all_but_first = g.minus(everybody, first)
    assert unbounded(KIND)
    assert g.eq(first, second) is g.false
    assert g.eq(everybody, all_but_first) is g.false
    assert g.eq(all_but_first, nobody).op == "eq"  # with one item it is empty
    assert g.eq(first, everybody).op == "eq"
    assert g.member(g.const(0, KIND), all_but_first) is g.false
    assert g.member(g.const(5, KIND), all_but_first) is g.true
    assert g.card(everybody).op == "card"
    assert g.extreme("lowest", all_but_first).op == "lowest"


def test_comprehensions_that_say_the_same_are_one_node() -> None:
    g = Graph()
    some = g.var("some", SetType(KIND))
    (one,), (other,) = g.indices(KIND), g.indices(KIND)
    assert one is not other
    assert g.those(KIND, one, g.member(one, some)) is some
    less = [g.those(KIND, x, g.lt(x, g.const(2, KIND))) for x in (one, other)]
    assert less[0] is less[1]
    assert less[0].params == frozenset()
    both = g.those(KIND, one, g.and_(g.member(one, some), g.not_(g.eq(one, g.const(0, KIND)))))
    assert both is g.minus(some, g.single(g.const(0, KIND))) or both.op in ("inter", "minus")


def test_a_member_is_captured_by_no_comprehension() -> None:
    """The least of those above a member, in a comprehension over that member."""
    g = Graph()
    (outer,), (inner,) = g.indices(KIND), g.indices(KIND)
    above = g.those(KIND, inner, g.lt(outer, inner))
    assert above.params == {f"#{outer.data}"}
    crowded = g.those(KIND, outer, g.lt(g.num(2), g.card(above)))
    assert crowded.params == frozenset()
    assert crowded.height == 2
    table = g.table(KIND, g.card(g.those(KIND, inner, g.lt(g.key(KIND), inner))))
    at = g.at(table, g.extreme("lowest", crowded))
    assert at is g.card(g.those(KIND, inner, g.lt(g.extreme("lowest", crowded), inner)))


def test_a_table_of_what_a_table_has_is_the_table() -> None:
    g = Graph()
    kind = IntType(0, 5)
    table = g.table(KIND, g.num(3))
    assert g.at(table, g.const(1, KIND)) is g.num(3)
    assert g.table(KIND, g.at(table, g.key(KIND))) is table
    assert kind.low == 0


NO_SUCH = """
@action(who="tester")
def act(s: State, c: Config) -> State:
    return replace(s, leader=Node(2))
"""


def test_an_id_that_a_smaller_configuration_lacks_is_refused(tmp_path: Path) -> None:
    made = model_text.module(NO_SUCH, tmp_path)
    bound = BoundModel(Model.of(made.__name__, state=made.State, config=made.Config))
    with pytest.raises(SubsetError, match="with nodes=1 there is none"):
        lower_for_any_number(bound, free_numbers(bound))
