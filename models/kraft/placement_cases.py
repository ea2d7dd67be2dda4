"""R2 to R4, case by case, for the placer of Kafka in KRaft, which differs from KIP-36's."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, MutableSequence

from reassure.models.kip36_racks.placement_cases import leader_counts, replica_counts
from reassure.spec.claims import Outcome
from reassure.spec.kafka.placement import Assignment, StripedPlacer, UsableBroker


class Drawn:
    """The same draw wherever there is a choice, as far as it fits; shuffling turns the items by it."""

    def __init__(self, draw: int) -> None:
        self.draw = draw

    def below(self, bound: int) -> int:
        return self.draw % bound

    def shuffle(self, items: MutableSequence[int]) -> None:
        at = self.below(len(items)) if items else 0
        items[:] = [*items[at:], *items[:at]][::-1]


BROKERS = 4
STRIPED = (
    f"all layouts of up to {BROKERS} brokers in racks a, b and none; every replication factor; the same draw wherever "
    "there is a choice, 0 to 3"
)


def striped(dead: bool) -> Iterator[tuple[dict[int, str | None], frozenset[int], int, Assignment]]:
    """Layouts, which brokers are fenced (if `dead`, some but not all may be), and brokers x 2 partitions placed."""
    for count in range(1, BROKERS + 1):
        for placed in itertools.product(("a", "b", None), repeat=count):
            racks = dict(enumerate(placed))
            some = (c for n in range(count if dead else 1) for c in itertools.combinations(racks, n))
            for fenced, rf, draw in itertools.product(map(frozenset, some), range(1, count + 1), range(4)):
                placer = StripedPlacer([UsableBroker(b, r, b in fenced) for b, r in racks.items()], Drawn(draw))
                yield racks, fenced, rf, {p: placer.place(rf) for p in range(2 * count)}


def spreads() -> Outcome:
    """R3 and R4 of Kafka's placer, no rack being a rack: all racks that can be, distinct brokers, a live one first."""
    cases = 0
    for racks, fenced, rf, made in striped(dead=True):
        for replicas in made.values():
            cases += 1
            spread = len({racks[b] for b in replicas}) == min(rf, len(set(racks.values())))
            if not spread or len(set(replicas)) != rf or replicas[0] in fenced:
                return Outcome(False, cases, STRIPED, f"{racks}, fenced {sorted(fenced)}: {replicas}")
    return Outcome(True, cases, f"{STRIPED}; any of them fenced but not all")


def _even(count: Callable[[Assignment], dict[int, int]]) -> Outcome:
    cases = 0
    bounds = f"{STRIPED}, racks equal in size; as many partitions as brokers"
    for racks, _, rf, made in striped(dead=False):
        if len(set(Counter(racks.values()).values())) == 1:
            cases += 1
            once = {p: replicas for p, replicas in made.items() if p < len(racks)}
            if len(count(once)) != len(racks) or len(set(count(once).values())) != 1:
                return Outcome(False, cases, bounds, f"{racks}, replication factor {rf}: {once}: {count(once)}")
    return Outcome(True, cases, bounds)


def equal_leaders() -> Outcome:
    """R2 of Kafka's placer: it evens leaders out over racks, not over brokers (known as KAFKA-15354)."""
    return _even(leader_counts)


def equal_replicas() -> Outcome:
    """R2 of Kafka's placer, for replicas."""
    return _even(replica_counts)
