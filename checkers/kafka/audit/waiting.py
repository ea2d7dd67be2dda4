"""What a reassignment under way waits for, by the rules of releases before 4.3 and from 4.3 on (KAFKA-19975)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from reassure.spec.kafka.partition import Broker, Brokers, Partition
from reassure.spec.kafka.releases import RELEASES_OF_RULES, numbers

RULES = tuple(RELEASES_OF_RULES)
"""The names of all rules, oldest first."""
FIRST_LEVELS = {"4.0": 22, "4.1": 26, "4.2": 28, "4.3": 30, "4.4": 31}
"""The first level of `metadata.version` that a release has (`MetadataVersion`): the controllers are of it or newer."""
OUT_OF_SYNC, OFFLINE, UNREGISTERED = "out of sync", "offline", "not registered"


def rules_from(level: int | None) -> tuple[str, ...]:
    """The rules that the controllers of a cluster with this level of `metadata.version` may go by."""
    least = [rules for rules, first in FIRST_LEVELS.items() if level is not None and level >= first]
    return RULES[RULES.index(least[-1]) :] if least else RULES


def completes_with_added(rules: str) -> bool:
    """Whether a release completes a reassignment once what is added is in sync: from 4.3 on."""
    return numbers(rules) >= (4, 3)


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

    added_alone: the rules of `completes_with_added`. faults: of brokers that can join no ISR. gone: brokers whose
    replica is offline. called: the name of a broker.
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
