"""The names of the project's traces: the claim, then the release or the reading, then a number."""

from __future__ import annotations

import pytest

from reassure.checkers.ledger.ledger import Record
from reassure.checkers.ledger.trace_store import TraceKey, trace_place, trace_uses
from reassure.spec.claims import Claim, Reading


def reading(name: str, model: str, column: str = "document", *properties: str, **settings: object) -> Reading:
    return Reading(name, "check", model, dict(settings), properties or ("safe",), column=column)


CLAIMS = [
    Claim("K2", "doc", "Much.", (reading("everything", "kraft_kafka", "kafka", "safe", "sound", release="4.3"),)),
    Claim(
        "K10",
        "doc",
        "It is safe.",
        (
            reading("safe, Kafka 4.0", "kraft_kafka", "kafka", release="4.0"),
            reading("safe, Kafka 4.3", "kraft_kafka", "kafka", release="4.3"),
            reading("As printed: R, and each word of it, to the letter", "batching_literal"),
            reading("a mutant", "batch_not_awaited", "mutant"),
        ),
    ),
]
RECORDS = {
    "check kraft_kafka release=4.0": {"release": "4.0"},
    "check kraft_kafka release=4.3": {"release": "4.3"},
    "check batching_literal": {"brokers": 3},
    "check batch_not_awaited": {"batch": 2},
}
USES = trace_uses(CLAIMS, {name: Record("", "", "", "", config=config) for name, config in RECORDS.items()})


def key(model: str, name: str = "safe", **config: object) -> TraceKey:
    return TraceKey.of(model, "check", config, name)


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ([key("kraft_kafka", release="4.3")], ("K10", "4.3", 1)),  # K2 is about more properties
        ([key("kraft_kafka", release="4.3"), key("kraft_kafka", release="4.0")], ("K10", "4.0", 0)),
        ([key("kraft_kafka", "sound", release="4.3")], ("K2", "4.3", 0)),
        ([key("kraft_kafka", "sound", elr=1), key("kraft_kafka", "fine", elr=1)], ("kraft_kafka", "fine", 0)),
        ([key("batching_literal", brokers=3)], ("K10", "as-printed-r-and-each-word-of-it", 2)),
        ([key("batching_literal", brokers=4)], ("batching_literal", "safe", 0)),
        ([key("batch_not_awaited", batch=2)], ("mutants", "batch_not_awaited", 0)),
        ([key("batch_not_awaited", batch=3)], ("mutants", "batch_not_awaited", 0)),
        ([key("no_such_model")], ("no_such_model", "safe", 0)),
    ],
)
def test_the_place_of_a_run(keys: list[TraceKey], place: tuple[str, str, int]) -> None:
    assert tuple(trace_place(keys, USES)) == place
    assert tuple(trace_place(keys[::-1], USES)) == place


def test_a_reading_that_was_not_run_needs_no_trace() -> None:
    assert trace_uses(CLAIMS, {}) == {}
