"""The table of states: it grows in place, keeps tags, and finds what is in it, for states of one to three words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reassure.checkers.base.digest import digest
from reassure.checkers.base.model_loader import bind, load
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.encoding.state_layout import layout_of
from reassure.checkers.native import search as breadth_first
from reassure.checkers.native.kernel_cache import compiled
from reassure.checkers.native.search import OutOfMemory, Search
from reassure.checkers.native.table_text import TAG_BITS
from tests.helpers.runs import everything

MODEL = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Model, Range, initial, action

@dataclass(frozen=True)
class Config: ...

@dataclass(frozen=True)
class State:
{fields}

@initial
def start(c: Config) -> State:
    return State({zeros})

@action(who="nobody")
def stay(s: State, c: Config) -> State:
    return s

MODEL = Model.of(__name__, state=State, config=Config)
"""
STATE = (1 << 56) - 1


@pytest.fixture(scope="module", params=[1, 2, 3])
def search(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Search:
    words: int = request.param
    path: Path = tmp_path_factory.mktemp("table") / f"words{words}.py"
    fields = "\n".join(f"    n{i}: Annotated[int, Range(0, 2**28 - 1)] = 0" for i in range(2 * words))
    path.write_text(MODEL.format(fields=fields, zeros=", ".join(["0"] * 2 * words)))
    model = load(str(path))
    bound, lowered = bind(model, {})
    kernel, module = compiled(lowered, layout_of(bound.type, tag=TAG_BITS), digest(model))
    found = Search.of(kernel, module, 1, None)
    assert found.words == words
    return found


def rows(search: Search, count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    drawn = np.random.default_rng(7).integers(-(1 << 63), 1 << 63, (count, search.words))
    drawn[:, 0] &= STATE
    return np.unique(drawn, axis=0)


def test_growth(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 64 slots to a hundred thousand, in steps, some of them in place beside the slots kept aside."""
    monkeypatch.setattr(breadth_first, "GROWTH", ((1 << 8, 4.0), (1 << 62, 1.5)))
    monkeypatch.setattr(breadth_first, "KEPT", 256)
    fresh = Search.of(search.kernel, search.module, 1, None)
    fresh.slots = 64
    drawn = rows(search, 60_000)
    sizes = set()
    out = np.zeros(1 << 10, np.int64)
    for part in np.array_split(drawn, 300):
        fresh.reserve(len(part))
        sizes.add(fresh.slots)
        assert search.module.fill_table(part, fresh.table, out) == len(part)
        fresh.known += len(part)
        assert fresh.known <= fresh.slots * breadth_first.LOAD
    assert len(sizes) > 10
    assert search.module.fill_table(drawn, fresh.table, out) == 0
    new = np.zeros(128, np.int64)
    search.module.settle(fresh.table, drawn, 0, len(drawn), out, new)
    assert new[0] == len(drawn) == new.sum(), "every state kept the tag it came with"
    taken = fresh.table.reshape(-1, search.words)
    taken = taken[taken[:, 0] != 0]
    taken[:, 0] &= STATE
    assert np.array_equal(np.unique(taken, axis=0), drawn)


def test_the_smallest_tag_stays(search: Search) -> None:
    m, fresh = search.module, Search.of(search.kernel, search.module, 1, None)
    row = [5] * search.words
    slot = int(m.slot_of(*row, fresh.slots))
    answers = [bool(m.insert(fresh.table, fresh.slots, slot, *row, tag)) for tag in (9, 4, 7)]
    assert answers == [True, False, False]
    assert int(fresh.table[slot * search.words]) >> 56 & 127 == 4


def test_chains_go_on_at_the_start(search: Search) -> None:
    """States whose place is the last slot follow from the first; they are found there, also after growth."""
    m, fresh = search.module, Search.of(search.kernel, search.module, 1, None)
    fresh.slots = 64
    last = np.array([row for row in rows(search, 20_000) if m.slot_of(*map(int, row), 64) == 63][:6])
    out = np.zeros(1 << 10, np.int64)
    assert m.fill_table(last, fresh.table, out) == 6
    assert [bool(w) for w in fresh.table.reshape(64, -1)[:6, 0]] == [True] * 5 + [False]
    assert m.fill_table(last, fresh.table, out) == 0
    fresh._grow(128)
    assert m.fill_table(last, fresh.table, out) == 0


def test_limit(search: Search) -> None:
    """Near the limit the table gets fuller, then the search ends: it never takes more than it may."""
    limited = Search.of(search.kernel, search.module, 1, None)
    limited.memory_limit = limited.memory + 1000
    start = limited.slots
    assert limited.reserve(int(start * 0.8)) == int(start * breadth_first.FULL)
    assert limited.slots == start
    with pytest.raises(OutOfMemory, match="memory limit"):
        limited.reserve(int(start * 0.95))


@pytest.mark.parametrize(("model", "pairs"), [("core", ["brokers=4"]), ("kraft", [])])
def test_small_tables_and_chunks(monkeypatch: pytest.MonkeyPatch, model: str, pairs: list[str]) -> None:
    """A search that grows and changes chunks all the time gives what one with much room gives."""

    def found(workers: int) -> dict[str, object]:
        return everything(
            run(CheckRequest(model, pairs, "native", SearchOptions(workers=workers)), Progress(quiet=True))[0]
        )

    expected = found(1)
    monkeypatch.setattr(breadth_first, "START", 1 << 9)
    monkeypatch.setattr(breadth_first, "GROWTH", ((1 << 62, 1.5),))
    monkeypatch.setattr(breadth_first, "KEPT", 1 << 11)
    monkeypatch.setattr(breadth_first, "CHUNK", 1 << 10)
    monkeypatch.setattr(breadth_first, "SLICE", 100)
    monkeypatch.setattr(breadth_first, "SMALL", 50)
    assert found(1) == expected
    assert found(3) == expected
