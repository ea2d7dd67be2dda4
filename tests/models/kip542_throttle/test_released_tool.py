"""Lists of throttled replicas, and the way back, compared with Kafka's own kafka-reassign-partitions.sh (4.3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path

import pytest

from reassure.checkers.kafka.plan.cluster_file import Assignment, ClusterFile
from reassure.checkers.kafka.plan.kafka_json import read_assignment, write_assignment
from reassure.models.kip542_throttle import tool_cases
from reassure.spec.kafka.throttle_lists import Move, Partition, follower_lists, leader_lists
from tests.helpers.released_classes import answers

Adding = dict[Partition, tuple[int, ...]]
"""What a reassignment that goes on is adding already."""


def moves(brokers: int) -> Iterator[tuple[dict[Partition, Move], Adding]]:
    """Every reassignment of one partition; while brokers 5 and 10 are being added to it; and of several partitions."""
    lists = [listed for count in (1, 2, 3) for listed in permutations(range(1, brokers + 1), count)]
    for current, target in product(lists, repeat=2):
        yield {("t", 0): Move(current, target)}, {}
        if current == tuple(sorted(current)):
            for wanted in (target, (*target, 5)):
                yield {("t", 0): Move(current, wanted)}, {("t", 0): (5, 10)}
    for current, other in product(lists[:9], repeat=2):
        several = {("t", 0): Move(current, (3, 4)), ("t", 11): Move(other, (10, 1)), ("u.v", 2): Move(other, current)}
        yield several, {("t", 11): (10,)}


def question(of: dict[Partition, Move], adding: Adding) -> str:
    def written(replicas: tuple[int, ...]) -> str:
        return ",".join(map(str, replicas))

    return " ".join(
        f"{topic}:{number}:{written(move.current)}:{written(adding.get((topic, number), ()))}:{written(move.target)}"
        for (topic, number), move in of.items()
    )


def as_java(lists: dict[str, str]) -> str:
    """As Java prints a map."""
    return f"{{{', '.join(f'{topic}={text}' for topic, text in lists.items())}}}"


@pytest.mark.parametrize("brokers", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_lists_and_the_way_back_are_those_of_the_tool(brokers: int, tmp_path: Path) -> None:
    """The JSON of the tool for the present replicas is read as the assignment that we write."""
    asked = list(moves(brokers))
    cluster = ClusterFile(dict.fromkeys(range(1, 11)))
    theirs, ours = tmp_path / "theirs.json", tmp_path / "ours.json"
    answered = answers("ToolDriver", (question(*pair) for pair in asked))
    for number, ((of, adding), answer) in enumerate(zip(asked, answered, strict=True)):
        leaders, followers, back = answer.split("\t")
        assert (leaders, followers) == (as_java(leader_lists(of)), as_java(follower_lists(of))), of
        if number % 20 == 0:  # files take longer than lists
            present: Assignment = {p: (*move.current, *adding.get(p, ())) for p, move in of.items()}
            theirs.write_text(back, encoding="utf-8")
            ours.write_text(write_assignment(present), encoding="utf-8")
            assert [read_assignment(path, cluster).replicas for path in (theirs, ours)] == [present, present]


def test_lists_by_hand() -> None:
    of = {("t", 0): Move((1, 2), (3, 2)), ("t", 1): Move((2,), (2,)), ("u", 7): Move((4, 1), (10, 9))}
    assert leader_lists(of) == {"t": "0:1,0:2,1:2", "u": "7:1,7:4"}
    assert follower_lists(of) == {"t": "0:3", "u": "7:10,7:9"}


@pytest.mark.parametrize(
    ("name", "cases", "fallen"),
    [
        ("copies_are_limited", 1560, None),
        ("leaders_at_first_are_limited", 3900, None),
        ("leaders_that_joined_are_limited", 16, "[1] to [2, 3]: 2 has joined and leads, 3 copies from it"),
        ("others_are_not_limited", 1, "[1, 2] to [1]: 2 has fallen behind and copies from 1, whose list has it"),
    ],
)
def test_claim(name: str, cases: int, fallen: str | None) -> None:
    outcome = getattr(tool_cases, name)()
    assert (outcome.cases, outcome.counterexample) == (cases, fallen)


def test_lists_that_leave_somebody_out_are_found_out() -> None:
    def nobody(of: object) -> dict[str, str]:
        return {"t": ""}

    assert not tool_cases.copies_are_limited(nobody).holds
    assert not tool_cases.leaders_are_limited(False, nobody).holds
    assert tool_cases.others_are_not_limited(nobody, nobody).holds
