"""The table of visited states: it grows in place, keeps the least tags, and finds what is in it; as machine code and
as plain Python, for states of one to four words."""

from __future__ import annotations

import re
import sys
import threading
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reassure.checkers.engines.native import engine
from reassure.checkers.engines.native.kernels.growing_table import GrowingTable, TableSizes
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.search_loop import keep_new
from reassure.checkers.engines.native.kernels.state_table import (
    BATCH,
    MAX_TAG,
    STATE_BITS,
    TAG_AT,
    TAKEN,
    home_of,
    insert_all,
    insert_state,
    put_back,
    settle,
    spread,
    spread_part,
    tag_of,
    unseen,
)
from reassure.checkers.engines.native.levels import SIZES, SearchSizes, shares
from reassure.checkers.engines.native.search import Search
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.engines.native.translator.word_rows import address_of
from reassure.checkers.machine.memory import MemoryLimit, OutOfMemory
from reassure.checkers.request.engine_results import EngineResult
from reassure.checkers.request.model_loader import load_model, settings
from reassure.checkers.request.options import SearchOptions
from tests.helpers.runs import bind, everything, result_of

WIDTHS = [1, 2, 3, 4]

ROOM = 1 << 30
"""Bytes that the tables of these tests may grow to."""


def states(words: int, count: int) -> Rows:
    """Distinct states, drawn at random."""
    drawn = np.random.default_rng(7).integers(-(1 << 63), 1 << 63, (count, words))
    drawn[:, 0] &= STATE_BITS
    return np.unique(drawn, axis=0)


def batch() -> Rows:
    return np.empty(BATCH, np.int64)


def home(row: Rows, slots: int) -> int:
    """The slot where a state is looked for first."""
    return native(home_of)(tuple(map(int, row)), slots)


def inserted(table: GrowingTable, rows: Rows, tag: int = 1) -> int:
    """How many of the rows are new, once all are in the table."""
    return native(insert_all)(table.words, rows, len(rows), tag, table.array, table.slots, batch())


def tags(table: GrowingTable, rows: Rows) -> list[int]:
    """How many of the rows have each tag; the tags are gone then."""
    by_tag = np.zeros(MAX_TAG + 2, np.int64)
    native(settle)(table.words, table.array, table.slots, rows, 0, len(rows), batch(), by_tag)
    return [int(n) for n in by_tag]


def contents(table: GrowingTable) -> Rows:
    """The states in the table."""
    taken: NDArray[np.int64] = np.asarray(table.array).reshape(-1, table.words)
    taken = taken[taken[:, 0] != 0].copy()
    taken[:, 0] &= STATE_BITS
    return np.unique(taken, axis=0)


@pytest.mark.parametrize("words", WIDTHS)
@pytest.mark.parametrize("threads", [0, 1, 3])
def test_growth(words: int, threads: int) -> None:
    """From 64 slots to a hundred thousand, in steps, some of them in place beside the slots kept aside."""
    sizes = TableSizes(first=64, growth=((1 << 8, 4.0), (1 << 62, 1.5)), spare=256, by_one=500)
    pool = ThreadPoolExecutor(threads) if threads else None
    table, rows, known, seen = GrowingTable(words, ROOM, sizes), states(words, 60_000), 0, set()
    for number, part in enumerate(np.array_split(rows, 300)):
        known += len(part)
        table.grow(sizes.slots_for(known, table.slots), pool)
        seen.add(table.slots)
        assert inserted(table, part, 1 + number % 3) == len(part)
        assert known <= table.slots * sizes.load
    assert len(seen) > 10
    assert inserted(table, rows, MAX_TAG) == 0
    counts = tags(table, rows)
    expected = [sum(len(p) for p in np.array_split(rows, 300)[k::3]) for k in range(3)]
    assert counts[1:4] == expected, "every state kept the tag it came with"
    assert sum(counts) == len(rows)
    assert np.array_equal(contents(table), rows)
    assert np.all(np.asarray(table.array).reshape(-1, words)[:, 0] >> 56 & 127 == 0), "the tags are gone"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_addresses_are_not_counted_as_memory() -> None:
    """Linux refuses to `fork` a process with more counted addresses in a row than the machine has memory."""
    table = GrowingTable(1, ROOM)
    place = address_of(table.room)
    maps = Path("/proc/self/smaps").read_text()
    flags = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) .*?^VmFlags: (.*?)$", maps, re.DOTALL | re.MULTILINE)
    [of_table] = [words for start, end, words in flags if int(start, 16) <= place < int(end, 16)]
    assert "ac" not in of_table.split()


@pytest.mark.parametrize("words", [1, 3])
def test_growth_that_does_not_fit_is_reported(words: int) -> None:
    """States far behind the slot where they belong: one would come to lie among those still to be moved."""
    at_the_end = [row for row in states(words, 20_000) if home(row, 64) == home(row, 72) - 8 == 56][:20]
    assert len(at_the_end) == 20, "more than the last line and those kept aside have room for"
    table = np.zeros((72, words), np.int64)
    table[20:40] = at_the_end
    table[20:40, 0] |= TAKEN
    assert not native(spread)(words, table.reshape(-1), 64, 72, np.empty(8 * words, np.int64), 8)


@pytest.mark.parametrize("words", WIDTHS)
@pytest.mark.parametrize("compiled", [True, False], ids=["machine code", "plain Python"])
def test_the_least_tag_stays(words: int, compiled: bool) -> None:
    put, place = (native(insert_state), native(home_of)) if compiled else (insert_state, home_of)
    table, state = np.zeros(64 * words, np.int64), (5,) * words
    slot = place(state, 64)
    answers = [put(table, 64, slot, state, tag) for tag in (9, 4, 7, 4)]
    assert answers == [True, False, False, False]
    assert tag_of(int(table[slot * words])) == 4


@pytest.mark.parametrize("words", WIDTHS)
def test_chains_go_on_at_the_start(words: int) -> None:
    """States whose home is the last follow from the first slot when that is full; they are found, also after growth."""
    together = 8 if words == 1 else 1
    last = np.array([row for row in states(words, 20_000) if home(row, 64) == 64 - together][: together + 5])
    table = GrowingTable(words, ROOM, TableSizes(first=64))
    assert inserted(table, last) == together + 5
    assert [bool(w) for w in np.asarray(table.array).reshape(64, -1)[:6, 0]] == [True] * 5 + [False]
    assert inserted(table, last) == 0
    table.grow(128)
    assert inserted(table, last) == 0


@pytest.mark.parametrize("words", WIDTHS)
def test_a_full_table(words: int) -> None:
    """Every slot but one is taken: all is found, and what is not there is not."""
    rows = states(words, 700)
    table = GrowingTable(words, ROOM, TableSizes(first=512))
    assert inserted(table, rows[:511]) == 511
    assert inserted(table, rows[:511]) == 0
    found = np.empty(len(rows), np.int64)
    n = native(unseen)(words, rows, len(rows), words, table.array, 512, found, batch())
    assert found[:n].tolist() == list(range(511, len(rows)))


@pytest.mark.parametrize("words", WIDTHS)
def test_rows_wider_than_a_state(words: int) -> None:
    """`unseen` and `put_back` read the state that a row begins with; `unseen` takes it with a tag too."""
    wide = np.zeros((900, words + 2), np.int64)
    wide[:, :words], wide[:, words:] = states(words, 900), 77
    table = GrowingTable(words, ROOM, TableSizes(first=2048))
    native(put_back)(words, wide[:400], 400, words + 2, table.array, table.slots)
    wide[::2, 0] |= 5 << 56
    found = np.empty(900, np.int64)
    n = native(unseen)(words, wide, 900, words + 2, table.array, table.slots, found, batch())
    assert found[:n].tolist() == list(range(400, 900))
    assert np.all(np.asarray(table.array).reshape(-1, words)[:, 0] >> 56 & 127 == 0)


@pytest.mark.parametrize("words", WIDTHS)
def test_machine_code_and_plain_python_agree(words: int) -> None:
    """The same table, word by word, after inserts under several tags, growth and settling."""
    rows, first = states(words, 150), 104
    compiled, plain = np.zeros(304 * words, np.int64), array("q", bytes(8 * 304 * words))
    flat = array("q", rows.reshape(-1).tolist())

    def both(kernel: Any, *arguments: Any) -> Any:
        """Calls a kernel with `T` for the table and `R` for the rows; the results have to be equal."""
        results = []
        for table, given, run in ((compiled, rows, native(kernel)), (plain, flat, kernel)):
            scratch = np.zeros(600 * words, np.int64) if table is compiled else array("q", bytes(4800 * words))
            actual = [{"T": table, "R": given, "S": scratch}.get(a, a) if isinstance(a, str) else a for a in arguments]
            results.append((run(words, *actual), list(scratch) if kernel is not spread else None))
        assert results[0] == results[1]
        assert compiled.tolist() == plain.tolist()
        return results[0][0]

    both(insert_all, "R", 60, 9, "T", first, "S")
    both(insert_all, "R", 80, 4, "T", first, "S")
    aside = both(spread_part, "T", 40, first, 304, 112, 304, "S", 40)
    both(spread, "T", 40, 304, "S", 40)
    both(unseen, "R", 150, words, "T", 304, "S", "S")
    both(put_back, words and "R", 0, words, "T", 304)
    assert (compiled.reshape(-1, words)[:, 0] < 0).sum() == 80 - aside
    assert all(word >= 0 or word & TAKEN for word in plain)


@pytest.mark.parametrize("words", WIDTHS)
def test_a_state_of_zeros(words: int) -> None:
    """It is told from a free slot, and from states that differ from it in one word."""
    rows = np.zeros((words + 1, words), np.int64)
    rows[range(1, words + 1), range(words)] = 1
    for order in (rows, rows[::-1]):
        table = GrowingTable(words, ROOM, TableSizes(first=64))
        assert [inserted(table, row.reshape(1, -1).copy(), 3) for row in order] == [1] * (words + 1)
        assert inserted(table, rows, 3) == 0
        assert tags(table, rows)[3] == words + 1


@pytest.mark.parametrize("words", WIDTHS)
def test_threads_insert_each_state_once(words: int) -> None:
    """Four threads insert the same states, each in another order, under its own tag."""
    rows = states(words, 40_000)
    table = GrowingTable(words, ROOM, TableSizes(first=1 << 16))
    orders = [np.ascontiguousarray(np.random.default_rng(k).permutation(rows)) for k in range(4)]
    new = [0] * 4

    def work(k: int) -> None:
        new[k] = inserted(table, orders[k], k + 1)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(new) == len(rows)
    assert np.array_equal(contents(table), rows)


# -- the search around it ----------------------------------------------------------------------------------------------


def search_of(name: str, sizes: SearchSizes = SIZES, memory: int | None = None) -> Search:
    from reassure.checkers.encoding.state_layout import state_layout
    from reassure.checkers.engines.native.exploration import compiled

    bound, lowered = bind(load_model(name), {})
    return Search(compiled(lowered, state_layout(bound)), 1, memory, sizes)


class Contested(list[int]):
    """A table in which another thread takes a free slot as soon as this one has seen that it is free."""

    def __init__(self, words: int, slots: int, slot: int, other: tuple[int, ...]) -> None:
        super().__init__([0] * (words * slots))
        self.at, self.other, self.taken = slot * words, other, False

    def __getitem__(self, index: Any) -> Any:
        value = super().__getitem__(index)
        if index == self.at and not self.taken:
            self.taken = True
            self[self.at : self.at + len(self.other)] = self.other
        return value


@pytest.mark.parametrize("tag", [1, 2])
@pytest.mark.parametrize("words", [2, 3, 4])
def test_a_slot_that_another_state_takes_in_between(words: int, tag: int) -> None:
    """The search neither takes the other state for its own, of whatever tag that is, nor loses its own."""
    one, other, slots = (5, *range(1, words)), (6, *range(1, words)), 16
    slot = home_of(one, slots)
    table = Contested(words, slots, slot, (other[0] | TAKEN | tag << TAG_AT, *other[1:]))
    found, rows = [0] * 2 * words, [*one, 1]  # by action 1, whose tag is 2
    assert keep_new(words, table, slots, rows, words + 1, 1, found, 0, [0] * 2) == 1
    assert found[:words] == list(one)
    assert tuple(table[slot * words : slot * words + 1]) == (other[0] | TAKEN | tag << TAG_AT,)
    after = (slot + 1) % slots * words
    assert table[after : after + words] == [one[0] | TAKEN | 2 << TAG_AT, *one[1:]]


def test_limit() -> None:
    """Near the limit the table gets fuller, then the search ends: it never takes more than it may."""
    search = search_of("die_hard")
    search.limit = MemoryLimit(search.memory + 1000, True)
    slots, sizes = search.table.slots, search.sizes.table
    assert search.reserve(int(slots * 0.8)) == int(slots * sizes.full)
    assert search.table.slots == slots
    with pytest.raises(OutOfMemory, match="memory limit"):
        search.reserve(int(slots * 0.97))


def test_pieces_of_a_level() -> None:
    """Every row is in one piece; for two threads pieces become smaller, down to the least."""
    parts = [np.zeros((rows, 1), np.int64) for rows in (70_000, 5, 30_000)]
    for workers, sizes in (
        (1, [16384] * 4 + [4464, 5, 16384, 13616]),
        (2, [16384, 16384, 16384, 12713, 8135, 5, 7500]),
    ):
        pieces = list(shares(parts, 100_005, workers, SIZES))
        for part in parts:
            bounds = [(low, high) for p, low, high in pieces if p is part]
            assert [low for low, _ in bounds] == [0, *(high for _, high in bounds[:-1])]
            assert bounds[-1][1] == len(part)
        found = [high - low for _, low, high in pieces]
        assert found[: len(sizes)] == sizes
        if workers == 2:
            assert found[-3:] == [2048, 2048, 976]


TINY = SearchSizes(TableSizes(1 << 9, growth=((1 << 62, 1.5),), spare=1 << 11), chunk=1 << 10, slice=100, small=50)


@pytest.mark.parametrize(("name", "pairs"), [("core", ["brokers=4"]), ("kraft", [])])
def test_small_tables_and_chunks(name: str, pairs: list[str]) -> None:
    """A search that grows and changes chunks all the time gives what one with much room gives."""

    model = load_model(name)
    bound, lowered = bind(model, settings(model, pairs))

    def found(workers: int, sizes: SearchSizes) -> dict[str, object]:
        def check(*given: Any) -> EngineResult:
            return engine.check(*given, sizes=sizes)

        return everything(result_of(check, bound, SearchOptions(workers=workers), lowered))

    expected = found(1, SIZES)
    assert found(1, TINY) == expected
    assert found(3, TINY) == expected
