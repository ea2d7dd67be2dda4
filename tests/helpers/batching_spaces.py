"""Runs of KIP-435's models; what falls in whole spaces by settings, and what its cases say."""

from __future__ import annotations

from functools import cache

from reassure import Model
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.model_loader import settings
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.result import CheckResult
from reassure.models.kip435_batching.zookeeper_cluster import Cluster
from reassure.spec.kafka.shared_properties import Part
from reassure.spec.semantics.interpreter import BoundModel, Params, make_config
from tests.helpers.runs import plain_result

P0 = Part(0)
P1 = Part(1)


def searched(model: Model, pairs: list[str]) -> tuple[CheckResult, BoundModel]:
    """A model that need not be in a file, searched by the reference engine."""
    bound = BoundModel(model, make_config(model, settings(model, pairs)))
    return plain_result(bound), bound


@cache
def checked(name: str, pairs: tuple[str, ...]) -> CheckResult:
    """A model that comes with the project, searched once in this process."""
    return run(CheckRequest(name, list(pairs), "native", SearchOptions(workers=1)), Progress(quiet=True))[0]


def fallen(verdict: CheckResult) -> dict[str, int]:
    """What is violated, with the number of states of the shortest trace."""
    assert verdict.complete
    assert verdict.stats.clipped == 0
    return {p.name: len(p.trace) for p in verdict.properties if p.trace is not None and not p.temporal}


NOTHING_FAILS = ("deaths=0", "crashes=0")
TINY = ("brokers=2", "replication_factor=1", "min_isr=1")
WHOLE: list[tuple[str, tuple[str, ...], tuple[int, int, int], dict[str, int]]] = [
    ("reassignment_classic", ("deaths=0", "crashes=2"), (2499, 6048, 30), {}),
    ("reassignment_classic", ("brokers=3", "deaths=1", "crashes=0"), (808, 1683, 18), {}),
    (
        "reassignment_classic",
        ("brokers=3", "deaths=1", "crashes=0", "one_event=false"),
        (1174, 2588, 19),
        {
            "own_steps_keep_min_isr": 14,
            "new_replicas_stay_out": 15,
        },
    ),
    ("reassignment_classic", ("deaths=2", "crashes=0"), (12543, 37851, 23), {"own_steps_keep_a_leader": 14}),
    (
        "reassignment_classic",
        ("deaths=2", "crashes=0", "one_event=false"),
        (22333, 70471, 24),
        {
            "isr_is_assigned": 17,
            "a_whole_copy_is_left": 19,
            "ends_without_leftovers": 18,
            "own_steps_keep_min_isr": 14,
            "own_steps_keep_a_leader": 14,
            "new_replicas_stay_out": 15,
            "deadlock": 20,
        },
    ),
    (
        "batching_literal",
        ("brokers=3", "deaths=1", "crashes=0"),
        (1518, 3295, 25),
        {
            "isr_is_assigned": 5,
            "drops_after_all_added_were_in_sync": 10,
            "ends_without_leftovers": 14,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_a_leader": 10,
            "own_steps_keep_an_in_sync_copy": 7,
            "never_fewer_copies_than_asked_for": 6,
            "deadlock": 15,
        },
    ),
    (
        "batching_literal",
        NOTHING_FAILS,
        (406, 660, 26),
        {
            "isr_is_assigned": 5,
            "a_whole_copy_is_left": 21,
            "drops_after_all_added_were_in_sync": 10,
            "ends_without_leftovers": 22,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_a_leader": 19,
            "own_steps_keep_an_in_sync_copy": 15,
            "limits_are_kept": 17,
            "replicas_within_limit": 17,
            "deadlock": 22,
        },
    ),
    (
        "batching_literal",
        ("partitions_at_once=1", *NOTHING_FAILS),
        (406, 660, 26),
        {
            "isr_is_assigned": 5,
            "a_whole_copy_is_left": 21,
            "drops_after_all_added_were_in_sync": 10,
            "ends_without_leftovers": 22,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_a_leader": 19,
            "own_steps_keep_an_in_sync_copy": 15,
            "limits_are_kept": 17,
            "movements_within_product": 17,
            "replicas_within_limit": 17,
            "deadlock": 22,
        },
    ),
    (
        "batching_loops",
        ("brokers=3", "partitions=2", "requests=2", "partitions_at_once=1", *NOTHING_FAILS),
        (6139, 13135, 27),
        {
            "isr_is_assigned": 5,
            "a_whole_copy_is_left": 22,
            "drops_after_all_added_were_in_sync": 10,
            "ends_without_leftovers": 23,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_a_leader": 20,
            "own_steps_keep_an_in_sync_copy": 16,
            "limits_are_kept": 18,
            "movements_within_product": 18,
            "replicas_within_limit": 18,
            "deadlock": 23,
        },
    ),
    ("batching_mixed", ("deaths=0", "crashes=2"), (3588, 8177, 50), {"copies_within_limit": 8}),
    (
        "batching_literal",
        ("deaths=0",),
        (2146, 4197, 28),
        {
            "isr_is_assigned": 5,
            "a_whole_copy_is_left": 21,
            "drops_after_all_added_were_in_sync": 10,
            "ends_without_leftovers": 17,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_a_leader": 18,
            "own_steps_keep_an_in_sync_copy": 10,
            "limits_are_kept": 14,
            "replicas_within_limit": 14,
            "deadlock": 8,
        },
    ),
    (
        "batching_literal",
        ("replicas_at_once=4", *NOTHING_FAILS),
        (352, 588, 16),
        {
            "isr_is_assigned": 5,
            "a_whole_copy_is_left": 11,
            "drops_after_all_added_were_in_sync": 10,
            "ends_without_leftovers": 12,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_a_leader": 9,
            "own_steps_keep_an_in_sync_copy": 5,
            "deadlock": 12,
        },
    ),
    # A leader in TR is waited for: no copy is lost, and MinISR is.
    (
        "batching_waits_to_lead",
        NOTHING_FAILS,
        (374, 628, 26),
        {
            "isr_is_assigned": 5,
            "drops_after_all_added_were_in_sync": 10,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_an_in_sync_copy": 15,
            "limits_are_kept": 17,
            "replicas_within_limit": 17,
        },
    ),
    (
        "batching_example",
        NOTHING_FAILS,
        (636, 1104, 36),
        {
            "isr_is_assigned": 5,
            "a_whole_copy_is_left": 31,
            "drops_after_all_added_were_in_sync": 10,
            "ends_without_leftovers": 32,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_a_leader": 29,
            "own_steps_keep_an_in_sync_copy": 25,
            "limits_are_kept": 27,
            "first_step_elects_the_new_leader": 11,
            "replicas_within_limit": 27,
            "deadlock": 32,
        },
    ),
    ("batching", ("brokers=3", "deaths=1"), (5968, 15786, 35), {}),
    ("batching", ("brokers=3", "replicas_at_once=3", "deaths=1"), (5976, 15826, 35), {}),
    (
        "batching",
        ("brokers=3", "replication_factor=1", "wanted_factor=2", "min_isr=1", "deaths=1"),
        (8893, 24416, 43),
        {},
    ),
]
"""Models by settings: distinct states, steps and depth, and what falls with the length of its trace."""

CASES = {
    "rows_describe_what_they_name": (False, 3),
    "one_name_each": (False, 5),
    "printed_calculation_gives_the_example": (False, 1),
    "example_reading_gives_the_example": (True, 5),
    "repaired_calculation_gives_the_example": (True, 5),
    "printed_first_step_reaches_min_isr": (False, 3602),
    "repaired_first_step_reaches_min_isr": (True, 24048),
    "count_is_never_negative_if_3a_only_looks": (True, 250),
    "count_is_never_negative_if_3a_adds": (False, 8),
    "printed_batches_are_filled": (False, 42),
    "batches_from_steps_are_filled": (True, 324),
    "printed_lists_end_as_asked": (True, 19200),
    "repaired_lists_end_as_asked": (True, 19200),
    "printed_default_is_one_step": (False, 49),
    "repaired_default_is_one_step": (True, 4800),
}
"""Claims decided by cases: whether each holds, and in how many."""

SENTENCES = {
    "existing_algorithm_has_eight_copies": (True, 4),
    "repaired_batches_of_one_have_five_copies": (True, 4),
    "printed_calculation_gives_the_batches": (False, 1),
    "printed_calculation_gives_the_batches_from_min_isr_2": (True, 4),
    "example_reading_gives_the_batches": (False, 1),
    "no_public_interface_changes": (False, 4),
    "printed_batches_store_what_was_stored": (False, 97),
    "every_configuration_is_cluster_wide": (False, 3),
    "some_configuration_is_of_a_topic": (False, 3),
    "n_unused_adds_at_most_r": (True, 19200),
    "n_used_adds_at_most_r": (False, 265),
}
"""The same, for sentences that contradict each other or the algorithm."""

LIMITS = {
    "printed_ends_with_r_below_1": (False, 10),
    "repaired_ends_with_r_below_1": (False, 10),
    "printed_batch_with_p_below_1": (False, 1),
    "repaired_batch_with_p_below_1": (False, 1),
    "leaders_with_l_below_1": (False, 1),
    "leaders_with_l_of_1": (True, 3),
    "first_step_by_online_replicas": (False, 3656),
    "first_step_by_in_sync_replicas": (True, 24048),
    "printed_adds_all_that_r_allows": (False, 196),
    "printed_adds_all_that_r_allows_in_3d": (True, 2400),
    "step_3d_is_reached_from_min_isr_1": (False, 2),
}
"""The same, for the limits and for the third step of the calculation."""


def taken(bound: BoundModel, s: Cluster, *steps: tuple[str, Params]) -> Cluster:
    """The state after steps, each an action with its parameters."""
    for name, params in steps:
        after = bound.take(s, name, params)
        assert isinstance(after, Cluster)
        s = after
    return s


def enabled(bound: BoundModel, s: Cluster, who: str) -> set[tuple[str, Part | None]]:
    return {(t.action.name, dict(t.params).get("part")) for t in bound.steps(s) if t.action.who == who}
