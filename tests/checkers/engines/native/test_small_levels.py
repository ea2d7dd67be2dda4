"""Small levels are expanded together, in one call: what is found is what level after level gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native import engine
from reassure.checkers.engines.native.exploration import Exploration, Limits, Start, compiled, explore
from reassure.checkers.engines.native.kernels.growing_table import TableSizes
from reassure.checkers.engines.native.levels import SIZES, SearchSizes
from reassure.checkers.engines.native.search import Search
from reassure.checkers.machine.stop import StopReason, budget_ended
from reassure.checkers.request.model_loader import load_model
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import settings
from reassure.spec.language.vocabulary import Model
from tests.helpers.raising_model import ACTION, model_file
from tests.helpers.runs import bind, everything, result_of

APART = replace(SIZES, levels=0)
"""Every level by itself."""
FEW = replace(SIZES, levels=3)
SOON = replace(SIZES, states=5)
NARROW = replace(SIZES, small=4)
"""Some levels of most models are small, others are not."""
TINY = SearchSizes(TableSizes(1 << 9, growth=((1 << 62, 1.5),), spare=1 << 11), chunk=1 << 10, slice=100, small=50)
COUNTER = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Model, Range, action, cover, initial, invariant, replace, require, step_property, terminal

@dataclass(frozen=True)
class Config:
    top: Annotated[int, Range(0, 100_000)] = 500
    low: Annotated[int, Range(0, 100_000)] = 100_000
    high: Annotated[int, Range(0, 100_000)] = 100_000
    two: bool = False

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 100_000)]
    m: Annotated[int, Range(0, 1)] = 0

@initial
def start() -> State:
    return State(0)

@action(who="clock")
def tick(s: State, c: Config) -> State:
    require(s.n < c.top)
    return replace(s, n=s.n + 1)

@action(who="switch")
def turn(s: State, c: Config) -> State:
    require(c.two and s.n > 0)
    return replace(s, m=1 - s.m)

@invariant
def low_is_not_reached(s: State, c: Config) -> bool:
    return s.n != c.low

@step_property
def high_is_not_left(before: State, after: State, c: Config) -> bool:
    return before.n != c.high

@cover
def half(s: State, c: Config) -> bool:
    return 2 * s.n >= c.top

@terminal
def at_the_top(s: State, c: Config) -> bool:
    return s.n == c.top

MODEL = Model.of(__name__, state=State, config=Config)
"""


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Model:
    path = tmp_path_factory.mktemp("counter") / "counter.py"
    path.write_text(COUNTER, encoding="utf-8")
    return load_model(str(path))


def found(model: Model, pairs: list[str], sizes: SearchSizes, workers: int = 1, **options: Any) -> Any:
    bound, lowered = bind(model, settings(model, pairs))

    def check(*given: Any) -> Any:
        return engine.check(*given, sizes=sizes)

    return everything(result_of(check, bound, SearchOptions(workers=workers, **options), lowered))


def explored(
    model: Model, pairs: list[str], limits: Limits, sizes: SearchSizes = SIZES, look: Any = None
) -> Exploration:
    bound, lowered = bind(model, settings(model, pairs))
    layout = state_layout(bound)
    kernel = compiled(lowered, layout)
    search = Search(kernel, 1, None, sizes)
    return explore(bound, kernel, Start.of(bound, layout), search, limits, look or (lambda left: None))


@pytest.mark.parametrize(
    "name", ["die_hard", "core", "two_phase_commit", "batching_example", "throttle", "intermediate_inclusive"]
)
def test_models(name: str) -> None:
    model, pairs = load_model(name), list[str]()
    expected = found(model, pairs, APART)
    for sizes in (SIZES, FEW, SOON, NARROW, TINY):
        assert found(model, pairs, sizes) == expected
    assert found(model, pairs, NARROW, workers=3) == expected


@pytest.mark.parametrize("two", ["false", "true"])
@pytest.mark.parametrize("limits", [{}, {"depth": 175}, {"depth": 1}, {"fail_fast": True}])
@pytest.mark.parametrize(
    "pairs", [[], ["low=225"], ["high=225"], ["low=225", "high=125"], ["low=500"], ["high=499"], ["low=0"]]
)
def test_a_counter(counter: Model, two: str, pairs: list[str], limits: Any) -> None:
    pairs = [*pairs, f"two={two}"]
    expected = found(counter, pairs, APART, **limits)
    for sizes in (SIZES, FEW, TINY):
        assert found(counter, pairs, sizes, **limits) == expected


def test_what_raises_ends_it_at_its_level(tmp_path: Path) -> None:
    model = load_model(model_file(tmp_path, ACTION, ""))
    expected = found(model, ["nodes=3"], APART)
    assert expected["verdict"] == "model-error"
    assert all(found(model, ["nodes=3"], sizes) == expected for sizes in (SIZES, FEW, NARROW, TINY))


def test_levels_and_states(counter: Model) -> None:
    """Exact: 501 levels of one state; by a second way each has two from level 3 on."""
    for two, sizes in (("false", [1] * 501), ("true", [1, 1] + [2] * 499 + [1])):
        exploration = explored(counter, [f"two={two}"], Limits())
        assert [sum(map(len, level)) for level in exploration.level_rows] == sizes
        assert (exploration.distinct, exploration.search.depth) == (sum(sizes), len(sizes))


def test_many_levels_take_few_calls(counter: Model) -> None:
    """Python sees the first level, the level after the one with a new hit, and the end."""
    levels: list[int] = []
    bound, lowered = bind(counter, settings(counter, ["low=225"]))
    layout = state_layout(bound)
    search = Search(compiled(lowered, layout), 1)
    search.begin(Start.of(bound, layout).rows)
    levels += search.levels()
    assert levels == [1, 2, 227, 252]


def test_a_budget_leaves_the_level_that_is_not_expanded(counter: Model) -> None:
    seen: list[int] = []

    def look(left: int) -> None:
        seen.append(left)
        if len(seen) > 3:
            raise budget_ended(1.0)

    exploration = explored(counter, [], Limits(), FEW, look)
    # The first level by itself, which leaves nothing; then three at a time, each time with one state that is left.
    assert seen == [0, 1, 1, 1]
    assert exploration.stopped.reason is StopReason.BUDGET and not exploration.complete
    assert (exploration.stats.distinct, exploration.stats.frontier, exploration.search.depth) == (11, 1, 11)


def test_a_path_through_many_levels_takes_few_looks(counter: Model) -> None:
    """Three looks: for the hit on level 226, and at the first two levels, which lie by themselves."""
    exploration = explored(counter, ["low=225", "two=true"], Limits())
    paths, looks = exploration.paths(), list[int]()
    find = paths.find

    def counted(level: int, wanted: Any) -> Any:
        looks.append(level)
        return find(level, wanted)

    paths.find = counted
    (prop,) = (p for p in exploration.bound.properties if p.name == "low_is_not_reached")
    flag = exploration.kernel.model.flags()[prop.name]
    trace = paths.shown(prop, flag, exploration.search.hits.levels[flag])
    assert [state.n for state in trace.states] == list(range(226))
    assert looks == [226, 2, 1]
