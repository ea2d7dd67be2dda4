"""Kafka's own answers, of the file `kafka_vectors.json` beside the checkout: skipped where it is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reassure.spec.semantics.trace import JsonObject

FILE = Path(__file__).parents[3] / "shared" / "kafka_vectors.json"
Vector = JsonObject
"""A case with what Kafka answered. Each has an `id`; the other keys are those of its group."""
GROUPS: dict[str, list[Vector]] = json.loads(FILE.read_text())["groups"] if FILE.is_file() else {}
NOT_APPLICABLE = {
    "alter_partition_validation-009": "an unknown partition: the rules are of one partition, which is there",
    "alter_partition_validation-011": "an unknown topic: the rules are of one partition, which is there",
}
"""Vectors that cannot apply, with the reason; also those that `unbalanced` names."""


def vectors(group: str) -> Any:
    """The mark that runs a test for each vector `v` of a group."""
    found = [v for v in GROUPS.get(group, []) if v["id"] not in NOT_APPLICABLE and not unbalanced(v)]
    if not found:
        skipped = pytest.mark.skip(reason="kafka_vectors.json is not beside the checkout")
        return pytest.mark.parametrize("v", [pytest.param({}, marks=skipped)])
    return pytest.mark.parametrize("v", found, ids=[v["id"] for v in found])


def unbalanced(v: Vector) -> bool:
    """With the "balanced" switch off, or more than one last known leader: only unit tests have that."""
    return v.get("use_last_known_leader") is False or any(
        len(v.get(k, {}).get("lastKnownElr", [])) > 1 for k in ("before", "state")
    )
