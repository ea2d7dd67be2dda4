"""Runs of `kraft_kafka` to be repeated on Kafka's own controller."""

from __future__ import annotations

from reassure.spec.kafka.partition import Broker
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace, TraceStep

ONE, TWO = Broker(1), Broker(2)
JOIN: list[tuple[str, dict[str, object]]] = [
    ("catch_up", {"follower": TWO}),
    ("propose_expansion", {"follower": TWO}),
    ("alter_partition", {"request": None}),
]
"""Broker 2 is added to the ISR."""


def trace_of(bound: BoundModel, calls: list[tuple[str, dict[str, object]]], unclean: bool = False) -> Trace:
    """The model's run of these calls; a request is given as None: the one that is under way."""
    start = next(s for _, p, s in bound.initial_states() if s.unclean == unclean)
    trace = Trace([start], [TraceStep("settled", {"unclean": unclean}, "")])
    for action, params in calls:
        before = trace.states[-1]
        given = {k: next(iter(before.requests)) if v is None else v for k, v in params.items()}
        trace.states.append(bound.take(before, action, given))
        trace.steps.append(TraceStep(action, given, ""))
    return trace
