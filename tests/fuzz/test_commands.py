"""Every command is compared with plain Python on a fixed set of random models, and a fault in each is seen."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from reassure.checkers.analyses.diff import compare
from reassure.checkers.analyses.fairness import analysis as fairness
from reassure.checkers.analyses.find import analysis as find
from reassure.checkers.analyses.graph import state_picture
from reassure.checkers.analyses.stuck import analysis as stuck
from reassure.checkers.analyses.suites import goals
from reassure.checkers.analyses.sweep import analysis as sweep
from reassure.checkers.analyses.validate import steppers
from reassure.checkers.base import result
from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.result import PropertyStatus
from reassure.checkers.engines.spark import sql
from reassure.checkers.explorer import view
from reassure.checkers.gate import judge
from reassure.checkers.traces import replay
from reassure.spec.language.values import Map
from tests.fuzz import command_answers, hostile_plans
from tests.fuzz.compare_commands import COMMANDS
from tests.fuzz.generate import generate
from tests.fuzz.worker import Answer, judged
from tests.helpers.spark_runs import needs_spark

pytestmark = pytest.mark.usefixtures("quick_kernels")
LANGUAGE = "reassure"
FIXED = (2, 14, 32)
"""Random models with properties of every kind, of which some hold."""

_numbers = itertools.count(10_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("commands")
    sys.path.append(str(made))
    yield made
    sys.path.remove(str(made))


def answer(number: int, checks: list[str], folder: Path) -> Answer:
    return judged(generate(number, LANGUAGE, commands=True), number, checks, folder, next(_numbers))


@pytest.mark.parametrize("number", FIXED)
def test_every_command_says_what_plain_python_says(number: int, folder: Path) -> None:
    said = answer(number, list(COMMANDS), folder)
    assert (said.differences, said.refused) == ((), "")


Fault = Callable[[], AbstractContextManager[Any]]


def _instead(where: Any, name: str, fault: Callable[[Any], Any]) -> Fault:
    """A function in another's place, made from the one that is right."""
    right = getattr(where, name)
    return lambda: patch.object(where, name, fault(right))


def _passes(right: Any) -> Any:
    """What is open, or about nothing, is said to hold."""

    def status(*given: Any) -> Any:
        found, remark = right(*given)
        open_ones = (PropertyStatus.UNKNOWN, PropertyStatus.VACUOUS)
        return (PropertyStatus.HOLDS if found in open_ones else found), remark

    return status


FAULTS: dict[str, tuple[Fault, int]] = {
    "check: what is vacuous holds": (_instead(result, "_status", _passes), 5),
    "find: the expression is negated": (
        _instead(find, "never", lambda right: lambda model, text: right(model, f"not ({text})")),
        2,
    ),
    "stuck: only goals reach goals": (
        lambda: patch.object(stuck.StepsBack, "reaching", lambda self, goals: goals.copy()),
        2,
    ),
    "fairness: what is weakened is dropped": (
        _instead(fairness, "replaced", lambda right: lambda known, action, instead: right(known, action, None)),
        32,
    ),
    "simulate: what no walk violates holds": (_instead(result, "_status", _passes), 2),
    "sweep: the exit code is that of the mildest": (
        lambda: patch.object(sweep, "worst_of", lambda records: Exit.OK),
        2,
    ),
    "diff: no step is of one model alone": (lambda: patch.object(compare, "_alone", lambda *given: {}), 1),
    "traces: the first trace takes every goal": (
        lambda: patch.object(goals.Actions, "taken", lambda self, path: dict.fromkeys(range(len(self.goals)), 1)),
        14,
    ),
    "validate: every state is what is observed": (
        lambda: patch.object(steppers._Masks, "fits", lambda self, rows: np.ones(len(rows), np.bool_)),
        8,
    ),
    "replayed: a trace is not executed": (lambda: patch.object(replay, "replay", lambda trace, bound: None), 16),
    "gate: pins are not judged": (lambda: patch.object(judge, "_judge_pins", lambda check, record: []), 33),
    "explore: every property holds": (
        _instead(view, "properties_here", lambda right: lambda *a: [p | {"status": "holds"} for p in right(*a)]),
        1,
    ),
    "graph: no state is dead": (
        lambda: patch.object(state_picture, "_dead", lambda graph, terminal: np.zeros(graph.count, np.bool_)),
        49,
    ),
}
"""By the command and what is wrong with it: a patch, and the model that shows it."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_command_is_seen(name: str, folder: Path) -> None:
    fault, number = FAULTS[name]
    command = name.partition(":")[0]
    with fault():
        assert answer(number, [command], folder).differences


def test_every_command_has_a_fault() -> None:
    assert {name.partition(":")[0] for name in FAULTS} == set(COMMANDS)


@needs_spark
@pytest.mark.slow
def test_a_row_that_sql_leaves_out_is_seen(folder: Path) -> None:
    right = sql._frame
    assert answer(FIXED[1], ["query"], folder).differences == ()
    with patch.object(sql, "_frame", lambda *given: right(*given).limit(1)):
        assert {d[1] for d in answer(FIXED[1], ["query"], folder).differences} == {"another answer to SQL"}


def test_hostile_plans_are_refused_in_one_line() -> None:
    seen = {seed: hostile_plans.tried(seed) for seed in range(1_000_001, 1_000_061)}
    assert {seed: problem for seed, (_, problem) in seen.items() if problem} == {}
    assert {code for code, _ in seen.values()} >= {0, 12, 151}


def test_equal_values_have_one_text_however_they_were_made() -> None:
    one = Map([(False, frozenset({(1,), (2,)})), (True, frozenset())])
    again = Map([(True, frozenset()), (False, frozenset({(2,), (1,)}))])
    text = "{False: frozenset(tuple(1), tuple(2)), True: frozenset()}"
    assert [command_answers._key(value) for value in (one, again)] == [text, text]
    assert command_answers._key(one.put(False, frozenset())) != text
