"""R10: topics created in the middle of the rolling upgrade: R5's placement over R6's registrations, mixed as in R7."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from reassure.models.kip36_racks import wire
from reassure.models.kip36_racks.wire import EndPoint, Security, Software, WireError
from reassure.spec.claims import Outcome
from reassure.spec.kafka.placement import PlacementError, RackMode, assign

MIXTURES = "up to 4 brokers in up to 2 racks, each registered as version 2 or 3 or down; every replication factor"


def registrations() -> Iterator[dict[int, str]]:
    """The registrations of live brokers in ZooKeeper, at least one, in every mixture of versions."""
    for count in range(1, 5):
        for versions in itertools.product((None, 2, 3), repeat=count):
            for racks in itertools.product("ab", repeat=count):
                found = {}
                for b, (version, rack) in enumerate(zip(versions, racks, strict=True)):
                    if version is not None:
                        broker = wire.Broker(b, (EndPoint(Security.PLAINTEXT, "host", 9092),), rack)
                        found[b] = wire.write_registration(broker, version)
                if found:
                    yield found


def created(mode: RackMode, readers: tuple[Software, ...]) -> Outcome:
    """Whether a broker or a tool with any of these releases can create a topic, whatever is registered."""
    cases = 0
    bounds = f"{MIXTURES}; readers of {', '.join(r.value for r in readers)}"
    for registered in registrations():
        for reader, rf in itertools.product(readers, range(1, len(registered) + 1)):
            cases += 1
            try:
                racks = {b: wire.read_registration(b, text, reader).rack for b, text in registered.items()}
                made = assign(racks, 2 * len(registered), rf, mode=mode)
            except (WireError, PlacementError) as error:
                said = ", ".join(f"{b} as version {3 if 'rack' in text else 2}" for b, text in registered.items())
                return Outcome(False, cases, bounds, f"{reader.value}, registered: {said}: {error}")
            wrong = [replicas for replicas in made.values() if len(set(replicas)) != rf]
            if wrong:
                return Outcome(False, cases, bounds, f"{reader.value}, {registered}: {wrong[0]}")
    return Outcome(True, cases, bounds)


def automatic_creation_works() -> Outcome:
    """L195: it falls back on an assignment without racks wherever one is missing."""
    return created(RackMode.FALL_BACK, (Software.V0_9_0_1, Software.V0_10))


def automatic_creation_works_for_every_release() -> Outcome:
    """The same, with brokers at 0.9.0.0, which the documented upgrade does not have by then."""
    return created(RackMode.FALL_BACK, tuple(Software))


def tools_work() -> Outcome:
    """What L195 is there for: the tools' rule (L196), which refuses where some racks are shown and others not."""
    return created(RackMode.REFUSE_SOME, (Software.V0_9_0_1, Software.V0_10))
