"""Kafka's quota manager (4.3.1) with a clock of our own, compared with our account of how it averages (T14)."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from reassure.models.kip542_throttle import kafka_quota
from reassure.models.kip542_throttle.kafka_quota import Fetches, Quota, hungry, most_in, sent, spans_carry
from tests.helpers.released_classes import answers

GAPS = (0, 0, 0, 250, 500, 999, 1000, 1001, 2500, 6000, 12000)
"""Milliseconds between fetches: in one sample, at its edge, across several, and across all."""


def schedules(count: int) -> Iterator[tuple[int, int, Fetches]]:
    """Samples, rate and fetches, drawn at random, the same each time."""
    drawn = random.Random(1)
    for _ in range(count):
        fetches, now = [], 0
        for _ in range(drawn.randint(3, 14)):
            now += drawn.choice(GAPS)
            fetches.append((now, drawn.randint(1, 4)))
        yield drawn.choice((1, 2, 3, 11)), drawn.randint(1, 4), fetches


def answer(samples: int, rate: int, fetches: Fetches) -> str:
    """As the driver has it: "x" for a fetch that is refused."""
    quota, found = Quota(samples, rate), ""
    for now, units in fetches:
        refused = quota.refused(now)
        found += "x" if refused else "."
        if not refused:
            quota.count(now, units)
    return found


@pytest.mark.parametrize("count", [1000, pytest.param(20000, marks=pytest.mark.slow)])
def test_it_refuses_when_kafka_does(count: int) -> None:
    asked = list(schedules(count))
    lines = [f"{samples} {rate} " + " ".join(f"{t}:{n}" for t, n in fetches) for samples, rate, fetches in asked]
    ours = [answer(*each) for each in asked]
    assert {"x", "."} <= set("".join(ours))
    assert [pair for pair in zip(lines, ours, answers("QuotaDriver", lines), strict=True) if pair[1] != pair[2]] == []


def test_by_hand() -> None:
    """A limit of 2 with one sample: a third response passes, as two are not more than the limit."""
    assert answer(1, 2, [(0, 1), (0, 1), (0, 1), (0, 1), (1000, 1)]) == "...x."
    assert sent(1, 1, hungry((True,))) == [(0, 1), (125, 1)]
    assert most_in(1, [(0, 1), (900, 2), (1000, 4)]) == 6


@pytest.mark.parametrize(
    ("name", "cases", "fallen"),
    [
        ("one_sample_keeps_the_limit", 1, "rate 1, active in xxxxxx: 2 in 1 s"),
        ("samples_keep_the_limit_and_a_response", 19, "rate 1, active in xxx-xx-x: 3 in 1 s"),
        ("all_samples_keep_the_limit_and_two_responses", 768, None),
    ],
)
def test_claim(name: str, cases: int, fallen: str | None) -> None:
    outcome = getattr(kafka_quota, name)()
    assert (outcome.cases, outcome.counterexample) == (cases, fallen)


def test_a_limit_that_is_too_low_is_found_out() -> None:
    assert not spans_carry(3, 8, 4, lambda rate: 4 * rate + 1).holds
