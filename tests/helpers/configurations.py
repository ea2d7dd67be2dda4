"""Configurations for tests that take every model that comes with the project.

A new model is taken with its default configuration; where that is too large, or leaves an action that can never be
taken, the test that notices asks for an entry here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from reassure.checkers.request.model_loader import names
from tests.helpers.flaws import settings_of

MOST_STATES = 5_000
"""States that a small configuration has at most: plain Python searches them in some seconds."""

SMALL = {
    "batching": ["brokers=3", "crashes=1", "deaths=0", "changes=1"],
    "batching_capped": ["brokers=3", "crashes=1", "deaths=0", "changes=1"],
    "batching_example": ["brokers=3", "crashes=0", "deaths=1"],
    "batching_literal": ["brokers=3", "crashes=0", "deaths=1"],
    "batching_loops": ["brokers=3", "crashes=0", "deaths=1"],
    "batching_mixed": ["brokers=3", "crashes=1", "deaths=0"],
    "batching_waits_to_lead": ["brokers=3", "crashes=0", "deaths=1"],
    "intermediate_half_open": ["brokers=3", "raises=1", "at_once=off"],
    "intermediate_inclusive": ["brokers=3", "raises=1", "at_once=off"],
    "kraft": ["disturbances=0", "shutdowns=0"],
    "kraft_invariants": ["admin_requests=1", "replication_factor=1", "unclean=on"],
    "kraft_kafka": ["admin_requests=2", "disturbances=0", "shutdowns=0"],
    "kraft_kafka_ordered": ["admin_requests=1", "disturbances=0", "shutdowns=0"],
    "kraft_kafka_racks": ["admin_requests=1"],
    "kraft_kafka_maintained": ["brokers=2", "admin_requests=1", "cordonings=1", "unregistrations=1"],
    "kraft_kafka_operated": ["brokers=2", "admin_requests=1", "min_isr_changes=1", "restarts=0"],
    "kraft_ordered": ["admin_requests=1", "disturbances=0", "shutdowns=0"],
    "kraft_reconfigured": ["admin_requests=1", "disturbances=0", "shutdowns=0"],
    "kraft_removed_logs": ["disturbances=0", "shutdowns=0"],
    "unregistered_fetch": ["late=no"],
    "kraft_racks": ["admin_requests=1", "shutdowns=0", "unclean=on"],
    "kraft_several": ["requests=1"],
    "kraft_target_order": ["admin_requests=1", "disturbances=0", "shutdowns=0"],
    "raft_membership": ["servers=3", "terms=2", "changes=1"],
    "raft_membership_fixed": ["servers=3", "terms=1", "changes=1"],
    "reassignment_classic": ["brokers=3", "crashes=0", "deaths=1"],
    "resumed_half_open": ["brokers=3", "raises=1", "at_once=off"],
    "resumed_inclusive": ["brokers=3", "raises=1", "at_once=off"],
    "rolling_upgrade": ["brokers=2", "pinned=off", "brokers_first=off"],
    "throttle": ["changes=0"],
    "throttle_listed": ["changes=0"],
}
"""Settings with which a model has no more than `MOST_STATES`."""

SMALL_MUTANT = ["unclean=off", "disturbances=0", "shutdowns=0"]
"""Settings with which most mutants of `kraft` show their flaw in no more states than that."""

DISTURBED = ["unclean=off", "admin_requests=1", "shutdowns=0"]
"""The same for those that take a broker that is fenced or lags."""

ALONE = ["unclean=off", "admin_requests=1", "replication_factor=1"]
"""The same for those that take an unclean shutdown: one replica to begin with."""

SMALL_OF_MUTANTS = {
    "elr_not_emptied": DISTURBED,
    "fenced_accepted": ALONE,
    "fencing_ends_it": DISTURBED,
    "last_in_sync_leaves": ["brokers=3", "deaths=1", "crashes=0", "one_event=false"],
    "rate_in_force_at_once": ["moves=0", "lapses=0", "leader_rate=1"],
    "restart_not_remembered": ALONE,
    "restart_unnoticed": ALONE,
    "shrink_counted_at_once": ["min_isr=1", "initial_isr=0", *DISTURBED],
    "unclean_passed_off_as_clean": ["shutdowns=0", *ALONE],
    "wish_rewritten": DISTURBED,
}
"""The settings of mutants that show their flaw neither with `SMALL_MUTANT` nor, in few states, with their own."""

VARIED = {
    "batching": ["brokers=3", "partitions=2", "changes=1", "requests=2"],
    "batching_capped": ["brokers=3", "partitions=2", "changes=1", "requests=2"],
    "batching_example": ["brokers=3", "changes=1", "requests=2"],
    "batching_literal": ["brokers=3", "changes=1", "requests=2"],
    "batching_loops": ["brokers=3", "changes=1", "requests=2"],
    "batching_mixed": ["brokers=3", "changes=1", "requests=2"],
    "batching_waits_to_lead": ["brokers=3", "changes=1", "requests=2"],
    "bootstrapping": ["bandwidth=6", "rate=5", "produce=3", "log=16", "patience=6"],
    "core": ["brokers=5"],
    "intermediate_half_open": ["raises=1", "at_once=off", "assigned_first=on", "none_takes_a_place=on"],
    "intermediate_inclusive": [
        "raises=1",
        "at_once=off",
        "assigned_first=on",
        "none_takes_a_place=on",
        "disturbances=2",
    ],
    "kraft": ["brokers=4", "replication_factor=3", "disturbances=2", "shutdowns=2", "in_flight=2"],
    "kraft_kafka": [
        "brokers=4",
        "replication_factor=3",
        "disturbances=2",
        "shutdowns=2",
        "balancing=on",
        "unclean=on",
    ],
    "kraft_kafka_maintained": [
        "balancing=on",
        "disturbances=1",
        "shutdowns=1",
        "restarts=1",
        "controlled_shutdowns=1",
        "min_isr_changes=1",
        "unclean_changes=1",
        "cordonings=1",
        "unregistrations=1",
        "directory_moves=1",
    ],
    "kraft_kafka_operated": ["balancing=on", "disturbances=1", "shutdowns=1", "min_isr_changes=1", "unclean_changes=1"],
    "kraft_kafka_ordered": ["balancing=on", "unclean=on"],
    "kraft_kafka_racks": ["balancing=on", "disturbances=2", "shutdowns=2", "unclean=on"],
    "last_in_sync_leaves": ["brokers=3", "changes=1", "requests=2"],
    "leaving_replicas_known": ["brokers=3", "changes=1", "requests=2"],
    "limit_redirects_a_step": ["brokers=3", "partitions=2", "changes=1", "requests=2"],
    "limit_stops_a_step": ["brokers=3", "partitions=2", "changes=1", "requests=2"],
    "raft_membership": ["entries=3"],
    "raft_membership_fixed": ["entries=3"],
    "reassignment_classic": ["brokers=3", "changes=1", "requests=2"],
    "reassignment_contexts": ["tied=off", "one_by_one=off"],
    "resumed_half_open": ["replication_factor=3", "min_isr=1", "raises=1", "at_once=off", "none_takes_a_place=on"],
    "resumed_inclusive": ["raises=1", "at_once=off", "assigned_first=on", "none_takes_a_place=on"],
    "rolling_upgrade": ["pinned=off", "brokers_first=off"],
    "in_sync_throttled": ["second=on", "until_it_ends=on"],
    "rate_in_force_at_once": ["second=on", "until_it_ends=on"],
    "rate_never_in_force": ["second=on", "until_it_ends=on"],
    "throttle": ["log=2", "second=on", "until_it_ends=on"],
    "throttle_listed": ["log=2", "until_it_ends=on"],
}
"""Settings with which every action of a model can be taken, and many branches; the whole space may be large."""


def mutants() -> list[str]:
    """The models with a deliberate flaw."""
    return [name for name, path in names().items() if path.parent.name == "mutants"]


FAMILIES = ("batching_", "intermediate_half_", "kraft_", "resumed_", "throttle_")
WIDEST = "kraft_kafka_maintained"
"""It has every action of `kraft_kafka` and of `kraft_kafka_operated`."""
VARIANTS = [name for name in names() if name.startswith(FAMILIES) and name != WIDEST]
"""Models whose actions, but for a few, are those of another that is tested: of `batching`, `kraft`, the widest."""


def every_model(slow: Iterable[str] = ()) -> list[Any]:
    """Names of models for a test of each: those of `slow` are left to the long run."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name in slow else []) for name in names()]


def small(name: str) -> list[str]:
    """The settings of a model that every engine can search whole; a mutant has its flaw in them."""
    if name not in mutants():
        return SMALL.get(name, [])
    return SMALL_OF_MUTANTS.get(name) or settings_of(name) or SMALL_MUTANT


def varied(name: str) -> list[str]:
    """The settings of a model whose single steps are compared."""
    return VARIED.get(name, [])
