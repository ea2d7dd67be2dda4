"""The error code of Kafka's controller for a step, by the rules of `kafka_controller`, to compare with Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reassure.models.kraft.kafka_controller import Error, answer, refused, validated
from reassure.spec.kafka.partition import NOBODY


def controller_answer(before: Any, c: Any, action: str, params: Mapping[str, Any], after: Any) -> str | None:
    """The error code of a step of `kraft_kafka`, by its name; None if the step does not determine it.

    If the target changes nothing, the request may have been refused, or the target may be the present assignment.
    """
    unregistered, cordoned = getattr(before, "unregistered", NOBODY), getattr(before, "cordoned", NOBODY)
    if action == "alter_partition":
        request, p = params["request"], before.partition
        eligible = frozenset(
            b for b in before.unfenced - before.shutting_down if request.broker_epochs[b] == before.broker_epochs[b]
        )
        error = validated(
            p,
            request.source,
            request.broker_epochs[request.source] == before.broker_epochs[request.source]
            and request.source not in unregistered,
            request.leader_epoch,
            request.partition_epoch,
            request.isr,
            False,
            eligible,
            True,
        )
        found: Error = answer(request.source, after.partition, True) if error == Error.NONE else error
        return found.value
    changed = after.partition != before.partition
    if action == "cancel":
        return "NONE" if changed else "INVALID_REPLICA_ASSIGNMENT"
    if action in ("start", "retarget"):
        if frozenset(params["target"]) & refused(c.release, unregistered, cordoned) != NOBODY:
            return "INVALID_REPLICA_ASSIGNMENT"
        return "NONE" if changed else None
    return "NONE"
