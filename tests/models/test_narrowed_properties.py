"""Which properties of the models look at tagged actions alone: those of a request's answer, which watch nothing."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import reassure.models
import reassure.spec.kafka
from reassure.spec.language.vocabulary import Property

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
