"""KIP-542: what rates mean, windows and limits step by step, every claim, batches under a throttle, counts."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reassure import every, fill
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.model_loader import load_model
from reassure.checkers.request.options import SearchOptions
from reassure.models.kip542_throttle import cases as throttle_claims
from reassure.models.kip542_throttle import list_cases, throttle, throttle_listed, throttled_batch
from reassure.models.kip542_throttle.throttle import (
    Cluster,
    Config,
    Link,
    Reading,
    Side,
    belongs,
    other_limit,
    shared,
    throttled,
    total_limit,
    valid,
)
from reassure.spec.kafka.partition import NOBODY, Broker
from reassure.spec.language.vocabulary import GuardRefused, Model
from reassure.spec.semantics.interpreter import BoundModel, ConfigError, make_config
from reassure.spec.semantics.trace import PlainConfig, replay
from tests.helpers.brokers import b

ROOT = Path(__file__).parents[3]
ONE, TWO, THREE = Broker(1), Broker(2), Broker(3)


class Story:
    """A cluster that steps are taken on, through the plain Python actions."""

    def __init__(self, model: Model = throttle.MODEL, **config: Any) -> None:
        self.bound = BoundModel(model, make_config(model, config))
        self.s: Any = next(s for _, _, s in self.bound.initial_states())

    def take(self, name: str, **params: Any) -> Any:
        self.s = self.bound.take(self.s, name, params)
        return self.s

    def refused(self, name: str, **params: Any) -> bool:
        with pytest.raises(GuardRefused):
            self.bound.take(self.s, name, params)
        return True


# -- what rates mean -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replication", "rate", "together", "others", "total"),
    [(20, -1, True, 20, 20), (20, 5, False, 20, 25), (-1, 5, False, -1, -1), (-1, -1, False, -1, -1)],
)
def test_the_four_variations(replication: int, rate: int, together: bool, others: int, total: int) -> None:
    assert shared(replication, rate) is together
    assert other_limit(Reading.ADDITIVE, replication, rate) == others
    assert total_limit(Reading.ADDITIVE, replication, rate) == total


def test_the_maximum() -> None:
    assert (other_limit(Reading.SUBSET, 20, 5), total_limit(Reading.SUBSET, 20, 5)) == (15, 20)
    assert [valid(Reading.SUBSET, 5, v) for v in (-2, -1, 0, 5, 6)] == [False, True, True, True, False]
    assert [valid(Reading.ADDITIVE, 5, v) for v in (-2, -1, 0, 5, 6)] == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("name", "holds", "cases", "said"),
    [
        ("values_accepted_additive", True, 70, None),
        ("values_accepted_subset", False, 16, "replication rate 0, reassignment rate 1"),
        ("budgets_additive", True, 49, None),
        ("budgets_subset", False, 12, "replication rate 1, reassignment rate 1: 1 in all"),
        ("variations_with_a_maximum", True, 49, None),
        ("variations_word_for_word", False, 7, "without a replication rate is never valid"),
        ("additive_within_maximum", False, 10, "a total of 1 by the one sentence, an error by the other"),
        ("printed_example_additive", True, 1, None),
        ("printed_example_subset", True, 1, None),
        ("others_keep_their_limit_additive", True, 252, None),
        ("others_keep_their_limit_subset", False, 39, "others 1 to 0"),
        ("stays_valid_additive", True, 343, None),
        ("stays_valid_subset", False, 10, "replication rate -1 to 0"),
        ("above_produce_finishes", True, 450, None),
        ("not_above_never_finishes_at_all", False, 630, "rate 1, 1 produced in a window, 1 to copy"),
        ("not_above_never_finishes_a_long_copy", True, 595, None),
    ],
)
def test_enumerations(name: str, holds: bool, cases: int, said: str | None) -> None:
    found = getattr(throttle_claims, name)()
    assert (found.holds, found.cases) == (holds, cases)
    assert (found.counterexample is None) == holds
    assert said is None or said in found.counterexample


@pytest.mark.parametrize(
    ("lag", "rate", "produce", "expected"),
    [(3, 2, 1, 2), (3, 3, 5, 1), (4, 2, 2, None), (9, -1, 5, 1), (1, 0, 0, None)],
)
def test_windows(lag: int, rate: int, produce: int, expected: int | None) -> None:
    assert throttle_claims.windows(lag, rate, produce, 50) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"leader_rate": 3}, "more than most_rate=2"),
        ({"follower_rate": 4}, "more than most_rate=2"),
        ({"reading": Reading.SUBSET, "replication_rate": 1}, "a rate of 2 is not valid beside replication_rate=1"),
        ({"leader_rate": -2}, "a rate of -2 is not valid"),
    ],
)
def test_wrong_configuration(settings: PlainConfig, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_config(throttle.MODEL, settings)


# -- windows and limits, step by step ----------------------------------------------------------------------------


def test_a_copy_takes_two_windows() -> None:
    story = Story()
    for _ in range(2):
        story.take("fetch", link=Link.ADDING)
    assert story.refused("fetch", link=Link.ADDING)
    assert story.take("refuse", link=Link.ADDING).reassigned.leader[ONE] == 2
    story.take("next_window")
    assert story.s.behind[Link.ADDING] == 2
    for _ in range(2):
        story.take("fetch", link=Link.ADDING)
    after = story.take("join", link=Link.ADDING)
    assert (after.adding, after.lagging) == (frozenset(), {Link.ORDINARY})


def test_other_replication_has_a_limit_of_its_own() -> None:
    story = Story()
    for link in (Link.ADDING, Link.ADDING, Link.ORDINARY):
        story.take("fetch", link=link)
    assert (story.s.reassigned.leader[ONE], story.s.other.leader[ONE]) == (2, 1)
    assert (story.s.reassigned.follower[THREE], story.s.other.follower[THREE]) == (2, 1)
    assert story.refused("fetch", link=Link.ORDINARY)


def test_one_limit_is_shared_while_the_other_is_unset() -> None:
    story = Story(leader_rate=-1, follower_rate=-1)
    story.take("fetch", link=Link.ADDING)
    assert story.refused("fetch", link=Link.ORDINARY)


def test_no_limit_at_all() -> None:
    story = Story(leader_rate=-1, follower_rate=-1, replication_rate=-1)
    for link in (Link.ADDING,) * 3 + (Link.ORDINARY,) * 3:
        story.take("fetch", link=link)
    zero = fill(Broker, story.bound.config, 0)
    assert (story.s.reassigned.leader, story.s.other.follower) == (zero, zero)


def test_in_sync_traffic_has_no_limit() -> None:
    story = Story(leader_rate=0, follower_rate=0, replication_rate=0)
    story.take("next_window")
    assert story.refused("refuse", link=Link.STAYING)
    assert story.take("fetch", link=Link.STAYING).behind[Link.STAYING] == 0


def test_leadership_moves_and_the_limit_with_it() -> None:
    story = Story(follower_rate=-1, replication_rate=-1)
    for _ in range(2):
        story.take("fetch", link=Link.ADDING)
    story.take("move_leader")
    assert story.s.leader == TWO
    after = story.take("fetch", link=Link.ADDING)
    assert (after.reassigned.leader[ONE], after.reassigned.leader[TWO]) == (2, 1)


def test_leadership_does_not_move_to_who_lags() -> None:
    story = Story()
    story.take("next_window")
    assert story.refused("move_leader")


def test_a_rate_counts_from_the_next_window_on() -> None:
    story = Story()
    story.take("set_rate", side=Side.LEADER, broker=ONE, rate=0)
    story.take("fetch", link=Link.ADDING)
    story.take("next_window")
    assert story.refused("fetch", link=Link.ADDING)
    assert story.refused("set_rate", side=Side.LEADER, broker=ONE, rate=1)


def test_a_rate_above_the_maximum_is_refused() -> None:
    story = Story(reading=Reading.SUBSET, replication_rate=1, leader_rate=1, follower_rate=1)
    assert story.refused("set_rate", side=Side.FOLLOWER, broker=THREE, rate=2)
    story.take("set_rate", side=Side.FOLLOWER, broker=THREE, rate=0)


def test_a_response_can_carry_more_than_was_left() -> None:
    story = Story(response=2, leader_rate=1, follower_rate=2)
    assert story.take("fetch", link=Link.ADDING).reassigned.leader[ONE] == 2
    assert throttle.reassignment_within_its_rate(story.s, story.bound.config) is False


def test_lists_do_not_follow_the_leader() -> None:
    story = Story(throttle_listed.MODEL, leader_rate=0, follower_rate=-1, replication_rate=-1)
    assert story.refused("fetch", link=Link.ADDING)
    story.take("move_leader")
    assert story.take("fetch", link=Link.ADDING).behind[Link.ADDING] == 2


# -- every claim accepts something and refuses something -----------------------------------------------------------

START: Cluster = Story().s
BUSY = Story()
BUSY.take("fetch", link=Link.ADDING)
SPENT: Cluster = BUSY.s
CONFIG = Config()


def with_spent(leader: int, other: int) -> Cluster:
    spent = replace(START.reassigned, leader=START.reassigned.leader.put(ONE, leader))
    return replace(START, reassigned=spent, other=replace(START.other, leader=START.other.leader.put(ONE, other)))


def test_invariants_accept_and_refuse() -> None:
    within, total = throttle.reassignment_within_its_rate, throttle.replication_within_the_total
    assert [within(with_spent(n, 0), CONFIG) for n in (2, 3)] == [True, False]
    assert [total(with_spent(2, n), CONFIG) for n in (1, 2)] == [True, False]
    subset = Config(reading=Reading.SUBSET, replication_rate=2)
    assert [total(with_spent(1, n), subset) for n in (1, 2)] == [True, False]


def test_step_claims_accept_and_refuse() -> None:
    in_sync, others = throttle.in_sync_replicas_are_not_throttled, throttle.others_are_limited_by_their_own_rate_only
    assert [in_sync(before=START, after=START, link=x) for x in (Link.ADDING, Link.ORDINARY)] == [True, True]
    assert in_sync(before=START, after=START, link=Link.STAYING) is False
    for n, fine in ((1, True), (0, False)):
        s = with_spent(2, n)
        assert others(before=s, after=s, c=CONFIG, link=Link.ORDINARY) is fine
    assert others(before=START, after=START, c=CONFIG, link=Link.ADDING) is True
    follows = throttle.reassignment_counts_where_the_leader_is
    assert follows(before=START, after=SPENT) is True
    assert follows(before=START, after=replace(SPENT, reassigned=START.reassigned)) is False
    other_rates = replace(START.rates, leader=START.rates.leader.put(TWO, 0))
    waits, has = throttle.change_waits_for_the_next_window, throttle.next_window_has_what_is_configured
    changed = replace(START, rates=other_rates)
    assert [waits(before=START, after=s) for s in (changed, replace(changed, in_force=other_rates))] == [True, False]
    assert [has(before=changed, after=s) for s in (replace(changed, in_force=other_rates), changed)] == [True, False]


def test_no_claim_is_untested() -> None:
    assert {p.name for p in throttle.MODEL.properties if p.kind in ("invariant", "step")} == {
        "reassignment_within_its_rate",
        "replication_within_the_total",
        "in_sync_replicas_are_not_throttled",
        "others_are_limited_by_their_own_rate_only",
        "reassignment_counts_where_the_leader_is",
        "change_waits_for_the_next_window",
        "next_window_has_what_is_configured",
    }
    for claim in throttle.MODEL.properties:
        if claim.kind != "cover":
            assert claim.doc.startswith("T"), claim.name


# -- the whole space ---------------------------------------------------------------------------------------------

OTHERS = "others_are_limited_by_their_own_rate_only"
SUBSET = ["reading=subset", "replication_rate=2", "leader_rate=1", "follower_rate=1", "changes=0"]
TWO_LEADERS = ["second=true", "changes=0", "moves=0", "lapses=0", "leader_rate=2", "follower_rate=3", "most_rate=3"]
CHECKS: list[tuple[str, list[str], dict[str, int], list[str], tuple[int, int, int]]] = [
    ("throttle", [], {OTHERS: 5}, [], (32_572, 142_514, 19)),
    ("throttle", ["changes=0"], {}, [], (932, 3_588, 18)),
    ("throttle", SUBSET, {OTHERS: 3}, ["reassignment_is_done"], (119, 482, 11)),
    (
        "throttle",
        ["leader_rate=-1", "follower_rate=-1", "changes=0"],
        {OTHERS: 3},
        ["reassignment_is_done"],
        (82, 335, 10),
    ),
    ("throttle", ["leader_rate=0", "changes=0"], {}, ["reassignment_is_done"], (57, 234, 10)),
    ("throttle", ["follower_rate=-1", "changes=0"], {OTHERS: 3}, ["reassignment_is_done"], (91, 369, 10)),
    ("throttle", TWO_LEADERS, {}, [], (1_496, 6_483, 23)),
    (
        "throttle",
        ["response=2"],
        {"reassignment_within_its_rate": 4, "replication_within_the_total": 3, OTHERS: 5},
        [],
        (188_323, 774_524, 18),
    ),
    (
        "throttle_listed",
        ["changes=0"],
        {OTHERS: 6, "reassignment_counts_where_the_leader_is": 3},
        [],
        (896, 3_469, 18),
    ),
    ("throttled_batch", [], {}, [], (174, 368, 22)),
    ("throttled_batch", ["split=even"], {}, ["a_move_ends"], (5, 11, 4)),
    ("throttled_batch", ["replicas=3", "min_isr=3", "initial_isr=1", "batch=1"], {}, [], (216, 446, 31)),
]


@pytest.mark.parametrize(("model", "pairs", "fallen", "unreached", "counts"), CHECKS)
def test_whole_space(
    model: str, pairs: list[str], fallen: dict[str, int], unreached: list[str], counts: tuple[int, int, int]
) -> None:
    verdict, bound = run(CheckRequest(model, pairs, "native", SearchOptions(workers=1)), Progress(quiet=True))
    traces = {p.name: p.trace for p in verdict.properties if p.trace is not None and not p.temporal}
    assert {name: len(trace) for name, trace in traces.items()} == fallen
    assert (verdict.stats.distinct, verdict.stats.generated, verdict.stats.depth) == counts
    assert verdict.complete
    assert verdict.stats.clipped == 0
    assert [c.name for c in verdict.covers if not c.reached] == unreached
    for trace in traces.values():
        replay(trace, bound)


# -- windows and batches, step by step -------------------------------------------------------------------------------


def test_a_window_is_used_to_the_full() -> None:
    """It ends when the replica being added has nothing to get, or gets nothing any more."""
    story = Story(throttle.MODEL, full_windows=True)
    assert story.refused("next_window")
    story.take("fetch", link=Link.ADDING)
    assert story.refused("next_window")
    assert throttled(story.take("fetch", link=Link.ADDING), story.bound.config, Link.ADDING, belongs)
    assert story.take("next_window").behind[Link.ADDING] == 2
    by_lists = Story(throttle_listed.MODEL, full_windows=True)
    assert by_lists.refused("next_window")
    batch = Story(throttled_batch.MODEL, full_windows=True)
    batch.take("start_batch")
    batch.take("fetch", follower=THREE)
    assert batch.refused("next_window")
    batch.take("fetch", follower=THREE)
    assert batch.take("next_window").behind[THREE] == 2


def test_a_batch_step_by_step() -> None:
    story = Story(throttled_batch.MODEL, leader_rate=-1, batch=1)
    assert story.take("start_batch").assigned == b(1, 2, 3)
    assert story.refused("end_batch", dropped=b(1), successor=TWO)
    for _ in range(3):
        story.take("fetch", follower=THREE)
    story.take("join", follower=THREE)
    after = story.take("end_batch", dropped=b(1), successor=THREE)
    assert (after.assigned, after.isr, after.leader, after.batch) == (b(2, 3), b(2, 3), THREE, NOBODY)
    assert throttled_batch.batch_ends_in_sync(before=replace(after, batch=b(3)), after=after) is True
    assert throttled_batch.batch_ends_in_sync(before=replace(after, batch=b(4)), after=after) is False


def test_first_batch_makes_up_for_min_isr() -> None:
    story = Story(throttled_batch.MODEL, batch=1, replicas=3, min_isr=3, initial_isr=1)
    assert story.take("start_batch").batch == b(4, 5)
    assert story.take("fetch", follower=Broker(4)).received == fill(Broker, story.bound.config, 0).put(Broker(4), 1)


def test_who_is_not_in_sync_is_dropped_first() -> None:
    story = Story(throttled_batch.MODEL, batch=1, initial_isr=1)
    story.s = replace(story.s, assigned=b(1, 2, 3), isr=b(1, 3), batch=b(3))
    assert story.refused("end_batch", dropped=b(1), successor=THREE)
    assert story.take("end_batch", dropped=b(2), successor=ONE).assigned == b(1, 3)


def test_too_few_replicas_are_refused() -> None:
    with pytest.raises(ConfigError, match="is more than 2"):
        make_config(throttled_batch.MODEL, {"min_isr": 3})


# -- the ledger's data -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("document", "ids"), [("T", [f"T{n}" for n in range(1, 13)]), ("X", ["X2"])])
def test_ledger_names_what_is_there(document: str, ids: list[str]) -> None:
    data = tomllib.loads((ROOT / "spec" / "claims" / f"{document}.toml").read_text())
    assert set(ids) <= {c["id"] for c in data["claim"]}
    functions = {"kip542_throttle.cases": throttle_claims, "kip542_throttle.list_cases": list_cases}
    for claim in data["claim"]:
        if claim["id"] not in ids:
            continue
        for reading in claim["reading"]:
            if reading["method"] == "enumerate":
                module, name = reading["function"].split(":")
                assert getattr(functions[module], name)().holds == (reading["expect"] == "holds")
            else:
                assert set(reading["properties"]) <= {p.name for p in load_model(reading["model"]).properties}


def test_links_are_what_is_replicated() -> None:
    assert throttle.links(CONFIG) == every(Link) - {Link.SECOND}
    assert throttle.links(Config(second=True)) == every(Link)
    assert [throttle.source(START, x) for x in Link] == [ONE, ONE, ONE, TWO]
    assert [throttle.destination(START, x) for x in Link] == [THREE, TWO, THREE, THREE]
