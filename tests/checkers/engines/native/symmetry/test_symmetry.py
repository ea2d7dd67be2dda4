"""One state of each class: the answers and the number of states are those of the whole search."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reassure.checkers.encoding.state_layout import layout_of, state_layout
from reassure.checkers.engines.native import engine
from reassure.checkers.engines.native.kernels import canonical as kernel
from reassure.checkers.engines.native.symmetry import emit_columns, renamings
from reassure.checkers.engines.native.symmetry.cells import NotRenamed, Sort, id_types, renamed, sorts_to_rename
from reassure.checkers.engines.native.symmetry.renamings import Renamings
from reassure.checkers.engines.native.translator.language import Static, Words, rare_kernel, wrap
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.result import CheckResult
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel
from tests.fuzz.compare_symmetry import decided, states_of
from tests.fuzz.subject import drawn
from tests.helpers.alike_models import HEAD, LABELS, QUEUE, alike, every_renaming
from tests.helpers.model_text import module
from tests.helpers.runs import bind, checked, result_of

Model = tuple[BoundModel, LoweredModel]
SETTINGS: dict[str, list[dict[str, int]]] = {
    "queue": [{"nodes": 1}, {"nodes": 2}, {"nodes": 3}, {"nodes": 4}],
    "gossip": [{"nodes": 2}, {"nodes": 3, "jobs": 1}],
    "named": [{"nodes": 5}, {"nodes": 6}],
    "asking": [{"nodes": 3}],
    "lending": [{"nodes": 2}, {"nodes": 4}],
    "pairs": [{"nodes": 2}, {"nodes": 3}],
    "labels": [{"nodes": 2}, {"nodes": 4}],
    "tables": [{"nodes": 2}, {"nodes": 3}],
}


def searched(model: Model, symmetry: str, **options: Any) -> CheckResult:
    bound, lowered = model
    return result_of(engine.check, bound, SearchOptions(symmetry=symmetry, workers=2, witness=True, **options), lowered)


# -- representatives ---------------------------------------------------------------------------------------------------


def all_alike(bound: BoundModel) -> tuple[Sort, ...]:
    return tuple(Sort(kind, (tuple(range(kind.count)),)) for kind in dict.fromkeys(id_types(bound.type)))


@pytest.mark.parametrize("wide", [False, True], ids=["", "many words"])
@pytest.mark.parametrize("columns", [True, False], ids=["columns", "plan"])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("queue", {"nodes": 4}),
        ("gossip", {"nodes": 3}),
        ("named", {"nodes": 5}),
        ("asking", {"nodes": 3}),
        ("lending", {"nodes": 4}),
        ("pairs", {"nodes": 3}),
        ("labels", {"nodes": 4}),
        ("tables", {"nodes": 3}),
    ],
)
def test_representatives(name: str, settings: dict[str, int], columns: bool, wide: bool, tmp_path: Path) -> None:
    """One for each class, of the class; and as many states in it as there are."""
    bound, _ = alike(name, tmp_path, **settings)
    narrow, rng = state_layout(bound), random.Random(1)
    layout = layout_of(bound.type, max(field.code.bits for field in narrow.fields)) if wide else narrow
    assert (layout.words > narrow.words) == wide
    sorts = all_alike(bound)
    if name == "labels":  # jobs keep their names
        sorts = tuple(sort for sort in sorts if sort.type.sort.__name__ == "Node")
    if name == "named":  # 2 and 4 keep their names
        sorts = (Sort(sorts[0].type, ((0, 2, 4), (1,), (3,))),)
    tables = every_renaming(sorts)
    renaming = Renamings(sorts, layout, columns)
    assert ("@plan" in renaming.functions) == (not columns or name in ("gossip", "pairs", "labels", "tables"))
    for _ in range(60):
        state = drawn(bound.type, rng)
        orbit = {layout.encode(renamed(state, table)) for table in tables}
        found = renaming.representatives(np.array(sorted(orbit), np.uint64).view(np.int64))
        assert len({tuple(row) for row in found.tolist()}) == 1
        assert tuple(int(word) for word in found.view(np.uint64)[0]) in orbit
        assert renaming.states_of([found[:1]]) == len(orbit)
        of_class = np.array(renaming.class_of(tuple(found[0].tolist())), np.int64).view(np.uint64)
        assert [tuple(row) for row in of_class.tolist()] == sorted(orbit, key=lambda row: [wrap(w) for w in row])


@pytest.mark.parametrize("columns", [True, False], ids=["columns", "plan"])
@pytest.mark.parametrize(("name", "settings"), [("queue", {"nodes": 4}), ("asking", {"nodes": 4})])
def test_representatives_of_lists_in_no_order(
    name: str, settings: dict[str, int], columns: bool, tmp_path: Path
) -> None:
    """One for the states that differ in names and in the order of lists, in which ids may be several times."""
    bound, _ = alike(name, tmp_path, **settings)
    layout, rng = state_layout(bound), random.Random(1)
    sorts = tuple(dataclasses.replace(sort, lists_forgotten=True) for sort in all_alike(bound))
    renaming = Renamings(sorts, layout, columns)
    assert ("@plan" in renaming.functions) != columns
    lists = [
        field.name for field in dataclasses.fields(bound.model.state) if field.name in ("waiting", "line", "shorter")
    ]
    for _ in range(40):
        state = drawn(bound.type, rng)
        alike_states = [renamed(state, table) for table in every_renaming(sorts)]
        shuffled = [
            dataclasses.replace(
                one, **{name: tuple(rng.sample(getattr(one, name), len(getattr(one, name)))) for name in lists}
            )
            for one in alike_states
        ]
        ascending = {
            dataclasses.replace(one, **{name: tuple(sorted(getattr(one, name))) for name in lists})
            for one in alike_states
        }
        rows = np.array([layout.encode(one) for one in shuffled], np.uint64).view(np.int64)
        found = renaming.representatives(rows)
        assert len({tuple(row) for row in found.tolist()}) == 1
        assert layout.decode(found.view(np.uint64)[0]) in ascending
        assert renaming.states_of([found[:1]]) == len(ascending)
        assert renaming.class_of(tuple(found[0].tolist())) is None


def test_relations_that_colours_do_not_tell(tmp_path: Path) -> None:
    """Two rings of three and one of six: each id points and is pointed at once, whatever the ring is."""
    bound, _ = alike("gossip", tmp_path, nodes=6, jobs=1)
    start = next(state for _, _, state in bound.initial_states())
    node = next(kind for kind in id_types(bound.type) if kind.count == 6)
    renaming = Renamings((Sort(node, (tuple(range(6)),)),), state_layout(bound))

    def ring(*after: int) -> Any:
        points = start.points
        for one, other in enumerate(after, 1):
            points = points.put(node.sort(one), node.sort(other))
        return np.array(
            [state_layout(bound).encode(type(start)(points, start.knows, start.sent, start.owner))], np.uint64
        )

    threes = [ring(2, 3, 1, 5, 6, 4), ring(3, 4, 5, 6, 1, 2), ring(5, 4, 6, 2, 3, 1)][:2]
    sixes = [ring(2, 3, 4, 5, 6, 1), ring(4, 6, 5, 2, 1, 3)]
    found = [[renaming.representatives(row.view(np.int64)) for row in rows] for rows in (threes, sixes)]
    assert found[0][0].tolist() == found[0][1].tolist()
    assert found[1][0].tolist() == found[1][1].tolist()
    assert found[0][0].tolist() != found[1][0].tolist()
    assert renaming.states_of([found[0][0]]) == factorial(6) // 18
    assert renaming.states_of([found[1][0]]) == factorial(6) // 6


def test_the_kernel_is_plain_python_too(tmp_path: Path) -> None:
    bound, _ = alike("gossip", tmp_path, nodes=3)
    layout, rng, renaming = state_layout(bound), random.Random(2), Renamings(all_alike(bound), state_layout(bound))
    words, plan = layout.words, renaming.plan()
    for _ in range(10):
        row = np.array([layout.encode(drawn(bound.type, rng))], np.uint64).view(np.int64)
        plain = [int(word) for word in row[0]]
        kernel.canonical_rows(words, plan, plain, 0, 1, words, [0] * kernel.scratch_words(words, renaming.ids, 2))
        assert plain == renaming.representatives(row)[0].tolist()


# -- searches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "number"), [(name, i) for name in SETTINGS for i in range(len(SETTINGS[name]))])
def test_as_the_whole_search(name: str, number: int, tmp_path: Path) -> None:
    model = alike(name, tmp_path, **SETTINGS[name][number])
    whole = searched(model, "off")
    if name == "queue" and model[0].config.nodes == 1:
        with pytest.raises(Failure, match="there is one Node"):
            searched(model, "on")
        return
    for mode in ("on", "any-order"):
        found = searched(model, mode)
        assert decided(found) == decided(whole)
        assert states_of(found) >= whole.stats.distinct > found.stats.distinct
        if mode == "on":
            assert states_of(found) == whole.stats.distinct


def test_only_ids_that_nothing_tells_apart(tmp_path: Path) -> None:
    """An action names 1, the initial state 2, an invariant 3; who asks for the others alone may rename 3 too."""
    bound, lowered = alike("named", tmp_path, nodes=6)
    starts = [state for _, _, state in bound.initial_states()]
    fewer = lowered.only(lambda name: name != "third_votes_last")
    assert [str(*sorts_to_rename(one, starts, False)) for one in (lowered, fewer)] == ["Node 4-6", "Node 3-6"]
    assert str(*sorts_to_rename(fewer, starts, True)) == "Node 2-6"
    with pytest.raises(NotRenamed, match="the initial states tell ids of Node apart"):
        small, of_small = alike("named", tmp_path, nodes=3)
        sorts_to_rename(of_small.only(lambda name: name == "leader_is_up"), [next(small.initial_states())[2]], False)


def test_ids_in_sets_of_records_in_a_set_are_not_renamed(tmp_path: Path) -> None:
    bound, lowered = alike("labels", tmp_path, nodes=3)
    starts = [state for _, _, state in bound.initial_states()]
    for any_order in (False, True):
        assert [str(sort) for sort in sorts_to_rename(lowered, starts, any_order)] == ["Node 1-3"]
    text = LABELS.replace("to: Node", "to: bool").replace("job: Job", "job: Node")
    text = text[: text.index("@action")] + '@action(who="node")\ndef stay(s: State) -> State:\n    return s\n'
    text += "MODEL = Model.of(__name__, state=State, config=Config)\n"
    inner, of_inner = bind(module(text, tmp_path, HEAD).MODEL, {})
    with pytest.raises(NotRenamed, match="a set of Parcel holds ids of Node in sets of records"):
        sorts_to_rename(of_inner, [next(inner.initial_states())[2]], False)


@pytest.mark.parametrize(("managers", "classes", "states"), [(3, 80, 288), (4, 166, 1_568), (5, 314, 8_832)])
def test_two_phase_commit(managers: int, classes: int, states: int) -> None:
    found, _ = checked("two_phase_commit", [f"managers={managers}"], "native", symmetry="on", witness=True)
    assert (found.exit(), found.stats.distinct, states_of(found)) == (Exit.OK, classes, states)
    assert [c.trace and len(c.trace) for c in found.covers] == [3 * managers + 2, managers + 1]


@pytest.mark.parametrize(
    ("model", "pairs", "why", "distinct"),
    [
        ("two_phase_commit", ["managers=4"], "", 166),
        ("two_phase_commit", [], "3 ids can be renamed, and it pays from 4 on", 288),
        ("core", [], "nothing of core can be renamed: fence reads the order of Broker", 1_668),
        ("die_hard", [], "nothing of die_hard can be renamed: its states hold no ids", 16),
    ],
)
def test_where_it_pays(model: str, pairs: list[str], why: str, distinct: int) -> None:
    found, _ = checked(model, pairs, "native", symmetry="auto")
    assert found.search is not None
    assert found.stats.distinct == distinct
    assert why in found.search.symmetry.get("why", "")
    assert bool(why) == ("classes" not in found.search.symmetry)


def test_properties_of_whole_runs_take_all_states(tmp_path: Path) -> None:
    text = (
        QUEUE
        + """
@infinitely_often
def free_again(s: State) -> bool:
    return s.holder is None
"""
    )
    made = module(f"{text}\nMODEL = Model.of(__name__, state=State, config=Config)\n", tmp_path, HEAD)
    model = bind(made.MODEL, {"nodes": 4})
    found, whole = searched(model, "auto"), searched(model, "off")
    assert found.search is not None
    assert "free_again is about whole runs" in found.search.symmetry["why"]
    assert [(p.name, p.status) for p in found.properties] == [(p.name, p.status) for p in whole.properties]
    asked = searched(model, "auto", properties=["holder_is_in"])
    assert asked.stats.distinct < whole.stats.distinct
    decided_there = searched(model, "on")
    assert decided(decided_there) == decided(whole)
    assert [(p.name, p.trace) for p in decided_there.properties if p.temporal] == [
        (p.name, p.trace) for p in whole.properties if p.temporal
    ]
    assert decided_there.search is not None and decided_there.search.fairness == whole.search.fairness
    assert decided_there.search.symmetry["all_states"] == [
        {"asked": ["free_again"], "depth": None, "distinct": whole.stats.distinct, "complete": True}
    ]


def test_rolling_upgrade() -> None:
    whole, _ = checked("rolling_upgrade", [], "native", witness=True)
    found, _ = checked("rolling_upgrade", [], "native", symmetry="on", witness=True)
    assert decided(found) == decided(whole)
    assert states_of(found) == whole.stats.distinct > found.stats.distinct


def test_to_a_depth(tmp_path: Path) -> None:
    """States that were found and not expanded are counted too."""
    model = alike("queue", tmp_path, nodes=3)
    for depth in (1, 3, 5):
        whole, found = searched(model, "off", depth=depth), searched(model, "on", depth=depth)
        assert decided(found) == decided(whole)
        assert states_of(found) == whole.stats.distinct


# -- faults ------------------------------------------------------------------------------------------------------------


@rare_kernel
def first_of_all(
    words: Static, plan: Words, row: Words, names: Words, groups: Words, best: Words, other: Words, slots: Words
) -> int:
    """Leaves a tie as it is."""
    return 1


def a_column_forgotten(patch: pytest.MonkeyPatch) -> None:
    def forgetful(*arguments: Any) -> Any:
        found = emit_columns.columns_of(*arguments)
        assert found is not None
        return emit_columns.IdColumns(found.first, found.ids, found.cells, found.groups[1:])

    patch.setattr(renamings, "columns_of", forgetful)


def an_entry_forgotten(patch: pytest.MonkeyPatch) -> None:
    every = renamings.entries_of
    patch.setattr(renamings, "columns_of", lambda *given: None)
    patch.setattr(renamings, "entries_of", lambda *given: every(*given)[1:])


def a_tie_broken_wrongly(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(kernel, "try_all", first_of_all)


def what_is_absent_counts(patch: pytest.MonkeyPatch) -> None:
    def without_flags(*given: Any) -> Any:
        return tuple(
            dataclasses.replace(e, flag=-1, record=tuple(dataclasses.replace(one, flag=-1) for one in e.record))
            for e in every(*given)
        )

    every = renamings.entries_of
    patch.setattr(renamings, "entries_of", without_flags)


FAULTS: list[tuple[str, dict[str, int], Callable[[pytest.MonkeyPatch], None]]] = [
    ("queue", {"nodes": 3}, a_column_forgotten),
    ("queue", {"nodes": 3}, an_entry_forgotten),
    ("gossip", {"nodes": 3, "jobs": 1}, a_tie_broken_wrongly),
    ("lending", {"nodes": 3}, what_is_absent_counts),
    ("pairs", {"nodes": 3}, what_is_absent_counts),
]


@pytest.mark.parametrize(("name", "settings", "fault"), FAULTS, ids=[f"{f[0]} {f[2].__name__}" for f in FAULTS])
def test_a_fault_is_seen(
    name: str, settings: dict[str, int], fault: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the number of states, or since there is no run along a path."""
    model = alike(name, tmp_path, **settings)
    whole = searched(model, "off")
    assert states_of(searched(model, "on")) == whole.stats.distinct
    fault(monkeypatch)
    try:
        found = searched(model, "on")
    except Disagreement:  # plain Python has no run along the path
        return
    assert (decided(found), states_of(found)) != (decided(whole), whole.stats.distinct)
