"""`kraft` with removed logs: what brokers hold and what the leader believes are two fields (K16).

A broker that is removed deletes its log when it hears of it, which may be after it was added again; until then it
fetches with the leader epoch that it knows. The leader takes a follower for caught up by the last fetch that it
remembers, and the document says that it forgets what it knew of a removed replica. What it does not say is what happens
where the leader hears of the removal and of the return at once: `forgets` has three readings.

Left out, besides what `kraft` leaves out: unclean election; a leader that does not know the newest metadata counts no
fetch, since one that comes before it hears is the same as one before the change; how far a follower has got.
"""

from dataclasses import dataclass
from enum import Enum

from reassure import action, cover, every, invariant, replace, require
from reassure.models.kraft import kraft, protocol, state
from reassure.models.kraft.state import AlterPartition, Cluster, Unclean
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, members


class Forgets(Enum):
    """The brokers whose fetches the leader forgets when it hears of changes."""

    EACH = "each"
    """Of each replica that was removed by one of them."""
    GONE = "gone"
    """Of those that are not replicas any more, once it has heard of all of them."""
    EPOCH = "epoch"
    """Of everybody, if the leader epoch has risen."""


@dataclass(frozen=True)
class Config(state.Config):
    unclean: Unclean = Unclean.OFF
    """unclean.leader.election.enable, which is off in this model."""
    forgets: Forgets = Forgets.EACH
    """Whose fetches the leader forgets: of `each` removed replica, those `gone`, or all at a new leader `epoch`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unclean != Unclean.OFF:
            raise ValueError(f"unclean={self.unclean.value} is left out of this model")


@dataclass(frozen=True)
class Removed(Cluster):
    caught_up: Brokers = NOBODY
    """Who had everything committed when it last fetched, as the leader remembers it."""
    reborn: Brokers = NOBODY
    """Who has registered anew since, after losing its log: the leader remembers the broker epoch before."""
    unheard: bool = False
    """The leader has not heard of the newest metadata."""
    forgotten: Brokers = NOBODY
    """Whose fetches it forgets when it does."""
    unaware: Brokers = NOBODY
    """Brokers that were removed and have not heard of it: they have their logs, and fetch as before."""
    outdated: Brokers = NOBODY
    """Those of them that fetch with an older leader epoch than the partition's."""


def followed(b: Removed, a: Removed, c: Config, lost: Brokers = NOBODY) -> Removed:
    """The effect of a partition's change on brokers and leader. lost: brokers that lose their log in the same step."""
    old, new = b.partition, a.partition
    gone = members(old) - members(new)
    raised = new.leader_epoch > old.leader_epoch
    unaware = (b.unaware | gone) - lost
    after = replace(
        a,
        complete=a.complete | (b.complete & unaware),
        unaware=unaware,
        outdated=unaware if raised else b.outdated - lost,
        reborn=b.reborn | lost,
    )
    if new == old:
        return after
    if new.leader != old.leader:
        return replace(after, caught_up=NOBODY, unheard=False, forgotten=NOBODY)
    forgotten = gone if c.forgets == Forgets.EACH else NOBODY
    forgotten = every(Broker, c) if c.forgets == Forgets.EPOCH and raised else forgotten
    return replace(after, unheard=True, forgotten=b.forgotten | forgotten)


# -- the administrator and the controller: as the original ------------------------------------------------------


@action(who="admin", tags=["start"])
def start(s: Removed, c: Config, target: Brokers, successor: Broker | None) -> Removed:
    """As the original."""
    return followed(s, protocol.start(s, c, target, successor), c)


@action(who="admin", tags=["retarget"])
def retarget(s: Removed, c: Config, target: Brokers, successor: Broker | None) -> Removed:
    """As the original."""
    return followed(s, protocol.retarget(s, c, target, successor), c)


@action(who="admin", tags=["cancel"])
def cancel(s: Removed, c: Config, successor: Broker | None) -> Removed:
    """As the original."""
    return followed(s, protocol.cancel(s, c, successor), c)


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Removed, c: Config, request: AlterPartition, successor: Broker | None) -> Removed:
    """As the original."""
    return followed(s, protocol.alter_partition(s, c, request, successor), c)


@action(who="controller")
def fence(s: Removed, c: Config, broker: Broker, successor: Broker | None) -> Removed:
    """As the original."""
    return followed(s, protocol.fence(s, c, broker, successor), c)


@action(who="controller")
def shut_down_uncleanly(s: Removed, c: Config, broker: Broker, successor: Broker | None) -> Removed:
    """As the original; the broker comes back with the newest metadata and without a log."""
    return followed(s, protocol.shut_down_uncleanly(s, c, broker, successor), c, NOBODY | {broker})


@action(who="controller", fair="weak")
def elect_from_elr(s: Removed, c: Config, broker: Broker) -> Removed:
    """As the original."""
    return followed(s, protocol.elect_from_elr(s, broker), c)


# -- followers ------------------------------------------------------------------------------------------------


@action(who="follower", fair="weak", fair_each=("follower",))
def catch_up(s: Removed, follower: Broker) -> Removed:
    """A follower fetches up to the high watermark, with the leader epoch that the leader has: else it is an error."""
    p = s.partition
    require(p.leader is not None and p.leader in s.complete and follower != p.leader and not s.unheard)
    require(follower in (members(p) & s.unfenced) - s.outdated)
    require(follower not in s.complete or follower not in s.caught_up - s.reborn)
    return replace(
        s,
        complete=s.complete | {follower},
        caught_up=s.caught_up | {follower},
        reborn=s.reborn - {follower},
    )


@action(who="follower", fair="weak", fair_each=("follower",))
def delete_log(s: Removed, follower: Broker) -> Removed:
    """A broker hears that it was removed, and deletes its log; whether it was added again it hears after that."""
    require(follower in s.unaware)
    return replace(
        s,
        complete=s.complete - {follower},
        unaware=s.unaware - {follower},
        outdated=s.outdated - {follower},
    )


@action(who="follower")
def keep_log(s: Removed, follower: Broker) -> Removed:
    """A broker hears at once that it was removed and added again, and goes on with the log that it has."""
    require(follower in s.unaware & members(s.partition))
    return replace(s, unaware=s.unaware - {follower}, outdated=s.outdated - {follower})


# -- the leader -----------------------------------------------------------------------------------------------


@action(who="leader", fair="strong", fair_each=("follower",))
def propose_expansion(s: Removed, c: Config, follower: Broker) -> Removed:
    """The leader asks to take a follower into the ISR, by what it remembers of its last fetch."""
    p = s.partition
    require(not s.unheard and follower in (members(p) & s.unfenced & s.caught_up) - p.isr)
    known = s.broker_epochs[follower] - (1 if follower in s.reborn else 0)
    seen = replace(s, broker_epochs=s.broker_epochs.put(follower, known))
    asked: Removed = protocol.proposes(seen, c, p.isr | {follower})  # type: ignore[assignment]
    return replace(asked, broker_epochs=s.broker_epochs)


@action(who="leader")
def propose_shrink(s: Removed, c: Config, follower: Broker) -> Removed:
    """As the original."""
    require(not s.unheard)
    return protocol.propose_shrink(s, c, follower)  # type: ignore[no-any-return]


@action(who="leader")
def commit(s: Removed) -> Removed:
    """As the original; the leader knows which followers lack the record."""
    after: Removed = protocol.commit(s)
    return replace(after, caught_up=s.caught_up & after.complete)


def remembered(s: Removed, c: Config) -> Brokers:
    """The brokers whose fetches the leader remembers after it has heard of every change."""
    if c.forgets == Forgets.GONE:
        return s.caught_up & members(s.partition)
    return s.caught_up - s.forgotten


@action(who="leader", fair="weak")
def hear(s: Removed, c: Config) -> Removed:
    """As the original, and the leader forgets what it knew of removed replicas."""
    p = s.partition
    require(p.leader is not None and not protocol.waiting(s))
    require(s.unheard or s.proposed != NOBODY or s.leader_isr != p.isr)
    return replace(
        s,
        leader_isr=p.isr,
        proposed=NOBODY,
        unheard=False,
        forgotten=NOBODY,
        caught_up=remembered(s, c),
    )


# -- what must hold and what must be possible -------------------------------------------------------------------


@invariant
def leader_takes_nobody_wrongly_for_caught_up(s: Removed) -> bool:
    """K16. Otherwise a broker that deleted its log is proposed for the ISR, and may lead without what was committed."""
    return s.unheard or s.caught_up & members(s.partition) <= s.complete | s.reborn


@cover
def returned_before_it_heard_of_its_removal(s: Removed) -> bool:
    return s.unaware & members(s.partition) != NOBODY


@cover(when=lambda c: c.forgets != Forgets.EPOCH)
def removed_and_returned_before_the_leader_heard(s: Removed) -> bool:
    """The leader hears of the removal and of the return at once."""
    return s.unheard and s.caught_up - s.complete != NOBODY and s.caught_up <= members(s.partition)


MODEL = (
    kraft.MODEL.without("elect_unclean", "unclean_election", "records_lost")
    .replacing(
        start,
        retarget,
        cancel,
        alter_partition,
        fence,
        shut_down_uncleanly,
        elect_from_elr,
        catch_up,
        propose_expansion,
        propose_shrink,
        commit,
        hear,
        state=Removed,
        config=Config,
    )
    .adding(
        delete_log,
        keep_log,
        leader_takes_nobody_wrongly_for_caught_up,
        returned_before_it_heard_of_its_removal,
        removed_and_returned_before_the_leader_heard,
    )
)
