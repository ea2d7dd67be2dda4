"""Telling what a search by Spark has found: one pass through the levels backwards, within the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.engines.native.counterexample import Row, Wanted
from reassure.checkers.engines.native.search import Clock
from reassure.checkers.engines.spark import distributed_search
from reassure.checkers.engines.spark.distributed_search import DistributedRun
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.stop import budget_ended
from tests.helpers.raising_model import ACTION, model_file
from tests.helpers.runs import everything
from tests.helpers.spark_runs import checked, far, needs_spark

pytestmark = needs_spark


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int]]:
    """Gets the level of each look, how many things are looked for, and the jobs before it."""
    looks, right = list[tuple[int, int, int]](), DistributedRun.find

    def noting(
        self: DistributedRun, level: int, wanted: Sequence[Wanted], look: Callable[[], None]
    ) -> list[Row | None]:
        looks.append((level, len(wanted), self.jobs))
        return right(self, level, wanted, look)

    monkeypatch.setattr(DistributedRun, "find", noting)
    return looks


@pytest.fixture(params=[0, 1])
def jobs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many jobs look through a level: it is large, or not."""
    monkeypatch.setattr(distributed_search, "OWNER_STATES", 1 if request.param else 50_000)
    return int(request.param)


@pytest.mark.parametrize("symmetry", ["off", "on"])
def test_every_level_is_looked_at_once(
    jobs: int,
    symmetry: str,
    looked_at: list[tuple[int, int, int]],
    context: Any,
    tmp_path: Path,
) -> None:
    """For all that is violated together, by one job for a large level."""
    model, options = model_file(tmp_path), {"symmetry": symmetry, "witness": True}
    found, native = checked(model, ["nodes=4"], far(), **options), checked(model, ["nodes=4"], **options)
    assert str(everything(found)) == str(everything(native))  # of two loads of the file
    assert {p.name: p.depth for p in found.properties} == {"two_are_alive": 4, "one_is_alive": 5, "the_last_stays": 5}
    assert [look[0] for look in looked_at] == [5, 4, 3, 2, 1]
    assert [look[1] for look in looked_at[:2]] == [1, 4]
    assert [look[2] - looked_at[0][2] for look in looked_at] == [jobs * n for n in range(5)]


def test_what_raises_is_looked_for_with_the_rest(looked_at: list[Any], context: Any, tmp_path: Path) -> None:
    model = model_file(tmp_path, ACTION, "")
    found, native = checked(model, [], far()), checked(model, [])
    assert (str(everything(found)), found.exit()) == (str(everything(native)), Exit.MODEL)
    assert [look[0] for look in looked_at] == [4, 3, 2, 1]


def test_telling_looks_at_the_budget(jobs: int, context: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The violations stay, and their traces are not rebuilt, where the time ends: before a level, or during a job."""
    looks = [0]

    def ended(self: Clock) -> None:
        looks[0] += 1
        if looks[0] > jobs:  # the first is before the job
            raise budget_ended(9)

    monkeypatch.setattr(Clock, "look_to_the_end", ended)
    verdict = checked(model_file(tmp_path), ["nodes=4"], far(), budget=900)
    assert verdict.exit() is Exit.SAFETY
    assert looks == [1 + jobs]
    assert {p.name: (p.trace, p.note) for p in verdict.properties} == {
        name: (None, f"after {states - 1} steps; its trace was not rebuilt: the budget of 9 s ended")
        for name, states in [("two_are_alive", 4), ("one_is_alive", 5), ("the_last_stays", 5)]
    }
