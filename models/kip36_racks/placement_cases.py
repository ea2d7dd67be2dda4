"""R1 to R5: what KIP-36 promises about placement, gone through case by case.

The algorithm knows brokers by their place in the rack-alternated list and racks by their names' order, so layouts with
the same rack sizes in the same order differ in ids only (a test shows it); beyond 6 brokers one
layout of each is gone through. A partition's replicas depend on the position of its leader and on the shift alone, so
all positions with all shifts are all partitions of all assignments.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator

from reassure.spec.claims import Outcome
from reassure.spec.kafka.placement import (
    Assignment,
    MissingRackError,
    PlacementError,
    RackMode,
    ReplicationFactorError,
    assign,
    rack_alternated,
    replicas_aware,
)

Layout = dict[int, str]
"""The rack of each broker."""

LABELLED = 6
RACKS = 4
SIZES = 9

EXAMPLE: Layout = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
UNEVEN: Layout = {0: "rack1", 1: "rack2", 2: "rack2"}
FIRST_SIX = [(0, 3, 1), (3, 1, 5), (1, 5, 4), (5, 4, 2), (4, 2, 0), (2, 0, 3)]
NEXT_SIX = [(0, 4, 2), (3, 2, 0), (1, 0, 3), (5, 3, 1), (4, 1, 5), (2, 5, 4)]


def labelled(brokers: int = LABELLED, racks: int = RACKS) -> Iterator[Layout]:
    """Every way to put up to so many brokers into racks `a`, `b`, ... of which none before the last is missing."""
    names = "abcdefgh"[:racks]
    for count in range(1, brokers + 1):
        for placed in itertools.product(names, repeat=count):
            if set(placed) == set(names[: len(set(placed))]):
                yield dict(enumerate(placed))


def sized(brokers: int = SIZES, racks: int = SIZES) -> Iterator[Layout]:
    """One layout of each sequence of rack sizes, up to so many brokers in so many racks."""
    for count in range(1, brokers + 1):
        for cuts in range(min(racks, count)):
            for at in itertools.combinations(range(1, count), cuts):
                yield {b: "abcdefghijkl"[sum(b >= cut for cut in at)] for b in range(count)}


def layouts() -> Iterator[Layout]:
    """All labelled layouts of few brokers, then one of each size."""
    yield from labelled()
    yield from (layout for layout in sized() if len(layout) > LABELLED or len(set(layout.values())) > RACKS)


LAYOUTS = (
    f"all layouts of up to {LABELLED} brokers in up to {RACKS} racks, one of each sequence of rack sizes up to {SIZES} "
    "brokers"
)
EVERYWHERE = f"{LAYOUTS}; every replication factor, leader position and shift"


def told(layout: Layout) -> str:
    """A layout in words."""
    racks = sorted(set(layout.values()))
    return "; ".join(f"rack {r}: {', '.join(str(b) for b in layout if layout[b] == r)}" for r in racks)


def placements(layout: Layout) -> Iterator[tuple[int, int, int, tuple[int, ...]]]:
    """Every replica list there can be: replication factor, position of the leader, shift, replicas."""
    order = rack_alternated(layout)
    for rf in range(1, len(order) + 1):
        for shift in range(max(1, len(order) - 1)):  # after that they repeat: shift and racks are multiplied
            for first in range(len(order)):
                yield rf, first, shift, replicas_aware(order, layout, rf, first, shift)


def everywhere(fault: Callable[[Layout, tuple[int, ...]], str], racks_enough: bool | None = None) -> Outcome:
    """Whether `fault` finds nothing wrong with any replica list; narrowed to racks >= replication factor, or fewer."""
    cases = 0
    for layout in layouts():
        racks = len(set(layout.values()))
        for rf, first, shift, replicas in placements(layout):
            if racks_enough is not None and racks_enough != (racks >= rf):
                continue
            cases += 1
            wrong = fault(layout, replicas)
            if wrong:
                where = f"{told(layout)}; leader at position {first}, shift {shift}: {replicas}"
                return Outcome(False, cases, EVERYWHERE, f"{where}: {wrong}")
    return Outcome(True, cases, EVERYWHERE)


# -- R1 -------------------------------------------------------------------------------------------------------


def examples_as_printed() -> Outcome:
    """R1: the rack-alternated list, both assignments over six brokers, the uneven one with its counts."""
    if rack_alternated(EXAMPLE) != [0, 3, 1, 5, 4, 2]:
        return Outcome(False, 1, "the printed examples", f"the list is {rack_alternated(EXAMPLE)}")
    want = dict(enumerate(FIRST_SIX + NEXT_SIX))
    got = assign(EXAMPLE, 12, 3)
    for partition, replicas in want.items():
        if got[partition] != replicas:
            return Outcome(
                False, partition + 2, "the printed examples", f"{partition}: {got[partition]}, not {replicas}"
            )
    uneven = assign(UNEVEN, 3, 2)
    counts = replica_counts(uneven)
    if list(uneven.values()) != [(0, 1), (1, 0), (2, 0)] or counts != {0: 3, 1: 2, 2: 1}:
        return Outcome(False, 16, "the printed examples", f"uneven: {uneven}, {counts}")
    return Outcome(True, 16, "the printed list, 12 + 3 partitions, and the replica counts of the uneven example")


def list_alternates_racks() -> Outcome:
    """R1: the list has every broker once, and never returns to a rack while one with as many left is waiting."""
    cases = 0
    for layout in layouts():
        order = rack_alternated(layout)
        cases += 1
        seen: Counter[str] = Counter()
        sizes = Counter(layout.values())
        for at, broker in enumerate(order):
            rack = layout[broker]
            waiting = [r for r in sizes if seen[r] < seen[rack] and seen[r] < sizes[r]]
            if waiting:
                return Outcome(False, cases, LAYOUTS, f"{told(layout)}: {order}, position {at}: {waiting} wait")
            seen[rack] += 1
        if sorted(order) != sorted(layout):
            return Outcome(False, cases, LAYOUTS, f"{told(layout)}: {order}")
    return Outcome(True, cases, LAYOUTS)


def follower_is_next_to_the_leader() -> Outcome:
    """R1 to the letter: the first follower is the next broker of the list. True of the first round only."""
    cases = 0
    bounds = "2 x brokers partitions, replication factor 2, one broker in each of 2 to 9 racks"
    for count in range(2, SIZES + 1):
        layout = dict(zip(range(count), "abcdefghi", strict=False))
        order = rack_alternated(layout)
        for partition, replicas in assign(layout, 2 * count, 2).items():
            cases += 1
            following = order[(order.index(replicas[0]) + 1) % count]
            if replicas[1] != following:
                said = f"{told(layout)}; partition {partition} -> {replicas}, and {following} is next to {replicas[0]}"
                return Outcome(False, cases, bounds, said)
    return Outcome(True, cases, bounds)


def shift_changes_the_sequence() -> Outcome:
    """R1: the shift is there lest the first round's replica lists come again in the second.

    It moves by the number of racks modulo brokers - 1, so it stands still where that divides.
    """
    cases = 0
    bounds = f"{LAYOUTS}, of at least 3 brokers; replication factor 2 to brokers - 1; the first two rounds"
    for layout in layouts():
        count = len(layout)
        for rf in range(2, count):
            cases += 1
            made = assign(layout, 2 * count, rf)
            if all(made[p] == made[p + count] for p in range(count)):
                racks = len(set(layout.values()))
                said = f"{told(layout)}; replication factor {rf}: round 2 is round 1, as {count} - 1 divides {racks}"
                return Outcome(False, cases, bounds, said)
    return Outcome(True, cases, bounds)


# -- R2 -------------------------------------------------------------------------------------------------------


def replica_counts(made: Assignment) -> dict[int, int]:
    """How many replicas each broker has."""
    return dict(sorted(Counter(b for replicas in made.values() for b in replicas).items()))


def equal_racks(layout: Layout) -> bool:
    return len(set(Counter(layout.values()).values())) == 1


def unequal(counts: dict[int, int], layout: Layout) -> bool:
    return len(counts) != len(layout) or len(set(counts.values())) != 1


def equal_counts(which: Callable[[Layout], bool], added: bool) -> Outcome:
    """Whether all brokers have equally many replicas, over the layouts that `which` picks.

    added: partition ids may begin anywhere, not only at 0.
    """
    cases = 0
    ids = "begin anywhere" if added else "begin at 0"
    bounds = f"{LAYOUTS}; every replication factor; partition ids {ids}; brokers and 2 x brokers partitions; up to "
    bounds += f"{LABELLED} brokers every start index and first shift, beyond the first, second and last"
    for layout in filter(which, layouts()):
        size = len(layout)
        starts = set(range(size)) if size <= LABELLED else {0, 1, size - 1}
        shifts = set(range(max(1, size - 1))) if size <= LABELLED else {0, 1, size - 2}
        firsts = range(size) if added else range(1)
        for times, rf in itertools.product((1, 2), range(1, size + 1)):
            for start, shift, first in itertools.product(starts, shifts, firsts):
                cases += 1
                made = assign(layout, times * size, rf, start_index=start, shift=shift, first_partition=first)
                counts = replica_counts(made)
                if unequal(counts, layout):
                    where = f"{told(layout)}; replication factor {rf}, partitions from {first} on: {made}"
                    return Outcome(False, cases, bounds, f"{where}; replicas by broker: {counts}")
    return Outcome(True, cases, bounds)


def leader_counts(made: Assignment) -> dict[int, int]:
    """How many partitions prefer each broker as their leader."""
    return dict(sorted(Counter(replicas[0] for replicas in made.values()).items()))


def equal_leaders() -> Outcome:
    """R2: a multiple of the brokers gives each broker equally many partitions to lead, wherever they start."""
    cases = 0
    bounds = (
        f"one layout of each sequence of rack sizes up to {SIZES} brokers; replication factors 1 and 2; every start "
    )
    bounds += "index and first partition; brokers and 2 x brokers partitions"
    for layout in sized():
        size = len(layout)
        for rf, times in itertools.product(range(1, min(2, size) + 1), (1, 2)):
            for start, first in itertools.product(range(size), repeat=2):
                cases += 1
                made = assign(layout, times * size, rf, start_index=start, first_partition=first)
                if unequal(leader_counts(made), layout):
                    return Outcome(False, cases, bounds, f"{told(layout)}; {made}: {leader_counts(made)}")
    return Outcome(True, cases, bounds)


def equal_replicas_in_equal_racks() -> Outcome:
    """R2: with equal racks also equally many replicas, for topics created whole."""
    return equal_counts(equal_racks, added=False)


def equal_replicas_when_partitions_are_added() -> Outcome:
    """R2 to the letter, which says nothing of where partition ids begin: not if the first is no multiple."""
    return equal_counts(equal_racks, added=True)


def replicas_may_differ_in_unequal_racks() -> Outcome:
    """R2: with unequal racks equal replicas are not promised, and with reason."""
    return seen(equal_counts(lambda layout: not equal_racks(layout), added=False))


def seen(refuted: Outcome) -> Outcome:
    """Whether a case exists: the claim that there is none has a counterexample, which the bounds name."""
    return Outcome(not refuted.holds, refuted.cases, f"{refuted.bounds}; first seen: {refuted.counterexample}")


def perfect_case(added: bool) -> Outcome:
    """R9: as many replicas as racks, all of one size: every broker leads equally many and has equally many replicas.

    Over racks it is so by R3 alone: each has one replica of every partition. added: partition ids may begin anywhere.
    """
    cases = 0
    bounds = f"{LAYOUTS}, with equal racks; replication factor = racks; every start index; partition ids "
    bounds += f"begin {'anywhere' if added else 'at 0'}; brokers and 2 x brokers partitions"
    for layout in filter(equal_racks, layouts()):
        size, racks = len(layout), len(set(layout.values()))
        firsts = range(size) if added else range(1)
        for start, first, times in itertools.product(range(size), firsts, (1, 2)):
            cases += 1
            made = assign(layout, times * size, racks, start_index=start, first_partition=first)
            if unequal(leader_counts(made), layout) or unequal(replica_counts(made), layout):
                where = f"{told(layout)}; partitions from {first} on: {made}"
                return Outcome(False, cases, bounds, f"{where}; replicas by broker: {replica_counts(made)}")
    return Outcome(True, cases, bounds)


def even_in_the_perfect_case() -> Outcome:
    return perfect_case(added=False)


def even_in_the_perfect_case_when_partitions_are_added() -> Outcome:
    return perfect_case(added=True)


# -- R3, R4 ---------------------------------------------------------------------------------------------------


def at_most_one_replica_per_rack() -> Outcome:
    """R3: with racks for all replicas, no rack has two."""

    def fault(layout: Layout, replicas: tuple[int, ...]) -> str:
        used = Counter(layout[b] for b in replicas)
        return "" if max(used.values()) == 1 else f"rack {used.most_common(1)[0][0]} has two"

    return everywhere(fault, racks_enough=True)


def at_least_one_replica_per_rack() -> Outcome:
    """R3: with fewer racks than replicas, none is left out."""

    def fault(layout: Layout, replicas: tuple[int, ...]) -> str:
        left_out = set(layout.values()) - {layout[b] for b in replicas}
        return f"none in rack {min(left_out)}" if left_out else ""

    return everywhere(fault, racks_enough=False)


def racks_may_differ_by_more_than_one() -> Outcome:
    """R3: with fewer racks than replicas nothing else is promised: a rack with room may have two fewer than another."""

    def fault(layout: Layout, replicas: tuple[int, ...]) -> str:
        sizes, used = Counter(layout.values()), Counter(layout[b] for b in replicas)
        low = [r for r in used if used[r] < sizes[r] and used[r] + 1 < max(used.values())]
        return f"rack {low[0]} has {used[low[0]]}, another {max(used.values())}" if low else ""

    return seen(everywhere(fault, racks_enough=False))


def two_racks_four_replicas() -> Outcome:
    """R3's illustration: four replicas over two racks can be split 1-3 or 2-2, though each rack has room."""
    bounds = (
        f"layouts of up to {SIZES} brokers in 2 racks of at least 3; replication factor 4; every position and shift"
    )
    cases, seen = 0, set()
    for layout in sized(racks=2):
        sizes = Counter(layout.values())
        if len(sizes) == 2 and min(sizes.values()) >= 3:
            split = [sum(layout[b] == "a" for b in replicas) for rf, _, _, replicas in placements(layout) if rf == 4]
            cases += len(split)
            seen |= set(split)
    return Outcome(seen == {1, 2, 3}, cases, bounds, None if seen == {1, 2, 3} else f"seen: {sorted(seen)}")


def replicas_are_distinct_and_as_many_as_asked() -> Outcome:
    """R4: a broker has a partition once, and there are as many replicas as asked for; racks counting or not."""

    def fault(layout: Layout, replicas: tuple[int, ...]) -> str:
        return "" if len(set(replicas)) == len(replicas) else "a broker twice"

    aware = everywhere(fault)
    if not aware.holds:
        return aware
    cases = aware.cases
    bounds = f"{EVERYWHERE}; without racks, {SIZES} brokers and all of these; numbers of partitions up to 2 x brokers"
    for size in range(1, SIZES + 1):
        bare: dict[int, str | None] = dict.fromkeys(range(size))
        for rf, start, shift in itertools.product(range(1, size + 1), range(size), range(max(1, size - 1))):
            made = assign(bare, 2 * size, rf, start_index=start, shift=shift, mode=RackMode.IGNORE)
            cases += len(made)
            wrong = [r for r in made.values() if len(r) != rf or len(set(r)) != rf]
            if wrong or sorted(made) != list(range(2 * size)):
                return Outcome(False, cases, bounds, f"{size} brokers, replication factor {rf}: {wrong}")
    return Outcome(True, cases, bounds)


def too_many_replicas_are_refused() -> Outcome:
    """R4: a replication factor above the number of brokers is an error, with racks and without; so is one below 1."""
    cases = 0
    bounds = f"all layouts of up to {LABELLED} brokers in up to {RACKS} racks; replication factors -1, 0 and above"
    for layout in labelled():
        for rf, mode in itertools.product((-1, 0, len(layout) + 1, len(layout) + 7), RackMode):
            cases += 1
            try:
                made = assign(layout, 1, rf, mode=mode)
            except ReplicationFactorError:
                continue
            return Outcome(False, cases, bounds, f"{told(layout)}; replication factor {rf}: {made}")
    return Outcome(True, cases, bounds)


# -- R5 -------------------------------------------------------------------------------------------------------


def partly_racked() -> Iterator[dict[int, str | None]]:
    """Every layout of up to 5 brokers in up to 3 racks with one broker or more that has none."""
    for count in range(1, 6):
        for placed in itertools.product(("a", "b", "c", None), repeat=count):
            if None in placed:
                yield dict(enumerate(placed))


PARTLY = "all layouts of up to 5 brokers in up to 3 racks, one broker or more without a rack"


def without_racks(brokers: list[int], partitions: int, replication_factor: int) -> Assignment:
    """The implementation from before racks, told once more: leaders in turn, followers one further in each round."""
    made: Assignment = {}
    for partition in range(partitions):
        leader, round_ = partition % len(brokers), partition // len(brokers)
        others = brokers[leader + 1 :] + brokers[:leader]
        made[partition] = (
            brokers[leader],
            *(others[(round_ + j) % len(others)] for j in range(replication_factor - 1)),
        )
    return made


def automatic_creation_ignores_racks() -> Outcome:
    """R5: automatic creation then assigns as before there were racks, and never fails for want of one."""
    cases = 0
    for layout in partly_racked():
        for rf in range(1, len(layout) + 1):
            cases += 1
            try:
                made = assign(layout, 2 * len(layout), rf, mode=RackMode.FALL_BACK)
            except PlacementError as error:
                return Outcome(False, cases, PARTLY, f"{layout}, replication factor {rf}: {error}")
            if made != without_racks(list(layout), 2 * len(layout), rf):
                return Outcome(False, cases, PARTLY, f"{layout}, replication factor {rf}: {made}")
    return Outcome(True, cases, PARTLY)


def _refused(layout: dict[int, str | None], mode: RackMode) -> bool:
    try:
        assign(layout, 1, 1, mode=mode)
    except MissingRackError:
        return True
    return False


def tools_refuse() -> Outcome:
    """R5 to the letter: the tools fail if one broker or more has no rack, so also if none has."""
    cases = 0
    for layout in partly_racked():
        cases += 1
        if not _refused(layout, RackMode.REFUSE):
            return Outcome(False, cases, PARTLY, f"{layout} is accepted")
    return Outcome(True, cases, PARTLY)


def tools_refuse_as_in_the_code() -> Outcome:
    """R5 to the letter, asked of Kafka's rule: where no broker at all has a rack, the code accepts."""
    cases = 0
    for layout in partly_racked():
        cases += 1
        if not _refused(layout, RackMode.REFUSE_SOME):
            return Outcome(False, cases, PARTLY, f"{layout} is accepted")
    return Outcome(True, cases, PARTLY)


def told_to_ignore_racks_tools_go_on() -> Outcome:
    """R5: told to ignore racks, the tools assign as if no broker had one, whoever has."""
    cases = 0
    bounds = f"{PARTLY}, and all with racks"
    racked: Iterator[dict[int, str | None]] = (dict(layout.items()) for layout in labelled(5, 3))
    for layout in itertools.chain(partly_racked(), racked):
        cases += 1
        bare: dict[int, str | None] = dict.fromkeys(layout)
        try:
            same = assign(layout, 3, 1, mode=RackMode.IGNORE) == assign(bare, 3, 1, mode=RackMode.IGNORE)
        except PlacementError as error:
            return Outcome(False, cases, bounds, f"{layout}: {error}")
        if not same:
            return Outcome(False, cases, bounds, f"{layout}: its racks count")
    return Outcome(True, cases, bounds)
