"""T13: the lists of throttled replicas that the tool makes for a reassignment, over every small one.

`spec/kafka/throttle_lists.py` has the lists; they are compared with those of Kafka's own tool in the tests.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain, permutations, product

from reassure.spec.claims import Outcome
from reassure.spec.kafka.throttle_lists import Move, Partition, follower_lists, leader_lists

BROKERS = (1, 2, 3, 4)
BOUNDS = "lists of up to 3 of 4 brokers to lists of up to 3"
PARTITION: Partition = ("t", 0)
Lists = Callable[[Mapping[Partition, Move]], dict[str, str]]


def moves() -> Iterator[Move]:
    """Every reassignment of one partition."""
    listed = list(chain.from_iterable(permutations(BROKERS, n) for n in (1, 2, 3)))
    return (Move(current, target) for current, target in product(listed, repeat=2) if current != target)


def listed(lists: Lists, move: Move) -> frozenset[int]:
    """The brokers that a list names for the partition."""
    text = lists({PARTITION: move}).get(PARTITION[0], "")
    return frozenset(int(entry.partition(":")[2]) for entry in text.split(",") if entry)


def told(move: Move) -> str:
    return f"{list(move.current)} to {list(move.target)}"


def copies_are_limited(lists: Lists = follower_lists) -> Outcome:
    """Whether every broker that copies the partition is on the followers' list."""
    for cases, move in enumerate(moves(), start=1):
        if missing := frozenset(move.target) - frozenset(move.current) - listed(lists, move):
            return Outcome(False, cases, BOUNDS, f"{told(move)}: {min(missing)} copies, and is not listed")
    return Outcome(True, sum(1 for _ in moves()), BOUNDS)


def leaders_are_limited(may_join: bool, lists: Lists = leader_lists) -> Outcome:
    """Whether every broker that may lead while another one still copies is on the leaders' list.

    may_join: also a broker that was added, has come in sync, and was elected.
    """
    cases = 0
    for move in moves():
        new = frozenset(move.target) - frozenset(move.current)
        leaders = [(b, new) for b in move.current] + [(b, new - {b}) for b in sorted(new) if may_join]
        for leader, copying in leaders:
            cases += 1
            if copying and leader not in listed(lists, move):
                said = f"{told(move)}: {leader} has joined and leads, {min(copying)} copies from it"
                return Outcome(False, cases, BOUNDS, said)
    return Outcome(True, cases, BOUNDS)


def others_are_not_limited(leaders: Lists = leader_lists, followers: Lists = follower_lists) -> Outcome:
    """Whether a replica that was there before, falls out of the ISR and copies from another one is limited nowhere."""
    cases = 0
    for move in moves():
        for leader, follower in permutations(move.current, 2):
            cases += 1
            if leader in listed(leaders, move) or follower in listed(followers, move):
                said = f"{told(move)}: {follower} has fallen behind and copies from {leader}, whose list has it"
                return Outcome(False, cases, BOUNDS, said)
    return Outcome(True, cases, BOUNDS)


leaders_at_first_are_limited = partial(leaders_are_limited, False)
leaders_that_joined_are_limited = partial(leaders_are_limited, True)
