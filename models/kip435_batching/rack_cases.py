"""X1 for KIP-435: plans that placement made over racks, carried out in batches, gone through list by list.

Nine brokers in three racks of three, replication factor 3, everybody alive and in sync when the next step is
calculated: so between two steps exactly the current list is sure to be in sync.
"""

from collections.abc import Callable, Iterator
from itertools import permutations, product

from reassure.models.kip435_batching.cases import List, Step, as_in_the_example, brokers, steps
from reassure.models.kip435_batching.rules import repaired
from reassure.spec.claims import Outcome

RACKS = 3
MIN_ISR = 2
BOUNDS = "nine brokers in three racks, from one list of three racks to every other, R = 1, 2, 3, MinISR 2"


def rack_of(broker: int) -> int:
    return (broker - 1) // 3


def spread() -> Iterator[List]:
    """All lists of three brokers in three racks."""
    for numbers in product(range(1, 4), range(4, 7), range(7, 10)):
        yield from (brokers(*order) for order in permutations(numbers))


def moves() -> Iterator[tuple[List, List]]:
    """Up to a renaming of brokers and racks, every pair of spread lists."""
    start = brokers(1, 4, 7)
    return ((start, target) for target in spread() if target != start)


def gone_through(rule: Step, holds: Callable[[List], bool], why: str) -> Outcome:
    """Whether every list that a plan passes satisfies a condition."""
    cases = 0
    for (current, target), at_once in product(moves(), (1, 2, 3)):
        for listed in steps(rule, target, current, at_once, MIN_ISR):
            cases += 1
            if not holds(listed):
                told = ", ".join(str(int(b)) for b in current), ", ".join(str(int(b)) for b in target)
                passed = ", ".join(f"{int(b)} (rack {'abc'[rack_of(b)]})" for b in listed)
                return Outcome(False, cases, BOUNDS, f"({told[0]}) to ({told[1]}) with R = {at_once}: ({passed}) {why}")
    return Outcome(True, cases, BOUNDS)


def covers_all_racks(listed: List) -> bool:
    return len({rack_of(b) for b in listed}) == RACKS


def left_without(listed: List, rack: int) -> int:
    return sum(1 for b in listed if rack_of(b) != rack)


def survives_any_rack(listed: List) -> bool:
    return all(left_without(listed, rack) >= 1 for rack in range(RACKS))


def produces_without_any_rack(listed: List) -> bool:
    return all(left_without(listed, rack) >= MIN_ISR for rack in range(RACKS))


def repaired_stays_spread() -> Outcome:
    """X1, first half."""
    return gone_through(repaired, covers_all_racks, "is what is in sync, and a rack has none of it")


def repaired_survives_any_rack() -> Outcome:
    """X1, second half: an in-sync replica is left."""
    return gone_through(repaired, survives_any_rack, "is lost with one rack")


def repaired_keeps_min_isr_without_any_rack() -> Outcome:
    """X1, second half, for producers with acks=all."""
    return gone_through(repaired, produces_without_any_rack, "has fewer than MinISR left without some rack")


def example_survives_any_rack() -> Outcome:
    """X1, second half, by the reading of the worked example."""
    return gone_through(as_in_the_example, survives_any_rack, "is lost with one rack")
