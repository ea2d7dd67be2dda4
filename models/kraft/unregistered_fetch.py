"""A follower that fetches before it is registered joins the ISR by a request without its broker epoch (K25).

KIP-903 has the leader send the broker epoch of each follower that it proposes, so that a follower which has registered
anew since, perhaps without its log, does not join by an old request. A broker that is started again within its session
is not registered until that session ends, and fetches all the same: with epoch -1, which the leader takes, keeps and
sends, and which the controller does not compare.

The small parts of `kraft` that this needs, and what `kraft` leaves out: processes that are up and not registered, the
epoch of each follower's last fetch as the leader remembers it, one fetch on its way, and the loss of the tail of a log.

Left out: reassignment, the ELR, unclean election, MinISR above one; a leader that has not heard the newest metadata; a
member of the ISR that loses records, since those are gone whatever the controller does; a response that is not
received while its follower lives.

Source: Kafka 4.3.1, `BrokerServer` (the fetchers' epoch), `Replica.updateFetchStateOrThrow`,
`Partition.isBrokerEpochIsrEligible`, `ReplicationControlManager.ineligibleReplicasForIsr`,
`ClusterControlManager.registerBroker`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from reassure import Map, Model, Range, action, cover, every, fill, initial, invariant, replace, require, some, terminal
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers

UNREGISTERED = -1
"""The epoch of a broker whose registration is not answered yet."""
Epoch = Annotated[int, Range(-1, 4)]


class Rule(Enum):
    """Who does what with epoch -1."""

    RELEASED = "released"
    """Kafka 3.9 to 4.4: a follower fetches with it, the leader proposes with it; the controller compares none."""
    LEADER = "leader"
    """The leader proposes no follower whose last fetch had it."""
    CONTROLLER = "controller"
    """The controller refuses it for a broker that is not in the ISR."""
    FOLLOWER = "follower"
    """A follower does not fetch before it is registered."""


class Loss(Enum):
    """What a log loses when its broker dies outside of the ISR."""

    NOTHING = "nothing"
    TAIL = "tail"
    """The records that were fetched since the start, as where the machine loses its power."""
    ALL = "all"
    """Any record, as where the disk is replaced."""


@dataclass(frozen=True)
class Config:
    brokers: Annotated[int, Range(2, 4)] = 2
    deaths: Annotated[int, Range(0, 4)] = 3
    """Limit of processes that die."""
    rule: Rule = Rule.RELEASED
    loses: Loss = Loss.TAIL
    late: bool = True
    """Whether anything happens while a fetch or a request is on its way."""


@dataclass(frozen=True)
class Fetch:
    """A follower's fetch, on its way to the leader."""

    follower: Broker
    epoch: Epoch
    caught_up: bool
    """It begins behind the last record of the leader."""
    awaited: bool
    """The process that sent it is alive."""


@dataclass(frozen=True)
class AlterPartition:
    """A leader's request to add a follower to the ISR, at the newest partition epoch."""

    follower: Broker
    epochs: Map[Broker, Epoch]
    """Of the last fetch of each broker, and the leader's own."""


@dataclass(frozen=True)
class State:
    leader: Broker | None
    isr: Brokers
    unfenced: Brokers
    """Brokers whose session lives, as the controller has it."""
    broker_epochs: Map[Broker, Annotated[int, Range(0, 4)]]
    """Of the newest registration of each, at the controller."""
    alive: Brokers
    registered: Brokers
    """Live processes that know their epoch."""
    complete: Brokers
    """Brokers whose log has every acknowledged record."""
    unwritten: Brokers
    """Those that have some of them from this process's fetches only."""
    fetched_with: Map[Broker, Epoch]
    """The epoch of each follower's last fetch, as the leader remembers it."""
    fetch: Fetch | None
    request: AlterPartition | None
    deaths: Annotated[int, Range(0, 4)]


@initial
def all_in_sync(c: Config) -> State:
    everybody = every(Broker, c)
    return State(
        leader=Broker(1),
        isr=everybody,
        unfenced=everybody,
        broker_epochs=fill(Broker, c, 0),
        alive=everybody,
        registered=everybody,
        complete=everybody,
        unwritten=NOBODY,
        fetched_with=fill(Broker, c, 0),
        fetch=None,
        request=None,
        deaths=0,
    )


def undisturbed(s: State, c: Config) -> bool:
    """Something else may happen now."""
    return c.late or (s.fetch is None and s.request is None)


def epoch_of(s: State, broker: Broker) -> int:
    """The epoch that the broker's process sends."""
    return s.broker_epochs[broker] if broker in s.registered else UNREGISTERED


def led_by(s: State, c: Config, leader: Broker | None, isr: Brokers) -> State:
    """The partition has changed: an earlier request has an old partition epoch, a new leader remembers no fetch."""
    if leader == s.leader and isr == s.isr:
        return s
    changed = replace(s, leader=leader, isr=isr, request=None)
    if leader == s.leader:
        return changed
    return replace(changed, fetched_with=fill(Broker, c, UNREGISTERED), fetch=None)


# -- brokers ----------------------------------------------------------------------------------------------------


@action(who="broker")
def die(s: State, c: Config, broker: Broker, loses: bool) -> State:
    """A process dies; outside of the ISR its log may lose records."""
    require(undisturbed(s, c) and broker in s.alive and s.deaths < c.deaths)
    fragile = s.unwritten if c.loses == Loss.TAIL else s.complete
    require(not loses or (c.loses != Loss.NOTHING and broker in fragile - s.isr))
    fetch = s.fetch
    if fetch is not None and fetch.follower == broker:
        fetch = replace(fetch, awaited=False)
    leads = s.leader == broker
    return replace(
        s,
        alive=s.alive - {broker},
        registered=s.registered - {broker},
        complete=s.complete - {broker} if loses else s.complete,
        unwritten=s.unwritten - {broker},
        fetch=None if leads else fetch,
        fetched_with=fill(Broker, c, UNREGISTERED) if leads else s.fetched_with,
        deaths=s.deaths + 1,
    )


@action(who="broker")
def start(s: State, c: Config, broker: Broker) -> State:
    """It is started again: it fetches as a follower before it is registered."""
    require(undisturbed(s, c) and broker not in s.alive)
    return replace(s, alive=s.alive | {broker})


@action(who="broker")
def register(s: State, c: Config, broker: Broker) -> State:
    """Its registration is accepted, which it is not while the session of the process before lives."""
    require(undisturbed(s, c) and broker in s.alive - s.registered - s.unfenced)
    epochs = s.broker_epochs.put(broker, s.broker_epochs[broker] + 1)
    return replace(s, registered=s.registered | {broker}, broker_epochs=epochs)


@action(who="follower")
def send_fetch(s: State, c: Config, follower: Broker) -> State:
    require(undisturbed(s, c) and s.fetch is None and follower in s.alive and follower != s.leader)
    require(s.leader is not None and s.leader in s.alive)
    require(c.rule != Rule.FOLLOWER or follower in s.registered)
    return replace(s, fetch=Fetch(follower, epoch_of(s, follower), follower in s.complete, True))


# -- the leader -------------------------------------------------------------------------------------------------


@action(who="leader")
def take_fetch(s: State, c: Config) -> State:
    """The leader takes a fetch, unless its epoch is old: it gives the follower what it lacks, or proposes it."""
    require(s.fetch is not None and s.leader is not None and s.leader in s.alive)
    fetch, leader = some(s.fetch), some(s.leader)
    follower = fetch.follower
    if fetch.epoch not in (UNREGISTERED, s.broker_epochs[follower]):
        return replace(s, fetch=None)
    taken = replace(s, fetch=None, fetched_with=s.fetched_with.put(follower, fetch.epoch))
    if not fetch.caught_up:
        if not fetch.awaited or follower in s.complete:
            return taken
        return replace(taken, complete=s.complete | {follower}, unwritten=s.unwritten | {follower})
    eligible = follower in s.unfenced - s.isr and (fetch.epoch != UNREGISTERED or c.rule != Rule.LEADER)
    if s.request is not None or not eligible:
        return taken
    return replace(taken, request=AlterPartition(follower, taken.fetched_with.put(leader, epoch_of(s, leader))))


def maximal_isr(s: State) -> Brokers:
    """The ISR with the follower that is proposed: the high watermark waits for these (KIP-497)."""
    return s.isr if s.request is None else s.isr | {s.request.follower}


@action(who="leader")
def commit(s: State, c: Config) -> State:
    """A record is acknowledged by the maximal ISR: whoever is outside of it lacks the record."""
    acknowledging = maximal_isr(s)
    require(undisturbed(s, c) and s.leader is not None and s.complete - acknowledging != NOBODY)
    require(acknowledging <= s.alive & s.complete)
    fetch = s.fetch
    if fetch is not None and fetch.follower not in acknowledging:
        fetch = replace(fetch, caught_up=False)
    return replace(
        s,
        complete=acknowledging,
        unwritten=s.unwritten & acknowledging,
        fetch=fetch,
    )


# -- the controller ---------------------------------------------------------------------------------------------


@action(who="controller")
def alter_partition(s: State, c: Config) -> State:
    """The request is answered: INELIGIBLE_REPLICA for a fenced broker, or for an epoch that is not the newest.

    Left out: a follower that joins after its death, before it registers anew, as it is a member that loses records.
    """
    require(s.request is not None)
    request = some(s.request)
    follower, epochs = request.follower, request.epochs
    require(follower in s.complete | s.registered)
    wanted = s.isr | {follower}
    checked = frozenset(
        b for b in wanted if epochs[b] != UNREGISTERED or (c.rule == Rule.CONTROLLER and b not in s.isr)
    )
    if follower in s.unfenced and all(epochs[b] == s.broker_epochs[b] for b in checked):
        return led_by(s, c, s.leader, wanted)
    return replace(s, request=None)


@action(who="controller")
def fence(s: State, c: Config, broker: Broker, successor: Broker | None) -> State:
    """The session ends of a process that died, started again or not; the last member of the ISR stays in it."""
    require(undisturbed(s, c) and broker in s.unfenced - s.registered)
    isr = s.isr - {broker} if s.isr - {broker} != NOBODY else s.isr
    able = (isr & s.unfenced) - {broker}
    if s.leader != broker:
        require(successor is None)
        return led_by(replace(s, unfenced=s.unfenced - {broker}), c, s.leader, isr)
    require(successor in able if able != NOBODY else successor is None)
    return led_by(replace(s, unfenced=s.unfenced - {broker}), c, successor, isr)


@action(who="controller")
def unfence(s: State, c: Config, broker: Broker) -> State:
    """A registered broker has caught up with the metadata; it leads if nobody does and it is in the ISR."""
    require(undisturbed(s, c) and broker in s.registered - s.unfenced)
    leader = broker if s.leader is None and broker in s.isr else s.leader
    return led_by(replace(s, unfenced=s.unfenced | {broker}), c, leader, s.isr)


# -- what must hold and what must be possible -------------------------------------------------------------------


@invariant
def leader_has_what_was_acknowledged(s: State) -> bool:
    """Otherwise acknowledged records are lost although unclean election is off."""
    return s.leader is None or s.leader in s.complete


@invariant(when=lambda c: c.loses == Loss.NOTHING or not c.late)
def isr_is_complete(s: State) -> bool:
    """Otherwise a broker that lacks acknowledged records may be elected."""
    return s.isr <= s.complete


@cover(when=lambda c: c.rule in (Rule.RELEASED, Rule.CONTROLLER))
def proposed_without_epoch(s: State) -> bool:
    return s.request is not None and s.request.epochs[s.request.follower] == UNREGISTERED


@cover
def joined_again(s: State) -> bool:
    """A broker that registered anew is in the ISR again."""
    return any(s.broker_epochs[b] > 0 for b in s.isr & s.registered)


@terminal
def nothing_is_asked(s: State) -> bool:
    """A run may end wherever no message is on its way."""
    return s.fetch is None and s.request is None


MODEL = Model.of(__name__, state=State, config=Config)
