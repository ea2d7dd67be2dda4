"""Loading reassignments after fail-over from three places, told apart by a legacy flag (KIP-236).

Rules of the list that KIP-236 prints before its algorithm. For one partition, since partitions are independent:
a new controller loads contexts from /admin/reassignments, then from the children of /admin/reassignment_requests, then
from /admin/reassign_partitions; what the last two hold only where its legacy flag equals that of "any current context".

The document does not say what "any" means where there is no context yet, whether contexts added in the same step are
current already, nor which place may hold which flag: `any_is_some`, `one_by_one`, `tied`. ZooKeeper
lists children in no order, so neither do we.

Left out: targets (a second context with the same flag is the first one, changed); an old controller that still writes.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from reassure import Model, Range, action, cover, initial, invariant, replace, require, some, step_property


class Flag(Enum):
    LEGACY = "legacy"
    NEW = "new"


Flags = frozenset[Flag]
NONE: Flags = frozenset()


class Phase(Enum):
    """Which place is loaded next."""

    REASSIGNMENTS = "/admin/reassignments"
    REQUESTS = "/admin/reassignment_requests"
    PARTITIONS = "/admin/reassign_partitions"
    LOADED = "loaded"


@dataclass(frozen=True)
class Config:
    submissions: Annotated[int, Range(0, 4)] = 2
    """Reassignments that are asked for."""
    loads: Annotated[int, Range(0, 4)] = 3
    """Times that everything is loaded again, by a new controller or by the same."""
    tied: bool = True
    """Whether /admin/reassign_partitions holds only legacy contexts, and /admin/reassignment_requests only others."""
    any_is_some: bool = False
    """Whether "the same legacy flag as any current context" requires that there is one."""
    one_by_one: bool = True
    """Whether a context is current as soon as it is added, or only when its place has been read."""


@dataclass(frozen=True)
class Controller:
    stored: Flag | None
    """What /admin/reassignments has for the partition."""
    requests: Flags
    """The children of /admin/reassignment_requests with the partition, by their flags."""
    file: Flag | None
    """What /admin/reassign_partitions has for the partition."""
    contexts: Flags
    """The controller's ReassignedPartitionsContexts, by their flags."""
    current: Flags
    """What the flags are compared with."""
    phase: Phase
    unread: Flags
    """Children that the step going on has not come to."""
    result: Flags | None
    """Ghost: what the last load came to, if nothing has changed since it began."""
    quiet: bool
    """Ghost: nothing has been asked for since the load began."""
    again: bool
    """Ghost: the load that goes on began with the contexts of an earlier one."""
    submitted: Annotated[int, Range(0, "submissions")]
    loaded: Annotated[int, Range(0, "loads")]


@initial
def nothing(c: Config) -> Controller:
    """No reassignment was ever requested."""
    return Controller(None, NONE, None, NONE, NONE, Phase.LOADED, NONE, NONE, True, False, 0, 0)


# -- clients ----------------------------------------------------------------------------------------------


@action(who="client")
def submit_request(s: Controller, c: Config, flag: Flag) -> Controller:
    """A child of /admin/reassignment_requests is written."""
    require(s.submitted < c.submissions and flag not in s.requests and (flag == Flag.NEW or not c.tied))
    return replace(s, requests=s.requests | {flag}, submitted=s.submitted + 1, result=None, quiet=False)


@action(who="client")
def submit_file(s: Controller, c: Config, flag: Flag) -> Controller:
    """/admin/reassign_partitions is written, which must not be there."""
    require(s.submitted < c.submissions and s.file is None and (flag == Flag.LEGACY or not c.tied))
    return replace(s, file=flag, submitted=s.submitted + 1, result=None, quiet=False)


# -- loading ----------------------------------------------------------------------------------------------


@action(who="controller")
def fail_over(s: Controller, c: Config) -> Controller:
    """A new controller begins to load, also in the middle of another's loading."""
    require(s.loaded < c.loads)
    return replace(
        s,
        contexts=NONE,
        current=NONE,
        unread=NONE,
        phase=Phase.REASSIGNMENTS,
        quiet=True,
        again=False,
        loaded=s.loaded + 1,
    )


@action(who="controller")
def load_again(s: Controller, c: Config) -> Controller:
    """The same controller loads once more, with the contexts that it has."""
    require(s.loaded < c.loads and s.phase == Phase.LOADED)
    return replace(s, phase=Phase.REASSIGNMENTS, quiet=True, again=True, loaded=s.loaded + 1)


def admitted(s: Controller, c: Config, flag: Flag) -> bool:
    if c.any_is_some:
        return flag in s.current
    return s.current <= NONE | {flag}


def offered(s: Controller, c: Config, flag: Flag) -> Controller:
    """The context is added if its flag allows it."""
    if not admitted(s, c, flag):
        return s
    contexts = s.contexts | {flag}
    return replace(s, contexts=contexts, current=contexts if c.one_by_one else s.current)


@action(who="controller")
def load_reassignments(s: Controller) -> Controller:
    """What /admin/reassignments has is added, whatever its flag."""
    require(s.phase == Phase.REASSIGNMENTS)
    contexts = s.contexts if s.stored is None else s.contexts | {s.stored}
    return replace(s, contexts=contexts, current=contexts, phase=Phase.REQUESTS, unread=s.requests)


@action(who="controller", flag=lambda s: s.unread)
def load_request(s: Controller, c: Config, flag: Flag) -> Controller:
    """A child of /admin/reassignment_requests, added if its flag allows it."""
    require(s.phase == Phase.REQUESTS)
    return replace(offered(s, c, flag), unread=s.unread - {flag})


@action(who="controller")
def end_requests(s: Controller) -> Controller:
    """All the children that were listed have been looked at."""
    require(s.phase == Phase.REQUESTS and s.unread == NONE)
    return replace(s, current=s.contexts, phase=Phase.PARTITIONS)


@action(who="controller")
def load_partitions(s: Controller, c: Config) -> Controller:
    """What /admin/reassign_partitions has is added if its flag allows it, and loading ends."""
    require(s.phase == Phase.PARTITIONS)
    after = s if s.file is None else offered(s, c, s.file)
    return replace(after, current=after.contexts, phase=Phase.LOADED, result=after.contexts if s.quiet else None)


# -- between loads ----------------------------------------------------------------------------------------


@action(who="controller")
def store(s: Controller, flag: Flag) -> Controller:
    """A context is written to /admin/reassignments: what was asked for has become a reassignment."""
    require(s.phase == Phase.LOADED and flag in s.contexts and s.stored is None)
    return replace(s, stored=flag, result=None)


@action(who="controller")
def remove_request(s: Controller) -> Controller:
    """A request that is stored is removed from where it was made."""
    flag = some(s.stored)
    require(s.phase == Phase.LOADED and flag in s.requests)
    return replace(s, requests=s.requests - {flag}, result=None)


@action(who="controller")
def complete(s: Controller) -> Controller:
    """The reassignment ends, and every place removes it."""
    flag = some(s.stored)
    require(s.phase == Phase.LOADED and flag in s.contexts and flag not in s.requests)
    contexts = s.contexts - {flag}
    file = None if s.file == flag else s.file
    return replace(s, stored=None, contexts=contexts, current=contexts, file=file, result=None)


# -- claims -----------------------------------------------------------------------------------------------


def asked_for(s: Controller) -> bool:
    return s.stored is not None or s.requests != NONE or s.file is not None


@invariant
def one_flag_a_partition(s: Controller) -> bool:
    """I6. Otherwise two reassignments of one partition, old style and new, run at once and undo each other."""
    return len(s.contexts) <= 1


@step_property(on=load_partitions)
def loading_twice_is_loading_once(before: Controller, after: Controller) -> bool:
    """I6. Otherwise a controller that reads the places again forgets, or takes up, a reassignment."""
    return not before.again or before.result is None or after.contexts == before.result


@step_property(on=load_partitions)
def a_new_controller_loads_the_same(before: Controller, after: Controller) -> bool:
    """I6. Otherwise a fail-over alone changes what becomes of a partition."""
    return before.again or before.result is None or after.contexts == before.result


@step_property(on=load_partitions)
def something_is_loaded(before: Controller, after: Controller) -> bool:
    """I6. Otherwise a request made while nobody was in control is never carried out."""
    noted = before.stored is not None or before.file is not None or before.contexts != NONE
    return not noted or after.contexts != NONE


@step_property(on=load_partitions)
def what_goes_on_is_loaded(before: Controller, after: Controller) -> bool:
    """I6. Otherwise a fail-over ends a reassignment that nobody cancelled."""
    return before.stored is None or before.stored in after.contexts


@cover(on=(load_request, load_partitions))
def refused_for_its_flag(before: Controller, after: Controller) -> bool:
    """The rule refuses a context: its legacy flag differs from that of the contexts already loaded."""
    other = before.file is not None and before.phase == Phase.PARTITIONS and before.file not in after.contexts
    return other or before.unread - after.unread - after.contexts != NONE


@cover(on=fail_over)
def fails_over_while_loading(before: Controller, after: Controller) -> bool:
    return before.phase == Phase.PARTITIONS and before.contexts != NONE


@cover(on=load_partitions)
def loaded_twice(before: Controller, after: Controller) -> bool:
    return before.result is not None and asked_for(before)


MODEL = Model.of(__name__, state=Controller, config=Config, deadlock=False)
