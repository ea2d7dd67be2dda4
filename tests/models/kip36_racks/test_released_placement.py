"""Placement compared with Kafka's own classes, for every cluster up to a size: AdminUtils of 3.9, the placer of 4.4."""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence, Sequence
from itertools import combinations_with_replacement, product

import pytest

from reassure.spec.kafka.placement import PlacementError, StripedPlacer, UsableBroker, assign
from tests.helpers.released_classes import answers

RACKS = ("a", "b", "c")
KINDS = tuple(product((None, *RACKS), (False, True)))
"""A broker's rack, and whether it is fenced: brokers of one kind differ by their number alone."""


def shown(rack: str | None) -> str:
    return "-" if rack is None else rack


def written(replicas: Sequence[int]) -> str:
    return ",".join(map(str, replicas))


def clusters(most: int, mixed: bool) -> Iterator[tuple[str | None, ...]]:
    """Racks of up to `most` brokers. mixed: in every order of the brokers, else in the order of the racks."""
    for count in range(1, most + 1):
        yield (None,) * count
        yield from product(RACKS, repeat=count) if mixed else combinations_with_replacement(RACKS, count)


def assignments(most: int, mixed: bool) -> Iterator[tuple[str, str]]:
    """A question for AdminUtils with our answer, for every replication factor, start index and two first partitions."""
    for racks in clusters(most, mixed):
        count = len(racks)
        for factor, start, first in product(range(1, count + 1), range(count), (0, count + 1)):
            of = dict(enumerate(racks))
            made = assign(of, 2 * count + 1, factor, start_index=start, shift=start, first_partition=first)
            question = f"{','.join(map(shown, racks))} {2 * count + 1} {factor} {start} {first}"
            yield question, " ".join(written(made[p]) for p in sorted(made))


@pytest.mark.parametrize(
    ("most", "mixed"), [(5, False), pytest.param(6, True, marks=pytest.mark.slow)], ids=["by racks", "every order"]
)
def test_assign_is_admin_utils(most: int, mixed: bool) -> None:
    """The fixed start index of Kafka is start index and first shift in one."""
    questions, ours = zip(*assignments(most, mixed), strict=True)
    assert differing(questions, ours, answers("AdminUtilsDriver", questions)) == []


class Chosen:
    """Numbers that go round, as the driver draws them: the n-th below a bound is n times a step, modulo the bound."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.drawn = -1

    def below(self, bound: int) -> int:
        self.drawn += 1
        return self.step * self.drawn % bound

    def shuffle(self, items: MutableSequence[int]) -> None:
        for size in range(len(items), 1, -1):
            other = self.below(size)
            items[size - 1], items[other] = items[other], items[size - 1]


def striped(kinds: Sequence[tuple[str | None, bool]], partitions: int, factor: int, step: int) -> str:
    brokers = [UsableBroker(i, rack, fenced) for i, (rack, fenced) in enumerate(kinds)]
    try:
        placer = StripedPlacer(brokers, Chosen(step))
        return " ".join(written(placer.place(factor)) for _ in range(partitions))
    except PlacementError:
        return "refused"


def placements(most: int, steps: Sequence[int]) -> Iterator[tuple[str, str]]:
    """A question for the placer with our answer, for every replication factor, and one too many."""
    for count in range(1, most + 1):
        for kinds in combinations_with_replacement(KINDS, count):
            for factor, step in product(range(1, count + 2), steps):
                listed = ",".join(shown(rack) + "!" * fenced for rack, fenced in kinds)
                partitions = 2 * count + 1
                yield f"{listed} {partitions} {factor} {step}", striped(kinds, partitions, factor, step)


@pytest.mark.parametrize(
    ("most", "steps"), [(4, (1,)), pytest.param(6, (1, 2, 5), marks=pytest.mark.slow)], ids=["4 brokers", "6 brokers"]
)
def test_striped_placer_is_kafkas(most: int, steps: Sequence[int]) -> None:
    questions, ours = zip(*placements(most, steps), strict=True)
    assert "refused" in ours
    assert differing(questions, ours, answers("StripedDriver", questions)) == []


def differing(questions: Sequence[str], ours: Sequence[str], kafkas: Sequence[str]) -> list[tuple[str, str, str]]:
    """The first questions with another answer, both answers beside them."""
    return [(q, a, b) for q, a, b in zip(questions, ours, kafkas, strict=True) if a != b][:3]


def test_another_answer_is_found() -> None:
    assert differing(["x", "y"], ["1", "2"], ["1", "3"]) == [("y", "2", "3")]
