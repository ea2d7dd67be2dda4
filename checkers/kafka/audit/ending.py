"""How a metadata log ends: what is under way and what it waits for, who does not lead, and what was left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from reassure.checkers.kafka.audit.cluster_history import BROKER, TOPIC, ClusterHistory
from reassure.spec.kafka.partition import Broker, Brokers, Partition, reassigning
from reassure.spec.kafka.releases import RELEASES_OF_RULES, numbers

RULES = tuple(RELEASES_OF_RULES)
"""The names of all rules, oldest first."""
FIRST_LEVELS = {"4.0": 22, "4.1": 26, "4.2": 28, "4.3": 30, "4.4": 31}
"""The first level of `metadata.version` that a release has (`MetadataVersion`): the controllers are of it or newer."""
COMPLETES_WITH_ADDED = 4, 3
"""The first rules by which a reassignment is complete once what is added is in sync (KAFKA-19975)."""
OUT_OF_SYNC, OFFLINE, UNREGISTERED = "out of sync", "offline", "not registered"
LEADER_THROTTLE, FOLLOWER_THROTTLE = "leader.replication.throttled", "follower.replication.throttled"
THROTTLED_REPLICAS = (f"{LEADER_THROTTLE}.replicas", f"{FOLLOWER_THROTTLE}.replicas")
"""Of topics, as `kafka-reassign-partitions --throttle` writes them."""
DISKS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
THROTTLED_RATES = (f"{LEADER_THROTTLE}.rate", f"{FOLLOWER_THROTTLE}.rate", DISKS_RATE)
"""Of brokers."""


@dataclass(frozen=True, order=True)
class UnderWay:
    """A reassignment that has not ended. since: the offset of its last request, with its time in milliseconds."""

    topic: str
    partition: int
    target: tuple[int, ...]
    since: int
    timestamp: int
    waits: str


@dataclass
class LogEnd:
    """The end of a log, or of the partitions of a share."""

    time: int = 0
    """Of the last record, in milliseconds since 1970."""
    under_way: list[UnderWay] = field(default_factory=list)
    leaderless: list[str] = field(default_factory=list)
    """Partitions, with who could lead."""
    below_min_isr: list[str] = field(default_factory=list)
    unregistered: list[str] = field(default_factory=list)
    """Partitions with a replica on a broker that is not registered."""
    faults: list[str] = field(default_factory=list)
    """Brokers that are fenced or in controlled shutdown."""
    throttled_topics: list[str] = field(default_factory=list)
    throttled_brokers: list[str] = field(default_factory=list)
    """With a limit for reassignments."""
    assumed_min_isr: list[str] = field(default_factory=list)
    """Topics of which the log has no MinISR."""

    def left_throttles(self) -> list[str]:
        """Throttles of topics that nothing is under way of, and of brokers if nothing is under way at all."""
        moving = {one.topic for one in self.under_way}
        topics = [topic for topic in self.throttled_topics if topic not in moving]
        brokers = [] if moving else self.throttled_brokers
        return [f"topic {topic}" for topic in topics] + [f"broker {b}" for b in brokers]

    def add(self, other: LogEnd) -> None:
        """Adds the partitions of another share."""
        self.time = max(self.time, other.time)
        for name in ("under_way", "leaderless", "below_min_isr", "unregistered"):
            setattr(self, name, sorted(getattr(self, name) + getattr(other, name)))


def ending_of(history: ClusterHistory, time: int, rules: Iterable[str], min_isr: int) -> LogEnd:
    """The end of a log, of the partitions of the history's share. rules: that the controllers may go by.

    min_isr: of topics of which the log has none.
    """
    brokers = sorted(history.brokers.items())
    faults = {n: b.fault for n, b in brokers if b.fault}
    ending = LogEnd(
        time,
        faults=[f"{n} {b.fault} since offset {b.since}" for n, b in brokers if b.fault],
        throttled_topics=_configured(history, TOPIC, THROTTLED_REPLICAS),
        throttled_brokers=_configured(history, BROKER, THROTTLED_RATES),
        assumed_min_isr=sorted(t for t in history.topics.values() if history.min_isr(t) is None),
    )
    for key, p in history.partitions.items():
        if key[0] not in history.topics or not history.share.has(*key):
            continue
        topic = history.topics[key[0]]
        called = f"{topic}-{key[1]}"
        gone: Brokers = (p.isr or p.elr) if p.leader is None else frozenset()
        strange = {int(b) for b in p.replicas} - history.brokers.keys()
        known = faults | dict.fromkeys(strange, UNREGISTERED)
        if reassigning(p):
            answers: dict[str, list[str]] = {}
            for each in rules:
                text = waits_for(p, numbers(each) >= COMPLETES_WITH_ADDED, known, gone)
                answers.setdefault(text, []).append(each)
            several = len(answers) > 1
            waits = "; ".join(f"Kafka {row(names)}: {text}" if several else text for text, names in answers.items())
            target = tuple(int(b) for b in p.replicas if b not in p.removing)
            ending.under_way.append(UnderWay(topic, key[1], target, *history.moving_since[key], waits))
        if p.leader is None:
            ending.leaderless.append(called)
        least = history.min_isr(topic)
        enough = min(min_isr if least is None else least, len(p.replicas))
        if len(p.isr) < enough:
            ending.below_min_isr.append(f"{called}: {len(p.isr)} of {enough}")
        if strange:
            ending.unregistered.append(f"{called}: {', '.join(map(str, sorted(strange)))}")
    for names in (ending.under_way, ending.leaderless, ending.below_min_isr, ending.unregistered):
        names.sort()
    return ending


def _configured(history: ClusterHistory, kind: int, keys: tuple[str, ...]) -> list[str]:
    """The resources of a type that have one of these configurations."""
    return sorted({name for of, name, key in history.configs if of == kind and key in keys})


def row(names: list[str]) -> str:
    """The names of rules, those in a row as first and last."""
    first, last = RULES.index(names[0]), RULES.index(names[-1])
    whole = list(RULES[first : last + 1]) == names and len(names) > 2
    return f"{names[0]} to {names[-1]}" if whole else ", ".join(names)


def rules_from(level: int | None) -> tuple[str, ...]:
    """The rules that the controllers of a cluster with this level of `metadata.version` may go by."""
    least = [rules for rules, first in FIRST_LEVELS.items() if level is not None and level >= first]
    return RULES[RULES.index(least[-1]) :] if least else RULES


def _number(broker: Broker) -> str:
    return str(int(broker))


def waits_for(
    p: Partition,
    added_alone: bool,
    faults: Mapping[int, str],
    gone: Brokers,
    called: Callable[[Broker], str] = _number,
) -> str:
    """What a reassignment of a partition that is under way waits for, in words.

    added_alone: by the rules from `COMPLETES_WITH_ADDED` on. faults: of brokers that can join no ISR. gone: brokers
    whose replica is offline. called: the name of a broker.
    """
    if p.leader is None:
        electable = p.isr or p.elr
        if not electable:
            return "nobody leads and ISR and ELR are empty: nobody may lead"
        where = dict.fromkeys(electable, "of the ISR" if p.isr else "of the ELR")
        return f"nobody leads: waits for {named_brokers(electable, called, where)}"
    both = p.adding & p.removing
    if added_alone and both:
        each = named_brokers(both, called)
        return f"never ends: {each} is both being added and removed; a cancellation ends it (--cancel)"
    target = frozenset(b for b in p.replicas if b not in p.removing)
    waits = (p.adding if added_alone and len(p.adding) >= len(p.removing) else target) - p.isr
    if not waits:
        return "waits for the next change of the ISR: all that it needs are in sync"
    return waits_for_brokers(waits, faults, gone, called)


def waits_for_brokers(
    waits: Brokers, faults: Mapping[int, str], gone: Brokers, called: Callable[[Broker], str] = _number
) -> str:
    """The brokers that are waited for, each with the reason why it is not in sync. Parameters: as of `waits_for`."""
    reasons = {b: faults.get(b, OFFLINE if b in gone else OUT_OF_SYNC) for b in waits}
    return f"waits for {named_brokers(waits, called, reasons)}"


def named_brokers(
    some: Iterable[Broker], called: Callable[[Broker], str] = _number, reasons: Mapping[Broker, str] | None = None
) -> str:
    """Brokers in their order, each with its reason."""
    words = [called(b) + (f" ({reasons[b]})" if reasons else "") for b in sorted(some)]
    return ("broker " if len(words) == 1 else "brokers ") + ", ".join(words)
