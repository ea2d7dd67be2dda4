"""Words and rows of words, as kernels and numpy read them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from reassure.checkers.engines.native.translator.word_rows import LARGE, WordRows, address_of, zeros


@pytest.mark.parametrize("words", [1, 1000, LARGE // 8, LARGE // 8 + 3])
def test_words_are_zero_and_numpy_shares_them(words: int) -> None:
    """Small memory and large."""
    memory = zeros(words)
    array = np.asarray(memory)
    assert (array.dtype, array.shape, array.any()) == (np.int64, (words,), False)
    memory[words - 1] = -5
    assert array[-1] == -5
    assert address_of(memory) == array.ctypes.data == address_of(array)


def test_no_words_have_no_address() -> None:
    assert (len(zeros(0)), address_of(zeros(0))) == (0, 0)


def test_a_slice_of_rows_shares_their_memory() -> None:
    rows = WordRows.zeros(5, 2)
    for k in range(10):
        rows.memory[k] = k
    part = rows[1:3]
    assert (len(rows), len(part), part.nbytes, rows.nbytes) == (5, 2, 32, 80)
    assert np.asarray(part).tolist() == [[2, 3], [4, 5]]
    assert address_of(part) == address_of(rows) + 16
    np.asarray(part)[1, 0] = 9
    assert rows.memory[4] == 9
    assert [len(rows[4:]), len(rows[5:]), len(rows[3:9])] == [1, 0, 2]
    assert np.asarray(rows[5:]).shape == (0, 2)


def test_an_array_keeps_the_memory_that_it_shows() -> None:
    array = np.asarray(WordRows.zeros(LARGE // 8, 1))
    array[:] = 7
    assert int(array.sum()) == 7 * (LARGE // 8)


SEARCH = """
import sys
from reassure.checkers.cli.main import main
code = main(["check", sys.argv[1], "--quiet"])
print(code, [name for name in ("numpy", "pyspark", "z3", "llvmlite") if name in sys.modules])
"""


@pytest.mark.parametrize(("model", "ends"), [("two_phase_commit", "0 []"), ("die_hard", "12 []")])
def test_a_search_for_safety_takes_no_numpy(model: str, ends: str) -> None:
    """Nor LLVM, the second time: its machine code is there."""
    for _ in range(2):
        ran = subprocess.run([sys.executable, "-c", SEARCH, model], capture_output=True, text=True, timeout=60)
    assert ran.stdout.splitlines()[-1] == ends, ran
