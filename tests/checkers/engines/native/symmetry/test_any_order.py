"""The order of ids forgotten: what holds then holds; everything else is said only if a run of the model shows it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native import engine
from reassure.checkers.engines.native.exploration import Limits, Start, compiled, explore
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.search import Search
from reassure.checkers.engines.native.symmetry import reduced_search
from reassure.checkers.engines.native.symmetry.cells import Sort, renamed, sorts_to_rename
from reassure.checkers.engines.native.symmetry.renamings import Renamings
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.stop import budget_ended
from reassure.checkers.request.engine_results import CoverResult, EngineResult, SearchResult, SearchStatistics
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.request.result import CheckResult
from reassure.spec.frontend.any_order import in_any_order
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel
from tests.fuzz.compare_symmetry import decided, states_of
from tests.fuzz.lists import Lists
from tests.helpers.alike_models import HEAD, every_renaming
from tests.helpers.command import model_file, said
from tests.helpers.model_text import module
from tests.helpers.runs import bind, checked, result_of

pytestmark = pytest.mark.usefixtures("quick_kernels")

STATE = """
@dataclass(frozen=True)
class State:
    up: Nodes
    first: Node | None
    second: Node | None
    order: Annotated[tuple[Node, ...], MaxLen("nodes")] = ()

@initial
def start(c: Config) -> State:
    return State(every(Node, c), None, None)
"""
LOWEST = """
@action(who="one")
def choose(s: State) -> State:
    require(s.first is None)
    return replace(s, first=min(s.up))

@action(who="other")
def choose_too(s: State) -> State:
    require(s.second is None)
    return replace(s, second=min(s.up))

@invariant
def both_choose_alike(s: State) -> bool:
    return s.first is None or s.second is None or s.first == s.second

@invariant
def somebody_is_up(s: State) -> bool:
    return s.up != NOBODY

@cover
def they_differ(s: State) -> bool:
    return s.first is not None and s.second is not None and s.first != s.second

@cover
def both_chose(s: State) -> bool:
    return s.first is not None and s.second is not None
"""
ORDERED = """
@action(who="one")
def line_up(s: State) -> State:
    require(s.order == ())
    return replace(s, order=tuple(sorted(s.up)))

@action(who="one")
def leave(s: State, node: Node) -> State:
    require(node in s.up and len(s.up) > 1)
    return replace(s, up=s.up - {node}, order=tuple(n for n in s.order if n != node))

@action(who="one")
def choose(s: State) -> State:
    return replace(s, first=max(s.up), second=next((n for n in sorted(s.up) if n != s.first), None))

@action(who="one")
def prefer_less(s: State, node: Node) -> State:
    require(s.first is not None and node < s.first)
    return replace(s, first=node)

@invariant
def first_of_the_line_is_up(s: State) -> bool:
    return s.order == () or s.order[0] in s.up

@invariant
def first_is_up(s: State) -> bool:
    return s.first is None or s.first in s.up

@cover
def one_left(s: State) -> bool:
    return len(s.order) == 1 and s.second is None and s.first is not None
"""
STUCK = """
@action(who="one")
def choose(s: State, node: Node) -> State:
    require(s.first is None)
    return replace(s, first=node)

@action(who="one")
def go_on(s: State) -> State:
    require(s.first == min(s.up))
    return replace(s, first=None)
"""
RAISES = """
@action(who="one")
def choose(s: State) -> State:
    return replace(s, first=min(s.up), second=s.first if s.first is None or s.first == min(s.up) else s.order[0])

@invariant
def first_is_up(s: State) -> bool:
    return s.first is None or s.first in s.up
"""
TELLS = """
@action(who="one")
def choose(s: State) -> State:
    return replace(s, first=min(s.up))

@invariant
def lowest_first(s: State) -> bool:
    return s.first is None or s.first == min(s.up)

@invariant
def first_is_up(s: State) -> bool:
    return s.first is None or s.first in s.up

@infinitely_often
def chosen_again(s: State) -> bool:
    return s.first is not None
"""

LISTS = """
@dataclass(frozen=True)
class State:
    up: Nodes
    line: Annotated[tuple[Node, ...], MaxLen("nodes")]
    kept: Annotated[tuple[Node, ...], MaxLen("nodes")]
    first: Node | None

@initial
def start(c: Config) -> State:
    return State(every(Node, c), tuple(sorted(every(Node, c))), (), None)

@action(who="one")
def keep(s: State) -> State:
    return replace(s, kept=tuple(n for n in s.line if n in s.up))

@action(who="one")
def fail(s: State, node: Node) -> State:
    require(node in s.up and len(s.up) > 1)
    return replace(s, up=s.up - {node})

@action(who="one")
def leave(s: State, node: Node) -> State:
    require(node not in s.up and node in s.line)
    return replace(s, line=tuple(n for n in s.line if n != node))

@action(who="one")
def come_back(s: State) -> State:
    require(s.kept != s.line)
    return replace(s, up=s.up | frozenset(s.line))

@action(who="one")
def choose(s: State) -> State:
    return replace(s, first=next(n for n in s.line if n in s.up))

@action(who="other")
def choose_too(s: State) -> State:
    return replace(s, first=min(s.up))

@invariant
def what_is_kept_is_in_order(s: State) -> bool:
    return not frozenset(s.kept) <= frozenset(s.line) or s.kept == tuple(n for n in s.line if n in s.kept)

@step_property
def lines_get_shorter(before: State, after: State) -> bool:
    return after.line == before.line or len(after.line) < len(before.line)

@invariant
def the_line_is_not_what_is_kept(s: State) -> bool:
    return s.line != s.kept or len(s.line) > 1

@cover
def kept_otherwise(before: State, after: State) -> bool:
    return before.kept != after.kept and len(after.kept) > 1
"""
REORDERED = """
@action(who="one")
def to_the_front(s: State) -> State:
    require(len(s.up) < len(s.line))
    return replace(s, line=tuple(n for n in s.line if n in s.up) + tuple(n for n in s.line if n not in s.up))
"""


def searched(text: str, folder: Path, symmetry: str, deadlock: bool = False, **options: Any) -> CheckResult:
    ended = f"MODEL = Model.of(__name__, state=State, config=Config, deadlock={deadlock})"
    state = "" if "class State" in text else STATE
    bound, lowered = bind(module(f"{state}{text}{ended}\n", folder, HEAD).MODEL, {})
    chosen = SearchOptions(symmetry=symmetry, workers=1, witness=True, **options)
    return result_of(engine.check, bound, chosen, lowered)


def by_all_states(result: CheckResult) -> Any:
    assert result.search is not None
    return [(search["asked"], search["depth"]) for search in result.search.symmetry["all_states"]]


def test_what_only_another_order_does_is_decided_by_all_states(tmp_path: Path) -> None:
    found, whole = searched(LOWEST, tmp_path, "any-order"), searched(LOWEST, tmp_path, "off")
    assert decided(found) == decided(whole)
    assert [p.status for p in found.properties] == ["holds", "holds"]
    assert [c.depth for c in found.covers] == [None, 3]
    assert by_all_states(found) == [(["both_choose_alike", "both_chose", "they_differ"], 3)]
    assert found.exit() == whole.exit() == Exit.VACUOUS


def test_without_time_for_all_states_it_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first search decided stays decided."""

    def ends(*given: Any) -> EngineResult:
        return EngineResult(
            SearchResult(),
            SearchStatistics(),
            budget_ended(1).stop,
            False,
            covers=(CoverResult("they_differ"), CoverResult("both_chose")),
        )

    check = reduced_search.check
    monkeypatch.setattr(reduced_search, "check", lambda *given: check(*given[:-1], ends))
    found = searched(LOWEST, tmp_path, "any-order")
    assert {p.name: p.status for p in found.properties} == {"both_choose_alike": "unknown", "somebody_is_up": "holds"}
    assert [c.depth for c in found.covers] == [None, None]
    assert (found.complete, found.exit()) == (False, Exit.INCONCLUSIVE)


def test_sorted_lists_and_comparisons(tmp_path: Path) -> None:
    found, whole = searched(ORDERED, tmp_path, "any-order"), searched(ORDERED, tmp_path, "off")
    assert decided(found) == decided(whole)
    assert [c.depth for c in found.covers] == [6]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (LISTS, [(["deadlock"], None)]),
        (
            LISTS + REORDERED,
            [(["what_is_kept_is_in_order"], 2), (["deadlock", "what_is_kept_is_in_order"], None)],
        ),
    ],
    ids=["they agree", "an order changes"],
)
def test_lists_in_no_order(text: str, left: Any, tmp_path: Path) -> None:
    """Lists that agree at the start are told by their items, until a step brings one into another order."""
    found, whole = searched(text, tmp_path, "any-order", True), searched(text, tmp_path, "off", True)
    assert found.search is not None
    assert found.search.symmetry["lists_forgotten"] == ["Node"]
    assert decided(found) == decided(whole)
    assert by_all_states(found) == left
    assert found.stats.distinct < whole.stats.distinct


@pytest.mark.parametrize("number", [1, 2, 3, 7, 10])
def test_drawn_lists(number: int, tmp_path: Path) -> None:
    text = Lists(number).text()
    found, whole = searched(text, tmp_path, "any-order"), searched(text, tmp_path, "off")
    assert found.search is not None
    assert found.search.symmetry["lists_forgotten"] == ["Node"]
    assert decided(found) == decided(whole)


def test_a_deadlock_that_another_order_would_end(tmp_path: Path) -> None:
    found, whole = (searched(STUCK, tmp_path, how, True) for how in ("any-order", "off"))
    assert decided(found) == decided(whole)
    assert by_all_states(found) == [(["deadlock"], None)]
    assert found.exit() == Exit.DEADLOCK


def test_what_raises_with_another_order_alone(tmp_path: Path) -> None:
    found, whole = searched(RAISES, tmp_path, "any-order"), searched(RAISES, tmp_path, "off")
    assert decided(found) == decided(whole)
    assert by_all_states(found) == [([], None)]
    assert [p.status for p in found.properties] == ["holds"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = "MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)\n"
    mine = model_file(tmp_path, f"{HEAD}{STATE}{TELLS}{ended}")
    assert said(capsys, "check", mine, "--symmetry", "on")[::2] == (
        Exit.USAGE.value,
        "reassure: --symmetry: nothing of mine can be renamed: choose reads the order of Node (`--symmetry any-order` "
        "forgets the order)\n",
    )
    assert said(capsys, "check", mine, "--symmetry", "any-order")[::2] == (
        Exit.USAGE.value,
        "reassure: --symmetry: nothing of mine can be renamed: lowest_first reads the order of Node; name other "
        "properties by --property\n",
    )
    code, out, _ = said(capsys, "check", mine, "--symmetry=any-order", "--property=first_is_up")
    assert code == Exit.OK.value
    assert "classes under renaming of Node 1-3, which have" in out
    assert "the order of Node is forgotten" in out
    assert "--symmetry=any-order" in out.splitlines()[-1]
    code, out, _ = said(capsys, "check", mine, "--symmetry=any-order", "--property=first_is_up", "--property=chosen*")
    assert "a search of all states (" in out and out.splitlines()[-1].startswith("again: ")


# -- models that come with the project ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("brokers", "classes"), [(3, 287), (4, 3_200)])
def test_core(brokers: int, classes: int) -> None:
    """The classes have as many states as a search of all states with any order has, from any initial state renamed."""
    whole, bound = checked("core", [f"brokers={brokers}"], "native", witness=True)
    found, _ = checked("core", [f"brokers={brokers}"], "native", witness=True, symmetry="any-order")
    assert found.stats.distinct == classes
    assert decided(found) == decided(whole)
    _, lowered = bind(bound.model, {"brokers": brokers})
    (sort,) = sorts_to_rename(lowered, [], True)
    assert sort.order_forgotten
    assert len(all_with_any_order(bound, lowered, sort)) == states_of(found)


def all_with_any_order(bound: BoundModel, lowered: LoweredModel, sort: Sort) -> Rows:
    """All states that the model has if any eligible id may be first, and in any initial state renamed."""
    layout = state_layout(bound)
    compiled_kernel = compiled(in_any_order(lowered, [sort.type.sort]), layout)
    starts = [s for _, _, s in bound.initial_states()]
    rows = sorted({layout.encode(renamed(s, table)) for s in starts for table in every_renaming((sort,))})
    search = Search(compiled_kernel, 1)
    explored = explore(bound, compiled_kernel, Start(rows, Start.of(bound, layout).stats), search, Limits())
    return np.concatenate([part for parts in explored.level_rows for part in parts])


def test_too_little_memory_for_properties_of_whole_runs() -> None:
    """What the classes decide stays decided; the graph of all states does not fit."""
    found, _ = checked("core_liveness", ["brokers=4"], "native", symmetry="any-order", memory=3 << 19, workers=1)
    assert {p.status for p in found.properties if not p.temporal} == {"holds"}
    open_ones = {(p.status, p.note) for p in found.properties if p.temporal}
    assert open_ones == {("unknown", "this takes every reachable state")}
    assert (found.exit(), found.complete, found.stats.distinct) == (Exit.INCONCLUSIVE, False, 3_200)
    assert "memory limit" in found.stopped_because


def test_kraft() -> None:
    """What is violated is shown by runs as short as those of the whole search; nothing is left to it."""
    pairs = ["admin_requests=1", "replication_factor=1", "unclean=on"]
    whole, bound = checked("kraft", pairs, "native", witness=True)
    found, _ = checked("kraft", pairs, "native", witness=True, symmetry="any-order")
    assert decided(found) == decided(whole)
    assert by_all_states(found) == [(["reassignment_ends", "reassignment_ends_or_can_be_cancelled"], None)]
    _, lowered = bind(bound.model, dataclasses.asdict(bound.config))
    (sort,) = sorts_to_rename(lowered, [], True)
    rows, layout = all_with_any_order(bound, lowered, sort), state_layout(bound)
    sort = dataclasses.replace(sort, lists_forgotten=True)
    own_names = dataclasses.replace(sort, cells=tuple((i,) for i in range(sort.type.count)))
    in_no_order = [Renamings((one,), layout).representatives(rows) for one in (sort, own_names)]
    assert [len(np.unique(one, axis=0)) for one in in_no_order] == [found.stats.distinct, states_of(found)]
    assert states_of(found) < len(rows)


@pytest.mark.parametrize(
    ("brokers", "classes", "states"),
    [(3, 31_050, 186_183), pytest.param(4, 183_176, 4_204_984, marks=pytest.mark.slow)],
)
def test_kraft_has_fewer_classes_than_states(brokers: int, classes: int, states: int) -> None:
    bound, _ = prepare_plain("kraft", [])
    names = [p.name for p in (*bound.properties, *bound.covers) if not p.temporal]
    found, _ = checked("kraft", [f"brokers={brokers}"], "native", symmetry="any-order", properties=names)
    assert (found.stats.distinct, states_of(found), by_all_states(found)) == (classes, states, [])
    assert [p.name for p in found.properties if p.status == "violated"] == [
        "reassignment_keeps_min_isr_even_if_unclean",
        "cancel_spares_the_eligible",
    ]
