"""KIP-435: the models' whole spaces, the existing algorithm, and configurations that are none."""

from __future__ import annotations

import pytest

from reassure.checkers.request.model_loader import load_model, settings
from reassure.models.kip435_batching import batching
from reassure.models.kip435_batching import zookeeper_cluster as zookeeper
from reassure.models.kip435_batching.zookeeper_cluster import Cluster, Config, Next
from reassure.spec.semantics.interpreter import BoundModel, ConfigError, make_config
from tests.helpers.batching_spaces import P0, WHOLE, checked, enabled, fallen


@pytest.mark.parametrize(("name", "pairs", "counts", "expected"), WHOLE)
def test_whole(name: str, pairs: tuple[str, ...], counts: tuple[int, int, int], expected: dict[str, int]) -> None:
    # Four brokers have 341 lists to ask for in every state: too many for plain Python.
    verdict = checked(name, pairs)
    stats = verdict.stats
    assert fallen(verdict) == expected
    assert (stats.distinct, stats.generated, stats.depth) == counts
    assert [c.name for c in verdict.covers if not c.reached] == []


def states(name: str, config: Config) -> set[Cluster]:
    bound = BoundModel(load_model(name), config)
    frontier = [s for _, _, s in bound.initial_states()]
    seen = set(frontier)
    while frontier:
        after = {step.after for s in frontier for step in bound.steps(s)} - seen
        seen |= after
        frontier = list(after)
    return seen


def test_without_limits_batching_is_the_existing_algorithm() -> None:
    """B8: what those who depend on a partition can see is the same, state for state."""
    config = Config(brokers=3, replicas_at_once=3, deaths=0)
    seen = {
        name: {zookeeper.duties(s, config).parts for s in states(name, config)}
        for name in ("reassignment_classic", "batching")
    }
    assert seen["batching"] == seen["reassignment_classic"]
    assert len(seen["batching"]) == 56


def test_a_controller_may_die_between_any_two_steps() -> None:
    """B9: the covers say that others go on; this says where from."""
    config = Config(brokers=2, replication_factor=1, min_isr=1, deaths=0)
    bound = BoundModel(load_model("reassignment_classic"), config)
    left = {
        s.memory[P0].next
        for s in states("reassignment_classic", config)
        if s.asked and ("crash", None) in enabled(bound, s, "controller")
    }
    assert left == set(Next) - {Next.CALCULATE}


# -- input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["replication_factor=5"], "replication_factor=5 is more than brokers=4"),
        (["initial_isr=3"], "initial_isr=3 is more than 2 replicas"),
        (["min_isr=3"], "2 wanted replicas are not from min_isr=3 to 4"),
        (["wanted_factor=5"], "5 wanted replicas are not from min_isr=2 to 4"),
        (["replicas_at_once=0"], "replicas_at_once"),
        (["crashes=4"], "crashes"),
    ],
)
def test_configurations_that_are_none(pairs: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_config(batching.MODEL, settings(batching.MODEL, pairs))
