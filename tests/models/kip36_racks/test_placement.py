"""KIP-36: the document's examples, Kafka's answers, the claims R1 to R5, and what lies beyond their bounds."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, MutableSequence, Sequence
from pathlib import Path
from typing import Any

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.ledger import ledger
from reassure.checkers.ledger.ledger import Record
from reassure.models.kip36_racks import placement_cases as claims
from reassure.models.kraft import placement_cases as kraft_placement_claims
from reassure.spec.claims import Outcome
from reassure.spec.kafka import placement
from reassure.spec.kafka.placement import (
    MissingRackError,
    PartitionCountError,
    PlacementError,
    RackMode,
    ReplicationFactorError,
    StripedPlacer,
    UsableBroker,
    assign,
    rack_alternated,
)
from tests.helpers.kafka_vectors import Vector

ROOT = Path(__file__).parents[3]
FILE = ROOT.parent / "shared" / "kafka_vectors.json"
GROUPS: dict[str, list[Vector]] = json.loads(FILE.read_text())["groups"] if FILE.is_file() else {}
DISTRIBUTIONS = {
    "distinct_racks_per_partition": lambda made, racks: {len({racks[b] for b in r}) for r in made.values()},
    "replicas_per_partition": lambda made, racks: {len(r) for r in made.values()},
    "leader_count_per_broker": lambda made, racks: {Counter(r[0] for r in made.values())[b] for b in racks},
    "replica_count_per_broker": lambda made, racks: {Counter(b for r in made.values() for b in r)[x] for x in racks},
}
"""What a vector may say of an assignment with a random start: by name, the values that occur."""
ERRORS: dict[str, type[PlacementError]] = {
    "InvalidReplicationFactorException": ReplicationFactorError,
    "AdminOperationException": MissingRackError,
}
NOT_APPLICABLE: dict[str, str] = {}
"""Vectors of the three groups that cannot apply, with the reason: there are none."""


def vectors(group: str) -> Any:
    found = [v for v in GROUPS.get(group, []) if v["id"] not in NOT_APPLICABLE]
    if not found:
        skipped = pytest.mark.skip(reason="kafka_vectors.json is not beside the checkout")
        return pytest.mark.parametrize("v", [pytest.param({}, marks=skipped)])
    return pytest.mark.parametrize("v", found, ids=[v["id"] for v in found])


def racks_of(v: Vector) -> dict[int, Any]:
    return {int(b): rack for b, rack in v["broker_racks"].items()}


# -- R1: the document -------------------------------------------------------------------------------------------


def test_the_documents_list() -> None:
    assert rack_alternated({0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}) == [
        0,
        3,
        1,
        5,
        4,
        2,
    ]


def test_the_documents_assignments_are_those_of_the_claim() -> None:
    """What `kip36_racks.placement_cases` compares with is what the document prints."""
    path = ROOT.parent / "shared" / "seeds" / "004_ba2895aabc08eb3d.txt"
    if not path.is_file():
        pytest.skip("the documents are not beside the checkout")
    lines = re.findall(r"^ ?(\d+) ?-> ?\((\d(?:,\d)*)\)", path.read_text(), re.MULTILINE)
    printed = [(int(p), tuple(int(b) for b in replicas.split(","))) for p, replicas in lines]
    assert printed[:12] == list(enumerate(claims.FIRST_SIX + claims.NEXT_SIX))
    assert printed[12:] == [(0, (0, 1)), (1, (1, 0)), (2, (2, 0))]


def test_the_uneven_example_step_by_step() -> None:
    made = assign(claims.UNEVEN, 3, 2)
    assert rack_alternated(claims.UNEVEN) == [0, 1, 2]
    assert made == {0: (0, 1), 1: (1, 0), 2: (2, 0)}  # not 1 -> (1, 2): both are in rack2


# -- Kafka's answers --------------------------------------------------------------------------------------------


@vectors("rack_alternated_list")
def test_kafka_list(v: Vector) -> None:
    assert rack_alternated(racks_of(v)) == v["expect"]


@vectors("rack_aware")
def test_kafka_assignment(v: Vector) -> None:
    racks, expect = racks_of(v), v["expect"]
    fixed, first = v["fixed_start_index"], max(0, v["start_partition_id"])

    def made(start: int, shift: int) -> dict[int, tuple[int, ...]]:
        return assign(
            racks, v["n_partitions"], v["replication_factor"], start_index=start, shift=shift, first_partition=first
        )

    if "error" in expect:
        with pytest.raises(ERRORS[expect["error"]]):
            made(max(0, fixed), max(0, fixed))
    elif "assignment" in expect:
        assert made(fixed, fixed) == {int(p): tuple(replicas) for p, replicas in expect["assignment"].items()}
    else:
        assert fixed == -1  # drawn at random: so for all that can be drawn
        for start in range(len(racks)):
            for shift in range(len(racks)):
                for name, value in expect["distribution"].items():
                    assert DISTRIBUTIONS[name](made(start, shift), racks) == {value}, (name, start, shift)


class MockRandom:
    """The generator of Kafka's unit tests, with `java.util.Random.nextInt` and `Collections.shuffle` over it."""

    def __init__(self) -> None:
        self.state = 17

    def below(self, bound: int) -> int:
        while True:
            self.state = (self.state * 2862933555777941757 + 3037000493) % (1 << 64)
            bits = self.state >> 33
            if bound & (bound - 1) == 0:
                return (bound * bits) >> 31
            if bits - bits % bound + bound - 1 < 1 << 31:
                return bits % bound

    def shuffle(self, items: MutableSequence[int]) -> None:
        for size in range(len(items), 1, -1):
            other = self.below(size)
            items[size - 1], items[other] = items[other], items[size - 1]


@vectors("striped_placer")
def test_kafka_striped_placer(v: Vector) -> None:
    placer = StripedPlacer([UsableBroker(**b) for b in v["brokers"]], MockRandom())
    if "error" in v["expect"]:
        with pytest.raises(ERRORS[v["expect"]["error"]]):
            placer.place(v["replication_factor"])
    else:
        made = [list(placer.place(v["replication_factor"])) for _ in range(v["n_partitions"])]
        assert made == v["expect"]["placements"]


def test_mock_random_is_kafkas() -> None:
    drawn = MockRandom()
    assert [drawn.below(b) for b in (4, 4, 4, 4, 5, 5, 3, 3, 10, 100)] == [2, 2, 0, 3, 0, 0, 2, 0, 8, 32]


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_striped_placements(data: st.DataObject) -> None:
    """Distinct brokers, a live one first, and as many racks as can be: also with brokers that have none."""
    racks = data.draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=9))
    fenced = data.draw(st.lists(st.booleans(), min_size=len(racks), max_size=len(racks)).filter(lambda f: not all(f)))
    brokers = [UsableBroker(i, r, f) for i, (r, f) in enumerate(zip(racks, fenced, strict=True))]
    rf = data.draw(st.integers(1, len(brokers)))
    placer = StripedPlacer(brokers, MockRandom())
    for _ in range(2 * len(brokers) + 1):
        replicas = placer.place(rf)
        assert len(set(replicas)) == len(replicas) == rf
        assert not fenced[replicas[0]]
        assert len({racks[b] for b in replicas}) == min(rf, len(set(racks)))


def test_striped_refuses_more_than_there_are() -> None:
    placer = StripedPlacer([UsableBroker(1), UsableBroker(2)], MockRandom())
    with pytest.raises(ReplicationFactorError, match="replication factor 3 is more than the 2 brokers"):
        placer.place(3)
    with pytest.raises(ReplicationFactorError, match="every broker is fenced"):
        StripedPlacer([], MockRandom()).place(1)


# -- R2 to R5: the claims -----------------------------------------------------------------------------------------

OUTCOMES: dict[str, tuple[int, str | None]] = {
    "examples_as_printed": (16, None),
    "list_alternates_racks": (3131, None),
    "follower_is_next_to_the_leader": (8, "partition 3 -> (0, 2), and 1 is next to 0"),
    "shift_changes_the_sequence": (
        2,
        "rack a: 0, 1; rack b: 2; replication factor 2: round 2 is round 1, as 3 - 1 divides 2",
    ),
    "equal_leaders": (135154, None),
    "equal_replicas_in_equal_racks": (45288, None),
    "equal_replicas_when_partitions_are_added": (70, "replicas by broker: {0: 2, 1: 1, 2: 3}"),
    "replicas_may_differ_in_unequal_racks": (7, None),
    "even_in_the_perfect_case": (1814, None),
    "even_in_the_perfect_case_when_partitions_are_added": (187, "replicas by broker: {0: 2, 1: 2, 2: 1, 3: 3}"),
    "at_most_one_replica_per_rack": (408161, None),
    "at_least_one_replica_per_rack": (270354, None),
    "racks_may_differ_by_more_than_one": (1077, None),
    "two_racks_four_replicas": (570, None),
    "replicas_are_distinct_and_as_many_as_asked": (705133, None),
    "too_many_replicas_are_refused": (42816, None),
    "automatic_creation_ignores_racks": (4731, None),
    "tools_refuse": (1001, None),
    "tools_refuse_as_in_the_code": (1, "{0: None} is accepted"),
    "told_to_ignore_racks_tools_go_on": (1250, None),
}
"""By function: cases gone through, and what the counterexample says where the claim does not hold."""


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    """What the ledger has of each run."""
    return ledger.read_ledger().records


def must_be_recorded(function: str, outcome: Outcome, records: dict[str, Record]) -> None:
    """The ledger says what the function says now."""
    record = records[f"enumerate {function}"]
    assert (record.cases, record.covered, record.counterexample) == (
        outcome.cases,
        outcome.bounds,
        outcome.counterexample or "",
    )
    assert [r.status for r in record.results.values()] == ["holds" if outcome.holds else "violated"]


@pytest.mark.parametrize("name", OUTCOMES)
def test_claim(name: str, records: dict[str, Record]) -> None:
    outcome: Outcome = getattr(claims, name)()
    must_be_recorded(f"kip36_racks.placement_cases:{name}", outcome, records)
    cases, fallen = OUTCOMES[name]
    assert outcome.cases == cases
    assert outcome.holds == (fallen is None)
    if fallen is None:
        assert outcome.counterexample is None
    else:
        assert outcome.counterexample is not None and fallen in outcome.counterexample


def test_every_reading_by_cases_is_tested_here() -> None:
    data = tomllib.loads((ROOT / "spec" / "claims" / "R.toml").read_text())
    here = {f"kip36_racks.placement_cases:{name}": o for name, o in OUTCOMES.items()}
    here |= {f"kraft.placement_cases:{name}": o for name, o in KRAFT.items()}
    readings = [r for c in data["claim"] for r in c["reading"] if "placement_cases" in r.get("function", "")]
    assert {r["function"] for r in readings} == set(here)
    for reading in readings:
        holds = here[reading["function"]][1] is None
        assert reading["expect"] == ("holds" if holds else "violated"), reading["name"]


def test_what_may_be_is_told() -> None:
    assert "replicas by broker: {0: 1, 1: 2, 2: 3}" in claims.replicas_may_differ_in_unequal_racks().bounds
    assert "(1, 4, 2, 0): rack b has 1, another 3" in claims.racks_may_differ_by_more_than_one().bounds
    assert not claims.seen(Outcome(True, 1, "")).holds


KRAFT: dict[str, tuple[int, str | None]] = {
    "spreads": (170016, None),
    "equal_leaders": (213, "{0: (0, 2), 1: (3, 1), 2: (0, 2), 3: (3, 1)}: {0: 2, 3: 2}"),
    "equal_replicas": (217, "{0: 2, 1: 4, 2: 4, 3: 2}"),
}


@pytest.mark.parametrize("name", KRAFT)
def test_claim_of_the_placer_in_kraft(name: str, records: dict[str, Record]) -> None:
    outcome: Outcome = getattr(kraft_placement_claims, name)()
    must_be_recorded(f"kraft.placement_cases:{name}", outcome, records)
    cases, fallen = KRAFT[name]
    assert (outcome.cases, outcome.holds) == (cases, fallen is None)
    assert fallen is None or (outcome.counterexample is not None and fallen in outcome.counterexample)


def test_leaders_of_three_racks_of_three() -> None:
    """KAFKA-15354 by Kafka's own generator: nine partitions, three leaders."""
    placer = StripedPlacer([UsableBroker(b, "abc"[b // 3]) for b in range(9)], MockRandom())
    assert Counter(placer.place(3)[0] for _ in range(9)) == {0: 3, 4: 3, 8: 3}


def unshifted(order: Sequence[int], racks: dict[int, str], rf: int, first: int, shift: int) -> tuple[int, ...]:
    return tuple(order[(first + j) % len(order)] for j in range(rf))


def always_the_lowest(order: Sequence[int], racks: dict[int, str], rf: int, first: int, shift: int) -> tuple[int, ...]:
    return (order[first], *sorted(b for b in order if b != order[first])[: rf - 1])


def with_itself(order: Sequence[int], racks: dict[int, str], rf: int, first: int, shift: int) -> tuple[int, ...]:
    return (order[first],) * rf


def one_leader(order: Sequence[int], racks: dict[int, str], rf: int, first: int, shift: int) -> tuple[int, ...]:
    return tuple(order[:rf])


def read_as(mode: RackMode, instead: RackMode) -> Callable[[Any], Any]:
    """One mode is taken for another."""
    return lambda right: lambda racks, m: right(racks, instead if m is mode else m)


BOTH = (placement, claims)
FLAWS: list[tuple[Any, str, tuple[Any, ...], str, Callable[[Any], Any]]] = [
    # where the claim is, its name, and the function there that is made wrong, given the right one
    *(
        (claims, name, BOTH, "replicas_aware", lambda right, flaw=flaw: flaw)
        for flaw, name in (
            (unshifted, "at_most_one_replica_per_rack"),
            (unshifted, "at_least_one_replica_per_rack"),
            (unshifted, "examples_as_printed"),
            (always_the_lowest, "equal_replicas_in_equal_racks"),
            (always_the_lowest, "even_in_the_perfect_case"),
            (with_itself, "replicas_are_distinct_and_as_many_as_asked"),
            (one_leader, "equal_leaders"),
            (always_the_lowest, "two_racks_four_replicas"),
        )
    ),
    *(
        (claims, name, (placement,), "counted", read_as(mode, instead))
        for name, mode, instead in (
            ("automatic_creation_ignores_racks", RackMode.FALL_BACK, RackMode.REFUSE_SOME),
            ("told_to_ignore_racks_tools_go_on", RackMode.IGNORE, RackMode.REFUSE_SOME),
            ("tools_refuse", RackMode.REFUSE, RackMode.IGNORE),
        )
    ),
    (
        claims,
        "automatic_creation_ignores_racks",
        (placement,),
        "counted",
        lambda right: lambda racks, m: {b: r or "none" for b, r in racks.items()} if m else right(racks, m),
    ),
    (
        claims,
        "automatic_creation_ignores_racks",
        (placement,),
        "replicas_unaware",
        lambda right: lambda order, rf, first, shift: unshifted(order, {}, rf, first, 0),
    ),
    (claims, "list_alternates_racks", (claims,), "rack_alternated", lambda right: sorted),
    (claims, "too_many_replicas_are_refused", (claims,), "assign", lambda right: lambda *_, **__: {}),
    (kraft_placement_claims, "spreads", (StripedPlacer,), "place", lambda right: lambda placer, rf: (0,) * rf),
]


@pytest.mark.parametrize(("where", "name", "owners", "function", "wrong"), FLAWS)
def test_claims_that_hold_can_fall(
    where: Any,
    name: str,
    owners: tuple[Any, ...],
    function: str,
    wrong: Callable[[Any], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = getattr(owners[0], function)
    for owner in owners:
        monkeypatch.setattr(owner, function, wrong(right))
    assert not getattr(where, name)().holds


AS_BEFORE_RACKS = [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 0), (4, 0, 1)]
AS_BEFORE_RACKS += [(0, 2, 3), (1, 3, 4), (2, 4, 0), (3, 0, 1), (4, 1, 2)]
"""Kafka's illustration of the implementation before racks: five brokers, ten partitions, three replicas."""


def test_creation_without_racks_is_what_it_was() -> None:
    assert list(claims.without_racks([0, 1, 2, 3, 4], 10, 3).values()) == AS_BEFORE_RACKS


# -- beyond the bounds ----------------------------------------------------------------------------------------------


@given(st.dictionaries(st.integers(0, 999), st.sampled_from("abcdefgh"), min_size=1, max_size=40), st.data())
@settings(max_examples=150, deadline=None)
def test_spread_in_large_clusters(racks: dict[int, str], data: st.DataObject) -> None:
    rf = data.draw(st.integers(1, min(len(racks), 12)))
    start, shift = data.draw(st.integers(0, 99)), data.draw(st.integers(0, 99))
    first = data.draw(st.integers(0, 200))
    made = assign(racks, 2 * len(racks), rf, start_index=start, shift=shift, first_partition=first)
    assert sorted(made) == list(range(first, first + 2 * len(racks)))
    for replicas in made.values():
        assert len(set(replicas)) == rf
        assert len({racks[b] for b in replicas}) == min(rf, len(set(racks.values())))
    assert set(Counter(r[0] for r in made.values()).values()) == {2}


@given(st.integers(1, 6), st.integers(1, 6), st.data())
@settings(max_examples=100, deadline=None)
def test_evenness_in_equal_racks(racks: int, size: int, data: st.DataObject) -> None:
    """R2 beyond 9 brokers: what makes it so is that turning the list by one turns every assignment by one."""
    layout = {b: f"r{b % racks}" for b in range(racks * size)}
    rf = data.draw(st.integers(1, len(layout)))
    shift, start = data.draw(st.integers(0, 20)), data.draw(st.integers(0, 50))
    times = data.draw(st.integers(1, 3))
    made = assign(layout, times * len(layout), rf, start_index=start, shift=shift)
    assert set(Counter(b for r in made.values() for b in r).values()) == {times * rf}


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=7), st.data())
@settings(max_examples=150, deadline=None)
def test_ids_do_not_matter(placed: list[str], data: st.DataObject) -> None:
    """Layouts with the same rack sizes differ in names only, which is why one of each size is enough."""
    racks = dict(enumerate(placed))
    ids = data.draw(st.permutations(range(len(placed))))
    renamed = {ids[b]: r for b, r in racks.items()}
    rf = data.draw(st.integers(1, len(placed)))
    names = dict(zip(rack_alternated(racks), rack_alternated(renamed), strict=True))
    made, other = assign(racks, 2 * len(placed), rf), assign(renamed, 2 * len(placed), rf)
    assert {p: tuple(names[b] for b in r) for p, r in made.items()} == other


@pytest.mark.parametrize("brokers", range(2, 6))
def test_spread_whatever_the_order_of_the_list(brokers: int) -> None:
    """R3 and R4 by Z3, for every rack of every position: the list need not even alternate.

    Two rounds of looking are enough to find all replicas. The leader is at position 0: the list is arbitrary.
    """
    rack = [z3.BitVec(f"rack{i}", 4) for i in range(brokers)]
    numbers = range(brokers)
    exists = [z3.Or([r == n for r in rack]) for n in numbers]

    def used(chosen: list[Any], n: Any) -> Any:
        return z3.Or([z3.And(c, r == n) for c, r in zip(chosen, rack, strict=True)])

    for rf in range(1, brokers + 1):
        for shift in range(brokers - 1):
            solver = z3.Solver()
            solver.add([z3.ULT(r, brokers) for r in rack])
            chosen: list[Any] = [z3.BoolVal(i == 0) for i in numbers]
            for look in range(2 * (brokers - 1)):
                at = placement.follower_index(0, shift, look, brokers)
                all_used = z3.And([z3.Implies(e, used(chosen, n)) for n, e in zip(numbers, exists, strict=True)])
                fits = z3.Or(z3.Not(used(chosen, rack[at])), all_used)
                takes = z3.And(z3.PbLe([(c, 1) for c in chosen], rf - 1), z3.Not(chosen[at]), fits)
                chosen[at] = z3.simplify(z3.Or(chosen[at], takes))
            assert solver.check() == z3.sat
            complete = z3.PbEq([(c, 1) for c in chosen], rf)
            nowhere_twice = [
                z3.Or(z3.Not(z3.And(chosen[i], chosen[j])), rack[i] != rack[j]) for i in numbers for j in range(i)
            ]
            everywhere = [z3.Implies(e, used(chosen, n)) for n, e in zip(numbers, exists, strict=True)]
            enough = z3.PbGe([(e, 1) for e in exists], rf)
            solver.add(z3.Not(z3.And(complete, z3.If(enough, z3.And(nowhere_twice), z3.And(everywhere)))))
            assert solver.check() == z3.unsat


# -- bad input ------------------------------------------------------------------------------------------------------

BAD: list[tuple[dict[str, Any], type[PlacementError], str]] = [
    ({"partitions": 0}, PartitionCountError, "0 partitions; at least 1"),
    ({"first_partition": -1}, PartitionCountError, "first partition -1"),
    ({"replication_factor": 0}, ReplicationFactorError, "at least 1 is needed"),
    ({"replication_factor": 3}, ReplicationFactorError, "replication factor 3 is more than the 2 brokers"),
    ({"start_index": -1}, PlacementError, "start index -1"),
    ({"shift": -1}, PlacementError, "shift -1"),
    ({"racks": {}}, ReplicationFactorError, "more than the 0 brokers"),
    ({"racks": {1: "a", 2: None}}, MissingRackError, "no rack is known of broker 2"),
    ({"racks": {1: None, 2: None}, "mode": RackMode.REFUSE}, MissingRackError, "of brokers 1, 2"),
    ({"racks": {0: "a", **dict.fromkeys(range(1, 8))}}, MissingRackError, "of brokers 1, 2, 3, 4, 5, ..."),
]


@pytest.mark.parametrize(("changed", "error", "message"), BAD, ids=[m for _, _, m in BAD])
def test_bad_input(changed: dict[str, Any], error: type[PlacementError], message: str) -> None:
    given_ = {"racks": {1: "a", 2: "b"}, "partitions": 2, "replication_factor": 2, **changed}
    with pytest.raises(error) as raised:
        assign(given_.pop("racks"), given_.pop("partitions"), given_.pop("replication_factor"), **given_)
    assert message in str(raised.value)
    assert type(raised.value) is error
