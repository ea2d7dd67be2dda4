"""KIP-542: listed replicas (T8), two leaders (T9), `addingReplicas` to the letter (T10), bootstrapping (T12)."""

from __future__ import annotations

from typing import Any

import pytest

from reassure.models.kip542_throttle import bootstrapping, list_cases, throttle
from reassure.models.kip542_throttle.bootstrapping import Broker
from reassure.models.kip542_throttle.list_cases import Pays
from reassure.models.kip542_throttle.throttle import Link
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import BoundModel, Params, make_config
from tests.helpers.runs import checked

# -- T8 -----------------------------------------------------------------------------------------------------------

LISTS: dict[str, tuple[bool, int, str | None]] = {
    "lists_work_if_reassignment_pays": (
        False,
        3,
        "replication rate 0, reassignment rate 1: 1 by the replica being added",
    ),
    "lists_work_if_replication_pays": (True, 175, None),
    "lists_work_if_both_pay": (True, 140, None),
    "rate_is_kept_if_reassignment_pays": (True, 225, None),
    "rate_is_kept_if_replication_pays": (
        False,
        8,
        "replication rate 1, reassignment rate 0: 1 by the replica being added",
    ),
    "rate_is_kept_if_both_pay": (True, 140, None),
    "others_get_theirs_if_reassignment_pays": (True, 25, None),
    "others_get_theirs_if_replication_pays": (False, 7, "1 by the replica being added, 0 by the other"),
    "others_get_theirs_if_both_pay": (False, 8, "replication rate 1, reassignment rate 1"),
}


@pytest.mark.parametrize("name", LISTS)
def test_who_pays(name: str) -> None:
    holds, cases, said = LISTS[name]
    found = getattr(list_cases, name)()
    assert (found.holds, found.cases) == (holds, cases)
    assert (found.counterexample is None) == holds
    assert said is None or said in found.counterexample


@pytest.mark.parametrize(
    ("pays", "full"),
    [
        (Pays.REASSIGNMENT, {(1, 2)}),
        (Pays.REPLICATION, {(0, 2), (1, 1), (2, 0)}),
        (Pays.BOTH, {(0, 2), (1, 1)}),
    ],
)
def test_windows_that_are_used_up(pays: Pays, full: set[tuple[int, int]]) -> None:
    """Replication rate 2, reassignment rate 1."""
    assert list_cases.windows(pays, 2, 1)[1] == full


# -- T9, T10 ------------------------------------------------------------------------------------------------------

TWO_LEADERS = ["second=true", "leader_rate=1", "replication_rate=-1", "changes=0"]
SYNC, COPY = "in_sync_replicas_are_not_throttled", "reassignment_catches_up"


@pytest.mark.parametrize(
    ("pairs", "fallen", "unreached", "counts"),
    [
        ([*TWO_LEADERS, "follower_rate=2"], {COPY: 5}, ["reassignment_is_done"], (1_008, 5_140, 18)),
        ([*TWO_LEADERS, "follower_rate=1"], {COPY: 4}, ["reassignment_is_done"], (592, 3_042, 15)),
        (["until_it_ends=true", "changes=0"], {SYNC: 13, COPY: 4}, [], (1_722, 7_218, 21)),
    ],
)
def test_whole_space(
    pairs: list[str], fallen: dict[str, int], unreached: list[str], counts: tuple[int, int, int]
) -> None:
    result, _ = checked("throttle", pairs, "native", workers=1)
    assert {p.name: len(p.trace) for p in result.properties if p.trace is not None} == fallen
    assert [c.name for c in result.covers if not c.reached] == unreached
    assert (result.stats.distinct, result.stats.generated, result.stats.depth) == counts
    assert (result.complete, result.stats.clipped) == (True, 0)


def after(until_it_ends: bool, *steps: tuple[str, Params]) -> tuple[BoundModel, Any]:
    config = make_config(throttle.MODEL, {"until_it_ends": until_it_ends, "log": 2})
    bound = BoundModel(throttle.MODEL, config)
    s: Any = next(s for _, _, s in bound.initial_states())
    for name, params in steps:
        s = bound.take(s, name, params)
    return bound, s


COPIED = [("fetch", {"link": Link.ADDING}), ("fetch", {"link": Link.ADDING}), ("join", {"link": Link.ADDING})]


def test_in_sync_and_still_limited() -> None:
    """The window's limit of 2 is counted on: the replica is in sync, and waits for the next window at 2 units more."""
    bound, s = after(True, *COPIED)
    assert (s.adding, s.joined) == (frozenset(), {Link.ADDING})
    for name, params in [("next_window", {}), COPIED[0], ("next_window", {}), *COPIED[:1]]:
        s = bound.take(s, name, params)
    assert s.reassigned.leader[throttle.Broker(1)] == 1
    ended = bound.take(s, "end_reassignment", {"link": Link.ADDING})
    assert (ended.joined, throttle.belongs(ended, Link.ADDING, throttle.Side.LEADER)) == (frozenset(), False)


def test_in_sync_and_free() -> None:
    bound, s = after(False, *COPIED)
    assert (s.adding, s.joined, throttle.limited(s)) == (frozenset(), frozenset(), {Link.ORDINARY})
    with pytest.raises(GuardRefused):
        bound.take(s, "end_reassignment", {"link": Link.ADDING})


def test_a_replica_that_falls_behind_again_is_being_added_again() -> None:
    _, s = after(True, *COPIED, ("next_window", {}), ("fall_behind", {"link": Link.ADDING}))
    assert (s.adding, s.joined, s.lagging) == ({Link.ADDING}, frozenset(), {Link.ORDINARY})


# -- T12 ----------------------------------------------------------------------------------------------------------

LEADERS, ENDS = "leaders_stay_in_sync", "bootstrapping_ends"


@pytest.mark.parametrize(
    ("pairs", "fallen", "distinct"),
    [
        ([], {}, 47),
        (["rate=-1"], {LEADERS: 13}, 108),
        (["rate=3"], {LEADERS: 13}, 108),
        (["rate=1"], {ENDS: 5}, 6),
        (["rate=0"], {ENDS: 3}, 3),
    ],
)
def test_bootstrapping(pairs: list[str], fallen: dict[str, int], distinct: int) -> None:
    result, _ = checked("bootstrapping", pairs, "native", workers=1)
    assert {p.name: len(p.trace) for p in result.properties if p.trace is not None} == fallen
    assert (result.stats.distinct, result.stats.clipped, result.complete) == (distinct, 0, True)


def test_a_window_of_a_broker_that_bootstraps() -> None:
    bound = BoundModel(bootstrapping.MODEL)
    s = Broker(lacking=9, behind=1, copied=0, served=0)
    for _ in range(2):
        s = bound.take(s, "copy", {})
    for refused in ("copy", "next_window"):
        with pytest.raises(GuardRefused):
            bound.take(s, refused, {})
    s = bound.take(s, "serve", {})
    assert s == Broker(lacking=7, behind=0, copied=2, served=1)
    assert bound.take(s, "next_window", {}) == Broker(lacking=8, behind=1, copied=0, served=0)


def test_bootstrapping_claims_accept_and_refuse() -> None:
    config = BoundModel(bootstrapping.MODEL).config
    states = [Broker(lacking=1, behind=n, copied=0, served=0) for n in (2, 3)]
    assert [bootstrapping.leaders_stay_in_sync(s, config) for s in states] == [True, False]
