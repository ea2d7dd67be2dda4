"""States, commands and answers of Kafka's controller, and their words in the driver's protocol.

The layout is the driver's (`State`, `Command`, `Answer` in `java/ControllerDriver.java`): a partition with its brokers
takes one word of 62 bits, for at most six brokers. A second partition of the topic (`java/TopicDriver.java`) is another
word, of the same layout without the brokers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition

MAX_BROKERS = 6
ISR, ELR, ADDING, REMOVING = 18, 24, 30, 36
LEADER, RECOVERING, LAST_KNOWN = 42, 45, 46
FENCED, SHUTTING_DOWN, UNCLEAN = 49, 55, 61
MIN_ISR, CORDONED, UNREGISTERED, INCARNATIONS = 0, 8, 14, 20
"""In the word of the incarnations, whose lowest bits are the settings."""
SETTINGS = (1 << INCARNATIONS) - 1
LISTED_OTHERWISE, REMEMBERED = FENCED, FENCED + 1
"""In the word of the second partition, which has no brokers."""
REGISTRATIONS = 127
"""The most that an incarnation can be."""
KEEPS_NOBODY = 7
"""The code of the last known leader if Kafka keeps [-1]."""


NO_PARTITION = Partition((), NOBODY, NOBODY, NOBODY, NOBODY, None, 0, 0, False, None)
"""In place of partition 0 where its topic is deleted."""


@dataclass(frozen=True)
class ControllerState:
    """The controller's state of one partition and its brokers, and of the topic's second partition if it has one."""

    partition: Partition
    unfenced: Brokers
    incarnations: tuple[int, ...]
    """Of brokers 1, 2, ...: how often each was registered anew."""
    unclean: bool
    """Whether the topic allows unclean leader election."""
    shutting_down: Brokers = NOBODY
    """Brokers in controlled shutdown."""
    keeps_nobody: bool = False
    """The last known leader is written down as -1 (Kafka 3.9 to 4.1)."""
    min_isr: int = 0
    """min.insync.replicas where it may change on the way; 0: as the controller began."""
    cordoned: Brokers = NOBODY
    """Brokers whose log directories are all cordoned (KIP-1066)."""
    unregistered: Brokers = NOBODY
    """Brokers that are not registered; they are fenced, too."""
    second: Partition | None = None
    """Partition 1 of the topic."""
    second_keeps_nobody: bool = False
    listed_otherwise: bool = False
    """ListPartitionReassignments answers with other partitions than those that are being reassigned."""
    remembered: bool = False
    """The topic is deleted, and an event of a broker or an election still finds something of it, or throws."""

    @property
    def brokers(self) -> int:
        return len(self.incarnations)


@dataclass(frozen=True)
class Setup:
    """The controller that a driver begins with.

    replicas_of_partition_zero: 0 if the watched partition is partition 0. elr: eligible leader replicas are on.
    metadata_version: a name such as 3.9-IV0; "": the release's newest for production (3.9 has ELR in its newest for
    testing only). directories: log directories of each broker. company: each request has a second partition, whose own
    change throws. topic: the topic may be deleted, created again, and given a second partition.
    """

    brokers: int
    min_isr: int = 2
    replicas_of_partition_zero: int = 0
    elr: bool = True
    metadata_version: str = ""
    directories: int = 1
    company: bool = False
    topic: bool = False

    def data(self) -> dict[str, int | str]:
        """For a file: brokers, MinISR, and whatever is not usual."""
        usual = Setup(self.brokers)
        fields = {name: value for name, value in vars(self).items() if value != getattr(usual, name)}
        return {"brokers": self.brokers, "min_isr": self.min_isr, **fields}

    def packed(self) -> bytes:
        """The driver's request for such a controller."""
        name = self.metadata_version.encode()
        numbers = (self.brokers, self.min_isr, self.replicas_of_partition_zero, self.directories)
        return bytes((*numbers, self.elr | self.company << 1)) + len(name).to_bytes(2, "big") + name


@dataclass(frozen=True)
class Request:
    """The epochs and incarnations in an AlterPartition request, as of the time when it was sent."""

    leader_epoch: int
    partition_epoch: int
    incarnations: tuple[int, ...]


class Kind(IntEnum):
    """Commands of the driver."""

    REASSIGN = 1
    CANCEL = 2
    ALTER_PARTITION = 3
    PROPOSE = 4
    """AlterPartition by the present leader with the present epochs."""
    FENCE = 5
    UNFENCE = 6
    CONTROLLED_SHUTDOWN = 7
    RESTART_UNCLEANLY = 8
    RESTART_CLEANLY = 9
    ELECT_PREFERRED = 10
    ELECT_UNCLEAN = 11
    MAYBE_ELECT_UNCLEAN = 12
    BALANCE = 13
    ELECT_LEADERLESS = 14
    """The election that unfencing brings, when it is of some broker that is not fenced."""
    CHANGE_MIN_ISR = 15
    """The new value stands for the broker."""
    CHANGE_UNCLEAN = 16
    """The same: 0 or 1."""
    CORDON = 17
    """All log directories of a broker are cordoned; not applicable before 4.3."""
    UNCORDON = 18
    ASSIGN_DIRECTORY = 19
    """The broker tells that its replica is in its other log directory."""
    UNREGISTER = 20
    PROPOSE_OLD_PARTITION_EPOCH = 21
    """AlterPartition by the present leader, with the partition epoch before the present one."""
    PROPOSE_OLD_LEADER_EPOCH = 22
    PROPOSE_OLD_BROKER_EPOCHS = 23
    """The same with the epochs before the present ones of all members but the leader."""
    PROPOSE_BY_FOLLOWER = 24
    """AlterPartition with the present epochs, by the first registered broker that does not lead."""
    PROPOSE_WITHOUT_BROKER_EPOCHS = 25
    """AlterPartition by the present leader, with the epoch -1 of all members but the leader: nothing is verified.

    A leader sends it of a follower that has fetched before its registration was answered.
    """
    PROPOSE_VERSION_2 = 26
    """The same in a request of version 2, whose members have no epochs; older leaders send it."""
    DELETE_TOPIC = 27
    CREATE_TOPIC = 28
    """With one partition on these brokers, and with the configuration that the topic had."""
    ADD_PARTITION = 29
    """CreatePartitions: partition 1 on these brokers."""
    REASSIGN_BOTH = 30
    """One AlterPartitionReassignments for both partitions: a target for each, or a cancellation."""


REFUSED_PROPOSALS = (
    Kind.PROPOSE_OLD_PARTITION_EPOCH,
    Kind.PROPOSE_OLD_LEADER_EPOCH,
    Kind.PROPOSE_OLD_BROKER_EPOCHS,
    Kind.PROPOSE_BY_FOLLOWER,
)
"""Proposals that every release refuses, if it checks epochs and source."""
UNVERIFIED_PROPOSALS = (Kind.PROPOSE_WITHOUT_BROKER_EPOCHS, Kind.PROPOSE_VERSION_2)
"""Proposals whose broker epochs nobody can verify; the releases of the table accept them."""
PROPOSALS = (Kind.PROPOSE, *REFUSED_PROPOSALS, *UNVERIFIED_PROPOSALS)
"""AlterPartition by a broker of the state, whatever its epochs."""
OF_TOPIC = (Kind.DELETE_TOPIC, Kind.CREATE_TOPIC, Kind.ADD_PARTITION, Kind.REASSIGN_BOTH)
"""Commands of a controller whose topic may be deleted."""
LISTS = (Kind.REASSIGN, Kind.CREATE_TOPIC, Kind.ADD_PARTITION, Kind.REASSIGN_BOTH)
"""Commands with brokers in order."""
_CHANGES = (Kind.CHANGE_MIN_ISR, Kind.CHANGE_UNCLEAN)
_SETS_STATE, _OF_SECOND = 1 << 16, 1 << 18


@dataclass(frozen=True)
class Command:
    """Something the controller is asked to do. brokers: a target in order, or the members of a proposed ISR.

    partition: 0 or 1. others: of `REASSIGN_BOTH`, the target of partition 1, or none: a cancellation.
    """

    kind: Kind
    broker: int = 0
    brokers: tuple[int, ...] = ()
    request: Request | None = None
    partition: int = 0
    others: tuple[int, ...] = ()

    def words(self, set_state: bool) -> tuple[int, int, int, int]:
        """Command, list, epochs and incarnations of the request."""
        word = self.kind | self.broker << 8 | (_SETS_STATE if set_state else 0) | self.partition * _OF_SECOND
        packed = packed_list(self.brokers) if self.kind in LISTS else packed_set(self.brokers)
        packed |= packed_list(self.others) << ISR
        if self.request is None:
            return word, packed, 0, 0
        r = self.request
        return word, packed, packed_epochs(r.leader_epoch, r.partition_epoch), packed_incarnations(r.incarnations)

    def __str__(self) -> str:
        return self._call() + (f" of partition {self.partition}" if self.partition else "")

    def _call(self) -> str:
        name = self.kind.name.lower()
        if self.kind is Kind.REASSIGN_BOTH:
            first, second = (_target(ids) for ids in (self.brokers, self.others))
            return f"{name}({first}, {second})"
        if self.kind in LISTS:
            return f"{name}({_target(self.brokers)})"
        if self.kind in (Kind.ALTER_PARTITION, *PROPOSALS):
            return f"{name}({'' if not self.broker else f'from {self.broker}, '}{braces(self.brokers)})"
        return f"{name}({self.broker})" if self.broker or self.kind in _CHANGES else f"{name}()"


def _target(brokers: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, brokers))}]" if brokers else "cancel"


@dataclass(frozen=True)
class ControllerAnswer:
    """The result of a command. error: of `ERRORS`, or a number. thrown: the exception makes a controller resign."""

    error: str
    thrown: bool
    records: int
    applies: bool

    def __str__(self) -> str:
        if not self.applies:
            return "not applicable"
        return f"{self.error}, the controller resigns" if self.thrown else self.error


ERRORS = {
    -1: "UNKNOWN_SERVER_ERROR",
    0: "NONE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    6: "NOT_LEADER_OR_FOLLOWER",
    9: "REPLICA_NOT_AVAILABLE",
    35: "UNSUPPORTED_VERSION",
    36: "TOPIC_ALREADY_EXISTS",
    37: "INVALID_PARTITIONS",
    38: "INVALID_REPLICATION_FACTOR",
    39: "INVALID_REPLICA_ASSIGNMENT",
    41: "NOT_CONTROLLER",
    42: "INVALID_REQUEST",
    55: "OPERATION_NOT_ATTEMPTED",
    74: "FENCED_LEADER_EPOCH",
    77: "STALE_BROKER_EPOCH",
    80: "PREFERRED_LEADER_NOT_AVAILABLE",
    83: "ELIGIBLE_LEADERS_NOT_AVAILABLE",
    84: "ELECTION_NOT_NEEDED",
    85: "NO_REASSIGNMENT_IN_PROGRESS",
    95: "INVALID_UPDATE_VERSION",
    100: "UNKNOWN_TOPIC_ID",
    101: "DUPLICATE_BROKER_REGISTRATION",
    102: "BROKER_ID_NOT_REGISTERED",
    107: "INELIGIBLE_REPLICA",
    108: "NEW_LEADER_ELECTED",
}
"""`org.apache.kafka.common.protocol.Errors`, those that a controller answers here."""


def answer_of(word: int) -> ControllerAnswer:
    """An answer's word."""
    code = word & 0xFFFF
    code = code - 0x10000 if code & 0x8000 else code
    return ControllerAnswer(ERRORS.get(code, str(code)), bool(word >> 16 & 1), word >> 17 & 63, not word >> 23 & 1)


# -- sets, lists, epochs -------------------------------------------------------------------------------------------


def packed_set(brokers: Iterable[int]) -> int:
    """Bit b-1 for broker b."""
    return sum(1 << (int(b) - 1) for b in brokers)


def unpacked_set(mask: int) -> Brokers:
    return frozenset(Broker(b) for b in range(1, MAX_BROKERS + 1) if mask >> (b - 1) & 1)


def packed_list(brokers: Iterable[int]) -> int:
    """Three bits each, the first lowest."""
    return sum(int(b) << (3 * i) for i, b in enumerate(brokers))


def unpacked_list(word: int) -> tuple[Broker, ...]:
    numbers = (word >> (3 * i) & 7 for i in range(MAX_BROKERS))
    return tuple(Broker(b) for b in numbers if b)


def packed_epochs(leader: int, partition: int) -> int:
    return leader << 32 | partition


def packed_incarnations(incarnations: Iterable[int]) -> int:
    return sum(n << (INCARNATIONS + 7 * i) for i, n in enumerate(incarnations))


def braces(brokers: Iterable[int]) -> str:
    """A set of brokers as text."""
    return "{" + ", ".join(str(int(b)) for b in sorted(brokers)) + "}"


# -- states --------------------------------------------------------------------------------------------------------


def packed_state(state: ControllerState) -> tuple[int, int, int]:
    """State, epochs, incarnations."""
    p = state.partition
    fenced = ((1 << state.brokers) - 1) & ~packed_set(state.unfenced)
    word = (
        _packed_partition(p, state.keeps_nobody)
        | fenced << FENCED
        | packed_set(state.shutting_down) << SHUTTING_DOWN
        | int(state.unclean) << UNCLEAN
    )
    settings = state.min_isr | packed_set(state.cordoned) << CORDONED | packed_set(state.unregistered) << UNREGISTERED
    incarnations = packed_incarnations(state.incarnations) | settings
    return word, packed_epochs(p.leader_epoch, p.partition_epoch), incarnations


def _packed_partition(p: Partition, keeps_nobody: bool) -> int:
    last_known = KEEPS_NOBODY if keeps_nobody else int(p.last_known_leader or 0)
    return (
        packed_list(p.replicas)
        | packed_set(p.isr) << ISR
        | packed_set(p.elr) << ELR
        | packed_set(p.adding) << ADDING
        | packed_set(p.removing) << REMOVING
        | int(p.leader or 0) << LEADER
        | int(p.recovering) << RECOVERING
        | last_known << LAST_KNOWN
    )


def packed_second(state: ControllerState) -> tuple[int, int]:
    """The second partition and its epochs; zeros if there is none."""
    flaws = state.listed_otherwise << LISTED_OTHERWISE | state.remembered << REMEMBERED
    if state.second is None:
        return flaws, 0
    p = state.second
    word = _packed_partition(p, state.second_keeps_nobody) | flaws
    return word, packed_epochs(p.leader_epoch, p.partition_epoch)


def _unpacked_partition(word: int, epochs: int) -> Partition:
    last_known = word >> LAST_KNOWN & 7
    return Partition(
        replicas=unpacked_list(word & (1 << ISR) - 1),
        isr=unpacked_set(word >> ISR),
        elr=unpacked_set(word >> ELR),
        adding=unpacked_set(word >> ADDING),
        removing=unpacked_set(word >> REMOVING),
        leader=_broker(word >> LEADER & 7),
        leader_epoch=epochs >> 32,
        partition_epoch=epochs & 0xFFFFFFFF,
        recovering=bool(word >> RECOVERING & 1),
        last_known_leader=None if last_known == KEEPS_NOBODY else _broker(last_known),
    )


def unpacked_state(
    word: int, epochs: int, incarnations: int, brokers: int, second: int = 0, epochs_of_second: int = 0
) -> ControllerState:
    """The state of these words."""
    there = second & (1 << ISR) - 1 != 0
    everybody = frozenset(Broker(b) for b in range(1, brokers + 1))
    return ControllerState(
        partition=_unpacked_partition(word, epochs),
        unfenced=everybody - unpacked_set(word >> FENCED),
        incarnations=tuple(incarnations >> (INCARNATIONS + 7 * i) & REGISTRATIONS for i in range(brokers)),
        unclean=bool(word >> UNCLEAN & 1),
        shutting_down=unpacked_set(word >> SHUTTING_DOWN),
        keeps_nobody=word >> LAST_KNOWN & 7 == KEEPS_NOBODY,
        min_isr=incarnations & 255,
        cordoned=unpacked_set(incarnations >> CORDONED),
        unregistered=unpacked_set(incarnations >> UNREGISTERED),
        second=_unpacked_partition(second, epochs_of_second) if there else None,
        second_keeps_nobody=second >> LAST_KNOWN & 7 == KEEPS_NOBODY,
        listed_otherwise=bool(second >> LISTED_OTHERWISE & 1),
        remembered=bool(second >> REMEMBERED & 1),
    )


def unpacked_words(words: tuple[int, ...], brokers: int) -> ControllerState:
    """The state of the words of `packed_state`, with those of `packed_second` behind them or without."""
    state, epochs, incarnations, *second = words
    return unpacked_state(state, epochs, incarnations, brokers, *second)


def _broker(number: int) -> Broker | None:
    return Broker(number) if number else None


def described_state(state: ControllerState) -> dict[str, str]:
    """A state field by field, as text."""
    values = {
        **_described_partition(state.partition, state.keeps_nobody),
        "unfenced brokers": braces(state.unfenced),
        "shutting down": braces(state.shutting_down),
        "registrations": ", ".join(map(str, state.incarnations)),
    }
    values |= {"MinISR": str(state.min_isr)} if state.min_isr else {}
    values |= {"cordoned": braces(state.cordoned), "unregistered": braces(state.unregistered)}
    if state.second is not None:
        of_second = _described_partition(state.second, state.second_keeps_nobody)
        values |= {f"partition 1: {name}": text for name, text in of_second.items()}
    values |= {"reassignments listed": "otherwise"} if state.listed_otherwise else {}
    return values | ({"topic": "deleted, and not forgotten"} if state.remembered else {})


def _described_partition(p: Partition, keeps_nobody: bool) -> dict[str, str]:
    return {
        "replicas": f"[{', '.join(str(int(b)) for b in p.replicas)}]",
        "ISR": braces(p.isr),
        "ELR": braces(p.elr),
        "adding": braces(p.adding),
        "removing": braces(p.removing),
        "leader": str(int(p.leader)) if p.leader is not None else "none",
        "leader epoch": str(p.leader_epoch),
        "partition epoch": str(p.partition_epoch),
        "recovering": "yes" if p.recovering else "no",
        "last known leader": "-1" if keeps_nobody else str(int(p.last_known_leader or 0) or "none"),
    }


def few_enough(brokers: int, what: str) -> None:
    """`Failure` where a word has no room for so many brokers."""
    if brokers > MAX_BROKERS:
        raise Failure(
            Exit.USAGE, f"{what} has {brokers} brokers; Kafka's controller is driven with {MAX_BROKERS} at most"
        )
