"""Which changes of a partition in a metadata log some release of Kafka's controller makes, and for which causes.

Not a model by itself. The log does not say what caused a record, so every cause is tried that could, by the rules of
`kafka_controller`, lead from one registration of a partition to the next.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reassure import replace
from reassure.models.kraft.kafka_controller import (
    PUBLISHED,
    Change,
    Election,
    Release,
    Switches,
    asked,
    built,
    cancelled,
    switches,
    unchanged,
    valid_assignment,
)
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, Replicas, members, reassigning

ASKED_BY = switches(PUBLISHED[-1])
"""The rules by which a request becomes a change: the same in every published release."""


@dataclass(frozen=True)
class Surroundings:
    """What the controller knows beside the partition when it makes a change, as far as the log tells."""

    registered: Brokers
    active: Brokers
    """Unfenced, and not in controlled shutdown."""
    leaving: Brokers
    """Brokers that are fenced, shut down or registered anew by records of the same batch."""
    restarted: Brokers
    """Of these, those that are registered anew."""
    coming: Brokers
    """Brokers that are unfenced by records of the same batch."""
    min_isrs: tuple[int, ...]
    """What the effective MinISR may be."""
    unclean: tuple[bool, ...]
    """What `unclean.leader.election.enable` may be."""
    elr: tuple[bool, ...]
    """Whether eligible leader replicas may be on."""
    recovery: bool = True
    """Leader recovery state: metadata version 3.2-IV0 on."""
    bump_on_shrink: bool = False
    """A shrink of the ISR raises the leader epoch: before metadata version 3.6-IV0."""
    directories: bool = False
    """The record assigns log directories."""


@dataclass(frozen=True)
class Cause:
    """A possible cause of a change. target: of an administrator's request, the assignment that it leads to."""

    name: str
    change: Change
    active: Brokers
    lost: Brokers = NOBODY
    target: Brokers | None = None


@dataclass(frozen=True)
class Explanation:
    """A cause by which some releases make a change."""

    name: str
    releases: tuple[str, ...]
    target: Brokers | None


def causes(before: Partition, after: Partition, s: Surroundings, unclean: bool) -> Iterator[Cause]:
    """The possible causes of a change between registrations. unclean: whether unclean election is allowed."""
    usual = Election.UNCLEAN if unclean else Election.ONLINE
    for active in actives(s):
        for election in (usual, Election.ONLINE, Election.PREFERRED):
            yield Cause("an election, or a broker's return", unchanged(before, election), active)
        if before.leader is None:
            yield Cause("an unclean election", unchanged(before, Election.UNCLEAN), active)
        if reassigning(before):
            back = members(before) - before.adding
            yield Cause("a cancellation", cancelled(before, usual), active, NOBODY, back)
        for target in targets(before, after):
            if valid_assignment(target, s.registered):
                wish = frozenset(target)
                yield Cause("a reassignment", asked(before, target, ASKED_BY), active, NOBODY, wish)
    yield from leader_requests(before, after, s, usual)
    for broker in s.leaving:
        gone = replace(unchanged(before, usual), isr=before.isr - {broker})
        lost = frozenset({broker}) & s.restarted
        for active in actives(s):
            yield Cause("a broker's failure or shutdown", gone, active - {broker}, lost)
            yield Cause("a broker's failure or shutdown", gone, active - {broker})


def actives(s: Surroundings) -> Iterator[Brokers]:
    """Who may be elected: as the log has it, or with one of the batch's events taken into account already."""
    yield s.active
    for broker in s.leaving & s.active:
        yield s.active - {broker}
    for broker in s.coming - s.active:
        yield s.active | {broker}


def targets(before: Partition, after: Partition) -> Iterator[Replicas]:
    """Targets of a reassignment that may have given the replica list after the change."""
    listed = after.replicas
    for cut in range(len(listed), 0, -1):
        rest = listed[cut:]
        if rest == tuple(sorted(rest)) and frozenset(rest) <= members(before):
            yield listed[:cut]
    if before.removing != NOBODY:
        yield listed + tuple(sorted(before.removing - frozenset(listed)))


def leader_requests(before: Partition, after: Partition, s: Surroundings, usual: Election) -> Iterator[Cause]:
    """AlterPartition requests of the leader that the controller accepts."""
    if before.leader is None:
        return
    for isr in (after.isr, after.isr | (before.removing & members(before)), after.isr | (before.removing & before.isr)):
        if before.leader in isr and isr <= members(before) and isr <= s.active:
            for recovering in (False, True):
                if not recovering or (before.recovering and len(isr) == 1):
                    change = replace(unchanged(before, usual), isr=isr, recovering=recovering)
                    yield Cause("an AlterPartition request", change, s.active)


def rules_of(release: Release, elr: bool, s: Surroundings) -> Switches:
    """The rules of a release with the features that the log says are on."""
    return replace(switches(release), elr=elr, recovery=s.recovery, bump_on_shrink=s.bump_on_shrink)


def explanations(before: Partition, after: Partition, s: Surroundings) -> tuple[Explanation, ...]:
    """Every cause with the releases that make the change for it; empty if no release makes it."""
    found: dict[tuple[str, Brokers | None], set[str]] = {}
    if s.directories and after == replace(before, partition_epoch=before.partition_epoch + 1):
        found["an assignment of directories", None] = {release.value for release in PUBLISHED}
    for unclean in s.unclean:
        for cause in dict.fromkeys(causes(before, after, s, unclean)):
            for release in PUBLISHED:
                if any(makes(cause, before, after, release, elr, s) for elr in s.elr):
                    found.setdefault((cause.name, cause.target), set()).add(release.value)
    return tuple(Explanation(name, tuple(sorted(releases)), target) for (name, target), releases in found.items())


def makes(cause: Cause, before: Partition, after: Partition, release: Release, elr: bool, s: Surroundings) -> bool:
    """Whether a release makes exactly this change for a cause."""
    rules = rules_of(release, elr, s)
    outcomes = (built(before, cause.change, cause.active, cause.lost, least, rules) for least in s.min_isrs)
    return any(not outcome.throws and outcome.partition == after for outcome in outcomes)


def broker(number: int) -> Broker:
    """A broker by its number."""
    return Broker(number)
