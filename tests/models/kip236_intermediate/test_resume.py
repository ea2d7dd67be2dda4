"""KIP-236 by the letter: the drop set on the resume call (I7), and intermediate replicas that lead (I8)."""

from __future__ import annotations

import pytest

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.models.kip236_intermediate import cases, resumed_inclusive
from reassure.models.kip236_intermediate.drop_set import Cluster, Config, Stage
from reassure.spec.kafka.partition import NOBODY, Broker
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import replay
from tests.helpers.brokers import b

WASTEFUL = {"drop_spares_what_is_wanted": 5, "drop_spares_the_original": 5, "nothing_intermediate_stays": 6}
HALF_OPEN = {
    "drop_keeps_min_isr": 3,
    "drop_spares_what_is_wanted": 3,
    "drop_spares_the_original": 3,
    "own_steps_keep_min_isr": 3,
}
CHECKS: list[tuple[str, list[str], dict[str, int], list[str], int, tuple[int, int, int]]] = [
    (
        "resumed_inclusive",
        [],
        {**WASTEFUL, "intermediate_leader_takes_no_place": 7},
        ["ends_without_its_leader"],
        6,
        (14_814, 44_240, 18),
    ),
    ("resumed_inclusive", ["disturbances=0"], WASTEFUL, ["ends_without_its_leader"], 6, (1_012, 2_085, 15)),
    (
        "resumed_half_open",
        ["disturbances=0"],
        HALF_OPEN,
        ["ends_without_its_leader", "a_move_ends"],
        8,
        (731, 1_497, 12),
    ),
]


@pytest.mark.parametrize(("model", "pairs", "fallen", "unreached", "lasso", "counts"), CHECKS)
def test_whole_space(
    model: str,
    pairs: list[str],
    fallen: dict[str, int],
    unreached: list[str],
    lasso: int,
    counts: tuple[int, int, int],
) -> None:
    verdict, bound = run(CheckRequest(model, pairs, "native", SearchOptions(workers=1)), Progress(quiet=True))
    traces = {p.name: p for p in verdict.properties if p.trace is not None}
    found = {name: len(p.trace) for name, p in traces.items() if p.trace is not None}
    assert found == {**fallen, "reassignment_ends": lasso}
    assert (verdict.stats.distinct, verdict.stats.generated, verdict.stats.depth) == counts
    assert (verdict.complete, verdict.stats.clipped) == (True, 0)
    assert [c.name for c in verdict.covers if not c.reached] == unreached
    for p in traces.values():
        if p.trace is not None and not p.temporal:
            replay(p.trace, bound)


def in_sync(leader: int) -> tuple[BoundModel, Cluster]:
    """[1, 2] is to become [3, 4], and all four are in sync."""
    bound = BoundModel(resumed_inclusive.MODEL, Config())
    s: Cluster = next(s for _, _, s in bound.initial_states())
    for name, params in [
        ("create", {"target": b(3, 4)}),
        ("compute_drop", {"kept": b(1, 2)}),
        ("catch_up", {"follower": Broker(3)}),
        ("catch_up", {"follower": Broker(4)}),
    ]:
        s = bound.take(s, name, params)
    return bound, s if leader == 1 else bound.take(s, "fail", {"broker": Broker(1), "successor": Broker(leader)})


def test_the_leader_takes_a_place_of_those_wanted() -> None:
    """1 leads, so one of 3 and 4 is dropped, and copied anew."""
    bound, s = in_sync(leader=1)
    names = [(step.action.name, dict(step.params)) for step in bound.steps(s)]
    assert not [name for name, _ in names if name == "complete"]
    assert sorted(sorted(p["kept"]) for name, p in names if name == "resume") == [[1, 2], [1, 3], [1, 4]]
    s = bound.take(s, "resume", {"kept": b(1, 3)})
    assert (s.isr, s.dropping, s.stage) == (b(1, 3), b(2, 4), Stage.OFFLINE)
    for name in ("start_deletion", "update_assigned"):
        s = bound.take(s, name, {})
    assert (s.assigned, s.whole, s.moving, s.dropping) == (b(1, 3, 4), b(1, 3), True, NOBODY)


def test_it_ends_if_one_of_those_wanted_leads() -> None:
    bound, s = in_sync(leader=3)
    with pytest.raises(GuardRefused):
        bound.take(s, "complete", {"kept": b(2, 3), "successor": Broker(3)})
    after = bound.take(s, "complete", {"kept": b(3, 4), "successor": Broker(3)})
    assert (after.assigned, after.leader, after.moving) == (b(3, 4), Broker(3), False)


@pytest.mark.parametrize(
    ("name", "holds", "number", "said"),
    [
        ("worked_example_inclusive_3_leads", False, 1, "leader 3, ISR [1, 2, 3], nobody lags: [2] are dropped"),
        ("wanted_stays_if_3_leads_inclusive", False, 7, "2 is dropped, and 3 stays"),
        ("wanted_stays_if_3_leads_half_open", False, 1, "2 is dropped, and 3 stays"),
        ("resumed_move_ends_inclusive", True, 3_256, None),
        ("resumed_move_to_others_ends_inclusive", False, 1_992, "leader 1, ISR [1, 2] in any order: [2] never stays"),
        ("resumed_move_ends_half_open", False, 3_256, "leader 1, ISR [1] in any order: [1] never stays"),
    ],
)
def test_enumerations(name: str, holds: bool, number: int, said: str | None) -> None:
    found = getattr(cases, name)()
    assert (found.holds, found.cases) == (holds, number)
    assert (found.counterexample is None) == holds
    assert said is None or said in found.counterexample
