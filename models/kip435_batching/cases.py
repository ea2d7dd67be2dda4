"""KIP-435's calculations gone through case by case: claims B1, B2, B3, B5, B7 and B8 over `rules`.

Each function takes nothing and returns an `Outcome`. Replica lists are all those of distinct brokers of a small
cluster.
"""

from collections.abc import Callable, Iterator
from itertools import chain, combinations, permutations, product

from reassure.models.kip435_batching import rules
from reassure.spec.claims import Outcome
from reassure.spec.kafka.partition import Broker, Brokers
from reassure.spec.kafka.shared_properties import Part

List = tuple[Broker, ...]
Step = Callable[[List, List, Brokers, Brokers, int, int], List]
"""The next list from (target, current, isr, alive, R, MinISR)."""

TABLE = {
    "reassignment.max.concurrent.leader.movements": ("leaders", "replicas of one partition"),
    "reassignment.max.concurrent.partition.movements": ("partitions", "partitions"),
    "reassignment.max.concurrent.replica.movements": ("replicas of one partition", "replicas"),
}
"""What a row counts by its name (and by its update mode, which is per-partition for the last), and by its
description."""

USED = {
    "Config Changes": "reassignment.max.parallel.replica.count",
    "Proposed Changes": "reassignment.parallel.replica.count",
    "Algorithm, R": "reassignment.parallel.replica.count",
    "Algorithm, P": "reassignment.parallel.partition.count",
    "Algorithm, L": "reassignment.parallel.leader.movements",
}
"""By what names the text speaks of them elsewhere."""

EXAMPLE = ((0, 1, 2, 3, 4), (5, 0, 1, 2, 3, 4), (5, 6, 2, 3, 4), (5, 6, 7, 8, 4), (5, 6, 7, 8, 9))
"""The worked example, R = 2, as printed (brokers from 0)."""


def as_printed(target: List, current: List, isr: Brokers, alive: Brokers, at_once: int, min_isr: int) -> List:
    return rules.as_printed(target, current, alive, at_once, min_isr)


def as_in_the_example(target: List, current: List, isr: Brokers, alive: Brokers, at_once: int, min_isr: int) -> List:
    return rules.as_in_the_example(target, current, alive, at_once, min_isr)


def brokers(*numbers: int) -> List:
    return tuple(Broker(n) for n in numbers)


def lists(count: int, longest: int) -> Iterator[List]:
    """All lists of distinct brokers out of so many, shorter first."""
    cluster = brokers(*range(1, count + 1))
    return chain.from_iterable(permutations(cluster, n) for n in range(1, longest + 1))


def subsets(items: List) -> Iterator[Brokers]:
    return (frozenset(s) for n in range(len(items) + 1) for s in combinations(items, n))


def steps(rule: Step, target: List, current: List, at_once: int, min_isr: int) -> list[List]:
    """The lists that a reassignment goes through with everybody alive and in sync; it stops if one comes again."""
    found = [current]
    while found[-1] != target:
        now = found[-1]
        after = rule(target, now, frozenset(now), frozenset(target) | frozenset(now), at_once, min_isr)
        if after in found:
            break
        found.append(after)
    return found


# -- B1 ---------------------------------------------------------------------------------------------------


def rows_describe_what_they_name() -> Outcome:
    """Whether each row of the table describes what its name says."""
    wrong = [f"{name} describes {what}" for name, (unit, what) in TABLE.items() if unit != what]
    return Outcome(not wrong, len(TABLE), "the rows of the table", "; ".join(wrong) or None)


def one_name_each() -> Outcome:
    """Whether the text uses only names that the table has."""
    strange = [f"{name} ({where})" for where, name in USED.items() if name not in TABLE]
    return Outcome(not strange, len(USED), "the names used outside the table", "; ".join(strange) or None)


# -- B2 ---------------------------------------------------------------------------------------------------


def gives_the_example(rule: Step) -> Outcome:
    """Whether a rule goes through the lists of the worked example, for every MinISR that five replicas can have."""
    printed = [brokers(*numbers) for numbers in EXAMPLE]
    for min_isr in range(1, 6):
        got = steps(rule, printed[-1], printed[0], 2, min_isr)
        if got != printed:
            said = " ".join(str(tuple(int(b) for b in listed)) for listed in got[1:])
            return Outcome(False, min_isr, "R = 2, MinISR 1 to 5", f"MinISR = {min_isr}: {said}")
    return Outcome(True, 5, "R = 2, MinISR 1 to 5")


def printed_calculation_gives_the_example() -> Outcome:
    return gives_the_example(as_printed)


def example_reading_gives_the_example() -> Outcome:
    return gives_the_example(as_in_the_example)


def repaired_calculation_gives_the_example() -> Outcome:
    return gives_the_example(rules.repaired)


# -- B3 ---------------------------------------------------------------------------------------------------


def first_step_reaches_min_isr(rule: Step) -> Outcome:
    """Whether a first step adds what MinISR takes, if so many are asked for and there; nothing is dropped for want of
    it.

    All lists of up to three of four brokers, every ISR that is too small, R and MinISR from 1 to 3.
    """
    cases = 0
    alive = frozenset(brokers(1, 2, 3, 4))
    for target, current in product(lists(4, 3), repeat=2):
        new = frozenset(target) - frozenset(current)
        for isr, at_once, min_isr in product(subsets(current), range(1, 4), range(1, 4)):
            if not 0 < len(isr) < min_isr or len(target) < min_isr:
                continue
            cases += 1
            after = frozenset(rule(target, current, isr, alive, at_once, min_isr))
            joining = frozenset(target) & frozenset(current) - isr
            if len(after & (new | joining)) < min(min_isr - len(isr), len(new | joining)):
                said = f"{told(current)} with {told(sorted(isr))} in sync to {told(target)}, R = {at_once}"
                return Outcome(
                    False, cases, _B3, f"{said}, MinISR = {min_isr}: {told(sorted(after - frozenset(current)))}"
                )
    return Outcome(True, cases, _B3)


_B3 = "lists of up to 3 of 4 brokers, R and MinISR 1 to 3"


def printed_first_step_reaches_min_isr() -> Outcome:
    return first_step_reaches_min_isr(as_printed)


def repaired_first_step_reaches_min_isr() -> Outcome:
    return first_step_reaches_min_isr(rules.repaired)


def never_negative(most_chosen: Callable[[int, int], int]) -> Outcome:
    """Whether 3c never asks for fewer than no replicas, for so many chosen before it by (in sync, MinISR)."""
    cases = 0
    for in_sync, at_once, min_isr in product(range(1, 6), repeat=3):
        for chosen in range(most_chosen(in_sync, min_isr) + 1):
            cases += 1
            count = rules.as_printed_more(chosen, at_once, min_isr)
            if chosen < min_isr and count < 0:
                said = f"R = {at_once}, MinISR = {min_isr}, {in_sync} in sync, {chosen} chosen: {count}"
                return Outcome(False, cases, _NEGATIVE, said)
    return Outcome(True, cases, _NEGATIVE)


_NEGATIVE = "R, MinISR and the ISR's size from 1 to 5"


def count_is_never_negative_if_3a_only_looks() -> Outcome:
    """Only the leader can have been chosen before 3c."""
    return never_negative(lambda in_sync, min_isr: 1)


def count_is_never_negative_if_3a_adds() -> Outcome:
    """What MinISR takes has been chosen before, as the prose has it, and perhaps the leader."""
    return never_negative(lambda in_sync, min_isr: max(min_isr - in_sync, 0) + 1)


# -- B5, B7, B8 ---------------------------------------------------------------------------------------------


def fills_batches(rule: Callable[[frozenset[Part], frozenset[Part], int], frozenset[Part]]) -> Outcome:
    """Whether a batch is as large as P and what is asked for allow, for every choice of leader movements."""
    cases = 0
    parts = frozenset(Part(n) for n in range(4))
    for asked in _powerset(parts):
        for leading, limit in product(_powerset(asked), range(1, 5)):
            cases += 1
            batch = rule(asked, leading, limit)
            if len(batch) != min(limit, len(asked)):
                said = f"P = {limit}, asked for {told(sorted(asked))}, leaders move in {told(sorted(leading))}"
                return Outcome(False, cases, _B5, f"{said}: {told(sorted(batch))}")
    return Outcome(True, cases, _B5)


_B5 = "up to 4 partitions, P 1 to 4"


def printed_batches_are_filled() -> Outcome:
    return fills_batches(rules.collected)


def batches_from_steps_are_filled() -> Outcome:
    return fills_batches(rules.collected_from_steps)


def ends_as_asked(rule: Step) -> Outcome:
    """Whether the lists end at the request, order included, with everybody alive and in sync."""
    cases = 0
    for current, target in product(lists(4, 3), repeat=2):
        for at_once, min_isr in product(range(1, 5), range(1, 4)):
            cases += 1
            found = steps(rule, target, current, at_once, min_isr)
            if found[-1] != target:
                return Outcome(False, cases, _B7, f"{told(current)} to {told(target)} ends at {told(found[-1])}")
    return Outcome(True, cases, _B7)


_B7 = "lists of up to 3 of 4 brokers, R 1 to 4, MinISR 1 to 3"


def printed_lists_end_as_asked() -> Outcome:
    return ends_as_asked(as_printed)


def repaired_lists_end_as_asked() -> Outcome:
    return ends_as_asked(rules.repaired)


def one_step_by_default(rule: Step) -> Outcome:
    """Whether an unlimited R makes one step of a reassignment, as the existing algorithm does."""
    cases = 0
    for current, target in product(lists(4, 3), repeat=2):
        for min_isr in range(1, 4):
            cases += 1
            found = steps(rule, target, current, 2**31 - 1, min_isr)
            if len(found) > 2:
                said = " ".join(told(listed) for listed in found)
                return Outcome(False, cases, _B8, f"MinISR = {min_isr}: {said}")
    return Outcome(True, cases, _B8)


_B8 = "lists of up to 3 of 4 brokers, R = 2^31 - 1, MinISR 1 to 3"


def printed_default_is_one_step() -> Outcome:
    return one_step_by_default(as_printed)


def repaired_default_is_one_step() -> Outcome:
    return one_step_by_default(rules.repaired)


def _powerset(parts: frozenset[Part]) -> Iterator[frozenset[Part]]:
    ordered = sorted(parts)
    return (frozenset(s) for n in range(len(ordered) + 1) for s in combinations(ordered, n))


def told(numbers: List | list[Broker] | list[Part]) -> str:
    """As text: (1, 2)."""
    return f"({', '.join(str(int(n)) for n in numbers)})"
