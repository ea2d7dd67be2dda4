"""The cluster of `reassure plan`: its brokers, what counts as enough replicas in sync, and the rules it may go by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reassure.checkers.kafka.audit.ending import RULES
from reassure.checkers.kafka.printed.shell_output import Key
from reassure.spec.kafka.releases import numbers

Replicas = tuple[int, ...]
Assignment = dict[Key, Replicas]


@dataclass
class ClusterFile:
    """The brokers with their racks, and what counts as enough replicas in sync.

    min_isr: of topics that `topics` does not name; None: not known. cordoned: brokers whose log directories are all
    cordoned (KIP-1066). releases: the names of the rules that the controllers may go by. elr: whether eligible leader
    replicas are on; None: not known.
    """

    racks: dict[int, str | None]
    min_isr: int | None = 1
    topics: dict[str, int] = field(default_factory=dict)
    cordoned: frozenset[int] = frozenset()
    releases: tuple[str, ...] = RULES
    described: bool = False
    """Whether it is of `kafka-topics --describe`, which has no racks, and no brokers without replicas."""
    of_log: bool = False
    """Whether it is of a metadata log."""
    takes_default: bool = False
    """`min_isr` is Kafka's default: a file that may name it does not."""
    faults: dict[int, str] = field(default_factory=dict)
    """Brokers that can join no ISR, with the reason: fenced, in controlled shutdown, not registered."""
    unclean: dict[str, bool] = field(default_factory=dict)
    """Whether a topic allows unclean election."""
    may_lose: bool | None = None
    """The same of topics that `unclean` does not name; None: not known."""
    elr: bool | None = None

    @property
    def refuses_cordoned(self) -> bool | None:
        """Whether Kafka refuses a target with a cordoned broker, even one that has the replica: from 4.4.0 on.

        None: the release is not known.
        """
        answers = {numbers(rules) >= (4, 4) for rules in self.releases}
        return answers.pop() if len(answers) == 1 else None

    def least(self, topic: str) -> int | None:
        """The topic's min.insync.replicas; None if it is not known."""
        return self.topics.get(topic, self.min_isr)

    def allows_unclean(self, topic: str) -> bool | None:
        """Whether a topic allows unclean election; None if it is not known."""
        return self.unclean.get(topic, self.may_lose)

    def add_settings(self, min_isr: Mapping[str, int], unclean: Mapping[str, bool]) -> None:
        """Adds settings of topics that another file has; those of this one go before."""
        if self.min_isr is None or self.takes_default:
            self.topics = {**min_isr, **self.topics}
        self.unclean = {**unclean, **self.unclean}

    def enough(self, topic: str) -> int:
        """As `least`; 1, the fewest, where it is not known."""
        return self.least(topic) or 1

    def rack_of(self, replicas: Iterable[int]) -> set[str]:
        """The racks of these brokers, as far as they have one."""
        return {rack for b in replicas if (rack := self.racks[b]) is not None}
