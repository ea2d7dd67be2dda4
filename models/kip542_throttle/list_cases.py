"""T8: which limit counts a replica that is both listed and being added, over every small window.

KIP-542 keeps `leader.` and `follower.replication.throttled.replicas` with "their existing behavior", and limits
`addingReplicas` by a rate of its own. It does not say what becomes of a replica that is both. In a window one such
replica and one that is only listed each send as much as they may, unit by unit in any order; both rates are set.
"""

from collections.abc import Callable
from enum import Flag, auto
from functools import partial
from itertools import product

from reassure.spec.claims import Outcome

Window = tuple[int, int]
"""What the replica being added has sent, and what the other one has."""

MOST = 4
BOUNDS = f"rates 0 to {MOST}, every order of units in a window"


class Pays(Flag):
    """Which limits a replica that is both listed and being added counts against, and has to have room in."""

    REASSIGNMENT = auto()
    REPLICATION = auto()
    BOTH = REASSIGNMENT | REPLICATION


def nexts(pays: Pays, replication: int, rate: int, window: Window) -> list[Window]:
    """The window after one more unit."""
    adding, other = window
    used = other + (adding if Pays.REPLICATION in pays else 0)
    room = used < replication
    own = adding < rate
    more = (own or Pays.REASSIGNMENT not in pays) and (room or Pays.REPLICATION not in pays)
    return [(adding + 1, other)] * more + [(adding, other + 1)] * room


def windows(pays: Pays, replication: int, rate: int) -> tuple[set[Window], set[Window]]:
    """All possible windows, and those in which no replica can send any more."""
    found, left = {(0, 0)}, [(0, 0)]
    while left:
        after = [w for now in left for w in nexts(pays, replication, rate, now) if w not in found]
        left = list(dict.fromkeys(after))
        found |= set(left)
    return found, {w for w in found if not nexts(pays, replication, rate, w)}


def every_window(holds: Callable[[Window, int, int], bool], only_full: bool, pays: Pays) -> Outcome:
    cases = 0
    for replication, rate in product(range(MOST + 1), repeat=2):
        found, full = windows(pays, replication, rate)
        for window in sorted(full if only_full else found):
            cases += 1
            if not holds(window, replication, rate):
                said = (
                    f"replication rate {replication}, reassignment rate {rate}: {window[0]} by the replica being added"
                )
                return Outcome(False, cases, BOUNDS, f"{said}, {window[1]} by the other")
    return Outcome(True, cases, BOUNDS)


def lists_work_as_before(window: Window, replication: int, rate: int) -> bool:
    """L28: what is listed keeps to the replication rate."""
    return sum(window) <= replication


def rate_is_kept(window: Window, replication: int, rate: int) -> bool:
    """L43: a reassignment keeps to its own rate."""
    return window[0] <= rate


def others_get_theirs(window: Window, replication: int, rate: int) -> bool:
    """L21: a reassignment has no effect on other replication."""
    return window[1] == replication


lists_work_if_reassignment_pays = partial(every_window, lists_work_as_before, False, Pays.REASSIGNMENT)
lists_work_if_replication_pays = partial(every_window, lists_work_as_before, False, Pays.REPLICATION)
lists_work_if_both_pay = partial(every_window, lists_work_as_before, False, Pays.BOTH)
rate_is_kept_if_reassignment_pays = partial(every_window, rate_is_kept, False, Pays.REASSIGNMENT)
rate_is_kept_if_replication_pays = partial(every_window, rate_is_kept, False, Pays.REPLICATION)
rate_is_kept_if_both_pay = partial(every_window, rate_is_kept, False, Pays.BOTH)
others_get_theirs_if_reassignment_pays = partial(every_window, others_get_theirs, True, Pays.REASSIGNMENT)
others_get_theirs_if_replication_pays = partial(every_window, others_get_theirs, True, Pays.REPLICATION)
others_get_theirs_if_both_pay = partial(every_window, others_get_theirs, True, Pays.BOTH)
