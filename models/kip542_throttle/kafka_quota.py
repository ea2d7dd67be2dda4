"""How Kafka's `ReplicationQuotaManager` averages over windows, and what the models of KIP-542 leave out of it (T14).

KIP-542 keeps the calculation of KIP-73 (line 62). The models have one window, at whose end nothing is used up, and a
response is refused once the limit is used up. Kafka has several samples of a second each, 11 by default, and the one
that is being filled. It refuses if what was counted, divided by the time since the oldest sample began (a second at
least), is more than the limit. So a second may carry more than the limit, in three ways: by the response that passes
it, by one more response where the limit is used up just so, and by what earlier seconds have left over.

`tests/models/kip542_throttle/test_released_quota.py` compares this with Kafka's class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product

from reassure.spec.claims import Outcome

SECOND = 1000
"""A sample lasts so many milliseconds."""


@dataclass
class Sample:
    """What was counted from `begun` on; last: when something was counted last. In milliseconds."""

    begun: int
    last: int
    units: int = 0


@dataclass
class Quota:
    """The quota of one side of a broker. samples: the most that are kept. rate: units in a second."""

    samples: int
    rate: int
    kept: list[Sample] = field(default_factory=list)
    current: int = 0

    def _expire(self, now: int) -> None:
        """What was counted last before all samples' time is forgotten, where it stands."""
        for i, sample in enumerate(self.kept):
            if now - sample.last >= self.samples * SECOND:
                self.kept[i] = Sample(now, now)

    def refused(self, now: int) -> bool:
        """Whether a fetch gets nothing at this time."""
        self._expire(now)
        if not self.kept:
            self.kept.append(Sample(now, now))
        elapsed = max(now - min(sample.begun for sample in self.kept), SECOND)
        return sum(sample.units for sample in self.kept) * SECOND > self.rate * elapsed

    def count(self, now: int, units: int) -> None:
        """A response was sent."""
        if not self.kept:
            self.kept.append(Sample(now, now))
        if now - self.kept[self.current].begun >= SECOND:
            self.current = (self.current + 1) % (self.samples + 1)
            if self.current == len(self.kept):
                self.kept.append(Sample(now, now))
            else:
                self.kept[self.current] = Sample(now, now)
        sample = self.kept[self.current]
        sample.units, sample.last = sample.units + units, now


Fetches = Sequence[tuple[int, int]]
"""When a follower fetches, in milliseconds, and how much it would get."""


def sent(samples: int, rate: int, fetches: Fetches) -> list[tuple[int, int]]:
    """The fetches that are not refused."""
    quota, found = Quota(samples, rate), []
    for now, units in fetches:
        if not quota.refused(now):
            quota.count(now, units)
            found.append((now, units))
    return found


def hungry(active: Sequence[bool]) -> Fetches:
    """A follower that fetches a unit eight times in each second in which it is active."""
    return [
        (second * SECOND + eighth * 125, 1) for second, fetches in enumerate(active) if fetches for eighth in range(8)
    ]


def runs(samples: int, seconds: int) -> Iterator[tuple[int, Sequence[bool], list[tuple[int, int]]]]:
    """Rates of 1 to 3, each with every choice of seconds in which a follower is active, and what it is sent."""
    for rate, active in product(range(1, 4), product((True, False), repeat=seconds)):
        yield rate, active, sent(samples, rate, hungry(active))


def most_in(span: int, carried: list[tuple[int, int]]) -> int:
    """The most that is sent in so many seconds, wherever they begin."""
    return max((sum(n for at, n in carried if begun <= at < begun + span * SECOND) for begun, _ in carried), default=0)


def spans_carry(samples: int, seconds: int, span: int, most: Callable[[int], int]) -> Outcome:
    """Whether no `span` seconds carry more than `most` of the rate, in responses of one unit."""
    bounds = f"{samples} samples, {seconds} seconds, each with eight fetches or none, rates 1 to 3, {span} in a row"
    for cases, (rate, active, carried) in enumerate(runs(samples, seconds), start=1):
        if (found := most_in(span, carried)) > most(rate):
            told = "".join("x" if second else "-" for second in active)
            return Outcome(False, cases, bounds, f"rate {rate}, active in {told}: {found} in {span} s")
    return Outcome(True, 3 * 2**seconds, bounds)


one_sample_keeps_the_limit = partial(spans_carry, 1, 6, 1, lambda rate: rate)
samples_keep_the_limit_and_a_response = partial(spans_carry, 3, 8, 1, lambda rate: rate + 1)
all_samples_keep_the_limit_and_two_responses = partial(spans_carry, 3, 8, 4, lambda rate: 4 * rate + 2)
