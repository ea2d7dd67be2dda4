"""What Kafka's controller does with a command in any state: the rules of `kafka_controller` combined.

`kraft_kafka` has these steps too, within its bounds and with what followers and leaders do. Here they are functions of
what the controller holds, with which every step of Kafka's own class is compared (`reassure kafka explore --explain`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from reassure import replace
from reassure.models.kraft.kafka_controller import (
    Change,
    Election,
    Error,
    Release,
    answer,
    asked,
    built,
    cancelled,
    effective_min_isr,
    reverted,
    switches,
    unchanged,
    validated,
)
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, Replicas, reassigning

FAULT = "UNKNOWN_SERVER_ERROR"
"""The answer where the controller throws."""


@dataclass(frozen=True)
class Held:
    """What the controller holds of a partition and its brokers, and the rules that it goes by."""

    partition: Partition
    unfenced: Brokers
    shutting_down: Brokers
    unclean: bool
    min_isr: int
    """As configured; the partition is partition 0 of its topic."""
    release: Release


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command. error: as Kafka answers. resigns: the controller throws and gives up its leadership."""

    held: Held
    error: str = "NONE"
    resigns: bool = False


def active(h: Held) -> Brokers:
    """Who may lead and be in the ISR."""
    return h.unfenced - h.shutting_down


def mode(h: Held) -> Election:
    """What a change elects with, where the topic's configuration counts."""
    return Election.UNCLEAN if h.unclean else Election.ONLINE


def changed(h: Held, change: Change, alive: Brokers, lost: Brokers = NOBODY) -> Partition | None:
    """The partition after a change; None if the controller throws."""
    p = h.partition
    outcome = built(p, change, alive, lost, effective_min_isr(h.min_isr, len(p.replicas)), switches(h.release))
    return None if outcome.throws else outcome.partition


# -- requests ------------------------------------------------------------------------------------------------


def reassign(h: Held, target: Replicas) -> Outcome:
    """AlterPartitionReassignments with a target."""
    return _answered(h, changed(h, asked(h.partition, target), active(h)))


def cancel(h: Held) -> Outcome:
    """AlterPartitionReassignments without one."""
    if not reassigning(h.partition):
        return Outcome(h, "NO_REASSIGNMENT_IN_PROGRESS")
    if reverted(h.partition).unclean and not h.unclean:
        return Outcome(h, "INVALID_REPLICA_ASSIGNMENT")
    return _answered(h, changed(h, cancelled(h.partition, mode(h)), active(h)))


def _answered(h: Held, after: Partition | None) -> Outcome:
    return Outcome(h, FAULT) if after is None else Outcome(replace(h, partition=after))


def propose(h: Held, isr: Brokers) -> Outcome:
    """AlterPartition of the present leader, which knows the present epochs."""
    p = h.partition
    assert p.leader is not None
    error = validated(p, p.leader, True, p.leader_epoch, p.partition_epoch, isr, False, active(h), True)
    if error != Error.NONE:
        return Outcome(h, error.value)
    after = changed(h, replace(unchanged(p, mode(h)), isr=isr, recovering=False), active(h))
    if after is None:
        return Outcome(h, FAULT, resigns=True)
    return Outcome(replace(h, partition=after), answer(p.leader, after, True).value)


def elect(h: Held, election: Election) -> Outcome:
    """ElectLeaders."""
    p = h.partition
    preferred = election == Election.PREFERRED
    if p.leader is not None and (not preferred or p.leader == p.replicas[0]):
        return Outcome(h, "ELECTION_NOT_NEEDED")
    after = changed(h, unchanged(p, election), active(h))
    if after is None:
        return Outcome(h, FAULT, resigns=True)
    if after == p:
        return Outcome(h, "PREFERRED_LEADER_NOT_AVAILABLE" if preferred else "ELIGIBLE_LEADERS_NOT_AVAILABLE")
    return Outcome(replace(h, partition=after))


# -- what happens to brokers, and what the controller does of itself ------------------------------------------


def event(h: Held, after: Held, change: Change | None, alive: Brokers, lost: Brokers = NOBODY) -> Outcome:
    """An event of a broker, which takes `h` to `after`, with a change of the partition if there is one."""
    if change is None:
        return Outcome(after)
    p = changed(h, change, alive, lost)
    return Outcome(h, FAULT, resigns=True) if p is None else Outcome(replace(after, partition=p))


def leaves(h: Held, broker: Broker, after: Held) -> Outcome:
    """A broker is not active any more: it leaves the ISR."""
    p = h.partition
    change = replace(unchanged(p, mode(h)), isr=p.isr - {broker}) if broker in p.isr else None
    return event(h, after, change, active(after))


def fence(h: Held, broker: Broker) -> Outcome:
    """A session runs out."""
    return leaves(h, broker, replace(h, unfenced=h.unfenced - {broker}))


def controlled_shutdown(h: Held, broker: Broker) -> Outcome:
    """A broker asks to be shut down."""
    return leaves(h, broker, replace(h, shutting_down=h.shutting_down | {broker}))


def unfence(h: Held, broker: Broker) -> Outcome:
    """A broker returns. A partition without a leader has an election, in which this broker counts as alive."""
    after = replace(h, unfenced=h.unfenced | {broker})
    change = unchanged(h.partition, mode(h)) if h.partition.leader is None else None
    return event(h, after, change, active(after) | {broker})


def restart_cleanly(h: Held, broker: Broker) -> Outcome:
    """A registration that proves a clean shutdown."""
    return leaves(h, broker, _registered(h, broker))


def restart_uncleanly(h: Held, broker: Broker) -> Outcome:
    """A registration that does not prove one: the broker leaves ISR and ELR."""
    p, after = h.partition, _registered(h, broker)
    change = replace(unchanged(p, mode(h)), isr=p.isr - {broker}) if broker in p.isr | p.elr else None
    return event(h, after, change, active(after), NOBODY | {broker})


def _registered(h: Held, broker: Broker) -> Held:
    return replace(h, unfenced=h.unfenced - {broker}, shutting_down=h.shutting_down - {broker})


def elect_leaderless(h: Held) -> Outcome:
    """An unfencing of a broker that is unfenced already (the first one), for the election that comes with it."""
    return unfence(h, min(h.unfenced))


def maybe_elect_unclean(h: Held) -> Outcome:
    """The controller's own search for partitions without a leader."""
    change = unchanged(h.partition, Election.UNCLEAN) if h.partition.leader is None and h.unclean else None
    return event(h, h, change, active(h))


def balance(h: Held) -> Outcome:
    """The controller's own balancing of leaders."""
    p = h.partition
    return event(h, h, unchanged(p, Election.PREFERRED) if p.leader != p.replicas[0] else None, active(h))


_OF_NOBODY: dict[str, Callable[[Held], Outcome]] = {
    "cancel": cancel,
    "elect_preferred": lambda h: elect(h, Election.PREFERRED),
    "elect_unclean": lambda h: elect(h, Election.UNCLEAN),
    "maybe_elect_unclean": maybe_elect_unclean,
    "balance": balance,
    "elect_leaderless": elect_leaderless,
}
_OF_BROKER: dict[str, Callable[[Held, Broker], Outcome]] = {
    "fence": fence,
    "unfence": unfence,
    "controlled_shutdown": controlled_shutdown,
    "restart_cleanly": restart_cleanly,
    "restart_uncleanly": restart_uncleanly,
}


def controller_step(held: Held, kind: str, broker: int, brokers: tuple[int, ...]) -> Outcome:
    """The outcome of a command that applies. brokers: a target in its order, or the members of a proposed ISR."""
    listed = tuple(Broker(b) for b in brokers)
    if kind == "reassign":
        return reassign(held, listed)
    if kind == "propose":
        return propose(held, frozenset(listed))
    return _OF_BROKER[kind](held, Broker(broker)) if broker else _OF_NOBODY[kind](held)
