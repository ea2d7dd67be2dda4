"""Two-phase commit: a transaction manager and its resource managers agree to commit or to abort.

After "Consensus on Transaction Commit" (Gray and Lamport). Messages are never lost and stay in the set once sent.
A toy with known counts: 288 distinct states with 3 resource managers, 8,832 with 5.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from reassure import Id, Map, Model, Range, action, cover, every, fill, initial, invariant, replace, require


class Manager(Id, size="managers"):
    """A resource manager."""


class Phase(Enum):
    WORKING = "working"
    PREPARED = "prepared"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Outcome(Enum):
    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(frozen=True)
class Config:
    managers: Annotated[int, Range(1, 8)] = 3
    """Resource managers."""


@dataclass(frozen=True)
class Transaction:
    managers: Map[Manager, Phase]
    outcome: Outcome
    """The transaction manager's own state; its decision is also the message it broadcasts."""
    heard: frozenset[Manager]
    """Managers whose Prepared message the transaction manager has received."""
    prepared: frozenset[Manager]
    """Managers that have sent Prepared."""


@initial
def all_working(c: Config) -> Transaction:
    nobody: frozenset[Manager] = frozenset()
    return Transaction(fill(Manager, c, Phase.WORKING), Outcome.OPEN, nobody, nobody)


@action(who="resource manager")
def prepare(t: Transaction, manager: Manager) -> Transaction:
    require(t.managers[manager] == Phase.WORKING)
    return replace(t, managers=t.managers.put(manager, Phase.PREPARED), prepared=t.prepared | {manager})


@action(who="resource manager")
def choose_to_abort(t: Transaction, manager: Manager) -> Transaction:
    require(t.managers[manager] == Phase.WORKING)
    return replace(t, managers=t.managers.put(manager, Phase.ABORTED))


@action(who="transaction manager")
def hear_prepared(t: Transaction, manager: Manager) -> Transaction:
    require(t.outcome == Outcome.OPEN and manager in t.prepared)
    return replace(t, heard=t.heard | {manager})


@action(who="transaction manager")
def commit(t: Transaction, c: Config) -> Transaction:
    require(t.outcome == Outcome.OPEN and t.heard == every(Manager, c))
    return replace(t, outcome=Outcome.COMMITTED)


@action(who="transaction manager")
def abort(t: Transaction) -> Transaction:
    require(t.outcome == Outcome.OPEN)
    return replace(t, outcome=Outcome.ABORTED)


@action(who="resource manager")
def hear_commit(t: Transaction, manager: Manager) -> Transaction:
    require(t.outcome == Outcome.COMMITTED)
    return replace(t, managers=t.managers.put(manager, Phase.COMMITTED))


@action(who="resource manager")
def hear_abort(t: Transaction, manager: Manager) -> Transaction:
    require(t.outcome == Outcome.ABORTED)
    return replace(t, managers=t.managers.put(manager, Phase.ABORTED))


@invariant
def consistent(t: Transaction, c: Config) -> bool:
    """No manager has committed what another has aborted."""
    some_aborted = any(t.managers[m] == Phase.ABORTED for m in every(Manager, c))
    some_committed = any(t.managers[m] == Phase.COMMITTED for m in every(Manager, c))
    return not (some_aborted and some_committed)


@cover
def everybody_commits(t: Transaction, c: Config) -> bool:
    return all(t.managers[m] == Phase.COMMITTED for m in every(Manager, c))


@cover
def everybody_aborts(t: Transaction, c: Config) -> bool:
    return all(t.managers[m] == Phase.ABORTED for m in every(Manager, c))


MODEL = Model.of(__name__, state=Transaction, config=Config)
