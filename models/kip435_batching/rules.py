"""KIP-435's calculations as functions: a partition's next replica list, and which partitions make a batch.

KIP-435, "Calculating a Reassignment Step" and "Collecting a reassignment batch". In its words: FTR
is `target`, CR `current`, TR the result, ER `excess`, DR what `current` has and the result lacks, NR the reverse.

The text calls its configurations by two sets of names, and the descriptions in its table are exchanged (claim B1). We
take the names literally:

| here | table (reassignment.max.concurrent...) | algorithm (reassignment.parallel...) |
|---|---|---|
| R, `at_once` | replica.movements | replica.count |
| P | partition.movements | partition.count |
| L | leader.movements (described there as what R is) | leader.movements |

R counts the replicas of one partition, as the algorithm and the prose use it, and not all movements together.
"""

from reassure import every, invariant, step_property
from reassure.models.kip435_batching.zookeeper_cluster import (
    Cluster,
    Config,
    Next,
    Stored,
    leading_in,
    past,
    running_in,
)
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers
from reassure.spec.kafka.shared_properties import Part


def missing(target: tuple[Broker, ...], current: tuple[Broker, ...]) -> tuple[Broker, ...]:
    """What is wanted and not there yet, in the order of the request."""
    return tuple(b for b in target if b not in current)


def excess(target: tuple[Broker, ...], current: tuple[Broker, ...]) -> tuple[Broker, ...]:
    """What is there and not wanted, in the order it stands in (ER)."""
    return tuple(b for b in current if b not in target)


def arranged(
    target: tuple[Broker, ...], current: tuple[Broker, ...], added: Brokers, dropped: Brokers
) -> tuple[Broker, ...]:
    """What is wanted in the order of the request, then the rest: as the worked example lists them."""
    wanted = tuple(b for b in target if b in current or b in added)
    return wanted + tuple(b for b in current if b not in target and b not in dropped)


def as_printed(
    target: tuple[Broker, ...], current: tuple[Broker, ...], alive: Brokers, at_once: int, min_isr: int
) -> tuple[Broker, ...]:
    """The next list, to the letter.

    2c drops the first R of the excess in every step. 2a calculates a number that nothing uses, and 3a a truth that
    nothing uses. 3c counts what it has chosen so far, not what is in sync. "Replicas from FTR" must be ones that are
    not there yet, and alive (else no step was ever identical, as step 2a of the algorithm expects).
    """
    available = tuple(b for b in missing(target, current) if b in alive)
    dropped = excess(target, current)[:at_once]
    chosen = 1 if target[0] in available else 0
    count = chosen + as_printed_more(chosen, at_once, min_isr)
    listed = current + available[: max(count, 0)]
    kept = tuple(b for b in listed if b not in dropped)
    return target if frozenset(kept) == frozenset(target) else kept


def as_printed_more(chosen: int, at_once: int, min_isr: int) -> int:
    """3c, 3d: how many replicas are added to those chosen by 3b."""
    return min(min_isr, at_once) - chosen if chosen < min_isr else at_once - chosen


def as_in_the_example(
    target: tuple[Broker, ...], current: tuple[Broker, ...], alive: Brokers, at_once: int, min_isr: int
) -> tuple[Broker, ...]:
    """The next list, as the worked example has it (claim B2).

    The first step adds the new preferred leader and drops nothing; afterwards R go in each step, and as many come as
    the requested number of replicas takes, at most R.
    """
    available = tuple(b for b in missing(target, current) if b in alive)
    if target[0] not in current:
        return available[:1] + current if target[0] in available else current
    dropped = excess(target, current)[:at_once]
    count = min(at_once, max(len(target) - len(current) + len(dropped), 0))
    return arranged(target, current, frozenset(available[:count]), frozenset(dropped))


def allowance(isr: Brokers, alive: Brokers, at_once: int, min_isr: int) -> int:
    """How many replicas may be added: R, or what MinISR takes if too few are in sync (the prose's exception, B3)."""
    return max(at_once, min_isr - len(isr & alive))


def repaired(
    target: tuple[Broker, ...], current: tuple[Broker, ...], isr: Brokers, alive: Brokers, at_once: int, min_isr: int
) -> tuple[Broker, ...]:
    """The next list, so that the promises hold: as in the example, and besides

    * nothing goes before as many have come: offline brokers leave the number of replicas as it is;
    * what is on the list already and not in sync counts against R, whichever controller put it there;
    * with too few in sync the step adds what MinISR takes, even beyond R;
    * if everything missing fits into one step, there is no first step for the leader alone: with R unlimited this is
      the existing algorithm (B8).
    """
    absent = missing(target, current)
    available = tuple(b for b in absent if b in alive)
    unwanted = excess(target, current)
    joining = sum(1 for b in target if b in current and b not in isr)
    short = max(min_isr - len(isr & alive), 0)
    room = max(allowance(isr, alive, at_once, min_isr) - joining, 0)
    if len(absent) > at_once and target[0] in available:
        return arranged(target, current, frozenset(available[: min(room, max(short, 1))]), frozenset())
    leaving = min(at_once, len(unwanted))
    needed = max(len(target) - len(current) + leaving, short - joining, 0)
    added = available[: min(room, needed)]
    spare = max(len(current) + len(added) - len(target), 0)
    return arranged(target, current, frozenset(added), frozenset(unwanted[: min(leaving, spare)]))


def moves_leader(
    target: tuple[Broker, ...], current: tuple[Broker, ...], goal: tuple[Broker, ...], leader: Broker | None
) -> bool:
    """Another leader is asked for, and the step from `current` to `goal` drops the present one or brings the next."""
    if leader is None or leader not in current or leader in target:
        return False
    return leader not in goal or (target[0] in goal and target[0] not in current)


def first_of(parts: frozenset[Part], count: int) -> frozenset[Part]:
    """The first of some partitions, by number."""
    return frozenset(x for x in parts if sum(1 for y in parts if y < x) < count)


def collected(asked: frozenset[Part], leading: frozenset[Part], limit: int) -> frozenset[Part]:
    """A batch by the pseudo-code, to the letter: L is not in it, and what fills it is taken from all that was asked
    for.

    A partition that is in the batch already, because its leader moves, is counted again in place of another one.
    """
    if len(leading) < limit:
        return leading | first_of(asked, limit - len(leading))
    return first_of(leading, limit)


def collected_from_steps(asked: frozenset[Part], leading: frozenset[Part], limit: int) -> frozenset[Part]:
    """As the pseudo-code must mean it: what fills the batch are those whose step moves no leader."""
    if len(leading) < limit:
        return leading | first_of(asked - leading, limit - len(leading))
    return first_of(leading, limit)


# -- what batching promises; of the limits one by one (the shared promise has them all) --------------------


@step_property
def never_fewer_copies_than_asked_for(before: Cluster, after: Cluster, c: Config) -> bool:
    """B7. Otherwise brokers that are asked for and offline cost a partition copies that it had."""
    return all(
        len(after.stored[x].assignment) >= min(len(before.stored[x].assignment), c.wanted) for x in every(Part, c)
    )


@step_property
def first_step_elects_the_new_leader(before: Cluster, after: Cluster, c: Config) -> bool:
    """B2, and the prose. Otherwise the present leader keeps the load that the first step was to take from it."""
    return all(
        not past(before, after, x, Next.LEAD)
        or not can_elect_the_new_leader(before, x)
        or after.stored[x].leader == preferred(before.stored[x])
        for x in every(Part, c)
    )


def can_elect_the_new_leader(s: Cluster, part: Part) -> bool:
    """The step that goes on moves the leader and drops nothing, and the replica that is to be preferred can lead."""
    p, m = s.stored[part], s.memory[part]
    leader = preferred(p)
    if not m.leads or m.dropping != NOBODY or leader is None:
        return False
    return leader in m.goal and leader in p.isr & s.alive


def preferred(p: Stored) -> Broker | None:
    """The first replica that is asked for, if anything is."""
    return next((b for b in p.target), None)


@invariant
def replicas_within_limit(s: Cluster, c: Config) -> bool:
    """B6. Otherwise more replicas of a partition are copied at once than the operator allowed, and brokers are swamped.

    The limit is R as it was when the step was calculated, or what MinISR takes.
    """
    return all(len(s.logs[x].fresh) <= s.logs[x].allowed for x in every(Part, c))


@invariant
def partitions_within_limit(s: Cluster, c: Config) -> bool:
    """B6. Otherwise more partitions move at once than the operator allowed (when a step last began)."""
    return running_in(s, c) <= s.granted.partitions


@invariant
def leaders_within_limit(s: Cluster, c: Config) -> bool:
    """B5. Otherwise more leaders move at once than the operator allowed, and clients reconnect in herds."""
    return leading_in(s, c) <= s.granted.leaders


@invariant
def movements_within_product(s: Cluster, c: Config) -> bool:
    """B12. Otherwise more is copied at once than the sum that an operator calculates: P times R, until they change."""
    most = c.partitions_at_once * c.replicas_at_once
    return s.changed > 0 or sum(len(s.logs[x].fresh) for x in every(Part, c)) <= most


def left_as_it_is(before: Cluster, after: Cluster, part: Part) -> bool:
    """A step that runs keeps what it is for; it is over with its last action, or with its controller."""
    b, a = before.memory[part], after.memory[part]
    if not before.controller or not after.controller or b.next in (Next.IDLE, Next.CALCULATE):
        return True
    same = a.goal == b.goal and a.dropping == b.dropping and a.leads == b.leads
    return b.next == Next.FINISH or (a.next != Next.IDLE and same)


@step_property
def running_step_is_left_as_it_is(before: Cluster, after: Cluster, c: Config) -> bool:
    """B6. Otherwise an operator who changes a limit throws away what is being copied, or redirects it."""
    return all(left_as_it_is(before, after, x) for x in every(Part, c))


BATCHING = (
    running_step_is_left_as_it_is,
    first_step_elects_the_new_leader,
    never_fewer_copies_than_asked_for,
    movements_within_product,
    replicas_within_limit,
    partitions_within_limit,
    leaders_within_limit,
)
