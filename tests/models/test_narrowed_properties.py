"""The properties of the models look at effects, whatever the action is called, but for those of a request's answer."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import reassure.models
import reassure.spec.kafka
from reassure.models.kip236_intermediate import drop_set, intermediate_inclusive
from reassure.models.kip435_batching import batching, reassignment_classic, zookeeper_cluster
from reassure.models.kip542_throttle import throttle, throttled_batch
from reassure.spec.kafka.partition import NOBODY
from reassure.spec.kafka.shared_properties import Part
from reassure.spec.language.vocabulary import Action, Model, Property, action, replace
from reassure.spec.semantics.interpreter import BoundModel

OF_A_REQUEST = {
    # What a cancellation answers: another request that ends a reassignment is judged by its effect.
    "cancel_is_carried_out_otherwise": "cancel",
    "cancel_restores_the_order": "cancel",
    "cancel_restores_the_originals": "cancel",
    "cancel_restores_what_was_before": "cancel",
    "cancel_spares_the_eligible": "cancel",
    # A fetch that gets nothing changes nothing.
    "in_sync_replicas_are_not_throttled": "refuse",
    "others_are_limited_by_their_own_rate_only": "refuse",
}


def declared() -> Iterator[Property]:
    for package in (reassure.models, reassure.spec.kafka):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for value in vars(importlib.import_module(found.name)).values():
                if isinstance(value, Property) and value.kind == "step":
                    yield value


def test_every_other_step_property_looks_at_every_step_or_names_its_actions() -> None:
    narrowed = {p.name: (p.tags, p.watches) for p in declared() if p.tags}
    assert narrowed == {name: (frozenset({tag}), ()) for name, tag in OF_A_REQUEST.items()}


@action(who="tester")
def unnamed_create(s: drop_set.Cluster) -> drop_set.Cluster:
    return replace(s, moving=True, top=1)


@action(who="tester")
def unnamed_drop(s: drop_set.Cluster) -> drop_set.Cluster:
    return replace(s, dropping=s.original, stage=drop_set.Stage.OFFLINE, isr=NOBODY, leader=None)


@action(who="tester")
def unnamed_fetch(s: throttle.Cluster, link: throttle.Link) -> throttle.Cluster:
    return replace(s, behind=s.behind.put(link, 0))


@action(who="tester")
def unnamed_change(s: throttle.Cluster) -> throttle.Cluster:
    nothing = replace(s.rates, leader=s.rates.follower.put(throttle.Broker(1), -1))
    return replace(s, rates=nothing, in_force=nothing)


@action(who="tester")
def unnamed_end(s: throttled_batch.Cluster) -> throttled_batch.Cluster:
    return replace(s, batch=NOBODY)


@action(who="tester")
def unnamed_finish(s: zookeeper_cluster.Cluster, part: Part) -> zookeeper_cluster.Cluster:
    return replace(s, stored=s.stored.put(part, replace(s.stored[part], target=())))


@action(who="tester")
def unnamed_stop(s: zookeeper_cluster.Cluster, part: Part) -> zookeeper_cluster.Cluster:
    return reassignment_classic.then(s, part, zookeeper_cluster.Next.DELETE)


DROPPING: dict[str, Any] = {"moving": True, "stage": drop_set.Stage.DUE, "top": 2}
HIDDEN: list[tuple[Model, Action, dict[str, Any], set[str]]] = [
    (intermediate_inclusive.MODEL, unnamed_create, {}, {"creation_needs_min_isr", "drop_is_due_at_each_change"}),
    (
        intermediate_inclusive.MODEL,
        unnamed_drop,
        DROPPING,
        {"drop_keeps_min_isr", "drop_spares_the_leader", "drop_spares_the_original", "drop_spares_what_is_wanted"},
    ),
    (throttle.MODEL, unnamed_fetch, {}, {"reassignment_counts_where_the_leader_is"}),
    (throttle.MODEL, unnamed_change, {}, {"change_waits_for_the_next_window"}),
    (throttled_batch.MODEL, unnamed_end, {"batch": frozenset({throttled_batch.Broker(3)})}, {"batch_ends_in_sync"}),
]


@pytest.mark.parametrize(("model", "act", "changes", "fallen"), HIDDEN, ids=lambda x: getattr(x, "name", ""))
def test_a_step_without_a_tag_is_seen(model: Model, act: Action, changes: dict[str, Any], fallen: set[str]) -> None:
    bound = BoundModel(model.adding(act))
    before = replace(next(state for _, _, state in bound.initial_states()), **changes)
    assert violated(bound, act, before) == fallen


def violated(bound: BoundModel, act: Action, before: Any) -> set[str]:
    """The properties of this model alone that the first step of an action violates."""
    step = next(s for s in bound.steps(before) if s.action == act)
    own = {p.name for p in bound.properties if p.kind == "step" and "kafka" not in p.function.__module__.split(".")}
    claims = [p for p in bound.properties if p.name in own and bound.concerns(p, act)]
    return {p.name for p in claims if not bound.holds_on(p, before, step)}


P0 = Part(0)


def test_a_batching_step_without_a_tag_is_seen() -> None:
    bound = BoundModel(batching.MODEL.adding(unnamed_finish, unnamed_stop))
    start = next(state for _, _, state in bound.initial_states())
    asked = (zookeeper_cluster.Broker(1), zookeeper_cluster.Broker(3))
    wanted = replace(start.logs[P0], wanted=asked)
    moving = replace(start, stored=start.stored.put(P0, replace(start.stored[P0], target=asked)))
    assert violated(bound, unnamed_finish, replace(moving, logs=start.logs.put(P0, wanted))) == {
        "ends_in_the_order_asked_for"
    }
    extra = replace(wanted, wanted=start.stored[P0].assignment, hosting=wanted.hosting | frozenset(asked))
    assert violated(bound, unnamed_finish, replace(moving, logs=start.logs.put(P0, extra))) == {
        "ends_without_leftovers"
    }
    stopping = replace(start.memory[P0], next=zookeeper_cluster.Next.STOP)
    fresh = replace(wanted, fresh=frozenset(asked))
    halfway = replace(start, memory=start.memory.put(P0, stopping), logs=start.logs.put(P0, fresh))
    assert violated(bound, unnamed_stop, halfway) == {"drops_after_all_added_were_in_sync"}
    leading = replace(start.memory[P0], next=zookeeper_cluster.Next.LEAD, leads=True, goal=(asked[1], asked[0]))
    stored = replace(start.stored[P0], target=leading.goal, isr=frozenset(asked))
    led = replace(start, memory=start.memory.put(P0, leading), stored=start.stored.put(P0, stored))
    assert violated(bound, unnamed_stop, led) == {"first_step_elects_the_new_leader"}
