"""Sentences of KIP-435 that contradict each other, or the algorithm, gone through case by case: B11, B13, B15, B16.

Each function takes nothing and returns an `Outcome`, as in `cases`. Between two steps everything new is in sync.
"""

from itertools import pairwise, product

from reassure.models.kip435_batching import rules
from reassure.models.kip435_batching.cases import (
    EXAMPLE,
    List,
    Step,
    as_in_the_example,
    as_printed,
    brokers,
    lists,
    steps,
    told,
)
from reassure.spec.claims import Outcome
from reassure.spec.kafka.partition import Brokers

MODES = {
    "reassignment.max.concurrent.leader.movements": "cluster-wide",
    "reassignment.max.concurrent.partition.movements": "cluster-wide",
    "reassignment.max.concurrent.replica.movements": "per-partition",
}
"""The dynamic update mode of each row of the table."""

PUBLIC = (*MODES, "ListPartitionReassignmentsResponse, version 1")
"""What the chapter "Public Interfaces" adds."""

Batch = tuple[tuple[int, ...], tuple[int, ...]]
"""What a step drops, and what it adds, in the order of the lists before and after it."""

BATCHES: tuple[Batch, ...] = (((0, 1), (5, 6)), ((2, 3), (7, 8)), ((4,), (9,)))
"""The second worked example, as printed: "(0, 1) (5, 6); (2, 3) (7, 8) and 4 9" (brokers from 0)."""

_LISTS = "lists of up to 3 of 4 brokers, R 1 to 4, MinISR 1 to 3"
_EXAMPLES = "R = 2, MinISR 1 to 5"


# -- B11 --------------------------------------------------------------------------------------------------


def all_in_one_step(target: List, current: List, isr: Brokers, alive: Brokers, at_once: int, min_isr: int) -> List:
    """The existing algorithm: all of the reassignment is one step."""
    return target


def copies_held(passed: list[List]) -> int:
    """How many brokers hold a copy at the most: in each step those before and those after it."""
    return max(len(frozenset(now) | frozenset(after)) for now, after in pairwise(passed))


def most_copies(rule: Step, most: int) -> Outcome:
    """Whether a partition that moves from four brokers to four others, R = 1, has so many copies at the most."""
    now, after = brokers(1, 2, 3, 4), brokers(5, 6, 7, 8)
    for min_isr in range(1, 5):
        passed = steps(rule, after, now, 1, min_isr)
        if passed[-1] != after or copies_held(passed) != most:
            said = f"MinISR = {min_isr}: {copies_held(passed)} copies, not {most}"
            return Outcome(False, min_isr, "four brokers to four others, R = 1, MinISR 1 to 4", said)
    return Outcome(True, 4, "four brokers to four others, R = 1, MinISR 1 to 4")


def existing_algorithm_has_eight_copies() -> Outcome:
    """L42: replication factor 4, everything moves, and eight replicas fetch."""
    return most_copies(all_in_one_step, 8)


def repaired_batches_of_one_have_five_copies() -> Outcome:
    """L44: one replica is brought in, then one of the old ones goes."""
    return most_copies(rules.repaired, 5)


# -- B13 --------------------------------------------------------------------------------------------------


def batch(now: List, after: List) -> Batch:
    dropped = tuple(int(b) for b in now if b not in after)
    return dropped, tuple(int(b) for b in after if b not in now)


def gives_the_batches(rule: Step, least: int) -> Outcome:
    """Whether a rule gives the batches of the second worked example, for every MinISR from `least` to 5."""
    bounds = f"R = 2, MinISR {least} to 5"
    for number, min_isr in enumerate(range(least, 6), start=1):
        passed = steps(rule, brokers(*EXAMPLE[-1]), brokers(*EXAMPLE[0]), 2, min_isr)
        got = tuple(batch(now, after) for now, after in pairwise(passed))
        if got != BATCHES:
            said = "; ".join(f"{dropped} {added}" for dropped, added in got)
            return Outcome(False, number, bounds, f"MinISR = {min_isr}: {said}")
    return Outcome(True, 6 - least, bounds)


def printed_calculation_gives_the_batches() -> Outcome:
    return gives_the_batches(as_printed, 1)


def printed_calculation_gives_the_batches_from_min_isr_2() -> Outcome:
    return gives_the_batches(as_printed, 2)


def example_reading_gives_the_batches() -> Outcome:
    """Whether the rule of the first worked example (L214-224) gives the second one as well."""
    return gives_the_batches(as_in_the_example, 1)


# -- B15 --------------------------------------------------------------------------------------------------


def no_public_interface_changes() -> Outcome:
    """L228, held against L50-63."""
    return Outcome(not PUBLIC, len(PUBLIC), 'what "Public Interfaces" adds', "; ".join(PUBLIC) or None)


def stores_what_was_stored(rule: Step) -> Outcome:
    """Whether the lists that steps leave in ZooKeeper are the existing algorithm's: OAR, OAR + RAR, RAR."""
    cases = 0
    for current, target in product(lists(4, 3), repeat=2):
        grown = frozenset(current) | frozenset(target)
        for at_once, min_isr in product(range(1, 5), range(1, 4)):
            cases += 1
            for listed in steps(rule, target, current, at_once, min_isr):
                if frozenset(listed) not in (frozenset(current), grown, frozenset(target)):
                    said = f"{told(current)} to {told(target)}, R = {at_once}, MinISR = {min_isr}"
                    return Outcome(False, cases, _LISTS, f"{said}: {told(listed)} is stored")
    return Outcome(True, cases, _LISTS)


def printed_batches_store_what_was_stored() -> Outcome:
    return stores_what_was_stored(as_printed)


# -- B16 --------------------------------------------------------------------------------------------------


def every_configuration_is_cluster_wide() -> Outcome:
    """L52, held against the table."""
    others = [f"{name} is {mode}" for name, mode in MODES.items() if mode != "cluster-wide"]
    return Outcome(not others, len(MODES), "the rows of the table", "; ".join(others) or None)


def some_configuration_is_of_a_topic() -> Outcome:
    """L123, "on partition and topic levels", held against the table."""
    found = any(mode == "per-topic" for mode in MODES.values())
    said = None if found else f"the modes are {', '.join(sorted(set(MODES.values())))}"
    return Outcome(found, len(MODES), "the rows of the table", said)


def with_n(target: List, current: List, isr: Brokers, alive: Brokers, at_once: int, min_isr: int) -> List:
    """The printed calculation, its 3d adding the `n` that 2a computes: max(R, size(FTR) - size(CR))."""
    n = max(at_once, len(target) - len(current))
    available = tuple(b for b in rules.missing(target, current) if b in alive)
    dropped = rules.excess(target, current)[:at_once]
    chosen = 1 if target[0] in available else 0
    more = rules.as_printed_more(chosen, at_once, min_isr) if chosen < min_isr else n - chosen
    listed = current + available[: max(chosen + more, 0)]
    kept = tuple(b for b in listed if b not in dropped)
    return target if frozenset(kept) == frozenset(target) else kept


def adds_at_most_r(rule: Step) -> Outcome:
    """Whether no step adds more than R replicas, where enough are in sync."""
    cases = 0
    for current, target in product(lists(4, 3), repeat=2):
        for at_once, min_isr in product(range(1, 5), range(1, 4)):
            cases += 1
            for now, after in pairwise(steps(rule, target, current, at_once, min_isr)):
                added = [b for b in after if b not in now]
                if len(added) > at_once:
                    said = f"{told(current)} to {told(target)}, R = {at_once}, MinISR = {min_isr}"
                    return Outcome(False, cases, _LISTS, f"{said}: {told(tuple(added))} are added at once")
    return Outcome(True, cases, _LISTS)


def n_unused_adds_at_most_r() -> Outcome:
    return adds_at_most_r(as_printed)


def n_used_adds_at_most_r() -> Outcome:
    return adds_at_most_r(with_n)
