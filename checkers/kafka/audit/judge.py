"""Judges each change of a partition in a metadata log: do a release's rules allow it, and which promises does it break?

The rules are those of `models/kraft/log_rules.py`, the promises those of `spec/kafka/`. What a log does not say (a
configuration in a broker's file, an administrator's wish) is tried in every way for the rules, so that a finding there
means: in no way.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

from reassure.checkers.kafka.audit.cluster_history import NO_BUMP_FROM, RECOVERY_FROM, PartitionChange
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.digest import digest_of_modules
from reassure.checkers.request.model_loader import function, module_of_function
from reassure.spec.kafka import partition_properties as properties
from reassure.spec.kafka import shared_properties as shared
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, Watched, members, reassigning
from reassure.spec.kafka.shared_properties import Copies
from reassure.spec.language.vocabulary import Property

RULES = "kraft.log_rules"
NO_RELEASE = "no release makes this change"
REQUESTED = ("a reassignment", "a cancellation")
NO_LIMIT = 64
EITHER = (False, True)
PLACE = ("offset", "timestamp", "topic", "partition", "before", "after")
"""Fields of a change of which a verdict depends on none, or on a part."""
MOST_JUDGED = 1 << 17
"""Changes of which the judge keeps the verdict as the log has them: 200 MB at most."""

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


Case = tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]
"""A change: the registrations before and after it (`_Numbers.shape`), and the fields of `Surroundings`."""


@dataclass(frozen=True)
class _Verdict:
    """What is said of a change. by: the releases that make it; cause: if there is one kind of explanation.

    target: of the reassignment from then on; broken_by_step, broken: the promises that the step and the state break.
    """

    by: frozenset[str]
    cause: str | None
    target: Brokers
    broken_by_step: tuple[str, ...]
    broken: frozenset[str]


class ChangeJudge:
    """Judges the changes of a log, in its order."""

    def __init__(self, release: str | None, min_isr: int) -> None:
        """release: the name of the rules that count, as "4.2"; none: those of any. `Failure` for an unknown name.

        min_isr: of topics of which the log does not say it, for promises.
        """
        self.release, self.min_isr = release, min_isr
        self.explain: Callable[..., Any] = function(f"{RULES}:explanations")
        self.digest = digest_of_modules([module_of_function(RULES)])
        rules = sys.modules[self.explain.__module__]
        self.surroundings: Callable[..., Any] = rules.Surroundings
        self.releases = [r.value for r in rules.PUBLISHED]
        if release is not None and release not in self.releases:
            raise Failure(Exit.USAGE, f"--release {release}: it is one of {', '.join(self.releases)}, or such as 4.1.2")
        self.explanations_of: dict[Case, Any] = {}
        self.verdicts_of: dict[Case, dict[tuple[int, Brokers], _Verdict]] = {}
        """Of each case by MinISR and the target of the reassignment: alike changes are judged once."""
        self.judged: dict[tuple[Any, ...], tuple[_Verdict, Brokers]] = {}
        """Of changes as the log has them: most of those of a partition repeat."""
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
        least = self._least(change)
        if change.before is None:
            self.audit.created += 1
            self.target_of[key] = members(change.after) - change.after.removing
            self._states(change, key, _broken(change.after, least, bool(change.unclean), self.target_of[key]))
            return
        self.audit.changes += 1
        target = self.target_of[key]
        same = _literally(change, change.before, least, target)
        known = self.judged.get(same)
        if known is None:
            known = self._numbered(change, change.before, least, target)
            if len(self.judged) >= MOST_JUDGED:
                self.judged.clear()
            self.judged[same] = known
        verdict, self.target_of[key] = known
        if len(verdict.by) < len(self.releases):
            self.audit.not_by.update(release for release in self.releases if release not in verdict.by)
        if not verdict.by:
            self._add(change, "rule", NO_RELEASE)
        elif self.release is not None and self.release not in verdict.by:
            would = ", ".join(sorted(verdict.by))
            self._add(change, "rule", f"{self.release} does not make this change; {would} would")
        if verdict.cause is not None:
            self.audit.causes[verdict.cause] += 1
        for name in verdict.broken_by_step:
            self._add(change, "promise", name)
        self._states(change, key, verdict.broken)

    def _numbered(
        self, change: PartitionChange, before: Partition, least: int, target: Brokers
    ) -> tuple[_Verdict, Brokers]:
        """The verdict on a change by its small numbers, and the target from then on in the log's own."""
        numbers = _Numbers(before, change.after, target)
        case = self._case(change, before, numbers)
        verdicts = self.verdicts_of.setdefault(case, {})
        about = least, numbers.all_of(target)
        if about not in verdicts:
            verdicts[about] = self._verdict(change, before, case, numbers, *about)
        verdict = verdicts[about]
        return verdict, target if verdict.target == about[1] else numbers.own(verdict.target)

    def _verdict(
        self, change: PartitionChange, start: Partition, case: Case, numbers: _Numbers, least: int, target: Brokers
    ) -> _Verdict:
        """The verdict on a change, by the explanations of its case. target: of the reassignment before it."""
        before, after = numbers.partition(start, start), numbers.partition(change.after, start)
        if case not in self.explanations_of:
            self.explanations_of[case] = self.explain(before, after, self.surroundings(*case[2]))
        explanations = self.explanations_of[case]
        names = {one.name for one in explanations}
        requests = [one for one in explanations if one.name in REQUESTED]
        asked = requests[0].target if requests and len(requests) == len(explanations) else target
        unclean = bool(change.unclean)
        copies = _copies(before, least, unclean, target), _copies(after, least, unclean, asked)
        return _Verdict(
            frozenset(release for one in explanations for release in one.releases),
            names.pop() if len(names) == 1 else None,
            asked,
            tuple(name for name, holds in STEP_PROMISES.items() if not holds(*copies)),
            _broken(after, least, unclean, asked),
        )

    def _states(self, change: PartitionChange, key: tuple[str, int], broken: frozenset[str]) -> None:
        """Promises about the partition as it is now: told where they begin to be broken."""
        if broken or key in self.broken:
            for name in sorted(broken - self.broken.get(key, frozenset())):
                self._add(change, "promise", name)
            self.broken[key] = broken

    def _least(self, change: PartitionChange) -> int:
        """The effective MinISR, as the promises have it."""
        configured = self.min_isr if change.min_isr is None else change.min_isr
        return min([configured, *change.replicas_of_zero[-1:]])

    def _add(self, change: PartitionChange, kind: str, name: str) -> None:
        self.audit.findings.append(
            Finding(change.offset, change.timestamp, change.topic, change.partition, kind, name, _described(change))
        )

    def _case(self, change: PartitionChange, before: Partition, numbers: _Numbers) -> Case:
        """The change with small numbers of brokers, and what the log tells of the cluster then."""
        most = max(len(before.replicas), len(change.after.replicas)) + 1
        if change.min_isr is None:
            min_isrs = tuple(range(1, most + 1))
        else:
            counts = change.replicas_of_zero or (change.min_isr,)
            min_isrs = tuple(sorted({min(change.min_isr, most, count) for count in counts}))
        level, events, among = change.metadata_version, change.events, numbers.among
        surroundings = (
            among(change.registered), among(change.active), among(events.leaving), among(events.restarted),
            among(events.coming), min_isrs, EITHER if change.unclean is None else (change.unclean,),
            EITHER if change.elr is None else (change.elr,), level is None or level >= RECOVERY_FROM,
            level is not None and level < NO_BUMP_FROM, change.directories,
        )  # fmt: skip
        return numbers.shape(before, before), numbers.shape(change.after, before), surroundings


class _Numbers:
    """Small numbers of brokers, in their order: those that two registrations name, and behind them those of a target.

    Rules read the order of the first; of the promises, which name the target, none reads an order.
    """

    def __init__(self, before: Partition, after: Partition, target: Brokers) -> None:
        named = _brokers_of(before, after)
        self.small: dict[Any, Broker] = dict(zip(sorted(named), SMALL, strict=False))
        self.named = named
        if len(self.small) < len(named):
            self.small = {number: Broker(i) for i, number in enumerate(sorted(named), 1)}
        if not target <= named:
            for number in sorted(target - named):
                self.small[number] = Broker(len(self.small) + 1)

    def all_of(self, brokers: Brokers) -> Brokers:
        """A set of brokers that have small numbers."""
        return frozenset(map(self.small.__getitem__, brokers)) if brokers else brokers

    def among(self, ids: frozenset[int]) -> Brokers:
        """Those of a set that the registrations name."""
        return frozenset(map(self.small.__getitem__, self.named & ids)) if ids else NOBODY

    def own(self, brokers: Brokers) -> Brokers:
        """A set of small numbers as the log has them."""
        numbers = {new: Broker(old) for old, new in self.small.items()}
        return frozenset(numbers[b] for b in brokers)

    def shape(self, p: Partition, start: Partition) -> tuple[Any, ...]:
        """The fields of `partition(p, start)`, in their order: made much faster than that is."""
        small, all_of = self.small, self.all_of
        leader, last = p.leader, p.last_known_leader
        return (
            tuple(map(small.__getitem__, p.replicas)), all_of(p.isr), all_of(p.elr), all_of(p.adding),
            all_of(p.removing), None if leader is None else small[leader], p.leader_epoch - start.leader_epoch,
            p.partition_epoch - start.partition_epoch, p.recovering, None if last is None else small[last],
            p.last_known_is_nobody,
        )  # fmt: skip

    def partition(self, p: Partition, start: Partition) -> Partition:
        """A partition with small numbers of brokers, and epochs counted from those of another."""
        return Partition(*self.shape(p, start))


_fields_of = attrgetter(*(f.name for f in fields(Partition) if not f.name.endswith("_epoch")))
_about = attrgetter(*(f.name for f in fields(PartitionChange) if f.name not in PLACE))


def _literally(change: PartitionChange, before: Partition, least: int, target: Brokers) -> tuple[Any, ...]:
    """All that a verdict depends on, as the log has it. target: of the reassignment before the change."""
    after = change.after
    epochs = after.leader_epoch - before.leader_epoch, after.partition_epoch - before.partition_epoch
    return _fields_of(before), _fields_of(after), epochs, least, target, _about(change)


def _brokers_of(p: Partition, q: Partition) -> frozenset[int]:
    """The brokers that two partitions name."""
    single = [b for b in (p.leader, p.last_known_leader, q.leader, q.last_known_leader) if b is not None]
    sets = p.isr, p.elr, p.adding, p.removing, q.isr, q.elr, q.adding, q.removing
    return frozenset(p.replicas).union(q.replicas, *sets, single)


SMALL = tuple(map(Broker, range(1, 33)))
"""The first numbers of brokers: made once."""


def _broken(p: Partition, least: int, unclean: bool, target: Brokers) -> frozenset[str]:
    """The promises of states that a partition breaks. least: MinISR."""
    watched = Watched(p, least, unclean, 0, target)
    return frozenset(promise.name for promise in STATE_PROMISES if not promise.function(watched))


def _copies(p: Partition, least: int, unclean: bool, target: Brokers) -> Copies:
    """A partition as the promises of steps have it. least: MinISR."""
    return Copies(
        replicas=p.replicas, isr=p.isr, leader=p.leader, min_isr=least, wanted=target, moving=reassigning(p),
        whole=members(p), loss_allowed=unclean, leaving=NOBODY, down=NOBODY, load=0, limit=NO_LIMIT,
    )  # fmt: skip


TOLD = "replicas", "isr", "elr", "adding", "removing", "leader", "leader_epoch", "recovering", "last_known_leader"
"""Fields of a partition that a change is described by."""


def _described(change: PartitionChange) -> str:
    """The change that a record makes, in a line."""
    parts = []
    for attribute in TOLD:
        name = attribute.upper() if attribute in ("isr", "elr") else attribute.replace("_", " ")
        new, old = getattr(change.after, attribute), getattr(change.before, attribute, None)
        if change.before is None and attribute in ("replicas", "isr", "leader"):
            parts.append(f"{name} {_shown(new)}")
        elif change.before is not None and old != new:
            parts.append(f"{name} {_shown(old)} -> {_shown(new)}")
    return ", ".join(parts) or "nothing but the partition epoch"


def _shown(value: Any) -> str:
    if isinstance(value, frozenset | tuple):
        numbers = ", ".join(map(str, map(int, sorted(value) if isinstance(value, frozenset) else value)))
        return f"{{{numbers}}}" if isinstance(value, frozenset) else f"[{numbers}]"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(int(value))
