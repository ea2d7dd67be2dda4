"""Every command is compared with plain Python on a fixed set of random models, and a fault in each is seen."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
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
from reassure.checkers.cli.commands import lint
from reassure.checkers.engines.native.symmetry import reduced_search
from reassure.checkers.engines.spark import sql
from reassure.checkers.explorer import view
from reassure.checkers.gate import judge
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.request import result
from reassure.checkers.request.result import PropertyStatus
from reassure.checkers.traces import replay
from reassure.spec.language.values import Map
from tests.fuzz import command_answers, hostile_plans
from tests.fuzz.brute import declared_fairness, graph_of, in_no_fair_run, premise_of
from tests.fuzz.command_raising import Raised, raised
from tests.fuzz.compare_commands import COMMANDS
from tests.fuzz.directed import NEVER, Directed, step
from tests.fuzz.generate import generate
from tests.fuzz.subject import loaded
from tests.fuzz.worker import Answer, judged, placed
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
        _instead(fairness, "with_assumption", lambda right: lambda known, action, instead: right(known, action, None)),
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


def _nothing_found(right: Any) -> Any:
    """A search of classes loses what it found."""
    return lambda *given: replace(right(*given), facts={})


RAISING = Directed(
    "up: frozenset[N]; x: N | None",
    "every(N, c), None",
    step("return replace(s, up=s.up - {n}, x=min(s.up))", ", n: N")
    + NEVER.format("s.x is None")
    + NEVER.replace("never", "idle").format("s.x == s.x"),
)
"""It raises after three steps; the first of them violates one property, and no step the other."""
IN_ORDER = Directed(
    "up: frozenset[N]; x: N | None",
    "every(N, c), None",
    step("require(n in s.up)\nreturn replace(s, up=s.up - {n}, x=min(s.up))", ", n: N") + NEVER.format("s.x is None"),
)
REFUSED = Directed("x: bool", "False", step("while True:\n    pass\nreturn s"))


@pytest.mark.parametrize(
    ("check", "model", "fault"),
    [
        ("raises", RAISING, _instead(result, "_status", _passes)),
        ("check", IN_ORDER, _instead(reduced_search, "conclusion", _nothing_found)),
        ("lint", IN_ORDER, lambda: patch.object(lint, "lint", lambda file: (Exit.MODEL, []))),
        ("lint", REFUSED, lambda: patch.object(lint, "lint", lambda file: (Exit.OK, []))),
    ],
)
def test_a_fault_on_a_model_for_it_is_seen(check: str, model: Directed, fault: Fault, folder: Path) -> None:
    source = model.source(LANGUAGE, "directed")
    said = judged(source, 5, [check], folder, next(_numbers))
    assert (said.differences, bool(said.refused)) == ((), model is REFUSED)
    with fault():
        assert {d[0] for d in judged(source, 5, [check], folder, next(_numbers)).differences} == {check}


def test_the_first_error_of_a_model_and_what_is_violated_before(folder: Path) -> None:
    bound = loaded(placed(RAISING.source(LANGUAGE, "raising"), folder, next(_numbers)), 1).bound
    assert raised(bound) == Raised(4, True, {"never": 2})
    bound = loaded(placed(IN_ORDER.source(LANGUAGE, "in_order"), folder, next(_numbers)), 1).bound
    assert raised(bound) is None


COUNTING = """
def reached(s: State) -> bool:
    return s.x == {end}

@leads_to(reached)
def asked(s: State) -> bool:
    return s.x == {start}
"""


@pytest.mark.parametrize(
    ("fair", "start", "expected"),
    [
        ('fair="weak"', 0, True),  # every fair run leaves the bound
        ('who="w"', 0, False),  # a run may stop
        ('fair="weak"', 9, True),  # no state is of the premise
    ],
)
def test_a_property_that_no_fair_run_is_concerned_by_is_hollow(
    fair: str, start: int, expected: bool, folder: Path
) -> None:
    model = Directed(
        "x: Annotated[int, Range(0, 3, declared=True)]",
        "0",
        step("return replace(s, x=s.x + 1)", decorator=fair if "who" in fair else f'who="w", {fair}')
        + COUNTING.format(start=start, end=8),
    )
    bound = loaded(placed(model.source(LANGUAGE, "counting"), folder, next(_numbers)), 1).bound
    graph = graph_of(bound, 10)
    assert graph is not None
    beyond = in_no_fair_run(graph, declared_fairness(bound))
    assert (premise_of(graph, bound.properties[0]) <= beyond) is expected


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
