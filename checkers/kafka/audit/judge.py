"""Judges each change of a partition in a metadata log: do a release's rules allow it, and which promises does it break?

The rules are those of `models/kraft/log_rules.py`, the promises those of `spec/kafka/`. What a log does not say (a
configuration in a broker's file, an administrator's wish) is tried in every way for the rules, so that a finding there
means: in no way.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from reassure.checkers.kafka.audit.cluster_history import NO_BUMP_FROM, RECOVERY_FROM, PartitionChange
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.model_loader import function
from reassure.spec.kafka import partition_properties as properties
from reassure.spec.kafka import shared_properties as shared
from reassure.spec.kafka.partition import Broker, Brokers, Partition, Watched, members, reassigning
from reassure.spec.kafka.shared_properties import Copies
from reassure.spec.language.vocabulary import Property

RULES = "kraft.log_rules"
NO_RELEASE = "no release makes this change"
REQUESTED = ("a reassignment", "a cancellation")
NO_LIMIT = 64

STATE_PROMISES: tuple[Property, ...] = (
    properties.leader_is_in_sync,
    properties.isr_within_replicas,
    properties.elr_within_replicas,
    properties.isr_and_elr_are_disjoint,
    properties.elr_only_below_min_isr,
    properties.moving_replicas_are_replicas,
    properties.replicas_are_distinct,
)
STEP_PROMISES: dict[str, Callable[[Copies, Copies], bool]] = {
    "own_steps_keep_min_isr": shared.keeps_min_isr,
    "own_steps_keep_a_leader": shared.keeps_leader,
    "moves_end_as_wanted": shared.ends_as_wanted,
}


@dataclass(frozen=True)
class Finding:
    """Something wrong at one offset. kind: "rule" or "promise"."""

    offset: int
    timestamp: int
    topic: str
    partition: int
    kind: str
    name: str
    """The promise; of a rule, what is wrong."""
    change: str
    """The change that the record makes, in words."""


@dataclass
class Audit:
    """The findings of an audit, with counts of the changes that it judged."""

    findings: list[Finding] = field(default_factory=list)
    changes: int = 0
    created: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    """Changes by their explanation, of those that have only one kind."""
    not_by: Counter[str] = field(default_factory=Counter)
    """By release: changes that it does not make."""


class ChangeJudge:
    """Judges the changes of a log, in its order."""

    def __init__(self, release: str | None, min_isr: int) -> None:
        """release: the name of the rules that count, as "4.2"; none: those of any. `Failure` for an unknown name.

        min_isr: of topics of which the log does not say it, for promises.
        """
        self.release, self.min_isr = release, min_isr
        explain, self.digest = function(f"{RULES}:explanations")
        rules = sys.modules[explain.__module__]
        self.explain: Callable[..., Any] = explain
        self.surroundings: Callable[..., Any] = rules.Surroundings
        self.releases = [r.value for r in rules.PUBLISHED]
        if release is not None and release not in self.releases:
            raise Failure(Exit.USAGE, f"--release {release}: it is one of {', '.join(self.releases)}, or such as 4.1.2")
        self.explanations_of: dict[Any, Any] = {}
        self.target_of: dict[tuple[str, int], Brokers] = {}
        self.broken: dict[tuple[str, int], frozenset[str]] = {}
        self.audit = Audit(not_by=Counter(dict.fromkeys(self.releases, 0)))

    def judge(self, changes: Iterable[PartitionChange]) -> Audit:
        """Every finding."""
        for change in changes:
            self._judge(change)
        return self.audit

    def _judge(self, change: PartitionChange) -> None:
        key = change.topic, change.partition
        add = partial(self._add, change)
        if change.before is None:
            self.audit.created += 1
            target = members(change.after) - change.after.removing
            self.target_of[key] = target
        else:
            self.audit.changes += 1
            explanations = self._explanations(change)
            by = {release for one in explanations for release in one.releases}
            for release in self.releases:
                self.audit.not_by[release] += release not in by
            if not by:
                add("rule", NO_RELEASE)
            elif self.release is not None and self.release not in by:
                add("rule", f"{self.release} does not make this change; {', '.join(sorted(by))} would")
            names = {one.name for one in explanations}
            if len(names) == 1:
                self.audit.causes[names.pop()] += 1
            before = self._copies(change, change.before, self.target_of[key])
            requests = [one for one in explanations if one.name in REQUESTED]
            if requests and all(one.name in REQUESTED for one in explanations):
                self.target_of[key] = requests[0].target
            after = self._copies(change, change.after, self.target_of[key])
            for name, holds in STEP_PROMISES.items():
                if not holds(before, after):
                    add("promise", name)
        self._states(change, key)

    def _states(self, change: PartitionChange, key: tuple[str, int]) -> None:
        """Promises about the partition as it is now: told where they begin to be broken."""
        least = self._least(change)
        watched = Watched(change.after, least, bool(change.unclean), 0, self.target_of[key])
        broken = frozenset(p.name for p in STATE_PROMISES if not p.function(watched))
        for name in sorted(broken - self.broken.get(key, frozenset())):
            self._add(change, "promise", name)
        self.broken[key] = broken

    def _least(self, change: PartitionChange) -> int:
        """The effective MinISR, as the promises have it."""
        configured = self.min_isr if change.min_isr is None else change.min_isr
        return min([configured, *change.replicas_of_zero[-1:]])

    def _copies(self, change: PartitionChange, p: Partition, target: Brokers) -> Copies:
        return Copies(
            replicas=p.replicas, isr=p.isr, leader=p.leader, min_isr=self._least(change), wanted=target,
            moving=reassigning(p), whole=members(p), loss_allowed=bool(change.unclean), leaving=frozenset(),
            down=frozenset(), load=0, limit=NO_LIMIT,
        )  # fmt: skip

    def _add(self, change: PartitionChange, kind: str, name: str) -> None:
        self.audit.findings.append(
            Finding(change.offset, change.timestamp, change.topic, change.partition, kind, name, described(change))
        )

    # -- rules ---------------------------------------------------------------------------------------------------

    def _explanations(self, change: PartitionChange) -> Any:
        """The causes by which releases make a change, with the brokers' own numbers. Alike changes are judged once."""
        before = change.before
        assert before is not None
        numbers = sorted(_brokers_of(before) | _brokers_of(change.after))
        small = {number: Broker(i) for i, number in enumerate(numbers, 1)}
        surroundings = self._surroundings(change, small)
        case = _renamed(before, small, before), _renamed(change.after, small, before), surroundings
        if case not in self.explanations_of:
            self.explanations_of[case] = self.explain(*case)
        back = {new: Broker(old) for old, new in small.items()}
        return [
            one if one.target is None else replace(one, target=frozenset(back[b] for b in one.target))
            for one in self.explanations_of[case]
        ]

    def _surroundings(self, change: PartitionChange, small: dict[int, Broker]) -> Any:
        def among(ids: frozenset[int]) -> Brokers:
            return frozenset(new for b, new in small.items() if b in ids)

        assert change.before is not None
        most = max(len(change.before.replicas), len(change.after.replicas)) + 1
        if change.min_isr is None:
            min_isrs = tuple(range(1, most + 1))
        else:
            counts = change.replicas_of_zero or (change.min_isr,)
            min_isrs = tuple(sorted({min(change.min_isr, most, count) for count in counts}))
        level = change.metadata_version
        return self.surroundings(
            registered=among(change.registered), active=among(change.active), leaving=among(change.events.leaving),
            restarted=among(change.events.restarted), coming=among(change.events.coming), min_isrs=min_isrs,
            unclean=(False, True) if change.unclean is None else (change.unclean,),
            elr=(False, True) if change.elr is None else (change.elr,),
            recovery=level is None or level >= RECOVERY_FROM,
            bump_on_shrink=level is not None and level < NO_BUMP_FROM, directories=change.directories,
        )  # fmt: skip


def _brokers_of(p: Partition) -> set[int]:
    named = {b for b in (p.leader, p.last_known_leader) if b is not None}
    return {int(b) for b in members(p) | p.isr | p.elr | p.adding | p.removing | named}


def _renamed(p: Partition, small: dict[int, Broker], start: Partition) -> Partition:
    """A partition with brokers numbered in their order, and epochs counted from those of another."""

    def some(broker: Broker | None) -> Broker | None:
        return None if broker is None else small[int(broker)]

    def all_of(brokers: Brokers) -> Brokers:
        return frozenset(small[int(b)] for b in brokers)

    return replace(
        p, replicas=tuple(small[int(b)] for b in p.replicas), isr=all_of(p.isr), elr=all_of(p.elr),
        adding=all_of(p.adding), removing=all_of(p.removing), leader=some(p.leader),
        last_known_leader=some(p.last_known_leader), leader_epoch=p.leader_epoch - start.leader_epoch,
        partition_epoch=p.partition_epoch - start.partition_epoch,
    )  # fmt: skip


def described(change: PartitionChange) -> str:
    """The change that a record makes, in a line."""
    names = {"replicas": "replicas", "isr": "ISR", "elr": "ELR", "adding": "adding", "removing": "removing",
             "leader": "leader", "leader_epoch": "leader epoch", "recovering": "recovering",
             "last_known_leader": "last known leader"}  # fmt: skip
    parts = []
    for attribute, name in names.items():
        new = getattr(change.after, attribute)
        old = getattr(change.before, attribute) if change.before is not None else None
        if change.before is None and attribute in ("replicas", "isr", "leader"):
            parts.append(f"{name} {_shown(new)}")
        elif change.before is not None and old != new:
            parts.append(f"{name} {_shown(old)} -> {_shown(new)}")
    return ", ".join(parts) or "nothing but the partition epoch"


def _shown(value: Any) -> str:
    if isinstance(value, frozenset):
        return "{" + ", ".join(str(int(b)) for b in sorted(value)) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(str(int(b)) for b in value) + "]"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(int(value))
