"""The drop set of KIP-236 as printed, over every small case; the guard of the protocol is compared with it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations, permutations, product

from reassure.models.kip236_intermediate.drop_set import Cluster, Stage, foremost
from reassure.spec.claims import Outcome
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Replicas

Slice = Callable[[tuple[Broker | None, ...], int], tuple[Broker | None, ...]]

BROKERS = tuple(Broker(n) for n in (1, 2, 3, 4))
BOUNDS = "4 brokers; every ISR in every order, leader in it or none, lags 0 to 2, top 1 to 4"


def half_open(existing: tuple[Broker | None, ...], top: int) -> tuple[Broker | None, ...]:
    """`existing[0:top-1]` without its end."""
    return existing[0 : top - 1]


def inclusive(existing: tuple[Broker | None, ...], top: int) -> tuple[Broker | None, ...]:
    """`existing[0:top-1]` with its end."""
    return existing[0:top]


@dataclass(frozen=True)
class Case:
    """A partition as the controller sees it. The ISR and the others are in the order they are listed in."""

    assigned: Brokers
    leader: Broker | None
    isr: Replicas
    lag: tuple[tuple[Broker, int], ...]
    """Of the others, by ascending lag."""

    def drop(self, top: int, part: Slice, none_takes_a_place: bool = False) -> Brokers:
        """Steps 1 to 4, word for word; duplicates go, the first occurrence stays."""
        head = () if self.leader is None and not none_takes_a_place else (self.leader,)
        osr = tuple(b for b, _ in self.lag)
        existing = tuple(dict.fromkeys((*head, *self.isr, *osr)))
        return self.assigned - frozenset(b for b in part(existing, top) if b is not None)

    def __str__(self) -> str:
        leader = "nobody" if self.leader is None else f"{int(self.leader)}"
        lags = ", ".join(f"{int(b)} lags by {n}" for b, n in self.lag) or "nobody lags"
        return f"leader {leader}, ISR {[int(b) for b in self.isr]}, {lags}"


def subsets(brokers: Replicas) -> Iterator[Brokers]:
    every = chain.from_iterable(combinations(brokers, n) for n in range(len(brokers) + 1))
    return (frozenset(chosen) for chosen in every)


def cases(assigned: Brokers) -> Iterator[Case]:
    """Every case with these assigned replicas; ties among lags in every order."""
    for isr in subsets(tuple(sorted(assigned))):
        others = tuple(sorted(assigned - isr))
        for order in permutations(sorted(isr)):
            for listed in permutations(others):
                for lags in product(range(3), repeat=len(others)):
                    if list(lags) == sorted(lags):
                        lag = tuple(zip(listed, lags, strict=True))
                        yield from (Case(assigned, leader, order, lag) for leader in (None, *sorted(isr)))


def every_case() -> Iterator[tuple[Case, int]]:
    for assigned in subsets(BROKERS):
        if assigned:
            yield from product(cases(assigned), (1, 2, 3, 4))


def cluster(case: Case) -> Cluster:
    """The state of the protocol for a case: who has no lag holds everything."""
    whole = frozenset(case.isr) | frozenset(b for b, n in case.lag if n == 0)
    return Cluster(
        assigned=case.assigned,
        isr=frozenset(case.isr),
        leader=case.leader,
        target=case.assigned,
        moving=True,
        top=1,
        original=case.assigned,
        stage=Stage.DUE,
        dropping=NOBODY,
        alive=case.assigned,
        whole=whole,
        min_isr=1,
        asked=0,
        disturbed=0,
    )


def drop_set(part: Slice) -> Outcome:
    """I1: the protocol can drop just what the printed steps give for some order of ISR and lags."""
    printed: dict[tuple[Cluster, int, bool], set[Brokers]] = {}
    number = 0
    for case, top in every_case():
        for counted in (False, True):
            number += 1
            printed.setdefault((cluster(case), top, counted), set()).add(case.drop(top, part, counted))
    for (s, top, counted), drops in printed.items():
        places = len(part((None,) * 9, top)) - (1 if counted and s.leader is None else 0)
        modelled = {s.assigned - kept for kept in subsets(BROKERS) if foremost(s, kept, max(places, 0))}
        if modelled != drops:
            return Outcome(False, number, BOUNDS, f"{s}, top {top}: {drops} printed, {modelled} modelled")
    return Outcome(True, number, BOUNDS)


def leader_stays(part: Slice) -> Outcome:
    """I2: as "top > 0", the leader is never dropped."""
    number = 0
    for case, top in every_case():
        number += 1
        if case.leader is not None and case.leader in case.drop(top, part):
            return Outcome(False, number, BOUNDS, f"top {top}, {case}: the leader is dropped")
    return Outcome(True, number, BOUNDS)


def in_sync_stays(part: Slice, none_takes_a_place: bool = False) -> Outcome:
    """I2, without a leader: not everybody in sync is dropped."""
    number = 0
    for case, top in every_case():
        number += 1
        if case.leader is None and case.isr and frozenset(case.isr) <= case.drop(top, part, none_takes_a_place):
            return Outcome(False, number, BOUNDS, f"top {top}, {case}: everybody in sync is dropped")
    return Outcome(True, number, BOUNDS)


def min_isr_stays(part: Slice) -> Outcome:
    """I3: with top at least MinISR, an ISR that was large enough stays so."""
    number = 0
    for case, top in every_case():
        left = len(frozenset(case.isr) - case.drop(top, part))
        for min_isr in range(1, top + 1):
            number += 1
            if left < min_isr <= len(case.isr):
                said = f"top {top}, MinISR {min_isr}, {case}: {left} in sync are left"
                return Outcome(False, number, BOUNDS, said)
    return Outcome(True, number, BOUNDS)


def worked_example(part: Slice, in_sync: tuple[int, ...] = (1, 2), leader: int = 1) -> Outcome:
    """I5: [1,2] -> [2,3], changed to [2,4]: 3 is dropped, and nobody else. Broker 1 leads, as it does at first.

    leader: another one, after an election (I8).
    """
    number = 0
    bounds = f"leader {leader}, ISR of {in_sync} in any order"
    for case in cases(frozenset(BROKERS[:3])):
        if case.leader == Broker(leader) and frozenset(case.isr) == frozenset(Broker(n) for n in in_sync):
            number += 1
            drop = case.drop(2, part)
            if drop != {Broker(3)}:
                return Outcome(False, number, bounds, f"{case}: {sorted(int(b) for b in drop)} are dropped")
    return Outcome(True, number, bounds)


def wanted_stays_if_3_leads(part: Slice) -> Outcome:
    """I8: the same, but 3 has become the leader: 2, which the target wants and which is in sync, is not dropped."""
    number = 0
    bounds = "leader 3, 2 in sync, ISR in any order"
    for case in cases(frozenset(BROKERS[:3])):
        if case.leader == Broker(3) and Broker(2) in case.isr:
            number += 1
            if Broker(2) in case.drop(2, part):
                return Outcome(False, number, bounds, f"{case}: 2 is dropped, and 3 stays")
    return Outcome(True, number, bounds)


def resumed_move_ends(part: Slice, others: bool) -> Outcome:
    """I7: with everything wanted in sync some order of the ISR lets the drop spare all of it.

    others: the leader is not one of those wanted. Targets are as large as the original assignment.
    """
    number = 0
    bounds = f"{BOUNDS}; targets of top replicas, all in sync, the leader {'not ' if others else ''}one of them"
    spared: dict[tuple[Brokers, Broker, Brokers], bool] = {}
    for assigned in subsets(BROKERS):
        for case in cases(assigned) if assigned else ():
            in_sync = frozenset(case.isr)
            for target in subsets(case.isr):
                if case.leader is None or not target or (case.leader in target) == others:
                    continue
                number += 1
                key = (in_sync, case.leader, target)
                spared[key] = spared.get(key, False) or not case.drop(len(target), part) & target
    lost = [key for key, found in spared.items() if not found]
    if not lost:
        return Outcome(True, number, bounds)
    in_sync, leader, target = min(lost, key=lambda key: (len(key[0]), sorted(key[0]), key[1], sorted(key[2])))
    said = f"leader {int(leader)}, ISR {sorted(int(b) for b in in_sync)} in any order"
    return Outcome(False, number, bounds, f"{said}: {sorted(int(b) for b in target)} never stays")


drop_set_half_open = partial(drop_set, half_open)
drop_set_inclusive = partial(drop_set, inclusive)
leader_stays_half_open = partial(leader_stays, half_open)
leader_stays_inclusive = partial(leader_stays, inclusive)
in_sync_stays_inclusive = partial(in_sync_stays, inclusive)
in_sync_stays_half_open = partial(in_sync_stays, half_open)
in_sync_stays_inclusive_none_counted = partial(in_sync_stays, inclusive, True)
min_isr_stays_half_open = partial(min_isr_stays, half_open)
min_isr_stays_inclusive = partial(min_isr_stays, inclusive)
worked_example_half_open = partial(worked_example, half_open)
worked_example_inclusive = partial(worked_example, inclusive)
worked_example_inclusive_3_in_sync = partial(worked_example, inclusive, (1, 2, 3))
worked_example_inclusive_2_lags = partial(worked_example, inclusive, (1, 3))
worked_example_inclusive_3_leads = partial(worked_example, inclusive, (1, 2, 3), 3)
wanted_stays_if_3_leads_half_open = partial(wanted_stays_if_3_leads, half_open)
wanted_stays_if_3_leads_inclusive = partial(wanted_stays_if_3_leads, inclusive)
resumed_move_ends_inclusive = partial(resumed_move_ends, inclusive, False)
resumed_move_to_others_ends_inclusive = partial(resumed_move_ends, inclusive, True)
resumed_move_ends_half_open = partial(resumed_move_ends, half_open, False)
