"""Brokers by their numbers."""

from __future__ import annotations

from reassure.spec.kafka.partition import Broker, Brokers


def b(*numbers: int) -> Brokers:
    """A set of brokers."""
    return frozenset(Broker(n) for n in numbers)


def seq(*numbers: int) -> tuple[Broker, ...]:
    """A list of brokers."""
    return tuple(Broker(n) for n in numbers)
