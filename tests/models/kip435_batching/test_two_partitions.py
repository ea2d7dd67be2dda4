"""KIP-435: more than one partition, and limits that change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reassure.checkers.request.model_loader import load_model, settings
from reassure.checkers.request.options import SearchOptions
from reassure.models.kip435_batching import batching, batching_literal
from reassure.models.kip435_batching.zookeeper_cluster import Cluster, Config
from reassure.spec.kafka.partition import Broker
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import BoundModel, make_config
from tests.helpers.batching_spaces import NOTHING_FAILS, P0, P1, enabled, taken
from tests.helpers.brokers import b, seq
from tests.helpers.runs import plain_result


def test_as_printed_neither_limits_leaders_nor_fills_batches() -> None:
    """B5. The shortest traces: two requests and the batch."""
    pairs = ["brokers=3", "partitions=2", "requests=2", "leaders_at_once=1", *NOTHING_FAILS]
    bound = BoundModel(
        batching_literal.MODEL, make_config(batching_literal.MODEL, settings(batching_literal.MODEL, pairs))
    )
    asked = ["leaders_within_limit", "batches_are_filled", "partitions_within_limit"]
    found = {p.name: p.trace for p in plain_result(bound, SearchOptions(asked, 5)).properties}
    assert {name: len(trace) for name, trace in found.items() if trace is not None} == {
        "leaders_within_limit": 4,
        "batches_are_filled": 4,
    }


def two_partitions(name: str) -> tuple[BoundModel, Cluster]:
    """Partition 0 is to go to broker 3, which is offline, and partition 1 to broker 2."""
    config = Config(brokers=3, partitions=2, requests=2, deaths=1, replication_factor=1, min_isr=1)
    bound = BoundModel(load_model(name), config)
    start = next(s for _, _, s in bound.initial_states())
    asked = ("reassign", {"part": P0, "target": seq(3)}), ("reassign", {"part": P1, "target": seq(2)})
    return bound, taken(bound, start, *asked, ("die", {"broker": Broker(3)}))


def test_a_partition_that_cannot_begin_keeps_its_place() -> None:
    """B7, by the text: it waits in the batch, and the next batch, with the other's next step, waits for it."""
    bound, s = two_partitions("batching_example")
    steps = ["wait", "assign", "tell", "start", "remember", "lead", "stop", "delete", "finish"]
    s = taken(bound, s, ("collect", {}), *((step, {"part": P1}) for step in steps))
    assert (s.stored[P1].assignment, s.stored[P1].target) == (seq(2, 1), seq(2))
    assert enabled(bound, s, "controller") == {("crash", None)}


def test_a_partition_that_cannot_begin_holds_up_no_other() -> None:
    bound, s = two_partitions("batching")
    steps = ["calculate", "assign", "tell", "start"]
    assert enabled(bound, s, "controller") == {("calculate", P1), ("crash", None)}
    s = taken(bound, s, *((step, {"part": P1}) for step in steps))
    assert enabled(bound, s, "controller") == {("crash", None)}  # until broker 2 is in sync
    s = taken(bound, s, ("catch_up", {"part": P1, "broker": Broker(2)}), ("join", {"part": P1, "broker": Broker(2)}))
    steps = ["wait", "remember", "lead", "stop", "delete", "settle", "finish"]
    s = taken(bound, s, *((step, {"part": P1}) for step in steps))
    assert (s.stored[P1].assignment, s.stored[P1].leader, s.stored[P1].target) == (seq(2), Broker(2), ())


def test_requests_that_are_none() -> None:
    """The list as it is, a broker twice, another number of replicas, a second request too early, or one too many."""
    bound = BoundModel(batching.MODEL, Config(brokers=3, requests=2))
    start = next(s for _, _, s in bound.initial_states())
    for target in (seq(1, 2), seq(2, 2), seq(3), seq(1, 2, 3), ()):
        with pytest.raises(GuardRefused):
            taken(bound, start, ("reassign", {"part": P0, "target": target}))
    asked = taken(bound, start, ("reassign", {"part": P0, "target": seq(2, 1)}))
    with pytest.raises(GuardRefused):
        taken(bound, asked, ("reassign", {"part": P0, "target": seq(1, 3)}))
    steps = ["calculate", "assign", "tell", "start", "wait", "remember", "lead", "stop", "delete", "settle"]
    s = taken(bound, asked, *((step, {"part": P0}) for step in steps))
    with pytest.raises(GuardRefused):
        taken(bound, s, ("reassign", {"part": P0, "target": seq(1, 3)}))
    s = taken(bound, s, ("finish", {"part": P0}), ("reassign", {"part": P0, "target": seq(1, 3)}))
    assert (s.stored[P0].assignment, s.stored[P0].target, s.asked) == (seq(2, 1), seq(1, 3), 2)
    only = BoundModel(batching.MODEL, Config(brokers=3))
    with pytest.raises(GuardRefused):
        taken(only, replace(start, asked=1), ("reassign", {"part": P0, "target": seq(2, 1)}))


def test_limits_change_the_next_step_only() -> None:
    """B6: R goes down while two replicas are being added; they stay, and the next step adds none."""
    config = Config(brokers=4, replication_factor=1, wanted_factor=3, min_isr=1, replicas_at_once=2, changes=1)
    bound = BoundModel(batching.MODEL, config)
    start = next(s for _, _, s in bound.initial_states())
    s = taken(bound, start, ("reassign", {"part": P0, "target": seq(1, 2, 3)}), ("calculate", {"part": P0}))
    s = taken(bound, s, ("reconfigure", {"limits": replace(s.limits, replicas=1)}))
    assert s.memory[P0].goal == seq(1, 2, 3)
    assert (s.limits.replicas, s.granted.replicas, s.logs[P0].allowed) == (1, 2, 2)
    s = taken(bound, s, *((step, {"part": P0}) for step in ("assign", "tell", "start")))
    assert s.logs[P0].fresh == b(2, 3)
    with pytest.raises(GuardRefused):
        taken(bound, s, ("reconfigure", {"limits": replace(s.limits, replicas=2)}))
