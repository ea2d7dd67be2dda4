"""The properties that every protocol for moving replicas must have (claim X3).

Far fewer facts than `Partition` keeps: an assignment, an in-sync set, a leader, what was asked for.
So protocols with a coordination store, with a controller's memory or with a metadata log all map onto it (a model's
`views`), and one table compares them. What a protocol promises beyond this stays with its model.

A step is the reassignment's own if it has the effect of one, whatever it is called (`moved`). Crashes, fencing, lag and
a leader's own shrinking of the ISR are not the protocol's steps, and these properties do not judge them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Replicas
from reassure.spec.language.types import Range
from reassure.spec.language.values import Id, Map
from reassure.spec.language.vocabulary import cover, invariant, step_property


class Part(Id, size="partitions", first=0):
    """A partition, numbered from 0. A protocol of one partition has a configuration property `partitions` that is 1."""


@dataclass(frozen=True)
class Copies:
    """One partition, as its clients see it."""

    replicas: Replicas
    """The assignment in force, in order."""
    isr: Brokers
    leader: Broker | None
    min_isr: Annotated[int, Range(0, 64)]
    wanted: Brokers
    """Ghost: what the administrator asked for last (after a cancellation: what was there before).

    Kept by the administrator's steps alone.
    """
    moving: bool
    """Whether the reassignment goes on."""
    whole: Brokers
    """Ghost: who holds everything that was committed."""
    loss_allowed: bool
    """Whether the administrator allowed unclean leader election: then availability and durability are not promised."""
    leaving: Brokers
    """Brokers that the reassignment deposes, or takes out of the ISR, in steps of their own; NOBODY if never."""
    down: Brokers
    """Brokers that are not running: what they lose is not the reassignment's doing."""
    load: Annotated[int, Range(0, 64)]
    """The number of replicas that are being added at this moment."""
    limit: Annotated[int, Range(0, 64)]
    """The most that may be (64: the protocol has no such limit)."""


@dataclass(frozen=True)
class Duties:
    """A cluster's partitions, with how many move and how many may (64: the protocol has no such limit)."""

    all: frozenset[Part]
    """Every partition: `every(Part, c)`."""
    parts: Map[Part, Copies]
    partitions_moving: Annotated[int, Range(0, 64)]
    partitions_limit: Annotated[int, Range(0, 64)]
    leaders_moving: Annotated[int, Range(0, 64)]
    leaders_limit: Annotated[int, Range(0, 64)]


def in_sync_copies(p: Copies) -> Brokers:
    """Replicas that may lead and hold everything that was committed."""
    return p.isr & p.whole & frozenset(p.replicas)


# -- what a reassignment does of its own accord ---------------------------------------------------------------


def moved(b: Copies, a: Copies) -> bool:
    """The step is the reassignment's, also where one step is an ISR change by the leader and a completion."""
    changed = b.replicas != a.replicas or b.wanted != a.wanted or b.moving != a.moving
    pushed = b.leaving - a.down
    deposed = b.leader is not None and b.leader in pushed and a.leader != b.leader
    return changed or deposed or (b.isr - a.isr) & pushed != NOBODY


def keeps_min_isr(b: Copies, a: Copies) -> bool:
    return not moved(b, a) or b.loss_allowed or len(b.isr) < b.min_isr or len(a.isr) >= b.min_isr


@step_property
def own_steps_keep_min_isr(before: Duties, after: Duties) -> bool:
    """B4, I3, K7. Otherwise moving a partition stops its acks=all producers."""
    return all(keeps_min_isr(before.parts[x], after.parts[x]) for x in before.all)


def keeps_leader(b: Copies, a: Copies) -> bool:
    return not moved(b, a) or b.loss_allowed or b.leader is None or a.leader is not None


@step_property
def own_steps_keep_a_leader(before: Duties, after: Duties) -> bool:
    """I2, K8. Otherwise moving a partition takes it offline."""
    return all(keeps_leader(before.parts[x], after.parts[x]) for x in before.all)


def keeps_a_copy(b: Copies, a: Copies) -> bool:
    return not moved(b, a) or b.loss_allowed or in_sync_copies(b) == NOBODY or in_sync_copies(a) != NOBODY


@step_property
def own_steps_keep_an_in_sync_copy(before: Duties, after: Duties) -> bool:
    """B4, B9. Otherwise moving a partition deletes the last in-sync copy of what was committed."""
    return all(keeps_a_copy(before.parts[x], after.parts[x]) for x in before.all)


def ends_as_wanted(b: Copies, a: Copies) -> bool:
    return not b.moving or a.moving or frozenset(a.replicas) == a.wanted


@step_property
def moves_end_as_wanted(before: Duties, after: Duties) -> bool:
    """B7, K3, K9. Otherwise a partition ends on other brokers than were asked for."""
    return all(ends_as_wanted(before.parts[x], after.parts[x]) for x in before.all)


# -- always -------------------------------------------------------------------------------------------------


def holds_what_was_committed(p: Copies) -> bool:
    return p.loss_allowed or p.leader is None or p.leader in p.whole


@invariant
def leaders_hold_what_was_committed(d: Duties) -> bool:
    """K12. Otherwise acknowledged records are gone."""
    return all(holds_what_was_committed(d.parts[x]) for x in d.all)


@invariant
def limits_are_kept(d: Duties) -> bool:
    """B5, B6. Otherwise a limit that an operator sets does not protect the cluster."""
    return (
        d.partitions_moving <= d.partitions_limit
        and d.leaders_moving <= d.leaders_limit
        and all(d.parts[x].load <= d.parts[x].limit for x in d.all)
    )


@invariant
def isr_is_never_empty(d: Duties) -> bool:
    """B9, of controllers with ZooKeeper: the last member of an ISR stays in it, dead or about to be dropped.

    Otherwise no broker is left that can be elected without losing records.
    """
    return all(d.parts[x].isr != NOBODY for x in d.all)


@cover
def a_move_ends(before: Duties, after: Duties) -> bool:
    """Guards against vacuity: some move ends."""
    return any(before.parts[x].moving and not after.parts[x].moving for x in before.all)


PROMISES = (
    own_steps_keep_min_isr,
    own_steps_keep_a_leader,
    own_steps_keep_an_in_sync_copy,
    moves_end_as_wanted,
    leaders_hold_what_was_committed,
    limits_are_kept,
    a_move_ends,
)
"""For `Model.of(..., views=(duties, ...), shared=PROMISES)`."""
WITH_ZOOKEEPER = (*PROMISES, isr_is_never_empty)
"""The same, for protocols of the time when the controller kept its decisions in ZooKeeper."""
