"""The worked examples of the KRaft description (K10) as functions: what they say, and that they see what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reassure.models.kraft import kraft
from reassure.models.kraft import worked_examples as kraft_examples
from reassure.models.kraft.worked_examples import LOWERING, MOVING_ONE, Example, Line, Mismatch
from reassure.spec.claims import Outcome

EVERY = "every change of both examples"


def test_what_they_say() -> None:
    assert kraft_examples.states_that_are_written() == Outcome(True, 5, EVERY)
    assert kraft_examples.first_of_the_target_leads() == Outcome(
        False, 5, EVERY, "example 2, change 3: Leader is 1, printed 2"
    )
    assert kraft_examples.lines_as_printed() == Outcome(
        False,
        7,
        "every printed line of both examples",
        "example 1, intermediate state of change 2: PartitionEpoch is 4, printed 3; "
        "example 2, intermediate state of change 3: ISR is [1, 2, 4, 5], printed [1, 2, 5], "
        "PartitionEpoch is 5, printed 4",
    )
    kafka = kraft_examples.states_that_kafka_wrote_up_to_4_2()
    assert (kafka.holds, kafka.cases) == (False, 5)
    assert str(kafka.counterexample).startswith(
        "example 1, change 1: Replicas is [1, 2, 4, 3], printed [1, 2, 3, 4]; "
        "example 2, change 3: Replicas is [1, 2, 3, 4, 5], printed [1, 2, 3], ISR is [1, 2, 4, 5], printed [1, 2]"
    )


@pytest.mark.parametrize(
    ("change", "unlike"),
    [
        ({}, ""),
        ({"replicas": (2, 1, 4)}, "Replicas is [1, 2, 4], printed [2, 1, 4]"),
        ({"isr": (1, 2)}, "ISR is [1, 2, 4], printed [1, 2]"),
        ({"leader": 2}, "Leader is 1, printed 2"),
        ({"leader_epoch": 1}, "LeaderEpoch is 2, printed 1"),
        ({"partition_epoch": 5}, "PartitionEpoch is 4, printed 5"),
        ({"adding": (4,), "removing": (3,)}, "Adding is [], printed [4], Removing is [], printed [3]"),
    ],
)
def test_another_line_is_seen(change: dict[str, object], unlike: str) -> None:
    last = MOVING_ONE.changes[-1]
    (*_, (_, _, p)) = kraft_examples.replayed(kraft.MODEL, MOVING_ONE)
    assert replace(last.after, **change).unlike(p) == unlike  # type: ignore[arg-type]


def test_a_step_that_is_refused_is_named() -> None:
    wrong: Example = replace(LOWERING, start=Line((1, 2, 3, 4, 5), (4, 5), 4, 1, 2))
    with pytest.raises(Mismatch, match=r"start\(target=\[1, 2, 3\], successor=5\) is refused"):
        list(kraft_examples.replayed(kraft.MODEL, wrong))
