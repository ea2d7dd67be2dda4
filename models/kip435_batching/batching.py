"""KIP-435's batching, repaired so that the promises hold: `reassignment_classic` a step at a time.

KIP-435 as printed (`batching_literal`) breaks most of what it promises. The repairs, each with a
test that leaves it out (`tests/models/kip435_batching/test_repairs.py`):

* new replicas are awaited before anything is dropped (the existing algorithm's step 4) ............ B4
* dropping is judged when it is done: MinISR stays in sync without what goes, whoever died since ... B4
* the store keeps CR + NR until DR is deleted, so that a new controller knows of it ................ B9
* the memory keeps CR + NR until step 8, so that elections find whoever is in sync ................. B7
* a new leader is in sync; without one the step waits .............................................. B4
* nothing goes before as many have come, even if brokers asked for are down ........................ B7
* what is still joining counts against R ........................................................... B6
* R gives way where too few are in sync, as the prose has it and the calculation has not ........... B3
* L is looked at ................................................................................... B5
* a partition takes its place when its step can begin, so that one that cannot holds up no other ... B7
* a step that finds nothing left to do ends the reassignment ....................................... B7
* the first step, for the leader alone, is left out if all fits into one: as before by default ..... B8

Partitions take their places one by one, in any order; the pseudo-code, which prefers those whose leader moves, is one
such order. Left out, beside what `zookeeper_cluster` leaves out: a target smaller than MinISR (it would never end).
"""

from collections.abc import Callable

from reassure import action, cover, every, replace, require
from reassure.models.kip435_batching.reassignment_classic import (
    STEPS,
    led,
    logging,
    remembering,
    stands_at,
    stays_unless_dropped,
    stopped,
    then,
)
from reassure.models.kip435_batching.rules import BATCHING, allowance, moves_leader, repaired
from reassure.models.kip435_batching.zookeeper_cluster import (
    Cluster,
    Config,
    Memory,
    Next,
    Stored,
    leading_in,
    notice,
    reconfigure,
    running_in,
)
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers
from reassure.spec.kafka.shared_properties import Part

Rule = Callable[[tuple[Broker, ...], tuple[Broker, ...], Brokers, Brokers, int, int], tuple[Broker, ...]]


def may_begin(s: Cluster, c: Config, leads: bool) -> bool:
    """There is a place for one more partition, and for one more leader if it is to move."""
    return running_in(s, c) < s.limits.partitions and (not leads or leading_in(s, c) < s.limits.leaders)


@action(who="controller", fair="weak", fair_each=("part",))
def calculate(s: Cluster, c: Config, part: Part) -> Cluster:
    """1, 2. A partition takes its place with its next step, if there is one and the partition is online."""
    return calculated(s, c, part)


def calculated(
    s: Cluster,
    c: Config,
    part: Part,
    rule: Rule = repaired,
    may_begin: Callable[[Cluster, Config, bool], bool] = may_begin,
) -> Cluster:
    require(s.controller and stands_at(s, part, Next.IDLE))
    p, m, logs = s.stored[part], s.memory[part], s.logs[part]
    require(p.target != () and p.isr & s.alive != NOBODY)
    goal = rule(p.target, m.assigned, p.isr, s.alive, s.limits.replicas, c.min_isr)
    require(goal != m.assigned or goal == p.target)
    leads = moves_leader(p.target, m.assigned, goal, p.leader)
    require(may_begin(s, c, leads))
    begun = Memory(Next.ASSIGN, m.assigned, goal, frozenset(m.assigned) - frozenset(goal), leads)
    most = max(allowance(p.isr, s.alive, s.limits.replicas, c.min_isr), len(logs.fresh))
    return replace(logging(remembering(s, part, begun), part, replace(logs, allowed=most)), granted=s.limits)


def preferred_if_new(p: Stored, m: Memory, alive: Brokers) -> Broker | None:
    """The leader that is to be preferred, if another is asked for; else as in the existing algorithm."""
    if m.leads and p.target != () and p.target[0] in m.goal and p.target[0] in p.isr & alive:
        return p.target[0]
    return stays_unless_dropped(p, m, alive)


@action(who="controller", fair="weak", fair_each=("part",))
def lead(s: Cluster, part: Part) -> Cluster:
    """7. A leader from TR, in the first step the one that is to be preferred; it hears of no other replicas."""
    return led(s, part, successor=preferred_if_new)


@action(who="controller", fair="weak", fair_each=("part",))
def remember(s: Cluster, part: Part) -> Cluster:
    """6. Put off to 8: until then whoever is in sync can be elected, wanted or not."""
    require(stands_at(s, part, Next.REMEMBER))
    return then(s, part, Next.LEAD)


@action(who="controller", fair="weak", fair_each=("part",))
def lead_again(s: Cluster, part: Part) -> Cluster:
    """7 once more, if an election between the steps brought a leader that is to go."""
    require(stands_at(s, part, Next.STOP))
    p = s.stored[part]
    require(p.leader is not None and p.leader in s.memory[part].dropping)
    return then(s, part, Next.LEAD)


def enough_without(p: Stored, m: Memory, c: Config) -> bool:
    """A leader and MinISR stay when DR goes."""
    enough = p.isr & m.dropping == NOBODY or len(p.isr - m.dropping) >= c.min_isr
    return enough and (p.leader is None or p.leader not in m.dropping)


@action(who="controller", fair="weak", fair_each=("part",))
def stop(s: Cluster, c: Config, part: Part) -> Cluster:
    """6, 8. DR leaves the ISR and the memory as soon as enough is in sync without it; the leader hears of that."""
    m = s.memory[part]
    require(enough_without(s.stored[part], m, c))
    told = replace(s.logs[part], told=frozenset(m.goal))
    return stopped(logging(remembering(s, part, replace(m, assigned=m.goal)), part, told), part)


@cover(on=lead)
def preferred_leader_leads_first(before: Cluster, after: Cluster, part: Part) -> bool:
    """The prose: the first step relieves the present leader, while everything else is still there."""
    p = after.stored[part]
    return p.target != () and p.leader == p.target[0] and before.memory[part].dropping == NOBODY


@cover(when=lambda c: c.partitions > 1 and c.partitions_at_once > 1 and c.requests > 1)
def several_partitions_move(s: Cluster, c: Config) -> bool:
    """B7, of "every": more than one partition has a step going on."""
    return running_in(s, c) > 1


@cover(when=lambda c: c.replicas_at_once > 1 and c.wanted > 1 and c.brokers >= c.replication_factor + 2)
def several_replicas_are_copied(s: Cluster, c: Config) -> bool:
    """B8, of "everything new": more than one replica of a partition is being copied."""
    return any(len(s.logs[x].fresh) > 1 for x in every(Part, c))


@cover(on=reconfigure, when=lambda c: c.changes > 0)
def changed_during_a_step(before: Cluster, after: Cluster, c: Config) -> bool:
    """B6, of "only": a limit changes while a step goes on."""
    return running_in(before, c) > 0


STEPWISE = STEPS.without(
    "everything_is_copied_at_once", "one_is_still_catching_up", "leaving_replicas_stay_out", "new_replicas_stay_out"
)
"""The existing algorithm but for what is said of it alone: a step is small here, and DR may come back until 8."""

MODEL = STEPWISE.replacing(calculate, remember, lead, stop, notice).adding(
    lead_again,
    preferred_leader_leads_first,
    several_partitions_move,
    several_replicas_are_copied,
    changed_during_a_step,
    *BATCHING,
)
