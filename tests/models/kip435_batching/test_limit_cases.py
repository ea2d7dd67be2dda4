"""KIP-435: values outside the range of the table, steps 3a and 3d; what is copied from the text is what it says.

Also here: X1 for batches: the counterexample stands, and the walk sees what it should.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from reassure.models.kip435_batching import batching_capped, limit_cases, rules
from reassure.models.kip435_batching import rack_cases as racks
from reassure.models.kip435_batching.cases import TABLE, USED, Step, as_printed, brokers, steps
from reassure.models.kip435_batching.rules import repaired
from reassure.models.kip435_batching.sentence_cases import MODES, PUBLIC
from reassure.models.kip435_batching.zookeeper_cluster import Next
from reassure.spec.kafka.partition import Broker, Brokers
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.batching_spaces import LIMITS, P0, P1
from tests.helpers.brokers import b

SEED = Path(__file__).parents[4] / "shared" / "seeds" / "000_fb6c529609128823.txt"


@pytest.mark.parametrize("name", LIMITS)
def test_limit(name: str) -> None:
    found = getattr(limit_cases, name)()
    assert (found.holds, found.cases) == LIMITS[name]
    assert (found.counterexample is None) == found.holds


@pytest.mark.parametrize("rule", [as_printed, rules.repaired])
def test_with_a_valid_value_reassignments_end_and_batches_are_not_empty(rule: Step) -> None:
    assert limit_cases.ends_with(rule, (1, 2)).holds
    assert limit_cases.batch_is_not_empty(rules.collected_from_steps, (1, 2)).holds


def only_the_leader(
    target: tuple[Broker, ...], current: tuple[Broker, ...], isr: Brokers, alive: Brokers, r: int, min_isr: int
) -> tuple[Broker, ...]:
    """As printed, but 3d takes nothing."""
    if 1 <= min_isr < 2 and target[0] not in current:
        return (*current, target[0])
    return as_printed(target, current, isr, alive, r, min_isr)


def test_a_rule_that_never_uses_3d_is_found_out() -> None:
    outcome = limit_cases.adds_all_that_r_allows(only_the_leader, True)
    assert outcome.counterexample == "(1) to (2, 3), R = 2, MinISR = 1: 1 added"


def test_3a_by_hand() -> None:
    """1 and 4 have replicas, 1 alone is in sync, MinISR is 3: two are needed, and two are online."""
    told = (brokers(1, 2, 3), brokers(1, 4), b(1), b(1, 2, 3, 4), 1, 3)
    assert limit_cases.with_3a(False, *told) == brokers(1, 2)
    assert limit_cases.with_3a(True, *told) == brokers(1, 2, 3)


def test_the_cap_and_the_running_step_accept_and_refuse() -> None:
    config = batching_capped.Config(partitions=2, replicas_at_once=1)
    start = next(s for _, _, s in BoundModel(batching_capped.MODEL, config).initial_states())
    one = replace(start, logs=start.logs.put(P0, replace(start.logs[P0], fresh=b(3))))
    two = replace(one, logs=one.logs.put(P1, replace(one.logs[P1], fresh=b(3))))
    assert batching_capped.movements_within_the_cap(one, config) is True
    assert batching_capped.movements_within_the_cap(two, config) is False
    runs = replace(start, memory=start.memory.put(P0, replace(start.memory[P0], next=Next.TELL, goal=brokers(3))))
    other = replace(runs, memory=runs.memory.put(P0, replace(runs.memory[P0], goal=brokers(4))))
    ends = replace(runs, memory=runs.memory.put(P0, replace(runs.memory[P0], next=Next.FINISH)))
    left_alone = rules.running_step_is_left_as_it_is
    assert left_alone(before=runs, after=ends, c=config) is True
    assert left_alone(before=ends, after=start, c=config) is True
    assert left_alone(before=runs, after=other, c=config) is False
    assert left_alone(before=runs, after=start, c=config) is False


def test_what_is_copied_from_the_text_is_what_it_says() -> None:
    """B1, B15 and B16 compare these constants with each other: they are read, and no checker has found them."""
    if not SEED.is_file():
        pytest.skip("the documents are not beside the checkout")
    text = SEED.read_text(encoding="utf-8")
    rows = {line.split("\t")[0]: line.split("\t") for line in text.splitlines() if line.startswith("reassignment.max")}
    assert {name: row[5] for name, row in rows.items()} == MODES
    assert {name: row[3] for name, row in rows.items()} == dict.fromkeys(MODES, "[1,...]")
    about = {name: row[6] for name, row in rows.items()}
    said = {
        "reassignment.max.concurrent.leader.movements": "how many replicas of a single partition can be moved at once",
        "reassignment.max.concurrent.partition.movements": "how many partition reassignments can be run concurrently",
        "reassignment.max.concurrent.replica.movements": "an upper limit on concurrent replica movements",
    }
    assert said.keys() == TABLE.keys() == about.keys()
    assert all(said[name] in about[name] for name in said)
    chapters = re.split(r"\n(Config Changes|Proposed Changes|Algorithm)\n", text)
    after = dict(zip(chapters[1::2], chapters[2::2], strict=True))
    for place, name in USED.items():
        chapter, _, letter = place.partition(", ")
        assert (f"val {letter} = {name}" if letter else name) in after[chapter], place
    public = text.partition("\nPublic Interfaces\n")[2].partition("\nProposed Changes\n")[0]
    assert all(name.partition(",")[0] in public for name in PUBLIC)
    assert "We'll increment the API version" in public


def test_a_step_that_leaves_a_rack() -> None:
    """By hand: broker 8 comes before the request's third, and 4, alone in its rack, stands first among the excess."""
    passed = steps(repaired, brokers(1, 8, 5), brokers(1, 4, 7), 1, 2)
    assert brokers(1, 8, 7) in passed and passed[-1] == brokers(1, 8, 5)
    found = racks.repaired_stays_spread()
    assert not found.holds
    assert found.counterexample is not None
    assert found.counterexample.startswith("(1, 4, 7) to (1, 8, 5) with R = 1: (1 (rack a), 8 (rack c), 7 (rack c))")
    assert not racks.repaired_keeps_min_isr_without_any_rack().holds


def test_one_replica_is_always_left() -> None:
    found = racks.repaired_survives_any_rack()
    assert (found.holds, found.cases) == (True, 1_326)
    assert racks.example_survives_any_rack().holds


def test_the_conditions() -> None:
    assert racks.covers_all_racks(brokers(1, 4, 7)) and not racks.covers_all_racks(brokers(1, 4, 5))
    assert racks.survives_any_rack(brokers(1, 4)) and not racks.survives_any_rack(brokers(1, 2, 3))
    assert racks.produces_without_any_rack(brokers(1, 4, 7)) and not racks.produces_without_any_rack(brokers(1, 4, 5))


def test_every_pair_is_gone_through() -> None:
    assert len(list(racks.moves())) == 27 * 6 - 1
