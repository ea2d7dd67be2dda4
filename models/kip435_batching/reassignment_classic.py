"""The reassignment algorithm before KIP-435: it adds every new replica, and drops the old ones when all are in sync.

The twelve numbered steps of KIP-435, "Existing algorithm", one action each, on the cluster of
`zookeeper_cluster`. RAR is what was asked for, OAR what the controller finds in the store when it begins; a new
controller begins again with what it finds then. Steps 5 and 12 change only what is not modelled (replica states,
brokers' metadata) and are taken with 4 and 11.

Where the text is silent: nothing but step 4 waits. If nobody in RAR can be elected (7), the leader is the old one until
step 8, and then nobody. Steps 4 to 12 are one event of a controller with one thread, unless `one_event` is off.
"""

from collections.abc import Callable

from reassure import action, cover, every, replace, require, some, step_property
from reassure.models.kip435_batching.zookeeper_cluster import (
    CLUSTER,
    Cluster,
    Config,
    Logs,
    Memory,
    Next,
    Stored,
    in_order,
    noticed,
)
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, first, last_stays, without
from reassure.spec.kafka.shared_properties import Part


def union(first: tuple[Broker, ...], then: tuple[Broker, ...]) -> tuple[Broker, ...]:
    return first + without(then, frozenset(first))


def stands_at(s: Cluster, part: Part, step: Next) -> bool:
    """False while there is no controller, except for an idle partition: the controller's memory is gone."""
    return s.memory[part].next == step


def remembering(s: Cluster, part: Part, memory: Memory) -> Cluster:
    return replace(s, memory=s.memory.put(part, memory))


def storing(s: Cluster, part: Part, stored: Stored) -> Cluster:
    return replace(s, stored=s.stored.put(part, stored))


def logging(s: Cluster, part: Part, logs: Logs) -> Cluster:
    return replace(s, logs=s.logs.put(part, logs))


def then(s: Cluster, part: Part, step: Next) -> Cluster:
    return remembering(s, part, replace(s.memory[part], next=step))


@action(who="controller", fair="weak", fair_each=("part",))
def calculate(s: Cluster, c: Config, part: Part) -> Cluster:
    """The controller finds the request: all of it is one step."""
    p = s.stored[part]
    require(s.controller and stands_at(s, part, Next.IDLE) and p.target != ())
    dropping = frozenset(p.assignment) - frozenset(p.target)
    planned = Memory(Next.ASSIGN, p.assignment, p.target, dropping, p.leader in dropping)
    allowed = replace(s.logs[part], allowed=c.brokers)
    return replace(logging(remembering(s, part, planned), part, allowed), granted=s.limits)


@action(who="controller", fair="weak", fair_each=("part",))
def assign(s: Cluster, part: Part) -> Cluster:
    """1. The store, and the controller's memory, have OAR + RAR."""
    require(stands_at(s, part, Next.ASSIGN))
    m = s.memory[part]
    grown = union(m.assigned, m.goal)
    written = storing(s, part, replace(s.stored[part], assignment=grown))
    return remembering(written, part, replace(m, next=Next.TELL, assigned=grown))


@action(who="controller", fair="weak", fair_each=("part",))
def tell(s: Cluster, part: Part) -> Cluster:
    """2. LeaderAndIsr to OAR + RAR: the leader may take them all into the ISR."""
    require(stands_at(s, part, Next.TELL))
    told = replace(s.logs[part], told=frozenset(s.memory[part].assigned))
    return then(logging(s, part, told), part, Next.START)


@action(who="controller", fair="weak", fair_each=("part",))
def start(s: Cluster, part: Part) -> Cluster:
    """3. What is new begins to follow."""
    require(stands_at(s, part, Next.START))
    return then(logging(s, part, started(s, part)), part, Next.AWAIT)


def started(s: Cluster, part: Part) -> Logs:
    logs = s.logs[part]
    new = frozenset(s.memory[part].goal) - logs.hosting
    return replace(logs, hosting=logs.hosting | new, fresh=logs.fresh | new)


@action(who="controller", fair="weak", fair_each=("part",))
def wait(s: Cluster, part: Part) -> Cluster:
    """4, 5. Until all of RAR is in sync."""
    require(stands_at(s, part, Next.AWAIT))
    p = s.stored[part]
    require(frozenset(s.memory[part].goal) & frozenset(p.target) <= p.isr)
    return then(s, part, Next.REMEMBER)


@action(who="controller", fair="weak", fair_each=("part",))
def remember(s: Cluster, part: Part) -> Cluster:
    """6. AR is RAR, in memory."""
    require(stands_at(s, part, Next.REMEMBER))
    m = s.memory[part]
    return remembering(s, part, replace(m, next=Next.LEAD, assigned=m.goal))


def between_events(s: Cluster, c: Config) -> bool:
    """The controller is waiting, so that it can do something else."""
    return all(s.memory[x].next in (Next.IDLE, Next.CALCULATE, Next.AWAIT) for x in every(Part, c))


@action(who="controller", fair="weak", fair_each=("part",))
def notice(s: Cluster, c: Config, part: Part) -> Cluster:
    """Dead brokers leave the ISR, and another leader is elected: an event of its own."""
    require(not c.one_event or between_events(s, c))
    return noticed(s, part)


def stays_unless_dropped(p: Stored, m: Memory, alive: Brokers) -> Broker | None:
    """The leader after step 7: as it is, if it may stay, else the first of RAR that can lead."""
    able = frozenset(m.goal) & p.isr & alive
    return p.leader if p.leader is not None and p.leader in able else in_order(m.goal, able)


@action(who="controller", fair="weak", fair_each=("part",))
def lead(s: Cluster, part: Part) -> Cluster:
    """7. A leader from RAR, if there is one that can lead; it hears of no other replicas any more."""
    require(stands_at(s, part, Next.LEAD))
    p, m = s.stored[part], s.memory[part]
    successor = stays_unless_dropped(p, m, s.alive)
    leader = p.leader if successor is None else successor
    told = replace(s.logs[part], told=frozenset(m.goal))
    return then(logging(storing(s, part, replace(p, leader=leader)), part, told), part, Next.STOP)


def led(
    s: Cluster, part: Part, successor: Callable[[Stored, Memory, Brokers], Broker | None] = stays_unless_dropped
) -> Cluster:
    """As step 7, but it waits until there is one that can lead."""
    require(stands_at(s, part, Next.LEAD))
    p, m = s.stored[part], s.memory[part]
    leader = some(successor(p, m, s.alive))
    told = replace(s.logs[part], told=frozenset(m.goal))
    return then(logging(storing(s, part, replace(p, leader=leader)), part, told), part, Next.STOP)


@action(who="controller", fair="weak", fair_each=("part",))
def stop(s: Cluster, part: Part) -> Cluster:
    """8. What is to go leaves the ISR, and stops following."""
    return stopped(s, part)


def stopped(s: Cluster, part: Part) -> Cluster:
    require(stands_at(s, part, Next.STOP))
    p, m = s.stored[part], s.memory[part]
    leader = None if p.leader is not None and p.leader in m.dropping else p.leader
    isr = last_stays(p.isr, m.dropping, p.leader)
    return then(storing(s, part, replace(p, isr=isr, leader=leader)), part, Next.DELETE)


@action(who="controller", fair="weak", fair_each=("part",))
def delete(s: Cluster, part: Part) -> Cluster:
    """9. What is to go is deleted."""
    require(stands_at(s, part, Next.DELETE))
    logs, gone = s.logs[part], s.memory[part].dropping
    left = replace(logs, hosting=logs.hosting - gone, whole=logs.whole - gone, fresh=logs.fresh - gone)
    return then(logging(s, part, left), part, Next.SETTLE)


@action(who="controller", fair="weak", fair_each=("part",))
def settle(s: Cluster, part: Part) -> Cluster:
    """10. The store has RAR."""
    require(stands_at(s, part, Next.SETTLE))
    settled = replace(s.stored[part], assignment=s.memory[part].goal)
    return then(storing(s, part, settled), part, Next.FINISH)


@action(who="controller", fair="weak", fair_each=("part",), tags=["finish"])
def finish(s: Cluster, part: Part) -> Cluster:
    """11, 12. The request is taken from the store if it is carried out, else the next step follows."""
    require(stands_at(s, part, Next.FINISH))
    p, m = s.stored[part], s.memory[part]
    target = () if p.target == m.goal else p.target
    done = Memory(Next.IDLE, m.goal, (), NOBODY, False)
    return remembering(storing(s, part, replace(p, target=target)), part, done)


def after_step_7(m: Memory) -> bool:
    """The leader has heard the last LeaderAndIsr request, which has AR = RAR."""
    return m.next in (Next.STOP, Next.DELETE, Next.SETTLE, Next.FINISH)


def joined(before: Cluster, after: Cluster, part: Part) -> Brokers:
    """Who is taken into the ISR."""
    return after.stored[part].isr - before.stored[part].isr


@step_property
def leaving_replicas_stay_out(before: Cluster, after: Cluster, c: Config) -> bool:
    """B14, the set being OAR - RAR. Otherwise a replica that is about to be deleted counts for durability again."""
    return all(
        not after_step_7(before.memory[x]) or joined(before, after, x) & before.memory[x].dropping == NOBODY
        for x in every(Part, c)
    )


@step_property
def new_replicas_stay_out(before: Cluster, after: Cluster, c: Config) -> bool:
    """B14, the set being RAR - OAR, as printed. Of the first request: OAR is then the assignment at the start."""
    old = first(c.replication_factor, c)
    return before.asked > 1 or all(
        not after_step_7(before.memory[x]) or joined(before, after, x) & frozenset(before.memory[x].goal) <= old
        for x in every(Part, c)
    )


def moves_everything(c: Config) -> bool:
    """There are brokers enough to move a partition away from all that it is on."""
    return c.brokers >= c.replication_factor + c.wanted


@cover(when=moves_everything)
def everything_is_copied_at_once(s: Cluster, c: Config) -> bool:
    """B11: all new replicas fetch from the beginning, beside all old ones."""
    most = c.replication_factor + c.wanted
    return any(len(s.logs[x].hosting) == most and len(s.logs[x].fresh) == c.wanted for x in every(Part, c))


@cover(when=moves_everything)
def one_is_still_catching_up(s: Cluster, c: Config) -> bool:
    """B11: old and new replicas are all in sync but for one, for which they wait."""
    most = c.replication_factor + c.wanted
    return any(len(s.logs[x].hosting) == most and len(s.stored[x].isr) == most - 1 for x in every(Part, c))


@cover(on=lead)
def leadership_moves(before: Cluster, after: Cluster, part: Part) -> bool:
    return before.stored[part].leader != after.stored[part].leader


STEPS = CLUSTER.replacing(notice).adding(
    calculate,
    assign,
    tell,
    start,
    wait,
    remember,
    lead,
    stop,
    delete,
    settle,
    finish,
    leadership_moves,
    leaving_replicas_stay_out,
    new_replicas_stay_out,
    everything_is_copied_at_once,
    one_is_still_catching_up,
)
"""The twelve steps, which `batching` takes over."""

MODEL = STEPS.without("limits_are_kept")
"""R, P and L came with batching: there is no limit here that could be kept."""
