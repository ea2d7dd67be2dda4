"""KIP-435's limits and the third step of its calculation, gone through case by case: B3, B17 and B18.

Each function takes nothing and returns an `Outcome`, as in `cases`. "Take the first n" takes nothing if n is below 1.
"""

from collections.abc import Callable
from functools import partial
from itertools import product

from reassure.models.kip435_batching import rules
from reassure.models.kip435_batching.cases import List, Step, as_printed, first_step_reaches_min_isr, lists, steps, told
from reassure.spec.claims import Outcome
from reassure.spec.kafka.partition import Brokers
from reassure.spec.kafka.shared_properties import Part

PARTS = frozenset(Part(n) for n in range(3))
BELOW = (0, -1, -(2**31))
_LISTS = "lists of up to 3 of 4 brokers"

Batch = Callable[[frozenset[Part], frozenset[Part], int], frozenset[Part]]
"""The batch from (asked for, those whose leader moves, the limit)."""


# -- B17: values below the range of the table ------------------------------------------------------------------


def ends_with(rule: Step, values: tuple[int, ...]) -> Outcome:
    """Whether reassignments end at their target if R has such a value, everybody alive and in sync."""
    cases = 0
    bounds = f"{_LISTS}, R of {', '.join(map(str, values))}, MinISR 1 to 3"
    for current, target in product(lists(4, 3), repeat=2):
        for value, min_isr in product(values, range(1, 4)):
            cases += 1
            found = steps(rule, target, current, max(value, 0), min_isr)
            if found[-1] != target:
                said = f"R = {value}, MinISR = {min_isr}: {told(current)} to {told(target)} stays at {told(found[-1])}"
                return Outcome(False, cases, bounds, said)
    return Outcome(True, cases, bounds)


def batch_is_not_empty(rule: Batch, values: tuple[int, ...]) -> Outcome:
    """Whether some partition moves if P has such a value and there are reassignments."""
    cases = 0
    bounds = f"1 to 3 partitions, P of {', '.join(map(str, values))}"
    for count, leads, value in product(range(1, 4), range(4), values):
        cases += 1
        asked = rules.first_of(PARTS, count)
        if not rule(asked, rules.first_of(asked, leads), value):
            return Outcome(False, cases, bounds, f"P = {value}, {count} partitions asked for: none is in the batch")
    return Outcome(True, cases, bounds)


def within_leaders(asked: frozenset[Part], leading: frozenset[Part], limit: int) -> frozenset[Part]:
    """A batch without a limit on partitions, with at most `limit` of those whose leader moves."""
    return (asked - leading) | rules.first_of(leading, limit)


def leader_movements_go_on(values: tuple[int, ...]) -> Outcome:
    """Whether some leader moves if L has such a value and all that is asked for moves leaders."""
    cases = 0
    bounds = f"1 to 3 partitions whose leaders move, L of {', '.join(map(str, values))}"
    for count, value in product(range(1, 4), values):
        cases += 1
        asked = rules.first_of(PARTS, count)
        if not within_leaders(asked, asked, value):
            return Outcome(False, cases, bounds, f"L = {value}, {count} partitions asked for: no leader moves")
    return Outcome(True, cases, bounds)


# -- B3, 3a: online, or in sync ------------------------------------------------------------------------------------


def with_3a(
    by_isr: bool, target: List, current: List, isr: Brokers, alive: Brokers, at_once: int, min_isr: int
) -> List:
    """The printed calculation, 3a adding what MinISR lacks, counted in sync (`by_isr`) or online, as printed."""
    available = tuple(b for b in rules.missing(target, current) if b in alive)
    counted = (isr if by_isr else frozenset(current)) & alive
    chosen = 1 if target[0] in available else 0
    count = max(chosen + rules.as_printed_more(chosen, at_once, min_isr), min_isr - len(counted))
    dropped = rules.excess(target, current)[:at_once]
    kept = tuple(b for b in current + available[: max(count, 0)] if b not in dropped)
    return target if frozenset(kept) == frozenset(target) else kept


# -- B18, 3d: as many as R allows ------------------------------------------------------------------------------------


def adds_all_that_r_allows(rule: Step, where_3d_is: bool) -> Outcome:
    """Whether a step adds R replicas, or what is missing if that is less; everybody is alive and in sync.

    where_3d_is: only where 3d is reached, as 3b has chosen MinISR replicas already.
    """
    cases = 0
    reached = ", where 3b has chosen MinISR replicas" if where_3d_is else ""
    bounds = f"{_LISTS}, R 1 to 4, MinISR 1 to 3{reached}"
    for current, target in product(lists(4, 3), repeat=2):
        absent = rules.missing(target, current)
        for at_once, min_isr in product(range(1, 5), range(1, 4)):
            if where_3d_is and (1 if target[0] in absent else 0) < min_isr:
                continue
            cases += 1
            everybody = frozenset(current) | frozenset(target)
            after = rule(target, current, frozenset(current), everybody, at_once, min_isr)
            added = sum(1 for b in absent if b in after)
            if added != min(at_once, len(absent)):
                said = f"{told(current)} to {told(target)}, R = {at_once}, MinISR = {min_isr}: {added} added"
                return Outcome(False, cases, bounds, said)
    return Outcome(True, cases, bounds)


def step_3d_is_reached(least: int) -> Outcome:
    """Whether for each MinISR from `least` to 3 some step comes to 3d."""
    bounds = f"{_LISTS}, MinISR {least} to 3"
    for number, min_isr in enumerate(range(least, 4), start=1):
        chosen = (1 if target[0] not in now else 0 for now, target in product(lists(4, 3), repeat=2))
        if all(count < min_isr for count in chosen):
            return Outcome(False, number, bounds, f"MinISR = {min_isr}: 3b chooses one replica, so that 3c is taken")
    return Outcome(True, 4 - least, bounds)


printed_ends_with_r_below_1 = partial(ends_with, as_printed, BELOW)
repaired_ends_with_r_below_1 = partial(ends_with, rules.repaired, BELOW)
printed_batch_with_p_below_1 = partial(batch_is_not_empty, rules.collected, BELOW)
repaired_batch_with_p_below_1 = partial(batch_is_not_empty, rules.collected_from_steps, BELOW)
leaders_with_l_below_1 = partial(leader_movements_go_on, BELOW)
leaders_with_l_of_1 = partial(leader_movements_go_on, (1,))
first_step_by_online_replicas = partial(first_step_reaches_min_isr, partial(with_3a, False))
first_step_by_in_sync_replicas = partial(first_step_reaches_min_isr, partial(with_3a, True))
printed_adds_all_that_r_allows = partial(adds_all_that_r_allows, as_printed, False)
printed_adds_all_that_r_allows_in_3d = partial(adds_all_that_r_allows, as_printed, True)
step_3d_is_reached_from_min_isr_1 = partial(step_3d_is_reached, 1)
