"""A fixed set of random models, the models that once showed a fault, and the tools: generator, shrinker, comparison."""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from reassure.checkers.engines.symbolic.any_number.instantiation import Instantiation
from reassure.checkers.request.result import PropertyStatus
from reassure.checkers.request.run_identity import ClassesRecord
from reassure.spec.language.types import Type
from tests.fuzz import compare_symmetry
from tests.fuzz.census import counted
from tests.fuzz.constructs import (
    OF_LOGS,
    OF_LOOPS,
    OF_NUMBER_SETS,
    OF_NUMBERS,
    OF_PAIRS,
    OF_TABLES,
    REQUIRED,
    chosen,
    constructs,
)
from tests.fuzz.directed import DIRECTED, NEVER, Directed, step
from tests.fuzz.faults import FAULTS
from tests.fuzz.generate import Source, generate
from tests.fuzz.shrink import shrunk
from tests.fuzz.subject import Subject
from tests.fuzz.tastes import tastes
from tests.fuzz.worker import Answer, Worker, judged

LANGUAGE = "reassure"
FIXED = (130, 740, 1048, 1345, 1350)
"""Models that show every construct together (`constructs.chosen`)."""
TASTED = {
    "loops": ((0, 3), OF_LOOPS),
    "logs": ((14, 19, 30), OF_LOGS),
    "number_sets": ((8, 16), OF_NUMBER_SETS),
    "numbered": ((0, 3), OF_NUMBERS),
    "pairs": ((2, 4), OF_PAIRS),
    "tables": ((4, 24), OF_TABLES),
}
"""By taste: models with it, and the constructs that they show together."""
PROVED = (60, 65, 67, 71)
"""Models that every method of `prove` is quick about."""
PROVED_SLOWLY = (65, 71)
RENAMED = (2, 5, 10, 11, 17, 129)
"""Models of which ids can be renamed: with one sort and two, relations between ids, views, clipped steps."""
FORGOTTEN = (1, 5, 11)
"""Models whose actions read the order of ids that are alike but for that; the last one has a view."""
FORGOTTEN_AND_RAISING = (39, 129)
LARGE = {
    "broad": (0, "100 steps of a state or more"),
    "long": (5, "40 words or more"),
    "deep": (0, "1000 levels or more"),
}
"""By taste: a model, and what is large of it."""
RARE = {
    "raises",
    "symmetry: any-order",
    "symmetry: on, and claims: over a view",
    "symmetry: on, and maps from tuples",
    "maps from numbers",
    "sets of numbers",
    "tuples as values",
    *(f for _, f in LARGE.values()),
}
"""What some of the models of a run have."""
MOST_REFUSED = 0.2
"""Of all models."""

_numbers = itertools.count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("fuzz")
    sys.path.append(str(made))
    yield made
    sys.path.remove(str(made))


def answer(source: Source, seed: int, checks: list[str], folder: Path) -> Answer:
    return judged(source, seed, checks, folder, next(_numbers))


def test_the_fixed_set_shows_every_construct(folder: Path) -> None:
    shown = set().union(*(constructs(generate(n, LANGUAGE)) for n in FIXED))
    if missing := sorted(REQUIRED - shown):
        models = {n: generate(n, LANGUAGE) for n in range(600)}
        taken = {n: source for n, source in models.items() if not answer(source, n, [], folder).refused}
        pytest.fail(f"missing: {missing}; choose {chosen(taken)}")


@pytest.mark.parametrize("number", FIXED)
def test_fixed(number: int, folder: Path) -> None:
    said = answer(
        generate(number, LANGUAGE),
        number,
        ["terms", "watching", "replay", "native", "wide", "guards", "asked", "mutants"],
        folder,
    )
    assert (said.differences, said.refused) == ((), "")


@pytest.mark.parametrize(("taste", "number"), [(t, n) for t, (numbers, _) in TASTED.items() for n in numbers])
def test_tastes(taste: str, number: int, folder: Path) -> None:
    source = generate(number, LANGUAGE, **{taste: True})
    said = answer(source, number, ["terms", "watching", "replay", "native", "guards", "mutants"], folder)
    assert (said.differences, said.refused) == ((), "")


@pytest.mark.parametrize("taste", TASTED)
def test_models_with_a_taste_show_its_constructs(taste: str) -> None:
    numbers, required = TASTED[taste]
    shown = set().union(*(constructs(generate(n, LANGUAGE, **{taste: True})) for n in numbers))
    assert required - shown == set()


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=[pytest.mark.slow] if n in PROVED_SLOWLY else []) for n in PROVED]
)
def test_proved(number: int, folder: Path) -> None:
    said = answer(generate(number, LANGUAGE), number, ["prove"], folder)
    assert (said.differences, said.refused) == ((), "")


RAISES_AT_ONCE = Directed("x: N", "max(n for n in every(N, c) if n != n)", step("return s"), ("any-number", "raises"))


def test_a_model_that_raises_at_once_is_judged_too(folder: Path) -> None:
    said = answer(RAISES_AT_ONCE.source(LANGUAGE, "at_once"), 1, list(RAISES_AT_ONCE.checks), folder)
    assert (said.differences, said.refused) == ((), "")


@pytest.mark.parametrize("taste", ["broad", "long", pytest.param("deep", marks=pytest.mark.slow)])
def test_large(taste: str, folder: Path) -> None:
    number, feature = LARGE[taste]
    source = generate(number, LANGUAGE, commands=True, **{taste: True})
    assert feature in counted([source], number)
    said = answer(source, number, ["native", "check", "stuck"], folder)
    assert (said.differences, said.refused) == ((), "")


@pytest.mark.slow
def test_a_run_draws_what_is_rare() -> None:
    """The figures are those of `python -m tests.fuzz --census 100`."""
    found = counted((generate(n, LANGUAGE, **tastes(n)) for n in range(1_000_000, 1_000_100)), 1_000_000)
    assert found["models"] == 100
    assert {feature for feature in RARE if not found[feature]} == set()


def test_a_census_counts_a_model_by_what_it_has() -> None:
    sources = [DEEPER.source(LANGUAGE, "deeper"), RAISES_AT_ONCE.source(LANGUAGE, "at_once")]
    assert counted(sources, 1) == {
        "models": 2,
        "claims: invariant": 1,
        "raises": 1,
        "symmetry: any-order": 1,
        "symmetry: any-order, and whole and small: commands are asked": 1,
        "whole and small: commands are asked": 1,
    }


@pytest.mark.parametrize(
    ("number", "taste"),
    [
        *((n, {}) for n in RENAMED),
        *((n, {"in_order": True}) for n in FORGOTTEN),
        *((n, {"in_order": True, "raising": True}) for n in FORGOTTEN_AND_RAISING),
    ],
)
def test_renamed(number: int, taste: dict[str, bool], folder: Path) -> None:
    reduced: list[ClassesRecord] = []
    right = compare_symmetry.result_of

    def noted(*given: Any) -> Any:
        result = right(*given)
        reduced.append(result.search.symmetry)
        return result

    with patch.object(compare_symmetry, "result_of", noted):
        said = answer(generate(number, LANGUAGE, alike=True, **taste), number, ["symmetry"], folder)
    assert (said.differences, said.refused) == ((), "")
    assert any(record["classes"] < record["states"] for record in reduced if record)


DEEPER = Directed(
    "x: N; y: N; z: bool",
    "N(1), N(0), True",
    step("require(min(s.y, s.x) == s.x)\nreturn replace(s, y=s.x, z=False)") + NEVER.format("not s.z"),
    ("symmetry",),
)
"""All states are initial ones. Where any id may be the lowest, the action takes a step more than that."""


SOONER = Directed(
    "x: frozenset[N]",
    "every(N, c)",
    "@action(who='w')\ndef out(s: State, o: N) -> State:\n    return replace(s, x=s.x - {min(s.x, default=o)})\n\n"
    "@action(who='w')\ndef back(s: State, o: N) -> State:\n    return replace(s, x=s.x | {o})\n"
    + NEVER.format("len(s.x) > 0"),
    ("symmetry",),
)
"""A set without its lowest member, again and again: of each size there is one soon, and the others come later."""


@pytest.mark.parametrize(("directed", "depth"), [(DEEPER, None), (SOONER, 4)])
def test_any_order_may_end_below_or_above_the_last_states_of_the_model(
    directed: Directed, depth: int | None, folder: Path
) -> None:
    """`depth`: at which the search of classes has all states, and that of the model's has not."""
    with patch.object(Subject, "depth", depth) if depth else nullcontext():
        said = answer(directed.source(LANGUAGE, f"ends_{depth}"), 1, list(directed.checks), folder)
    assert (said.differences, said.refused) == ((), "")


def test_what_is_violated_and_holds_in_any_order_is_seen(folder: Path) -> None:
    def holds(result: Any) -> Any:
        properties = [replace(p, status=PropertyStatus.HOLDS_TO_DEPTH, depth=None) for p in result.properties]
        return replace(result, properties=properties) if result.search.symmetry else result

    right = compare_symmetry.result_of
    with patch.object(compare_symmetry, "result_of", lambda *given: holds(right(*given))):
        said = answer(DEEPER.source(LANGUAGE, "deeper"), 1, list(DEEPER.checks), folder)
    assert [d[1] for d in said.differences] == ["any-order: another verdict"]


TABLES = Directed(
    "x: Annotated[frozenset[V], MaxSize(2)]",
    "frozenset()",
    step("return replace(s, x=s.x | {V(fill(N, c, False))})")
    + NEVER.format("s.x != frozenset({V(fill(N, c, True))})").replace("s: State", "s: State, c: Config"),
    ("any-number",),
    records="\n@dataclass(frozen=True)\nclass V:\n    on: Map[N, bool]\n",
)


def test_another_meaning_in_one_configuration_is_seen(folder: Path) -> None:
    """Entries of a table in a record are taken for false."""
    right = Instantiation._scalars

    def fault(self: Instantiation, kind: Type, path: str, value: Any) -> Any:
        return right(self, kind, path, [self.graph.false] * len(value) if isinstance(value, list) else value)

    source = TABLES.source(LANGUAGE, "tables")
    said = answer(source, 1, list(TABLES.checks), folder)
    assert (said.differences, said.refused) == ((), "")
    with patch.object(Instantiation, "_scalars", fault):
        said = answer(source, 1, list(TABLES.checks), folder)
    assert "another meaning in one configuration" in [d[1] for d in said.differences]


@pytest.mark.parametrize("name", DIRECTED)
def test_directed(name: str, folder: Path) -> None:
    model = DIRECTED[name]
    said = answer(model.source(LANGUAGE, "directed"), 1, list(model.checks), folder)
    assert said.differences == ()
    assert model.refused in said.refused
    assert bool(model.refused) == bool(said.refused)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_put_back_is_seen(name: str, folder: Path) -> None:
    fault, directed = FAULTS[name]
    model = DIRECTED[directed]
    with fault():
        said = answer(model.source(LANGUAGE, "faulty"), 1, list(model.checks), folder)
    assert said.differences or (said.refused and not model.refused)


def test_every_cause_is_a_fault_that_can_be_put_back() -> None:
    """Causes are numbered; a fault's name begins with the ones that it puts back."""
    names = [name.split(" ") for name in FAULTS]
    assert {int(w.strip(",")) for words in names for w in words if w.strip(",").isdigit()} == set(range(1, 21))


def test_no_function_reads_a_name_before_it_is_bound() -> None:
    """Assignments bind names that begin with `x`; the defaults of parameters are made of what the module has."""
    for number in range(1_000_000, 1_000_150):
        for text in generate(number, LANGUAGE, **tastes(number) | {"loops": True, "raising": True}).files.values():
            tree = ast.parse(text)
            for function in (n for n in tree.body if isinstance(n, ast.FunctionDef)):
                bound: dict[str, int] = {}
                names = sorted((n for n in ast.walk(function) if isinstance(n, ast.Name)), key=lambda n: n.lineno)
                for name in names:
                    if isinstance(name.ctx, ast.Store):
                        bound.setdefault(name.id, name.lineno)
                early = [n.id for n in names if n.id[0] == "x" and n.lineno < bound.get(n.id, 0)]
                given = {n.id for d in function.args.defaults for n in ast.walk(d) if isinstance(n, ast.Name)}
                assert (number, early, [n for n in given if n[:1] == "h" and n[-1] in "pqr"]) == (number, [], [])


def test_the_same_seed_gives_the_same_model() -> None:
    assert [str(generate(n, LANGUAGE)) for n in range(10)] == [str(generate(n, LANGUAGE)) for n in range(10)]
    assert str(generate(1, LANGUAGE)) != str(generate(2, LANGUAGE))


def test_few_models_are_refused(folder: Path) -> None:
    """What the language refuses is compared with nothing."""
    said = [answer(generate(n, LANGUAGE), n, [], folder) for n in range(5_000, 5_020)]
    assert sum(bool(a.refused) for a in said) <= MOST_REFUSED * len(said)


def test_shrinking_keeps_the_difference_and_little_else() -> None:
    source = generate(3, LANGUAGE)
    whole = str(source)

    def judge(candidate: Source) -> bool:
        tree = ast.parse(next(iter(candidate.files.values())))
        return any(isinstance(n, ast.FunctionDef) and n.name == "a0" for n in tree.body)

    small = str(shrunk(source, judge, 20))
    assert "def a0(" in small
    assert len(small.splitlines()) < 16 < len(whole.splitlines())


def test_a_process_that_dies_is_a_difference(tmp_path: Path) -> None:
    worker = Worker(seconds=60)
    dying = Source({"dying": "import os\nos._exit(3)\n"})
    try:
        assert worker.judge(dying, 1, []).differences[0][:2] == ("process", "the process dies")
        assert worker.judge(generate(1, LANGUAGE), 1, []).differences == ()
    finally:
        worker.stop()
