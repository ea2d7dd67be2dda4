"""The configuration space of KIP-542 and how long a copy takes, over every small case."""

from functools import partial
from itertools import product

from reassure.models.kip542_throttle.throttle import Reading, other_limit, shared, total_limit, valid
from reassure.spec.claims import Outcome

RATES = range(-1, 6)
"""What is tried as a rate; -1 is unset."""
BOUNDS = "rates -1 to 5"
UNLIMITED = -1


def values_accepted(reading: Reading) -> Outcome:
    """T1: -1 and anything above is valid, nothing below."""
    number = 0
    for replication, rate in product(RATES, range(-4, 6)):
        number += 1
        if valid(reading, replication, rate) != (rate >= -1):
            return Outcome(False, number, BOUNDS, f"replication rate {replication}, reassignment rate {rate}")
    return Outcome(True, number, BOUNDS)


def as_stated(replication: int, rate: int) -> tuple[bool, int, int]:
    """T2, the four variations: whether a limit is shared, what other replication may use, and the total."""
    if replication >= 0 and rate < 0:
        return True, replication, replication
    if replication >= 0:
        return False, replication, replication + rate
    return False, UNLIMITED, UNLIMITED


def budgets(reading: Reading) -> Outcome:
    """T2: each combination of set and unset rates gives the limits that are stated."""
    number = 0
    for replication, rate in product(RATES, RATES):
        if valid(reading, replication, rate):
            number += 1
            found = (
                shared(replication, rate),
                other_limit(reading, replication, rate),
                total_limit(reading, replication, rate),
            )
            if found != as_stated(replication, rate):
                said = f"replication rate {replication}, reassignment rate {rate}: {found[2]} in all"
                return Outcome(False, number, BOUNDS, said)
    return Outcome(True, number, BOUNDS)


def variations_possible(word_for_word: bool) -> Outcome:
    """T3: with the replication rate as the maximum, each of the four variations still has a valid configuration.

    Word for word, an unset replication rate is a maximum of -1.
    """
    number = 0
    for has_replication, has_rate in product((False, True), (False, True)):
        replications = [r for r in RATES if (r >= 0) == has_replication]
        rates = [r for r in RATES if (r >= 0) == has_rate]
        pairs = list(product(replications, rates))
        number += len(pairs)
        if not any(v <= r if word_for_word else valid(Reading.SUBSET, r, v) for r, v in pairs):
            return Outcome(False, number, BOUNDS, "a reassignment rate without a replication rate is never valid")
    return Outcome(True, number, BOUNDS)


def additive_within_maximum() -> Outcome:
    """T3: what the additive reading admits is within the maximum."""
    number = 0
    for replication, rate in product(RATES, RATES):
        if valid(Reading.ADDITIVE, replication, rate):
            number += 1
            if not valid(Reading.SUBSET, replication, rate):
                said = f"replication rate {replication}, reassignment rate {rate}: a total of {replication + rate}"
                return Outcome(False, number, BOUNDS, f"{said} by the one sentence, an error by the other")
    return Outcome(True, number, BOUNDS)


def printed_example(reading: Reading) -> Outcome:
    """T3: the document's 20 and 5 make 25 if additive; as a subset, 5 and 15 of 20."""
    total, other = total_limit(reading, 20, 5), other_limit(reading, 20, 5)
    expected = (25, 20) if reading is Reading.ADDITIVE else (20, 15)
    return Outcome((total, other) == expected, 1, "the printed example", None)


def others_keep_their_limit(reading: Reading) -> Outcome:
    """T3, T4: a change of the reassignment rate leaves the limit of other replication alone."""
    number = 0
    for replication, old, new in product(RATES, range(6), range(6)):
        if valid(reading, replication, old) and valid(reading, replication, new):
            number += 1
            before, after = other_limit(reading, replication, old), other_limit(reading, replication, new)
            if before != after:
                said = f"replication rate {replication}, reassignment rate {old} to {new}: others {before} to {after}"
                return Outcome(False, number, BOUNDS, said)
    return Outcome(True, number, BOUNDS)


def stays_valid(reading: Reading) -> Outcome:
    """T3: a valid reassignment rate stays valid when the replication rate, a configuration of its own, changes."""
    number = 0
    for old, new, rate in product(RATES, RATES, RATES):
        if valid(reading, old, rate):
            number += 1
            if not valid(reading, new, rate):
                return Outcome(False, number, BOUNDS, f"reassignment rate {rate}, replication rate {old} to {new}")
    return Outcome(True, number, BOUNDS)


def windows(lag: int, rate: int, produce: int, most: int) -> int | None:
    """The number of windows in which a lag is copied if each is fully used; None if more than `most`.

    A rate of -1 copies everything.
    """
    for number in range(1, most + 1):
        if rate < 0 or lag <= rate:
            return number
        lag += produce - rate
    return None


MOST = 200
COPIES = "rates 0 to 5, 0 to 5 produced in a window, 1 to 30 to copy, 200 windows"


def copies(above: bool, least: int) -> list[tuple[int, int, int]]:
    """Rates, produce rates and lags, the rate above the produce rate or not, the lag at least `least` windows."""
    every = product(range(6), range(6), range(1, 31))
    return [(r, p, lag) for r, p, lag in every if (r > p) == above and lag > least * r]


def above_produce_finishes() -> Outcome:
    """T6: a rate above the produce rate copies everything in the end."""
    found = copies(True, 0)
    wrong = [x for x in found if windows(x[2], x[0], x[1], MOST) is None]
    return Outcome(not wrong, len(found), COPIES, f"{wrong[0]}" if wrong else None)


def not_above_never_finishes(least: int) -> Outcome:
    """T6: a rate that is not above the produce rate never does."""
    found = copies(False, least)
    wrong = [x for x in found if windows(x[2], x[0], x[1], MOST) is not None]
    said = "rate {}, {} produced in a window, {} to copy: done in the first window".format(*wrong[0]) if wrong else None
    return Outcome(not wrong, len(found), COPIES, said)


values_accepted_additive = partial(values_accepted, Reading.ADDITIVE)
values_accepted_subset = partial(values_accepted, Reading.SUBSET)
budgets_additive = partial(budgets, Reading.ADDITIVE)
budgets_subset = partial(budgets, Reading.SUBSET)
variations_with_a_maximum = partial(variations_possible, False)
variations_word_for_word = partial(variations_possible, True)
printed_example_additive = partial(printed_example, Reading.ADDITIVE)
printed_example_subset = partial(printed_example, Reading.SUBSET)
others_keep_their_limit_additive = partial(others_keep_their_limit, Reading.ADDITIVE)
others_keep_their_limit_subset = partial(others_keep_their_limit, Reading.SUBSET)
stays_valid_additive = partial(stays_valid, Reading.ADDITIVE)
stays_valid_subset = partial(stays_valid, Reading.SUBSET)
not_above_never_finishes_at_all = partial(not_above_never_finishes, 0)
not_above_never_finishes_a_long_copy = partial(not_above_never_finishes, 1)
