"""A model as a test of an implementation: what agrees passes, what does not is found and told."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

import reassure
from reassure.models.examples.die_hard import Jugs

QUICK = settings(max_examples=20, stateful_step_count=12, derandomize=True, database=None,
                 suppress_health_check=list(HealthCheck), deadline=None)  # fmt: skip


class TwoJugs:
    """An implementation of the riddle, in its own words."""

    def __init__(self, start: Jugs) -> None:
        self.litres = {"big": start.big, "small": start.small}

    def fill_small(self) -> None:
        self.litres["small"] = 3

    def fill_big(self) -> None:
        self.litres["big"] = 5

    def empty_small(self) -> None:
        self.litres["small"] = 0

    def empty_big(self) -> None:
        self.litres["big"] = 0

    def small_to_big(self) -> None:
        self._pour("small", "big", 5)

    def big_to_small(self) -> None:
        self._pour("big", "small", 3)

    def _pour(self, giver: str, taker: str, room: int) -> None:
        poured = min(self.litres[giver], room - self.litres[taker])
        self.litres[giver] -= poured
        self.litres[taker] += poured


class Spilling(TwoJugs):
    """Loses what does not fit."""

    def big_to_small(self) -> None:
        self.litres = {"big": 0, "small": min(3, self.litres["big"] + self.litres["small"])}


def observed(jugs: TwoJugs) -> dict[str, int]:
    return jugs.litres


def run(implementation: Callable[[Any], Any], observe: Callable[[Any], Any] = observed, **chosen: Any) -> None:
    machine = reassure.state_machine("die_hard", implementation, observe, **chosen)
    run_state_machine_as_test(machine, settings=QUICK)


def test_what_agrees_passes() -> None:
    run(TwoJugs)


def test_what_does_not_is_found() -> None:
    with pytest.raises(AssertionError, match=r"after big_to_small\(\): big is 0, the model has 2"):
        run(Spilling)


def test_every_action_is_a_rule() -> None:
    machine = reassure.state_machine("die_hard", TwoJugs, observed)
    actions = ["big_to_small", "empty_big", "empty_small", "fill_big", "fill_small", "small_to_big"]
    assert [name for name in dir(machine) if name.startswith("take_")] == [f"take_{name}" for name in actions]
    assert issubclass(machine.TestCase, unittest.TestCase)


def test_parameters_are_given_by_name() -> None:
    """And only steps that the model enables are taken."""
    calls: set[tuple[str, tuple[str, ...]]] = set()

    class Recorder:
        def __init__(self, start: Any) -> None:
            self.model = reassure.load("core")
            self.state = start

        def __getattr__(self, action: str) -> Callable[..., None]:
            def take(**params: Any) -> None:
                calls.add((action, tuple(sorted(params))))
                self.state = self.model.take(self.state, action, **params)

            return take

    machine = reassure.state_machine("core", Recorder, lambda r: {"isr": r.state.isr, "leader": r.state.leader})
    run_state_machine_as_test(machine, settings=QUICK)
    assert ("fence", ("broker",)) in calls
    assert {action for action, _ in calls} <= {a.name for a in reassure.load("core").bound.model.actions}


@pytest.mark.parametrize(
    ("observe", "says"),
    [
        (lambda jugs: {"huge": 1}, "die_hard has no field huge; it has small, big"),
        (lambda jugs: {}, "observe gives no field of die_hard: nothing would be compared"),
    ],
)
def test_what_is_compared_must_be_there(observe: Callable[[Any], Any], says: str) -> None:
    with pytest.raises(reassure.Failure, match=says):
        run(TwoJugs, observe)


def test_an_implementation_that_starts_elsewhere() -> None:
    with pytest.raises(AssertionError, match="at the start: small is 1, the model has 0"):
        run(lambda _: TwoJugs(Jugs(small=1, big=0)))


def test_no_such_model() -> None:
    with pytest.raises(reassure.Failure, match="die_hrad"):
        reassure.state_machine("die_hrad", TwoJugs, observed)
