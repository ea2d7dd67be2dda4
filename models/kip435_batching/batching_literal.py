"""KIP-435's new algorithm as printed.

The ten numbered steps of KIP-435, "New algorithm", one action each, with the calculations of
`rules` to the letter, on the cluster of `zookeeper_cluster`. It violates most promises: what was in sync is dropped
before anything new is (B4), more is copied at once than R (B6), L is not looked at (B5), and a new controller does not
find in the store what the old one was dropping, nor that it was at the last step (B7).

Step 3 names the path of a partition's leader and ISR; the list of replicas lies at the topic's, and that is meant.
Where the text is silent: a batch is collected when the one before is done; a partition whose step is identical waits
in its batch; "a potential new leader" (7) is one that is in sync and alive, if there is any.
"""

from collections.abc import Callable

from reassure import Map, action, cover, every, replace, require, step_property
from reassure.models.kip435_batching.reassignment_classic import (
    logging,
    notice,
    remembering,
    stands_at,
    started,
    storing,
    then,
)
from reassure.models.kip435_batching.rules import BATCHING, allowance, as_printed, collected, moves_leader
from reassure.models.kip435_batching.zookeeper_cluster import (
    CLUSTER,
    Cluster,
    Config,
    Memory,
    Next,
    in_order,
    running_in,
)
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, last_stays
from reassure.spec.kafka.shared_properties import Part

Step = Callable[[tuple[Broker, ...], tuple[Broker, ...], Brokers, int, int], tuple[Broker, ...]]


def planned(s: Cluster, c: Config, part: Part, step: Step) -> tuple[Broker, ...]:
    """The next list of replicas by a rule of `rules`."""
    p = s.stored[part]
    return step(p.target, s.memory[part].assigned, s.alive, s.limits.replicas, c.min_isr)


def asked_for(s: Cluster, c: Config) -> frozenset[Part]:
    return frozenset(x for x in every(Part, c) if s.stored[x].target != ())


def would_lead(s: Cluster, c: Config, part: Part, step: Step) -> bool:
    p = s.stored[part]
    if p.target == ():
        return False
    return moves_leader(p.target, s.memory[part].assigned, planned(s, c, part, step), p.leader)


def in_batch(s: Cluster, part: Part, batch: frozenset[Part], leading: frozenset[Part]) -> Memory:
    m = s.memory[part]
    return replace(m, next=Next.CALCULATE, leads=part in leading) if part in batch else m


@action(who="controller", fair="weak")
def collect(s: Cluster, c: Config) -> Cluster:
    """1. A batch of partitions begins its next step."""
    return collecting(s, c, as_printed, collected)


def collecting(
    s: Cluster,
    c: Config,
    step: Step,
    rule: Callable[[frozenset[Part], frozenset[Part], int], frozenset[Part]],
) -> Cluster:
    asked = asked_for(s, c)
    require(s.controller and running_in(s, c) == 0 and asked != frozenset())
    leading = frozenset(x for x in every(Part, c) if would_lead(s, c, x, step))
    batch = rule(asked, leading, s.limits.partitions)
    return replace(s, memory=Map({x: in_batch(s, x, batch, leading) for x in every(Part, c)}), granted=s.limits)


@action(who="controller", fair="weak", fair_each=("part",))
def wait(s: Cluster, c: Config, part: Part) -> Cluster:
    """2. Until the step is not identical to what is there, and somebody is in sync."""
    return waiting(s, c, part, as_printed)


def waiting(s: Cluster, c: Config, part: Part, step: Step) -> Cluster:
    require(stands_at(s, part, Next.CALCULATE))
    p, m, logs = s.stored[part], s.memory[part], s.logs[part]
    goal = planned(s, c, part, step)
    require(goal != m.assigned and p.isr & s.alive != NOBODY)
    ready = replace(m, next=Next.ASSIGN, goal=goal, dropping=frozenset(m.assigned) - frozenset(goal))
    most = max(allowance(p.isr, s.alive, s.limits.replicas, c.min_isr), len(logs.fresh))
    return logging(remembering(s, part, ready), part, replace(logs, allowed=most))


@action(who="controller", fair="weak", fair_each=("part",))
def assign(s: Cluster, part: Part) -> Cluster:
    """3. The store has TR: what is to be dropped is not in it any more."""
    require(stands_at(s, part, Next.ASSIGN))
    written = replace(s.stored[part], assignment=s.memory[part].goal)
    return then(storing(s, part, written), part, Next.TELL)


@action(who="controller", fair="weak", fair_each=("part",))
def tell(s: Cluster, part: Part) -> Cluster:
    """4. LeaderAndIsr to CR + NR: the leader may take them all into the ISR."""
    require(stands_at(s, part, Next.TELL))
    m = s.memory[part]
    told = replace(s.logs[part], told=frozenset(m.assigned) | frozenset(m.goal))
    return then(logging(s, part, told), part, Next.START)


@action(who="controller", fair="weak", fair_each=("part",))
def start(s: Cluster, part: Part) -> Cluster:
    """5. What is new begins to follow; nothing waits for it."""
    require(stands_at(s, part, Next.START))
    return then(logging(s, part, started(s, part)), part, Next.REMEMBER)


@action(who="controller", fair="weak", fair_each=("part",))
def remember(s: Cluster, part: Part) -> Cluster:
    """6. CR is TR, in memory."""
    require(stands_at(s, part, Next.REMEMBER))
    m = s.memory[part]
    return remembering(s, part, replace(m, next=Next.LEAD, assigned=m.goal))


@action(who="controller", fair="weak", fair_each=("part",))
def lead(s: Cluster, part: Part) -> Cluster:
    """7. If the leader is not in TR, one that is, if there is any; it hears of no other replicas any more."""
    require(stands_at(s, part, Next.LEAD))
    p, m = s.stored[part], s.memory[part]
    members = frozenset(m.goal)
    stays = p.leader is not None and p.leader in members
    leader = p.leader if stays else in_order(m.goal, p.isr & s.alive)
    told = replace(s.logs[part], told=members)
    return then(logging(storing(s, part, replace(p, leader=leader)), part, told), part, Next.STOP)


@action(who="controller", fair="weak", fair_each=("part",))
def stop(s: Cluster, part: Part) -> Cluster:
    """8. DR is forced out of the ISR, of which the last member stays, as in the existing step 8."""
    require(stands_at(s, part, Next.STOP))
    p = s.stored[part]
    isr = last_stays(p.isr, s.memory[part].dropping, p.leader)
    return then(storing(s, part, replace(p, isr=isr)), part, Next.DELETE)


@action(who="controller", fair="weak", fair_each=("part",))
def delete(s: Cluster, part: Part) -> Cluster:
    """9. DR is deleted."""
    require(stands_at(s, part, Next.DELETE))
    logs, gone = s.logs[part], s.memory[part].dropping
    left = replace(logs, hosting=logs.hosting - gone, whole=logs.whole - gone, fresh=logs.fresh - gone)
    return then(logging(s, part, left), part, Next.FINISH)


@action(who="controller", fair="weak", fair_each=("part",), tags=["finish"])
def finish(s: Cluster, part: Part) -> Cluster:
    """10. The request is taken from the store if it is carried out."""
    require(stands_at(s, part, Next.FINISH))
    p, m = s.stored[part], s.memory[part]
    target = () if p.target == m.goal else p.target
    done = Memory(Next.IDLE, m.goal, (), NOBODY, False)
    return remembering(storing(s, part, replace(p, target=target)), part, done)


@step_property(on=collect)
def batches_are_filled(before: Cluster, after: Cluster, c: Config) -> bool:
    """B5. Otherwise partitions wait although the operator allowed more of them at once."""
    return running_in(after, c) == min(before.limits.partitions, len(asked_for(before, c)))


@cover(on=lead)
def leadership_moves(before: Cluster, after: Cluster, part: Part) -> bool:
    return before.stored[part].leader != after.stored[part].leader


MODEL = CLUSTER.replacing(notice).adding(
    collect,
    wait,
    assign,
    tell,
    start,
    remember,
    lead,
    stop,
    delete,
    finish,
    batches_are_filled,
    leadership_moves,
    *BATCHING,
)
