"""T6 and X2: who catches up under a throttle; whether that is possible at all, and whether every fair run does."""

from __future__ import annotations

import pytest

from reassure.checkers.machine.exit_codes import Exit
from reassure.models.kip542_throttle import throttle, throttled_batch
from reassure.spec.semantics.interpreter import BoundModel, make_config
from reassure.spec.semantics.trace import PlainConfig
from tests.helpers.runs import checked
from tests.helpers.trapped_states import stuck_states


@pytest.mark.parametrize(
    ("settings", "claimed", "trapped"),
    [
        ({"leader_rate": 0}, 57, 57),
        ({"leader_rate": 1}, 184, 184),
        ({"leader_rate": 1, "log": 1}, 151, 0),
        ({}, 491, 0),
        ({"leader_rate": -1, "follower_rate": -1}, 82, 82),
        ({"leader_rate": 1, "changes": 1, "moves": 0, "lapses": 0}, 616, 520),
    ],
)
def test_who_can_catch_up(settings: PlainConfig, claimed: int, trapped: int) -> None:
    """A rate of 0, of the produce rate, or shared at the produce rate, traps from the first state on."""
    bound = BoundModel(throttle.MODEL, make_config(throttle.MODEL, {"changes": 0, **settings}))
    found = stuck_states(bound, [throttle.reassignment_catches_up])["reassignment_catches_up"]
    assert (found.claimed, found.trapped, found.undecided) == (claimed, trapped, 0)
    if claimed == trapped:
        assert found.trace is not None
        assert len(found.trace) == 1


EVEN = {"split": throttled_batch.Split.EVEN}


@pytest.mark.parametrize(
    ("settings", "claimed", "trapped"),
    [
        ({}, 151, 0),
        (EVEN, 4, 4),
        ({**EVEN, "batch": 1}, 53, 0),
        ({**EVEN, "leader_rate": 4}, 270, 0),
        ({"leader_rate": 0}, 1, 1),
        ({"leader_rate": -1, "follower_rate": 1}, 4, 4),
        ({**EVEN, "batch": 1, "replicas": 3, "min_isr": 3, "initial_isr": 3}, 179, 0),
        ({**EVEN, "batch": 1, "replicas": 3, "min_isr": 3, "initial_isr": 1}, 4, 4),
    ],
)
def test_which_batches_can_end(settings: PlainConfig, claimed: int, trapped: int) -> None:
    """One by one replicas are done at a rate at which two at once never are, also if only the first step adds two."""
    bound = BoundModel(throttled_batch.MODEL, make_config(throttled_batch.MODEL, settings))
    found = stuck_states(bound, [throttled_batch.every_batch_ends])["every_batch_ends"]
    assert (found.claimed, found.trapped, found.exit) == (
        claimed,
        trapped,
        Exit.LIVENESS if trapped else Exit.INCONCLUSIVE,
    )


def fate(model: str, name: str, **settings: str | int) -> tuple[str, int | None]:
    """What the native engine says of a property about whole runs, and how long the lasso is."""
    result, _ = checked(model, [f"{k}={v}" for k, v in settings.items()], "native", properties=[name])
    return str(result.properties[0].status), result.properties[0].depth


@pytest.mark.parametrize(
    ("rate", "full", "expected"),
    [
        (2, "on", ("holds", None)),  # above what is produced
        (1, "on", ("violated", 4)),
        (0, "on", ("violated", 3)),
        (-1, "on", ("violated", 3)),  # shares the replication rate, which is what is produced
        (2, "off", ("violated", 4)),  # a window need not be used up
    ],
)
def test_a_reassignment_finishes_above_the_produce_rate(rate: int, full: str, expected: tuple[str, int | None]) -> None:
    """T6."""
    other = -1 if rate < 0 else 2
    settings: dict[str, str | int] = {"leader_rate": rate, "follower_rate": other, "full_windows": full}
    assert fate("throttle", "reassignment_catches_up", changes=0, **settings) == expected


@pytest.mark.parametrize(
    ("rate", "batch", "full", "expected"),
    [
        (3, 2, "on", ("holds", None)),
        (2, 2, "on", ("violated", 4)),
        (2, 1, "on", ("holds", None)),
        (0, 1, "on", ("violated", 2)),
        (3, 2, "off", ("violated", 4)),
    ],
)
def test_a_batch_ends_above_what_is_produced_for_all_of_it(
    rate: int, batch: int, full: str, expected: tuple[str, int | None]
) -> None:
    """X2."""
    found = fate("throttled_batch", "every_batch_ends", leader_rate=rate, batch=batch, full_windows=full)
    assert found == expected
