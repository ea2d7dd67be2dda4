"""K11: whether a reassignment ends in every fair run; in our reading of the text, and by Kafka's rules by release."""

from __future__ import annotations

import pytest

from tests.helpers.runs import checked

ENDS = "reassignment_ends"
OR_CANCELLED = "reassignment_ends_or_can_be_cancelled"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (["shutdowns=0"], {OR_CANCELLED: "holds", ENDS: "holds"}),
        ([], {OR_CANCELLED: "violated", ENDS: "violated"}),  # the last complete log may be lost
    ],
)
def test_a_reassignment_ends_unless_every_log_is_lost(settings: list[str], expected: dict[str, str]) -> None:
    result, _ = checked("kraft", ["unclean=off", *settings], "native", properties=[ENDS, OR_CANCELLED])
    assert {p.name: str(p.status) for p in result.properties} == expected


ROLLED_BACK = ["start", "catch_up", "retarget", "propose_expansion", "alter_partition", "hear"]


@pytest.mark.parametrize(
    ("release", "steps"),
    [("3.9", None), ("4.0", None), ("4.1", None), ("4.2", None), ("4.3", ROLLED_BACK), ("4.4", ROLLED_BACK)],
)
def test_from_4_3_on_what_is_rolled_back_never_ends(release: str, steps: list[str] | None) -> None:
    """Nobody fails, everybody is in sync in the end, and nothing is left to happen."""
    settings = ["unclean=off", "shutdowns=0", "disturbances=0", "initial_isr=2", f"release={release}"]
    result, _ = checked("kraft_kafka", settings, "reference", properties=[ENDS])
    trace = result.properties[0].trace
    assert (None if trace is None else [s.action for s in trace.steps[1:]]) == steps
    if trace is not None:
        assert trace.closing is None
        last = trace.states[-1].partition
        assert (last.adding, last.isr) == (last.removing, frozenset(last.replicas))
