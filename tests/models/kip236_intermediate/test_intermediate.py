"""KIP-236: the drop set in both readings, its worked example, its claims with counterexamples, contexts and flags."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.engines.native.state_graph import reachable_graph
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.model_loader import load_model
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.models.kip236_intermediate import cases as intermediate_claims
from reassure.models.kip236_intermediate import (
    drop_properties,
    drop_set,
    intermediate_half_open,
    intermediate_inclusive,
    resumed_half_open,
    resumed_inclusive,
)
from reassure.models.kip236_intermediate import reassignment_contexts as contexts
from reassure.models.kip236_intermediate.cases import Case, half_open, inclusive
from reassure.models.kip236_intermediate.drop_set import Cluster, Config, Stage
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers
from reassure.spec.kafka.shared_properties import Duties
from reassure.spec.language.vocabulary import GuardRefused, Model
from reassure.spec.semantics.interpreter import BoundModel, ConfigError, Params, make_config
from reassure.spec.semantics.trace import PlainConfig, replay
from tests.helpers.brokers import b
from tests.helpers.trapped_states import stuck_states

ROOT = Path(__file__).parents[3]


class Story:
    """A partition that steps are taken on, through the plain Python actions."""

    def __init__(self, model: Model, **config: Any) -> None:
        self.bound = BoundModel(model, Config(**config))
        state = next(s for _, _, s in self.bound.initial_states())
        assert isinstance(state, Cluster)
        self.s = state

    def take(self, name: str, **params: Any) -> Cluster:
        after = self.bound.take(self.s, name, params)
        assert isinstance(after, Cluster)
        self.s = after
        return after

    def compute(self) -> list[Cluster]:
        """What may come of the computation."""
        return [s.after for s in self.bound.steps(self.s) if s.action.name == "compute_drop"]

    def delete(self) -> Cluster:
        self.take("start_deletion")
        return self.take("update_assigned")


# -- I5: the worked example, step by step ------------------------------------------------------------------


def test_worked_example_inclusive() -> None:
    story = Story(intermediate_inclusive.MODEL)
    story.take("create", target=b(2, 3))
    assert story.s.top == 2
    story.take("compute_drop", kept=b(1, 2))
    assert (story.s.assigned, story.s.stage) == (b(1, 2, 3), Stage.IDLE)
    story.take("change", target=b(2, 4))
    (after,) = story.compute()
    assert (after.dropping, after.isr, after.leader, after.stage) == (b(3), b(1, 2), Broker(1), Stage.OFFLINE)
    story.take("compute_drop", kept=b(1, 2))
    assert story.delete().assigned == b(1, 2, 4)
    story.take("catch_up", follower=Broker(4))
    done = story.take("complete", successor=Broker(4))
    assert (done.assigned, done.isr, done.leader, done.moving) == (b(2, 4), b(2, 4), Broker(4), False)


def test_worked_example_half_open() -> None:
    """A replica of [1,2] is dropped before anything is copied."""
    story = Story(intermediate_half_open.MODEL)
    story.take("create", target=b(2, 3))
    (after,) = story.compute()
    assert (after.dropping, after.isr) == (b(2), b(1))
    story.take("compute_drop", kept=b(1))
    assert story.delete().assigned == b(1, 2, 3)
    assert story.s.whole == b(1)
    story.take("change", target=b(2, 4))
    (after,) = story.compute()
    assert after.dropping == b(2, 3)


def test_intermediate_leader_stays() -> None:
    """The document's more complex scenario: 3 leads, so that it is what is kept, and wanted 2 goes."""
    story = Story(intermediate_inclusive.MODEL)
    story.s = replace(
        story.s, assigned=b(1, 2, 3), isr=b(1, 3), leader=Broker(3), moving=True, top=2, target=b(2, 4), stage=Stage.DUE
    )
    assert [s.dropping for s in story.compute()] == [b(2)]


def test_who_lags_least_stays() -> None:
    story = Story(intermediate_inclusive.MODEL)
    story.s = replace(
        story.s, assigned=b(1, 2, 3, 4), isr=b(1), whole=b(1, 3), moving=True, top=2, target=b(2, 4), stage=Stage.DUE
    )
    assert [s.dropping for s in story.compute()] == [b(2, 4)]
    story.s = replace(story.s, whole=b(1))
    assert [s.dropping for s in story.compute()] == [b(3, 4), b(2, 4), b(2, 3)]


@pytest.mark.parametrize(("counted", "dropped"), [(False, b(2)), (True, b(1, 2))])
def test_no_leader(counted: bool, dropped: Brokers) -> None:
    story = Story(intermediate_half_open.MODEL, none_takes_a_place=counted, min_isr=1)
    story.s = replace(story.s, isr=b(1), leader=None, alive=b(2, 3, 4), moving=True, top=2, stage=Stage.DUE)
    assert [s.dropping for s in story.compute()] == [dropped]
    assert [s.isr for s in story.compute()] == [b(1)]


def test_only_copy_is_lost_and_its_broker_elected() -> None:
    story = Story(intermediate_half_open.MODEL, replication_factor=1, min_isr=1, brokers=2)
    story.take("create", target=b(1, 2))
    after = story.take("compute_drop", kept=NOBODY)
    assert (after.leader, after.isr) == (None, b(1))
    assert story.delete().whole == NOBODY
    assert story.take("elect", broker=Broker(1)).leader == Broker(1)


def test_creation_with_too_few_replicas_is_ignored() -> None:
    story = Story(intermediate_inclusive.MODEL, replication_factor=1)
    before = story.s
    assert story.take("create", target=b(1, 2)) == replace(before, asked=1)


def test_what_is_assigned_last_is_dropped_first() -> None:
    story = Story(intermediate_inclusive.MODEL, assigned_first=True)
    assert story.take("create", target=b(2, 3)).assigned == b(1, 2, 3)
    (after,) = story.compute()
    assert after.dropping == b(3)
    story.take("compute_drop", kept=b(1, 2))
    assert story.delete().assigned == b(1, 2)
    with pytest.raises(GuardRefused):
        story.take("complete", successor=Broker(1))
    assert story.take("change", target=b(2, 4)).assigned == b(1, 2, 4)


def test_fail_over_forgets_the_drop_and_computes_it_again() -> None:
    story = Story(intermediate_inclusive.MODEL)
    story.s = replace(story.s, assigned=b(1, 2, 3), moving=True, top=2, target=b(2, 4), stage=Stage.DUE)
    story.take("compute_drop", kept=b(1, 2))
    story.take("start_deletion")
    after = story.take("fail_over")
    assert (after.dropping, after.stage, after.top) == (NOBODY, Stage.DUE, 2)
    assert story.take("compute_drop", kept=b(1, 2)).dropping == b(3)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("create", {"target": NOBODY}),
        ("create", {"target": b(1)}),
        ("create", {"target": b(1, 2)}),
        ("change", {"target": b(1, 3)}),
        ("compute_drop", {"kept": b(1, 2)}),
        ("raise_min_isr", {}),
        ("fail_over", {}),
        ("elect", {"broker": Broker(1)}),
        ("complete", {"successor": Broker(1)}),
    ],
)
def test_refused_at_the_start(name: str, params: Params) -> None:
    with pytest.raises(GuardRefused):
        Story(intermediate_inclusive.MODEL).take(name, **params)


@pytest.mark.parametrize("settings", [{"replication_factor": 5}, {"min_isr": 4, "raises": 1}])
def test_contradictory_configuration(settings: PlainConfig) -> None:
    with pytest.raises(ConfigError, match="is more than brokers=4"):
        make_config(intermediate_inclusive.MODEL, settings)


# -- the printed drop set ------------------------------------------------------------------------------------


def test_drop_set_as_printed() -> None:
    case = Case(b(1, 2, 3, 4), Broker(2), (Broker(1), Broker(2)), ((Broker(4), 1), (Broker(3), 2)))
    assert [case.drop(n, inclusive) for n in (1, 2, 3, 4)] == [b(1, 3, 4), b(3, 4), b(3), NOBODY]
    assert [case.drop(n, half_open) for n in (1, 2, 3, 4)] == [b(1, 2, 3, 4), b(1, 3, 4), b(3, 4), b(3)]


@pytest.mark.parametrize(
    ("name", "holds", "cases", "said"),
    [
        ("drop_set_half_open", True, 21_760, None),
        ("drop_set_inclusive", True, 21_760, None),
        ("leader_stays_half_open", False, 17, "top 1, leader 1"),
        ("leader_stays_inclusive", True, 10_880, None),
        ("in_sync_stays_half_open", False, 13, "leader nobody, ISR [1]"),
        ("in_sync_stays_inclusive", True, 10_880, None),
        ("in_sync_stays_inclusive_none_counted", False, 13, "everybody in sync is dropped"),
        ("min_isr_stays_half_open", False, 31, "0 in sync are left"),
        ("min_isr_stays_inclusive", True, 27_200, None),
        ("worked_example_half_open", False, 1, "[2, 3] are dropped"),
        ("worked_example_inclusive", True, 6, None),
        ("worked_example_inclusive_3_in_sync", False, 2, "ISR [1, 3, 2]"),
        ("worked_example_inclusive_2_lags", False, 1, "[2] are dropped"),
    ],
)
def test_enumerations(name: str, holds: bool, cases: int, said: str | None) -> None:
    found = getattr(intermediate_claims, name)()
    assert (found.holds, found.cases) == (holds, cases)
    assert (found.counterexample is None) == holds
    assert said is None or said in found.counterexample


def test_the_comparison_with_the_protocol_can_fail() -> None:
    """Against a rule that keeps two whatever `top` is, it does."""
    found = intermediate_claims.drop_set(lambda existing, top: existing[0 : 2 if len(existing) < 9 else top])
    assert not found.holds


# -- every claim accepts something and refuses something -------------------------------------------------------

START = next(s for _, _, s in BoundModel(intermediate_inclusive.MODEL).initial_states())
GOING = replace(START, assigned=b(1, 2, 3), target=b(2, 4), moving=True, top=2, stage=Stage.DUE)
LED_BY_3 = replace(GOING, isr=b(1, 2, 3), leader=Broker(3))
DROPPED = replace(GOING, dropping=b(3), stage=Stage.OFFLINE)
DELETING = replace(DROPPED, stage=Stage.DELETING)
CLAIMS: dict[str, tuple[tuple[Cluster, Cluster], tuple[Cluster, Cluster]]] = {
    "creation_needs_min_isr": ((START, GOING), (START, replace(GOING, top=1))),
    "drop_spares_the_leader": ((GOING, DROPPED), (GOING, replace(DROPPED, leader=None))),
    "drop_keeps_min_isr": ((GOING, DROPPED), (GOING, replace(DROPPED, isr=b(1)))),
    "drop_spares_what_is_wanted": ((GOING, DROPPED), (GOING, replace(DROPPED, dropping=b(2)))),
    "drop_spares_the_original": ((GOING, DROPPED), (GOING, replace(DROPPED, dropping=b(1)))),
    "nothing_intermediate_stays": ((GOING, DROPPED), (GOING, replace(GOING, stage=Stage.IDLE))),
    "drop_is_due_at_each_change": ((START, GOING), (START, replace(GOING, stage=Stage.IDLE))),
    "what_is_dropped_is_deleted": (
        (DELETING, replace(GOING, stage=Stage.IDLE, whole=b(1, 2))),
        (DELETING, replace(GOING, stage=Stage.IDLE, whole=b(1, 3))),
    ),
    "intermediate_leader_takes_no_place": (
        (LED_BY_3, replace(LED_BY_3, dropping=b(1))),
        (LED_BY_3, replace(LED_BY_3, dropping=b(2))),
    ),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claim_accepts_and_refuses(name: str) -> None:
    claim = getattr(drop_properties, name)
    good, bad = CLAIMS[name]
    assert claim(before=good[0], after=good[1]) is True
    assert claim(before=bad[0], after=bad[1]) is False
    assert claim.doc.startswith("I")


def test_top_reaches_min_isr_accepts_and_refuses() -> None:
    assert drop_properties.top_reaches_min_isr(GOING) is True
    assert drop_properties.top_reaches_min_isr(replace(GOING, min_isr=3)) is False


def test_view() -> None:
    copies = next(iter(duties(DROPPED).parts.pairs()))[1]
    assert copies.replicas == (Broker(1), Broker(2))
    assert (copies.wanted, copies.moving, copies.leaving, copies.min_isr) == (b(2, 4), True, b(3), 2)
    assert next(iter(duties(GOING).parts.pairs()))[1].load == 1


def duties(s: Cluster) -> Duties:
    return drop_set.duties(s, Config())


# -- the whole space -------------------------------------------------------------------------------------------

SMALL = ["brokers=3", "replication_factor=1", "min_isr=1"]
ALWAYS_WASTEFUL = {"drop_spares_what_is_wanted": 3, "drop_spares_the_original": 3}
CHANGED = {"drop_spares_what_is_wanted": 5, "intermediate_leader_takes_no_place": 7}
MUTANTS = ("creation_unchecked", "drop_not_computed_at_first", "dropped_and_not_deleted")
UNREACHED = {"intermediate_half_open": ["dropped_while_an_intermediate_leads", "ends_without_its_leader"]}
"""Covers that the half-open reading cannot reach with a single replica, as nobody is left to copy from."""
CHECKS: list[tuple[str, list[str], dict[str, int], tuple[int, int, int]]] = [
    (
        "intermediate_inclusive",
        ["assigned_first=true"],
        {
            "drop_spares_what_is_wanted": 3,
            "drop_spares_the_original": 4,
            "nothing_intermediate_stays": 8,
            "intermediate_leader_takes_no_place": 9,
            "deadlock": 11,
        },
        (12_124, 31_914, 16),
    ),
    (
        "intermediate_half_open",
        [],
        {
            **ALWAYS_WASTEFUL,
            "drop_keeps_min_isr": 3,
            "own_steps_keep_min_isr": 3,
            "nothing_intermediate_stays": 9,
            "intermediate_leader_takes_no_place": 9,
        },
        (27_389, 74_768, 18),
    ),
    (
        "intermediate_half_open",
        SMALL,
        {
            **ALWAYS_WASTEFUL,
            "drop_spares_the_leader": 3,
            "own_steps_keep_a_leader": 3,
            "own_steps_keep_an_in_sync_copy": 3,
            "leaders_hold_what_was_committed": 6,
            "deadlock": 11,
        },
        (877, 2_261, 13),
    ),
    (
        "intermediate_inclusive",
        [],
        {**CHANGED, "drop_spares_the_original": 6, "nothing_intermediate_stays": 6},
        (15_529, 44_510, 14),
    ),
    (
        "intermediate_inclusive",
        ["disturbances=0"],
        {"drop_spares_what_is_wanted": 5, "drop_spares_the_original": 6, "nothing_intermediate_stays": 6},
        (1_002, 1_788, 10),
    ),
    (
        "intermediate_inclusive",
        SMALL,
        {**CHANGED, "drop_spares_the_original": 7, "nothing_intermediate_stays": 7},
        (3_312, 9_005, 13),
    ),
    (
        "intermediate_inclusive",
        [*SMALL, "none_takes_a_place=true"],
        {
            "drop_spares_what_is_wanted": 4,
            "intermediate_leader_takes_no_place": 7,
            "drop_spares_the_original": 4,
            "nothing_intermediate_stays": 7,
            "own_steps_keep_an_in_sync_copy": 4,
            "leaders_hold_what_was_committed": 8,
            "deadlock": 9,
        },
        (3_769, 9_710, 13),
    ),
    (
        "intermediate_inclusive",
        ["at_once=false"],
        {
            **CHANGED,
            "drop_spares_the_original": 6,
            "nothing_intermediate_stays": 6,
            "drop_keeps_min_isr": 8,
            "own_steps_keep_min_isr": 8,
        },
        (19_272, 52_584, 15),
    ),
    (
        "intermediate_inclusive",
        ["raises=1"],
        {
            **CHANGED,
            "drop_spares_the_original": 6,
            "nothing_intermediate_stays": 6,
            "top_reaches_min_isr": 3,
            "drop_keeps_min_isr": 7,
            "own_steps_keep_min_isr": 6,
        },
        (31_067, 97_204, 15),
    ),
    (
        "intermediate_half_open",
        ["min_isr=1"],
        {
            **ALWAYS_WASTEFUL,
            "drop_spares_the_leader": 8,
            "own_steps_keep_a_leader": 8,
            "own_steps_keep_an_in_sync_copy": 8,
            "nothing_intermediate_stays": 9,
            "intermediate_leader_takes_no_place": 9,
            "leaders_hold_what_was_committed": 11,
            "deadlock": 11,
        },
        (41_580, 120_804, 18),
    ),
    ("reassignment_contexts", [], {"a_new_controller_loads_the_same": 17}, (883, 1_853, 19)),
    ("reassignment_contexts", ["tied=false"], {"a_new_controller_loads_the_same": 15}, (2_554, 5_997, 20)),
    (
        "reassignment_contexts",
        ["tied=false", "one_by_one=false"],
        {"one_flag_a_partition": 7, "a_new_controller_loads_the_same": 17},
        (2_752, 6_356, 21),
    ),
]


@pytest.mark.parametrize(("model", "pairs", "fallen", "counts"), CHECKS)
def test_whole_space(model: str, pairs: list[str], fallen: dict[str, int], counts: tuple[int, int, int]) -> None:
    verdict, bound = run(CheckRequest(model, pairs, "native", SearchOptions(workers=1)), Progress(quiet=True))
    traces = {p.name: p.trace for p in verdict.properties if p.trace is not None and not p.temporal}
    assert {name: len(trace) for name, trace in traces.items()} == fallen
    assert (verdict.stats.distinct, verdict.stats.generated, verdict.stats.depth) == counts
    assert verdict.complete
    assert verdict.stats.clipped == 0
    assert [c.name for c in verdict.covers if not c.reached] == (UNREACHED.get(model, []) if pairs == SMALL else [])
    for trace in traces.values():
        replay(trace, bound)


@pytest.mark.parametrize(("model", "trapped"), [(intermediate_half_open.MODEL, 573), (intermediate_inclusive.MODEL, 0)])
def test_half_open_costs_a_single_replica_for_good(model: Model, trapped: int) -> None:
    bound = BoundModel(model, Config(brokers=3, replication_factor=1, min_isr=1))
    found = stuck_states(bound)["reassignment_ends"]
    assert found.trapped == trapped
    assert found.complete
    if found.trace is not None:
        assert len(found.trace) == 6
        assert found.trace.states[-1].whole == NOBODY


def test_a_partition_too_small_is_never_reassigned() -> None:
    pairs = ["brokers=3", "replication_factor=1", "min_isr=2"]
    verdict, _ = run(CheckRequest("intermediate_inclusive", pairs, "reference", SearchOptions()), Progress(quiet=True))
    assert {c.name for c in verdict.covers if c.reached} == {"reassignment_ignored"}
    assert verdict.exit() is Exit.VACUOUS


# -- the ledger's data ---------------------------------------------------------------------------------------------


def test_ledger_names_what_is_there() -> None:
    data = tomllib.loads((ROOT / "spec" / "claims" / "I.toml").read_text())
    assert [c["id"] for c in data["claim"]] == [f"I{n}" for n in range(1, 10)]
    models: dict[str, Model] = {
        **{name: load_model(name) for name in MUTANTS},
        "intermediate_half_open": intermediate_half_open.MODEL,
        "intermediate_inclusive": intermediate_inclusive.MODEL,
        "reassignment_contexts": contexts.MODEL,
        "resumed_half_open": resumed_half_open.MODEL,
        "resumed_inclusive": resumed_inclusive.MODEL,
    }
    for claim in data["claim"]:
        for reading in claim["reading"]:
            if reading["method"] == "enumerate":
                module, name = reading["function"].split(":")
                assert module == "kip236_intermediate.cases"
                assert getattr(intermediate_claims, name)().holds == (reading["expect"] == "holds")
            else:
                model = models[reading["model"]]
                assert set(reading["properties"]) <= {p.name for p in model.properties}
                make_config(model, reading.get("set", {}))


def test_graph_is_that_of_the_search() -> None:
    bound = BoundModel(intermediate_inclusive.MODEL, Config(brokers=3, replication_factor=1, min_isr=1))
    graph = reachable_graph(Prepared(bound), SearchOptions(), Progress(quiet=True))
    assert (graph.count, graph.start.stats.generated + graph.edge_count + graph.clipped) == (3_312, 9_005)
